"""Second derivatives of dynamics against differences of first ones, and identities."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.gradients import SecondDerivatives
from manifold import along_positions, along_vector

ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
}
# Central differences of first derivatives: truncation 1e-10 and rounding 1e-11 of what these grow with.
SAME = 1e-7


def arm() -> kido.Skeleton:
    """A free base, a ball joint, a hinge and a slide, with branches: all columns that rotate on their body."""
    skeleton = kido.Skeleton("arm")
    inertia = kido.Inertia(mass=1.3, com=(0.02, -0.01, 0.05), moment=np.diag([0.02, 0.03, 0.04]))
    frame = np.eye(4)
    frame[:3, 3] = 0.1, 0.02, 0.3
    base = skeleton.add_body("base", kido.FreeJoint(), inertia=inertia)
    upper = skeleton.add_body(
        "upper", kido.BallJoint(transform_from_parent=frame), parent=base, inertia=inertia
    )  # fmt: skip
    hinge = kido.RevoluteJoint(axis=(0.0, 0.6, 0.8), transform_from_parent=frame)
    skeleton.add_body("lower", hinge, parent=upper, inertia=inertia)
    skeleton.add_body("tail", kido.PrismaticJoint(axis=(1.0, 0.0, 0.0)), parent=base, inertia=inertia)
    hinge.dofs[0].armature = 0.05
    return skeleton


def state(skeleton: kido.Skeleton, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [scale * rng.normal(size=skeleton.num_dofs) for scale in (0.4, 0.7, 1.0)]


@pytest.fixture(scope="module", params=["arm", *ROBOTS])
def robot(request, example_robots) -> kido.Skeleton:
    return arm() if request.param == "arm" else kido.load(example_robots / ROBOTS[request.param])


def close(found: np.ndarray, wanted: np.ndarray) -> bool:
    return bool(np.abs(found - wanted).max() < SAME * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_they_are_what_differences_of_first_derivatives_say(robot, name):
    q, u, x = state(robot, 3)
    first = getattr(robot, f"{name}_derivatives")
    found = getattr(SecondDerivatives(robot), name)(q, u, x)
    assert close(found[0], along_positions(lambda y: first(y, u, x)[0], robot, q))
    assert close(found[1], along_vector(lambda y: first(q, y, x)[0], u))
    assert close(found[2], along_vector(lambda y: first(q, y, x)[1], u))
    assert close(found[3], along_vector(lambda y: first(q, u, y)[0], x))
    assert close(found[1].transpose(0, 2, 1), along_positions(lambda y: first(y, u, x)[1], robot, q))


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_weights_are_sums_over_rows(robot, name):
    second, given = SecondDerivatives(robot), state(robot, 4)
    w = np.random.default_rng(5).normal(size=robot.num_dofs)
    whole, weighted = (getattr(second, name)(*given, weights=x) for x in (None, w))
    for one, other in zip(whole, weighted, strict=True):
        wanted = np.einsum("i,ijk->jk", w, one)
        assert np.abs(other - wanted).max() <= 1e-11 * max(1.0, np.abs(w) @ np.abs(one).max(axis=(1, 2)))


def test_symmetries():
    robot = arm()
    H = SecondDerivatives(robot).inverse_dynamics(*state(robot, 6))
    assert np.allclose(H.du_du, H.du_du.transpose(0, 2, 1), atol=1e-12)
    M_q = H.dq_dudot  # of M, which is symmetric
    assert np.allclose(M_q, M_q.transpose(2, 1, 0), atol=1e-12)
    hinges = slice(9, 11)  # their positions are numbers, in whatever order
    assert np.allclose(H.dq_dq[:, hinges, hinges], H.dq_dq[:, hinges, hinges].transpose(0, 2, 1), atol=1e-11)


def test_bad_input():
    robot = arm()
    second, (q, u, a) = SecondDerivatives(robot), state(robot, 7)
    with pytest.raises(kido.StateError, match="inverse_dynamics: velocities: expected 11 numbers"):
        second.inverse_dynamics(q, u[:3], a)
    with pytest.raises(kido.StateError, match="forward_dynamics: forces: expected finite numbers"):
        second.forward_dynamics(q, u, np.full(11, np.nan))
    with pytest.raises(kido.StateError, match="weights: expected 11 numbers"):
        second.forward_dynamics(q, u, a, weights=np.ones(2))
    with pytest.raises(kido.ModelError, match="expected a skeleton, got 3"):
        SecondDerivatives(3)  # type: ignore[arg-type]
