"""The viewer: a page in the browser that shows a model and, for a world, its live simulation."""

from __future__ import annotations

import itertools
import math
import textwrap
import threading
import time
import traceback
import webbrowser
from collections.abc import Callable
from typing import Any

import numpy as np

from kido.attributes import named_arguments
from kido.errors import NameLookupError, StateError
from kido.rendering import palette
from kido.rendering.deforming import Deformation
from kido.rendering.model import Model, body_labels, gravity_of, is_mobile, is_world, skeletons_of
from kido.viewer.camera import BodyCamera, Follower
from kido.viewer.cameras import Cameras
from kido.viewer.controls import Controls
from kido.viewer.deforming import deformation_panel
from kido.viewer.dragging import PullTool
from kido.viewer.forces import ArrowSet, arrow_vectors
from kido.viewer.joints_panel import JointsFolder, JointsPanel
from kido.viewer.painting import Painter
from kido.viewer.panels import CameraPanel, PushPanel, ShowPanel, SimulationPanel
from kido.viewer.pushing import Pacer, Push, Pusher
from kido.viewer.scene import SceneView
from kido.viewer.server import ViewerError
from kido.viewer.targets import Target
from kido.viewer.webpage import Text

STATUS_PERIOD = 0.2
"""Seconds between two updates of the status line."""


