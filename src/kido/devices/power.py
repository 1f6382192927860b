"""Batteries."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import ModelError
from kido.systems import Input, Model, Output, Parameter, State


class Battery(Model):
    """A battery as a voltage behind resistances, one of them with a capacitor beside it.

        V = V_oc(s) - R_0 i - v,    dv/dt = i / C - v / (R_1 C),    ds/dt = -i / Q

    with s its charge from 0 to 1 and V_oc = empty + (full - empty) s. An empty battery has no
    voltage left, and a full one is charged no further: what still comes in is lost.

    Raises:
        ModelError: a charge that is not from 0 to 1.

    Source: Chen, Rincon-Mora, Accurate electrical battery model (2006), with one of its two pairs.
    """

    capacity = Parameter(3600.0, "C", low=1e-9, doc="Q")
    full, empty = Parameter(12.6, "V"), Parameter(10.0, "V")
    resistance = Parameter(0.05, "ohm", low=0.0, doc="R_0")
    slow_resistance = Parameter(0.02, "ohm", low=1e-12, doc="R_1")
    slow_capacity = Parameter(1000.0, "F", low=1e-12, doc="C")
    current = Input("A", doc="drawn")
    voltage = Output("V")
    charge = State("1", 1.0, doc="s")
    slow_voltage = State("V", doc="v")

    def __init__(self, name: str | None = None, **values: Any):
        super().__init__(name, **values)
        charge = float(self.initial_value("charge"))
        if not 0.0 <= charge <= 1.0:
            raise ModelError(f"model {self.name!r}: state 'charge': expected a number from 0 to 1, got {charge:g}")

    def outputs(self):
        inside = self.empty + (self.full - self.empty) * self.charge
        voltage = inside - self.resistance * self.current - self.slow_voltage
        return {"voltage": np.where(self.charge > 0.0, voltage, 0.0)}

    def derivatives(self):
        leaves = self.slow_voltage / self.slow_resistance
        enters = np.where(self.charge > 0.0, -self.current, np.maximum(-self.current, 0.0))
        return {
            "charge": np.where(self.charge < 1.0, enters, np.minimum(enters, 0.0)) / self.capacity,
            "slow_voltage": (self.current - leaves) / self.slow_capacity,
        }
