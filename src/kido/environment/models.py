"""The environment as models of systems. Their ports fit those of `kido.systems.BodyPort`."""

from __future__ import annotations

import numpy as np

from kido.environment.atmosphere import (
    SEA_LEVEL,
    drag,
    exponential_density,
    plate_force,
    standard_atmosphere,
    submerged_sphere,
    wing_force,
)
from kido.environment.directions import Direction
from kido.environment.gravity import gravity_gradient, oblate, point_mass, third_body
from kido.environment.planets import DAY, EARTH, J2000, MARS, Planet, about_z, earth_angle
from kido.environment.sun import magnetic_dipole, sun_position, sunlight
from kido.systems import Input, Model, Noise, Output, Parameter, State

CALM = (0.0, 0.0, 0.0)


class PlanetGravity(Model):
    """Gravity of a planet at the origin, with its J2, on a body: m times `oblate`, and the torque of its gradient.

    The world's own gravity is to be zero. The torque is 3 mu / |r|^5 r x (I r), see `gravity_gradient`. Forces hold
    during a step of a world: with `lead`, half of its time step, and the velocity connected, they are those of its
    middle, and orbits are exact to the second order of the time step in place of the first.
    """

    mu = Parameter(EARTH.mu, "m^3/s^2")
    radius = Parameter(EARTH.radius, "m", low=1e-9)
    j2 = Parameter(EARTH.j2)
    mass = Parameter(1.0, "kg", low=0.0, doc="of the body")
    inertia = Parameter(np.zeros((3, 3)), "kg m^2", doc="about its centre of mass, body axes")
    lead = Parameter(0.0, "s", low=0.0, doc="gravity is taken where the body is that much later")
    position = Input("m", 3, doc="of the centre of mass")
    velocity = Input("m/s", 3, default=CALM)
    rotation = Input("1", (3, 3), default=np.eye(3))
    force, torque = Output("N", 3), Output("N m", 3)
    acceleration = Output("m/s^2", 3)

    def outputs(self):
        r = self.position + self.lead * self.velocity
        a = oblate(r, Planet(self.mu, self.radius, self.j2))
        turned = self.rotation @ self.inertia @ self.rotation.T
        return {
            "acceleration": a,
            "force": self.mass * a,
            "torque": gravity_gradient(r, turned, self.mu),
        }


class OrbitFrame(Model):
    """The origin of a world that falls round a planet: d^2 r / dt^2 = -mu r / |r|^3. Its axes do not turn.

    In it bodies near each other keep the digits that they lose at thousands of kilometres. `Tide` acts on them there.
    """

    mu = Parameter(EARTH.mu, "m^3/s^2", low=0.0)
    position, velocity = State("m", (7e6, 0.0, 0.0), doc="from the planet's centre"), State("m/s", CALM)

    def derivatives(self):
        return {"position": self.velocity, "velocity": point_mass(self.position, self.mu)}


class Tide(Model):
    """Gravity of a planet on a body in a world that falls by it: m times what it differs from that at the origin.

    force = m (g(origin + position) - g(origin)),    g = -mu r / |r|^3, without the loss of digits (`third_body`)
    """

    mu, mass = Parameter(EARTH.mu, "m^3/s^2", low=0.0), Parameter(1.0, "kg", low=0.0)
    origin = Input("m", 3, doc="of the world, from the planet's centre: `OrbitFrame.position`")
    position = Input("m", 3, doc="of the centre of mass in the world")
    force = Output("N", 3)

    def outputs(self):
        return {"force": self.mass * third_body(self.position, -self.origin, self.mu)}


class Site(Model):
    """What is around a vehicle near a place on a round planet, in axes there: origin on the surface, z up.

        g = -mu u / |r|^2, r = position + radius z,    density = surface density exp(-height / scale height)

    The world's own gravity, that at the place, acts on all of its bodies; `force` is what gravity differs from it,
    mass (g - world gravity), at the centre of mass. The planet does not turn. Mars by default, its air an exponential
    fit of the lower 50 km.

    Source: J. Benito, K. Mease, Reachable and controllable sets for planetary entry and landing (2010), the fit.
    """

    mu = Parameter(MARS.mu, "m^3/s^2", low=0.0)
    radius = Parameter(MARS.radius, "m", low=1e-9)
    surface_density = Parameter(0.0158, "kg/m^3", low=0.0)
    scale_height = Parameter(9354.5, "m", low=1e-9)
    world_gravity = Parameter((0.0, 0.0, -MARS.mu / MARS.radius**2), "m/s^2")
    mass = Input("kg", default=1.0)
    position = Input("m", 3)
    height, up = Output("m"), Output("1", 3, doc="unit vector")
    gravity, force = Output("m/s^2", 3), Output("N", 3)
    density = Output("kg/m^3")

    def outputs(self):
        r = self.position + self.radius * np.array([0.0, 0.0, 1.0])
        distance = np.sqrt(r @ r)
        up = r / distance
        g = -self.mu / distance**2 * up
        return {
            "height": distance - self.radius,
            "up": up,
            "gravity": g,
            "force": self.mass * (g - self.world_gravity),
            "density": exponential_density(distance - self.radius, self.surface_density, self.scale_height),
        }


class Atmosphere(Model):
    """The US Standard Atmosphere 1976 at a height: `standard_atmosphere`."""

    height = Input("m")
    density, pressure = Output("kg/m^3"), Output("Pa")
    temperature, speed_of_sound = Output("K"), Output("m/s")

    def outputs(self):
        air = standard_atmosphere(self.height)
        return {
            "density": air.density, "pressure": air.pressure, "temperature": air.temperature,
            "speed_of_sound": air.speed_of_sound,
        }  # fmt: skip


