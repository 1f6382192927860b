"""Snapshots and recordings with something changed in them, and what reading them does.

As a program it tries many, each batch in processes of its own, so that crashes and hangs are counted:

    python tests/damage.py snapshot --count 1000
    python tests/damage.py recording --count 1000 --scene contacts
"""

from __future__ import annotations

import argparse
import collections
import functools
import io
import json
import os
import queue
import resource
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import h5py
import numpy as np

import kido
from kido.integrators import DormandPrince
from scenes import free, world
from user_classes import Temperature

MEMORY = 8 * 2**30  # [bytes] of address space of a process that tries
PATIENCE = 120.0  # [s] for one case, compiled kernels included, on a busy machine


# Scenes --------------------------------------------------------------------------------------------------------


def contacts() -> kido.World:
    """Several skeletons, limits, friction, a servo, hulls, events, pushes and an external force."""
    arm = kido.Skeleton("arm")
    parent = None
    for k in range(3):
        start = np.eye(4)
        start[2, 3] = 0.45 if k == 0 else -0.2
        joint = kido.RevoluteJoint(f"j{k}", axis=(0, 1, 0), transform_from_parent=start)
        box = kido.Box((0.05, 0.05, 0.2))
        parent = arm.add_body(f"link{k}", joint, parent, kido.Inertia.from_shape(box, mass=0.5))
        parent.add_shape(box)
    arm.joint("j0").coulomb_friction = 0.1
    arm.joint("j1").position_upper_limit = 0.6
    arm.joint("j1").actuator_type = "servo"
    arm.joint("j1").force_upper_limit = 0.5
    arm.positions = [1.5, 0.2, 0.0]
    shapes = [kido.Box((0.2, 0.15, 0.1)), kido.Sphere(0.08), kido.Pyramid(0.2, 0.2, 0.2)]
    bodies = [free(s, 1.0, (0.05 * k, 0.0, 0.1 + 0.2 * k), name=f"body{k}") for k, s in enumerate(shapes)]
    w = world(arm, *bodies)
    w.collects_contact_events = True
    return w


def loops() -> kido.World:
    """A linkage whose loops are aggregates, and one whose rows are eliminated; a gear, a weld that may break."""
    w = kido.models.slider_crank().world(1e-3)
    other = kido.Skeleton("bars")
    base = other.add_body(
        "one", kido.RevoluteJoint("a", axis=(0, 0, 1)), inertia=kido.Inertia.from_diagonal(1, [1] * 3)
    )
    other.add_body("two", kido.RevoluteJoint("b", axis=(0, 0, 1)), base, kido.Inertia.from_diagonal(1, [1] * 3))
    box = free(kido.Box((0.1, 0.1, 0.1)), 1.0, (2.0, 0.0, 0.0), name="box")
    w.add_skeleton(other)
    w.add_skeleton(box)
    w.add_constraint(kido.GearConstraint(other.dof("a"), other.dof("b"), 2.0))
    w.add_constraint(kido.WeldJointConstraint(other.body("two"), box.body(0), name="weld", breaking_force=50.0))
    return w


def soft() -> kido.World:
    """A soft box on the ground, and a hard one."""
    w = kido.World()
    w.add_ground()
    s = kido.Skeleton("soft")
    s.add_soft_body(
        "box", kido.SoftMesh.box((0.2, 0.2, 0.2)), inertia=kido.Inertia.from_diagonal(1.0, [0.01] * 3),
        total_mass=0.5, kv=500.0, ke=10.0, kd=1.0,
    )  # fmt: skip
    w.add_skeleton(s)
    s.positions = [0, 0, 0, 0, 0, 0.101]
    w.add_skeleton(free(kido.Sphere(0.1), 0.5, (0.1, 0.0, 0.31), name="ball"))
    return w


def sleep() -> kido.World:
    """Boxes asleep on the ground, and one that falls."""
    boxes = [free(kido.Box((0.2, 0.2, 0.2)), 1.0, (0.5 * k, 0.0, 0.1), name=f"box{k}") for k in range(3)]
    w = world(*boxes, free(kido.Sphere(0.1), 1.0, (0.0, 0.0, 0.9), name="ball"), sleeping=kido.Sleeping(0.1, 0.02))
    return w


