"""Tendons around spheres and cylinders: lengths by hand, moments by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy

import kido
from kido.actuation import Actuators, Around, Linear, Path, Place, Pulley, Tendon

AWAY = 1e-9  # least sums: tolerance of the minimizer
STEP, BY_DIFFERENCES = 1e-6, 1e-8  # central differences: STEP^2 and rounding / STEP


def place(body: kido.BodyNode | None, *point: float, axes: Any = None) -> Place:
    X = np.eye(4)
    X[:3, 3] = point or 0.0
    if axes is not None:
        X[:3, :3] = scipy.spatial.transform.Rotation.from_rotvec(axes).as_matrix()
    return Place(body, X)


def arm() -> kido.Skeleton:
    """Three joints that turn about different axes."""
    s = kido.Skeleton("arm")
    inertia = kido.Inertia.from_diagonal(1.0, (0.1, 0.2, 0.3))
    upper = s.add_body("upper", kido.RevoluteJoint("shoulder", (0, 1, 0)), inertia=inertia)
    offset = np.eye(4)
    offset[0, 3] = 0.5
    lower = s.add_body(
        "lower", kido.RevoluteJoint("elbow", (0, 0.6, 0.8), transform_from_parent=offset), upper, inertia
    )
    s.add_body("hand", kido.BallJoint("wrist", transform_from_parent=offset), lower, inertia)
    return s


def tendon_of(path: Path, s: kido.Skeleton | None = None) -> Actuators:
    world = kido.World()
    world.add_skeleton(s or arm())
    return Actuators(world, tendons=[Tendon("t", path)])


def fixed_length(*items: Any) -> float:
    """Of a path that is fixed in the world."""
    return float(tendon_of(Path(items)).tendon_lengths[0])


def test_quarter_of_a_circle() -> None:
    """Two tangents of length a, on the side that is asked for."""
    r, a = 0.2, 0.5
    around = Around(place(None), r, side=place(None, r, -r, 0))
    length = fixed_length(place(None, r, a, 0), around, place(None, -a, -r, 0))
    assert length == pytest.approx(2.0 * a + 0.5 * np.pi * r, rel=1e-14)


def test_a_helix_rises_evenly() -> None:
    """Unrolled, a line around a cylinder is straight."""
    r, a, rise = 0.2, 0.5, 0.7
    around = Around(place(None), r, "cylinder", place(None, r, -r, 3.0))
    length = fixed_length(place(None, r, a, 0), around, place(None, -a, -r, rise))
    assert length == pytest.approx(np.hypot(2.0 * a + 0.5 * np.pi * r, rise), rel=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_the_way_around_a_sphere_is_the_shortest(seed: int) -> None:
    """In the plane of both points and the centre: two tangents and the angle between where they touch; or straight."""
    rng = np.random.default_rng(seed)
    a, b, r = rng.normal(size=3), rng.normal(size=3), 0.5
    a, b = a * (0.6 + rng.random()) / np.linalg.norm(a), b * (0.6 + rng.random()) / np.linalg.norm(b)
    opening = np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    nearest = a + np.clip(-a @ (b - a) / ((b - a) @ (b - a)), 0, 1) * (b - a)
    expected = np.linalg.norm(b - a)
    if np.linalg.norm(nearest) < r:
        tangents = [np.sqrt(x @ x - r * r) for x in (a, b)]
        angles = [np.arccos(r / np.linalg.norm(x)) for x in (a, b)]
        expected = sum(tangents) + r * (opening - sum(angles))
    length = fixed_length(place(None, *a), Around(place(None), r), place(None, *b))
    assert length == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("b", [(0.6, 0.5), (-0.2, 0.9), (0.31, 0.1)])
def test_a_string_inside_goes_through_the_nearest_point(b: tuple[float, float]) -> None:
    """The least sum of distances over all points of the circle."""
    a, r = (0.5, -0.4), 0.3
    side = place(None, 0.01, 0.0, 0.0)
    around = Around(place(None), r, "cylinder", side)

    def way(t: float) -> float:
        p = r * np.array([np.cos(t), np.sin(t)])
        return float(np.linalg.norm(p - a) + np.linalg.norm(p - b))

    start = np.arctan2(a[1] + b[1], a[0] + b[0])
    best = scipy.optimize.minimize_scalar(
        way, bounds=(start - 1.5, start + 1.5), method="bounded", options={"xatol": 1e-10}
    )
    length = fixed_length(place(None, *a, 0.0), around, place(None, *b, 0.0))
    assert length == pytest.approx(best.fun, rel=AWAY)


def test_a_pulley_divides_what_follows() -> None:
    items = [place(None, 0, 0, 0), place(None, 1, 0, 0), Pulley(2.0), place(None, 0, 0, 0), place(None, 0, 3, 0)]
    assert fixed_length(*items) == pytest.approx(1.0 + 3.0 / 2.0, rel=1e-15)


def paths(s: kido.Skeleton) -> dict[str, Any]:
    upper, lower, hand = s.bodies
    start, end = place(None, -0.3, 0.1, 0.4), place(hand, 0.2, 0.1, 0.2)
    ball, tube = place(upper, 0.45, 0.0, 0.1), place(lower, 0.2, 0.05, 0.0, axes=(1.2, 0.3, 0.1))
    inner = Around(place(lower, 0.2, 0.0, 0.3), 0.15, "sphere", place(lower, 0.2, 0.02, 0.3))
    end_of_world = place(None, 1, 0, 0)
    return {
        "straight": Path([start, place(upper, 0.2, 0.1, 0.2), place(lower, 0.1, 0.1, 0.3), end]),
        "sphere": Path([start, Around(ball, 0.12), end]),
        "cylinder": Path([start, Around(tube, 0.15, "cylinder", place(lower, 0.2, 0.9, 0.3)), end]),
        "inside": Path([start, inner, end]),
        "pulleys": Path([start, end, Pulley(2.0), start, Around(ball, 0.12), end, Pulley(3.0), end, end_of_world]),
        "coordinates": Linear([(s.dof("shoulder"), 0.3), (s.dof("elbow"), -0.7)]),
    }  # fmt: skip


@pytest.mark.parametrize("name", paths(arm()))
def test_moments_are_derivatives_of_lengths(name: str) -> None:
    s = arm()
    actuators = tendon_of(paths(s)[name], s)
    q = np.array([0.2, -0.4, 0.3, -0.2, 0.5])
    s.positions = q
    s.velocities = u = np.array([0.3, -0.6, 0.2, 0.9, -0.4])
    moments = np.array(actuators.tendon_moments(s)[0])
    assert actuators.tendon_velocities[0] == pytest.approx(moments @ u, rel=1e-14)
    for k, e in enumerate(np.eye(5)):
        ends = []
        for sign in (1.0, -1.0):
            s.positions = s.integrate_positions(q, sign * STEP * e)
            ends.append(actuators.tendon_lengths[0])
        assert (ends[0] - ends[1]) / (2.0 * STEP) == pytest.approx(moments[k], abs=BY_DIFFERENCES)
