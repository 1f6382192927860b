"""A quadruped whose legs are planar five-bar linkages: loops of one skeleton that stand on the ground.

Each leg has two hips across the trunk's y axis, a thigh and a shank on each, and the shanks meet in a hinge at the
foot: four coordinates, of which the loop leaves two, and both hips are driven. Hips are `SPAN` before and behind the
middle of the leg, thighs point outwards, so that the leg is a diamond. The trunk is on a free joint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

import kido
from trees import at

Array = NDArray[np.float64]
Y = (0.0, 1.0, 0.0)
THIGH, SHANK, SPAN = 0.2, 0.3, 0.05  # [m]
TRUNK = (0.5, 0.3, 0.1)  # [m]
FOOT = 0.02  # [m] radius, or half the side of a box
HEIGHT = 0.35  # [m] of the hips above the feet, standing
MASSES = {"trunk": 6.0, "thigh": 0.25, "shank": 0.15}  # [kg]
LEGS = {"fl": (1, 1), "fr": (1, -1), "hl": (-1, 1), "hr": (-1, -1)}  # sides along x and y
PARTS = ("fore_thigh", "fore_shank", "back_thigh", "back_shank")
ROOT_DOFS = 6


def leg_angles(foot_x: float = 0.0, height: float = HEIGHT) -> Array:
    """Joint angles of a leg whose foot is at (foot_x, -height) of the middle of its hips, knees outwards.

    A bar at angle a points along (-sin a, -cos a): by the law of cosines in each half of the leg.
    """
    angles = []
    for side in (1.0, -1.0):
        way = np.array([foot_x - side * SPAN, -height])
        reach = np.hypot(*way)
        lean = np.arccos((THIGH**2 + reach**2 - SHANK**2) / (2.0 * THIGH * reach))
        thigh = np.arctan2(-way[0], -way[1]) - side * lean
        knee = THIGH * _way(thigh)
        shank = np.arctan2(-(way - knee)[0], -(way - knee)[1])
        angles += [thigh, shank - thigh]
    return np.array(angles)


def _bar(length: float, mass: float) -> kido.Inertia:
    return kido.Inertia.from_shape(kido.Box((0.02, 0.02, length)), mass=mass, transform=at(0, 0, -0.5 * length))


def quadruped(
    loop: str = "revolute",
    feet: str = "sphere",
    friction: float = 1.0,
    name: str = "legs",
    damping: float = 0.0,
    **loop_options: float,
) -> tuple[kido.Skeleton, list[kido.Constraint]]:
    """The robot, standing at the origin, and the constraints of its loops; these are to be added to its world.

    Args:
        loop: "revolute" (five rows, three of which nothing moves) or "ball" (three rows, of which one).
        feet: "sphere" or "box"; "" for none, nor a trunk that collides.
        friction: of what collides.
        name: of the skeleton.
        damping: of all joints of the legs [N m s].
        **loop_options: of the loops' constraints, as breaking_force.
    """
    robot = kido.Skeleton(name)
    trunk = robot.add_body(
        "trunk", kido.FreeJoint("root"), inertia=kido.Inertia.from_shape(kido.Box(TRUNK), mass=MASSES["trunk"])
    )
    if feet:
        trunk.add_shape(kido.Box(TRUNK), friction=friction)
    angles, loops = leg_angles(), []
    for leg, (x, y) in LEGS.items():
        ends = []
        for k, (half, side) in enumerate((("fore", 1.0), ("back", -1.0))):
            hip = at(0.2 * x + side * SPAN, 0.17 * y, 0.0)
            thigh = robot.add_body(
                f"{leg}_{half}_thigh",
                kido.RevoluteJoint(f"{leg}_{half}_hip", axis=Y, transform_from_parent=hip, damping=damping),
                trunk,
                _bar(THIGH, MASSES["thigh"]),
            )
            knee = kido.RevoluteJoint(
                f"{leg}_{half}_knee", axis=Y, transform_from_parent=at(0, 0, -THIGH), damping=damping
            )
            shank = robot.add_body(f"{leg}_{half}_shank", knee, thigh, _bar(SHANK, MASSES["shank"]))
            thigh.parent_joint.positions = angles[2 * k : 2 * k + 1]
            knee.positions = angles[2 * k + 1 : 2 * k + 2]
            ends.append(shank)
        if feet:
            shape = kido.Sphere(FOOT) if feet == "sphere" else kido.Box((2 * FOOT,) * 3)
            ends[0].add_shape(shape, at(0, 0, -SHANK), friction=friction)
        where = ends[0].world_transform @ [0.0, 0.0, -SHANK, 1.0]
        options = {"name": f"{leg}_foot", **loop_options}
        if loop == "ball":
            loops.append(kido.BallJointConstraint(*ends, at=where[:3], **options))
        else:
            loops.append(kido.RevoluteJointConstraint(*ends, at=where[:3], axis=Y, **options))
    robot.positions = standing(robot)
    return robot, loops


def standing(robot: kido.Skeleton, x: float = 0.0, y: float = 0.0, lift: float = 0.0) -> Array:
    """Positions on level ground, spheres' lowest points `lift` above it."""
    q = np.zeros(robot.num_dofs)
    q[3:6] = x, y, HEIGHT + FOOT + lift
    for k in range(len(LEGS)):
        q[ROOT_DOFS + 4 * k : ROOT_DOFS + 4 * k + 4] = leg_angles()
    return q


