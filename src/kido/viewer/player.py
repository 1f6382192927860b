"""Plays a motion on a live page: time line, pause, speed."""

from __future__ import annotations

import math
import time
import webbrowser
from typing import Any

import numpy as np

from kido.errors import StateError
from kido.motions import Motion
from kido.rendering.deforming import Deformation
from kido.rendering.model import Model
from kido.viewer.camera import CameraPose, set_initial_camera, show_pose
from kido.viewer.deforming import deformation_panel
from kido.viewer.export import check_fit, key_frames, motion_view
from kido.viewer.panels import SPEEDS, ShowPanel, speed_of
from kido.viewer.server import Page, ViewerError
from kido.viewer.trajectory import Trajectory


class Player(Page):
    """Shows a motion in the browser, at ``player.url`` on this machine only; the model is not changed.

    Example:
        >>> recording = kido.Recording.open("run.h5")
        >>> motion = Trajectory.from_recording(recording)
        >>> with Player(recording.display_world(), motion) as player:
        ...     player.run()
        >>> walk = kido.load_motion("walk.bvh")
        >>> with Player(walk.skeleton, walk) as player:
        ...     player.run()

    Args:
        model: World or Skeleton.
        trajectory: its motion, or a `kido.Motion` of the skeleton.
        port: None for 8080 or the next free port, 0 for any free one, else exactly this one.
        open_browser: open the page in the default browser.
        speed: simulated seconds per second.
        loop: begin anew at the end.
        fps: frames per second of the page.
        show: layers shown at first, of ``kido.viewer.scene.LAYERS``.
        camera: first camera; None shows the whole motion.
        deformation: how flexible bodies are shown at first.

    Raises:
        MissingExtraError: viser is not installed.
        ViewerError: the port is in use, or the trajectory is of another model.
    """

    def __init__(
        self,
        model: Model,
        trajectory: Trajectory | Motion,
        port: int | None = None,
        *,
        open_browser: bool = False,
        speed: float = 1.0,
        loop: bool = True,
        fps: float = 60.0,
        show: tuple[str, ...] = ("model", "ground", "contacts"),
        camera: CameraPose | None = None,
        deformation: Deformation | None = None,
    ) -> None:
        trajectory = Trajectory.from_motion(trajectory) if isinstance(trajectory, Motion) else trajectory
        check_fit(model, trajectory)
        _check_speed(speed)
        self.trajectory = trajectory
        self.is_world = bool(trajectory.contacts)
        self.speed, self.loop = float(speed), bool(loop)
        self.paused = False
        self.time = 0.0
        self._frame: int | None = None
        self._look: Deformation | None = None
        self._last: float | None = None
        super().__init__(model, "motion", port, fps)
        try:
            self.view = motion_view(self.server, model, trajectory, show, deformation)
            self._greet_pages(camera)
            self._panels()
            self.seek(0.0)
        except BaseException:
            self.close()
            raise
        if open_browser:
            webbrowser.open(self.url)

    def _greet_pages(self, camera: CameraPose | None) -> None:
        """Let every page that is opened see the whole motion, in its own proportions."""

        def first(aspect: float) -> CameraPose:
            return camera or self.view.home(aspect=aspect or 1.5, frames=key_frames(self.trajectory))

        set_initial_camera(self.server, first(1.5))
        self.server.on_client_connect(
            lambda client: self.post(lambda: show_pose(client, first(float(client.camera.aspect))))
        )

    def _panels(self) -> None:
        gui = self.server.gui
        gui.main_panel.dock_right()
        with gui.add_folder("Motion"):
            self._toggle = gui.add_button("Pause", hint="Space")
            self._toggle.on_click(lambda _: self.post(self.toggle_pause))
            longest = max(self.trajectory.duration, 1e-3)
            self._slider = gui.add_slider("Time [s]", min=0.0, max=longest, step=longest / 2000, initial_value=0.0)
            self._speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")
            self._loop = gui.add_checkbox("Begin anew at the end", initial_value=self.loop)

        def moved(event: Any) -> None:
            if event.client is not None:
                self.post(lambda t=float(self._slider.value): self._scrub(t))

        def faster(_: Any) -> None:
            self.post(lambda: setattr(self, "speed", speed_of(str(self._speed.value))))

        self._slider.on_update(moved)
        self._speed.on_update(faster)
        self._loop.on_update(lambda _: self.post(lambda: setattr(self, "loop", bool(self._loop.value))))
        self.server.gui.add_command("Run or pause", hotkey="space").on_trigger(lambda _: self.post(self.toggle_pause))
        with gui.add_folder("Show"):
            self._show_panel = ShowPanel(self)
        self._deformation_panel = deformation_panel(self)

    def toggle_pause(self) -> None:
        """Pause or go on; at the end of a motion that is not looped, begin anew."""
        self.paused = not self.paused
        if not self.paused and self.time >= self.trajectory.duration and not self.loop:
            self.seek(0.0)
        self._toggle.label = "Run" if self.paused else "Pause"

    def _scrub(self, t: float) -> None:
        if not self.paused:
            self.toggle_pause()
        self.seek(t)

    def seek(self, t: float) -> None:
        """Show the motion as it is ``t`` seconds after its start; between 0 and its duration."""
        if not math.isfinite(t):
            raise StateError(f"Time in a motion is {t!r} s; expected a number.")
        motion = self.trajectory
        self.time = float(np.clip(t, 0.0, motion.duration))
        frame = int(np.searchsorted(motion.times, motion.times[0] + self.time + 1e-9, side="right")) - 1
        if frame != self._frame or self.view.deformation is not self._look:
            self._frame, self._look = frame, self.view.deformation
            self.view.update(*motion.frame(frame))
            if self._deformation_panel is not None:
                self._deformation_panel.refresh()

    def spin(self) -> None:
        """One frame: do what people asked for, and go on by the time that has passed."""
        if self.closed:
            raise ViewerError("The player is closed.")
        self.work_off()
        now = time.perf_counter()
        passed = 0.0 if self._last is None else min(now - self._last, 0.25)
        self._last = now
        if not self.paused:
            t = self.time + passed * self.speed
            if t > self.trajectory.duration and self.time >= self.trajectory.duration:
                if self.loop:
                    t = 0.0
                else:
                    self.toggle_pause()
            self.seek(t)
            self._slider.value = min(self.time, self._slider.max)

    def run(self, duration: float | None = None) -> bool:
        """Play until closed, Ctrl-C, or ``duration`` real seconds; False if Ctrl-C ended it."""
        end = math.inf if duration is None else time.perf_counter() + duration
        try:
            while not self.closed and time.perf_counter() < end:
                began = time.perf_counter()
                self.spin()
                time.sleep(max(0.0, 1.0 / self.fps - (time.perf_counter() - began)))
        except KeyboardInterrupt:
            return False
        return True


def _check_speed(speed: float) -> None:
    if not (math.isfinite(speed) and speed > 0):
        raise StateError(f"Player speed is {speed!r}; expected a number above 0.")
