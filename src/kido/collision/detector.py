"""KIDO's own collision detector: the owner of a COLLISION container and of its table of pair functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

from kido.attributes import FixedAttributes
from kido.collision import pairs
from kido.collision.colliders import Collider, alike, body_filter_arrays, shape_arrays
from kido.collision.compound import patch_sizes
from kido.collision.container import (
    COLLISION,
    COMPOUND,
    CONTACTS_FULL,
    COUNTS,
    FACE,
    HEIGHTMAP,
    PAIRS_FULL,
    PLANE,
    POSE_NOT_FINITE,
    SKIN_POINT,
    TYPE_NAMES,
)
from kido.collision.geometry import Geometry, geometry
from kido.collision.narrow import detect_contacts
from kido.collision.pairs import compound, convex, skin
from kido.collision.primitives import SPHERE
from kido.errors import ModelError, StateError
from kido.jit import prepare
from kido.jit.kept import COUNT, FINITE, FLAG, NOT_NEGATIVE, WHOLE, checked_array, checked_arrays, index, up_to
from kido.shapes import Heightmap, Plane, Shape

__all__ = ["DEFAULT_MARGIN", "NativeDetector"]


_PAIR_MODULES: list[Any] = [import_module(f"{pairs.__name__}.{found.name}") for found in iter_modules(pairs.__path__)]


# A function for two types is called by their names: `plane_sphere`.
SPECIAL = {
    (first, second): getattr(module, f"{a}_{b}")
    for first, a in enumerate(TYPE_NAMES)
    for second, b in enumerate(TYPE_NAMES)
    for module in _PAIR_MODULES
    if hasattr(module, f"{a}_{b}")
}


# Shapes that have no contacts with others of their kind (`pair_function`), and what messages call them.
UNTESTED: dict[type[Shape], str] = {Plane: "planes", Heightmap: "height maps"}


def pair_function(first: int, second: int):
    """The callback for two types in ascending order, or None for two planes or two height maps."""
    if second == PLANE or first == HEIGHTMAP:
        return None
    if second in (SKIN_POINT, FACE) or first == FACE:
        return skin.function_of(first, second)
    return SPECIAL.get((first, second), compound.convex_surface if second >= COMPOUND else convex.convex_convex)


def pair_functions(kinds: Iterable[tuple[int, int]], pieces: Iterable[int] = ()) -> dict[tuple[int, int], Any]:
    """The callbacks for the given pairs of types, where compounds have convex pieces of the given types."""
    wanted = {(min(p), max(p)) for p in kinds}
    for first, second in tuple(wanted):
        if second == COMPOUND:
            others = pieces if first == COMPOUND else (first,)
            wanted |= {(min(p, q), max(p, q)) for p in pieces for q in others}
    wanted |= {
        (min(SPHERE, k), max(SPHERE, k)) for k, second in tuple(wanted) if second == SKIN_POINT and k != SKIN_POINT
    }
    found = {pair: pair_function(*pair) for pair in sorted(wanted)}
    return {pair: function for pair, function in found.items() if function is not None}


def fill_table(table: np.ndarray, functions: dict[tuple[int, int], Any]) -> None:
    """Writes the addresses of callbacks, compiling what is new; the rest stay 0."""
    table[:] = 0
    for pair, function in functions.items():
        table[pair] = function.address


DEFAULT_MARGIN = 1e-3

# Fields that live from one detection to the next, by what counts them, and the values that they may have.
PAIR_FIELDS = {
    "pair_a": index("shapes"),
    "pair_b": index("shapes"),
    "pair_first": up_to("contacts"),
    "pair_count": up_to("contacts"),
    "pair_code": WHOLE,
    "pair_axis": FINITE,
}
OLD_PAIR_FIELDS = tuple(f"old_{name}" for name in PAIR_FIELDS)
CONTACT_FIELDS = {
    "shape_a": index("shapes"),
    "shape_b": index("shapes"),
    "body_a": index("bodies"),
    "body_b": index("bodies"),
    **dict.fromkeys(("point", "normal", "gap", "impulse"), FINITE),
    "matched": FLAG,
    "key": WHOLE,
    # Older recordings lack some of these.
    **dict.fromkeys(("friction", "restitution"), NOT_NEGATIVE.or_absent()),
    "swept": FLAG.or_absent(),
    **dict.fromkeys(("local_a", "local_b", "torque", "turning"), FINITE.or_absent()),
}
_SWEEP_AXIS = COUNTS.index("sweep_axis")
OLD_CONTACT_FIELDS = (
    "old_point",
    "old_turning",
    "old_normal",
    "old_gap",
    "old_impulse",
    "old_torque",
    "old_key",
    "old_local_a",
    "old_local_b",
)


class NativeDetector(FixedAttributes):
    """Finds the contacts between the shapes of a set of bodies.

    Kernels run `kido.collision.detect(address)`, Python `detector.detect()`; both leave the contacts in the
    arrays of `detector.container` (see `container.COLLISION` for all fields), the first
    ``container.num_contacts`` of each. The solver writes its impulses to ``container.impulse``; the next
    detection carries them over to the contacts that persist.

    The arrays have a capacity. If it does not suffice, `detect` returns a status and no contacts; `grow` then
    makes room and replaces `container`, and with it `address`.

    Args:
        shapes: (shape, body index, X_BS (4,4) or None, friction, restitution) per shape.
        body_rotation: (bodies, 9) rotations, row-major, body to world; shared, read at each detection.
        body_position: (bodies, 3) body origins in world axes [m]; shared.
        moving: (bodies,) false for bodies that never move; all move by default.
        collidable: (bodies,) false for bodies that collide with nothing.
        group: (bodies,) integers: bodies of one group >= 0 do not collide with each other; -1 by default.
        excluded: pairs of bodies that do not collide.
        margin: contacts with a gap below this are reported [m].
        body_velocity: (bodies, 6) [w; v] of body origins in world axes; shared; for shapes that are continuous.
        pairs, contacts: capacities to begin with.
        prepare: called with the callbacks that are about to be needed, before they are compiled one by one.
        like: a detector that may have the same shapes on the same bodies: what was made of them is copied.
    """

    def __init__(
        self,
        shapes: Iterable[Sequence[Any]],
        body_rotation: np.ndarray,
        body_position: np.ndarray,
        *,
        moving: Any = None,
        collidable: Any = None,
        group: Any = None,
        excluded: Iterable[tuple[int, int]] = (),
        margin: float = DEFAULT_MARGIN,
        body_velocity: np.ndarray | None = None,
        pairs: int | None = None,
        contacts: int | None = None,
        prepare: Callable[[list[Any]], None] = prepare,
        like: NativeDetector | None = None,
    ) -> None:
        self._callback = detect_contacts
        self.prepare = prepare
        self.colliders = [Collider(*item) for item in shapes]
        bodies = len(body_position)
        if like is not None and alike(self.colliders, like.colliders):
            self.geometries = like.geometries
            arrays = {name: getattr(like.container, name).copy() for name in like._shape_fields}
            arrays["shape_friction"][:] = [item.friction for item in self.colliders]
            arrays["shape_restitution"][:] = [item.restitution for item in self.colliders]
        else:
            known: dict[int, Geometry] = {}  # shapes that several bodies carry are looked at once
            for item in self.colliders:
                if id(item.shape) not in known:
                    known[id(item.shape)] = geometry(item.shape)
            self.geometries = [known[id(item.shape)] for item in self.colliders]
            arrays = shape_arrays(self.colliders, self.geometries, bodies)
        self._shape_fields = tuple(arrays)
        arrays |= body_filter_arrays(bodies, moving, collidable, group, excluded)
        n = len(self.colliders)
        arrays["body_rotation"] = body_rotation
        arrays["body_position"] = body_position
        arrays["body_velocity"] = np.zeros((bodies, 6)) if body_velocity is None else body_velocity
        arrays["order"] = np.arange(n)
        self.container = COLLISION(
            pairs=pairs if pairs is not None else 8 * n + 16,
            contacts=contacts if contacts is not None else 16 * n + 16,
            shapes=n,
            shapes_and_one=n + 1,
            **patch_sizes(bool((arrays["shape_type"] >= COMPOUND).any())),
            expand_points=128,
            expand_faces=512,
            **arrays,
        )
        self.margin = margin
        self._link()

    # -- what kernels need ----------------------------------------------------------------------------------

    @property
    def address(self) -> int:
        """Handle of the container; changes when `grow` or `set_filter` replaces it."""
        return self.container.address

    @property
    def margin(self) -> float:
        """Contacts with a gap below this are reported [m]."""
        return float(self.container.margin)

    @margin.setter
    def margin(self, value: float) -> None:
        if not (np.isfinite(value) and value >= 0.0):
            raise ModelError(f"contact margin is {value!r}; expected a finite number >= 0")
        self.container.margin = value

    def _link(self) -> None:
        """Fills the address table for the pairs of types that the filter lets meet."""
        c = self.container
        functions = pair_functions(self._meeting_types(), self.piece_types())
        self.prepare([self._callback, *functions.values()])
        fill_table(c.pair_function, functions)
        c.detect = self._callback

    def piece_types(self) -> set[int]:
        """Types of the convex pieces of compounds."""
        return {int(kind) for kind in self.container.piece_type}

    def _meeting_types(self) -> set[tuple[int, int]]:
        """Pairs of shape types of which the filter lets some meet."""
        c = self.container
        by_group: dict[int, tuple[set[int], set[int]]] = {}
        for s, body in enumerate(c.shape_body):  # c.shape_type has slots behind the shapes
            if c.body_collidable[body]:
                still, moving = by_group.setdefault(int(c.body_group[body]), (set(), set()))
                (moving if c.body_moving[body] else still).add(int(c.shape_type[s]))
        # Groups with the same types are alike: one stands for all, and meets itself if there are several.
        alike: dict[tuple[frozenset[int], frozenset[int]], int] = {}
        for group, (still, moving) in by_group.items():
            key = (frozenset(still), frozenset(moving))
            alike[key] = alike.get(key, 0) + (2 if group < 0 else 1)
        return {
            (a, b)
            for one, (_, moving) in enumerate(alike)
            for other, (still, also_moving) in enumerate(alike)
            if one != other or list(alike.values())[one] > 1
            for a in moving
            for b in still | also_moving
        }

    def set_sweep(self, time_step: float, back: float) -> None:
        """Lets continuous shapes be swept.

        Args:
            time_step: h [s], from one detection to the next.
            back: time from the start of the motion to a detection [s].
        """
        any_continuous = bool(self.container.shape_continuous.any())
        self.container.sweep_step = time_step if any_continuous else 0.0
        self.container.sweep_back = back
        self.container.interval = time_step

    # -- use from Python ------------------------------------------------------------------------------------

    def detect(self) -> int:
        """Finds the contacts at the bodies' present poses; grows the arrays if need be. Returns their number.

        Raises:
            StateError: a body's pose is not finite.
        """
        while True:
            status = self.container.detect(self.container)
            if status == 0:
                return self.container.num_contacts
            self.grow(status)

    def complete(self) -> None:
        """Nothing: contacts are complete when the compiled stage is done (another library's are not)."""

    def grow(self, status: int) -> None:
        """Makes room after a detection that returned `status`; impulses survive.

        Raises:
            StateError: the status is that of a pose that is not finite.
        """
        c = self.container
        if status & POSE_NOT_FINITE:
            bad = ~(np.isfinite(c.body_rotation).all(1) & np.isfinite(c.body_position).all(1))
            raise StateError(f"pose of body {int(np.argmax(bad))} is not finite; expected finite positions")
        sizes = {"pairs": len(c.pair_a), "contacts": len(c.gap)}
        if status & PAIRS_FULL:
            sizes["pairs"] = int(1.5 * c.pairs_found) + 16
        if status & CONTACTS_FULL:
            sizes["contacts"] = int(1.5 * c.contacts_found) + 16
        self._with_arrays(sizes, {})

    def set_filter(
        self,
        *,
        moving: Any = None,
        collidable: Any = None,
        group: Any = None,
        excluded: Iterable[tuple[int, int]] = (),
    ) -> None:
        """Replaces the filter (see the class); contacts and impulses of pairs that remain survive."""
        bodies = len(self.container.body_position)
        self._with_arrays({}, body_filter_arrays(bodies, moving, collidable, group, excluded))
        self._link()

    def _with_arrays(self, sizes: dict[str, int], arrays: dict[str, np.ndarray]) -> None:
        """A new container with other sizes or arrays; everything else is shared or copied."""
        old = self.container
        for name, field in COLLISION.fields.items():
            if name in arrays or not field.is_array:
                continue
            have = getattr(old, name)
            size = sizes.get(field.dims[0]) if isinstance(field.dims[0], str) else None
            if size is not None and size > len(have):
                grown = np.zeros((size, *have.shape[1:]), have.dtype)
                grown[: len(have)] = have
                arrays[name] = grown
        self.container = old.sharing(**arrays)

    # -- state ----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Copies of what the next detection needs besides poses: contacts, impulses, what pairs recall."""
        c = self.container
        pairs, contacts = c.num_pairs, c.num_contacts
        state = {"count": np.array([getattr(c, name) for name in COUNTS])}
        state |= {name: getattr(c, name)[:pairs].copy() for name in PAIR_FIELDS}
        state |= {name: getattr(c, name)[:contacts].copy() for name in CONTACT_FIELDS}
        return state

    def checked_state(self, state: Any, where: str) -> dict[str, np.ndarray]:
        """A state that came from outside, as `state` gives them.

        Raises:
            StateError: this detector cannot have been in it; says what is wrong.
        """
        found = self.checked_pairs(state, where)
        order = found["pair_a"] * len(self.colliders) + found["pair_b"]
        if (np.diff(order) <= 0).any():
            raise StateError(f"{where}: pair {int(np.argmax(np.diff(order) <= 0)) + 1} does not follow the one before")
        counts = state.get("count", np.zeros(len(COUNTS), np.int64))  # older recordings have none
        return {"count": checked_array(counts, "i", (len(COUNTS),), COUNT, f"{where}.count"), **found}

    def checked_pairs(self, pairs: Any, where: str) -> dict[str, np.ndarray]:
        """Pairs with their contacts that came from outside, of the shapes and bodies that there are.

        Raises:
            StateError: they cannot be.
        """
        c = self.container
        found = checked_arrays(c, {**CONTACT_FIELDS, **PAIR_FIELDS}, pairs, where, free=("pairs", "contacts"))
        contacts = len(found["gap"])
        for wrong, what in (
            (found["pair_first"] + found["pair_count"] > contacts, f"ends behind the {contacts} contacts"),
            (found["pair_a"] >= found["pair_b"], "is of shapes that do not ascend"),
        ):
            if wrong.any():
                raise StateError(f"{where}: pair {int(np.argmax(wrong))} {what}")
        for side in ("a", "b"):
            found[f"body_{side}"] = c.shape_body[found[f"shape_{side}"]]
        return found

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restores what `state` returned, of this detector or of one with the same shapes."""
        pairs, contacts = len(state["pair_a"]), len(state["gap"])
        c = self.container
        if pairs > len(c.pair_a) or contacts > len(c.gap):
            self._with_arrays({"pairs": max(pairs, len(c.pair_a)), "contacts": max(contacts, len(c.gap))}, {})
            c = self.container
        c.num_pairs, c.num_contacts = pairs, contacts
        if "count" in state:
            c.sweep_axis = int(state["count"][_SWEEP_AXIS])
        c.num_old_pairs = c.pending = c.contacts_found = c.pairs_found = c.num_patches = 0
        for name in PAIR_FIELDS if pairs else ():
            getattr(c, name)[:pairs] = state[name]
        for name in CONTACT_FIELDS if contacts else ():
            getattr(c, name)[:contacts] = state[name]

    def clear(self) -> None:
        """Forgets all contacts and impulses."""
        for name in COUNTS:
            setattr(self.container, name, 0)