def hips(robot: kido.Skeleton) -> list[int]:
    """Numbers of the driven coordinates."""
    return [dof.index for dof in robot.dofs if dof.joint.name.endswith("hip")]


def held_by_springs(robot: kido.Skeleton, stiffness: float = 60.0, damping: float = 2.0) -> None:
    """PD control of the hips towards the present pose by the joints' own springs and dampers, within compiled steps."""
    for joint in robot.joints:
        if joint.name.endswith("hip"):
            joint.rest_position = joint.positions
            joint.spring_stiffness, joint.damping = stiffness, damping


def pd_forces(robot: kido.Skeleton, wanted: Array, stiffness: float = 60.0, damping: float = 2.0) -> Array:
    """Joint forces of PD control of the hips towards positions `wanted`."""
    forces, driven = np.zeros(robot.num_dofs), hips(robot)
    forces[driven] = stiffness * (wanted - robot.positions)[driven] - damping * robot.velocities[driven]
    return forces


def foot_gaps(q: Array) -> Array:
    """Where the back shank's end is from the fore one's, in the trunk's x and z axes, (legs, 2) [m]."""
    gaps = np.zeros((len(LEGS), 2))
    for k in range(len(LEGS)):
        for half, side in ((0, 1.0), (2, -1.0)):
            thigh = q[ROOT_DOFS + 4 * k + half]
            shank = thigh + q[ROOT_DOFS + 4 * k + half + 1]
            gaps[k] -= side * (THIGH * _way(thigh) + SHANK * _way(shank) + [side * SPAN, 0.0])
    return gaps


def _way(angle: float) -> Array:
    """Direction of a bar in the plane of its leg."""
    return np.array([-np.sin(angle), -np.cos(angle)])


def loops_jacobian(robot: kido.Skeleton, q: Array) -> Array:
    """Rows of the loops in the plane of each leg, (8, dofs), from positions of the shanks' ends alone.

    Rates of `foot_gaps` as the fore shank sees them: off the positions that close the loops its turn counts.
    """
    gaps = foot_gaps(q)
    rows = np.zeros((2 * len(LEGS), robot.num_dofs))
    for k in range(len(LEGS)):
        first, own = ROOT_DOFS + 4 * k, slice(2 * k, 2 * k + 2)
        for half, sign in ((0, -1.0), (2, 1.0)):
            thigh = q[first + half]
            shank = thigh + q[first + half + 1]
            of_shank = sign * SHANK * np.array([-np.cos(shank), np.sin(shank)])
            of_thigh = sign * THIGH * np.array([-np.cos(thigh), np.sin(thigh)])
            rows[own, first + half] = of_thigh + of_shank
            rows[own, first + half + 1] = of_shank
        for turning in (first, first + 1):
            rows[own, turning] -= gaps[k, 1], -gaps[k, 0]
    return rows


def legs_world(
    time_step: float = 1e-3, ground: bool = True, gravity=(0.0, 0.0, -9.81), solver: str = "auto", **options
) -> tuple[kido.World, kido.Skeleton, list[kido.Constraint]]:
    """The quadruped in a world of its own, on level ground or afloat."""
    world = kido.World(time_step=time_step, gravity=gravity)
    if ground:
        world.add_ground(friction=1.0)
    robot, loops = quadruped(feet="sphere" if ground else "", **options)
    world.add_skeleton(robot)
    for loop in loops:
        world.add_constraint(loop)
    world.loop_solver = solver
    return world, robot, loops


def set_in_motion(world: kido.World, robot: kido.Skeleton, seed: int = 0, size: float = 1.0) -> None:
    """Random velocities that keep the loops closed, and another pose of each leg."""
    rng = np.random.default_rng(seed)
    q = robot.positions.copy()
    q[:3] = rng.normal(0.0, 0.2, 3)
    for k in range(len(LEGS)):
        angles = leg_angles(rng.uniform(-0.05, 0.05), HEIGHT + rng.uniform(-0.04, 0.02))
        q[ROOT_DOFS + 4 * k : ROOT_DOFS + 4 * k + 4] = angles
    robot.positions = q
    allowed = null_space(loops_jacobian(robot, q))
    robot.velocities = size * allowed @ rng.normal(size=allowed.shape[1])
    assert world.close_constraints() < 1e-12


def is_embedded(world: kido.World) -> bool:
    """Whether the loops of all groups were compounds in the last step."""
    lp = world.constraint_system.container
    return bool(lp.embedded[: len(lp.group_slot) - 1].all())
