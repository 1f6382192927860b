"""Derivatives of steps of worlds with flexible bodies against central differences of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from step_differences import difference, differences, largest

import kido
from kido.flexible import FlexibleBody, Material, Section, beam_modes

ALUMINIUM = Material(7e10, 2700.0)
EXACT: dict[str, Any] = {"tolerance": 1e-13, "newton_tolerance": 1e-13, "speed_tolerance": 1e-12}
TOLERANCE = 1e-7  # of differences of fourth order with steps of 1e-5 to 1e-6


def beam(**options: Any) -> Any:
    given = {"bending_y": 2, "bending_z": 2, "damping_ratio": 0.02, **options}
    return beam_modes(1.0, Section.rectangle(0.03, 0.006), ALUMINIUM, **given)


def world_of(*skeletons: kido.Skeleton, ground: bool = False) -> kido.World:
    world = kido.World(time_step=1e-3, **EXACT)
    for skeleton in skeletons:
        world.add_skeleton(skeleton)
    if ground:
        floor = kido.Skeleton("floor")
        floor.mobile = False
        floor.add_body("floor", kido.WeldJoint()).add_shape(kido.Plane())
        world.add_skeleton(floor)
    return world


def arm(seed: int = 0) -> kido.Skeleton:
    """A flexible link of eight modes on a ball joint and one of four on a hinge, with a load, in motion."""
    skeleton, rng = kido.Skeleton("arm"), np.random.default_rng(seed)
    upper = FlexibleBody(skeleton.add_body("upper", kido.BallJoint("shoulder")), beam(bending_y=4, bending_z=4))
    elbow = kido.RevoluteJoint("elbow", axis=(0, 1, 0), damping=0.1, spring_stiffness=2.0, armature=0.01)
    fore = FlexibleBody(skeleton.add_body("fore", elbow, upper.node("tip")), beam())
    skeleton.add_body("load", kido.WeldJoint(), fore.node("tip"), kido.Inertia(0.3, (0.02, 0, 0), 1e-4 * np.eye(3)))
    small = np.array([0.003 if dof.joint.has_modes else 1.0 for dof in skeleton.dofs])
    skeleton.positions, skeleton.velocities = (rng.normal(size=len(small)) * small * k for k in (0.5, 10.0))
    skeleton.velocities = skeleton.velocities * np.where(small < 1.0, 1.0, 0.1)
    skeleton.forces = 0.1 * rng.normal(size=len(small))
    return skeleton


def plank(velocity: float = 0.0, depth: float = 2e-4) -> kido.Skeleton:
    """A floating beam with feet at its ends, as deep in the ground as differences ask for."""
    skeleton = kido.Skeleton("plank")
    body = FlexibleBody(skeleton.add_body("beam", kido.FreeJoint()), beam())
    for name, place in {"root": body.body, "tip": body.node("tip")}.items():
        foot = skeleton.add_body(f"foot_{name}", kido.WeldJoint(), place, kido.Inertia(0.2, moment=1e-4 * np.eye(3)))
        foot.add_shape(kido.Sphere(0.04), friction=1.0)
    skeleton.positions = np.r_[np.zeros(5), 0.04 - depth, np.zeros(4)]
    skeleton.velocities = np.r_[0.0, 0.0, 0.1 * velocity, velocity, 0.2 * velocity, np.zeros(5)]
    return skeleton


def check(world: kido.World, h: float = 1e-5) -> Any:
    found = world.step_derivatives()
    by_state, by_forces = differences(world, h)
    assert largest(found.by_state, by_state) < TOLERANCE
    assert largest(found.by_commands, by_forces) < TOLERANCE
    return found


def test_free_motion_with_joint_laws() -> None:
    world = world_of(arm())
    found = check(world)
    assert found.by_state.shape == (32, 32)
    g = np.arange(32.0)
    state, commands, _ = world.pull_back(g)
    assert np.allclose(state, found.by_state.T @ g, rtol=1e-12)
    assert np.allclose(commands, found.by_commands.T @ g, rtol=1e-12)


@pytest.mark.parametrize("actuator", ["ACCELERATION", "LOCKED"])
def test_prescribed_coordinates_beside_modes(actuator: str) -> None:
    skeleton = arm()
    skeleton.dof("elbow").actuator_type = actuator
    if actuator == "ACCELERATION":
        skeleton.dof("elbow").command = 3.0
    found, wanted = world_of(skeleton).step_derivatives(), None
    wanted = differences(world_of(skeleton.clone()), 1e-5)[0]
    if actuator == "LOCKED":  # its velocity is zero from the step on, whatever it was
        k = skeleton.dof("elbow").index
        assert not found.by_state[len(wanted) // 2 + k].any()
    assert largest(found.by_state, wanted) < TOLERANCE


@pytest.mark.parametrize(("velocity", "modes"), [(0.0, "sticking"), (1.0, "sliding")])
def test_contacts_on_nodes(velocity: float, modes: str) -> None:
    world = world_of(plank(velocity), ground=True)
    world.step(2)
    found = check(world, 1e-6)
    assert len(found.modes) == 2 and modes in found.modes


@pytest.mark.parametrize(("velocity", "modes"), [(0.0, "sticking"), (1.0, "sliding")])
def test_contacts_on_surfaces(velocity: float, modes: str) -> None:
    """A beam on a hinge that slides along, on a ball between stations of its surface."""
    skeleton = kido.Skeleton("arm")
    rail = skeleton.add_body(
        "rail", kido.PrismaticJoint(axis=(1, 0, 0)), None, kido.Inertia(0.1, moment=1e-4 * np.eye(3))
    )
    flexible = FlexibleBody(skeleton.add_body("beam", kido.RevoluteJoint(axis=(0, 1, 0)), rail), beam(), collision=True)
    assert flexible.surface is not None
    flexible.surface.friction = 1.0
    ball = kido.Skeleton("ball")
    ball.mobile = False
    ball.add_body("ball", kido.WeldJoint(transform_from_parent=(0.53, 0.002, -0.0528))).add_shape(kido.Sphere(0.05))
    skeleton.velocities = np.r_[velocity, np.zeros(5)]
    world = world_of(skeleton, ball)
    world.step(2)
    found = check(world, 1e-6)
    assert found.modes == (modes,)


@pytest.mark.parametrize("gap", [1e-3, 2e-4], ids=["flight", "impact"])
def test_an_impact_within_a_step_and_the_flight_before(gap: float) -> None:
    skeleton = plank(depth=-gap)
    skeleton.velocities = np.r_[0.0, 0.02, 0.0, 0.2, 0.0, -0.5, np.zeros(4)]
    found = check(world_of(skeleton, ground=True), 1e-6)
    assert ("sliding" in found.modes) == (gap < 5e-4)


@pytest.mark.parametrize("name", ["mass", "damping", "spring_stiffness", "gravity"])
def test_parameters(name: str) -> None:
    skeleton = arm()
    world = world_of(skeleton)
    load, mode = skeleton.body("load"), skeleton.dofs[3]
    inertia, start = load.inertia, {key: getattr(mode, key) for key in ("damping", "spring_stiffness")}

    def prepare(x: float) -> None:
        if name == "mass":
            load.inertia = kido.Inertia(0.3 + x, inertia.com, inertia.moment)
        elif name == "gravity":
            world.gravity = (0.0, 0.0, -9.81 + x)
        else:
            setattr(mode, name, start[name] + x)

    wanted = {"mass": [load], "gravity": None}.get(name, [mode])
    found = world.step_derivatives({name: wanted}).by_parameters[name][:, -1]
    step = 1e-3 * start.get(name, 1.0)
    error = np.abs(found - difference(world, prepare, step)).max()
    assert np.abs(found).max() > 0.0 and error < 1e-6 * np.abs(found).max() + 1e-12 / step


def test_gradients_of_rollouts() -> None:
    """Across contact, against differences; what contacts recall is part of them."""
    skeleton = plank(1.0)
    world = world_of(skeleton, ground=True)
    world.step(2)
    rng, n, steps = np.random.default_rng(1), skeleton.num_dofs, 6
    commands, weights = 0.1 * rng.normal(size=(steps, n)), rng.normal(size=(steps, n))

    def gradient(k: int, _: kido.World) -> np.ndarray:
        return np.concatenate([np.zeros(n), weights[k - 1]])

    def loss(given: np.ndarray) -> float:
        before, total = world.snapshot(), 0.0
        for k, row in enumerate(given):
            skeleton.forces = row
            world.step()
            total += float(weights[k] @ skeleton.velocities)
        world.restore(before)
        return total

    found, u, h = world.rollout_gradient(commands, gradient), skeleton.velocities.copy(), 1e-6
    wanted = np.zeros(n)
    for k, e in enumerate(np.eye(n)):
        for sign in (1.0, -1.0):
            skeleton.velocities = u + sign * h * e
            wanted[k] += sign * loss(commands) / (2.0 * h)
        skeleton.velocities = u
    assert np.abs(found.by_state[n:] - wanted).max() < 1e-6 * np.abs(wanted).max()
    for k, j in ((0, 6), (3, 1), (steps - 1, 8)):
        change = np.zeros_like(commands)
        change[k, j] = 1e-3
        wanted_here = (loss(commands + change) - loss(commands - change)) / 2e-3
        assert np.isclose(found.by_commands[k, j], wanted_here, rtol=1e-5, atol=1e-8)


def test_the_mass_of_a_flexible_body_is_its_modes() -> None:
    world = world_of(arm())
    with pytest.raises(kido.ModelError, match=r"mass: expected a BodyNode of the world that it can have"):
        world.step_derivatives({"mass": [world.skeletons[0].body("upper")]})
    assert len(world.step_derivatives(["mass"]).by_parameters["mass"].T) == 1  # the load
