"""The three commands that write the current state (DART report, section 4.3), and what actuators ask of dynamics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import ModelError
from kido.joints import ActuatorType
from kido.kernels import current
from kido.kernels.actuation import position_forces
from kido.kernels.command_limits import bound_commands, put_back_commands
from kido.math.transform import number_or_nan
from kido.quantities.quantity import OF_ACCELERATIONS, OF_FORCES
from kido.quantities.soft import refuse_free, refuse_moving
from kido.skeleton.state.actuation import TAKES_FORCE, is_prescribed

if TYPE_CHECKING:
    from kido.skeleton.state.state import State


def drive(state: State, time_step: float | None) -> None:
    """Set velocities, accelerations and forces as the actuators ask, and the mask of prescribed coordinates.

    Raises:
        ModelError: a coordinate of type VELOCITY, and no positive time step.
    """
    d, t = state.compiled(), state.tree
    locked, fast = t.actuator == ActuatorType.LOCKED, t.actuator == ActuatorType.VELOCITY
    given = t.actuator == ActuatorType.ACCELERATION
    h = 0.0
    if fast.any():
        h = number_or_nan(_time_step_of(state, time_step))
        if not 0.0 < h < np.inf:
            what = f"skeleton {state.name!r}: time_step"
            raise ModelError(f"{what}: expected a positive number [s], got {time_step!r}")
    if d.u[locked].any():
        state.assign("velocities", np.where(locked, 0.0, d.u))
    d.udot[locked] = 0.0
    d.udot[given] = d.command[given]
    if h > 0.0:
        d.udot[fast] = (d.command[fast] - d.u[fast]) / h
    d.tau[~TAKES_FORCE[t.actuator]] = 0.0
    position_forces.call(t.address, d.address, d.tau)
    t.prescribed[:] = is_prescribed(t.actuator)


def _time_step_of(state: State, time_step: float | None) -> Any:
    if time_step is not None:
        return time_step
    world = state.skeleton.host
    if world is not None:
        return world.time_step
    name = state.skeleton.dofs[int(np.flatnonzero(state.tree.actuator == ActuatorType.VELOCITY)[0])].name
    raise ModelError(
        f"skeleton {state.name!r}: dof {name!r} is to reach a velocity within a time step: give time_step [s], or "
        "add the skeleton to a world"
    )


def forward_kinematics(of: Any) -> None:
    """Bring transforms and velocities up to date now, for loops that choose the moment of the work."""
    state: State = of.current_state
    w = state.settled or state.settle()
    current.refresh.call(w.tree, w.held, 1)


def inverse_dynamics(
    of: Any,
    *,
    with_external_forces: bool = True,
    with_damping_forces: bool = False,
    with_spring_forces: bool = False,
) -> None:
    """Set `forces` to those that give the current accelerations, whatever the actuators are.

    T = M(q) udot + C(q, u) - J^T f_ext. Dry joint friction is not part of it.

    Args:
        with_external_forces: subtract J^T f_ext.
        with_damping_forces: add what joint damping takes, Kd u.
        with_spring_forces: add what joint springs take, - `spring_forces`.

    Raises:
        ModelError: points of a soft body move; those at rest in the body are taken to stay so.
    """
    state: State = of.current_state
    w = state.settled or state.settle()
    if state.has_soft:
        refuse_moving(state, "compute_inverse_dynamics")
    if state.deformed is not None:
        w.tau[:] = state.deformed.forces(w.u, w.udot, loaded=with_external_forces)
    elif with_external_forces:
        current.joint_forces_of_state.call(w.tree, w.held)
    else:
        d = state.data
        loaded = d.has_external.copy()
        d.has_external[:] = 0
        current.joint_forces_of_state.call(w.tree, w.held)
        d.has_external[:] = loaded
    if with_damping_forces:
        w.tau[:] += state.tree.damping * w.u
    if with_spring_forces:
        w.tau[:] -= state.spring_forces
    state.stamps[OF_FORCES] = object()


def forward_dynamics(of: Any, time_step: float | None = None) -> None:
    """Set `accelerations` to those that the held commands and external forces give (hybrid dynamics).

    M(q) udot = T - C(q, u) + J^T f_ext, by the articulated-body algorithm. T are the held `forces` of FORCE and
    MIMIC coordinates, zero for PASSIVE and SERVO ones (servos and gears work in worlds alone), and for POSITION ones
    kp (command - q) - kd u within their force limits, which `forces` are set to. Forces and commands act within
    limits, as `Skeleton.bounded_commands` says, and are kept as they were given. udot is given for ACCELERATION
    coordinates (the command), VELOCITY ones ((command - u) / time_step) and LOCKED ones (zero, and so is their
    velocity from then on), and the `forces` there are set to those that this takes. Joint springs, damping and friction
    are not part of it.

    Args:
        time_step: [s] for VELOCITY coordinates; by default that of the world.

    Raises:
        ModelError: the inertia seen by a coordinate is not positive, there is no time step, or points of a soft body
            are free.
    """
    state: State = of.current_state
    w = state.settled or state.settle()
    if state.has_soft:
        refuse_free(state, "compute_forward_dynamics")
    driven, bounds = state.skeleton.has_actuators, state.skeleton.command_bounds
    if bounds is None:
        status = _accelerate(state, w, driven, time_step)
    else:
        given = np.empty(len(bounds[0]))
        bound_commands.call(w.tree, w.held, *bounds, given)
        try:
            status = _accelerate(state, w, driven, time_step)
        finally:
            put_back_commands.call(w.tree, w.held, given)
    state.stamps[OF_ACCELERATIONS] = state.stamps[OF_FORCES] = object()
    if status >= 0:
        state.raise_singular(status)


def _accelerate(state: State, w: Any, driven: bool, time_step: float | None) -> int:
    """Accelerations by commands as they act; the status of the sweep."""
    if driven:
        drive(state, time_step)
    if state.deformed is not None:
        w.udot[:] = state.deformed.driven_accelerations(w.udot, w.tau)
        state.tree.prescribed[:] = 0
        return -1
    status = current.joint_accelerations_of_state.call(w.tree, w.held)
    if driven:
        state.tree.prescribed[:] = 0  # all other results are those of the free tree
    return status


# As `compute_NAME`: methods of states and of skeletons, whose current state is meant; the only ones of such names.
COMMANDS = {f"compute_{made.__name__}": made for made in (forward_kinematics, inverse_dynamics, forward_dynamics)}
