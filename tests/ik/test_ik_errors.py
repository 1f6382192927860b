"""Error methods: their values by definition, and their Jacobians against central differences on the manifold.

Differences: step 1e-5, so truncation about 1e-9 and rounding 1e-10; tolerance 1e-7 of errors of order one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numpy import inf
from scipy.spatial.transform import Rotation

import kido
from kido.errors import ModelError
from kido.ik import (
    BalanceError,
    BalanceObjective,
    CenterOfMassError,
    ErrorMethod,
    InverseKinematics,
    LookAtError,
    OrientationError,
    PlaneError,
    PositionError,
    RelativePoseError,
    TaskSpaceRegion,
)

SOLE = np.array([[0.1, 0.04, 0.0], [0.1, -0.04, 0.0], [-0.06, -0.04, 0.0], [-0.06, 0.04, 0.0]])


def along_positions(function: Callable, robot: kido.Skeleton, q: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """d function(q) / dq by central differences on the manifold, the coordinate in the last axis."""
    ends = [[function(robot.integrate_positions(q, s * e)) for s in (h, -h)] for e in np.eye(len(q))]
    return np.stack([(a - b) / (2.0 * h) for a, b in ends], axis=-1)


@cache
def loaded() -> kido.Skeleton:
    return kido.load(kido.models.path("humanoid"))


def humanoid(seed: int, share: float = 0.5) -> kido.Skeleton:
    """Ours in a random pose, standing on both soles."""
    robot = loaded().clone()
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1.0, 1.0, robot.num_dofs)
    for k, dof in enumerate(robot.dofs):
        if np.isfinite(dof.position_lower_limit):
            q[k] = share * rng.uniform(dof.position_lower_limit, dof.position_upper_limit)
    robot.positions = q
    for side in ("left", "right"):
        sole = robot.body(f"{side}_foot").create_node(kido.EndEffector, f"{side}_sole", (0.02, 0.0, -0.05))
        sole.create(kido.Support, SOLE, active=True)
    return robot


def random_pose(rng: np.random.Generator) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
    return X


def on_torso(robot: kido.Skeleton, name: str = "on torso") -> kido.SimpleFrame:
    return kido.SimpleFrame(robot.body("chest"), name, random_pose(np.random.default_rng(5)))


METHODS = {
    "pose": lambda r: TaskSpaceRegion(),
    "pose, weights": lambda r: TaskSpaceRegion(error_weights=(0.4, 0.5, 0.6, 1.0, 2.0, 3.0)),
    "flat": lambda r: TaskSpaceRegion((0.0, 0.0, inf), (inf, inf, 0.0)),
    "sphere": lambda r: TaskSpaceRegion(inf, 0.0),
    "box": lambda r: TaskSpaceRegion((0.1, 0.2, 0.3), ((-0.1, 0.0, -inf), (0.1, inf, 0.2))),
    "box, border": lambda r: TaskSpaceRegion(0.1, 0.2, error_from_center=False),
    "in axes of the world": lambda r: TaskSpaceRegion(reference_frame=kido.WORLD_FRAME),
    "in axes of a body": lambda r: TaskSpaceRegion(reference_frame=r.body("head")),
    "in axes of a body, euler": lambda r: TaskSpaceRegion((0.0, inf, 0.0), 0.0, reference_frame=r.body("head")),
    "position": lambda r: PositionError(),
    "orientation": lambda r: OrientationError(),
    "plane": lambda r: PlaneError(),
    "plane, flat": lambda r: PlaneError(flat=True, heights=(0.1, 0.2)),
    "look at": lambda r: LookAtError((1.0, 0.2, 0.0)),
    "look at, cone": lambda r: LookAtError((1.0, 0.2, 0.0), cone=0.05, error_from_center=False),
    "centre of mass": lambda r: CenterOfMassError(),
    "centre of mass of an arm": lambda r: CenterOfMassError((0.0, 0.0, inf), r.body("left_shoulder").subtree),
    "relative to a hand": lambda r: RelativePoseError(r.body("right_hand"), (0.1, 0.2, 0.3)),
    "balance": lambda r: BalanceError(),
    "balance, margin": lambda r: BalanceError(margin=0.02),
    "balance, centre": lambda r: BalanceError(margin=0.02, to_center=True),
}  # fmt: skip
TARGETS = {"in the world": lambda r: None, "on the torso": on_torso}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("method", METHODS)
def test_jacobian_is_that_of_differences(method: str, target: str) -> None:
    robot = humanoid(1)
    ik = InverseKinematics(robot.body("left_hand"), "all")
    frame = TARGETS[target](robot)
    ik.target = frame if frame is not None else kido.SimpleFrame(None, "", random_pose(np.random.default_rng(6)))
    ik.offset = random_pose(np.random.default_rng(7))
    ik.error_method = METHODS[method](robot)
    q = robot.positions

    def error(at: np.ndarray) -> np.ndarray:
        with ik.posed(at):
            return ik.compute_error()

    J = ik.compute_jacobian()
    assert np.abs(ik.compute_error()).max() > 1e-3
    assert np.abs(J - along_positions(error, robot, q)).max() < 1e-7
    assert np.abs(J - ErrorMethod.compute_jacobian(ik.error_method)).max() < 1e-6  # what a user's own would have
    assert (robot.positions == q).all()
    arm = InverseKinematics(robot.body("left_hand"), ["left_elbow", "waist_yaw"], target=ik.target)
    arm.offset = ik.offset
    arm.error_method = ik.error_method.clone(arm)
    assert np.allclose(
        arm.compute_jacobian(),
        J[:, arm.dof_indices],
        atol=1e-12,
    )


def test_balance_objective_is_half_the_squared_distance_from_the_centroid() -> None:
    robot = humanoid(2)
    ik = InverseKinematics(robot.body("pelvis"), "all")
    balance, q = BalanceObjective(ik), robot.positions
    gap = robot.com[:2] - robot.support_centroid()
    assert balance.evaluate(q) == pytest.approx(0.5 * gap @ gap, abs=1e-15)
    assert np.abs(balance.gradient(q) - along_positions(lambda x: np.array(balance.evaluate(x)), robot, q)).max() < 1e-8


def test_balance_error_vanishes_inside_and_keeps_its_margin() -> None:
    robot = humanoid(3)
    ik = InverseKinematics(robot.body("pelvis"), "all", BalanceError(margin=0.01))
    foot = robot.body("left_foot")
    outside = ik.compute_error()
    assert np.linalg.norm(outside) > 0.05 and abs(outside[5]) < 1e-15 and not outside[:3].any()
    # The error is what the centre of mass has to move to lie a margin inside: over a polygon moved by it, it does.
    for node in robot.nodes(kido.EndEffector):
        node.get(kido.Support).active = False
    sole = foot.create_node(kido.EndEffector, "stage")
    X = np.eye(4)
    X[:3, 3] = robot.com
    square = np.array([[0.1, 0.1, 0], [-0.1, 0.1, 0], [-0.1, -0.1, 0], [0.1, -0.1, 0]])
    sole.relative_transform = np.linalg.inv(foot.world_transform) @ X
    support = sole.create(kido.Support, square, active=True)
    assert not ik.compute_error().any()
    margins, _ = ik.error_method.compute_margins()
    assert np.allclose(margins, 0.09, atol=1e-12)
    support.geometry = square + (0.15, 0.02, 0.0)
    assert np.allclose(ik.compute_error()[3:], (-0.06, 0.0, 0.0), atol=1e-12)
    support.geometry = square + (0.095, 0.02, 0.0)  # inside, but less than the margin
    assert np.allclose(ik.compute_error()[3:], (-0.005, 0.0, 0.0), atol=1e-12)
    support.active = False
    with pytest.raises(ModelError, match="nothing supports it"):
        ik.compute_error()


def test_three_manifolds_of_the_report() -> None:
    """Figure 3: all of the pose, flat on a plane, touching a sphere."""
    robot = humanoid(4)
    body = robot.body("left_hand")
    ik = InverseKinematics(body)
    X = ik.target.world_transform
    assert not ik.compute_error().any() and ik.error_method.is_satisfied
    turned, moved = X.copy(), X.copy()
    turned[:3, :3] = (
        X[:3, :3] @ Rotation.from_rotvec((0.1, 0.2, 0.3)).as_matrix().T
    )  # R_TB = exp(v): R_WT = R_WB R_TB^T
    ik.target.world_transform = turned
    assert np.allclose(ik.compute_error(), (0.1, 0.2, 0.3, 0, 0, 0), atol=1e-12)
    moved[:3, 3] -= X[:3, :3] @ (0.01, 0.02, 0.03)
    ik.target.world_transform = moved
    assert np.allclose(ik.compute_error(), (0, 0, 0, 0.01, 0.02, 0.03), atol=1e-12)
    # Flat feet: height and tilt count, place and heading do not.
    ik.error_method = TaskSpaceRegion((0.0, 0.0, inf), (inf, inf, 0.0))
    ik.target.world_transform = X @ transform(Rotation.from_rotvec((0, 0, 2.0)), (3.0, -2.0, 0.0))
    assert np.abs(ik.compute_error()).max() < 1e-12
    ik.target.world_transform = X @ transform(Rotation.from_rotvec((0, 0, 2.0)), (3.0, -2.0, 0.2))
    assert np.allclose(ik.compute_error(), (0, 0, 0, 0, 0, -0.2), atol=1e-12)
    tilt = Rotation.from_rotvec((0.3, 0.0, 0.0)) * Rotation.from_rotvec((0.0, 0.0, 1.0))
    ik.target.world_transform = X @ np.linalg.inv(transform(tilt, (0.0, 0.0, 0.0)))
    assert np.allclose(ik.compute_error(), (0.3, 0, 0, 0, 0, 0), atol=1e-12)
    # Sphere: a point at its radius from the hand, turned as it likes.
    ik.error_method = TaskSpaceRegion(inf, 0.0)
    ik.offset = (0.0, 0.0, 0.05)
    centre = X @ (0.0, 0.0, 0.05, 1.0)
    ik.target.world_transform = transform(Rotation.from_rotvec((1.0, 2.0, 3.0)), centre[:3])
    assert np.abs(ik.compute_error()).max() < 1e-12


def transform(rotation: Rotation, translation) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = rotation.as_matrix(), translation
    return X


def test_bounds_weights_and_where_errors_are_measured_from() -> None:
    robot = humanoid(5)
    ik = InverseKinematics(robot.body("left_hand"))
    X = ik.target.world_transform
    ik.target.world_transform = X @ transform(Rotation.identity(), (-0.3, 0.05, 0.0))  # d = (0.3, -0.05, 0)
    region = TaskSpaceRegion(inf, ((-0.1, -0.1, -inf), (0.2, inf, 1.0)), error_weights=(1, 1, 1, 2, 3, 4))
    ik.error_method = region
    assert np.allclose(ik.compute_error()[3:], (2 * (0.3 - 0.05), 0.0, 0.0), atol=1e-12)  # from the middle
    region.error_from_center = False
    assert np.allclose(ik.compute_error()[3:], (2 * (0.3 - 0.2), 0.0, 0.0), atol=1e-12)  # from the bound
    region.error_from_center, region.linear_bounds = True, ((-inf, 0.0, -0.5), (0.1, inf, inf))
    assert np.allclose(ik.compute_error()[3:], (2 * 0.2, -3 * 0.05, 0.0), atol=1e-12)  # one-sided ones from the bound
    m, M = region.compute_margins()
    assert np.allclose(m, [0.5], atol=1e-12) and M.shape == (1, len(ik.dofs))


@pytest.mark.parametrize("method", ["pose", "flat", "box", "in axes of the world", "in axes of a body", "position"])
def test_desired_transform_takes_the_error_away(method: str) -> None:
    robot = humanoid(6)
    ik = InverseKinematics(robot.body("left_hand"), "all")
    rng = np.random.default_rng(1)
    ik.target.world_transform, ik.offset = random_pose(rng), random_pose(rng)
    ik.error_method = METHODS[method](robot)
    error = ik.compute_error()
    desired = ik.error_method.compute_desired_transform()
    given = ik.error_method.compute_desired_transform(robot.body("left_hand").world_transform, error)
    assert np.allclose(desired, given, atol=1e-12)
    # The hand's error there: put the whole robot so that the hand has that pose, with the target where it is.
    if method != "in axes of a body":
        hand = robot.body("left_hand").world_transform
        pelvis = robot.body("pelvis").world_transform
        new = desired @ np.linalg.inv(hand) @ pelvis
        shift = transform(Rotation.identity(), (0.0, 0.0, 0.96))  # of the joint's frame
        placed = np.linalg.inv(shift) @ new
        robot.dof(0).joint.positions = np.concatenate([Rotation.from_matrix(placed[:3, :3]).as_rotvec(), placed[:3, 3]])
        assert np.allclose(robot.body("left_hand").world_transform, desired, atol=1e-9)
        assert np.abs(ik.compute_error()).max() < 1e-9


def test_look_at_the_opposite_way_and_from_the_target_itself() -> None:
    robot = humanoid(7)
    head = robot.body("head")
    ik = InverseKinematics(head, error_method=LookAtError((1.0, 0.0, 0.0)))
    X = head.world_transform
    ik.target.relative_translation = (X @ (-2.0, 0.0, 0.0, 1.0))[:3]
    assert np.linalg.norm(ik.compute_error()) == pytest.approx(np.pi, abs=1e-6)
    ik.target.relative_translation = (X @ (2.0, 0.0, 0.0, 1.0))[:3]
    assert np.linalg.norm(ik.compute_error()) < 1e-12
    ik.target.relative_translation = X[:3, 3]
    assert not ik.compute_error().any() and np.isfinite(ik.compute_jacobian()).all()


def test_wrong_settings_are_refused() -> None:
    robot = humanoid(8)
    ik = InverseKinematics(robot.body("left_hand"))
    for value in ("x", (1, 2, 3, 4), np.nan, ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0)), -1.0, ((inf,) * 3, (inf,) * 3)):
        with pytest.raises(ModelError, match="linear_bounds: expected"):
            ik.error_method.linear_bounds = value
    for value in (0.0, -1.0, (1, 2), "x", inf):
        with pytest.raises(ModelError, match="error_weights"):
            ik.error_method.error_weights = value
    with pytest.raises(ModelError, match="reference_frame"):
        ik.error_method.reference_frame = "pelvis"
    with pytest.raises(ModelError, match="cone"):
        LookAtError(cone=4.0)
    with pytest.raises(ModelError, match="axis"):
        LookAtError((0.0, 0.0, 0.0))
    with pytest.raises(ModelError, match="part of no InverseKinematics"):
        TaskSpaceRegion().compute_error()
    with pytest.raises(ModelError, match="part of InverseKinematics"):
        InverseKinematics(robot.body("right_hand")).error_method = ik.error_method
    with pytest.raises(ModelError, match="expected an ErrorMethod"):
        ik.error_method = TaskSpaceRegion

    class Short(ErrorMethod):
        def compute_error(self):
            return np.zeros(3)

    ik.error_method = Short()
    with pytest.raises(ModelError, match="Short: compute_error: expected six finite numbers"):
        ik.compute_error()
