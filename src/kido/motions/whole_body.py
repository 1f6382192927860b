"""Dynamics of all frames of a motion at once, and the point of the ground through which a wrench acts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.batch import Batch
from kido.skeleton import FreeJoint, Skeleton

__all__ = ["WholeBody", "floating", "joint_forces_of", "moved_to", "pressure_point", "whole_body"]

Array = NDArray[np.float64]
CARRIER = "carrier of the whole body"


class WholeBody(NamedTuple):
    """What inverse dynamics says of all frames.

    Attributes:
        forces: (T, dofs) of the joints.
        wrench: (T, 6) [moment about the world origin; force] from outside, gravity apart.
        momentum: (T, 6) [angular about the world origin; linear].
        kinetic_energy: (T,).
    """

    forces: Array
    wrench: Array
    momentum: Array
    kinetic_energy: Array


def whole_body(skeleton: Skeleton, q: Array, u: Array, udot: Array) -> WholeBody:
    """Inverse dynamics of a twin whose roots hang on a body without mass, which a free joint holds at the origin.

    What that joint carries is the wrench from outside. M u, by inverse dynamics without velocities and gravity, has the
    momentum in the joint's rows, and u . M u is twice the kinetic energy.
    """
    twin = skeleton.clone()
    carrier = twin.add_body(CARRIER, FreeJoint(CARRIER))
    for body in twin.root_bodies:
        if body is not carrier:
            body.move_to(carrier)
    joint = [dof.index for dof in carrier.parent_joint.dofs]
    own = [k for k in range(twin.num_dofs) if k not in joint]  # in the skeleton's order
    batch, still = Batch(twin), np.zeros((1, twin.num_dofs))

    def lifted(x: Array) -> Array:
        y = np.zeros((len(x), twin.num_dofs))
        y[:, own] = x
        return y

    positions, velocities = lifted(q), lifted(u)
    found = batch.inverse_dynamics(positions, velocities, lifted(udot))
    twin.gravity = np.zeros(3)
    Mu = batch.inverse_dynamics(positions, still, velocities)
    return WholeBody(found[:, own], found[:, joint], Mu[:, joint], 0.5 * (u * Mu[:, own]).sum(axis=1))


def joint_forces_of(batch: Batch, q: Array, wrenches: Array) -> Array:
    """Joint forces (T, dofs) that do what wrenches (T, bodies, 6) about the bodies' origins do."""
    found = np.zeros_like(q)
    for k in np.flatnonzero(np.any(wrenches != 0.0, axis=(0, 2))):
        found += np.einsum("tij,ti->tj", batch.jacobian(q, int(k)), wrenches[:, k])
    return found


def moved_to(wrench: Array, shift: Array) -> Array:
    """Wrenches [moment; force] about a point, from those about another; `shift` leads from the new point to the old."""
    return np.concatenate([wrench[..., :3] + np.cross(shift, wrench[..., 3:]), wrench[..., 3:]], axis=-1)


def pressure_point(wrench: Array, normal: Array, height: float, least: float) -> Array:
    """Points (T, 3) of the plane `normal . x = height` where wrenches (T, 6) about the world origin have no tipping
    moment; NaN where their force along the normal is less than `least`.

    Equation: p = o + n x M_o / (n . F), with o on the plane.
    """
    place = height * normal
    about = moved_to(wrench, np.broadcast_to(-place, wrench[:, 3:].shape))
    pressed = about[:, 3:] @ normal
    pressed = np.where(pressed >= least, pressed, np.nan)
    return place + np.cross(normal, about[:, :3]) / pressed[:, None]


def floating(skeleton: Skeleton) -> tuple[str, ...]:
    """Coordinates that say where a whole skeleton is: those up to its first mass, if these are six or more."""
    found: list[str] = []
    for body in skeleton.root_bodies:
        above = [dof.name for dof in body.parent_joint.dofs]
        while body.mass == 0.0 and len(body.children) == 1:
            body = body.children[0]
            above += [dof.name for dof in body.parent_joint.dofs]
        found += above if len(above) >= 6 else []
    return tuple(found)
