"""Wheels on soil that yields."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.systems import Input, Model, Output, Parameter

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)  # of an angle from 0 to 1, twice: before and behind the peak
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS
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
