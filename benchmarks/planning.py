"""Planning: MotionBenchMaker's problems of a Panda, states and edges checked, time laws; beside OMPL and toppra.

    python -m benchmarks.planning --problems FOLDER --robot panda_spherized.urdf --srdf panda.srdf [--peers 12] [--vamp]

FOLDER is `problems.tar.bz2` of the public repository KavrakiLab/vamp (resources/panda), unpacked: seven scenes of a
hundred problems each; the robot's spheres are there too. As there, cylinders are capsules, those of "box" boxes.
Without them time laws alone are measured. Times are those of a thread, the least of three runs of a problem.
"""

from __future__ import annotations

import argparse
import xml.etree.ElementTree as ET
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import kido
from benchmarks.timing import interleaved, machine, table
from kido.batch import Batch
from kido.planning import (
    CollisionChecker,
    Environment,
    GoalError,
    NoPathError,
    OmplPlanner,
    RRTConnect,
    StartError,
    shortened,
    time_optimal,
    toppra_law,
)

RUNS = 3
OPEN = 0.04  # fingers, where they are coordinates [m]


def environment(scene: dict[str, Any], name: str) -> Environment:
    """Obstacles of a scene in MoveIt's YAML."""
    made = Environment()
    for item in scene["world"]["collision_objects"]:
        for number, (primitive, place) in enumerate(zip(item["primitives"], item["primitive_poses"], strict=True)):
            X, size = np.eye(4), primitive["dimensions"]
            X[:3, :3] = Rotation.from_quat(place["orientation"]).as_matrix()
            X[:3, 3] = place["position"]
            if primitive["type"] == "box":
                shape: kido.Shape = kido.Box(size)
            elif primitive["type"] == "sphere":
                shape = kido.Sphere(size[0])
            elif name == "box":
                shape = kido.Box((2 * size[1], 2 * size[1], size[0]))
            else:
                shape = kido.Capsule(size[1], size[0])
            made.add(f"{item['id']}.{number}", shape, X)
    return made


def problems(folder: Path, names: list[str]) -> dict[str, list[tuple[Environment, np.ndarray, np.ndarray]]]:
    """Environment, start and goal of each problem, by scene."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: dict[str, list[Any]] = {}
    for scene in sorted(folder.iterdir()):
        kind = scene.name.removesuffix("_panda")
        for file in sorted(scene.glob("scene*.yaml")):
            world = yaml.load(file.read_text(), loader)
            request = yaml.load(file.with_name(file.name.replace("scene", "request")).read_text(), loader)
            state = request["start_state"]["joint_state"]
            start = dict(zip(state["name"], state["position"], strict=True))
            goal = {c["joint_name"]: c["position"] for c in request["goal_constraints"][0]["joint_constraints"]}
            ends = (np.array([values[name] for name in names]) for values in (start, goal))
            found.setdefault(kind, []).append((environment(world, kind), *ends))
    return found


def percentiles(seconds: list[float]) -> list[str]:
    return [f"{np.percentile(seconds, p) * 1e6:.0f}" for p in (50, 95)] if seconds else ["-", "-"]


def elapsed(call: Any, *arguments: Any) -> float:
    """Least time of a thread of several calls [s]."""
    times = []
    for _ in range(7):
        began = thread_time()
        call(*arguments)
        times.append(thread_time() - began)
    return min(times)


def checked(checker: CollisionChecker, sets: dict[str, list[Any]]) -> None:
    """Time of a state and of an edge of a radian, in the first problem of each scene."""
    rng, rows = np.random.default_rng(0), []
    for name, items in sets.items():
        checker.environment = items[0][0]
        q = rng.uniform(*checker.limits, (4000, checker.num_dofs))
        free = q[checker.states_are_free(q)]
        ends = free + (lambda d: d / np.linalg.norm(d, axis=1)[:, None])(rng.normal(size=free.shape))
        edges = f"{elapsed(checker.edges_are_free, free, ends) / len(free) * 1e9:.0f}"
        checker.certified = True
        whole = f"{elapsed(checker.edges_are_free, free, ends) / len(free) * 1e9:.0f}"
        checker.certified = False
        states = [f"{elapsed(checker.states_are_free, some) / len(some) * 1e9:.0f}" for some in (q, free)]
        row = [name, f"{len(free) / len(q):.2f}", *states, edges, whole]
        rows.append(row)
    print(table(["scene", "free", "ns a state", "ns a free one", "ns an edge of 1 rad", "the same certified"], rows))


def planned(checker: CollisionChecker, sets: dict[str, list[Any]], certified: bool, simplify: bool) -> list[float]:
    """Solve all problems, print a table, return the times."""
    checker.certified = certified
    planner, every, rows = RRTConnect(checker), [], []
    for name, items in sets.items():
        times, valid, lengths = [], 0, []
        for room, start, goal in items:
            checker.environment = room
            if not checker.states_are_free([start, goal]).all():
                continue
            least = np.inf
            try:
                for _ in range(RUNS):
                    began = thread_time()
                    path = planner.plan(start, goal)
                    if simplify:
                        path = shortened(checker, path)
                    least = min(least, thread_time() - began)
            except (StartError, GoalError):  # outside of limits
                continue
            except NoPathError:
                valid += 1
                continue
            valid += 1
            times.append(least)
            lengths.append(path.length)
        every += times
        rows.append([name, f"{len(times)}/{valid}", *percentiles(times), f"{np.mean(lengths):.2f}"])
    rows.append(["all", f"{len(every)}", *percentiles(every), ""])
    print(f"\nRRTConnect{', certified' if certified else ''}{', with shortcuts' if simplify else ''}\n")
    print(table(["scene", "solved", "median [us]", "95 % [us]", "mean length [rad]"], rows))
    checker.certified = False
    return every


def peers(checker: CollisionChecker, sets: dict[str, list[Any]], number: int) -> None:
    """OMPL's RRTConnect with the same checks, through Python, on some problems of each scene."""
    rows, times, valid = [], [], 0
    planner = OmplPlanner(checker)
    for name, items in sets.items():
        own = []
        for room, start, goal in items[:number]:
            checker.environment = room
            if not checker.states_are_free([start, goal]).all():
                continue
            valid += 1
            began = perf_counter()
            try:
                planner.plan(start, goal, max_seconds=10.0)
            except NoPathError:
                continue
            own.append(perf_counter() - began)
        rows.append([name, str(len(own)), *percentiles(own)])
        times += own
    rows.append(["all", f"{len(times)}/{valid}", *percentiles(times)])
    print("\nOMPL's RRTConnect\n")
    print(table(["scene", "solved", "median [us]", "95 % [us]"], rows))


