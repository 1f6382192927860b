"""Vehicles for space: a lander on legs, and a spacecraft with reaction wheels that are bodies of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kido.devices import (
    IMU,
    AttitudeEstimator,
    AttitudeFeedback,
    EigenaxisSlew,
    MomentumDumping,
    StarTracker,
    ThrusterCluster,
    WheelSet,
)
from kido.models.mechanisms import Mechanism, at
from kido.shapes import Box, Cone, Cylinder, Sphere
from kido.skeleton import FreeJoint, Inertia, PrismaticJoint, RevoluteJoint, Skeleton
from kido.systems import Assembly, BodyPort

SPREAD, FOOT = 1.25, -1.15  # [m] feet from the axis, and their centres below the hub's origin
PAD = 0.12  # [m] radius of a foot
ENGINES = np.array([(x, y, -0.45) for x in (0.5, -0.5) for y in (0.5, -0.5)])  # [m]
CANT = 0.08  # engines' tilt about the axis, by which two in a diagonal turn the hub [rad]
STRUT_STIFFNESS, STRUT_DAMPING, STRUT_LENGTH = 6000.0, 1500.0, 0.35  # [N/m], [N s/m], [m]
WHEEL_TILT = np.radians(35.2643897)  # [rad] of wheels' axes to the plane x, y: alike in all directions
WHEEL_INERTIA = 0.1  # [kg m^2] of a wheel about its axis
WHITE, GREY, DARK, GOLD, BLUE = (
    (0.9, 0.9, 0.88),
    (0.7, 0.72, 0.75),
    (0.18, 0.19, 0.22),
    (0.83, 0.66, 0.3),
    (0.16, 0.25, 0.5),
)


def lander() -> Mechanism:
    """A lander of 420 kg with 60 kg of propellant among them: a hub, z up, and four feet on struts.

    The hub's origin is its centre of mass. Coordinates: six of the hub; `strut_0` to `strut_3`, by which legs give way,
    against springs and dampers. `points` has the feet. Engines are at `ENGINES`, see `engine_directions`.
    """
    skeleton = Skeleton("lander")
    inertia = Inertia.from_diagonal(400.0, (150.0, 150.0, 200.0))
    hub = skeleton.add_body("hub", FreeJoint("hub"), inertia=inertia)
    hub.add_shape(Cylinder(0.75, 0.5), color=GOLD)
    hub.add_shape(Cylinder(0.55, 0.2), at(0, 0, 0.35), color=WHITE, collision=False)
    for side in (1.0, -1.0):
        hub.add_shape(Box((1.0, 0.9, 0.02)), at(0, side * 1.15, 0.26), color=BLUE, collision=False)
    for place in ENGINES:
        hub.add_shape(Cone(0.14, 0.3), at(*place), color=DARK, collision=False)
    made = Mechanism("lander", skeleton, [])
    for k, (x, y) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
        joint = PrismaticJoint(f"strut_{k}", axis=(0, 0, 1), transform_from_parent=at(SPREAD * x, SPREAD * y, FOOT))
        foot = skeleton.add_body(f"foot_{k}", joint, hub, Inertia.from_shape(Sphere(PAD), 5.0))
        dof = joint.dofs[0]
        dof.spring_stiffness, dof.damping = STRUT_STIFFNESS, STRUT_DAMPING
        dof.position_lower_limit, dof.position_upper_limit = -0.01, STRUT_LENGTH
        foot.add_shape(Sphere(PAD), color=GREY)
        foot.add_shape(*rod((0.0, 0.0, 0.0), (-0.55 * x, -0.55 * y, 1.0), 0.03), color=GREY, collision=False)
        made.points[f"foot_{k}"] = foot, np.zeros(3)
    return made


def engine_directions() -> np.ndarray:
    """Of the lander's engines (4, 3), body axes: up, and a little around it, one way and the other in turn."""
    around = np.cross((0.0, 0.0, 1.0), ENGINES)
    around /= np.linalg.norm(around, axis=1)[:, None]
    sign = np.sign(ENGINES[:, 0] * ENGINES[:, 1])[:, None]
    return np.cos(CANT) * np.array([0.0, 0.0, 1.0]) + np.sin(CANT) * sign * around


def spacecraft() -> Mechanism:
    """A spacecraft of 500 kg, its four reaction wheels in a pyramid about z as bodies of their own.

    Coordinates: six of the hub, whose origin is its centre of mass; `wheel_0` to `wheel_3`, turns about axes that
    `wheel_axes` has. Momentum of hub and wheels together is that of the skeleton.
    """
    skeleton = Skeleton("spacecraft")
    hub = skeleton.add_body("hub", FreeJoint("hub"), inertia=Inertia.from_diagonal(480.0, (300.0, 260.0, 200.0)))
    hub.add_shape(Box((1.2, 1.2, 1.6)), color=GOLD)
    hub.add_shape(Cone(0.5, 0.5), at(0, 0, -1.05), color=DARK)
    for side in (1.0, -1.0):
        hub.add_shape(Box((1.0, 3.0, 0.03)), at(0, side * 2.4, 0), color=BLUE)
    for k, axis in enumerate(wheel_axes()):
        joint = RevoluteJoint(f"wheel_{k}", axis=axis)
        # A disk of 0.2 m and 5 kg about its own axis.
        moment = 0.5 * WHEEL_INERTIA * (np.eye(3) + np.outer(axis, axis))
        wheel = skeleton.add_body(f"wheel_{k}", joint, hub, Inertia(5.0, moment=moment))
        wheel.add_shape(Sphere(0.2), color=GREY, collision=False)
    return Mechanism("spacecraft", skeleton, [])


