"""What the next step of a world depends on as a row of numbers, so that few worlds can be stepped as many.

It is what `kido.simulation.world_state` takes out and puts back, without Python. Numbers of any kind are moved as they
are. First come those of which every state has as many, then what pairs and contacts recall.
"""

from __future__ import annotations

from collections.abc import Sequence
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
REPORT_NUMBERS = len(REPORT.fields)
FIRST = COUNTS + 2 * REPORT_NUMBERS  # the first number of what is kept whole
FITS, FULL = 0, 1  # of `put_world`: the world has no room for so many pairs or contacts


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


@kernel
def keep_world(m, rows, k):
    """The state of a world into row k. Returns how long it has to be; pairs and contacts are left out if it is not."""
    w = m.world
    c = w.collision
    row = rows[k]
    pairs, contacts = c.num_pairs, c.num_contacts
    row[0], row[1], row[2], row[3], row[4] = w.steps, w.unconverged, pairs, contacts, c.sweep_axis
    report_to(w.last, row, COUNTS)
    report_to(w.worst, row, COUNTS + REPORT_NUMBERS)
    at = FIRST
    for i in range(m.whole.shape[0]):
        at = numbers_to(m.whole[i], view(NUMBERS, m.whole[i]).number.shape[0], row, at)
    needed = m.always + pairs * m.of_pair + contacts * m.of_contact
    if needed <= row.shape[0]:
        for i in range(m.pair.shape[0]):
            at = numbers_to(m.pair[i, 0], pairs * m.pair[i, 1], row, at)
        for i in range(m.contact.shape[0]):
            at = numbers_to(m.contact[i, 0], contacts * m.contact[i, 1], row, at)
    return needed


@kernel
def put_world(m, rows, k):
    """The state in row k into a world. Returns FITS, or FULL: nothing was done, but `pairs_found` and so on say why."""
    w = m.world
    c = w.collision
    row = rows[k]
    pairs, contacts = int(row[2]), int(row[3])
    if pairs > c.pair_a.shape[0] or contacts > c.gap.shape[0]:
        c.pairs_found, c.contacts_found = pairs, contacts
        return FULL
    w.steps, w.unconverged, c.sweep_axis = int(row[0]), int(row[1]), int(row[4])
    c.num_pairs, c.num_contacts = pairs, contacts
    c.num_old_pairs = c.pending = c.contacts_found = c.pairs_found = c.num_patches = 0
    report_from(w.last, row, COUNTS)
    report_from(w.worst, row, COUNTS + REPORT_NUMBERS)
    at = FIRST
    for i in range(m.whole.shape[0]):
        at = numbers_from(m.whole[i], view(NUMBERS, m.whole[i]).number.shape[0], row, at)
    for i in range(m.pair.shape[0]):
        at = numbers_from(m.pair[i, 0], pairs * m.pair[i, 1], row, at)
    for i in range(m.contact.shape[0]):
        at = numbers_from(m.contact[i, 0], contacts * m.contact[i, 1], row, at)
    return FITS


@kernel
def is_finite(d):
    """Whether positions and velocities are."""
    total = 0.0
    for k in range(d.q.shape[0]):
        total += 0.0 * d.q[k] + 0.0 * d.u[k]
    return total == 0.0


@entry("i8(i8[::1],f8[:,::1],i8[::1],i8[::1])")
def keep_worlds(images, rows, which, status):
    """`keep_world` of each image into the row of its number.

    Args:
        status: is what it returns, or -1: the state is not finite.

    Returns:
        How many are not finite or do not fit.
    """
    wrong = 0
    for j in range(which.shape[0]):
        m = view(IMAGE, images[j])
        status[j] = keep_world(m, rows, which[j]) if is_finite(m.world.data) else -1
        if status[j] < 0 or status[j] > rows.shape[1]:
            wrong += 1
    return wrong


@entry("i8(i8[::1],f8[:,::1],i8[::1],i8[::1])")
def put_worlds(images, rows, which, status):
    """`put_world` of the row of its number into each image; `status` is what it returns. Returns how many are FULL."""
    full = 0
    for j in range(which.shape[0]):
        status[j] = put_world(view(IMAGE, images[j]), rows, which[j])
        full += status[j]
    return full


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
        self.always = FIRST
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
            image.place()
            self.keep([image], np.array([image.container.address]), np.array([k]))
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

    def keep(self, images: Sequence[Image], addresses: np.ndarray, which: np.ndarray) -> list[int]:
        """States of worlds become those of the worlds of these numbers, but where they are not finite.

        Args:
            images: of worlds.
            addresses: of their containers.
            which: numbers.

        Returns:
            Places in `which` of those that are not finite.
        """
        status = np.empty(len(which), np.int64)
        if keep_worlds(addresses, self.rows, which, status) or self.reason or self.plain:
            for image, k, needed in zip(images, which.tolist(), status.tolist(), strict=False):
                self.plain.pop(k, None)
                if needed >= 0 and (self.reason or needed > self.rows.shape[1]):
                    self.plain[k] = image.world.state()
            return np.flatnonzero(status < 0).tolist()
        return []

    def put(self, images: Sequence[Image], addresses: np.ndarray, which: np.ndarray) -> bool:
        """States of the worlds of these numbers into worlds. Returns whether these have other arrays now."""
        status = np.empty(len(which), np.int64)
        if not put_worlds(addresses, self.rows, which, status) and not self.plain:
            return False
        for j, (image, k) in enumerate(zip(images, which.tolist(), strict=False)):
            engine = image.world.engine
            if k in self.plain:
                engine.world.steps = int(self.rows[k, 0])
                put_state(image.world, self.plain[k])
                for name in STATE_FIELDS:
                    field = getattr(engine.data, name)
                    field[:] = self.rows[k, image.starts[name] : image.starts[name] + len(field)]
                image.place()
            elif status[j] == FULL:
                engine.grow_contacts(PAIRS_FULL | CONTACTS_FULL)
                image.place()
                put_worlds(np.array([image.container.address]), self.rows, which[j : j + 1], status[j : j + 1])
        return True

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
