"""Objects that several threads use at once: right numbers, or a `ConcurrencyError` that names the object; no crash.

Races run in a process of their own (`races`): a crash there is a failed test. Numbers are compared to the bit with
those of one thread.
"""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kido
from kido import models
from kido.batch import RolloutPool
from kido.jit import JIT_DISABLED
from kido.simulation.world_snapshot import structure_of
from kido.turns import Turn
from races import RACES

REFUSING = {"steps", "reads", "snapshots", "edits", "motions", "inverse_kinematics", "recordings"}
TIMEOUT = 300.0  # [s] far more than a race takes; threads that wait for each other for ever end here


@pytest.mark.skipif(JIT_DISABLED, reason="Python keeps its lock")
@pytest.mark.parametrize("name", RACES)
def test_calls_in_threads_give_right_numbers_or_are_refused(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(Path(__file__).with_name("races.py")), name, str(tmp_path / "race.h5")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts.pop("right") > 0
    assert counts.pop("WRONG", 0) == 0
    assert counts.keys() <= ({"ConcurrencyError"} if name in REFUSING else set()), done.stderr[-2000:]


def in_thread(call: Any) -> Any:
    """What a call returns, or raises, in another thread."""
    with ThreadPoolExecutor(1, thread_name_prefix="other") as pool:
        return pool.submit(call).result(60.0)


def stepping_in(world: kido.World, call: Any) -> BaseException | None:
    """What another thread raises that calls something while the world is within a call of `step`."""
    found: list[BaseException | None] = []

    def hook(_: kido.World) -> None:
        try:
            in_thread(call)
            found.append(None)
        except kido.KidoError as error:
            found.append(error)

    remove = world.add_step_callback(hook)
    world.step()
    remove()
    return found[0]


def falling() -> kido.World:
    world = models.stack(1)
    world.step(3)
    return world


def constrained(world: kido.World) -> Any:
    return world.add_constraint(kido.BallJointConstraint(world.skeletons[0].bodies[0], world.skeletons[1].bodies[0]))


BEFORE = falling().snapshot()
CHANGES = {
    "step": lambda world, box: world.step(),
    "add_skeleton": lambda world, box: world.add_skeleton(kido.Skeleton("new")),
    "remove_skeleton": lambda world, box: world.remove_skeleton(box),
    "restore": lambda world, box: world.restore(BEFORE),
    "snapshot": lambda world, box: world.snapshot(),
    "clone": lambda world, box: world.clone(),
    "push": lambda world, box: world.push(box.bodies[0], [0, 0, 1], 0.1),
    "contacts": lambda world, box: world.contacts,
    "add_constraint": lambda world, box: constrained(world),
    "collision_group": lambda world, box: world.collision_group.collide(),
    "gravity": lambda world, box: setattr(world, "gravity", [0, 0, 0]),
    "time_step": lambda world, box: setattr(world, "time_step", 0.01),
    "solver": lambda world, box: setattr(world, "solver", kido.solvers.PGS()),
    "sleeping": lambda world, box: setattr(world, "sleeping", True),
    "integrator": lambda world, box: setattr(world, "integrator", kido.integrators.ExplicitEuler()),
    "collision_detector": lambda world, box: setattr(world, "collision_detector", "kido"),
    "restitution_law": lambda world, box: setattr(world, "restitution_law", "newton"),
    "filter": lambda world, box: world.set_collision_filter(box.bodies[0], world.skeletons[0].bodies[0]),
    "contact events": lambda world, box: setattr(world, "collects_contact_events", True),
    "add_body": lambda world, box: box.add_body("more", kido.WeldJoint(), box.bodies[0]),
    "split": lambda world, box: box.bodies[0].split("part"),
    "add_shape": lambda world, box: box.bodies[0].add_shape(kido.Sphere(0.1)),
    "remove_shape": lambda world, box: box.bodies[0].shapes[0].remove(),
    "collision": lambda world, box: setattr(box.bodies[0].shapes[0], "collision", False),
    "friction": lambda world, box: setattr(box.bodies[0].shapes[0], "friction", 0.1),
    "inertia": lambda world, box: setattr(box.bodies[0], "inertia", kido.Inertia(2.0, moment=np.eye(3))),
    "name": lambda world, box: setattr(box.bodies[0], "name", "other"),
    "damping": lambda world, box: setattr(box.joints[0], "damping", 0.5),
    "actuator": lambda world, box: setattr(box.joints[0], "actuator_type", "velocity"),
    "mobile": lambda world, box: setattr(box, "mobile", False),
    "external force": lambda world, box: box.bodies[0].add_external_force([0, 0, 1.0]),
    "commands": lambda world, box: setattr(box, "commands", np.ones(6)),
    "saved_state": lambda world, box: box.saved_state,
    "simulate": lambda world, box: kido.integrators.simulate(box, kido.integrators.RK4(), 0.01),
    "inverse kinematics": lambda world, box: kido.InverseKinematics(box.bodies[0]).find_solution(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_thread_is_refused_by_name_while_a_world_is_stepped(change: str) -> None:
    """Nothing was changed by it; in the thread that steps the same is allowed, and in another one afterwards."""
    world, twin = falling(), falling()
    box, structure = world.skeletons[1], structure_of(world.skeletons)
    error = stepping_in(world, lambda: CHANGES[change](world, box))
    assert isinstance(error, kido.ConcurrencyError)
    assert "world 'stack' is being stepped by thread 'MainThread'" in str(error)
    assert "world.clone()" in str(error)
    twin.step()
    world.step(5)
    twin.step(5)
    box_of_twin = twin.skeletons[1]
    assert np.array_equal(box.positions, box_of_twin.positions)
    assert structure_of(world.skeletons) == structure
    in_thread(lambda: CHANGES[change](world, box))
    if change not in ("step", "remove_skeleton"):  # which end in a recursion, and in a missing box
        twin.add_step_callback(lambda _: CHANGES[change](twin, box_of_twin))
        twin.step()


def test_other_threads_read_while_a_callback_waits_for_them() -> None:
    world = falling()
    box = world.skeletons[1]
    seen = []
    remove = world.add_step_callback(
        lambda _: seen.append((in_thread(lambda: box.bodies[0].world_transform), box.bodies[0].world_transform))
    )
    world.step(3)
    remove()
    assert len(seen) == 3
    assert all(np.array_equal(a, b) for a, b in seen)


class Held(kido.UserConstraint):
    """Rows that ask another thread for something, in the middle of a step."""

    def __init__(self, box: kido.Skeleton, ask: Any):
        super().__init__(box, name="held")
        self.ask = ask

    def rows(self) -> Any:
        self.ask()
        return np.zeros((1, 6))


def test_nothing_is_read_by_other_threads_in_the_middle_of_a_step() -> None:
    world = falling()
    box, found = world.skeletons[1], []

    def ask() -> None:
        own = box.positions
        with pytest.raises(kido.ConcurrencyError, match="is being stepped by thread 'MainThread'"):
            in_thread(lambda: box.positions)
        with pytest.raises(kido.ConcurrencyError, match="is being stepped by thread 'MainThread'"):
            in_thread(lambda: world.report)
        with pytest.raises(kido.ConcurrencyError, match="is being stepped by thread 'MainThread'"):
            in_thread(lambda: setattr(box, "positions", np.zeros(6)))
        found.append(np.array_equal(box.positions, own))

    world.add_constraint(Held(box, ask))
    world.step(2)
    assert found and all(found)
    assert np.array_equal(in_thread(lambda: box.positions), box.positions)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["before", "after", "within"])
def test_what_a_callback_raises_leaves_the_world_free(error: type[BaseException], where: str) -> None:
    world = falling()

    def fail(*_: Any) -> None:
        raise error

    if where == "within":
        world.add_constraint(Held(world.skeletons[1], fail))
    else:
        world.add_step_callback(fail, before=where == "before")
    for _ in range(3):
        with pytest.raises(error):
            world.step()
    assert not world.is_stepping
    in_thread(lambda: world.skeletons[1].positions)
    world.hooks.before.clear()
    world.hooks.after.clear()
    for constraint in world.constraints:
        in_thread(lambda held=constraint: world.remove_constraint(held))
    in_thread(world.step)


def test_what_fails_elsewhere_leaves_the_object_free() -> None:
    pool, robot = RolloutPool(models.stack(1), threads=1), kido.load_skeleton(models.path("arm7"))
    q = np.concatenate([s.positions for s in pool.world.skeletons])

    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.run(q, steps=5, progress=stop)
    assert in_thread(lambda: pool.run(q, steps=5)).positions.shape == (1, 5, len(q))

    with pytest.raises(KeyboardInterrupt):
        kido.integrators.simulate(robot, kido.integrators.RK4(), 0.1, forces=stop)
    in_thread(lambda: setattr(robot, "mobile", False))

    module = kido.InverseKinematics(robot.body("hand"))
    module.objective = stop
    with pytest.raises(KeyboardInterrupt):
        module.find_solution()
    module.objective = None
    in_thread(module.find_solution)


def test_a_rollout_within_a_rollout_is_refused() -> None:
    pool = RolloutPool(models.stack(1), threads=1)
    q = np.concatenate([s.positions for s in pool.world.skeletons])
    with pytest.raises(kido.ConcurrencyError, match="worlds like 'stack': `progress` may not step them"):
        pool.run(q, steps=5, progress=lambda *_: pool.run(q, steps=1))
    assert pool.run(q, steps=5).steps.tolist() == [5]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made)), lambda m: m.clone()])
