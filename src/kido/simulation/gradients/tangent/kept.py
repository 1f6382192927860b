"""What a step changes and the next depends on, kept while one is done to be differentiated: in a microsecond.

It is what `kido.simulation.world_state` takes, for worlds of which a derivative is taken; of features apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.collision.container import COUNTS
from kido.collision.detector import CONTACT_FIELDS, PAIR_FIELDS
from kido.jit import Struct, entry, integers, kernel, view
from kido.jit.duals.structs import NUMBERS, WHOLE_NUMBERS, words_of
from kido.simulation.world_state import FORCES, IMPULSES
from kido.skeleton.state.arrays import STATE_FIELDS

BY = ("", "contacts", "pairs")
CONTACTS, PAIRS = 1, 2  # of counts: rows in use of arrays of these


class KEPT(Struct):
    of_floats = integers("floats", doc="NUMBERS of the world")
    of_integers = integers("integers", doc="WHOLE_NUMBERS of the world")
    num_floats = integers("floats", doc="how many numbers, for each of a count")
    num_integers = integers("integers", doc="the same")
    by_floats = integers("floats", doc="by which of `counts` that goes")
    by_integers = integers("integers", doc="the same")
    counts = integers(3, doc="1, contacts and pairs in use")
    kept = integers(2, doc="NUMBERS and WHOLE_NUMBERS that keep them, one after the other")
    used = integers(2, doc="how many they are")


@kernel
def move_numbers(c, back):
    """Keep numbers, or put them back."""
    kept, at = view(NUMBERS, c.kept[0]).number, 0
    for k in range(c.of_floats.shape[0]):
        live, number = view(NUMBERS, c.of_floats[k]).number, c.num_floats[k] * c.counts[c.by_floats[k]]
        if back:
            for i in range(number):
                live[i] = kept[at + i]
        else:
            for i in range(number):
                kept[at + i] = live[i]
        at += number
    c.used[0] = at
    whole, at = view(WHOLE_NUMBERS, c.kept[1]).number, 0
    for k in range(c.of_integers.shape[0]):
        own, number = view(WHOLE_NUMBERS, c.of_integers[k]).number, c.num_integers[k] * c.counts[c.by_integers[k]]
        if back:
            for i in range(number):
                own[i] = whole[at + i]
        else:
            for i in range(number):
                whole[at + i] = own[i]
        at += number
    c.used[1] = at


@entry("i8(i8,i8)")
def move_state(address, back):
    """Keep numbers, or put them back, for Python. Returns 0."""
    move_numbers(view(KEPT, address), back != 0)
    return 0


class Saved(NamedTuple):
    """A state apart: contacts and pairs that are in use, numbers, whole numbers, and states of features."""

    counts: tuple[int, int]
    floats: NDArray[np.float64]
    integers: NDArray[np.int64]
    features: list[tuple[Any, Any]]


class Kept:
    """Room for the state of an engine, until it links its structs again.

    Attributes:
        plan: what is kept, and where.
        linked: `times_linked` of the engine.
    """

    def __init__(self, engine: Any):
        self.engine, self.linked = engine, engine.times_linked
        self._collision, w = engine.detector.container, engine.world
        collision = self._collision
        arrays = [(getattr(engine.data, f), "") for f in STATE_FIELDS]
        arrays += [(getattr(collision, f), "pairs") for f in PAIR_FIELDS]
        arrays += [(getattr(collision, f), "contacts") for f in CONTACT_FIELDS]
        arrays += [(getattr(engine.row_origins, f), "") for f in IMPULSES] + [(getattr(w, f), "") for f in FORCES]
        words = [(collision, name) for name in COUNTS] + [(w, "steps"), (w, "unconverged")]
        arrays += [(words_of(struct, name), "") for struct, name in words]
        arrays += [(words_of(report), "") for report in (w.last, w.worst)]
        kinds = [[x for x in arrays if x[0].dtype.kind == k] for k in "fi"]
        self.plan = plan = KEPT(floats=len(kinds[0]), integers=len(kinds[1]))
        plan.counts[0] = 1
        self._kept = [
            np.zeros(sum(x.size for x, _ in chosen), x) for chosen, x in zip(kinds, (float, int), strict=True)
        ]
        self._views: list[Any] = [NUMBERS(number=self._kept[0]), WHOLE_NUMBERS(number=self._kept[1])]
        plan.kept[:] = [x.address for x in self._views]
        for chosen, kind, addresses, counts, of_count in (
            (kinds[0], NUMBERS, plan.of_floats, plan.num_floats, plan.by_floats),
            (kinds[1], WHOLE_NUMBERS, plan.of_integers, plan.num_integers, plan.by_integers),
        ):
            for k, (array, by) in enumerate(chosen):
                self._views.append(kind(number=array.reshape(-1)))
                addresses[k] = self._views[-1].address
                counts[k] = array.size if by == "" or not len(array) else array.size // len(array)
                of_count[k] = BY.index(by)

    def saved(self) -> Saved:
        """The present state."""
        plan, counts = self.plan, (self._collision.num_contacts, self._collision.num_pairs)
        plan.counts[1:] = counts
        move_state(plan.address, 0)
        floats, integers = (kept[:n].copy() for kept, n in zip(self._kept, plan.used.tolist(), strict=True))
        states = [(f, state) for f in self.engine.features if f.key and (state := f.state()) is not None]
        return Saved(counts, floats, integers, states)

    def put(self, saved: Saved) -> None:
        """Go back to a state, of any `Kept` of the engine."""
        self.plan.counts[1:] = saved.counts
        for kept, numbers in zip(self._kept, (saved.floats, saved.integers), strict=True):
            kept[: len(numbers)] = numbers
        move_state(self.plan.address, 1)
        put_features(self.engine, saved.features)


def put_features(engine: Any, states: list[tuple[Any, Any]]) -> None:
    """Restore states of features."""
    for feature, state in states:
        before = feature.own_struct
        feature.set_state(state)
        if feature.own_struct is not before:
            engine.link()
