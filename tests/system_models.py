"""Models that tests of systems share, written down as a user would."""

from __future__ import annotations

import numpy as np

from kido.systems import Crossing, Input, Model, Noise, Output, Parameter, PythonModel, State


class Motor(Model):
    """DC motor: J domega/dt = K i - b omega, L di/dt = V - R i - K omega."""

    J = Parameter(0.01, "kg m^2", low=0.0)
    b = Parameter(0.1, "N m s/rad")
    K = Parameter(0.01, "N m/A")
    R = Parameter(1.0, "ohm", low=0.0)
    L = Parameter(0.5, "H", low=0.0)
    voltage = Input("V", default=1.0)
    speed = State("rad/s")
    current = State("A")
    torque = Output("N m")

    def outputs(self):
        return {"torque": self.K * self.current}

    def derivatives(self):
        return {
            "speed": (self.K * self.current - self.b * self.speed) / self.J,
            "current": (self.voltage - self.R * self.current - self.K * self.speed) / self.L,
        }


class Mass(Model):
    """m d2q/dt2 = f."""

    m = Parameter(1.0, "kg", low=0.0)
    force = Input("N")
    q = State("m")
    v = State("m/s")

    def derivatives(self):
        return {"q": self.v, "v": self.force / self.m}


class PID(Model):
    """f = kp (b r - q) + ki integral of r - q - kd v."""

    kp = Parameter(52.0, "N/m")
    ki = Parameter(48.0, "N/(m s)")
    kd = Parameter(18.0, "N s/m")
    b = Parameter(1.0, doc="weight of the reference")
    r = Input("m", default=1.0)
    q = Input("m")
    v = Input("m/s")
    area = State("m s")
    force = Output("N")

    def outputs(self):
        return {"force": self.kp * (self.b * self.r - self.q) + self.ki * self.area - self.kd * self.v}

    def derivatives(self):
        return {"area": self.r - self.q}


class SampledPD(Model):
    """f = -kp q - kd (q - q of the tick before) / T."""

    rate = 100.0
    kp = Parameter(25.0, "N/m")
    kd = Parameter(8.0, "N s/m")
    q = Input("m")
    now = State("m")
    before = State("m")
    force = Output("N")

    def update(self):
        return {"now": self.q, "before": self.now}

    def outputs(self):
        return {"force": -self.kp * self.now - self.kd * (self.now - self.before) / self.period}


class PythonPD(PythonModel, SampledPD):
    """The same in plain Python."""


class Gain(Model):
    """y = k u."""

    k = Parameter(1.0)
    u = Input()
    y = Output()

    def outputs(self):
        return {"y": self.k * self.u}


class Difference(Model):
    """y = k (a - b)."""

    k = Parameter(1.0)
    a = Input(default=1.0)
    b = Input()
    y = Output()

    def outputs(self):
        return {"y": self.k * (self.a - self.b)}


class Ball(Model):
    """Falls and bounces."""

    restitution = Parameter(0.5, low=0.0, high=1.0)
    height = State("m", 1.0)
    velocity = State("m/s")
    bounces = State("1")
    bounce = Crossing(-1)

    def derivatives(self):
        return {"height": self.velocity, "velocity": -9.81}

    def crossings(self):
        return {"bounce": self.height}

    def at_bounce(self):
        return {"velocity": -self.restitution * self.velocity, "bounces": self.bounces + 1}


class Walk(Model):
    """A walk of normal steps."""

    rate = 1000.0
    step = Noise(3)
    at = State(shape=3)

    def update(self):
        return {"at": self.at + self.step}


class Hub(Model):
    """A body that turns about one axis, with a reaction wheel: angle theta, rate omega, wheel's rate from the body."""

    hub = Parameter(2.0, "kg m^2")
    wheel = Parameter(100.0 / (6000.0 * 2.0 * np.pi / 60.0), "kg m^2")
    torque = Input("N m")
    theta = State("rad")
    omega = State("rad/s")
    spin = State("rad/s")

    def derivatives(self):
        omega = -self.torque / self.hub
        return {"theta": self.omega, "omega": omega, "spin": self.torque / self.wheel - omega}


class Attitude(Model):
    """A rigid body and feedback by modified Rodrigues parameters: u = -K sigma - P omega + L."""

    inertia = Parameter((900.0, 800.0, 600.0), "kg m^2")
    K = Parameter(3.5, "N m")
    P = Parameter(30.0, "N m s")
    load = Parameter((0.25, -0.25, 0.1), "N m")
    sigma = State("", (0.1, 0.2, -0.3))
    omega = State("rad/s", (0.001, -0.01, 0.03))

    def derivatives(self):
        s, w, inertia = self.sigma, self.omega, self.inertia
        torque = -self.K * s - self.P * w + self.load
        return {
            "sigma": 0.25 * ((1.0 - s @ s) * w + 2.0 * np.cross(s, w) + 2.0 * s * (s @ w)),
            "omega": (torque - np.cross(w, inertia * w)) / inertia,
        }


class Orbit(Model):
    """Two bodies: d2r/dt2 = -mu r / |r|^3."""

    mu = Parameter(3.986004415e14, "m^3/s^2")
    r = State("m", (-4020338.690396649, 7490566.741852513, 5248299.211589362))
    v = State("m/s", (-5199.77710904224, -3436.681645356935, 1041.576797498721))

    def derivatives(self):
        return {"r": self.v, "v": -self.mu * self.r / (self.r @ self.r) ** 1.5}
