"""How surfaces combine, who may say otherwise, what changes at run time, and how all of it travels."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

import kido
import scenes
from kido.batch import rollout
from kido.recording.world_description import world_from_dict, world_to_dict
from kido.simulation.contact_surface import combine_numbers, in_series
from kido.skeleton import COMBINATION_RULES
from scenes import G

H = 1e-3


def sliding(*, body=None, ground=None, handler=None, **options):
    """A 2 kg box that slides at 2 m/s along x on the plane z = 0."""
    box = scenes.free(kido.Box((0.2, 0.2, 0.2)), 2.0, (0, 0, 0.1), velocity=(2.0, 0, 0))
    world = scenes.world(box, time_step=H, **options)
    if body is not None:
        box.bodies[0].shapes[0].surface = body
    if ground is not None:
        world.skeleton("ground").bodies[0].shapes[0].surface = ground
    if handler is not None:
        world.contact_surface_handler = handler
    return world, box


def friction_of(world, box, steps=50) -> float:
    """Coefficient of friction from what a slide loses."""
    before = scenes.velocity(box)[0]
    world.step(steps)
    return (before - scenes.velocity(box)[0]) / (G * steps * H)


# Rules ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "value"), [("min", 0.2), ("max", 0.8), ("multiply", 0.16), ("average", 0.5), ("geometric_mean", 0.4)]
)
def test_rules_of_a_world(rule, value):
    assert combine_numbers(rule, 0.2, 0.8) == pytest.approx(value)
    handler = kido.ContactSurfaceHandler(friction_rule=rule)
    world, box = sliding(body=kido.Surface(0.2), ground=kido.Surface(0.8), handler=handler)
    assert friction_of(world, box) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("one", "other", "value"), [("max", None, 0.8), ("min", "max", 0.8), ("average", "min", 0.2), (None, None, 0.2)]
)
def test_rules_of_shapes(one, other, value):
    """A shape's rule goes before the world's; of two the later in the list holds."""
    world, box = sliding(body=kido.Surface(0.2, friction_rule=one), ground=kido.Surface(0.8, friction_rule=other))
    assert friction_of(world, box) == pytest.approx(value, abs=1e-6)


def test_priority():
    """The ice is ice whatever stands on it; a belt below it still moves."""
    world, box = sliding(
        body=kido.Surface(0.9), ground=kido.Surface(0.03, priority=1, friction_rule="max", secondary_friction=0.05)
    )
    assert friction_of(world, box) == pytest.approx(0.03, abs=1e-6)
    pair = world.contact_surface_handler.pair(*world.contacts[0][2:4])
    assert (pair.friction, pair.secondary_friction) == (0.03, 0.05)


def test_the_rest_combines_as_the_page_says():
    one = kido.Surface(0.5, rolling_friction=0.01, slip=0.1, restitution=0.5, slop=1e-4, max_correction_speed=1.0)
    two = kido.Surface(0.6, torsional_friction=0.02, slip=0.2, restitution=0.8, slop=2e-4, max_correction_speed=0.5)
    world, box = sliding(body=one, ground=two)
    shapes = box.bodies[0].shapes[0], world.skeleton("ground").bodies[0].shapes[0]
    pair = world.contact_surface_handler.pair(*shapes)
    assert (pair.rolling_friction, pair.torsional_friction, pair.slop, pair.max_correction_speed) == (
        0.01,
        0.02,
        2e-4,
        0.5,
    )
    assert (pair.slip, pair.restitution) == pytest.approx((0.3, 0.4))


def test_soft_surfaces_in_series():
    """Springs in series, dampers so that each one's stretch decays alike; time constants by the same law."""
    a, b = kido.SpringDamper(2e4, 100.0), kido.SpringDamper(6e4, 300.0)
    both = in_series(a, b)
    assert (both.stiffness, both.damping) == pytest.approx((1.5e4, (6e4 * 100 + 2e4 * 300) / 8e4))
    one, two = kido.TimeConstant(0.02, 1.0), kido.TimeConstant(0.05, 0.5)
    mass = 1.7
    springs = [
        kido.SpringDamper(mass / (s.time_constant * s.damping_ratio) ** 2, 2 * mass / s.time_constant)
        for s in (one, two)
    ]
    expected, got = in_series(*springs), in_series(one, two)
    assert mass / (got.time_constant * got.damping_ratio) ** 2 == pytest.approx(expected.stiffness)
    assert 2 * mass / got.time_constant == pytest.approx(expected.damping)
    assert in_series(None, a) is a and in_series(one, a) is a and in_series(kido.ErpCfm(), one) is one
    soft = in_series(kido.ErpCfm(0.2, 1e-4), kido.ErpCfm(0.3, 2e-4))
    assert (soft.erp, soft.cfm) == pytest.approx((0.2, 3e-4))


