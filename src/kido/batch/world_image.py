"""What the next step of a world depends on as a row of numbers, so that few worlds can be stepped as many.

It is what `kido.simulation.world_state` takes out and puts back, without Python. Numbers of any kind are moved as they
are. First come those of which every state has as many, then what pairs and contacts recall.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.collision import CONTACTS_FULL, PAIRS_FULL
from kido.collision.detector import CONTACT_FIELDS, PAIR_FIELDS
from kido.jit import Struct, entry, floats, integer, integers, kernel, reference, view
from kido.simulation import World
from kido.simulation.commands import Commands
from kido.simulation.world_state import FORCES, IMPULSES, put_state
from kido.simulation.world_struct import REPORT, WORLD
from kido.skeleton.state.arrays import STATE_FIELDS

COUNTS = 5  # steps, unconverged, pairs, contacts, sweep axis
REPORTS = 2 * len(REPORT.fields)
FULL, FITS = 1, 0  # of `put_world`: the world has no room for so many pairs or contacts


class NUMBERS(Struct):
    """An array of a world, whatever its shape and whether of floats or of integers."""

    number = floats("numbers")


class IMAGE(Struct):
    world = reference(WORLD)
    whole = integers("arrays", doc="addresses of NUMBERS that are kept whole")
    pair = integers("pair_fields", 2, doc="addresses of NUMBERS with so many for each pair")
    contact = integers("contact_fields", 2, doc="addresses of NUMBERS with so many for each contact")
    of_pair = integer(doc="numbers of a pair")
    of_contact = integer(doc="numbers of a contact")
    always = integer(doc="numbers that every row has")


@kernel
def report_to(r, row, at):
    """A report into a row."""
    row[at], row[at + 1], row[at + 2] = r.penetration, r.residual, r.iterations
    row[at + 3], row[at + 4], row[at + 5] = r.status, r.num_contacts, r.dissipation
    row[at + 6], row[at + 7], row[at + 8] = r.fallbacks, r.bounces, r.correction_energy


@kernel
def report_from(r, row, at):
    """The same back."""
    r.penetration, r.residual, r.iterations = row[at], row[at + 1], row[at + 2]
    r.status, r.num_contacts, r.dissipation = row[at + 3], row[at + 4], row[at + 5]
    r.fallbacks, r.bounces, r.correction_energy = row[at + 6], row[at + 7], row[at + 8]


@kernel
def numbers_to(address, count, row, at):
    """The first numbers of an array into a row. Returns the place behind them."""
    number = view(NUMBERS, address).number
    for k in range(count):
        row[at + k] = number[k]
    return at + count


@kernel
def numbers_from(address, count, row, at):
    """The same back."""
    number = view(NUMBERS, address).number
    for k in range(count):
        number[k] = row[at + k]
    return at + count


@entry("i8(i8,f8[::1])")
def keep_world(address, row):
    """The state of a world into a row. Returns how long it has to be; pairs and contacts are left out if it is not."""
    m = view(IMAGE, address)
    w = m.world
    c = w.collision
    pairs, contacts = c.num_pairs, c.num_contacts
    row[0], row[1], row[2], row[3], row[4] = w.steps, w.unconverged, pairs, contacts, c.sweep_axis
    report_to(w.last, row, 5)
    report_to(w.worst, row, 14)
    at = 23
    for k in range(m.whole.shape[0]):
        at = numbers_to(m.whole[k], view(NUMBERS, m.whole[k]).number.shape[0], row, at)
    needed = m.always + pairs * m.of_pair + contacts * m.of_contact
    if needed <= row.shape[0]:
        for k in range(m.pair.shape[0]):
            at = numbers_to(m.pair[k, 0], pairs * m.pair[k, 1], row, at)
        for k in range(m.contact.shape[0]):
            at = numbers_to(m.contact[k, 0], contacts * m.contact[k, 1], row, at)
    return needed


@entry("i8(i8,f8[::1])")
def put_world(address, row):
    """The state in a row into a world. Returns FITS, or FULL: nothing was done, but `pairs_found` and so on say why."""
    m = view(IMAGE, address)
    w = m.world
    c = w.collision
    pairs, contacts = int(row[2]), int(row[3])
    if pairs > c.pair_a.shape[0] or contacts > c.gap.shape[0]:
        c.pairs_found, c.contacts_found = pairs, contacts
        return FULL
    w.steps, w.unconverged, c.sweep_axis = int(row[0]), int(row[1]), int(row[4])
    c.num_pairs, c.num_contacts = pairs, contacts
    c.num_old_pairs = c.pending = c.contacts_found = c.pairs_found = c.num_patches = 0
    report_from(w.last, row, 5)
    report_from(w.worst, row, 14)
    at = 23
    for k in range(m.whole.shape[0]):
        at = numbers_from(m.whole[k], view(NUMBERS, m.whole[k]).number.shape[0], row, at)
    for k in range(m.pair.shape[0]):
        at = numbers_from(m.pair[k, 0], pairs * m.pair[k, 1], row, at)
    for k in range(m.contact.shape[0]):
        at = numbers_from(m.contact[k, 0], contacts * m.contact[k, 1], row, at)
    return FITS


def numbers_of(array: np.ndarray) -> NUMBERS:
    """An array as a row of numbers, in the same memory."""
    return NUMBERS(number=array.reshape(-1).view(np.float64))


def why_plain(world: World) -> str:
    """Why states of a world are kept by Python and not as rows; "" if they are."""
    engine: Any = world.engine
    if not engine.is_compiled:
        return "steps need Python"
    kept = [f for f in engine.features if f.key and not isinstance(f, Commands) and f.state() is not None]
    return ", ".join(type(f).__name__ for f in kept)


class Image:
    """Where a world has what is kept of it.

    Args:
        world: whose engine may get other arrays; `place` looks again.

    Attributes:
        starts: where arrays that are kept whole begin in a row, by name.
        container: for `keep_world` and `put_world`.
    """

    def __init__(self, world: World):
        self.world = world
        self.place()

    def place(self) -> None:
        """Find the arrays of the world as they are now."""
        engine: Any = self.world.engine
        commands = engine.feature(Commands)
        whole = {
            **{name: getattr(engine.data, name) for name in STATE_FIELDS},
            **{name: getattr(engine.row_origins, name) for name in IMPULSES},
            **{name: getattr(engine.world, name) for name in FORCES},
            **{f"controllers.{name}": getattr(commands.own_struct, name) for name in commands.state() or ()},
        }
        c = engine.detector.container
        self._held = {name: numbers_of(array) for name, array in whole.items()}
        parts = {}
        for kind, fields in (("pair", PAIR_FIELDS), ("contact", CONTACT_FIELDS)):
            arrays = [getattr(c, name) for name in fields]
            self._held |= {f"{kind}.{k}": numbers_of(array) for k, array in enumerate(arrays)}
            parts[kind] = [
                (self._held[f"{kind}.{k}"].address, int(np.prod(array.shape[1:]))) for k, array in enumerate(arrays)
            ]
        self.starts: dict[str, int] = {}
        self.always = COUNTS + REPORTS
        for name, array in whole.items():
            self.starts[name] = self.always
            self.always += array.size
        sizes = {f"{kind}_fields": len(part) for kind, part in parts.items()}
        self.container = m = IMAGE(arrays=len(whole), **sizes)
        m.world = engine.world
        m.whole[:] = [self._held[name].address for name in whole]
        m.pair[:], m.contact[:] = parts["pair"], parts["contact"]
        m.of_pair, m.of_contact, m.always = int(m.pair[:, 1].sum()), int(m.contact[:, 1].sum()), self.always


class Store:
    """States of worlds of one structure between steps.

    Args:
        image: of one of them.
        starts: states that worlds begin with, as `World.state` gives them: one for all, or one for each.
        number: of worlds.

    Attributes:
        rows: (worlds, numbers); of every world what it `always` has.
        plain: by number of a world, states of those that a row has no room for or cannot hold.
    """

    def __init__(self, image: Image, starts: list[dict[str, Any]], number: int):
        self.image, self.number = image, number
        self.reason = why_plain(image.world)
        m, c = image.container, image.world.engine.detector.container
        width = image.always + m.of_pair * (32 + 2 * c.num_pairs) + m.of_contact * (16 + 2 * c.num_contacts)
        self.start_rows = np.zeros((len(starts), width))
        self.start_plain: dict[int, dict[str, Any]] = {}
        self.rows, self.plain = self.start_rows, self.start_plain
        for k, state in enumerate(starts):
            image.world.engine.world.steps = 0
            put_state(image.world, state)
            self.keep(image, k)
        self.rows, self.plain = np.empty((number, width)), {}
        self.reset(np.arange(number))

    def reset(self, worlds: np.ndarray) -> None:
        """Worlds are as they began."""
        of = worlds if len(self.start_rows) > 1 else np.zeros(len(worlds), np.int64)
        self.rows[worlds, : self.start_rows.shape[1]] = self.start_rows[of]
        if self.start_plain or self.plain:
            for k, start in zip(worlds.tolist(), of.tolist(), strict=True):
                self.plain.pop(k, None)
                if start in self.start_plain:
                    self.plain[k] = self.start_plain[start]

    def keep(self, image: Image, k: int) -> None:
        """The state of a world becomes that of world k."""
        needed = keep_world(image.container.address, self.rows[k])
        if self.reason or needed > self.rows.shape[1]:
            self.plain[k] = image.world.state()
        elif self.plain:
            self.plain.pop(k, None)

    def put(self, image: Image, k: int) -> None:
        """The state of world k into a world."""
        world, engine = image.world, image.world.engine
        row = self.rows[k]
        if k in self.plain:
            engine.world.steps = int(row[0])
            put_state(world, self.plain[k])
            for name in STATE_FIELDS:
                field = getattr(engine.data, name)
                field[:] = row[image.starts[name] : image.starts[name] + len(field)]
            image.place()
        elif put_world(image.container.address, row) == FULL:
            engine.grow_contacts(PAIRS_FULL | CONTACTS_FULL)
            image.place()
            put_world(image.container.address, row)

    def widen(self) -> None:
        """Have room for the states of most worlds, where rows were too short."""
        if self.plain and not self.reason:
            m = self.image.container
            most = max(
                len(s["warm"]["detector"]["pair_a"]) * m.of_pair + len(s["warm"]["detector"]["gap"]) * m.of_contact
                for s in self.plain.values()
            )
            wider = np.zeros((self.number, self.image.always + 3 * most // 2))
            if wider.shape[1] > self.rows.shape[1]:
                wider[:, : self.rows.shape[1]] = self.rows
                self.rows = wider

    def view(self, name: str, dofs: slice) -> np.ndarray:
        """(worlds, dofs) a field of all worlds, in the memory of the rows."""
        begin = self.image.starts[name]
        return self.rows[:, begin + dofs.start : begin + dofs.stop]
