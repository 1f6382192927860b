"""The compiled constraints of a world: containers of their rows, and what is read back from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.constraints.closure import OPEN_TOLERANCE
from kido.constraints.constraint import Constraint, UserConstraint
from kido.constraints.loop_rows import measure
from kido.constraints.loop_schema import LOOPS
from kido.constraints.loop_table import LoopTable
from kido.constraints.loop_trees import place_tree
from kido.jit import Struct, entry, view
from kido.jit.kept import COUNT, FINITE, FLAG, checked_array, checked_arrays
from kido.simulation.aggregates.answers import (
    answer_blocks,
    answer_columns,
    answer_row,
    answer_tree,
    note_partitions,
    restore_inertias,
)
from kido.simulation.aggregates.container import AggregateLoops
from kido.simulation.feature import Feature
from kido.simulation.integrate import integrate_bound_stage
from kido.simulation.loops import (
    close_now,
    loop_close_stage,
    loop_free_stage,
    loop_load_stage,
    loop_predict_stage,
    loop_rows_stage,
    loop_start_stage,
    note_closed_stage,
)
from kido.simulation.step import AT_ASK, leave_to_python
from kido.simulation.user_rows import UserRows
from kido.simulation.world_struct import ASK, EXTEND, RESPOND
from kido.tree.schema import DATA, TREE

if TYPE_CHECKING:
    from kido.simulation.engine import Engine

Array = NDArray[np.float64]
RATE = 1e-6  # [m/s or rad/s] velocity error above which a row is not met
# What the next step depends on. NaN: of a state that no step left.
_KEPT = {
    "impulse": FINITE,
    "enabled": FLAG,
    "angle": FINITE.or_absent(),  # older recordings have none
    **dict.fromkeys(("end_q", "end_u"), FINITE._replace(nan=True)),
    "start": FINITE,
    "start_rank": COUNT,
    "left_open": FLAG,
}
_SIZED = ("impulse", "end_q")  # by which a state of other constraints is told
_CLOSURE = ("closure", "worst_closure", "misfit", "worst_misfit")  # numbers that are "closure" in a state


@entry("i8(i8,i8,i8,i8)")
def _measure(tree, data, loops, c):
    """Values of the rows of constraint c at the present positions. Returns 0."""
    t, d, lp = view(TREE, tree), view(DATA, data), view(LOOPS, loops)
    for tree_index in range(t.tree_mobile.shape[0]):
        place_tree(t, d, lp, tree_index)
    measure(d, lp, c)
    return 0


class LoopSystem(Feature):
    """The constraints of a world: containers of their rows, made anew whenever constraints change."""

    key = "loops"
    engine: Engine
    container: Any
    aggregates: AggregateLoops

    def __init__(self, engine: Engine):
        super().__init__(engine)
        self.constraints: list[Constraint] = []
        self.joined: list[Any] = []
        self.users = UserRows(engine, [])
        self.number: dict[Any, int] = {}
        self._chosen_by: Any = None

    @property
    def any(self) -> bool:
        """Whether there are constraints."""
        return bool(self.constraints)

    def constraints_changed(self) -> None:
        engine, constraints = self.engine, list(self.engine.constraints)
        self.constraints = constraints
        self.joined = [c for c in constraints if not isinstance(c, UserConstraint)]
        self.users = UserRows(engine, [c for c in constraints if isinstance(c, UserConstraint)])
        self.number = {c: k for k, c in enumerate(self.joined)}
        if constraints:
            self.container = LoopTable(engine, self.joined).container()
            self.container.end_q[:] = self.container.end_u[:] = np.nan  # no step left this state: it is closed first
            self._choose_aggregates()

    def options_changed(self) -> None:
        options = self.engine.options
        if self.any and self._chosen_by != (id(options.integrator), options.loop_solver):
            self.container.embedded[:] = 0
            self._choose_aggregates()

    def _choose_aggregates(self) -> None:
        """Decide which loops may be aggregates, by the world's integrator and its loop solver."""
        options = self.engine.options
        self._chosen_by = id(options.integrator), options.loop_solver
        self.aggregates = AggregateLoops(self.engine, self.container, self.joined)

    # In a step ---------------------------------------------------------------------------------------------

    def stages(self) -> dict[str | int, Any]:
        if not self.any:
            return {}
        return {
            "close_changed": loop_start_stage,
            "constrain_predicted": loop_predict_stage,
            "constrain_free": loop_free_stage,
            "close_positions": loop_close_stage,
            "note_closed": note_closed_stage,
            "integrate_bound": integrate_bound_stage,
            EXTEND: loop_rows_stage,
            RESPOND: loop_load_stage,
            **({ASK: leave_to_python} if self.users.constraints else {}),
        }

    def structs(self) -> dict[str, Struct | None]:
        """Also tells responses and rows who makes those of aggregates."""
        world: Any = self.engine.world
        responses: Any = self.engine.responses.container
        if not self.any or not self.aggregates.any:
            responses.apart[:] = 0
            responses.others = responses.columns = responses.apply = None
        if not self.any:
            return {"loops": None, "user_rows": None, "aggregates": None}
        if self.aggregates.any:
            responses.others, responses.columns, responses.apply = answer_tree, answer_columns, answer_blocks
            responses.others_of = world.address
            self.container.answer, self.container.answer_of = answer_row, world.address
        aggregates = self.aggregates.container if self.aggregates.any else None
        return {"loops": self.container, "user_rows": self.users.container, "aggregates": aggregates}

    @property
    def bound_trees(self) -> list[int]:
        return np.flatnonzero(self.container.tree_group[: len(self.engine.skeletons)] >= 0).tolist() if self.any else []

    def answer(self, stage: int) -> None:
        if stage == AT_ASK and self.any:
            self.users.ask()
            if self.aggregates.any:
                restore_inertias(self.engine.world.address)

    def properties_changed(self) -> None:
        """Frames on links, and which trees move."""
        if self.any:
            kept = self.state()
            self.engine.set_constraints(self.constraints)
            self.set_state(kept)

    def release(self) -> None:
        """Tell constraints that they broke."""
        if self.any:
            self.note_broken()

    def close(self) -> float:
        """Positions and velocities onto the constraints; returns the largest error left, 0 without constraints."""
        engine = self.engine
        if not self.any:
            return 0.0
        if self.number:  # closing moves trees of its own: others, such as what stands, are to be where they are
            _measure(engine.tree.address, engine.data.address, self.container.address, 0)
        return close_now(engine.tree.address, engine.data.address, self.container.address)

    # Reading ---------------------------------------------------------------------------------------------

    def rows_of(self, constraint: Any) -> slice:
        k = self.number[constraint]
        return slice(int(self.container.first_row[k]), int(self.container.first_row[k + 1]))

    def errors(self, constraint: Any) -> Array:
        """Values of a constraint's rows at the present positions."""
        engine = self.engine
        _measure(engine.tree.address, engine.data.address, self.container.address, self.number[constraint])
        return self.container.phi[self.rows_of(constraint)].copy()

    def impulses(self, constraint: Any) -> Array:
        """Impulses of a constraint's rows in the last step."""
        if isinstance(constraint, UserConstraint):
            return self.users.impulses(constraint)
        return self.container.impulse[self.rows_of(constraint)].copy()

    def wrench(self, constraint: Any) -> Array:
        """Mean wrench (6,) of a constraint on its second body in the last step, about B's origin, world axes."""
        return self.container.wrench[self.number[constraint]] / self.engine.world.time_step

    def angle(self, constraint: Any) -> float:
        """Last angle that a row of a constraint measured [rad]."""
        return float(self.container.angle[self.rows_of(constraint).start])

    def write_row(self, constraint: Any, row: int, values: dict[str, float]) -> None:
        """Change fields of one row of a constraint, without making anything anew."""
        for key, value in values.items():
            getattr(self.container, key)[self.rows_of(constraint).start + row] = value
        self.engine.disturb(constraint.skeletons)

    def is_broken(self, constraint: Any) -> bool:
        """Whether a constraint broke."""
        return self.container.enabled[self.number[constraint]] == 0

    def set_broken(self, constraint: Any, broken: bool) -> None:
        """Break or repair a constraint."""
        self.container.enabled[self.number[constraint]] = not broken
        self.container.end_q[:] = np.nan

    def note_broken(self) -> None:
        """Tell constraints that they broke."""
        for k in np.flatnonzero(self.container.enabled[: len(self.joined)] == 0):
            self.joined[k].was_broken = True

    def redundant(self) -> list[str]:
        """Rows that followed from others in the last step, as "constraint: row"."""
        lp, names = self.container, []
        for k, c in enumerate(self.joined):
            for r, name in zip(range(int(lp.first_row[k]), int(lp.first_row[k + 1])), c.row_names, strict=True):
                if lp.redundant[r] != 0 and lp.enabled[k] != 0:
                    names.append(f"{c.name}: {name}")
        return names

    def unmet(self) -> dict[str, tuple[float, float]]:
        """Errors of position and of velocity of eliminated rows that the last step left open."""
        lp, found = self.container, {}
        for s, r in enumerate(lp.slot[: int(lp.group_slot[-1])]):
            phi, rate, c = float(lp.phi[r]), float(lp.right[s]), int(lp.of[r])
            if lp.enabled[c] != 0 and not (abs(phi) <= OPEN_TOLERANCE and abs(rate) <= RATE):
                name = self.joined[c].row_names[int(r - lp.first_row[c])]
                found[f"{self.joined[c].name}: {name}"] = (phi, rate)
        return found

    # State -----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any] | None:
        if not self.any:
            return None
        lp = self.container
        own = {key: getattr(lp, key).copy() for key in _KEPT}
        own["closure"] = np.array([getattr(lp, key) for key in _CLOSURE])
        aggregates = self.aggregates.state() if self.aggregates.any else {}
        return {**self.users.state(), **own, **aggregates}

    def _is_of_others(self, state: dict[str, Any]) -> bool:
        """Whether a state is of other constraints, so that the next step closes what it finds."""
        return any(getattr(state.get(key), "shape", ()) != getattr(self.container, key).shape for key in _SIZED)

    def checked_state(self, state: Any, where: str) -> dict[str, Any] | None:
        if state is None or not self.any:
            return None
        lp = self.container
        if isinstance(state, dict) and self._is_of_others(state):
            return None
        found: dict[str, Any] = checked_arrays(lp, _KEPT, state, where)
        found["closure"] = checked_array(state.get("closure"), "f", (len(_CLOSURE),), FINITE, f"{where}.closure")
        found |= self.users.checked_state(state, where)
        return {**found, **self.aggregates.checked_state(state, where)} if self.aggregates.any else found

    def set_state(self, state: dict[str, Any] | None) -> None:
        if state is None or not self.any or self._is_of_others(state):
            return
        lp = self.container
        for key in _KEPT:
            getattr(lp, key)[:] = state[key]
        for key, value in zip(_CLOSURE, state["closure"].tolist(), strict=True):
            setattr(lp, key, value)
        if self.aggregates.any and self.aggregates.set_state(state):
            note_partitions(self.engine.world.address)
        for k, c in enumerate(self.joined):
            c.was_broken = bool(lp.enabled[k] == 0)
        self.users.set_state(state)