def laws() -> None:
    """A spline of seven coordinates through six states, limits of velocity and acceleration."""
    rng, rows = np.random.default_rng(0), []
    curve = CubicSpline(np.arange(6) / 5, rng.uniform(-2, 2, (6, 7)))
    v, a = rng.uniform(1, 2, 7), rng.uniform(2, 6, 7)
    arm = kido.load("arm7")
    batch = Batch(arm, threads=1)
    for points in (100, 500, 2000):
        calls = {
            "kido": lambda: time_optimal(curve, points, velocity=v, acceleration=a).duration,  # noqa: B023
            "kido, torques too": lambda: time_optimal(
                curve, points, velocity=v, acceleration=a, force=150.0, skeleton=arm  # noqa: B023
            ).duration,
            "kido, torques, a batch kept": lambda: time_optimal(
                curve, points, velocity=v, acceleration=a, force=150.0, skeleton=batch  # noqa: B023
            ).duration,
            "toppra": lambda: toppra_law(curve, points, velocity=v, acceleration=a).duration,  # noqa: B023
        }  # fmt: skip
        times = interleaved(calls, 7)
        rows += [[str(points), name, f"{times[name] * 1e3:.3f}", f"{call():.6f}"] for name, call in calls.items()]
    print(table(["points", "law", "ms", "duration [s]"], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=Path)
    parser.add_argument("--robot", type=Path)
    parser.add_argument("--srdf", type=Path)
    parser.add_argument("--peers", type=int, default=0, help="problems of each scene for OMPL")
    parser.add_argument("--tolerance", type=float, default=1e-9, help="of spheres over the robot's shapes [m]")
    parser.add_argument("--spheres", type=int, default=1000, help="most for each body")
    options = parser.parse_args()
    print(machine())
    print("\n### Time laws\n")
    laws()
    if options.problems is None:
        return
    arm = kido.load_skeleton(options.robot)
    names = {body.name for body in arm.bodies}
    pairs = [(e.get("link1", ""), e.get("link2", "")) for e in ET.parse(options.srdf).iter("disable_collisions")]
    pairs = [pair for pair in pairs if names.issuperset(pair)]
    dofs = [dof.name for dof in arm.dofs if dof.name.startswith("panda_joint")]
    held = np.where([dof.name in dofs for dof in arm.dofs], 0.0, OPEN)
    began = thread_time()
    checker = CollisionChecker(
        arm, dofs=dofs, positions=held, ignored_pairs=pairs, tolerance=options.tolerance, max_spheres=options.spheres
    )
    number = sum(len(checker.spheres(name)[0]) for name in checker.names)
    print(f"\n{number} spheres, made in {thread_time() - began:.2f} s")
    sets = problems(options.problems, checker.dof_names)
    print("\n### States and edges\n")
    checked(checker, sets)
    print("\n### Problems")
    for certified in (False, True):
        for simplify in (False, True):
            planned(checker, sets, certified, simplify)
    if options.peers:
        peers(checker, sets, options.peers)


if __name__ == "__main__":
    main()
