"""Robots of the environments that are known from MuJoCo: built here, with the lengths, masses and gains of these.

Bodies are capsules and balls of a density. Coordinates have the names and the order that they have there. Some stand
off the ground by margins of contacts, as there: 0.02 m the ant, 0.002 m the hopper and the humanoid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.shapes import Capsule, Sphere
from kido.simulation import World
from kido.skeleton import (
    BodyNode,
    CompoundJoint,
    FreeJoint,
    Hinge,
    Inertia,
    Joint,
    PrismaticJoint,
    RevoluteJoint,
    Skeleton,
    WeldJoint,
)

__all__ = ["ant", "half_cheetah", "hopper", "humanoid", "reacher", "walker"]

Array = NDArray[np.float64]
X, Y, Z = np.eye(3)
SKIN, OTHER = (0.8, 0.6, 0.4), (0.7, 0.3, 0.6)
ROUGH = 10.0  # friction of the ground: a pair slides with the smaller coefficient, which is the robot's


class Turn(NamedTuple):
    """A hinge of a body.

    Attributes:
        name: of its coordinate.
        axis: in the body's axes.
        lower, upper: limits [rad].
        damping: [N m s/rad]; `stiffness` [N m/rad], with rest at 0; `armature` [kg m^2].
        at: a point of it in the body's axes [m]; all hinges of a body pass through it.
    """

    name: str
    axis: ArrayLike
    lower: float
    upper: float
    damping: float = 1.0
    stiffness: float = 0.0
    armature: float = 1.0
    at: ArrayLike = (0.0, 0.0, 0.0)


class Part(NamedTuple):
    """A capsule between two points of a body, or a ball, where these are the same."""

    radius: float
    a: ArrayLike
    b: ArrayLike
    friction: float = 1.0
    color: tuple[float, float, float] = SKIN


def _at(point: ArrayLike, rotation: Array | None = None) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = point
    if rotation is not None:
        pose[:3, :3] = rotation
    return pose


def _along(direction: Array) -> Array:
    """A rotation whose z axis has a direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(Y if abs(z[1]) < 0.9 else X, z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _add(
    skeleton: Skeleton,
    name: str,
    parent: BodyNode | None,
    place: Array,
    turns: Sequence[Turn] | Joint,
    parts: Sequence[Part],
    density: float,
) -> BodyNode:
    """A body at a place of its parent, with its hinges or a joint, and parts of a density."""
    solids = []
    for part in parts:
        a, b = np.array(part.a, dtype=float), np.array(part.b, dtype=float)
        length = float(np.linalg.norm(b - a))
        shape = Capsule(part.radius, length) if length > 0.0 else Sphere(part.radius)
        pose = _at(0.5 * (a + b), _along(b - a) if length > 0.0 else None)
        solids.append((shape, pose, part))
    inertia = sum(
        (Inertia.from_shape(shape, density=density, transform=pose) for shape, pose, _ in solids[1:]),
        Inertia.from_shape(solids[0][0], density=density, transform=solids[0][1]),
    )
    joint = turns if isinstance(turns, Joint) else _joint(name, place, turns)
    body = skeleton.add_body(name, joint, parent, inertia)
    for shape, pose, part in solids:
        body.add_shape(shape, pose, color=part.color, friction=part.friction)
    return body


def _joint(name: str, place: Array, turns: Sequence[Turn]) -> Joint:
    if not turns:
        return WeldJoint(f"{name}_joint", transform_from_parent=place)
    anchor = _at(turns[0].at)
    options = {
        "transform_from_parent": place @ anchor,
        "transform_from_child": anchor,
        "position_lower_limit": [t.lower for t in turns],
        "position_upper_limit": [t.upper for t in turns],
        "damping": [t.damping for t in turns],
        "armature": [t.armature for t in turns],
        "spring_stiffness": [t.stiffness for t in turns],
    }
    if len(turns) == 1:
        return RevoluteJoint(turns[0].name, axis=turns[0].axis, **options)
    hinges = [Hinge.revolute(t.axis) for t in turns]
    return CompoundJoint(f"{name}_joint", hinges, dof_names=[t.name for t in turns], **options)


def _in_the_plane(height: float) -> CompoundJoint:
    """A body that slides along x and z and turns about y."""
    hinges = [Hinge.prismatic(X), Hinge.prismatic(Z), Hinge.revolute(Y)]
    names = ["rootx", "rootz", "rooty"]
    return CompoundJoint("root", hinges, dof_names=names, initial_position=[0.0, height, 0.0])


def _world(skeleton: Skeleton, time_step: float, margin: float = 0.0) -> World:
    """A world of a skeleton on the ground, whose surfaces all lie a margin outside of their shapes [m]."""
    world = World(skeleton.name, time_step=time_step)
    world.add_skeleton(skeleton)
    ground = world.add_ground(friction=ROUGH)
    for body in (*skeleton.bodies, *ground.bodies):
        for shape in body.shapes:
            shape.set_surface(padding=margin)
    return world


DEGREE = np.pi / 180.0


def _leg(
    skeleton: Skeleton, torso: BodyNode, side: str, toe: tuple[float, float], friction: float, damping: float,
    armature: float, color: tuple[float, float, float],
) -> None:  # fmt: skip
    """A leg of the hopper or the walker: thigh, leg and foot, whose capsule is from heel to toe."""
    low, options = -150.0 * DEGREE, {"damping": damping, "armature": armature}
    thigh = _add(
        skeleton, f"thigh{side}", torso, _at((0, 0, -0.2)), [Turn(f"thigh{side}_joint", -Y, low, 0.0, **options)],
        [Part(0.05, (0, 0, 0), (0, 0, -0.45), color=color)], 1000.0,
    )  # fmt: skip
    shank = _add(
        skeleton, f"leg{side}", thigh, _at((0, 0, -0.45)), [Turn(f"leg{side}_joint", -Y, low, 0.0, **options)],
        [Part(0.04, (0, 0, 0), (0, 0, -0.5), color=color)], 1000.0,
    )  # fmt: skip
    bend = 45.0 * DEGREE
    _add(
        skeleton, f"foot{side}", shank, _at((0, 0, -0.5)), [Turn(f"foot{side}_joint", -Y, -bend, bend, **options)],
        [Part(0.06, (toe[0], 0, 0), (toe[1], 0, 0), friction, color)], 1000.0,
    )  # fmt: skip


TORSO = Part(0.05, (0, 0, -0.2), (0, 0, 0.2))


def hopper() -> World:
    """A torso on one leg in a vertical plane: 6 coordinates, 15.8 kg."""
    skeleton = Skeleton("hopper")
    torso = _add(skeleton, "torso", None, np.eye(4), _in_the_plane(1.25), [TORSO], 1000.0)
    _leg(skeleton, torso, "", (-0.13, 0.26), 2.0, 1.0, 1.0, SKIN)
    skeleton.self_collision = True
    return _world(skeleton, 0.002, 0.001)


def walker() -> World:
    """A torso on two legs in a vertical plane: 9 coordinates, 23.7 kg."""
    skeleton = Skeleton("walker")
    torso = _add(skeleton, "torso", None, np.eye(4), _in_the_plane(1.25), [TORSO._replace(friction=0.9)], 1000.0)
    for side, color in (("", SKIN), ("_left", OTHER)):
        _leg(skeleton, torso, side, (0.0, 0.2), 1.9, 0.1, 0.01, color)
    return _world(skeleton, 0.002)


def half_cheetah() -> World:
    """A trunk with a hind leg and a foreleg in a vertical plane: 9 coordinates, 14 kg, springs in its joints."""
    skeleton = Skeleton("half_cheetah")
    friction, density, radius = 0.4, 1000.0, 0.046

    def capsule(x: float, z: float, angle: float, half: float) -> Part:
        way = half * np.array([np.sin(angle), 0.0, np.cos(angle)])
        middle = np.array([x, 0.0, z])
        return Part(radius, middle - way, middle + way, friction)

    trunk = [Part(radius, (-0.5, 0, 0), (0.5, 0, 0), friction), capsule(0.6, 0.1, 0.87, 0.15)]
    root = _in_the_plane(0.0)
    root.transform_from_parent = _at((0, 0, 0.7))
    torso = _add(skeleton, "torso", None, np.eye(4), root, trunk, density)
    # Of each link its place on the one before, limits, damping and stiffness, and its capsule.
    legs = {
        "b": (
            ("thigh", (-0.5, 0.0), (-0.52, 1.05), 6.0, 240.0, (0.1, -0.13, -3.8, 0.145)),
            ("shin", (0.16, -0.25), (-0.785, 0.785), 4.5, 180.0, (-0.14, -0.07, -2.03, 0.15)),
            ("foot", (-0.28, -0.14), (-0.4, 0.785), 3.0, 120.0, (0.03, -0.097, -0.27, 0.094)),
        ),
        "f": (
            ("thigh", (0.5, 0.0), (-1.0, 0.7), 4.5, 180.0, (-0.07, -0.12, 0.52, 0.133)),
            ("shin", (-0.14, -0.24), (-1.2, 0.87), 3.0, 120.0, (0.065, -0.09, -0.6, 0.106)),
            ("foot", (0.13, -0.18), (-0.5, 0.5), 1.5, 60.0, (0.045, -0.07, -0.6, 0.07)),
        ),
    }
    for side, links in legs.items():
        parent = torso
        for name, (x, z), limits, damping, stiffness, part in links:
            turn = Turn(f"{side}{name}", Y, *limits, damping, stiffness, 0.1)
            parent = _add(skeleton, f"{side}{name}", parent, _at((x, 0, z)), [turn], [capsule(*part)], density)
    scale = 14.0 / sum(body.mass for body in skeleton.bodies)
    for body in skeleton.bodies:
        own = body.inertia
        body.inertia = Inertia(scale * own.mass, own.com, scale * own.moment)
    return _world(skeleton, 0.01)


def ant() -> World:
    """A ball with four legs of two joints each: 14 coordinates, 0.9 kg, rotors of 1 kg m^2 in its joints."""
    skeleton = Skeleton("ant")
    density, radius, bend = 5.0, 0.08, (30.0 * DEGREE, 70.0 * DEGREE)
    root = FreeJoint("root", initial_position=[0.0, 0.0, 0.0, 0.0, 0.0, 0.75])
    torso = _add(skeleton, "torso", None, np.eye(4), root, [Part(0.25, (0, 0, 0), (0, 0, 0))], density)
    # Of each leg its direction, the axis of its ankle, and whether that bends the positive way.
    legs = (
        ("front_left", (1, 1), (-1, 1), True),
        ("front_right", (-1, 1), (1, 1), False),
        ("back_left", (-1, -1), (-1, 1), False),
        ("back_right", (1, -1), (1, 1), True),
    )
    for k, (name, way, axis, positive) in enumerate(legs, 1):
        along = np.array([*way, 0.0])
        inner = Part(radius, (0, 0, 0), 0.2 * along)
        leg = _add(skeleton, f"{name}_leg", torso, np.eye(4), [], [inner], density)
        turn = Turn(f"hip_{k}", Z, -30.0 * DEGREE, 30.0 * DEGREE)
        hip = _add(skeleton, f"{name}_hip", leg, _at(0.2 * along), [turn], [inner], density)
        lower, upper = bend if positive else (-bend[1], -bend[0])
        ankle = Turn(f"ankle_{k}", [*axis, 0.0], lower, upper)
        outer = Part(radius, (0, 0, 0), 0.4 * along)
        _add(skeleton, f"{name}_ankle", hip, _at(0.2 * along), [ankle], [outer], density)
    return _world(skeleton, 0.01, 0.01)


def humanoid() -> World:
    """A person of 13 bodies and 42.1 kg: 23 coordinates, springs in its joints."""
    skeleton, density = Skeleton("humanoid"), 1000.0
    back = 2.0 * np.arctan(0.002)  # waist and pelvis lean a little

    def turn(name: str, axis: ArrayLike, degrees: tuple[float, float], *numbers: float, at: ArrayLike = (0, 0, 0)):
        return Turn(name, axis, degrees[0] * DEGREE, degrees[1] * DEGREE, *numbers, at=at)

    def lean(point: ArrayLike) -> Array:
        s, c = np.sin(-back), np.cos(-back)
        return _at(point, np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]))

    root = FreeJoint("root", initial_position=[0.0, 0.0, 0.0, 0.0, 0.0, 1.4])
    chest = [
        Part(0.07, (0, -0.07, 0), (0, 0.07, 0)),
        Part(0.09, (0, 0, 0.19), (0, 0, 0.19)),
        Part(0.06, (-0.01, -0.06, -0.12), (-0.01, 0.06, -0.12)),
    ]
    torso = _add(skeleton, "torso", None, np.eye(4), root, chest, density)
    waist = _add(
        skeleton, "lwaist", torso, lean((-0.01, 0, -0.26)),
        [
            turn("abdomen_z", Z, (-45, 45), 5.0, 20.0, 0.02, at=(0, 0, 0.065)),
            turn("abdomen_y", Y, (-75, 30), 5.0, 10.0, 0.02, at=(0, 0, 0.065)),
        ],
        [Part(0.06, (0, -0.06, 0), (0, 0.06, 0))], density,
    )  # fmt: skip
    pelvis = _add(
        skeleton, "pelvis", waist, lean((0, 0, -0.165)),
        [turn("abdomen_x", X, (-35, 35), 5.0, 10.0, 0.02, at=(0, 0, 0.1))],
        [Part(0.09, (-0.02, -0.07, 0), (-0.02, 0.07, 0))], density,
    )  # fmt: skip
    for side, s, hip_armature, knee_stiffness in (("right", 1.0, 0.008, 0.0), ("left", -1.0, 0.01, 1.0)):
        thigh = _add(
            skeleton, f"{side}_thigh", pelvis, _at((0, -0.1 * s, -0.04)),
            [
                turn(f"{side}_hip_x", s * X, (-25, 5), 5.0, 10.0, 0.01),
                turn(f"{side}_hip_z", s * Z, (-60, 35), 5.0, 10.0, 0.01),
                turn(f"{side}_hip_y", Y, (-110, 20), 5.0, 20.0, hip_armature),
            ],
            [Part(0.06, (0, 0, 0), (0, 0.01 * s, -0.34))], density,
        )  # fmt: skip
        shin = _add(
            skeleton, f"{side}_shin", thigh, _at((0, 0.01 * s, -0.403)),
            [turn(f"{side}_knee", -Y, (-160, -2), 1.0, knee_stiffness, 0.006, at=(0, 0, 0.02))],
            [Part(0.049, (0, 0, 0), (0, 0, -0.3))], density,
        )  # fmt: skip
        foot = [Part(0.075, (0, 0, 0.1), (0, 0, 0.1))]
        _add(skeleton, f"{side}_foot", shin, _at((0, 0, -0.45)), [], foot, density)
    for side, s in (("right", 1.0), ("left", -1.0)):
        reach = (-85, 60) if s > 0.0 else (-60, 85)
        upper = _add(
            skeleton, f"{side}_upper_arm", torso, _at((0, -0.17 * s, 0.06)),
            [
                turn(f"{side}_shoulder1", (2, s, 1), reach, 1.0, 1.0, 0.0068),
                turn(f"{side}_shoulder2", (0, -s, 1), reach, 1.0, 1.0, 0.0051),
            ],
            [Part(0.04, (0, 0, 0), (0.16, -0.16 * s, -0.16))], density,
        )  # fmt: skip
        _add(
            skeleton, f"{side}_lower_arm", upper, _at((0.18, -0.18 * s, -0.18)),
            [turn(f"{side}_elbow", (0, -1, s), (-90, 50), 1.0, 0.0, 0.0028)],
            [
                Part(0.031, (0.01, 0.01 * s, 0.01), (0.17, 0.17 * s, 0.17)),
                Part(0.04, (0.18, 0.18 * s, 0.18), (0.18, 0.18 * s, 0.18)),
            ],
            density,
        )  # fmt: skip
    skeleton.self_collision = True
    return _world(skeleton, 0.003, 0.001)


