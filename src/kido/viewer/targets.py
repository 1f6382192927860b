"""Targets of inverse kinematics on the page: drag them, and the skeleton follows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.attributes import FixedAttributes
from kido.errors import StateError
from kido.rendering import palette
from kido.viewer.dragging import Gizmo
from kido.viewer.server import LivePage, ViewerError

if TYPE_CHECKING:
    from kido.ik import HierarchicalIK, IkResult, InverseKinematics

Array = NDArray[np.float64]

REGIONS: dict[str, tuple[Any, Any]] = {
    "pose": (1e-6, 1e-6),
    "position": (np.inf, 1e-6),
    "orientation": (1e-6, np.inf),
    "flat, at its height": ((1e-6, 1e-6, np.inf), (np.inf, np.inf, 1e-6)),
}
"""What a task can be made to want: angular and linear bounds of its task space region."""

OWN_REGION = "as it was made"
VISIBLE = 1e-4  # errors above are named at the target itself [rad, m]
_STILL = 1e-10  # a frame that moves no coordinate by more has come as near as it can [rad, m]
_TEXT_PERIOD = 0.2  # between two updates of the texts [s]


class Target(FixedAttributes):
    """One task on the page: a gizmo at its target, and controls of its priority and region.

    Attributes:
        ik: the task.
        gizmo: what is dragged.
    """

    def __init__(self, viewer: LivePage, ik: InverseKinematics, size: float, changed: Callable[[], None]) -> None:
        from kido.ik import TaskSpaceRegion

        self.ik = ik
        self._viewer, self._changed = viewer, changed
        scene, gui, label = viewer.server.scene, viewer.server.gui, ik.node.name
        root = f"/targets/{len(viewer.targets)}"
        self.gizmo = Gizmo(viewer, root, size, lambda X: setattr(ik.target, "world_transform", X))
        self._dot = scene.add_icosphere(f"{root}/dot", radius=0.12 * size, color=palette.REACHED)
        self._label = scene.add_label(f"{root}/label", label)
        with gui.add_folder(label, expand_by_default=False):
            self.active = gui.add_checkbox("Active", initial_value=ik.active)
            self.priority = gui.add_number("Priority", initial_value=ik.priority, min=0, max=99, step=1)
            self.region: Any = None
            if type(ik.error_method) is TaskSpaceRegion:
                self._own = ik.error_method.angular_bounds, ik.error_method.linear_bounds
                self.region = gui.add_dropdown("Wanted", (OWN_REGION, *REGIONS), initial_value=OWN_REGION)
                self.region.on_update(lambda _: self._post(self._set_region))
            self.text = gui.add_markdown("")
        self.active.on_update(lambda _: self._post(lambda: setattr(ik, "active", bool(self.active.value))))
        self.priority.on_update(lambda _: self._post(lambda: setattr(ik, "priority", int(self.priority.value))))
        self.show()

    def _post(self, action: Callable[[], None]) -> None:
        def apply() -> None:
            action()
            self._changed()

        self._viewer.post(apply)

    def _set_region(self) -> None:
        from kido.ik import TaskSpaceRegion

        chosen = str(self.region.value)
        method = self.ik.error_method
        if isinstance(method, TaskSpaceRegion):
            method.angular_bounds, method.linear_bounds = self._own if chosen == OWN_REGION else REGIONS[chosen]

    def show(self) -> None:
        """Put the gizmo where the target is, unless a person holds it."""
        self.gizmo.show(self.ik.target.world_transform)

    def describe(self, error: Array | None) -> None:
        """Show how far the task is from what it wants: its error (6,); None if it takes no part."""
        ik = self.ik
        reached = error is not None and bool(np.abs(error).max() <= ik.error_method.tolerance)
        color = palette.INACTIVE if error is None else palette.REACHED if reached else palette.MISSED
        if tuple(self._dot.color) != color:
            self._dot.color = color
        title = f"{ik.node.name} · priority {ik.priority}"
        far = error is not None and bool(np.abs(error).max() >= VISIBLE)
        self._label.text = f"{title} · {off(error)}" if far and error is not None else title
        state = "takes no part" if error is None else "reached" if reached else f"off by {off(error)}"
        self.text.content = f"{state}  \n{region_text(ik)}"


class Targets(FixedAttributes):
    """Draggable targets for all tasks of a hierarchy: whenever one moves, the skeleton follows in the next frame.

    Each target shows its task's priority and whether it is reached; a panel sets priority, region and activity, and
    lists coordinates at their limits. What a frame does not reach, the next goes on with. Bodies can no longer be
    clicked or pulled then: they would take the mouse from targets inside of them.

    Args:
        viewer: shows the skeleton of the hierarchy.
        ik: the hierarchy; its solver does one solve a frame, so give it few iterations.

    Raises:
        ViewerError: the viewer does not show the skeleton, or has targets for it already.
        StateError: `ik` is no hierarchy.
    """

    def __init__(self, viewer: LivePage, ik: HierarchicalIK) -> None:
        from kido.ik import HierarchicalIK

        if not isinstance(ik, HierarchicalIK):
            raise StateError(f"targets: expected a CompositeIK or WholeBodyIK, got {ik!r}")
        if not any(body.skeleton is ik.skeleton for body in viewer.view.bodies):
            raise ViewerError(f"The viewer does not show the skeleton {ik.skeleton.name!r} of {ik!r}.")
        if any(target.ik.skeleton is ik.skeleton for target in viewer.targets):
            raise ViewerError(f"The viewer has targets for the skeleton {ik.skeleton.name!r} already.")
        self.ik = ik
        self.result: IkResult | None = None
        self.milliseconds = 0.0
        self._viewer = viewer
        self._known: tuple[Any, ...] = ()
        self._settled = False
        self._next_text = 0.0
        gui = viewer.server.gui
        self._start = ik.skeleton.positions, [m.target.world_transform for m in ik.modules]
        with gui.add_folder("Inverse kinematics", order=-1.0):  # above all others
            self.live = gui.add_checkbox("Follow the targets", initial_value=True)
            gui.add_button("Targets to bodies", hint="Wherever the bodies are now").on_click(
                lambda _: viewer.post(self.release)
            )
            gui.add_button("Start again", hint="Pose and targets as they were").on_click(
                lambda _: viewer.post(self.restart)
            )
            self.status = gui.add_markdown("")
            size = 0.2 * viewer.view.body_size
            for module in ik.modules:
                viewer.targets.append(Target(viewer, module, size, self._invalidate))
        self.targets = [target for target in viewer.targets if target.ik.skeleton is ik.skeleton]
        viewer.add_frame_callback(lambda _: self.update())
        viewer.release_shapes()

    def _invalidate(self) -> None:
        self._known = ()

    def release(self) -> None:
        """Put all targets where their bodies are."""
        for target in self.targets:
            target.ik.target.world_transform = target.ik.node_transform

    def restart(self) -> None:
        """The pose and the targets as they were at first."""
        q, poses = self._start
        self.ik.skeleton.positions = q
        for target, X in zip(self.targets, poses, strict=True):
            target.ik.target.world_transform = X

    def update(self) -> None:
        """Follow the targets, if they have moved or are not reached yet, and show how near the skeleton came."""
        viewer, skeleton = self._viewer, self.ik.skeleton
        for target in self.targets:
            target.show()
        paused = viewer.paused or not viewer.is_world
        if not (paused and self.live.value):
            return
        poses = [target.ik.target.world_transform.tobytes() for target in self.targets]
        key = (skeleton.positions.tobytes(), skeleton.structure_version, *poses)
        if key != self._known or not self._settled:
            before = skeleton.positions
            began = time.perf_counter()
            self.result = self.ik.solve_and_apply(allow_incomplete_result=True)
            self.milliseconds = 1e3 * (time.perf_counter() - began)
            after = skeleton.positions
            self._settled = self.result.converged or bool(np.abs(after - before).max(initial=0.0) < _STILL)
            self._known = (after.tobytes(), *key[1:])
            skeleton.velocities = np.zeros(skeleton.num_dofs)
        now = time.perf_counter()
        if now >= self._next_text:
            self._next_text = now + _TEXT_PERIOD
            self.describe()

    def describe(self) -> None:
        """Bring the texts up to date."""
        result = self.result
        if result is None:
            return
        errors = dict(zip((ik for level in self.ik.levels for ik in level), (e for _, e in result.errors)))
        for target in self.targets:
            target.describe(errors.get(target.ik))
        why = result.reason.split(";")[0]  # limits are listed below, also if all is reached
        lines = [why, f"{result.iterations} iterations, {self.milliseconds:.1f} ms", limits_text(self.ik)]
        self.status.content = "  \n".join(line for line in lines if line)
        for panel in self._viewer.joint_panels:
            if panel.skeleton is self.ik.skeleton:
                panel.refresh()


def off(error: Array) -> str:
    """An error (6,) in words: "12.3 mm, 0.045 rad"."""
    parts = []
    if np.abs(error[3:]).max() > 0.0:
        parts.append(f"{1e3 * np.linalg.norm(error[3:]):.3g} mm")
    if np.abs(error[:3]).max() > 0.0:
        parts.append(f"{np.linalg.norm(error[:3]):.3g} rad")
    return ", ".join(parts) or "nothing"


def region_text(ik: InverseKinematics) -> str:
    """The bounds of a task in words: what is fixed, free, or between bounds."""
    method = ik.error_method
    bounds = getattr(method, "bounds", None)
    if bounds is None:
        return type(method).__name__
    words = []
    for name, unit, part in (("turn", "rad", bounds[:3]), ("place", "m", bounds[3:])):
        for axis, (low, high) in zip("xyz", part):
            if np.isinf(low) and np.isinf(high):
                words.append(f"{name} {axis} free")
            elif high - low > 1e-4:
                words.append(f"{name} {axis} {low:.3g} to {high:.3g} {unit}")
    return ", ".join(words) or "turn and place fixed"


def limits_text(ik: HierarchicalIK) -> str:
    """Which coordinates are at their limits, in words; empty if none is."""
    names = []
    for dof, x in zip(ik.dofs, ik.positions):
        if x - dof.position_lower_limit < 1e-6 or dof.position_upper_limit - x < 1e-6:
            names.append(dof.name)
    return f"at their limits: {', '.join(names)}" if names else ""
