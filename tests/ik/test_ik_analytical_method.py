"""The analytical gradient method in tasks and hierarchies, on robots whose axes are read from the skeleton."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from analytical_arms import IIWA_14, OFFSET_ELBOW, PUMA_560, UR5, add_arm, arm_skeleton, wrapped
from kido.ik import CompositeIK, InverseKinematics, PositionError, WholeBodyIK
from kido.ik.analytical import (
    AnalyticalChain,
    AnalyticalMethod,
    ExtraDofUtilization,
    ParallelAxesSolver,
    PlanarSolver,
    Solution,
    SphericalWristSolver,
    SwivelSolver,
    Validity,
    largest_component_is_smaller,
    ranked,
    read_chain,
)
from kido.optimization import GradientDescentSolver
from trees import at

# The chart of the DART report, section 2.8.5: rank, largest component, norm, and the differences.
CHART = [
    (1, 3.1, 4.58, [1.3, 1.2, 2.8, 0.6, 3.1]),
    (2, 4.0, 4.01, [0.1, 0.0, 0.2, 4.0, 0.0]),
    (3, 5.3, 7.59, [3.8, 5.3, 0.5, 2.3, 3.1]),
]


def robot(example_robots, file):
    return kido.load(next(example_robots.rglob(file)), package_dirs=[example_robots.parents[1]])


# Solutions and their order ------------------------------------------------------------------------------------


def test_quality_comparison_is_the_reports():
    """Sorted by the largest component of the difference, not by its norm."""
    current = np.array([0.2, -1.0, 0.5, 0.0, 0.3])
    solutions = [Solution(current + np.array(d)) for *_, d in CHART]
    for largest, norm, d in ((row[1], row[2], row[3]) for row in CHART):
        assert max(d) == largest
        assert np.linalg.norm(d) == pytest.approx(norm, abs=6e-3)
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        best = ranked([solutions[k] for k in order], current)
        assert [id(s) for s in best] == [id(s) for s in solutions]
    shortest = ranked(solutions, current, lambda a, b, q: np.linalg.norm(a - q) < np.linalg.norm(b - q))
    assert [id(s) for s in shortest] == [id(solutions[k]) for k in (1, 0, 2)]
    assert largest_component_is_smaller(current, current + 1.0, current)
    assert not largest_component_is_smaller(current, current, current)


def test_validity_comes_first():
    """Valid, then beyond limits, then out of reach, then both, whatever the quality."""
    flags = [
        Validity.OUT_OF_REACH | Validity.LIMIT_VIOLATED,
        Validity.OUT_OF_REACH,
        Validity.LIMIT_VIOLATED,
        Validity.VALID,
    ]
    solutions = [Solution(np.array([float(k)]), flag) for k, flag in enumerate(flags)]
    assert [s.validity for s in ranked(solutions, np.zeros(1))] == flags[::-1]
    assert [s.is_valid for s in solutions] == [False, False, False, True]


# Reading chains -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [PUMA_560, UR5, IIWA_14, OFFSET_ELBOW])
def test_axes_do_not_depend_on_the_pose(rows):
    """Read at any pose of the skeleton, on any base, they are those at zero, and give the skeleton's own poses."""
    rng = np.random.default_rng(0)
    skeleton, tip = arm_skeleton(rows)
    chain = read_chain(tip, skeleton.dofs)
    for _ in range(5):
        q = rng.uniform(-3, 3, len(rows))
        skeleton.positions = q
        again = read_chain(tip, skeleton.dofs)
        assert np.abs(again.axes - chain.axes).max() < 1e-14
        gap = again.points - chain.points
        assert np.abs(np.cross(gap, chain.axes)).max() < 1e-13
        assert np.abs(again.home - chain.home).max() < 1e-13
        assert np.abs(chain.pose(q) - tip.world_transform).max() < 1e-14


