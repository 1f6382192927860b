"""Continuous detection: bullets against thin walls, bounces with exact paths, spinning boxes, what flies past."""

import numpy as np
import pytest

import kido
from scenes import fixed, free, place, velocity, world

H = 1e-3
RADIUS = 0.005


def bullet(speed, *, distance=0.5, restitution=0.0, continuous=True, lateral=0.0, friction=0.0):
    """A ball of 1 cm on its way along x to a wall of 1 mm, whose near side is at x = distance + radius."""
    ball = free(
        kido.Sphere(RADIUS),
        0.01,
        (0.0, 0.0, 0.0),
        velocity=(speed, lateral, 0.0),
        restitution=restitution,
        friction=friction,
    )
    ball.body(0).continuous = continuous
    wall = fixed(kido.Box((1e-3, 2.0, 2.0)), (distance + RADIUS + 0.5e-3, 0.0, 0.0), restitution=1.0, friction=friction)
    return world(ball, wall, ground=False, gravity=(0.0, 0.0, 0.0), time_step=H), ball


def test_without_it_a_bullet_passes():
    scene, ball = bullet(100.0, distance=0.53, continuous=False)
    scene.step(12)
    assert place(ball)[0] > 1.0


@pytest.mark.parametrize("distance", [0.02, 0.05, 0.31, 0.5, 0.537])
@pytest.mark.parametrize("speed", [1.0, 7.0, 30.0, 100.0, 333.0, 1000.0])
def test_bullet_stops_at_a_thin_wall(speed, distance):
    """At every step it is before the wall, and at the end it touches it: but for the skin, at any speed and phase."""
    scene, ball = bullet(speed, distance=distance)
    for _ in range(int(distance / speed / H) + 25):
        scene.step()
        assert place(ball)[0] < distance + 2e-5
    assert place(ball)[0] == pytest.approx(distance, abs=2e-5)
    assert np.abs(velocity(ball)).max() < 1e-2


