"""Vehicles on wheels: how wheels are steered, where the vehicle believes to be, how it gets somewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.devices.drives import PID, Gear, Servo
from kido.devices.motors import DCMotor
from kido.devices.navigation import turned
from kido.devices.sensors import Encoder
from kido.errors import ModelError
from kido.math.transform import as_vector, numbers_or_nan
from kido.systems import Assembly, Input, JointPort, Model, Output, Parameter, State


class Ackermann(Model):
    """Angle and speed of the wheel at x, y (x ahead, y to the left), so that all of them roll about one centre.

        velocity of the wheel = v (1 - k y, k x),    angle = atan2(k x, 1 - k y),    spin = |velocity| / radius

    with v the speed of the vehicle's origin and k the curvature of its path, whose centre lies at (0, 1 / k).
    """

    x, y = Parameter(0.0, "m"), Parameter(0.0, "m")
    radius = Parameter(0.12, "m", low=1e-6, doc="of the wheel")
    speed, curvature = Input("m/s"), Input("1/m")
    angle, spin = Output("rad"), Output("rad/s")

    def outputs(self):
        ahead, aside = 1.0 - self.curvature * self.y, self.curvature * self.x
        rolls = np.sqrt(ahead**2 + aside**2) * self.speed / self.radius
        return {"angle": np.arctan2(aside, ahead), "spin": rolls}


class DeadReckoning(Model):
    """Place and attitude by turn rates, and by wheels on both sides that are taken to roll.

        R+ = R exp(T (w + trust f x u)),    p+ = p + T radius (left + right) / 2  R e_x

    with w what gyroscopes read and f the direction of what accelerometers do, which on the average is up, as
    u = R^T e_z is believed to be; nothing corrects the heading. Its states start as they are given.

    Source: R. Mahony, T. Hamel, J.-M. Pflimlin, Nonlinear complementary filters on SO(3) (2008), without a bias.
    """

    rate = 100
    radius = Parameter(0.12, "m", low=1e-6, doc="of the wheels")
    trust = Parameter(0.02, "1/s", low=0.0, doc="in the accelerometers")
    angular_rate, specific_force = Input("rad/s", 3), Input("m/s^2", 3)
    left, right = Input("rad/s"), Input("rad/s")
    position, rotation = State("m", (0.0, 0.0, 0.0)), State("1", np.eye(3), doc="from body to world axes")
    samples = State("1", doc="number of ticks, at most 1")

    def update(self):
        f, up = self.specific_force, self.rotation[2]
        leans = np.cross(f, up) / np.sqrt(f @ f + 1e-12)
        time = self.samples * self.period  # that has passed since the tick before
        ahead = 0.5 * self.radius * (self.left + self.right) * time
        return {
            "position": self.position + ahead * self.rotation[:, 0],
            "rotation": turned(self.rotation, (self.angular_rate + self.trust * leans) * time),
            "samples": 1.0,
        }


class PurePursuit(Model):
    """Curvature of the arc that leads from where a vehicle is, along its heading, to a goal.

        k = 2 y / (x^2 + y^2),    no sharper than `sharpest`; as sharp as may be, where the goal is behind

    with x ahead and y to the left, in the plane of the world.

    Source: R. Coulter, Implementation of the pure pursuit path tracking algorithm, CMU-RI-TR-92-01 (1992).
    """

    rate = 10
    sharpest = Parameter(0.8, "1/m", low=0.0)
    position, rotation, goal = Input("m", 3), Input("1", (3, 3)), Input("m", 2)
    curvature, distance = Output("1/m"), Output("m")

    def outputs(self):
        way, heading = self.goal - self.position[:2], self.rotation[:2, 0]
        size = np.sqrt(heading @ heading + 1e-12)
        x, y = (heading @ way) / size, (heading[0] * way[1] - heading[1] * way[0]) / size
        sharp = np.where(y >= 0.0, self.sharpest, -self.sharpest)
        arc = np.where(x > 0.0, 2.0 * y / (way @ way + 1e-12), sharp)
        return {"curvature": np.clip(arc, -self.sharpest, self.sharpest), "distance": np.sqrt(way @ way)}


class WayPoints(Model):
    """Which of several places is the goal, speed and curvature on the way there: each in turn, then the first again.

    By hand, the curvature is that of the parameter. The next one is the goal once the distance is below `reached`.

    Args:
        name: in its assembly.
        goals: places (n, 2) [m].
        **values: as of `Model`.

    Raises:
        ModelError: goals that are no places.
    """

    rate = 10
    cruise, reached = Parameter(0.3, "m/s"), Parameter(0.5, "m", low=0.0)
    curve, by_hand = Parameter(0.0, "1/m"), Parameter(0.0, doc="above 0: steered by `curve`")
    goals = Parameter(((0.0, 0.0),), "m")
    asked = Input("1/m", default=0.0, doc="curvature that leads to the goal")
    distance = Input("m", doc="to the goal")
    speed, curvature, goal = Output("m/s"), Output("1/m"), Output("m", 2)
    number = State("1", doc="of places reached")

    def __init__(self, name: str | None = None, goals: ArrayLike = ((0.0, 0.0),), **values: Any):
        super().__init__(name, **values)
        places = numbers_or_nan(goals)
        if places.ndim != 2 or places.shape[1] != 2 or not np.isfinite(places).all() or not len(places):
            raise ModelError(f"model {self.name!r}: goals: expected places (n, 2), got {goals!r:.100}")
        self.redeclare(goals=Parameter(places, "m"))

    def outputs(self):
        count = len(self.goals)
        chosen = np.array([abs(self.number % count - k) < 0.5 for k in range(count)])
        curvature = np.where(self.by_hand > 0.0, self.curve, self.asked)
        return {"speed": self.cruise, "curvature": curvature, "goal": chosen @ self.goals}

    def update(self):
        near = (self.distance > 0.0) * (self.distance < self.reached)  # it is 0 before all ticks
        return {"number": self.number + near}


class EnergyMeter(Model):
    """Energy taken from a supply that takes none back: the integral of max(power, 0)."""

    power, energy = Input("W"), State("J")

    def derivatives(self):
        return {"energy": np.maximum(self.power, 0.0)}


class WheelDrive(Assembly):
    """A wheel's motor, gear, encoder, speed controller and meter, and the servo that steers it, if one does.

    Connect `aim.speed` and `aim.curvature`, those of the vehicle (see `Ackermann`); `encoder.velocity` says how fast
    the wheel turns, `meter.energy` what it took. Motor and gear are of a wheel that carries some 100 N: 24 V, 1 ohm,
    0.04 N m/A, 30 to 1.

    Args:
        name: in its assembly.
        axle: joint or coordinate that the wheel turns about.
        post: of steering; None: the wheel is not steered.
        place: of the wheel, x ahead and y to the left [m].
        radius: of the wheel [m].
        rate: of encoder and controller [Hz].

    Raises:
        ModelError: no two numbers as its place, or a radius that is not positive.
    """

    def __init__(self, name: str, axle: Any, post: Any, place: ArrayLike, radius: float, rate: Any = 250):
        super().__init__(name)
        x, y = as_vector(place, f"assembly {name!r}: place", 2)
        self.add(Ackermann("aim", rate=rate, radius=radius, x=x, y=y))
        self.add(JointPort(axle, "axle"))
        self.add(DCMotor("motor", resistance=1.0, inductance=5e-3, constant=0.04))
        self.add(Gear("gear", ratio=30.0, efficiency=0.8))
        self.add(Encoder("encoder", counts=30 * 4096, rate=rate))
        self.add(PID("control", kp=1.5, ki=10.0, least=-24.0, largest=24.0, rate=rate))
        self.add(EnergyMeter("meter"))
        for source, target in (
            ("aim.spin", "control.wanted"), ("encoder.velocity", "control.measured"),
            ("control.command", "motor.voltage"), ("motor.torque", "gear.motor_torque"),
            ("gear.joint_torque", "axle.force"), ("axle.velocity", "gear.joint_speed"),
            ("gear.motor_speed", "motor.speed"), ("axle.position", "encoder.angle"), ("motor.power", "meter.power"),
        ):  # fmt: skip
            self.connect(source, target)
        if post is not None:
            self.add(JointPort(post, "post"))
            self.add(Servo("servo", kp=120.0, kd=4.0, stall=25.0))
            for source, target in (
                ("aim.angle", "servo.wanted"), ("post.position", "servo.position"),
                ("post.velocity", "servo.velocity"), ("servo.torque", "post.force"),
            ):  # fmt: skip
                self.connect(source, target)
