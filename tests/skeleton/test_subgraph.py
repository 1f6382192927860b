"""Subgraphs: the whole skeleton with locked hinges and the definitions, on skeletons cut out, are the truth."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kido
import trees
from kido.errors import ModelError, NameLookupError, StateError
from trees import relative_error

TOLERANCE = 1e-10


def whole(seed: int, bodies: int = 14) -> kido.Skeleton:
    """A tree on a free base, of all joint types, at a random state."""
    rng = np.random.default_rng(seed)
    kinds = ["free", *map(str, rng.permutation([k for k in trees.KINDS if k != "free"])), "revolute", "revolute"]
    parents = [-1, *(int(rng.integers(max(0, k - 4), k)) for k in range(1, bodies))]
    skeleton = trees.build(kinds[:bodies], parents, seed)
    trees.set_state(skeleton, *trees.random_state(skeleton, seed))
    return skeleton


def connected(skeleton: kido.Skeleton, seed: int, size: int, base: int = 1) -> list[kido.BodyNode]:
    """Some bodies that hang on each other, from a base on."""
    rng = np.random.default_rng(seed)
    found = [skeleton.bodies[base]]
    while len(found) < size:
        rim = [c for b in found for c in b.children if c not in found]
        if not rim:
            break
        found.append(rim[int(rng.integers(len(rim)))])
    return found


def split(skeleton: kido.Skeleton, subgraph: kido.Subgraph) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of the subgraph, and those below it that it freezes."""
    own = np.array([dof.index for dof in subgraph.dofs], int)
    below = [d.index for c in subgraph.outboard_bodies for b in c.subtree for d in b.parent_joint.dofs]
    return own, np.array(below, int)


@pytest.mark.parametrize("seed", range(8))
def test_frozen_is_the_whole_with_locked_hinges(seed: int) -> None:
    """Hinges below are locked (at rest); those above move, and accelerate, as they are held."""
    skeleton = whole(seed)
    subgraph = kido.Subgraph(connected(skeleton, seed, 5, 1 + seed % 3))
    own, below = split(skeleton, subgraph)
    u, udot = skeleton.velocities.copy(), skeleton.accelerations.copy()
    u[below] = udot[below] = 0.0
    skeleton.velocities, skeleton.accelerations = u, udot
    q, n = skeleton.positions, skeleton.num_dofs
    truth = trees.Reference(skeleton, q, u, udot)
    assert subgraph.num_dofs == len(own) and subgraph.boundary_dofs == 6
    M = truth.mass_matrix[np.ix_(own, own)]
    assert relative_error(subgraph.mass_matrix, M) < TOLERANCE
    assert relative_error(subgraph.gravity_forces, skeleton.gravity_forces[own]) < TOLERANCE
    assert relative_error(subgraph.inverse_dynamics(), truth.joint_forces[own]) < TOLERANCE
    if np.linalg.cond(M) > 1e7:
        return

    # Mixed dynamics: all other accelerations are given.
    held = np.setdiff1d(np.arange(n), own)
    values = udot.copy()
    values[own] = tau = np.random.default_rng(seed).normal(size=len(own))
    expected = skeleton.hybrid_dynamics(q, u, values, held.tolist())[0][own]
    assert relative_error(subgraph.forward_dynamics(forces=tau), expected) < 1e-8
    some = [dof.name for dof in subgraph.dofs[::2]]
    values[own[::2]] = 0.5
    held = np.union1d(held, own[::2])
    udot_all, tau_all = skeleton.hybrid_dynamics(q, u, values, held.tolist())
    mine = subgraph.hybrid_dynamics(None, None, values[own], some)
    assert relative_error(mine[0], udot_all[own]) < 1e-8 and relative_error(mine[1], tau_all[own]) < 1e-8

    # With all hinges outside locked, as `prescribed` has it on the whole.
    outside = np.setdiff1d(np.arange(n), own).tolist()
    nodes = [subgraph.bodies[-1], subgraph.bodies[0]]
    offsets = np.random.default_rng(seed).uniform(-0.3, 0.3, (2, 3))
    options = {"rows": "linear", "damping": 0.01}
    assert (
        relative_error(
            subgraph.operational_space_compliance(nodes, offsets),
            skeleton.operational_space_compliance(nodes, offsets, prescribed=outside),
        )
        < 1e-9
    )
    assert (
        relative_error(
            subgraph.operational_space_inertia(nodes, offsets, **options),
            skeleton.operational_space_inertia(nodes, offsets, prescribed=outside, **options),
        )
        < 1e-8
    )
    values = udot.copy()
    values[own] = 0.0
    free = skeleton.hybrid_dynamics(q, u, values, outside)[0]
    skeleton.accelerations = free
    A = np.concatenate([b.linear_acceleration(offset=r) for b, r in zip(nodes, offsets)])
    mu = -skeleton.operational_space_inertia(nodes, offsets, prescribed=outside, **options) @ A
    assert relative_error(subgraph.operational_space_bias(nodes, offsets, **options), mu) < 1e-8
    assert subgraph.log_det_mass_matrix() == pytest.approx(skeleton.log_det_mass_matrix(outside), abs=1e-9)
    gradient = skeleton.log_det_mass_matrix_gradient(outside)[own]
    assert relative_error(subgraph.log_det_mass_matrix_gradient(), gradient) < 1e-8
    rows = [b.index for b in subgraph.bodies]
    assert relative_error(subgraph.composite_inertias, skeleton.composite_inertias[rows]) < TOLERANCE
    assert relative_error(subgraph.composite_momenta, skeleton.composite_momenta[rows]) < TOLERANCE
    assert relative_error(subgraph.articulated_inertias(), skeleton.articulated_inertias(outside)[rows]) < TOLERANCE

    # Impulses with all others locked.
    impulse = np.random.default_rng(seed).normal(size=6)
    J = skeleton.jacobian(nodes[0])[:, own]
    change = np.linalg.solve(M, tau + J.T @ impulse)
    assert relative_error(subgraph.velocity_changes(tau, {nodes[0]: impulse}), change) < 1e-8


