"""Everything that the next step of a world depends on besides its structure: taken out, checked, put back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import StateError
from kido.jit.kept import (
    ANYTHING,
    COUNT,
    FINITE,
    Values,
    checked_array,
    checked_arrays,
    checked_number,
)
from kido.reprs import in_few_words
from kido.simulation.hooks import ROW
from kido.simulation.owner import Owner
from kido.simulation.world_struct import REPORT
from kido.skeleton.state.arrays import STATE_FIELDS
from kido.skeleton.state.snapshot import carried_states, checked_carried_states, put_carried_states

if TYPE_CHECKING:
    from kido.simulation.engine import Engine


_REPORT_FIELDS: list[Any] = list(REPORT.fields.values())
_NUMBERS = 16  # of a report as recordings have it, the last ones zero
# Older recordings lack commands of motion, and what actuators gave.
_STATE = {field: FINITE.or_absent() if field == "command" else FINITE for field in STATE_FIELDS}
IMPULSES = {"limit_impulse": FINITE, "friction_impulse": FINITE, "actuator_impulse": FINITE.or_absent()}
FORCES = {"actuator_force": FINITE.or_absent(), "constraint_force": FINITE}
_COUNTED = ("iterations", "status", "num_contacts", "fallbacks", "bounces")  # of a report, which are read as integers
_CLOCK = {"steps": COUNT, "steps_before": COUNT, "time_before": FINITE}
_TIME_STEP = Values(5e-324, FINITE.high)


def report_numbers(report: REPORT) -> np.ndarray:
    """The fields of a report in order."""
    numbers = np.zeros(_NUMBERS)
    numbers[: len(REPORT.fields)] = report.floats_of_block()
    return numbers


def set_report(report: REPORT, numbers: np.ndarray) -> None:
    """Restore what `report_numbers` returned; older recordings have fewer."""
    for field, value in zip(_REPORT_FIELDS, numbers.tolist(), strict=False):
        field.__set__(report, value)  # in a third of the time of setattr


def warm_state(engine: Engine) -> dict[str, Any]:
    """What the next step needs besides the skeletons' states: persistent contacts, impulses, what features keep."""
    return {
        "detector": engine.detector.state(),
        **{name: getattr(engine.row_origins, name).copy() for name in IMPULSES},
        **{name: getattr(engine.world, name).copy() for name in FORCES},
        "last": report_numbers(engine.world.last),
        "worst": report_numbers(engine.world.worst),
        "unconverged": np.array([engine.world.unconverged]),
        **{feature.key: feature.state() for feature in engine.features if feature.key},
    }


def checked_warm_state(engine: Engine, state: Any, where: str) -> dict[str, Any]:
    """A warm state that came from outside, as `warm_state` gives them.

    Raises:
        StateError: this engine cannot have been in it; says what is wrong.
    """
    if not isinstance(state, dict):
        raise StateError(f"{where}: expected arrays by name, got {in_few_words(state)}")
    found: dict[str, Any] = {"detector": engine.detector.checked_state(state.get("detector"), f"{where}.detector")}
    found |= checked_arrays(engine.row_origins, IMPULSES, state, where)
    found |= checked_arrays(engine.world, FORCES, state, where)
    for name in ("last", "worst"):
        numbers = state.get(name)
        count = min(_NUMBERS, getattr(numbers, "size", 0))
        found[name] = checked_array(numbers, "f", (count,), ANYTHING, f"{where}.{name}")
        for field, number in zip(REPORT.fields, found[name].tolist(), strict=False):
            if field in _COUNTED:
                checked_number(number, FINITE, f"{where}.{name}: {field}")
    found["unconverged"] = checked_array(state.get("unconverged"), "i", (1,), COUNT, f"{where}.unconverged")
    for feature in engine.features:
        if feature.key:
            found[feature.key] = feature.checked_state(state.get(feature.key), f"{where}.{feature.key}")
    return found


def set_warm_state(engine: Engine, state: dict[str, Any]) -> None:
    """Restore what `warm_state` returned, of this engine or of one of the same structure; not checked again."""
    before = [engine.detector.container, *(feature.own_struct for feature in engine.features)]
    engine.detector.set_state(state["detector"])
    for struct, names in ((engine.row_origins, IMPULSES), (engine.world, FORCES)):
        for name in names:
            getattr(struct, name)[:] = state[name]
    set_report(engine.world.last, state["last"])
    set_report(engine.world.worst, state["worst"])
    engine.world.unconverged = int(state["unconverged"][0])
    for feature in engine.features:
        if feature.key:
            feature.set_state(state[feature.key])
    now = [engine.detector.container, *(feature.own_struct for feature in engine.features)]
    if any(a is not b for a, b in zip(before, now, strict=True)):
        engine.link()


def state_of(world: Owner) -> dict[str, Any]:
    """The state of a world as plain data."""
    engine = world.engine
    d = engine.data
    skeletons = world.skeletons
    return {
        "skeletons": [s.name for s in skeletons],
        **world.clock,
        "time_step": world.time_step,
        **{f: getattr(d, f).copy() for f in STATE_FIELDS},
        "applied": [{i: row.copy() for i, row in s.current_state.applied.items()} for s in skeletons],
        "warm": warm_state(engine),
        "pushes": world.pushes.state(skeletons),
        "carried": [carried_states(s) for s in skeletons],
    }


