"""Sliders for the joints of a skeleton."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kido.skeleton import BallJoint, FreeJoint, PlanarJoint, PrismaticJoint, TranslationalJoint

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
        if isinstance(joint, (BallJoint, FreeJoint)):
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
        linear = isinstance(joint, (PrismaticJoint, TranslationalJoint))
        linear = (
            linear or (isinstance(joint, FreeJoint) and index >= 3) or (isinstance(joint, PlanarJoint) and index < 2)
        )
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
        q[start : start + 3] = Rotation.from_euler("ZYX", degrees[::-1], degrees=True).as_rotvec()
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
        return np.array(Rotation.from_rotvec(rotation_vector).as_euler("ZYX", degrees=True)[::-1])