def smooth() -> kido.World:
    """An arm that an integrator with adaptive steps moves."""
    w = kido.World(integrator=DormandPrince())
    arm = w.add_skeleton(kido.load(kido.models.path("arm7")))
    arm.velocities = np.linspace(-1.0, 1.0, arm.num_dofs)
    return w


def users() -> kido.World:
    """Markers, an end effector with support, an aspect with state."""
    w = contacts()
    body = w.skeleton("arm").body("link2")
    body.create_node(kido.Marker, "marker", (0, 0, 0.1))
    body.create_node(kido.EndEffector, "tip").create(kido.Support, [(0, 0, 0), (0.1, 0, 0)], True)
    w.skeleton("body0").create(Temperature).state.kelvin = 250.0
    return w


SCENES: dict[str, Callable[[], kido.World]] = {
    f.__name__: f for f in (contacts, loops, soft, sleep, smooth, users)
}  # fmt: skip


def advance(w: kido.World, steps: int) -> None:
    """Steps with commands, pushes and external forces on the way."""
    for k in range(steps):
        s = w.skeletons[-1]
        if k == steps // 2:
            w.push(s.bodies[0], [0.5, 0, 0], 0.05)
        if k % 3 == 0 and s.bodies:
            s.bodies[0].add_external_force([0.1, 0.0, 0.0])
        w.step(1)


def look(w: kido.World) -> np.ndarray:
    """Numbers of a world that has been stepped; every result that users ask for is read."""
    states = [np.concatenate([s.positions, s.velocities, s.accelerations, s.commands]) for s in w.skeletons]
    c = w.contacts
    forces = [w.constraint_forces(s) for s in w.skeletons] + [w.actuator_forces(s) for s in w.skeletons]
    repr((c, w.report, [s.is_asleep for s in w.skeletons], w.constraint_report))
    if w.collects_contact_events:
        repr(w.contact_events)
    totals = [w.time, float(w.num_steps), w.report.residual, w.total_energy]
    return np.concatenate([*states, *forces, c.points.ravel(), c.forces.ravel(), c.gaps, totals])


# Changes -------------------------------------------------------------------------------------------------------

INTEGERS = (0, 1, -1, 2, 3, 7, 8, 100, 4096, -2, 2**31 - 1, 2**31, 2**40, 2**62, -(2**62), 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-3, 1e-300, 5e-324, 1e6, -1e6, 1e100, 1e300, -1e300, np.inf, -np.inf, np.nan)
PLAIN: tuple[Any, ...] = (
    *(None, True, False, "", "x", "a/b", "\u0000", [], {}, [None], [[]], {"": None}, [1.5], ["x"], {"$array": 0}),
    *({"$array": "floats", "start": 0, "shape": [2], "dtype": "float64"}, {"$float": "nan"}, {"$tuple": [1]}),
    *({"kido": "array", "dtype": "<f8", "shape": [1], "items": [1]}, "x" * 5000, [0] * 300, 1e300, -1, 10**400),
)


def other_number(value: Any, rng: np.random.Generator) -> Any:
    """Another number of the kind of a number or of an array's element."""
    whole = isinstance(value, bool | int | np.integer | np.bool_)
    choice = rng.integers(4)
    if whole:
        return (
            int(value) + int(rng.choice([-2, -1, 1, 2, 5]))
            if choice == 0
            else int(INTEGERS[rng.integers(len(INTEGERS))])
        )
    if choice == 0:
        return float(value) * 10.0 ** int(rng.integers(-9, 10))
    if choice == 1:
        return float(np.frombuffer(rng.bytes(8), np.float64)[0])
    return float(FLOATS[rng.integers(len(FLOATS))])


