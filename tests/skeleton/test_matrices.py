"""Matrices and forces of dynamics against sums over bodies, finite differences and identities (theory.md, g)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given

import kido
from kido.errors import ModelError, NameLookupError, StateError
from manifold import along_motion
from trees import (
    SEEDS,
    Reference,
    build,
    random_skeleton,
    random_state,
    relative_error,
    set_state,
    skeletons,
    spring_forces,
)  # fmt: skip

TOLERANCE = 1e-11
ONE_COORDINATE = ("weld", "revolute", "prismatic", "screw")
HOLONOMIC = (*ONE_COORDINATE, "universal", "euler", "planar", "translational")


def conditioned(M: np.ndarray) -> float:
    """What a result that divides by M can be off by."""
    return TOLERANCE + 1e-15 * (np.linalg.cond(M) if M.size else 1.0)


@given(skeletons(), SEEDS)
def test_inverse_and_factors(skeleton: kido.Skeleton, seed: int) -> None:
    q, _, _, _ = random_state(skeleton, seed)
    skeleton.positions = q
    M = Reference(skeleton, q).mass_matrix
    try:
        inverse = kido.quantities.inverse_mass_matrix(skeleton, q)
    except ModelError:  # a joint that moves only massless bodies
        assert np.linalg.matrix_rank(M) < len(M)
        return
    assert np.array_equal(inverse, skeleton.inverse_mass_matrix)
    assert np.array_equal(inverse, inverse.T)
    assert np.abs(inverse @ M - np.eye(len(M))).max(initial=0.0) < conditioned(M)
    F, D = kido.quantities.mass_matrix_factors(skeleton, q)
    assert relative_error(F @ np.diag(D) @ F.T, M) < TOLERANCE
    assert np.array_equal(F, np.triu(F)) and np.array_equal(np.diag(F), np.ones(len(M)))
    for k, dof in enumerate(skeleton.dofs):
        above = {other.index for other in dof.joint.child.dependent_dofs}
        assert not F[[r for r in range(k) if r not in above], k].any()
    held_F, held_D = skeleton.mass_matrix_factors
    assert np.array_equal(held_F, F) and np.array_equal(held_D, D)
    L = kido.quantities.cholesky_factor(skeleton, q)
    assert np.array_equal(L, np.tril(L)) and np.array_equal(L, skeleton.cholesky_factor)
    assert relative_error(L @ L.T, M) < TOLERANCE


@pytest.mark.parametrize("n", [1, 7, 8, 9, 16, 17, 40])
def test_inverse_of_any_size(n: int) -> None:
    """Columns are worked on eight at a time."""
    skeleton = random_skeleton(n, n, ONE_COORDINATE[1:])
    q = random_state(skeleton, n)[0]
    M = kido.quantities.mass_matrix(skeleton, q)
    assert np.abs(kido.quantities.inverse_mass_matrix(skeleton, q) @ M - np.eye(n)).max() < conditioned(M)


@pytest.mark.parametrize("seed", range(4))
def test_augmented(seed: int) -> None:
    skeleton = random_skeleton(seed, 10)
    rng = np.random.default_rng(seed)
    for joint in skeleton.joints:
        if joint.num_dofs:
            joint.damping, joint.spring_stiffness = rng.uniform(0, 2), rng.uniform(0, 100)
    q = random_state(skeleton, seed)[0]
    skeleton.positions = q
    h = 0.01
    Kd = np.array([dof.damping for dof in skeleton.dofs])
    Ks = np.array([dof.spring_stiffness for dof in skeleton.dofs])
    expected = Reference(skeleton, q).mass_matrix + np.diag(h * Kd + h**2 * Ks)
    assert relative_error(skeleton.augmented_mass_matrix(h), expected) < TOLERANCE
    assert relative_error(kido.quantities.augmented_mass_matrix(skeleton, q, h), expected) < TOLERANCE
    inverse = skeleton.inverse_augmented_mass_matrix(h)
    assert np.abs(inverse @ expected - np.eye(len(q))).max() < conditioned(expected)
    assert np.array_equal(kido.quantities.inverse_augmented_mass_matrix(skeleton, q, h), inverse)
    skeleton.velocities = rng.normal(size=len(q))
    assert relative_error(skeleton.spring_forces, spring_forces(skeleton, q)) < 1e-14
    assert relative_error(skeleton.damping_forces, -Kd * skeleton.velocities) < 1e-15
    # Spring forces are what the potential loses along the velocities.
    springs = skeleton.clone()
    springs.gravity = np.zeros(3)
    for k in range(len(q)):
        loss = -along_motion(
            lambda p: np.array(kido.quantities.potential_energy(springs, p)), springs, q, np.eye(len(q))[k]
        )
        assert abs(springs.spring_forces[k] - loss) < 1e-8 * 100.0
    for wrong in (-1.0, np.nan, "soon"):
        with pytest.raises(ModelError, match="time_step"):
            skeleton.augmented_mass_matrix(wrong)


@given(skeletons(), SEEDS)
def test_coriolis_and_bias(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, a, _ = random_state(skeleton, seed)
    for body in skeleton.bodies[::3]:
        body.gravity = False
    set_state(skeleton, q, u, a)
    r = Reference(skeleton, q, u, a)
    weightless = Reference(skeleton, q, u, a, np.zeros(3)).bias
    scale = max(1.0, np.abs(r.bias).max(initial=0.0), np.abs(weightless).max(initial=0.0))
    assert relative_error(skeleton.coriolis_and_gravity_forces, r.bias, scale) < TOLERANCE
    assert relative_error(skeleton.coriolis_forces, weightless, scale) < TOLERANCE
    assert relative_error(skeleton.gravity_forces, r.bias - weightless, scale) < TOLERANCE
    C = skeleton.coriolis_matrix
    assert relative_error(C @ u, weightless, scale) < TOLERANCE
    assert np.array_equal(kido.quantities.coriolis_matrix(skeleton, q, u), C)
    assert np.array_equal(kido.quantities.coriolis_forces(skeleton, q, u), skeleton.coriolis_forces)
    assert np.array_equal(kido.quantities.gravity_forces(skeleton, q), skeleton.gravity_forces)
    assert np.array_equal(
        kido.quantities.coriolis_and_gravity_forces(skeleton, q, u), skeleton.coriolis_and_gravity_forces
    )


@pytest.mark.parametrize("seed", range(6))
def test_rate_of_the_mass_matrix(seed: int) -> None:
    """dM/dt = C + C^T is dM/dt - 2 C skew-symmetric."""
    skeleton = random_skeleton(seed, 12)
    q, u, _, _ = random_state(skeleton, seed, 0.5)
    set_state(skeleton, q, u, u)
    numeric = along_motion(partial(kido.quantities.mass_matrix, skeleton), skeleton, q, u)
    exact = skeleton.mass_matrix_derivative
    assert relative_error(exact, numeric) < 1e-9
    skew = exact - 2.0 * skeleton.coriolis_matrix
    assert np.abs(skew + skew.T).max() < 1e-12 * np.abs(exact).max()
    assert np.array_equal(kido.quantities.mass_matrix_derivative(skeleton, q, u), exact)


@pytest.mark.parametrize("seed", range(3))
def test_coriolis_matrix_has_christoffel_symbols(seed: int) -> None:
    """C(q, u) v = C(q, v) u where velocities are rates of positions, as for symbols symmetric in two indices."""
    skeleton = random_skeleton(seed, 12, HOLONOMIC)
    q, u, v, _ = random_state(skeleton, seed)
    left = kido.quantities.coriolis_matrix(skeleton, q, u) @ v
    right = kido.quantities.coriolis_matrix(skeleton, q, v) @ u
    assert relative_error(left, right) < TOLERANCE
    n = skeleton.num_dofs
    dM = np.array(
        [along_motion(partial(kido.quantities.mass_matrix, skeleton), skeleton, q, e) for e in np.eye(n)]
    )  # k, i, j
    christoffel = 0.5 * (np.einsum("kij,k->ij", dM, u) + np.einsum("jik,k->ij", dM, u) - np.einsum("ijk,k->ij", dM, u))
    assert relative_error(kido.quantities.coriolis_matrix(skeleton, q, u), christoffel) < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_of_some_bodies(seed: int) -> None:
    skeleton = random_skeleton(seed, 12)
    q, u, _, _ = random_state(skeleton, seed, 0.5)
    rng = np.random.default_rng(seed)
    some = sorted(rng.choice(12, 5, replace=False).tolist())
    rest = [i for i in range(12) if i not in some]
    r = Reference(skeleton, q, u)
    M = sum(r.J[i].T @ r.I[i] @ r.J[i] for i in some)
    assert relative_error(kido.quantities.mass_matrix(skeleton, q, some), M) < TOLERANCE
    for whole in (
        lambda b=None: kido.quantities.coriolis_matrix(skeleton, q, u, b),
        lambda b=None: kido.quantities.coriolis_forces(skeleton, q, u, b),
        lambda b=None: kido.quantities.coriolis_and_gravity_forces(skeleton, q, u, b),
        lambda b=None: kido.quantities.gravity_forces(skeleton, q, b),
    ):
        assert relative_error(whole(some) + whole(rest), whole()) < TOLERANCE
    C = kido.quantities.coriolis_matrix(skeleton, q, u, some)
    assert relative_error(C @ u, kido.quantities.coriolis_forces(skeleton, q, u, some)) < TOLERANCE
    numeric = along_motion(lambda p: kido.quantities.mass_matrix(skeleton, p, some), skeleton, q, u)
    assert relative_error(C + C.T, numeric) < 1e-9


def test_external_forces_on_the_coordinates() -> None:
    skeleton = random_skeleton(3, 10)
    q, u, a, _ = random_state(skeleton, 3)
    set_state(skeleton, q, u, a)
    rng = np.random.default_rng(3)
    assert not skeleton.external_forces.any()
    expected = np.zeros(len(q))
    for body in skeleton.bodies[::2]:
        body.add_external_force(rng.normal(size=3), rng.normal(size=3), force_is_local=True)
        body.add_external_torque(rng.normal(size=3), in_coordinates_of=skeleton.bodies[4])
        expected += skeleton.jacobian(body).T @ body.external_wrench
    assert relative_error(skeleton.external_forces, expected) < TOLERANCE


@pytest.mark.parametrize("local", [False, True])
def test_forces_in_the_axes_of_a_frame(local: bool) -> None:
    skeleton = random_skeleton(4, 8)
    set_state(skeleton, *random_state(skeleton, 4)[:3])
    rng = np.random.default_rng(4)
    body, frame = skeleton.bodies[6], skeleton.bodies[3]
    f, n, r = rng.normal(size=(3, 3))
    R = frame.world_transform[:3, :3]
    body.add_external_force(f, r, force_is_local=local, in_coordinates_of=frame)
    body.add_external_torque(n, is_local=local, in_coordinates_of=frame)
    arm = body.world_transform[:3, :3] @ r
    expected = np.concatenate([R @ n + np.cross(arm, R @ f), R @ f])
    assert relative_error(body.external_wrench, expected) < 1e-14
    body.clear_external_forces()
    body.add_external_wrench(np.concatenate([n, f]), r, local, frame)
    assert relative_error(body.external_wrench, expected) < 1e-14
    before = body.world_transform[:3, :3]
    skeleton.positions = skeleton.positions + 0.3
    turn = body.world_transform[:3, :3] @ before.T if local else np.eye(3)
    assert relative_error(body.external_wrench[3:], turn @ R @ f) < 1e-14
    with pytest.raises(ModelError, match="expected a frame"):
        body.add_external_force(f, in_coordinates_of="hand")


# Hybrid dynamics -----------------------------------------------------------------------------------------


@given(skeletons(), SEEDS)
def test_hybrid_dynamics(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, a, tau = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    r = Reference(skeleton, q, u)
    rng = np.random.default_rng(seed)
    prescribed = np.flatnonzero(rng.random(len(q)) < 0.4)
    values = np.where(np.isin(np.arange(len(q)), prescribed), a, tau)
    free = np.setdiff1d(np.arange(len(q)), prescribed)
    try:
        udot, forces = skeleton.hybrid_dynamics(q, u, values, prescribed.tolist())
    except ModelError:
        assert np.linalg.matrix_rank(r.mass_matrix) < len(q)
        return
    assert np.array_equal(udot[prescribed], a[prescribed])
    assert np.array_equal(forces[free], tau[free])
    size = np.abs(r.mass_matrix) @ np.abs(udot) + np.abs(r.bias) + np.abs(forces)
    assert (np.abs(r.mass_matrix @ udot + r.bias - forces) <= 1e-12 * size.max(initial=1.0)).all()
    # All or none prescribed are inverse and forward dynamics; the current state is as it was.
    assert (
        relative_error(skeleton.hybrid_dynamics(q, u, a, skeleton.dofs)[1], skeleton.inverse_dynamics(q, u, a)) < 1e-12
    )
    assert np.array_equal(skeleton.positions, q) and np.array_equal(skeleton.accelerations, a)
    assert not skeleton.state.tree.prescribed.any()


def test_hybrid_dynamics_mistakes() -> None:
    skeleton = random_skeleton(1, 5)
    z = np.zeros(skeleton.num_dofs)
    with pytest.raises(NameLookupError, match="knee"):
        skeleton.hybrid_dynamics(z, z, z, ["knee"])
    with pytest.raises(StateError, match="values"):
        skeleton.hybrid_dynamics(z, z, z[1:], [0])
    with pytest.raises(NameLookupError, match="j0"):
        skeleton.hybrid_dynamics(z, z, z, [random_skeleton(2, 3).joints[0].dofs[0]])
    assert not skeleton.state.tree.prescribed.any()
    name = skeleton.dofs[1].name
    both = [skeleton.hybrid_dynamics(z, z, z + 1.0, key) for key in (name, [1])]
    assert np.array_equal(both[0][0], both[1][0])


def test_without_coordinates_and_without_inertia() -> None:
    skeleton = build(["weld"], [-1], 1)
    assert skeleton.inverse_mass_matrix.shape == skeleton.coriolis_matrix.shape == (0, 0)
    assert skeleton.coriolis_forces.shape == skeleton.gravity_forces.shape == (0,)
    assert skeleton.cholesky_factor.shape == (0, 0)
    assert skeleton.hybrid_dynamics([], [], [], [])[0].shape == (0,)
    empty = kido.Skeleton("empty")
    assert kido.quantities.inverse_mass_matrix(empty, []).shape == (0, 0)
    ghost = kido.Skeleton("ghost")
    ghost.add_body("a", kido.RevoluteJoint("j"))
    for what in ("inverse_mass_matrix", "cholesky_factor", "mass_matrix_factors"):
        with pytest.raises(ModelError, match="mass"):
            getattr(ghost, what)
    with pytest.raises(ModelError, match="mass"):
        kido.quantities.inverse_mass_matrix(ghost, [0.0])


def test_kept_until_what_they_depend_on_changes() -> None:
    skeleton = random_skeleton(5, 8)
    q, u, a, _ = random_state(skeleton, 5)
    set_state(skeleton, q, u, a)
    names = ("inverse_mass_matrix", "coriolis_matrix", "coriolis_forces", "gravity_forces", "cholesky_factor")
    first = {name: getattr(skeleton, name) for name in names}
    counts = skeleton.evaluations
    for name in names:
        value = getattr(skeleton, name)
        assert np.array_equal(value, first[name])
        assert np.array_equal(getattr(skeleton, name), first[name])
    assert skeleton.evaluations == counts
    skeleton.velocities = -u
    assert np.array_equal(skeleton.inverse_mass_matrix, first["inverse_mass_matrix"])
    assert relative_error(skeleton.coriolis_matrix, -first["coriolis_matrix"]) < 1e-14
    changed = {key for key, value in skeleton.evaluations.items() if counts[key] != value}
    assert changed == {"velocities", "coriolis_matrix"}
    skeleton.bodies[0].inertia = kido.Inertia(3.0)
    fresh = skeleton.clone()
    for name in names:
        assert np.array_equal(getattr(skeleton, name), getattr(fresh, name))