def test_what_is_no_chain_of_hinges():
    """Named, with what was found."""
    skeleton = kido.Skeleton("mixed")
    a = skeleton.add_body("a", kido.FreeJoint("root"))
    b = skeleton.add_body("b", kido.RevoluteJoint("r1"), a)
    c = skeleton.add_body("c", kido.RevoluteJoint("r2"), b)
    d = skeleton.add_body("d", kido.PrismaticJoint("slide"), c)
    dofs = skeleton.dofs
    with pytest.raises(kido.ModelError, match=r"joint 'slide' is a PrismaticJoint"):
        read_chain(d, dofs[6:])
    with pytest.raises(kido.ModelError, match=r"\['r2'\] move it too"):
        read_chain(c, dofs[6:7])
    with pytest.raises(kido.ModelError, match=r"expected the order"):
        read_chain(c, [dofs[7], dofs[6]])
    with pytest.raises(kido.ModelError, match=r"'slide' does not move it"):
        read_chain(c, dofs[6:])
    with pytest.raises(kido.ModelError, match="expected coordinates, got none"):
        read_chain(c, [])
    with pytest.raises(kido.ModelError, match="FreeJoint"):
        read_chain(c, dofs[:8])


def test_universal_and_euler_joints_are_hinges():
    """A leg of an Euler hip, a knee and a universal ankle fits like one of six revolute joints."""
    skeleton = kido.Skeleton("leg")
    pelvis = skeleton.add_body("pelvis", kido.FreeJoint("root"))
    hip = kido.EulerJoint("hip", "zyx", transform_from_parent=at(0, 0.1, -0.1))
    thigh = skeleton.add_body("thigh", hip, pelvis)
    shin = skeleton.add_body("shin", kido.RevoluteJoint("knee", (0, 1, 0), transform_from_parent=at(z=-0.4)), thigh)
    ankle = kido.UniversalJoint("ankle", (0, 1, 0), (1, 0, 0), transform_from_parent=at(z=-0.4))
    foot = skeleton.add_body("foot", ankle, shin)
    dofs = [*hip.dofs, shin.parent_joint.dofs[0], *ankle.dofs]
    ik = InverseKinematics(foot, dofs=dofs, gradient_method=AnalyticalChain())
    assert isinstance(ik.gradient_method.solver, SphericalWristSolver)
    rng = np.random.default_rng(1)
    for _ in range(10):
        skeleton.positions = np.concatenate([rng.uniform(-1, 1, 6), rng.uniform(-1.2, 1.2, 6)])
        X, q = foot.world_transform, skeleton.positions[6:]
        skeleton.positions = np.concatenate([skeleton.positions[:6], np.zeros(6)])
        found = ik.gradient_method.solutions(X)
        assert len(found) == 8
        assert min(np.abs(wrapped(s.positions - q)).max() for s in found) < 1e-9


# Robots -------------------------------------------------------------------------------------------------------


def test_ur5_of_its_urdf_beside_pinocchio(example_robots):
    """All branches of the robot file, put through Pinocchio's forward kinematics."""
    pin = pytest.importorskip("pinocchio")
    path = next(example_robots.rglob("ur5_robot.urdf"))
    skeleton = robot(example_robots, "ur5_robot.urdf")
    model = pin.buildModelFromUrdf(str(path))
    data, frame = model.createData(), model.getFrameId("tool0")
    # Two bodies are welded to the last link, so that the "chain" above each is empty.
    ik = InverseKinematics(skeleton.body("tool0"), dofs="body", gradient_method=AnalyticalChain())
    assert isinstance(ik.gradient_method.solver, ParallelAxesSolver)
    rng = np.random.default_rng(2)
    worst, numbers = 0.0, set()
    for q in rng.uniform(-np.pi, np.pi, (100, 6)):
        pin.framesForwardKinematics(model, data, q)
        X = data.oMf[frame].homogeneous.copy()
        found = ik.gradient_method.solutions(X)
        numbers.add(len(found))
        assert min(np.abs(wrapped(s.positions - q)).max() for s in found) < 1e-7
        for s in found:
            pin.framesForwardKinematics(model, data, s.positions)
            worst = max(worst, np.abs(data.oMf[frame].homogeneous - X).max())
    assert worst < 1e-12
    assert 8 in numbers


