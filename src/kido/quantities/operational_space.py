"""Operational space: compliance, inertia and bias of one or many nodes, by articulated bodies.

How points of the skeleton give way together.

`nodes` is a node or a list of them: bodies, names or indices, or nodes on bodies, of any of its trees; `offsets`
(nodes, 3) are points from their origins in their own axes [m]. Rows are those of the nodes' Jacobians J, one
below the other: [angular; linear] of each in world axes, or with `rows` "angular" or "linear" alone.

`prescribed` names coordinates that do not give way, whatever acts on them (locked joints); None: all are free. With
M, J those of the free coordinates, and C = C(q, u) u + g(q):

    Lambda^-1 = J M^-1 J^T (compliance),    F = Lambda xdd + mu,    mu = Lambda (J M^-1 C - Jdot u)

Where nodes cannot move independently, Lambda^-1 is singular and Lambda its pseudo-inverse: eigenvalues below 1e-10
of the largest count as zero. With `damping` [1/kg, 1/(kg m^2)] it is (Lambda^-1 + damping 1)^-1 instead.

Sources: Khatib (1987), "A unified approach for motion and force control of robot manipulators"; Jain (2013),
section III; Wensing, Featherstone, Orin (2012), "A reduced-order recursive algorithm for the computation of the
operational-space inertia matrix".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import ModelError, StateError
from kido.kernels import operational_entries as entries
from kido.math.transform import as_numbers, number_or_nan
from kido.quantities.failures import singular
from kido.quantities.quantity import POSITIONS, VELOCITIES, derived

_ROWS = {"all": (0, 6), "angular": (0, 3), "linear": (3, 3)}
_COMPLIANCE_TOLERANCE = 1e-10  # of the largest eigenvalue of a compliance, below which a direction does not move at all


def row_range(state, rows):
    if not isinstance(rows, str) or rows not in _ROWS:
        raise ModelError(f"skeleton {state.name!r}: rows: expected 'all', 'angular' or 'linear', got {rows!r}")
    return _ROWS[rows]


def damping_of(state, damping):
    number = number_or_nan(damping)
    if not 0.0 <= number < np.inf:
        raise ModelError(f"skeleton {state.name!r}: damping: expected a number not below 0, got {damping!r}")
    return number


# Matrices ----------------------------------------------------------------------------------------------------


@derived(POSITIONS, ("rows", "rows"), equation="Lambda^-1 = J M^-1 J^T", unit="1/kg, 1/(kg m), 1/(kg m^2)")
def operational_space_compliance(state, nodes, offsets=None, rows="all", prescribed=None):
    """Lambda^-1, symmetric: accelerations by unit forces.

    O(n + m d + m^2) for m nodes at depth d; J and M are not formed.

    Args:
        nodes, offsets, rows, prescribed: see the module.

    Raises:
        ModelError: no node of it, another `rows`, or the inertia seen by a coordinate is not positive.
    """
    first, count = row_range(state, rows)
    w, points = state.settled or state.settle(), state.nodes(nodes, offsets)
    size = count * points.link.shape[0]
    out, flags = np.empty((size, size)), state.flags(prescribed)
    status = entries.operational_compliance.call(w.tree, w.held, points.address, flags, first, count, out)
    singular(state, status)
    return out


@derived(POSITIONS, ("rows", "rows"), unit="kg, kg m, kg m^2")
def operational_space_inertia(state, nodes, offsets=None, rows="all", damping=0.0, prescribed=None):
    """Lambda, symmetric: the inertia that forces on the nodes feel.

    Args:
        nodes, offsets, rows, damping, prescribed: see the module.

    Raises:
        ModelError: no node of it, another `rows`, or the inertia seen by a coordinate is not positive.
    """
    first, count = row_range(state, rows)
    more = damping if type(damping) is float and damping == 0.0 else damping_of(state, damping)
    w, points = state.settled or state.settle(), state.nodes(nodes, offsets)
    size = count * points.link.shape[0]
    A, out, flags = np.empty((size, size)), np.empty((size, size)), state.flags(prescribed)
    status = entries.operational_inertia.call(w.tree, w.held, points.address, flags, first, count, more, A, out)
    singular(state, status)
    return pseudo_inverse(A) if status == entries.SINGULAR else out


@derived(POSITIONS, ("dofs", "rows"), equation="M^-1 J^T Lambda")
def dynamically_consistent_inverse(state, nodes, offsets=None, rows="all", damping=0.0, prescribed=None):
    """Jbar with J Jbar = 1 where the nodes move independently.

    Of all velocities that give the nodes theirs, Jbar v has the least kinetic energy; joint forces
    (1 - J^T Jbar^T) T do not accelerate the nodes. Rows of prescribed coordinates are zero.

    Args:
        nodes, offsets, rows, damping, prescribed: see the module.
    """
    first, count = row_range(state, rows)
    more = damping_of(state, damping)
    J, Y = _responses(state, nodes, offsets, prescribed)
    chosen = _chosen(len(J) // 6, first, count)
    J, Y = J[chosen], Y[chosen]
    A = J @ Y.T
    A = 0.5 * (A + A.T) + more * np.eye(len(A))
    return Y.T @ pseudo_inverse(A)


@derived(POSITIONS, ("dofs", "rows"), equation="M^-1 J^T")
def node_responses(state, nodes, offsets=None, rows="all", prescribed=None):
    """Velocity changes by unit impulses on the nodes.

    Args:
        nodes, offsets, rows, prescribed: see the module.
    """
    first, count = row_range(state, rows)
    _, Y = _responses(state, nodes, offsets, prescribed)
    return Y[_chosen(len(Y) // 6, first, count)].T.copy()


def _responses(state, nodes, offsets, prescribed):
    """J and (M^-1 J^T)^T, (6 nodes, dofs)."""
    points, flags, w = state.nodes(nodes, offsets, False), state.flags(prescribed), state.settled or state.settle()
    J, Y = np.empty((2, 6 * len(points.link), w.dofs[0]))
    singular(
        state,
        entries.node_responses.call(w.tree, w.held, points.address, flags, J.reshape(-1), Y.reshape(-1)),
    )
    return J, Y


# Accelerations and forces ------------------------------------------------------------------------------------


def node_accelerations(state, nodes, offsets, rows, prescribed, free, udot=None):
    """Rows of the nodes' [wdot; acceleration] at accelerations, or if `free` without joint forces."""
    if state.deformed is not None:
        return state.deformed.answer("node_accelerations", {
            "nodes": nodes, "offsets": offsets, "rows": rows, "prescribed": prescribed, "free": free, "udot": udot,
        })  # fmt: skip
    first, count = row_range(state, rows)
    d, w, points = state.compiled(), state.ready or state.prepare(), state.nodes(nodes, offsets, False)
    out, zero = np.empty((len(points.link), 6)), np.zeros(w.dofs)
    given = zero if udot is None else udot
    arguments = points.address, int(free), state.flags(prescribed), d.q, d.u, given, zero, out
    singular(state, entries.node_accelerations.call(w.tree, w.data, *arguments))
    return out[:, first : first + count].reshape(-1)


