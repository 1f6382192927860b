"""Scenes in KIDO."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import kido
from benchmarks.scenes.description import Ball, Block, Body, Ground, Scene, Shape, Touch
from benchmarks.scenes.program import Program


def _shape(shape: Shape) -> kido.Shape:
    if isinstance(shape, Ball):
        return kido.Sphere(shape.radius)
    if isinstance(shape, Block):
        return kido.Box(shape.size)
    if isinstance(shape, Ground):
        return kido.Plane()
    return kido.Mesh(shape.corners, shape.triangles())


def _pose(position, rotation=(0.0, 0.0, 0.0)) -> np.ndarray:
    made = np.eye(4)
    made[:3, :3] = Rotation.from_rotvec(rotation).as_matrix()
    made[:3, 3] = position
    return made


class KidoProgram(Program):
    """KIDO with its defaults."""

    name = "KIDO"

    def build(self, scene: Scene) -> None:
        self.world = kido.World(gravity=(0.0, 0.0, -scene.gravity), time_step=scene.time_step)
        self.bodies: list[kido.BodyNode] = []
        self.highest = max([scene.friction, *(f for b in scene.bodies for _, _, f in b.shapes() if f is not None)])
        for index, body in enumerate(scene.bodies):
            self._add(scene, body, f"body{index}")
        for skeleton in {id(b.skeleton): b.skeleton for b in self.bodies}.values():
            self.world.add_skeleton(skeleton)
        self.index = {id(body): i for i, body in enumerate(self.bodies)}
        self.load = {}

    def _add(self, scene: Scene, body: Body, name: str) -> None:
        pose = _pose(body.position, body.rotation)
        if body.mass == 0.0:
            skeleton = kido.Skeleton(name)
            made = skeleton.add_body(name, kido.WeldJoint("weld", transform_from_parent=pose))
            skeleton.mobile = False
        elif body.hinge is not None:
            parent = self.bodies[body.hinge.parent]
            place = np.linalg.inv(parent.world_transform) @ pose
            joint = kido.RevoluteJoint(f"{name}_hinge", axis=body.hinge.axis, transform_from_parent=place)
            made = parent.skeleton.add_body(
                name, joint, parent, kido.Inertia.from_diagonal(body.mass, body.moments(), np.zeros(3))
            )
            made.parent_joint.dofs[0].velocity = body.hinge.rate
        else:
            skeleton = kido.Skeleton(name)
            inertia = kido.Inertia.from_diagonal(body.mass, body.moments(), np.zeros(3))
            made = skeleton.add_body(name, kido.FreeJoint("free"), inertia=inertia)
            skeleton.positions = [*body.rotation, *body.position]
        for shape, place, friction in body.shapes():
            # Pairs have the smaller coefficient: a free body takes the largest where others say less.
            own = friction if friction is not None else self.highest if body.mass else scene.friction
            node = made.add_shape(
                _shape(shape), _pose(place), friction=own, restitution=scene.restitution if body.mass else 1.0
            )
            if body.belt is not None:
                node.set_surface(surface_velocity=tuple(body.belt))
        self.bodies.append(made)
        if body.mass and body.hinge is None:
            self.set_velocity(len(self.bodies) - 1, body.velocity, body.spin)

    def set_velocity(self, index: int, velocity, spin=(0.0, 0.0, 0.0)) -> None:
        body = self.bodies[index]
        back = body.world_transform[:3, :3].T
        for dof, value in zip(body.parent_joint.dofs, [*(back @ spin), *(back @ velocity)], strict=True):
            dof.velocity = value

    def push(self, index: int, force) -> None:
        self.load[index] = np.asarray(force, dtype=float)

    def advance(self, count: int) -> None:
        for index, force in self.load.items():
            self.bodies[index].add_external_force(force)
        self.world.step(count)

    def pose(self, index: int) -> np.ndarray:
        return self.bodies[index].world_transform

    def velocity(self, index: int) -> np.ndarray:
        return np.asarray(self.bodies[index].linear_velocity())

    def spin(self, index: int) -> np.ndarray:
        return np.asarray(self.bodies[index].angular_velocity())

    def touches(self) -> list[Touch]:
        return [
            Touch(
                *(self.index[id(c.body_a)], self.index[id(c.body_b)], c.gap),
                *(np.asarray(c.force), np.asarray(c.point), np.asarray(c.normal)),
            )
            for c in self.world.contacts
        ]