def test_iiwa_beside_dartpy(tmp_path):
    """The same arm built in DART: its forward kinematics of our solutions."""
    dart = pytest.importorskip("dartpy")
    skeleton, tip = arm_skeleton(IIWA_14)
    path = tmp_path / "iiwa.urdf"
    kido.save(skeleton, path)
    other = dart.utils.DartLoader().parseSkeleton(str(path))
    ik = InverseKinematics(tip, gradient_method=AnalyticalChain())
    assert isinstance(ik.gradient_method.solver, SwivelSolver)
    rng = np.random.default_rng(2)
    names = [other.getDof(k).getName() for k in range(other.getNumDofs())]
    order = [names.index(d.name) for d in skeleton.dofs]
    for q in rng.uniform(-2.5, 2.5, (50, 7)):
        skeleton.positions = q
        X = tip.world_transform
        skeleton.positions = q + rng.uniform(-0.3, 0.3, 7)
        found = ik.gradient_method.solutions(X)
        assert len(found) == 8
        for s in found:
            x = np.zeros(7)
            x[order] = s.positions
            other.setPositions(x)
            assert np.abs(other.getBodyNode(tip.name).getWorldTransform().matrix() - X).max() < 1e-9


def test_panda_with_its_last_joint_given(example_robots):
    """Shoulder spherical, wrist not: six joints fit, seen from the tip, once joint 7 is locked."""
    skeleton = robot(example_robots, "panda.urdf")
    hand = skeleton.body("panda_hand") if "panda_hand" in [b.name for b in skeleton.bodies] else skeleton.bodies[7]
    ik = InverseKinematics(hand, gradient_method=AnalyticalChain())
    method = ik.gradient_method
    assert isinstance(method.solver, SphericalWristSolver)
    assert method.solver.locked == 6
    assert method.solver.free == "position of joint 7"
    lower = np.array([d.position_lower_limit for d in method.dofs])
    upper = np.array([d.position_upper_limit for d in method.dofs])
    rng = np.random.default_rng(3)
    start = skeleton.positions.copy()
    start[:7] = 0.5 * (lower + upper)
    solved = 0
    for q in rng.uniform(lower, upper, (100, 7)):
        x = start.copy()
        x[:7] = q
        skeleton.positions = x
        ik.target.world_transform = hand.world_transform
        skeleton.positions = start
        result = ik.solve_and_apply()
        solved += result.converged
        if result.converged:
            assert result.iterations <= 1
            assert np.abs(ik.compute_error()).max() < 1e-10
    assert solved >= 99


@pytest.mark.parametrize(
    ("file", "tip", "kind", "locked"),
    [
        ("talos_reduced.urdf", "leg_left_6_link", SphericalWristSolver, None),
        ("talos_reduced.urdf", "arm_right_7_link", SphericalWristSolver, 0),
        ("romeo.urdf", "l_wrist", SwivelSolver, None),
        ("romeo.urdf", "r_ankle", SphericalWristSolver, None),
        ("tiago.urdf", "arm_7_link", SphericalWristSolver, 0),
        ("xarm7.urdf", "link7", SphericalWristSolver, 6),
        ("z1.urdf", "link06", ParallelAxesSolver, None),
        ("kinova.urdf", "j2s6s200_link_6", SphericalWristSolver, None),
        ("ur10_robot.urdf", "wrist_3_link", ParallelAxesSolver, None),
    ],
)
def test_robots_are_recognised(example_robots, file, tip, kind, locked):
    """Arms and legs of robot files, by their axes alone; poses within limits are solved within limits."""
    skeleton = robot(example_robots, file)
    body = skeleton.body(tip)
    dofs = body.dependent_dofs[-7:] if kind is SwivelSolver or locked is not None else body.dependent_dofs[-6:]
    ik = InverseKinematics(body, dofs=dofs, gradient_method=AnalyticalChain())
    method = ik.gradient_method
    assert (type(method.solver), method.solver.locked) == (kind, locked)
    indices = ik.dof_indices
    lower, upper = (
        np.array([getattr(d, f"position_{side}_limit") for d in dofs]).clip(-3, 3) for side in ("lower", "upper")
    )
    rng = np.random.default_rng(0)
    start = skeleton.positions.copy()
    start[indices] = 0.5 * (lower + upper)
    for q in rng.uniform(lower, upper, (20, len(dofs))):
        x = start.copy()
        x[indices] = q
        skeleton.positions = x
        X = body.world_transform
        # From there, the pose is among the solutions; from the middle, one within limits is found.
        assert min(np.abs(wrapped(s.positions - q)).max() for s in method.solutions(X)) < 1e-6
        skeleton.positions = start
        best = method.solutions(X)[0]
        assert best.is_valid
        x[indices] = best.positions
        skeleton.positions = x
        assert np.abs(body.world_transform - X).max() < 1e-11


