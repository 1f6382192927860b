"""Grasps of an object by a gripper with two parallel fingers, generated and sorted by quality."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass
from kido.collision import KidoCollisionDetector, Placed
from kido.errors import ModelError
from kido.manipulation.parts import Part
from kido.manipulation.quality import contact_wrenches, grasp_quality
from kido.math.transform import as_positive, as_transform, number_or_nan
from kido.reprs import brief
from kido.shapes import Shape
from kido.skeleton import BodyNode, ShapeNode

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ParallelGripper:
    """Two fingers that close along y of a frame whose z is the way in, and whose origin is in their middle.

    Attributes:
        opening: largest distance of the fingers [m].
        friction: Coulomb coefficient of the fingertips.
        torsion: moment about the normal per normal force [m]: that of a soft fingertip.
        clearance: by how much the fingers are opened farther than the object is wide [m].
    """

    opening: float = 0.08
    friction: float = 0.5
    torsion: float = 0.005
    clearance: float = 0.002

    def __post_init__(self) -> None:
        as_positive(self.opening, "gripper: opening", "m")
        as_positive(self.friction, "gripper: friction")
        for name in ("torsion", "clearance"):
            if not 0.0 <= number_or_nan(getattr(self, name)) < np.inf:
                raise ModelError(f"gripper: {name}: expected a length not below 0, got {getattr(self, name)!r}")

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class GraspSet:
    """Grasps of one object, in its body's axes.

    Attributes:
        poses: (n, 4, 4) of the gripper's frame in the body.
        widths: (n,) between the contacts [m].
        points: (n, 2, 3) of the contacts, the second one along +y of the gripper.
        normals: (n, 2, 3) outward normals of the object there.
        epsilon: (n,) see `GraspQuality`.
        volume: (n,) the same.
    """

    poses: Array
    widths: Array
    points: Array
    normals: Array
    epsilon: Array
    volume: Array

    __repr__ = brief

    def __len__(self) -> int:
        return len(self.widths)

    def __getitem__(self, which: Any) -> Self:
        """Some of them, by a slice, numbers or truth values; a number gives a set of one."""
        index = np.atleast_1d(np.arange(len(self))[which])
        return type(self)(*(getattr(self, name)[index] for name in _FIELDS))

    def sorted(self, by: str = "epsilon") -> Self:
        """The same, the best first.

        Args:
            by: "epsilon" or "volume".
        """
        if by not in ("epsilon", "volume"):
            raise ModelError(f"grasp set: sorted: expected 'epsilon' or 'volume', got {by!r}")
        return self[np.argsort(-getattr(self, by), kind="stable")]

    def in_world(self, body: BodyNode) -> Array:
        """Poses (n, 4, 4) of the gripper in the world, of an object that is where a body is."""
        return body.world_transform @ self.poses

    def reachable(
        self, arm: Part, body: BodyNode, gripper: Any = None, start: ArrayLike | None = None
    ) -> tuple[Self, Array]:
        """Those that an arm reaches within its limits, and positions (m, arm's n) for each.

        Args:
            arm: with a tip.
            body: the object, where it is now.
            gripper: pose of the gripper's frame on the tip, 4x4; None: it is the tip's.
            start: positions of the arm to begin at.
        """
        X = np.eye(4) if gripper is None else as_transform(gripper, "grasp set: gripper")
        if not len(self):
            return self, np.zeros((0, arm.num_dofs))
        targets = self.in_world(body) @ np.linalg.inv(X)
        found = arm.solver.solve_batch(targets, arm.whole_positions(start)[None])
        met = np.array([bool(found[k]) for k in range(len(self))])
        return self[met], arm.of(found.positions)[met]


_FIELDS = ("poses", "widths", "points", "normals", "epsilon", "volume")


def generate_grasps(
    thing: Shape | ShapeNode | BodyNode,
    gripper: ParallelGripper | None = None,
    samples: int = 200,
    rolls: int = 8,
    seed: int = 0,
) -> GraspSet:
    """Antipodal grasps: pairs of points of a surface whose line is in both friction cones.

    A line at random meets the surface; from there another one goes through the object, along a direction in the
    friction cone. Where it comes out, the fingers close if the normal is in the cone there too, and the gripper opens
    so far. Each pair has the gripper's way in at several angles about the line.

    Args:
        thing: a shape, one on a body, or a body with all its shapes that collide; the grasps are in its axes (of a
            `ShapeNode`: its body's).
        gripper: None: one of 8 cm.
        samples: pairs that are tried.
        rolls: ways in for each pair.
        seed: of what is random.

    Returns:
        Those found, best epsilon first; moments are about the middle of the shapes' bounding box, over half its
        diagonal.

    Raises:
        ModelError: no shape that has an end, no gripper, or counts that are none.

    Source: Nguyen (1988), "Constructing force-closure grasps".
    """
    hand = ParallelGripper() if gripper is None else gripper
    if not isinstance(hand, ParallelGripper):
        raise ModelError(f"generate_grasps: gripper: expected a ParallelGripper, got {gripper!r}")
    for name, value, least in (("samples", samples, 1), ("rolls", rolls, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ModelError(f"generate_grasps: {name}: expected a count from {least} on, got {value!r}")
    placed = _placed(thing)
    corners = np.concatenate([_corners(shape, X) for shape, X in placed])
    center = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    radius = float(np.linalg.norm(corners.max(axis=0) - center))
    rng = np.random.default_rng(seed)
    group = KidoCollisionDetector().create_group(*(Placed(shape, None, X) for shape, X in placed))

    first = _unit(rng.normal(size=(samples, 3)))
    through = center + radius * rng.uniform(-1.0, 1.0, (samples, 3)) / np.sqrt(3.0)
    hits = group.raycast(through - 3.0 * radius * first, through + 3.0 * radius * first)
    p1, n1 = hits.points[hits.hit], hits.normals[hits.hit]
    d = _in_cone(-n1, hand.friction, rng)
    back = group.raycast(p1 + 4.0 * radius * d, p1 - 1e-6 * radius * d) if len(p1) else hits
    p2, n2 = back.points, back.normals
    width = np.einsum("ij,ij->i", np.nan_to_num(p2 - p1), d) if len(p1) else np.zeros(0)
    slope = 1.0 / np.sqrt(1.0 + hand.friction**2)
    with np.errstate(invalid="ignore"):
        good = back.hit & (width > 1e-6 * radius) & (width + 2.0 * hand.clearance <= hand.opening)
        good &= (np.einsum("ij,ij->i", n2, d) >= slope) if len(p1) else good
    points = np.stack([p1[good], p2[good]], axis=1) if len(p1) else np.zeros((0, 2, 3))
    normals = np.stack([n1[good], n2[good]], axis=1) if len(p1) else np.zeros((0, 2, 3))
    return _with_rolls(points, normals, d[good] if len(p1) else points[:, 0], hand, center, radius, rolls, rng)


def _with_rolls(
    points: Array, normals: Array, d: Array, hand: Any, center: Array, radius: float, rolls: int, rng: Any
) -> GraspSet:
    poses, qualities = [], []
    for pair, outward, y in zip(points, normals, d, strict=True):
        wrenches = contact_wrenches(pair, outward, hand.friction, hand.torsion, center, radius)
        qualities += [grasp_quality(wrenches)] * rolls
        a = _unit(np.cross(y, np.eye(3)[int(np.argmin(np.abs(y)))]))
        b = np.cross(y, a)
        for angle in rng.uniform(0.0, 2.0 * np.pi) + 2.0 * np.pi * np.arange(rolls) / rolls:
            z = np.cos(angle) * a + np.sin(angle) * b
            X = np.eye(4)
            X[:3, :3], X[:3, 3] = np.column_stack([np.cross(y, z), y, z]), pair.mean(axis=0)
            poses.append(X)
    widths = np.repeat(np.linalg.norm(points[:, 1] - points[:, 0], axis=1), rolls)
    epsilon, volume = np.array(qualities).reshape(-1, 2).T
    repeated = np.repeat(points, rolls, axis=0), np.repeat(normals, rolls, axis=0)
    return GraspSet(np.array(poses).reshape(-1, 4, 4), widths, *repeated, epsilon, volume).sorted()


def _placed(thing: Any) -> list[tuple[Shape, Array]]:
    if isinstance(thing, Shape):
        found = [(thing, np.eye(4))]
    elif isinstance(thing, ShapeNode):
        found = [(thing.shape, np.array(thing.relative_transform))]
    elif isinstance(thing, BodyNode):
        found = [(s.shape, np.array(s.relative_transform)) for s in thing.shapes if s.collision]
    else:
        raise ModelError(f"generate_grasps: expected a shape, or a body with shapes, got {thing!r}")
    if not found or not all(shape.collides and np.isfinite(shape.aabb).all() for shape, _ in found):
        raise ModelError(
            f"generate_grasps: expected shapes that collide and have an end, got {[s for s, _ in found]!r}"
        )
    return found


def _corners(shape: Shape, X: Array) -> Array:
    low, high = shape.aabb
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
    return corners @ X[:3, :3].T + X[:3, 3]


def _unit(v: Array) -> Array:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def _in_cone(axes: Array, friction: float, rng: np.random.Generator) -> Array:
    """Unit vectors within the friction cones about unit vectors (n, 3), uniform over their cross-sections."""
    side = _unit(np.cross(axes, np.eye(3)[np.argmin(np.abs(axes), axis=1)])) if len(axes) else axes
    other = np.cross(axes, side)
    size, angle = friction * np.sqrt(rng.random(len(axes))), 2.0 * np.pi * rng.random(len(axes))
    return _unit(axes + (size * np.cos(angle))[:, None] * side + (size * np.sin(angle))[:, None] * other)
