"""Inertial regressors of trees with flexible bodies: joint forces and forces on modes, linear in rigid parameters.

The columns of a body are what a rigid inertia on its frame gives, of a flexible body one on the frame of its inboard
node, which is all of its own inertia but for what modes add. With pi zero for flexible bodies, Y pi is the part of the
rigid ones, and what is left are the forces of flexible bodies alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.flexible import sweeps
from kido.flexible.deformed import Deformed
from kido.flexible.entries import place, read
from kido.flexible.schema import FLEX
from kido.jit import direct_entry, kernel, view
from kido.kernels.entries import OK, REFUSED
from kido.kernels.members import energy_regressor, member_acceleration, member_arm, member_rotation, write_torques
from kido.math.so3 import rotate_inverse
from kido.tree import DATA, TREE
from kido.tree.workspace import MEMBERS

Array = NDArray[np.float64]


@kernel
def torque_regressor(t, d, f, s, Y):
    """As `kido.kernels.members.torque_regressor`, with rows of modes."""
    for r in range(Y.shape[0]):
        for c in range(Y.shape[1]):
            Y[r, c] = 0.0
    for b in range(s.link.shape[0]):
        i = s.link[b]
        R = member_rotation(d, s, b)
        rx, ry, rz = member_arm(d, s, b)
        a0, a1, a2 = member_acceleration(t, d, s, b, rx, ry, rz)
        a = rotate_inverse(R, a0, a1, a2)
        w = rotate_inverse(R, d.V[i, 0], d.V[i, 1], d.V[i, 2])
        e = rotate_inverse(R, d.A[i, 0], d.A[i, 1], d.A[i, 2])
        while i >= 0:
            for k in range(t.first_dof[i], t.first_dof[i + 1]):
                write_torques(Y, k, 10 * b, R, d.H, k, (rx, ry, rz), a, w, e)
            if f.node_of_body[i] >= 0:
                c, column = f.flex_of_body[t.parent[i]], f.first_column[f.node_of_body[i]]
                for m in range(f.number[c]):
                    write_torques(Y, f.first_mode[c] + m, 10 * b, R, f.Pi, column + m, (rx, ry, rz), a, w, e)
            rx, ry, rz = rx + d.l[i, 0], ry + d.l[i, 1], rz + d.l[i, 2]
            i = t.parent[i]


@direct_entry("i8(i8,i8,i8,f8[::1],f8[::1],f8[::1],i8,f8[:,::1])")
def torques(tree, data, flex, q, u, udot, members, Y):
    """Y (dofs, 10 bodies) of inverse dynamics."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q) + read(u, d.u) + read(udot, d.udot) != OK:
        return REFUSED
    place(t, d, f)
    sweeps.accelerations(t, d, f, 0, t.parent.shape[0])
    torque_regressor(t, d, f, view(MEMBERS, members), Y)
    return OK


@direct_entry("i8(i8,i8,i8,f8[::1],f8[::1],i8,f8[:,::1])")
def energies(tree, data, flex, q, u, members, out):
    """K and U, rows of out (2, 10 bodies)."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q) + read(u, d.u) != OK:
        return REFUSED
    place(t, d, f)
    energy_regressor(t, d, view(MEMBERS, members), out)
    return OK


def of_torques(of: Deformed, bodies: Any = None) -> Array:
    chosen = of.state.members(bodies)
    out = np.empty((len(of.q), 10 * _count(of, bodies)))
    of._call(torques, of.u, of.udot, chosen, out)
    return out


def of_energies(of: Deformed, bodies: Any = None) -> tuple[Array, Array]:
    chosen = of.state.members(bodies)
    out = np.empty((2, 10 * _count(of, bodies)))
    of._call(energies, of.u, chosen, out)
    return out[0], out[1]


def _count(of: Deformed, bodies: Any) -> int:
    found = of.state.indices_of(bodies)
    return of.state.skeleton.num_bodies if found is None else len(found)
