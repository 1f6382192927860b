"""Sensors of bodies: inertial units, satellites, stars, the sun, height. Their ports fit those of `BodyPort`."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.devices.sensors import WIDE, rounded, sampled
from kido.environment.directions import Direction
from kido.systems import Input, Model, Noise, Output, Parameter, State


def turned(rotation: Any, angles: Any) -> Any:
    """R exp(angles) for small angles, orthonormal to third order: Rodrigues' rotation of half of their tangent."""
    x, y, z = angles * 0.5
    n2 = x * x + y * y + z * z
    cross = np.array([[0.0 * x, -z, y], [z, 0.0 * y, -x], [-y, x, 0.0 * z]])
    return rotation @ (np.eye(3) + (2.0 / (1.0 + n2)) * (cross + cross @ cross))


class IMU(Model):
    """Three gyroscopes and three accelerometers, in axes of the body.

        rate = R^T w + bias + noise,    specific force = R^T ((v - v_before) / T - g) + bias + noise

    Accelerations are means over the period T, as of units that integrate. Biases walk. Readings end at the ranges.

    Source: IEEE Std 952-1997, annex C; O. Woodman, An introduction to inertial navigation (2007).
    """

    rate = 200
    gravity = Parameter((0.0, 0.0, -9.81), "m/s^2")
    gyro_noise = Parameter(0.0, "rad/s", low=0.0, doc="density: by sqrt(Hz)")
    gyro_walk = Parameter(0.0, "rad/s^2", low=0.0, doc="of the bias: by sqrt(Hz)")
    gyro_range = Parameter(WIDE, "rad/s", low=0.0)
    accelerometer_noise = Parameter(0.0, "m/s^2", low=0.0, doc="density: by sqrt(Hz)")
    accelerometer_walk = Parameter(0.0, "m/s^3", low=0.0, doc="of the bias: by sqrt(Hz)")
    accelerometer_range = Parameter(WIDE, "m/s^2", low=0.0)
    rotation, velocity = Input("1", (3, 3)), Input("m/s", 3)
    angular_velocity = Input("rad/s", 3)
    angular_rate, specific_force = Output("rad/s", 3), Output("m/s^2", 3)
    gyro_bias, accelerometer_bias = State("rad/s", (0.0, 0.0, 0.0)), State("m/s^2", (0.0, 0.0, 0.0))
    before = State("m/s", (0.0, 0.0, 0.0), doc="velocity at the last sample")
    acceleration = State("m/s^2", (0.0, 0.0, 0.0), doc="mean since the sample before; 0 at the first")
    samples = State("1", doc="number of samples, at most 1")
    n, m, v, w = Noise(3), Noise(3), Noise(3), Noise(3)

    def outputs(self):
        turn = self.rotation.T @ self.angular_velocity
        force = self.rotation.T @ (self.acceleration - self.gravity)
        turn = turn + self.gyro_bias + sampled(self.gyro_noise, self.period) * self.n
        force = force + self.accelerometer_bias + sampled(self.accelerometer_noise, self.period) * self.m
        return {
            "angular_rate": np.clip(turn, -self.gyro_range, self.gyro_range),
            "specific_force": np.clip(force, -self.accelerometer_range, self.accelerometer_range),
        }

    def update(self):
        root = np.sqrt(self.period)
        return {
            "gyro_bias": self.gyro_bias + self.gyro_walk * root * self.v,
            "accelerometer_bias": self.accelerometer_bias + self.accelerometer_walk * root * self.w,
            "before": self.velocity,
            "acceleration": self.samples * (self.velocity - self.before) / self.period,
            "samples": 1.0,
        }


class GPS(Model):
    """Position and velocity by satellites: white noise, and an error of position that wanders and returns.

        b+ = exp(-T / tau) b + sigma sqrt(1 - exp(-2 T / tau)) n

    a Gauss-Markov process whose standard deviation is sigma (`wander`) and whose memory is tau.
    """

    rate = 10
    noise = Parameter((0.5, 0.5, 1.0), "m", low=0.0, doc="standard deviation of a reading")
    velocity_noise = Parameter(0.05, "m/s", low=0.0)
    wander = Parameter((1.0, 1.0, 2.0), "m", low=0.0)
    memory = Parameter(300.0, "s", low=1e-9)
    position, velocity = Input("m", 3), Input("m/s", 3)
    fix, fix_velocity = Output("m", 3), Output("m/s", 3)
    error = State("m", (0.0, 0.0, 0.0))
    n, v, w = Noise(3), Noise(3), Noise(3)

    def outputs(self):
        return {
            "fix": self.position + self.error + self.noise * self.n,
            "fix_velocity": self.velocity + self.velocity_noise * self.v,
        }

    def update(self):
        kept = np.exp(-self.period / self.memory)
        return {"error": kept * self.error + self.wander * np.sqrt(1.0 - kept * kept) * self.w}


class StarTracker(Model):
    """Attitude by stars: the rotation from body to inertial axes, off by small random angles about body axes.

    Angles about the line of sight, `boresight`, are several times those across.
    """

    rate = 5
    across = Parameter(2e-5, "rad", low=0.0, doc="standard deviation about axes across the line of sight")
    about = Parameter(1e-4, "rad", low=0.0, doc="the same about it")
    boresight = Direction((0.0, 0.0, 1.0), doc="body axes")
    rotation = Input("1", (3, 3))
    measured = Output("1", (3, 3))
    n = Noise(3)

    def outputs(self):
        along = self.boresight * (self.boresight @ self.n)
        return {"measured": turned(self.rotation, self.across * (self.n - along) + self.about * along)}


class SunSensor(Model):
    """Direction to the sun in body axes, where it is within the field of view and not in shadow; else zero."""

    rate = 5
    noise = Parameter(1e-3, "rad", low=0.0, doc="standard deviation of each component")
    boresight = Direction((1.0, 0.0, 0.0), doc="body axes")
    half_angle = Parameter(np.pi / 3.0, "rad", low=0.0, high=np.pi, doc="of the cone of view")
    rotation = Input("1", (3, 3))
    sun = Input("1", 3, doc="unit vector to the sun, inertial axes")
    light = Input("1", default=1.0, doc="share of the sun that is seen")
    direction = Output("1", 3, doc="unit vector, body axes")
    visible = Output("1", doc="1 or 0")
    n = Noise(3)

    def outputs(self):
        s = self.rotation.T @ self.sun
        visible = ((self.boresight @ s) > np.cos(self.half_angle)) * (self.light > 0.5)
        found = s + self.noise * self.n
        return {"direction": visible * found / np.sqrt(found @ found), "visible": visible}


class Altimeter(Model):
    """Height of a point over ground, along the vertical z: noise, steps, and no reading beyond its range (`valid`)."""

    rate = 20
    noise = Parameter(0.02, "m", low=0.0, doc="standard deviation of a reading")
    resolution = Parameter(0.01, "m", low=0.0)
    range = Parameter(1e4, "m", low=0.0)
    position = Input("m", 3)
    ground = Input("m", default=0.0, doc="height of the ground below")
    height = Output("m")
    valid = Output("1", doc="1 or 0")
    n = Noise()

    def outputs(self):
        true = self.position[2] - self.ground
        valid = (true >= 0.0) * (true <= self.range)
        return {"height": valid * rounded(true + self.noise * self.n, self.resolution), "valid": valid}
