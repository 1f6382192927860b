"""What a robot may not touch: obstacles, and a tree of boxes about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.spatial
from numpy.typing import NDArray

from kido.errors import NameLookupError, ShapeError, StateError
from kido.math.transform import as_transform
from kido.planning.covering import convex_parts
from kido.planning.tables import (
    AXES_BOX,
    BOX,
    CAPSULE,
    CYLINDER,
    HALF_SPACE,
    INSIDE,
    NODE,
    SCENE,
    TRIANGLE,
)
from kido.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Heightmap,
    Mesh,
    MultiSphereHull,
    Plane,
    PointCloud,
    Shape,
    Sphere,
    VoxelGrid,
    convex_hull,
)

if TYPE_CHECKING:
    from kido.simulation import World
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]
ENDLESS = 1e6  # half edge of the box about a half space [m]
PARALLEL = 1e-12  # entries of a rotation below which a box is axis-parallel


class Solid(NamedTuple):
    """What the surroundings are made of.

    Attributes:
        kind: `AXES_BOX` ... `HALF_SPACE`.
        low, high: corners of the axis-parallel box about it [m].
        values: its numbers, as `kido.planning.solids` reads them.
        planes: of a polyhedron (n, 4).
        exact: whether it is no larger than what it stands for.
    """

    kind: int
    low: Array
    high: Array
    values: Any = ()
    planes: Array | None = None
    exact: bool = True


def _about(points: Array, radius: float = 0.0) -> tuple[Array, Array]:
    return points.min(axis=0) - radius, points.max(axis=0) + radius


def box_solid(X: Array, half: Array) -> Solid:
    """A box of half edges `half` at the pose X."""
    R, p = X[:3, :3], X[:3, 3]
    reach = np.abs(R) @ half
    if (np.sort(np.abs(R), axis=0)[1] < PARALLEL).all():
        return Solid(AXES_BOX, p - reach, p + reach)
    return Solid(BOX, p - reach, p + reach, [*R.ravel(), *p, *half])


def capsule_solid(a: Array, b: Array, radius: float) -> Solid:
    """All within `radius` of the segment from a to b."""
    d = b - a
    low, high = _about(np.array([a, b]), radius)
    return Solid(CAPSULE, low, high, [*a, *d, 1.0 / (d @ d) if d @ d > 0.0 else 0.0, radius])


def triangle_solid(corners: Array) -> Solid | None:
    """A triangle; None: it is degenerate, so that its neighbours' sides contain it."""
    a, u, w = corners[0], corners[1] - corners[0], corners[2] - corners[0]
    n = np.cross(u, w)
    squares = np.array([u @ u, w @ w, (w - u) @ (w - u), n @ n])
    if not (squares[:3] > 0.0).all() or squares[3] <= 1e-24 * squares[:3].max() ** 2:
        return None
    low, high = _about(corners)
    return Solid(TRIANGLE, low, high, [*a, *u, *w, *(1.0 / squares)])


def solids_of(shape: Shape, X: Array, what: str = "obstacle") -> list[Solid]:
    """The solids that a shape at a pose X is made of.

    Meshes are their triangles, or the convex pieces that stand for them in collisions, with their inside. Height maps
    are their surface.

    Raises:
        ShapeError: a shape of which there are none: soft skins, arrows.
    """
    R, p = X[:3, :3], X[:3, 3]
    if isinstance(shape, Box):
        return [box_solid(X, np.asarray(shape.half_sizes))]
    if isinstance(shape, Sphere):
        return [capsule_solid(p, p, shape.radius)]
    if isinstance(shape, Capsule):
        half = 0.5 * shape.height * R[:, 2]
        return [capsule_solid(p - half, p + half, shape.radius)]
    if isinstance(shape, Cylinder):
        axis, half = R[:, 2], 0.5 * shape.height
        reach = half * np.abs(axis) + shape.radius * np.sqrt(np.maximum(1.0 - axis**2, 0.0))
        return [Solid(CYLINDER, p - reach, p + reach, [*p, *axis, half, shape.radius])]
    if isinstance(shape, Plane):
        n = R @ np.asarray(shape.normal)
        corner = np.full(3, ENDLESS)
        return [Solid(HALF_SPACE, -corner, corner, [*n, float(n @ p) + shape.offset])]
    if isinstance(shape, PointCloud):
        return [capsule_solid(x, x, shape.radius) for x in shape.points @ R.T + p]
    if isinstance(shape, VoxelGrid):
        half = np.full(3, 0.5 * shape.spacing)
        return [box_solid(_placed(R, x), half) for x in shape.centers @ R.T + p]
    if isinstance(shape, Heightmap) or (isinstance(shape, Mesh) and shape.collide_as == "triangles"):
        vertices = shape.vertices @ R.T + p
        found = [triangle_solid(vertices[f]) for f in shape.faces]
        return [solid for solid in found if solid is not None]
    exact = not isinstance(shape, Cone | Ellipsoid | MultiSphereHull)
    return [
        solid._replace(exact=exact)
        for part in convex_parts(shape, what)
        for solid in _convex(part.points @ R.T + p, part.radius)
    ]


