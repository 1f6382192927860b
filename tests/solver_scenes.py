"""Contact problems made in NumPy alone, and solvers of another kind to compare with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kido.jit import Struct
from kido.solvers import BOUNDED, CONTACT, body_newton_island, new_problem
from kido.solvers.problem import block_segments

H = 1e-3
G = 9.81


@dataclass
class Segment:
    """A skeleton: its mass matrix (n, n) and its free velocity (n,)."""

    mass: np.ndarray
    velocity: np.ndarray


@dataclass
class Block:
    """Rows of one block: Jacobians (rows, n) on one or two segments (None: static side)."""

    a: int | None
    jacobian_a: np.ndarray | None
    b: int | None
    jacobian_b: np.ndarray | None
    mu: float = 0.0
    bias: tuple[float, ...] = (0.0, 0.0, 0.0)
    kind: int = CONTACT
    lower: float = 0.0
    upper: float = np.inf
    restitution: float = 0.0
    torsion: float = 0.0  # of a SPIN block, which belongs to the contact before it
    more: list[tuple[int, np.ndarray]] = field(default_factory=list)  # further segments


def problem(segments: list[Segment], blocks: list[Block], **settings: float) -> Struct:
    """A PROBLEM from segments and blocks."""
    rows = [1 if b.kind == BOUNDED else 3 for b in blocks]
    starts = np.concatenate([[0], np.cumsum([len(s.velocity) for s in segments])]).astype(int)
    pool = sum(j.size for b in blocks for j in (b.jacobian_a, b.jacobian_b, *(m[1] for m in b.more)) if j is not None)
    extras = sum(len(b.more) for b in blocks)
    c = new_problem(blocks=len(blocks), rows=sum(rows), dofs=int(starts[-1]), pool=pool, extras=extras, **settings)
    c.num_blocks, c.num_rows, c.num_dofs, c.num_extras = len(blocks), sum(rows), starts[-1], extras
    for k, s in enumerate(segments):
        c.u_free[starts[k] : starts[k + 1]] = s.velocity
    at = extra = 0
    for k, block in enumerate(blocks):
        c.kind[k], c.row[k], c.mu[k] = block.kind, sum(rows[:k]), block.mu
        c.lower[k], c.upper[k], c.restitution[k] = block.lower, block.upper, block.restitution
        c.torsion[k], c.partner[k] = block.torsion, max(k - 1, 0)
        c.bias[c.row[k] : c.row[k] + rows[k]] = block.bias[: rows[k]]
        sides = (
            (block.a, block.jacobian_a, c.dof_a, c.len_a, c.at_a),
            (block.b, block.jacobian_b, c.dof_b, c.len_b, c.at_b),
        )
        c.more_first[k], c.more_count[k] = extra, len(block.more)
        places = [(segment, jacobian, dof, length, where, k) for segment, jacobian, dof, length, where in sides]
        for n, (segment, jacobian) in enumerate(block.more):
            places.append((segment, jacobian, c.more_dof, c.more_len, c.more_at, extra + n))
        extra += len(block.more)
        for segment, jacobian, dof, length, where, entry in places:
            if segment is None or jacobian is None:
                continue
            jacobian = np.atleast_2d(jacobian)
            dof[entry], length[entry], where[entry] = starts[segment], jacobian.shape[1], at
            c.J[at : at + jacobian.size] = jacobian.ravel()
            c.Y[at : at + jacobian.size] = np.linalg.solve(segments[segment].mass, jacobian.T).T.ravel()
            at += jacobian.size
    return c


def body(mass: float, position, velocity=(0.0, 0.0, 0.0), radius: float = 0.05) -> tuple[Segment, np.ndarray]:
    """A free body with the inertia of a solid cube of half edge `radius`, [angular; linear] in world axes."""
    inertia = np.eye(3) * mass * (2 * radius) ** 2 / 6
    matrix = np.block([[inertia, np.zeros((3, 3))], [np.zeros((3, 3)), np.eye(3) * mass]])
    return Segment(matrix, np.concatenate([np.zeros(3), velocity])), np.asarray(position, float)


def frame(normal) -> np.ndarray:
    """Rows n, t1, t2."""
    n = np.asarray(normal, float) / np.linalg.norm(normal)
    t = np.cross(n, [1.0, 0, 0] if abs(n[0]) < 0.9 else [0, 1.0, 0])
    t /= np.linalg.norm(t)
    return np.array([n, t, np.cross(n, t)])


def contact(bodies, a: int | None, b: int | None, point, normal, **more) -> Block:
    """Contact at a point, normal from a to b; velocity of b relative to a."""
    directions = frame(normal)

    def rows(i, sign):
        if i is None:
            return None
        arm = np.asarray(point, float) - bodies[i][1]
        return sign * np.hstack([np.cross(arm, directions), directions])

    return Block(a, rows(a, -1.0), b, rows(b, 1.0), **more)


def stack(count: int, *, top: float = 1.0, mu: float = 0.5, velocity=(0.0, 0.0, 0.0), **settings) -> Struct:
    """`count` cubes of 1 kg, 0.1 m, the top one `top` times heavier, after one step of gravity."""
    edge = 0.1
    v = np.asarray(velocity, float) + [0, 0, -G * H]
    bodies = [body(top if i == count - 1 else 1.0, (0, 0, edge * (i + 0.5)), v, edge / 2) for i in range(count)]
    corners = [(x * edge / 2, y * edge / 2) for x in (-1, 1) for y in (-1, 1)]
    blocks = [
        contact(bodies, i - 1 if i else None, i, (x, y, edge * i), (0, 0, 1), mu=mu)
        for i in range(count)
        for x, y in corners
    ]
    return problem([s for s, _ in bodies], blocks, **settings)


def random_problem(rng, *, bodies=6, contacts=10, mu=0.5, spread=1.0, **settings) -> Struct:
    """Bodies of random mass with random contacts among them and with the ground."""
    items = []
    for _ in range(bodies):
        m = 10 ** rng.uniform(-spread, spread)
        segment, x = body(m, rng.normal(size=3), rng.normal(size=3), 0.5)
        segment.velocity[:3] = rng.normal(size=3)
        items.append((segment, x))
    blocks = []
    for _ in range(contacts):
        a, b = rng.choice(bodies, 2, replace=False)
        ground = rng.random() < 0.3
        point = items[b][1] + rng.normal(size=3) * 0.3
        blocks.append(contact(items, None if ground else int(a), int(b), point, rng.normal(size=3), mu=mu))
    return problem([s for s, _ in items], blocks, **settings)


def project(x: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Projection on Coulomb cones, by cases written for arrays."""
    n, t = x[:, 0], np.hypot(x[:, 1], x[:, 2])
    m = np.where(t <= mu * n, n, np.where(mu * t <= -n, 0.0, (mu * t + n) / (1 + mu**2)))
    s = np.where(t <= mu * n, 1.0, mu * m / np.maximum(t, 1e-300))
    return np.column_stack([m, s * x[:, 1], s * x[:, 2]])