# Handlers ---------------------------------------------------------------------------------------------------


class Counting(kido.ContactSurfaceHandler):
    """Slippery, and counts how often it is asked."""

    def __init__(self, friction=0.1):
        super().__init__()
        self.friction = friction
        self.asked = 0

    def pair(self, shape_a, shape_b):
        self.asked += 1
        return replace(super().pair(shape_a, shape_b), friction=self.friction, secondary_friction=None)


def test_a_handler_is_asked_once_for_each_pair():
    handler = Counting()
    world, box = sliding(handler=handler)
    assert friction_of(world, box) == pytest.approx(0.1, abs=1e-6)
    assert handler.asked == 1
    world.step(50)
    assert handler.asked == 1
    handler.friction = 0.3
    world.contact_surface_handler = handler
    assert friction_of(world, box) == pytest.approx(0.3, abs=1e-6)
    assert handler.asked == 2


def test_a_handler_may_look_at_every_contact():
    """Friction by where the contact is: 0.1 up to x = 0.15, 0.4 beyond; the contacts' data are those of the step."""

    class Patches(kido.ContactSurfaceHandler):
        seen = 0

        def contact(self, contact, surface):
            Patches.seen += 1
            assert contact.normal == pytest.approx([0, 0, 1.0]) and abs(contact.gap) < 1e-3
            return replace(surface, friction=0.1, secondary_friction=None)

    world, box = sliding(handler=Patches())
    assert friction_of(world, box, 10) == pytest.approx(0.1, abs=1e-5)
    assert Patches.seen == 4 * 10


@pytest.mark.parametrize("method", ["pair", "contact"])
def test_a_handler_that_fails_leaves_the_world_as_it_was(method):
    def wrong(self, *arguments):
        return None

    handler = type("Wrong", (kido.ContactSurfaceHandler,), {method: wrong})()
    world, box = sliding(handler=handler)
    before = box.positions.copy(), box.velocities.copy(), world.time
    with pytest.raises(kido.ModelError, match="expected a ContactSurface, got None"):
        world.step(3)
    assert np.array_equal(box.positions, before[0]) and np.array_equal(box.velocities, before[1])
    assert world.time == before[2]
    assert not np.any(world.unconverged_steps)
    world.contact_surface_handler = kido.ContactSurfaceHandler()
    assert friction_of(world, box) == pytest.approx(1.0, abs=1e-5)


def test_a_handler_that_fails_late_leaves_the_steps_before_it():
    """A ball falls for 100 steps before it is asked about: the same state as in a world that was not asked."""

    class Late(kido.ContactSurfaceHandler):
        def pair(self, shape_a, shape_b):
            raise RuntimeError("late")

    def falling():
        ball = scenes.free(kido.Sphere(0.1), 1.0, (0, 0, 0.15))
        return scenes.world(ball, time_step=H), ball

    (world, ball), (other, same) = falling(), falling()
    world.contact_surface_handler = Late()
    with pytest.raises(RuntimeError, match="late"):
        world.step(500)
    assert 0 < world.num_steps < 500
    other.step(world.num_steps)
    assert np.array_equal(ball.positions, same.positions) and np.array_equal(ball.velocities, same.velocities)


