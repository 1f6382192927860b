"""Every MJCF file of some folders: is it read, and are its dynamics MuJoCo's?

    python -m benchmarks.mjcf [--all] [--steps 20] folders ...

Of each model that MuJoCo compiles: mass matrix, bias forces (of gravity, Coriolis and centrifugal forces), poses of all
bodies and the centre of mass are compared at random states. Mocap bodies, which move with the coordinates of a joint
here, are left out. Errors are relative: of M by its greatest entry, and by sqrt(M_ii M_jj) (scaled); of bias forces by
the greatest of them or of M (velocities are of size one); of others by the greatest entry. Prints tables in Markdown:
totals, and remarks by kind; `--all` lists every file.
"""

from __future__ import annotations

import argparse
import importlib
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import kido
from benchmarks.timing import table
from kido.io import mjcf
from kido.layouts import MujocoLayout

mujoco: Any = importlib.import_module("mujoco")
STATES = 2  # random ones of each model
BOUND = 1e-12
QUANTITIES = ("mass matrix", "mass matrix, scaled", "bias forces", "poses", "centre of mass")


@dataclass
class Row:
    """What became of a file."""

    path: str
    outcome: str = ""
    dofs: int = 0
    errors: dict[str, float] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def kinds_of(warnings: list[str]) -> Counter[str]:
    """Remarks by kind: models that have them."""
    found: Counter[str] = Counter()
    for text in warnings:
        match = re.match(r".*?\.xml: (.*): (\d+) \(", text)
        found[match.group(1) if match else text] += 1
    return found


def relative(difference: Any, scale: Any) -> float:
    """Greatest entry of a difference by that of what it is a difference of."""
    size = float(np.abs(scale).max(initial=0.0))
    return float(np.abs(difference).max(initial=0.0)) / size if size > 0.0 else float(np.abs(difference).max(initial=0))


def compare(world: kido.World, model: Any, rng: np.random.Generator) -> dict[str, float]:
    """Errors of all quantities, the greatest of some random states."""
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    layouts = {s: MujocoLayout(s, model) for s in world.skeletons if s.num_dofs and not s.kinematic}
    for body in (body for skeleton in layouts for body in skeleton.bodies):
        body.gravity = True  # its compensation is a force of its own there
    worst: dict[str, float] = dict.fromkeys(QUANTITIES, 0.0)
    for _ in range(STATES):
        q = model.qpos0.copy()
        mujoco.mj_integratePos(model, q, rng.uniform(-1.0, 1.0, model.nv), 1.0)
        data.qpos, data.qvel = q, rng.uniform(-1.0, 1.0, model.nv)
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        M, ours = np.zeros((model.nv, model.nv)), np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        bias = np.zeros(model.nv)
        for skeleton, layout in layouts.items():
            mine, u = layout.our_positions(data.qpos), layout.our_velocities(layout.our_positions(data.qpos), data.qvel)
            skeleton.positions, skeleton.velocities = mine, u
            T = np.array([layout.velocities(mine, e) for e in np.eye(skeleton.num_dofs)]).reshape(-1, model.nv)
            ours += T.T @ skeleton.mass_matrix @ T
            still = layout.our_accelerations(mine, u, np.zeros(model.nv))
            bias += T.T @ skeleton.inverse_dynamics(mine, u, still)
        expected = data.qfrc_bias
        size = np.sqrt(np.abs(np.diag(M)))
        scale = np.outer(size, size) + 1e-300
        found = {
            "mass matrix": relative(M - ours, M),
            "mass matrix, scaled": float((np.abs(M - ours) / scale).max(initial=0.0)),
            "bias forces": relative(bias - expected, [*expected, *np.diag(M)]),
        } | poses(world, model, data)
        worst = {name: max(worst[name], found[name]) for name in QUANTITIES}
    return worst


def poses(world: kido.World, model: Any, data: Any) -> dict[str, float]:
    """Errors of the poses of bodies, and of the centre of mass of each tree."""
    theirs, ours, centres, own = [], [], [], []
    for skeleton in world.skeletons[1:]:
        for body in skeleton.bodies:
            b = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, body.name)
            if b < 0:
                continue
            theirs.append(np.column_stack([data.xmat[b].reshape(3, 3), data.xpos[b]]))
            ours.append(body.world_transform[:3])
        root = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, skeleton.bodies[0].name)
        if root >= 0 and skeleton.mass > 0.0:
            centres.append(data.subtree_com[root].copy())
            own.append(skeleton.com)
    a, b, c, d = (np.array(x) for x in (theirs, ours, centres, own))
    return {"poses": relative(a - b, a), "centre of mass": relative(c - d, c)}


def check(path: Path, rng: np.random.Generator, steps: int) -> Row | None:
    """One file; None if it is no model or MuJoCo does not compile it."""
    try:
        if "<mujoco" not in path.read_text(errors="replace"):
            return None
        mujoco.MjModel.from_xml_path(str(path))
    except (OSError, ValueError):
        return None
    row, start = Row(str(path)), time.perf_counter()
    try:
        world = kido.load_world(path)
        row.seconds = time.perf_counter() - start
        row.dofs = sum(s.num_dofs for s in world.skeletons)
        row.kinds = kinds_of([w for s in world.skeletons for w in s.warnings])
        if steps:
            world.clone().step(steps)
        row.errors = compare(world, mjcf.compile_model(path), rng)
        row.outcome = "equal" if max(row.errors.values()) <= BOUND else "read"
    except kido.KidoError as error:
        row.outcome = f"refused: {str(error)[:300]}"
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--all", action="store_true", help="list every file")
    parser.add_argument("--steps", type=int, default=0, help="time steps to take of each")
    options = parser.parse_args()
    files = sorted(path for folder in options.folders for path in folder.rglob("*.xml"))
    rng = np.random.default_rng(0)
    rows = [row for path in tqdm(files, disable=None) if (row := check(path, rng, options.steps)) is not None]
    if options.all:
        print(table(["file", "dofs", "s", "outcome", *QUANTITIES], [
            [r.path, str(r.dofs), f"{r.seconds:.2f}", r.outcome]
            + [f"{r.errors.get(name, np.nan):.1e}" for name in QUANTITIES]
            for r in rows
        ]))  # fmt: skip
    read = [row for row in rows if row.errors]
    print(table(["", "models"], [["compiled", str(len(rows))], ["read", str(len(read))]]))
    print(table(["quantity", f"within {BOUND:g}", "worst"], [
        [n, str(sum(r.errors[n] <= BOUND for r in read)), f"{max((r.errors[n] for r in read), default=0.0):.1e}"]
        for n in QUANTITIES
    ]))  # fmt: skip
    kinds = sum((row.kinds for row in rows), Counter[str]())
    print(table(["remark", "models"], [[kind, str(number)] for kind, number in kinds.most_common()]))
    for row in rows:
        if not row.errors:
            print(f"- {row.path}: {row.outcome}")


if __name__ == "__main__":
    main()
