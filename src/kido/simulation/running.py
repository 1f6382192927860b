"""Runs the steps of a world: compiled ones in a row, with what they ask Python for, or undone where that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.collision.external import ELSEWHERE, ExternalDetector
from kido.errors import ModelError, StateError
from kido.simulation import schema
from kido.simulation.step import AFTER, FROM_ASSEMBLY, FROM_DETECTION, FROM_SOLUTION, FROM_START, run_steps
from kido.simulation.warm_state import set_warm_state, warm_state
from kido.skeleton.compiler import check_masses
from kido.skeleton.state.arrays import STATE_FIELDS
from kido.solvers import CustomSolver, solve_with

if TYPE_CHECKING:
    from kido.simulation.engine import Engine

OF_OTHERS = (schema.DETECT, schema.LOOP_USER, schema.ASSEMBLE, schema.SOLVE)  # stages that may call users' functions


def make_room(engine: Engine, stage: int, status: int) -> int:
    """Enlarge what a stage of a step found too small. Returns where the step goes on.

    Raises:
        ModelError: a coordinate has no inertia.
        StateError: the motion became NaN or infinite.
    """
    if stage in (schema.PREDICT, schema.INTEGRATE):
        raise_failed(engine, status - 1)
    if stage == schema.DETECT:
        if status == ELSEWHERE:
            engine.detect_elsewhere()
        else:
            engine.grow_contacts(status)
        return FROM_DETECTION
    engine.continue_assembly(status)
    return FROM_ASSEMBLY


def run(engine: Engine, number: int, time: float) -> None:
    """Do a number of steps, enlarging arrays as contacts need.

    Args:
        number: of steps.
        time: at which they start [s].

    Raises:
        ModelError: a coordinate has no inertia.
        StateError: a pose became NaN or infinite, or contact ended a smooth motion.
    """
    engine.data.tau[engine.undriven] = 0.0
    if engine.smooth_motion is not None:
        engine.smooth_motion.run(number, time)
    elif engine.threads is None:
        _run(engine, number)
    else:
        with engine.threads.working():
            _run(engine, number)


def _run(engine: Engine, number: int) -> None:
    resume = FROM_START
    from_python = (
        isinstance(engine.solver, CustomSolver)
        or isinstance(engine.detector, ExternalDetector)
        or engine.surfaces.per_contact
        or engine.world.table[schema.LOOP_USER] != 0
    )
    kept = _kept_steps(engine) if engine.surfaces.own_pairs else None
    asked = number
    before: dict[str, np.ndarray] | None = None
    soft: dict[str, np.ndarray] | None = None
    if engine.sleepers is not None:
        engine.sleepers.wake_disturbed()
    while number > 0:
        if engine.event_log is not None:
            engine.event_log.make_room()
            engine.link()
        if from_python and resume == FROM_START:
            before = {f: getattr(engine.data, f).copy() for f in STATE_FIELDS}
            soft = None if engine.soft is None else engine.soft.state()
        done, stage, status = run_steps(engine.world.address, 1 if from_python else number, resume)
        number -= done
        resume = FROM_START
        try:
            if stage in (schema.PREDICT, schema.DETECT, schema.ASSEMBLE, schema.INTEGRATE):
                resume = make_room(engine, stage, status)
            elif stage == schema.LOOP_USER and engine.loops is not None:
                engine.loops.users.ask()
                resume = FROM_ASSEMBLY
            elif stage == schema.SOLVE:
                solve_with(engine.problem, engine.solver)
                resume = FROM_SOLUTION
        except BaseException:
            if stage in OF_OTHERS:  # whose code failed: the step is undone
                if from_python:
                    _undo_step(engine, before, None, 0)
                    if engine.soft is not None and soft is not None:
                        engine.soft.set_state(soft)
                elif stage == schema.ASSEMBLE and kept is not None:
                    _undo_step(engine, None, kept, asked - number)
            raise
        if stage == schema.SLEEPING and engine.sleepers is not None:
            if status == AFTER:
                engine.sleepers.put_to_sleep()
            else:
                engine.sleepers.undo_step()


def _kept_steps(engine: Engine) -> tuple[dict[str, np.ndarray], dict[str, Any], int]:
    """What `_undo_step` needs to come back to the present."""
    fields = {f: getattr(engine.data, f).copy() for f in STATE_FIELDS}
    return fields, warm_state(engine), int(engine.world.steps[0])


def _undo_step(engine: Engine, before: dict[str, np.ndarray] | None, kept: Any, done: int) -> None:
    """Back to before a step that a user's function failed in: to `before`, or `done` steps on from `kept`."""
    fields = kept[0] if before is None else before
    for field, values in fields.items():
        getattr(engine.data, field)[:] = values
    if before is None:
        set_warm_state(engine, kept[1])
        engine.world.steps[0] = kept[2]
        if done > 0:
            _run(engine, done)


def raise_failed(engine: Engine, dof: int) -> None:
    """Say why a coordinate has no positive inertia: no mass below it, or a state that is not finite."""
    body = int(engine.tree.body_of_dof[dof])
    tree_index = int(engine.tree.tree_of_body[body])
    skeleton = engine.skeletons[tree_index]
    check_masses(skeleton)
    joint = engine.links[skeleton].top[body - int(engine.tree.tree_body[tree_index])].parent_joint
    d = engine.data
    if not all(np.isfinite(a).all() for a in (d.q, d.u, d.tau, d.R)):
        raise StateError(
            f"skeleton {skeleton.name!r}: the motion became NaN or infinite at joint {joint.name!r} in step "
            f"{int(engine.world.steps[0])}; a smaller time step or smaller forces may help"
        )
    raise ModelError(
        f"skeleton {skeleton.name!r}: the inertia seen by joint {joint.name!r} is not positive; a body it "
        "moves needs mass or rotational inertia, or axes of the joint coincide at this position"
    )
