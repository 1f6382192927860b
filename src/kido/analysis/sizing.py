"""Sizes of actuators, from motions that they are to make."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kido.analysis.factors import Array
from kido.attributes import dataclass
from kido.batch import Batch
from kido.errors import ModelError, StateError
from kido.math.transform import as_positive, numbers_or_nan
from kido.quantities import spring_forces
from kido.reprs import brief
from kido.skeleton import Skeleton


@dataclass(frozen=True)
class ActuatorSizes:
    """What a motion asks of each coordinate's actuator, (dofs,) each.

    Attributes:
        names: of the coordinates.
        peak_force: the largest |T| [N, N m].
        rms_force: root of the mean of T^2 over time, which heats a motor [N, N m].
        peak_speed: the largest |u| [m/s, rad/s].
        peak_power: the largest |T u| [W].
        energy: integral of |T u| over time [J].
        forces: (times, dofs) T.
    """

    names: tuple[str, ...]
    peak_force: Array
    rms_force: Array
    peak_speed: Array
    peak_power: Array
    energy: Array
    forces: Array

    __repr__ = brief


def size_actuators(
    skeleton: Skeleton,
    times: ArrayLike,
    positions: ArrayLike,
    velocities: ArrayLike,
    accelerations: ArrayLike,
    friction: bool = True,
) -> ActuatorSizes:
    """Forces, speeds and powers that a motion takes, by inverse dynamics; integrals over time by trapezoids.

    Forces are T = M dv + C v + g + k (q - q_rest), and with friction + d v + f sign(v): actuators work against the
    coordinates' springs, or with them.

    Args:
        skeleton: what is moved.
        times: (times,) growing [s].
        positions, velocities, accelerations: (times, dofs).
        friction: with Coulomb friction and damping of the coordinates.

    Raises:
        StateError: shapes that do not fit, times that do not grow.
    """
    t = numbers_or_nan(times)
    if t.ndim != 1 or t.size < 2 or not (np.diff(t) > 0.0).all():
        raise StateError(f"times: expected growing numbers, at least two, got an array of shape {t.shape}")
    if not isinstance(skeleton, Skeleton):
        raise ModelError(f"size actuators: expected a kido.Skeleton, got {skeleton!r:.80}")
    u, q = numbers_or_nan(velocities), numbers_or_nan(positions)
    T = Batch(skeleton).inverse_dynamics(positions, velocities, accelerations)
    if len(T) != t.size or u.shape != T.shape:
        raise StateError(f"expected {t.size} positions, velocities and accelerations, got {len(T)} and {u.shape}")
    if any(dof.spring_stiffness for dof in skeleton.dofs):
        T = T - np.array([spring_forces(skeleton, row) for row in q])
    if friction:
        T = T + u * [d.damping for d in skeleton.dofs] + np.sign(u) * [d.coulomb_friction for d in skeleton.dofs]
    power = np.abs(T * u)
    mean = np.trapezoid(T * T, t, axis=0) / (t[-1] - t[0])
    return ActuatorSizes(
        tuple(d.name for d in skeleton.dofs),
        np.abs(T).max(axis=0),
        np.sqrt(mean),
        np.abs(u).max(axis=0),
        power.max(axis=0),
        np.trapezoid(power, t, axis=0),
        T,
    )


def best_gear_ratio(load_inertia: float, motor_inertia: float) -> float:
    """sqrt(J_L / J_m): the ratio by which a motor of inertia J_m accelerates a load J_L best.

    The acceleration of the load is n T / (J_L + n^2 J_m) for a motor's torque T.

    Raises:
        ModelError: an inertia that is not above 0.
    """
    return float(np.sqrt(as_positive(load_inertia, "load_inertia") / as_positive(motor_inertia, "motor_inertia")))
