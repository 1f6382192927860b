"""Random skeletons with loops: closed where they are made, with velocities that keep them closed.

Loops join any two bodies of a random tree, or a body and the world, by constraints of all kinds at the present pose, so
that phi = 0 holds exactly whatever the tree is. Some are there twice, so that rows follow from others. At least a few
coordinates stay free. The truth for accelerations is the dense system with the mass matrix (`dense_accelerations`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import kido
from kido.joints import JointKind
from trees import KINDS, random_skeleton, random_state, random_transform

BETWEEN_BODIES = (
    "weld", "ball", "revolute", "prismatic", "cylindrical", "screw", "universal", "planar", "distance", "on_plane",
)  # fmt: skip
LOOPS = (*BETWEEN_BODIES, "coupler", "gear")
_CLASSES = {
    "weld": kido.WeldJointConstraint,
    "ball": kido.BallJointConstraint,
    "revolute": kido.RevoluteJointConstraint,
    "prismatic": kido.PrismaticJointConstraint,
    "cylindrical": kido.CylindricalJointConstraint,
    "universal": kido.UniversalJointConstraint,
    "planar": kido.PlanarJointConstraint,
    "on_plane": kido.PointOnPlaneConstraint,
}
UNEVEN = (JointKind.BALL, JointKind.FREE)  # velocities that are not rates of positions: no couplers


@dataclass
class ClosedGraph:
    """A skeleton that holds the state, and the constraints that hold there."""

    skeleton: kido.Skeleton
    constraints: list[kido.Constraint]
    q: np.ndarray
    u: np.ndarray
    forces: np.ndarray


def loop(rng: np.random.Generator, kind: str, a: kido.BodyNode | None, b: kido.BodyNode, name: str) -> kido.Constraint:
    """A constraint of a kind, closed at the present positions."""
    if kind == "distance":
        return kido.DistanceConstraint(a, b, frame_a=random_transform(rng), frame_b=random_transform(rng), name=name)
    X = b.world_transform @ random_transform(rng)
    if kind == "screw":
        return kido.ScrewJointConstraint(a, b, at=X, pitch=rng.uniform(0.2, 1.0), name=name)
    return _CLASSES[kind](a, b, at=X, name=name)


def coupler(rng: np.random.Generator, skeleton: kido.Skeleton, kind: str, name: str) -> kido.Constraint | None:
    """A gear, or a relation of up to four coordinates; None where there are not enough."""
    dofs = [dof for dof in skeleton.dofs if dof.joint.kind not in UNEVEN]
    if len(dofs) < 3:
        return None
    if kind == "gear":
        one, two = rng.choice(len(dofs), 2, replace=False)
        return kido.GearConstraint(dofs[one], dofs[two], rng.uniform(0.5, 2.0) * rng.choice([-1, 1]), name=name)
    chosen = rng.choice(len(dofs), min(len(dofs), int(rng.integers(2, 5))), replace=False)
    return kido.CouplerConstraint([(dofs[k], rng.uniform(0.5, 2.0)) for k in chosen], name=name)


def rank_of(G: np.ndarray) -> int:
    """Rank of a Jacobian: its rows are of the order of one."""
    return int(np.linalg.matrix_rank(G, tol=1e-8)) if G.size else 0


def closed_graph(
    seed: int,
    bodies: int,
    loops: int,
    kinds: tuple[str, ...] = KINDS,
    loop_kinds: tuple[str, ...] = LOOPS,
    redundant: bool = False,
    passive: bool = True,
    rotors: bool = False,
    **options,
) -> ClosedGraph:
    """A random closed graph.

    Args:
        seed: of everything.
        bodies: number of bodies.
        loops: number of constraints; fewer where the tree has not enough coordinates for them.
        kinds: joints of the tree.
        loop_kinds: constraints.
        redundant: every third constraint comes twice.
        passive: with joint springs and dampers, and external forces on some bodies.
        rotors: with rotor inertia of half of the coordinates.
        **options: of `trees.build`.
    """
    skeleton = random_skeleton(seed, bodies, kinds, **options)
    rng = np.random.default_rng([seed, 1])
    q, u, _, forces = random_state(skeleton, seed)
    skeleton.positions = q
    if passive:
        for joint in skeleton.joints:
            if joint.num_dofs and rng.random() < 0.3:
                joint.damping = rng.uniform(0.1, 2.0, joint.num_dofs)
                joint.spring_stiffness = rng.uniform(0.1, 5.0, joint.num_dofs)
        for body in skeleton.bodies:
            if rng.random() < 0.2:
                body.add_external_force(rng.normal(size=3), rng.uniform(-0.3, 0.3, 3), bool(rng.random() < 0.5))
    if rotors:
        for dof, value in zip(skeleton.dofs, rng.uniform(-3.0, 3.0, skeleton.num_dofs), strict=True):
            dof.armature = max(value, 0.0)
    constraints: list[kido.Constraint] = []
    left = max(1, skeleton.num_dofs // 10)
    rank = 0
    for attempt in range(10 * loops):
        if len([c for c in constraints if not c.name.endswith("again")]) == loops:
            break
        kind = str(rng.choice(loop_kinds))
        if kind in ("coupler", "gear"):
            made = coupler(rng, skeleton, kind, f"loop{attempt}")
        else:
            one, two = rng.integers(-1, bodies), rng.integers(bodies)
            if one == two:
                continue
            made = loop(rng, kind, None if one < 0 else skeleton.bodies[one], skeleton.bodies[two], f"loop{attempt}")
        if made is None:
            continue
        G = kido.ConstrainedSystem(skeleton, [*constraints, made]).G()
        new = rank_of(G)
        if new == rank + len(made.row_names) and skeleton.num_dofs - new >= left:
            constraints.append(made)
            rank = new
            if redundant and len(constraints) % 3 == 1:
                constraints.append(_again(made))
    G = kido.ConstrainedSystem(skeleton, constraints).G()
    if len(G):
        u = u - np.linalg.pinv(G, rcond=1e-10) @ (G @ u)
    skeleton.velocities = u
    return ClosedGraph(skeleton, constraints, q, u, forces)


def _again(made: kido.Constraint) -> kido.Constraint:
    """A constraint that asks for the same, with other rows where it is between bodies."""
    name = f"{made.name} again"
    if isinstance(made, kido.CouplerConstraint):
        return kido.CouplerConstraint([(dof, 2.0 * factor) for dof, factor in made.terms], name=name)
    assert isinstance(made, kido.BodyConstraint)
    if isinstance(made, kido.DistanceConstraint):
        return kido.DistanceConstraint(made.body_b, made.body_a, frame_a=made.frame_b, frame_b=made.frame_a, name=name)
    options = {"pitch": made.pitch} if isinstance(made, kido.ScrewJointConstraint) else {}
    return type(made)(made.body_a, made.body_b, frame_a=made.frame_a, frame_b=made.frame_b, name=name, **options)


def dense_accelerations(graph: ClosedGraph, M: np.ndarray, free: np.ndarray, G: np.ndarray, gamma: np.ndarray):
    """udot and G^T lambda from M udot = free + G^T lambda, G udot = gamma: by the pseudo-inverse of G M^-1/2.

    Args:
        graph: for its size.
        M: mass matrix.
        free: all forces but those of rows, less velocity products.
        G, gamma: rows.
    """
    L = np.linalg.cholesky(M)
    A = np.linalg.solve(L, G.T).T
    start = np.linalg.solve(M, free)
    change = np.linalg.pinv(A, rcond=1e-9) @ (gamma - G @ start)
    udot = start + np.linalg.solve(L.T, change)
    return udot, M @ udot - free
