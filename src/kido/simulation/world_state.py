"""Everything that the next step of a world depends on besides its structure: taken out, and put back."""

from __future__ import annotations

from typing import Any

from kido.errors import StateError
from kido.math.transform import as_numbers
from kido.simulation.owner import Owner
from kido.simulation.warm_state import set_warm_state, warm_state
from kido.skeleton.arrays import STATE_FIELDS
from kido.skeleton.state.snapshot import carried_states, put_carried_states


def state_of(world: Owner) -> dict[str, Any]:
    """The state of a world as plain data."""
    engine = world.engine
    d = engine.data
    return {
        "skeletons": [s.name for s in world.skeletons],
        **world.clock,
        "time_step": world.time_step,
        **{f: getattr(d, f).copy() for f in STATE_FIELDS},
        "applied": [{i: row.copy() for i, row in s._applied.items()} for s in world.skeletons],
        "warm": warm_state(engine),
        "pushes": world.pushes.state(world.skeletons),
        "carried": [carried_states(s) for s in world.skeletons],
    }


def set_state(world: Owner, state: dict[str, Any]) -> None:
    """Restore what `state_of` returned, or leave the world as it was (StateError)."""
    engine = world.engine
    names = [s.name for s in world.skeletons]
    d = engine.data
    if not isinstance(state, dict) or not {"skeletons", "q", "applied", "warm"} <= state.keys():
        raise StateError(f"world {world.name!r}: restore: not the state of a world: {type(state).__name__}")
    given, q, applied = state["skeletons"], state["q"], state["applied"]
    lists = isinstance(given, list) and all(isinstance(name, str) for name in given) and isinstance(applied, list)
    if not lists or getattr(q, "ndim", 0) != 1:
        raise StateError(f"world {world.name!r}: restore: the state is damaged: it has no lists of skeletons")
    if given != names or len(q) != len(d.q) or len(applied) != len(names):
        raise StateError(
            f"world {world.name!r}: the state is of skeletons {given} with {len(q)} dofs; "
            f"this world has {names} with {len(d.q)}"
        )
    before = state_of(world)
    try:
        put_state(world, state)
    except Exception as error:
        put_state(world, before)
        if isinstance(error, StateError):
            raise
        raise StateError(f"world {world.name!r}: restore: the state is damaged: {error!r}") from error


def put_state(world: Owner, state: dict[str, Any]) -> None:
    """Write a state into a world, unchecked."""
    engine, skeletons = world.engine, world.skeletons
    for field in STATE_FIELDS:
        getattr(engine.data, field)[:] = as_numbers(state.get(field, 0.0))  # an older recording has no "command"
    for s, rows in zip(skeletons, state["applied"], strict=True):
        s.clear_external_forces()
        for index, row in rows.items():
            s._add_external(index, row)
    world.time_step = state["time_step"]  # checked
    world.clock = state
    set_warm_state(engine, state["warm"])
    world.pushes.set_state(state.get("pushes", []), skeletons)
    world.version += 1
    for s, states in zip(skeletons, state.get("carried", []), strict=False):  # recordings have none
        put_carried_states(s, states)