def test_a_humanoid_on_its_feet_in_one_iteration():
    """Our humanoid crouches and turns: both feet stay, both hands stay, all four limbs in closed form."""
    skeleton = kido.load(kido.models.path("humanoid"))
    q = skeleton.positions.copy()
    for dof in skeleton.dofs:
        if "knee" in dof.name or "elbow" in dof.name:
            q[dof.index] = np.clip(0.8, dof.position_lower_limit, dof.position_upper_limit)
            if q[dof.index] == 0.0:
                q[dof.index] = -0.8
        if "hip_pitch" in dof.name or "ankle_pitch" in dof.name:
            q[dof.index] = -0.4
    skeleton.positions = q
    tasks = []
    for name in ("left_foot", "right_foot", "left_hand", "right_hand"):
        body = skeleton.body(name)
        ik = InverseKinematics.on(body, dofs=body.dependent_dofs[-6:], gradient_method=AnalyticalChain())
        assert isinstance(ik.gradient_method.solver, SphericalWristSolver)
        tasks.append(ik)
    q[:3] += (0.0, 0.03, 0.08)
    q[3:6] += (0.02, 0.02, -0.03)
    skeleton.positions = q
    result = WholeBodyIK(skeleton).solve_and_apply()
    assert result
    assert result.iterations == 1
    assert np.abs(skeleton.positions[:6] - q[:6]).max() < 1e-15
    assert max(np.abs(task.compute_error()).max() for task in tasks) < 1e-10


def test_reasons_name_the_chain():
    """On assignment, with each solver's numbers; the task keeps the method that it had."""
    skeleton = kido.Skeleton("crooked")
    rng = np.random.default_rng(0)
    body = None
    for k in range(6):
        joint = kido.RevoluteJoint(f"j{k}", rng.normal(size=3), transform_from_parent=rng.normal(size=3))
        body = skeleton.add_body(f"b{k}", joint, body)
    ik = InverseKinematics(body)
    before, method = ik.gradient_method, AnalyticalChain()
    reasons = (
        r"(?s)SphericalWristSolver: axes 4, 5 and 6 do not meet in a point: the nearest is \d.*"
        r"ParallelAxesSolver: axes 2 and 3 are not parallel"
    )
    with pytest.raises(kido.ModelError, match=reasons):
        ik.gradient_method = method
    assert ik.gradient_method is before
    with pytest.raises(kido.ModelError, match="part of no"):
        _ = method.ik
    with pytest.raises(kido.ModelError, match="expected a class of ChainSolver"):
        AnalyticalChain(solver=int)
    with pytest.raises(kido.ModelError, match="extra_dof_utilization"):
        AnalyticalChain(extra_dof_utilization="sometimes")
    with pytest.raises(kido.ModelError, match="quality"):
        AnalyticalChain(quality=1)
    short = InverseKinematics(skeleton.bodies[1])
    with pytest.raises(kido.ModelError, match="too few coordinates"):
        short.gradient_method = AnalyticalChain()


# As a gradient method -------------------------------------------------------------------------------------------


def ur5_task(limit=np.inf, **options):
    skeleton, tip = arm_skeleton(UR5, limit)
    skeleton.positions = [0.1, -1.0, 1.2, -0.5, 1.0, 0.3]
    return skeleton, tip, InverseKinematics(tip, gradient_method=AnalyticalChain(**options))


def test_one_step_solves():
    """The gradient leads to the best solution, which is valid and the closest."""
    skeleton, tip, ik = ur5_task()
    rng = np.random.default_rng(0)
    for _ in range(20):
        here = skeleton.positions
        skeleton.positions = here + rng.uniform(-0.8, 0.8, 6)
        ik.target.world_transform = tip.world_transform
        skeleton.positions = here
        best = ik.gradient_method.solutions()[0]
        assert best.is_valid
        assert np.allclose(ik.compute_gradient(), here - best.positions, atol=1e-14)
        result = ik.solve_and_apply()
        assert result
        assert result.iterations <= 1
        assert np.abs(skeleton.positions - best.positions).max() < 1e-12
    assert np.array_equal(ik.gradient_method.compute_gradient(np.zeros(6)), np.zeros(6))


