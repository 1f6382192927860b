"""Propellers and parachutes: forces of air on the body that carries them. Ports fit those of `BodyPort`."""

from __future__ import annotations

import numpy as np

from kido.environment.atmosphere import SEA_LEVEL, drag
from kido.environment.directions import Direction
from kido.systems import Input, Model, Output, Parameter, State


class Propeller(Model):
    """A propeller with coefficients that fall linearly with its advance ratio J = V / (n D).

        thrust = rho n^2 D^4 (c_T0 - c_T1 J),    torque = rho n^2 D^5 (c_Q0 - c_Q1 J)

    n are revolutions a second and V is the speed of the air along its axis, from ahead. It turns by `hand` (1 or -1)
    about its axis, along which it pulls; the torque on the body is the other way round. Where it turns backwards it is
    taken as its mirror image: -n and -V give thrust and torque the other way round.

    Source: B. McCormick, Aerodynamics, Aeronautics, and Flight Mechanics (1995), chapter 6.
    """

    diameter = Parameter(0.25, "m", low=1e-9)
    thrust_coefficient, thrust_slope = Parameter(0.1, doc="c_T0"), Parameter(0.0, doc="c_T1")
    torque_coefficient, torque_slope = Parameter(0.006, doc="c_Q0"), Parameter(0.0, doc="c_Q1")
    axis = Direction((0.0, 0.0, 1.0), doc="of the pull, body axes")
    hand = Parameter(1.0, low=-1.0, high=1.0)
    speed = Input("rad/s", doc="of the rotor")
    density = Input("kg/m^3", default=SEA_LEVEL)
    rotation, velocity = Input("1", (3, 3)), Input("m/s", 3)
    wind = Input("m/s", 3, default=(0.0, 0.0, 0.0))
    force, torque = Output("N", 3, doc="world axes"), Output("N m", 3, doc="on the body, world axes")
    shaft_torque = Output("N m", doc="that the motor is to give")

    def outputs(self):
        n, D, a = self.speed / (2.0 * np.pi), self.diameter, self.rotation @ self.axis
        # rho n^2 D^4 J = rho |n| V D^3: finite where the rotor stands.
        inflow = np.abs(n) * ((self.velocity - self.wind) @ a)
        thrust = self.density * D**3 * (n * np.abs(n) * D * self.thrust_coefficient - inflow * self.thrust_slope)
        torque = self.density * D**4 * (n * np.abs(n) * D * self.torque_coefficient - inflow * self.torque_slope)
        return {"force": thrust * a, "torque": -self.hand * torque * a, "shaft_torque": torque}


class Parachute(Model):
    """A parachute that opens once it is told to.

        force = -1/2 rho C_D A s^2 |v| v,    ds/dt = 1 / fill time from then on, until s = 1

    with v the velocity relative to the air at its attachment, and an area that grows with the square of time. There is
    no force once it is cut.

    Source: T. Knacke, Parachute Recovery Systems Design Manual (1992), chapter 5.
    """

    area = Parameter(10.0, "m^2", low=0.0, doc="A, of the open canopy")
    drag_coefficient = Parameter(0.75, low=0.0, doc="C_D")
    fill_time = Parameter(1.0, "s", low=1e-9)
    open = Input("1", doc="above 0.5: it opens, and never closes")
    cut = Input("1", default=0.0, doc="above 0.5: it is gone, for good")
    velocity, wind = Input("m/s", 3), Input("m/s", 3, default=(0.0, 0.0, 0.0))
    density = Input("kg/m^3", default=SEA_LEVEL)
    force = Output("N", 3, doc="world axes")
    share = State("1", doc="diameter by that of the open canopy, s")
    gone = State("s", doc="for how long it has been told that it is cut; above 0: it is gone")

    def outputs(self):
        s = np.clip(self.share, 0.0, 1.0) * (self.cut <= 0.5) * (self.gone <= 0.0)
        return {"force": drag(self.velocity - self.wind, self.density, self.area * s * s, self.drag_coefficient)}

    def derivatives(self):
        opens = ((self.open > 0.5) + (self.share > 0.0) > 0.0) * (self.share < 1.0)
        return {"share": opens / self.fill_time, "gone": 1.0 * (self.cut > 0.5)}
