"""What surrounds vehicles: gravity, atmospheres, orbits, the Sun, magnetic fields, terrain. Pure functions."""

from kido.environment.atmosphere import Air, exponential_density, us_standard_1976
from kido.environment.gravity import (
    SphericalHarmonics,
    oblate_gravity,
    point_mass_gravity,
    third_body_gravity,
)
from kido.environment.magnetism import dipole_field
from kido.environment.orbits import KeplerElements, j2_rates, kepler_equation
from kido.environment.sun import sun_position, sunlight
from kido.environment.terrain import fractal_terrain

__all__ = [
    "Air",
    "KeplerElements",
    "SphericalHarmonics",
    "dipole_field",
    "exponential_density",
    "fractal_terrain",
    "j2_rates",
    "kepler_equation",
    "oblate_gravity",
    "point_mass_gravity",
    "sun_position",
    "sunlight",
    "third_body_gravity",
    "us_standard_1976",
]
