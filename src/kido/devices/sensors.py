"""What sensors of all kinds do to what they measure; sensors of joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.systems import Input, Model, Noise, Output, Parameter, State

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
