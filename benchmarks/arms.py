"""Arms for inverse kinematics, as one URDF text that all programs read alike; each ends in the link `TIP`.

Panda and UR5 are those of example-robot-data. That package has no KUKA iiwa and no Barrett WAM: these are built from
the Denavit-Hartenberg parameters and joint limits that their makers publish (LBR iiwa 14 R820, operating instructions;
WAM user's guide, 7 degrees of freedom with the wrist).
"""

from __future__ import annotations

import numpy as np

from benchmarks.robots import CASES

TIP = "tip"
_QUARTER = np.pi / 2
# a [m], alpha [rad], d [m] of each joint: turn about z, then d along z, a along x, alpha about x.
IIWA = [
    (0.0, -_QUARTER, 0.36), (0.0, _QUARTER, 0.0), (0.0, _QUARTER, 0.42), (0.0, -_QUARTER, 0.0),
    (0.0, -_QUARTER, 0.4), (0.0, _QUARTER, 0.0), (0.0, 0.0, 0.126),
]  # fmt: skip
IIWA_LIMITS = [(-x * np.pi / 180.0, x * np.pi / 180.0) for x in (170, 120, 170, 120, 170, 120, 175)]
WAM = [
    (0.0, -_QUARTER, 0.0), (0.0, _QUARTER, 0.0), (0.045, -_QUARTER, 0.55), (-0.045, _QUARTER, 0.0),
    (0.0, -_QUARTER, 0.3), (0.0, _QUARTER, 0.0), (0.0, 0.0, 0.06),
]  # fmt: skip
WAM_LIMITS = [(-2.6, 2.6), (-2.0, 2.0), (-2.8, 2.8), (-0.9, 3.1), (-4.76, 1.24), (-1.6, 1.6), (-3.0, 3.0)]


def _link(name: str) -> str:
    inertia = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
    return f'<link name="{name}"><inertial><mass value="1"/>{inertia}</inertial></link>'


def _joint(name: str, kind: str, parent: str, child: str, place: tuple[float, float, float], more: str = "") -> str:
    a, alpha, d = place
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{a!r} 0 {d!r}" rpy="{alpha!r} 0 0"/>{more}</joint>'
    )


def from_parameters(name: str, rows: list[tuple[float, float, float]], limits: list[tuple[float, float]]) -> str:
    """URDF text of a chain of revolute joints."""
    parts = [f'<robot name="{name}"><link name="world"/>']
    place, parent = (0.0, 0.0, 0.0), "world"
    for k, (row, (lower, upper)) in enumerate(zip(rows, limits, strict=True)):
        limit = f'<axis xyz="0 0 1"/><limit lower="{lower!r}" upper="{upper!r}" effort="100" velocity="10"/>'
        parts += [_link(f"link{k}"), _joint(f"joint{k}", "revolute", parent, f"link{k}", place, limit)]
        place, parent = row, f"link{k}"
    parts += [_link(TIP), _joint("end", "fixed", parent, TIP, place), "</robot>"]
    return "".join(parts)


def _with_tip(urdf: str, link: str) -> str:
    return urdf.replace("</robot>", _link(TIP) + _joint("end", "fixed", link, TIP, (0.0, 0.0, 0.0)) + "</robot>")


def arms() -> dict[str, str]:
    """URDF text of each arm. Raises FileNotFoundError without example-robot-data."""
    cases = {case.name: case for case in CASES}
    return {
        "KUKA iiwa 14": from_parameters("iiwa", IIWA, IIWA_LIMITS),
        "Panda": _with_tip(cases["panda"].urdf(), "panda_hand"),
        "UR5": _with_tip(cases["ur5"].urdf(), "tool0"),
        "WAM": from_parameters("wam", WAM, WAM_LIMITS),
    }
