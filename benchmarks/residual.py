"""How exact the contact forces of any program are, for scenes of free blocks.

From what a program exports (contact points, normals, forces, the blocks' poses before a step and velocities
after it) the compliance A of the contact rows is built from the blocks' masses, the free velocity is
b = v - A p, and `kido.solvers.certify` measures the impulses p against Coulomb's exact cone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from kido.models.scenes import Scene
from kido.solvers.certify import certify


@dataclass
class Motion:
    """Poses and velocities of all free blocks: centres, rotation matrices, world-axes velocities."""

    position: np.ndarray
    rotation: np.ndarray
    linear: np.ndarray
    angular: np.ndarray


@dataclass
class Contacts:
    """Contacts of one step: points, unit normals from a to b, forces on b [N], gaps [m], block indices.

    An index of -1 stands for a fixed block or the floor.
    """

    points: np.ndarray
    normals: np.ndarray
    forces: np.ndarray
    gaps: np.ndarray
    a: np.ndarray
    b: np.ndarray


@dataclass(frozen=True)
class Exactness:
    """Relative residual against rigid contact, and with each program's own normal bias granted."""

    residual: float
    granted: float
    penetration: float
    contacts: int


def exactness(scene: Scene, before: Motion, after: Motion, contacts: Contacts, time_step: float) -> Exactness:
    """Measure one step.

    `granted` takes the normal velocity of every contact that carries force as what the program asked for
    (soft contacts and position corrections ask for other than zero), so that only the friction is judged.
    """
    n = len(contacts.points)
    if n == 0:
        return Exactness(0.0, 0.0, 0.0, 0)
    frames = _frames(contacts.normals)
    jacobian = _jacobian(before, contacts, frames)
    compliance = (jacobian @ _inverse_mass(scene, before) @ jacobian.T).tocsr()
    impulses = np.einsum("nij,nj->ni", frames, contacts.forces) * time_step
    velocity = (jacobian @ np.hstack([after.linear, after.angular]).reshape(-1)).reshape(n, 3)
    free = velocity - (compliance @ impulses.reshape(-1)).reshape(n, 3)
    opening = np.maximum(contacts.gaps, 0.0) / time_step
    free[:, 0] += opening
    rigid = certify(compliance, free, scene.friction, impulses, gaps=contacts.gaps, time_step=time_step)
    asked = free.copy()
    asked[:, 0] -= np.where(impulses[:, 0] > 0.0, velocity[:, 0] + opening, 0.0)
    granted = certify(compliance, asked, scene.friction, impulses, time_step=time_step)
    return Exactness(rigid.residual, granted.residual, rigid.penetration, n)


def _frames(normals: np.ndarray) -> np.ndarray:
    """Rows normal, tangent, tangent of every contact, (n, 3, 3)."""
    helper = np.where(np.abs(normals[:, :1]) < 0.7, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    first = np.cross(normals, helper)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack([normals, first, np.cross(normals, first)], axis=1)


def _jacobian(motion: Motion, contacts: Contacts, frames: np.ndarray) -> csr_matrix:
    """Rows of the relative velocity b - a on the blocks' velocities [linear; angular]."""
    n, rows, columns, values = len(contacts.points), [], [], []
    for indices, sign in ((contacts.a, -1.0), (contacts.b, 1.0)):
        moving = np.flatnonzero(indices >= 0)
        body = indices[moving]
        arm = contacts.points[moving] - motion.position[body]
        block = np.empty((len(moving), 3, 6))
        block[:, :, :3] = frames[moving]
        block[:, :, 3:] = np.cross(arm[:, None, :], frames[moving])
        row = (3 * moving[:, None, None] + np.arange(3)[None, :, None]) + np.zeros((1, 1, 6), int)
        column = (6 * body[:, None, None] + np.arange(6)[None, None, :]) + np.zeros((1, 3, 1), int)
        rows.append(row.ravel())
        columns.append(column.ravel())
        values.append(sign * block.ravel())
    shape = (3 * n, 6 * len(motion.position))
    return coo_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape).tocsr()


def _inverse_mass(scene: Scene, motion: Motion) -> csr_matrix:
    rows, columns, values = [], [], []
    for i, block in enumerate(scene.free):
        R = motion.rotation[i]
        inverse = np.zeros((6, 6))
        inverse[:3, :3] = np.eye(3) / block.mass
        inverse[3:, 3:] = R @ np.diag(1.0 / np.array(block.moment)) @ R.T
        row, column = np.meshgrid(range(6 * i, 6 * i + 6), range(6 * i, 6 * i + 6), indexing="ij")
        rows.append(row.ravel())
        columns.append(column.ravel())
        values.append(inverse.ravel())
    size = 6 * len(scene.free)
    data = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return coo_matrix(data, (size, size)).tocsr()