def test_copies_are_free(copied: Any) -> None:
    """Made while the original is in use, they are in no one's."""
    world, twins = falling(), []
    world.step(2)
    remove = world.add_step_callback(lambda w: twins.append(copied(w)))
    world.step()
    remove()
    assert isinstance(stepping_in(world, world.step), kido.ConcurrencyError)
    assert stepping_in(world, twins[0].step) is None
    assert stepping_in(world, twins[0].skeletons[1].clone) is None
    robot = kido.load_skeleton(models.path("arm7"))
    with robot.turn.used("moved"):
        twin = copied(robot)
        in_thread(lambda: setattr(twin, "mobile", False))
        with pytest.raises(kido.ConcurrencyError, match="skeleton 'arm7' is being moved by thread 'MainThread'"):
            in_thread(lambda: setattr(robot, "mobile", False))


def test_turns() -> None:
    """A thread that has a turn takes it again; others wait, or are refused while something is done that says so."""
    turn, order = Turn(), []
    with turn.sole(), turn.sole():
        order.append("own")
        waiting = threading.Thread(target=lambda: [turn.acquire(), order.append("other"), turn.release()])
        waiting.start()
        waiting.join(0.05)
        order.append("own")
    waiting.join()
    assert order == ["own", "own", "other"]
    with turn.used("used"):
        with turn.used("used within"), pytest.raises(kido.ConcurrencyError, match="being used within by thread"):
            in_thread(turn.sole)
        with pytest.raises(kido.ConcurrencyError, match="being used by thread 'MainThread'"):
            in_thread(lambda: turn.used("seen").__enter__())
        assert turn.doing == "used"
    assert turn.doing == ""
    assert in_thread(turn.sole) is turn
