"""Momenta and centres of mass of skeletons with flexible bodies, or of some bodies: see `kido.flexible.answers`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.flexible import entries
from kido.flexible.columns import cross_columns, in_axes_of
from kido.flexible.deformed import Deformed
from kido.flexible.differentials import forces_stage, momentum_stage
from kido.quantities.centroidal import from_origin_of, seen_acceleration, seen_velocity
from kido.quantities.failures import massless
from kido.quantities.motion_derivatives import CentroidalDerivatives

Array = NDArray[np.float64]


def _sums(of: Deformed) -> Array:
    """As `Deformed.sums`, of bodies that have a centre of mass."""
    x = of.sums()
    if x[11] == 0.0:
        massless(of.state, 0)
    return x


def _about_com(of: Deformed) -> tuple[Array, float, Array, Array]:
    """Momentum matrix about the world's origin, the mass, centre of mass and its velocity."""
    rows, x = np.empty((6, len(of.u))), _sums(of)
    of._call(entries.momentum_matrix, rows)
    return rows, float(x[11]), x[8:11] / x[11], x[5:8] / x[11]


def momentum_about(of: Deformed, about: Any) -> Array:
    x = of.sums()
    return np.append(x[2:5] - np.cross(of.state.point_of_world(about), x[5:8]), x[5:8])


def centroidal_momentum(of: Deformed) -> Array:
    x = _sums(of)
    return momentum_about(of, x[8:11] / x[11])


def com(of: Deformed, with_respect_to: Any = None) -> Array:
    x = _sums(of)
    place = x[8:11] / x[11]
    return place if with_respect_to is None else from_origin_of(of.state, with_respect_to, place)


def com_jacobian(of: Deformed, in_coordinates_of: Any = None) -> Array:
    rows, mass, _, _ = _about_com(of)
    return in_axes_of(of, rows[3:] / mass, in_coordinates_of)


def com_jacobian_derivative(of: Deformed, in_coordinates_of: Any = None) -> Array:
    (rate,) = of.along(momentum_stage, ("rows",), dq=of.u[:, None])
    return in_axes_of(of, rate[3:, :, 0] / _sums(of)[11], in_coordinates_of)


def centroidal_momentum_matrix(of: Deformed) -> Array:
    rows, _, com, _ = _about_com(of)
    rows[:3] -= cross_columns(com, rows[3:])
    return rows


def centroidal_momentum_matrix_derivative(of: Deformed) -> Array:
    rows, _, com, v = _about_com(of)
    rate = of.along(momentum_stage, ("rows",), dq=of.u[:, None])[0][..., 0]
    rate[:3] -= cross_columns(com, rate[3:]) + cross_columns(v, rows[3:])
    return rate


def com_acceleration(of: Deformed, relative_to: Any = None, in_coordinates_of: Any = None) -> Array:
    a = com_jacobian(of) @ of.udot + com_jacobian_derivative(of) @ of.u
    return seen_acceleration(of.state, a, of.bodies, relative_to, in_coordinates_of, None, None)


def com_velocity(of: Deformed, relative_to: Any = None, in_coordinates_of: Any = None) -> Array:
    x = _sums(of)
    return seen_velocity(of.state, x[5:8] / x[11], of.bodies, relative_to, in_coordinates_of, None)


def centroidal_momentum_derivatives(of: Deformed) -> CentroidalDerivatives:
    made = of.state.at(of.q, of.u, of.udot)  # without loads
    inner = made.deformed
    inner.follow()
    one, x = np.eye(len(of.u)), of.sums()
    mass, com = float(x[11]), x[8:11] / x[11]
    dh, dc, dq = inner.along(forces_stage, ("momentum", "moment", "force"), dq=one)
    (du,) = inner.along(forces_stage, ("force",), du=one)
    dc = dc[:3] / mass
    h, f = x[5:8], _force_of_roots(of)
    dh[:3] -= cross_columns(com, dh[3:]) - cross_columns(h, dc)
    # hdot about the centre is what roots take about it: weight has no moment there.
    dq[:3] -= cross_columns(com, dq[3:]) - cross_columns(f, dc)
    du[:3] -= cross_columns(com, du[3:])
    return CentroidalDerivatives(dh, dq, du, centroidal_momentum_matrix(of))


def _force_of_roots(of: Deformed) -> Array:
    """Force that the motion takes of the outside, weight and all: m (a - g)."""
    m = of.sums()[11]
    return m * com_acceleration(of) - _weight(of)


def _weight(of: Deformed) -> Array:
    t = of.state.tree
    return (t.mass * t.gravity_factor) @ np.tile(t.gravity, (len(t.mass), 1))


def centroidal_inertia(of: Deformed) -> Array:
    w, c = of._work, _sums(of)
    c = c[8:11] / c[11]
    out = np.zeros((6, 6))
    for i, m in enumerate(of.mass):
        r, s = w.p[i] - c, w.mc[i]
        a = w.J[i]
        J = np.array([[a[0], a[1], a[2]], [a[1], a[3], a[4]], [a[2], a[4], a[5]]])
        out[:3, :3] += J + (m * (r @ r) + 2.0 * (r @ s)) * np.eye(3) - m * np.outer(r, r)
        out[:3, :3] -= np.outer(r, s) + np.outer(s, r)
        out[3:, 3:] += m * np.eye(3)
    return out