@pytest.mark.parametrize("seed", range(8))
def test_cut_with_the_wrenches_of_the_rest_is_the_whole(seed: int) -> None:
    skeleton = whole(seed)
    subgraph = kido.Subgraph(connected(skeleton, seed, 4), outboard="cut")
    own, _ = split(skeleton, subgraph)
    truth = trees.Reference(skeleton, skeleton.positions, skeleton.velocities, skeleton.accelerations)
    wrenches = subgraph.outboard_wrenches()
    assert relative_error(subgraph.inverse_dynamics(wrenches=wrenches), truth.joint_forces[own]) < TOLERANCE
    base = skeleton.reaction_wrenches[subgraph.base.index]
    assert relative_error(subgraph.base_wrench(wrenches=wrenches), base) < TOLERANCE
    if np.linalg.cond(subgraph.mass_matrix) < 1e7:
        udot = subgraph.forward_dynamics(forces=truth.joint_forces[own], wrenches=wrenches)
        assert relative_error(udot, skeleton.accelerations[own]) < 1e-7
    only = kido.quantities.mass_matrix(skeleton, skeleton.positions, subgraph.bodies)[np.ix_(own, own)]
    assert relative_error(subgraph.mass_matrix, only) < TOLERANCE


@pytest.mark.parametrize("outboard", ["frozen", "cut"])
def test_cut_out_skeleton(outboard: str) -> None:
    """A root part: an independent skeleton without a boundary, checked against the definitions."""
    skeleton = whole(3)
    subgraph = kido.Subgraph(connected(skeleton, 3, 6, base=0), outboard=outboard)
    assert subgraph.boundary_dofs == 0 and subgraph.inboard is None and subgraph.base is skeleton.bodies[0]
    alone = subgraph.cut_out("alone")
    assert alone.name == "alone" and alone.host is None
    assert [d.name for d in alone.dofs] == [d.name for d in subgraph.dofs]
    truth = trees.Reference(alone, alone.positions, alone.velocities, alone.accelerations)
    assert relative_error(subgraph.mass_matrix, truth.mass_matrix) < TOLERANCE
    assert relative_error(subgraph.inverse_dynamics(), truth.joint_forces) < TOLERANCE
    for body in subgraph.bodies:
        assert np.allclose(alone.body(body.name).world_transform, body.world_transform, atol=1e-12)
        assert np.allclose(alone.body(body.name).spatial_velocity, body.spatial_velocity, atol=1e-11)
    assert relative_error(subgraph.coriolis_matrix @ subgraph.velocities, subgraph.coriolis_forces) < 1e-9
    nu = subgraph.diagonalized_velocities
    assert 0.5 * nu @ nu == pytest.approx(alone.kinetic_energy, rel=1e-9)
    world = kido.World()
    world.add_skeleton(alone)
    world.step(2)


def test_group_results_of_its_bodies() -> None:
    skeleton = whole(5)
    subgraph = kido.Subgraph(connected(skeleton, 5, 5))
    bodies = subgraph.bodies
    assert subgraph.kinetic_energy == pytest.approx(kido.quantities.kinetic_energy(skeleton, bodies=bodies))
    assert np.allclose(subgraph.momentum, skeleton.momentum_about((0, 0, 0), bodies))
    own = [dof.index for dof in subgraph.dofs]
    assert np.allclose(subgraph.jacobian(bodies[-1]), skeleton.jacobian(bodies[-1])[:, own])


