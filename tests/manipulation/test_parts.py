"""Parts of robots: found by tree, names and description; kinematics against Pinocchio and closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from manipulation_robots import ROBOTS, block, planar_arm

import kido
from kido.manipulation import CollisionScene, GroupDescription, Part, RobotDescription, find_parts, part_of_group

EXPECTED = {
    "panda": {"arm": (7, "panda_hand_tcp"), "hand": (2, None)},
    "ur5": {"arm": (6, "tool0")},
    "talos": {
        "torso": (2, "torso_2_link"),
        "head": (2, "head_2_link"),
        "left_arm": (7, "wrist_left_ft_tool_link"),
        "left_hand": (1, None),
        "right_arm": (7, "wrist_right_ft_tool_link"),
        "right_hand": (1, None),
        "left_leg": (6, "left_sole_link"),
        "right_leg": (6, "right_sole_link"),
    },
    "tiago": {
        "base": (2, None),
        "torso": (1, "torso_lift_link"),
        "head": (2, "head_2_link"),
        "arm": (7, "hand_tool_link"),
        "hand": (36, None),
    },
    "baxter": {
        "head": (1, "head"),
        "left_arm": (7, "left_gripper"),
        "left_hand": (2, None),
        "right_arm": (7, "right_gripper"),
        "right_hand": (2, None),
    },
}


@pytest.fixture(scope="module")
def robots(example_robots: Path) -> dict[str, kido.Skeleton]:
    return {name: kido.load_skeleton(example_robots / path) for name, path in ROBOTS.items()}


def test_positions_avoid_what_is_in_the_way() -> None:
    """A planar arm of three links beside a post: of two ways to bend, the one that is free; both are named mistakes."""
    world = kido.World()
    arm, cube = world.add_skeleton(planar_arm(0.5, 0.4, 0.2)), world.add_skeleton(block("post"))
    part: Any = find_parts(arm)["arm"]
    scene = CollisionScene(world)
    part.positions = [0.8, -1.5, -0.2]
    target = part.forward_kinematics()
    cube.positions = [0, 0, 0, 0.5 * np.cos(0.8), 0.5 * np.sin(0.8), 0.0]  # at the elbow
    plain = part.inverse_kinematics(target, part.positions)
    checker = scene.checker(part, self_collision=False)
    assert plain and not checker.is_free(part.of(plain.positions))
    found = part.inverse_kinematics(target, avoid=checker)
    assert found and checker.is_free(part.of(found.positions))
    np.testing.assert_allclose(part.forward_kinematics(part.of(found.positions)), target, atol=1e-6)
    with pytest.raises(kido.ModelError, match="expected a solver or what to avoid"):
        part.inverse_kinematics(target, solver=part.solver, avoid=checker)


@pytest.mark.parametrize("name", ROBOTS)
def test_parts_of_robots_are_found(robots: dict[str, kido.Skeleton], name: str) -> None:
    parts = find_parts(robots[name])
    assert {n: (p.num_dofs, p.tip.name if p.has_tip else None) for n, p in parts.items()} == EXPECTED[name]
    dofs = [dof for part in parts.values() for dof in part.dofs]
    assert len(set(dofs)) == len(dofs) == robots[name].num_dofs  # each coordinate is of one part


@pytest.mark.parametrize("name", ROBOTS)
def test_kinematics_agree_with_pinocchio(robots: dict[str, kido.Skeleton], example_robots: Path, name: str) -> None:
    """Poses and Jacobians of every tip, at random positions: two programs, doubles: 1e-12."""
    pin = pytest.importorskip("pinocchio")
    skeleton, model = robots[name], pin.buildModelFromUrdf(str(example_robots / ROBOTS[name]))
    data, rng = model.createData(), np.random.default_rng(3)
    q = rng.uniform(-1.0, 1.0, skeleton.num_dofs)
    theirs = pin.neutral(model)
    for dof in skeleton.dofs:
        joint = model.joints[model.getJointId(dof.joint.name)]
        value = q[dof.index]
        theirs[joint.idx_q : joint.idx_q + joint.nq] = (np.cos(value), np.sin(value)) if joint.nq == 2 else value
    pin.computeJointJacobians(model, data, theirs)
    pin.updateFramePlacements(model, data)
    skeleton.positions = q
    try:
        for part in find_parts(skeleton).values():
            if not part.has_tip:
                continue
            frame = model.getFrameId(part.tip.name)
            np.testing.assert_allclose(part.forward_kinematics(), data.oMf[frame].homogeneous, atol=1e-12)
            J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            columns = [model.joints[model.getJointId(dof.joint.name)].idx_v for dof in part.dofs]
            np.testing.assert_allclose(part.tip_jacobian(), J[[3, 4, 5, 0, 1, 2]][:, columns], atol=1e-12)
    finally:
        skeleton.positions = np.zeros(skeleton.num_dofs)


@pytest.mark.parametrize(("name", "part"), [("panda", "arm"), ("ur5", "arm"), ("talos", "left_leg"), ("tiago", "arm")])
def test_inverse_kinematics_lead_back(robots: dict[str, kido.Skeleton], name: str, part: str) -> None:
    """Poses of random positions within limits are met to the solver's tolerance; nothing else of the robot moves."""
    limb, rng = find_parts(robots[name])[part], np.random.default_rng(0)
    low, high = np.array(limb.position_lower_limit), np.array(limb.position_upper_limit)
    low, high = np.maximum(low, -np.pi), np.minimum(high, np.pi)
    before = np.array(limb.skeleton.positions)
    for _ in range(10):
        X = limb.forward_kinematics(rng.uniform(low, high))
        found = limb.inverse_kinematics(X)
        assert found
        q = limb.check_limits(limb.of(found.positions))
        np.testing.assert_allclose(limb.forward_kinematics(q), X, atol=1e-6)
        others = np.setdiff1d(np.arange(len(before)), limb.shares[0].dofs)
        np.testing.assert_array_equal(found.positions[others], before[others])
    np.testing.assert_array_equal(limb.skeleton.positions, before)


