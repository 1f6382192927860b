"""Commands of a skeleton's actuators, and what they prescribe to its dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError, StateError
from kido.joints import ActuatorType
from kido.math.transform import number_or_nan
from kido.skeleton.arrays import OF_FORCES, Array
from kido.skeleton.joints.actuator import actuator_type
from kido.skeleton.state.state import SkeletonState, numbers_of

_TAKES_FORCE = np.array([t.takes_force for t in ActuatorType])
_TAKES_MOTION = np.array([t.takes_motion for t in ActuatorType])
_PRESCRIBED = np.array([t.is_prescribed for t in ActuatorType])


def takes_force(actuator: np.ndarray) -> np.ndarray:
    """Which coordinates' commands are forces, from `TREE.actuator`."""
    return _TAKES_FORCE[actuator]


def takes_motion(actuator: np.ndarray) -> np.ndarray:
    """Which coordinates' commands are velocities or accelerations."""
    return _TAKES_MOTION[actuator]


def is_prescribed(actuator: np.ndarray) -> np.ndarray:
    """Which coordinates' accelerations are given."""
    return _PRESCRIBED[actuator]


def join_commands(actuator: np.ndarray, forces: np.ndarray, motions: np.ndarray) -> np.ndarray:
    """One command for each coordinate from joint forces and asked velocities and accelerations."""
    commands = np.where(_TAKES_MOTION[actuator], motions, forces)
    commands[~(_TAKES_MOTION | _TAKES_FORCE)[actuator]] = 0.0
    return commands


class SkeletonActuation(SkeletonState):
    """Actuators: their types, their commands, the forces they gave."""

    _kinematic: bool

    @property
    def actuator_types(self) -> tuple[ActuatorType, ...]:
        """Type of the actuator of each coordinate (dofs,).

        Set it to one type, or to one for each coordinate (`ActuatorType` or names); see `Joint.actuator_type`.
        """
        return tuple(dof.joint._actuators[dof.index_in_joint] for dof in self._dofs)

    @actuator_types.setter
    def actuator_types(self, value: Any) -> None:
        what, n = f"skeleton {self.name!r}", len(self._dofs)
        if isinstance(value, str | int):
            value = [value] * n
        if not isinstance(value, Sequence) or len(value) != n:
            raise ModelError(f"{what}: actuator_types: expected one actuator type or {n}, got {value!r}")
        kinds = [actuator_type(v, f"{what}: dof {dof.name!r}") for v, dof in zip(value, self._dofs, strict=True)]
        joints = list(dict.fromkeys(dof.joint for dof in self._dofs))
        ends = np.cumsum([joint.num_dofs for joint in joints])
        parts = [kinds[e - joint.num_dofs : e] for joint, e in zip(joints, ends, strict=True)]
        for joint, part in zip(joints, parts, strict=True):
            joint._check_followed(part, joint._mimics)
        for joint, part in zip(joints, parts, strict=True):
            joint._set_actuators(part, list(joint._mimics))

    @property
    def commands(self) -> Array:
        """What is asked of the actuator of each coordinate (dofs,) (a copy).

        A force for FORCE and MIMIC (the same number as in `forces`), a velocity for SERVO and VELOCITY, an
        acceleration for ACCELERATION; zero for PASSIVE and LOCKED, and nothing else is accepted there. Like forces,
        commands hold during `World.step(n)` and are then set to zero, unless it is called with
        `reset_command=False`.

        Raises (when set):
            StateError: not one finite number for each coordinate, or a PASSIVE or LOCKED one is given a command.
        """
        d = self._compiled()
        return join_commands(self._tree.actuator, d.tau, d.command)  # type: ignore[union-attr]

    @commands.setter
    def commands(self, value: ArrayLike) -> None:
        vector = self._vector(value, self.num_dofs, "commands")
        if not np.isfinite(vector).all():
            self._raise_not_finite("commands", vector)
        self._set_commands(slice(0, self.num_dofs), vector, f"skeleton {self.name!r}: commands")

    def _set_commands(self, part: slice, value: ArrayLike, what: str) -> None:
        source = numbers_of(value, part.stop - part.start, what)
        if self._kinematic and source.any():
            raise StateError(f"{what}: {source.tolist()}; a kinematic skeleton takes no commands: set its velocities")
        d = self._compiled()
        actuator = self._tree.actuator[part]  # type: ignore[union-attr]
        force, motion = _TAKES_FORCE[actuator], _TAKES_MOTION[actuator]
        refused = np.flatnonzero(~(force | motion) & (source != 0.0))
        if len(refused):
            k = int(refused[0])
            raise StateError(
                f"{what}: {source[k]} for dof {self._dofs[part.start + k].name!r}, whose actuator type is "
                f"{ActuatorType(int(actuator[k])).name}: it takes no command, expected 0"
            )
        d.tau[part][force] = source[force]
        d.command[part][motion] = source[motion]
        self._results[OF_FORCES].clear()

    def _clear_commands(self, dofs: list[int]) -> None:
        d = self._compiled()
        d.tau[dofs] = 0.0
        d.command[dofs] = 0.0
        self._results[OF_FORCES].clear()

    @property
    def actuator_forces(self) -> Array:
        """Forces (dofs,) that the actuators gave, a mean over the world's last step; zeros before it.

        The command for FORCE and MIMIC, zero for PASSIVE, what the motor gave for SERVO, and for prescribed
        coordinates what their motion took: against inertia, contacts and limits, and against the joint's own damping,
        spring and friction. Contacts, limits, joint friction and the gears of mimics are in `constraint_forces`.
        """
        if self._world is None:
            return np.zeros(self.num_dofs)
        return self._world.actuator_forces(self)  # type: ignore[arg-type]

    def _drive(self, time_step: float | None) -> None:
        """Set velocities, accelerations and forces as the actuators ask, and the mask of prescribed coordinates.

        Raises:
            ModelError: a coordinate of type VELOCITY, and no positive time step.
        """
        d: Any = self._compiled()
        t: Any = self._tree
        locked, fast = t.actuator == ActuatorType.LOCKED, t.actuator == ActuatorType.VELOCITY
        given = t.actuator == ActuatorType.ACCELERATION
        h = 0.0
        if fast.any():
            h = number_or_nan(self._time_step_of(time_step))
            if not 0.0 < h < np.inf:
                what = f"skeleton {self.name!r}: time_step"
                raise ModelError(f"{what}: expected a positive number [s], got {time_step!r}")
        if d.u[locked].any():
            self._set("u", np.where(locked, 0.0, d.u))
        d.udot[locked] = 0.0
        d.udot[given] = d.command[given]
        if h > 0.0:
            d.udot[fast] = (d.command[fast] - d.u[fast]) / h
        d.tau[~_TAKES_FORCE[t.actuator]] = 0.0
        t.prescribed[:] = _PRESCRIBED[t.actuator]

    def _time_step_of(self, time_step: float | None) -> Any:
        if time_step is not None:
            return time_step
        if self._world is not None:
            return self._world.time_step
        name = self._dofs[int(np.flatnonzero(self._tree.actuator == ActuatorType.VELOCITY)[0])].name  # type: ignore[union-attr]
        raise ModelError(
            f"skeleton {self.name!r}: dof {name!r} is to reach a velocity within a time step: give time_step [s], or "
            "add the skeleton to a world"
        )
