"""Races: threads that use one object at once. Run as a program, which a crash ends, and not the tests:

    python tests/races.py NAME

It prints, as JSON, how often calls gave the numbers that one thread alone gets ("right"), others ("WRONG"), or an
error, by its class. `RACES` has all of them.
"""

from __future__ import annotations

import itertools
import json
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import kido
from kido import models
from kido.batch import Batch, RolloutPool
from kido.collision import KidoCollisionDetector
from kido.integrators import RK4, MoreauMidpoint, SemiImplicitEuler, simulate
from kido.optimization import QuadraticProgram
from kido.quantities import TABLE
from kido.solvers import DefaultSolver, GaussSeidel

SECONDS = 1.0
SWITCH = 1e-4  # [s] threads take turns so often, fifty times as often as usual
Work = Callable[[], bool]

RACES: dict[str, Callable[[], Counter[str]]] = {}


def race(function: Callable[[], Counter[str]]) -> Callable[[], Counter[str]]:
    RACES[function.__name__] = function
    return function


def run(works: Iterable[Work], seconds: float = SECONDS) -> Counter[str]:
    """Do works again and again, each in a thread of its own."""
    works, counts = list(works), Counter[str]()
    begin = threading.Barrier(len(works))
    end = time.monotonic() + seconds

    def loop(work: Work) -> None:
        begin.wait()
        first = True
        while first or time.monotonic() < end:
            first = False
            try:
                outcome = "right" if work() else "WRONG"
            except Exception as error:
                outcome = type(error).__name__
                if not isinstance(error, kido.ConcurrencyError):
                    traceback.print_exc()
            counts[outcome] += 1

    threads = [threading.Thread(target=loop, args=(work,), name=f"racer {k}") for k, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts


def numbers(value: Any) -> list[np.ndarray]:
    """All numbers of a result."""
    if isinstance(value, np.ndarray | float | int):
        return [np.asarray(value)]
    items = value if isinstance(value, tuple | list) else vars(value).values() if hasattr(value, "__dict__") else ()
    return [array for item in items for array in numbers(item)]


def same(a: Any, b: Any) -> bool:
    return all(np.array_equal(x, y, equal_nan=True) for x, y in zip(numbers(a), numbers(b), strict=True))


def run_calls(call: Callable[[Any], Any], inputs: list[Any], seconds: float = SECONDS) -> Counter[str]:
    """A call with inputs in any order, in each thread; expected are the numbers that one thread alone gets."""
    expected = [call(x) for x in inputs]

    def work(seed: int) -> Work:
        rng = np.random.default_rng(seed)

        def once() -> bool:
            k = int(rng.integers(len(inputs)))
            return same(call(inputs[k]), expected[k])

        return once

    return run([work(k) for k in range(3)], seconds)


def arm() -> kido.Skeleton:
    return kido.load_skeleton(models.path("arm7"))


def states(number: int, *shape: int) -> list[np.ndarray]:
    return list(np.random.default_rng(0).uniform(-1.0, 1.0, size=(number, *shape, 7)))


def state_of(world: kido.World) -> bytes:
    return b"".join(x.tobytes() for s in world.skeletons for x in (s.positions, s.velocities))


# Worlds --------------------------------------------------------------------------------------------------------


@race
def steps() -> Counter[str]:
    """Every step was done or refused as a whole: the end is that of as many steps by one thread."""
    world = models.stack(10)
    twin, before = world.clone(), world.num_steps

    def work() -> bool:
        world.step(3)
        return True

    counts = run([work] * 3)
    done = world.num_steps - before
    for _ in range(done // 3):
        twin.step(3)
    counts["right"] *= done == 3 * counts["right"]
    counts["WRONG"] += state_of(world) != state_of(twin)
    return counts


@race
def steps_of_clones() -> Counter[str]:
    world = models.stack(5)
    world.step(50)

    def once(number: int) -> Any:
        twin = world.clone()
        twin.step(number)
        return twin.skeleton("box_4").positions, twin.contacts.points

    return run_calls(once, [1, 5, 20])


@race
def reads() -> Counter[str]:
    """What other threads read is what the world had after some number of steps, and their reading changes nothing."""
    world = models.stack(4)
    world.skeleton("box_3").velocities = [1.0, 2.0, 3.0, 0.5, 0.0, 3.0]  # no two states are alike
    world.gravity = [0.0, 0.0, -0.1]
    twin, top = world.clone(), world.skeleton("box_3")
    count, found = itertools.count(), [set(), set(), set(), set()]

    def look(at: kido.World) -> tuple[Any, ...]:
        box = at.skeleton("box_3")
        return (
            lambda: box.positions,
            lambda: box.bodies[0].world_transform,
            lambda: np.array(box.kinetic_energy),
            lambda: at.contacts.points,
        )

    for function in (*look(world), *look(twin)):
        function()  # machine code is loaded

    def step() -> bool:
        world.step()
        next(count)
        return True

    def read() -> bool:
        for function, seen in zip(look(world), found, strict=True):
            try:
                value = function().tobytes()
            except kido.ConcurrencyError:
                continue
            seen.add(value)
        time.sleep(1e-5)  # so that the other goes on
        return True

    counts = run([step, read, read])
    known = [{function().tobytes()} for function in look(twin)]
    for _ in range(next(count)):
        twin.step()
        for function, values in zip(look(twin), known, strict=True):
            values.add(function().tobytes())
    counts["WRONG"] += state_of(world) != state_of(twin)
    counts["WRONG"] += sum(not seen <= values for seen, values in zip(found, known, strict=True))
    counts["right"] *= top.num_dofs == 6 and any(found)
    return counts


@race
def states_beside() -> Counter[str]:
    """States of their own, of a robot whose world another thread steps, and batches of it."""
    world = kido.World()
    world.add_ground()
    robot = world.add_skeleton(arm())
    world.step()
    q = states(1)[0]
    batch = Batch(robot, threads=1)
    whole = batch.mass_matrix(q[None])

    def step() -> bool:
        world.step(5)
        return True

    def planner() -> Work:
        state = robot.new_state()

        def once() -> bool:
            state.positions = q
            return same(state.mass_matrix, whole[0])

        return once

    return run([step, planner(), planner(), lambda: same(batch.mass_matrix(q[None]), whole)])


@race
def snapshots() -> Counter[str]:
    """What is asked is what the world has after some number of steps from the snapshot."""
    world = models.stack(5)
    world.step(50)
    before = world.snapshot()
    done = itertools.count()
    found: tuple[set[bytes], set[bytes]] = set(), set()

    def questions(of: kido.World) -> tuple[bytes, bytes]:
        group = of.collision_group
        ray = group.raycast([0.0, 0.0, 9.0], [0.0, 0.0, -9.0])
        return ray.points.tobytes(), group.collide().points.tobytes()  # none where gaps of boxes at rest are open

    def step() -> bool:
        world.step(2)
        next(done)
        return True

    def restore() -> bool:
        world.restore(before)
        return True

    def ask() -> bool:
        for seen, value in zip(found, questions(world), strict=True):
            seen.add(value)
        return True

    counts = run([step, restore, lambda: world.snapshot() is not None, ask])
    world.restore(before)
    twin, asked = world.clone(), world.clone()
    for _ in range(next(done) + 1):
        for seen, value in zip(found, questions(asked), strict=True):
            seen.discard(value)
        if not any(found):
            break
        asked.step(2)
    counts["WRONG"] += sum(map(len, found))
    world.step(20)
    twin.step(20)
    counts["WRONG"] += state_of(world) != state_of(twin)
    return counts


@race
def edits() -> Counter[str]:
    """All kinds of edits while a world is stepped: done as a whole, or refused."""
    world = models.stack(4)
    top, names = world.skeleton("box_3"), [s.name for s in world.skeletons]
    done: Counter[str] = Counter()

    def step() -> bool:
        world.step(2)
        return True

    def come_and_go() -> bool:
        extra = kido.Skeleton("extra")
        body = extra.add_body("extra", inertia=kido.Inertia.from_diagonal(1.0, [1.0, 1.0, 1.0]))
        body.add_shape(kido.Box((0.1, 0.1, 0.1)))
        extra.positions = [0, 0, 0, 9, 9, 9]
        world.add_skeleton(extra)
        done["extra"] += 1
        retry(lambda: world.remove_skeleton(extra))
        return True

    def shapes() -> bool:
        node = top.bodies[0].add_shape(kido.Sphere(0.01), [0, 0, 0.05])
        done["shape"] += 1
        retry(node.remove)
        return True

    def bodies() -> bool:
        body = top.add_body("arm", kido.WeldJoint(), top.bodies[0])
        done["body"] += 1
        retry(body.remove)
        return True

    def options() -> bool:
        k = done["options"]
        world.solver = (DefaultSolver, GaussSeidel)[k % 2]()
        world.time_step = (1e-3, 2e-3)[k % 2]
        world.integrator = (MoreauMidpoint, SemiImplicitEuler)[k % 2]()
        world.sleeping = bool(k % 2)
        world.threads = 1 + k % 2
        world.gravity = (0.0, 0.0, -9.81)
        done["options"] += 1
        return True

    def properties() -> bool:
        body = top.bodies[0]
        body.inertia = kido.Inertia.from_diagonal(1.0, [1e-2, 1e-2, 1e-2])
        body.shapes[0].friction = 0.5
        top.positions = top.positions
        top.forces = np.zeros(6)
        body.add_external_force([0.0, 0.0, 0.1])
        done["properties"] += 1
        return True

    def filters() -> bool:
        pair = world.skeletons[1].bodies[0], world.skeletons[3].bodies[0]
        world.set_collision_filter(*pair, False)
        retry(lambda: world.set_collision_filter(*pair, True))
        done["filters"] += 1
        return True

    def constraints() -> bool:
        held = world.add_constraint(kido.BallJointConstraint(world.skeletons[1].bodies[0], top.bodies[0]))
        done["constraint"] += 1
        retry(lambda: world.remove_constraint(held))
        return True

    counts: Counter[str] = Counter()
    for pair in (come_and_go, shapes), (bodies, options), (properties, filters), (constraints, properties):
        counts += run([step, *pair], 0.4)
    counts["WRONG"] += [s.name for s in world.skeletons] != names
    counts["WRONG"] += top.num_bodies != 1 or len(top.bodies[0].shapes) != 1 or bool(world.constraints)
    world.step()
    return counts


def retry(edit: Callable[[], Any]) -> None:
    """What undoes an edit must be done."""
    while True:
        try:
            edit()
            return
        except kido.ConcurrencyError:
            time.sleep(1e-4)


# What computes -------------------------------------------------------------------------------------------------


@race
def batches() -> Counter[str]:
    batch = Batch(arm(), threads=2)

    def call(q: np.ndarray) -> Any:
        return batch.mass_matrix(q), batch.forward_dynamics(q, q, q), batch.com(q[:3]), batch.simulate(q, q, steps=2)

    return run_calls(call, states(6, 150))


@race
def rollouts() -> Counter[str]:
    pool = RolloutPool(models.stack(4), threads=2)
    at_rest = np.concatenate([s.positions for s in pool.world.skeletons])
    rng = np.random.default_rng(0)
    inputs = [at_rest + 0.01 * rng.normal(size=(4, len(at_rest))) for _ in range(4)]

    def call(q: np.ndarray) -> Any:
        found = pool.run(q, steps=10)
        return found.positions, found.velocities, found.steps

    return run_calls(call, inputs)


@race
def searches() -> Counter[str]:
    robot = arm()
    hand, elbow = robot.body("hand"), robot.bodies[3]
    one, two = kido.IkSolver(hand), kido.IkSolver([hand, kido.ik.Task.pose(elbow)])
    poses = [robot.forward_kinematics(q) for q in states(20)]

    def call(X: np.ndarray) -> Any:
        pair = two.solve([X[hand.index], X[elbow.index]])
        return one.solve(X[hand.index]).positions, pair.positions

    def many(X: np.ndarray) -> Any:
        return one.solve_batch(X, threads=2).positions, one.solve(X[0]).positions

    batches = [np.array([X[hand.index] for X in poses[k:]] * 9) for k in (0, 5)]
    return run_calls(call, poses, seconds=0.5) + run_calls(many, batches)


@race
def velocities() -> Counter[str]:
    robot = arm()
    goal = robot.forward_kinematics(states(1)[0])[robot.body("hand").index]
    differential = kido.DifferentialIK(robot, [kido.ik.Task.pose(robot.body("hand"), goal)])
    return run_calls(differential.velocities, [0.01, 0.02, 0.05])


@race
def programs() -> Counter[str]:
    rng = np.random.default_rng(0)
    Q = rng.normal(size=(20, 20))
    program = QuadraticProgram(Q @ Q.T + np.eye(20), np.ones(20), rng.normal(size=(10, 20)), -0.1, 0.1)
    program.solve()  # from its active constraints on
    return run_calls(lambda _: program.solve().x, [0])


@race
def collision_groups() -> Counter[str]:
    """New groups again and again, whose arrays grow."""
    rng = np.random.default_rng(0)
    boxes = []
    for k in range(30):
        box = kido.Skeleton(f"box {k}")
        box.add_body("box").add_shape(kido.Box((1.0, 1.0, 1.0)))
        box.positions = [0, 0, 0, *(0.3 * rng.normal(size=3))]
        boxes.append(box)
    detector, count = KidoCollisionDetector(), itertools.count()
    group = [detector.create_group(*boxes)]

    def call(k: int) -> Any:
        if next(count) % 6 == 0:
            group[0] = detector.create_group(*boxes)
        asked = group[0]
        ray = asked.raycast([[0.1 * k, 0.0, 9.0]], [[0.0, 0.0, -9.0]])
        return len(asked.collide()), asked.distance().distance, ray.points

    return run_calls(call, [0, 1, 2])


@race
def closed_chains() -> Counter[str]:
    mechanism = models.n_four_bar(3)
    skeleton = mechanism.skeleton
    dynamics = kido.ConstrainedDynamics(skeleton, mechanism.constraints)
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=skeleton.num_dofs) for _ in range(8)]
    return run_calls(lambda u: dynamics.accelerations(skeleton.positions, u), inputs)


