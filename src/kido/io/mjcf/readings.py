"""What sensors of MJCF read of a world: functions of its state, by MuJoCo's kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kido.actuation import Actuators
from kido.collision import KidoCollisionDetector, Placed, RaycastOption
from kido.io.mjcf.zones import Zone
from kido.reprs import brief
from kido.simulation import World
from kido.skeleton import BodyNode, DegreeOfFreedom, ShapeNode

Array = NDArray[np.float64]
SMALL = 1e-15  # MuJoCo's smallest divisor
FARTHEST = 1000.0  # [m] that rangefinders look


@dataclass(frozen=True)
class Frame:
    """A frame on a body."""

    body: BodyNode
    inside: Array
    __repr__ = brief

    @property
    def pose(self) -> Array:
        """(4, 4) in the world."""
        return np.asarray(self.body.world_transform) @ self.inside

    @property
    def velocity(self) -> tuple[Array, Array]:
        """Angular and linear, world axes."""
        s = self.body.skeleton
        if not s.num_dofs:
            return np.zeros(3), np.zeros(3)
        twist = np.asarray(s.jacobian(self.body, self.inside[:3, 3])) @ s.velocities
        return twist[:3], twist[3:]

    @property
    def acceleration(self) -> tuple[Array, Array]:
        """Angular, and linear less gravity, which is what is felt; world axes, by the skeleton's accelerations."""
        s, felt = self.body.skeleton, np.zeros(6)
        if s.num_dofs:
            felt = np.asarray(s.jacobian(self.body, self.inside[:3, 3])) @ s.accelerations
            felt = felt + np.asarray(s.jacobian_classic_derivative(self.body, self.inside[:3, 3])) @ s.velocities
        return felt[:3], felt[3:] - np.asarray(s.gravity)


class ReadingOf:
    """A function of a world and of more, which goes with its world when that is copied."""

    def __init__(self, function: Callable[..., Any], *arguments: Any):
        self.function, self.arguments = function, arguments

    def __call__(self, world: World) -> Any:
        return self.function(world, *self.arguments)


def of_actuators(world: World, key: str, index: int) -> float:
    """One number of what actuators or tendons have."""
    return float(getattr(Actuators.of(world), key)[index])


def joint_position(world: World, dof: DegreeOfFreedom) -> float:
    """Position of a coordinate [m, rad]."""
    return dof.position


def joint_velocity(world: World, dof: DegreeOfFreedom) -> float:
    """Velocity of a coordinate [m/s, rad/s]."""
    return dof.velocity


def joint_force(world: World, dof: DegreeOfFreedom) -> float:
    """Force of all actuators on a coordinate [N, N m]."""
    return float(Actuators.of(world).joint_forces(dof.joint.child.skeleton)[dof.index])


def ball_quaternion(world: World, joint: Any) -> Array:
    """Of a ball joint (w, x, y, z)."""
    return _unique(Rotation.from_rotvec(np.asarray(joint.positions)).as_quat(scalar_first=True))


def ball_velocity(world: World, joint: Any) -> Array:
    """Angular velocity of a ball joint, axes of the child."""
    return np.asarray(joint.velocities)


def frame_position(world: World, frame: Frame, base: Frame | None) -> Array:
    """Of its origin, in the base."""
    X = frame.pose if base is None else np.linalg.inv(base.pose) @ frame.pose
    return X[:3, 3]


def frame_quaternion(world: World, frame: Frame, base: Frame | None) -> Array:
    """Of its axes, in the base (w, x, y, z)."""
    X = frame.pose if base is None else np.linalg.inv(base.pose) @ frame.pose
    return _unique(Rotation.from_matrix(X[:3, :3]).as_quat(scalar_first=True))


def _unique(q: Array) -> Array:
    """The one of two quaternions of a rotation whose first number is not negative."""
    return -q if q[0] < 0.0 else q


def frame_x(world: World, frame: Frame, base: Frame | None) -> Array:
    """Its axis x, in the base."""
    return (frame.pose if base is None else np.linalg.inv(base.pose) @ frame.pose)[:3, 0]


def frame_y(world: World, frame: Frame, base: Frame | None) -> Array:
    """Its axis y, in the base."""
    return (frame.pose if base is None else np.linalg.inv(base.pose) @ frame.pose)[:3, 1]


def frame_z(world: World, frame: Frame, base: Frame | None) -> Array:
    """Its axis z, in the base."""
    return (frame.pose if base is None else np.linalg.inv(base.pose) @ frame.pose)[:3, 2]


def frame_linear_velocity(world: World, frame: Frame, base: Frame | None) -> Array:
    """Rate of its position in the base."""
    _, v = frame.velocity
    if base is None:
        return v
    w_base, v_base = base.velocity
    X = base.pose
    return X[:3, :3].T @ (v - v_base - np.cross(w_base, frame.pose[:3, 3] - X[:3, 3]))


