"""Matrices of dynamics, and the joint forces that need no accelerations.

`bodies` chooses whose inertia and weight are meant: bodies, names or indices; None means all. Matrices have a row and a
column for every coordinate of the skeleton.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.jit import kernel
from kido.kernels import bias, coriolis, inverse_mass
from kido.kernels.composites import gather_composite_rates, start_chosen
from kido.kernels.entries import OK
from kido.kernels.mass_matrix import mass_matrix as rigid_mass_matrix
from kido.kernels.mass_matrix import mass_matrix_from_composites, start_composite
from kido.kernels.matrix_entries import external_forces as external_forces_of
from kido.kernels.matrix_entries import spring_forces as spring_forces_of
from kido.kernels.states import COLUMNS_OF_MOTION, INERTIAS
from kido.kernels.states import VELOCITIES as MOTION
from kido.quantities.failures import singular
from kido.quantities.quantity import BODIES, FORCES, POSITIONS, VELOCITIES, Arguments, array, derived, fused
from kido.tree.workspace import COLUMNS, WIDE

SQUARE = "dofs", "dofs"
FORCE = "N or N m"


@kernel
def mass_matrix_core(t, d, c, M):
    n = t.parent.shape[0]
    if c.whole != 0:
        for i in range(n):
            start_composite(t, d, i)
    else:
        for i in range(n):
            start_chosen(t, d, c, i)
    mass_matrix_from_composites(t, d, 0, n, M)
    for i in range(n):
        if c.springs[i] != 0:
            for k in range(t.first_dof[i], t.first_dof[i + 1]):
                M[k, k] += t.armature[k]
    return OK


@kernel
def inverse_core(t, d, b, h, y, z, out):
    status = int(inverse_mass.eliminate(t, d, h, 0))
    inverse_mass.inverse_mass_matrix(t, d, b, WIDE, out)
    return OK if status < 0 else 2 + status


@kernel
def cholesky_core(t, d, c, L):
    rigid_mass_matrix(t, d, 0, t.parent.shape[0], L)
    status = int(inverse_mass.cholesky(L))
    return OK if status < 0 else 2 + status


@kernel
def factors_core(t, d, c, FD):
    status = int(inverse_mass.eliminate(t, d, 0.0, 0))
    inverse_mass.mass_factors(t, d, FD)
    return OK if status < 0 else 2 + status


@kernel
def coriolis_core(t, d, c, C):
    gather_composite_rates(t, d, c)
    coriolis.coriolis_matrix(t, d, C)
    return OK


@kernel
def coriolis_forces_core(t, d, c, out):
    bias.bias_forces(t, d, c, 0, out)
    return OK


@kernel
def bias_core(t, d, c, out):
    bias.bias_forces(t, d, c, 1, out)
    return OK


@kernel
def gravity_core(t, d, c, out):
    bias.gravity_forces(t, d, c, out)
    return OK


# Mass --------------------------------------------------------------------------------------------------------

mass_matrix = array(
    "mass_matrix", mass_matrix_core, INERTIAS, SQUARE,
    "Joint-space mass matrix M, symmetric; of some bodies the sum of their J^T M J and their joints' rotor inertias.",
    of=BODIES, equation="kinetic energy = u^T M u / 2", unit="kg, kg m, kg m^2", has_gravity=False, group="share",
    subgraph=True,
    source="Walker and Orin (1982); Featherstone (2008), section 6.2",
)  # fmt: skip


def augmentation(state: Any, h: float) -> Any:
    """h Kd + h^2 Ks, its diagonal."""
    tree = state.compiled_tree()
    return h * (tree.damping + h * tree.stiffness)


_WHOLE = Arguments("", "chosen = w.columns or state.columns()", "chosen, 0.0, 0.0, 0.0", "", COLUMNS, True)
inverse_mass_matrix = array(
    "inverse_mass_matrix", inverse_core, INERTIAS, SQUARE,
    "M^-1, symmetric.\n\nRaises:\n    ModelError: the inertia seen by a coordinate is not positive.",
    of=_WHOLE, has_gravity=False, fail=singular,
)  # fmt: skip
inverse_augmented_mass_matrix = array(
    "inverse_augmented_mass_matrix", inverse_core, INERTIAS, SQUARE,
    "(M + h Kd + h^2 Ks)^-1, symmetric; see `augmented_mass_matrix`.",
    of=Arguments(
        "time_step", "chosen = w.columns or state.columns()\nh = state.step_of(time_step)",
        "chosen, h, 0.0, 0.0", "h", COLUMNS, True,
    ),
    fail=singular,
)  # fmt: skip


@derived(POSITIONS, SQUARE)
def augmented_mass_matrix(state, time_step):
    """M + h Kd + h^2 Ks, with joint damping Kd and stiffness Ks and the time step h [s]."""
    h = state.step_of(time_step)
    M = state.mass_matrix.copy()
    M[np.diag_indices_from(M)] += augmentation(state, h)
    return M


cholesky_factor = array(
    "cholesky_factor", cholesky_core, INERTIAS, SQUARE,
    "Lower triangular L.\n\nRaises:\n    ModelError: M is not positive definite.",
    equation="M = L L^T", has_gravity=False, fail=singular,
)  # fmt: skip
mass_matrix_factors = array(
    "mass_matrix_factors", factors_core, INERTIAS, ("dofs + 1", "dofs"),
    """F (dofs, dofs) and D (dofs,) of the mass matrix.

    F is upper triangular with ones on its diagonal, and F[r, k] = 0 unless coordinate r moves the body of k: it is
    as sparse as M. D is the articulated inertia that each coordinate sees; M^-1 b is solved in O(dofs depth).

    Raises:
        ModelError: the inertia seen by a coordinate is not positive.
    """,
    equation="M = F diag(D) F^T", fail=singular, finish="out = out[:-1], out[-1]", result="tuple[Array, Array]",
)  # fmt: skip

# Velocities --------------------------------------------------------------------------------------------------

coriolis_matrix = array(
    "coriolis_matrix", coriolis_core, MOTION, SQUARE,
    """C with dM/dt - 2 C skew-symmetric.

    Where all joints have one coordinate, or positions whose rates are the velocities, it is the matrix of
    Christoffel symbols: C_ij = sum_k (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) u_k / 2.
    """,
    of=BODIES, equation="C u = coriolis_forces", has_gravity=False, subgraph=True,
    skins="held",
)  # fmt: skip


@derived(VELOCITIES, SQUARE, is_property=True, equation="C + C^T", skins="held")
def mass_matrix_derivative(state):
    """dM/dt along the velocities."""
    C = state.coriolis_matrix
    return C + C.T


coriolis_forces = array(
    "coriolis_forces", coriolis_forces_core, MOTION, ("dofs",),
    "C(q, u) u: joint forces that hold accelerations at zero, without gravity.",
    of=BODIES, unit=FORCE, group="share", subgraph=True,
    skins="held",
)  # fmt: skip
gravity_forces = array(
    "gravity_forces", gravity_core, COLUMNS_OF_MOTION, ("dofs",),
    "g(q): joint forces that hold the weight, -sum J^T m g.", of=BODIES, unit=FORCE, group="share", subgraph=True,
)  # fmt: skip
coriolis_and_gravity_forces = array(
    "coriolis_and_gravity_forces", bias_core, MOTION, ("dofs",),
    "C(q, u) u + g(q), the bias of the equation of motion.",
    of=BODIES, equation="M udot + bias = T + J^T f_ext", unit=FORCE, group="share", subgraph=True,
    skins="held",
)  # fmt: skip

# Other forces ------------------------------------------------------------------------------------------------

spring_forces = fused(
    "spring_forces", spring_forces_of, POSITIONS, ("dofs",),
    """Forces of the joint springs, -Ks (q - rest), of ball and free joints as `kido.kernels.springs` says.

    Dynamics take them in in steps of a world alone.
    """,
    is_property=True, unit=FORCE, group="share", subgraph=True,
)  # fmt: skip


@derived(VELOCITIES, ("dofs",), is_property=True, equation="-Kd u", unit=FORCE, group="share", subgraph=True)
def damping_forces(state):
    """Forces of the joint dampers. Dynamics take them in in steps of a world alone."""
    d = state.compiled()
    return -state.tree.damping * d.u


@derived(FORCES, ("dofs",), is_property=True, equation="J^T f_ext", unit=FORCE, group="share", subgraph=True)
def external_forces(state):
    """The external forces on the bodies as joint forces."""
    w = state.settled or state.settle()
    out = np.empty(w.dofs)
    external_forces_of.call(w.tree, w.held, out)
    return out
