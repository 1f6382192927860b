"""Every MJCF file of some folders: is it read, and are its dynamics MuJoCo's?

    python -m benchmarks.mjcf [--all] [--steps 20] folders ...

Of each model that MuJoCo compiles: mass matrix, bias forces (of gravity, Coriolis and centrifugal forces), poses of all
bodies, the centre of mass, lengths and moments of tendons, forces of actuators and on joints, and readings of sensors
are compared at random states, without contact. Mocap bodies, which move with the coordinates of a joint here, are left
out. With `--motion` smooth motion of both, without contact, limits, dry friction and equalities, is compared after
20 ms at time steps of 0.1 and 0.05 ms: velocities extrapolated to a time step of zero, by the greatest.

Errors are relative: of M by its greatest entry, and by sqrt(M_ii M_jj) (scaled); of bias forces by
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
from kido.environment import Medium
from kido.io import mjcf
from kido.layouts import MujocoLayout

mujoco: Any = importlib.import_module("mujoco")
STATES = 2  # random ones of each model
BOUND = 1e-12
QUANTITIES = ("mass matrix", "mass matrix, scaled", "bias forces", "poses", "centre of mass")
DRIVE = (
    "lengths of tendons",
    "moments of tendons",
    "forces of actuators",
    "joint forces of actuators",
    "forces of a fluid",
    "sensors",
)
MOTION = "velocities after 20 ms"
QUANTITIES += DRIVE
FELT = ("touch", "rangefinder")  # sensors of contacts and distances, which are not compared


@dataclass
class Row:
    """What became of a file."""

    path: str
    outcome: str = ""
    dofs: int = 0
    errors: dict[str, float] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    motion: float | None = None


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


def compare(world: Any, model: Any, rng: np.random.Generator) -> dict[str, float]:
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
        found |= drive(world, model, data, layouts, rng)
        worst = {name: max(worst[name], found.get(name, 0.0)) for name in QUANTITIES}
    return worst


def drive(world: Any, model: Any, data: Any, layouts: dict[Any, MujocoLayout], rng: np.random.Generator) -> Any:
    """Errors of tendons, actuators and sensors at a state, with random controls and activations."""
    found: dict[str, float] = {}
    maps = {s: np.linalg.pinv(layout.velocity_map(s.positions)) for s, layout in layouts.items()}
    data.ctrl, data.act = rng.uniform(-1.0, 1.0, model.nu), rng.uniform(0.0, 1.0, model.na)
    mujoco.mj_forward(model, data)
    for s, layout in layouts.items():
        s.accelerations = layout.our_accelerations(s.positions, s.velocities, data.qacc)
    try:
        a = world.actuators
    except kido.ModelError:
        a = None
    if a is not None:
        own = [k for k in range(model.nactuator) if model.actuator(k).name in a.names]
        a.controls = data.ctrl[[model.actuator_ctrladr[k] for k in own]] if own else []
        a.activations = [data.act[j] if (j := model.actuator_actadr[k]) >= 0 else 0.0 for k in own]
        J, ours = np.zeros((model.ntendon, model.nv)), np.zeros((model.ntendon, model.nv))
        for k in range(model.ntendon):
            part = slice(model.ten_J_rowadr[k], model.ten_J_rowadr[k] + model.ten_J_rownnz[k])
            J[k, model.ten_J_colind[part]] = data.ten_J.ravel()[part]
        forces, carried = np.zeros(model.nv), data.qfrc_gravcomp * model.jnt_actgravcomp[model.dof_jntid]
        for s in a.skeletons:
            forces += maps[s].T @ a.joint_forces(s)
            ours += a.tendon_moments(s) @ maps[s]
        found["lengths of tendons"] = relative(a.tendon_lengths - data.ten_length, data.ten_length)
        found["moments of tendons"] = relative(ours - J, J)
        found["forces of actuators"] = relative(a.forces - data.actuator_force[own], [*data.actuator_force, 1.0])
        expected = data.qfrc_actuator - carried
        found["joint forces of actuators"] = relative(forces - expected, [*expected, 1.0])
    media = [c for c in world.controllers if isinstance(c, Medium)]
    fluid = sum((maps[c.skeleton].T @ c.compute() for c in media), np.zeros(model.nv))
    found["forces of a fluid"] = relative(fluid - data.qfrc_fluid, data.qfrc_fluid)
    errors = [0.0]
    for name, kind in world.sensors.kinds.items():
        k = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, name)
        expected = data.sensordata[model.sensor_adr[k] : model.sensor_adr[k] + model.sensor_dim[k]]
        if kind.endswith("quat"):
            expected = expected * (np.sign(expected[0]) or 1.0)
        if kind not in FELT:
            errors.append(relative(np.asarray(world.sensors[name]) - expected, [*expected, 1.0]))
    found["sensors"] = max(errors)
    return found


def motion(path: Path) -> float:
    """Difference of velocities after a short smooth motion, extrapolated to a time step of zero."""
    gaps = []
    for h in (1e-4, 5e-5):
        model, world = mjcf.compile_model(path), mjcf.read(path, collisions=False)
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        model.opt.timestep = world.time_step = h
        for c in world.constraints:
            world.remove_constraint(c)
        for dof in (dof for s in world.skeletons for dof in s.dofs):
            dof.coulomb_friction, dof.position_lower_limit, dof.position_upper_limit = 0.0, -np.inf, np.inf
        data = mujoco.MjData(model)
        rng = np.random.default_rng(1)
        data.qvel, data.ctrl = rng.uniform(-0.5, 0.5, model.nv), rng.uniform(-0.3, 0.3, model.nu)
        layouts = {s: MujocoLayout(s, model) for s in world.skeletons if s.num_dofs and not s.kinematic}
        for s, layout in layouts.items():
            s.positions = layout.our_positions(data.qpos)
            s.velocities = layout.our_velocities(s.positions, data.qvel)
        if any(type(c).__name__ == "ActuatorLink" for c in world.controllers):
            a = world.actuators
            a.controls = [data.ctrl[model.actuator_ctrladr[model.actuator(n).id]] for n in a.names]
        for _ in range(round(0.02 / h)):
            mujoco.mj_step(model, data)
        world.step(round(0.02 / h))
        ours = np.zeros(model.nv)
        for s, layout in layouts.items():
            ours += layout.velocities(s.positions, s.velocities)
        gaps.append((ours - data.qvel) / max(np.abs(data.qvel).max(initial=0.0), 1.0))
    return float(np.abs(2.0 * gaps[1] - gaps[0]).max(initial=0.0))


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


def check(path: Path, rng: np.random.Generator, steps: int, moves: bool = False) -> Row | None:
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
        if moves:
            row.motion = motion(path)
        row.outcome = "equal" if max(row.errors.values()) <= BOUND else "read"
    except kido.KidoError as error:
        row.outcome = f"refused: {str(error)[:300]}"
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--all", action="store_true", help="list every file")
    parser.add_argument("--motion", action="store_true", help="compare smooth motion as well")
    parser.add_argument("--steps", type=int, default=0, help="time steps to take of each")
    options = parser.parse_args()
    files = sorted(path for folder in options.folders for path in folder.rglob("*.xml"))
    rng = np.random.default_rng(0)
    rows = [
        row
        for path in tqdm(files, disable=None)
        if (row := check(path, rng, options.steps, options.motion)) is not None
    ]
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
    gaps = np.array([row.motion for row in rows if row.motion is not None])
    if len(gaps):
        counts = [[f"{bound:g}", str(int((gaps <= bound).sum()))] for bound in (1e-8, 1e-6, 1e-4, np.inf)]
        print(table([f"{MOTION} within", "models"], counts))
        print("- beyond:", [(row.path, row.motion) for row in rows if row.motion is not None and row.motion > 1e-4])
    kinds = sum((row.kinds for row in rows), Counter[str]())
    print(table(["remark", "models"], [[kind, str(number)] for kind, number in kinds.most_common()]))
    for row in rows:
        if not row.errors:
            print(f"- {row.path}: {row.outcome}")


if __name__ == "__main__":
    main()