class Wind(Model):
    """A steady wind and gusts of each component: noise with the spectrum of Dryden's longitudinal gusts.

        g+ = exp(-T / tau) g + sigma sqrt(1 - exp(-2 T / tau)) n,    tau = L / V

    Source: MIL-F-8785C, section 3.7.2.
    """

    rate = 100
    mean = Parameter(CALM, "m/s")
    gusts = Parameter(0.0, "m/s", low=0.0, doc="standard deviation, sigma")
    memory = Parameter(5.0, "s", low=1e-9, doc="length of gusts by speed through them, tau")
    wind = Output("m/s", 3)
    gust = State("m/s", CALM)
    n = Noise(3)

    def outputs(self):
        return {"wind": self.mean + self.gust}

    def update(self):
        kept = np.exp(-self.period / self.memory)
        return {"gust": kept * self.gust + self.gusts * np.sqrt(1.0 - kept * kept) * self.n}


class Drag(Model):
    """Drag of a body: `drag` at its velocity through the air."""

    area, coefficient = Parameter(1.0, "m^2", low=0.0), Parameter(1.0, low=0.0)
    velocity, wind = Input("m/s", 3), Input("m/s", 3, default=CALM)
    density = Input("kg/m^3", default=SEA_LEVEL)
    force = Output("N", 3)

    def outputs(self):
        return {"force": drag(self.velocity - self.wind, self.density, self.area, self.coefficient)}


class Plate(Model):
    """A flat plate in a fast, thin flow, hit on either side: `plate_force`."""

    area = Parameter(1.0, "m^2", low=0.0)
    normal = Direction((0.0, 0.0, 1.0), doc="body axes")
    rotation, velocity = Input("1", (3, 3)), Input("m/s", 3)
    wind = Input("m/s", 3, default=CALM)
    density = Input("kg/m^3", default=SEA_LEVEL)
    force = Output("N", 3)

    def outputs(self):
        normal = self.rotation @ self.normal
        return {"force": plate_force(self.velocity - self.wind, self.density, normal, self.area)}


class Wing(Model):
    """A thin wing with a stall: `wing_force`, at its centre of pressure."""

    area = Parameter(1.0, "m^2", low=0.0)
    chord, normal = Direction((1.0, 0.0, 0.0), doc="ahead, body axes"), Direction((0.0, 0.0, 1.0), doc="body axes")
    slope = Parameter(5.0, low=0.0, doc="of the lift coefficient over the angle of attack [1/rad]")
    stall = Parameter(np.radians(14.0), "rad", low=1e-3, high=1.5)
    drag_coefficient = Parameter(0.02, low=0.0)
    rotation, velocity = Input("1", (3, 3)), Input("m/s", 3)
    wind = Input("m/s", 3, default=CALM)
    density = Input("kg/m^3", default=SEA_LEVEL)
    force = Output("N", 3)

    def outputs(self):
        R = self.rotation
        return {
            "force": wing_force(
                self.velocity - self.wind, self.density, R @ self.chord, R @ self.normal, self.area, self.slope,
                self.stall, self.drag_coefficient,
            )
        }  # fmt: skip


class Buoyancy(Model):
    """What a fluid carries of a sphere: the weight of what it displaces, and drag on the share that is in it."""

    radius = Parameter(0.5, "m", low=0.0)
    fluid_density = Parameter(1000.0, "kg/m^3", low=0.0)
    gravity = Parameter(9.81, "m/s^2", low=0.0)
    drag_coefficient = Parameter(0.47, low=0.0)
    position, velocity = Input("m", 3), Input("m/s", 3)
    surface = Input("m", default=0.0, doc="height of the fluid's surface")
    current = Input("m/s", 3, default=CALM)
    force = Output("N", 3)
    volume = Output("m^3", doc="displaced")

    def outputs(self):
        volume = submerged_sphere(self.surface - self.position[2], self.radius)
        share = volume / (4.0 / 3.0 * np.pi * self.radius**3)
        resist = drag(
            self.velocity - self.current, self.fluid_density, share * np.pi * self.radius**2, self.drag_coefficient
        )
        up = np.array([0.0, 0.0, 1.0])
        return {"force": self.fluid_density * self.gravity * volume * up + resist, "volume": volume}


class Sun(Model):
    """Direction to the sun from a place near a planet at the origin, and how much of it is seen there."""

    start = Parameter(J2000, doc="Julian date at time 0")
    radius = Parameter(EARTH.radius, "m", low=0.0, doc="of the planet")
    position = Input("m", 3)
    direction = Output("1", 3, doc="unit vector, equatorial axes")
    light = Output("1", doc="share of the sun's disk")

    def outputs(self):
        sun = sun_position(self.start + self.time / DAY)
        away = sun - self.position
        return {"direction": away / np.sqrt(away @ away), "light": sunlight(self.position, sun, self.radius)}


class MagneticField(Model):
    """The Earth's dipole, which turns with it: `magnetic_dipole` in equatorial axes."""

    start = Parameter(J2000, doc="Julian date at time 0")
    position = Input("m", 3, doc="equatorial axes")
    field = Output("T", 3)

    def outputs(self):
        turn = about_z(earth_angle(self.start + self.time / DAY))
        return {"field": turn @ magnetic_dipole(turn.T @ self.position)}
