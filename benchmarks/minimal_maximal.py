"""Contact in minimal and in maximal coordinates: chains that fall onto the ground, time of a step and agreement.

    python -m benchmarks.minimal_maximal [--bodies 2 5 10] [--seconds 0.2]

Links with a sphere at each end are joined in a row by hinges whose axes are square to one another; the chain falls
onto the ground, turning a little, and touches it after 0.1 s. In minimal coordinates it is one skeleton, in maximal
ones each link floats and is held to the one before by a constraint. Both are worlds of the same program with the
same contact solver, so what differs is the choice of coordinates. "e" is the restitution of the ground.

"apart" compares the links' places at the end of `--seconds`: the two with each other, and each with minimal
coordinates at an eighth of the time step. "open" is the widest gap that hinges of maximal coordinates have.

Source: Jain, Crean, Kuo, von Bremen, Myint 2012, "Minimal coordinate formulation of contact dynamics in operational
space": the comparison.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

import kido
from benchmarks.timing import interleaved, machine, table

LENGTH, RADIUS, MASS = 0.2, 0.05, 0.5  # [m, m, kg] of a link
HEIGHT = RADIUS + 0.05  # [m] of the chain at the start
TILT = 0.05  # [rad] of the chain at the start
SPIN = (0.3, 0.5, 0.7)  # [rad/s] of all links at the start
TIME_STEP = 1e-3  # [s]
FINER = 8  # of the reference: parts of a step
HEADER = (
    "bodies", "e", "minimal [us]", "maximal [us]", "ratio",
    "apart [mm]", "minimal, of the step [mm]", "maximal, of the step [mm]", "open [m]",
)  # fmt: skip


def start_of(k: int) -> np.ndarray:
    """Pose of link k at the start."""
    c, s = np.cos(TILT), np.sin(TILT)
    X = np.eye(4)
    X[:3, :3] = [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]
    X[:3, 3] = -X[:3, 0] * LENGTH * k + (0.0, 0.0, HEIGHT)
    return X


def half(sign: float) -> np.ndarray:
    """From the middle of a link to its end."""
    X = np.eye(4)
    X[0, 3] = 0.5 * sign * LENGTH
    return X


def add_link(skeleton: kido.Skeleton, k: int, joint: kido.Joint, parent: kido.BodyNode | None = None) -> kido.BodyNode:
    """A rod along x with its origin in the middle and a sphere at either end."""
    body = skeleton.add_body(f"link{k}", joint, parent, kido.Inertia.from_diagonal(MASS, (6e-4, 2e-3, 2e-3)))
    for x in (-0.5, 0.5):
        end = np.eye(4)
        end[0, 3] = x * (LENGTH - 2.0 * RADIUS)
        body.add_shape(kido.Sphere(RADIUS), end, restitution=1.0)
    return body


def throw(joint: kido.FreeJoint, k: int) -> None:
    """Put a floating link where it starts, with its share of the chain's turning about link 0."""
    X = start_of(k)
    linear = np.cross(SPIN, X[:3, 3] - start_of(0)[:3, 3])
    joint.set_spatial_motion(X, np.concatenate((SPIN, linear)))


def hinge_axis(k: int) -> tuple[float, float, float]:
    """Axis of the hinge between links k - 1 and k, in both."""
    return (0.0, 1.0, 0.0) if k % 2 else (0.0, 0.0, 1.0)


def ground(restitution: float, time_step: float) -> kido.World:
    """A world with a ground and nothing on it."""
    world = kido.World(time_step=time_step)
    world.add_ground(friction=0.5, restitution=restitution)
    return world


def minimal(count: int, restitution: float, time_step: float = TIME_STEP) -> kido.World:
    """The chain as one skeleton."""
    world = ground(restitution, time_step)
    chain = kido.Skeleton("chain")
    chain.self_collision = True
    root = kido.FreeJoint()
    body = add_link(chain, 0, root)
    throw(root, 0)
    for k in range(1, count):
        joint = kido.RevoluteJoint(axis=hinge_axis(k), transform_from_parent=half(-1.0), transform_from_child=half(1.0))
        body = add_link(chain, k, joint, body)
    world.add_skeleton(chain)
    return world


def maximal(count: int, restitution: float, time_step: float = TIME_STEP) -> kido.World:
    """Each link a skeleton of its own, held by constraints."""
    world = ground(restitution, time_step)
    links = []
    for k in range(count):
        skeleton = kido.Skeleton(f"link{k}")
        joint = kido.FreeJoint()
        links.append(add_link(skeleton, k, joint))
        throw(joint, k)
        world.add_skeleton(skeleton)
    for k in range(1, count):
        frame = start_of(k) @ half(1.0)
        axis = frame[:3, :3] @ hinge_axis(k)
        world.add_constraint(kido.RevoluteJointConstraint(links[k - 1], links[k], at=frame[:3, 3], axis=axis))
        world.collision_filter.add(links[k - 1], links[k])
    return world


def places(world: kido.World) -> np.ndarray:
    """Origins of all links in order (n, 3) [m]."""
    bodies = [body for skeleton in world.skeletons for body in skeleton.bodies if body.name.startswith("link")]
    return np.array([body.world_transform[:3, 3] for body in bodies])


def open_hinges(world: kido.World) -> float:
    """The widest gap of a constraint [m]."""
    return max(float(np.abs(c.error).max()) for c in world.constraints)


def row(count: int, restitution: float, seconds: float, rounds: int) -> list[str]:
    """One line of the table."""
    steps = round(seconds / TIME_STEP)
    worlds = {"minimal": minimal(count, restitution), "maximal": maximal(count, restitution)}
    starts = {name: world.snapshot() for name, world in worlds.items()}

    def run(name: str) -> None:
        worlds[name].restore(starts[name])
        worlds[name].step(steps)

    times = interleaved({name: partial(run, name) for name in worlds}, rounds, 10.0)
    found = {name: places(world) for name, world in worlds.items()}
    fine = minimal(count, restitution, TIME_STEP / FINER)
    fine.step(steps * FINER)
    truth = places(fine)

    def apart(a: np.ndarray, b: np.ndarray) -> str:
        return f"{1e3 * np.linalg.norm(a - b, axis=1).max():.2g}"

    return [
        str(count),
        f"{restitution:g}",
        *(f"{1e6 * times[name] / steps:.1f}" for name in worlds),
        f"{times['maximal'] / times['minimal']:.1f}",
        apart(found["minimal"], found["maximal"]),
        *(apart(found[name], truth) for name in worlds),
        f"{open_hinges(worlds['maximal']):.0e}",
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bodies", type=int, nargs="+", default=[2, 5, 10, 20, 50, 100])
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = [row(n, e, options.seconds, options.rounds) for n in options.bodies for e in (0.0, 0.5)]
    print(f"{machine()}\n\nTime step {1e3 * TIME_STEP:g} ms, {options.seconds:g} s\n")
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
