"""Calls from Python: a range of samples, in lanes, by one thread. They release the interpreter's lock.

`begin` is a multiple of `LANES`. An argument of one sample stands for all samples.
"""

from __future__ import annotations

from kido.batch.states import (
    ROLLOUT,
    advanced_of,
    forward_dynamics_derivatives_of,
    forward_dynamics_of,
    inverse_dynamics_derivatives_of,
    inverse_dynamics_of,
    jacobian_of,
    mass_matrix_of,
    simulate_of,
    transforms_of,
)
from kido.jit import LANES, all_positive, entry, kernel, lanes_samples, lanes_view, view
from kido.tree.schema import DATA, TREE
from kido.tree.workspace import DERIVATIVES

_EXPONENT, _ALL_ONES = 52, 0x7FF  # place of the exponent's bits, and their value in a NaN or an infinity


@entry("i8(i8[::1])")
def first_not_finite(bits):
    """Index of the first NaN or infinity among float64 numbers, given as their bits; -1: all are finite."""
    found = 0
    for k in range(bits.shape[0]):  # without a branch, so that many are looked at at once
        found |= ((bits[k] >> _EXPONENT) & _ALL_ONES) + 1
    if found & (_ALL_ONES + 1) == 0:
        return -1
    for k in range(bits.shape[0]):
        if (bits[k] >> _EXPONENT) & _ALL_ONES == _ALL_ONES:
            return k
    return -1


@entry("i8(i8,i8,f8[:,::1],f8[:,:,:,::1],i8,i8)")
def forward_kinematics(tree, data, q, X, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    for first in range(begin, end, LANES):
        transforms_of(t, d, lanes_samples(q, first), lanes_samples(X, first))
    return 0


@entry("i8(i8,i8,f8[:,::1],i8,f8,f8,f8,f8[:,:,::1],i8,i8)")
def jacobian(tree, data, q, member, x, y, z, J, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    for first in range(begin, end, LANES):
        jacobian_of(t, d, lanes_samples(q, first), member, x, y, z, lanes_samples(J, first))
    return 0


@entry("i8(i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],i8,i8)")
def inverse_dynamics(tree, data, q, u, udot, tau, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    for first in range(begin, end, LANES):
        inverse_dynamics_of(
            t, d, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(udot, first),
            lanes_samples(tau, first),
        )  # fmt: skip
    return 0


@entry("i8(i8,i8,f8[:,::1],f8[:,:,::1],i8,i8)")
def mass_matrix(tree, data, q, M, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    for first in range(begin, end, LANES):
        mass_matrix_of(t, d, lanes_samples(q, first), lanes_samples(M, first))
    return 0


@kernel
def note(status, statuses):
    """Write the samples' own statuses; returns 1 if any is a coordinate."""
    statuses[0] = status
    return 0 if all_positive(-status) else 1


@entry("i8(i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],i8,i8)")
def forward_dynamics(tree, data, q, u, tau, udot, status, begin, end):
    """Returns 1 if an inertia is not positive: `status` (samples, 1) then tells the coordinate, or -1."""
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    failed = 0
    for first in range(begin, end, LANES):
        found = forward_dynamics_of(
            t, d, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(tau, first),
            lanes_samples(udot, first),
        )  # fmt: skip
        failed |= note(found, lanes_samples(status, first))
    return failed


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,:,::1],i8,i8)")
def inverse_dynamics_derivatives(tree, data, work, q, u, udot, D, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    w = lanes_view(DERIVATIVES, work)
    for first in range(begin, end, LANES):
        inverse_dynamics_derivatives_of(
            t, d, w, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(udot, first),
            lanes_samples(D, first),
        )  # fmt: skip
    return 0


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,:,::1],f8[:,::1],i8,i8)")
def forward_dynamics_derivatives(tree, data, work, q, u, tau, D, status, begin, end):
    """Returns and `status` as `forward_dynamics`."""
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    w = lanes_view(DERIVATIVES, work)
    failed = 0
    for first in range(begin, end, LANES):
        found = forward_dynamics_derivatives_of(
            t, d, w, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(tau, first),
            lanes_samples(D, first),
        )  # fmt: skip
        failed |= note(found, lanes_samples(status, first))
    return failed


@entry("i8(i8,i8,f8[:,::1],f8[:,::1],f8,f8[:,::1],i8,i8)")
def integrate(tree, data, q, u, h, moved, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    for first in range(begin, end, LANES):
        advanced_of(t, d, lanes_samples(q, first), lanes_samples(u, first), h, lanes_samples(moved, first))
    return 0


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,:,::1],f8,i8,i8,f8[:,:,::1],f8[:,:,::1],f8[:,::1],i8,i8)")
def simulate(tree, data, rollout, q, u, tau, h, steps, every, q_out, u_out, status, begin, end):
    """Steps of smooth motion; every `every`-th state goes to q_out, u_out (samples, steps // every, dofs).

    `tau` has one row for each step of a sample, or one for all. Returns and `status` as `forward_dynamics`.
    """
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    w = lanes_view(ROLLOUT, rollout)
    failed = 0
    for first in range(begin, end, LANES):
        found = simulate_of(
            t, d, w, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(tau, first), h, steps, every,
            lanes_samples(q_out, first), lanes_samples(u_out, first),
        )  # fmt: skip
        failed |= note(found, lanes_samples(status, first))
    return failed
