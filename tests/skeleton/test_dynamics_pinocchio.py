"""Robots against Pinocchio: mass, placements, inverse dynamics, mass matrix, forward dynamics.

Both programs evaluate the same equations in another order, in double precision. Mass, placements, M and inverse
dynamics are compared relative to their largest number. Accelerations of a humanoid are only known to the
condition number of its mass matrix times 1e-16 (up to 1e-10), in either program; 1e-10 of the largest holds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from pinocchio_layout import NAMED, OF_DART, Layout, pin
from trees import relative_error

TOLERANCE = 1e-10
STATES = 100


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
