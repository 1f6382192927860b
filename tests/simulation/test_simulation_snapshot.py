"""Snapshots of worlds: what is restored goes on bit for bit, here, in copies, from files and in other processes."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import kido
from scenes import free, world
from user_classes import Temperature

SHAPES = (kido.Box((0.2, 0.15, 0.1)), kido.Sphere(0.08), kido.Capsule(0.05, 0.1), kido.Cylinder(0.06, 0.1))


def pendulum() -> kido.Skeleton:
    """An arm with friction, a limit, a servo and a mimic, that hits what lies below."""
    arm = kido.Skeleton("arm")
    parent = None
    for k in range(3):
        start = np.eye(4)
        start[:3, 3] = (0, 0, 0.45) if k == 0 else (0, 0, -0.2)
        joint = kido.RevoluteJoint(f"j{k}", axis=(0, 1, 0), transform_from_parent=start)
        parent = arm.add_body(f"link{k}", joint, parent, kido.Inertia.from_shape(kido.Box((0.05, 0.05, 0.2)), mass=0.5))
        middle = np.eye(4)
        middle[2, 3] = -0.1
        parent.add_shape(kido.Box((0.05, 0.05, 0.2)), transform=middle)
    arm.joint("j0").coulomb_friction = 0.1
    arm.joint("j1").position_upper_limit = 0.6
    arm.joint("j1").actuator_type = "servo"
    arm.joint("j1").force_upper_limit = 0.5
    arm.positions = [1.5, 0.2, 0.0]
    return arm


def heap(seed: int, **options) -> kido.World:
    """A random heap with an arm and a kinematic paddle in it."""
    rng = np.random.default_rng(seed)
    bodies = []
    for k in range(7):
        position = [*rng.uniform(-0.2, 0.2, 2), 0.12 + 0.14 * k]
        skeleton = free(
            SHAPES[int(rng.integers(len(SHAPES)))],
            float(rng.uniform(0.2, 3.0)),
            position,
            rotation=rng.uniform(-1, 1, 3),
            velocity=rng.uniform(-1, 1, 3),
            restitution=float(rng.choice([0.0, 0.6])),
            name=f"body{k}",
        )
        bodies.append(skeleton)
    paddle = free(kido.Box((0.1, 1.0, 0.1)), 1.0, (-1.0, 0, 0.06), name="paddle")
    paddle.kinematic = True
    paddle.velocities = [0, 0, 0, 0.8, 0, 0]
    return world(pendulum(), paddle, *bodies, restitution=0.9, friction=0.7, **options)


def numbers(w: kido.World) -> np.ndarray:
    states = [np.concatenate([s.positions, s.velocities, s.accelerations, s.commands]) for s in w.skeletons]
    return np.concatenate(
        [*states, w.contacts.forces.ravel(), w.contacts.gaps, [w.time, w.num_steps, w.report.residual]]
    )


def advance(w: kido.World, steps: int) -> None:
    w.skeleton("arm").commands = [0.0, -1.0, 0.0]
    w.skeleton("body3").body(0).add_external_force([0.5, 0, 0])
    w.step(steps, reset_command=False)
    w.skeleton("body3").body(0).clear_external_forces()


SCRIPT = """
import sys
sys.path[:0] = [{tests!r}, {tests!r} + '/..']
import numpy as np, kido
from test_simulation_snapshot import advance, heap, numbers
w = heap({seed}, sleeping={sleeping})
if {path!r}:
    w.restore(kido.WorldSnapshot.load({path!r}))
else:
    advance(w, {before})
