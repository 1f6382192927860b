"""Steps of pink with the same errors, gains and limits: the same velocities."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from benchmarks.robots import CASES
from kido.ik import DifferentialIK, Task
from kido.layouts import PinocchioLayout

pin = pytest.importorskip("pinocchio")
pink = pytest.importorskip("pink")
pytest.importorskip("daqp")

H = 1e-3
ROBOTS = {robot.name: robot for robot in CASES}


class PoseTask(pink.tasks.Task):
    """Our displacement in pink's terms: log of the rotation and translation apart, by Pinocchio's functions."""

    def __init__(self, frame, target, cost, gain):
        super().__init__(cost=cost, gain=gain, lm_damping=0.0)
        self.frame, self.target = frame, target

    def __repr__(self):
        return f"PoseTask({self.frame})"

    def compute_error(self, configuration):
        X = self.target.actInv(configuration.get_transform_frame_to_world(self.frame))
        return -np.r_[pin.log3(X.rotation), X.translation]

    def compute_jacobian(self, configuration):
        X = self.target.actInv(configuration.get_transform_frame_to_world(self.frame))
        J = configuration.get_frame_jacobian(self.frame)
        return -np.concatenate([pin.Jlog3(X.rotation) @ J[3:], X.rotation @ J[:3]])


def both(name):
    """A robot in both programs, and the layout between them."""
    text = ROBOTS[name].urdf()
    skeleton = kido.load(text)
    model = pin.buildModelFromXML(text)
    return skeleton, model, PinocchioLayout(skeleton, model)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["ur5", "talos"])
def test_steps_are_those_of_pink(name: str, seed: int) -> None:
    skeleton, model, layout = both(name)
    rng = np.random.default_rng(seed)
    q = pin.neutral(model)
    low, high = np.maximum(model.lowerPositionLimit, -2.0), np.minimum(model.upperPositionLimit, 2.0)
    middle = 0.5 * (low + high) + 0.45 * (high - low) * rng.uniform(-1, 1, model.nq)
    start = 7 if name == "talos" else 0
    q[start:] = middle[start:]
    if start:
        q[:7] = np.r_[rng.normal(size=3), 0.5, 0.5, -0.5, 0.5]
    skeleton.positions = layout.our_positions(q)
    frames = {"ur5": ["tool0"], "talos": ["left_sole_link", "right_sole_link", "gripper_left_base_link"]}[name]
    configuration = pink.Configuration(model, model.createData(), q)
    theirs, ours = [], []
    for frame in frames:
        target = configuration.get_transform_frame_to_world(frame) * pin.exp6(0.05 * rng.normal(size=6))
        theirs.append(PoseTask(frame, target, 2.0, 0.01))
        ours.append(Task.pose(skeleton.body(frame), target.homogeneous, weights=2.0, gain=0.01 / H))
    if start:
        com = pin.centerOfMass(model, configuration.data, q) + 0.02 * rng.normal(size=3)
        task = pink.tasks.ComTask(cost=1.5, gain=0.02)
        task.set_target(com)
        theirs.append(task)
        X = np.eye(4)
        X[:3, 3] = com
        ours.append(Task.com(X, weights=1.5, gain=0.02 / H))
    posture = pink.tasks.PostureTask(cost=0.1, gain=0.05)
    rest = q.copy()
    rest[start:] += 0.1 * rng.normal(size=model.nq - start)
    posture.set_target(rest)
    theirs.append(posture)
    ours.append(Task.posture(layout.our_positions(rest), weights=0.1, gain=0.05 / H))
    damping = 1e-8
    expected = pink.solve_ik(configuration, theirs, H, solver="daqp", damping=damping, primal_tol=1e-11)
    ik = DifferentialIK(skeleton, ours, damping=damping, least_singular_value=0.0)
    u = ik.velocities(H)
    expected = layout.our_velocities(skeleton.positions, expected)
    # Limits act, or programs would not be compared. daqp's steps are good to 1e-8, and divided by dt.
    np.testing.assert_allclose(u, expected, atol=1e-5 * max(1.0, np.abs(expected).max()))
    assert (np.abs(u) > 0.0).any()