def residual(A, b, mu, p) -> float:
    """The natural-map residual, as defined."""
    p = p.reshape(-1, 3)
    v = (A @ p.ravel() + b).reshape(-1, 3)
    d = np.diag(A).reshape(-1, 3).sum(1) / 3
    v[:, 0] += mu * np.hypot(v[:, 1], v[:, 2])
    return float(np.linalg.norm(p - project(p - v / d[:, None], mu)) / np.linalg.norm(p))


def dense_admm(A, b, mu, iterations=4000, tolerance=1e-11) -> np.ndarray:
    """Plain ADMM on the exact cone, unscaled, to compare with. Returns p (n, 3)."""
    size = np.linalg.norm(A, 2)
    rho = 0.03 * size
    inverse = np.linalg.inv(A + rho * np.eye(len(b)))
    y = np.zeros((len(mu), 3))
    z = b.reshape(-1, 3).copy()
    for _ in range(iterations):
        s = np.zeros_like(z)
        s[:, 0] = mu * np.hypot(z[:, 1], z[:, 2])
        p = -(inverse @ (b + (s - rho * y - z).ravel())).reshape(-1, 3)
        y_next = project(p - z / rho, mu)
        z = z - rho * (p - y_next)
        done = np.abs(p - y_next).max() + np.abs(y - y_next).max() < tolerance * np.abs(y_next).max()
        y = y_next
        if done:
            break
    return y


def impulses(c: Struct) -> np.ndarray:
    """Contact impulses (n, 3) of a problem of contacts only."""
    return c.impulse[: c.num_rows].reshape(-1, 3).copy()


__all__ = [
    "BOUNDED",
    "CONTACT",
    "Block",
    "G",
    "H",
    "Segment",
    "body",
    "contact",
    "dense_admm",
    "frame",
    "impulses",
    "problem",
    "project",
    "random_problem",
    "residual",
    "stack",
]


def with_masses(segments: list[Segment], blocks: list[Block], **settings) -> Struct:
    """A problem that knows the masses of its segments, and Newton's method."""
    sizes = [len(s.velocity) for s in segments]
    c = problem(segments, blocks, inertias=sum(n * n for n in sizes), **settings)
    at = dof = 0
    for s, n in zip(segments, sizes, strict=True):
        c.inertia_at[dof] = 1 + at
        c.inertia[at : at + n * n] = s.mass.ravel()
        at, dof = at + n * n, dof + n
    c.body_newton = body_newton_island
    return c


def random_graph(seed: int, lengths=(6, 6, 9, 3, 6, 14, 1, 6)):
    """Segments of mixed length, in one island, with blocks on one, two and three of them."""
    rng = np.random.default_rng(seed)
    segments = [Segment((lambda x: x @ x.T + np.eye(n))(rng.normal(size=(n, n))), rng.normal(size=n)) for n in lengths]
    chain = [(k, k + 1) for k in range(len(lengths) - 1)]
    pairs = [*chain, *(tuple(rng.choice(len(lengths), 2, replace=False)) for _ in range(4)), (2, None)]
    blocks = []
    for k, (a, b) in enumerate(pairs):
        kind = BOUNDED if k % 4 == 3 else CONTACT
        rows = 1 if kind == BOUNDED else 3
        more = [int(rng.integers(len(lengths)))] if k % 3 == 0 else []
        blocks.append(
            Block(
                int(a),
                rng.normal(size=(rows, lengths[a])),
                None if b is None else int(b),
                None if b is None else rng.normal(size=(rows, lengths[b])),
                mu=0.6,
                kind=kind,
                more=[(m, rng.normal(size=(rows, lengths[m]))) for m in more if m not in (a, b)],
            )
        )
    return segments, blocks


def body_mass(c: Struct, dof: int) -> np.ndarray:
    """Mass matrix of a free body whose inertia is m diag(k, k, k, 1, 1, 1), from one of its rows and its response."""
    for b in range(c.num_blocks):
        for first, length, at in block_segments(c, b):
            if first == dof:
                j, y = c.J[at : at + length], c.Y[at : at + length]
                k = np.argmax(np.abs(j[:3])), 3 + np.argmax(np.abs(j[3:]))
                return np.diag(np.repeat([j[k[0]] / y[k[0]], j[k[1]] / y[k[1]]], 3))
    return np.eye(6)  # touched by nothing
