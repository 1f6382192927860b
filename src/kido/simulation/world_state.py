"""Everything that the next step of a world depends on besides its structure: taken out, and put back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kido.errors import StateError
from kido.math.transform import as_numbers
from kido.simulation.pushes import pushes_from, pushes_to
from kido.simulation.warm_state import set_warm_state, warm_state
from kido.simulation.world_snapshot import WorldSnapshot, first_difference, structure_of
from kido.skeleton.state.arrays import STATE_FIELDS
from kido.skeleton.state.snapshot import carried_states, put_carried_states

if TYPE_CHECKING:
    from kido.skeleton import Skeleton


class WorldState:
    """The state of a world, to be kept and restored."""

    if TYPE_CHECKING:
        name: str
        _skeletons: list[Skeleton]
        _compile: Any
        _time_before: float
        _time_step: float
        time_step: Any
        _steps: int
        _steps_before: int
        _version: int
        _pushes: Any

    def snapshot(self) -> WorldSnapshot:
        """Everything the next step depends on besides the structure; `restore` continues bit for bit.

        Positions, velocities, commands and external forces, contacts with their impulses, who sleeps, time, and the
        states of the skeletons' nodes and aspects, on which users' callbacks may depend. Not what describes the
        world: properties, settings, solver and integrator.

        Example:
            >>> before = world.snapshot()
            >>> world.step(1000)
            >>> world.restore(before)
            >>> before.save("before.npz")
        """
        return WorldSnapshot(structure_of(self._skeletons), self._state())

    def restore(self, snapshot: WorldSnapshot) -> None:
        """Put a snapshot of this world, or of an equal one, back; nodes and aspects that came since keep their states.

        Raises:
            StateError: it is of a world with other skeletons, bodies, joints or shapes, or is damaged; the world is
                as it was.
        """
        what = f"world {self.name!r}: restore"
        if not isinstance(snapshot, WorldSnapshot):
            raise StateError(f"{what}: expected what snapshot() returned, got {type(snapshot).__name__}")
        difference = first_difference(snapshot._structure, structure_of(self._skeletons))
        if difference:
            raise StateError(f"{what}: the snapshot is of another structure: {difference}")
        self._set_state(snapshot._data)

    def _state(self) -> dict[str, Any]:
        engine = self._compile()
        d = engine.data
        return {
            "skeletons": [s.name for s in self._skeletons],
            "time_before": self._time_before,
            "steps": self._steps,
            "steps_before": self._steps_before,
            "time_step": self._time_step,
            **{f: getattr(d, f).copy() for f in STATE_FIELDS},
            "applied": [{i: row.copy() for i, row in s.current_state.applied.items()} for s in self._skeletons],
            "warm": warm_state(engine),
            "pushes": pushes_to(self._pushes, self._skeletons),
            "carried": [carried_states(s) for s in self._skeletons],
        }

    def _set_state(self, state: dict[str, Any]) -> None:
        """Restore what `_state` returned.

        Raises:
            StateError: it belongs to a world with other skeletons, or is damaged; the world is as it was.
        """
        engine = self._compile()
        names = [s.name for s in self._skeletons]
        d = engine.data
        if not isinstance(state, dict) or not {"skeletons", "q", "applied", "warm"} <= state.keys():
            raise StateError(f"world {self.name!r}: restore: not the state of a world: {type(state).__name__}")
        given, q, applied = state["skeletons"], state["q"], state["applied"]
        lists = isinstance(given, list) and all(isinstance(name, str) for name in given) and isinstance(applied, list)
        if not lists or getattr(q, "ndim", 0) != 1:
            raise StateError(f"world {self.name!r}: restore: the state is damaged: it has no lists of skeletons")
        if given != names or len(q) != len(d.q) or len(applied) != len(names):
            raise StateError(
                f"world {self.name!r}: the state is of skeletons {given} with {len(q)} dofs; "
                f"this world has {names} with {len(d.q)}"
            )
        before = self._state()
        try:
            self._put(engine, state)
        except Exception as error:
            self._put(engine, before)
            if isinstance(error, StateError):
                raise
            raise StateError(f"world {self.name!r}: restore: the state is damaged: {error!r}") from error

    def _put(self, engine: Any, state: dict[str, Any]) -> None:
        d = engine.data
        for field in STATE_FIELDS:
            getattr(d, field)[:] = as_numbers(state.get(field, 0.0))  # an older recording has no "command"
        for s, rows in zip(self._skeletons, state["applied"], strict=True):
            s.clear_external_forces()
            for index, row in rows.items():
                s.current_state.add_external(index, row)
        self.time_step = state["time_step"]  # checked
        self._time_before, self._steps_before = float(state["time_before"]), int(state["steps_before"])
        self._steps = int(state["steps"])
        set_warm_state(engine, state["warm"])
        self._pushes = pushes_from(state.get("pushes", []), self._skeletons)
        self._version += 1
        for s, states in zip(self._skeletons, state.get("carried", []), strict=False):  # recordings have none
            put_carried_states(s, states)