class Viewer(Controls, Cameras):
    """Shows a world or skeleton in the browser, at ``viewer.url`` on this machine only.

    What is added to the model, changed or removed later appears with the next frame: skeletons, bodies, joints and
    their limits, shapes, colours. A notebook shows the page where the viewer is the last expression of a cell; have
    it run beside the cells with :meth:`start`.

    The page is served by threads of its own, but the model is touched only by the thread that calls
    :meth:`run`, :meth:`spin` or :meth:`step`: what people do on the page waits until then. Callbacks run in
    that thread too. Forces on the world hold until they are changed, as in one long ``world.step(n)``.

        with kido.viewer.Viewer(world) as viewer:
            viewer.run()

    Args:
        model: World (simulated live) or Skeleton (moved with sliders).
        port: None for 8080 or the next free port, 0 for any free one, else exactly this one.
        open_browser: open the page in the default browser.
        paused: start paused (worlds).
        fps: frames per second of the page.
        show: layers shown at first, of ``kido.viewer.scene.LAYERS``.
        deformation: how flexible bodies are shown at first: amplified, coloured by stress or strain.

    Raises:
        MissingExtraError: viser is not installed.
        ViewerError: the port is in use.
        KidoError: the model is neither a World nor a Skeleton.
    """

    def __init__(
        self,
        model: Model,
        port: int | None = None,
        *,
        open_browser: bool = False,
        paused: bool = False,
        fps: float = 60.0,
        show: tuple[str, ...] = ("model", "ground", "contacts"),
        deformation: Deformation | None = None,
    ) -> None:
        skeletons_of(model)
        self.is_world = is_world(model)
        self._thread: threading.Thread | None = None
        super().__init__(model, "model", port, fps)
        try:
            self._setup(paused, show, deformation)
        except BaseException:
            self.close()
            raise
        if open_browser:
            webbrowser.open(self.url)

    def _setup(self, paused: bool, show: tuple[str, ...], deformation: Deformation | None) -> None:
        self.labels = body_labels(self.model)
        self._pull = PullTool(self)
        self.view = SceneView(self.server, self.model, show=show, made=self._pull.attach, deformation=deformation)
        self._painter = Painter(self.server)
        self._frame_callbacks: list[Callable[[Viewer], Any]] = []
        self._next_status = 0.0
        self.paused = bool(paused) and self.is_world
        self.drawables = {}
        self.drags = []
        self._number = itertools.count(1)
        self.follower = Follower()
        self.cameras: dict[str, BodyCamera] = {}
        self.targets: list[Target] = []
        self.selected: Any = None
        self.pusher = Pusher(self.model) if self.is_world else None
        self._pacer = Pacer(self.model.time_step, self.fps) if self.is_world else None
        self._start = self.model.snapshot() if self.is_world else None
        self._push_arrows = ArrowSet(
            self.server.scene,
            "/pushes",
            0.02 * self.view.body_size,
            color=palette.PUSH,
            dot_color=palette.PUSH,
        )
        self.greet_pages()
        self._failure: Text | None = None  # that says what ended a step
        gui = self.server.gui
        self._simulation: SimulationPanel | None = None
        self._push_panel: PushPanel | None = None
        if self.is_world:
            with gui.add_folder("Simulation", order=0.0):
                self._simulation = SimulationPanel(self)
        with gui.add_folder("Show", order=1.0):
            self._show_panel = ShowPanel(self)
        self._deformation_panel = deformation_panel(self, order=1.5)
        gui.main_panel.dock_right()
        with gui.add_folder("Camera", expand_by_default=not self.is_world, order=2.0):
            self._camera_panel = CameraPanel(self)
        if self.is_world:
            with gui.add_folder("Push", expand_by_default=False, order=3.0):
                self._push_panel = PushPanel(self)
        self._joints = JointsFolder(self, 4.0, self._joint_moved)

    @property
    def joint_panels(self) -> list[JointsPanel]:
        """Sliders, by skeleton."""
        return self._joints.panels

    @property
    def num_clients(self) -> int:
        """Pages that are open."""
        return len(self.server.get_clients())

    def end(self) -> None:
        """End the thread."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)

    # Running ---------------------------------------------------------------------------------------------

    @named_arguments
    def run(self, duration: float | None = None) -> bool:
        """Show, and simulate a world at the chosen speed, until closed, Ctrl-C or ``duration`` seconds.

        Args:
            duration: simulated seconds for a world, real seconds for a skeleton; None for no end.

        Returns:
            False if Ctrl-C ended it, else True. The viewer stays open.
        """
        if duration is not None and not duration >= 0:
            raise StateError(f"Viewer duration is {duration!r} s; expected None or a number of at least 0.")
        self.check_open()
        clock = (lambda: float(self.model.time)) if self.is_world else time.perf_counter
        end = math.inf if duration is None else clock() + duration
        try:
            while not self.closed and clock() < end - 1e-9:
                began = time.perf_counter()
                limit = None
                if self.is_world and end < math.inf:
                    limit = round((end - clock()) / self.model.time_step)
                self.spin(limit)
                rest = 1.0 / self.fps - (time.perf_counter() - began)
                hurry = self._pacer is not None and math.isinf(self._pacer.speed) and not self.paused
                if rest > 0 and not hurry:
                    time.sleep(rest)
        except KeyboardInterrupt:
            return False
        return True

    def start(self) -> None:
        """Run in a thread of its own, as in a notebook; the model must then not be touched elsewhere."""
        self.check_open()
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run_alone, name="kido-viewer", daemon=True)
            self._thread.start()

    def _run_alone(self) -> None:
        """`run` in a thread of its own: an error pauses the world and is told in the page, which lives on."""
        while not self.closed:
            try:
                self.run()
            except Exception as error:
                if self.closed:
                    return
                traceback.print_exc()
                text = textwrap.fill(f"{type(error).__name__}: {error}"[:600], 80)
                self._failure = self.add_text(text, "bottom", color=[c / 255.0 for c in palette.MISSED])
                if self.paused or not self.is_world:  # to show it is what fails
                    return
                self.pause()

    def spin(self, max_steps: int | None = None) -> int:
        """One frame: do what people asked for, simulate what is due, show the result.

        Args:
            max_steps: at most so many steps.

        Returns:
            Number of steps taken.
        """
        self.check_open()
        self.work_off()
        steps = 0
        if self._pacer is not None and self.pusher is not None:
            if self.paused:
                self._pacer.pause()
            else:
                steps = self._pacer.due()
                if max_steps is not None:
                    steps = min(steps, max_steps)
                began = time.perf_counter()
                if steps:
                    self.pusher.step(steps)
                self._pacer.spent(steps, time.perf_counter() - began)
        self.update()
        return steps

    def update(self) -> None:
        """Call the frame callbacks and show the model as it is now; for programs with a loop of their own."""
        self.check_open()
        for callback in list(self._frame_callbacks):
            callback(self)
        empty = not self.view.visual.batches
        if self.view.follow():
            self._model_changed(empty)
        self._joints.follow()
        self.view.update()
        self._show_pushes()
        self.place_drawables()
        self.follower.update(list(self.server.get_clients().values()))
        now = time.perf_counter()
        if now >= self._next_status:
            self._next_status = now + STATUS_PERIOD
            if self._simulation is not None:
                self._simulation.refresh()
            if self._deformation_panel is not None:
                self._deformation_panel.refresh()

    def _model_changed(self, was_empty: bool) -> None:
        """Bodies, joints or shapes came, went or changed: forget what hung on those that are gone."""
        self.labels = body_labels(self.model)
        bodies = self.view.bodies
        self.forget_strangers()
        if self.selected is not None and not any(self.selected is b for b in bodies):
            self.selected = None
        if self.pusher is not None:
            self.pusher.pushes = [p for p in self.pusher.pushes if any(p.body is b for b in bodies)]
            self._start = self.model.snapshot()
        self._push_arrows.radius = 0.02 * self.view.body_size
        if self._push_panel is not None:
            self._push_panel.refresh()
        self.forget_cameras()
        self.show_all() if was_empty else self.set_first_camera()

    def _show_pushes(self) -> None:
        if self.pusher is None:
            return
        pushes = self.pusher.pushes
        points = np.array([p.point() for p in pushes]).reshape(-1, 3)
        forces = np.array([p.force for p in pushes]).reshape(-1, 3)
        scale = 0.3 * self.view.force_factor * self.view.force_scale
        vectors = arrow_vectors(forces, scale, 2.0 * self.view.body_size)
        for k, push in enumerate(pushes):
            if push.target is not None:
                vectors[k] = push.target - points[k]
        self._push_arrows.update(points, vectors)

    def check_open(self) -> None:
        """Raise a `ViewerError` if the viewer is closed."""
        if self.closed:
            raise ViewerError("The viewer is closed.")

    # Simulation ------------------------------------------------------------------------------------------

    @property
    def real_time_factor(self) -> float:
        """Simulated seconds per second of late."""
        return self._pacer.real_time_factor if self._pacer is not None else 0.0

    def check_world(self, what: str) -> Any:
        """The world that is shown.

        Raises:
            ViewerError: it is a skeleton.
        """
        if not self.is_world:
            raise ViewerError(f"{what} needs a World; this viewer shows the skeleton {self.model.name!r}.")
        return self.model

    def pause(self) -> None:
        """Stop the simulated time."""
        self.check_world("Pausing")
        self.paused = True
        self._refresh_panels()

    def resume(self) -> None:
        """Let the simulated time go on."""
        self.check_world("Running")
        self.paused = False
        if self._failure is not None:
            self._failure.remove()
        self._refresh_panels()

    def _refresh_panels(self) -> None:
        for panel in self.joint_panels:
            panel.refresh()
        if self._simulation is not None:
            self._simulation.refresh()

    def toggle_pause(self) -> None:
        """Pause or resume."""
        self.resume() if self.paused else self.pause()

    def step(self, n: int = 1) -> None:
        """Pause, and take n steps."""
        self.check_world("Stepping")
        self.pause()
        if self.pusher is not None:
            self.pusher.step(int(n))
        self.pause()

    def reset(self) -> None:
        """Back to the state of the world when the viewer was made, or when bodies, joints or shapes last changed."""
        world = self.check_world("Resetting")
        world.restore(self._start)
        if self.pusher is not None:
            self.pusher.pushes.clear()
        self._refresh_panels()

    def set_speed(self, speed: float) -> None:
        """Simulated seconds per second; ``math.inf`` for as fast as possible."""
        self.check_world("Setting the speed")
        if not speed > 0:
            raise StateError(f"Viewer speed is {speed!r}; expected a number above 0.")
        if self._pacer is not None:
            self._pacer.speed = float(speed)

    @named_arguments
    def push(self, body: Any, force: Any, duration: float = 0.1, offset: Any = None) -> Push:
        """Push a body of the world.

        Args:
            body: a BodyNode of the world.
            force: (3,) world axes [N].
            duration: simulated seconds.
            offset: (3,) where it acts, in body axes from the body origin [m]; None for the centre of mass.
        """
        self.check_world("Pushing")
        self.check_body(body)
        if offset is None:
            offset = np.asarray(body.inertia.com, dtype=float)
        assert self.pusher is not None
        return self.pusher.add(body, force, duration, offset)

    def weight(self, skeleton: Any) -> float:
        """Weight of a skeleton [N]; on Earth where there is no gravity."""
        return float(skeleton.mass) * (float(np.linalg.norm(gravity_of(self.model))) or 9.81)

    def select(self, body: Any) -> None:
        """Make ``body`` the selected one, as a click on it does."""
        self.selected = body
        if self._push_panel is not None and is_mobile(body.skeleton):
            self._push_panel.choose(body)

    def release_shapes(self) -> None:
        """Let shapes take no clicks and drags, so that what is inside of them can be dragged."""
        self._pull.detach()

    def _joint_moved(self, action: Callable[[], None]) -> None:
        def apply() -> None:
            self.hold_still()
            action()

        self.post(apply)

    def hold_still(self) -> None:
        """Pause a world that runs."""
        if self.is_world and not self.paused:
            self.pause()

    def check_body(self, body: Any) -> None:
        """Raise a `NameLookupError` if a body is none of those shown."""
        if not any(body is b for b in self.view.bodies):
            raise NameLookupError("body in the viewer", getattr(body, "name", body), self.labels)
