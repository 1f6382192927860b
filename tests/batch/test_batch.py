"""Batches against the skeleton's own calls, sample by sample: equal to the bit."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import numpy as np
import pytest

import kido
from kido.batch import Batch
from kido.errors import ModelError, NameLookupError, StateError
from manifold import moved
from trees import KINDS, build, chain_parents, random_skeleton, random_transform

COUNTS = (0, 1, 7, 8, 9, 40)


def states(skeleton: kido.Skeleton, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Positions (rotation vectors beyond pi too, and zeros), velocities, and one more vector of each sample."""
    rng = np.random.default_rng(seed)
    n = skeleton.num_dofs
    q = rng.uniform(-np.pi, np.pi, (count, n))
    zero = rng.random((count, n)) < 0.1
    zero[:1] = True
    zero[:, [isinstance(dof.joint, kido.EulerJoint) for dof in skeleton.dofs]] = False  # singular there
    q[zero] = 0.0
    return q, rng.normal(size=(count, n)), rng.normal(size=(count, n))


@pytest.fixture(scope="module", params=[1, 2, 3])
def tree(request) -> kido.Skeleton:
    """A random tree in which every kind of joint occurs."""
    return random_skeleton(request.param, 12 if request.param > 1 else 30)


def each(function, *arrays: np.ndarray) -> np.ndarray:
    """A scalar call on one sample after the other."""
    return np.array([function(*rows) for rows in zip(*arrays, strict=True)])


@pytest.mark.parametrize("count", COUNTS)
def test_results_are_those_of_the_skeleton_to_the_bit(tree: kido.Skeleton, count: int) -> None:
    batch = Batch(tree, threads=2)
    q, u, x = states(tree, count)
    n, bodies = tree.num_dofs, tree.num_bodies

    def same(result: np.ndarray, truth: np.ndarray, *shape: int) -> None:
        assert result.shape == (count, *shape)
        assert np.array_equal(result, truth.reshape(count, *shape))

    same(batch.forward_kinematics(q), each(tree.forward_kinematics, q), bodies, 4, 4)
    same(batch.mass_matrix(q), each(partial(kido.quantities.mass_matrix, tree), q), n, n)
    same(batch.inverse_dynamics(q, u, x), each(tree.inverse_dynamics, q, u, x), n)
    same(batch.forward_dynamics(q, u, x), each(tree.forward_dynamics, q, u, x), n)
    forces = batch.inverse_dynamics_derivatives(q, u, x)
    same(np.stack(forces, axis=1), each(tree.inverse_dynamics_derivatives, q, u, x), 3, n, n)
    motion = batch.forward_dynamics_derivatives(q, u, x)
    same(np.stack(motion, axis=1), each(tree.forward_dynamics_derivatives, q, u, x), 3, n, n)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "weld"])
def test_every_kind_of_joint_alone(kind: str) -> None:
    s = build([kind] * 3, chain_parents(3), seed=7)
    batch = Batch(s)
    q, u, x = states(s, 9)
    assert np.array_equal(batch.forward_dynamics(q, u, x), each(s.forward_dynamics, q, u, x))
    assert np.array_equal(batch.inverse_dynamics(q, u, x), each(s.inverse_dynamics, q, u, x))


