"""Sliders that set the positions of joints."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from kido.rendering.model import is_mobile, skeletons_of
from kido.skeleton.joints.coordinates import CoordinateKind
from kido.viewer.server import LivePage

MAX_SLIDERS = 150
"""A model with more degrees of freedom than this gets no joint sliders."""

Moved = Callable[[Callable[[], None]], None]


class JointsFolder:
    """A folder with a panel for each skeleton that moves, which follows changes of joints and their limits.

    Args:
        viewer: its page.
        order: of the folder among the others.
        moved: called in the page's thread with a function that sets positions; it is to be run where the model may be
            touched.

    Attributes:
        panels: of the skeletons.
    """

    def __init__(self, viewer: LivePage, order: float, moved: Moved) -> None:
        self._viewer, self._order, self._moved = viewer, order, moved
        self._folder: Any = None
        self._shown: Any = None
        self._versions: Any = None
        self.panels: list[JointsPanel] = []
        self.follow()

    def follow(self) -> None:
        """Make the sliders anew if joints or their limits are others."""
        versions = [(s, s.version) for s in skeletons_of(self._viewer.model)]
        if versions == self._versions:
            return
        self._versions = versions
        skeletons = [s for s, _ in versions if is_mobile(s) and s.num_dofs]
        shown = [(s, s.name, [(d.name, *_range_of(d)) for d in s.dofs]) for s in skeletons]
        if shown != self._shown:
            self._shown = shown
            self._make(skeletons)

    def _make(self, skeletons: list[Any]) -> None:
        viewer, gui = self._viewer, self._viewer.server.gui
        if self._folder is not None:
            self._folder.remove()
        self.panels = []
        count = sum(s.num_dofs for s in skeletons)
        self._folder = gui.add_folder(
            "Joints", expand_by_default=not viewer.is_world, visible=bool(skeletons), order=self._order
        )
        with self._folder:
            if count > MAX_SLIDERS:
                gui.add_markdown(f"No joint sliders: {count} degrees of freedom are more than {MAX_SLIDERS}.")
                return
            for skeleton in skeletons:
                with contextlib.nullcontext() if len(skeletons) == 1 else gui.add_folder(skeleton.name):
                    self.panels.append(JointsPanel(gui, skeleton, 2.0 * viewer.view.extent, self._moved))


def _range_of(dof: Any) -> tuple[float, float]:
    return float(dof.position_lower_limit), float(dof.position_upper_limit)


_RPY = ("roll", "pitch", "yaw")


class JointsPanel:
    """Sliders that set the positions of one skeleton.

    A degree of freedom with limits gets a slider between them, one without gets half a turn or ``reach``
    metres either way. Rotations of ball and free joints are roll, pitch and yaw [rad] about the axes of
    the joint's parent frame.

    Args:
        gui: GUI of a viser server.
        skeleton: the skeleton.
        reach: range of translations without limits [m].
        changed: as for :class:`JointsFolder`.
    """

    def __init__(self, gui: Any, skeleton: Any, reach: float, changed: Moved) -> None:
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
                limit = 0.5 * math.pi if name == "pitch" else math.pi
                group.append(
                    self._slider(
                        gui,
                        f"{joint.name} {name} [rad]",
                        (-limit, limit),
                        lambda q, i=start, k=k: float(_rpy(q[i : i + 3])[k]),
                        lambda _, i=start, g=group: self._set_rpy(i, [float(s.value) for s in g]),
                    )
                )
            dofs = dofs[3:]
        for dof in dofs:
            self._slider(
                gui,
                f"{dof.name} [{'m' if self._is_length(joint, dof) else 'rad'}]",
                self._range(joint, dof),
                lambda q, i=dof.index: float(q[i]),
                lambda value, i=dof.index: self._set(i, value),
            )

    @staticmethod
    def _is_length(joint: Any, dof: Any) -> bool:
        index = [d.index for d in joint.dofs].index(dof.index)
        return joint.coordinate_kind(index) is CoordinateKind.LENGTH

    def _range(self, joint: Any, dof: Any) -> tuple[float, float]:
        linear = self._is_length(joint, dof)
        spread = self.reach if linear else math.pi
        start = float(self.skeleton.positions[dof.index]) if linear else 0.0
        lower, upper = _range_of(dof)
        if not np.isfinite(lower):
            lower = min(start - spread, upper - spread if np.isfinite(upper) else np.inf)
        if not np.isfinite(upper):
            upper = max(start + spread, lower + spread)
        if upper <= lower:
            upper = lower + 1e-6
        return lower, upper

    def _slider(
        self,
        gui: Any,
        label: str,
        limits: tuple[float, float],
        read: Callable[[np.ndarray], float],
        write: Callable[[float], None],
    ) -> Any:
        lower, upper = limits
        value = float(np.clip(read(np.array(self.skeleton.positions)), lower, upper))
        step = (upper - lower) / 1000.0
        marks = tuple((end, f"{end:.4g}") for end in limits)
        slider = gui.add_slider(label, min=lower, max=upper, step=step, initial_value=value, marks=marks)

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

    def _set_rpy(self, start: int, angles: list[float]) -> None:
        q = np.array(self.skeleton.positions)
        q[start : start + 3] = scipy.spatial.transform.Rotation.from_euler("ZYX", angles[::-1]).as_rotvec()
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
    """Roll, pitch, yaw (3,) [rad] of a rotation vector: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gimbal lock: one of the solutions will do
        return np.array(scipy.spatial.transform.Rotation.from_rotvec(np.array(rotation_vector)).as_euler("ZYX")[::-1])
