"""A scene as planners have it: robot with what hangs on it, obstacles, pairs that may touch, distances to keep."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import ModelError
from kido.manipulation.srdf import RobotDescription
from kido.math.transform import as_flag, number_or_nan
from kido.planning import CollisionChecker, Environment
from kido.shapes import Sphere
from kido.simulation.collision_filter import IMMOBILE, NO_SELF_COLLISION
from kido.skeleton import BodyNode, Group, ShapeNode, Skeleton, Surface, WeldJoint

if TYPE_CHECKING:
    from kido.manipulation.scene import CollisionScene

OWN_BODIES = "own bodies, not tested"  # reason of a robot's pairs while something hangs on it
_NO_REASONS = {NO_SELF_COLLISION, OWN_BODIES, IMMOBILE}  # of steps of a world, not of what may touch


def checker_of(
    scene: CollisionScene,
    robot: Skeleton,
    part: Group,
    left_out: set[ShapeNode],
    spheres: RobotDescription | None,
    options: dict[str, Any],
) -> CollisionChecker:
    """The checker of `CollisionScene.checker`.

    It is of the robot itself where that will do, and else made of a copy: without hidden shapes, with spheres in place
    of shapes, and with obstacles that some bodies may touch as bodies of the copy that stand still, so that pairs of
    bodies say it all.

    Args:
        scene: the scene.
        robot: whose the part is.
        part: what is planned with.
        left_out: shapes that are no obstacles.
        spheres: of bodies, instead of their shapes; None: shapes.
        options: of `CollisionChecker`.
    """
    environment = Environment.of_world(scene.world, robot)
    known = set(environment.names)

    def take_off(shapes: Iterable[ShapeNode]) -> None:
        for shape in shapes:
            if key_of(shape) in known:
                environment.remove(key_of(shape))
                known.discard(key_of(shape))

    take_off(shape for shape in left_out if shape.body.skeleton is not robot)
    unseen = {s for body in robot.bodies for s in body.shapes if scene.is_hidden(s) or not body.collidable}
    solid = [body for body in robot.bodies if any(s.collision and s not in unseen for s in body.shapes)]
    standing: list[ShapeNode] = []  # what some bodies may touch, and others not
    pairs: list[tuple[str, str]] = []
    for other in (b for s in scene.world.skeletons if s is not robot for b in s.bodies):
        shapes = [shape for shape in other.shapes if key_of(shape) in known]
        allowed = [body for body in solid if _may_touch(scene, body, other)] if shapes else []
        if allowed:
            take_off(shapes)
            if len(allowed) < len(solid):
                standing += shapes
                pairs += [(body.name, key_of(shape)) for body in allowed for shape in shapes]
    own = as_flag(options.get("self_collision", True), "collision scene: checker: self_collision")
    if own or standing:
        chosen = itertools.combinations(solid, 2)
        pairs += [(a.name, b.name) for a, b in chosen if not own or _may_touch(scene, a, b)]
    given: dict[str, Any] = {"dofs": list(part.dofs), "ignored_pairs": pairs} | _margins(scene, robot) | options
    if standing:
        given["self_collision"] = True
    if not (standing or unseen or spheres):
        return CollisionChecker(robot, environment, **given)
    twin = robot.clone()
    for body, copied in zip(robot.bodies, twin.bodies, strict=True):
        for shape, its in zip(body.shapes, copied.shapes, strict=True):
            if shape in unseen and its.collision:
                its.collision = False
    if spheres is not None:
        _use_spheres(twin, spheres, given)
    more = number_or_nan(given["margin"]) - number_or_nan(given["self_margin"])
    for shape in standing:
        _stand(twin, shape, more if more > 0.0 else 0.0)
    given["dofs"] = [dof.name for dof in part.dofs]
    checker = CollisionChecker(twin, environment, **given)
    checker.skeleton = robot
    return checker


def key_of(shape: ShapeNode) -> str:
    """Name of a shape as an obstacle."""
    return f"{shape.body.skeleton.name}/{shape.body.name}/{shape.name}"


def _may_touch(scene: CollisionScene, a: BodyNode, b: BodyNode) -> bool:
    return bool(scene.reasons(a, b) - _NO_REASONS)


def _margins(scene: CollisionScene, robot: Skeleton) -> dict[str, float]:
    """Distances to keep: the largest paddings, added up."""
    own, others = [0.0], [0.0]
    for skeleton in scene.world.skeletons:
        shapes = (shape for body in skeleton.bodies for shape in body.shapes)
        (own if skeleton is robot else others).extend(scene.padding(shape) for shape in shapes)
    return {"margin": max(own) + max(others), "self_margin": 2.0 * max(own)}


def _use_spheres(twin: Skeleton, description: RobotDescription, given: dict[str, Any]) -> None:
    """Spheres in place of shapes of bodies that have any."""
    for name, several in description.spheres:
        body = twin.body(name)
        shown = [shape for shape in body.shapes if shape.collision]
        if not shown:
            continue  # hidden, or without shapes: nothing is tested
        for shape in shown:
            shape.collision = False
        for k, (x, y, z, radius) in enumerate(several):
            X = np.eye(4)
            X[:3, 3] = x, y, z
            body.add_shape(Sphere(radius), transform=X, name=f"sphere {k} of {name}")
        given["max_spheres"] = max(given.get("max_spheres", 64), 2 * len(several))  # with those about several


def _stand(twin: Skeleton, shape: ShapeNode, padding: float) -> None:
    """An obstacle as a body of the copy."""
    weld = WeldJoint(key_of(shape), transform_from_parent=np.array(shape.body.world_transform))
    body = twin.add_body(key_of(shape), weld)
    surface = Surface(padding=shape.surface.padding + padding)
    body.add_shape(shape.shape, np.array(shape.relative_transform), shape.name, surface=surface)


def refuse_open_loops(part: Group, loops: Iterable[Any]) -> None:
    """Refuse a part that moves one side of a loop of a grasp against the other.

    Raises:
        ModelError: naming the grasp.
    """
    moved = set(part.dofs)
    for grasp in loops:
        sides = [_dofs_above(body) & moved for body in (grasp.constraint.body_a, grasp.constraint.body_b)]
        if sides[0] != sides[1]:
            raise ModelError(
                f"collision scene: checker: {getattr(part, 'name', 'the part')!r} moves one side of the loop of grasp "
                f"{grasp.name!r} ({grasp.hand.name!r} holds {grasp.body.name!r}), and straight motions would tear it; "
                "use kido.planning.ConstrainedRRTConnect with `closes_loops=True`, or `Operator.carry`"
            )


def _dofs_above(body: BodyNode | None) -> set[Any]:
    found: set[Any] = set()
    while body is not None:
        found |= set(body.parent_joint.dofs)
        body = body.parent
    return found
