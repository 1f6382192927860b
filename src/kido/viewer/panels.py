"""The viewer's own controls: simulation, what is shown, camera, push, joints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from kido.skeleton.joints.coordinates import CoordinateKind
from kido.viewer.camera import basis
from kido.viewer.server import LivePage, Page

SPEEDS = ("1/10", "1/4", "1/2", "1", "2", "4")
AS_FAST_AS_POSSIBLE = "as fast as possible"


class SimulationPanel:
    """Run, pause, step, reset, speed, and a line of status."""

    def __init__(self, viewer: LivePage) -> None:
        gui = viewer.server.gui
        self._viewer = viewer
        self._toggle = gui.add_button("Pause", hint="Space")
        self._toggle.on_click(lambda _: viewer.post(viewer.toggle_pause))
        self._step = gui.add_button_group(
            "Step", ("1", "10", "100"), hint="Steps to take while paused; the right arrow key takes one"
        )
        self._step.on_click(lambda _: viewer.post(lambda n=int(self._step.value): viewer.step(n)))
        self._reset = gui.add_button("Reset", hint="Back to the state at the start; key R")
        self._reset.on_click(lambda _: viewer.post(viewer.reset))
        self.speed = gui.add_dropdown(
            "Speed", (*SPEEDS, AS_FAST_AS_POSSIBLE), initial_value="1", hint="Simulated seconds per second"
        )
        self.speed.on_update(lambda _: viewer.post(lambda: viewer.set_speed(speed_of(self.speed.value))))
        self._status = gui.add_markdown("")
        viewer.add_key("space", viewer.toggle_pause, "Run or pause")
        viewer.add_key("arrowright", lambda: viewer.step(1), "One step")
        viewer.add_key("R", viewer.reset, "Reset the simulation")
        self.refresh()

    def refresh(self) -> None:
        """Show the present state."""
        viewer = self._viewer
        self._toggle.label = "Run" if viewer.paused else "Pause"
        world = viewer.model
        contacts = getattr(world, "contacts", None)
        count = len(contacts) if contacts is not None else 0
        lines = [f"time {float(world.time):.3f} s", f"{count} contacts"]
        if not viewer.paused:
            lines.insert(1, f"{viewer.real_time_factor:.2f} x real time")
        self._status.content = "  \n".join(lines)


def speed_of(text: str) -> float:
    """Simulated seconds per second, of a choice among speeds."""
    if text == AS_FAST_AS_POSSIBLE:
        return float("inf")
    top, _, bottom = text.partition("/")
    return float(top) / float(bottom or 1)


class ShowPanel:
    """Check boxes of the layers, and the length of the force arrows."""

    def __init__(self, viewer: Page) -> None:
        gui, view = viewer.server.gui, viewer.view
        labels = {
            "model": "Shapes",
            "collision": "Collision shapes",
            "frames": "Body frames",
            "contacts": "Contact forces",
            "ground": "Ground",
        }
        self.boxes: dict[str, Any] = {}
        for layer, label in labels.items():
            if layer == "contacts" and not viewer.is_world:
                continue
            box = gui.add_checkbox(label, initial_value=view.visible(layer))
            box.on_update(lambda _, layer=layer, box=box: viewer.post(lambda: view.set_visible(layer, bool(box.value))))
            self.boxes[layer] = box
        if viewer.is_world:
            first = view.force_scale
            scale = gui.add_slider(
                "Force arrows",
                min=-2.0,
                max=2.0,
                step=0.1,
                initial_value=0.0,
                hint="Power of ten times the default length",
            )

            def set_scale() -> None:
                view.force_scale = first * 10.0 ** float(scale.value)

            scale.on_update(lambda _: viewer.post(set_scale))


class CameraPanel:
    """Reset view, follow a body, look through a camera on a body."""

    FREE = "free"

    def __init__(self, viewer: LivePage) -> None:
        gui = viewer.server.gui
        self._viewer = viewer
        gui.add_button("Whole model", hint="Key H").on_click(lambda _: viewer.post(viewer.show_all))
        viewer.add_key("H", viewer.show_all, "Show the whole model")
        self._bodies = dict(zip(viewer.labels, viewer.view.bodies, strict=True))
        self._follow = gui.add_dropdown("Follow", (self.FREE, *self._bodies), initial_value=self.FREE)
        self._through = gui.add_dropdown("Camera", (self.FREE,), initial_value=self.FREE)

        def follow(event: Any) -> None:
            if event.client is not None:
                name = str(self._follow.value)
                viewer.post(lambda: viewer.follow(self._bodies.get(name)))

        def through(event: Any) -> None:
            if event.client is not None:
                name = str(self._through.value)
                viewer.post(lambda: viewer.look_through(viewer.cameras.get(name)))

        self._follow.on_update(follow)
        self._through.on_update(through)

    def refresh(self) -> None:
        """Show the cameras there are and the one in use."""
        viewer = self._viewer
        self._through.options = (self.FREE, *viewer.cameras)
        camera, body = viewer.follower.camera, viewer.follower.body
        self._through.value = camera.name if camera is not None else self.FREE
        names = [name for name, b in self._bodies.items() if b is body]
        self._follow.value = names[0] if names else self.FREE


class PushPanel:
    """Pushes a body: chosen from a list or by a click, along an axis or with the mouse."""

    def __init__(self, viewer: LivePage) -> None:
        gui = viewer.server.gui
        self._viewer = viewer
        self._bodies = {
            label: body
            for label, body in zip(viewer.labels, viewer.view.bodies, strict=True)
            if getattr(body.skeleton, "mobile", True)
        }
        first = next(iter(self._bodies), None)
        if first is None:
            gui.add_markdown("Nothing here can be pushed.")
            return
        self.body = gui.add_dropdown("Body", tuple(self._bodies), initial_value=first, hint="Or click a body")
        B = basis(viewer.view.up)
        self._directions = {
            "forward": B[:, 0],
            "back": -B[:, 0],
            "left": B[:, 1],
            "right": -B[:, 1],
            "up": B[:, 2],
            "down": -B[:, 2],
        }
        self.direction = gui.add_dropdown("Direction", tuple(self._directions), initial_value="forward")
        weight = 3.0 * viewer.typical_weight()
        self.force = gui.add_number("Force [N]", initial_value=float(f"{weight:.2g}"), min=0.0, step=0.1)
        self.duration = gui.add_number("Duration [s]", initial_value=0.1, min=0.001, step=0.01)
        gui.add_button("Push", hint="Key P. Or hold Shift and drag a body").on_click(lambda _: viewer.post(self.push))
        gui.add_markdown("Shift + drag pulls a body.")
        viewer.add_key("P", self.push, "Push the chosen body")

    def push(self) -> None:
        """Do what the panel says, at the body's centre of mass."""
        body = self._bodies[str(self.body.value)]
        force = float(self.force.value) * self._directions[str(self.direction.value)]
        self._viewer.push(body, force, float(self.duration.value))

    def choose(self, body: Any) -> None:
        """Show this body as the one to push."""
        for label, b in self._bodies.items():
            if b is body:
                self.body.value = label


