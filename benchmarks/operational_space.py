"""Operational-space inertia of several nodes of a robot: time beside Pinocchio's ways to the same matrix.

    python -m benchmarks.operational_space

Pinocchio's ways to Lambda^-1 = J M^-1 J^T are the Delassus matrix of constraints that would hold the nodes
(`computeDelassusMatrix`, a recursion; its rows are in the nodes' own axes), the decomposition of the matrix of such
constraints after `crba`, and `computeMinverse` with the nodes' Jacobians, which it makes on its way. The first and the
last leave the inverse to the caller: here `numpy.linalg.inv`. States are given with each call; every number is the best
of interleaved rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import block_diag

import kido
from benchmarks.robots import CASES
from benchmarks.timing import interleaved, machine, ratio, table
from kido.layouts import PinocchioLayout

EFFECTORS = {
    "talos": ("leg_left_6_joint", "leg_right_6_joint", "arm_left_7_joint", "arm_right_7_joint"),
    "panda": ("panda_joint7",),
}
COMPLIANCE, INERTIA = "Lambda^-1", "Lambda"
TOLERANCE = 1e-9  # relative: matrices of all ways must agree

Call = Callable[[], Any]


def calls(name: str) -> dict[tuple[str, str], Call]:
    """Calls of one robot by result and way; all results agree, or this raises."""
    import pinocchio as pin

    text = next(c for c in CASES if c.name == name).urdf()
    skeleton = kido.load(text)
    model = pin.buildModelFromXML(text)
    data = model.createData()
    layout = PinocchioLayout(skeleton, model)
    bodies = [skeleton.joint(joint).child for joint in EFFECTORS[name]]
    joints = [model.getJointId(joint) for joint in EFFECTORS[name]]
    q = np.random.default_rng(1).uniform(-0.5, 0.5, skeleton.num_dofs)
    p = layout.positions(q)
    aligned = pin.LOCAL_WORLD_ALIGNED

    models: Any = pin.StdVec_RigidConstraintModel()
    datas: Any = pin.StdVec_RigidConstraintData()
    for joint in joints:
        held = pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, model, joint, aligned)
        models.append(held)
        datas.append(held.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    decomposition = pin.ConstraintCholeskyDecomposition(model, data, models, datas)

    def minverse() -> np.ndarray:
        M = pin.computeMinverse(model, data, p)
        J = np.vstack([pin.getJointJacobian(model, data, joint, aligned) for joint in joints])
        return J @ M @ J.T

    def delassus() -> np.ndarray:
        return pin.computeDelassusMatrix(model, data, p, models, datas)

    def decomposed() -> None:
        pin.crba(model, data, p)
        decomposition.compute(model, data, models, datas, 0.0)

    def decomposed_compliance() -> np.ndarray:
        decomposed()
        return decomposition.getInverseOperationalSpaceInertiaMatrix()

    def decomposed_inertia() -> np.ndarray:
        decomposed()
        return decomposition.getOperationalSpaceInertiaMatrix()

    made: dict[tuple[str, str], Call] = {
        (COMPLIANCE, "KIDO"): lambda: kido.quantities.operational_space_compliance(skeleton, q, bodies),
        (COMPLIANCE, "computeDelassusMatrix"): delassus,
        (COMPLIANCE, "constraint Cholesky"): decomposed_compliance,
        (COMPLIANCE, "computeMinverse, Jacobians"): minverse,
        (INERTIA, "KIDO"): lambda: kido.quantities.operational_space_inertia(skeleton, q, bodies),
        (INERTIA, "computeDelassusMatrix, inv"): lambda: np.linalg.inv(delassus()),
        (INERTIA, "constraint Cholesky"): decomposed_inertia,
        (INERTIA, "computeMinverse, Jacobians, inv"): lambda: np.linalg.inv(minverse()),
    }
    rows = (6 * np.arange(len(joints))[:, None] + np.array([3, 4, 5, 0, 1, 2])).ravel()  # theirs: linear first
    pin.forwardKinematics(model, data, p)
    turn = block_diag(*(data.oMi[joint].rotation for joint in joints for _ in range(2)))
    for what in (COMPLIANCE, INERTIA):
        truth = made[what, "KIDO"]()
        for (kind, way), call in list(made.items()):
            if kind != what or way == "KIDO":
                continue
            found = np.asarray(call())[np.ix_(rows, rows)]
            if "Delassus" in way:
                found = turn @ found @ turn.T
            error = np.abs(found - truth).max() / np.abs(truth).max()
            if error > TOLERANCE:
                raise SystemExit(f"{name}: {what} by {way} differs by {error:.1e}")
    return made


def chain(bodies: int) -> kido.Skeleton:
    """Hinges about x, y, z in turn."""
    skeleton, inertia = kido.Skeleton("chain"), kido.Inertia.from_diagonal(1.0, (0.1, 0.1, 0.1), (0.0, 0.0, 0.1))
    for k in range(bodies):
        joint = kido.RevoluteJoint(axis=np.eye(3)[k % 3], transform_from_parent=[0.0, 0.0, 0.2])
        skeleton.add_body(f"b{k}", joint, skeleton.bodies[-1] if k else None, inertia)
    return skeleton


def scaling() -> None:
    """Compliance of nodes spread over chains, beside J M^-1 J^T of KIDO's own matrices."""
    rows = []
    for bodies in (10, 100, 1000):
        skeleton = chain(bodies)
        q = 0.1 * np.random.default_rng(0).normal(size=bodies)
        made: dict[str, Call] = {}
        for count in (1, 4, 16):
            if count <= bodies:
                nodes = [skeleton.bodies[-1 - k * (bodies // count)] for k in range(count)]
                made[str(count)] = partial(kido.quantities.operational_space_compliance, skeleton, q, nodes)

        def dense(skeleton=skeleton, q=q) -> np.ndarray:
            ends = [skeleton.bodies[-1 - k * (len(q) // 4)] for k in range(4)]
            J = np.vstack([kido.quantities.jacobian(skeleton, q, node) for node in ends])
            return J @ kido.quantities.inverse_mass_matrix(skeleton, q) @ J.T

        best = interleaved(made, 300, seconds=3.0)
        best["4, dense"] = interleaved({"": dense}, 100, seconds=2.0)[""]  # apart: it empties the caches
        columns = ("1", "4", "16", "4, dense")
        rows.append([str(bodies), *(f"{1e6 * best[c]:.1f}" if c in best else "-" for c in columns)])
    print(table(["bodies", "1 node", "4 nodes", "16 nodes", "4 nodes, J M^-1 J^T"], rows))


def main(names: list[str]) -> None:
    print(machine(), "\n")
    rows = []
    for name in names:
        made = calls(name)
        best = interleaved({f"{a}|{b}": call for (a, b), call in made.items()}, 2000, seconds=8.0)
        for (what, way), _ in made.items():
            own = best[f"{what}|KIDO"]
            time = best[f"{what}|{way}"]
            rows.append([name, str(len(EFFECTORS[name])), what, way, f"{1e6 * time:.1f}", ratio(time, own)])
    print("Chains, us:\n")
    scaling()
    print("\nRobots:\n")
    print(table(["robot", "nodes", "result", "way", "us", "of KIDO's"], rows))


if __name__ == "__main__":
    main(sys.argv[1:] or list(EFFECTORS))