def change_array(a: np.ndarray, rng: np.random.Generator, shape_too: bool = True) -> np.ndarray:
    """A copy with one to three elements changed, or of another shape or kind."""
    a = np.array(a)
    if not shape_too or rng.random() < 0.8:
        if a.size:
            flat = a.reshape(-1)
            for _ in range(int(rng.integers(1, 4)) if rng.random() < 0.3 else 1):
                at = int(rng.integers(a.size))
                number = other_number(flat[at], rng)
                if a.dtype.kind in "iub":
                    low, high = (np.iinfo(a.dtype).min, np.iinfo(a.dtype).max) if a.dtype.kind != "b" else (0, 1)
                    number = min(max(int(number), low), high)
                with np.errstate(all="ignore"):
                    flat[at] = number
        return a
    if a.ndim and len(a) and rng.random() < 0.5:
        return [a[:-1], np.concatenate([a, a[-1:]]), a[:0], a.T.copy(), a[None], np.repeat(a, 3, axis=0)][
            rng.integers(6)
        ]
    kinds = [np.float32, np.int32, np.uint8, np.int64, np.float64, np.bool_, np.complex128, ">f8", "S3", "U2"]
    with np.errstate(all="ignore"):
        return a.astype(kinds[rng.integers(len(kinds))])


