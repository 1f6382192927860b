"""The world that `kido simulate` simulates, from its options: its models stand side by side, just above the ground."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kido import models as bundled
from kido.cli.loading import find, set_positions
from kido.cli.main import UsageError
from kido.cli.options import Simulate
from kido.errors import KidoError
from kido.integrators import RK4
from kido.shapes import Plane
from kido.simulation import World
from kido.skeleton import BodyNode, FreeJoint, Joint, ShapeNode, Skeleton, WeldJoint

Array = NDArray[np.float64]

CLEARANCE = 1e-3
"""Height of a free model's lowest point above the ground [m]."""


def extent(nodes: Sequence[ShapeNode], direction: Array) -> tuple[float, float]:
    """Smallest and largest value of direction . x over shapes in the world [m]; planes do not count.

    Infinities the wrong way round (inf, -inf) if there is nothing.
    """
    low, high = math.inf, -math.inf
    for node in nodes:
        if isinstance(node.shape, Plane):
            continue
        X = node.world_transform
        local, middle = X[:3, :3].T @ direction, float(direction @ X[:3, 3])
        high = max(high, middle + node.shape.support(local))
        low = min(low, middle - node.shape.support(-local))
    return low, high


def free_joints(skeleton: Skeleton) -> list[Joint]:
    """Free joints with nothing but welds between them and the world: what makes a model float."""
    found: list[Joint] = []
    bodies = list(skeleton.root_bodies)
    for body in bodies:
        if isinstance(body.parent_joint, FreeJoint):
            found.append(body.parent_joint)
        elif isinstance(body.parent_joint, WeldJoint):
            bodies.extend(body.children)
    return found


def move(skeleton: Skeleton, shift: Array) -> None:
    """Move a whole skeleton in the world [m]: the positions of its free joints, the frames of the others."""
    floating = free_joints(skeleton)
    for joint in floating:
        parent = np.eye(4) if joint.parent is None else joint.parent.world_transform
        axes = (parent @ joint.transform_from_parent)[:3, :3]
        joint.positions = joint.positions + np.concatenate([np.zeros(3), axes.T @ shift])
    for body in skeleton.root_bodies:
        joint = body.parent_joint
        if joint in floating or (floating and isinstance(joint, WeldJoint) and body.mass == 0.0):
            continue
        X = joint.transform_from_parent.copy()
        X[:3, 3] += shift
        joint.transform_from_parent = X


def shapes_of(skeletons: Sequence[Skeleton], collision: bool = False) -> list[ShapeNode]:
    """Shapes of skeletons; `collision`: only those that collide."""
    nodes = [node for s in skeletons for body in s.bodies for node in body.shapes]
    return [node for node in nodes if node.collision] if collision else nodes


def place_above(skeleton: Skeleton, up: Array, height: float) -> None:
    """Move a floating model so that its lowest colliding point is just above a height along `up` [m]."""
    low, _ = extent(shapes_of([skeleton], collision=True) or shapes_of([skeleton]), up)
    if free_joints(skeleton) and math.isfinite(low):
        move(skeleton, (height + CLEARANCE - low) * up)


def side_by_side(skeletons: Sequence[Skeleton], placed: Sequence[Skeleton], up: Array) -> None:
    """Move models one after another along a horizontal axis, past those placed already and each other."""
    axis = np.array([0.0, 1.0, 0.0]) if abs(up[1]) < 0.5 else np.array([1.0, 0.0, 0.0])
    _, edge = extent(shapes_of(placed), axis)
    for skeleton in skeletons:
        low, high = extent(shapes_of([skeleton]), axis)
        if not math.isfinite(low):
            continue
        if math.isfinite(edge):
            gap = max(0.1, 0.2 * (high - low))
            shift = edge + gap - low
            move(skeleton, shift * axis)
            high += shift
        edge = high


def check(options: Simulate) -> None:
    """Refuse options that make no sense, before anything is read.

    Raises:
        UsageError: naming the option.
    """
    if not options.model and options.world is None:
        raise UsageError("nothing to simulate: name a model (kido models lists the bundled ones) or --world FILE")
    if options.duration is not None and not (math.isfinite(options.duration) and options.duration >= 0):
        raise UsageError(f"--duration {options.duration:g}: expected seconds, not below 0")
    if options.dt is not None and not (math.isfinite(options.dt) and options.dt > 0):
        raise UsageError(f"--dt {options.dt:g}: expected seconds above 0")
    if options.every < 1:
        raise UsageError(f"--every {options.every}: expected a whole number above 0")
    if len(options.at) > len(options.model):
        raise UsageError(f"--at is given {len(options.at)} times for {len(options.model)} models")
    if not np.isfinite(np.array(options.at)).all():
        raise UsageError("--at: expected three finite numbers")
    if options.port is not None and not 0 <= options.port < 65536:
        raise UsageError(f"--port {options.port}: expected 0 to 65535")


def build(options: Simulate) -> World:
    """Read, set, place: the world at time zero.

    Raises:
        KidoError: a file cannot be read, or a setting does not fit.
    """
    world, added = _read(options)
    if options.dt is not None:
        world.time_step = options.dt
    if options.solver is not None:
        world.loop_solver = options.solver
        world.integrator = RK4()
    set_positions(world.skeletons, options.set)
    grounded = options.ground or options.world is not None
    placed = [s for s in world.skeletons if s not in added]
    for skeleton, at in zip(added, options.at):
        move(skeleton, np.array(at))
        placed.append(skeleton)
    rest = added[len(options.at) :]
    if grounded:
        for skeleton in rest:
            place_above(skeleton, world.up, 0.0)
    if options.ground:
        _warn_of_sunken(added, world.up)
    floor = [s for s in placed if s.mobile or s in added]
    side_by_side(rest, floor, world.up)
    if options.ground and not any(s.name == "ground" for s in world.skeletons):
        world.add_ground()
    return world


def _warn_of_sunken(skeletons: list[Skeleton], up: np.ndarray) -> None:
    """Say which models start with a moving part below the ground."""
    for skeleton in skeletons:
        moving = [b for b in skeleton.bodies if not all(w.num_dofs == 0 for w in _joints_above(b))]
        low, _ = extent([node for b in moving for node in b.shapes if node.collision], up)
        if low < -1e-3:
            print(
                f"kido: warning: {skeleton.name} starts {-1e3 * low:.3g} mm deep in the ground; "
                "--set another pose, or move it with --at",
                file=sys.stderr,
            )


def _joints_above(body: BodyNode) -> list[Joint]:
    joints, at = [], body
    while at is not None:
        joints.append(at.parent_joint)
        at = at.parent
    return joints


def _read(options: Simulate) -> tuple[World, list[Skeleton]]:
    """The world, and the models that were put into it."""
    models = [(name, options.load(name)) for name in options.model]
    world: World | None = None
    if options.world is not None:
        base = options.load(options.world)
        if not isinstance(base, World):
            raise KidoError(f"--world {options.world}: holds a single model, expected a world (SKEL)")
        world = base
    elif len(models) == 1 and isinstance(models[0][1], World):
        return models[0][1], []
    world = World("simulation") if world is None else world
    added = []
    for name, model in models:
        if isinstance(model, World):
            raise KidoError(f"{name}: is a whole world; give it as --world, and models to add to it")
        if not options.set and name in bundled.names() and find(name) == bundled.path(name):
            for joint, value in bundled.start_positions(name).items():
                model.joint(joint).positions = [value]
        added.append(world.add_skeleton(model))
    return world, added
