"""What `kido info` says of a model or a recording: as data, and as lines of text."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.dynamics import ConstrainedDynamics
from kido.errors import KidoError
from kido.recording import Recording, RecordingError
from kido.simulation import World
from kido.skeleton import BodyNode, DegreeOfFreedom, Skeleton

_CLOSED = 1e-8  # [m or rad]


def loops_to_dict(skeleton: Skeleton) -> dict[str, Any] | None:
    """Loops, their equations, which of these follow from others, and what stays free; None without loops and mimics.

    Rank and redundant rows are those at the state of the file.
    """
    mimics = [joint.name for joint in skeleton.joints if joint.mimic is not None]
    if not skeleton.loops and not mimics:
        return None
    found: dict[str, Any] = {
        "joints": [
            {
                "name": loop.name,
                "joint_type": type(loop.joint).__name__.removesuffix("Joint").lower(),
                "parent": loop.parent,
                "child": loop.child,
            }
            for loop in skeleton.loops
        ],
        "mimics": mimics,
    }
    try:
        dynamics = ConstrainedDynamics(skeleton, solver="TA")
        error = float(np.abs(dynamics.system.phi()).max(initial=0.0))
        dynamics.accelerations(u=np.zeros(skeleton.num_dofs))
    except KidoError as problem:  # servos, masses of zero: the loops are listed all the same
        return {**found, "problem": str(problem)}
    report = dynamics.report
    return {
        **found,
        "equations": report.rows,
        "rank": report.rank,
        "redundant": report.redundant,
        "independent_coordinates": report.independent_coordinates,
        "largest_error": error,
    }


def loop_lines(data: dict[str, Any]) -> list[str]:
    """The same as text."""
    lines = []
    for loop in data["joints"]:
        between = f"{loop['parent'] or 'world'} - {loop['child'] or 'world'}"
        lines.append(f"loop {loop['name']}: {loop['joint_type']}, {between}")
    if "problem" in data:
        return [*lines, f"loops cannot be evaluated: {data['problem']}"]
    mimics = f", {len(data['mimics'])} of mimics" if data["mimics"] else ""
    lines.append(
        f"{data['equations']} equations{mimics}, {data['rank']} independent: "
        f"{data['independent_coordinates']} independent coordinates"
    )
    lines += [f"redundant: {row}" for row in data["redundant"]]
    if data["largest_error"] > _CLOSED:
        lines.append(f"open by {data['largest_error']:.3g} in the positions of the file")
    return lines


DOF_COLUMNS = (
    "position_lower_limit",
    "position_upper_limit",
    "velocity_limit",
    "force_limit",
    "damping",
    "coulomb_friction",
    "spring_stiffness",
    "armature",
    "rest_position",
)


def model_to_dict(model: Skeleton | World, path: str) -> dict[str, Any]:
    """All that is printed, with infinities where there is no limit."""
    if isinstance(model, World):
        return {
            "file": path,
            "kind": "world",
            "name": model.name,
            "time_step": model.time_step,
            "gravity": model.gravity.tolist(),
            "skeletons": [skeleton_to_dict(s) for s in model.skeletons],
        }
    return {"file": path, "kind": "skeleton", **skeleton_to_dict(model)}


def skeleton_to_dict(skeleton: Skeleton) -> dict[str, Any]:
    """One skeleton."""
    return {
        "name": skeleton.name,
        "mobile": skeleton.mobile,
        "mass": skeleton.mass,
        "com": skeleton.com.tolist() if skeleton.mass > 0 else None,
        "num_bodies": skeleton.num_bodies,
        "num_dofs": skeleton.num_dofs,
        "bodies": [_body(body) for body in skeleton.bodies],
        "dofs": [_dof(dof) for dof in skeleton.dofs],
        "loops": loops_to_dict(skeleton),
        "warnings": list(skeleton.warnings),
    }


def _body(body: BodyNode) -> dict[str, Any]:
    joint = body.parent_joint
    mimic = joint.mimic
    return {
        "name": body.name,
        "parent": None if body.parent is None else body.parent.name,
        "joint": joint.name,
        "joint_type": type(joint).__name__.removesuffix("Joint").lower(),
        "mimic": mimic and {"joint": mimic.joint, "multiplier": mimic.multiplier, "offset": mimic.offset},
        "mass": body.mass,
        "com": body.inertia.com.tolist(),
        "moment": body.inertia.moment.tolist(),
        "visuals": [type(n.shape).__name__ for n in body.shapes if n.visual],
        "collisions": [type(n.shape).__name__ for n in body.shapes if n.collision],
    }


def _dof(dof: DegreeOfFreedom) -> dict[str, Any]:
    values = {key: getattr(dof, key) for key in DOF_COLUMNS}
    return {"name": dof.name, "joint": dof.joint.name, "actuator": dof.actuator_type.name.lower(), **values}


def model_lines(data: dict[str, Any]) -> list[str]:
    """The same as text."""
    if data["kind"] == "skeleton":
        return [*skeleton_lines(data), "", data["file"]]
    gravity = " ".join(f"{g:g}" for g in data["gravity"])
    found = [f"world {data['name']}: {len(data['skeletons'])} skeletons, "
             f"time step {data['time_step']:g} s, gravity {gravity} m/s^2", data["file"]]  # fmt: skip
    for skeleton in data["skeletons"]:
        found += ["", *skeleton_lines(skeleton)]
    return found


def skeleton_lines(data: dict[str, Any]) -> list[str]:
    """Tree, degrees of freedom and warnings of one skeleton."""
    mobile = "" if data["mobile"] else ", immobile"
    found = [
        f"{data['name']}: {data['num_bodies']} bodies, {data['num_dofs']} degrees of freedom, "
        f"{data['mass']:.6g} kg{mobile}",
        "",
        *_table([("body", "joint", "type", "mass [kg]", "collides as"), *_tree_rows(data["bodies"])]),
    ]
    if data["dofs"]:
        head = ["degree of freedom", "lower", "upper", "velocity", "force", "damping", "friction", "spring"]
        rotors = any(d["armature"] for d in data["dofs"])  # columns that say something
        driven = any(d["actuator"] != "force" for d in data["dofs"])
        keys = DOF_COLUMNS[: 8 if rotors else 7]
        rows = [
            (d["name"], *(_number(d[key]) for key in keys), *([d["actuator"]] if driven else [])) for d in data["dofs"]
        ]
        head += ["rotor"] * rotors + ["actuator"] * driven
        found += ["", *_table([tuple(head), *rows])]
    if data["loops"]:
        found += ["", *loop_lines(data["loops"])]
    if data["warnings"]:
        found += ["", *(f"warning: {line}" for line in data["warnings"])]
    return found


def _tree_rows(bodies: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    children: dict[str | None, list[dict[str, Any]]] = {}
    for body in bodies:
        children.setdefault(body["parent"], []).append(body)
    rows: list[tuple[str, ...]] = []
    # Depth first without recursion: chains may be long.
    stack = [(body, "", "") for body in reversed(children.get(None, []))]
    while stack:
        body, branch, below = stack.pop()
        joint_type = body["joint_type"] + (f" = {body['mimic']['joint']}" if body["mimic"] else "")
        shapes = ", ".join(body["collisions"]).lower() or "-"
        rows.append((branch + body["name"], body["joint"], joint_type, f"{body['mass']:.4g}", shapes))
        own = children.get(body["name"], [])
        for child in reversed(own):
            last = child is own[-1]
            stack.append((child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))
    return rows


def _number(value: float) -> str:
    return "-" if abs(value) == float("inf") else f"{value:.4g}"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def recording_to_dict(recording: Recording) -> dict[str, Any]:
    """All that is printed."""
    if len(recording) == 0:
        raise RecordingError(f"{recording.path}: no frame was written")
    solver, energies = recording.solver, recording.energies
    meta = {k: v.tolist() if isinstance(v, (np.ndarray, np.generic)) else v for k, v in recording.metadata.items()}
    return {
        "file": str(recording.path),
        "kind": "recording",
        "finished": recording.finished,
        "frames": recording.num_frames,
        "time": [float(recording.times[0]), float(recording.times[-1])],
        "steps": [int(recording.steps[0]), int(recording.steps[-1])],
        "metadata": meta,
        "skeletons": {s["name"]: len(recording.skeleton(s["name"]).dof_names)
                      for s in recording.description(0)["skeletons"]},
        "signals": {name: list(values.shape[1:]) for name, values in recording.signals.items()},
        "energy": [float(energies.total[0]), float(energies.total[-1])],
        "most_contacts": int(solver["contacts"].max()),
        "max_penetration": float(solver["max_penetration"].max()),
        "max_residual": float(solver["residual"].max()),
        "events": [event._asdict() for event in recording.events],
    }  # fmt: skip


def recording_lines(data: dict[str, Any]) -> list[str]:
    """The same as text."""
    (start, end), steps, meta = data["time"], data["steps"], data["metadata"]
    state = "" if data["finished"] else " (not finished: still being written, or its writer died)"
    skeletons = ", ".join(f"{name} ({dofs})" for name, dofs in data["skeletons"].items())
    found = [
        f"recording of world {meta['world']}{state}",
        f"{'file':<12} {data['file']}",
        f"{'written by':<12} KIDO {meta['kido_version']}, {meta['created']}",
        f"{'frames':<12} {data['frames']}, from {start:g} s to {end:g} s",
        f"{'steps':<12} {steps[0]} to {steps[1]}, every {meta['every']}, of {meta['time_step']:g} s",
        f"{'skeletons':<12} {skeletons} (degrees of freedom)",
        f"{'energy':<12} {data['energy'][0]:.6g} J at the start, {data['energy'][1]:.6g} J at the end",
        f"{'contacts':<12} at most {data['most_contacts']}",
        f"{'penetration':<12} at most {1e3 * data['max_penetration']:.3g} mm",
        f"{'solver':<12} residual at most {data['max_residual']:.2g}",
    ]
    if data["signals"]:
        found.append(f"{'signals':<12} {', '.join(data['signals'])}")
    found += [f"{e['time']:>10.4f} s  {e['kind']}: {e['text']}" for e in data["events"]]
    return found


def finite(value: Any) -> Any:
    """The value with None in place of infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, float) and not (abs(value) < float("inf")):
        return None
    return value