def test_jacobian_maps_velocities_to_the_motion_of_a_point(tree: kido.Skeleton) -> None:
    """Against velocities of bodies, shifted to the point; relative to the largest 1e-12."""
    batch = Batch(tree)
    q, u, _ = states(tree, 9)
    offset = np.array([0.1, -0.2, 0.3])
    for body in tree.bodies[:: max(1, tree.num_bodies // 5)]:
        J = batch.jacobian(q, body, offset)
        assert np.array_equal(J, batch.jacobian(q, body.name, offset))
        assert np.array_equal(J, batch.jacobian(q, body.index, offset))
        for k in range(len(q)):
            tree.positions, tree.velocities = q[k], u[k]
            V = np.array(body.spatial_velocity)
            V[3:] += np.cross(V[:3], body.world_transform[:3, :3] @ offset)
            assert J[k] @ u[k] == pytest.approx(V, rel=1e-12, abs=1e-12 * np.abs(V).max())
    body = tree.bodies[-1]
    node = body.create_node(kido.EndEffector, "tool", random_transform(np.random.default_rng(5)))
    J = batch.jacobian(q, node, offset)
    for k in range(len(q)):
        expected = kido.quantities.jacobian(tree, q[k], node, offset)
        assert J[k] == pytest.approx(expected, rel=1e-12, abs=1e-12 * np.abs(expected).max(initial=1.0))


def test_threads_change_no_bit(tree: kido.Skeleton) -> None:
    q, u, x = states(tree, 8 * 8 * 3 + 5)
    results = []
    for threads in (1, 2, 3):
        batch = Batch(tree, threads=threads)
        assert batch.threads in (threads, 1)
        results.append(
            (batch.forward_dynamics(q, u, x), batch.mass_matrix(q), *batch.simulate(q, u, x, steps=2, every=1))
        )
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_a_result_does_not_depend_on_the_other_samples(tree: kido.Skeleton) -> None:
    q, u, x = states(tree, 20)
    batch = Batch(tree)
    whole = batch.forward_dynamics(q, u, x)
    assert np.array_equal(batch.forward_dynamics(q[3:14], u[3:14], x[3:14]), whole[3:14])


def test_a_single_state_stands_for_all_samples(tree: kido.Skeleton) -> None:
    q, u, x = states(tree, 11)
    batch = Batch(tree)
    alike = np.broadcast_to(q[4], q.shape)
    assert np.array_equal(batch.inverse_dynamics(q[4], u, x), batch.inverse_dynamics(alike, u, x))
    assert np.array_equal(batch.inverse_dynamics(q[4:5], u, x), batch.inverse_dynamics(alike, u, x))
    assert batch.mass_matrix(q[4]).shape == (1, tree.num_dofs, tree.num_dofs)
    assert batch.inverse_dynamics(q[:0], u[0], x[0]).shape == (0, tree.num_dofs)


# Motion -----------------------------------------------------------------------------------------------------


def test_integration_is_that_of_the_kernel(tree: kido.Skeleton) -> None:
    q, u, _ = states(tree, 9)
    result = Batch(tree).integrate(q, u, 0.3)
    assert np.array_equal(result, each(lambda a, b: moved(tree, a, b, 0.3), q, u))


def test_integration_through_half_and_whole_turns() -> None:
    """A ball joint turned about one axis by small steps past pi and 2 pi: the rotation is the angle's."""
    s = build(["ball"], [-1], seed=1)
    axis = np.array([[0.6, 0.0, 0.8]])
    batch = Batch(s)
    q = np.zeros((1, 3))
    for k in range(1, 80):
        q = batch.integrate(q, 0.1 * axis, 1.0)
        truth = kido_rotation(0.1 * k * axis[0])
        assert kido_rotation(q[0]) == pytest.approx(truth, abs=1e-13 * k)


def kido_rotation(vector: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(vector).as_matrix()


def with_springs(seed: int) -> kido.Skeleton:
    """A random tree whose joints have springs and dampers."""
    s = random_skeleton(seed, 12)
    rng = np.random.default_rng(seed)
    for dof in s.dofs:
        if dof.joint.num_dofs < 3:
            dof.spring_stiffness, dof.damping = rng.uniform(0.0, 20.0), rng.uniform(0.0, 3.0)
            dof.rest_position = rng.uniform(-1.0, 1.0)
        else:
            dof.damping = rng.uniform(0.0, 3.0)
    return s


def test_simulation_is_that_of_a_world_without_contacts() -> None:
    """Twenty steps of every kind of joint with springs and dampers; to 1e-9 of the largest number.

    A world converts free joints' velocities at the edges of each step and a batch at those of the call, so the
    numbers differ by rounding.
    """
    s = with_springs(5)
    q, u, tau = states(s, 9)
    q, u = 0.3 * q, 0.3 * u
    Q, U = Batch(s).simulate(q, u, tau, time_step=0.002, steps=20, every=5)
    assert Q.shape == U.shape == (9, 4, s.num_dofs)
    world = kido.World(time_step=0.002)
    world.add_skeleton(s)
    for body in s.bodies:
        body.collidable = False
    for k in range(len(q)):
        s.positions, s.velocities = q[k], u[k]
        for frame in range(4):
            s.forces = tau[k]  # a world forgets them after a call
            world.step(5)
            scale = max(1.0, np.abs(s.velocities).max())
            assert Q[k, frame] == pytest.approx(s.positions, abs=1e-9 * scale)
            assert U[k, frame] == pytest.approx(s.velocities, abs=1e-9 * scale)


def test_forces_of_each_step() -> None:
    s = build(["revolute", "universal"], [-1, 0], seed=2)
    q, u, _ = states(s, 9)
    tau = np.random.default_rng(3).normal(size=(9, 4, s.num_dofs))
    batch = Batch(s)
    Q, U = batch.simulate(q, u, tau, time_step=0.01, steps=4, every=1)
    for step in range(4):
        q, u = batch.simulate(q, u, tau[:, step], time_step=0.01)
        assert np.array_equal(q, Q[:, step]) and np.array_equal(u, U[:, step])


# Changes of the model ---------------------------------------------------------------------------------------


def test_changes_of_the_model_are_picked_up() -> None:
    s = random_skeleton(4, 8)
    batch = Batch(s)

    def check() -> None:
        q, u, x = states(s, 9)
        assert np.array_equal(batch.forward_dynamics(q, u, x), each(s.forward_dynamics, q, u, x))

    check()
    s.bodies[3].inertia = kido.Inertia(3.0, (0.1, 0.0, 0.2))
    check()
    s.gravity = (1.0, 2.0, 3.0)
    check()
    rng = np.random.default_rng(1)
    s.add_body("more", kido.RevoluteJoint("more", (1, 0, 3), transform_from_parent=random_transform(rng)),
               s.bodies[2], kido.Inertia(1.0, (0.1, 0.2, 0.3)))  # fmt: skip
    check()
    world = kido.World()
    world.add_skeleton(s)
    check()


def test_the_held_state_is_neither_used_nor_changed(tree: kido.Skeleton) -> None:
    q, u, x = states(tree, 3)
    tree.positions, tree.velocities, tree.forces = q[1], u[1], x[1]
    batch = Batch(tree)
    batch.forward_dynamics(q, u, x)
    batch.simulate(q, u, x, steps=2)
    assert np.array_equal(tree.positions, q[1]) and np.array_equal(tree.velocities, u[1])
    assert np.array_equal(tree.forces, x[1])


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))], ids=["copy", "pickle"])
def test_copies_are_independent(copier) -> None:
    s = random_skeleton(6, 5)
    batch = Batch(s, threads=1)
    q, u, x = states(s, 5)
    before = batch.forward_dynamics(q, u, x)
    twin = copier(batch)
    assert twin.skeleton is not s and twin.threads == 1
    assert np.array_equal(twin.forward_dynamics(q, u, x), before)