@pytest.mark.parametrize(("name", "part"), [("panda", "arm"), ("talos", "right_arm"), ("tiago", "arm")])
def test_derivatives_of_jacobians_are_differences(robots: dict[str, kido.Skeleton], name: str, part: str) -> None:
    """Central differences by 1e-6: good to 1e-9 of entries of order 1."""
    limb = find_parts(robots[name])[part]
    q = np.random.default_rng(4).uniform(-0.8, 0.8, limb.num_dofs)
    exact = limb.jacobian_derivatives(q)
    for i in range(limb.num_dofs):
        step = np.zeros(limb.num_dofs)
        step[i] = 1e-6
        difference = (limb.tip_jacobian(q + step) - limb.tip_jacobian(q - step)) / 2e-6
        np.testing.assert_allclose(exact[i], difference, atol=1e-8)


def test_reach_of_a_planar_arm_is_its_annulus() -> None:
    """2R: from |l1 - l2| to l1 + l2 about the first joint; 2,000 samples come near both ends."""
    arm = planar_arm(0.5, 0.3, base=(0.1, 0.2, 0.0))
    part = find_parts(arm)["arm"]
    reach = part.reach(2000)
    assert reach.bound == pytest.approx(0.8, abs=1e-14)
    assert 0.2 - 1e-12 <= reach.nearest < 0.201
    assert 0.799 < reach.farthest <= 0.8 + 1e-12
    np.testing.assert_allclose(reach.points[:, 2], 0.0, atol=1e-15)


@pytest.mark.parametrize("name", ["panda", "ur5", "tiago"])
def test_no_sample_is_beyond_the_bound(robots: dict[str, kido.Skeleton], name: str) -> None:
    reach = find_parts(robots[name])["arm"].reach(300)
    assert reach.nearest < reach.farthest <= reach.bound < 3.0


def test_groups_of_a_description_are_parts(robots: dict[str, kido.Skeleton], example_robots: Path) -> None:
    description = RobotDescription.read(example_robots / "panda_description/srdf/panda.srdf")
    parts = find_parts(robots["panda"], description)
    assert parts["arm"].tip.name == "panda_hand_tcp"  # its end effector says so
    assert (parts["arm"].num_dofs, parts["hand"].num_dofs, parts["arm_and_hand"].num_dofs) == (7, 1, 8)
    state = description.positions_of("default", robots["panda"])
    assert state["panda_joint4"] == (-2.35619,)
    talos = RobotDescription.read(example_robots / "talos_data/srdf/talos.srdf")
    parts = find_parts(robots["talos"], talos)
    assert (parts["l_arm"].kind, parts["l_arm"].num_dofs, parts["l_arm"].tip.name) == (
        "arm",
        7,
        "wrist_left_ft_tool_link",
    )


