"""Worlds that are built while their skeletons are set and asked."""

import numpy as np

import kido


def ball(name: str) -> kido.Skeleton:
    skeleton = kido.Skeleton(name)
    skeleton.add_body("ball", inertia=kido.Inertia.from_shape(kido.Sphere(0.1), mass=2.0)).add_shape(kido.Sphere(0.1))
    return skeleton


def test_setting_and_asking_skeletons_compiles_no_world():
    world = kido.World()
    for k in range(3):
        added = world.add_skeleton(ball(f"ball_{k}"))
        added.positions = [0.0, 0.0, 0.0, k, 0.0, 1.0]
        assert added.body("ball").world_transform[0, 3] == k
        assert world.present_engine is None
    world.step()
    assert world.present_engine is not None
    np.testing.assert_array_equal([s.positions[3] for s in world.skeletons], [0.0, 1.0, 2.0])


def test_the_state_that_was_set_moves_in_the_world():
    """Velocities, loads and commands given before there is an engine act in the first step: v = v0 + F h/m."""
    world = kido.World(gravity=(0, 0, 0), time_step=0.01)
    body = world.add_skeleton(ball("ball"))
    other = body.new_state()
    other.positions = [0.0, 0.0, 0.0, 5.0, 0.0, 0.0]
    body.velocities = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    body.body("ball").add_external_force([0.0, 4.0, 0.0])
    body.forces = [0.0, 0.0, 0.0, 0.0, 0.0, 6.0]
    world.step()
    np.testing.assert_allclose(body.velocities[3:], [1.0, 0.02, 0.03], rtol=1e-13)
    assert other.positions[3] == 5.0


def test_gravity_is_that_of_the_world_before_there_is_an_engine_and_after():
    world = kido.World(gravity=(0, 0, -1.0))
    body = world.add_skeleton(ball("ball"))
    np.testing.assert_allclose(body.gravity_forces[3:], [0, 0, 2.0], rtol=1e-14)
    world.gravity = (0, -3.0, 0)
    np.testing.assert_allclose(body.gravity_forces[3:], [0, 6.0, 0], atol=1e-14)
    world.remove_skeleton(body)
    world.gravity = (0, 0, -1.0)
    np.testing.assert_allclose(body.gravity_forces[3:], [0, 6.0, 0], atol=1e-14)
    body.gravity = (1.0, 0, 0)
    np.testing.assert_allclose(world.gravity, [0, 0, -1.0])
    np.testing.assert_allclose(body.gravity_forces[3:], [-2.0, 0, 0], atol=1e-14)
