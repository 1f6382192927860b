"""Controllers of our humanoid: stable PD beside dense algebra, and worlds that it stands in at 1 kHz.

    python -m benchmarks.control

Dense stable PD solves (M + T Kd) a = ... by SciPy's Cholesky factors of KIDO's M. Both forces must agree. Every number
is the best of interleaved rounds.
"""

from __future__ import annotations

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


def dense(c: StablePD) -> np.ndarray:
    """Forces of a stable PD controller with vector coordinates but for a free base, by dense algebra."""
    s = c.skeleton
    q, u, damping = s.positions, s.velocities, s.damping_forces
    own = np.array([dof.damping for dof in s.dofs])
    first = -c.kp * (q - c.target + T * u) - c.kd * u
    M = s.mass_matrix + np.diag(T * (c.kd + own))
    right = first - s.coriolis_and_gravity_forces + damping
    return first - T * c.kd * scipy.linalg.cho_solve(scipy.linalg.cho_factor(M, check_finite=False), right)


def main() -> None:
    world = standing(True)
    robot = world.skeletons[0].clone()
    c = StablePD(robot, world.controllers[0].target, world.controllers[0].kp, world.controllers[0].kd)
    robot.velocities = np.linspace(-1.0, 1.0, robot.num_dofs)
    assert np.abs(dense(c) - c.forces_at(T)).max() < 1e-8

    def fresh() -> None:  # results of the state before are not to be had again
        robot.velocities = -robot.velocities
        robot.positions = robot.positions + 0.0

    def by_sweep() -> None:
        fresh()
        c.forces_at(T)

    def by_algebra() -> None:
        fresh()
        dense(c)

    times = interleaved({"fresh": fresh, "sweep": by_sweep, "dense": by_algebra}, 300)
    print(machine())
    for name in ("sweep", "dense"):
        print(f"stable PD, {name}: {1e6 * (times[name] - times['fresh']):.1f} us a call from Python")
    worlds = {"falling": standing(False), "held by stable PD": world}
    found = interleaved({name: (lambda w=w: w.step(STEPS)) for name, w in worlds.items()}, 60)
    for name, seconds in found.items():
        print(f"{name}: {1e6 * seconds / STEPS:.1f} us a step, {STEPS * T / seconds:.0f} times real time")


if __name__ == "__main__":
    main()
