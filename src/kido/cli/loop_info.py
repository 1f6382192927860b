"""What `kido info` says of a skeleton's closed loops and mimics."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.dynamics import ConstrainedDynamics
from kido.errors import KidoError
from kido.skeleton import Skeleton

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
