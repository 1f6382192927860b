"""Padding of shapes, and contact properties that a body sets for all of its shapes.

Truths: a padded ball is a larger ball, against everything; what lies on the floor lies higher by its padding; a block
on a slope of angle a slides with g (sin a - mu cos a), or sticks below mu = tan a.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import kido
from kido.collision import CollisionOption
from kido.errors import ArgumentError, ModelError
from kido.recording.world_description import world_from_dict, world_to_dict
from scenes import G, fixed, free, place, pose, velocity, world

EXACT = 1e-9  # [m] of single evaluations
RESTING = 1e-6  # [m] what is at rest lies off by the trace of softness that contacts have
_points = np.random.default_rng(3).normal(size=(20, 3)) * [0.2, 0.3, 0.25]
_hull = kido.shapes.convex_hull(_points)
OTHERS = {
    "plane": kido.Plane(),
    "sphere": kido.Sphere(0.3),
    "box": kido.Box((0.5, 0.6, 0.4)),
    "capsule": kido.Capsule(0.2, 0.4),
    "cylinder": kido.Cylinder(0.25, 0.5),
    "cone": kido.Cone(0.3, 0.6),
    "ellipsoid": kido.Ellipsoid((0.5, 0.7, 0.6)),
    "hull": kido.Mesh(_hull.vertices, _hull.faces),
    "triangles": kido.Mesh(_hull.vertices, _hull.faces, collide_as="triangles"),
    "height map": kido.Heightmap(0.1 * np.random.default_rng(4).random((9, 9)), 0.2),
    "cloud": kido.PointCloud(_points, 0.05),
}


def ball_on(other: kido.Shape, radius: float, padding: float, order: int, **options) -> kido.World:
    """A ball, thrown so that it hits what lies below it; gravity 0 and -g by turns."""
    ball = free(
        kido.Sphere(radius), 1.0, (0.05, 0.02, 1.2), velocity=(0.1, 0.0, -3.0), angular_velocity=(1.0, 2.0, 3.0),
        friction=0.4, restitution=0.5, name="ball",
    )  # fmt: skip
    ball.bodies[0].shapes[0].padding = padding
    ball.bodies[0].inertia = kido.Inertia.from_shape(kido.Sphere(0.15), mass=1.0)
    still = fixed(other, restitution=1.0)
    return world(*((ball, still), (still, ball))[order], ground=False, **options)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("other", OTHERS)
def test_a_padded_ball_is_a_larger_ball(other: str, order: int) -> None:
    """Contacts of the same number, place and gap from the first one on, and so the same motion."""
    one, two = (ball_on(OTHERS[other], r, p, order) for r, p in ((0.1, 0.05), (0.15, 0.0)))
    met = 0
    for _ in range(600):
        one.step()
        two.step()
        met += len(two.contacts)
        assert len(one.contacts) == len(two.contacts)
        for a, b in zip(one.contacts, two.contacts, strict=True):
            np.testing.assert_allclose(a.point, b.point, atol=1e-6)
            np.testing.assert_allclose(a.gap, b.gap, atol=1e-6)
    assert met > 0
    # What rounding made differ has grown over two hundred milliseconds of rolling on edges, but is small.
    np.testing.assert_allclose(place(one.skeleton("ball")), place(two.skeleton("ball")), atol=1e-5)


@pytest.mark.parametrize("speed", [50.0, 500.0])
@pytest.mark.parametrize("wall", ["box", "triangles", "height map"])
def test_a_padded_ball_is_swept_as_a_larger_ball(wall: str, speed: float) -> None:
    ends = []
    for radius, padding in ((0.1, 0.05), (0.15, 0.0)):
        made = ball_on(OTHERS[wall], radius, padding, 0, gravity=(0.0, 0.0, 0.0))
        made.continuous_detection = True
        ball = made.skeleton("ball")
        ball.velocities = [0, 0, 0, 0, 0, -speed]
        made.step(30)
        assert velocity(ball)[2] > 0.3 * speed  # it came back
        ends.append(place(ball))
    np.testing.assert_allclose(*ends, atol=1e-5 * speed)


@pytest.mark.parametrize("shape", [kido.Sphere(0.1), kido.Box((0.2, 0.2, 0.2)), kido.Cylinder(0.15, 0.2)])
@pytest.mark.parametrize("below", [0.0, 0.02])
def test_what_is_padded_rests_higher(shape: kido.Shape, below: float) -> None:
    made = world(thing := free(shape, 2.0, (0.0, 0.0, 0.15)))
    made.skeletons[0].bodies[0].shapes[0].padding = below
    thing.bodies[0].shapes[0].padding = 0.01
    made.step(1500)
    assert place(thing)[2] == pytest.approx(0.11 + below, abs=RESTING)
    for contact in made.contacts:  # midway between the two surfaces
        assert contact.point[2] == pytest.approx(below, abs=RESTING)


def test_padding_set_later_lifts_and_goes_where_the_shape_goes() -> None:
    made = world(ball := free(kido.Sphere(0.1), 1.0, (0.0, 0.0, 0.1)))
    made.step(200)
    shape = ball.bodies[0].shapes[0]
    shape.padding = 0.004
    made.step(500)
    assert place(ball)[2] == pytest.approx(0.104, abs=2e-4)  # position correction leaves its slop
    twins = [made.clone(), world_from_dict(world_to_dict(made))]
    for twin in twins:
        again = twin.skeleton("body")
        again.positions, again.velocities = [0, 0, 0, 0, 0, 0.12], np.zeros(6)
        assert again.bodies[0].shapes[0].padding == 0.004
        twin.step(1000)
        assert place(again)[2] == pytest.approx(0.104, abs=RESTING)
    assert ball.clone().bodies[0].shapes[0].padding == 0.004
    shape.padding = 0.0
    made.step(500)
    assert place(ball)[2] == pytest.approx(0.1, abs=RESTING)


def test_distances_have_the_padding_and_rays_have_not() -> None:
    """The corner of a padded box is round."""
    box, ball = fixed(kido.Box((1.0, 1.0, 1.0)), name="box"), free(kido.Sphere(0.1), 1.0, (0.8, 0.9, 1.7))
    made = world(box, ball, ground=False)
    apart = math.sqrt(0.3**2 + 0.4**2 + 1.2**2) - 0.1
    box.bodies[0].shapes[0].padding = 0.2
    group = made.collision_group
    found = group.distance()
    assert found.distance == pytest.approx(apart - 0.2, abs=EXACT)
    np.testing.assert_allclose(np.linalg.norm(found.point_b - found.point_a), apart - 0.2, atol=EXACT)
    assert not group.collide().is_collision
    points = group.collide(option=CollisionOption(margin=apart)).points
    np.testing.assert_allclose(points, [0.5 * (found.point_a + found.point_b)], atol=1e-7)
    assert group.signed_distance([[0.0, 0.0, -2.0]])[0] == pytest.approx(1.3, abs=EXACT)
    box.bodies[0].shapes[0].padding = apart + 0.01
    assert group.collide().depths == pytest.approx([0.01], abs=EXACT)
    assert group.raycast((0.0, 0.0, 3.0), (0.0, 0.0, -3.0)).points[0, 2] == pytest.approx(0.5, abs=EXACT)


@pytest.mark.parametrize("detector", ["fcl", "coal", "bullet"])
def test_padding_with_detectors_of_other_libraries(detector: str) -> None:
    pytest.importorskip({"fcl": "fcl", "coal": "coal", "bullet": "pybullet"}[detector])
    made = world(ball := free(kido.Sphere(0.1), 1.0, (0.0, 0.0, 0.13)), collision_detector=detector)
    shape = ball.bodies[0].shapes[0]
    shape.padding = 0.02
    assert made.collision_group.distance().distance == pytest.approx(0.01, abs=1e-6)
    assert not made.collision_group.collide().is_collision
    made.step(1000)
    assert place(ball)[2] == pytest.approx(0.12, abs=1e-4)
    shape.padding = 0.05
    assert made.collision_group.collide().is_collision


@pytest.mark.parametrize("friction", [0.3, 0.5, 0.7])
def test_friction_of_a_body_is_that_of_its_shapes(friction: float) -> None:
    """A block of two boxes on a slope of 30 degrees, tan a = 0.577: slides, or sticks."""
    slope = math.radians(30.0)
    block = free(kido.Box((0.2, 0.2, 0.05)), 2.0, (0.0, 0.0, 0.025))
    body = block.bodies[0]
    body.add_shape(kido.Box((0.05, 0.2, 0.05)), pose((0.2, 0.0, 0.0)), friction=0.1)
    body.add_shape(kido.Sphere(0.3), collision=False)
    assert body.friction is None
    body.friction = friction
    assert [shape.friction for shape in body.shapes] == [friction, friction, 1.0]  # what touches nothing is not asked
    assert body.friction == friction
    tilted = G * math.sin(slope), 0.0, -G * math.cos(slope)
    made = world(block, fixed(kido.Plane()), ground=False, gravity=tilted)
    made.step(500)
    expected = max(G * (math.sin(slope) - friction * math.cos(slope)), 0.0) * 0.5
    assert velocity(block)[0] == pytest.approx(expected, abs=1e-6)


def test_restitution_and_other_properties_of_a_body() -> None:
    made = world(ball := free(kido.Sphere(0.1), 1.0, (0.0, 0.0, 0.15), velocity=(0.0, 0.0, -1.0)), gravity=(0, 0, 0))
    body = ball.bodies[0]
    made.step()
    body.restitution = 0.6
    made.step(100)
    assert velocity(ball)[2] == pytest.approx(0.6, abs=1e-9)
    body.set_surface(rolling_friction=0.002, padding=0.01)
    assert body.shapes[0].surface == kido.Surface(restitution=0.6, rolling_friction=0.002, padding=0.01)
    assert body.restitution == 0.6


def test_wrong_values_change_nothing() -> None:
    body = kido.Skeleton("s").add_body("link")
    with pytest.raises(ModelError, match="body 'link': friction: it has no shape that collides"):
        body.friction = 0.5
    one, two = body.add_shape(kido.Sphere(0.1), friction=0.2), body.add_shape(kido.Sphere(0.1), padding=0.3)
    before = one.surface, two.surface
    for name, value in (("friction", -1.0), ("friction", math.nan), ("restitution", 1.1), ("restitution", "high")):
        with pytest.raises(ModelError, match=name):
            setattr(body, name, value)
    for value in (-0.1, math.nan, math.inf, None, "1 mm"):
        with pytest.raises(ModelError, match="padding"):
            one.padding = value
    with pytest.raises(ModelError, match="shape 'ball': Surface: padding: expected a finite number not below 0"):
        body.add_shape(kido.Sphere(0.1), name="ball", padding=-1.0)
    with pytest.raises(ArgumentError, match="did you mean one of: friction"):
        body.set_surface(fricton=0.3)
    assert (one.surface, two.surface) == before
    assert len(body.shapes) == 2
    assert body.friction is None
    assert body.restitution == 0.0


@pytest.mark.parametrize("suffix", ["urdf", "sdf", "skel"])
def test_files_that_know_no_padding_say_that_it_is_left_out(suffix: str, tmp_path) -> None:
    ball = free(kido.Sphere(0.1), 1.0, (0.0, 0.0, 0.13))
    ball.bodies[0].shapes[0].padding = 0.02
    assert any("padding" in remark for remark in kido.save(ball, tmp_path / f"ball.{suffix}", approximate=True))
