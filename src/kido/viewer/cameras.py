"""Cameras and pictures of a viewer."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kido.attributes import named_arguments
from kido.errors import StateError
from kido.viewer.browser import Renderer
from kido.viewer.camera import FOV, BodyCamera, CameraPose, Follower, show_pose
from kido.viewer.export import set_initial_camera
from kido.viewer.film import Film, write_png
from kido.viewer.server import Page


class Cameras(Page):
    """Cameras on bodies, the view of the pages, pictures and films of :class:`kido.viewer.Viewer`."""

    cameras: dict[str, BodyCamera]
    follower: Follower
    pusher: Any
    check_open: Callable[[], None]
    check_body: Callable[[Any], None]
    check_world: Callable[[str], Any]
    update: Callable[[], None]
    _renderer: Renderer
    _camera_panel: Any

    @named_arguments
    def add_camera(
        self,
        body: Any = None,
        transform: Any = None,
        fov: float = float(np.deg2rad(60.0)),
        name: str | None = None,
    ) -> BodyCamera:
        """A camera on a body, offered in the panel; its axes are z forward, x right, y down.

        Args:
            body: BodyNode it sits on, or None for the world.
            transform: (4, 4) camera axes in body axes.
            fov: vertical field of view [rad], above 0 and below pi.
            name: its name; made from the body's if None.
        """
        if body is not None:
            self.check_body(body)
        X = np.eye(4) if transform is None else np.array(transform, dtype=float)
        if X.shape != (4, 4) or not np.all(np.isfinite(X)):
            raise StateError(f"Transform of a camera has shape {X.shape}; expected a finite (4, 4) matrix.")
        if not 0 < fov < math.pi:
            raise StateError(f"Field of view of a camera is {fov!r} rad; expected a number between 0 and pi.")
        base = name or (f"on {body.name}" if body is not None else "camera")
        if name is not None and name in self.cameras:
            raise StateError(f"There is a camera {name!r} already; choose another name.")
        unique, k = base, 2
        while unique in self.cameras:
            unique, k = f"{base} {k}", k + 1
        camera = BodyCamera(unique, body, X, float(fov), self._remove_camera)
        self.cameras[unique] = camera
        self._camera_panel.refresh()
        return camera

    def _remove_camera(self, camera: BodyCamera) -> None:
        if self.cameras.pop(camera.name, None) is None:
            return
        if self.follower.camera is camera:
            self.follower.look_through(None)
        self._camera_panel.refresh()

    def look_through(self, camera: BodyCamera | None) -> None:
        """Show on all pages what ``camera`` sees, as it moves; None lets people turn the view again."""
        self.follower.look_through(camera)
        if camera is None:
            self.show_all()
        self._camera_panel.refresh()

    def follow(self, body: Any) -> None:
        """Let the view of all pages move along with ``body``; None stops."""
        if body is not None:
            self.check_body(body)
        self.follower.follow(body)
        self._camera_panel.refresh()

    @named_arguments
    def look_at(self, target: Any, position: Any = None) -> None:
        """Turn all views to ``target`` (3,), seen from ``position`` (3,) or from where they are."""
        t = np.array(target, dtype=float)
        p = None if position is None else np.array(position, dtype=float)
        for name, v in (("target", t), ("position", p)):
            if v is not None and (v.shape != (3,) or not np.all(np.isfinite(v))):
                raise StateError(f"Camera {name} is {v.tolist()}; expected three finite numbers.")
        if p is not None and np.linalg.norm(p - t) < 1e-9:
            raise StateError(f"Camera position and target are both {t.tolist()}; expected two points.")
        home = self.view.home()
        initial = CameraPose(home.position - home.target + t if p is None else p, t, self.view.up, FOV)
        set_initial_camera(self.server, initial)
        for client in self._renderer.people().values():
            here = np.array(client.camera.position) if p is None else p
            show_pose(client, CameraPose(here, t, self.view.up, float(client.camera.fov)))

    def show_all(self) -> None:
        """Show the whole model on all pages."""
        set_initial_camera(self.server, self.view.home())
        for client in self._renderer.people().values():
            aspect = float(client.camera.aspect) or 1.5
            show_pose(client, self.view.home(aspect=aspect))

    @named_arguments
    def picture(self, size: tuple[int, int] = (1280, 720), camera: Any = None) -> np.ndarray:
        """Picture (h, w, 3) of bytes.

        Args:
            size: width and height in pixels.
            camera: BodyCamera or CameraPose; None for what an open page shows, else the whole model.
        """
        self.check_open()
        pose = camera.pose if isinstance(camera, BodyCamera) else camera
        if pose is None:
            people = self._renderer.people()
            if people:
                c = next(iter(people.values())).camera
                pose = CameraPose(np.array(c.position), np.array(c.look_at), np.array(c.up_direction), float(c.fov))
            else:
                pose = self.view.home(aspect=size[0] / size[1])
        return self._renderer.picture(pose, size)

    @named_arguments
    def screenshot(self, path: str | os.PathLike, size: tuple[int, int] = (1280, 720), camera: Any = None) -> Path:
        """Write a picture of the scene as PNG, taken by an open page or else by a headless browser.

        Raises:
            ViewerError: no page is open and no browser is installed, or the file cannot be written.
        """
        self.update()
        return write_png(path, self.picture(size, camera))

    @named_arguments
    def record_mp4(
        self,
        path: str | os.PathLike,
        duration: float,
        *,
        fps: float = 30.0,
        size: tuple[int, int] = (1280, 720),
        camera: Any = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Path:
        """Simulate ``duration`` seconds and write them as a film, however long a picture takes.

        Args:
            path: file to write, ending in .mp4.
            duration: simulated seconds.
            fps: frames per second.
            size: width and height in pixels, both even.
            camera: as in :meth:`picture`.
            progress: called with the number of frames done and their total.
        """
        world = self.check_world("A film")
        frames = max(1, round(duration * fps))
        start = float(world.time)
        with Film(path, size, fps) as film:
            for k in range(frames):
                self.work_off()
                n = round((start + k / fps - float(world.time)) / world.time_step)
                if n > 0 and self.pusher is not None:
                    self.pusher.step(n)
                self.update()
                film.add(self.picture(size, camera))
                if progress is not None:
                    progress(k + 1, frames)
        return Path(path)
