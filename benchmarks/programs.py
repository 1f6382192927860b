"""One robot in each program, with the same states, and results turned back into one layout.

Every program gets the same physical states in its own layout. `States` holds them by joint name; each class
turns them into its order once, outside the timed calls, and `in_kido_layout` turns its results back, so that
they can be compared. What is called is in `benchmarks.calls`.

Layouts of a free base's velocity: KIDO [angular; linear] in the base's own axes; Pinocchio the same, linear part
first; dartpy [angular; linear] in world axes; MuJoCo linear in world axes, then angular in the base's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation


@dataclass
class States:
    """`count` random states: joint values by name, within limits, the base's pose and twist (own axes), efforts."""

    joints: list[str]
    free_base: bool
    count: int
    limits: np.ndarray | None = None  # (2, joints)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        n, shape = len(self.joints), (self.count, len(self.joints))
        self.position = self.rng.uniform(-1.5, 1.5, shape)
        if self.limits is not None:
            self.position = np.clip(self.position, *self.limits)
        self.velocity, self.acceleration, self.effort = self.rng.standard_normal((3, self.count, n))
        self.base_rotation = Rotation.random(self.count, random_state=self.rng)
        self.base_position = self.rng.uniform(-1, 1, (self.count, 3))
        # [angular; linear] in the base's own axes
        self.base_velocity, self.base_acceleration, self.base_effort = self.rng.standard_normal((3, self.count, 6))

    def columns(self, names: list[str]) -> list[int]:
        """Columns of `position` and its kin in the order of `names`."""
        return [self.joints.index(name) for name in names]


def _rows(*blocks: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(row) for row in np.hstack(blocks)]


def _with_base(free: bool, base: np.ndarray, rest: np.ndarray) -> list[np.ndarray]:
    return _rows(base, rest) if free else _rows(rest)


def _turn(rotation: Rotation, twist: np.ndarray) -> np.ndarray:
    return np.hstack([rotation.apply(twist[:, :3]), rotation.apply(twist[:, 3:])])