# Bad input --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def arm() -> kido.Skeleton:
    return build(["revolute", "ball"], [-1, 0], seed=1)


def test_numbers_that_are_not_finite_are_named(arm: kido.Skeleton) -> None:
    q, u, x = states(arm, 20)
    u[13, 2] = np.nan
    u[17, 0] = np.inf
    out = np.full_like(q, 7.0)
    message = r"velocities: expected finite numbers, got nan in sample 13 for dof 2 \('j1"
    with pytest.raises(StateError, match=message):
        Batch(arm).inverse_dynamics(q, u, x, out=out)
    assert (out == 7.0).all()
    forces = np.zeros((20, 3, 4))
    forces[4, 2, 1] = -np.inf
    with pytest.raises(StateError, match="got -inf in sample 4, step 2 for dof 1"):
        Batch(arm).simulate(q, q, forces, steps=3)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((20, 3)), r"expected the shape \(samples, dofs\) with 4 dofs.*got an array of shape \(20, 3\)"),
        (np.zeros((2, 20, 4)), r"got an array of shape \(2, 20, 4\)"),
        (0.0, r"got an array of shape \(\)"),
        (np.zeros((20, 4), complex), "expected numbers"),
        ([["a"] * 4], "expected numbers"),
        ([[1.0], [1.0, 2.0]], "expected numbers"),
        (None, "expected numbers"),
    ],
    ids=["dofs", "rank", "number", "complex", "text", "ragged", "none"],
)
def test_arrays_of_another_shape_or_kind_are_refused(arm: kido.Skeleton, value, message: str) -> None:
    with pytest.raises(StateError, match=r"skeleton 'random': positions: .*" + message):
        Batch(arm).mass_matrix(value)


