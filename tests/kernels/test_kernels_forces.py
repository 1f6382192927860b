"""External forces in every combination of frames, and impulse responses: both against dense Jacobians.

1e-10 relative: as in test_kernels_dynamics.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kido
from kernel_entries import Arrays, eliminate, respond, respond_joint, wrench_of
from kido.skeleton.compiler import compile_forest
from trees import SEEDS, Reference, random_skeleton, random_state, relative_error, skeletons

TOLERANCE = 1e-10
FRAMES = list(itertools.product([False, True], repeat=2))


def wrench_at(X: np.ndarray, force: np.ndarray, offset: np.ndarray, force_local: bool, offset_local: bool):
    """[moment; force] about the body origin, world axes, by the definition of the two flags."""
    R, p = X[:3, :3], X[:3, 3]
    f = R @ force if force_local else force
    r = R @ offset if offset_local else offset - p
    return np.concatenate([np.cross(r, f), f])


def check_dynamics(skeleton: kido.Skeleton, seed: int, wrenches: np.ndarray) -> None:
    """Held wrenches against J^T f, in inverse and forward dynamics."""
    _, u, udot, tau = random_state(skeleton, seed)
    skeleton.velocities, skeleton.accelerations = u, udot
    r = Reference(skeleton, skeleton.positions, u, udot)
    applied = np.einsum("iak,ia->k", r.J, wrenches)
    scale = max(1.0, np.abs(applied).max(initial=0.0), np.abs(r.joint_forces).max(initial=0.0))
    found = np.array([b.external_wrench for b in skeleton.bodies])
    assert relative_error(found, wrenches) < TOLERANCE
    skeleton.compute_inverse_dynamics()
    assert np.abs(skeleton.forces - (r.joint_forces - applied)).max(initial=0.0) < TOLERANCE * scale
    skeleton.forces = tau
    skeleton.compute_forward_dynamics()
    residual = r.mass_matrix @ skeleton.accelerations + r.bias - tau - applied
    size = np.abs(r.mass_matrix) @ np.abs(skeleton.accelerations)
    assert np.abs(residual).max(initial=0.0) < TOLERANCE * max(scale, size.max(initial=0.0))


@given(skeletons(most=8), SEEDS, st.sampled_from(FRAMES))
@settings(max_examples=60)
def test_a_force_in_each_combination_of_frames(skeleton: kido.Skeleton, seed: int, frames) -> None:
    rng = np.random.default_rng(seed)
    skeleton.positions = random_state(skeleton, seed)[0]
    body = skeleton.bodies[rng.integers(skeleton.num_bodies)]
    force, offset = rng.normal(size=(2, 3))
    body.add_external_force(force, offset, force_is_local=frames[0], offset_is_local=frames[1])
    wrenches = np.zeros((skeleton.num_bodies, 6))
    wrenches[body.index] = wrench_at(body.world_transform, force, offset, *frames)
    check_dynamics(skeleton, seed, wrenches)


@given(skeletons(most=8), SEEDS)
@settings(max_examples=60)
def test_forces_add_up_and_keep_their_meaning_when_bodies_move(skeleton: kido.Skeleton, seed: int) -> None:
    """Local forces turn with the body, points fixed in the body move with it, points of the world stay.

    A local force at a point of the world stays with the point of the body that is there when it is added.
    """
    rng = np.random.default_rng(seed)
    skeleton.positions = random_state(skeleton, seed)[0]
    calls = []
    for body in skeleton.bodies:
        for force_local, offset_local in FRAMES:
            force, offset = rng.normal(size=(2, 3))
            body.add_external_force(force, offset, force_is_local=force_local, offset_is_local=offset_local)
            if force_local and not offset_local:
                X = body.world_transform
                offset, offset_local = X[:3, :3].T @ (offset - X[:3, 3]), True
            calls.append((body, force, offset, force_local, offset_local))
        torque = rng.normal(size=(2, 3))
        body.add_external_torque(torque[0])
        body.add_external_torque(torque[1], is_local=True)
        wrench, offset = rng.normal(size=6), rng.normal(size=3)
        local = bool(rng.random() < 0.5)
        body.add_external_wrench(wrench, offset, is_local=local)
        calls.append((body, wrench[3:], offset, local, True))
        calls.append((body, torque[0] + (0 if local else wrench[:3]), None, False, None))
        calls.append((body, torque[1] + (wrench[:3] if local else 0), None, True, None))
    skeleton.positions = random_state(skeleton, seed + 1)[0]
    wrenches = np.zeros((skeleton.num_bodies, 6))
    for body, force, offset, force_local, offset_local in calls:
        X = body.world_transform
        if offset is None:
            wrenches[body.index, :3] += X[:3, :3] @ force if force_local else force
        else:
            wrenches[body.index] += wrench_at(X, force, offset, force_local, offset_local)
    check_dynamics(skeleton, seed, wrenches)
    skeleton.bodies[0].clear_external_forces()
    wrenches[0] = 0.0
    check_dynamics(skeleton, seed, wrenches)
    skeleton.clear_external_forces()
    check_dynamics(skeleton, seed, np.zeros_like(wrenches))


def test_wrench_kernel_of_a_body_without_forces_is_zero() -> None:
    arrays = Arrays(random_skeleton(1, 3))
    assert wrench_of(arrays.data.address, 1) == (0.0,) * 6


def test_given_states_ignore_held_external_forces() -> None:
    """`forward_dynamics(q, u, T)` depends on its arguments alone."""
    skeleton = random_skeleton(1, 5)
    q, u, _, tau = random_state(skeleton, 1)
    before = skeleton.forward_dynamics(q, u, tau)
    skeleton.bodies[-1].add_external_force([1, 2, 3])
    assert np.array_equal(skeleton.forward_dynamics(q, u, tau), before)


# Impulses --------------------------------------------------------------------------------------------------


@given(skeletons(most=10), SEEDS, st.booleans())
@settings(max_examples=80)
def test_impulse_rows(skeleton: kido.Skeleton, seed: int, some_prescribed: bool) -> None:
    """J of a unit impulse on a body, and M^-1 J^T over the coordinates that are not prescribed."""
    rng = np.random.default_rng(seed)
    q = random_state(skeleton, seed)[0]
    n, m = skeleton.num_bodies, skeleton.num_dofs
    arrays = Arrays(skeleton, q)
    if some_prescribed:
        arrays.tree.prescribed[:] = rng.random(m) < 0.3
    free = arrays.tree.prescribed == 0
    eliminate(*arrays.addresses, 0, n, 0.0)
    r = Reference(skeleton, q)
    body, row, sign = int(rng.integers(n)), rng.normal(size=6), float(rng.choice([-1.0, 1.0]))
    J, Y = rng.normal(size=(2, m + 7))  # rows are added to what is there, from index 3 on
    J0, Y0 = J.copy(), Y.copy()
    respond(*arrays.addresses, 0, n, body, sign, row, J, Y, 3)
    expected = sign * r.J[body].T @ row
    assert relative_error(J - J0, np.concatenate([[0] * 3, expected, [0] * 4])) < TOLERANCE
    response = np.zeros(m)
    part = r.mass_matrix[np.ix_(free, free)]
    if free.any():
        response[free] = np.linalg.solve(part, expected[free])
    condition = np.linalg.cond(part) if free.any() else 1.0
    error = relative_error(Y - Y0, np.concatenate([[0] * 3, response, [0] * 4]))
    assert error < TOLERANCE + 1e-15 * condition
    if m == 0:
        return
    dof = int(rng.integers(m))
    J[:], Y[:] = 0.0, 0.0
    respond_joint(*arrays.addresses, 0, n, dof, sign, J, Y, 3)
    unit = np.zeros(m)
    unit[dof] = sign
    assert np.array_equal(J, np.concatenate([[0] * 3, unit, [0] * 4]))
    response[:] = 0.0
    if free.any():
        response[free] = np.linalg.solve(part, unit[free])
    error = relative_error(Y, np.concatenate([[0] * 3, response, [0] * 4]))
    assert error < TOLERANCE + 1e-15 * condition


def test_impulses_of_one_skeleton_in_a_forest() -> None:
    """Bodies and coordinates of the middle one of three; its neighbours see nothing."""
    parts = [random_skeleton(seed, 5) for seed in (1, 2, 3)]
    for seed, skeleton in enumerate(parts):
        for body in skeleton.bodies:
            object.__setattr__(body, "own_link", True)  # as KIDO sets it
        skeleton.positions = random_state(skeleton, seed)[0]
    tree, data, _ = compile_forest(parts, np.array([0, 0, -9.81]))
    data.q[:] = np.concatenate([s.positions for s in parts])
    tree.kind[tree.kind == 10] = 9  # free joints with their twist in body axes, as the reference has them
    from kido.kernels import entries

    entries.update_transforms(tree.address, data.address)
    first, last = int(tree.tree_body[1]), int(tree.tree_body[2])
    begin, m = int(tree.tree_dof[1]), parts[1].num_dofs
    eliminate(tree.address, data.address, first, last, 0.0)
    r = Reference(parts[1], parts[1].positions)
    row = np.arange(1.0, 7.0)
    J, Y = np.zeros(m), np.zeros(m)
    respond(tree.address, data.address, first, last, first + 3, -1.0, row, J, Y, 0)
    expected = -r.J[3].T @ row
    assert relative_error(J, expected) < TOLERANCE
    assert relative_error(Y, np.linalg.solve(r.mass_matrix, expected)) < TOLERANCE
    J[:], Y[:] = 0.0, 0.0
    respond_joint(tree.address, data.address, first, last, begin + 2, 1.0, J, Y, 0)
    assert np.array_equal(J, np.eye(m)[2])
    assert relative_error(Y, np.linalg.inv(r.mass_matrix)[:, 2]) < TOLERANCE


@pytest.mark.parametrize("frames", FRAMES)
def test_forces_on_welded_bodies_know_their_own_frame(frames) -> None:
    """Bodies merged into one link keep their own axes and origin for forces."""
    skeleton = kido.Skeleton()
    moment = kido.Inertia.from_diagonal(1.0, [1, 2, 3])
    skeleton.add_body("base", kido.FreeJoint(), inertia=moment)
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]], (1, 2, 3)
    tool = skeleton.add_body("tool", kido.WeldJoint(transform_from_parent=X), "base", moment)
    skeleton.positions = [0.3, -0.4, 0.9, 1, 2, 3]
    force, offset = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.2])
    tool.add_external_force(force, offset, force_is_local=frames[0], offset_is_local=frames[1])
    wrenches = np.zeros((2, 6))
    wrenches[1] = wrench_at(tool.world_transform, force, offset, *frames)
    check_dynamics(skeleton, 1, wrenches)
    # What is one link may become two; the force stays where it was put.
    tool.gravity = False
    check_dynamics(skeleton, 2, wrenches)
    skeleton.bodies[0].gravity = False
    check_dynamics(skeleton, 3, wrenches)
