"""Exact derivatives of what sweeps compute: the sweeps themselves, compiled for dual numbers.

A derivative is along a direction of the state: of positions by velocities, on the manifold of each joint, of velocities
and of accelerations by themselves. Seven directions are carried at a time (`kido.jit.duals`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.flexible.schema import FLEX
from kido.flexible.sweeps import (
    accelerations,
    first_moment,
    inverse_dynamics,
    jacobian,
    mass_matrix,
    momentum,
    momentum_matrix,
    positions,
    velocities,
)
from kido.jit import Struct, floats, integer, kernel, reference, view
from kido.jit.duals import DIRECTIONS, DualStructs, dual_callback
from kido.kernels.integration import advance
from kido.math.so3 import cross, rotate
from kido.tree import DATA, TREE

Array = NDArray[np.float64]


class DERIVED(Struct):
    tree, data, flex = reference(TREE), reference(DATA), reference(FLEX)
    direction = floats("dofs", doc="velocities along which positions change: derivatives alone")
    u = floats("dofs", doc="velocities")
    udot = floats("dofs", doc="accelerations")
    link = integer(doc="link of the point that is asked for")
    place = floats(3, unit="m", doc="where it is on the link")
    point = floats(12, doc="[w; v; wdot; a] of the point; a with minus gravity")
    matrix = floats("dofs", "dofs", doc="M")
    rows = floats(6, "dofs", doc="Jacobian of the point, or of the momentum")
    momentum = floats(6, doc="about the world's origin")
    moment = floats(4, doc="mass times centre of mass, and mass")
    force = floats(6, doc="wrench about the world's origin that the motion takes of the outside, weight and all")


@kernel
def begin(w):
    """Positions along the directions, then poses and velocities."""
    t, d, f = w.tree, w.data, w.flex
    n = t.parent.shape[0]
    for k in range(w.direction.shape[0]):
        d.u[k] = w.direction[k]
    advance(t, d, 0, n, 1.0)
    for k in range(w.direction.shape[0]):
        d.u[k], d.udot[k] = w.u[k], w.udot[k]
    positions(t, d, f, 0, n)
    velocities(t, d, f, 0, n)


@kernel
def forces_stage(address, unused_1, unused_2, unused_3):
    """tau of inverse dynamics, what roots take, and the sums. Returns 0."""
    w = view(DERIVED, address)
    t, d, f = w.tree, w.data, w.flex
    begin(w)
    momentum(t, d, f, w.momentum)
    first_moment(t, d, w.moment)
    inverse_dynamics(t, d, f, 0, t.parent.shape[0])
    for k in range(6):
        w.force[k] = 0.0
    for i in range(t.parent.shape[0]):
        if t.parent[i] < 0:
            x, y, z = cross(d.p[i, 0], d.p[i, 1], d.p[i, 2], d.f[i, 3], d.f[i, 4], d.f[i, 5])
            w.force[0] += d.f[i, 0] + x
            w.force[1] += d.f[i, 1] + y
            w.force[2] += d.f[i, 2] + z
            for k in range(3, 6):
                w.force[k] += d.f[i, k]
    return 0


@kernel
def motion_stage(address, unused_1, unused_2, unused_3):
    """Motion and Jacobian of a point. Returns 0."""
    w = view(DERIVED, address)
    t, d, f, i = w.tree, w.data, w.flex, w.link
    begin(w)
    accelerations(t, d, f, 0, t.parent.shape[0])
    R = (
        d.R[i, 0], d.R[i, 1], d.R[i, 2], d.R[i, 3], d.R[i, 4], d.R[i, 5], d.R[i, 6], d.R[i, 7], d.R[i, 8],
    )  # fmt: skip
    x, y, z = rotate(R, w.place[0], w.place[1], w.place[2])
    w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
    a, b, c = cross(w0, w1, w2, x, y, z)
    e, g, h = cross(w0, w1, w2, a, b, c)
    q, r, s = cross(d.A[i, 0], d.A[i, 1], d.A[i, 2], x, y, z)
    for k in range(3):
        w.point[k], w.point[6 + k] = d.V[i, k], d.A[i, k]
    w.point[3], w.point[4], w.point[5] = d.V[i, 3] + a, d.V[i, 4] + b, d.V[i, 5] + c
    w.point[9], w.point[10], w.point[11] = d.A[i, 3] + e + q, d.A[i, 4] + g + r, d.A[i, 5] + h + s
    jacobian(t, d, f, i, d.p[i, 0] + x, d.p[i, 1] + y, d.p[i, 2] + z, w.rows)
    return 0


@kernel
def mass_stage(address, unused_1, unused_2, unused_3):
    """M. Returns 0."""
    w = view(DERIVED, address)
    begin(w)
    mass_matrix(w.tree, w.data, w.flex, w.matrix)
    return 0


@kernel
def momentum_stage(address, unused_1, unused_2, unused_3):
    """Momentum per unit velocities, and the sums. Returns 0."""
    w = view(DERIVED, address)
    t, d, f = w.tree, w.data, w.flex
    begin(w)
    momentum(t, d, f, w.momentum)
    first_moment(t, d, w.moment)
    momentum_matrix(t, d, f, w.rows)
    return 0


class Differentials:
    """Derivatives at the state that a tree's data has.

    Args:
        tree, data, flex: what sweeps work on; their numbers are read anew by each call.
    """

    def __init__(self, tree: Any, data: Any, flex: Any):
        self._own: Any = DERIVED(dofs=len(data.q))
        self._own.tree, self._own.data, self._own.flex = tree, data, flex
        self._structs = DualStructs()
        self._made: Any = self._structs.of(self._own)

    def along(
        self,
        stage: Any,
        results: tuple[str, ...],
        dq: Array | None = None,
        du: Array | None = None,
        place: tuple[int, Array] | None = None,
        tau: bool = False,
    ) -> list[Array]:
        """Derivatives (..., k) of results of a stage along k directions.

        Args:
            stage: forces_stage, motion_stage, mass_stage or momentum_stage.
            results: names of what is wanted: of DERIVED's, or "tau".
            dq, du: (dofs, k) directions of positions and velocities; None: they stay.
            place: link and point of motion_stage.
        """
        given = dq if dq is not None else du
        assert given is not None
        own, made, d = self._own, self._made, self._own.data
        count = given.shape[1]
        own.direction[:], own.u[:], own.udot[:] = 0.0, d.u, d.udot
        if place is not None:
            own.link, own.place[:] = place
        parts: list[list[Array]] = [[] for _ in results]
        for first in range(0, count, DIRECTIONS):
            last = min(first + DIRECTIONS, count)
            self._structs.fill()
            lanes = slice(1, 1 + last - first)
            if dq is not None:
                made.direction[:, lanes] = dq[:, first:last]
            if du is not None:
                made.u[:, lanes] = du[:, first:last]
            dual_callback(stage)(made.address, 0, 0, 0)
            for part, name in zip(parts, results, strict=True):
                source = made.data.tau if name == "tau" else getattr(made, name)
                part.append(source[..., lanes].copy())
        return [np.concatenate(part, axis=-1) for part in parts]