def wheel_axes() -> np.ndarray:
    """Unit vectors along the spacecraft's wheels (4, 3), body axes."""
    turns = np.radians([45.0, 135.0, 225.0, 315.0])
    c, s = np.cos(WHEEL_TILT), np.sin(WHEEL_TILT)
    return np.column_stack([c * np.cos(turns), c * np.sin(turns), np.full(4, s)])


def jet_places() -> tuple[np.ndarray, np.ndarray]:
    """Places and directions (12, 3), (12, 3) of the spacecraft's small thrusters: four about each axis, in pairs."""
    places, directions = [], []
    for k in range(3):
        out, along = np.eye(3)[(k + 1) % 3], np.eye(3)[k]
        for side in (1.0, -1.0):
            for way in (1.0, -1.0):
                places.append(0.8 * side * out)
                directions.append(way * along)
    return np.array(places), np.array(directions)


def rod(a: ArrayLike, b: ArrayLike, radius: float) -> tuple[Cylinder, np.ndarray]:
    """A rod between two points [m], and its pose."""
    start, end = np.asarray(a, float), np.asarray(b, float)
    length = float(np.linalg.norm(end - start))
    z = (end - start) / length
    x = np.cross((0.0, 1.0, 0.0) if abs(z[1]) < 0.9 else (1.0, 0.0, 0.0), z)
    x /= np.linalg.norm(x)
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = np.column_stack([x, np.cross(z, x), z]), 0.5 * (start + end)
    return Cylinder(radius, length), X


class SpacecraftControl(Assembly):
    """What turns and moves a `spacecraft`: sensors, estimator, feedback, wheels, twelve thrusters that empty these.

    The attitude that is wanted comes from `slew`, a force from whoever is connected to `jets.force`, in body axes.

    Args:
        name: in its assembly.
        skeleton: of a `spacecraft`, in the world of the system.
        K, P: of `AttitudeFeedback`.
        noise: of gyroscopes and star tracker, times that of good ones; 0: none.
        rate: of all of them [Hz].
    """

    def __init__(
        self, name: str, skeleton: Skeleton, *, K: float = 100.0, P: float = 180.0, noise: float = 1.0, rate: float = 10
    ):
        super().__init__(name)
        hub, axes = skeleton.body("hub"), wheel_axes()
        wheels = [skeleton.joint(f"wheel_{k}") for k in range(len(axes))]
        inertia = skeleton.composite_inertias[hub.index][:3, :3]
        R = hub.world_transform[:3, :3]
        body = self.add(BodyPort(hub, name="hub"))
        jets_at = self.add(BodyPort(hub, name="jets_at"))
        imu = self.add(
            IMU(rate=rate, gravity=(0, 0, 0), gyro_noise=1e-6 * noise, gyro_bias=np.array((2, -1, 3)) * 1e-6 * noise)
        )
        stars = self.add(StarTracker("stars", rate=rate, across=2e-5 * noise, about=1e-4 * noise))
        estimator = self.add(AttitudeEstimator("estimator", rate=rate, rotation=R))
        slew = self.add(EigenaxisSlew("slew", start=R))
        feedback = self.add(AttitudeFeedback("feedback", rate=rate, K=K, P=P, inertia=R.T @ inertia @ R))
        dumping = self.add(MomentumDumping("dumping", rate=rate, begin=30.0))
        wheel_set = self.add(WheelSet("wheels", wheels, axes, WHEEL_INERTIA, largest_torque=1.0))
        places, directions = jet_places()
        jets = self.add(ThrusterCluster("jets", places, directions, rate=rate, thrust=5.0, least_pulse=1e-3))
        for source, target in (
            (body.rotation, imu.rotation), (body.velocity, imu.velocity), (body.angular_velocity, imu.angular_velocity),
            (body.rotation, stars.rotation), (stars.measured, estimator.measured),
            (imu.angular_rate, estimator.angular_rate), (estimator.rotation, feedback.rotation),
            (estimator.true_rate, feedback.angular_rate), (slew.rotation, feedback.wanted),
            (slew.rate_wanted, feedback.rate_wanted), (slew.acceleration, feedback.acceleration),
            (wheel_set["wheel_3"].momentum, feedback.momentum), (wheel_set["wheel_3"].momentum, dumping.momentum),
            (dumping.torque, jets.torque), (body.rotation, jets.rotation), (jets.given_force, jets_at.force),
            (jets.given_torque, jets_at.torque), (jets.given_torque, feedback.known),
            *((feedback.torque, motor.asked) for motor in wheel_set.motors),
        ):  # fmt: skip
            self.connect(source, target)