@pytest.mark.parametrize("restitution", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("speed", [30.0, 100.0, 400.0])
def test_bullet_bounces_as_exact_impact(speed, restitution):
    """v' = -e v; a step's end differs from the exact path by less than a half step of motion, and is never behind."""
    for distance in np.linspace(0.3, 0.3 + speed * H, 7):
        scene, ball = bullet(speed, distance=distance, restitution=restitution)
        for _ in range(int(distance / speed / H) + 4):
            scene.step()
            t = scene.time
            exact = speed * t if speed * t < distance else distance - restitution * (speed * t - distance)
            assert place(ball)[0] < distance + 2e-5
            assert abs(place(ball)[0] - exact) <= 0.5 * (1.0 + restitution) * speed * H + 1e-9
        assert velocity(ball) == pytest.approx([-restitution * speed, 0.0, 0.0], abs=1e-9 * speed)


def test_bouncing_between_two_walls():
    """A corridor twice as wide as a step's motion: the ball stays in it, and keeps its speed and energy."""
    ball = free(kido.Sphere(RADIUS), 0.01, (0.0, 0.0, 0.0), velocity=(100.0, 3.0, 0.0), restitution=1.0, friction=0.0)
    ball.body(0).continuous = True
    walls = [
        fixed(kido.Box((1e-3, 20.0, 2.0)), (x, 0.0, 0.0), restitution=1.0, friction=0.0, name=f"wall{x}")
        for x in (-0.105, 0.105)
    ]
    scene = world(ball, *walls, ground=False, gravity=(0.0, 0.0, 0.0), time_step=H)
    for _ in range(300):
        scene.step()
        assert abs(place(ball)[0]) < 0.1046 - RADIUS
    assert abs(velocity(ball)[0]) == pytest.approx(100.0, rel=1e-9)
    assert velocity(ball)[1] == pytest.approx(3.0, rel=1e-9)


@pytest.mark.parametrize("offset", [0.0051, 0.006, 0.02])
def test_what_flies_past_is_not_deflected(offset):
    """A bullet that clears the edge of a block keeps its path to round-off."""
    ball = free(kido.Sphere(RADIUS), 0.01, (0.0, 0.0, 0.0), velocity=(100.0, 0.0, 0.0))
    ball.body(0).continuous = True
    block = fixed(kido.Box((0.1, 0.2, 0.2)), (0.5, 0.1 + offset, 0.0))
    scene = world(ball, block, ground=False, gravity=(0.0, 0.0, 0.0), time_step=H)
    scene.step(12)
    assert place(ball) == pytest.approx([1.2, 0.0, 0.0], abs=1e-12)
    assert velocity(ball) == pytest.approx([100.0, 0.0, 0.0], abs=1e-12)


def test_oblique_bullet_keeps_its_tangential_speed():
    """Without friction only the normal velocity stops; nothing spins."""
    scene, ball = bullet(100.0, lateral=30.0)
    scene.step(15)
    assert velocity(ball) == pytest.approx([0.0, 30.0, 0.0], abs=1e-2)
    assert place(ball)[1] == pytest.approx(0.45, abs=1e-6)


@pytest.mark.parametrize("speed", [50.0, 200.0])
@pytest.mark.parametrize("shape", ["box", "capsule", "cylinder", "hull"])
def test_other_shapes_and_walls(shape, speed):
    """Tumbling bodies of other shapes do not pass a plate of 1 mm; momentum along it is kept without friction."""
    rng = np.random.default_rng(3)
    shapes = {
        "box": kido.Box((0.02, 0.03, 0.04)),
        "capsule": kido.Capsule(0.01, 0.03),
        "cylinder": kido.Cylinder(0.01, 0.04),
    }
    found = kido.Mesh(*kido.shapes.convex_hull(rng.normal(size=(20, 3)) * 0.01))
    shapes["hull"] = kido.Mesh(found.vertices - found.centroid, found.faces)
    for k in range(4):
        body = free(
            shapes[shape],
            0.1,
            (0.0, 0.0, 0.4),
            rotation=rng.normal(size=3),
            velocity=(2.0, 0.0, -speed),
            angular_velocity=rng.normal(size=3) * 20.0,
            friction=0.0,
        )
        plate = fixed(kido.Box((4.0, 4.0, 1e-3)), (0.0, 0.0, -0.5e-3))
        scene = world(body, plate, ground=False, time_step=H)
        scene.continuous_detection = True
        for _ in range(60):
            scene.step()
            assert place(body)[2] > 0.0, (k, scene.time)
        # As good as a normal of GJK, or as that of a face that lies tilted by 1e-6.
        assert velocity(body)[0] == pytest.approx(2.0, abs=4e-9 * speed)


def test_spinning_box_lands():
    """A flat box at 300 rad/s (corners 20 m/s) falls on a thin plate: it stays above, and gains no energy."""
    box = free(
        kido.Box((0.1, 0.06, 0.02)),
        0.5,
        (0.0, 0.0, 0.3),
        velocity=(0.0, 0.0, -30.0),
        angular_velocity=(5.0, 300.0, 2.0),
    )
    plate = fixed(kido.Box((2.0, 2.0, 1e-3)), (0.0, 0.0, -0.5e-3))
    scene = world(box, plate, ground=False, time_step=H)
    scene.continuous_detection = True
    before = scene.total_energy
    for _ in range(200):
        scene.step()
        assert place(box)[2] > 0.0
        assert scene.total_energy < before * (1.0 + 1e-6)


def test_two_bullets_meet():
    """Both fast, head on: momentum is kept, and they do not swap sides."""
    balls = [
        free(kido.Sphere(RADIUS), m, (x, 0.0, 0.0), velocity=(v, 0.0, 0.0), restitution=1.0, name=f"ball{x}")
        for m, x, v in ((0.01, -0.3, 100.0), (0.03, 0.3, -80.0))
    ]
    scene = world(*balls, ground=False, gravity=(0.0, 0.0, 0.0), time_step=H)
    scene.continuous_detection = True
    scene.step(10)
    assert place(balls[0])[0] < place(balls[1])[0] - 2 * RADIUS
    # Elastic: v1' = v1 - 2 m2 / (m1 + m2) (v1 - v2)
    assert velocity(balls[0])[0] == pytest.approx(100.0 - 1.5 * 180.0, rel=1e-9)
    assert velocity(balls[1])[0] == pytest.approx(-80.0 + 0.5 * 180.0, rel=1e-9)


def test_slow_scene_is_the_same_bit_for_bit():
    """Bodies that move less than their size are treated as usual."""
    scenes = []
    for continuous in (False, True):
        boxes = [
            free(kido.Box((0.1, 0.1, 0.1)), 1.0, (0.01 * k, 0.0, 0.06 + 0.11 * k), name=f"box{k}") for k in range(3)
        ]
        scene = world(*boxes, time_step=H)
        scene.continuous_detection = continuous
        scene.step(200)
        scenes.append(np.concatenate([b.positions for b in boxes]))
    assert np.array_equal(*scenes)


def test_travels():
    import pickle

    scene, ball = bullet(100.0)
    scene.continuous_detection = True
    for twin in (scene.clone(), pickle.loads(pickle.dumps(scene))):
        assert twin.continuous_detection and twin.skeletons[0].body(0).continuous
        twin.step(12)
    scene.step(12)
    assert np.array_equal(twin.skeletons[0].positions, ball.positions)
    with pytest.raises(kido.errors.ModelError, match="continuous"):
        ball.body(0).continuous = "yes"


@pytest.mark.parametrize("ground", ["sheet", "heightmap", "triangles"])
def test_surfaces_that_are_not_convex(ground):
    """Balls at 150 m/s do not pass an open sheet of triangles, a height map, or a thin plate of triangles."""
    box = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1e-3, 0)], dtype=float)
    shapes = {
        "sheet": kido.Mesh(
            [[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], [[0, 1, 2], [0, 2, 3]], collide_as="triangles"
        ),
        "heightmap": kido.shapes.Heightmap(np.zeros((11, 11)), 0.2),
        "triangles": kido.Mesh(*kido.shapes.convex_hull(box), collide_as="triangles"),
    }
    floor = fixed(shapes[ground])
    balls = [
        free(
            kido.Sphere(RADIUS), 0.01, (0.13 * k - 0.3, 0.07 * k, 0.4 + 0.03 * k), velocity=(0, 0, -150.0), name=f"b{k}"
        )
        for k in range(5)
    ]
    scene = world(floor, *balls, ground=False, time_step=H)
    scene.continuous_detection = True
    for _ in range(30):
        scene.step()
        assert min(place(b)[2] for b in balls) > RADIUS - 1e-4
    assert max(place(b)[2] for b in balls) < RADIUS + 1e-3


def test_velocity_set_by_hand_next_to_a_wall():
    """Less than half a step's motion away: the first step passes it before contacts are found, and takes it back."""
    for distance in (0.0, 1e-4, 0.01, 0.03, 0.049):
        scene, ball = bullet(100.0, distance=distance)
        for _ in range(5):
            scene.step()
            assert place(ball)[0] < distance + 2e-5
        assert np.abs(velocity(ball)).max() < 1e-2