def test_pairs_of_many_materials():
    """Forty boxes, each with its own friction, on one ground: each slows by its own."""
    world = kido.World(time_step=H)
    world.add_ground(friction=10.0)
    boxes = [
        scenes.free(kido.Box((0.2, 0.2, 0.2)), 1.0, (0, 0.5 * k, 0.1), velocity=(2.0, 0, 0), friction=0.01 * (k + 1))
        for k in range(40)
    ]
    for box in boxes:
        world.add_skeleton(box)
        box.bodies[0].shapes[0].set_surface(slop=0.0)
    world.step(100)
    lost = [(2.0 - scenes.velocity(box)[0]) / (G * 0.1) for box in boxes]
    assert lost == pytest.approx([0.01 * (k + 1) for k in range(40)], abs=1e-5)


# Changes at run time ----------------------------------------------------------------------------------------


def test_changes_take_effect_at_the_next_step_and_keep_contacts_warm():
    world, box = sliding()
    node = box.bodies[0].shapes[0]
    assert friction_of(world, box) == pytest.approx(1.0, abs=1e-6)
    engine = world.engine
    node.friction = 0.3
    assert friction_of(world, box, 20) == pytest.approx(0.3, abs=1e-6)
    node.set_surface(secondary_friction=0.1)
    assert friction_of(world, box, 20) == pytest.approx(0.3, abs=1e-6)
    node.surface = kido.Surface(0.5)
    assert friction_of(world, box, 20) == pytest.approx(0.5, abs=1e-6)
    assert world.engine is engine
    c = engine.detector.container
    assert c.matched[:4].all()
    assert world.num_steps == 110


def test_restitution_may_come_later():
    ball = scenes.free(kido.Sphere(0.1), 1.0, (0, 0, 0.6))
    world = scenes.world(ball, time_step=H)
    world.step(100)
    ball.bodies[0].shapes[0].restitution = 0.5
    world.step(400)
    assert scenes.place(ball)[2] > 0.15


# What travels -----------------------------------------------------------------------------------------------

RICH = kido.Surface(
    0.5, 0.2, (1.0, 1.0, 0.0), "body", 0.01, 0.02, 0.001, 0.002, 0.1, (0.1, 0, 0), (0, 0, 0.2),
    kido.SpringDamper(1e5, 50.0), 1e-5, 0.3, "max", "min", 2,
)  # fmt: skip


@pytest.mark.parametrize("how", ["clone", "pickle", "description"])
def test_copies_move_alike(how):
    world, box = sliding(body=RICH, restitution_law="newton", position_correction="baumgarte")
    world.contact_surface_handler = kido.ContactSurfaceHandler("average", "max")
    world.step(20)
    if how == "description":
        twin = world_from_dict(world_to_dict(world))
        world = world_from_dict(world_to_dict(world))
        box = world.skeleton("body")
    else:
        twin = world.clone() if how == "clone" else pickle.loads(pickle.dumps(world))
    assert twin.skeleton("body").bodies[0].shapes[0].surface == RICH
    assert (twin.restitution_law, twin.position_correction) == ("newton", "baumgarte")
    assert twin.contact_surface_handler.friction_rule == "average"
    world.step(50)
    twin.step(50)
    assert np.array_equal(twin.skeleton("body").positions, box.positions)


@pytest.mark.parametrize("handler", [None, Counting(0.2)])
def test_rollouts_and_threads_have_the_surfaces(handler):
    """Bit for bit what the world itself does, on two threads and in rollouts."""
    world, box = sliding(body=RICH, handler=handler)
    threaded = world.clone()
    threaded.threads = 2
    starts = np.array([box.positions, box.positions])
    fast = np.array([box.velocities, 0.5 * box.velocities])
    paths = rollout(world, starts, fast, steps=30, threads=2)
    world.step(30)
    threaded.step(30)
    assert np.array_equal(threaded.skeleton("body").positions, box.positions)
    assert np.array_equal(np.asarray(paths.positions)[0, -1], box.positions)


