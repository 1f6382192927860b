"""Hierarchies: priorities at the level of velocities and of positions, superposition, travel, figure 6 of the report.

Velocities: the projector is undamped, so what lower levels add changes higher errors by rounding alone (1e-9 of changes
of order one).
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import kido
from kido.errors import KidoError, ModelError, NameLookupError
from kido.ik import (
    CompositeIK,
    DampedLeastSquares,
    ErrorMethod,
    GradientMethod,
    HierarchicalIK,
    InverseKinematics,
    JacobianPseudoinverse,
    LevenbergMarquardt,
    LookAtError,
    OrientationError,
    PositionError,
    RelativePoseError,
    SelectivelyDampedLeastSquares,
    TaskSpaceRegion,
    WholeBodyIK,
)
from whole_bodies import own_humanoid, standing


@pytest.fixture()
def robot() -> kido.Skeleton:
    return own_humanoid()


def figure_six(robot: kido.Skeleton) -> WholeBodyIK:
    """Two hands on level 0, two feet on level 1, a camera on the head on level 2."""
    for side, y in (("left", 0.15), ("right", -0.15)):
        hand = InverseKinematics.on(robot.node(f"{side}_grip"), dofs="body", gradient_method=LevenbergMarquardt())
        hand.target.relative_translation = (0.35, y, 0.85)
        foot = InverseKinematics.on(robot.node(f"{side}_sole"), dofs="body", gradient_method=LevenbergMarquardt())
        foot.priority = 1
    camera = robot.body("head").create_node(kido.EndEffector, "camera", (0.09, 0.0, 0.05))
    look = InverseKinematics.on(camera, dofs="body", gradient_method=LevenbergMarquardt())
    look.error_method, look.priority = LookAtError((1.0, 0.0, 0.0)), 2
    look.target.relative_translation = (0.6, 0.0, 0.6)
    return WholeBodyIK(robot)


def test_figure_six(robot: kido.Skeleton) -> None:
    body = figure_six(robot)
    assert [len(level) for level in body.levels] == [2, 2, 1]
    result = body.solve_and_apply()
    assert result, result.reason
    for level in body.levels:
        for ik in level:
            assert ik.error_method.is_satisfied
    camera = robot.node("camera").world_transform
    ray = np.array((0.6, 0.0, 0.6)) - camera[:3, 3]
    assert np.linalg.norm(np.cross(ray / np.linalg.norm(ray), camera[:3, 0])) < 2e-6


@pytest.mark.parametrize("method", [DampedLeastSquares, LevenbergMarquardt, SelectivelyDampedLeastSquares])
def test_lower_levels_never_disturb_higher_ones(robot: kido.Skeleton, method: type) -> None:
    """At the level of velocities: J_high N = 0, and what all levels do to the highest is what it does alone."""
    body = figure_six(robot)
    rng = np.random.default_rng(1)
    for dof in robot.dofs[6:]:  # no limits: those would be held for all levels at once
        dof.position_lower_limit, dof.position_upper_limit = -np.inf, np.inf
    q = robot.positions
    for _ in range(5):
        robot.positions = robot.integrate_positions(q, rng.uniform(-0.3, 0.3, len(q)))
        J = []
        for level in body.levels:
            for ik in level:
                ik.gradient_method = method()
                J.append(ik.compute_jacobian())
        N, ordered = body.compute_null_spaces(), [ik for level in body.levels for ik in level]
        for k, upto in ((1, 2), (2, 4), (3, 5)):
            above = np.concatenate(
                [
                    _in_all(
                        robot,
                        ik,
                        ik.compute_jacobian(),
                    )
                    for ik in ordered[:upto]
                ]
            )
            assert np.abs(above @ N[k]).max() < 1e-9
            assert np.allclose(N[k] @ N[k], N[k], atol=1e-12) and np.allclose(N[k], N[k].T, atol=1e-12)
        g = body.compute_gradient()
        hands = np.concatenate(
            [
                _in_all(
                    robot,
                    ik,
                    ik.compute_jacobian(),
                )
                for ik in body.levels[0]
            ]
        )
        feet = np.concatenate(
            [
                _in_all(
                    robot,
                    ik,
                    ik.compute_jacobian(),
                )
                for ik in body.levels[1]
            ]
        )
        for ik in body.levels[2]:
            ik.active = False
        two = body.compute_gradient()
        lowest = body.levels[1]
        for ik in lowest:
            ik.active = False
        one = body.compute_gradient()
        for ik in body.modules:
            ik.active = True
        assert np.abs(g - two).max() > 1e-3 and np.abs(two - one).max() > 1e-3
        assert np.abs(hands @ (g - one)).max() < 1e-9
        assert np.abs(feet @ (g - two)).max() < 1e-9


def _in_all(robot: kido.Skeleton, ik: InverseKinematics, J: np.ndarray) -> np.ndarray:
    whole = np.zeros((6, robot.num_dofs))
    whole[:, ik.dof_indices] = J
    return whole


def weighted_levels(robot: kido.Skeleton, weights: np.ndarray) -> tuple[CompositeIK, InverseKinematics]:
    """A foot on level 0, and on level 1 a hand that moves its chain and the waist by weights."""
    foot = InverseKinematics(robot.node("left_sole"), dofs="body")
    hand = InverseKinematics(robot.node("left_grip"), dofs="body", error_method=PositionError())
    hand.target.relative_translation = robot.node("left_grip").world_transform[:3, 3] + (0.02, 0.03, 0.01)
    foot.gradient_method = JacobianPseudoinverse()
    hand.gradient_method = JacobianPseudoinverse(component_weights=weights)
    hand.priority = 1
    return CompositeIK(robot, [foot, hand]), hand


def test_component_weights_of_lower_levels(robot: kido.Skeleton) -> None:
    """The least sum of (g / w)^2 of what meets both levels, by the KKT conditions; without weight nothing moves."""
    n = len(InverseKinematics(robot.node("left_grip"), dofs="body").dof_indices)
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.2, 2.0, n)
    weights[[6, n - 1]] = 0.0
    whole, hand = weighted_levels(robot, weights)
    g = whole.compute_gradient()
    foot = whole.modules[0]
    rows = []
    for ik in (foot, hand):
        J = np.zeros((6, robot.num_dofs))
        J[:, ik.dof_indices] = ik.compute_jacobian()
        rows.append(J[ik.error_method.used])
    everything = np.concatenate(rows)
    e = np.r_[foot.compute_error()[foot.error_method.used], hand.compute_error()[hand.error_method.used]]
    np.testing.assert_allclose(everything @ g, e, atol=1e-12)  # of sizes 0.03: rounding
    w = np.ones(robot.num_dofs)
    w[hand.dof_indices] = weights
    free = w > 0.0
    assert not g[~free].any() and np.abs(g).max() < 0.3  # no step was shortened
    slack = np.linalg.svd(everything[:, free])[2][np.linalg.matrix_rank(everything[:, free]) :]
    np.testing.assert_allclose(slack @ (g[free] / w[free] ** 2), 0.0, atol=1e-10)


def test_component_weights_of_a_whole_solve(robot: kido.Skeleton) -> None:
    """Coordinates without weight stay, those of ones are those without weights, and wrong numbers are named."""
    names = [dof.name for dof in InverseKinematics(robot.node("left_grip"), dofs="body").dofs]
    weights = np.ones(len(names))
    plain = weighted_levels(robot, weights)[0].compute_gradient()
    whole, hand = weighted_levels(robot, weights)
    hand.gradient_method = JacobianPseudoinverse()
    np.testing.assert_allclose(whole.compute_gradient(), plain, atol=1e-12)
    weights[names.index("left_elbow")] = 0.0
    whole, hand = weighted_levels(robot, weights)
    before = robot.dof("left_elbow").position
    assert whole.solve_and_apply()
    assert robot.dof("left_elbow").position == before
    assert np.abs(hand.compute_error()).max() < 1e-6
    hand.gradient_method = DampedLeastSquares(component_weights=[1.0, 1.0])
    with pytest.raises(ModelError, match=f"component_weights: expected {len(names)} numbers, got 2"):
        whole.compute_gradient()


def test_the_abstract_hierarchy_names_those_to_use(robot: kido.Skeleton) -> None:
    class Mine(HierarchicalIK):
        """Says nothing."""

    for kind in (HierarchicalIK, Mine):
        with pytest.raises(ModelError, match=rf"{kind.__name__} is abstract: .*CompositeIK.*WholeBodyIK"):
            kind(robot)

    class Head(HierarchicalIK):
        @property
        def modules(self) -> tuple[InverseKinematics, ...]:
            return (task,)

    task = InverseKinematics(robot.body("head"))
    assert Head(robot).levels == ((task,),)


def test_a_level_that_cannot_be_met_leaves_the_higher_ones_exact(robot: kido.Skeleton) -> None:
    body = figure_six(robot)
    hands, feet, _ = body.levels
    for ik in hands:  # a window that the feet cannot stand below
        ik.target.relative_translation = ik.target.relative_translation + (0.0, 0.0, 2.0)
    result = body.solve_and_apply(allow_incomplete_result=True)
    assert not result and "sole" in result.reason
    assert all(ik.error_method.is_satisfied for ik in hands)
    assert min(np.abs(ik.compute_error()).max() for ik in feet) > 0.1
    with pytest.raises(ModelError, match="priority"):
        hands[0].priority = -1


def test_superposition_within_a_level(robot: kido.Skeleton) -> None:
    """Equal methods are solved as one least-squares problem; different ones are added."""
    hands = [InverseKinematics(robot.node(f"{s}_grip"), "body", PositionError()) for s in ("left", "right")]
    for ik, move in zip(hands, ((0.01, 0.0, 0.0), (0.0, 0.01, 0.02))):
        ik.target.relative_translation = ik.target.relative_translation + move
    both = CompositeIK(robot, hands)
    J = np.concatenate(
        [
            _in_all(
                robot,
                ik,
                ik.compute_jacobian(),
            )
            for ik in hands
        ]
    )
    e = np.concatenate([ik.compute_error() for ik in hands])
    expected = J.T @ np.linalg.solve(J @ J.T + 0.05**2 * np.eye(12), e)
    assert np.abs(both.compute_gradient() - expected).max() < 1e-12
    hands[1].gradient_method = LevenbergMarquardt()
    apart = []
    for ik in hands:
        whole = np.zeros(robot.num_dofs)
        whole[ik.dof_indices] = ik.compute_gradient()
        apart.append(whole)
    assert np.abs(both.compute_gradient() - sum(apart)).max() < 1e-12


def test_a_closed_form_and_an_iterative_method_in_one_hierarchy(robot: kido.Skeleton) -> None:
    """A closed form for the neck, which turns it right at once, beside an arm that iterates."""

    class Neck(GradientMethod):
        def compute_gradient(self, error):
            yaw = np.arctan2(*self.ik.target.world_transform[1::-1, 0])
            return self.ik.positions - np.array([yaw, 0.0])

    head = InverseKinematics(robot.body("head"), ["neck_yaw", "neck_pitch"], OrientationError(), Neck())
    turned = np.eye(4)
    turned[:2, :2] = [[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]]
    head.target.world_transform = turned
    alone = CompositeIK(robot, [head]).find_solution()
    assert alone and alone.iterations == 1
    arm = InverseKinematics(robot.node("left_grip"), "chain", PositionError())
    arm.priority = 1
    arm.target.relative_translation = arm.target.relative_translation + (0.1, 0.0, 0.1)
    both = CompositeIK(robot, [arm, head])
    result = both.solve_and_apply()
    assert result and robot.dof("neck_yaw").position == pytest.approx(0.4, abs=1e-9)


def test_targets_that_ride_on_the_robot_itself(robot: kido.Skeleton) -> None:
    """One hand on a box that the other one holds."""
    tasks = standing(robot)
    box = tasks["right_grip"]
    box.error_method = RelativePoseError(robot.node("left_grip"), (0.0, -0.25, 0.0), angular_bounds=np.inf)
    hand = tasks["left_grip"]
    hand.target.relative_translation = hand.target.relative_translation + (0.15, -0.05, 0.1)
    result = WholeBodyIK(robot).solve_and_apply()
    assert result, result.reason
    X = robot.node("right_grip").transform(robot.node("left_grip"))
    assert np.abs(X[:3, 3] - (0.0, -0.25, 0.0)).max() < 2e-6


@pytest.mark.parametrize("copied", [kido.Skeleton.clone, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_modules_travel_with_the_skeleton(robot: kido.Skeleton, copied: Callable) -> None:
    body = figure_six(robot)
    moving = kido.SimpleFrame(None, "table", (0.3, 0.0, 0.8))
    hand = robot.node("left_grip").get(InverseKinematics)
    hand.target.parent_frame = moving
    hand.target.relative_transform = (0.05, 0.15, 0.05)
    watch = robot.node("right_grip").get(InverseKinematics)
    watch.error_method = RelativePoseError(robot.node("left_grip"), (0.0, -0.3, 0.0), angular_bounds=np.inf)
    twin = copied(robot)
    theirs = WholeBodyIK(twin)
    assert [ik.node.name for ik in theirs.modules] == [ik.node.name for ik in body.modules]
    assert all(ik.skeleton is twin and ik.carrier is ik.node for ik in theirs.modules)
    for a, b in zip(body.modules, theirs.modules):
        assert np.array_equal(a.compute_error(), b.compute_error()) and a.priority == b.priority
    q = robot.positions
    result = theirs.solve_and_apply()
    assert result, result.reason
    assert np.array_equal(robot.positions, q)  # nothing of the copy refers to the original
    assert np.array_equal(body.find_solution().positions, result.positions)
    with pytest.raises(ModelError, match="attached to"):
        twin.node("left_grip").set(hand)


def test_clones_of_modules_and_hierarchies(robot: kido.Skeleton) -> None:
    body = figure_six(robot)
    twin = robot.clone()
    composite = CompositeIK(robot, body.modules[:2])
    for other in (body.clone(twin), composite.clone(twin)):
        assert all(ik.skeleton is twin for ik in other.modules) and len(other.modules) in (2, 5)
    hand = robot.node("left_grip").get(InverseKinematics)
    loose = hand.clone()
    assert loose.node is hand.node and loose.target is not hand.target and loose.error_method is not hand.error_method
    loose.target.relative_translation = (0.0, 0.0, 0.0)
    assert hand.target.relative_translation.any()
    swapped = hand.clone(robot.node("right_grip"))
    assert swapped.node is robot.node("right_grip") and swapped.error_method.ik is swapped
    region = TaskSpaceRegion((0.0, 0.0, np.inf), (np.inf, np.inf, 0.0))
    hand.error_method = region
    copy_of_region = region.clone(loose)
    assert copy_of_region.ik is loose and np.array_equal(copy_of_region.bounds, region.bounds)


def test_choice_of_coordinates(robot: kido.Skeleton) -> None:
    hand = robot.node("left_grip")
    names = lambda ik: [dof.name for dof in ik.dofs]  # noqa: E731
    chain = InverseKinematics(hand)
    assert names(chain)[0] == "left_shoulder_pitch" and len(chain.dofs) == 6
    assert len(InverseKinematics(hand, "body").dofs) == 6 + 3 + 6
    assert len(InverseKinematics(hand, "all").dofs) == robot.num_dofs
    some = InverseKinematics(hand, ["left_elbow", robot.dof("waist_yaw"), 3])
    assert names(some) == ["left_elbow", "waist_yaw", robot.dof(3).name]
    branch = kido.Branch(robot.body("left_shoulder"))
    assert names(InverseKinematics(hand, branch)) == [dof.name for dof in branch.dofs]
    for wrong, message in (
        ("arm", "expected 'chain'"),
        (["left_elbow", "left_elbow"], "listed twice"),
        (["nose"], "nose"),
        (3, "expected 'chain'"),
    ):
        with pytest.raises(KidoError, match=message):
            chain.dofs = wrong
    assert len(chain.dofs) == 6


def test_members_of_a_composite(robot: kido.Skeleton) -> None:
    ik, other = InverseKinematics(robot.body("head")), own_humanoid()
    composite = CompositeIK(robot, [ik])
    with pytest.raises(ModelError, match="already"):
        composite.add(ik)
    with pytest.raises(ModelError, match="of skeleton"):
        composite.add(InverseKinematics(other.body("head")))
    ik.active = False
    assert list(composite.levels) == [] and composite.find_solution()
    composite.remove(ik)
    with pytest.raises(NameLookupError):
        composite.remove(ik)
    with pytest.raises(ModelError, match="expected a skeleton"):
        WholeBodyIK(robot.body("head"))
    with pytest.raises(ModelError, match="SimpleFrame"):
        ik.target = robot.body("head")


def test_own_error_method_runs_anywhere(robot: kido.Skeleton) -> None:
    """A paraboloid z = x^2 + y^2 of the target's axes: only an error is written."""

    class Paraboloid(ErrorMethod):
        def compute_error(self):
            x, y, z = self.ik.node.transform(self.ik.target)[:3, 3]
            return np.array([0.0, 0.0, 0.0, 0.0, 0.0, z - x * x - y * y])

    hand = robot.node("left_grip")
    ik = InverseKinematics(hand, error_method=Paraboloid())
    ik.target.relative_transform = np.eye(4)
    ik.target.relative_translation = (0.2, 0.2, 0.9)
    result = ik.solve_and_apply()
    assert result, result.reason
    x, y, z = hand.transform(ik.target)[:3, 3]
    assert abs(z - x * x - y * y) < 1e-6
    both = CompositeIK(robot, [ik])
    ik.target.relative_translation = (0.2, 0.2, 0.8)
    assert both.solve_and_apply()