def frame_angular_velocity(world: World, frame: Frame, base: Frame | None) -> Array:
    """Relative to the base, in its axes."""
    w, _ = frame.velocity
    return w if base is None else base.pose[:3, :3].T @ (w - base.velocity[0])


def frame_linear_acceleration(world: World, frame: Frame, base: Frame | None) -> Array:
    """Of its origin less gravity, world axes."""
    return frame.acceleration[1]


def frame_angular_acceleration(world: World, frame: Frame, base: Frame | None) -> Array:
    """World axes."""
    return frame.acceleration[0]


def accelerometer(world: World, site: Frame) -> Array:
    """Acceleration of a site less gravity, its axes."""
    return site.pose[:3, :3].T @ site.acceleration[1]


def velocimeter(world: World, site: Frame) -> Array:
    """Velocity of a site, its axes."""
    return site.pose[:3, :3].T @ site.velocity[1]


def gyro(world: World, site: Frame) -> Array:
    """Angular velocity of a site, its axes."""
    return site.pose[:3, :3].T @ site.velocity[0]


def magnetometer(world: World, site: Frame, flux: Array) -> Array:
    """Magnetic flux, axes of a site."""
    return site.pose[:3, :3].T @ flux


def _carried(world: World, site: Frame) -> Array:
    """[torque; force] that the parent exerts on the body of a site, about the site, world axes."""
    at, origin = site.pose[:3, 3], np.asarray(site.body.world_transform)[:3, 3]
    wrench = np.array(site.body.parent_joint.reaction_wrench())
    wrench[:3] += np.cross(origin - at, wrench[3:])
    for body in site.body.subtree:
        wrench -= world.contacts.wrench_on(body, at)
    return wrench


def force(world: World, site: Frame) -> Array:
    """Force that the parent exerts on the body of a site, axes of the site [N]."""
    return site.pose[:3, :3].T @ _carried(world, site)[3:]


def torque(world: World, site: Frame) -> Array:
    """Torque about a site that the parent exerts on its body, axes of the site [N m]."""
    return site.pose[:3, :3].T @ _carried(world, site)[:3]


def touch(world: World, site: Frame, zone: Zone) -> float:
    """Sum of normal forces of a body's contacts in its site, or whose normals away from the body meet it [N]."""
    contacts, X, total = world.contacts, site.pose, 0.0
    for k, (a, b) in enumerate(zip(contacts.body_a, contacts.body_b, strict=True)):
        if site.body is a or site.body is b:
            normal = np.asarray(contacts.normals[k])
            push = abs(float(normal @ contacts.forces[k]))
            outwards = normal if site.body is a else -normal
            if push > 0.0 and zone.is_hit(X[:3, :3].T @ (contacts.points[k] - X[:3, 3]), X[:3, :3].T @ outwards):
                total += push
    return total


def rangefinder(world: World, site: Frame) -> float:
    """Distance along a site's axis z to the first shape that collides, of other bodies; -1 where there is none in
    `FARTHEST` [m]. MuJoCo meets shapes that are only seen too, and from within what it starts in."""
    X = site.pose
    others = RaycastOption(filter=lambda shape: getattr(shape, "body", None) is not site.body)
    found = world.collision_group.raycast(X[:3, 3], X[:3, 3] + FARTHEST * X[:3, 2], others)
    return FARTHEST * float(found.fractions[0]) if found.hit[0] else -1.0


@dataclass(frozen=True)
class Lens:
    """What a camera of MJCF makes of points in its axes, which look along -z.

    Attributes:
        focal: (2,) focal lengths in pixels.
        centre: (2,) half of the image's pixels.
    """

    focal: Array
    centre: Array
    __repr__ = brief


def camera_projection(world: World, site: Frame, camera: Frame, lens: Lens) -> Array:
    """Pixel (2,) at which a camera sees a site, counted from the image's upper left corner."""
    x, y, z = np.linalg.inv(camera.pose)[:3] @ site.pose[:, 3]
    z = z if abs(z) > SMALL else SMALL
    return lens.centre + lens.focal * np.array([-x, y]) / z


def inside_site(world: World, frame: Frame, site: Frame, zone: Zone) -> float:
    """1 if the origin of a frame is in the volume of a site, else 0."""
    X = site.pose
    return float(zone.contains(X[:3, :3].T @ (frame.pose[:3, 3] - X[:3, 3])))


def limit_distance(world: World, dof: DegreeOfFreedom) -> float:
    """How far a coordinate is beyond its nearer limit, negative [m, rad]; 0 within its range."""
    return min(dof.position - dof.position_lower_limit, dof.position_upper_limit - dof.position, 0.0)