def test_the_target_the_offset_and_the_end_effector():
    """A moving base, an offset of the task and an end effector that is moved on its body are all counted in."""
    skeleton = kido.Skeleton("cart")
    cart = skeleton.add_body("cart", kido.PlanarJoint("wheels"))
    tip = add_arm(skeleton, UR5, parent=cart, at=at(0.2, 0, 0.5))
    tool = kido.EndEffector(tip, "tool", at(0.0, 0.02, 0.1))
    ik = InverseKinematics(tool, dofs=skeleton.dofs[3:], gradient_method=AnalyticalChain())
    ik.offset = at(0.01, 0.0, 0.05)
    rng = np.random.default_rng(4)
    for _ in range(5):
        skeleton.positions = rng.uniform(-1.0, 1.0, 9)
        tool.relative_transform = at(*rng.uniform(-0.1, 0.1, 3))
        ik.target.world_transform = ik.node_transform
        skeleton.positions = skeleton.positions + np.r_[rng.uniform(-0.1, 0.1, 3), rng.uniform(-0.5, 0.5, 6)]
        found = ik.gradient_method.solutions()
        if not found[0].is_valid:
            continue
        assert ik.solve_and_apply()
        assert np.abs(ik.compute_error()).max() < 1e-12


def test_positions_only_leave_the_orientation_as_it_is():
    """Of a position task the closed form takes the present orientation for the pose it needs."""
    _, tip, ik = ur5_task()
    ik.error_method = PositionError()
    R = tip.world_transform[:3, :3]
    ik.target.world_transform = at(*(tip.world_transform[:3, 3] + (0.05, -0.03, 0.04)))
    assert ik.solve_and_apply().iterations <= 1
    assert np.abs(tip.world_transform[:3, :3] - R).max() < 1e-12


def test_out_of_reach_goes_to_the_closest_pose():
    """The result says that it was not reached; allowing that, the tip points where it should."""
    skeleton, tip, ik = ur5_task()
    X = tip.world_transform.copy()
    X[:3, 3] += (2.0, 0.0, 1.5)
    ik.target.world_transform = X
    before = skeleton.positions
    result = ik.solve_and_apply()
    assert not result
    assert np.array_equal(skeleton.positions, before)
    best = ik.gradient_method.solutions()[0]
    assert best.validity == Validity.OUT_OF_REACH
    skeleton.positions = best.positions
    assert np.abs(tip.world_transform[:3, :3] - X[:3, :3]).max() < 1e-12
    assert np.linalg.norm(tip.world_transform[:3, 3] - X[:3, 3]) == pytest.approx(best.position_error)


def test_limits_follow_the_skeleton():
    """Limits, and dimensions, that are changed later count at once."""
    skeleton, tip, ik = ur5_task(limit=np.pi)
    q = skeleton.positions
    X = tip.world_transform
    assert any(np.abs(s.positions - q).max() < 1e-9 and s.is_valid for s in ik.gradient_method.solutions(X))
    skeleton.dof(2).position_upper_limit = 0.5
    same = [s for s in ik.gradient_method.solutions(X) if np.abs(s.positions - q).max() < 1e-9]
    assert [s.validity for s in same] == [Validity.LIMIT_VIOLATED]
    joint = skeleton.joint(2)
    joint.transform_from_parent = joint.transform_from_parent @ at(0.1)
    X = tip.world_transform
    assert any(np.abs(s.positions - q).max() < 1e-9 for s in ik.gradient_method.solutions(X))


def test_a_quality_of_the_users():
    """It decides which solution is gone to: here the one whose elbow is highest."""

    def elbow_up(positions, others, current):
        return np.sin(positions[1]) < np.sin(others[1])

    skeleton, tip, ik = ur5_task(quality=elbow_up)
    ik.target.world_transform = tip.world_transform @ at(0.05, 0.02, -0.03)
    found = ik.gradient_method.solutions()
    heights = [np.sin(s.positions[1]) for s in found]
    assert heights == sorted(heights)
    assert ik.solve_and_apply()
    assert np.sin(skeleton.positions[1]) == pytest.approx(heights[0], abs=1e-9)