class PullTool:
    """Shift and drag: a spring from the point that was grabbed to the mouse."""

    def __init__(self, viewer: LivePage) -> None:
        self._viewer = viewer
        self._pulls: dict[int, Any] = {}

    def attach(self, batches: Any) -> None:
        """Listen to clicks and drags on the shapes."""
        for batch in batches:
            batch.handle.on_click(lambda event, batch=batch: self._clicked(batch, event))
            batch.handle.on_drag("left", modifier="shift")(lambda event, batch=batch: self._dragged(batch, event))

    def detach(self, batches: Any) -> None:
        """Listen no longer: shapes take no clicks from what is drawn over them."""
        for batch in batches:
            batch.handle.remove_click_callback("all")
            batch.handle.remove_drag_callback("all")

    def _body(self, batch: Any, event: Any) -> Any:
        k = 0 if event.instance_index is None else int(event.instance_index)
        return self._viewer.view.bodies[batch.bodies[k]]

    def _clicked(self, batch: Any, event: Any) -> None:
        self._viewer.post(lambda: self._viewer.select(self._body(batch, event)))

    def _dragged(self, batch: Any, event: Any) -> None:
        body = self._body(batch, event)
        start, end = np.array(event.start_position, float), np.array(event.end_position, float)
        self._viewer.post(lambda: self.drag(event.client_id, body, event.phase, start, end))

    def drag(self, client: int, body: Any, phase: str, start: np.ndarray, end: np.ndarray) -> None:
        """A drag of ``body`` from ``start`` to ``end`` (3,) in the world; phase is start, update or end."""
        viewer = self._viewer
        pusher = viewer.pusher
        if pusher is None or not getattr(body.skeleton, "mobile", True):
            return
        if phase == "start":
            X = np.asarray(body.world_transform)
            offset = X[:3, :3].T @ (start - X[:3, 3])
            pull = pusher.add(body, np.zeros(3), float("inf"), offset)
            # The spring can carry the whole skeleton, and calms the body that it holds.
            pull.stiffness = 8.0 * viewer.weight(body.skeleton) / viewer.view.body_size
            pull.damping = 2.0 * math.sqrt(pull.stiffness * float(body.inertia.mass))
            self._pulls[client] = pull
        pull = self._pulls.get(client)
        if pull is None:
            return
        if phase == "end":
            pusher.remove(pull)
            del self._pulls[client]
            return
        pull.target = end


_RPY = ("roll", "pitch", "yaw")


