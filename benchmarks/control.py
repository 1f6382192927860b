"""Controllers: stable PD of our humanoid and our hand beside dense algebra and dartpy, and worlds at 1 kHz.

    python -m benchmarks.control

Dense stable PD solves (M + T Kd) a = ... by SciPy's Cholesky factors of KIDO's M. Both forces must agree. Every number
is the best of interleaved rounds. The hand follows its motion of 8 s from where it begins, with 15 N m/rad and
2 N m s/rad: by the compiled controller, by the dense one, called from Python before every step, and in dartpy with its
M and its bias forces, which must agree. Errors are those of all joints after each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy

import kido
from benchmarks.timing import interleaved, machine
from kido.control import StablePD

T = 1e-3
STEPS = 50


def standing(controlled: bool) -> kido.World:
    """The humanoid on the ground, held by stable PD with gains in proportion to its motors."""
    robot = kido.load_skeleton("humanoid")
    robot.dof("root_z").position -= robot.body("left_foot").world_transform[2, 3] - 0.07
    world = kido.World(time_step=T)
    world.add_skeleton(robot)
    world.add_ground()
    if controlled:
        most = np.array([dof.force_limit for dof in robot.dofs[6:]])
        world.add_controller(StablePD(robot, robot.positions, 4.0 * most, 0.4 * most))
    world.step(300)
    return world


def dense(s: kido.Skeleton, goal: np.ndarray, rate: np.ndarray | float, kp: np.ndarray, kd: np.ndarray) -> np.ndarray:
    """Forces of stable PD on vector coordinates and a free base that is near to its goal, by dense algebra."""
    q, u, damping = s.positions, s.velocities, s.damping_forces
    own = np.array([dof.damping for dof in s.dofs])
    first = -kp * (q - goal + T * u) - kd * (u - rate)
    M = s.mass_matrix + np.diag(T * (kd + own))
    right = first - s.coriolis_and_gravity_forces + damping
    return first - T * kd * scipy.linalg.cho_solve(scipy.linalg.cho_factor(M, check_finite=False), right)


def hand() -> tuple[kido.World, kido.Motion]:
    """Our hand at the start of its motion, which has a frame for each step."""
    robot = kido.load_skeleton("hand")
    motion = kido.load_motion(kido.models.path("hand").with_suffix(".dof")).on(robot).resampled(1 / T, smooth=True)
    for joint in robot.joints:
        joint.enforce_command_limits = joint.enforce_position_limits = False
    robot.positions = motion.positions[0]
    world = kido.World(time_step=T)
    world.add_skeleton(robot)
    return world, motion


Positions = Iterator[np.ndarray]  # after one step and the next
KP, KD = np.full(24, 15.0), np.full(24, 2.0)


def by_controller() -> Positions:
    world, motion = hand()
    world.add_controller(StablePD(world.skeletons[0], motion, KP, KD))
    while True:
        world.step()
        yield world.skeletons[0].positions


def by_dense_forces() -> Positions:
    world, motion = hand()
    robot = world.skeletons[0]
    goals, rates, _ = motion.derivatives()
    for goal, rate in zip(goals[1:], rates[1:], strict=True):
        robot.forces = dense(robot, goal, rate, KP, KD)
        world.step()
        yield robot.positions


def by_dartpy() -> Positions:
    import dartpy as dart

    own, motion = hand()
    goals, rates, _ = motion.derivatives()
    robot = dart.utils.DartLoader().parseSkeleton(str(kido.models.path("hand")))
    names = [robot.getDof(k).getName() for k in range(robot.getNumDofs())]
    order = [names.index(dof.joint.name) for dof in own.skeletons[0].dofs]
    back = np.argsort(order)
    world = dart.simulation.World()
    world.setTimeStep(T)
    world.setGravity([0.0, 0.0, -9.81])
    world.addSkeleton(robot)
    for k in range(robot.getNumDofs()):
        robot.getDof(k).setForceLimits(-np.inf, np.inf)
    for k in range(robot.getNumBodyNodes()):  # links without mass have 1 kg there
        body = robot.getBodyNode(k)
        if own.skeletons[0].body(body.getName()).mass == 0.0:
            body.setMass(1e-9)
            body.setMomentOfInertia(1e-12, 1e-12, 1e-12)
    robot.setPositions(motion.positions[0][back])
    assert np.abs(robot.getMassMatrix()[np.ix_(order, order)] - own.skeletons[0].mass_matrix).max() < 1e-8
    damping = np.full(24, robot.getDof(0).getDampingCoefficient())
    for goal, rate in zip(goals[1:, back], rates[1:, back], strict=True):
        q, u = robot.getPositions(), robot.getVelocities()
        first = -KP * (q - goal + T * u) - KD * (u - rate)
        right = first - robot.getCoriolisAndGravityForces() - damping * u
        M = robot.getMassMatrix() + np.diag(T * (KD + damping))
        robot.setForces(first - T * KD * scipy.linalg.cho_solve(scipy.linalg.cho_factor(M, check_finite=False), right))
        world.step()
        yield robot.getPositions()[order]


def follow_the_motion() -> None:
    """Print errors and times of a step of the hand."""
    programs = {"controller": by_controller(), "dense, NumPy": by_dense_forces(), "dense, dartpy": by_dartpy()}
    goals = hand()[1].positions
    places: dict[str, list[np.ndarray]] = {name: [] for name in programs}
    calls = {name: (lambda name=name, g=g: places[name].append(next(g))) for name, g in programs.items()}
    times = interleaved(calls, len(goals) - 3)
    for name, rows in places.items():
        off = np.rad2deg(np.array(rows) - goals[1 : len(rows) + 1])
        rms, worst = np.sqrt(np.mean(off**2)), np.abs(off).max()
        print(f"hand, {name}: {1e6 * times[name]:.1f} us a step, off by {rms:.3f} deg rms, {worst:.2f} at most")


def main() -> None:
    world = standing(True)
    robot = world.skeletons[0].clone()
    held: Any = world.controllers[0]
    c = StablePD(robot, held.target, held.kp, held.kd)
    robot.velocities = np.linspace(-1.0, 1.0, robot.num_dofs)
    assert np.abs(dense(robot, c.target, 0.0, c.kp, c.kd) - c.forces_at(T)).max() < 1e-8

    def fresh() -> None:  # results of the state before are not to be had again
        robot.velocities = -robot.velocities
        robot.positions = robot.positions + 0.0

    def by_sweep() -> None:
        fresh()
        c.forces_at(T)

    def by_algebra() -> None:
        fresh()
        dense(robot, c.target, 0.0, c.kp, c.kd)

    times = interleaved({"fresh": fresh, "sweep": by_sweep, "dense": by_algebra}, 300)
    print(machine())
    for name in ("sweep", "dense"):
        print(f"stable PD, {name}: {1e6 * (times[name] - times['fresh']):.1f} us a call from Python")
    worlds = {"falling": standing(False), "held by stable PD": world}
    found = interleaved({name: (lambda w=w: w.step(STEPS)) for name, w in worlds.items()}, 60)
    for name, seconds in found.items():
        print(f"{name}: {1e6 * seconds / STEPS:.1f} us a step, {STEPS * T / seconds:.0f} times real time")
    follow_the_motion()


if __name__ == "__main__":
    main()
