"""Wheels and tracks on soil that yields."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.systems import Input, Model, Output, Parameter

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)  # of an angle from 0 to 1, twice: before and behind the peak
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS
STILL = 1e-3  # [m/s] speed within which slip fades in


class Soil(Model):
    """What the soil below a wheel or a track is like; by default dry sand.

        pressure = (k_c / b + k_phi) z^n,    shear stress = (c + pressure tan phi) (1 - exp(-j / K))

    at the sinkage z, after a displacement j by shear, with b the smaller side of the ground that bears.

    Source: M. Bekker, Introduction to Terrain-Vehicle Systems (1969); Z. Janosi, B. Hanamoto (1961); numbers of dry
    sand: J. Y. Wong, Theory of Ground Vehicles (2008), table 2.3.
    """

    cohesive_modulus = Parameter(990.0, doc="k_c [N/m^(n+1)]; dry sand by default", low=0.0)
    frictional_modulus = Parameter(1528.43e3, doc="k_phi [N/m^(n+2)]", low=0.0)
    exponent = Parameter(1.1, low=1e-3, doc="n of sinkage")
    cohesion = Parameter(1040.0, "Pa", low=0.0, doc="c")
    friction_angle = Parameter(np.radians(28.0), "rad", low=0.0, high=1.5, doc="phi")
    shear_modulus = Parameter(0.025, "m", low=1e-9, doc="K, shear deformation modulus")

    def modulus(self, width: Any) -> Any:
        """Pressure by the power n of sinkage, below something of a width [m]."""
        return self.cohesive_modulus / width + self.frictional_modulus


class SoilWheel(Soil):
    """A rigid wheel on soil: forces by its sinkage and slip, from stresses along its rim.

    From where it enters the soil at theta_1 = acos(1 - z / r) to theta_2 = 0 behind, with theta_m = (c_1 + c_2 s)
    theta_1 where the normal stress is largest:

        sigma = (k_c / b + k_phi) r^n (cos theta - cos theta_1)^n                                 before theta_m
        sigma = the same at theta_1 - (theta / theta_m) (theta_1 - theta_m)                       behind it
        tau = (c + sigma tan phi) (1 - exp(-j / K)),
        j = r ((theta_1 - theta) - v / (r w) (sin theta_1 - sin theta))

        load = r b int (sigma cos + tau sin),  drawbar pull = r b int (tau cos - sigma sin),  torque = r^2 b int tau

    and slip s = 1 - v / (r w) where it drives, r w / v - 1 where it brakes, so that v / (r w) is 1 - s and 1 / (1 + s);
    a wheel that is locked is taken as one of slip -0.999. Out of the soil there is no force. The
    drawbar pull is what the wheel gives the vehicle, resistance of the soil deducted.

    Source: J. Y. Wong, Theory of Ground Vehicles (2008), sections 2.4 and 2.5; Wong and Reece (1967).
    """

    radius, width = Parameter(0.15, "m", low=1e-6), Parameter(0.1, "m", low=1e-6)
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
        modulus = self.modulus(b) * r**self.exponent
        rolls = np.where(s < 0.0, 1.0 / np.maximum(1.0 + s, 1e-3), 1.0 - s)  # v / (r w)
        load = pull = torque = 0.0
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            for angle, seen, share in (
                (middle + node * (enters - middle), middle + node * (enters - middle), enters - middle),
                (node * middle, enters - node * (enters - middle), middle),
            ):
                depth = np.maximum(np.cos(seen) - np.cos(enters), 1e-30)
                normal = modulus * depth**self.exponent
                # Soil that the rim has sheared until there; with a slip below zero it is sheared the other way.
                j = r * ((enters - angle) - rolls * (np.sin(enters) - np.sin(angle)))
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


class SoilTrack(Soil):
    """A flat track on soil: forces by its sinkage and slip, with the pressure even and the shear growing along it.

        load = b L p,  p = (k_c / b + k_phi) z^n
        thrust = (b L c + load tan phi) (1 - K / (i L) (1 - exp(-i L / K)))
        resistance = b (k_c / b + k_phi) z^(n + 1) / (n + 1),    drawbar pull = thrust - resistance

    with i = 1 - v / (r w), also where it is braked, and then the thrust is against its motion. Slip is told as that of
    wheels: where it is braked r w / v - 1. Out of the soil there is no force. Bulldozing by its front is left out.

    Source: J. Y. Wong, Theory of Ground Vehicles (2008), sections 2.4 and 2.5.1, equations of uniform pressure.
    """

    length, width = Parameter(1.0, "m", low=1e-6, doc="that bears, L"), Parameter(0.2, "m", low=1e-6, doc="b")
    radius = Parameter(0.15, "m", low=1e-6, doc="of the sprocket with the belt on it, r")
    sinkage = Input("m", doc="of the track below the surface, z")
    speed = Input("m/s", doc="of the hull along the track, v")
    spin = Input("rad/s", doc="of the sprocket, w; positive drives ahead")
    load, thrust = Output("N"), Output("N")
    resistance = Output("N", doc="against its motion")
    drawbar_pull = Output("N")
    torque = Output("N m", doc="of the soil on the sprocket, against its drive")
    slip = Output("1", doc="from -1 to 1")

    def outputs(self):
        area, rim, z = self.length * self.width, self.radius * self.spin, np.maximum(self.sinkage, 1e-30)
        faster = np.maximum(np.maximum(np.abs(rim), np.abs(self.speed)), STILL)
        slides = rim - self.speed
        ahead = np.where(rim + self.speed >= 0.0, 1.0, -1.0)
        # Displacement at the rear by K; where that is small, 1 - (1 - exp(-x)) / x = x/2 - x^2/6 + x^3/24.
        x = np.abs(slides) / np.maximum(np.abs(rim), STILL) * self.length / self.shear_modulus
        far = np.maximum(x, 1e-3)
        share = np.where(x < 1e-3, x / 2.0 - x**2 / 6.0 + x**3 / 24.0, 1.0 - (1.0 - np.exp(-far)) / far)
        touches = self.sinkage > 0.0
        pressed = touches * self.modulus(self.width) * z**self.exponent
        strength = touches * area * (self.cohesion + pressed * np.tan(self.friction_angle))
        thrust = np.sign(slides) * strength * share
        resistance = np.clip(self.speed / STILL, -1.0, 1.0) * self.width * pressed * z / (self.exponent + 1.0)
        return {
            "load": area * pressed,
            "thrust": thrust,
            "resistance": resistance,
            "drawbar_pull": thrust - resistance,
            "torque": self.radius * thrust,
            "slip": ahead * slides / faster,
        }


class SoilContact(Model):
    """Between a body and the soil below a wheel or a track of its: sinkage and speed, and the force of both.

        z = ground - height,    v along and across the body's x axis in the ground's plane
        force = (load - damping dz/dt, not below 0) n + drawbar pull e_x - load mu tanh(v_across / v_0) e_y

    where n is the ground's normal. The port is at the hub, of the body that does not spin, and `drop` the wheel's
    radius. A track sinks evenly: one contact in its middle bears it and leaves the hull free to pitch, several short
    ones do not.
    """

    drop = Parameter(0.0, "m", doc="of the lowest point below that of the port")
    damping = Parameter(1e3, "N s/m", low=0.0)
    lateral_friction = Parameter(0.5, low=0.0, doc="mu")
    lateral_speed = Parameter(0.02, "m/s", low=1e-9, doc="v_0")
    position, velocity, rotation = Input("m", 3), Input("m/s", 3), Input("1", (3, 3))
    ground = Input("m", default=0.0, doc="height of the ground below")
    normal = Input("1", 3, default=(0.0, 0.0, 1.0), doc="unit vector, of the ground")
    load, drawbar_pull = Input("N"), Input("N")
    sinkage, speed = Output("m"), Output("m/s", doc="along the ground")
    force = Output("N", 3, doc="world axes")

    def outputs(self):
        n = self.normal
        way = self.rotation[:, 0] - (self.rotation[:, 0] @ n) * n
        ahead = way / np.sqrt(way @ way + 1e-24)
        across = np.cross(n, ahead)
        sinkage = (self.ground - self.position[2]) * n[2] + self.drop
        carried = np.maximum(self.load - self.damping * (self.velocity @ n), 0.0) * (self.load > 0.0)
        aside = self.load * self.lateral_friction * np.tanh((self.velocity @ across) / self.lateral_speed)
        return {
            "sinkage": sinkage,
            "speed": self.velocity @ ahead,
            "force": carried * n + self.drawbar_pull * ahead - aside * across,
        }
