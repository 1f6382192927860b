"""Balance of momentum and energy in contact: where they must hold to rounding, and that nothing passive gains.

A contact's impulse acts on both bodies at one point at mid-step, so that momentum about any point is kept to rounding
for balls (the velocity products of other bodies are integrated to second order). Energy: gravity's is exact, an
impact never gains by itself (`kido.solvers.restitution`). What is left is that contacts hold at mid-step while
velocities are those of a step's ends: bodies that roll over one another gain, and in hollows lose, of first order in h.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kido
import scenes
from scenes import G


def some_shape(random: np.random.Generator, kinds: str):
    kind = kinds[random.integers(len(kinds))]
    if kind == "b":
        return kido.Box(tuple(random.uniform(0.06, 0.2, 3)))
    if kind == "c":
        return kido.Capsule(random.uniform(0.03, 0.06), random.uniform(0.05, 0.2))
    return kido.Sphere(random.uniform(0.04, 0.1))


def pile(seed: int, kinds: str, friction: float, restitution: float, *, ground=True, h=1e-3):
    """Eight bodies of masses from 0.1 to 10 kg thrown about: above the ground, or at one another without gravity."""
    random = np.random.default_rng(seed)
    bodies = []
    for k in range(8):
        place = 0.3 * np.array([k % 2, k // 2 % 2, k // 4]) + random.uniform(-0.03, 0.03, 3) + [0, 0, 0.25]
        velocity = random.normal(size=3) if ground else [0.15, 0.15, 0.4] - place + 0.3 * random.normal(size=3)
        bodies.append(
            scenes.free(
                some_shape(random, kinds),
                10 ** random.uniform(-1, 1),
                place,
                rotation=random.normal(size=3),
                velocity=velocity,
                angular_velocity=3 * random.normal(size=3),
                friction=friction,
                restitution=restitution,
                name=f"body{k}",
            )
        )
    gravity = (0.0, 0.0, -G if ground else 0.0)
    return scenes.world(*bodies, ground=ground, friction=friction, gravity=gravity, time_step=h), bodies


def momentum(bodies) -> np.ndarray:
    """Momentum and moment of momentum about the world's origin."""
    total = np.zeros(6)
    for skeleton in bodies:
        body = skeleton.bodies[0]
        turn = body.world_transform[:3, :3]
        linear = body.mass * np.asarray(body.linear_velocity())
        spin = turn @ body.inertia.moment @ turn.T @ np.asarray(body.angular_velocity())
        total += [*linear, *(np.cross(body.world_transform[:3, 3], linear) + spin)]
    return total


@settings(max_examples=4)
@given(st.integers(0, 10**6), st.floats(0.0, 1.5), st.sampled_from([0.0, 0.5, 1.0]))
def test_balls_that_collide_keep_their_momentum(seed, friction, restitution):
    world, bodies = pile(seed, "s", friction, restitution, ground=False)
    before = momentum(bodies)
    scale = sum(s.mass * np.linalg.norm(scenes.velocity(s)) for s in bodies)
    world.step(400)
    assert world.totals.contacts > 0
    change = momentum(bodies) - before
    assert np.abs(change[:3]).max() < 1e-13 * scale
    # Balls pushed apart by the position correction (fractions of a millimetre) carry their momentum aside.
    apart = 1e-13 if world.totals.max_penetration < 1e-6 else 1e-3
    assert np.abs(change[3:]).max() < apart * scale


@pytest.mark.parametrize("restitution", [0.0, 0.7])
def test_momentum_changes_by_gravity_and_contact_forces(restitution):
    """m dv = h (m g + sum F) and its moment about the origin at mid-step, each step, to rounding.

    Impacts are at their times: beside the points of mid-step, by at most the way of half a step.
    """
    world, bodies = pile(5, "s", 0.6, restitution)
    h, mass = world.time_step, sum(s.mass for s in bodies)
    own = {id(s.bodies[0]) for s in bodies}
    touched = 0
    for _ in range(350):
        before = momentum(bodies)
        arm = sum(s.mass * (scenes.place(s) + 0.5 * h * scenes.velocity(s)) for s in bodies)
        world.step()
        change = momentum(bodies) - before
        force = np.array([0, 0, -mass * G])
        moment, beside = np.cross(arm, [0, 0, -G]), 0.0
        way = 0.5 * h * max(np.linalg.norm(scenes.velocity(s)) for s in bodies) if restitution else 0.0
        for contact in world.contacts:
            outer = (id(contact.body_b) in own) - (id(contact.body_a) in own)
            force = force + outer * np.asarray(contact.force)
            moment = moment + outer * np.cross(contact.point, contact.force)
            beside += way * np.linalg.norm(contact.force)
            touched += outer != 0
        np.testing.assert_allclose(change[:3], h * force, rtol=0, atol=1e-12 * mass)
        if world.report.max_penetration < 1e-6:
            np.testing.assert_allclose(change[3:], h * moment, rtol=0, atol=h * (1e-5 * mass * G + beside))
    assert touched > 5


def largest_rise(world: kido.World, steps: int) -> float:
    """Largest rise of energy less the work of position correction, from any moment to any later one [J]."""
    least, rise = np.inf, 0.0
    for _ in range(steps):
        world.step()
        energy = world.total_energy - world.totals.correction_energy
        least = min(least, energy)
        rise = max(rise, energy - least)
    return rise


