"""Joints seen from their other side: what hung on them carries, and what carried them hangs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.joints import ActuatorType, JointKind
from kido.math.transform import inverse_transform
from kido.skeleton.joints.compound_joint import CompoundJoint, Hinge
from kido.skeleton.joints.joint import Joint, detached, take_over, write_properties
from kido.skeleton.joints.user_joint import UserJoint

Array = NDArray[np.float64]
State = tuple[Array, ...]  # q, u, udot, tau, command


class ReversedUserJoint(UserJoint):
    """A user's joint from its other side: X_J is the inverse of the original's at the same positions.

    Args:
        original: the joint; it is part of no skeleton.

    Attributes:
        original_type: module and name of its class.
        original_parameters: its parameters, by name.

    Raises:
        ModelError (when made from a file): there is no class of that name.
    """

    original_type: str
    original_parameters: dict[str, Any]

    def __init__(self, original: UserJoint, name: str | None = None, **options: Any):
        kind = type(original)
        self._kind, self._original = kind, original
        self.original_type = f"{kind.__module__}.{kind.__qualname__}"
        self.original_parameters = copy.deepcopy(original.parameters)
        super().__init__(name, **options)

    @property
    def original(self) -> UserJoint:
        """The joint, as its parameters say."""
        made = self.__dict__.get("_original")
        if made is None:
            kind = self.__dict__.get("_kind") or _class_of(self.original_type)
            self._kind, self._original = kind, kind.restored(None, self.original_parameters)
            made = self._original
        return made

    def changed(self) -> None:
        """Trace the inverse anew, after a change of the parameters."""
        self.__dict__.pop("_original", None)
        super().changed()

    @property
    def dof_suffixes(self) -> tuple[str, ...]:
        """Those of the original."""
        return self.original.dof_suffixes

    def transform(self, q: NDArray[Any]) -> Any:
        """Inverse of the original's `transform`."""
        found = self.original.transform(q)
        if isinstance(found, tuple | list) and len(found) == 2:
            R, p = np.asarray(found[0]), np.asarray(found[1])
        else:
            whole = np.asarray(found)
            R, p = whole[:3, :3], whole[:3, 3]
        return R.T, -(R.T @ p)


def _class_of(name: str) -> type[UserJoint]:
    """A class of user joints by module and name, among those that are defined."""
    waiting = list(UserJoint.__subclasses__())
    while waiting:
        kind = waiting.pop()
        if f"{kind.__module__}.{kind.__qualname__}" == name:
            return kind
        waiting.extend(kind.__subclasses__())
    raise ModelError(f"a joint is the reverse of one of the user's class {name}, which is not defined here: import it")


@dataclass(frozen=True)
class Reversal:
    """A joint from its other side.

    Attributes:
        joint: it, part of no skeleton; with the name, properties and actuators of the original.
        order: for each of its coordinates, which of the original it is.
        state: turns a state of the original into one that moves the same way.
    """

    joint: Joint
    order: tuple[int, ...]
    state: Callable[[State], State]


def _chain(joint: Joint) -> list[Hinge] | None:
    """A joint as a chain of hinges with the same coordinates; None if it is none, or need not be one."""
    motions = None if joint.reverses_in_kind else joint.elementary_motions()
    if motions is None:
        return None
    return [motion if isinstance(motion, Hinge) else Hinge(*motion) for motion in motions]


def _reversed_chain(hinges: list[Hinge]) -> tuple[list[Hinge], Array]:
    """Hinges of the inverse motion, and the fixed transform that comes after it.

    (O_1 X_1 ... O_n X_n)^-1 = X_n^-1 O_n^-1 ... X_1^-1 O_1^-1.
    """
    before, found = np.eye(4), []
    for hinge in hinges[::-1]:
        found.append(replace(hinge, axis=-hinge.axis, offset=before))
        before = inverse_transform(hinge.offset)
    return found, before