class JointsPanel:
    """Sliders that set the positions of one skeleton.

    A degree of freedom with limits gets a slider between them, one without gets half a turn or ``reach``
    metres either way. Rotations of ball and free joints are roll, pitch and yaw in degrees about the axes of
    the joint's parent frame.

    Args:
        gui: GUI of a viser server.
        skeleton: the skeleton.
        reach: range of translations without limits [m].
        changed: called in the page's thread with a function that sets the positions; it is to be run where
            the model may be touched.
    """

    def __init__(self, gui: Any, skeleton: Any, reach: float, changed: Callable[[Callable[[], None]], None]) -> None:
        self.skeleton = skeleton
        self.reach = float(reach)
        self._changed = changed
        self._controls: list[tuple[Any, Callable[[np.ndarray], float]]] = []
        self.sliders: dict[str, Any] = {}
        self._reset_button = gui.add_button("Reset joints", hint="All joints to their initial positions")
        self._reset_button.on_click(lambda _: self._changed(self.reset))
        for joint in skeleton.joints:
            if joint.num_dofs:
                self._add(gui, joint)

    def _add(self, gui: Any, joint: Any) -> None:
        dofs = list(joint.dofs)
        if joint.coordinate_kind(0) is CoordinateKind.ROTATION:
            start = dofs[0].index
            group: list[Any] = []
            for k, name in enumerate(_RPY):
                limit = 90.0 if name == "pitch" else 180.0
                group.append(
                    self._slider(
                        gui,
                        f"{joint.name} {name} [deg]",
                        -limit,
                        limit,
                        0.5,
                        lambda q, i=start, k=k: float(_rpy(q[i : i + 3])[k]),
                        lambda _, i=start, g=group: self._set_rpy(i, [float(s.value) for s in g]),
                    )
                )
            dofs = dofs[3:]
        for dof in dofs:
            lower, upper, unit = self._range(joint, dof)
            self._slider(
                gui,
                f"{dof.name} [{unit}]",
                lower,
                upper,
                (upper - lower) / 1000.0,
                lambda q, i=dof.index: float(q[i]),
                lambda value, i=dof.index: self._set(i, value),
            )

    def _range(self, joint: Any, dof: Any) -> tuple[float, float, str]:
        index = [d.index for d in joint.dofs].index(dof.index)
        linear = joint.coordinate_kind(index) is CoordinateKind.LENGTH
        spread = self.reach if linear else float(np.pi)
        start = float(self.skeleton.positions[dof.index]) if linear else 0.0
        lower, upper = float(dof.position_lower_limit), float(dof.position_upper_limit)
        if not np.isfinite(lower):
            lower = min(start - spread, upper - spread if np.isfinite(upper) else np.inf)
        if not np.isfinite(upper):
            upper = max(start + spread, lower + spread)
        if upper <= lower:
            upper = lower + 1e-6
        return lower, upper, "m" if linear else "rad"

    def _slider(
        self,
        gui: Any,
        label: str,
        lower: float,
        upper: float,
        step: float,
        read: Callable[[np.ndarray], float],
        write: Callable[[float], None],
    ) -> Any:
        value = float(np.clip(read(np.array(self.skeleton.positions)), lower, upper))
        step = min(step, upper - lower)
        slider = gui.add_slider(label, min=lower, max=upper, step=step, initial_value=value)

        def moved(event: Any) -> None:
            if event.client is not None:
                new = float(slider.value)
                self._changed(lambda: write(new))

        slider.on_update(moved)
        self._controls.append((slider, read))
        self.sliders[label] = slider
        return slider

    def _set(self, index: int, value: float) -> None:
        q = np.array(self.skeleton.positions)
        q[index] = value
        self.skeleton.positions = q

    def _set_rpy(self, start: int, degrees: list[float]) -> None:
        q = np.array(self.skeleton.positions)
        q[start : start + 3] = scipy.spatial.transform.Rotation.from_euler(
            "ZYX", degrees[::-1], degrees=True
        ).as_rotvec()
        self.skeleton.positions = q

    def reset(self) -> None:
        """Initial positions of all joints, velocities zero."""
        self.skeleton.positions = np.array([dof.initial_position for dof in self.skeleton.dofs])
        self.skeleton.velocities = np.zeros(self.skeleton.num_dofs)
        self.refresh()

    def refresh(self) -> None:
        """Show the skeleton's present positions."""
        q = np.array(self.skeleton.positions)
        for slider, read in self._controls:
            value = float(np.clip(read(q), slider.min, slider.max))
            if abs(value - slider.value) > 1e-9:
                slider.value = value


def _rpy(rotation_vector: np.ndarray) -> np.ndarray:
    """Roll, pitch, yaw (3,) [deg] of a rotation vector: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gimbal lock: one of the solutions will do
        return np.array(
            scipy.spatial.transform.Rotation.from_rotvec(rotation_vector).as_euler("ZYX", degrees=True)[::-1]
        )