def test_numbers_of_other_types_and_orders_are_converted(arm: kido.Skeleton) -> None:
    q, u, x = states(arm, 9)
    batch = Batch(arm)
    truth = batch.inverse_dynamics(q, u, x)
    assert np.array_equal(batch.inverse_dynamics(q.tolist(), np.asfortranarray(u), np.repeat(x, 2, 0)[::2]), truth)
    q.flags.writeable = False
    assert np.array_equal(batch.inverse_dynamics(q, u, x), truth)
    assert np.array_equal(batch.mass_matrix(np.ones((3, 4), np.float32)), batch.mass_matrix(np.ones((3, 4), int)))


def test_sample_counts_that_differ_are_refused(arm: kido.Skeleton) -> None:
    q, u, x = states(arm, 6)
    with pytest.raises(StateError, match="as many samples of each argument, got 6 of positions, 5 of velocities"):
        Batch(arm).inverse_dynamics(q, u[:5], x[0])


def test_results_go_where_they_are_asked(arm: kido.Skeleton) -> None:
    q, u, x = states(arm, 20)
    batch = Batch(arm)
    truth = batch.inverse_dynamics(q, u, x)
    out = np.empty_like(q)
    assert batch.inverse_dynamics(q, u, x, out=out) is out
    assert np.array_equal(out, truth)
    there = x.copy()
    assert np.array_equal(batch.inverse_dynamics(q, u, there, out=there), truth)
    room = np.zeros((23, 4))  # the result overlaps with an argument, three rows on
    room[:20] = x
    assert np.array_equal(batch.inverse_dynamics(q, u, room[:20], out=room[3:]), truth)
    for wrong in (np.empty((20, 3)), np.empty((4, 20)).T, np.empty((20, 4), np.float32), "x"):
        with pytest.raises(
            StateError, match=r"out: expected a writeable, C-contiguous float64 array of shape \(20, 4\)"
        ):
            batch.inverse_dynamics(q, u, x, out=wrong)  # type: ignore[arg-type]


