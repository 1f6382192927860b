"""Time steps and motions that a world cannot follow are named, where a user's program asks for them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import kido
from kido import KidoWarning
from kido.cli import main

RADIUS = 0.02
STEPS = 2000  # more than what is between two looks


@pytest.fixture(autouse=True)
def every_warning_is_an_error() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", KidoWarning)
        yield


def thrown(speed: float, wall: bool = True, **options: bool) -> kido.World:
    """A ball that flies along x towards a wall, far away."""
    world = kido.World(gravity=(0, 0, 0))
    ball = world.add_skeleton(kido.Skeleton("shot")).add_body(
        "ball", kido.FreeJoint("free"), inertia=kido.Inertia(1.0, moment=np.eye(3) * 1e-3)
    )
    ball.add_shape(kido.Sphere(RADIUS))
    ball.skeleton.velocities = [0, 0, 0, speed, 0, 0]
    for name, value in options.items():
        setattr(ball, name, value)
    if wall:
        held = world.add_skeleton(kido.Skeleton("wall")).add_body(
            "wall", kido.WeldJoint("weld", transform_from_parent=(1e4, 0, 0))
        )
        held.add_shape(kido.Box((0.01, 10.0, 10.0)))
    return world


# A ball is 40 mm long; in a step of 1 ms it moves as many mm as its speed has m/s.
@pytest.mark.parametrize("one_by_one", [True, False])
def test_a_ball_that_outruns_detection(one_by_one: bool) -> None:
    world = thrown(50.0)
    with pytest.warns(KidoWarning, match="skeleton 'shot': body 'ball' moves 0.05 m in a step, farther than .* 0.04 m"):
        if one_by_one:
            for _ in range(300):
                world.step()
        else:
            world.step(STEPS)
    world.step(STEPS)  # said once


def test_a_turning_arm_that_outruns_detection() -> None:
    """A point 2 m from a hinge at 40 rad/s moves 80 mm in a step."""
    world = thrown(0.0)
    arm = world.add_skeleton(kido.Skeleton("arm")).add_body(
        "arm", kido.RevoluteJoint("hinge"), inertia=kido.Inertia(1.0, moment=np.eye(3))
    )
    arm.add_shape(kido.Sphere(RADIUS), transform=(2.0, 0.0, 5.0))
    arm.skeleton.velocities = [40.0]
    with pytest.warns(KidoWarning, match="skeleton 'arm': body 'arm' moves 0.08 m in a step"):
        world.step(STEPS)


def test_what_can_be_followed() -> None:
    thrown(35.0).step(STEPS)  # it overlaps with where it was
    thrown(300.0, continuous=True).step(STEPS)  # it is swept
    swept = thrown(300.0)
    swept.continuous_detection = True
    swept.step(STEPS)
    thrown(300.0, wall=False).step(STEPS)  # there is nothing to hit
    slow = thrown(300.0)
    slow.time_step = 1e-4
    slow.step(STEPS)


def test_a_plate_that_flies_edge_on() -> None:
    """It is 1 mm thin, but 0.4 m long where it flies: it moves 50 mm in a step."""
    world = thrown(0.0)
    plate = world.add_skeleton(kido.Skeleton("plate")).add_body(
        "plate", kido.FreeJoint("free"), inertia=kido.Inertia(1.0, moment=np.eye(3))
    )
    plate.add_shape(kido.Box((0.4, 0.4, 0.001)))
    plate.skeleton.positions = [0, 0, 0, 0, 0, 5.0]
    plate.skeleton.velocities = [0, 0, 0, 50.0, 0, 0]
    world.step(STEPS)
    plate.skeleton.velocities = [0, 0, 0, 0, 0, 50.0]
    with pytest.warns(KidoWarning, match="moves 0.05 m in a step, farther than it is long that way, 0.001 m"):
        world.step(STEPS)


@pytest.mark.parametrize("step", [0.2, 1.0, 16.0])
def test_absurd_time_steps(step: float) -> None:
    words = rf"world 'slow': time_step = {step:g} s: fast motions and contacts are lost in steps longer than 0.1 s"
    with pytest.warns(KidoWarning, match=words):
        world = kido.World("slow", time_step=step)
    assert world.time_step == step
    world.time_step = 0.1
    with pytest.warns(KidoWarning, match=words) as caught:
        world.time_step = step
    assert caught[0].filename == __file__


def test_a_file_with_an_absurd_time_step(tmp_path: Path) -> None:
    path = tmp_path / "slow.skel"
    path.write_text("<skel><world name='w'><physics><time_step>1.0</time_step></physics></world></skel>")
    with pytest.warns(KidoWarning, match="world 'w': time_step = 1 s") as caught:
        kido.load(path)
    assert caught[0].filename == __file__


def test_the_program_says_it_in_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    warnings.simplefilter("default", KidoWarning)
    assert main(["simulate", "arm7", "--dt", "1", "--duration", "2", "--quiet"]) == 0
    error = capfd.readouterr().err
    assert "kido: warning: world 'simulation': time_step = 1 s: " in error and "KidoWarning" not in error


def test_gains_that_diverge_are_not_called_missing_inertia() -> None:
    robot = kido.load("arm7")
    assert isinstance(robot, kido.Skeleton)
    world = kido.World()
    world.add_skeleton(robot)
    robot.positions = np.full(robot.num_dofs, 0.3)
    for joint in robot.joints:
        joint.enforce_command_limits = False
    with pytest.raises(kido.StateError, match=r"skeleton 'arm7': the motion diverged at joint .* gains or forces"):
        for _ in range(100):
            robot.forces = -1e7 * robot.positions - 1e5 * robot.velocities
            world.step()


@pytest.mark.parametrize("force", [1e160, 1e300])
def test_forces_beyond_measure(force: float) -> None:
    """Speeds whose squares are infinite have an infinite energy."""
    world = thrown(0.0, wall=False)
    world.skeletons[0].body(0).add_external_force([force, 0.0, 0.0])
    with pytest.raises(kido.StateError, match="skeleton 'shot': the motion diverged at joint 'free' in step 1"):
        world.step()
