"""Wheels, gyroscopes and thrusters: torques and forces on the body that carries them. Ports fit those of `BodyPort`."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.environment.atmosphere import GRAVITY
from kido.environment.directions import Direction
from kido.environment.relative import hill_axes, relative_motion
from kido.errors import ModelError
from kido.systems import Input, Model, Output, Parameter, State


class ReactionWheel(Model):
    """A wheel whose motor turns the body the other way.

    With a its axis, J its inertia about it and w the body's angular velocity, h = J (speed + a . w) is its momentum:

        dh/dt = t,    torque on the body = -t a - w x (h a),    t = command within limits, less friction

    The wheel's mass, and its inertia across the axis, belong to the body; J about the axis does not. No torque is made
    that drives it beyond `largest_speed`.

    Source: J. Wertz, Spacecraft Attitude Determination and Control (1978), section 18.
    """

    inertia = Parameter(0.01, "kg m^2", low=1e-12, doc="about the axis, J")
    axis = Direction((1.0, 0.0, 0.0), doc="body axes")
    largest_torque = Parameter(1e300, "N m", low=0.0)
    largest_speed = Parameter(1e300, "rad/s", low=0.0)
    coulomb = Parameter(0.0, "N m", low=0.0, doc="friction of the bearing")
    viscous = Parameter(0.0, "N m s/rad", low=0.0)
    command = Input("N m", doc="on the wheel")
    rotation = Input("1", (3, 3))
    angular_velocity = Input("rad/s", 3)
    torque = Output("N m", 3, doc="on the body, world axes")
    speed = Output("rad/s", doc="relative to the body")
    momentum = State("N m s", doc="h")

    def _speed(self):
        return self.momentum / self.inertia - (self.rotation @ self.axis) @ self.angular_velocity

    def _driven(self):
        speed = self._speed()
        t = np.clip(self.command, -self.largest_torque, self.largest_torque)
        beyond = (speed >= self.largest_speed) * (t > 0.0) + (speed <= -self.largest_speed) * (t < 0.0)
        return (1.0 - beyond) * t - self.coulomb * np.tanh(1e3 * speed) - self.viscous * speed

    def outputs(self):
        a = self.rotation @ self.axis
        return {
            "torque": -self._driven() * a - self.momentum * np.cross(self.angular_velocity, a),
            "speed": self._speed(),
        }

    def derivatives(self):
        return {"momentum": self._driven()}


class ControlMomentGyro(Model):
    """A wheel of constant speed on a gimbal: turning the gimbal turns its momentum, and the body the other way.

        h = H (cos(d) s + sin(d) g x s),    torque on the body = -H dd/dt g x h / H - w x h

    with g the gimbal's axis, s the wheel's at d = 0 and the gimbal's rate dd/dt within limits. The gimbal's own inertia
    belongs to the body.

    Raises:
        ModelError: the wheel's axis is that of the gimbal.

    Source: B. Wie, Space Vehicle Dynamics and Control (2008), section 7.4.
    """

    momentum = Parameter(1.0, "N m s", doc="H")
    gimbal = Direction((0.0, 0.0, 1.0), doc="body axes, g")
    spin = Direction((1.0, 0.0, 0.0), doc="body axes, s; its part across the gimbal counts")
    largest_rate = Parameter(1e300, "rad/s", low=0.0)
    command = Input("rad/s", doc="of the gimbal")
    rotation = Input("1", (3, 3))
    angular_velocity = Input("rad/s", 3)
    torque = Output("N m", 3, doc="on the body, world axes")
    angle = State("rad", doc="of the gimbal, d")

    def __init__(self, name: str | None = None, **values: Any):
        super().__init__(name, **values)
        self._check_axes(self.gimbal, self.spin)

    def _check_axes(self, gimbal: Any, spin: Any) -> None:
        if np.linalg.norm(np.cross(gimbal, spin)) < 1e-6:
            raise ModelError(f"model {self.path!r}: spin: expected an axis across the gimbal {gimbal}, got {spin}")

    def set_parameters(self, **values: Any) -> None:
        new = {
            key: self.declared[key].checked(values[key], f"model {self.path!r}: parameter {key!r}")
            for key in ("gimbal", "spin")
            if key in values
        }
        self._check_axes(new.get("gimbal", self.gimbal), new.get("spin", self.spin))
        super().set_parameters(**values)

    def _rate(self):
        return np.clip(self.command, -self.largest_rate, self.largest_rate)

    def outputs(self):
        across = np.cross(self.gimbal, self.spin)
        across = across / np.sqrt(across @ across)
        start = np.cross(across, self.gimbal)
        c, s = np.cos(self.angle), np.sin(self.angle)
        h = self.rotation @ (self.momentum * (c * start + s * across))
        turned = self.rotation @ (self.momentum * (c * across - s * start))
        return {"torque": -self._rate() * turned - np.cross(self.angular_velocity, h)}

    def derivatives(self):
        return {"angle": self._rate()}


class Thruster(Model):
    """A thruster that is opened once in each period, and no shorter than its valve allows.

        open = command T, 0 below `least_pulse`;    force = thrust open / T;    dm/dt = -|force| / (I_sp g_0)

    The force is the mean over the period, so that the impulse of a pulse is exact; what nozzles do within a pulse is
    left out. It is along `direction`, in axes of the body.
    """

    rate = 10
    thrust = Parameter(1.0, "N", low=0.0)
    direction = Direction((0.0, 0.0, 1.0), doc="of the force, body axes")
    least_pulse = Parameter(0.0, "s", low=0.0)
    specific_impulse = Parameter(220.0, "s", low=1e-9)
    command = Input("1", doc="share of the period that it is to be open")
    rotation = Input("1", (3, 3))
    force = Output("N", 3, doc="world axes")
    flow = Output("kg/s", doc="of propellant")
    used = State("kg", doc="propellant until now")
    samples = State("1", doc="number of ticks, at most 1")

    def _share(self):
        share = np.clip(self.command, 0.0, 1.0)
        return np.where(share * self.period >= self.least_pulse, share, 0.0)

    def _flow(self):
        return self._share() * self.thrust / (self.specific_impulse * GRAVITY)

    def outputs(self):
        return {"force": self._share() * self.thrust * (self.rotation @ self.direction), "flow": self._flow()}

    def update(self):
        return {"used": self.used + self.samples * self.period * self._flow(), "samples": 1.0}


class Rendezvous(Model):
    """Force that leads a chaser along a line to a goal near a target on a circular orbit, both in the target's axes.

        a = rho_r'' + k_p (rho_r - rho) + k_d (rho_r' - rho') - (3 n^2 x + 2 n y', -2 n x', -n^2 z)
        rho_r = start + (goal - start) (10 s^3 - 15 s^4 + 6 s^5),    s = (t - begin) / duration in 0 to 1

    Before `begin` there is none, and it stays at the goal afterwards.

    Source: W. Fehse, Automated Rendezvous and Docking of Spacecraft (2003), chapter 3, and `clohessy_wiltshire`.
    """

    rate = 10
    mass = Parameter(500.0, "kg", low=1e-9)
    start, goal = Parameter((0.0, -100.0, 0.0), "m"), Parameter((0.0, -5.0, 0.0), "m")
    begin, duration = Parameter(0.0, "s"), Parameter(300.0, "s", low=1e-9)
    kp, kd = Parameter(0.01, "1/s^2", low=0.0), Parameter(0.2, "1/s", low=0.0)
    position, velocity = Input("m", 3, doc="from the target, axes that do not turn"), Input("m/s", 3, doc="likewise")
    target_position, target_velocity = Input("m", 3, doc="from the planet's centre"), Input("m/s", 3)
    rotation = Input("1", (3, 3), default=np.eye(3))
    force = Output("N", 3, doc="body axes of the chaser")
    place, approach = Output("m", 3, doc="of the chaser in Hill's axes, rho"), Output("m/s", 3, doc="rho'")

    def outputs(self):
        rho, seen = relative_motion(self.position, self.velocity, self.target_position, self.target_velocity)
        r, h = self.target_position, np.cross(self.target_position, self.target_velocity)
        n = np.sqrt(h @ h) / (r @ r)
        s, T = np.clip((self.time - self.begin) / self.duration, 0.0, 1.0), self.duration
        way = self.goal - self.start
        wanted = self.start + s**3 * (10.0 - 15.0 * s + 6.0 * s * s) * way
        speed = 30.0 / T * s**2 * (1.0 - s) ** 2 * way
        change = 60.0 / (T * T) * s * (1.0 - s) * (1.0 - 2.0 * s) * way
        x, _, z = rho
        drift = np.array([3.0 * n * n * x + 2.0 * n * seen[1], -2.0 * n * seen[0], -n * n * z])
        a = change + self.kp * (wanted - rho) + self.kd * (speed - seen) - drift
        H = hill_axes(r, self.target_velocity)
        on = self.time >= self.begin
        return {"force": on * self.mass * (self.rotation.T @ (H @ a)), "place": rho, "approach": seen}