def test_other_arguments_are_checked(arm: kido.Skeleton) -> None:
    q, u, x = states(arm, 3)
    batch = Batch(arm)
    with pytest.raises(StateError, match="threads: expected a whole number above 0, got 0"):
        Batch(arm, threads=0)
    with pytest.raises(StateError, match="device: expected 'cpu' or 'cuda', got 'tpu'"):
        Batch(arm, device="tpu")
    with pytest.raises(NameLookupError, match="no body in skeleton 'random' 'b7'"):
        batch.jacobian(q, "b7")
    with pytest.raises(NameLookupError, match="no body in skeleton 'random' 2"):
        batch.jacobian(q, 2)
    with pytest.raises(ModelError, match="expected a body of skeleton 'random'"):
        batch.jacobian(q, build(["ball"], [-1], seed=1).bodies[0])
    with pytest.raises(ModelError, match="offset: expected 3 numbers"):
        batch.jacobian(q, 0, (1.0, 2.0))
    with pytest.raises(StateError, match="time: expected a finite number"):
        batch.integrate(q, u, np.nan)
    with pytest.raises(StateError, match="time_step: expected a positive finite number"):
        batch.simulate(q, u, time_step=0.0)
    with pytest.raises(StateError, match="steps: expected a whole number above 0"):
        batch.simulate(q, u, steps=0)
    with pytest.raises(StateError, match="every: expected at most steps = 3, got 4"):
        batch.simulate(q, u, steps=3, every=4)
    with pytest.raises(StateError, match="forces: expected 3 steps of each sample, got 2"):
        batch.simulate(q, u, np.zeros((3, 2, 4)), steps=3)
    with pytest.raises(StateError, match=r"status: expected an int64 array of shape \(3,\), got float64 \(3,\)"):
        batch.forward_dynamics(q, u, x, status=np.zeros(3))


# Singular samples -------------------------------------------------------------------------------------------


def gimbal() -> kido.Skeleton:
    """A thin rod on an Euler joint: at 90 degrees its first and last axes coincide."""
    s = kido.Skeleton("gimbal")
    s.add_body("rod", kido.EulerJoint("euler", "xyz"), None, kido.Inertia(1.0, (0.0, 0.0, 0.0), np.eye(3)))
    return s


def test_singular_samples_are_named_one_by_one() -> None:
    s = gimbal()
    batch = Batch(s)
    q = np.full((20, 3), 0.3)
    q[[5, 17], 1] = np.pi / 2
    u, tau = np.zeros((20, 3)), np.ones((20, 3))
    with pytest.raises(ModelError, match=r"skeleton 'gimbal': in sample 5, the inertia seen by dof 0 \('euler"):
        batch.forward_dynamics(q, u, tau)
    status = np.zeros(20, np.int64)
    udot = batch.forward_dynamics(q, u, tau, status=status)
    truth = np.full(20, -1)
    truth[[5, 17]] = 0
    assert np.array_equal(status, truth)
    good = truth < 0
    assert np.array_equal(udot[good], each(s.forward_dynamics, q[good], u[good], tau[good]))
    with pytest.raises(ModelError):
        s.forward_dynamics(q[5], u[5], tau[5])


def test_motion_that_diverges_is_named() -> None:
    s = build(["revolute", "revolute"], [-1, 0], seed=3)
    u = np.zeros((9, 2))
    u[6] = 1e160
    with pytest.raises(StateError, match="the motion of sample 6 became NaN or infinite"):
        Batch(s).simulate(np.zeros((9, 2)), u, steps=5)


def test_body_velocities_are_those_of_the_bodies() -> None:
    """To the bit, of welded bodies too, which ride on their parents' links, and whatever the other samples are."""
    skeleton = kido.load_skeleton("humanoid")
    hand = skeleton.bodies[-1]
    hand.create_child(kido.WeldJoint("weld", transform_from_parent=(0.1, 0.2, 0.3)), "tool")
    rng = np.random.default_rng(3)
    q, u = rng.uniform(-0.2, 0.2, (2, 19, skeleton.num_dofs))
    batch = Batch(skeleton, threads=2)
    found = batch.body_velocities(q, u)
    for k in (0, 7, 18):
        skeleton.positions, skeleton.velocities = q[k], u[k]
        assert np.array_equal(found[k], [body.spatial_velocity for body in skeleton.bodies])
        assert np.array_equal(found[k : k + 1], batch.body_velocities(q[k], u[k]))
    with pytest.raises(StateError, match="velocities: expected"):
        batch.body_velocities(q, u[:, 1:])
