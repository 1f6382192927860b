"""Error methods: their values by definition, and their Jacobians against central differences on the manifold.

Differences: step 1e-5, so truncation about 1e-9 and rounding 1e-10; tolerance 1e-7 of errors of order one.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy import inf
from scipy.spatial.transform import Rotation

import kido
from kido.ik import (
    BalanceError,
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
from manifold import along_positions

SOLE = np.array([[0.1, 0.04, 0.0], [0.1, -0.04, 0.0], [-0.06, -0.04, 0.0], [-0.06, 0.04, 0.0]])


def humanoid(seed: int, share: float = 0.5) -> kido.Skeleton:
    """Ours in a random pose, standing on both soles."""
    robot = kido.load(kido.models.path("humanoid"))
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
    assert np.allclose(arm.compute_jacobian(), J[:, arm.dof_indices], atol=1e-12)
