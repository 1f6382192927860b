"""Detectors, and groups of shapes to be asked: whether and where they touch, how far apart they are, what rays meet."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes, dataclass
from kido.collision.colliders import Collider
from kido.collision.detector import NativeDetector
from kido.collision.external import ExternalDetector, NarrowPhase
from kido.collision.options import (
    CollisionOption,
    CollisionResult,
    DistanceOption,
    DistanceResult,
    DistanceTable,
    RaycastOption,
    RaycastResult,
)
from kido.collision.scene import Scene
from kido.errors import ModelError
from kido.math.transform import as_transform
from kido.shapes import Shape
from kido.skeleton import BodyNode, ShapeNode, Skeleton
from kido.skeleton.frames.frame import Frame
from kido.turns import Turn, in_turn

Option = TypeVar("Option", CollisionOption, DistanceOption, RaycastOption)


@dataclass(frozen=True, eq=False)
class Placed:
    """A shape of one's own at a place: on a frame, or in the world.

    Attributes:
        shape: geometry.
        frame: what it moves with; None: the world.
        transform: pose (4, 4) in the frame [m].
    """

    shape: Shape
    frame: Frame | None = None
    transform: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise ModelError(f"Placed: shape: expected a kido shape, got {type(self.shape).__name__}")
        if not (self.frame is None or isinstance(self.frame, Frame)):
            raise ModelError(f"Placed: frame: expected a frame or None, got {type(self.frame).__name__}")
        object.__setattr__(self, "transform", as_transform(self.transform, "Placed: transform"))

    def __repr__(self) -> str:
        return f"Placed({self.shape!r}, {self.frame!r})"


class CollisionDetector(FixedAttributes, ABC):
    """Finds contacts, distances and ray hits; one object per library, with its parameters.

    A world finds its contacts by the one set as `world.collision_detector`; groups of shapes made by `create_group`
    are asked without a world. KIDO's own is compiled and is the default. Others are for comparison, and for those
    who rely on a library's behaviour: each step goes through Python, pair by pair.

    A detector of one's own is a class with a `name` and a `narrow_phase` that returns a class of
    `kido.collision.NarrowPhase`: poses in, contacts of pairs and distances out.
    """

    name: ClassVar[str]

    def create_group(self, *items: Any) -> CollisionGroup:
        """A group of skeletons, bodies, shape nodes, shapes or `Placed` shapes, to be asked."""
        return CollisionGroup(self, items)

    @abstractmethod
    def narrow_phase(self) -> type[NarrowPhase] | None:
        """The class of the library's narrow phase; None: KIDO's own kernels."""

    def world_detector(self, shapes: Iterable[Any], *args: Any, **settings: Any) -> NativeDetector:
        """The detector of a world's shapes."""
        narrow = self.narrow_phase()
        if narrow is None:
            return NativeDetector(shapes, *args, **settings)
        return ExternalDetector(narrow, shapes, *args, **settings)