def places(value: Any, where: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Container, key and path of everything in nested lists and dictionaries."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key, f"{where}.{key}"
        yield from places(item, f"{where}.{key}")


def change_plain(value: Any, rng: np.random.Generator) -> str:
    """Change something in nested lists and dictionaries. Returns where, and what it is now."""
    found = list(places(value))
    if not found:
        return "nothing"
    # Names are as likely as all that is below one of them.
    container, key, where = found[int(rng.integers(len(found)))]
    old = container[key]
    kind = rng.integers(10)
    if isinstance(old, int | float) and not isinstance(old, bool) and kind < 7:
        container[key] = other_number(old, rng)
    elif kind < 3 and isinstance(container, dict):
        del container[key]
        return f"{where} deleted"
    elif kind == 3 and isinstance(container, list):
        container.insert(key, container[int(rng.integers(len(container)))])
        return f"{where} doubled"
    elif kind == 4 and isinstance(container, dict) and isinstance(key, str):
        container[key + "x"] = container.pop(key)
        return f"{where} renamed"
    elif kind == 5:
        other, name, _ = found[int(rng.integers(len(found)))]
        container[key] = json.loads(json.dumps(other.get(name) if isinstance(other, dict) else None))
    else:
        container[key] = PLAIN[int(rng.integers(len(PLAIN)))]
    return f"{where} = {container[key]!r:.60}"


def change_bytes(data: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """Some bytes changed, or the end cut off, or a block zeroed, doubled or left out."""
    whole, kind = bytearray(data), int(rng.integers(6))
    used = np.flatnonzero(np.frombuffer(data, np.uint8))  # most of a recording is room for what may come
    at = int(rng.choice(used))
    size = int(rng.integers(1, 600))
    if kind <= 1:
        number = 1 if kind == 0 else 20
        for place in rng.choice(used, number):
            whole[int(place)] ^= 1 << int(rng.integers(8))
        return bytes(whole), f"{number} bits"
    if kind == 2:
        return bytes(whole[:at]), f"cut at {at}"
    if kind == 3:
        whole[at : at + size] = bytes(len(whole[at : at + size]))
    elif kind == 4:
        whole[at:at] = whole[at : at + size]
    else:
        del whole[at : at + size]
    return bytes(whole), f"block of {size} at {at}, kind {kind}"


# Snapshots -----------------------------------------------------------------------------------------------------


@functools.cache
def snapshot_base(scene: str) -> tuple[kido.World, Any, bytes, np.ndarray, np.ndarray]:
    """A world, its snapshot, that as a file, what the world shows then, and ten steps later."""
    w = SCENES[scene]()
    advance(w, 60 if scene in ("loops", "smooth") else 200)
    w.push(w.skeletons[-1].bodies[0], [0.5, 0, 0], 0.05)
    w.skeletons[-1].bodies[0].add_external_force([0.1, 0.0, 0.0])
    good = w.snapshot()
    with tempfile.TemporaryDirectory() as folder:
        good.save(Path(folder) / "good")
        data = (Path(folder) / "good").read_bytes()
    at = look(w)
    w.step(10)
    return w, good, data, at, look(w)


def changed_snapshot(data: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """A snapshot's file with something changed in it."""
    kind = rng.integers(20)
    if kind == 0:
        return change_bytes(data, rng)
    with np.load(io.BytesIO(data)) as file:
        arrays = {name: file[name] for name in file.files}
    names = [name for name in arrays if name != "text"]
    if kind < 5:
        text = json.loads(arrays["text"].tobytes())
        said = change_plain(text, rng)
        arrays["text"] = np.frombuffer(json.dumps(text).encode(), np.uint8)
    elif kind == 5:
        a, b = (names[int(rng.integers(len(names)))] for _ in range(2))
        arrays[a], said = arrays[b], f"{a} = {b}"
    elif kind == 6:
        name = names[int(rng.integers(len(names)))]
        del arrays[name]
        said = f"{name} deleted"
    else:
        full = [name for name in names if arrays[name].size]
        name = full[int(rng.integers(len(full)))]
        arrays[name], said = change_array(arrays[name], rng, kind < 9), f"{name} changed"
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue(), said


def try_snapshot(scene: str, seed: int, folder: Path) -> str:
    """What a changed snapshot does: "refused" or "accepted"; anything else is an error that is raised."""
    w, good, data, at, after = snapshot_base(scene)
    rng = np.random.default_rng([seed, 1])
    changed, said = changed_snapshot(data, rng)
    print(said, file=sys.stderr)
    path = folder / "snapshot.npz"
    path.write_bytes(changed)
    w.restore(good)
    outcome = "refused"
    try:
        given = kido.WorldSnapshot.load(path)
        repr((given, given.time, given.num_steps, given.positions))
        w.restore(given)
        outcome = "accepted"
    except kido.KidoError as error:
        assert len(str(error)) < 1000, f"a message of {len(str(error))} letters"
    if outcome == "accepted":
        for act in (lambda: w.step(3), lambda: look(w), lambda: w.step(2), w.clone, lambda: w.restore(w.snapshot())):
            try:
                act()
            except kido.KidoError:
                pass
        w.restore(good)
    np.testing.assert_array_equal(look(w)[: len(at) - 4], at[: len(at) - 4], "the world is not as it was")
    w.step(10)
    np.testing.assert_array_equal(look(w), after, "the world goes on otherwise")
    return outcome


# Recordings ----------------------------------------------------------------------------------------------------


@functools.cache
def recording_base(scene: str) -> bytes:
    """A short recording as a file."""
    w = SCENES[scene]()
    if scene == "sleep":
        w.step(100)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "good.h5"
        with kido.Recorder(w, path, checkpoint_every=10, signals={"energy": lambda w: w.total_energy}) as recorder:
            advance(w, 25)
            recorder.event("half")
            if scene == "contacts":
                w.add_skeleton(free(kido.Box((0.1, 0.1, 0.1)), 1.0, (1.0, 0.0, 0.5), name="late"))
            advance(w, 12)
        return path.read_bytes()


def change_blob(file: h5py.File, rng: np.random.Generator) -> str:
    """Change one description, state or event: in its text, or in the numbers that this refers to."""
    names = ("events", "structures", "checkpoints")
    pools = (("text/bytes", "text_count"), ("floats/values", "float_count"), ("integers/values", "integer_count"))
    rows = [(int(file[f"{t}/serial"][k]), t, k) for t in names for k in range(len(file[f"{t}/serial"]))]
    rows.sort()
    parts = {pool: [] for pool, _ in pools}
    at = dict.fromkeys(parts, 0)
    for _, table, k in rows:
        for pool, counter in pools:
            n = int(file[f"{table}/{counter}"][k])
            parts[pool].append(file[pool][at[pool] : at[pool] + n])
            at[pool] += n
    heavy = [i for i, (_, table, _) in enumerate(rows) if table != "events"]
    chosen = heavy[int(rng.integers(len(heavy)))] if rng.random() < 0.95 else int(rng.integers(len(rows)))
    pool = pools[int(rng.integers(3))][0] if rng.random() < 0.5 else "text/bytes"
    own = parts[pool][chosen]
    if pool == "text/bytes":
        value = json.loads(bytes(own))
        said = change_plain(value, rng)
        parts[pool][chosen] = np.frombuffer(json.dumps(value).encode(), np.uint8)
    else:
        parts[pool][chosen], said = change_array(own, rng, shape_too=False), f"a number of {pool}"
    _, table, k = rows[chosen]
    for pool, counter in pools:
        file[f"{table}/{counter}"][k] = len(parts[pool][chosen])
        whole = np.concatenate(parts[pool])
        file[pool].resize(len(whole), axis=0)
        file[pool][:] = whole
        order = [str(name) for name in file.attrs["tables"]]
        file["committed"][order.index(pool.split("/")[0])] = len(whole)
    return f"{table}[{k}] {said}"


def replace(file: h5py.File, name: str, rng: np.random.Generator) -> str:
    """Another data set, a group or a link in place of a data set."""
    old = file[name]
    shape, rows = old.shape, len(old) if old.shape else 0
    values = old[()]
    group, _, leaf = name.rpartition("/")
    del file[name]
    kind = int(rng.integers(19))
    if kind == 0:
        return f"{name} deleted"
    if kind == 1:
        file.create_group(name)
    elif kind == 2:
        file[name] = h5py.SoftLink(f"/{group}/{leaf}" if rng.random() < 0.5 else "/nowhere")
    elif kind == 3:
        file[name] = h5py.ExternalLink("/etc/passwd" if rng.random() < 0.5 else "other.h5", "/frames/time")
    elif kind == 4:
        file[name] = file["/"]
    elif kind == 5:
        file[name] = file["frames/step"] if "frames/step" in file else file["/"]
    elif kind == 6:
        file[name] = h5py.Empty("f8")
    elif kind == 7:
        file[name] = float(rng.normal())
    elif kind == 8:
        file.create_dataset(name, shape=(max(rows, 1),), dtype=h5py.string_dtype(), data=["x"] * max(rows, 1))
    elif kind == 9:
        file.create_dataset(name, shape=(rows,), dtype=[("a", "f8"), ("b", "i4")])
    elif kind == 10:
        file.create_dataset(name, shape=(10**12, *shape[1:]), maxshape=(None, *shape[1:]), dtype=values.dtype,
                            chunks=(1024, *(max(1, n) for n in shape[1:])))  # fmt: skip
    elif kind == 11:
        size = (4_000_000, *(max(1, n) for n in shape[1:]))
        made = file.create_dataset(name, shape=size, dtype="f8", chunks=(100_000, *size[1:]), compression="gzip")
        made[:2] = 1.0
    elif kind == 12:
        file.create_dataset(name, data=values, dtype=values.dtype, compression="gzip", chunks=values.shape or None) \
            if values.size else file.create_dataset(name, data=values)  # fmt: skip
    elif kind == 13:
        file.create_dataset(name, shape=shape, dtype=values.dtype, external=[("/etc/passwd", 0, h5py.h5f.UNLIMITED)]) \
            if values.size else file.create_group(name)  # fmt: skip
    elif kind == 14:
        layout = h5py.VirtualLayout(shape=(max(rows, 1),), dtype="f8")
        layout[:] = h5py.VirtualSource("other.h5", "x", shape=(max(rows, 1),))
        file.create_virtual_dataset(name, layout)
    elif kind == 15:
        file.create_dataset(name, data=values.astype([">f8", "f4", "i2", "u8", "?"][int(rng.integers(5))]))
    elif kind == 16:
        file.create_dataset(name, data=values[..., None] if rng.random() < 0.5 else values.reshape(-1))
    elif kind == 17:
        file.create_dataset(name, data=values, track_times=False)
    else:
        file.create_dataset(name, shape=shape, dtype=h5py.vlen_dtype(np.float64))
    return f"{name} replaced, kind {kind}"


def change_recording(path: Path, rng: np.random.Generator) -> str:
    """Change something in a recording's file. Returns what."""
    kind = rng.integers(20)
    if kind < 3:
        data, said = change_bytes(path.read_bytes(), rng)
        path.write_bytes(data)
        return said
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        names: list[str] = []
        file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        name = names[int(rng.integers(len(names)))]
        if kind < 11:
            return change_blob(file, rng)
        if kind < 15:
            data = file[name]
            if data.shape and data.size:
                data[...] = change_array(data[()], rng, shape_too=False)
            return f"{name} changed"
        if kind == 15:
            data = file[name]
            size = int(rng.choice([0, 1, 10**6, 10**9, 10**15, max(0, len(data) - 1), len(data) + 3, 2 * len(data)]))
            axis = 0 if data.ndim < 2 or rng.random() < 0.7 else 1
            limit = data.maxshape[axis]
            data.resize(size if limit is None else min(size, limit), axis=axis)
            if rng.random() < 0.5 and name != "committed" and axis == 0:
                order = [str(n) for n in file.attrs["tables"]]
                file["committed"][order.index(name.split("/")[0])] = size
            return f"{name} resized to {data.shape}"
        if kind == 16:
            key = list(file.attrs)[int(rng.integers(len(file.attrs)))]
            values = [
                1,
                -1,
                "x",
                "",
                np.zeros(3),
                np.arange(9000.0),
                h5py.Empty("f8"),
                ["a", "b"],
                np.nan,
                b"\xff",
                True,
            ]
            del file.attrs[key]
            choice = int(rng.integers(len(values) + 1))
            if choice < len(values):
                file.attrs[key] = values[choice]
            return f"attribute {key}: {choice}"
        if kind == 17:
            group = list(file)[int(rng.integers(len(file)))]
            del file[group]
            if rng.random() < 0.6:
                file[group] = [h5py.SoftLink("/"), file["/"], h5py.ExternalLink("x.h5", "/"), np.zeros(3)][
                    int(rng.integers(4))
                ]
            return f"group {group} deleted or linked"
        return replace(file, name, rng)


def read_everything(recording: kido.Recording) -> str:
    """Ask a recording for all that it has. Returns how many of the questions were refused."""
    refused = 0
    count = len(recording)

    def each(*acts: Callable[[], Any]) -> None:
        nonlocal refused
        for act in acts:
            try:
                act()
            except kido.KidoError as error:
                assert len(str(error)) < 1500, f"a message of {len(str(error))} letters"
                refused += 1

    def step(make: Callable[[], kido.World]) -> None:
        w = make()
        for act in (lambda: w.step(3), lambda: look(w), w.clone, lambda: w.restore(w.snapshot())):
            try:
                act()
            except kido.KidoError:
                pass

    r = recording
    each(
        *(
            lambda: repr(r),
            lambda: repr(r.metadata),
            lambda: r.energies,
            lambda: dict(r.solver),
            lambda: dict(r.signals),
        ),
        *(lambda: r.skeleton_names, lambda: r.dof_names, lambda: r.events, lambda: r.displacements, lambda: r.duration),
        lambda: [r.skeleton(name) for name in r.skeleton_names],
        *(functools.partial(r.contacts, k) for k in (0, count // 2, -1)),
        *(functools.partial(r.external_forces, k) for k in (0, count // 2, -1)),
        lambda: r.trajectory(100.0),
        lambda: [r.times, r.steps, r.commands],
        r.display_world,
        lambda: sum(1 for _ in r.play(fps=200.0)),
        lambda: step(lambda: r.resume(-1)),
        lambda: step(lambda: r.resume(count // 2)),
        lambda: step(lambda: r.world(0)),
    )
    return f"{refused} of 21 questions refused"


def try_recording(scene: str, seed: int, folder: Path) -> str:
    """What a changed recording does: "refused" or "accepted", and, whole or in part, to how many questions."""
    path = folder / "run.h5"
    path.write_bytes(recording_base(scene))
    rng = np.random.default_rng([seed, 2])
    print(change_recording(path, rng), file=sys.stderr)
    outcome = "accepted"
    for partial in (False, True):
        try:
            recording = kido.Recording.open(path, partial=partial)
        except kido.KidoError as error:
            assert len(str(error)) < 1500, f"a message of {len(str(error))} letters"
            outcome = "refused"
            continue
        with recording:
            return f"{outcome}, {read_everything(recording)}"
    return outcome


TRIALS = {"snapshot": try_snapshot, "recording": try_recording}


# Many, in processes --------------------------------------------------------------------------------------------


def work(kind: str, scene: str, start: int, stop: int) -> None:
    """Try seeds, telling about each on stdout: what a process does."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in range(start, stop):
            print(f"begin {seed}", flush=True)
            try:
                outcome = TRIALS[kind](scene, seed, Path(folder))
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                inner = [f for f in traceback.extract_tb(error.__traceback__) if "/kido/" in f.filename]
                where = inner[-1] if inner else last
                outcome = f"RAW {type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {error!s:.80}"
            print("end", json.dumps(outcome), flush=True)
            if outcome.startswith("RAW"):
                os._exit(0)  # what it left behind is no matter of the next one's


def _read(stream: IO[str], lines: queue.Queue[str]) -> None:
    for line in stream:
        lines.put(line)


def campaign(kind: str, scene: str, start: int, stop: int, patience: float = PATIENCE) -> dict[int, str]:
    """Outcomes by seed; a process that crashes or hangs is followed by another."""
    outcomes: dict[int, str] = {}
    while start < stop:
        command = [sys.executable, __file__, kind, "--scene", scene, "--work", str(start), str(stop)]
        path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        with tempfile.TemporaryFile() as err, subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=err, text=True, env={**os.environ, "PYTHONPATH": path}
        ) as process:  # fmt: skip
            assert process.stdout is not None
            lines: queue.Queue[str] = queue.Queue()
            reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
            reader.start()
            seed, ended = start - 1, True
            while True:
                try:
                    line = lines.get(timeout=patience if reader.is_alive() or not lines.empty() else 0.1)
                except queue.Empty:
                    if reader.is_alive():
                        process.kill()
                        outcomes[max(seed, start)] = "HANG"
                    break
                word, _, rest = line.partition(" ")
                if word == "begin":
                    seed, ended = int(rest), False
                else:
                    outcomes[seed], ended = json.loads(rest), True
                if ended and seed == stop - 1:
                    break
            process.wait()
            if process.returncode != 0 and not ended and seed not in outcomes:
                outcomes[seed] = f"CRASH {process.returncode}"
            elif process.returncode != 0 and seed < start:
                err.seek(0)
                raise RuntimeError(f"{command} failed: {err.read().decode()[-2000:]}")
            start = max(seed, start) + 1
    return outcomes


def is_bad(outcome: str) -> bool:
    """Whether an outcome is none that a user should see."""
    return outcome.startswith(("RAW", "CRASH", "HANG"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=TRIALS)
    parser.add_argument("--scene", choices=SCENES)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--work", type=int, nargs=2)
    given = parser.parse_args()
    if given.work:
        work(given.kind, given.scene, *given.work)
        return
    total: collections.Counter[str] = collections.Counter()
    for scene in [given.scene] if given.scene else SCENES:
        outcomes = campaign(given.kind, scene, given.first, given.first + given.count)
        total.update(o.split()[0].rstrip(",") for o in outcomes.values())
        bad = {seed: o for seed, o in outcomes.items() if is_bad(o)}
        print(f"{given.kind} {scene}: {len(outcomes)} tried, {len(bad)} bad", flush=True)
        for seed, o in bad.items():
            print(f"  {scene} {seed}: {o}", flush=True)
    print(dict(total))


if __name__ == "__main__":
    main()
