"""Worlds for a GPU: copies of a world as words, stepped here by the processor, equal it; the step compiles to PTX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kido
from kido.batch import Worlds, cuda_worlds, rollout
from kido.batch.gpu_worlds import ON_GPU, run_copy, why_not
from kido.errors import KidoError, MissingExtraError, ModelError, StateError
from kido.jit import JIT_DISABLED
from kido.jit.relocated import Relocatable
from kido.simulation.step import run_steps
from robot_worlds import random_commands, robot_and_box

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="kernels run as plain Python (NUMBA_DISABLE_JIT)")

WORLDS, STEPS = 5, 30


def aligned(words: int) -> np.ndarray:
    room = np.zeros(words + 8, np.int64)
    start = -room.ctypes.data % 64 // 8
    return room[start : start + words]


class Processor:
    """A device whose threads run one after the other, in this program's memory, two copies of a world at a time."""

    launches = 0

    def room_for(self, nbytes: int) -> int:
        return 2

    def array(self, host: np.ndarray) -> np.ndarray:
        return host.copy()

    def back(self, there: np.ndarray, host: np.ndarray) -> None:
        host[...] = there

    def place(self, template: Relocatable, number: int) -> list[tuple[np.ndarray, int]]:
        copies = [aligned(len(template.words)) for _ in range(number)]
        for words in copies:
            words[:] = template.at(words.ctypes.data)
        return [(words, words.ctypes.data + template.root) for words in copies]

    def run(self, copies: Any, count: int, *arguments: Any) -> None:
        Processor.launches += 1
        *arrays, done, end, total, hold, every = arguments
        for k in range(count):
            run_copy(copies[k][1], *arrays, k, done, end, total, hold, every)


@pytest.fixture
def on_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_worlds, "CudaDevice", Processor)
    Processor.launches = 0


@pytest.fixture(scope="module")
def humanoid() -> kido.World:
    return robot_and_box("humanoid", 250)


def test_a_copy_anywhere_steps_to_the_same_bits(humanoid: kido.World) -> None:
    """All words of a copy after 200 steps are those of the world itself, but for addresses."""
    world = humanoid.clone()
    engine: Any = world.engine
    template = Relocatable(engine.world)
    copies = [aligned(len(template.words)) for _ in range(2)]
    for words in copies:
        words[:] = template.at(words.ctypes.data)
        assert run_steps(words.ctypes.data + template.root, 200, 0)[1] == -1
    world.step(200)
    after = Relocatable(engine.world)
    for words in copies:
        assert np.array_equal(words, after.at(words.ctypes.data))


def test_rollouts_are_those_of_the_processor(humanoid: kido.World, on_processor: None) -> None:
    """To the bit, with properties of their own, in several launches, with contact wrenches."""
    robot = humanoid.skeletons[1]
    rng = np.random.default_rng(3)
    masses = np.array([b.mass for b in robot.bodies]) * rng.uniform(0.8, 1.2, (WORLDS, robot.num_bodies))
    given: dict[str, Any] = {
        "commands": random_commands(humanoid, WORLDS, STEPS),
        "properties": {"mass": masses, "friction": rng.uniform(0.3, 1.0, (WORLDS, robot.num_bodies))},
        "skeleton": robot,
        "bodies": ["left_foot"],
    }
    there, here = rollout(humanoid, **given, device="cuda"), rollout(humanoid, **given)
    assert Processor.launches == 3  # of two copies for five worlds
    for name in ("positions", "velocities", "contact_wrenches", "steps"):
        assert np.array_equal(getattr(there, name), getattr(here, name)), name
    assert not there.errors


def test_worlds_go_on_and_begin_again(humanoid: kido.World, on_processor: None) -> None:
    there, here = (Worlds(humanoid, WORLDS, device=device, lanes=False) for device in ("cuda", "cpu"))
    commands = random_commands(humanoid, WORLDS, 1)[:, 0]
    full = np.zeros((WORLDS, there.num_dofs))
    full[:, : commands.shape[1]] = commands
    for worlds in (there, here):
        worlds.step(full, 120)  # more than are done in one launch
        worlds.reset([1, 3])
        worlds.step(full, 7)
    assert np.array_equal(there.positions, here.positions) and np.array_equal(there.velocities, here.velocities)
    assert there.steps.tolist() == here.steps.tolist() == [127, 7, 127, 7, 127]


def test_what_does_not_fit_is_done_by_the_processor(on_processor: None) -> None:
    """A robot that has not touched anything yet has no room for contacts; one that diverges is told of as always."""
    world = robot_and_box("humanoid", 0)
    robot = world.skeletons[1]
    low, high = robot.positions.copy(), robot.positions.copy()
    high[5] += 1.0
    starts = {"positions": np.stack([low, high, low]), "steps": 300, "skeleton": robot}
    there, here = rollout(world, **starts, device="cuda"), rollout(world, **starts)
    assert np.array_equal(there.positions, here.positions)
    velocities = np.zeros((2, robot.num_dofs))
    velocities[1, 7] = 1e99
    wild = {"velocities": velocities, "steps": 20, "skeleton": robot}
    there, here = rollout(world, **wild, device="cuda"), rollout(world, **wild)
    assert there.errors == here.errors and list(here.errors) == [1]
    assert np.array_equal(there.positions, here.positions, equal_nan=True)


def test_what_is_not_for_a_gpu_is_named(on_processor: None) -> None:
    world = kido.World()
    box = world.add_skeleton(kido.Skeleton("block"))
    box.add_body("block", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (1, 1, 1)))
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    triangles = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    box.bodies[0].add_shape(kido.Mesh(np.array(corners, float), np.array(triangles), collide_as="triangles"))
    world.add_ground()
    world.step()
    with pytest.raises(ModelError, match="is not for device 'cuda': it has shapes made of others"):
        Worlds(world, 2, device="cuda")
    called = kido.World()
    called.add_skeleton(kido.load("arm7"))
    called.solver = lambda problem: np.zeros(problem.num_rows)
    assert "functions of users" in why_not(called)


def test_without_a_gpu_the_reason_is_told() -> None:
    world = kido.World()
    world.add_skeleton(kido.load("arm7"))
    try:
        worlds = Worlds(world, 2, device="cuda")
    except (StateError, MissingExtraError) as refused:
        assert "device 'cuda'" in str(refused) or "kido[cuda]" in str(refused)
    else:  # there is a GPU
        alone = Worlds(world, 2, lanes=False)
        worlds.step(n=50)
        alone.step(n=50)
        assert np.allclose(worlds.positions, alone.positions, rtol=0.0, atol=1e-12)
    with pytest.raises(KidoError, match="expected 'cpu' or 'cuda', got 'tpu'"):
        Worlds(world, 2, device="tpu")


@pytest.mark.slow
@pytest.mark.timeout(2400)  # the compiler needs six minutes alone
def test_the_step_compiles_for_a_gpu(humanoid: kido.World) -> None:
    """A whole step in one kernel: calls by address and memory from the heap are not in it."""
    engine: Any = humanoid.engine
    try:
        ptx = cuda_worlds.worlds_ptx(Relocatable(ON_GPU(world=engine.world)))
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    assert ".target sm_90" in ptx and ".entry" in ptx and "fma.rn.f64" in ptx
    assert "malloc" not in ptx and "call.uni (retval0), %rd" not in ptx
