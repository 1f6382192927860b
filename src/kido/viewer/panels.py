"""The viewer's own controls: simulation, what is shown, camera, push, joints."""

from __future__ import annotations

from typing import Any

from kido.rendering.model import is_mobile
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
            scale = gui.add_slider(
                "Force arrows",
                min=-2.0,
                max=2.0,
                step=0.1,
                initial_value=0.0,
                hint="Power of ten times the default length",
            )

            def set_scale() -> None:
                view.force_factor = 10.0 ** float(scale.value)

            scale.on_update(lambda _: viewer.post(set_scale))


class CameraPanel:
    """Reset view, follow a body, look through a camera on a body."""

    FREE = "free"

    def __init__(self, viewer: LivePage) -> None:
        gui = viewer.server.gui
        self._viewer = viewer
        gui.add_button("Whole model", hint="Key H").on_click(lambda _: viewer.post(viewer.show_all))
        viewer.add_key("H", viewer.show_all, "Show the whole model")
        self._bodies = _by_label(viewer)
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
        """Show the bodies and cameras there are and those in use."""
        viewer = self._viewer
        self._bodies = _by_label(viewer)
        _offer(self._follow, (self.FREE, *self._bodies))
        _offer(self._through, (self.FREE, *viewer.cameras))
        camera, body = viewer.follower.camera, viewer.follower.body
        self._through.value = camera.name if camera is not None else self.FREE
        names = [name for name, b in self._bodies.items() if b is body]
        self._follow.value = names[0] if names else self.FREE


def _by_label(viewer: LivePage) -> dict[str, Any]:
    return dict(zip(viewer.labels, viewer.view.bodies, strict=True))


def _offer(dropdown: Any, options: tuple[str, ...]) -> None:
    if tuple(dropdown.options) != options:
        dropdown.options = options


class PushPanel:
    """Pushes a body: chosen from a list or by a click, along an axis or with the mouse."""

    NONE = "none"

    def __init__(self, viewer: LivePage) -> None:
        gui = viewer.server.gui
        self._viewer = viewer
        self._bodies: dict[str, Any] = {}
        self.body = gui.add_dropdown("Body", (self.NONE,), initial_value=self.NONE, hint="Or click a body")
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
        weight = 3.0 * (viewer.view.typical_weight() or 9.81)
        self.force = gui.add_number("Force [N]", initial_value=float(f"{weight:.2g}"), min=0.0, step=0.1)
        self.duration = gui.add_number("Duration [s]", initial_value=0.1, min=0.001, step=0.01)
        gui.add_button("Push", hint="Key P. Or hold Shift and drag a body").on_click(lambda _: viewer.post(self.push))
        gui.add_markdown("Shift + drag pulls a body.")
        viewer.add_key("P", self.push, "Push the chosen body")
        self.refresh()

    def refresh(self) -> None:
        """Offer the bodies that there are."""
        self._bodies = {name: body for name, body in _by_label(self._viewer).items() if is_mobile(body.skeleton)}
        _offer(self.body, tuple(self._bodies) or (self.NONE,))

    def push(self) -> None:
        """Do what the panel says, at the body's centre of mass."""
        body = self._bodies.get(str(self.body.value))
        if body is None:
            return
        force = float(self.force.value) * self._directions[str(self.direction.value)]
        self._viewer.push(body, force, float(self.duration.value))

    def choose(self, body: Any) -> None:
        """Show this body as the one to push."""
        for label, b in self._bodies.items():
            if b is body:
                self.body.value = label