def test_targets_on_other_skeletons_and_edits_of_structure() -> None:
    """Copies keep the ball's frame, unless a world with both is copied; what is cut off the arm keeps its task."""
    arm, ball = kido.load(kido.models.path("arm7")), kido.Skeleton("ball")
    arm.positions = [0.1, 0.5, 0.0, -1.2, 0.0, 0.8, 0.0]
    body = ball.add_body("ball", inertia=kido.Inertia.from_diagonal(1.0, [1.0, 1.0, 1.0]))
    ik = InverseKinematics.on(arm.body("hand"), error_method=PositionError())
    ik.target.parent_frame, ik.target.relative_transform = body, np.eye(4)
    ball.positions = [0.0, 0.0, 0.0, 0.4, 0.1, 0.5]
    assert ik.solve_and_apply()
    assert np.abs(arm.body("hand").world_transform[:3, 3] - (0.4, 0.1, 0.5)).max() < 2e-6
    saved = arm.saved_state
    arm.saved_state = saved
    twin = arm.clone().body("hand").get(InverseKinematics)
    assert twin.target.parent_frame is body
    world = kido.World()
    world.add_skeleton(arm)
    world.add_skeleton(ball)
    copied = world.clone()
    theirs = copied.skeleton(arm.name).body("hand").get(InverseKinematics)
    assert theirs.target.parent_frame is copied.skeleton("ball").body("ball")
    part = twin.node.parent.parent.remove()
    assert twin.skeleton is part and len(twin.dofs) == part.num_dofs == 3
    assert not twin.find_solution()