@race
def states_given() -> Counter[str]:
    """Every quantity of a skeleton at a state that is given."""
    robot, inputs, counts = arm(), states(4), Counter[str]()
    sys.setswitchinterval(1e-5)
    for row in TABLE.values():
        node = {"node": robot.body("hand")} if row.names[:1] == ["node"] else {}

        def call(q: np.ndarray, row: Any = row, node: Any = node) -> Any:
            return row.given(robot, *([q] * len(row.needs)), **node)

        try:
            call(inputs[0])
        except kido.KidoError:
            continue  # it wants more arguments
        counts += run_calls(call, inputs, seconds=0.05)
    return counts


@race
def motions() -> Counter[str]:
    """A skeleton that several threads move, and one for each."""
    robot = arm()
    end = simulate(robot.clone(), RK4(), 0.05, progress=False).positions[-1]
    start = robot.positions

    def own() -> bool:
        return same(simulate(robot.clone(), RK4(), 0.05, progress=False).positions[-1], end)

    def shared() -> bool:
        simulate(robot, RK4(), 0.05, progress=False)
        return True

    counts = run([shared] * 3)
    robot.positions, robot.velocities = start, np.zeros(7)
    return counts + run([own] * 3)


@race
def inverse_kinematics() -> Counter[str]:
    """One that moves the skeleton while it searches."""
    robot = arm()
    module = kido.InverseKinematics(robot.body("hand"), gradient_method=kido.ik.JacobianTranspose())
    module.target.world_transform = robot.forward_kinematics(0.1 * states(1)[0])[robot.body("hand").index]
    expected, before = module.find_solution().positions, robot.positions
    counts = run([lambda: same(module.find_solution().positions, expected)] * 3)
    counts["WRONG"] += not same(robot.positions, before)
    return counts


@race
def recordings() -> Counter[str]:
    world = models.stack(2)
    with kido.Recorder(world, sys.argv[2]) as recorder:

        def step() -> bool:
            world.step()
            return True

        def note() -> bool:
            recorder.event("seen")
            recorder.flush()
            return True

        counts = run([step, note, note])
        frames = recorder.num_frames
    read = kido.Recording.open(sys.argv[2])
    counts["WRONG"] += len(read) != frames or sum(e.text == "seen" for e in read.events) == 0
    return counts


# Interruptions -------------------------------------------------------------------------------------------------


@race
def interruptions() -> Counter[str]:
    """Signals at any moment of steps: another thread may step the world afterwards."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    world, counts = models.stack(1), Counter[str]()
    world.add_step_callback(lambda world: world.skeletons[1].positions)
    rng = np.random.default_rng(0)
    for _ in range(300):
        try:
            signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(1e-4, 2e-3)))
            while True:
                world.step()
        except KeyboardInterrupt:
            pass

        def step() -> bool:
            world.step()
            return not (world.turn.doing or world.is_stepping)

        counts += run([step], 0.0)
    return counts


if __name__ == "__main__":
    sys.setswitchinterval(SWITCH)
    print(json.dumps(RACES[sys.argv[1]]()))