class Mirror(AnalyticalMethod):
    """A user's closed form: a planar arm of two hinges, told its lengths."""

    @property
    def dofs(self):
        return self.ik.skeleton.dofs[-2:]

    def compute_solutions(self, desired_transform):
        x, y = desired_transform[:2, 3]
        cosine = (x * x + y * y - 2.0) / 2.0
        validity = Validity.VALID if abs(cosine) <= 1.0 else Validity.OUT_OF_REACH
        found = []
        for sign in (1.0, -1.0):
            bend = sign * np.arccos(np.clip(cosine, -1.0, 1.0))
            first = np.arctan2(y, x) - np.arctan2(np.sin(bend), 1.0 + np.cos(bend))
            found.append(Solution(np.array([first + 2 * np.pi, bend]), validity))
        return self.turned_into_limits(found)


def test_a_users_closed_form():
    """Few lines; whole turns and limits by the base class."""
    skeleton = kido.Skeleton("two")
    options = {"position_lower_limit": -np.pi, "position_upper_limit": np.pi}
    a = skeleton.add_body("a", kido.RevoluteJoint("a", (0, 0, 1), **options))
    b = skeleton.add_body("b", kido.RevoluteJoint("b", (0, 0, 1), transform_from_parent=at(1.0), **options), a)
    tip = kido.EndEffector(b, "tip", at(1.0))
    ik = InverseKinematics(tip, error_method=PositionError(), gradient_method=Mirror())
    skeleton.positions = (0.2, 1.0)
    ik.target.world_transform = at(1.1, 0.7)
    assert ik.solve_and_apply().iterations <= 1
    assert np.abs(tip.world_transform[:2, 3] - (1.1, 0.7)).max() < 1e-12
    assert skeleton.positions[1] > 0.0
    skeleton.dof(1).position_lower_limit = 2.0
    assert [s.validity for s in ik.gradient_method.solutions()] == [Validity.LIMIT_VIOLATED] * 2
    ik.target.world_transform = at(3.0)
    both = Validity.OUT_OF_REACH | Validity.LIMIT_VIOLATED
    assert all(s.validity == both for s in ik.gradient_method.solutions())


# Extra coordinates ------------------------------------------------------------------------------------------------


def lift_and_arm():
    skeleton = kido.Skeleton("lift")
    lift = skeleton.add_body("lift", kido.PrismaticJoint("lift", (0, 0, 1)))
    tip = add_arm(skeleton, PUMA_560, parent=lift)
    skeleton.positions = [0.0, 0.3, -0.5, 0.4, 0.2, 0.9, 0.1]
    return skeleton, tip


@pytest.mark.parametrize("use", ExtraDofUtilization)
def test_extra_coordinates(use):
    """A lift below a PUMA, for targets in the arm's reach and beyond."""
    skeleton, tip = lift_and_arm()
    method = AnalyticalChain(extra_dof_utilization=use)
    ik = InverseKinematics(tip, dofs="body", gradient_method=method)
    assert [d.name for d in method.dofs] == [f"arm{k}" for k in range(1, 7)]
    start = skeleton.positions
    X = tip.world_transform
    near, far = X @ at(0.02, 0.03, 0.01), at(z=1.5) @ X
    for target, reachable in ((near, True), (far, False)):
        skeleton.positions = start
        ik.target.world_transform = target
        g = ik.compute_gradient()
        before = use in (ExtraDofUtilization.PRE_ANALYTICAL, ExtraDofUtilization.PRE_AND_POST_ANALYTICAL)
        after = use in (ExtraDofUtilization.POST_ANALYTICAL, ExtraDofUtilization.PRE_AND_POST_ANALYTICAL)
        moves = before or (after and not reachable)
        assert (abs(g[0]) > 1e-9) == moves
        result = ik.find_solution()
        assert result.converged == (reachable or use is not ExtraDofUtilization.UNUSED)
        skeleton.positions = skeleton.integrate_positions(start, -g)
        left = np.abs(ik.compute_error()).max()
        assert left < 1e-10 if reachable else left < 1.6


