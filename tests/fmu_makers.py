"""What tests write to FMUs: a class of models, an assembly with a controller, a system with a world."""

from __future__ import annotations

import numpy as np

import kido
from kido.systems import Assembly, Input, JointPort, Model, Output, Parameter, State, System
from system_models import Motor

__all__ = ["Motor", "Plane", "drive", "nothing", "pendulum"]


class Plane(Model):
    """An array's numbers, one by one: y = A u, and the sum of y over time."""

    A = Parameter(np.arange(6.0).reshape(2, 3))
    u, y = Input("m", 3, default=(1.0, 2.0, 3.0)), Output("m", 2)
    total = State("m s", (0.5, -0.5))

    def outputs(self):
        return {"y": self.A @ self.u}

    def derivatives(self):
        return {"total": self.A @ self.u}


class Sampled(Model):
    rate = 100
    kp, ki = Parameter(100.0, "V s/rad"), Parameter(200.0, "V/rad")
    wanted, speed, voltage, area = Input("rad/s"), Input("rad/s"), Output("V"), State("rad")

    def outputs(self):
        return {"voltage": self.kp * (self.wanted - self.speed) + self.ki * self.area}

    def update(self):
        return {"area": self.area + self.period * (self.wanted - self.speed)}


def drive() -> Assembly:
    whole = Assembly("drive")
    motor, control = whole.add(Motor("motor")), whole.add(Sampled("control"))
    whole.connect(motor.speed, control.speed)
    whole.connect(control.voltage, motor.voltage)
    whole.expose("wanted", control.wanted)
    whole.expose("speed", motor.speed)
    return whole


def pendulum() -> System:
    world = kido.World(time_step=1e-3)
    rod = world.add_skeleton(kido.Skeleton("arm"))
    rod.add_body("rod", kido.RevoluteJoint("hinge", axis=(0, 1, 0)), inertia=kido.Inertia(2.0, com=(0, 0, -0.4)))
    rod.positions = [0.5]
    system = System(world=world)
    system.add(JointPort(rod.joint("hinge"), "joint"))
    return system


def nothing() -> int:
    return 3
