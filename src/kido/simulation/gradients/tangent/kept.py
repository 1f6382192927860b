"""What a step changes and the next depends on, kept while one is done to be differentiated: in a microsecond.

It is what `kido.simulation.world_state` takes, for worlds of which a derivative is taken; what features keep apart.
"""

from __future__ import annotations

from typing import Any

from kido.collision.container import COUNTS
from kido.collision.detector import CONTACT_FIELDS, PAIR_FIELDS
from kido.jit import Struct, integers, kernel, view
from kido.jit.duals.structs import NUMBERS, WHOLE_NUMBERS, words_of
from kido.simulation.world_state import FORCES, IMPULSES
from kido.skeleton.state.arrays import STATE_FIELDS

BY = ("", "contacts", "pairs")
CONTACTS, PAIRS = 1, 2  # of counts: rows in use of arrays of these


class KEPT(Struct):
    of_floats = integers("floats", 2, doc="NUMBERS of the world, and those that keep them")
    of_integers = integers("integers", 2, doc="the same of WHOLE_NUMBERS")
    num_floats = integers("floats", doc="how many numbers, for each of a count")
    num_integers = integers("integers", doc="the same")
    by_floats = integers("floats", doc="by which of `counts` that goes")
    by_integers = integers("integers", doc="the same")
    counts = integers(3, doc="1, contacts and pairs in use")


@kernel
def move_numbers(c, back):
    """Keep numbers, or put them back."""
    give, take = (1, 0) if back else (0, 1)
    for k in range(c.of_floats.shape[0]):
        given, made = view(NUMBERS, c.of_floats[k, give]), view(NUMBERS, c.of_floats[k, take])
        for i in range(c.num_floats[k] * c.counts[c.by_floats[k]]):
            made.number[i] = given.number[i]
    for k in range(c.of_integers.shape[0]):
        taken, own = view(WHOLE_NUMBERS, c.of_integers[k, give]), view(WHOLE_NUMBERS, c.of_integers[k, take])
        for i in range(c.num_integers[k] * c.counts[c.by_integers[k]]):
            own.number[i] = taken.number[i]


class Kept:
    """Room for the state of an engine while a step is tried, as long as the engine has these arrays.

    Attributes:
        plan: what is kept, and where.
    """

    def __init__(self, engine: Any):
        collision, w = engine.detector.container, engine.world
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
        self._kept: list[Any] = []
        for chosen, kind, addresses, counts, of_count in (
            (kinds[0], NUMBERS, plan.of_floats, plan.num_floats, plan.by_floats),
            (kinds[1], WHOLE_NUMBERS, plan.of_integers, plan.num_integers, plan.by_integers),
        ):
            for k, (array, by) in enumerate(chosen):
                pair = [kind(number=array.reshape(-1)), kind(number=array.reshape(-1).copy())]
                self._kept += pair
                addresses[k] = [x.address for x in pair]
                counts[k] = array.size if by == "" or not len(array) else array.size // len(array)
                of_count[k] = BY.index(by)
