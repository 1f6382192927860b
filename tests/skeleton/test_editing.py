"""Editing of skeletons against freshly built ones, invariants of the motion, and dartpy's rules."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kido
import trees

# Poses and energies of moderate trees: products of a dozen matrices of numbers of order one.
TOLERANCE = 1e-12


def tree(seed: int = 3, bodies: int = 10, **options) -> kido.Skeleton:
    skeleton = trees.random_skeleton(seed, bodies, **options)
    trees.set_state(skeleton, *trees.random_state(skeleton, seed + 1))
    return skeleton


def motion_of(skeletons: list[kido.Skeleton]) -> tuple[float, np.ndarray, dict]:
    energy = sum(s.kinetic_energy for s in skeletons)
    poses = {b.name: b.world_transform for s in skeletons for b in s.bodies}
    return energy, sum(s.momentum for s in skeletons), poses


def check_same_dynamics(a: kido.Skeleton, b: kido.Skeleton) -> None:
    """By body and coordinate name, whatever their order: poses, velocities, mass matrix, accelerations."""
    assert {x.name for x in a.bodies} == {x.name for x in b.bodies}
    order = [b.dof(d.name).index for d in a.dofs]
    assert sorted(order) == list(range(b.num_dofs))
    for body in a.bodies:
        other = b.body(body.name)
        np.testing.assert_allclose(other.world_transform, body.world_transform, atol=TOLERANCE * 10)
        np.testing.assert_allclose(other.spatial_velocity, body.spatial_velocity, atol=TOLERANCE * 100)
    if a.num_dofs:
        M = a.mass_matrix
        assert trees.relative_error(b.mass_matrix[np.ix_(order, order)], M) < 1e-12
        zero = np.zeros(a.num_dofs)
        back = np.argsort(order)
        T = a.inverse_dynamics(a.positions, a.velocities, zero)
        assert trees.relative_error(b.inverse_dynamics(b.positions, b.velocities, zero)[order], T) < 1e-11
        assert len(back) == len(order)


# Moves -------------------------------------------------------------------------------------------------------


def test_move_within_a_skeleton_keeps_joints_states_and_order_of_parents() -> None:
    skeleton = tree(5, 12)
    body = next(b for b in skeleton.bodies if b.parent is not None and b.children)
    kept = {b.name: (b.parent_joint, b.parent_joint.positions, b.parent_joint.velocities, b.parent_joint.forces)
            for b in skeleton.bodies}  # fmt: skip
    moved = body.subtree
    target = next(b for b in reversed(skeleton.bodies) if b not in moved)
    local = skeleton.forward_kinematics(skeleton.positions)
    pose = np.linalg.inv(local[body.parent.index]) @ local[body.index]
    assert body.move_to(target) is body.parent_joint
    assert body.parent is target and body in target.children
    assert skeleton.bodies[-len(moved) :] == moved
    assert all(b.index == k and (b.parent is None or b.parent.index < k) for k, b in enumerate(skeleton.bodies))
    assert [d.index for d in skeleton.dofs] == list(range(skeleton.num_dofs))
    for b in skeleton.bodies:
        joint, *numbers = kept[b.name]
        assert b.parent_joint is joint
        np.testing.assert_array_equal([joint.positions, joint.velocities, joint.forces], numbers)
    np.testing.assert_allclose(body.world_transform, target.world_transform @ pose, atol=TOLERANCE)
    truth = trees.Reference(skeleton, skeleton.positions, skeleton.velocities)
    assert trees.relative_error(skeleton.mass_matrix, truth.mass_matrix) < 1e-12


@pytest.mark.parametrize("kind", trees.KINDS)
def test_a_kept_pose_is_that_before(kind: str) -> None:
    skeleton = trees.build(["free", "revolute", kind, "revolute", "ball"], [-1, 0, 1, 2, 0], 8)
    trees.set_state(skeleton, *trees.random_state(skeleton, 2))
    before = motion_of([skeleton])[2]
    skeleton.body("b2").move_to(skeleton.body("b4"), keep_pose=True)
    after = motion_of([skeleton])[2]
    assert skeleton.body("b2").parent.name == "b4"
    for name, pose in before.items():
        np.testing.assert_allclose(after[name], pose, atol=TOLERANCE)


@settings(max_examples=15)
@given(st.integers(0, 1000))
def test_a_free_joint_that_keeps_the_pose_keeps_energy_and_momentum(seed: int) -> None:
    skeleton = tree(seed, 8)
    energy, momentum, poses = motion_of([skeleton])
    body = skeleton.bodies[seed % 8]
    rest = body.split("rest", kido.FreeJoint, keep_pose=True, transform_from_child=[0.1, 0.2, 0.3])
    after = motion_of([skeleton, rest])
    assert after[0] == pytest.approx(energy, rel=1e-12)
    assert trees.relative_error(after[1], momentum) < 1e-12
    assert all(np.allclose(after[2][name], pose, rtol=0, atol=1e-11) for name, pose in poses.items())
    # ... and under a moving body as well.
    other = tree(seed + 1, 5)
    energy += other.kinetic_energy
    momentum = momentum + other.momentum
    rest.bodies[0].move_to(other.bodies[-1], kido.FreeJoint, keep_pose=True)
    skeletons = [skeleton, other]
    assert sum(s.kinetic_energy for s in skeletons) == pytest.approx(energy, rel=1e-12)
    assert trees.relative_error(sum(s.momentum for s in skeletons), momentum) < 1e-12
    assert rest.num_bodies == 0 and rest.num_dofs == 0


def test_split_and_attached_again_is_the_original() -> None:
    skeleton = tree(7, 12)
    twin = skeleton.clone()
    body = next(b for b in skeleton.bodies if b.parent is not None and len(b.subtree) > 2)
    parent = body.parent
    part = body.split("part")
    assert part.num_bodies + skeleton.num_bodies == twin.num_bodies
    assert list(part.root_bodies) == [body] and body.skeleton is part and body.name == part.bodies[0].name
    np.testing.assert_array_equal(part.gravity, skeleton.gravity)
    joint, frame = body.parent_joint, body.parent_joint._transform_from_parent
    body.move_to(parent)
    assert body.parent_joint is joint and joint._transform_from_parent is frame
    check_same_dynamics(twin, skeleton)


def test_names_that_are_taken_get_numbers() -> None:
    skeleton = kido.Skeleton()
    root = skeleton.add_body("root", kido.WeldJoint())
    skeleton.add_body("arm", kido.UniversalJoint("j"), root)
    skeleton.add_body("tip", kido.RevoluteJoint("spin", dof_names=["angle"]), "arm")
    twin = skeleton.body("arm").copy_to(root)
    assert [b.name for b in skeleton.bodies] == ["root", "arm", "tip", "arm(1)", "tip(1)"]
    assert [j.name for j in skeleton.joints] == ["root_joint", "j", "spin", "j(1)", "spin(1)"]
    assert [d.name for d in skeleton.dofs] == ["j_1", "j_2", "angle", "j(1)_1", "j(1)_2", "angle(1)"]
    twin.copy_to(root)
    assert [b.name for b in skeleton.bodies][-2:] == ["arm(1)(1)", "tip(1)(1)"]
    other = kido.Skeleton("other")
    other.add_body("x", kido.RevoluteJoint("j_1"))  # takes the name of a coordinate
    skeleton.body("arm").move_to(other)
    assert [d.name for d in other.dofs] == ["j_1", "j(1)_1", "j(1)_2", "angle"]
    assert [skeleton.body(n).name for n in ("arm(1)", "tip(1)")] == ["arm(1)", "tip(1)"]
    assert other.dof("angle").joint.child.name == "tip"


def test_everything_travels() -> None:
    @dataclass
    class Note:
        text: str

    skeleton = tree(2, 6)
    body = skeleton.bodies[2]
    shape = body.add_shape(kido.Box((1, 1, 1)), friction=0.3)
    body.create(Note, "hello")
    body.parent_joint.damping = 0.7
    body.add_external_force((1, 2, 3), (0.1, 0.2, 0.3))
    skeleton.bodies[1].add_external_torque((3, 2, 1))
    wrench = body.external_wrench
    other = tree(9, 3)
    other.bodies[1].add_external_force((0, 0, 7))
    body.move_to(other.bodies[0], keep_pose=True)
    np.testing.assert_allclose(body.external_wrench, wrench, atol=1e-12)
    np.testing.assert_array_equal(skeleton.bodies[1].external_wrench[:3], (3, 2, 1))
    np.testing.assert_array_equal(other.bodies[1].external_wrench[3:], (0, 0, 7))
    assert list(body.shapes) == [shape] and shape.body is body
    assert body.get(Note) == Note("hello")
    copied = body.copy_to(other)
    assert copied.get(Note) == Note("hello") and copied.get(Note) is not body.get(Note)
    assert copied.shapes[0].friction == 0.3 and copied.shapes[0].body is copied
    np.testing.assert_array_equal(copied.parent_joint.damping, body.parent_joint.damping)
    np.testing.assert_array_equal(copied.parent_joint.positions, body.parent_joint.positions)
    assert np.linalg.norm(copied.external_wrench) > 0


# The joint above ---------------------------------------------------------------------------------------------


def test_another_joint_type_has_the_frames_and_name_of_the_old_one() -> None:
    skeleton = tree(4, 6, kinds=("revolute",))
    body, twin = skeleton.bodies[2], skeleton.clone()
    old, q = body.parent_joint, skeleton.positions
    joint = body.change_parent_joint_type(kido.EulerJoint, order="zyx", damping=0.2, initial_position=0.1)
    assert isinstance(joint, kido.EulerJoint) and body.parent_joint is joint and skeleton.joint(joint.name) is joint
    assert joint.name == old.name and joint.order == "zyx" and list(joint.damping) == [0.2] * 3
    np.testing.assert_array_equal(joint.transform_from_parent, old.transform_from_parent)
    np.testing.assert_array_equal(joint.transform_from_child, old.transform_from_child)
    assert [d.name for d in skeleton.dofs] == ["j0", "j1", "j2_1", "j2_2", "j2_3", "j3", "j4", "j5"]
    np.testing.assert_array_equal(skeleton.positions, [q[0], q[1], 0.1, 0.1, 0.1, q[3], q[4], q[5]])
    with pytest.raises(kido.ModelError, match="not part of a skeleton"):
        old.positions  # noqa: B018
    back = body.change_parent_joint_type(old)  # a joint that is out of use can be used again
    assert back is old
    old.positions = twin.joint(old.name).positions
    old.velocities = twin.joint(old.name).velocities
    check_same_dynamics(twin, skeleton)


@pytest.mark.parametrize("kind", trees.KINDS)
def test_any_type_can_be_put_above_a_body_that_stays(kind: str) -> None:
    skeleton = tree(6, 6, kinds=("revolute", "prismatic"))
    poses = motion_of([skeleton])[2]
    rng = np.random.default_rng(1)
    joint = trees.random_joint(rng, kind, "new")
    if joint.num_dofs and kind != "free":
        joint.initial_position = 0.3
    skeleton.bodies[2].change_parent_joint_type(joint, keep_pose=True)
    assert skeleton.joints[2] is joint and joint.name == "new"
    for name, pose in poses.items():
        np.testing.assert_allclose(skeleton.body(name).world_transform, pose, atol=TOLERANCE)
    truth = trees.Reference(skeleton, skeleton.positions)
    assert trees.relative_error(skeleton.mass_matrix, truth.mass_matrix) < 1e-12


def test_properties_of_the_present_joint() -> None:
    skeleton = tree(4, 4, kinds=("revolute",))
    body = skeleton.bodies[1]
    joint, q = body.parent_joint, skeleton.positions
    body.move_to(skeleton.bodies[0], axis=(0, 1, 0), damping=2.0, transform_from_parent=[1, 0, 0], name="elbow")
    assert body.parent_joint is joint and joint.name == "elbow" and skeleton.joint("elbow") is joint
    np.testing.assert_array_equal(joint.axis, (0, 1, 0))
    np.testing.assert_array_equal(joint.transform_from_parent[:3, 3], (1, 0, 0))
    np.testing.assert_array_equal(joint.damping, [2.0])
    np.testing.assert_array_equal(skeleton.positions, q)
    assert body.change_parent_joint_type(kido.RevoluteJoint, damping=3.0) is joint
    assert joint.damping[0] == 3.0 and joint.axis[1] == 1.0


def test_pairs_are_created_with_free_names() -> None:
    skeleton = kido.Skeleton()
    joint, body = skeleton.create_joint_and_body_pair()
    assert (joint.name, body.name, type(joint), body.mass) == ("body_joint", "body", kido.FreeJoint, 1.0)
    joint, child = body.create_child(kido.RevoluteJoint, axis=(1, 0, 0), damping=0.1)
    assert child.parent is body and child.name == "body(1)" and joint.name == "body(1)_joint" and joint.axis[0] == 1
    joint, child = body.create_child(kido.RevoluteJoint("body_joint"), "arm", kido.Inertia(2.0))
    assert child.name == "arm" and joint.name == "body_joint(1)" and child.mass == 2.0
    loose = kido.RevoluteJoint("body_joint")
    for wrong in (
        {"parent": "nobody"},
        {"inertia": 3.0},
        {"axis": (1, 0, 0)},
    ):
        with pytest.raises(kido.KidoError):
            skeleton.create_joint_and_body_pair(loose, **wrong)  # type: ignore[arg-type]
    assert loose.name == "body_joint" and skeleton.num_bodies == 3
    with pytest.raises(kido.KidoError):
        skeleton.create_joint_and_body_pair(kido.RevoluteJoint, stiffness=1.0)
    with pytest.raises(kido.ModelError, match="already moves"):
        skeleton.create_joint_and_body_pair(joint)


# Refusals ----------------------------------------------------------------------------------------------------


def test_what_cannot_be_is_refused_and_changes_nothing() -> None:
    skeleton = tree(11, 8, kinds=("revolute", "ball"))
    body = next(b for b in skeleton.bodies if b.children)
    below = body.children[0]
    twin = skeleton.clone()
    other = tree(12, 3)
    used = other.joints[1]
    wrong = [
        lambda: body.move_to(body),
        lambda: body.move_to(below),
        lambda: body.move_to("b3"),  # type: ignore[arg-type]
        lambda: body.move_to(other, used),
        lambda: body.move_to(other, kido.RevoluteJoint(), damping=1.0),
        lambda: body.move_to(other, kido.RevoluteJoint, no_such=1.0),
        lambda: body.move_to(other, no_such=1.0),
        lambda: body.move_to(other, damping=float("nan")),
        lambda: body.move_to(other, damping=1.0, name=3),
        lambda: body.move_to(other, "free"),  # type: ignore[arg-type]
        lambda: body.copy_to(other, used),
        lambda: body.copy_to(other, damping=-1.0),
        lambda: body.split(""),
        lambda: body.copy_as(3),  # type: ignore[arg-type]
        lambda: body.change_parent_joint_type(used),
        lambda: body.change_parent_joint_type(kido.ScrewJoint, pitch=float("nan")),
    ]
    for call in wrong:
        with pytest.raises(kido.KidoError):
            call()
    assert [b.name for b in skeleton.bodies] == [b.name for b in twin.bodies]
    assert other.num_bodies == 3
    np.testing.assert_array_equal(skeleton.positions, twin.positions)
    check_same_dynamics(twin, skeleton)


def test_joints_that_follow_others() -> None:
    def make() -> kido.Skeleton:
        skeleton = kido.Skeleton("gripper")
        skeleton.add_body("palm", kido.WeldJoint())
        inertia = kido.Inertia.from_diagonal(1, (1, 1, 1))
        skeleton.add_body("left", kido.RevoluteJoint("l"), "palm", inertia)
        skeleton.add_body("right", kido.RevoluteJoint("r", mimic=kido.Mimic("l", -1.0)), "palm", inertia)
        return skeleton

    skeleton = make()
    for call in (
        lambda: skeleton.body("left").remove(),
        lambda: skeleton.body("right").split("x"),
        lambda: skeleton.body("right").copy_as("x"),
        lambda: skeleton.body("right").copy_to(skeleton),
    ):
        with pytest.raises(kido.ModelError, match="'r' follows joint 'l'"):
            call()
    assert skeleton.body("left").copy_as("x").num_bodies == 1  # nothing that it follows is missing
    assert skeleton.body("palm").copy_as("x", recursive=False).num_bodies == 1
    copied = skeleton.body("palm").copy_to(skeleton)
    assert [j.name for j in skeleton.joints][-2:] == ["l(1)", "r(1)"]
    assert skeleton.joint("r(1)").mimic == kido.Mimic("l(1)", -1.0)
    assert skeleton.joint("r").mimic == kido.Mimic("l", -1.0)
    copied.remove()
    skeleton.body("left").change_parent_joint_type(kido.RevoluteJoint, name="left_joint")
    assert skeleton.joint("r").mimic == kido.Mimic("left_joint", -1.0)
    skeleton.joint("r").mimic = None
    assert skeleton.body("left").remove().bodies[0].name == "left"


# Worlds ------------------------------------------------------------------------------------------------------


def test_edits_of_skeletons_in_a_world() -> None:
    world = kido.World()
    a, b = tree(3, 6), tree(4, 4)
    a.name, b.name = "a", "b"
    world.add_skeleton(a)
    world.add_skeleton(b)
    world.step(3)
    q, v = a.positions, b.positions
    body = a.bodies[-1]
    world.set_collision_filter(body, b.bodies[0])
    world.set_collision_filter(a.bodies[0], b.bodies[0])
    world.set_collision_filter(a.bodies[0], b.bodies[1])
    size = body.parent_joint.num_dofs
    body.move_to(b.bodies[0])
    rest = len(q) - size
    np.testing.assert_array_equal(a.positions, q[:rest])
    np.testing.assert_array_equal(b.positions, [*v, *q[rest:]])
    assert len(world.collision_filter.pairs) == 3
    world.step(3)
    gone = set(b.bodies[0].subtree)
    left = [pair for pair in world.collision_filter.pairs if not {*pair[:2]} & gone]
    removed = b.bodies[0].remove()
    assert removed.host is None and set(removed.bodies) == gone
    assert list(world.collision_filter.pairs) == left
    world.step(3)
    world.add_skeleton(removed)
    world.step(2)
    fresh = kido.World()
    for s in (a, b, removed):
        fresh.add_skeleton(s.clone())
    world.step(2)
    fresh.step(2)
    for s, t in zip(world.skeletons, fresh.skeletons, strict=True):
        np.testing.assert_array_equal(s.positions, t.positions)
        np.testing.assert_array_equal(s.velocities, t.velocities)


def test_copies_and_pickles_of_edited_skeletons() -> None:
    skeleton = tree(21, 9)
    skeleton.bodies[-1].move_to(skeleton)
    skeleton.bodies[3].copy_to(skeleton.bodies[0])
    for twin in (skeleton.clone("twin"), copy.deepcopy(skeleton), pickle.loads(pickle.dumps(skeleton))):
        check_same_dynamics(skeleton, twin)
        assert [b.name for b in twin.bodies] == [b.name for b in skeleton.bodies]


# Random sequences against skeletons built afresh -------------------------------------------------------------


@dataclass
class Part:
    """A body in a plain list: what a skeleton is after edits by rules written down once more."""

    name: str
    parent: str | None
    joint: kido.Joint
    inertia: kido.Inertia
    q: np.ndarray


def parts_of(skeleton: kido.Skeleton) -> list[Part]:
    return [
        Part(b.name, b.parent.name if b.parent else None, kept_joint(b), b.inertia, b.parent_joint.positions)
        for b in skeleton.bodies
    ]


def kept_joint(body: kido.BodyNode) -> kido.Joint:
    return body.skeleton.clone().body(body.name).parent_joint


def built(parts: list[Part]) -> kido.Skeleton:
    """A skeleton from a list, its joints made afresh."""
    skeleton = kido.Skeleton()
    for part in parts:
        old = part.joint
        frames = ("transform_from_parent", "transform_from_child")
        joint = type(old)(f"{part.name}_joint", **old.unique_properties, **{key: getattr(old, key) for key in frames})
        skeleton.add_body(part.name, joint, part.parent, part.inertia)
    skeleton.positions = np.concatenate([p.q for p in parts]) if parts else []
    return skeleton


def below(parts: list[Part], name: str) -> list[Part]:
    names = {name}
    found = []
    for part in parts:
        if part.name in names or part.parent in names:
            names.add(part.name)
            found.append(part)
    return found


def new_name(wanted: str, taken: set[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(f"{wanted}({k})" for k in range(1, 100) if f"{wanted}({k})" not in taken)


@settings(max_examples=20)
@given(st.integers(0, 500), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 99), st.integers(0, 99)), max_size=6))
def test_random_edits_give_what_is_built_afresh(seed: int, edits: list[tuple[int, int, int]]) -> None:
    skeleton = tree(seed, 7)
    parts = parts_of(skeleton)
    rng = np.random.default_rng(seed)
    for what, i, j in edits:
        if not parts:
            break
        part, onto = parts[i % len(parts)], parts[j % len(parts)]
        body = skeleton.body(part.name)
        inside = below(parts, part.name)
        match what:
            case 0:  # move
                if onto in inside:
                    continue
                body.move_to(skeleton.body(onto.name))
                part.parent = onto.name
                parts = [p for p in parts if p not in inside] + inside
            case 1:  # copy
                if len(parts) > 14:
                    continue
                body.copy_to(skeleton.body(onto.name))
                names: dict[str | None, str] = {}
                for p in inside:
                    names[p.name] = new_name(p.name, {q.name for q in parts} | set(names.values()))
                parents = [onto.name, *(names[p.parent] for p in inside[1:])]
                parts = parts + [
                    Part(names[p.name], parent, p.joint, p.inertia, p.q)
                    for p, parent in zip(inside, parents, strict=True)
                ]
            case 2:  # another joint
                joint = trees.random_joint(rng, trees.KINDS[j % 10], f"edit{rng.integers(10**9)}")
                body.change_parent_joint_type(joint)
                part.joint, part.q = joint, np.zeros(joint.num_dofs)
            case 3:  # to the world
                body.move_to(skeleton)
                part.parent = None
                parts = [p for p in parts if p not in inside] + inside
            case 4:  # away
                if len(parts) > 3:
                    body.remove()
                    parts = [p for p in parts if p not in inside]
    fresh = built(parts)
    assert [b.name for b in skeleton.bodies] == [b.name for b in fresh.bodies]
    np.testing.assert_array_equal(skeleton.positions, fresh.positions)
    X = fresh.forward_kinematics(fresh.positions)
    np.testing.assert_allclose([b.world_transform for b in skeleton.bodies], X, atol=1e-11)
    np.testing.assert_allclose(skeleton.mass_matrix, fresh.mass_matrix, rtol=1e-11, atol=1e-9)


# Merging of welded bodies ------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(st.integers(0, 500))
def test_merged_bodies_keep_the_dynamics(seed: int) -> None:
    kinds = ("weld", "weld", "weld", "revolute", "ball", "prismatic")
    skeleton = tree(seed, 12, kinds=kinds)
    rng = np.random.default_rng(seed)
    tips = {}
    for body in skeleton.bodies:
        tips[body.name] = body.create_node(kido.EndEffector, f"tip {body.name}", trees.random_transform(rng))
        body.add_shape(kido.Sphere(0.1), trees.random_transform(rng), "ball")
        body.add_external_wrench(rng.normal(size=6), rng.normal(size=3), is_local=bool(rng.random() < 0.5))
    shapes = [shape for body in skeleton.bodies for shape in body.shapes]
    twin = skeleton.clone()
    into = skeleton.merge_fixed_joints()
    welded = [b.name for b in twin.bodies if b.parent is not None and b.parent_joint.num_dofs == 0]
    assert sorted(into) == sorted(welded) and not set(into) & {b.name for b in skeleton.bodies}
    assert all(skeleton.body(name) for name in into.values())
    assert skeleton.mass == pytest.approx(twin.mass, rel=1e-14)
    assert [d.name for d in skeleton.dofs] == [d.name for d in twin.dofs]
    for name, tip in tips.items():
        old = twin.node(f"tip {name}", kido.EndEffector)
        np.testing.assert_allclose(tip.world_transform, old.world_transform, atol=1e-12)
        np.testing.assert_allclose(tip.spatial_velocity, old.spatial_velocity, atol=1e-11)
        assert tip.body.name == into.get(name, name)
        tip.reset_relative_transform()
        np.testing.assert_allclose(tip.world_transform, old.world_transform, atol=1e-12)
    for mine, old in zip(shapes, (s for b in twin.bodies for s in b.shapes), strict=True):
        np.testing.assert_allclose(mine.world_transform, old.world_transform, atol=1e-12)
    for body in skeleton.bodies:
        names = [s.name for s in body.shapes]
        assert len(set(names)) == len(names) and names[0] == "ball"
    state = skeleton.positions, skeleton.velocities, skeleton.accelerations
    for what in ("positions", "velocities", "mass_matrix", "momentum", "kinetic_energy", "potential_energy",
                 "external_forces"):  # fmt: skip
        assert trees.relative_error(getattr(skeleton, what), getattr(twin, what)) < 1e-12, what
    assert trees.relative_error(skeleton.inverse_dynamics(*state), twin.inverse_dynamics(*state)) < 1e-12
    if skeleton.mass > 0.0:
        np.testing.assert_allclose(skeleton.com, twin.com, atol=1e-12)
    assert skeleton.merge_fixed_joints() == {}
    assert all(b.index == k and (b.parent is None or b.parent.index < k) for k, b in enumerate(skeleton.bodies))


def test_welded_bodies_that_cannot_be_merged_stay() -> None:
    skeleton = kido.Skeleton()
    hand = skeleton.add_body("hand", kido.RevoluteJoint(), inertia=kido.Inertia.from_diagonal(1, (1, 1, 1)))
    for name in ("plain", "light", "aspect", "framed", "filtered", "quiet"):
        skeleton.add_body(name, kido.WeldJoint(transform_from_parent=[1, 0, 0]), hand, kido.Inertia(1.0))
        skeleton.body(name).add_shape(kido.Sphere(0.1), name="s")
    skeleton.body("light").gravity = False
    skeleton.body("aspect").create(dict)
    frame = kido.SimpleFrame(skeleton.body("framed"), "frame")
    quiet = skeleton.body("quiet")
    quiet.collidable = False
    world = kido.World()
    world.add_skeleton(skeleton)
    world.add_ground(-5.0)
    world.set_collision_filter(skeleton.body("filtered"), world.skeleton("ground").bodies[0])
    shape = quiet.shapes[0]
    assert skeleton.merge_fixed_joints() == {"plain": "hand", "quiet": "hand"}
    assert [b.name for b in skeleton.bodies] == ["hand", "light", "aspect", "framed", "filtered"]
    assert frame.parent_frame is skeleton.body("framed")
    assert [s.name for s in hand.shapes] == ["s", "s(1)"] or [s.name for s in hand.shapes] == ["s(1)", "s"]
    assert shape.body is hand and not shape.collision
    world.step(2)
    assert quiet.skeleton is not skeleton and quiet.skeleton.num_bodies == 1


# dartpy ------------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 30)), max_size=6))
def test_names_and_order_after_edits_are_those_of_dart(edits: list[tuple[int, int, int]]) -> None:
    dynamics = pytest.importorskip("dartpy").dynamics
    theirs, mine = dynamics.Skeleton("s"), kido.Skeleton("s")
    bodies: list = []
    for k, parent in enumerate([-1, 0, 1, 1, 0]):
        above = () if parent < 0 else (bodies[parent],)
        joint, body = theirs.createRevoluteJointAndBodyNodePair(*above)
        body.setName(f"b{k}")
        joint.setName(f"j{k}")
        bodies.append(body)
        inertia = kido.Inertia.from_diagonal(1, (1, 1, 1))
        mine.add_body(f"b{k}", kido.RevoluteJoint(f"j{k}"), None if parent < 0 else f"b{parent}", inertia)
    for what, i, j in edits:
        body, onto = mine.bodies[i % mine.num_bodies], mine.bodies[j % mine.num_bodies]
        if mine.num_bodies > 14 or onto in body.subtree:
            continue
        one, other = theirs.getBodyNode(body.name), theirs.getBodyNode(onto.name)
        if what == 0:
            one.moveTo(other)
            body.move_to(onto)
        elif what == 1:
            one.copyTo(other)
            body.copy_to(onto)
        else:
            one.copyTo(other, False)
            body.copy_to(onto, recursive=False)
        parents = {b.getName(): b.getParentBodyNode() for b in theirs.getBodyNodes()}
        assert {b.name: b.parent.name if b.parent else None for b in mine.bodies} == {
            name: p.getName() if p else None for name, p in parents.items()
        }
        assert {j.name for j in mine.joints} == {j.getName() for j in theirs.getJoints()}
        assert [b.name for b in mine.bodies] == [b.getName() for b in theirs.getBodyNodes()]


class Robot(kido.Skeleton):
    """A class of one's own."""


def test_merging_keeps_impulses_and_clones_keep_their_class() -> None:
    s = Robot()
    inertia = kido.Inertia.from_diagonal(1.0, (1, 1, 1))
    hull = s.add_body("hull", inertia=inertia)
    mast = s.add_body("mast", kido.WeldJoint(transform_from_parent=(1, 0, 0)), hull, inertia)
    mast.add_impulse((0.0, 0.0, 1.0))
    before = s.velocity_changes
    s.merge_fixed_joints()
    np.testing.assert_allclose(s.velocity_changes, before, atol=1e-15)
    assert np.abs(before).max() > 0.1
    assert type(s.clone()) is Robot and type(pickle.loads(pickle.dumps(s))) is Robot
