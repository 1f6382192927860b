"""Sensors of a compiled model as readings by name, in its order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kido.actuation import Actuators
from kido.arrays import fixed
from kido.attributes import FixedAttributes
from kido.errors import NameLookupError
from kido.io.mjcf.compiler import mujoco
from kido.io.mjcf.remarks import LeftOut
from kido.io.mjcf.trees import Trees, pose
from kido.io.mjcf.zones import Zone
from kido.reprs import brief
from kido.simulation import World
from kido.skeleton import BodyNode, DegreeOfFreedom

__all__ = ["Sensor", "SensorReader", "Sensors"]

Array = NDArray[np.float64]
Reading = Callable[[World], Any]
BODY, XBODY, GEOM, SITE, CAMERA = 1, 2, 5, 6, 7  # mjtObj
POSITIVE = 1  # of mjtDataType
FRAMES = {  # where a kind of objects has its pose in its body: position and quaternion, body
    BODY: ("body_ipos", "body_iquat", None),
    XBODY: (None, None, None),
    GEOM: ("geom_pos", "geom_quat", "geom_bodyid"),
    SITE: ("site_pos", "site_quat", "site_bodyid"),
    CAMERA: ("cam_pos", "cam_quat", "cam_bodyid"),
}


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


@dataclass(frozen=True)
class Sensor:
    """A reading.

    Attributes:
        name: for lookup.
        kind: as in MuJoCo, in small letters: "accelerometer", "jointpos" and so on.
        size: how many numbers.
        read: of a world.
        low, high: within which each number is brought.
    """

    name: str
    kind: str
    size: int
    read: Reading = field(repr=False)
    low: float = -np.inf
    high: float = np.inf


class Sensors(FixedAttributes, Mapping[str, Array]):
    """Readings of a world by name: ``sensors["gyro"]``; `data` has all of them one after the other.

    Of positions and velocities as they are; of accelerations and of forces of contacts as they were in the last step.
    Noise is not added, as in MuJoCo.

    Args:
        world: whose.
        sensors: in order.
    """

    def __init__(self, world: World, sensors: list[Sensor]):
        self._world = world
        self._sensors = {sensor.name: sensor for sensor in sensors}

    def __getitem__(self, name: str) -> Array:
        if name not in self._sensors:
            raise NameLookupError("sensor", name, list(self._sensors))
        sensor = self._sensors[name]
        value = np.asarray(sensor.read(self._world), float).reshape(sensor.size)
        return fixed(np.clip(value, sensor.low, sensor.high))

    def __iter__(self) -> Iterator[str]:
        return iter(self._sensors)

    def __len__(self) -> int:
        return len(self._sensors)

    @property
    def kinds(self) -> dict[str, str]:
        """What each is: "accelerometer", "jointpos" and so on, by name."""
        return {name: sensor.kind for name, sensor in self._sensors.items()}

    @property
    def data(self) -> Array:
        """All readings one after the other, as MuJoCo's `sensordata`."""
        return fixed(np.concatenate([self[name] for name in self] or [np.zeros(0)]))

    def __repr__(self) -> str:
        return f"Sensors({len(self)} sensors)"


class SensorReader:
    """Makes the sensors of a model.

    Args:
        trees: bodies and coordinates.
        actuators: of the world, if it has any.
    """

    def __init__(self, trees: Trees, actuators: Actuators | None, left_out: LeftOut):
        self.model, self.trees, self.left_out = trees.model, trees, left_out
        self.names = [] if actuators is None else actuators.names
        self.tendons = [] if actuators is None else actuators.tendon_names

    def sensors(self) -> list[Sensor]:
        """Those that can be made, in order."""
        made = []
        m = self.model
        for k in range(int(m.nsensor)):
            name, kind = m.sensor(k).name, _kind_of(int(m.sensor_type[k]))
            for key in ("delay", "interval"):
                if np.any(getattr(m, f"sensor_{key}")[k]):
                    self.left_out.add(f"{key} of sensors is left out", name)
            read = self._reading(k, kind)
            if read is None:
                self.left_out.add(f"sensors of kind {kind} are left out", name)
                continue
            cutoff = float(m.sensor_cutoff[k]) or np.inf
            low = -np.inf if int(m.sensor_datatype[k]) == POSITIVE else -cutoff
            if int(m.sensor_datatype[k]) > POSITIVE:  # axes and quaternions
                low, cutoff = -np.inf, np.inf
            made.append(Sensor(name, kind, int(m.sensor_dim[k]), read, low, cutoff))
        return made

    def _reading(self, k: int, kind: str) -> Reading | None:
        m, number = self.model, int(self.model.sensor_objid[k])
        if kind in OF_DOFS:
            return ReadingOf(OF_DOFS[kind], self.trees.dofs[int(m.jnt_dofadr[number])])
        if kind in OF_BALLS:
            return ReadingOf(OF_BALLS[kind], self.trees.dofs[int(m.jnt_dofadr[number])].joint)
        if kind in OF_ACTUATORS:
            names = self.tendons if kind.startswith("tendon") else self.names
            own = m.tendon(number).name if kind.startswith("tendon") else m.actuator(number).name
            return ReadingOf(of_actuators, OF_ACTUATORS[kind], names.index(own)) if own in names else None
        if kind in OF_FRAMES:
            reference = int(m.sensor_refid[k])
            base = None if reference < 0 else self._frame(int(m.sensor_reftype[k]), reference)
            return ReadingOf(OF_FRAMES[kind], self._frame(int(m.sensor_objtype[k]), number), base)
        if kind in OF_SITES:
            return ReadingOf(OF_SITES[kind], self._frame(SITE, number))
        if kind == "touch":
            return ReadingOf(touch, self._frame(SITE, number), Zone.of_site(m, number))
        if kind.startswith("subtree"):
            return ReadingOf(SUBTREES[kind], self._subtree(number)) if kind in SUBTREES else None
        if kind == "magnetometer":
            return ReadingOf(magnetometer, self._frame(SITE, number), np.array(m.opt.magnetic))
        return {"clock": clock, "e_kinetic": kinetic_energy}.get(kind)

    def _frame(self, kind: int, number: int) -> Frame:
        m = self.model
        position, quaternion, body = FRAMES[kind]
        b = number if body is None else int(getattr(m, body)[number])
        inside = np.eye(4)
        if position is not None and quaternion is not None:
            inside = pose(getattr(m, position)[number], getattr(m, quaternion)[number])
        return Frame(self.trees.bodies[b], inside)

    def _subtree(self, b: int) -> list[tuple[Frame, float, Array]]:
        """Inertial frames, masses and principal moments of a body and of all that hang on it."""
        m, inside = self.model, {b}
        for k in range(b + 1, int(m.nbody)):
            if int(m.body_parentid[k]) in inside:
                inside.add(k)
        return [
            (self._frame(BODY, k), float(m.body_mass[k]), np.array(m.body_inertia[k]))
            for k in sorted(inside)
            if m.body_mass[k] > 0.0
        ]


def _kind_of(number: int) -> str:
    return mujoco().mjtSensor(number).name.removeprefix("mjSENS_").lower()


# -- readings ------------------------------------------------------------------------------------------------


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


OF_DOFS = {"jointpos": joint_position, "jointvel": joint_velocity, "jointactfrc": joint_force}
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
}
SUBTREES = {"subtreecom": subtree_com, "subtreelinvel": subtree_velocity, "subtreeangmom": subtree_momentum}
