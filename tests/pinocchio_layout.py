"""Robots that both programs read, and their vectors in Pinocchio's layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import kido

pin = pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) is not installed")

NAMED = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "anymal_b": "anymal_b_simple_description/robots/anymal.urdf",
    "talos": "talos_data/robots/talos_full_v2.urdf",
    "talos_reduced": "talos_data/robots/talos_reduced.urdf",
}
OF_DART = {
    "atlas": "sdf/atlas/atlas_v3_no_head.urdf",
    "kr5": "urdf/KR5/KR5 sixx R650.urdf",
    "wam": "urdf/wam/wam.urdf",
    "drchubo": "urdf/drchubo/drchubo.urdf",
}


@dataclass
class Layout:
    """Where each joint's numbers stand in Pinocchio's vectors and in ours, by joint name."""

    model: pin.Model
    skeleton: kido.Skeleton

    def __post_init__(self) -> None:
        first = {}
        for dof in self.skeleton.dofs:
            first.setdefault(dof.joint.name, dof.index)
        model = self.model
        self.joints = [
            (first[model.names[i]], j.idx_q, j.nq, j.idx_v, j.nv) for i, j in enumerate(model.joints) if i > 0
        ]
        self.ours = np.array([k + i for k, _, _, _, nv in self.joints for i in range(nv)], int)
        # A free joint: [linear; angular] there, [angular; linear] here.
        order = [np.roll(np.arange(v, v + nv), 3) if nv == 6 else np.arange(v, v + nv) for *_, v, nv in self.joints]
        self.theirs = np.concatenate([np.zeros(0, int), *order])

    def positions(self, q: np.ndarray) -> np.ndarray:
        """Ours in Pinocchio's layout: continuous joints as cosine and sine, free ones as quaternion."""
        result = pin.neutral(self.model)
        for k, start, size, _, _ in self.joints:
            if size == 1:
                result[start] = q[k]
            elif size == 2:
                result[start : start + 2] = np.cos(q[k]), np.sin(q[k])
            else:
                result[start : start + 3] = q[k + 3 : k + 6]
                result[start + 3 : start + 7] = pin.Quaternion(pin.exp3(q[k : k + 3])).coeffs()
        return result

    def to_theirs(self, u: np.ndarray) -> np.ndarray:
        """Velocities, accelerations or forces."""
        result = np.zeros(self.model.nv)
        result[self.theirs] = u[self.ours]
        return result

    def to_ours(self, v: np.ndarray) -> np.ndarray:
        result = np.zeros(self.skeleton.num_dofs)
        result[self.ours] = v[self.theirs]
        return result
