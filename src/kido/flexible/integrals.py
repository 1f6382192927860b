"""Integrals of mass of the modes of a structure, by its mass matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.flexible.modes import ModeNode, Modes, modal_damping
from kido.flexible.structure import Structure

Array = NDArray[np.float64]
PRODUCTS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # of angular velocities


def modes_of(
    structure: Structure,
    phi: Array,
    stiffness: Array,
    origin: Array,
    nodes: Sequence[ModeNode],
    bent: Array | None = None,
    damping_ratio: ArrayLike = 0.0,
    rayleigh: ArrayLike = (0.0, 0.0),
    names: Sequence[str] | None = None,
) -> Modes:
    """Modes by their vectors over the rows of a structure: integrals of mass by its mass matrix.

    With V the velocities of rows, T w + T v + E(phi eta) w + phi etadot, where T are rigid motions and E turns
    displacements, all integrals are products of these with the mass matrix.

    Args:
        structure: whose rows.
        phi: (N, n) at rest at the inboard node, orthogonal.
        stiffness: (n,) modal.
        origin: (3,) of the body's frame.
        nodes: of the modes, from the origin.
        bent: (12, n, n) geometric stiffness by the loads of unit linear accelerations of the frame, angular ones, and
            products of angular velocities (xx, xy, xz, yy, yz, zz).
        damping_ratio, rayleigh, names: as of `Modes`.

    Raises:
        ModelError: as `Modes.from_dict`.
    """
    M, n = structure.mass_matrix, phi.shape[1]
    rigid = structure.rigid_about(origin)
    if bent is None:
        bent = np.zeros((12, n, n))
    pulled = np.zeros((n, n, 3, 3))
    for load, (a, b) in zip(bent[6:], PRODUCTS, strict=True):
        pulled[:, :, a, b] = pulled[:, :, b, a] = load
    turned = structure.turned(phi)  # (3, N, n)
    M_rigid, M_phi = M @ rigid, M @ phi
    M_turned = np.stack([M @ part for part in turned])
    body = rigid.T @ M_rigid
    mass = float(np.trace(body[3:, 3:])) / 3.0
    # T_w^T M T_v = skew(first moment)
    moment = 0.5 * (body[:3, 3:] - body[:3, 3:].T)
    once = np.einsum("Na,bNm->mab", M_rigid[:, :3], turned)
    twice = np.einsum("aNm,bNn->mnab", turned, M_turned)
    mass_matrix = phi.T @ M_phi
    data: dict[str, Any] = {
        "names": [f"mode{k + 1}" for k in range(n)] if names is None else list(names),
        "mass": mass,
        "stiffness": stiffness,
        "mass_matrix": mass_matrix,
        "damping": modal_damping(stiffness, np.diag(mass_matrix), damping_ratio, rayleigh),
        "first_moment": np.array([moment[2, 1], moment[0, 2], moment[1, 0]]),
        "moment": body[:3, :3],
        "S1": phi.T @ M_rigid[:, 3:],
        "S2": np.moveaxis(bent[:3], 0, -1),
        "J1": once + once.swapaxes(1, 2),
        "J2": 0.5 * (twice + twice.swapaxes(0, 1)) - pulled,
        "R1": phi.T @ M_rigid[:, :3],
        "R2": np.einsum("aNn,Nm->mna", turned, M_phi) + np.moveaxis(bent[3:6], 0, -1),
        "nodes": [
            {
                key: getattr(node, key)
                for key in ("name", "position", "translation", "rotation", "second_order", "second_rotation")
            }
            for node in nodes
        ],
    }
    if structure.thermal.any():
        thermal = phi.T @ structure.thermal
        data["thermal"] = thermal - thermal[:, :1] * np.append(0.0, origin)
    if len(structure.faces):
        data["surface"] = _surface(structure, phi, origin)
    return Modes.from_dict(data)


def _surface(structure: Structure, phi: Array, origin: Array) -> dict[str, Any]:
    """As `ModeSurface.to_dict` has it."""
    used, faces = np.unique(structure.faces, return_inverse=True)
    moved = structure.motions(phi)
    fields = {} if structure.elements is None else {"stress": structure.elements.stress(moved)[used]}
    return {
        "positions": structure.positions[used] - origin,
        "translation": moved[used, :3],
        "faces": faces.reshape(-1, 3),
        "rotation": moved[used, 3:],
        "second_order": None,
        "second_rotation": None,
        "fields": fields,
        "station": np.arange(len(used)),
        "arms": np.zeros((len(used), 3)),
    }
