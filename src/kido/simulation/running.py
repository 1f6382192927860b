"""Runs the steps of a world: compiled ones in a row, with what they ask Python for, or undone where that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.collision.external import ELSEWHERE
from kido.simulation.step import (
    AT_ASK,
    AT_ASSEMBLE,
    AT_CHECK,
    AT_DETECT,
    AT_END,
    AT_INTEGRATE,
    AT_PREDICT,
    AT_SOLVE,
    NOWHERE,
    run_steps,
)
from kido.simulation.threads import StepThreads
from kido.simulation.warm_state import set_warm_state, warm_state
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
        self.engine = engine

    def memory(self) -> Any:
        """Nothing: a step needs no more than the state."""

    def set_memory(self, numbers: Any) -> None:
        """Nothing."""

    def run(self, number: int, time: float) -> None:
        """Do a number of steps."""
        threads = self.engine.feature(StepThreads)
        if not threads.teams:
            self._run(number)
            return
        with threads.teams[0].working():
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
