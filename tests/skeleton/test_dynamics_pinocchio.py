"""Robots against Pinocchio: mass, placements, inverse dynamics, mass matrix, forward dynamics.

Both programs evaluate the same equations in another order, in double precision. Mass, placements, M and inverse
dynamics are compared relative to their largest number. Accelerations of a humanoid are only known to the
condition number of its mass matrix times 1e-16 (up to 1e-10), in either program; 1e-10 of the largest holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import kido
from trees import relative_error

pin = pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) is not installed")

TOLERANCE = 1e-10
STATES = 100
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
        self.ours = np.concatenate([np.arange(k, k + nv) for k, _, _, _, nv in self.joints])
        # A free joint: [linear; angular] there, [angular; linear] here.
        order = [np.roll(np.arange(v, v + nv), 3) if nv == 6 else np.arange(v, v + nv) for *_, v, nv in self.joints]
        self.theirs = np.concatenate(order)

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


def compare(path: Path, free: bool) -> dict[str, float]:
    """Largest relative differences over the random states."""
    skeleton = kido.load(path, visuals=False, collisions=False, base="free" if free else "fixed")
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if free else []))
    data = model.createData()
    layout = Layout(model, skeleton)
    assert sorted(layout.ours) == list(range(skeleton.num_dofs)), "every coordinate has its counterpart"
    frames = [(i, f.name) for i, f in enumerate(model.frames) if f.type == pin.FrameType.BODY and f.name != "universe"]
    assert {name for _, name in frames} == {b.name for b in skeleton.bodies} - {"universe"}
    place = [skeleton.body(name).index for _, name in frames]
    mass = sum(inertia.mass for inertia in model.inertias)
    # Bodies welded to the world belong to Pinocchio's `universe`, whose inertia it keeps as well.
    worst = {"mass": abs(skeleton.mass - mass) / mass, "frames": 0.0, "rnea": 0.0, "crba": 0.0, "aba": 0.0}
    rng = np.random.default_rng(11)
    for _ in range(STATES):
        q = rng.uniform(-np.pi, np.pi, skeleton.num_dofs)
        u, a, tau = rng.normal(size=(3, skeleton.num_dofs))
        pq, pu, pa, ptau = layout.positions(q), *map(layout.to_theirs, (u, a, tau))
        pin.framesForwardKinematics(model, data, pq)
        X = skeleton.forward_kinematics(q)[place]
        expected = np.array([data.oMf[i].homogeneous for i, _ in frames])
        M = pin.crba(model, data, pq)
        M = np.triu(M) + np.triu(M, 1).T
        ours = kido.quantities.mass_matrix(skeleton, q)[np.ix_(layout.ours, layout.ours)]
        forces = layout.to_ours(pin.rnea(model, data, pq, pu, pa))
        accelerations = layout.to_ours(pin.aba(model, data, pq, pu, ptau))
        errors = {
            "frames": relative_error(X, expected),
            "rnea": relative_error(skeleton.inverse_dynamics(q, u, a), forces),
            "crba": relative_error(ours, M[np.ix_(layout.theirs, layout.theirs)], floor=0.0),
            "aba": relative_error(skeleton.forward_dynamics(q, u, tau), accelerations),
        }
        for key, value in errors.items():
            worst[key] = max(worst[key], value)
    return worst


def check(path: Path, free: bool, record_property) -> None:
    worst = compare(path, free)
    for key, value in worst.items():
        record_property(key, value)
    print(path.stem, "free" if free else "fixed", {k: f"{v:.1e}" for k, v in worst.items()})
    assert max(worst.values()) < TOLERANCE, worst


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
def test_robots_of_example_robot_data(example_robots: Path, name: str, free: bool, record_property) -> None:
    check(example_robots / NAMED[name], free, record_property)


@pytest.mark.parametrize("name", OF_DART)
@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
def test_robots_of_dart(dart_data: Path, name: str, free: bool, record_property) -> None:
    check(dart_data / OF_DART[name], free, record_property)