def test_every_property_is_in_the_descriptions():
    for softness in (None, kido.ErpCfm(0.3, 1e-4), kido.TimeConstant(0.01, 0.7), kido.SpringDamper(1e4, 1.0, True)):
        world, _ = sliding(body=replace(RICH, softness=softness))
        twin = world_from_dict(world_to_dict(world))
        assert twin.skeleton("body").bodies[0].shapes[0].surface == replace(RICH, softness=softness)


def test_a_users_handler_is_named_in_descriptions():
    world, _ = sliding(handler=Counting())
    twin = world_from_dict(world_to_dict(world))
    with pytest.raises(kido.ModelError, match="Counting"):
        twin.step()
    twin.contact_surface_handler = Counting()
    twin.step()


def test_saved_properties_have_the_surface():
    _, box = sliding(body=RICH)
    saved = kido.SavedProperties.of(box)
    box.bodies[0].shapes[0].surface = kido.Surface()
    assert saved.differences(kido.SavedProperties.of(box))
    kido.SavedProperties.from_dict(saved.to_dict()).restore(box)
    assert box.bodies[0].shapes[0].surface == RICH
    assert copy.deepcopy(box).bodies[0].shapes[0].surface == RICH


# Bad input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"friction": -0.1}, "friction: expected a finite number not below 0"),
        ({"friction": math.nan}, "friction"),
        ({"secondary_friction": math.inf}, "secondary_friction"),
        ({"restitution": 1.5}, "restitution: expected a number from 0 to 1"),
        ({"first_friction_direction": (0, 0, 0)}, "not zero"),
        ({"first_friction_direction": (0, 1)}, "first_friction_direction"),
        ({"friction_frame": "parent"}, "expected one of shape, body, world"),
        ({"surface_velocity": (0, math.nan, 0)}, "surface_velocity"),
        ({"softness": 1e5}, "SpringDamper"),
        ({"friction_rule": "largest"}, ", ".join(COMBINATION_RULES)),
        ({"priority": 0.5}, "priority"),
        ({"torsional_friction": "much"}, "torsional_friction"),
    ],
)
def test_surfaces_refuse(values, message):
    with pytest.raises(kido.ModelError, match=message):
        kido.Surface(**values)
    _, box = sliding()
    node = box.bodies[0].shapes[0]
    before = node.surface
    with pytest.raises(kido.ModelError, match=message):
        node.set_surface(**values)
    assert node.surface is before


@pytest.mark.parametrize(
    "make",
    [
        lambda: kido.SpringDamper(0.0),
        lambda: kido.SpringDamper(1e5, -1.0),
        lambda: kido.ErpCfm(1.2),
        lambda: kido.ErpCfm(0.2, math.nan),
        lambda: kido.TimeConstant(0.0),
        lambda: kido.ErpCfm(0.2, 0.0).spring_damper(1e-3),
        lambda: kido.ContactSurfaceHandler("smallest"),
        lambda: kido.ContactSurface(direction_of="c"),
        lambda: kido.World(restitution_law="hertz"),
        lambda: kido.World(position_correction=1.0),
        lambda: setattr(kido.World(), "contact_surface_handler", None),
        lambda: setattr(kido.World(), "restitution_law", "Newton"),
    ],
)
def test_the_rest_refuses(make):
    with pytest.raises(kido.ModelError):
        make()


def test_unknown_properties_are_named():
    _, box = sliding()
    with pytest.raises(kido.ArgumentError, match="unexpected argument 'grip'; it takes friction, secondary_friction"):
        box.bodies[0].shapes[0].set_surface(grip=1.0)
    with pytest.raises(kido.ModelError, match=r"expected a kido.Surface, got 0.5"):
        box.bodies[0].shapes[0].surface = 0.5
