"""Forward dynamics of closed chains: solvers of KIDO by name, Pinocchio's constrained dynamics, MuJoCo's equalities.

    python -m benchmarks.closed_chains

A chain of n four-bars, each on the coupler of the one before, closed by ball constraints; and Cassie
(`cassie_v2.sdf` of example-robot-data, four ball loops). KIDO's times are those of the compiled call, as motions make
it; Pinocchio's and MuJoCo's those of their one call from Python, with data made before. Pinocchio solves by proximal
iterations, which redundant rows need. MuJoCo's constraints are soft: its accelerations are others by some per cent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kido
from benchmarks.robots import ROBOTS
from benchmarks.timing import interleaved, machine, ratio, table
from kido.dynamics.registry import SOLVERS
from kido.dynamics.solver import run_accelerate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from linkages import at, rod

LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200)
MU = 1e-8  # of Pinocchio's proximal iterations
SLOWEST = 2.0  # [s] for the rounds of one row of the table
Z = (0.0, 0.0, 1.0)


def four_bars(n: int) -> tuple[kido.Skeleton, list[Any]]:
    """n four-bars of bars of 1 m and 1 kg in a plane, each on the coupler of the one before; they swing."""
    s = kido.Skeleton("four_bars")
    s.gravity = (0.0, -9.81, 0.0)
    base, X, loops = None, np.eye(4), []
    for k in range(n):
        left = s.add_body(f"left{k}", kido.RevoluteJoint(axis=Z, transform_from_parent=X), base, rod(1))
        coupler = s.add_body(f"coupler{k}", kido.RevoluteJoint(axis=Z, transform_from_parent=at(0, 1, 0)), left, rod(0))
        right = s.add_body(f"right{k}", kido.RevoluteJoint(axis=Z, transform_from_parent=X @ at(1, 0, 0)), base, rod(1))
        loops.append((coupler, right))
        base, X = coupler, at(0.0, 0.2, 0.0)
    pins = [kido.BallJointConstraint(a, b, at=b.world_transform @ at(0, 1, 0), name=b.name) for a, b in loops]
    s.positions = np.tile([0.3, -0.3, 0.3], n)
    s.velocities = np.tile([0.5, -0.5, 0.5], n)
    return s, pins


def cassie() -> tuple[kido.Skeleton, list[Any]]:
    """Cassie as it stands in its file, in motion."""
    read: Any = kido.load(next(ROBOTS.rglob("cassie_v2.sdf")))
    robot = (read.skeletons[0] if isinstance(read, kido.World) else read).clone()
    dynamics = kido.ConstrainedDynamics(robot)
    robot.velocities = dynamics.project_velocities(u=np.random.default_rng(0).normal(size=robot.num_dofs))
    return robot, list(dynamics.system.constraints)


def mujoco_model(skeleton: kido.Skeleton, constraints: list[Any], ground: bool = False) -> tuple[Any, Any, Any]:
    """Module, model and data of the same skeleton at its state, loops as `connect` equalities between sites.

    With `ground` also the plane z = 0 with friction 1, which the skeleton's spheres touch.
    """
    import mujoco
    from scipy.spatial.transform import Rotation

    def quaternion(R: np.ndarray) -> np.ndarray:
        return Rotation.from_matrix(R).as_quat()[[3, 0, 1, 2]]

    spec = mujoco.MjSpec()
    spec.option.gravity = skeleton.gravity
    made = {}
    for body in skeleton.bodies:
        joint = body.parent_joint
        X = joint.transform_from_parent @ np.linalg.inv(joint.transform_from_child)
        parent = spec.worldbody if body.parent is None else made[body.parent.name]
        own = body.inertia
        b = made[body.name] = parent.add_body(name=body.name, pos=X[:3, 3], quat=quaternion(X[:3, :3]))
        if own.mass > 0.0:
            J = own.moment
            b.mass, b.ipos, b.explicitinertial = own.mass, own.com, True
            b.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
        child = joint.transform_from_child
        if isinstance(joint, kido.RevoluteJoint):
            b.add_joint(
                name=joint.name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=child[:3, :3] @ joint.axis, pos=child[:3, 3],
                stiffness=joint.spring_stiffness[0], damping=joint.damping[0], springref=joint.rest_position[0],
            )  # fmt: skip
        elif isinstance(joint, kido.FreeJoint):
            b.add_freejoint(name=joint.name)
        for node in body.shapes if ground else ():
            if isinstance(node.shape, kido.Sphere):
                place, size = node.relative_transform[:3, 3], [node.shape.radius, 0.0, 0.0]
                b.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=size, pos=place, contype=0, conaffinity=1)
    if ground:
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1.0, 1.0, 1.0], friction=[1.0, 0.0, 0.0])
    for k, c in enumerate(constraints):
        for body, frame, side in ((c.body_a, c.frame_a, "a"), (c.body_b, c.frame_b, "b")):
            where = spec.worldbody if body is None else made[body.name]
            where.add_site(name=f"{side}{k}", pos=frame[:3, 3])
        spec.add_equality(
            type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE, name1=f"a{k}", name2=f"b{k}"
        )
    model = spec.compile()
    data = mujoco.MjData(model)
    for joint in skeleton.joints:
        if joint.num_dofs == 0:
            continue
        first, k = int(model.joint(joint.name).qposadr[0]), int(model.joint(joint.name).dofadr[0])
        x, rate = joint.positions, joint.velocities
        if isinstance(joint, kido.FreeJoint):
            R = Rotation.from_rotvec(x[:3])
            x = np.concatenate([x[3:], R.as_quat()[[3, 0, 1, 2]]])
            rate = np.concatenate([R.apply(rate[3:]), rate[:3]])
        data.qpos[first : first + len(x)], data.qvel[k : k + len(rate)] = x, rate
    return mujoco, model, data


class Case:
    """All programs on one closed chain."""

    def __init__(self, name: str, made: tuple[kido.Skeleton, list[Any]]):
        self.name = name
        self.skeleton, self.constraints = made
        self.calls: dict[str, Callable[[], Any]] = {}
        self.errors: dict[str, float] = {}
        self.kept: list[Any] = []  # what calls hold addresses of
        exact = None
        for solver in SOLVERS:
            if solver == "tree":
                continue
            dynamics = kido.ConstrainedDynamics(self.skeleton, self.constraints, solver)
            udot = dynamics.accelerations()
            exact = udot if exact is None else exact
            address = dynamics.solver.container.address
            self._add(solver, lambda address=address: run_accelerate(address), udot, exact)
            self.report = dynamics.report
            self.kept.append(dynamics)
        assert exact is not None
        self._add_peers(exact)

    def _add(self, name: str, call: Callable[[], Any], udot: np.ndarray, exact: np.ndarray) -> None:
        self.calls[name] = call
        self.errors[name] = float(np.abs(udot - exact).max() / np.abs(exact).max())

    def _add_peers(self, exact: np.ndarray) -> None:
        s = self.skeleton
        passive = s.spring_forces - np.concatenate([joint.damping for joint in s.joints]) * s.velocities
        try:
            import pinocchio as pin

            from pinocchio_loops import PinocchioLoops

            peer = PinocchioLoops(pin, s, self.constraints, mu=MU)
            q, v = peer.state(s.positions, s.velocities)
            tau = peer.vector(s.forces + passive)
            found = peer.own_vector(peer.accelerations(q, v, tau))
            self._add("Pinocchio", lambda: peer.accelerations(q, v, tau), found, exact)
        except ImportError:
            pass
        try:
            mujoco, model, data = mujoco_model(s, self.constraints)
            mujoco.mj_forward(model, data)
            found = self._from_mujoco(model, data.qacc)
            self._add("MuJoCo", lambda: mujoco.mj_forward(model, data), found, exact)
            self.kept.append((model, data))
        except ImportError:
            pass

    def _from_mujoco(self, model: Any, a: np.ndarray) -> np.ndarray:
        """Accelerations of coordinates: free joints have their linear part first there, in fixed axes."""
        result = np.zeros(len(a))
        for joint in self.skeleton.joints:
            if joint.num_dofs == 0:
                continue
            k = int(model.joint(joint.name).dofadr[0])
            own = a[k : k + joint.num_dofs]
            if isinstance(joint, kido.FreeJoint):
                R = joint.child.world_transform[:3, :3]
                w, v = joint.velocities[:3], joint.velocities[3:]
                own = np.concatenate([own[3:], R.T @ own[:3] - np.cross(w, v)])
            result[[dof.index for dof in joint.dofs]] = own
        return result

    def times(self) -> dict[str, float]:
        return interleaved(self.calls, 200, SLOWEST)


def main() -> None:
    """Print the table."""
    print(machine())
    makers: list[tuple[str, Callable[[], Any]]] = [
        *((f"four-bars, n = {n}", lambda n=n: four_bars(n)) for n in LENGTHS),
        ("Cassie", cassie),
    ]
    rows, errors = [], []
    names: list[str] = []
    for name, make in makers:
        case = Case(name, make())
        times = case.times()
        names = list(times)
        best = min(times[k] for k in names if k in SOLVERS)
        s = case.skeleton
        rows.append([
            name, str(s.num_dofs), f"{case.report.rank} of {case.report.rows}",
            *(f"{1e6 * times[k]:.1f}" for k in names),
            *(ratio(times.get(k), best) for k in ("Pinocchio", "MuJoCo")),
        ])  # fmt: skip
        errors.append([name, *(f"{case.errors[k]:.0e}" for k in names)])
        print(f"{rows[-1][0]} done", file=sys.stderr, flush=True)
    print("\nTime of one evaluation [us]\n")
    print(table(["system", "coordinates", "rank", *names, "Pinocchio / best", "MuJoCo / best"], rows))
    print("\nLargest difference of accelerations from the first column's, relative\n")
    print(table(["system", *names], errors))


if __name__ == "__main__":
    main()
