"""What a step changes and the next depends on, kept while one is done to be differentiated: in a few microseconds.

It is what `kido.simulation.world_state` takes, for worlds of which a derivative is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.collision.container import COUNTS
from kido.collision.detector import CONTACT_FIELDS, PAIR_FIELDS
from kido.jit import Struct, entry, integers, view
from kido.jit.duals.structs import NUMBERS, WHOLE_NUMBERS, words_of
from kido.simulation.world_state import FORCES, IMPULSES
from kido.skeleton.state.arrays import STATE_FIELDS


class KEPT(Struct):
    of_floats = integers("floats", 2, doc="NUMBERS of the world, and those that keep them")
    of_integers = integers("integers", 2, doc="the same of WHOLE_NUMBERS")
    num_floats = integers("floats", doc="how many numbers, for each of a count")
    num_integers = integers("integers", doc="the same")
    by_floats = integers("floats", doc="by which of `counts` that goes")
    by_integers = integers("integers", doc="the same")
    counts = integers(3, doc="1, pairs and contacts in use")


@entry("i8(i8,i8)")
def move_numbers(address, back):
    """Keep numbers, or put them back. Returns 0."""
    c = view(KEPT, address)
    give, take = (1, 0) if back != 0 else (0, 1)
    for k in range(c.of_floats.shape[0]):
        given, made = view(NUMBERS, c.of_floats[k, give]), view(NUMBERS, c.of_floats[k, take])
        for i in range(c.num_floats[k] * c.counts[c.by_floats[k]]):
            made.number[i] = given.number[i]
    for k in range(c.of_integers.shape[0]):
        taken, own = view(WHOLE_NUMBERS, c.of_integers[k, give]), view(WHOLE_NUMBERS, c.of_integers[k, take])
        for i in range(c.num_integers[k] * c.counts[c.by_integers[k]]):
            own.number[i] = taken.number[i]
    return 0


BY = ("", "pairs", "contacts")


class Kept:
    """The state of an engine while a step is tried."""

    def __init__(self, engine: Any):
        self.engine, self.collision = engine, engine.detector.container
        named = [("data", f, "") for f in STATE_FIELDS]
        named += [("collision", f, "pairs") for f in PAIR_FIELDS]
        named += [("collision", f, "contacts") for f in CONTACT_FIELDS]
        named += [("row_origins", f, "") for f in IMPULSES] + [("world", f, "") for f in FORCES]
        self._named, w = named, engine.world
        self._live = [getattr(self._owners()[owner], name) for owner, name, _ in named]
        self._words = [(self.collision, name) for name in COUNTS] + [(w, "steps"), (w, "unconverged")]
        arrays = [(array, by) for array, (_, _, by) in zip(self._live, named, strict=True)]
        arrays += [(words_of(struct, name), "") for struct, name in self._words]
        arrays += [(words_of(report), "") for report in (w.last, w.worst)]
        kinds = [[x for x in arrays if x[0].dtype.kind == k] for k in "fi"]
        self._plan = plan = KEPT(floats=len(kinds[0]), integers=len(kinds[1]))
        plan.counts[0] = 1
        self._kept: list[Any] = []
        self._copies: dict[int, np.ndarray] = {}
        for chosen, kind, addresses, counts, of_count in (
            (kinds[0], NUMBERS, plan.of_floats, plan.num_floats, plan.by_floats),
            (kinds[1], WHOLE_NUMBERS, plan.of_integers, plan.num_integers, plan.by_integers),
        ):
            for k, (array, by) in enumerate(chosen):
                pair = [kind(number=array.reshape(-1)), kind(number=array.reshape(-1).copy())]
                self._copies[id(array)] = pair[1].number
                self._kept += pair
                addresses[k] = [x.address for x in pair]
                counts[k] = array.size if by == "" or not len(array) else array.size // len(array)
                of_count[k] = BY.index(by)
        self._of_words = [self._copies[id(array)] for array, _ in arrays[len(named) :]]

    def _owners(self) -> dict[str, Any]:
        engine = self.engine
        return {
            "data": engine.data, "collision": engine.detector.container, "row_origins": engine.row_origins,
            "world": engine.world,
        }  # fmt: skip

    @property
    def sizes(self) -> dict[str, int]:
        """Rows that are in use."""
        return {"pairs": self.collision.num_pairs, "contacts": self.collision.num_contacts}

    def take(self) -> None:
        """Keep the present state."""
        self._plan.counts[1:] = self.collision.num_pairs, self.collision.num_contacts
        move_numbers(self._plan.address, 0)
        self._features = [(f, state) for f in self.engine.features if f.key and (state := f.state()) is not None]

    def put_back(self) -> None:
        """Go back to it, also where the step has made arrays larger."""
        owners = self._owners()
        if all(getattr(owners[o], name) is live for (o, name, _), live in zip(self._named, self._live, strict=True)):
            move_numbers(self._plan.address, 1)
        else:
            self._put_back_into(owners)
        for feature, state in self._features:
            feature.set_state(state)

    def _put_back_into(self, owners: dict[str, Any]) -> None:
        """The same where arrays are others now."""
        _, pairs, contacts = self._plan.counts.tolist()
        rows = {"pairs": pairs, "contacts": contacts}
        for (owner, name, by), live in zip(self._named, self._live, strict=True):
            array, kept = getattr(owners[owner], name), self._copies[id(live)].reshape(live.shape)
            count = rows.get(by, len(live))
            array[:count] = kept[:count]
        for (struct, name), kept in zip(self._words, self._of_words, strict=False):
            setattr(owners["collision"] if struct is self.collision else struct, name, int(kept[0]))
        w = self.engine.world
        for report, kept in zip((w.last, w.worst), self._of_words[len(self._words) :], strict=True):
            words_of(report)[:] = kept