def _with_turning_axes(acceleration: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """The linear part also gets the rate of turn of the axes: what an observer at rest sees of the origin."""
    linear = acceleration[:, 3:] + np.cross(velocity[:, :3], velocity[:, 3:])
    return np.hstack([acceleration[:, :3], linear])


class _Peer:
    """Turns results into KIDO's order and layout: u = Q u_peer, with one more term in accelerations."""

    states: States

    def _remember(self, states: States, joints: list[str], kido_joints: list[str]) -> None:
        self.states = states
        self._order = [joints.index(name) for name in kido_joints]

    def _base_rows(self, i: int) -> np.ndarray:
        """Q's block of the base, (6, 6)."""
        raise NotImplementedError

    turning_axes = True

    def in_kido_layout(self, kind: str, i: int, result: np.ndarray) -> np.ndarray:
        """A result for state i as KIDO would give it.

        Args:
            kind: "vector" (dofs,), "acceleration" (dofs,), "square" (..., dofs, dofs), "columns" (..., dofs), "same".
            i: which state.
            result: what the program gave.
        """
        result = np.asarray(result)
        if kind == "same":
            return result
        n = len(self._order)
        free = self.states.free_base
        change = np.zeros((n + 6 * free, n + 6 * free))
        if free:
            change[:6, :6] = self._base_rows(i)
        for row, column in enumerate(self._order):
            change[6 * free + row, 6 * free + column] = 1.0
        if kind == "square":
            return change @ result @ change.T
        if kind == "columns":
            return result @ change.T
        result = change @ result
        if kind == "acceleration" and free and self.turning_axes:
            twist = self.states.base_velocity[i]
            result[3:6] -= np.cross(twist[:3], twist[3:])
        return result


def _swap(twist: np.ndarray) -> np.ndarray:
    return np.hstack([twist[:, 3:], twist[:, :3]])


class Kido:
    """A `kido.Skeleton`; its states are those that others are compared with."""

    name = "KIDO"

    def __init__(self, urdf: str, states: States) -> None:
        from kido.io import urdf as reader

        self.skeleton = reader.read(urdf)
        joints = [joint.name for joint in self.skeleton.joints if joint.num_dofs == 1]
        order = states.columns(joints)
        rotation_vectors = states.base_rotation.as_rotvec()
        base = np.hstack([rotation_vectors, states.base_position])
        free = states.free_base
        self.q = _with_base(free, base, states.position[:, order])
        self.u = _with_base(free, states.base_velocity, states.velocity[:, order])
        self.a = _with_base(free, states.base_acceleration, states.acceleration[:, order])
        self.tau = _with_base(free, states.base_effort, states.effort[:, order])
        self.joints = joints

    def in_kido_layout(self, kind: str, i: int, result: np.ndarray) -> np.ndarray:
        """The result itself."""
        return np.asarray(result)


class Pinocchio(_Peer):
    """Pinocchio's model and a `Data` that all calls reuse."""

    name = "Pinocchio"

    def __init__(self, urdf: str, states: States, kido_joints: list[str]) -> None:
        import pinocchio as pin

        self.pin = pin
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()
        joints = [n for n, j in list(zip(self.model.names, self.model.joints))[1:] if j.nv == 1]
        order, free = states.columns(joints), states.free_base
        base = np.hstack([states.base_position, states.base_rotation.as_quat()])
        self.q = _with_base(free, base, states.position[:, order])
        self.u = _with_base(free, _swap(states.base_velocity), states.velocity[:, order])
        self.a = _with_base(free, _swap(states.base_acceleration), states.acceleration[:, order])
        self.tau = _with_base(free, _swap(states.base_effort), states.effort[:, order])
        self._remember(states, joints, kido_joints)

    turning_axes = False

    def _base_rows(self, i):
        return np.eye(6)[[3, 4, 5, 0, 1, 2]]


class Dartpy(_Peer):
    """dartpy's skeleton."""

    name = "dartpy"

    def __init__(self, urdf: str, states: States, kido_joints: list[str]) -> None:
        import dartpy as dart

        loader = dart.utils.DartLoader()
        self.skeleton = loader.parseSkeletonString(urdf, "")
        joints = [j.getName() for j in self.skeleton.getJoints() if j.getNumDofs() == 1]
        order, free = states.columns(joints), states.free_base
        base = np.hstack([states.base_rotation.as_rotvec(), states.base_position])
        self.q = _with_base(free, base, states.position[:, order])
        rotation = states.base_rotation
        acceleration = _with_turning_axes(states.base_acceleration, states.base_velocity)
        self.u = _with_base(free, _turn(rotation, states.base_velocity), states.velocity[:, order])
        self.a = _with_base(free, _turn(rotation, acceleration), states.acceleration[:, order])
        self.tau = _with_base(free, _turn(rotation, states.base_effort), states.effort[:, order])
        self.bodies = list(self.skeleton.getBodyNodes())
        self._remember(states, joints, kido_joints)

    def _base_rows(self, i):
        R = self.states.base_rotation[i].as_matrix()
        return block_diag(R.T, R.T)


class Mujoco(_Peer):
    """MuJoCo's model, its data, and room for results."""

    name = "MuJoCo"

    def __init__(self, urdf: str, states: States, kido_joints: list[str]) -> None:
        import mujoco

        self.mujoco = mujoco
        # MuJoCo refuses some robots' inertias unless told to mend them.
        mended = '<mujoco><compiler balanceinertia="true" boundmass="1e-9" boundinertia="1e-12"/></mujoco>'
        self.model = mujoco.MjModel.from_xml_string(urdf.replace("</robot>", mended + "</robot>"))
        self.data = mujoco.MjData(self.model)
        hinges = [j for j in range(self.model.njnt) if self.model.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE]
        joints = [self.model.joint(j).name for j in hinges]
        order, free = states.columns(joints), states.free_base
        rotation = states.base_rotation
        base = np.hstack([states.base_position, rotation.as_quat()[:, [3, 0, 1, 2]]])

        def layout(twist):
            return np.hstack([rotation.apply(twist[:, 3:]), twist[:, :3]])

        acceleration = _with_turning_axes(states.base_acceleration, states.base_velocity)
        self.q = _with_base(free, base, states.position[:, order])
        self.u = _with_base(free, layout(states.base_velocity), states.velocity[:, order])
        self.a = _with_base(free, layout(acceleration), states.acceleration[:, order])
        self.tau = _with_base(free, layout(states.base_effort), states.effort[:, order])
        self._remember(states, joints, kido_joints)
        self.result = np.zeros(self.model.nv)
        self.solution = np.zeros((1, self.model.nv))
        self.matrix = np.zeros((self.model.nv, self.model.nv))

    def _base_rows(self, i):
        rows = np.zeros((6, 6))
        rows[:3, 3:] = np.eye(3)
        rows[3:, :3] = self.states.base_rotation[i].as_matrix().T
        return rows
