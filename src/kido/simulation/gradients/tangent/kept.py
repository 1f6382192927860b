"""What a step changes and the next depends on, kept while one is done to be differentiated: in a few microseconds.

It is what `kido.simulation.world_state` takes, for worlds of which a derivative is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.collision.container import COUNTS
from kido.collision.detector import CONTACT_FIELDS, PAIR_FIELDS
from kido.jit import Struct, entry, integers, view
from kido.jit.duals.structs import NUMBERS, WHOLE_NUMBERS
from kido.simulation.world_state import FORCES, IMPULSES, set_report
from kido.skeleton.state.arrays import STATE_FIELDS


class KEPT(Struct):
    of_floats = integers("floats", 2, doc="NUMBERS of the world, and those that keep them")
    of_integers = integers("integers", 2, doc="the same of WHOLE_NUMBERS")
    num_floats = integers("floats", doc="how many numbers")
    num_integers = integers("integers", doc="the same")


@entry("i8(i8,i8)")
def move_numbers(address, back):
    """Keep numbers, or put them back. Returns 0."""
    c = view(KEPT, address)
    give, take = (1, 0) if back != 0 else (0, 1)
    for k in range(c.of_floats.shape[0]):
        given, made = view(NUMBERS, c.of_floats[k, give]), view(NUMBERS, c.of_floats[k, take])
        for i in range(c.num_floats[k]):
            made.number[i] = given.number[i]
    for k in range(c.of_integers.shape[0]):
        taken, own = view(WHOLE_NUMBERS, c.of_integers[k, give]), view(WHOLE_NUMBERS, c.of_integers[k, take])
        for i in range(c.num_integers[k]):
            own.number[i] = taken.number[i]
    return 0


class Kept:
    """The state of an engine while a step is tried."""

    def __init__(self, engine: Any):
        self.engine, self.collision = engine, engine.detector.container
        self._named = [("data", f, "") for f in STATE_FIELDS]
        self._named += [("collision", f, "pairs") for f in PAIR_FIELDS]
        self._named += [("collision", f, "contacts") for f in CONTACT_FIELDS]
        self._named += [("row_origins", f, "") for f in IMPULSES] + [("world", f, "") for f in FORCES]
        owners = self._owners()
        self._live = [getattr(owners[owner], name) for owner, name, _ in self._named]
        found = [(array, by) for array, (_, _, by) in zip(self._live, self._named, strict=True)]
        kinds: list[list[tuple[np.ndarray, str]]] = [[x for x in found if x[0].dtype.kind == k] for k in "fi"]
        self._kept: list[Any] = []
        self._copies: dict[int, np.ndarray] = {}
        self._plan = plan = KEPT(floats=len(kinds[0]), integers=len(kinds[1]))
        self._counts: list[tuple[np.ndarray, dict[str, np.ndarray]]] = []
        for arrays, kind, addresses, counts in (
            (kinds[0], NUMBERS, plan.of_floats, plan.num_floats),
            (kinds[1], WHOLE_NUMBERS, plan.of_integers, plan.num_integers),
        ):
            width = np.zeros(len(arrays), np.int64)
            for k, (array, by) in enumerate(arrays):
                pair = [kind(number=array.reshape(-1)), kind(number=array.reshape(-1).copy())]
                self._copies[id(array)] = pair[1].number
                self._kept += pair
                addresses[k] = [x.address for x in pair]
                width[k] = array.size if by == "" or not len(array) else array.size // len(array)
            named = {n: np.array([by == n for _, by in arrays]) * width for n in ("", "pairs", "contacts")}
            self._counts.append((counts, named))

    def _owners(self) -> dict[str, Any]:
        engine = self.engine
        return {
            "data": engine.data, "collision": engine.detector.container, "row_origins": engine.row_origins,
            "world": engine.world,
        }  # fmt: skip

    @property
    def sizes(self) -> dict[str, int]:
        """Rows that are in use."""
        return {"": 1, "pairs": self.collision.num_pairs, "contacts": self.collision.num_contacts}

    def take(self) -> None:
        """Keep the present state."""
        sizes, engine = self.sizes, self.engine
        for counts, widths in self._counts:
            counts[:] = sum(width * sizes[name] for name, width in widths.items())
        move_numbers(self._plan.address, 0)
        w = engine.world
        self._words = [getattr(self.collision, name) for name in COUNTS]
        self._reports = w.last.floats_of_block(), w.worst.floats_of_block(), w.steps, w.unconverged
        self._features = [(f, state) for f in engine.features if f.key and (state := f.state()) is not None]

    def put_back(self) -> None:
        """Go back to it, also where the step has made arrays larger."""
        owners = self._owners()
        now = [getattr(owners[owner], name) for owner, name, _ in self._named]
        if all(a is b for a, b in zip(now, self._live, strict=True)):
            move_numbers(self._plan.address, 1)
        else:
            sizes = dict(zip(COUNTS, self._words, strict=True))
            rows = {"pairs": sizes["num_pairs"], "contacts": sizes["num_contacts"]}
            for array, live, (_, _, by) in zip(now, self._live, self._named, strict=True):
                kept = self._copies[id(live)].reshape(live.shape)
                count = rows.get(by, len(live))
                array[:count] = kept[:count]
        for name, value in zip(COUNTS, self._words, strict=True):
            setattr(owners["collision"], name, value)
        w = self.engine.world
        last, worst, w.steps, w.unconverged = self._reports
        for report, values in ((w.last, last), (w.worst, worst)):
            set_report(report, np.array(values))
        for feature, state in self._features:
            feature.set_state(state)
