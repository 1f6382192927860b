"""Entry, descent and landing: a capsule's fall through the air, guidance to the ground, engines, what it weighs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from kido.environment.atmosphere import GRAVITY, drag, exponential_density
from kido.environment.gravity import point_mass
from kido.environment.planets import MARS
from kido.errors import ModelError
from kido.math.transform import numbers_or_nan
from kido.systems import Crossing, Input, Model, Output, Parameter, State


class BallisticEntry(Model):
    """A capsule without lift that falls through a planet's air, up to the moment when it is slow enough.

        dr/dt = v,    dv/dt = -mu r / |r|^3 - 1/2 rho C_D A |v| v / m

    in the axes of `kido.environment.Site`, whose planet and air it has. The moment when its speed falls through `slow`
    is found exactly, and it stands still from then on: `ended` is 1, its states are those of that moment, `time_of`.

    Source: N. Vinh, A. Busemann, R. Culp, Hypersonic and Planetary Entry Flight Mechanics (1980), chapter 2.
    """

    mass, area = Parameter(600.0, "kg", low=1e-9), Parameter(5.5, "m^2", low=0.0)
    drag_coefficient = Parameter(1.6, low=0.0)
    mu, radius = Parameter(MARS.mu, "m^3/s^2", low=0.0), Parameter(MARS.radius, "m", low=1e-9)
    surface_density, scale_height = Parameter(0.0158, "kg/m^3", low=0.0), Parameter(9354.5, "m", low=1e-9)
    slow = Parameter(400.0, "m/s", low=0.0)
    load = Output("m/s^2", doc="deceleration by the air")
    height = Output("m")
    position, velocity = State("m", (0.0, 0.0, 125e3)), State("m/s", (0.0, 0.0, 0.0))
    ended, time_of = State("1"), State("s")
    is_slow = Crossing(-1)

    def _from_centre(self) -> Any:
        return self.position + self.radius * np.array([0.0, 0.0, 1.0])

    def _air(self) -> Any:
        r = self._from_centre()
        height = np.sqrt(r @ r) - self.radius
        density = exponential_density(height, self.surface_density, self.scale_height)
        return drag(self.velocity, density, self.area, self.drag_coefficient) / self.mass

    def outputs(self):
        a, r = self._air(), self._from_centre()
        return {"load": np.sqrt(a @ a), "height": np.sqrt(r @ r) - self.radius}

    def derivatives(self):
        on = 1.0 - self.ended
        return {
            "position": on * self.velocity,
            "velocity": on * (point_mass(self._from_centre(), self.mu) + self._air()),
        }

    def crossings(self):
        return {"is_slow": self.velocity @ self.velocity - self.slow**2 + self.ended}

    def at_is_slow(self):
        return {"ended": 1.0, "time_of": self.time}


class PoweredDescent(Model):
    """Guidance of a lander from its parachute to the ground: phases 0 parachute, 1 braking, 2 sinking, 3 landed.

    Below `release` it leaves the parachute and brakes by a polynomial: the acceleration

        a = 6 (r_f - r) / t^2 - (4 v + 2 v_f) / t

    leads in the time t that is left to a place r_f, `final` above the ground, with velocity v_f. The time is that of an
    even deceleration, and the place is where that would lead. Then it sinks evenly with v_f, until a leg gives way by
    more than `touch`, and engines are shut. Thrust m (a - g) is no farther from the vertical than `tilt`. A torque
    J (k_p z x u - k_d w) turns the body's z axis along it.

    Source: G. Cherry, A general, explicit, optimizing guidance law for rocket-propelled spaceflight (1964);
    A. Klumpp, Apollo lunar descent guidance, Automatica 10 (1974).
    """

    rate = 50
    release = Parameter(1200.0, "m", low=0.0, doc="height at which engines take over")
    final, sink = Parameter(12.0, "m", low=0.0), Parameter(1.5, "m/s", low=1e-3, doc="-v_f along the vertical")
    shortest = Parameter(0.5, "s", low=1e-3, doc="time left at which it begins to sink")
    hold = Parameter(1.0, "1/s", low=0.0, doc="acceleration by error of velocity, sinking")
    tilt = Parameter(0.7, "rad", low=1e-3, high=1.5)
    touch = Parameter(0.02, "m", low=0.0)
    moments = Parameter((150.0, 150.0, 200.0), "kg m^2", doc="diagonal of J")
    kp, kd = Parameter(6.0, "1/s^2", low=0.0), Parameter(4.0, "1/s", low=0.0)
    velocity_error = Parameter((0.0, 0.0, 0.0), "m/s", doc="of what it measures")
    position, velocity = Input("m", 3), Input("m/s", 3)
    rotation, angular_velocity = Input("1", (3, 3)), Input("rad/s", 3)
    height = Input("m", doc="over ground, as measured")
    up, gravity, mass = Input("1", 3), Input("m/s^2", 3), Input("kg")
    stroke = Input("m", doc="by which the legs have given way, the most of them")
    force, torque = Output("N", 3, doc="that engines are to give, body axes"), Output("N m", 3)
    released = Output("1")
    phase, left = State("1"), State("s", doc="t")
    target = State("m", (0.0, 0.0, 0.0), doc="r_f, whatever its height")

    def _velocity(self) -> tuple[Any, Any]:
        """Measured: across the vertical, and along it."""
        v = self.velocity + self.velocity_error
        along = v @ self.up
        return v - along * self.up, along

    def _asked(self) -> Any:
        """Acceleration [m/s^2]."""
        level, along = self._velocity()
        v, wanted = level + along * self.up, -self.sink * self.up
        t = np.maximum(self.left, self.shortest)
        way = self.target - self.position
        way = way - (way @ self.up) * self.up + (self.final - self.height) * self.up
        braking = 6.0 / (t * t) * way - (4.0 * v + 2.0 * wanted) / t
        return np.where(self.phase > 1.5, self.hold * (wanted - v), braking)

    def outputs(self):
        push = self._asked() - self.gravity
        rise = np.maximum(push @ self.up, 0.3 * np.sqrt(self.gravity @ self.gravity))
        level = push - (push @ self.up) * self.up
        size = np.sqrt(level @ level + 1e-12)
        push = rise * self.up + np.minimum(1.0, rise * np.tan(self.tilt) / size) * level
        size, z = np.sqrt(push @ push), self.rotation[:, 2]
        off, turn = self.rotation.T @ np.cross(z, push / size), self.rotation.T @ self.angular_velocity
        on = (self.phase > 0.5) * (self.phase < 2.5)
        thrust = on * self.mass * np.maximum(push @ z, 0.0)
        return {
            "force": np.array([0.0, 0.0, thrust]),
            "torque": on * self.moments * (self.kp * off - self.kd * turn),
            "released": self.phase > 0.5,
        }

    def update(self):
        level, along = self._velocity()
        near = (self.height > 0.0) * (self.height < self.release)  # it reads 0 out of its range, and before all ticks
        begins = (self.phase < 0.5) * near * (along < 0.0)
        time = 2.0 * np.maximum(self.height - self.final, 1.0) / (self.sink - along)
        left = np.where(begins > 0.0, time, np.maximum(self.left - self.period, 0.0))
        sinks = (self.phase > 0.5) * (self.phase < 1.5) * (self.left < self.shortest)
        lands = (self.phase > 0.5) * (self.phase < 2.5) * (self.stroke > self.touch)
        return {
            "phase": np.where(lands > 0.0, 3.0, self.phase + begins + sinks),
            "left": left,
            "target": np.where(begins > 0.0, self.position + 0.5 * time * level, self.target),
        }


class Propellant(Model):
    """What a vehicle weighs while it burns propellant, and once it has dropped a part.

    mass = dry + left + part, until it is dropped,    body = mass - apart,    d left / dt = -flow
    """

    dry, part = Parameter(360.0, "kg", low=0.0), Parameter(180.0, "kg", low=0.0, doc="that it drops")
    apart = Parameter(0.0, "kg", low=0.0, doc="of the dry mass, what bodies besides the one with the tanks have")
    flow, dropped = Input("kg/s"), Input("1", default=1.0, doc="above 0.5: the part is gone")
    mass, body = Output("kg"), Output("kg", doc="of the body with the tanks, as `kido.systems.MassPort` takes it")
    left = State("kg", 60.0)

    def outputs(self):
        mass = self.dry + np.maximum(self.left, 0.0) + (self.dropped <= 0.5) * self.part
        return {"mass": mass, "body": mass - self.apart}

    def derivatives(self):
        return {"left": -self.flow}


class ThrusterCluster(Model):
    """Thrusters of one kind on a body, opened once in each period so that together they give a force and a torque.

        shares = B^+ [force; torque] / thrust,    column k of B is [direction; place x direction] of thruster k

    within 0 and 1, and 0 where a valve would be open for less than `least_pulse`. Shares below 0 are made up for by
    thrusters that together give nothing: two with opposite columns, or as many as it takes, open by as much more or
    less as lets the one that is asked least be shut. Those of no such set, engines that all push one way, stay shut
    where their share would be below 0, and give something else then. Only the asked components count; others are as
    they come. What they give is the mean over the period, in axes of the body at the tick.

    Args:
        name: in its assembly.
        places: (n, 3) from the body port, which is to be at the centre of mass [m], body axes.
        directions: (n, 3) of their forces, body axes; made unit vectors.
        asked: which of the six components, forces before torques, it follows.
        **values: as of `Model`.

    Raises:
        ModelError: no such arrays, a direction without length, or components that there are not or they cannot give.

    Source: O. Haerkegaard, Dynamic control allocation using constrained quadratic programming (2004), for B^+.
    """

    rate = 50
    thrust = Parameter(1.0, "N", low=1e-12, doc="of each")
    least_pulse = Parameter(0.0, "s", low=0.0)
    specific_impulse = Parameter(220.0, "s", low=1e-9)
    force, torque = Input("N", 3, default=0.0, doc="asked, body axes"), Input("N m", 3, default=0.0, doc="the same")
    rotation = Input("1", (3, 3))
    propellant = Input("kg", default=1.0, doc="without any there is no thrust")
    given_force, given_torque = Output("N", 3, doc="world axes"), Output("N m", 3, doc="world axes")
    flow = Output("kg/s")
    used = State("kg", doc="propellant until now")
    samples = State("1", doc="number of ticks, at most 1")

    def __init__(
        self,
        name: str | None = None,
        places: ArrayLike = (),
        directions: ArrayLike = (),
        asked: tuple[int, ...] = (0, 1, 2, 3, 4, 5),
        **values: Any,
    ):
        super().__init__(name, **values)
        what = f"model {self.name!r}"
        at, along = numbers_or_nan(places), numbers_or_nan(directions)
        if at.ndim != 2 or at.shape[1] != 3 or along.shape != at.shape or not np.isfinite([at, along]).all():
            raise ModelError(f"{what}: places, directions: expected two arrays (n, 3), got {at.shape}, {along.shape}")
        size = np.linalg.norm(along, axis=1)
        if not (size > 0.0).all():
            raise ModelError(f"{what}: directions: number {int(np.argmin(size))} has no length")
        along = along / size[:, None]
        self.columns = np.vstack([along.T, np.asarray(np.cross(at, along), float).T])
        chosen = numbers_or_nan(asked)
        if chosen.ndim != 1 or not len(chosen) or not np.isin(chosen, range(6)).all():
            raise ModelError(f"{what}: asked: expected some of the components 0 to 5, got {asked!r:.100}")
        asked = tuple(int(k) for k in chosen)
        rows = self.columns[list(asked)]
        if np.linalg.matrix_rank(rows) < len(asked):
            raise ModelError(f"{what}: {len(at)} thrusters cannot give components {tuple(asked)} independently")
        self.inverse = np.zeros((len(at), 6))
        self.inverse[:, list(asked)] = np.linalg.pinv(rows)
        self.idle = idle_sets(rows)

    def _shares(self) -> Any:
        wanted = [*self.force, *self.torque]
        asked = np.array([sum(row[k] * wanted[k] for k in range(6)) for row in self.inverse]) / self.thrust
        for shares in self.idle:
            own = np.flatnonzero(shares)
            least = asked[own[0]] / shares[own[0]]
            for k in own[1:]:
                least = np.minimum(least, asked[k] / shares[k])
            asked = asked - least * shares
        shares = np.clip(asked, 0.0, 1.0) * (self.propellant > 0.0)
        return np.where(shares * self.period >= self.least_pulse, shares, 0.0)

    def _flow(self, shares: Any) -> Any:
        return sum(shares) * self.thrust / (self.specific_impulse * GRAVITY)

    def outputs(self):
        shares = self._shares()
        given = [self.thrust * sum(row[k] * shares[k] for k in range(len(shares))) for row in self.columns]
        return {
            "given_force": self.rotation @ np.array(given[:3]),
            "given_torque": self.rotation @ np.array(given[3:]),
            "flow": self._flow(shares),
        }

    def update(self):
        return {"used": self.used + self.samples * self.period * self._flow(self._shares()), "samples": 1.0}


def idle_sets(columns: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Shares (n,), none below 0, at which thrusters give nothing: columns (m, n) times them is 0.

    As few sets as have each thruster that is in any; those of two with opposite columns, where there are such.
    """
    size = np.linalg.norm(columns, axis=0)
    unit = columns / np.where(size > 0.0, size, 1.0)
    found: list[NDArray[np.float64]] = []
    done = size <= 1e-12 * size.max()
    for k in range(columns.shape[1]):
        if done[k]:
            continue
        # Of unit vectors an opposite one leads out fastest, so that least squares takes it alone.
        others = np.where((size > 0.0) & (np.arange(len(size)) != k), unit, 0.0)
        shares, off = nnls(others, -unit[:, k])
        if off < 1e-9:
            shares[k] = 1.0
            shares[size > 0.0] /= size[size > 0.0]
            found.append(np.where(shares > 1e-9 * shares.max(), shares, 0.0))
            done |= found[-1] > 0.0
    return found
