"""What the demos of the rover share: drives, dead reckoning and a helm that leads it from way point to way point."""

import numpy as np

from kido.devices import IMU, DeadReckoning, PurePursuit, WheelDrive
from kido.models.vehicles import RADIUS
from kido.systems import BodyPort, Input, Model, Output, Parameter, State

WAY_POINTS, REACHED, SHARPEST = 6, 0.5, 0.8  # how many, [m], [1/m]
WHEELS = [f"{place}_{side}" for place in ("front", "middle", "rear") for side in ("left", "right")]


class Helm(Model):
    """Which way point is next, and whose curvature the wheels follow."""

    rate = 10
    cruise, curve, by_hand = Parameter(0.3, "m/s"), Parameter(0.0, "1/m"), Parameter(0.0)
    goals = Parameter(None, "m", shape=(WAY_POINTS, 2))
    asked, distance = Input("1/m"), Input("m")
    speed, curvature, goal = Output("m/s"), Output("1/m"), Output("m", 2)
    number = State("1")

    def outputs(self):
        chosen = np.array([abs(self.number % WAY_POINTS - k) < 0.5 for k in range(WAY_POINTS)])
        curvature = np.where(self.by_hand > 0.0, self.curve, self.asked)
        return {"speed": self.cruise, "curvature": curvature, "goal": chosen @ self.goals}

    def update(self):
        return {"number": self.number + (self.distance > 0.0) * (self.distance < REACHED)}  # it is 0 before all ticks


def guided(system, made, goals):
    """What the rover carries: what leads it to way points, what knows where it is, and its drives."""
    rover, chassis = made.skeleton, made.skeleton.body("chassis")
    body = system.add(BodyPort(chassis, name="body"))
    imu = system.add(IMU(rate=100, gyro_noise=1e-4, gyro_bias=(0.0, 0.0, 2e-4), accelerometer_noise=1e-3))
    reckoning = system.add(DeadReckoning("reckoning", radius=RADIUS, position=chassis.world_transform[:3, 3]))
    pursuit, helm = system.add(PurePursuit(sharpest=SHARPEST)), system.add(Helm(goals=goals))
    drives = []
    for name in WHEELS:
        axle, post = rover.joint(f"drive_{name}"), None if "middle" in name else rover.joint(f"steer_{name}")
        drives.append(system.add(WheelDrive(name, axle, post, made.place(f"wheel_{name}"), RADIUS)))
    for source, target in (
        *((body.port(name), imu.port(name)) for name in ("rotation", "velocity", "angular_velocity")),
        (imu.angular_rate, reckoning.angular_rate), (imu.specific_force, reckoning.specific_force),
        (reckoning.position, pursuit.position), (reckoning.rotation, pursuit.rotation), (helm.goal, pursuit.goal),
        (pursuit.curvature, helm.asked), (pursuit.distance, helm.distance),
        *((helm.speed, drive["aim.speed"]) for drive in drives),
        *((helm.curvature, drive["aim.curvature"]) for drive in drives),
        ("middle_left.encoder.velocity", reckoning.left), ("middle_right.encoder.velocity", reckoning.right),
    ):  # fmt: skip
        system.connect(source, target)
    return helm, pursuit, reckoning, drives
