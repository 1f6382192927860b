"""Cameras and pictures of a viewer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kido.attributes import named_arguments
from kido.errors import StateError
from kido.viewer.camera import (
    BodyCamera,
    CameraPose,
    Follower,
    check_fov,
    point,
    pose_of,
    set_initial_camera,
    show_pose,
)
from kido.viewer.film import Film, write_png, write_texts
from kido.viewer.painting import Painter, check_size
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
    _painter: Painter
    _camera_panel: Any
    _chosen: CameraPose | None

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
        check_fov(fov)
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
        """Let the view of all pages move along with ``body``, and look at it while it moves; None stops."""
        if body is not None:
            self.check_body(body)
        self.follower.follow(body)
        self._camera_panel.refresh()

    def forget_cameras(self) -> None:
        """Take out cameras on bodies that are gone, and follow these no longer."""
        bodies = self.view.bodies
        for camera in list(self.cameras.values()):
            if camera.body is not None and not any(camera.body is b for b in bodies):
                camera.remove()
        if self.follower.body is not None and not any(self.follower.body is b for b in bodies):
            self.follower.follow(None)
        self._camera_panel.refresh()

    @property
    def camera(self) -> CameraPose:
        """What the page shows that was opened first; before, what pages will show first.

        Set it to move all pages there, and those that are opened later.

        Example:
            >>> viewer.camera = kido.viewer.CameraPose(position=(2.0, -1.0, 1.2), target=(0.0, 0.0, 0.5))
        """
        people = self.server.get_clients()
        return pose_of(next(iter(people.values()))) if people else self._first_pose(1.5)

    @camera.setter
    def camera(self, pose: CameraPose) -> None:
        if not isinstance(pose, CameraPose):
            raise StateError(f"Viewer camera is {pose!r}; expected a kido.viewer.CameraPose.")
        if self.follower.camera is not None:
            self.follower.look_through(None)
            self._camera_panel.refresh()
        self._chosen = pose
        self.set_first_camera()
        for client in self.server.get_clients().values():
            show_pose(client, pose)

    def look_at(self, target: Any, position: Any = None) -> None:
        """Turn all views to ``target`` (3,), seen from ``position`` (3,) or from where the camera is."""
        p = self.camera.position if position is None else position
        self.camera = CameraPose(p, point(target, "Camera target"), self.view.up, self.camera.fov)

    def show_all(self) -> None:
        """Show the whole model on all pages."""
        self._chosen = None
        self.set_first_camera()
        for client in self.server.get_clients().values():
            show_pose(client, self._first_pose(client.camera.aspect))

    def _first_pose(self, aspect: float) -> CameraPose:
        return self._chosen or self.view.home(aspect=float(aspect) or 1.5)

    def set_first_camera(self) -> None:
        """Have pages begin with the camera that was chosen, or else with the whole model."""
        set_initial_camera(self.server, self._first_pose(1.5))

    def greet_pages(self) -> None:
        """Let every page that is opened see the whole model, in its own proportions."""
        self._chosen = None
        self.set_first_camera()

        def greet(client: Any) -> None:
            if self.follower.camera is None:
                show_pose(client, self._first_pose(client.camera.aspect))

        self.server.on_client_connect(lambda client: self.post(lambda: greet(client)))

    @named_arguments
    def picture(self, size: tuple[int, int] = (1280, 720), camera: Any = None) -> np.ndarray:
        """Picture (h, w, 3) of bytes, with the texts.

        Args:
            size: width and height in pixels.
            camera: BodyCamera or CameraPose; None for what an open page shows, else the whole model.
        """
        self.check_open()
        size = check_size(size)
        pose = camera.pose if isinstance(camera, BodyCamera) else camera
        if pose is None:
            pose = self.camera if self.server.get_clients() else self._first_pose(size[0] / size[1])
        return write_texts(self._painter.picture(pose, size, self.view.up, self.view.extent), self.webpage.texts)

    @named_arguments
    def screenshot(self, path: str | os.PathLike, size: tuple[int, int] = (1280, 720), camera: Any = None) -> Path:
        """Write a picture of the scene as PNG.

        Raises:
            ViewerError: the file cannot be written.
        """
        self.update()
        return write_png(path, self.picture(size, camera))

    @named_arguments
    def record_film(
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
            path: file to write, ending in .mp4, .webp or .gif.
            duration: simulated seconds.
            fps: frames per second.
            size: width and height in pixels, of MP4 both even.
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