def reversal(joint: Joint) -> Reversal:
    """A joint from its other side: X' = X^-1 with X = transform_from_parent X_J transform_from_child^-1.

    Positions and velocities keep their numbers, names, limits, springs and actuators, but for ball and free joints,
    whose numbers are in axes of the body that moves. Coordinates of chains are in the opposite order. Euler, planar and
    translational joints become compound joints.

    Raises:
        ModelError: springs, damping, rotor inertia or friction of a ball joint that differ by axis, and any of them or
            position limits of a free joint; actuators of such joints that differ by axis: they are not the same from
            the other side.
    """
    if joint.kind in (JointKind.BALL, JointKind.FREE):
        return _reversed_rotation(joint)
    made = detached(joint)
    X_p, X_c = joint.transform_from_parent, joint.transform_from_child
    n = joint.num_dofs
    order = tuple(range(n))
    chain = _chain(joint)
    if chain is not None:
        order = order[::-1]
        hinges, after = _reversed_chain(chain)
        made = CompoundJoint(joint.name, hinges)
        X_p = X_p @ inverse_transform(after)
    elif isinstance(joint, ReversedUserJoint):
        made = detached(joint.original)
    elif isinstance(joint, UserJoint):
        original = detached(joint)
        made = ReversedUserJoint(original, joint.name)
    else:
        order, keys = order[::-1], joint.axis_properties()
        for key, other in zip(keys, keys[::-1], strict=True):
            setattr(made, f"_{key}", -getattr(joint, other))
    take_over(made, joint, order)
    made.transform_from_parent, made.transform_from_child = X_c, X_p
    chosen = list(order)
    return Reversal(made, order, lambda state: tuple(values[chosen] for values in state))


def _pose(q: Array, free: bool) -> tuple[Array, Array]:
    return scipy.spatial.transform.Rotation.from_rotvec(np.array(q[:3])).as_matrix(), q[3:] if free else np.zeros(3)


def _reversed_rotation(joint: Joint) -> Reversal:
    free = joint.kind == JointKind.FREE
    _check_isotropic(joint, free)
    made = detached(joint)
    size = joint.num_dofs

    def numbers(q: Array) -> Array:
        R, p = _pose(q, free)
        return np.concatenate([-q[:3], -R.T @ p]) if free else -q

    def motion(q: Array, u: Array) -> Array:
        """-Ad(X) u: the twist of the parent side as the child side sees it, in the parent side's axes."""
        R, p = _pose(q, free)
        w = R @ u[:3]
        return -np.concatenate([w, R @ u[3:] + np.cross(p, w)])[:size] if free else -w

    def force(q: Array, tau: Array) -> Array:
        """Forces that have the power of tau: -Ad(X)^-T tau."""
        R, p = _pose(q, free)
        if not free:
            return -R @ tau
        f = R @ tau[3:]
        return -np.concatenate([R @ tau[:3] + np.cross(p, f), f])

    def state(old: State) -> State:
        q, u, udot, tau, command = old
        placed = ActuatorType.POSITION in joint.actuator_types
        asked = numbers(command) if placed else motion(q, command)
        return numbers(q), motion(q, u), motion(q, udot), force(q, tau), asked

    get = joint.get_property
    turned = {
        "position_lower_limit": -get("position_upper_limit"),
        "position_upper_limit": -get("position_lower_limit"),
        "rest_position": numbers(get("rest_position")),
        "initial_position": numbers(get("initial_position")),
        "initial_velocity": motion(get("initial_position"), get("initial_velocity")),
    }
    write_properties(made, turned)
    made.transform_from_parent = joint.transform_from_child
    made.transform_from_child = joint.transform_from_parent
    return Reversal(made, tuple(range(size)), state)


def _check_isotropic(joint: Joint, free: bool) -> None:
    what = f"joint {joint.name!r} ({type(joint).__name__}) cannot be reversed: its"
    for key in ("spring_stiffness", "damping", "armature", "coulomb_friction", "position_gain", "velocity_gain"):
        values = joint.get_property(key)
        if values.any() and (free or np.ptp(values) > 0.0):
            raise ModelError(f"{what} {key} {values.tolist()} acts along axes of the body that it moves")
    limits = joint.get_property("position_lower_limit"), joint.get_property("position_upper_limit")
    if free and np.isfinite(limits).any():
        raise ModelError(f"{what} position limits are not those of the reversed motion")
    kinds = set(joint.actuator_types)
    if len(kinds) > 1 or ActuatorType.MIMIC in kinds:
        raise ModelError(f"{what} actuators differ by axis")