def checked_state(world: Owner, state: Any, what: str) -> dict[str, Any]:
    """A state of a world that came from outside: everything of the kind, size and range that this world has room for.

    Args:
        world: that is to be put into it.
        state: as `state_of` gives them, perhaps from a file, or of an older version.
        what: begins messages.

    Raises:
        StateError: the world cannot have been in it; says what is wrong, and where.
    """
    engine, skeletons = world.engine, world.skeletons
    names = [s.name for s in skeletons]
    if not isinstance(state, dict) or not {"skeletons", "q", "applied", "warm"} <= state.keys():
        raise StateError(f"{what}: not the state of a world: {type(state).__name__}")
    given, q, applied = state["skeletons"], state["q"], state["applied"]
    lists = isinstance(given, list) and all(isinstance(name, str) for name in given) and isinstance(applied, list)
    if not lists or getattr(q, "ndim", 0) != 1:
        raise StateError(f"{what}: the state is damaged: it has no lists of skeletons")
    if given != names or len(q) != len(engine.data.q) or len(applied) != len(names):
        raise StateError(
            f"{what}: the state is of skeletons {listed(given)} with {len(q)} dofs; "
            f"this world has {listed(names)} with {len(engine.data.q)}"
        )
    found: dict[str, Any] = checked_arrays(engine.data, _STATE, state, what)
    for key, values in _CLOCK.items():
        found[key] = checked_number(state.get(key), values, f"{what}: {key}", whole=values is COUNT)
    found["time_step"] = checked_number(state.get("time_step"), _TIME_STEP, f"{what}: time_step")
    found["applied"] = [_checked_forces(s, rows, what) for s, rows in zip(skeletons, applied, strict=True)]
    found["warm"] = checked_warm_state(engine, state["warm"], f"{what}: warm")
    found["pushes"] = world.pushes.checked_state(state.get("pushes", []), skeletons, f"{what}: pushes")
    carried = state.get("carried", [])  # older recordings have none
    if not isinstance(carried, list) or len(carried) not in (0, len(skeletons)):
        raise StateError(f"{what}: carried: expected a list of {len(skeletons)}, got {in_few_words(carried)}")
    found["carried"] = [checked_carried_states(s, states, what) for s, states in zip(skeletons, carried, strict=False)]
    return found


def _checked_forces(skeleton: Any, rows: Any, what: str) -> dict[int, np.ndarray]:
    """External forces by body."""
    where = f"{what}: applied to skeleton {skeleton.name!r}"
    if not isinstance(rows, dict):
        raise StateError(f"{where}: expected forces by body, got {in_few_words(rows)}")
    bodies = Values(0, skeleton.num_bodies - 1)
    return {
        checked_number(index, bodies, f"{where}: body", whole=True): checked_array(
            row, "f", (ROW,), FINITE, f"{where}: {in_few_words(index)}"
        )
        for index, row in rows.items()
    }


def set_state(world: Owner, state: Any, what: str) -> None:
    """Restore what `state_of` returned, perhaps of another world or from a file.

    Raises:
        StateError: it is of other skeletons, or damaged, or a user's class refused its part; the world is as it was.
    """
    try:
        checked = checked_state(world, state, what)
    except StateError:
        raise
    except Exception as error:
        raise StateError(f"{what}: the state is damaged: {error!r:.200}") from error
    put_checked_state(world, checked, what)


def put_checked_state(world: Owner, state: dict[str, Any], what: str) -> None:
    """Write a checked state into a world for the first time, or one of users' classes.

    Raises:
        StateError: a user's class refused its part; the world is as it was.
    """
    before = state_of(world)
    try:
        put_state(world, state)
    except Exception as error:
        put_state(world, before)
        if isinstance(error, StateError):
            raise
        raise StateError(f"{what}: refused by a node or aspect, or another part of a user's: {error!r:.200}") from error


def put_state(world: Owner, state: dict[str, Any]) -> None:
    """Write a state into a world; not checked again."""
    engine, skeletons = world.engine, world.skeletons
    for field in STATE_FIELDS:
        getattr(engine.data, field)[:] = state[field]
    loaded = np.count_nonzero(engine.data.has_external) > 0
    if world.time_step != state["time_step"]:
        world.time_step = state["time_step"]
    world.clock = state
    set_warm_state(engine, state["warm"])
    for s, rows in zip(skeletons, state["applied"], strict=True):
        if rows or loaded:  # it asks for inertias, which those of soft skins are part of: when these are there
            s.current_state.set_external({index: row.copy() for index, row in rows.items()})
    world.pushes.set_state(state.get("pushes", ()), skeletons)
    world.version += 1
    for s, states in zip(skeletons, state.get("carried", ()), strict=False):
        if states:
            put_carried_states(s, states)


def listed(names: list[str]) -> str:
    """Some of many names."""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return (", ".join(f"{name:.40}" for name in names[:8]) or "none") + more
