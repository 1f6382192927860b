"""Spatial operators as dense matrices, built from their definitions in NumPy."""

from __future__ import annotations

import numpy as np

import kido
from trees import Reference


class DenseOperators:
    """Matrices of a skeleton's operators at a state, or of some of its bodies' (indices, ascending).

    phi comes from products along paths; articulated inertias from their definition by Schur complements:
    P(k) is what the subtree at k, with all its hinges free, answers to an acceleration of k.
    """

    def __init__(self, skeleton: kido.Skeleton, q, u=None, bodies=None, prescribed=()):
        self.reference = ref = Reference(skeleton, q, u)
        chosen = list(range(skeleton.num_bodies)) if bodies is None else list(bodies)
        place = {b: k for k, b in enumerate(chosen)}
        n = len(chosen)
        self.parent = [place.get(ref.parent[b], -1) for b in chosen]
        free = [[c for c in range(ref.part[b].start, ref.part[b].stop) if c not in prescribed] for b in chosen]
        self.dofs = [c for own in free for c in own]
        columns = np.concatenate([[0], np.cumsum([len(own) for own in free])]).astype(int)
        self.hinge = [slice(columns[k], columns[k + 1]) for k in range(n)]
        self.body = [slice(6 * k, 6 * k + 6) for k in range(n)]
        self.H = np.zeros((len(self.dofs), 6 * n))
        self.M, self.E_phi = np.zeros((6 * n, 6 * n)), np.zeros((6 * n, 6 * n))
        for k, b in enumerate(chosen):
            own = [c - ref.part[b].start for c in free[k]]
            self.H[self.hinge[k], self.body[k]] = ref.H[b][:, own].T
            self.M[self.body[k], self.body[k]] = ref.I[b]
            if self.parent[k] >= 0:
                self.E_phi[self.body[self.parent[k]], self.body[k]] = ref.phi(ref.parent[b], b)
        self.phi = np.zeros((6 * n, 6 * n))
        for k, b in enumerate(chosen):
            i = k
            while i >= 0:
                self.phi[self.body[i], self.body[k]] = ref.phi(chosen[i], b)
                i = self.parent[i]
        self.above = self.phi[::6, ::6] != 0.0
        self.P = np.zeros((6 * n, 6 * n))
        for k in range(n):
            self.P[self.body[k], self.body[k]] = self._articulated(k)
        self.mass_matrix = self.H @ self.phi @ self.M @ self.phi.T @ self.H.T
        self.D = self.H @ self.P @ self.H.T
        self.G = self.P @ self.H.T @ np.linalg.inv(self.D)
        self.tau = np.eye(6 * n) - self.G @ self.H
        self.K = self.E_phi @ self.G
        self.E_psi = self.E_phi @ self.tau
        self.psi = np.linalg.inv(np.eye(6 * n) - self.E_psi)

    def _articulated(self, k: int) -> np.ndarray:
        """Force on body k of its subtree for its accelerations, hinges below free."""
        J = self.phi[self.body[k]].copy()  # columns of phi* seen from k: subtree bodies follow k
        whole = J @ self.M @ J.T
        below = [d for i in range(len(self.body)) if i != k and self.above[k, i] for d in range(*_ends(self.hinge[i]))]
        if not below:
            return whole
        A = self.H[below] @ self.phi @ self.M
        # Of the subtree only: hinges below k reach no body outside of it.
        coupling = A @ J.T
        inner = A @ self.phi.T @ self.H[below].T
        return whole - coupling.T @ np.linalg.solve(inner, coupling)


def _ends(part: slice) -> tuple[int, int]:
    return part.start, part.stop