@pytest.mark.parametrize("use", ["post-analytical", "pre- and post-analytical"])
def test_an_arm_on_a_rail_retries_other_branches(use):
    """Within short limits and at any place of the rail: poses that are known to be reached are, most in one step."""
    skeleton = kido.load("arm7")
    skeleton.body("base").change_parent_joint_type(kido.PrismaticJoint, axis=(1, 0, 0))
    rail = skeleton.dof(0)
    rail.position_lower_limit, rail.position_upper_limit = -1.5, 1.5
    hand = skeleton.body("hand")
    ik = InverseKinematics(hand, dofs="body", gradient_method=AnalyticalChain(extra_dof_utilization=use))
    limits = np.array([(d.position_lower_limit, d.position_upper_limit) for d in skeleton.dofs])
    rng, steps = np.random.default_rng(0), []
    for _ in range(40):
        skeleton.positions = rng.uniform(*limits.T)
        ik.target.world_transform = X = hand.world_transform
        skeleton.positions = start = rng.uniform(*(0.5 * limits).T)
        result = ik.find_solution()
        assert result, result.reason
        assert np.array_equal(skeleton.positions, start)
        assert (result.positions >= limits[:, 0] - 1e-9).all() and (result.positions <= limits[:, 1] + 1e-9).all()
        assert np.abs(kido.quantities.world_transform(skeleton, result.positions, hand) - X).max() < 3e-6
        steps.append(result.iterations)
    assert np.median(steps) == 1
    skeleton.positions = [0.0, 0.1, 0.5, 0.0, -1.2, 0.0, 0.8, 0.0]
    ik.target.world_transform = at(3.5) @ hand.world_transform  # beyond the rail's end, until this is longer
    assert not ik.find_solution()
    rail.position_upper_limit = 4.0
    assert ik.find_solution()


def test_extra_coordinates_that_are_not_the_tasks():
    """A method for coordinates that the task may not move is refused."""
    skeleton, tip = lift_and_arm()
    ik = InverseKinematics(tip, dofs=skeleton.dofs[3:])
    with pytest.raises(kido.ModelError, match=r"not among those of|too few"):
        ik.gradient_method = AnalyticalChain(dofs=skeleton.dofs[1:])
        ik.target.world_transform = tip.world_transform @ at(0.1)
        ik.compute_gradient()


# Redundant arms ---------------------------------------------------------------------------------------------------


def test_a_redundant_arm_keeps_its_swivel_angle_or_finds_another():
    """Within limits the angle stays; where it allows no solution, the search finds one that does."""
    skeleton, tip = arm_skeleton(IIWA_14, limit=np.radians(120.0))
    ik = InverseKinematics(tip, gradient_method=AnalyticalChain())
    method = ik.gradient_method
    rng = np.random.default_rng(5)
    limits = np.radians(120.0)
    kept = found = 0
    for q in rng.uniform(-limits, limits, (60, 7)):
        skeleton.positions = q
        X = tip.world_transform
        skeleton.positions = rng.uniform(-1.0, 1.0, 7)
        angle = method.solver.swivel_angle(skeleton.positions)
        best = method.solutions(X)[0]
        if best.is_valid:
            found += 1
            kept += abs(wrapped(method.solver.swivel_angle(best.positions) - angle)) < 1e-6
            assert np.abs(best.positions).max() <= limits
    assert found >= 58
    assert 0 < kept < found
    method.parameter = 0.4
    angles = [method.solver.swivel_angle(s.positions) for s in method.solutions(X)]
    assert np.abs(np.array(angles) - 0.4).max() < 1e-9


# Hierarchies ------------------------------------------------------------------------------------------------------


def two_arms():
    """Two arms on a free body."""
    skeleton = kido.Skeleton("two arms")
    base = skeleton.add_body("base", kido.FreeJoint("root"))
    left = add_arm(skeleton, UR5, "left", base, at(0, 0.3, 0.2))
    right = add_arm(skeleton, PUMA_560, "right", base, at(0, -0.3, 0.2))
    rng = np.random.default_rng(1)
    skeleton.positions = rng.uniform(-0.6, 0.6, 18)
    return skeleton, left, right


