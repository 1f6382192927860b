"""Building skeletons: structure, names, properties, and the exact messages of mistakes."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido

SOME = kido.Inertia.from_diagonal(1.0, [1.0, 1.0, 1.0])


def arm() -> kido.Skeleton:
    skeleton = kido.Skeleton("arm")
    skeleton.add_body("upper", kido.RevoluteJoint("shoulder"), inertia=SOME)
    skeleton.add_body("lower", kido.UniversalJoint("elbow"), "upper", SOME)
    skeleton.add_body("hand", kido.WeldJoint(), "lower", SOME)
    skeleton.add_body("other", inertia=SOME)
    return skeleton


def refused(error: type, act, message: str) -> None:
    with pytest.raises(error) as caught:
        act()
    assert isinstance(caught.value, kido.KidoError)
    assert str(caught.value) == message


# Structure -------------------------------------------------------------------------------------------------


def test_bodies_joints_and_coordinates_in_order() -> None:
    skeleton = arm()
    assert [b.name for b in skeleton.bodies] == ["upper", "lower", "hand", "other"]
    assert [j.name for j in skeleton.joints] == ["shoulder", "elbow", "hand_joint", "other_joint"]
    assert [d.name for d in skeleton.dofs] == [
        "shoulder", "elbow_1", "elbow_2", "other_joint_rx", "other_joint_ry", "other_joint_rz",
        "other_joint_x", "other_joint_y", "other_joint_z",
    ]  # fmt: skip
    assert [d.index for d in skeleton.dofs] == list(range(9))
    assert [d.index_in_joint for d in skeleton.dofs][:4] == [0, 0, 1, 0]
    assert skeleton.num_dofs == 9 and skeleton.num_bodies == 4
    upper, lower, hand, other = skeleton.bodies
    assert [b.index for b in skeleton.bodies] == [0, 1, 2, 3]
    assert list(skeleton.root_bodies) == [upper, other]
    assert (
        lower.parent is upper and upper.parent is None and list(hand.children) == [] and list(upper.children) == [lower]
    )
    assert lower.parent_joint.child is lower and lower.parent_joint.parent is upper
    assert isinstance(other.parent_joint, kido.FreeJoint)
    assert upper.skeleton is skeleton
    assert skeleton.mass == 4.0


def test_looking_up_by_name_and_index() -> None:
    skeleton = arm()
    assert skeleton.body("lower") is skeleton.body(1) is skeleton.body(-3) is skeleton.bodies[1]
    assert skeleton.joint("elbow") is skeleton.joint(1)
    assert skeleton.dof("elbow_2") is skeleton.dof(2) is skeleton.dof(np.int64(2))


def test_looking_up_what_is_not_there() -> None:
    skeleton = arm()
    bodies, joints = "upper, lower, hand, other", "shoulder, elbow, hand_joint, other_joint"
    for act, message in (
        (lambda: skeleton.body("foot"), f"no body in skeleton 'arm' 'foot'; expected one of: {bodies}"),
        (lambda: skeleton.body(4), f"no body in skeleton 'arm' 4; expected one of: {bodies}"),
        (lambda: skeleton.body(-5), f"no body in skeleton 'arm' -5; expected one of: {bodies}"),
        (lambda: skeleton.body(True), f"no body in skeleton 'arm' True; expected one of: {bodies}"),
        (lambda: skeleton.joint("wrist"), f"no joint in skeleton 'arm' 'wrist'; expected one of: {joints}"),
        (lambda: kido.Skeleton("s").body(0), "no body in skeleton 's' 0; expected one of: there are none"),
    ):
        refused(kido.NameLookupError, act, message)
    with pytest.raises(LookupError, match="no dof in skeleton 'arm' 'elbow'; expected one of: shoulder, elbow_1"):
        skeleton.dof("elbow")


def test_building_mistakes_leave_the_skeleton_as_it_was() -> None:
    skeleton, stranger = arm(), arm()
    skeleton.positions = np.arange(9.0)
    used = skeleton.joints[0]
    for error, act, message in (
        (kido.ModelError, lambda: skeleton.add_body("upper"),
         "skeleton 'arm': body name 'upper' is empty or already used"),
        (kido.ModelError, lambda: skeleton.add_body(""), "skeleton 'arm': body name '' is empty or already used"),
        (kido.ModelError, lambda: skeleton.add_body("new", kido.WeldJoint("elbow")),
         "skeleton 'arm': joint name 'elbow' is already used"),
        (kido.ModelError, lambda: skeleton.add_body("new", used),
         "body 'new': joint 'shoulder' already moves body 'upper'"),
        (kido.ModelError, lambda: skeleton.add_body("new", parent=stranger.bodies[0]),
         "body 'new': parent 'upper' is part of skeleton 'arm'"),
        (kido.NameLookupError, lambda: skeleton.add_body("new", parent="foot"),
         "no body in skeleton 'arm' 'foot'; expected one of: upper, lower, hand, other"),
        (kido.ModelError, lambda: skeleton.add_body("new", inertia=3.0),  # type: ignore[arg-type]
         "body 'new': inertia: expected kido.Inertia, got float"),
    ):  # fmt: skip
        refused(error, act, message)
        assert skeleton.num_bodies == 4 and skeleton.num_dofs == 9
        assert np.array_equal(skeleton.positions, np.arange(9.0))
    same = "skeleton 'arm': dof name 'elbow_2' of joint {!r} is already used; give the joint another name, or dof_names"
    act = lambda: skeleton.add_body("new", kido.RevoluteJoint("elbow_2"))  # noqa: E731
    refused(kido.ModelError, act, same.format("elbow_2"))
    twice = kido.UniversalJoint("j", dof_names=["elbow_2", "x"])
    refused(kido.ModelError, lambda: skeleton.add_body("new", twice), same.format("j"))
    refused(kido.ModelError, lambda: setattr(skeleton.joint(0), "name", "elbow_2"), same.format("elbow_2"))
    joint = kido.RevoluteJoint("fresh")
    with pytest.raises(kido.ModelError):
        skeleton.add_body("upper", joint)
    skeleton.add_body("new", joint)  # a refused joint is free to be used


def test_renaming() -> None:
    skeleton = arm()
    skeleton.body("upper").name = "top"
    skeleton.joint("shoulder").name = "first"
    assert skeleton.body("top").index == 0 and skeleton.joint("first").child.name == "top"
    assert skeleton.dof("first").index == 0
    taken = "skeleton 'arm': {} name {!r} is empty or already used"
    refused(kido.ModelError, lambda: setattr(skeleton.body(0), "name", "hand"), taken.format("body", "hand"))
    refused(kido.ModelError, lambda: setattr(skeleton.joint(0), "name", ""), taken.format("joint", ""))
    with pytest.raises(kido.NameLookupError):
        skeleton.body("upper")
    skeleton.body("top").name = "top"  # to itself


def test_a_joint_on_its_own() -> None:
    joint = kido.RevoluteJoint("j")
    refused(kido.ModelError, lambda: joint.child, "joint 'j' is not part of a skeleton")
    refused(kido.ModelError, lambda: joint.positions, "joint 'j' is not part of a skeleton")
    joint.name = "k"
    assert joint.name == "k"


# Properties ------------------------------------------------------------------------------------------------


def test_properties_of_coordinates() -> None:
    joint = kido.UniversalJoint("u", damping=[1, 2], position_upper_limit=3.0, position_lower_limit=-1)
    assert joint.damping.tolist() == [1, 2]
    assert joint.position_upper_limit.tolist() == [3, 3]
    assert joint.force_limit.tolist() == [np.inf, np.inf]
    joint.dofs[1].damping = 5.0
    assert joint.damping.tolist() == [1, 5] and joint.dofs[1].damping == 5.0
    joint.spring_stiffness = 2
    assert joint.dofs[0].spring_stiffness == 2.0
    assert kido.UniversalJoint("u", dof_names=["a", "b"]).dofs[1].name == "b"


def test_mistakes_in_properties_change_nothing() -> None:
    joint = kido.UniversalJoint("u", position_lower_limit=-1, position_upper_limit=1, damping=2)
    for act, message in (
        (lambda: setattr(joint, "damping", -1), "joint 'u': damping: expected finite numbers not below 0, "
         "got [-1.0, -1.0]"),
        (lambda: setattr(joint, "damping", np.inf), "joint 'u': damping: expected finite numbers not below 0, "
         "got [inf, inf]"),
        (lambda: setattr(joint, "damping", [1, 2, 3]), "joint 'u': damping: expected one number or 2, got [1, 2, 3]"),
        (lambda: setattr(joint, "damping", "x"), "joint 'u': damping: expected one number or 2, got 'x'"),
        (lambda: setattr(joint, "position_upper_limit", np.nan), "joint 'u': position_upper_limit: expected numbers, "
         "got [nan, nan]"),
        (lambda: setattr(joint, "position_upper_limit", [0, -2]), "joint 'u': lower position limit [-1.0, -1.0] "
         "above the upper [0.0, -2.0]"),
        (lambda: setattr(joint.dofs[1], "damping", np.nan), "joint 'u': damping: expected finite numbers not below "
         "0, got [2.0, nan]"),
    ):  # fmt: skip
        refused(kido.ModelError, act, message)
    assert joint.damping.tolist() == [2, 2] and joint.position_upper_limit.tolist() == [1, 1]
    with pytest.raises(kido.ArgumentError, match="unexpected argument 'dampnig'; did you mean damping"):
        kido.UniversalJoint("u", dampnig=1)
    with pytest.raises(kido.ModelError, match=r"joint 'u': expected 2 dof_names, got 1: \['a'\]"):
        kido.UniversalJoint("u", dof_names=["a"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kido.RevoluteJoint("j", (0, 0, 0)), "joint 'j': axis: expected a direction, got the zero vector"),
        (lambda: kido.RevoluteJoint("j", (1, 0)), "joint 'j': axis: expected 3 numbers, got 2: (1, 0)"),
        (lambda: kido.PrismaticJoint("j", (np.nan, 0, 1)),
         "joint 'j': axis: expected finite numbers, got [nan, 0.0, 1.0]"),
        (lambda: kido.ScrewJoint("j", pitch=np.inf),
         "joint 'j': pitch: expected a finite number [m/revolution], got inf"),
        (lambda: kido.ScrewJoint("j", pitch="x"),  # type: ignore[arg-type]
         "joint 'j': pitch: expected a finite number [m/revolution], got 'x'"),
        (lambda: kido.EulerJoint("j", "xxy"),
         "joint 'j': order: expected three of x, y, z, no two neighbours equal, got 'xxy'"),
        (lambda: kido.EulerJoint("j", "xy"),
         "joint 'j': order: expected three of x, y, z, no two neighbours equal, got 'xy'"),
        (lambda: kido.PlanarJoint("j", (1, 0, 0), (-2, 0, 0)),
         "joint 'j': axis1 and axis2 of a planar joint must not be parallel"),
        (lambda: kido.WeldJoint("j", transform_from_parent=np.ones((4, 4))),
         "joint 'j': transform_from_parent: the last row of a transform is [0, 0, 0, 1], got [1.0, 1.0, 1.0, 1.0]"),
        (lambda: kido.Inertia(-1), "mass: expected a finite number that is not negative [kg], got -1"),
        (lambda: kido.Inertia(np.nan), "mass: expected a finite number that is not negative [kg], got nan"),
        (lambda: kido.Inertia("x"),  # type: ignore[arg-type]
         "mass: expected a finite number that is not negative [kg], got 'x'"),
        (lambda: kido.Inertia(1, (0, 0)), "centre of mass: expected 3 numbers, got 2: (0, 0)"),
        (lambda: kido.Inertia(2, (0, 1e160, 0)),
         "centre of mass: [0.0, 1e+160, 0.0] m is too far for 2 kg: the moment overflows"),
        (lambda: kido.Inertia(1, moment=np.diag([1.0, 1.0, -0.5])),
         "moment of inertia: expected no negative eigenvalue, got -0.5 kg m^2"),
        (lambda: kido.Inertia.from_shape(kido.Sphere(1)),
         "Inertia.from_shape: expected exactly one of mass and density"),
    ],
)  # fmt: skip
def test_what_cannot_be_built(make, message: str) -> None:
    refused(kido.ModelError, make, message)


def test_changes_of_properties_take_effect_at_once() -> None:
    skeleton = arm()
    upper, hand = skeleton.body("upper"), skeleton.body("hand")
    before = hand.world_transform
    skeleton.joint("shoulder").transform_from_parent = [0, 0, 1]
    np.testing.assert_allclose(hand.world_transform[:3, 3] - before[:3, 3], [0, 0, 1])
    skeleton.joint("hand_joint").transform_from_parent = [0, 2, 0]  # of a weld
    np.testing.assert_allclose(hand.world_transform[:3, 3], [0, 2, 1])
    skeleton.joint("hand_joint").transform_from_child = [0, 0, 0.5]
    np.testing.assert_allclose(hand.world_transform[:3, 3], [0, 2, 0.5])
    upper.inertia = kido.Inertia(3.0, (0, 0, 1), np.eye(3))
    assert skeleton.mass == 6.0
    q = np.zeros(9)
    q[0] = np.pi / 2
    skeleton.positions = q
    skeleton.joint("shoulder").axis = (1, 0, 0)
    np.testing.assert_allclose(upper.com, [0, -1, 1], atol=1e-15)
    skeleton.gravity = (0, 0, -1.0)
    potential = skeleton.potential_energy
    upper.gravity = False
    assert skeleton.potential_energy == pytest.approx(potential - 3.0 * 1.0)


def test_com_of_nothing_is_refused() -> None:
    refused(kido.ModelError, lambda: kido.Skeleton("s").com, "skeleton 's' has no mass, so no centre of mass")


def test_mimic_is_kept() -> None:
    joint = kido.RevoluteJoint("j", mimic=kido.Mimic("k", -1.0, 0.5))
    assert joint.mimic == kido.Mimic("k", -1.0, 0.5)


# Inertia ---------------------------------------------------------------------------------------------------


def test_inertias_of_joined_and_moved_bodies() -> None:
    """Two halves of a rod are the rod; seen from elsewhere the energy of a motion is the same."""
    rod = kido.Inertia.from_shape(kido.Box((2, 0.1, 0.1)), mass=2.0)
    halves = [kido.Inertia.from_shape(kido.Box((1, 0.1, 0.1)), mass=1.0, transform=[x, 0, 0]) for x in (-0.5, 0.5)]
    joined = halves[0] + halves[1]
    np.testing.assert_allclose(joined.moment, rod.moment, atol=1e-15)
    np.testing.assert_allclose(joined.com, 0, atol=1e-16)
    assert joined.mass == 2.0
    moved = rod.transformed([0, 3, 0])
    np.testing.assert_allclose(moved.com, [0, 3, 0])
    np.testing.assert_allclose(moved.moment_about_origin, rod.moment + np.diag([18.0, 0, 18.0]))
    assert rod == pickle.loads(pickle.dumps(rod)) == copy.deepcopy(rod) and rod != moved


# Shapes ----------------------------------------------------------------------------------------------------


def test_shapes_of_a_body() -> None:
    skeleton = arm()
    hand = skeleton.body("hand")
    ball = hand.add_shape(kido.Sphere(0.1), [0, 0, 1], name="ball", color=(1, 0, 0), friction=0.5)
    box = hand.add_shape(kido.Box((1, 1, 1)))
    assert list(hand.shapes) == [ball, box] and hand.shape("ball") is ball is hand.shape(0)
    assert box.name == "hand_shape_1" and ball.color == (1.0, 0.0, 0.0)
    np.testing.assert_allclose(ball.world_transform[:3, 3], [0, 0, 1])
    for act, message in (
        (lambda: hand.add_shape(kido.Sphere(1), name="ball"), "body 'hand' has a shape 'ball' already"),
        (lambda: hand.add_shape(1), "shape 'hand_shape_2': expected a kido shape, got int"),  # type: ignore
        (lambda: hand.add_shape(kido.Sphere(1), friction=-1),
         "shape 'hand_shape_2': Surface: friction: expected a finite number not below 0, got -1"),
        (lambda: hand.add_shape(kido.Sphere(1), restitution=1.5),
         "shape 'hand_shape_2': Surface: restitution: expected a number from 0 to 1, got 1.5"),
        (lambda: hand.add_shape(kido.Sphere(1), color=(1, 2, 3)),
         "shape 'hand_shape_2': color: expected 3 or 4 numbers from 0 to 1, got (1, 2, 3)"),
        (lambda: hand.add_shape(kido.Sphere(1), color="red"),
         "shape 'hand_shape_2': color: expected 3 or 4 numbers from 0 to 1, got 'red'"),
    ):  # fmt: skip
        refused(kido.ModelError, act, message)
        assert list(hand.shapes) == [ball, box]
    hand.remove_shape(ball)
    assert list(hand.shapes) == [box]
    with pytest.raises(kido.NameLookupError, match="no shape of body 'hand' 'ball'; expected one of: hand_shape_1"):
        hand.remove_shape(ball)


# In a world ------------------------------------------------------------------------------------------------


def test_joining_and_leaving_a_world_keeps_the_state() -> None:
    skeleton = arm()
    q, u, tau = np.random.default_rng(1).normal(size=(3, 9))
    skeleton.positions, skeleton.velocities, skeleton.forces = q, u, tau
    skeleton.body("hand").add_external_force([1, 2, 3])
    wrench = skeleton.body("hand").external_wrench
    world = kido.World(gravity=(0, -5, 0))
    world.add_skeleton(skeleton)
    for _ in range(2):
        assert np.array_equal(skeleton.positions, q) and np.array_equal(skeleton.velocities, u)
        assert np.array_equal(skeleton.forces, tau)
        np.testing.assert_allclose(skeleton.body("hand").external_wrench, wrench, rtol=1e-14)
        assert skeleton.gravity.tolist() == [0, -5, 0]
        if skeleton in world.skeletons:
            world.remove_skeleton(skeleton)
    message = "skeleton 'arm' is in world 'world': set the world's gravity"
    world.add_skeleton(skeleton)
    refused(kido.ModelError, lambda: setattr(skeleton, "gravity", (0, 0, 0)), message)
    again = "skeleton 'arm' is in world 'world' already; add a clone() instead"
    refused(kido.ModelError, lambda: kido.World().add_skeleton(skeleton), again)


def test_names_in_a_world_are_made_unique() -> None:
    world = kido.World()
    names = [world.add_skeleton(arm()).name for _ in range(3)]
    assert names == ["arm", "arm_2", "arm_3"]
    assert world.skeleton("arm_2") is world.skeletons[1]
    with pytest.raises(kido.NameLookupError, match="no skeleton in world 'world' 'leg'; expected one of: arm, arm_2"):
        world.skeleton("leg")


def test_moving_one_skeleton_leaves_the_results_of_another() -> None:
    world = kido.World()
    one, two = world.add_skeleton(arm()), world.add_skeleton(arm())
    pose = two.body("hand").world_transform
    before = two.evaluations
    one.positions = np.ones(9)
    assert np.array_equal(two.body("hand").world_transform, pose)
    assert two.evaluations == before
    world.step()
    assert not np.array_equal(two.body("other").world_transform, pose)


def test_arguments_of_the_wrong_kind() -> None:
    """An axis given as the name, a joint type by its name, ... : a ModelError, and nothing has changed."""
    skeleton = arm()
    elbow, sphere = skeleton.joint("elbow"), kido.Sphere(0.1)
    for act, message in (
        (lambda: kido.RevoluteJoint((0, 1, 0)), "joint: name: expected a text, got (0, 1, 0)"),
        (lambda: kido.BallJoint("b", dof_names="xyz"), "joint 'b': dof_names: expected a list of texts, got 'xyz'"),
        (
            lambda: skeleton.add_body("b", "revolute"),
            "body 'b': joint: expected a joint such as kido.RevoluteJoint(), got 'revolute'",
        ),
        (lambda: skeleton.add_body("b", parent=3), "body 'b': parent: expected a body or its name, got 3"),
        (lambda: skeleton.add_body(7), "skeleton 'arm': body name 7 is empty or already used"),
        (lambda: setattr(elbow, "name", ["a"]), "skeleton 'arm': joint name ['a'] is empty or already used"),
        (
            lambda: setattr(elbow.dofs[1], "damping", "high"),
            "joint 'elbow': damping: expected one number or 2, got [0.0, 'high']",
        ),
        (
            lambda: setattr(elbow.dofs[1], "damping", None),
            "joint 'elbow': damping: expected one number or 2, got [0.0, None]",
        ),
        (lambda: kido.Inertia.from_shape("box", 1.0), "Inertia.from_shape: expected a kido shape, got str"),
        (
            lambda: kido.Inertia.from_shape(sphere, "1 kg"),
            "Inertia.from_shape: mass: expected a positive finite number, got '1 kg'",
        ),
        (
            lambda: kido.Inertia.from_shape(sphere, density=[1.0]),
            "Inertia.from_shape: density: expected a positive finite number, got [1.0]",
        ),
        (
            lambda: kido.Inertia(10**400),
            f"mass: expected a finite number that is not negative [kg], got {10**400}",
        ),
    ):
        refused(kido.ModelError, act, message)
    with pytest.raises(kido.NameLookupError):
        skeleton.body("hand").remove_shape(None)  # type: ignore[arg-type]
    assert skeleton.num_bodies == 4 and elbow.name == "elbow" and elbow.damping.tolist() == [0, 0]


def test_copies_of_a_chain_of_a_thousand_bodies() -> None:
    chain, body = kido.Skeleton("chain"), None
    for k in range(1000):
        body = chain.add_body(f"b{k}", kido.RevoluteJoint(axis=(0, 1, 0)), body, SOME)
    chain.positions = np.linspace(-1.0, 1.0, 1000)
    tip = pickle.loads(pickle.dumps(chain.body(999)))
    for twin in (chain.clone(), pickle.loads(pickle.dumps(chain)), tip.skeleton):
        assert [b.parent and b.parent.name for b in twin.bodies] == [b.parent and b.parent.name for b in chain.bodies]
        assert all(child.parent is b for b in twin.bodies for child in b.children)
        assert list(twin.body(5).children) == [twin.body(6)] and list(twin.body(999).children) == []
        assert np.array_equal(twin.world_transforms, chain.world_transforms)
    assert tip is tip.skeleton.body(999)


def test_names_of_coordinates_are_unique_however_they_came_to_be():
    s = kido.Skeleton()
    a = s.add_body("a", kido.RevoluteJoint("j"))
    b = s.add_body("b", kido.RevoluteJoint("k"))
    u = s.add_body("u", kido.UniversalJoint("u"))
    a.parent_joint.dofs[0].name = "x"  # given
    b.parent_joint.name = "z"  # follows the joint's
    u.change_parent_joint_type(kido.FreeJoint)  # comes with a type
    names = [dof.name for dof in s.dofs]
    assert names == ["x", "z", "u_rx", "u_ry", "u_rz", "u_x", "u_y", "u_z"]
    for skeleton in (s, s.clone()):
        for name in names:
            for joint in (kido.RevoluteJoint(name), kido.RevoluteJoint("new", dof_names=[name])):
                with pytest.raises(kido.ModelError, match=f"name '{name}' .*is already used"):
                    skeleton.add_body("c", joint)
        skeleton.add_body("c", kido.RevoluteJoint("k"))  # whose joint was renamed
