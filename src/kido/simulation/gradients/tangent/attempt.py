"""A step that is done to be differentiated by formulas, and undone: all of it is one compiled call."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.jit import Struct, entry, integer, kernel, reference, view
from kido.jit.duals.structs import COPIES, NUMBERS, WHOLE_NUMBERS, copy_all, words_of
from kido.simulation.gradients.tangent.begin import leaves_to_formulas, take_start
from kido.simulation.gradients.tangent.kept import BY, CONTACTS, KEPT, PAIRS, move_numbers
from kido.simulation.gradients.tangent.pull import step_pull
from kido.simulation.gradients.tangent.schema import TANGENT
from kido.simulation.gradients.tangent.step import DONE, OTHER_WAY, step_rates
from kido.simulation.step import AT_END, AT_PREDICT, NOWHERE, run_steps
from kido.simulation.world_struct import WORLD

STOPPED = 3  # beside DONE, OTHER_WAY and SINGULAR: the step needs Python, or fails


class ATTEMPT(Struct):
    world = reference(WORLD)
    tangent = reference(TANGENT)
    kept = reference(KEPT)
    copies = reference(COPIES, doc="what the detector in dual numbers takes before a step")
    commands = integer(doc="address of the world's COMMANDS; 0: it has none")
    detect = integer(doc="address of the detector's callback for duals")
    collision = integer(doc="address of its COLLISION")


class Handed:
    """What a detector leaves to its next detection, taken into its mirror of duals: rows in use, and its numbers.

    Args:
        struct, mirror: COLLISION of numbers, and of duals.
        chosen: names of arrays, and what is in use of them: one of `BY`.

    Attributes:
        copies: for `copy_all`; `counts` as of KEPT.
    """

    def __init__(self, struct: Any, mirror: Any, chosen: dict[str, str]):
        names = {k: [n for n in chosen if getattr(struct, n).dtype.kind == k and getattr(struct, n).size] for k in "fi"}
        words = np.array([f.word for f in type(struct).fields.values() if f.kind in "FI"])
        self.copies = c = COPIES(
            floats=len(names["f"]), integers=len(names["i"]), count_kinds=len(BY), word_count=len(words)
        )  # fmt: skip
        c.counts[0], c.taken[:] = 1, words
        self._views = [WHOLE_NUMBERS(number=words_of(x)) for x in (struct, mirror)]
        c.blocks[:] = [x.address for x in self._views]
        for kind, of, addresses, counts, by in (
            (NUMBERS, names["f"], c.of_floats, c.num_floats, c.by_floats),
            (WHOLE_NUMBERS, names["i"], c.of_integers, c.num_integers, c.by_integers),
        ):
            for k, name in enumerate(of):
                array, pair = getattr(struct, name), [getattr(x, name) for x in (struct, mirror)]
                self._views += [kind(number=x.reshape(-1)) for x in pair]
                addresses[k] = [x.address for x in self._views[-2:]]
                counts[k] = array.size if chosen[name] == "" else array.size // len(array)
                by[k] = BY.index(chosen[name])


@kernel
def try_step(a):
    """Do the next step. Returns DONE, or why it has no formulas; where that is OTHER_WAY, nothing was done."""
    w, c = a.world, a.tangent
    if not leaves_to_formulas(w, c, a.commands):
        return OTHER_WAY
    kept, copies, collision = a.kept, a.copies, w.collision
    kept.counts[CONTACTS] = copies.counts[CONTACTS] = collision.num_contacts
    kept.counts[PAIRS] = copies.counts[PAIRS] = collision.num_pairs
    move_numbers(kept, False)
    take_start(w, c, a.commands)
    copy_all(copies.address)
    _, stage, _ = run_steps(w.address, 1, AT_PREDICT)
    return DONE if stage == NOWHERE or stage == AT_END else STOPPED


@entry("i8(i8)")
def try_rates(address):
    """`out` of the next step, which is done and undone. Returns DONE, OTHER_WAY, SINGULAR or STOPPED."""
    a = view(ATTEMPT, address)
    status = try_step(a)
    if status == OTHER_WAY:
        return status
    if status == DONE:
        status = step_rates(a.world, a.tangent, a.detect, a.collision)
    move_numbers(a.kept, True)
    return status


@entry("i8(i8)")
def try_pull(address):
    """The same of `pulled`, from `gradient`."""
    a = view(ATTEMPT, address)
    status = try_step(a)
    if status == OTHER_WAY:
        return status
    if status == DONE:
        status = step_pull(a.world, a.tangent, a.detect, a.collision)
    move_numbers(a.kept, True)
    return status
