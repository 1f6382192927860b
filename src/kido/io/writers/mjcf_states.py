"""States as keyframes of MJCF, and remarks on what of skeletons and worlds its files do not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kido.actuation import Actuators
from kido.io.mjcf.worlds import Keyframe, MjcfWorld
from kido.io.writers.parts import note_skeleton
from kido.io.writers.unsupported import UnsupportedFeatures
from kido.io.xml import Element, add, vector
from kido.joints import ActuatorType
from kido.math.transform import inverse_transform
from kido.rendering import CameraNode
from kido.simulation import World
from kido.skeleton import EndEffector, FreeJoint, Joint, Skeleton

__all__ = ["StateWriter", "note_what_is_left_out"]

Array = NDArray[np.float64]
Read = Callable[[Joint], Array]  # positions of a joint


class StateWriter:
    """Collects the joints of a file, in its order, and writes states as positions of them."""

    def __init__(self) -> None:
        self._parts: list[Callable[[Read], list[float]]] = []
        self._joints: list[Joint] = []

    def add_free(self, joint: Joint) -> None:
        """A free joint, whose positions are those of its body in the parent."""

        def of(read: Read) -> list[float]:
            start = FreeJoint.to_transform(read(joint))
            X = joint.transform_from_parent @ start @ inverse_transform(joint.transform_from_child)
            return [*X[:3, 3], *Rotation.from_matrix(X[:3, :3]).as_quat(scalar_first=True)]

        self._parts.append(of)

    def add_ball(self, joint: Joint, R: Array) -> None:
        """A ball joint, whose axes are R in its body."""

        def of(read: Read) -> list[float]:
            turn = R @ Rotation.from_rotvec(read(joint)).as_matrix() @ R.T
            return Rotation.from_matrix(turn).as_quat(scalar_first=True).tolist()

        self._parts.append(of)
        self._joints.append(joint)

    def add_single(self, joint: Joint, number: int) -> None:
        """One coordinate of a joint, a hinge or a slide."""
        self._parts.append(lambda read: [float(read(joint)[number])])
        self._joints.append(joint)

    def _positions(self, read: Read) -> str:
        return vector([x for part in self._parts for x in part(read)])

    def add_to(
        self, section: Element, model: Skeleton | World, actuators: list[str], unsupported: UnsupportedFeatures
    ) -> None:
        """Write the state in which the model begins, if that is not zero, and the keyframes of a world."""

        def initial(joint: Joint) -> Array:
            return np.asarray(joint.get_property("initial_position"), float)

        keys = list(model.keyframes.values()) if isinstance(model, MjcfWorld) else []
        if any(initial(joint).any() for joint in self._joints):
            taken = {key.name for key in keys}
            name = "initial" if "initial" not in taken else "initial_"
            add(section, "key", name=name, qpos=self._positions(initial))
        for key in keys:
            self._add_key(section, model, key, actuators, unsupported)
        if isinstance(model, MjcfWorld) and len(model.sensors):
            unsupported.remark(f"sensors are left out: {len(model.sensors)}")

    def _add_key(
        self, section: Element, model: Any, key: Keyframe, actuators: list[str], unsupported: UnsupportedFeatures
    ) -> None:
        def read(joint: Joint) -> Array:
            s = joint.child.skeleton
            if s.name not in key.positions:
                return np.asarray(joint.get_property("initial_position"), float)
            known = dict(zip(key.dofs[s.name], key.positions[s.name], strict=True))
            return np.array([known.get(dof.name, 0.0) for dof in joint.dofs])

        made = add(section, "key", name=key.name, qpos=self._positions(read))
        if any(np.any(v) for v in key.velocities.values()):
            unsupported.remark(f"velocities of keyframe '{key.name}' are left out")
        if any(s.kinematic and s.name in key.positions for s in model.skeletons):
            unsupported.remark(f"places of mocap bodies in keyframe '{key.name}' are left out")
        if len(key.controls) and actuators:
            made_of = Actuators.of(model)
            own = [made_of.names.index(name) for name in actuators]
            made.set("ctrl", vector(np.asarray(key.controls)[own]))
            with_state = [k for k in own if made_of[made_of.names[k]].dynamics != "none"]
            if with_state:
                made.set("act", vector(np.asarray(key.activations)[with_state]))


def note_what_is_left_out(skeleton: Skeleton, unsupported: UnsupportedFeatures) -> None:
    """Remark on nodes, loops, soft skins, and on limits and actuators of coordinates that the format leaves out."""
    note_skeleton(skeleton, unsupported, written=(EndEffector, CameraNode))
    for joint in skeleton.joints if skeleton.mobile else ():
        for kind in sorted({dof.actuator_type for dof in joint.dofs} - {ActuatorType.FORCE, ActuatorType.MIMIC}):
            unsupported.remark(f"joint '{joint.name}': its actuator type {ActuatorType(kind).name} is left out")
        limits = [(dof.velocity_lower_limit, dof.velocity_upper_limit) for dof in joint.dofs]
        if np.isfinite(limits).any():
            unsupported.remark(f"joint '{joint.name}': its velocity limit is left out")