def test_reach_is_within_a_single_limit() -> None:
    """An angle from 0 on, or up to 0, is sampled over a turn from there."""
    for lower, upper in ((0.0, np.inf), (-np.inf, 0.0), (4.0, np.inf)):
        arm = planar_arm(0.5)
        arm.dofs[0].position_lower_limit, arm.dofs[0].position_upper_limit = lower, upper
        low, high = find_parts(arm)["arm"]._sampled_limits()
        assert high - low == pytest.approx(2.0 * np.pi)
        assert low[0] >= lower and high[0] <= upper


def test_passive_joints_are_left_out() -> None:
    """A part's coordinates are those that are driven; its tip and kinematics know the others as they are."""
    arm = planar_arm(0.5, 0.4, 0.3)
    arm.positions = [0.1, 0.2, 0.3]
    group = GroupDescription("whole", chains=(("link0", "tip"),))
    wheels = GroupDescription("last", joints=("joint2",))
    description = RobotDescription("arm", groups=(group, wheels), passive_joints=("joint2",))
    parts = find_parts(arm, description)
    assert set(parts) == {"arm", "whole"}
    assert [d.name for d in parts["arm"].dofs] == ["joint0", "joint1"]
    assert [d.name for d in parts["whole"].dofs] == ["joint1"]
    assert parts["whole"].tip is arm.body("tip")
    np.testing.assert_allclose(parts["arm"].forward_kinematics(), arm.body("tip").world_transform, atol=1e-15)
    with pytest.raises(kido.ModelError, match="group 'last' of robot 'arm' has passive joints alone"):
        part_of_group(arm, description, "last")
    world = kido.World()
    world.add_skeleton(arm)
    assert CollisionScene(world).checker(parts["arm"]).dof_names == ["joint0", "joint1"]


def test_mistakes_are_named(robots: dict[str, kido.Skeleton], example_robots: Path) -> None:
    panda = robots["panda"]
    parts = find_parts(panda)
    with pytest.raises(kido.ModelError, match=r"part 'hand'.*has no tip"):
        parts["hand"].forward_kinematics()
    with pytest.raises(kido.StateError, match=r"panda_joint4.*position 1 is outside of its limits"):
        parts["arm"].check_limits([0, 0, 0, 1.0, 0, 1, 0])
    with pytest.raises(kido.StateError, match="expected 7 numbers"):
        parts["arm"].forward_kinematics([0.0, 1.0])
    with pytest.raises(kido.StateError, match="finite"):
        parts["arm"].tip_jacobian([np.nan] * 7)
    with pytest.raises(kido.ModelError, match="reach: samples: expected a count from 1 on, got 0"):
        parts["arm"].reach(0)
    with pytest.raises(kido.ModelError, match="kind: expected one of arm, hand"):
        Part("x", "tail", panda.bodies[:2])
    with pytest.raises(kido.ModelError, match="tip: expected a body of the same skeleton"):
        Part("x", "arm", panda.bodies[:2], robots["ur5"].bodies[0])
    description = RobotDescription.read(example_robots / "panda_description/srdf/panda.srdf")
    with pytest.raises(kido.NameLookupError, match="panda_joint1"):
        find_parts(robots["ur5"], description)
    with pytest.raises(kido.NameLookupError, match="no group 'tail'"):
        description.joints_of("tail", panda)
    wrong = RobotDescription.read(
        '<robot name="r"><group name="g"><chain base_link="panda_link5" tip_link="panda_link2"/></group></robot>'
    )
    with pytest.raises(kido.KidoError, match="body 'panda_link2' is not below body 'panda_link5'"):
        find_parts(panda, wrong)
    own = RobotDescription("r", groups=(GroupDescription("a", groups=("b",)), GroupDescription("b", groups=("a",))))
    with pytest.raises(kido.ModelError, match="group 'a' contains itself: a > b > a"):
        find_parts(panda, own)
    with pytest.raises(kido.ModelError, match=r"description: expected a RobotDescription, got 'panda\.srdf'"):
        find_parts(panda, "panda.srdf")  # type: ignore[arg-type]
    still = Part("still", "arm", [panda.bodies[0]], panda.bodies[0])
    with pytest.raises(kido.ModelError, match="part 'still': follow: it has no coordinates"):
        still.follow([np.eye(4)])
    with pytest.raises(kido.ModelError, match=r"follow: poses: expected \(samples, 4, 4\), got shape \(2,\)"):
        parts["arm"].follow([1.0, 2.0])
    assert parts["arm"].follow(np.zeros((0, 4, 4))).shape == (0, 7)