class CollisionGroup(FixedAttributes):
    """Shapes that are asked together, at the poses that they have at the moment of asking.

    Made by `CollisionDetector.create_group`. A skeleton or body stands for all its collision shapes at the time of
    asking. Shapes of one body are never tested against each other; no other filter is applied but categories and
    masks of shapes and the option's, so that adjacent bodies may well overlap (`World.collision_group` has the
    world's filters).

    Threads that ask one group wait for each other.

    Args:
        detector: finds the answers.
        items: skeletons, bodies, shape nodes, `Placed` shapes, or shapes, which are at the world's origin.
    """

    def __init__(self, detector: CollisionDetector, items: Iterable[Any] = ()):
        self._turn = Turn()
        self._detector = detector
        self._items: list[Any] = []
        self._scenes: dict[int, tuple[Any, CollisionGroup | None, Scene, list[Any]]] = {}
        for item in items:
            self.add(item)

    @property
    def turn(self) -> Turn:
        """Whose turn it is to ask."""
        return self._turn

    @property
    def detector(self) -> CollisionDetector:
        """What finds the answers."""
        return self._detector

    @property
    def items(self) -> tuple[Any, ...]:
        """What it was made of, in order."""
        return tuple(self._items)

    @property
    def objects(self) -> tuple[Any, ...]:
        """The shapes it has now, as results name them: shape nodes, and shapes as they were given."""
        return tuple(m.thing for m in self._members())

    @in_turn
    def add(self, item: Any) -> None:
        """Add a skeleton, body, shape node, shape or `Placed`.

        Raises:
            ModelError: it is none of these.
        """
        if not isinstance(item, Placed | Skeleton | BodyNode | ShapeNode | Shape):
            raise ModelError(
                f"collision group: expected a skeleton, body, shape node, shape or Placed, got {type(item).__name__}"
            )
        self._items.append(item)

    @in_turn
    def remove(self, item: Any) -> None:
        """Take out what was added.

        Raises:
            ModelError: it is not there.
        """
        for k, have in enumerate(self._items):
            if have is item:
                del self._items[k]
                return
        raise ModelError(f"collision group: {item!r} is not in it")

    # Questions ---------------------------------------------------------------------------------------------

    @in_turn
    def collide(self, other: CollisionGroup | None = None, option: CollisionOption | None = None) -> CollisionResult:
        """Contacts between the shapes of this group, or between this group and another."""
        return self._scene(other).collide(_option(option, CollisionOption))

    @in_turn
    def distance(self, other: CollisionGroup | None = None, option: DistanceOption | None = None) -> DistanceResult:
        """The nearest two shapes of this group, or the nearest of this group and of another.

        Distances are signed: where shapes penetrate, the deepest pair is the nearest.
        """
        return self._scene(other).distance(_option(option, DistanceOption))

    @in_turn
    def distances(self, other: CollisionGroup | None = None, option: DistanceOption | None = None) -> DistanceTable:
        """Distances of all pairs of shapes that are not farther apart than the option's limit."""
        return self._scene(other).distances(_option(option, DistanceOption))

    @in_turn
    def raycast(self, start: ArrayLike, end: ArrayLike, option: RaycastOption | None = None) -> RaycastResult:
        """What rays hit.

        Args:
            start, end: (3,) or (n, 3) points in the world [m]; one start may serve many ends.

        Raises:
            ModelError: no finite points, or a ray of no length.
        """
        starts, ends = _points(start, "raycast: start"), _points(end, "raycast: end")
        if len(starts) != len(ends) and len(starts) != 1 and len(ends) != 1:
            raise ModelError(f"raycast: {len(starts)} starts and {len(ends)} ends; expected as many, or one of either")
        starts, ends = (np.array(x, order="C") for x in np.broadcast_arrays(starts, ends))
        if len(starts) and not (starts != ends).any(axis=1).all():
            raise ModelError(f"raycast: ray {int(np.argmin((starts != ends).any(axis=1)))} starts where it ends")
        return self._scene(None).raycast(starts, ends, _option(option, RaycastOption))

    @in_turn
    def signed_distance(
        self, points: ArrayLike, option: RaycastOption | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], list[Any]]:
        """Signed distance of points from the nearest surface, negative inside; by KIDO's own kernels.

        Meshes that collide as triangles and height maps are surfaces: of points inside of them nothing is said.

        Args:
            points: (n, 3) in the world [m].
            option: its filter leaves objects out.

        Returns:
            distances (n,) [m], outward normals (n, 3) at the nearest surface points, and the objects they are on;
            inf, NaN and None where the group has no shapes.
        """
        given = _points(points, "signed_distance: points")
        scene = self._scene(None)
        chosen = _option(option, RaycastOption).filter
        wanted = np.array([chosen is None or bool(chosen(thing)) for thing in scene.objects], dtype=np.int64)
        return scene.signed_distances(np.array(given), wanted)

    # What answers ------------------------------------------------------------------------------------------

    def _members(self) -> list[Member]:
        found: list[Member] = []
        for item in self._items:
            if isinstance(item, Placed):
                found.append(Member(item, item.shape, item.frame, item.transform))
            elif isinstance(item, Shape):
                found.append(Member(item, item, None, np.eye(4)))
            elif isinstance(item, ShapeNode):
                found.append(Member.of_node(item))
            else:
                bodies = item.bodies if isinstance(item, Skeleton) else [item]
                found += [Member.of_node(n) for b in bodies if b.collidable for n in b.shapes if n.collision]
        return found

    def _stamp(self) -> Any:
        """What the filters were taken from; where it is another, they are taken anew."""
        return None

    def _filters(self, members: Sequence[Member], slots: dict[int, int]) -> dict[str, Any]:
        """Filter over slots (a carrier's id -> its slot)."""
        return {}

    def _scene(self, other: CollisionGroup | None) -> Scene:
        """The scene of this group, or of both, with present poses."""
        if other is not None and not isinstance(other, CollisionGroup):
            raise ModelError(f"collision group: expected another group, got {type(other).__name__}")
        mine = self._members()
        members = [*mine, *(other._members() if other is not None else ())]
        mark = (self._stamp(), *(m.mark() for m in members))
        held = self._scenes.get(id(other))
        if held is None or held[0] != (len(mine), mark) or held[1] is not other:
            slots: dict[int, int] = {}
            for m in members:
                slots.setdefault(m.slot(), len(slots))
            colliders = [m.collider(slots[m.slot()]) for m in members]
            sides = None if other is None else [0] * len(mine) + [1] * (len(members) - len(mine))
            objects = [m.thing for m in members]
            narrow = self._detector.narrow_phase()
            scene = Scene(colliders, objects, len(slots), narrow, self._filters(members, slots), sides)
            if len(self._scenes) > 8:  # of groups that were asked about once
                self._scenes.clear()
            held = self._scenes[id(other)] = ((len(mine), mark), other, scene, members)
        scene = held[2]
        scene.place(_slot_poses(members, scene.slots))
        return scene

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scenes": {}}

    def __deepcopy__(self, memo: dict[int, Any]) -> CollisionGroup:
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        twin.__dict__.update(copy.deepcopy(self.__getstate__(), memo))
        return twin

    def __len__(self) -> int:
        return len(self._members())

    def __repr__(self) -> str:
        return f"CollisionGroup({len(self._members())} shapes, {type(self._detector).__name__})"