def test_a_body_whose_limbs_are_analytical_is_solved_in_one_iteration():
    """Two arms on one base, with targets far from where they are."""
    skeleton, left, right = two_arms()
    tasks = [InverseKinematics.on(tip, gradient_method=AnalyticalChain()) for tip in (left, right)]
    whole = WholeBodyIK(skeleton)
    start = skeleton.positions
    rng = np.random.default_rng(3)
    for _ in range(5):
        skeleton.positions = np.r_[start[:6], start[6:] + rng.uniform(-1.5, 1.5, 12)]
        for task in tasks:
            task.target.world_transform = task.node.world_transform
        skeleton.positions = start
        g = whole.compute_gradient()
        skeleton.positions = skeleton.integrate_positions(start, -g)
        assert all(np.abs(task.compute_error()).max() < 1e-10 for task in tasks)
        assert np.array_equal(skeleton.positions[:6], start[:6])
        skeleton.positions = start
        result = whole.solve_and_apply()
        assert result
        assert result.iterations <= 1


def test_analytical_and_iterative_tasks_mix():
    """One arm in closed form, the other by damped least squares, in one hierarchy."""
    skeleton, left, right = two_arms()
    start = skeleton.positions
    tasks = [InverseKinematics(left, gradient_method=AnalyticalChain()), InverseKinematics(right)]
    mixed = CompositeIK(skeleton, tasks)
    skeleton.positions = np.r_[start[:6], start[6:] + 0.3]
    for task in tasks:
        task.target.world_transform = task.node.world_transform
    skeleton.positions = start
    assert mixed.solve_and_apply()
    assert all(np.abs(task.compute_error()).max() < 1e-6 for task in tasks)


def test_copies():
    """The method goes with its task: clones, deep copies and pickles of the skeleton solve by themselves."""
    skeleton, tip = arm_skeleton(UR5)
    skeleton.positions = [0.1, -1.0, 1.2, -0.5, 1.0, 0.3]
    ik = InverseKinematics.on(tip, gradient_method=AnalyticalChain(dofs=[d.name for d in skeleton.dofs]))
    target = tip.world_transform @ at(0.05, 0.02, 0.01)
    ik.target.world_transform = target
    for twin in (skeleton.clone(), copy.deepcopy(skeleton), pickle.loads(pickle.dumps(skeleton))):
        other = twin.bodies[-1].get(InverseKinematics)
        assert other is not ik
        assert all(a in twin.dofs for a in other.gradient_method.dofs)
        assert other.solve_and_apply().iterations <= 1
        assert np.abs(twin.bodies[-1].world_transform - target).max() < 1e-10
    assert np.abs(tip.world_transform - target).max() > 0.01
    free = ik.gradient_method.clone()
    with pytest.raises(kido.ModelError, match="part of no"):
        free.solutions()


def test_planar_leg_of_a_skeleton():
    """Hip, knee and ankle are recognised."""
    skeleton = kido.Skeleton("leg")
    body = None
    for name, offset in (("hip", 0.0), ("knee", -0.4), ("ankle", -0.4)):
        joint = kido.RevoluteJoint(name, (0, 1, 0), transform_from_parent=at(z=offset))
        body = skeleton.add_body(f"{name} body", joint, body)
    ik = InverseKinematics(body, gradient_method=AnalyticalChain())
    assert isinstance(ik.gradient_method.solver, PlanarSolver)
    skeleton.positions = (0.3, 0.6, -0.3)
    ik.target.world_transform = at(0.1, 0, -0.6)
    assert ik.solve_and_apply().iterations <= 1


def test_a_first_step_that_solves_is_what_solvers_find():
    """A whole step of the closed form, without a solver: a solver of one's own makes the same."""
    skeleton, tip, ik = ur5_task()
    rng = np.random.default_rng(3)
    for _ in range(20):
        skeleton.positions = rng.uniform(-2.0, 2.0, 6)
        ik.target.world_transform = tip.world_transform
        skeleton.positions = start = rng.uniform(-2.0, 2.0, 6)
        direct = ik.find_solution()
        ik.solver = GradientDescentSolver(max_iterations=100)
        assert np.array_equal(skeleton.positions, start)
        solved = ik.find_solution()
        ik.solver = InverseKinematics(tip).solver
        assert direct and solved and direct.iterations == 1
        assert np.abs(direct.positions - solved.positions).max() < 1e-9
        skeleton.positions = direct.positions
        again = ik.find_solution()
        assert again and again.iterations == 0 and np.array_equal(again.positions, direct.positions)