def test_boundary_motion_is_an_argument() -> None:
    """A pendulum on a lift that accelerates upwards weighs more."""
    skeleton = kido.Skeleton("lift")
    lift = skeleton.add_body("lift", kido.PrismaticJoint(axis=(0, 0, 1)), None, kido.Inertia(100.0))
    inertia = kido.Inertia.from_diagonal(2.0, (0.1, 0.1, 0.1), (0.5, 0, 0))
    skeleton.add_body("bob", kido.RevoluteJoint(axis=(0, -1, 0)), lift, inertia)
    bob = kido.Subgraph([skeleton.body("bob")])
    assert bob.inverse_dynamics() == pytest.approx(np.array([2.0 * 9.81 * 0.5]))
    assert bob.inverse_dynamics(boundary_acceleration=[0, 0, 0, 0, 0, 3.0]) == pytest.approx(
        np.array([2.0 * 12.81 * 0.5])
    )
    skeleton.accelerations = [3.0, 0.0]
    assert bob.inverse_dynamics() == pytest.approx(np.array([2.0 * 12.81 * 0.5]))
    free_fall = bob.forward_dynamics(boundary_acceleration=[0, 0, 0, 0, 0, -9.81])
    assert np.abs(free_fall).max() < 1e-12
    assert bob.base_wrench()[5] == pytest.approx(2.0 * 12.81)
    push = bob.forward_dynamics(wrenches={skeleton.body("bob"): [0, 0, 0, 0, 0, 1.0]}) - bob.forward_dynamics()
    assert np.abs(push).max() < 1e-12  # through the hinge


def test_it_follows_states_properties_and_edits() -> None:
    skeleton = whole(7)
    base = max(skeleton.bodies[1:], key=lambda body: len(body.subtree))
    subgraph = kido.Subgraph([b for b in base.subtree if b is not base.subtree[-1]])
    assert subgraph.num_bodies > 2
    own = [dof.index for dof in subgraph.dofs]

    def agrees() -> bool:
        M = skeleton.mass_matrix[np.ix_(own, own)]
        return relative_error(subgraph.mass_matrix, M) < TOLERANCE

    assert agrees()
    skeleton.positions = np.random.default_rng(1).normal(size=skeleton.num_dofs)
    assert agrees()  # also hinges that are frozen moved
    base.subtree[-1].inertia = kido.Inertia.from_diagonal(30.0, (1, 2, 3))
    assert agrees()
    skeleton.bodies[2].inertia = kido.Inertia.from_diagonal(7.0, (1, 2, 3))
    assert agrees()
    base.subtree[-1].add_external_force((1.0, 2.0, 3.0))
    assert relative_error(subgraph.external_forces, skeleton.external_forces[own]) < TOLERANCE
    base.subtree[-1].clear_external_forces()
    assert np.abs(subgraph.external_forces).max() == 0.0
    world = kido.World()
    world.add_skeleton(skeleton)
    assert agrees()
    other = pickle.loads(pickle.dumps(subgraph))
    assert relative_error(other.mass_matrix, subgraph.mass_matrix) < 1e-13
    subgraph.bodies[-1].move_to(skeleton.bodies[0])
    with pytest.raises(ModelError, match="not connected"):
        subgraph.mass_matrix  # noqa: B018


def test_what_is_refused() -> None:
    skeleton, other = whole(8), whole(9)
    a, b = skeleton.bodies[1], skeleton.bodies[-1]
    subgraph = kido.Subgraph(connected(skeleton, 8, 3))
    outside = next(b for b in skeleton.bodies if b not in subgraph.bodies)
    for call, error, message in (
        (lambda: kido.Subgraph([]), ModelError, "bodies of one skeleton, got 0"),
        (lambda: kido.Subgraph([a, other.bodies[0]]), ModelError, "got 2"),
        (lambda: kido.Subgraph([skeleton.bodies[0], b]), ModelError, "not connected"),
        (lambda: kido.Subgraph([a], outboard="loose"), ModelError, "'frozen' or 'cut'"),
        (lambda: subgraph.inverse_dynamics(wrenches={outside: np.zeros(6)}), ModelError, "no body of it"),
        (lambda: subgraph.inverse_dynamics(boundary_acceleration=[1.0]), ModelError, "boundary_acceleration"),
        (lambda: subgraph.inverse_dynamics([1.0]), StateError, "positions"),
        (lambda: subgraph.operational_space_inertia(outside), ModelError, "no body of it"),
        (lambda: subgraph.hybrid_dynamics(None, None, np.zeros(subgraph.num_dofs), ["x"]), NameLookupError, "x"),
    ):
        with pytest.raises(error, match=message):
            call()
    root = kido.Subgraph([skeleton.bodies[0]])
    with pytest.raises(ModelError, match="hangs on the world"):
        root.inverse_dynamics(boundary_acceleration=np.zeros(6))
