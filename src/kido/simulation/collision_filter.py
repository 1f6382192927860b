"""Which pairs of bodies a world does not let collide, each with the set of reasons why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.attributes import FixedAttributes
from kido.errors import ModelError
from kido.math.transform import takes
from kido.simulation.owner import Owner
from kido.skeleton import BodyNode
from kido.turns import Turn, in_turn

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, ShapeNode, Skeleton
    from kido.skeleton.compiler import Links


def adjacent_links(skeleton: Skeleton, links: Links) -> Iterable[tuple[BodyNode, BodyNode]]:
    """Topmost bodies of the pairs of links that a joint connects.

    A link without collision shapes is looked through: chains of such links stand for one joint of several
    degrees of freedom, as URDF files have them.
    """
    solid = {int(links.of_body[b.index]) for b in skeleton.bodies if any(node.collision for node in b.shapes)}
    for body in links.top:
        parent = body.parent
        while parent is not None:
            link = int(links.of_body[parent.index])
            yield links.top[link], body
            parent = None if link in solid else links.top[link].parent


def filter_arrays(
    links: Mapping[Skeleton, Links],
    index: Callable[[BodyNode], int],
    moves: np.ndarray,
    excluded: Iterable[tuple[BodyNode, BodyNode]],
    lifted: Collection[frozenset[BodyNode]] = (),
) -> dict[str, Any]:
    """Arguments `moving`, `group`, `excluded` of the detector.

    Args:
        links: of each skeleton, in the forest's order.
        index: number of a body's link in the forest.
        moves: per link, whether a world moves it.
        excluded: pairs of bodies that a user excluded.
        lifted: pairs of bodies that collide though adjacent.
    """
    group = [np.full(len(k.top), -1 if s.self_collision else n) for n, (s, k) in enumerate(links.items())]
    free = {frozenset(map(index, pair)) for pair in lifted if all(b.skeleton in links for b in pair)}
    pairs = [
        (index(a), index(b))
        for s, k in links.items()
        if s.self_collision and not s.adjacent_body_collision
        for a, b in adjacent_links(s, k)
        if not free or frozenset((index(a), index(b))) not in free
    ]
    pairs += [(index(a), index(b)) for a, b in excluded if a.skeleton in links and b.skeleton in links]
    return {
        "moving": moves,
        "group": np.concatenate([np.zeros(0), *group]).astype(np.int64),
        "excluded": [(a, b) for a, b in pairs if a != b],
    }


def masks_meet(a: ShapeNode, b: ShapeNode) -> bool:
    """Whether the categories and masks of two shapes let them collide."""
    return bool(a.collision_category & b.collision_mask and b.collision_category & a.collision_mask)


def is_tested(filters: dict[str, Any], a: int, b: int) -> bool:
    """Whether `filter_arrays` lets two links collide."""
    if a == b or not (filters["moving"][a] or filters["moving"][b]):
        return False
    if filters["group"][a] >= 0 and filters["group"][a] == filters["group"][b]:
        return False
    return (a, b) not in filters["excluded"] and (b, a) not in filters["excluded"]


Pair = frozenset[BodyNode]
Allows = Callable[[BodyNode, BodyNode], Any]

BY_USER = "user"
ADJACENT = "adjacent"
RIGID = "same rigid group"
NO_SELF_COLLISION = "no self-collision"
NOT_COLLIDABLE = "not collidable"
IMMOBILE = "both immobile"
MASKED = "masked"
CALLBACK = "callback"
# Reasons that follow from the model, and what changes them.
_DERIVED = {
    RIGID: "the joints between the bodies",
    NO_SELF_COLLISION: "skeleton.self_collision",
    NOT_COLLIDABLE: "body.collidable and shape.collision",
    IMMOBILE: "skeleton.mobile",
    MASKED: "shape.collision_category and shape.collision_mask",
    CALLBACK: "collision_filter.callback",
}


class CollisionFilter(FixedAttributes):
    """The pairs of bodies of a world that do not collide: a pair is tested only if its set of reasons is empty.

    Reasons are texts. Users add and remove their own ("user" by default, or such as "grasp:left hand"), so that two
    parts of a program can switch the same pair off and on without knowing of each other. Others follow from the
    model: "adjacent" (joined by a joint, unless `adjacent_body_collision` is set; it can be removed for single
    pairs and added again), "same rigid group" (welded), "no self-collision", "not collidable", "both immobile",
    "masked" (categories and masks of all their shapes), "callback".

    `world.collision_filter` is the one of a world; clones have their own.
    """

    def __init__(self, world: Owner):
        self._world = world
        self._reasons: dict[Pair, set[str]] = {}  # given, in the order in which pairs came
        self.lifted: set[Pair] = set()  # pairs whose "adjacent" was removed
        self._parted: set[BodyNode] = set()  # bodies kept as links of their own because of a filter
        self._callback: Allows | None = None

    @property
    def turn(self) -> Turn:
        """Whose turn it is to change it: that of the world."""
        return self._world.turn

    @in_turn
    def add(self, body_a: BodyNode, body_b: BodyNode, reason: str = BY_USER) -> None:
        """Give a pair a reason not to collide; nothing changes if it has it already.

        Raises:
            ModelError: not two bodies of the world, or a reason that follows from the model.
        """
        pair = self._pair(body_a, body_b, reason)
        if reason == ADJACENT:
            if pair in self.lifted:
                self.lifted.discard(pair)
                self._changed()
                return
            if ADJACENT in self.reasons(body_a, body_b):
                return
        have = self._reasons.setdefault(pair, set())
        if reason not in have:
            have.add(reason)
            self._changed()

    @in_turn
    def remove(self, body_a: BodyNode, body_b: BodyNode, reason: str = BY_USER) -> None:
        """Take a reason off a pair; nothing changes if it has not got it. Without reasons the pair collides.

        Raises:
            ModelError: not two bodies of the world, or a reason that follows from the model.
        """
        pair = self._pair(body_a, body_b, reason)
        have = self._reasons.get(pair, set())
        if reason in have:
            have.discard(reason)
            if not have:
                del self._reasons[pair]
            self._changed()
        elif reason == ADJACENT and ADJACENT in self.reasons(body_a, body_b):
            self.lifted.add(pair)
            self._changed()

    @in_turn
    def remove_all(self, reason: str = BY_USER) -> None:
        """Take a reason that users give off all pairs."""
        kept = {pair: have - {reason} for pair, have in self._reasons.items()}
        kept = {pair: have for pair, have in kept.items() if have}
        if kept != self._reasons:
            self._reasons = kept
            self._changed()

    @in_turn
    def reasons(self, body_a: BodyNode, body_b: BodyNode) -> frozenset[str]:
        """Why two bodies do not collide; empty if they do."""
        pair = self._pair(body_a, body_b)
        found = set(self._reasons.get(pair, ()))
        engine = self._world.engine
        link_a, link_b = engine.link_index(body_a), engine.link_index(body_b)
        if link_a == link_b:
            found.add(RIGID)
        skeleton = body_a.skeleton
        if skeleton is body_b.skeleton and not skeleton.self_collision:
            found.add(NO_SELF_COLLISION)
        if skeleton is body_b.skeleton and pair not in self.lifted and self._are_adjacent(skeleton, link_a, link_b):
            found.add(ADJACENT)
        shapes = [[s for s in body.shapes if s.collision] for body in (body_a, body_b)]
        if not (body_a.collidable and body_b.collidable and all(shapes)):
            found.add(NOT_COLLIDABLE)
        elif not any(masks_meet(a, b) for a in shapes[0] for b in shapes[1]):
            found.add(MASKED)
        if not (engine.moves[link_a] or engine.moves[link_b]):
            found.add(IMMOBILE)
        if self._callback is not None and not self._callback(body_a, body_b):
            found.add(CALLBACK)
        return frozenset(found)

    def allows(self, body_a: BodyNode, body_b: BodyNode) -> bool:
        """Whether two bodies collide."""
        return not self.reasons(body_a, body_b)

    @property
    def pairs(self) -> tuple[tuple[BodyNode, BodyNode, frozenset[str]], ...]:
        """All pairs to which users gave reasons, with these."""
        return tuple((*_two(pair), frozenset(have)) for pair, have in self._reasons.items())

    @property
    def callback(self) -> Allows | None:
        """A user's function of two bodies, which says whether they collide; None without one.

        It is asked once for each pair of bodies with shapes that nothing else keeps from colliding, whenever the
        world is compiled: after changes of structure. A recording leaves it out.
        """
        return self._callback

    @callback.setter
    @in_turn
    def callback(self, value: Allows | None) -> None:
        if value is not None and not (callable(value) and takes(value, 2)):
            raise ModelError(f"{self._label()}: callback: expected a function of two bodies, got {value!r}")
        self._callback = value
        self._changed()

    # For the world -----------------------------------------------------------------------------------------

    def _label(self) -> str:
        return f"world {self._world.name!r}: collision filter"

    def _pair(self, body_a: Any, body_b: Any, reason: Any = BY_USER) -> Pair:
        for body in (body_a, body_b):
            if not isinstance(body, BodyNode):
                raise ModelError(f"{self._label()}: expected two bodies, got {body!r}")
            if body.skeleton is None or body.skeleton.host is not self._world:
                raise ModelError(f"{self._label()}: body {body.name!r} is not in this world")
        if not isinstance(reason, str) or not reason:
            raise ModelError(f"{self._label()}: reason: expected a text that is not empty, got {reason!r}")
        if reason in _DERIVED:
            raise ModelError(
                f"{self._label()}: reason {reason!r} follows from the model; to change it set {_DERIVED[reason]}"
            )
        return frozenset((body_a, body_b))

    def _are_adjacent(self, skeleton: Any, link_a: int, link_b: int) -> bool:
        if skeleton.adjacent_body_collision or link_a == link_b:
            return False
        engine = self._world.engine
        wanted = {link_a, link_b}
        return any(
            {engine.link_index(a), engine.link_index(b)} == wanted
            for a, b in adjacent_links(skeleton, engine.links[skeleton])
        )

    def _changed(self) -> None:
        """Bodies that a filter names are links of their own: it must not act on all that they are welded to."""
        wanted = {body for pair in [*self._reasons, *self.lifted] for body in pair}
        wanted |= {child for body in wanted for child in body.children}
        for body in wanted - self._parted:
            if not body.own_link:
                body.own_link = True
                self._parted.add(body)
                body.skeleton.structure_changed()
        for body in self._parted - wanted:
            body.own_link = False
            self._parted.discard(body)
            body.skeleton.structure_changed()
        self._world.structure_changed()

    def bodies_left(self, gone: Iterable[BodyNode]) -> None:
        """Drop bodies that left."""
        left = set(gone)
        self._reasons = {pair: have for pair, have in self._reasons.items() if not pair & left}
        self.lifted = {pair for pair in self.lifted if not pair & left}
        self._parted -= left

    def forbidden(self, bodies: list[BodyNode], tested: Callable[[BodyNode, BodyNode], bool]) -> list[Any]:
        """Pairs that users exclude, by reasons or by the callback, as tuples.

        Args:
            bodies: those with shapes that collide.
            tested: whether anything else keeps two bodies from colliding.
        """
        found = [_two(pair) for pair in self._reasons]
        if self._callback is not None:
            for k, a in enumerate(bodies):
                found += [(a, b) for b in bodies[k + 1 :] if tested(a, b) and not self._callback(a, b)]
        return found


def _two(pair: Pair) -> tuple[BodyNode, BodyNode]:
    first, *second = pair
    return first, second[0] if second else first
