"""Functions around the steps of a world."""

import numpy as np
import pytest

import kido


def cart() -> tuple[kido.World, kido.Skeleton]:
    world = kido.World(gravity=(0, 0, 0))
    skeleton = kido.Skeleton("cart")
    skeleton.add_body("cart", kido.PrismaticJoint(axis=(1, 0, 0)), inertia=kido.Inertia(2.0))
    return world, world.add_skeleton(skeleton)


def test_a_controller_before_each_step_acts_in_that_step():
    """v = F t / m, whether the steps are made one by one or together."""
    for batches in ([1] * 10, [10], [3, 7]):
        world, skeleton = cart()
        world.add_step_callback(lambda w, s=skeleton: setattr(s, "forces", [4.0]), before=True)
        for n in batches:
            world.step(n)
        np.testing.assert_allclose(skeleton.velocities, [4.0 / 2.0 * 0.01], rtol=1e-13)
        assert skeleton.forces == [0.0]


def test_order_removal_and_clones():
    world, _ = cart()
    seen = []
    off = world.add_step_callback(lambda w: seen.append(("after", w.num_steps)))
    world.add_step_callback(lambda w: seen.append(("before", w.num_steps)), before=True)
    world.clone().step(5)
    assert seen == []
    world.step(2)
    assert seen == [("before", 0), ("after", 1), ("before", 1), ("after", 2)]
    off()
    off()
    world.step()
    assert seen[4:] == [("before", 2)]


def test_a_hook_may_change_the_world():
    world, skeleton = cart()

    def add_a_twin(w):
        if len(w.skeletons) == 1:
            w.add_skeleton(skeleton.clone())

    world.add_step_callback(add_a_twin, before=True)
    skeleton.velocities = [1.0]
    world.step(100)
    assert [s.name for s in world.skeletons] == ["cart", "cart_2"]
    np.testing.assert_allclose([s.positions[0] for s in world.skeletons], [0.1, 0.1], rtol=1e-12)


def test_a_callback_that_cannot_be_called_is_refused_at_once():
    world, _ = cart()
    with pytest.raises(kido.ModelError, match="step callback: expected a function of the world alone, got None"):
        world.add_step_callback(None)  # type: ignore[arg-type]
    world.step()