@settings(max_examples=5)
@given(
    st.integers(0, 10**6), st.sampled_from(["s", "bc", "sbc"]), st.floats(0.0, 1.5), st.sampled_from([0.0, 0.5, 1.0])
)
def test_a_pile_gains_no_energy(seed, kinds, friction, restitution):
    """1e-5 of the energy at the start, over 0.6 s: velocity products, and what rolls over another."""
    world, _ = pile(seed, kinds, friction, restitution)
    start = world.total_energy
    assert largest_rise(world, 600) < 1e-5 * start
    assert world.total_energy < start + world.totals.correction_energy


@pytest.mark.parametrize("shape", [kido.Capsule(0.05, 0.2), kido.Box((0.1, 0.15, 0.2))], ids=["capsule", "box"])
def test_a_tumbling_body_that_bounces_keeps_its_energy(shape):
    """Frictionless, e = 1, 3 s of impacts at their times: what energy rises by in between is of second order in h (1e-4
    at 2 ms; velocity products and turned lever arms), and at the end less is left of it."""
    for h in (2e-3, 1e-3):
        body = scenes.free(
            shape, 1.0, (0, 0, 0.4), rotation=(0.4, 0.7, 0.2), velocity=(0.5, 0.3, 0), angular_velocity=(3, 2, 4),
            friction=0.0, restitution=1.0,
        )  # fmt: skip
        world = scenes.world(body, friction=0.0, time_step=h)
        start = world.total_energy
        assert largest_rise(world, round(3.0 / h)) < 1e-4 * (h / 2e-3) ** 2 * start
        assert abs(world.total_energy - start) < 2e-5 * start


@pytest.mark.parametrize("e", [0.5, 1.0])
@pytest.mark.parametrize("load", ["gravity", "force", "spring and command"])
def test_rebounds_know_every_force(load, e):
    """A ball driven to the ground from 0.5 m by any constant force bounces to e^2 of that: 3e-4."""
    world = kido.World(gravity=(0, 0, -G if load == "gravity" else 0.0))
    world.add_ground(restitution=1.0)
    skeleton = kido.Skeleton("ball")
    ball = kido.Sphere(0.1)
    joint = kido.PrismaticJoint("up", axis=(0, 0, 1))
    body = skeleton.add_body("ball", joint, inertia=kido.Inertia.from_shape(ball, mass=2.0))
    body.add_shape(ball, restitution=e)
    if load.startswith("spring"):
        joint.dofs[0].spring_stiffness, joint.dofs[0].rest_position = 1e-3, -1e3 * G  # half of the weight
    skeleton.positions = [0.6]
    world.add_skeleton(skeleton)

    def drive() -> None:
        if load == "force":
            body.add_external_force([0, 0, -2.0 * G])
        elif load.startswith("spring"):
            skeleton.forces = [-G]

    top, fall = 0.0, np.sqrt(2 * 0.5 / G)
    for k in range(int((1 + 1.9 * e) * fall / 1e-3)):
        drive()
        world.step()
        if k * 1e-3 > fall + 5e-3:
            top = max(top, skeleton.positions[0] - 0.1)
    assert top == pytest.approx(0.5 * e * e, rel=3e-4)


def chain(seed: int, closed: bool):
    """Four links of boxes on ball joints that fall to the ground; closed to a ring by a constraint."""
    random = np.random.default_rng(seed)
    skeleton, parent = kido.Skeleton("chain"), None
    shape = kido.Box((0.2, 0.05, 0.04))
    for k in range(4):
        if parent is None:
            joint = kido.FreeJoint("free")
        else:
            joint = kido.BallJoint(
                f"ball{k}",
                transform_from_parent=scenes.pose((0.11, 0, 0)),
                transform_from_child=scenes.pose((-0.11, 0, 0)),
            )
        parent = skeleton.add_body(
            f"link{k}", joint, parent, kido.Inertia.from_shape(shape, mass=random.uniform(0.3, 2))
        )
        parent.add_shape(shape, friction=random.uniform(0.1, 1.0))
    turns = [0, 0, np.pi / 2] * 3 if closed else list(random.uniform(-0.5, 0.5, 9))
    skeleton.positions = [*random.uniform(-0.3, 0.3, 3), 0, 0, 0.4, *turns]
    world = scenes.world(skeleton)
    if closed:
        tip = skeleton.bodies[-1].world_transform @ [0.11, 0, 0, 1]
        world.add_constraint(kido.BallJointConstraint(skeleton.bodies[-1], skeleton.bodies[0], at=tip[:3]))
        world.close_constraints()
    return world, skeleton


@pytest.mark.parametrize("closed", [False, True], ids=["chain", "ring"])
@pytest.mark.parametrize("seed", range(2))
def test_a_linkage_that_falls_to_the_ground_gains_no_energy(seed, closed):
    """1 % of the energy at the start in 0.8 s at 1 ms: links turn against each other within the step of an impact,
    whose velocity products are those of the velocities before; of first order in h."""
    world, _ = chain(seed, closed)
    start = world.total_energy
    assert largest_rise(world, 800) < 1e-2 * start
    assert world.totals.contacts > 0
    assert world.total_energy < start