advance(w, {after})
sys.stdout.buffer.write(numbers(w).tobytes())
"""


def elsewhere(seed: int, path: str, hash_seed: str, *, sleeping: bool, before: int = 0, after: int = 0) -> bytes:
    """The numbers that another process gets."""
    script = SCRIPT.format(
        tests=str(Path(__file__).parent), seed=seed, path=path, sleeping=sleeping, before=before, after=after
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment, check=True)
    return done.stdout


@pytest.mark.parametrize("seed", range(6))
def test_a_restored_world_goes_on_bit_for_bit(seed: int, tmp_path: Path) -> None:
    """Random heaps, at random moments: back in the same world, in a clone, a pickle, a new world, and from a file."""
    sleeping = kido.Sleeping(speed=1.0, time=0.03) if seed % 2 else None
    w = heap(seed, sleeping=sleeping or False)
    rng = np.random.default_rng(100 + seed)
    before, after = int(rng.integers(100, 900)), int(rng.integers(50, 400))
    advance(w, before)
    snapshot, at, clone = w.snapshot(), numbers(w), w.clone()
    advance(w, after)
    end = numbers(w)
    w.restore(snapshot)
    np.testing.assert_array_equal(numbers(w), at)
    assert w.time == snapshot.time and w.num_steps == snapshot.num_steps == before
    path = tmp_path / "snapshot"
    snapshot.save(path)
    worlds = [w, clone, pickle.loads(pickle.dumps(clone))]
    for given in (pickle.loads(pickle.dumps(snapshot)), kido.WorldSnapshot.load(path)):
        new = heap(seed, sleeping=sleeping or False)
        new.step(5)
        new.restore(given)
        worlds.append(new)
    for other in worlds:
        np.testing.assert_array_equal(numbers(other), at)
        advance(other, after)
        np.testing.assert_array_equal(numbers(other), end)


def test_other_processes_get_the_same_bits(tmp_path: Path) -> None:
    """From the start and from a file, whatever the seed of hashes."""
    w = heap(3, sleeping=True)
    advance(w, 300)
    path = str(tmp_path / "snapshot.npz")
    w.snapshot().save(path)
    advance(w, 200)
    expected = numbers(w).tobytes()
    assert elsewhere(3, path, "1", sleeping=True, after=200) == expected
    assert elsewhere(3, "", "2", sleeping=True, before=300, after=200) == expected


def test_clones_step_in_threads_as_alone() -> None:
    w = heap(4)
    advance(w, 200)
    clones = [w.clone() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda c: advance(c, 200), clones))
    advance(w, 200)
    for clone in clones:
        np.testing.assert_array_equal(numbers(clone), numbers(w))


def test_states_of_aspects_are_saved_and_restored(tmp_path: Path) -> None:
    w = heap(0)
    aspect = w.skeleton("body0").create(Temperature)
    aspect.state.kelvin = 250.0
    w.snapshot().save(tmp_path / "s")
    aspect.state.kelvin = 10.0
    w.restore(kido.WorldSnapshot.load(tmp_path / "s"))
    assert aspect.state.kelvin == 250.0


def test_what_does_not_fit_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    w = heap(1)
    advance(w, 50)
    before = numbers(w)
    other = heap(1)
    other.remove_skeleton("body2")
    with pytest.raises(kido.StateError, match=r"another structure: it is of skeletons ground, .*; the world"):
        w.restore(other.snapshot())
    renamed = heap(1)
    renamed.skeleton("arm").body("link1").name = "forearm"
    with pytest.raises(kido.StateError, match="skeleton 'arm' has other bodies: forearm, link1"):
        w.restore(renamed.snapshot())
    reshaped = heap(1)
    reshaped.skeleton("body0").body(0).add_shape(kido.Sphere(0.1), name="more")
    with pytest.raises(kido.StateError, match=r"skeleton 'body0', body 'body': shapes: saved is \[.*'Sphere more'\]"):
        w.restore(reshaped.snapshot())
    with pytest.raises(kido.StateError, match="expected what snapshot"):
        w.restore({"q": 1})  # type: ignore[arg-type]
    path = tmp_path / "broken.npz"
    w.snapshot().save(path)
    whole = path.read_bytes()
    for damaged in (b"", b"not a file", whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(kido.StateError, match=r"broken\.npz"):
            kido.WorldSnapshot.load(path)
    with np.load(io.BytesIO(whole)) as file:
        arrays = dict(file)
    text = arrays["text"].tobytes().decode()
    for old, new in (
        ('"bodies": [', '"beads": ['),
        ('"joint": "', '"joint": 3, "was": "'),
        ('"structure": [', '"structure": [[], '),
        ('"time_step": ', '"time_step": null, "was": '),
        ('"steps": ', '"steps": "x", "was": '),
        ('"data": {', '"data": 3, "was": {'),
    ):
        assert old in text
        arrays["text"] = np.frombuffer(text.replace(old, new, 1).encode(), np.uint8)
        np.savez(path, **arrays)
        with pytest.raises(kido.StateError, match=r"broken\.npz: no snapshot of a world"):
            kido.WorldSnapshot.load(path)
    for old, new in (
        ('"skeletons": [', '"skeletons": [{"$array": 0}, '),
        ('"q": {"$array": ', '"q": {"$array": 0}, "was": {"$array": '),
    ):
        assert old in text
        arrays["text"] = np.frombuffer(text.replace(old, new, 1).encode(), np.uint8)
        np.savez(path, **{**arrays, "array_0": np.array(0.0)})
        with pytest.raises(kido.StateError, match="damaged: it has no lists of skeletons"):
            w.restore(kido.WorldSnapshot.load(path))
    with pytest.raises(kido.StateError, match=r"missing\.npz"):
        kido.WorldSnapshot.load(tmp_path / "missing.npz")
    np.testing.assert_array_equal(numbers(w), before)
