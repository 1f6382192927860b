"""KIDO's own collision detector: the owner of a COLLISION container."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kido.collision.compound import Compound, compound_arrays, map_arrays, patch_sizes
from kido.collision.container import (
    COLLISION,
    COMPOUND,
    CONTACTS,
    CONTACTS_FOUND,
    CONTACTS_FULL,
    FACE,
    NOT_FINITE,
    PAIRS,
    PAIRS_FOUND,
    PAIRS_FULL,
    PENDING,
    SLOTS,
    SWEEP_BACK,
    SWEEP_STEP,
)
from kido.collision.geometry import Geometry, SkinFace, SkinPoint, geometry, hull_arrays, inner_and_outer
from kido.collision.narrow import detect_stage
from kido.collision.table import fill_table, pair_functions
from kido.errors import ModelError, StateError
from kido.jit import Container, call4, entry, prepare
from kido.shapes import Heightmap, Hull, Shape

DEFAULT_MARGIN = 1e-3

# Fields that live from one detection to the next, by what counts them.
PAIR_FIELDS = ("pair_a", "pair_b", "pair_first", "pair_count", "pair_code", "pair_axis")
OLD_PAIR_FIELDS = tuple(f"old_{name}" for name in PAIR_FIELDS)
CONTACT_FIELDS = (
    *("shape_a", "shape_b", "body_a", "body_b", "point", "normal", "gap", "impulse", "matched"),
    *("key", "friction", "restitution", "swept", "local_a", "local_b", "torque"),
)
OLD_CONTACT_FIELDS = ("old_normal", "old_gap", "old_impulse", "old_torque", "old_key", "old_local_a", "old_local_b")


class Collider(NamedTuple):
    """A shape on a body, as the detector takes it.

    Attributes:
        shape: geometry.
        body: index of the body that carries it.
        transform: pose (4,4) of the shape in the body's axes, X_BS [m].
        friction: Coulomb coefficient.
        restitution: coefficient of restitution.
        category: bits that say what the shape is.
        mask: bits of the categories that it collides with.
        continuous: swept along its motion where that is large.
    """

    shape: Shape | SkinPoint | SkinFace
    body: int
    transform: Any = None
    friction: float = 1.0
    restitution: float = 0.0
    category: int = -1
    mask: int = -1
    continuous: bool = False


@entry("int64(int64, int64)")
def call_stage(function, address):
    """Calls the detection callback from Python."""
    return call4(function, address, 0, 0, 0)


class NativeDetector:
    """Finds the contacts between the shapes of a set of bodies.

    Kernels run `kido.collision.detect(address)`, Python `detector.detect()`; both leave the contacts in the
    arrays of `detector.container` (see `container.COLLISION` for all fields), the first
    ``container.count[CONTACTS]`` of each. The solver writes its impulses to ``container.impulse``; the next
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
        self._callback = detect_stage
        self._prepare = prepare
        self.colliders = [Collider(*item) for item in shapes]
        bodies = len(body_position)
        if like is not None and _alike(self.colliders, like.colliders):
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
            arrays = _shape_arrays(self.colliders, self.geometries, bodies)
        self._shape_fields = tuple(arrays)
        arrays |= _filter_arrays(bodies, moving, collidable, group, excluded)
        n = len(self.colliders)
        arrays["body_rotation"] = body_rotation
        arrays["body_position"] = body_position
        arrays["body_velocity"] = np.zeros((bodies, 6)) if body_velocity is None else body_velocity
        arrays["order"] = np.arange(n)
        self.container = Container(
            COLLISION,
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
        return float(self.container.margin[0])

    @margin.setter
    def margin(self, value: float) -> None:
        if not (np.isfinite(value) and value >= 0.0):
            raise ModelError(f"contact margin is {value!r}; expected a finite number >= 0")
        self.container.margin[0] = value

    def _link(self) -> None:
        """Fills the address table for the pairs of types that the filter lets meet."""
        c = self.container
        functions = pair_functions(self._meeting_types(), self.piece_types())
        self._prepare([self._callback, *functions.values()])
        fill_table(c.pair_function, functions)
        c.stage[0] = self._callback.address

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
        self.container.sweep[SWEEP_STEP] = time_step if any_continuous else 0.0
        self.container.sweep[SWEEP_BACK] = back

    # -- use from Python ------------------------------------------------------------------------------------

    def detect(self) -> int:
        """Finds the contacts at the bodies' present poses; grows the arrays if need be. Returns their number.

        Raises:
            StateError: a body's pose is not finite.
        """
        while True:
            status = call_stage(self.container.stage[0], self.address)
            if status == 0:
                return int(self.container.count[CONTACTS])
            self.grow(status)

    def complete(self) -> None:
        """Nothing: contacts are complete when the compiled stage is done (another library's are not)."""

    def grow(self, status: int) -> None:
        """Makes room after a detection that returned `status`; impulses survive.

        Raises:
            StateError: the status is that of a pose that is not finite.
        """
        c = self.container
        if status & NOT_FINITE:
            bad = ~(np.isfinite(c.body_rotation).all(1) & np.isfinite(c.body_position).all(1))
            raise StateError(f"pose of body {int(np.argmax(bad))} is not finite; expected finite positions")
        sizes = {"pairs": len(c.pair_a), "contacts": len(c.gap)}
        if status & PAIRS_FULL:
            sizes["pairs"] = int(1.5 * c.count[PAIRS_FOUND]) + 16
        if status & CONTACTS_FULL:
            sizes["contacts"] = int(1.5 * c.count[CONTACTS_FOUND]) + 16
        self._replace(sizes, {})

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
        self._replace({}, _filter_arrays(bodies, moving, collidable, group, excluded))
        self._link()

    def _replace(self, sizes: dict[str, int], arrays: dict[str, np.ndarray]) -> None:
        """A new container with other sizes or arrays; everything else is shared or copied."""
        old = self.container
        for name, field in COLLISION.fields.items():
            have = getattr(old, name)
            if name in arrays:
                continue
            size = sizes.get(field.dims[0]) if isinstance(field.dims[0], str) else None
            if size is not None and size > len(have):
                grown = np.zeros((size, *have.shape[1:]), have.dtype)
                grown[: len(have)] = have
                arrays[name] = grown
            else:
                arrays[name] = have
        self.container = Container(COLLISION, **arrays)

    # -- state ----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Copies of what the next detection needs besides poses: contacts, impulses, what pairs recall."""
        c = self.container
        pairs, contacts = int(c.count[PAIRS]), int(c.count[CONTACTS])
        state = {"count": c.count.copy()}
        state |= {name: getattr(c, name)[:pairs].copy() for name in PAIR_FIELDS}
        state |= {name: getattr(c, name)[:contacts].copy() for name in CONTACT_FIELDS}
        return state

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Restores what `state` returned, of this detector or of one with the same shapes."""
        pairs, contacts = len(state["pair_a"]), len(state["gap"])
        c = self.container
        sizes = {"pairs": max(pairs, len(c.pair_a)), "contacts": max(contacts, len(c.gap))}
        if sizes != {"pairs": len(c.pair_a), "contacts": len(c.gap)}:
            self._replace(sizes, {})
            c = self.container
        c.count[:] = state["count"]
        c.count[PENDING] = 0
        for name in PAIR_FIELDS:
            getattr(c, name)[:pairs] = state[name]
        for name in CONTACT_FIELDS:
            getattr(c, name)[:contacts] = state.get(name, 0)  # older recordings lack some

    def clear(self) -> None:
        """Forgets all contacts and impulses."""
        self.container.count[:] = 0


def _alike(some: list[Collider], others: list[Collider]) -> bool:
    """Whether the same shapes are on the same bodies."""
    return (
        len(some) == len(others)
        and all(
            a.shape is b.shape
            and a.body == b.body
            and np.array_equal(a.transform, b.transform)  # type: ignore[arg-type]
            and a[5:] == b[5:]
            for a, b in zip(some, others, strict=True)
        )
    )


def _shape_arrays(colliders: list[Collider], geometries: list[Geometry], bodies: int) -> dict[str, np.ndarray]:
    n = len(colliders)
    a: dict[str, np.ndarray] = {
        "shape_type": np.zeros(n + SLOTS, np.int64),
        "shape_body": np.zeros(n, np.int64),
        "shape_size": np.zeros((n + SLOTS, 3)),
        "shape_hull": np.full(n + SLOTS, -1, np.int64),
        "shape_compound": np.full(n, -1, np.int64),
        "shape_reach": np.zeros(n + SLOTS),
        "rotation": np.zeros((n + SLOTS, 9)),
        "position": np.zeros((n + SLOTS, 3)),
        "aabb": np.zeros((n + SLOTS, 6)),
        "shape_category": np.full(n, -1, np.int64),
        "shape_mask": np.full(n, -1, np.int64),
        "shape_continuous": np.zeros(n, np.int64),
        "shape_inner": np.zeros(n),
        "shape_outer": np.zeros(n),
        "shape_friction": np.zeros(n),
        "shape_restitution": np.zeros(n),
        "local_rotation": np.zeros((n, 9)),
        "local_position": np.zeros((n, 3)),
    }
    kept = _Kept()
    faces = 0
    for s, item in enumerate(colliders):
        if not 0 <= item.body < bodies:
            raise ModelError(f"shape {s} is on body {item.body}; expected 0 to {bodies - 1}")
        for name, value in (("friction", item.friction), ("restitution", item.restitution)):
            if not (np.isfinite(value) and value >= 0.0):
                raise ModelError(f"shape {s}: {name} is {value!r}; expected a finite number >= 0")
        shape = geometries[s]
        transform = np.eye(4) if item.transform is None else np.asarray(item.transform, dtype=float)
        if transform.shape != (4, 4) or not np.isfinite(transform).all():
            raise ModelError(f"shape {s}: transform has shape {transform.shape}; expected finite (4, 4)")
        transform = transform @ shape.transform
        a["shape_type"][s] = shape.kind
        a["shape_body"][s] = item.body
        a["shape_size"][s] = shape.size
        a["shape_reach"][s] = shape.reach
        a["shape_category"][s] = item.category
        a["shape_mask"][s] = item.mask
        a["shape_continuous"][s] = item.continuous
        a["shape_inner"][s], a["shape_outer"][s] = inner_and_outer(item.shape, shape)
        a["shape_friction"][s] = item.friction
        a["shape_restitution"][s] = item.restitution
        a["local_rotation"][s] = transform[:3, :3].ravel()
        a["local_position"][s] = transform[:3, 3]
        if shape.kind == FACE:
            a["shape_hull"][s] = faces
            faces += 1
        if shape.hull is not None:
            a["shape_hull"][s] = kept.hull(shape.hull, shape.balls)
        if shape.compound is not None:
            a["shape_compound"][s] = kept.compound(shape.compound)
        if shape.heightmap is not None:
            a["shape_compound"][s] = kept.heightmap(shape.heightmap)
    return a | {"skin_triangle": np.zeros((faces, 9))} | kept.arrays()


class _Kept:
    """Hulls, compounds and height maps of a set of shapes, each kept once however many shapes share it."""

    def __init__(self) -> None:
        self._hulls: list[Hull] = []
        self._balls: dict[int, np.ndarray] = {}
        self._compounds: list[Compound] = []
        self._maps: list[tuple[Heightmap, float]] = []
        self._index: dict[int, int] = {}

    def _place(self, item: Any, among: list[Any]) -> int:
        if id(item) not in self._index:
            self._index[id(item)] = len(among)
            among.append(item)
        return self._index[id(item)]

    def hull(self, hull: Hull, balls: np.ndarray | None = None) -> int:
        """Index of a hull."""
        index = self._place(hull, self._hulls)
        if balls is not None:
            self._balls[index] = balls
        return index

    def compound(self, compound: Compound) -> int:
        """Index of a compound."""
        return self._place(compound, self._compounds)

    def heightmap(self, heightmap: tuple[Heightmap, float]) -> int:
        """Index of a height map."""
        return self._place(heightmap, self._maps)

    def arrays(self) -> dict[str, np.ndarray]:
        """The fields of COLLISION that hold them."""
        compounds = self._compounds
        pieces = [piece for compound in compounds for piece in compound.pieces]
        hull_of_piece = [-1 if piece.hull is None else self.hull(piece.hull) for piece in pieces]
        surfaces = [compound.surface for compound in compounds if compound.surface is not None]
        arrays, starts = hull_arrays(self._hulls, self._balls, surfaces)
        start = iter(starts)
        first_vertex = [0 if compound.surface is None else next(start) for compound in compounds]
        return arrays | compound_arrays(compounds, hull_of_piece, first_vertex) | map_arrays(self._maps)


def _filter_arrays(
    bodies: int, moving: Any, collidable: Any, group: Any, excluded: Iterable[tuple[int, int]]
) -> dict[str, np.ndarray]:
    def per_body(name: str, value: Any, default: int) -> np.ndarray:
        if value is None:
            return np.full(bodies, default, np.int64)
        array = np.array(value, dtype=np.int64)
        if array.shape != (bodies,):
            raise ModelError(f"collision filter: {name} has shape {array.shape}; expected ({bodies},)")
        return array

    others: list[set[int]] = [set() for _ in range(bodies)]
    for a, b in excluded:
        if not (0 <= a < bodies and 0 <= b < bodies):
            raise ModelError(f"collision filter: excluded pair ({a}, {b}); expected bodies 0 to {bodies - 1}")
        others[a].add(b)
        others[b].add(a)
    lists = [sorted(o) for o in others]
    first = np.zeros(bodies + 1, np.int64)
    first[1:] = np.cumsum([len(o) for o in lists])
    return {
        "body_moving": per_body("moving", moving, 1),
        "body_collidable": per_body("collidable", collidable, 1),
        "body_group": per_body("group", group, -1),
        "excluded_first": first,
        "excluded": np.array([b for o in lists for b in o], dtype=np.int64),
    }


__all__ = ["DEFAULT_MARGIN", "Collider", "NativeDetector"]
