"""Wheels on soil that yields."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.systems import Assembly, BodyPort, Input, Model, Output, Parameter, State

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)  # of an angle from 0 to 1, twice: before and behind the peak
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS
WAVES = 16  # that the ground of a `SoilContact` is made of
STILL = 1e-3  # [m/s] speed within which slip fades in


class SoilWheel(Model):
    """A rigid wheel on soil: forces by its sinkage and slip, from stresses along its rim.

    From where it enters the soil at theta_1 = acos(1 - z / r) to theta_2 = 0 behind, with theta_m = (c_1 + c_2 s)
    theta_1 where the normal stress is largest:

        sigma = (k_c / b + k_phi) r^n (cos theta - cos theta_1)^n                                 before theta_m
        sigma = the same at theta_1 - (theta / theta_m) (theta_1 - theta_m)                       behind it
        tau = (c + sigma tan phi) (1 - exp(-j / K)),
        j = r ((theta_1 - theta) - (1 - s) (sin theta_1 - sin theta))

        load = r b int (sigma cos + tau sin),  drawbar pull = r b int (tau cos - sigma sin),  torque = r^2 b int tau

    and slip s = 1 - v / (r w) where it drives, r w / v - 1 where it brakes. Out of the soil there is no force. The
    drawbar pull is what the wheel gives the vehicle, resistance of the soil deducted.

    Source: J. Y. Wong, Theory of Ground Vehicles (2008), sections 2.4 and 2.5; Wong and Reece (1967).
    """

    radius, width = Parameter(0.15, "m", low=1e-6), Parameter(0.1, "m", low=1e-6)
    cohesive_modulus = Parameter(990.0, doc="k_c [N/m^(n+1)]; dry sand by default", low=0.0)
    frictional_modulus = Parameter(1528.43e3, doc="k_phi [N/m^(n+2)]", low=0.0)
    exponent = Parameter(1.1, low=1e-3, doc="n of sinkage")
    cohesion = Parameter(1040.0, "Pa", low=0.0, doc="c")
    friction_angle = Parameter(np.radians(28.0), "rad", low=0.0, high=1.5, doc="phi")
    shear_modulus = Parameter(0.025, "m", low=1e-9, doc="K, shear deformation modulus")
    peak, peak_by_slip = Parameter(0.4, doc="c_1"), Parameter(0.15, doc="c_2")
    sinkage = Input("m", doc="of the lowest point below the surface, z")
    speed = Input("m/s", doc="of the hub along the ground, v")
    spin = Input("rad/s", doc="of the wheel, w; positive rolls ahead")
    load, drawbar_pull = Output("N"), Output("N")
    torque = Output("N m", doc="of the soil on the wheel, against its drive")
    slip = Output("1", doc="from -1 to 1")

    def _slip(self) -> Any:
        rim = self.radius * self.spin
        faster = np.maximum(np.abs(rim), np.abs(self.speed))
        return np.clip((rim - self.speed) / np.maximum(faster, STILL), -1.0, 1.0)

    def outputs(self):
        r, b, s = self.radius, self.width, self._slip()
        ahead = np.where(self.spin + self.speed / r >= 0.0, 1.0, -1.0)
        s = ahead * s
        z = np.clip(self.sinkage, 0.0, 0.9 * r)
        enters = np.arccos(1.0 - z / r)
        middle = np.clip(self.peak + self.peak_by_slip * s, 0.05, 0.95) * enters
        modulus = (self.cohesive_modulus / b + self.frictional_modulus) * r**self.exponent
        load = pull = torque = 0.0
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            for angle, seen, share in (
                (middle + node * (enters - middle), middle + node * (enters - middle), enters - middle),
                (node * middle, enters - node * (enters - middle), middle),
            ):
                depth = np.maximum(np.cos(seen) - np.cos(enters), 1e-30)
                normal = modulus * depth**self.exponent
                # Soil that the rim has sheared until there; with a slip below zero it is sheared the other way.
                j = r * ((enters - angle) - (1.0 - s) * (np.sin(enters) - np.sin(angle)))
                strength = self.cohesion + normal * np.tan(self.friction_angle)
                shear = strength * np.sign(j) * (1.0 - np.exp(-np.abs(j) / self.shear_modulus))
                part = weight * share
                load = load + part * (normal * np.cos(angle) + shear * np.sin(angle))
                pull = pull + part * (shear * np.cos(angle) - normal * np.sin(angle))
                torque = torque + part * shear
        touches = self.sinkage > 0.0
        return {
            "load": touches * r * b * load,
            "drawbar_pull": touches * ahead * r * b * pull,
            "torque": touches * ahead * r * r * b * torque,
            "slip": ahead * s,
        }


class SoilContact(Model):
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
    """A wheel of a world on soil: its body's `BodyPort`, a `SoilContact` and a `SoilWheel`, `hub`, `contact`, `soil`.

    Args:
        name: in its assembly.
        wheel: body whose y axis is the axle; its shapes should touch nothing.
        waves: of the ground, see `SoilContact`; None: it is level.
        rate: that of the world's steps [Hz].
        **values: parameters of the `SoilWheel`.
    """

    def __init__(self, name: str, wheel: Any, waves: ArrayLike | None = None, rate: Any = 500, **values: Any):
        super().__init__(name)
        hub, soil = self.add(BodyPort(wheel, name="hub")), self.add(SoilWheel("soil", rate=rate, **values))
        contact = self.add(SoilContact("contact", rate=rate, radius=soil.radius, shearing=soil.shear_modulus))
        contact.side = np.tan(soil.friction_angle)
        if waves is not None:
            rows = np.zeros((WAVES, 4))
            rows[: len(np.asarray(waves))] = waves
            contact.waves = rows
        for key in ("position", "rotation", "velocity", "angular_velocity"):
            self.connect(hub.port(key), contact.port(key))
        for key in ("sinkage", "speed", "spin"):
            self.connect(contact.port(key), soil.port(key))
        for key in ("load", "drawbar_pull"):
            self.connect(soil.port(key), contact.port(key))
        self.connect(soil.torque, contact.resistance)
        self.connect(contact.force, hub.force)
        self.connect(contact.torque, hub.torque)