def limit_velocity(world: World, dof: DegreeOfFreedom) -> float:
    """Rate of that [m/s, rad/s]; 0 within its range."""
    if dof.position < dof.position_lower_limit:
        return dof.velocity
    return -dof.velocity if dof.position > dof.position_upper_limit else 0.0


def tendon_limit(world: World, index: int, lower: float, upper: float, rate: bool) -> float:
    """The same of a tendon's length, or of its rate."""
    made = Actuators.of(world)
    length, speed = float(made.tendon_lengths[index]), float(made.tendon_velocities[index])
    if length < lower:
        return speed if rate else length - lower
    if length > upper:
        return -speed if rate else upper - length
    return 0.0


def nearest(world: World, first: list[ShapeNode], second: list[ShapeNode], most: float, what: str) -> Any:
    """Least distance [m] of two sets of shapes, up to `most`; its direction, from the first to the second; or its ends.

    Where they are farther apart `most`, or zeros.
    """
    group_a, group_b = (
        KidoCollisionDetector().create_group(*(Placed(n.shape, n.body, n.relative_transform) for n in nodes))
        for nodes in (first, second)
    )
    found = group_a.distance(group_b)
    if not found.distance < most:
        return most if what == "geomdist" else np.zeros(3 if what == "geomnormal" else 6)
    if what == "geomdist":
        return found.distance
    return found.normal if what == "geomnormal" else np.concatenate([found.point_a, found.point_b])


def potential_energy(
    world: World, parts: Parts, gravity: Array, springs: list[tuple[DegreeOfFreedom, float, float]], strings: list[Any]
) -> float:
    """Of weight, with all of gravity, of springs at coordinates and of tendons [J]."""
    total = -sum(m * float(gravity @ f.pose[:3, 3]) for f, m, _ in parts)
    total += sum(0.5 * k * (dof.position - rest) ** 2 for dof, k, rest in springs)
    for index, k, low, high in strings:
        length = float(Actuators.of(world).tendon_lengths[index])
        total += 0.5 * k * max(low - length, length - high, 0.0) ** 2
    return total


Parts = list[tuple[Frame, float, Array]]


def subtree_com(world: World, parts: Parts) -> Array:
    """Centre of mass [m]."""
    return sum((m * f.pose[:3, 3] for f, m, _ in parts), np.zeros(3)) / sum(m for _, m, _ in parts)


def subtree_velocity(world: World, parts: Parts) -> Array:
    """Velocity of the centre of mass [m/s]."""
    return sum((m * f.velocity[1] for f, m, _ in parts), np.zeros(3)) / sum(m for _, m, _ in parts)


def subtree_momentum(world: World, parts: Parts) -> Array:
    """Angular momentum about the centre of mass [kg m^2/s]."""
    centre, mean, total = subtree_com(world, parts), subtree_velocity(world, parts), np.zeros(3)
    for f, m, moments in parts:
        X, (w, v) = f.pose, f.velocity
        total += X[:3, :3] @ (moments * (X[:3, :3].T @ w)) + m * np.cross(X[:3, 3] - centre, v - mean)
    return total


def clock(world: World) -> float:
    """Time [s]."""
    return world.time


def kinetic_energy(world: World) -> float:
    """Of all skeletons [J]."""
    return sum(s.kinetic_energy for s in world.skeletons)


OF_DOFS = {
    "jointpos": joint_position,
    "jointvel": joint_velocity,
    "jointactfrc": joint_force,
    "jointlimitpos": limit_distance,
    "jointlimitvel": limit_velocity,
}
OF_GEOMS = ("geomdist", "geomnormal", "geomfromto")
OF_BALLS = {"ballquat": ball_quaternion, "ballangvel": ball_velocity}
OF_ACTUATORS = {
    "tendonpos": "tendon_lengths",
    "tendonvel": "tendon_velocities",
    "tendonactfrc": "tendon_forces",
    "actuatorpos": "lengths",
    "actuatorvel": "velocities",
    "actuatorfrc": "forces",
}
OF_FRAMES = {
    "framepos": frame_position,
    "framequat": frame_quaternion,
    "framexaxis": frame_x,
    "frameyaxis": frame_y,
    "framezaxis": frame_z,
    "framelinvel": frame_linear_velocity,
    "frameangvel": frame_angular_velocity,
    "framelinacc": frame_linear_acceleration,
    "frameangacc": frame_angular_acceleration,
}
OF_SITES = {
    "accelerometer": accelerometer,
    "velocimeter": velocimeter,
    "gyro": gyro,
    "force": force,
    "torque": torque,
    "rangefinder": rangefinder,
}
SUBTREES = {"subtreecom": subtree_com, "subtreelinvel": subtree_velocity, "subtreeangmom": subtree_momentum}
OF_WORLDS = {"clock": clock, "e_kinetic": kinetic_energy}
