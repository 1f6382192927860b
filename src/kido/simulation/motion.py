"""How the steps of a world are run: by stages, or by an integrator for smooth motion.

Compiled steps are done in a row, with what they ask Python for, or undone where that fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.collision.external import ELSEWHERE
from kido.integrators import ExplicitEuler, MoreauMidpoint, SemiImplicitEuler
from kido.simulation.closed_motion import ClosedMotion
from kido.simulation.euler import explicit_integrate, explicit_predict, semi_implicit_integrate, semi_implicit_predict
from kido.simulation.feature import Feature
from kido.simulation.loop_system import LoopSystem
from kido.simulation.smooth_motion import SmoothMotion
from kido.simulation.step import (
    AT_ASK,
    AT_ASSEMBLE,
    AT_BEGIN,
    AT_CHECK,
    AT_DETECT,
    AT_END,
    AT_INTEGRATE,
    AT_PREDICT,
    AT_SOLVE,
    NOWHERE,
    assemble_stage,
    run_steps,
)
from kido.simulation.threads import StepThreads
from kido.simulation.world_state import set_warm_state, warm_state
from kido.skeleton.state.arrays import STATE_FIELDS
from kido.solvers import solve_with

if TYPE_CHECKING:
    from kido.simulation.engine import Engine


MAY_CALL_USERS = (AT_DETECT, AT_ASK, AT_ASSEMBLE, AT_SOLVE)


def make_room(engine: Engine, stage: int, status: int) -> int:
    """Enlarge what a stage of a step found too small. Returns where the step goes on.

    Raises:
        ModelError: a coordinate has no inertia.
        StateError: the motion became NaN or infinite.
    """
    if stage in (AT_PREDICT, AT_INTEGRATE):
        engine.raise_failed(status - 1)
    if stage == AT_DETECT:
        if status == ELSEWHERE:
            engine.detect_elsewhere()
        else:
            engine.grow_contacts(status)
    else:
        engine.continue_assembly(status)
    return stage


class StagedMotion:
    """Runs an engine's steps by stages (`kido.simulation.step`)."""

    def __init__(self, engine: Engine):
        self.engine, self.threads = engine, engine.feature(StepThreads)

    def memory(self) -> Any:
        """Nothing: a step needs no more than the state."""

    def checked_memory(self, numbers: Any, where: str) -> Any:
        """Nothing."""

    def set_memory(self, numbers: Any) -> None:
        """Nothing."""

    def run(self, number: int) -> None:
        """Do a number of steps."""
        teams = self.threads.teams
        if not teams:
            self._run(number)
            return
        with teams[0].working():
            self._run(number)

    def _run(self, number: int) -> None:
        engine = self.engine
        calls_users = engine.calls_users
        kept = self._kept_state() if engine.surfaces.own_pairs else None
        start, asked = AT_PREDICT, number
        before: dict[str, np.ndarray] = {}
        of_features: list[tuple[Any, Any]] = []
        for feature in engine.told_of_runs:
            feature.begin_run()
        while number > 0:
            for feature in engine.told_of_steps:
                feature.before_steps()
            if calls_users and start == AT_PREDICT:
                before = {f: getattr(engine.data, f).copy() for f in STATE_FIELDS}
                of_features = [(f, f.state()) for f in engine.features if f.is_undone]
            done, stage, status = run_steps(engine.world.address, 1 if calls_users else number, start)
            number -= done
            start = AT_PREDICT
            if stage == NOWHERE:
                continue
            try:
                if stage in (AT_PREDICT, AT_DETECT, AT_ASSEMBLE, AT_INTEGRATE):
                    start = make_room(engine, stage, status)
                elif stage == AT_SOLVE:
                    solve_with(engine.problem, engine.options.solver)
                    start = AT_SOLVE
                elif stage == AT_BEGIN:
                    engine.acting.failed(status)
                elif stage == AT_CHECK:
                    for feature in engine.features:
                        feature.undo_step()
                elif stage in (AT_ASK, AT_END):
                    for feature in engine.features:
                        feature.answer(stage)
                    start = AT_ASSEMBLE if stage == AT_ASK else AT_PREDICT
            except BaseException:
                if stage in MAY_CALL_USERS and calls_users:  # whose code failed: the step is undone
                    self._put(before)
                    for feature, state in of_features:
                        feature.set_state(state)
                elif stage == AT_ASSEMBLE and kept is not None:
                    self._return_to(kept, asked - number)
                raise

    def _put(self, fields: dict[str, np.ndarray]) -> None:
        for field, values in fields.items():
            getattr(self.engine.data, field)[:] = values

    def _kept_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any], int]:
        """What `_return_to` needs to come back to the present."""
        fields = {f: getattr(self.engine.data, f).copy() for f in STATE_FIELDS}
        return fields, warm_state(self.engine), self.engine.world.steps

    def _return_to(self, kept: tuple[dict[str, np.ndarray], dict[str, Any], int], done: int) -> None:
        """The state some steps after a kept one, before a step that a user's function failed in."""
        self._put(kept[0])
        set_warm_state(self.engine, kept[1])
        self.engine.world.steps = kept[2]
        if done > 0:
            self._run(done)


