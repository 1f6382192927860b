"""Re-rooting: the same bodies, the same motion and the same dynamics in other coordinates."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import kido
import trees
from kido.errors import ModelError, NameLookupError
from kido.recording.joints import joint_from_dict, joint_to_dict
from kido.skeleton.joints.reversed_joint import ReversedUserJoint, reversal
from trees import relative_error

EXACT = 1e-12
TYPES = tuple(kind for kind in trees.KINDS if kind != "free")


def floating(seed: int, bodies: int, kinds: tuple[str, ...] = trees.KINDS) -> kido.Skeleton:
    """A random tree on a free base beside another tree, moving."""
    rng = np.random.default_rng(seed)
    chosen = ["free", *rng.permutation(kinds)[: bodies - 1], *rng.choice(kinds, max(0, bodies - 1 - len(kinds)))]
    parents = [-1, *(int(rng.integers(max(0, k - 3), k)) for k in range(1, bodies))]
    skeleton = trees.build([*map(str, chosen), "revolute"], [*parents, -1], seed)
    q, u, udot, tau = trees.random_state(skeleton, seed)
    trees.set_state(skeleton, q, u, udot, tau)
    return skeleton


def motion(skeleton: kido.Skeleton) -> dict[str, np.ndarray]:
    """Pose, velocity and acceleration of each body, by name."""
    return {
        b.name: np.concatenate([b.world_transform.ravel(), b.spatial_velocity, b.spatial_acceleration, b.com])
        for b in skeleton.bodies
    }


def difference(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> float:
    assert a.keys() == b.keys()
    return max(relative_error(a[name], b[name]) for name in a)


@pytest.mark.parametrize("kind", [k for k in trees.KINDS if k != "weld"])
@pytest.mark.parametrize("seed", range(3))
def test_every_joint_from_its_other_side(kind: str, seed: int) -> None:
    joint = trees.random_joint(np.random.default_rng(seed), kind, "j", position_upper_limit=np.inf)
    q, u, udot = np.random.default_rng(seed + 9).normal(size=(3, joint.num_dofs))
    back = reversal(joint)
    q2, u2, udot2, _, _ = back.state((q, u, udot, u, u))
    forth = trees.Reference(probe(joint), q, u, udot)
    turned = trees.Reference(probe(back.joint), q2, u2, udot2) if kind not in ("user",) else None
    X = np.linalg.inv(forth.X[0])
    assert np.allclose(back.joint.compute_relative_transform(q2), X, atol=1e-12)
    if turned is not None:  # the velocity of the parent side as the child sees it
        R, p, V = X[:3, :3], X[:3, 3], forth.V[0]
        w = -R @ V[:3]
        assert np.allclose(turned.V[0], np.concatenate([w, -R @ V[3:] + np.cross(w, p)]), atol=1e-12)
    again = reversal(back.joint)
    q3 = again.state(back.state((q, u, udot, u, u)))[0]
    assert np.allclose(again.joint.compute_relative_transform(q3), forth.X[0], atol=1e-12)


def probe(joint: kido.Joint) -> kido.Skeleton:
    skeleton = kido.Skeleton("probe")
    skeleton.add_body("body", copy.deepcopy(joint), None, kido.Inertia(1.0))
    return skeleton


@pytest.mark.parametrize("seed", range(10))
def test_motion_and_dynamics_stay(seed: int) -> None:
    """Poses, velocities, accelerations; mass matrix by its kinetic energy; forward dynamics under the joint forces."""
    skeleton = floating(seed, 13)
    twin = skeleton.clone()
    names = [b.name for b in skeleton.bodies], sorted(j.name for j in skeleton.joints)
    target = skeleton.bodies[int(np.random.default_rng(seed).integers(5, 13))]
    before = motion(skeleton)
    energies = skeleton.kinetic_energy, skeleton.potential_energy
    skeleton.reroot(target)
    assert target.parent is None and target in skeleton.root_bodies
    assert sorted(b.name for b in skeleton.bodies) == sorted(names[0])
    assert sorted(j.name for j in skeleton.joints) == names[1]
    for k, body in enumerate(skeleton.bodies):
        assert body.index == k and (body.parent is None or body.parent.index < k)
        assert all(child.parent is body for child in body.children) and body.parent_joint.child is body
    assert difference(motion(skeleton), before) < EXACT
    assert (skeleton.kinetic_energy, skeleton.potential_energy) == pytest.approx(energies, rel=1e-12)
    if not any(isinstance(j, ReversedUserJoint) for j in skeleton.joints):
        truth = trees.Reference(skeleton, skeleton.positions, skeleton.velocities)
        assert relative_error(skeleton.mass_matrix, truth.mass_matrix) < 1e-11

    # M is congruent: velocities u of the one are T u' of the other, and the forces have the same power.
    T = np.linalg.lstsq(stacked(twin), stacked(skeleton, twin), rcond=None)[0]
    assert relative_error(skeleton.mass_matrix, T.T @ twin.mass_matrix @ T) < 1e-9
    assert relative_error(skeleton.forces, T.T @ twin.forces) < 1e-9
    if np.linalg.cond(twin.mass_matrix) < 1e8:
        twin.compute_forward_dynamics()
        skeleton.compute_forward_dynamics()
        assert difference(motion(skeleton), motion(twin)) < 1e-7
    pickle.loads(pickle.dumps(skeleton))


def stacked(skeleton: kido.Skeleton, like: kido.Skeleton | None = None) -> np.ndarray:
    """Jacobians of all bodies, in the order of another skeleton with the same names."""
    return np.vstack([skeleton.jacobian(b.name) for b in (like or skeleton).bodies])


@pytest.mark.parametrize("seed", range(4))
def test_there_and_back(seed: int) -> None:
    skeleton = floating(seed, 8, ("revolute", "prismatic", "screw", "universal", "ball", "compound", "user", "weld"))
    before, root = motion(skeleton), skeleton.root_bodies[0]
    numbers = {d.name: d.position for d in skeleton.dofs if type(d.joint) is not kido.FreeJoint}
    types = {j.name: type(j) for j in skeleton.joints}
    skeleton.reroot(skeleton.bodies[-2])
    skeleton.reroot(root)
    assert difference(motion(skeleton), before) < 1e-11
    assert {j.name: type(j) for j in skeleton.joints} == types
    after = {d.name: d.position for d in skeleton.dofs if type(d.joint) is not kido.FreeJoint}
    assert after.keys() == numbers.keys()
    assert np.allclose([after[name] for name in numbers], list(numbers.values()), atol=1e-12)


def test_what_belongs_to_joints_and_bodies_travels() -> None:
    skeleton = kido.Skeleton("robot")
    inertia = kido.Inertia.from_diagonal(1.0, (0.1, 0.2, 0.3), (0.1, 0, 0))
    base = skeleton.add_body("base", kido.FreeJoint("root"), None, inertia)
    hip = kido.UniversalJoint("hip", (1, 0, 0), (0, 1, 0), position_lower_limit=[-1, -2], spring_stiffness=[5, 7])
    leg = skeleton.add_body("leg", hip, base, inertia)
    knee = kido.RevoluteJoint("knee", (0, 1, 0), position_lower_limit=-0.5, actuator_type="SERVO", force_limit=9)
    shin = skeleton.add_body("shin", knee, leg, inertia)
    skeleton.add_body("toe", kido.RevoluteJoint("toe", mimic=kido.Mimic("hip", 2.0, 0.1, dof=1)), shin, inertia)
    skeleton.add_body("arm", kido.PlanarJoint("arm"), base, inertia)
    tip = shin.create_node(kido.EndEffector, "tip", [0.1, 0, 0])
    shin.add_external_force((1.0, 2.0, 3.0))
    skeleton.loops = [kido.LoopJoint("base", "shin", kido.WeldJoint("closure"))]
    chain = kido.Group([leg, shin], name="chain")
    skeleton.positions = 0.1 * np.arange(1, 14)
    hip_names, springs = [d.name for d in hip.dofs], skeleton.potential_energy
    place = tip.world_transform
    knee.set(Tag("left"))
    pushed = shin.external_wrench
    skeleton.reroot("shin")
    assert knee.child is leg and leg.parent is shin and hip.child is base and knee.get(Tag).text == "left"
    assert [d.name for d in hip.dofs] == hip_names[::-1]
    assert dict(zip((d.name for d in hip.dofs), hip.position_lower_limit)) == {hip_names[0]: -1, hip_names[1]: -2}
    assert skeleton.joint("toe").mimic.dof == 0 and skeleton.joint("toe").child.parent is shin
    assert knee.actuator_type == kido.ActuatorType.SERVO and knee.position_lower_limit == -0.5
    assert skeleton.potential_energy == pytest.approx(springs, rel=1e-12)
    assert np.allclose(tip.world_transform, place, atol=1e-14) and skeleton.loops[0].parent == "base"
    assert np.allclose(skeleton.external_forces, skeleton.jacobian("shin").T @ pushed)
    assert chain.num_dofs == 3 and chain.mass_matrix.shape == (3, 3)
    assert isinstance(skeleton.joint("arm"), kido.PlanarJoint)  # not on the way


class Tag:
    def __init__(self, text: str):
        self.text = text


def test_in_a_world() -> None:
    """A robot goes on as its twin with another root does."""
    world, other = kido.World(), kido.World()
    skeleton = floating(3, 6, ("revolute", "universal", "prismatic"))
    skeleton.velocities, skeleton.forces = 0.3 * skeleton.velocities, np.zeros(skeleton.num_dofs)
    twin = skeleton.clone()
    for w, s in ((world, skeleton), (other, twin)):
        w.time_step = 1e-4
        w.add_skeleton(s)
    skeleton.reroot(skeleton.bodies[4])
    world.step(20)
    other.step(20)
    for body in twin.bodies:  # symplectic Euler in other coordinates: an error of the order of the step
        assert np.allclose(skeleton.body(body.name).world_transform, body.world_transform, atol=2e-6)


def test_a_fixed_base_becomes_a_loop() -> None:
    skeleton = kido.Skeleton("arm")
    for k in range(3):
        joint = kido.RevoluteJoint(f"j{k}", (0, 1, 0), transform_from_parent=[0, 0, 0.3 * (k > 0)])
        skeleton.add_body(f"l{k}", joint, skeleton.bodies[-1] if k else None, kido.Inertia.from_diagonal(1, (1, 1, 1)))
    trees.set_state(skeleton, [0.3, 0.4, 0.5], [1.0, 2.0, 3.0])
    before = motion(skeleton)
    with pytest.raises(ModelError, match="keep_base=True"):
        skeleton.reroot("l2")
    assert difference(motion(skeleton), before) == 0.0 and not skeleton.loops
    skeleton.reroot("l2", keep_base=True)
    assert [d.name for d in skeleton.dofs][6:] == ["j2", "j1"] and skeleton.loops[0].name == "j0"
    assert difference(motion(skeleton), before) < EXACT


def test_a_fixed_base_as_a_loop_moves_alike() -> None:
    """A double pendulum from its other end: a free body, and a loop where it hangs."""
    skeleton = kido.Skeleton("pendulum")
    for k in range(2):
        joint = kido.RevoluteJoint(f"j{k}", (0, 1, 0), transform_from_parent=[0, 0, -0.5 * k])
        inertia = kido.Inertia.from_diagonal(1.0, (0.02, 0.02, 0.02), (0, 0, -0.25))
        skeleton.add_body(f"l{k}", joint, skeleton.bodies[-1] if k else None, inertia)
    skeleton.positions = [0.5, -0.3]
    twin = skeleton.clone()
    skeleton.reroot("l1", keep_base=True)
    for s in (skeleton, twin):
        world = kido.World()
        world.time_step = 2e-4
        world.add_skeleton(s)
        world.step(1000)
    for body in twin.bodies:  # both of first order in the step
        assert np.allclose(skeleton.body(body.name).world_transform, body.world_transform, atol=2e-3)


def test_reversed_joints_of_users_are_recorded() -> None:
    skeleton = trees.build(["free", "user", "revolute"], [-1, 0, 1], 1)
    skeleton.reroot("b2")
    trees.set_state(skeleton, *trees.random_state(skeleton, 1))
    joint = skeleton.joint("j1")
    assert isinstance(joint, ReversedUserJoint)
    back = joint_from_dict(json.loads(json.dumps(joint_to_dict(joint))))
    q = joint.positions
    X = joint.compute_relative_transform(q)
    assert np.array_equal(back.compute_relative_transform(q), X)
    saved = kido.SavedProperties.from_json(skeleton.properties.to_json())
    skeleton.properties = saved
    assert np.array_equal(joint.compute_relative_transform(q), X)
    kind = type(joint.original)
    key, value = next(iter(joint.original.parameters.items()))
    changed = {**joint.original_parameters, key: 2.0 * np.asarray(value)}
    joint.original_parameters = changed
    expected = kind.restored("j", changed, transform_from_parent=joint.transform_from_child,
                             transform_from_child=joint.transform_from_parent)  # fmt: skip
    found = joint.compute_relative_transform(q)
    assert np.allclose(found @ expected.compute_relative_transform(q), np.eye(4), atol=1e-12)
    assert not np.allclose(found, X)


def test_what_is_refused() -> None:
    skeleton = floating(1, 5, ("revolute", "ball", "free", "prismatic"))
    before = motion(skeleton)
    ball = next(j for j in skeleton.joints if isinstance(j, kido.BallJoint))
    leaf = ball.child
    ball.damping = [1.0, 2.0, 3.0]
    with pytest.raises(ModelError, match="damping"):
        skeleton.reroot(leaf)
    ball.damping = 1.0
    skeleton.root_bodies[0].parent_joint.spring_stiffness = 1.0
    with pytest.raises(ModelError, match="spring_stiffness would act on another body"):
        skeleton.reroot(leaf)
    base = skeleton.root_bodies[0].parent_joint
    base.spring_stiffness = 0.0
    for kind in ("LOCKED", "VELOCITY", "ACCELERATION", "SERVO"):
        base.actuator_type = kind  # which would hold or drive the new root instead
        with pytest.raises(ModelError, match=f"{kind} actuator would act on another body"):
            skeleton.reroot(leaf)
    base.actuator_type = "FORCE"
    base.velocity_upper_limit = 3.0
    with pytest.raises(ModelError, match="velocity limits would act on another body"):
        skeleton.reroot(leaf)
    with pytest.raises(NameLookupError):
        skeleton.reroot("nobody")
    with pytest.raises(ModelError, match="expected a body of it"):
        skeleton.reroot(floating(2, 3).bodies[0])
    assert difference(motion(skeleton), before) == 0.0