def reacher() -> World:
    """An arm of two links of 0.1 m that turn about z, and a target that is put somewhere in their plane."""
    arm = Skeleton("arm")
    blue, red = (0.0, 0.4, 0.6), (0.9, 0.2, 0.2)
    link = Part(0.01, (0, 0, 0), (0.1, 0, 0), color=blue)
    first = _add(arm, "body0", None, _at((0, 0, 0.01)), [Turn("joint0", Z, -np.inf, np.inf)], [link], 1000.0)
    second = _add(arm, "body1", first, _at((0.1, 0, 0)), [Turn("joint1", Z, -3.0, 3.0)], [link], 1000.0)
    tip = Part(0.01, (0, 0, 0), (0, 0, 0), color=(0.0, 0.8, 0.6))
    _add(arm, "fingertip", second, _at((0.11, 0, 0)), [], [tip], 1000.0)
    target = Skeleton("target")
    limits = {"position_lower_limit": -0.27, "position_upper_limit": 0.27}
    slide = PrismaticJoint("target_x", axis=X, transform_from_parent=_at((0, 0, 0.01)), **limits)
    carriage = target.add_body("carriage", slide)
    spot = target.add_body(
        "target",
        PrismaticJoint("target_y", axis=Y, **limits),
        carriage,
        Inertia.from_shape(Sphere(0.009), density=1000.0),
    )
    spot.add_shape(Sphere(0.009), color=red)
    world = World("reacher", time_step=0.01)
    for skeleton in (arm, target):
        for body in skeleton.bodies:
            body.collidable = False
        world.add_skeleton(skeleton)
    return world