class Motion(Feature):
    """The integrator of a world.

    Attributes:
        runner: what does the steps.
    """

    key = "integrator"
    runner: StagedMotion | SmoothMotion

    _chosen_by: Any = (None, "")

    @property
    def is_staged(self) -> bool:
        """Whether steps are done by stages, so that things may touch and sleep."""
        return isinstance(self.runner, StagedMotion)

    is_compiled = is_staged

    def stages(self) -> dict[str | int, Any]:
        if isinstance(self.engine.options.integrator, SemiImplicitEuler):
            return {
                "predict": semi_implicit_predict, "assemble": assemble_stage, "integrate": semi_implicit_integrate
            }  # fmt: skip
        if isinstance(self.engine.options.integrator, ExplicitEuler):
            return {"predict": explicit_predict, "assemble": assemble_stage, "integrate": explicit_integrate}
        return {} if isinstance(self.engine.options.integrator, MoreauMidpoint) else {"assemble": assemble_stage}

    def options_changed(self) -> None:
        options = self.engine.options
        if (
            self._chosen_by is None
            or self._chosen_by[0] is not options.integrator
            or self._chosen_by[1] != options.loop_solver
        ):
            self.constraints_changed()

    def constraints_changed(self) -> None:
        options, loops = self.engine.options, self.engine.feature(LoopSystem)
        self._chosen_by = options.integrator, options.loop_solver
        if isinstance(options.integrator, MoreauMidpoint | SemiImplicitEuler | ExplicitEuler):
            self.runner = StagedMotion(self.engine)
        elif loops.any:
            self.runner = ClosedMotion(self.engine, loops, options.integrator, options.loop_solver)
        else:
            self.runner = SmoothMotion(self.engine, options.integrator)

    def state(self) -> Any:
        return self.runner.memory()

    def checked_state(self, state: Any, where: str) -> Any:
        return None if state is None else self.runner.checked_memory(state, where)

    def set_state(self, state: Any) -> None:
        if state is not None:
            self.runner.set_memory(state)


def run(engine: Any, number: int, time: Callable[[], float]) -> None:
    """Do a number of steps of an engine, enlarging arrays as contacts need.

    Args:
        time: gives the time at which they start [s], where that matters.

    Raises:
        ModelError: a coordinate has no inertia.
        StateError: a pose became NaN or infinite, or contact ended a smooth motion.
    """
    if engine.undriven is not None:
        engine.data.tau[engine.undriven] = 0.0
    runner, acting = engine.feature(Motion).runner, engine.acting
    try:
        if isinstance(runner, StagedMotion):
            runner.run(number)
            return  # stages put commands back
        if acting is not None:
            acting.apply()
        runner.run(number, time())
    except BaseException:
        if acting is not None:
            acting.put_back()
        raise
    if acting is not None:
        acting.put_back()