def free_accelerations(state, nodes, offsets, rows="all", prescribed=None, udot=None):
    """Accelerations (rows,) of nodes without joint forces, those of prescribed coordinates being `udot` (dofs,)."""
    return node_accelerations(state, nodes, offsets, rows, prescribed, True, udot)


@derived(VELOCITIES, ("rows",), equation="Jdot u")
def operational_space_velocity_product(state, nodes, offsets=None, rows="all"):
    """[angular; classic linear] acceleration of the nodes at zero accelerations, O(n).

    Args:
        nodes, offsets, rows: see the module.
    """
    return node_accelerations(state, nodes, offsets, rows, None, False)


@derived(VELOCITIES, ("rows",), equation="mu = Lambda (J M^-1 C - Jdot u)", skins="held")
def operational_space_bias(state, nodes, offsets=None, rows="all", damping=0.0, prescribed=None):
    """mu of F = Lambda xdd + mu: what holds the nodes against gravity and velocities.

    It is -Lambda times the nodes' accelerations without joint forces, which forward dynamics has in O(n). Prescribed
    coordinates do not accelerate. External forces are no part of it.

    Args:
        nodes, offsets, rows, damping, prescribed: see the module.
    """
    inertia = operational_space_inertia(state, None, nodes, offsets, rows, damping, prescribed)
    return -inertia @ free_accelerations(state, nodes, offsets, rows, prescribed)


@derived(POSITIONS, ("dofs",), equation="J^T f", unit="N or N m")
def joint_forces_of_wrenches(state, nodes, wrenches, offsets=None):
    """Joint forces that do what wrenches on nodes do; O(n), without J.

    Args:
        nodes, offsets: see the module.
        wrenches: (nodes, 6), or (6,) for one, [torque; force] at the points, world axes [N m, N].

    Raises:
        StateError: wrenches of another shape, or not finite.
    """
    points = state.nodes(nodes, offsets, False)
    given = wrenches_of(state, wrenches, len(points.link))
    w = state.settled or state.settle()
    out = np.empty(w.dofs)
    entries.gather_wrenches.call(w.tree, w.held, points.address, given, out)
    return out


def wrenches_of(state: Any, wrenches: Any, count: int) -> Any:
    """Wrenches (count, 6), of (6,) for one.

    Raises:
        StateError: of another shape, or not finite.
    """
    shape = count, 6
    try:
        given = as_numbers(wrenches)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape == (6,) and count == 1:
        given = given[None]
    if given.shape != shape or not np.isfinite(given).all():
        raise StateError(
            f"skeleton {state.name!r}: wrenches: expected finite numbers of shape {shape}, got {wrenches!r}"
        )
    return np.ascontiguousarray(given, float)


def _chosen(nodes: int, first: int, count: int) -> Any:
    return (6 * np.arange(nodes)[:, None] + np.arange(first, first + count)).reshape(-1)


def pseudo_inverse(A: Any) -> Any:
    """Of a symmetric matrix that is not negative."""
    if not len(A):
        return np.zeros_like(A)
    values, vectors = np.linalg.eigh(A)
    kept = values > _COMPLIANCE_TOLERANCE * max(float(values[-1]), 0.0)
    V = vectors[:, kept]
    return (V / values[kept]) @ V.T
