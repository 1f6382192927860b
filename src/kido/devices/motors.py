"""Electric motors, their electrical and thermal side: torque on a shaft whose speed is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.systems import Input, Model, Output, Parameter, State

ROOM = 298.15  # [K]
COPPER = 0.00393  # [1/K] of resistance


class Winding(Model):
    """What windings of motors share: they warm up, resist more when warm, and are cut off before they burn.

        C dT/dt = losses - (T - T_a) / R_th,    R(T) = R (1 + alpha (T - 25 degrees))

    The motor's controller derates: it passes on a share of the voltage that falls from 1 to 0 within `derating` below
    `hottest`.

    Source: R. Valentine, Motor Control Electronics Handbook (1998), sections on thermal models of one node.
    """

    resistance = Parameter(1.0, "ohm", low=1e-12, doc="at 25 degrees")
    inductance = Parameter(1e-3, "H", low=1e-12)
    rotor_inertia = Parameter(0.0, "kg m^2", low=0.0, doc="moves with what it turns: `Gear.armature`")
    heat_capacity = Parameter(50.0, "J/K", low=1e-12)
    thermal_resistance = Parameter(5.0, "K/W", low=1e-12, doc="from windings to their surroundings")
    surroundings = Parameter(ROOM, "K", low=0.0)
    temperature_coefficient = Parameter(COPPER, "1/K")
    hottest = Parameter(428.15, "K", low=0.0, doc="no voltage is passed on from here on")
    derating = Parameter(20.0, "K", low=1e-6)
    temperature = State("K", ROOM)

    def present_resistance(self) -> Any:
        """At the present temperature [ohm]."""
        return self.resistance * (1.0 + self.temperature_coefficient * (self.temperature - ROOM))

    def passed_on(self) -> Any:
        """Share of the voltage that windings get."""
        return np.clip((self.hottest - self.temperature) / self.derating, 0.0, 1.0)

    def warming(self, losses: Any) -> Any:
        """dT/dt [K/s] by losses [W]."""
        leaves = (self.temperature - self.surroundings) / self.thermal_resistance
        return (losses - leaves) / self.heat_capacity


class DCMotor(Winding):
    """A brushed motor with permanent magnets.

        L di/dt = V - R(T) i - K w,    torque = K i

    with one constant K for torque and back EMF, as energy demands. The rotor's inertia and friction belong to what it
    turns: a joint has `armature`, which `Gear.armature` gives, and friction. Steps are to be shorter than L / R.
    """

    constant = Parameter(0.05, "N m/A", doc="torque by current, and back EMF by speed")
    voltage = Input("V")
    speed = Input("rad/s", doc="of the rotor")
    torque = Output("N m", doc="on the rotor")
    power = Output("W", doc="taken from the supply")
    current = State("A")

    def outputs(self):
        return {"torque": self.constant * self.current, "power": self.passed_on() * self.voltage * self.current}

    def derivatives(self):
        R = self.present_resistance()
        driven = self.passed_on() * self.voltage - R * self.current - self.constant * self.speed
        return {"current": driven / self.inductance, "temperature": self.warming(R * self.current**2)}


class BrushlessMotor(Winding):
    """A synchronous motor with permanent magnets, in axes that turn with its rotor.

        L_d di_d/dt = v_d - R i_d + p w L_q i_q
        L_q di_q/dt = v_q - R i_q - p w (L_d i_d + psi)
        torque = 3/2 p (psi i_q + (L_d - L_q) i_d i_q)

    with p pairs of poles, psi the magnets' flux and peak values of phases (amplitude-invariant transform). L_d is
    `inductance`, L_q that times `saliency`. Amplitude of the voltage is at most `supply` / sqrt(3).

    Source: P. Krause, O. Wasynczuk, S. Sudhoff, Analysis of Electric Machinery (2002), chapter 4.
    """

    pole_pairs = Parameter(7.0, low=1.0)
    flux = Parameter(5e-3, "Wb", low=0.0, doc="of the magnets through a phase, psi")
    saliency = Parameter(1.0, low=1e-6, doc="L_q / L_d")
    supply = Parameter(48.0, "V", low=0.0)
    direct_voltage, quadrature_voltage = Input("V", default=0.0), Input("V")
    speed = Input("rad/s", doc="of the rotor")
    torque = Output("N m", doc="on the rotor")
    power = Output("W", doc="taken from the supply")
    direct_current, quadrature_current = State("A"), State("A")

    def _voltages(self) -> tuple[Any, Any]:
        vd, vq = self.passed_on() * self.direct_voltage, self.passed_on() * self.quadrature_voltage
        size = np.sqrt(vd * vd + vq * vq + 1e-24)
        share = np.minimum(1.0, self.supply / (np.sqrt(3.0) * size))
        return share * vd, share * vq

    def outputs(self):
        i_d, i_q = self.direct_current, self.quadrature_current
        vd, vq = self._voltages()
        reluctance = self.inductance * (1.0 - self.saliency) * i_d * i_q
        torque = 1.5 * self.pole_pairs * (self.flux * i_q + reluctance)
        return {"torque": torque, "power": 1.5 * (vd * i_d + vq * i_q)}

    def derivatives(self):
        i_d, i_q, R = self.direct_current, self.quadrature_current, self.present_resistance()
        vd, vq = self._voltages()
        L_d, L_q, w = self.inductance, self.saliency * self.inductance, self.pole_pairs * self.speed
        return {
            "direct_current": (vd - R * i_d + w * L_q * i_q) / L_d,
            "quadrature_current": (vq - R * i_q - w * (L_d * i_d + self.flux)) / L_q,
            "temperature": self.warming(1.5 * R * (i_d**2 + i_q**2)),
        }


class FieldControl(Model):
    """Currents of a `BrushlessMotor` along and across its magnets' field, for a torque that is wanted.

        i_q* = wanted / (3/2 p psi),  i_d* = 0,    e = i* - i
        v_d = a L_d e_d + I_d - p w L_q i_q,    v_q = a L_q e_q + I_q + p w (L_d i_d + psi),    dI/dt = a R e

    which makes both currents follow with a lag of 1 / a, the `bandwidth`, as long as the supply lasts: the voltage's
    amplitude ends at `supply` / sqrt(3), and the integrals stop there. Parameters are those of the motor.

    Source: D. Novotny, T. Lipo, Vector Control and Dynamics of AC Drives (1996), chapter 7; gains by L. Harnefors,
    H.-P. Nee, Model-based current control of AC machines using the internal model control method (1998).
    """

    rate = 10_000
    resistance, inductance = Parameter(1.0, "ohm", low=1e-12), Parameter(1e-3, "H", low=1e-12)
    pole_pairs, flux = Parameter(7.0, low=1.0), Parameter(5e-3, "Wb", low=1e-12)
    saliency, supply = Parameter(1.0, low=1e-6), Parameter(48.0, "V", low=0.0)
    bandwidth = Parameter(2000.0, "rad/s", low=0.0, doc="a")
    largest_current = Parameter(1e300, "A", low=0.0)
    wanted = Input("N m")
    speed = Input("rad/s", doc="of the rotor")
    direct_current, quadrature_current = Input("A"), Input("A")
    direct_voltage, quadrature_voltage = Output("V"), Output("V")
    direct_integral, quadrature_integral = State("V"), State("V")

    def _errors(self) -> tuple[Any, Any]:
        i_q = np.clip(self.wanted / (1.5 * self.pole_pairs * self.flux), -self.largest_current, self.largest_current)
        return -self.direct_current, i_q - self.quadrature_current

    def _asked(self) -> tuple[Any, Any, Any]:
        """Voltages, and the share of them that the supply has."""
        e_d, e_q = self._errors()
        L_d, L_q, w = self.inductance, self.saliency * self.inductance, self.pole_pairs * self.speed
        v_d = self.bandwidth * L_d * e_d + self.direct_integral - w * L_q * self.quadrature_current
        v_q = self.bandwidth * L_q * e_q + self.quadrature_integral + w * (L_d * self.direct_current + self.flux)
        return v_d, v_q, np.minimum(1.0, self.supply / np.sqrt(3.0 * (v_d * v_d + v_q * v_q) + 1e-24))

    def outputs(self):
        v_d, v_q, share = self._asked()
        return {"direct_voltage": share * v_d, "quadrature_voltage": share * v_q}

    def update(self):
        e_d, e_q = self._errors()
        gain = (self._asked()[2] >= 1.0) * self.bandwidth * self.resistance * self.period
        return {
            "direct_integral": self.direct_integral + gain * e_d,
            "quadrature_integral": self.quadrature_integral + gain * e_q,
        }
