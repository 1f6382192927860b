"""Random trees with flexible bodies, and their dynamics from the definitions, in plain NumPy.

Bodies are point masses. Where each is comes from products of 4x4 matrices of truncated Taylor series in time
(`trees.py`); velocities and accelerations come from these, and the dynamics are Newton's law summed over the points. No
formula is shared with the code under test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

import kido
from kido.flexible import FlexibleBody, FlexibleTree, ModalJoint, ModeNode, Modes
from trees import KINDS, body_series, motion, random_inertia, random_joint, skew, times


def orthogonal(masses, shapes, stiffness) -> tuple[np.ndarray, np.ndarray]:
    """Combinations of shapes that are orthogonal with masses and a stiffness matrix, and their stiffness."""
    values, V = scipy.linalg.eigh(stiffness, np.einsum("p,pam,pan->mn", masses, shapes, shapes))
    return shapes @ V, values


def random_modes(rng: np.random.Generator, number: int = 3, points: int = 8, damping: float = 0.05) -> Modes:
    """Modes of a cloud of masses, with two nodes that turn and move."""
    masses, rho = rng.uniform(0.1, 1.0, points), rng.normal(size=(points, 3))
    A = rng.normal(size=(number, number))
    shapes, stiffness = orthogonal(masses, rng.normal(size=(points, 3, number)) * 0.3, 5.0 * A @ A.T + np.eye(number))
    bend = 0.3 * rng.spawn(1)[0].normal(size=(2, 2, 3, number, number))
    bend += bend.swapaxes(3, 4)
    nodes = [
        ModeNode(name, rho[k], shapes[k], 0.5 * rng.normal(size=(3, number)), *bend[k]) for k, name in enumerate("ab")
    ]
    modes = Modes(masses, rho, shapes, stiffness, nodes, damping_ratio=damping)
    CLOUDS[modes] = masses, rho, shapes
    return modes


CLOUDS: dict[Modes, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}


def random_tree(seed: int, bodies: int = 8, kinds: tuple[str, ...] = KINDS) -> FlexibleTree:
    """A branched tree: every second body is flexible, and carries others on its nodes, the first on its frame too."""
    rng = np.random.default_rng(seed)
    skeleton = kido.Skeleton("flexible")
    flexible: list[FlexibleBody] = []
    places: list[kido.BodyNode | None] = [None]
    chosen = [*rng.permutation(kinds)][:bodies]
    for k, kind in enumerate(chosen):
        parent = places[int(rng.integers(max(0, len(places) - 4), len(places)))]
        joint = random_joint(rng, str(kind), f"j{k}")
        if k % 2:
            body = skeleton.add_body(f"b{k}", joint, parent, random_inertia(rng, float(rng.uniform(0.5, 2.0))))
            places.append(body)
        else:
            made = FlexibleBody(skeleton.add_body(f"b{k}", joint, parent), random_modes(rng, 2 + k % 3))
            flexible.append(made)
            places += [made.node("a"), made.node("b")]
    # What is welded to a flexible body's own frame moves with its inboard node.
    skeleton.add_body(
        "welded", kido.WeldJoint(transform_from_parent=(0.1, 0.2, -0.1)), flexible[0].body, random_inertia(rng, 0.5)
    )
    for dof in skeleton.dofs[::3]:
        dof.armature = 0.1
    return FlexibleTree(skeleton)


def rotation_series(theta: np.ndarray, rate: np.ndarray, acceleration: np.ndarray) -> list[np.ndarray]:
    """exp of a rotation vector along a quadratic path: a polynomial in time is a triangular Toeplitz matrix."""
    W = [skew(theta), skew(rate), 0.5 * skew(acceleration)]
    zero = np.zeros((3, 3))
    E = scipy.linalg.expm(np.block([[W[0], W[1], W[2]], [zero, W[0], W[1]], [zero, zero, W[0]]]))
    return [E[:3, 3 * k : 3 * k + 3] for k in range(3)]


def path(first: np.ndarray, second: np.ndarray, eta: tuple[np.ndarray, ...]) -> np.ndarray:
    """Coefficients (3, 3) of t^0, t^1, t^2 of first eta + second(eta, eta) / 2, eta a polynomial of degree 2."""
    a, b, c = eta
    return np.array([
        first @ a + 0.5 * (second @ a) @ a, first @ b + (second @ a) @ b,
        first @ c + (second @ a) @ c + 0.5 * (second @ b) @ b,
    ])  # fmt: skip


@dataclass
class Dense:
    """Poses, motion and dynamics of a tree at a state.

    Attributes:
        X, V, A: of all bodies of the skeleton: poses, [w; v] and [wdot; acceleration of the origin].
    """

    tree: FlexibleTree
    q: np.ndarray
    u: np.ndarray
    udot: np.ndarray

    def __post_init__(self) -> None:
        self.series, self.points = self.move(self.u, self.udot)
        self.X = np.array([s[0] for s in self.series])
        moved = [motion(s) for s in self.series]
        self.V, self.A = np.array([v for v, _ in moved]), np.array([a for _, a in moved])

    def eta(self, flexible: FlexibleBody, u, udot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        part = flexible.dofs
        return self.q[part], u[part], 0.5 * udot[part]

    def move(self, u, udot):
        """Series of all bodies, and of all point masses (p, 3) each."""
        owner = {f.node(n.name): (f, n) for f in self.tree.bodies for n in f.modes.nodes}
        whole, points = [], []
        for body in self.tree.skeleton.bodies:
            if body in owner:
                flexible, node = owner[body]
                eta = self.eta(flexible, u, udot)
                turn = rotation_series(*path(node.rotation, node.second_rotation, eta) * [[1.0], [1.0], [2.0]])
                own = [np.zeros((4, 4)) for _ in range(3)]
                for k, (X, moved) in enumerate(zip(own, path(node.translation, node.second_order, eta), strict=True)):
                    X[:3, :3], X[:3, 3] = turn[k], moved
                own[0][:3, 3] += node.position
                own[0][3, 3] = 1.0
                own = own[0], own[1], own[2]
            elif isinstance(body.parent_joint, ModalJoint):  # it stays where it is
                own = np.eye(4), np.zeros((4, 4)), np.zeros((4, 4))
            else:
                d = body.parent_joint.dofs
                part = slice(d[0].index, d[0].index + len(d)) if d else slice(0, 0)
                own = body_series(body, self.q[part], u[part], udot[part])
            whole.append(own if body.parent is None else times(whole[body.parent.index], own))
        for flexible in self.tree.bodies:
            masses, rho, shapes = CLOUDS[flexible.modes]
            eta, X = self.eta(flexible, u, udot), whole[flexible.body.index]
            local = [shapes @ e for e in eta]
            local[0] = local[0] + rho
            x = local[0] @ X[0][:3, :3].T + X[0][:3, 3]
            v = local[0] @ X[1][:3, :3].T + local[1] @ X[0][:3, :3].T + X[1][:3, 3]
            a = local[0] @ X[2][:3, :3].T + local[1] @ X[1][:3, :3].T + local[2] @ X[0][:3, :3].T + X[2][:3, 3]
            points.append((masses, x, v, 2.0 * a))
        return whole, points

    def rigid(self):
        """Mass, inertia about the centre in world axes, centre from the origin, and index of the rigid bodies."""
        flexible = {f.body for f in self.tree.bodies}
        for body in self.tree.skeleton.bodies:
            if body not in flexible and body.mass > 0.0:
                R = self.X[body.index, :3, :3]
                yield body.mass, R @ body.inertia.moment @ R.T, R @ body.inertia.com, body.index

    def forces(self) -> tuple[np.ndarray, np.ndarray]:
        """(M, tau): mass matrix, and the forces that give udot, by virtual power over points and rigid bodies."""
        n, g = len(self.q), np.asarray(self.tree.skeleton.gravity)
        columns = [self.move(e, np.zeros(n)) for e in np.eye(n)]
        M, tau = np.zeros((n, n)), np.zeros(n)
        for c, (masses, _, _, a) in enumerate(self.points):
            J = np.stack([points[c][2] for _, points in columns], -1)
            M += np.einsum("p,pak,pal->kl", masses, J, J)
            tau += np.einsum("p,pak,pa->k", masses, J, a - g)
        for m, moment, com, i in self.rigid():
            J = np.stack([motion(series[i])[0] for series, _ in columns], -1)
            Jc = J[3:] + np.cross(J[:3], com, axisa=0).T
            w, wdot = self.V[i, :3], self.A[i, :3]
            a = self.A[i, 3:] + np.cross(wdot, com) + np.cross(w, np.cross(w, com))
            M += m * Jc.T @ Jc + J[:3].T @ moment @ J[:3]
            tau += Jc.T @ (m * (a - g)) + J[:3].T @ (moment @ wdot + np.cross(w, moment @ w))
        for k, dof in enumerate(self.tree.skeleton.dofs):
            M[k, k] += dof.armature
            tau[k] += dof.armature * self.udot[k]
        for flexible in self.tree.bodies:
            part = flexible.dofs
            tau[part] += flexible.modes.stiffness * self.q[part] + flexible.modes.damping * self.u[part]
        return M, tau

    @property
    def momentum(self) -> np.ndarray:
        """[angular about the world's origin; linear]."""
        total = np.zeros(6)
        for masses, x, v, _ in self.points:
            total += np.concatenate([(masses[:, None] * np.cross(x, v)).sum(0), masses @ v])
        for m, moment, com, i in self.rigid():
            w = self.V[i, :3]
            x, v = self.X[i, :3, 3] + com, self.V[i, 3:] + np.cross(w, com)
            total += np.concatenate([moment @ w + m * np.cross(x, v), m * v])
        return total

    @property
    def potential_energy(self) -> float:
        """Of weight and deformation."""
        g, total = np.asarray(self.tree.skeleton.gravity), 0.0
        for masses, x, _, _ in self.points:
            total -= float(masses @ x @ g)
        for m, _, com, i in self.rigid():
            total -= m * float((self.X[i, :3, 3] + com) @ g)
        for flexible in self.tree.bodies:
            total += 0.5 * float(flexible.modes.stiffness @ self.q[flexible.dofs] ** 2)
        return total
