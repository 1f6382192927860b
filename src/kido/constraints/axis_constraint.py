"""What acts along or about the free axis of a constraint: limits, a spring, a damper, dry friction, a motor."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kido.constraints.body_constraint import AxisConstraint, world_pose
from kido.constraints.constraint import not_negative, read_only
from kido.constraints.loop_schema import DRIVEN, ONE_SIDED, SHIFT, SPIN, SPRING
from kido.errors import ModelError
from kido.math.transform import number_or_nan
from kido.skeleton import BodyNode

__all__ = ["AngleConstraint", "AxisForces", "TravelConstraint"]

_ROWS = ("force", "dry friction", "motor", "spring", "lower limit", "upper limit")
_FORCE, _FRICTION, _MOTOR, _SPRING, _LOWER, _UPPER = range(6)


class AxisForces(AxisConstraint):
    """Forces of a joint along its free axis, between frames A and B: they hold nothing, and act on one number.

    Beside a constraint that holds the other directions they make a joint as those of trees: springs and dampers act
    implicitly, limits, dry friction and the motor are solved for with the contacts.

    Args:
        body_a, body_b, frame_a, frame_b, at, axis, name: as of `RevoluteJointConstraint`; the axis is z of A.
        lower_limit, upper_limit: of the position [rad or m].
        rest_position: where the spring is at rest [rad or m].
        stiffness: of the spring [N m/rad or N/m].
        damping: [N m s/rad or N s/m].
        coulomb_friction: largest moment or force of dry friction [N m or N].
        force: moment or force of a motor, on B along the axis, and the opposite on A [N m or N].
        target_velocity: of a servo motor [rad/s or m/s]; it acts if it has a force.
        motor_force: largest moment or force of the servo [N m or N]; 0: there is none.

    Raises:
        ModelError: numbers that are none, a lower limit above the upper one; and as all constraints of bodies.
    """

    _kind: ClassVar[tuple[int, int]]

    def __init__(
        self,
        body_a: BodyNode | None,
        body_b: BodyNode | None = None,
        *,
        lower_limit: float = -np.inf,
        upper_limit: float = np.inf,
        rest_position: float = 0.0,
        stiffness: float = 0.0,
        damping: float = 0.0,
        coulomb_friction: float = 0.0,
        force: float = 0.0,
        target_velocity: float = 0.0,
        motor_force: float = 0.0,
        **options: Any,
    ):
        limits = ("force_limit", "torque_limit", "breaking_force", "breaking_torque")
        unknown = [key for key in limits if np.isfinite(options.get(key, np.inf))]
        if unknown:
            raise ModelError(f"constraint {options.get('name') or type(self).__name__!r}: {unknown[0]}: it has none")
        super().__init__(body_a, body_b, stiffness=stiffness, damping=damping, **options)
        what = f"constraint {self.name!r}"
        self._lower_limit, self._upper_limit = number_or_nan(lower_limit), number_or_nan(upper_limit)
        if not self._lower_limit <= self._upper_limit:
            raise ModelError(f"{what}: expected lower_limit <= upper_limit, got {lower_limit!r} and {upper_limit!r}")
        self._rest_position = self._finite(rest_position, "rest_position")
        self._coulomb_friction = not_negative(coulomb_friction, f"{what}: coulomb_friction")
        self._force = self._finite(force, "force")
        self._target_velocity = self._finite(target_velocity, "target_velocity")
        self._motor_force = not_negative(motor_force, f"{what}: motor_force")

    def _finite(self, value: Any, key: str) -> float:
        number = number_or_nan(value)
        if not np.isfinite(number):
            raise ModelError(f"constraint {self.name!r}: {key}: expected a finite number, got {value!r}")
        return number

    lower_limit: float = read_only("_lower_limit", "Least position [rad or m].")
    upper_limit: float = read_only("_upper_limit", "Greatest position [rad or m].")
    rest_position: float = read_only("_rest_position", "Where the spring is at rest [rad or m].")
    coulomb_friction: float = read_only("_coulomb_friction", "Largest moment or force of dry friction [N m or N].")

    @property
    def force(self) -> float:
        """Moment or force of a motor, on B along the axis [N m or N]; settable in every step, and stays."""
        return self._force

    @force.setter
    def force(self, value: float) -> None:
        self._force = self._finite(value, "force")
        self._write(_FORCE, lower=self._force, upper=self._force)

    @property
    def target_velocity(self) -> float:
        """Of the servo motor [rad/s or m/s]; settable in every step."""
        return self._target_velocity

    @target_velocity.setter
    def target_velocity(self, value: float) -> None:
        self._target_velocity = self._finite(value, "target_velocity")
        self._write(_MOTOR, target=self._target_velocity)

    @property
    def motor_force(self) -> float:
        """Largest moment or force of the servo motor [N m or N]; settable in every step."""
        return self._motor_force

    @motor_force.setter
    def motor_force(self, value: float) -> None:
        self._motor_force = not_negative(value, f"constraint {self.name!r}: motor_force")
        self._write(_MOTOR, lower=-self._motor_force, upper=self._motor_force)

    def _write(self, row: int, **values: float) -> None:
        """Change numbers of one of its rows where a world holds it."""
        if self.world is not None:
            self.system().write_row(self, row, values)

    @property
    def position(self) -> float:
        """Angle or travel of B from A along the axis, at present [rad or m].

        Angles are within half a turn of the last one in the world: turns are counted from step to step.
        """
        X = np.linalg.inv(world_pose(self.body_a) @ self.frame_a) @ world_pose(self.body_b) @ self.frame_b
        if self._kind[0] == SHIFT:
            return float(X[2, 3])
        angle = float(np.arctan2(X[1, 0], X[0, 0]))
        last = 0.0 if self.world is None else self.system().angle(self)
        return angle + 2.0 * np.pi * float(np.floor((last - angle) / (2.0 * np.pi) + 0.5))

    @property
    def row_names(self) -> tuple[str, ...]:
        """What each of its rows is."""
        return tuple(_ROWS)

    def row_values(self) -> list[dict[str, Any]]:
        kind, axis = self._kind
        f, dry, servo = self._force, self._coulomb_friction, self._motor_force
        rows: list[dict[str, Any]] = [
            {"mode": DRIVEN, "lower": f, "upper": f},
            {"mode": DRIVEN, "lower": -dry, "upper": dry},
            {"mode": DRIVEN, "lower": -servo, "upper": servo, "target": self._target_velocity},
            {"mode": SPRING, "lower": -np.inf, "upper": np.inf, "offset": self._rest_position}
            | {"stiffness": self.stiffness or 0.0, "damping": self.damping},
        ]
        for limit, sign in ((self._lower_limit, 1.0), (self._upper_limit, -1.0)):
            rows.append({"mode": ONE_SIDED, "lower": 0.0, "upper": np.inf, "offset": limit, "sign": sign})
        return [{"kind": kind, "axis": axis, **row} for row in rows]


class AngleConstraint(AxisForces):
    """Limits, spring, damper, dry friction and motor of the angle from x of A to x of B about z of A.

    Beside a revolute, cylindrical or screw constraint of the same frames.
    """

    _kind = (SPIN, 0)


class TravelConstraint(AxisForces):
    """Limits, spring, damper, dry friction and motor of the travel of B's origin along z of A.

    Beside a prismatic or cylindrical constraint of the same frames.
    """

    _kind = (SHIFT, 2)
