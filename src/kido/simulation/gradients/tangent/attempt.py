"""A step that is done to be differentiated by formulas, and undone: all of it is one compiled call."""

from __future__ import annotations

from kido.jit import Struct, entry, integer, kernel, reference, view
from kido.jit.duals.structs import COPIES, copy_all
from kido.simulation.gradients.tangent.begin import leaves_to_formulas, take_start
from kido.simulation.gradients.tangent.kept import CONTACTS, KEPT, PAIRS, move_numbers
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
