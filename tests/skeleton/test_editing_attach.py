"""Letting go of bodies and taking hold of them while they move: states, momenta and energies."""

from __future__ import annotations

import numpy as np
import pytest

import kido
import trees
from kido.errors import ModelError
from trees import relative_error

CUBE = kido.Inertia.from_diagonal(2.0, (0.1, 0.2, 0.3), (0.05, 0.1, -0.1))


def motion(*skeletons: kido.Skeleton) -> dict[str, np.ndarray]:
    return {
        b.name: np.concatenate([b.world_transform.ravel(), b.spatial_velocity]) for s in skeletons for b in s.bodies
    }


def poses(*skeletons: kido.Skeleton) -> dict[str, np.ndarray]:
    return {b.name: b.world_transform for s in skeletons for b in s.bodies}


def difference(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> float:
    return max(relative_error(a[name], b[name]) for name in a)


def moving(seed: int, bodies: int = 9) -> kido.Skeleton:
    """A random tree on a free base, at a random state."""
    rng = np.random.default_rng(seed)
    kinds = ["free", *map(str, rng.choice([k for k in trees.KINDS if k != "free"], bodies - 1))]
    skeleton = trees.build(kinds, [-1, *(int(rng.integers(k)) for k in range(1, bodies))], seed)
    trees.set_state(skeleton, *trees.random_state(skeleton, seed)[:2])
    return skeleton


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("apart", [False, True])
def test_detaching_changes_no_state(seed: int, apart: bool) -> None:
    skeleton = moving(seed)
    body = skeleton.bodies[4]
    before, momentum, energy = motion(skeleton), skeleton.momentum, skeleton.kinetic_energy
    weight = skeleton.potential_energy
    joint = body.detach("piece" if apart else None)
    both = {skeleton, body.skeleton}
    assert isinstance(joint, kido.FreeJoint) and body.parent is None and (len(both) == 2) == apart
    assert difference(motion(*both), before) < 1e-12
    assert relative_error(sum(s.momentum for s in both), momentum) < 1e-12
    assert sum(s.kinetic_energy for s in both) == pytest.approx(energy, rel=1e-12)
    assert sum(s.potential_energy for s in both) == pytest.approx(weight, rel=1e-12, abs=1e-12)
    assert np.allclose(kido.FreeJoint.to_transform(joint.positions), body.world_transform, atol=1e-14)


@pytest.mark.parametrize("seed", range(8))
def test_attaching_keeps_poses_and_momentum(seed: int) -> None:
    """Two free trees become one: its velocities are the projection of those before, in kinetic energy."""
    hand, thing = moving(seed, 6), moving(seed + 50, 4)
    for k, body in enumerate(thing.bodies):
        body.name, body.parent_joint.name = f"t{k}", f"tj{k}"
    kind = (kido.WeldJoint, kido.RevoluteJoint, kido.BallJoint, kido.PrismaticJoint)[seed % 4]
    before, momentum = poses(hand, thing), hand.momentum + thing.momentum
    velocities = {b.name: b.spatial_velocity for s in (hand, thing) for b in s.bodies}
    energy = hand.kinetic_energy + thing.kinetic_energy
    body = thing.bodies[0]
    found = body.attach(hand.bodies[-1], kind)
    assert isinstance(found.joint, kind) and body.parent is hand.bodies[5] and thing.num_bodies == 0
    assert found.loop is None and found.joint is body.parent_joint
    assert difference(poses(hand), before) < 1e-12
    assert relative_error(hand.momentum, momentum) < 1e-9
    assert found.energy_lost == pytest.approx(energy - hand.kinetic_energy, rel=1e-10) and found.energy_lost > 0
    truth = trees.Reference(hand, hand.positions, hand.velocities)
    V = np.array([velocities[b.name] for b in hand.bodies])
    gap = V - truth.V
    lost = 0.5 * np.einsum("ia,iab,ib", gap, truth.I, gap)
    assert found.energy_lost == pytest.approx(lost, rel=1e-8)
    u = np.linalg.solve(truth.mass_matrix, np.einsum("iak,iab,ib->k", truth.J, truth.I, V))
    # M is badly conditioned on some seeds.
    assert relative_error(hand.velocities, u) < 1e-15 * np.linalg.cond(truth.mass_matrix) + 1e-11
    # The impulse is what the thing's momentum changed by, about the origin of the body taken hold of.
    change, p = np.zeros(6), truth.X[body.index, :3, 3]
    for b in body.subtree:
        h = truth.I[b.index] @ (truth.V[b.index] - velocities[b.name])
        change += np.concatenate([h[:3] + np.cross(truth.X[b.index, :3, 3] - p, h[3:]), h[3:]])
    assert relative_error(found.impulse, change) < 1e-8


def test_a_dart_in_a_block() -> None:
    """Masses m and M on a rail: the energy lost is m M / (m + M) v^2 / 2."""
    m, M, v = 0.2, 1.8, 10.0
    world = kido.Skeleton("rail")
    block = world.add_body("block", kido.PrismaticJoint(axis=(1, 0, 0)), None, kido.Inertia.from_diagonal(M, (1, 1, 1)))
    dart = world.add_body("dart", kido.PrismaticJoint(axis=(1, 0, 0)), None, kido.Inertia.from_diagonal(m, (1, 1, 1)))
    world.positions, world.velocities = [1.0, 0.8], [0.0, v]
    found = dart.attach(block)
    assert found.energy_lost == pytest.approx(0.5 * m * M / (m + M) * v * v)
    assert world.velocities == pytest.approx([m * v / (m + M)])
    assert found.impulse[3:] == pytest.approx([m * m * v / (m + M) - m * v, 0, 0])
    joint = dart.detach()
    assert np.allclose(joint.velocities, [0, 0, 0, m * v / (m + M), 0, 0]) and world.num_dofs == 7


def test_again_and_again_without_drift() -> None:
    skeleton = moving(1, 7)
    momentum, body = skeleton.momentum, skeleton.bodies[5]
    for k in range(20):
        where = skeleton.bodies[k % 5]
        energy = skeleton.kinetic_energy
        body.detach()
        assert skeleton.kinetic_energy == pytest.approx(energy, rel=1e-12)
        if where not in body.subtree:
            lost = body.attach(where, kido.RevoluteJoint, axis=(0, 1, 0)).energy_lost
            assert lost > -1e-12 * energy and skeleton.kinetic_energy == pytest.approx(energy - lost, rel=1e-10)
    assert relative_error(skeleton.momentum, momentum) < 1e-9


def test_locked_coordinates_keep_their_velocities() -> None:
    skeleton = kido.Skeleton("belt")
    belt = kido.PrismaticJoint("belt", (1, 0, 0), actuator_type="VELOCITY")
    skeleton.add_body("belt", belt, None, CUBE)
    box = skeleton.add_body("box", kido.FreeJoint(), None, CUBE)
    skeleton.velocities = [2.0, 0, 0, 0, 0, 0, 0]
    found = box.attach(skeleton.body("belt"), kido.WeldJoint)
    assert skeleton.velocities == pytest.approx([2.0]) and np.allclose(box.spatial_velocity[3:], (2, 0, 0))
    assert found.energy_lost == pytest.approx(-0.5 * 2.0 * 4.0)  # the belt's drive did this work


@pytest.mark.parametrize("joint", [kido.WeldJoint, kido.RevoluteJoint, kido.BallJoint, kido.PrismaticJoint])
def test_closing_a_loop(joint: type[kido.Joint]) -> None:
    skeleton = moving(3, 8)
    body, other = skeleton.bodies[7], skeleton.bodies[2]
    before, momentum, energy = poses(skeleton), skeleton.momentum, skeleton.kinetic_energy
    above = body.parent_joint
    found = body.attach(other, joint, as_loop=True)
    assert list(skeleton.loops) == [found.loop] and found.loop.joint is found.joint and body.parent_joint is above
    assert difference(poses(skeleton), before) < 1e-14
    assert relative_error(skeleton.momentum, momentum) < 1e-9
    assert found.energy_lost == pytest.approx(energy - skeleton.kinetic_energy) and found.energy_lost > 0
    V = body.compute_spatial_velocity(relative_to=other, in_coordinates_of=body)
    S = (
        found.joint.compute_relative_jacobian(found.joint.initial_position)
        if found.joint.num_dofs
        else np.zeros((6, 1))
    )
    assert np.abs(V - S @ np.linalg.lstsq(S, V, rcond=None)[0]).max() < 1e-9 * np.abs(skeleton.velocities).max()
    again = body.attach(other, joint, as_loop=True)  # says the same once more
    assert abs(again.energy_lost) < 1e-9 * energy and again.loop.name != found.loop.name


def test_a_loop_holds_in_a_world() -> None:
    world = kido.World()
    world.gravity = (0, 0, 0)
    skeleton = moving(4, 6)
    skeleton.velocities = 0.1 * skeleton.velocities
    world.add_skeleton(skeleton)
    a, b = skeleton.bodies[5], skeleton.bodies[1]
    a.attach(b, kido.WeldJoint, as_loop=True)
    X = a.transform(b)
    world.step(50)
    assert np.allclose(a.transform(b), X, atol=1e-4)


def test_loops_and_world_survive_detaching() -> None:
    world = kido.World()
    skeleton = moving(5, 7)
    world.add_skeleton(skeleton)
    a = skeleton.bodies[6]
    a.attach(skeleton.bodies[1], kido.BallJoint, as_loop=True)
    a.detach()
    assert len(skeleton.loops) == 1 and skeleton.host is world
    world.step(3)
    a.attach(skeleton, kido.RevoluteJoint, axis=(0, 0, 1))  # to the world: momentum goes there
    assert a.parent is None and isinstance(a.parent_joint, kido.RevoluteJoint)
    world.step(3)


def test_massless_hands() -> None:
    """A body without mass takes hold of the world: nothing that moves mass changes."""
    skeleton = kido.Skeleton("s")
    base = skeleton.add_body("base", kido.FreeJoint(), None, CUBE)
    hand = skeleton.add_body("hand", kido.RevoluteJoint(axis=(0, 0, 1)), base)
    skeleton.velocities = [0.1, 0.2, 0.3, 1.0, 2.0, 3.0, 0.5]
    found = hand.attach(base, kido.PrismaticJoint)
    assert abs(found.energy_lost) < 1e-12 and np.allclose(skeleton.velocities, [0.1, 0.2, 0.3, 1.0, 2.0, 3.0, 0.0])


@pytest.mark.parametrize("seed", range(4))
def test_random_sequences(seed: int) -> None:
    """Letting go, taking hold, turning round and closing loops in any order, with steps of a world in between."""
    rng = np.random.default_rng(seed)
    world = kido.World()
    world.gravity = (0, 0, 0)
    skeleton = moving(seed + 20, 7)
    skeleton.velocities = 0.2 * skeleton.velocities
    skeleton.add_body("other", kido.FreeJoint(), None, CUBE)
    world.add_skeleton(skeleton)
    joints = (kido.WeldJoint, kido.RevoluteJoint, kido.BallJoint, kido.UniversalJoint)
    for _ in range(12):
        body, other = (skeleton.bodies[k] for k in rng.integers(skeleton.num_bodies, size=2))
        before, momentum, energy = poses(skeleton), skeleton.momentum, skeleton.kinetic_energy
        lost, scale = 0.0, np.sqrt(2.0 * energy * skeleton.mass)
        try:
            match int(rng.integers(5)):
                case 0:
                    body.detach()
                case 1:
                    lost = body.attach(other, joints[rng.integers(4)]).energy_lost
                case 2:
                    skeleton.reroot(body)
                case 3 if len(skeleton.loops) < 2:
                    lost = body.attach(other, joints[rng.integers(4)], as_loop=True).energy_lost
                case 4:
                    world.step(2)
                    continue
        except ModelError:
            assert difference(poses(skeleton), before) == 0.0
        assert difference(poses(skeleton), before) < 1e-11
        assert np.abs(skeleton.momentum - momentum).max() < 1e-8 * scale
        assert lost > -1e-9 * energy and skeleton.kinetic_energy == pytest.approx(energy - lost, rel=1e-9)
        names = [b.name for b in skeleton.bodies]
        assert len(set(names)) == 8 and [b.index for b in skeleton.bodies] == list(range(8))


def test_what_is_refused() -> None:
    skeleton, other = moving(6), moving(7)
    base, leaf = skeleton.bodies[0], skeleton.bodies[-1]
    before = motion(skeleton)
    for call, message in (
        (lambda: base.attach(leaf), "as_loop=True closes a loop"),
        (lambda: leaf.attach(leaf, as_loop=True), "to itself"),
        (lambda: leaf.attach(other.bodies[0], as_loop=True), "not part of skeleton"),
        (lambda: leaf.attach(base, kido.FreeJoint, as_loop=True), "closes no loop"),
        (lambda: leaf.attach(base, kido.WeldJoint, as_loop=True, axis=(1, 0, 0)), "unexpected argument 'axis'"),
        (lambda: leaf.attach("base"), "expected a body or a skeleton"),
        (lambda: leaf.attach(base, 5), "expected a joint"),
        (lambda: leaf.attach(base, as_loop=2), "as_loop"),
        (lambda: leaf.attach(base, base.parent_joint, as_loop=True), "already moves"),
    ):
        with pytest.raises((ModelError, kido.ArgumentError), match=message):
            call()
    assert difference(motion(skeleton), before) == 0.0 and not skeleton.loops
