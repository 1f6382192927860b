"""Scenes in Bullet, by pybullet."""

from __future__ import annotations

import numpy as np
import pybullet
from pybullet_utils.bullet_client import BulletClient
from scipy.spatial.transform import Rotation

from benchmarks.scenes.description import Ball, Block, Body, CannotError, Ground, Scene, Shape, Touch
from benchmarks.scenes.program import Program


class BulletProgram(Program):
    """pybullet with its defaults: sequential impulses; without damping, sleeping and file caches."""

    name = "pybullet"

    def build(self, scene: Scene) -> None:
        if scene.has_belt:
            raise CannotError("no surface velocity")
        if any(body.hinge is not None for body in scene.bodies):
            raise CannotError("not built: a vehicle of links from numbers alone")
        self.client = BulletClient(pybullet.DIRECT)
        self.client.setPhysicsEngineParameter(fixedTimeStep=scene.time_step, restitutionVelocityThreshold=1e-2)
        self.client.setGravity(0, 0, -scene.gravity)
        self.ids = [self._add(scene, body) for body in scene.bodies]
        self.index = {found: i for i, found in enumerate(self.ids)}
        self.load: dict[int, np.ndarray] = {}
        for i, body in enumerate(scene.bodies):
            if body.mass:
                self.set_velocity(i, body.velocity, body.spin)

    def _add(self, scene: Scene, body: Body) -> int:
        shapes = body.shapes()
        if len(shapes) > 1 and any(f is not None for _, _, f in shapes):
            raise CannotError("one friction per link")
        if len(shapes) > 1:
            collision = self._compound(shapes)
        else:
            collision = self._shape(shapes[0][0]) if shapes else -1
        made = self.client.createMultiBody(
            body.mass,
            collision,
            basePosition=list(body.position),
            baseOrientation=Rotation.from_rotvec(body.rotation).as_quat().tolist(),
        )
        # Coefficients of a pair are multiplied.
        root = np.sqrt(scene.friction)
        own = shapes[0][2] if shapes else None
        mu = root if own is None else own / root if not body.mass else own
        self.client.changeDynamics(
            made, -1, lateralFriction=mu, rollingFriction=0, spinningFriction=0, linearDamping=0, angularDamping=0,
            restitution=scene.restitution if body.mass else 1.0,
        )  # fmt: skip
        if body.mass:
            self.client.changeDynamics(made, -1, localInertiaDiagonal=body.moments().tolist())
        return made

    def _compound(self, shapes) -> int:
        if not all(isinstance(shape, Ball) for shape, _, _ in shapes):
            raise CannotError("not built: compounds of other shapes than spheres")
        count = len(shapes)
        return self.client.createCollisionShapeArray(
            shapeTypes=[pybullet.GEOM_SPHERE] * count,
            radii=[shape.radius for shape, _, _ in shapes],
            collisionFramePositions=[list(place) for _, place, _ in shapes],
        )

    def _shape(self, shape: Shape) -> int:
        if isinstance(shape, Ball):
            return self.client.createCollisionShape(pybullet.GEOM_SPHERE, radius=shape.radius)
        if isinstance(shape, Block):
            half = (np.array(shape.size) / 2).tolist()
            return self.client.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half)
        if isinstance(shape, Ground):
            return self.client.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=[0, 0, 1])
        return self.client.createCollisionShape(pybullet.GEOM_MESH, vertices=shape.corners.tolist())

    def set_velocity(self, index: int, velocity, spin=(0.0, 0.0, 0.0)) -> None:
        self.client.resetBaseVelocity(self.ids[index], [float(x) for x in velocity], [float(x) for x in spin])

    def push(self, index: int, force) -> None:
        self.load[index] = np.asarray(force, dtype=float)

    def advance(self, count: int) -> None:
        for _ in range(count):
            for index, force in self.load.items():
                at = self.client.getBasePositionAndOrientation(self.ids[index])[0]
                self.client.applyExternalForce(self.ids[index], -1, force.tolist(), at, pybullet.WORLD_FRAME)
            self.client.stepSimulation()

    def pose(self, index: int) -> np.ndarray:
        position, quaternion = self.client.getBasePositionAndOrientation(self.ids[index])
        made = np.eye(4)
        made[:3, :3], made[:3, 3] = Rotation.from_quat(quaternion).as_matrix(), position
        return made

    def velocity(self, index: int) -> np.ndarray:
        return np.array(self.client.getBaseVelocity(self.ids[index])[0])

    def spin(self, index: int) -> np.ndarray:
        return np.array(self.client.getBaseVelocity(self.ids[index])[1])

    def touches(self) -> list[Touch]:
        found = []
        for c in self.client.getContactPoints():
            # The normal points to the first body; forces are those on it.
            force = c[9] * np.array(c[7]) + c[10] * np.array(c[11]) + c[12] * np.array(c[13])
            middle = 0.5 * (np.array(c[5]) + np.array(c[6]))
            found.append(Touch(self.index[c[2]], self.index[c[1]], c[8], force, middle, np.array(c[7])))
        return found

    def __del__(self) -> None:
        if hasattr(self, "client"):
            self.client.disconnect()
