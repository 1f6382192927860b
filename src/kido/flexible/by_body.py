"""Quantities of each body of a skeleton with flexible ones, by spatial operators.

The body BODY_modes has neither mass nor bodies on it here: what it is among operators is BODY.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.flexible.body import flexible_bodies
from kido.flexible.deformed import Deformed
from kido.operators import OperatorError, SpatialOperators

Array = NDArray[np.float64]


def operators_of(of: Deformed, prescribed: Any = None) -> SpatialOperators:
    """Spatial operators of all bodies at the state, kept for the next one where nothing is prescribed."""
    skeleton, kept = of.state.skeleton, of.operators
    if prescribed is not None:
        return SpatialOperators(skeleton, of.q, of.u, prescribed=of.state.dof_indices(prescribed))
    if kept is None or kept.on.version != skeleton.structure_version:
        kept = of.operators = SpatialOperators(skeleton, of.q, of.u)
    else:
        kept.move_to(of.q, of.u)
    return kept


def _rows(ops: SpatialOperators, values: Array) -> Array:
    """The six numbers of each body that are its motion or wrench."""
    first = np.array(ops.on.body_space.first[:-1])
    return values[first[:, None] + np.arange(6)]


def _own(ops: SpatialOperators, values: Array) -> Array:
    """Values by body, those of modes zero."""
    values = values.copy()
    values[[body.index for body in ops.bodies if body.parent_joint.has_modes]] = 0.0
    return values


def own_inertias(of: Deformed) -> Array:
    """(bodies, 6, 6) of each body alone about its origin, as it is deformed, world axes."""
    ops = operators_of(of)
    made = ops.M.body_blocks()[:, :6, :6].copy()
    for flexible in flexible_bodies(of.state.skeleton):
        made[flexible.body.index] += made[flexible.coordinates.index]
    return _own(ops, made)


def composite_inertias(of: Deformed) -> Array:
    ops = operators_of(of)
    return _own(ops, ops.R.body_blocks()[:, :6, :6])


def articulated_inertias(of: Deformed, prescribed: Any = None) -> Array:
    ops = operators_of(of, prescribed)
    try:
        return _own(ops, ops.P.body_blocks()[:, :6, :6])
    except OperatorError:
        with of.holding(of.state.flags(prescribed)):
            of.answer("log_det_mass_matrix", {})  # which refuses as other quantities do
        raise


def composite_momenta(of: Deformed) -> Array:
    ops = operators_of(of)
    return _own(ops, _rows(ops, ops.Phi * (ops.M * ops.V)))


def reaction_wrenches(of: Deformed, external: Array | None = None) -> Array:
    """Of wrenches (bodies, 6) from outside about the bodies' origins; None: of those that the state holds."""
    if external is None:
        external = np.zeros((of.state.skeleton.num_bodies, 6))
        for index in of.state.applied:
            external[index] = of.state.external_wrench(index)
    ops = operators_of(of)
    pushed = np.zeros(len(ops.V))
    pushed[np.array(ops.on.body_space.first[:-1])[:, None] + np.arange(6)] = external
    alpha = ops.Phi.T * (ops.H.T * of.udot + ops.a)
    found = _own(ops, _rows(ops, ops.Phi * (ops.M * alpha + ops.b - ops.weight - pushed)))
    for body in ops.bodies:
        if body.parent_joint.has_modes:
            found[body.index] = -external[body.index]
    return found


def _root_of_D(ops: SpatialOperators, k: int) -> Array:
    """C, lower triangular, with D(k) = C* C: coordinates as they are eliminated, the last one first."""
    n = int(ops.on.hinge_sizes[k])
    L: Any = np.linalg.cholesky(ops.D.body_blocks()[k, :n, :n][::-1, ::-1])
    return L[::-1, ::-1].T


def diagonalized_velocities(of: Deformed, prescribed: Any = None) -> Array:
    ops = operators_of(of, prescribed)
    u, nu = ops.velocities, of.u.copy()
    rate = u + ops.G.T * (ops.V - ops.H.T * u)
    places = ops.on.container.source
    for k in range(len(ops.bodies)):
        part = ops.on.joint_space.part(k)
        nu[places[part]] = _root_of_D(ops, k) @ rate[part]
    return nu


def velocities_of_diagonalized(of: Deformed, values: Any) -> Array:
    ops = operators_of(of)
    rate = np.array(of.state.finite(values, "values"))
    for k in range(len(ops.bodies)):
        part = ops.on.joint_space.part(k)
        rate[part] = np.linalg.solve(_root_of_D(ops, k), rate[part])
    return (ops.I - ops.H * ops.Psi * ops.K).T * rate
