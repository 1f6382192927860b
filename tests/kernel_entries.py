"""Kernels that have no entry of their own, made callable from Python, and a skeleton's containers."""

from __future__ import annotations

import numpy as np

import kido
from kido.jit import entry, view
from kido.kernels import entries
from kido.kernels.external import external_wrench
from kido.kernels.forward_dynamics import (
    acceleration_scatter,
    articulated_inertias,
    bias_gather,
    prescribed_forces,
)
from kido.kernels.impulse import impulse_row, joint_impulse_row
from kido.skeleton.compiler import compile_skeleton
from kido.tree.schema import DATA, TREE


@entry("i8(i8,i8,i8,i8,f8)")
def eliminate(tree, data, first, last, h):
    """P, U, Dinv with the implicit terms of a step h."""
    return int(articulated_inertias(view(TREE, tree), view(DATA, data), first, last, h))


@entry("i8(i8,i8,i8,i8)")
def accelerate(tree, data, first, last):
    """udot after `eliminate`."""
    t, d = view(TREE, tree), view(DATA, data)
    bias_gather(t, d, first, last)
    acceleration_scatter(t, d, first, last)
    return 0


@entry("i8(i8,i8)")
def accelerate_prescribed(tree, data):
    """udot of the free coordinates from tau, tau of the prescribed ones from udot.

    Returns:
        -1, or the index of a coordinate whose inertia is not positive.
    """
    t, d = view(TREE, tree), view(DATA, data)
    n = t.parent.shape[0]
    status = int(articulated_inertias(t, d, 0, n, 0.0))
    bias_gather(t, d, 0, n)
    acceleration_scatter(t, d, 0, n)
    prescribed_forces(t, d, 0, n)
    return status


@entry("i8(i8,i8,i8,i8,i8,f8,f8[::1],f8[::1],f8[::1],i8)")
def respond(tree, data, first, last, body, sign, n, J, Y, at):
    """impulse_row after `eliminate`."""
    t, d = view(TREE, tree), view(DATA, data)
    impulse_row(t, d, first, last, body, sign, n[0], n[1], n[2], n[3], n[4], n[5], J, Y, at)
    return 0


@entry("i8(i8,i8,i8,i8,i8,f8,f8[::1],f8[::1],i8)")
def respond_joint(tree, data, first, last, dof, sign, J, Y, at):
    """joint_impulse_row after `eliminate`."""
    joint_impulse_row(view(TREE, tree), view(DATA, data), first, last, dof, sign, J, Y, at)
    return 0


@entry("UniTuple(f8,6)(i8,i8)")
def wrench_of(data, body):
    """external_wrench."""
    return external_wrench(view(DATA, data), body)


class Arrays:
    """Tree and data of a skeleton at a state, apart from its own; each body is a link, also welded ones."""

    def __init__(self, skeleton: kido.Skeleton, q=None, u=None, udot=None, tau=None):
        self.gravity = skeleton.gravity
        kept = [body.own_link for body in skeleton.bodies]
        for body in skeleton.bodies:
            object.__setattr__(body, "own_link", True)  # as KIDO sets it
        _, self.tree, self.data = compile_skeleton(skeleton, self.gravity)
        for body, apart in zip(skeleton.bodies, kept, strict=True):
            object.__setattr__(body, "own_link", apart)  # as KIDO sets it
        for name, value in (("q", q), ("u", u), ("udot", udot), ("tau", tau)):
            if value is not None:
                getattr(self.data, name)[:] = value
        self.update()

    @property
    def addresses(self) -> tuple[int, int]:
        return self.tree.address, self.data.address

    def update(self) -> None:
        """Bring what depends on positions and velocities up to date."""
        entries.update_transforms(*self.addresses)
        entries.update_velocities(*self.addresses)

    def advance(self, h: float) -> None:
        """Move the positions along the velocities."""
        entries.advance_positions(*self.addresses, h)


def spread(P: np.ndarray) -> np.ndarray:
    """The 6x6 matrix of the 21 numbers [J | C | M]."""
    J = P[[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3)
    C = P[6:15].reshape(3, 3)
    M = P[[15, 16, 17, 16, 18, 19, 17, 19, 20]].reshape(3, 3)
    return np.block([[J, C], [C.T, M]])


__all__ = [
    "Arrays",
    "accelerate",
    "accelerate_prescribed",
    "eliminate",
    "respond",
    "respond_joint",
    "spread",
    "wrench_of",
]
