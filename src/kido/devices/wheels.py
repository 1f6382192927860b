"""Wheels of worlds on soil that yields."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.devices.soil import SoilWheel
from kido.errors import ModelError
from kido.math.transform import numbers_or_nan
from kido.systems import Assembly, BodyPort, Input, Model, Output, Parameter, State

WAVES = 16  # that the ground of a `WheelContact` is made of


class WheelContact(Model):
    """Between the hub of a wheel and a `SoilWheel`, on ground of waves; its rate is that of the world's steps.

        h(x, y) = sum a sin(k_x x + k_y y + phase),    n the normal,    e = axle x n ahead,    l = n x e aside
        sinkage = r - n_z (z - h)
        T ds/dt = (r w - v) - s max(|r w|, |v|),    force = n N + e P + l S,    S = -N tan(phi) v_l / (|v_l| + v_0)

    with N = load max(1 - d v_n, 0) and drawbar pull P alike, and the torque of the soil about the axle. Slip builds up
    over the length T that the soil is sheared, so that a wheel at rest is held; where it is steady it is that of
    `SoilWheel`, which is given a speed and a spin of that slip. At rest the resistance of the soil may turn with each
    step, as friction does: a wheel on a slope creeps by tenths of a millimetre a second.

    Source: of the slip H. Pacejka, Tire and Vehicle Dynamics (2012), section 7.2; of the damping K. Hunt, F. Crossley
    (1975).
    """

    rate = 500
    radius = Parameter(0.15, "m", low=1e-6)
    waves = Parameter(np.zeros((WAVES, 4)), doc="amplitude [m], wave numbers along x and y [rad/m], phase [rad]")
    shearing = Parameter(0.025, "m", low=1e-6, doc="T")
    damping = Parameter(2.0, "s/m", low=0.0, doc="d")
    side = Parameter(np.tan(np.radians(28.0)), low=0.0, doc="tan(phi)")
    slow = Parameter(0.02, "m/s", low=1e-6, doc="v_0")
    position, velocity = Input("m", 3), Input("m/s", 3)
    rotation, angular_velocity = Input("1", (3, 3)), Input("rad/s", 3)
    load, drawbar_pull, resistance = Input("N"), Input("N"), Input("N m", doc="torque of the soil, against the drive")
    sinkage, speed, spin = Output("m"), Output("m/s"), Output("rad/s")
    force, torque, pull = Output("N", 3), Output("N m", 3), Output("N", doc="P, along the ground")
    slip = State("1")

    def _ground(self) -> tuple[Any, Any]:
        """Height and normal under the hub."""
        a, kx, ky, phase = self.waves.T
        angle = kx * self.position[0] + ky * self.position[1] + phase
        slope = a * np.cos(angle)
        hx, hy = slope @ kx, slope @ ky
        size = np.sqrt(1.0 + hx * hx + hy * hy)
        return a @ np.sin(angle), np.array([-hx / size, -hy / size, 1.0 / size])

    def _axes(self) -> tuple[Any, Any, Any, Any]:
        h, n = self._ground()
        e = np.cross(self.rotation[:, 1], n)
        e = e / np.sqrt(e @ e + 1e-12)
        return h, n, e, np.cross(n, e)

    def _speeds(self, e: Any) -> tuple[Any, Any]:
        """Of the rim and of the hub, along the ground."""
        return self.radius * (self.angular_velocity @ self.rotation[:, 1]), self.velocity @ e

    def outputs(self):
        h, n, e, side = self._axes()
        rim, v = self._speeds(e)
        ahead, s = np.where(rim + v >= 0.0, 1.0, -1.0), self.slip
        drives = ahead * s >= 0.0
        across = self.velocity @ side
        damped = np.maximum(1.0 - self.damping * (self.velocity @ n), 0.0)
        N = self.load * damped
        push = -N * self.side * across / (np.abs(across) + self.slow)
        return {
            "sinkage": self.radius - n[2] * (self.position[2] - h),
            "speed": np.where(drives, ahead - s, ahead),
            "spin": np.where(drives, ahead, ahead + s) / self.radius,
            "force": N * n + damped * self.drawbar_pull * e + push * side,
            "torque": -damped * self.resistance * self.rotation[:, 1],
            "pull": damped * self.drawbar_pull,
        }

    def update(self):
        rim, v = self._speeds(self._axes()[2])
        part = self.period / self.shearing
        faster = np.maximum(np.abs(rim), np.abs(v))
        return {"slip": np.clip((self.slip + part * (rim - v)) / (1.0 + part * faster), -1.0, 1.0)}


class WheelOnSoil(Assembly):
    """A wheel of a world on soil: its body's `BodyPort`, a `WheelContact` and a `SoilWheel`, `hub`, `contact`, `soil`.

    Args:
        name: in its assembly.
        wheel: body whose y axis is the axle; its shapes should touch nothing.
        waves: of the ground, see `WheelContact`; None: it is level.
        rate: that of the world's steps [Hz].
        **values: parameters of the `SoilWheel`.

    Raises:
        ModelError: waves that are none, or too many.
    """

    def __init__(self, name: str, wheel: Any, waves: ArrayLike | None = None, rate: Any = 500, **values: Any):
        super().__init__(name)
        hub, soil = self.add(BodyPort(wheel, name="hub")), self.add(SoilWheel("soil", rate=rate, **values))
        contact = self.add(WheelContact("contact", rate=rate, radius=soil.radius, shearing=soil.shear_modulus))
        contact.side = np.tan(soil.friction_angle)
        if waves is not None:
            given = numbers_or_nan(waves)
            if given.ndim != 2 or given.shape[1] != 4 or len(given) > WAVES or not np.isfinite(given).all():
                raise ModelError(
                    f"assembly {name!r}: waves: expected finite numbers (n, 4), n at most {WAVES}, got {waves!r:.100}"
                )
            contact.waves = np.vstack([given, np.zeros((WAVES - len(given), 4))])
        for key in ("position", "rotation", "velocity", "angular_velocity"):
            self.connect(hub.port(key), contact.port(key))
        for key in ("sinkage", "speed", "spin"):
            self.connect(contact.port(key), soil.port(key))
        for key in ("load", "drawbar_pull"):
            self.connect(soil.port(key), contact.port(key))
        self.connect(soil.torque, contact.resistance)
        self.connect(contact.force, hub.force)
        self.connect(contact.torque, hub.torque)