def _placed(R: Array, p: Array) -> Array:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X


def _convex(points: Array, radius: float) -> list[Solid]:
    """A convex polyhedron: its faces and its inside; of up to two points a ball or a capsule."""
    if len(points) <= 2:
        return [capsule_solid(points[0], points[-1], radius)]
    hull = convex_hull(points)
    faces = [triangle_solid(hull.vertices[f]) for f in hull.faces]
    planes = scipy.spatial.ConvexHull(hull.vertices).equations
    inside = Solid(INSIDE, *_about(hull.vertices), planes=planes)
    return [inside, *(face for face in faces if face is not None)]


class Environment:
    """Obstacles by name, each a shape at a pose.

    Boxes, spheres, capsules, cylinders, half spaces, point clouds and voxels are exact; cones, ellipsoids and hulls of
    spheres are polyhedra about them; meshes are their convex hulls, their triangles or their pieces, as they are in
    collisions.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._solids: dict[str, list[Solid]] = {}
        self._shapes: dict[str, tuple[Shape, Array]] = {}

    @classmethod
    def of_world(cls, world: World, robot: Skeleton) -> Environment:
        """All that touches of a world's other skeletons, where it is now; named skeleton/body/shape."""
        made = cls()
        for skeleton in world.skeletons:
            if skeleton is robot:
                continue
            for body in skeleton.bodies:
                for node in body.shapes:
                    if node.collision:
                        name = f"{skeleton.name}/{body.name}/{node.name}"
                        made.add(name, node.shape, np.array(node.transform()))
        return made

    def add(self, name: str, shape: Shape, pose: Any = None) -> Environment:
        """Add an obstacle.

        Args:
            name: of its own.
            shape: the geometry.
            pose: in the world (4x4 or what `kido.as_transform` takes); None: the world's frame.

        Raises:
            StateError: a name that is taken.
            ShapeError: no shape, or one that is no obstacle.
        """
        if not isinstance(name, str) or name in self._solids:
            raise StateError(f"obstacle: expected a name that is not taken yet, got {name!r}")
        if not isinstance(shape, Shape):
            raise ShapeError(f"obstacle {name!r}: expected a kido shape, got {type(shape).__name__}")
        X = np.eye(4) if pose is None else as_transform(pose, f"obstacle {name!r}: pose")
        solids = solids_of(shape, X, f"obstacle {name!r}")
        self.names.append(name)
        self._solids[name] = solids
        self._shapes[name] = shape, X
        return self

    def remove(self, name: str) -> Environment:
        """Remove an obstacle.

        Raises:
            NameLookupError: there is none of this name.
        """
        if name not in self._solids:
            raise NameLookupError("obstacle", name, self.names)
        self.names.remove(name)
        del self._solids[name], self._shapes[name]
        return self

    def placed(self, name: str) -> tuple[Shape, Array]:
        """Shape and pose (4, 4) of an obstacle.

        Raises:
            NameLookupError: there is none of this name.
        """
        if name not in self._shapes:
            raise NameLookupError("obstacle", name, self.names)
        shape, X = self._shapes[name]
        return shape, X.copy()

    def __len__(self) -> int:
        return len(self.names)

    def compiled(self) -> SCENE:
        """The tree of boxes about all solids."""
        solids = [(k, solid) for k, name in enumerate(self.names) for solid in self._solids[name]]
        low = np.array([solid.low for _, solid in solids]).reshape(-1, 3)
        high = np.array([solid.high for _, solid in solids]).reshape(-1, 3)
        rows: list[tuple[int, Array, Array, int]] = []  # solid or -1, corners, skip

        def write(members: NDArray[np.intp]) -> None:
            row = len(rows)
            if len(members) == 1:
                k = int(members[0])
                rows.append((k, low[k], high[k], row + 1))
                return
            a, b = low[members].min(axis=0), high[members].max(axis=0)
            rows.append((-1, a, b, 0))
            middle = (low + high)[members]
            order = members[np.argsort(middle[:, int(np.ptp(middle, axis=0).argmax())], kind="stable")]
            write(order[: len(order) // 2])
            write(order[len(order) // 2 :])
            rows[row] = (-1, a, b, len(rows))

        if solids:
            write(np.arange(len(solids)))
        planes = [found for k, *_ in rows if k >= 0 and (found := solids[k][1].planes) is not None]
        made = SCENE(nodes=len(rows), planes=sum(map(len, planes)))
        if planes:
            made.plane[:] = np.concatenate(planes)
        first = 0
        for row, (k, a, b, skip) in enumerate(rows):
            made.low[row], made.high[row], made.skip[row], made.kind[row], made.owner[row] = a, b, skip, NODE, -1
            if k < 0:
                continue
            made.owner[row], solid = solids[k]
            made.kind[row], made.exact[row] = solid.kind, solid.exact
            values = list(solid.values)
            if solid.planes is not None:
                values, first = [first, first + len(solid.planes)], first + len(solid.planes)
            made.value[row, : len(values)] = values
        return made
