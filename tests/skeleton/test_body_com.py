"""The centre of mass of one body, seen from frames that move: against definitions, and the skeleton's of one body."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given

import kido
from kido import SoftMesh
from trees import SEEDS, Reference, random_skeleton, random_state, relative_error, set_state, skeletons

TOLERANCE = 1e-11


@given(skeletons(), SEEDS)
def test_the_centre_of_mass_moves_as_a_point_of_the_body(skeleton: kido.Skeleton, seed: int) -> None:
    """v + w x c and a + wdot x c + w x (w x c), with the body's motion from Taylor series of transforms."""
    q, u, a, _ = random_state(skeleton, seed)
    set_state(skeleton, q, u, a)
    r = Reference(skeleton, q, u, a)
    for body in skeleton.bodies:
        X, V, A = r.X[body.index], r.V[body.index], r.A[body.index]
        c = X[:3, :3] @ body.inertia.com
        v = V[3:] + np.cross(V[:3], c)
        accelerated = A[3:] + np.cross(A[:3], c) + np.cross(V[:3], np.cross(V[:3], c))
        np.testing.assert_array_equal(body.local_com, body.inertia.com)
        assert relative_error(body.com_position(), X[:3, 3] + c) < TOLERANCE
        np.testing.assert_allclose(body.com, body.com_position(), rtol=0, atol=1e-15 * (1.0 + np.abs(body.com).max()))
        assert relative_error(body.com_velocity(), v) < TOLERANCE
        assert relative_error(body.com_spatial_velocity(), np.concatenate([V[:3], v])) < TOLERANCE
        assert relative_error(body.com_acceleration(), accelerated) < TOLERANCE
        spatial = np.concatenate([A[:3], accelerated - np.cross(V[:3], v)])
        assert relative_error(body.com_spatial_acceleration(), spatial) < TOLERANCE
        own = [dof.index for dof in body.dependent_dofs]
        assert body.com_jacobian().shape == (3, len(own))
        assert relative_error(body.com_jacobian() @ u[own], v) < TOLERANCE
        rate = body.com_jacobian() @ a[own] + body.com_jacobian_derivative() @ u[own]
        assert relative_error(rate, accelerated) < TOLERANCE


@given(skeletons(), SEEDS)
def test_other_frames_see_what_the_skeleton_says_of_one_body(skeleton: kido.Skeleton, seed: int) -> None:
    """Observers that move and turn, and axes of a third frame."""
    set_state(skeleton, *random_state(skeleton, seed)[:3])
    rng = np.random.default_rng(seed)
    body, seen_by, axes = (skeleton.bodies[k] for k in rng.integers(skeleton.num_bodies, size=3))
    assume(body.mass > 0.0)
    place = kido.quantities.com(skeleton, bodies=[body], with_respect_to=seen_by)
    assert np.abs(body.com_position(seen_by) - place).max() < 1e-12 * (1.0 + np.abs(skeleton.com).max())
    pairs = (
        (body.com_velocity(seen_by, axes), skeleton.com_velocity([body], seen_by, axes)),
        (body.com_acceleration(seen_by, axes), skeleton.com_acceleration([body], seen_by, axes)),
    )
    for own, whole in pairs:
        size = 1.0 + np.abs(whole).max() + np.abs(skeleton.com_acceleration()).max()
        assert np.abs(own - whole).max() < 1e-11 * size
    turned = axes.world_transform[:3, :3].T
    assert relative_error(body.com_jacobian(axes), turned @ body.com_jacobian()) < TOLERANCE
    V = body.com_spatial_velocity(seen_by, axes)
    np.testing.assert_array_equal(V[3:], body.com_velocity(seen_by, axes))
    np.testing.assert_array_equal(V[:3], body.angular_velocity(seen_by, axes))


def test_a_body_without_mass_has_its_point() -> None:
    skeleton = random_skeleton(3, 3)
    skeleton.bodies[1].inertia = kido.Inertia()
    np.testing.assert_array_equal(skeleton.bodies[1].com, skeleton.bodies[1].world_transform[:3, 3])
    assert skeleton.bodies[1].com_velocity().shape == (3,)


def test_soft_bodies_have_that_of_their_points() -> None:
    """Masses times velocities of points and core; accelerations are refused while points are away and free."""
    skeleton = kido.Skeleton("soft")
    core = kido.Inertia(1.0, (0.01, 0.0, 0.02), np.diag([0.01, 0.012, 0.015]))
    body = skeleton.add_soft_body("box", SoftMesh.box((0.2, 0.2, 0.2)), inertia=core, total_mass=0.5)
    skeleton.positions, skeleton.velocities = [0.3, 0.2, 0.1, 1.0, 2.0, 3.0], np.arange(6.0)
    rng = np.random.default_rng(0)
    body.displacements, body.displacement_rates = 0.01 * rng.normal(size=(26, 3)), 0.1 * rng.normal(size=(26, 3))
    p = core.mass * body.linear_velocity(core.com) + body.point_masses @ body.point_velocities
    assert relative_error(body.com_velocity(), p / body.mass) < 1e-13
    assert relative_error(body.com_spatial_velocity(in_coordinates_of=body)[3:],
                          body.world_transform[:3, :3].T @ p / body.mass) < 1e-13  # fmt: skip
    places = core.mass * (body.world_transform @ [*core.com, 1.0])[:3] + body.point_masses @ body.point_positions
    assert relative_error(body.com_position(), places / body.mass) < 1e-13
    for ask in (body.com_acceleration, body.com_spatial_acceleration):
        with pytest.raises(kido.ModelError, match=r"com_acceleration is not known .*'box'"):
            ask()
    body.freeze()
    skeleton.accelerations = np.ones(6)
    assert relative_error(body.com_acceleration(), body.linear_acceleration(body.local_com)) < 1e-15


@pytest.mark.parametrize("name", ["com_position", "com_velocity", "com_spatial_velocity", "com_acceleration",
                                  "com_spatial_acceleration", "com_jacobian", "com_jacobian_derivative"])  # fmt: skip
def test_what_is_no_frame_is_refused(name: str) -> None:
    body = random_skeleton(1, 3).bodies[2]
    with pytest.raises(kido.ModelError, match="expected a frame"):
        getattr(body, name)("world")
