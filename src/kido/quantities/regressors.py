"""Quantities as linear functions of inertial parameters, for identification and adaptive control.

pi holds ten numbers for each body, in its own axes: its mass m [kg], m c (3) [kg m], and its moment of inertia
about its origin (xx, xy, xz, yy, yz, zz) [kg m^2]. `bodies` chooses whose, in the skeleton's order; None means all.
Welded bodies have columns of their own. Rotor inertias J_a of joints are no parameters of bodies, and are left out:
they add J_a udot to joint forces, and J_a u^2 / 2 to the kinetic energy.

Source: Atkeson, An, Hollerbach (1986), "Estimation of inertial parameters of manipulator loads and links".
"""

from __future__ import annotations

from kido.jit import kernel
from kido.kernels import members
from kido.kernels.entries import OK
from kido.kernels.states import ACCELERATIONS, VELOCITIES
from kido.quantities.quantity import OF_MEMBERS, array


@kernel
def torque_core(t, d, s, Y):
    members.torque_regressor(t, d, s, Y)
    return OK


@kernel
def energy_core(t, d, s, out):
    members.energy_regressor(t, d, s, out)
    return OK


inverse_dynamics_regressor = array(
    "inverse_dynamics_regressor", torque_core, ACCELERATIONS, ("dofs", "10 bodies"),
    "Y of inverse dynamics; with zero velocities and accelerations that of `gravity_forces`.",
    of=OF_MEMBERS, is_property=False, equation="M udot + C(q, u) u + g(q) = Y pi + J_a udot",
    source="Atkeson, An, Hollerbach (1986)",
    skins="held",
)  # fmt: skip
energy_regressors = array(
    "energy_regressors", energy_core, VELOCITIES, (2, "10 bodies"),
    "K and U (10 bodies,) of the kinetic energy and of the potential energy of gravity.",
    of=OF_MEMBERS, is_property=False, equation="kinetic energy = K . pi + u . J_a u / 2, potential energy = U . pi",
    finish="out = out[0], out[1]", result="tuple[Array, Array]",
    skins="held",
)  # fmt: skip
