"""What sensors of all kinds do to what they measure; sensors of joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import ModelError
from kido.simulation import World
from kido.skeleton import Joint
from kido.systems import Input, MassPort, Model, Noise, Output, Parameter, PythonModel, State

WIDE = 1e300


def rounded(x: Any, resolution: Any) -> Any:
    """x to the nearest multiple of a resolution; as it is where that is 0."""
    step = np.maximum(resolution, 1e-300)
    return np.where(resolution > 0.0, step * np.rint(x / step), x)


def sampled(density: Any, period: float) -> Any:
    """Standard deviation of samples, of mean values over a period, of white noise: density / sqrt(T)."""
    return density / np.sqrt(period)


class Sensor(Model):
    """One number with the faults that sensors have.

        reading = clip(round(scale y + bias + noise, resolution), least, largest)
        y+ = y + (1 - exp(-T / lag)) (x - y),    bias+ = bias + walk sqrt(T) n

    T is the period; y is x itself without a lag. `noise` and `walk` are densities: `noise` / sqrt(T) is the standard
    deviation of a reading, `walk` sqrt(t) that of what the bias moves in a time t.

    Source: IEEE Std 952-1997, annex C (angle random walk, rate random walk).
    """

    rate = 1000
    scale = Parameter(1.0)
    noise = Parameter(0.0, low=0.0, doc="density, unit of the reading by sqrt(Hz)")
    walk = Parameter(0.0, low=0.0, doc="of the bias, unit of the reading by s sqrt(Hz)")
    resolution = Parameter(0.0, low=0.0, doc="0: none")
    least, largest = Parameter(-WIDE), Parameter(WIDE)
    lag = Parameter(0.0, "s", low=0.0)
    measured = Input()
    reading = Output()
    bias = State(doc="present value")
    followed = State(doc="y")
    n, w = Noise(), Noise()

    def seen(self) -> Any:
        """What is measured, after the lag."""
        return np.where(self.lag > 0.0, self.followed, self.measured)

    def read(self, x: Any) -> Any:
        """A number x with bias, noise, steps and ends."""
        x = x + self.bias + sampled(self.noise, self.period) * self.n
        return np.clip(rounded(x, self.resolution), self.least, self.largest)

    def outputs(self):
        return {"reading": self.read(self.scale * self.seen())}

    def update(self):
        share = 1.0 - np.exp(-self.period / np.maximum(self.lag, 1e-300))
        return {
            "bias": self.bias + self.walk * np.sqrt(self.period) * self.w,
            "followed": self.followed + share * (self.measured - self.followed),
        }


class Tachometer(Sensor):
    """Speed of a joint as a voltage: `scale` [V s/rad], with ripple as noise and the lag of its filter."""

    measured, reading = Input("rad/s"), Output("V")


class TorqueSensor(Sensor):
    """Torque in a joint, by strain gauges."""

    measured, reading = Input("N m"), Output("N m")


class ForceSensor(Sensor):
    """Force along one axis, by strain gauges or a load cell."""

    measured, reading = Input("N"), Output("N")


class Potentiometer(Sensor):
    """Angle of a joint as a share of a supply voltage: supply (q - first) / (last - first), held at its ends."""

    supply = Parameter(5.0, "V")
    first, last = Parameter(-np.pi, "rad"), Parameter(np.pi, "rad")
    measured, reading = Input("rad"), Output("V")

    def outputs(self):
        share = np.clip((self.seen() - self.first) / (self.last - self.first), 0.0, 1.0)
        return {"reading": self.read(self.scale * self.supply * share)}


class Encoder(Model):
    """An incremental encoder: the angle in whole counts, and its velocity by counts between two samples.

    count = floor((q - offset) counts / (2 pi)),    position = 2 pi count / counts + offset
    """

    rate = 1000
    counts = Parameter(4096.0, low=1.0, doc="per turn, all edges counted")
    offset = Parameter(0.0, "rad", doc="angle of count 0")
    angle = Input("rad")
    position = Output("rad")
    velocity = Output("rad/s", doc="0 at the first sample")
    count = State("1")
    moved = State("1", doc="counts since the sample before")
    samples = State("1", doc="number of samples, at most 1")

    def outputs(self):
        size = 2.0 * np.pi / self.counts
        return {"position": size * self.count + self.offset, "velocity": size * self.moved / self.period}

    def update(self):
        count = np.floor((self.angle - self.offset) * self.counts / (2.0 * np.pi))
        return {"count": count, "moved": self.samples * (count - self.count), "samples": 1.0}


class ForceTorqueSensor(PythonModel):
    """All six components of what a joint carries, as a sensor in a wrist or a foot that is a weld does.

        [force; torque] from parent to child = rate of momentum of what is behind the joint
                                               - its weight - its contacts' forces,    + bias + noise

    about the joint, in axes of its child body, of the last step of the world. Forces that other models give to bodies
    behind the joint, by a `BodyPort`, are to be connected as well, about the joint in world axes: it carries them too.
    Springs, motors and friction of the joint itself are part of what it carries. Bodies with a `MassPort` are taken
    with the mass that it has now. Biases walk.

    Args:
        joint: of a skeleton in the system's world.
        values: name, rate and others as of models.

    Raises:
        ModelError: no joint of a skeleton.

    Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 5.3; noise as of `Sensor`.
    """

    rate = 1000
    force_noise = Parameter(0.0, "N", low=0.0, doc="density: by sqrt(Hz)")
    torque_noise = Parameter(0.0, "N m", low=0.0, doc="density: by sqrt(Hz)")
    force_walk = Parameter(0.0, "N/s", low=0.0, doc="of the bias: by sqrt(Hz)")
    torque_walk = Parameter(0.0, "N m/s", low=0.0, doc="of the bias: by sqrt(Hz)")
    given_force, given_torque = Input("N", 3, default=0.0), Input("N m", 3, default=0.0)
    force, torque = Output("N", 3), Output("N m", 3)
    force_bias, torque_bias = State("N", (0.0, 0.0, 0.0)), State("N m", (0.0, 0.0, 0.0))
    n, m, v, w = Noise(3), Noise(3), Noise(3), Noise(3)

    def __init__(self, joint: Joint, name: str | None = None, *, rate: Any = None, **values: Any):
        super().__init__(name, rate=rate, **values)
        if not isinstance(joint, Joint) or joint.skeleton is None:
            raise ModelError(f"model {self.name!r}: expected a joint of a skeleton, got {joint!r}")
        self._joint = joint
        self._massive: tuple[Any, list[tuple[MassPort, int]]] = None, []  # of one structure: ports behind, their values

    @property
    def joint(self) -> Joint:
        """That carries."""
        return self._joint

    def outputs(self):
        body = self._joint.child
        R, at = np.asarray(body.world_transform)[:3, :3], np.asarray(body.world_transform)[:3, 3]
        carried = np.array(self._joint.reaction_wrench())
        world = self.system_of(self.path).world
        if world is not None:
            contacts = world.contacts
            for own in body.subtree:
                carried -= contacts.wrench_on(own, at)
            carried += self._of_masses(world, at)
        to_joint = R @ np.asarray(self._joint.transform_from_child)[:3, 3]
        force = carried[3:] - self.given_force
        torque = carried[:3] - np.cross(to_joint, carried[3:]) - self.given_torque
        root = np.sqrt(self.period)
        return {
            "force": R.T @ force + self.force_bias + self.force_noise / root * self.n,
            "torque": R.T @ torque + self.torque_bias + self.torque_noise / root * self.m,
        }

    def _of_masses(self, world: World, at: np.ndarray) -> np.ndarray:
        """What the mass that ports give bodies behind the joint adds, [torque; force] about a point, world axes.

        (m / m_0 - 1) (rate of momentum - weight) of each: centre and shape stay, moments scale with the mass.
        """
        system = self.system_of(self.path)
        engine, found = system.engine, np.zeros(6)
        if self._massive[0] is not engine:
            behind = set(self._joint.child.subtree)
            ports = [m for m in system.models if isinstance(m, MassPort) and m.body in behind]
            self._massive = engine, [(m, engine.linked.of(m.port("mass"))[0]) for m in ports]
        for port, slot in self._massive[1]:
            body = port.body
            more = engine.value[slot] / body.mass - 1.0
            X, own = np.asarray(body.world_transform), body.inertia
            R, w = X[:3, :3], body.angular_velocity()
            c, J = X[:3, 3] + R @ own.com, R @ np.asarray(own.moment) @ R.T
            force = own.mass * (body.linear_acceleration(own.com) - world.gravity)
            torque = J @ body.angular_acceleration() + np.cross(w, J @ w) + np.cross(c - at, force)
            found += more * np.concatenate([torque, force])
        return found

    def update(self):
        root = np.sqrt(self.period)
        return {
            "force_bias": self.force_bias + self.force_walk * root * self.v,
            "torque_bias": self.torque_bias + self.torque_walk * root * self.w,
        }