class Member(NamedTuple):
    """A shape of a group and what carries it."""

    thing: Any
    shape: Shape
    carrier: Any  # BodyNode, Frame, or None for the world
    transform: Any
    category: int = -1
    mask: int = -1
    padding: float = 0.0

    @classmethod
    def of_node(cls, node: ShapeNode) -> Member:
        """The shape of a node, as it is now."""
        bits = node.collision_category, node.collision_mask
        shape = node.shape
        for child in node.body.children:
            if child.parent_joint.has_modes:
                shape = child.parent_joint.shape_now(node)
        return cls(node, shape, node.body, node.relative_transform, *bits, node.padding)

    def slot(self) -> int:
        """What tells carriers apart: shapes on one body are not tested, placed ones in the world are."""
        return id(self.carrier) if isinstance(self.carrier, BodyNode) else id(self.thing)

    def mark(self) -> tuple[Any, ...]:
        """Changes with anything but the carrier's pose."""
        return *(id(x) for x in self[:3]), *self[4:], self.transform.tobytes()

    def collider(self, slot: int) -> Collider:
        """As detectors take it."""
        return Collider(self.shape, slot, self.transform, category=self.category, mask=self.mask, padding=self.padding)


def _slot_poses(members: Sequence[Member], slots: int) -> np.ndarray:
    """Poses (slots, 4, 4) of what carries the shapes, those of one skeleton evaluated in one call."""
    poses = np.empty((slots, 4, 4))
    of_skeleton: dict[int, np.ndarray] = {}
    number: dict[int, int] = {}
    for m in members:
        key = m.slot()
        if key in number:
            continue
        k = number[key] = len(number)
        if m.carrier is None:
            poses[k] = np.eye(4)
        elif isinstance(m.carrier, BodyNode):
            skeleton = m.carrier.skeleton
            if id(skeleton) not in of_skeleton:
                of_skeleton[id(skeleton)] = skeleton.world_transforms
            poses[k] = of_skeleton[id(skeleton)][m.carrier.index]
        else:
            poses[k] = m.carrier.world_transform
    return poses


def _option(value: Option | None, kind: type[Option]) -> Option:
    """An option of a question, or the default one.

    Raises:
        ModelError: it is of another class.
    """
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise ModelError(f"collision group: option: expected a kido.collision.{kind.__name__}, got {value!r}")
    return value


def _points(value: ArrayLike, what: str) -> NDArray[np.float64]:
    try:
        array = np.atleast_2d(np.array(value, dtype=float))
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected points of three numbers, got {value!r}") from None
    if array.size == 0:
        array = array.reshape(0, 3)
    if array.ndim != 2 or array.shape[1] != 3 or not np.isfinite(array).all():
        raise ModelError(f"{what}: expected finite numbers of shape (3,) or (n, 3), got shape {np.shape(value)}")
    return array


__all__ = ["CollisionGroup", "Placed"]
