"""Scenes in MuJoCo."""

from __future__ import annotations

import mujoco  # pyright: ignore[reportMissingImports]
import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.scenes.description import Ball, Block, Body, CannotError, Ground, Scene, Shape, Touch
from benchmarks.scenes.program import Program


def _numbers(values) -> str:
    return " ".join(f"{x:.17g}" for x in values)


def _quaternion(rotation) -> str:
    x, y, z, w = Rotation.from_rotvec(rotation).as_quat()
    return _numbers((w, x, y, z))


class MujocoProgram(Program):
    """MuJoCo with its defaults: Newton's solver, pyramidal cones, semi-implicit Euler's rule."""

    name = "MuJoCo"
    cone = "pyramidal"

    def build(self, scene: Scene) -> None:
        if scene.has_belt:
            raise CannotError("no surface velocity")
        if scene.restitution:
            raise CannotError("no coefficient of restitution")
        self.meshes: list[str] = []
        children: dict[int, list[int]] = {}
        for i, body in enumerate(scene.bodies):
            if body.hinge is not None:
                children.setdefault(body.hinge.parent, []).append(i)
        text = "".join(self._body(scene, i, children) for i, body in enumerate(scene.bodies) if body.hinge is None)
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep="{scene.time_step}" gravity="0 0 {-scene.gravity}" cone="{self.cone}"/>'
            f"<asset>{''.join(self.meshes)}</asset><worldbody>{text}</worldbody></mujoco>"
        )
        self.data = mujoco.MjData(self.model)
        self.ids = [self.model.body(f"body{i}").id for i in range(len(scene.bodies))]
        self.index = {found: i for i, found in enumerate(self.ids)}
        for i, body in enumerate(scene.bodies):
            if body.hinge is not None:
                self.data.qvel[self.model.body_dofadr[self.ids[i]]] = body.hinge.rate
            elif body.mass:
                self.set_velocity(i, body.velocity, body.spin)
        mujoco.mj_kinematics(self.model, self.data)

    def _body(self, scene: Scene, index: int, children: dict[int, list[int]]) -> str:
        body = scene.bodies[index]
        position = np.asarray(body.position, dtype=float)
        joint = inertial = ""
        if body.hinge is not None:
            position = position - scene.bodies[body.hinge.parent].position
            joint = f'<joint type="hinge" axis="{_numbers(body.hinge.axis)}"/>'
        elif body.mass:
            joint = "<freejoint/>"
        if body.mass:
            inertial = f'<inertial pos="0 0 0" mass="{body.mass:.17g}" diaginertia="{_numbers(body.moments())}"/>'
        geoms = "".join(self._geom(scene, body, *part) for part in body.shapes())
        inner = "".join(self._body(scene, child, children) for child in children.get(index, []))
        place = f'name="body{index}" pos="{_numbers(position)}" quat="{_quaternion(body.rotation)}"'
        return f"<body {place}>{joint}{inertial}{geoms}{inner}</body>"

    def _geom(self, scene: Scene, body: Body, shape: Shape, place, friction: float | None) -> str:
        # Geoms that say otherwise have priority; else both sides say the same.
        mu, priority = (scene.friction, 0) if friction is None else (friction, 1)
        group = 'contype="1" conaffinity="2"' if body.mass == 0.0 else 'contype="2" conaffinity="3"'
        if any(other.hinge is not None for other in scene.bodies) and body.mass:
            group = 'contype="2" conaffinity="1"'  # the parts of a vehicle do not touch
        common = f'pos="{_numbers(place)}" friction="{mu:.17g} 0 0" priority="{priority}" {group}'
        if isinstance(shape, Ball):
            return f'<geom type="sphere" size="{shape.radius:.17g}" {common}/>'
        if isinstance(shape, Block):
            return f'<geom type="box" size="{_numbers(np.array(shape.size) / 2)}" {common}/>'
        if isinstance(shape, Ground):
            return f'<geom type="plane" size="0 0 1" {common}/>'
        name = f"mesh{len(self.meshes)}"
        self.meshes.append(f'<mesh name="{name}" vertex="{_numbers(shape.corners.ravel())}"/>')
        return f'<geom type="mesh" mesh="{name}" {common}/>'

    def set_velocity(self, index: int, velocity, spin=(0.0, 0.0, 0.0)) -> None:
        at = self.model.body_dofadr[self.ids[index]]
        mujoco.mj_kinematics(self.model, self.data)
        self.data.qvel[at : at + 3] = velocity
        self.data.qvel[at + 3 : at + 6] = self.pose(index)[:3, :3].T @ np.asarray(spin, dtype=float)

    def push(self, index: int, force) -> None:
        self.data.xfrc_applied[self.ids[index], :3] = force

    def advance(self, count: int) -> None:
        mujoco.mj_step(self.model, self.data, count)
        mujoco.mj_kinematics(self.model, self.data)

    def pose(self, index: int) -> np.ndarray:
        made = np.eye(4)
        made[:3, :3] = self.data.xmat[self.ids[index]].reshape(3, 3)
        made[:3, 3] = self.data.xpos[self.ids[index]]
        return made

    def _motion(self, index: int) -> np.ndarray:
        at = self.model.body_dofadr[self.ids[index]]
        return self.data.qvel[at : at + 6]

    def velocity(self, index: int) -> np.ndarray:
        return np.array(self._motion(index)[:3])

    def spin(self, index: int) -> np.ndarray:
        return self.pose(index)[:3, :3] @ self._motion(index)[3:6]

    def touches(self) -> list[Touch]:
        found, wrench = [], np.zeros(6)
        for i in range(self.data.ncon):
            contact = self.data.contact[i]
            mujoco.mj_contactForce(self.model, self.data, i, wrench)
            a, b = (self.index[int(self.model.geom_bodyid[g])] for g in (contact.geom1, contact.geom2))
            frame = contact.frame.reshape(3, 3)
            found.append(Touch(a, b, float(contact.dist), frame.T @ wrench[:3], contact.pos.copy(), frame[0].copy()))
        return found


class EllipticProgram(MujocoProgram):
    """MuJoCo with elliptic cones."""

    name = "MuJoCo elliptic"
    cone = "elliptic"
