"""Scenes in dartpy."""

from __future__ import annotations

import dartpy as dart  # pyright: ignore[reportMissingImports]
import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.scenes.description import Ball, Block, Body, CannotError, Ground, Scene, Shape, Touch
from benchmarks.scenes.program import Program


class DartProgram(Program):
    """dartpy with ODE's detector and its default solver (boxed LCP), without deactivation."""

    name = "dartpy"

    def build(self, scene: Scene) -> None:
        if scene.has_belt:
            raise CannotError("surface velocities are in a handler that is not bound")
        self.world = dart.simulation.World()
        self.world.setTimeStep(scene.time_step)
        self.world.setGravity([0, 0, -scene.gravity])
        options = self.world.getDeactivationOptions()
        options.mEnabled = False
        self.world.setDeactivationOptions(options)
        solver = self.world.getConstraintSolver()
        solver.setCollisionDetector(dart.collision.OdeCollisionDetector())
        solver.getCollisionOption().maxNumContacts = 100_000
        self.highest = max([scene.friction, *(f for b in scene.bodies for _, _, f in b.shapes() if f is not None)])
        self.bodies: list = []
        self.load: dict[int, np.ndarray] = {}
        added = []
        for i, body in enumerate(scene.bodies):
            if body.hinge is not None:
                self._hinged(scene, body, f"body{i}")
                continue
            skeleton = dart.dynamics.Skeleton(f"skeleton{i}")
            if body.mass:
                _, made = skeleton.createFreeJointAndBodyNodePair()
                made.setInertia(dart.dynamics.Inertia(body.mass, np.zeros(3), np.diag(body.moments())))
            else:
                _, made = skeleton.createWeldJointAndBodyNodePair()
                skeleton.setMobile(False)
            made.setName(f"body{i}")
            self._finish(scene, body, made)
            if body.mass:
                skeleton.setPositions([*body.rotation, *body.position])
            added.append(skeleton)
        for skeleton in added:
            self.world.addSkeleton(skeleton)
        for i, body in enumerate(scene.bodies):
            if body.hinge is not None:
                self.bodies[i].getParentJoint().setVelocity(0, body.hinge.rate)
            elif body.mass:
                self.set_velocity(i, body.velocity, body.spin)
        self.index = {f"body{i}": i for i in range(len(scene.bodies))}

    def _hinged(self, scene: Scene, body: Body, name: str) -> None:
        assert body.hinge is not None
        parent = self.bodies[body.hinge.parent]
        joint = dart.dynamics.RevoluteJointProperties()
        joint.mAxis = np.array(body.hinge.axis)
        joint.mName = f"{name}_hinge"
        place = np.asarray(body.position, dtype=float) - scene.bodies[body.hinge.parent].position
        offset = dart.math.Isometry3()
        offset.set_translation(place)
        joint.mT_ParentBodyToJoint = offset
        _, made = parent.getSkeleton().createRevoluteJointAndBodyNodePair(parent, joint)
        made.setInertia(dart.dynamics.Inertia(body.mass, np.zeros(3), np.diag(body.moments())))
        made.setName(name)
        self._finish(scene, body, made)

    def _finish(self, scene: Scene, body: Body, made) -> None:
        for shape, place, friction in body.shapes():
            at = np.asarray(place, dtype=float)
            if body.mass == 0.0:
                at = np.asarray(body.position) + at
            turn = np.eye(3) if body.mass else Rotation.from_rotvec(body.rotation).as_matrix()
            if isinstance(shape, Ground):
                at = at - turn @ [0, 0, 1.0]
            node = made.createShapeNode(self._shape(shape))
            offset = dart.math.Isometry3()
            offset.set_translation(at)
            offset.set_rotation(turn)
            node.setRelativeTransform(offset)
            node.createCollisionAspect()
            node.createDynamicsAspect()
            own = friction if friction is not None else self.highest if body.mass else scene.friction
            node.getDynamicsAspect().setFrictionCoeff(own)
            node.getDynamicsAspect().setRestitutionCoeff(scene.restitution if body.mass else 1.0)
        self.bodies.append(made)

    def _shape(self, shape: Shape):
        if isinstance(shape, Ball):
            return dart.dynamics.SphereShape(shape.radius)
        if isinstance(shape, Block):
            return dart.dynamics.BoxShape(list(shape.size))
        if isinstance(shape, Ground):
            return dart.dynamics.BoxShape([40, 40, 2])
        raise CannotError("convex hulls only as triangle meshes from files")

    def set_velocity(self, index: int, velocity, spin=(0.0, 0.0, 0.0)) -> None:
        body = self.bodies[index]
        joint = body.getParentJoint()
        columns = body.getWorldJacobian(np.zeros(3))[:, :6]
        joint.setVelocities(np.linalg.solve(columns, [*spin, *velocity]))

    def push(self, index: int, force) -> None:
        self.load[index] = np.asarray(force, dtype=float)

    def advance(self, count: int) -> None:
        for _ in range(count):
            for index, force in self.load.items():
                self.bodies[index].addExtForce(force)
            self.world.step()

    def pose(self, index: int) -> np.ndarray:
        found = self.bodies[index].getWorldTransform()
        made = np.eye(4)
        made[:3, :3], made[:3, 3] = found.rotation(), found.translation()
        return made

    def velocity(self, index: int) -> np.ndarray:
        return np.array(self.bodies[index].getCOMLinearVelocity())

    def spin(self, index: int) -> np.ndarray:
        return np.array(self.bodies[index].getAngularVelocity())

    def touches(self) -> list[Touch]:
        def body(frame) -> int:
            return self.index[frame.getShapeFrame().asShapeNode().getBodyNode().getName()]

        # The force acts on the first body.
        return [
            Touch(
                *(body(c.collisionObject2), body(c.collisionObject1), -c.penetrationDepth),
                *(np.array(c.force), np.array(c.point), np.array(c.normal)),
            )
            for c in self.world.getLastCollisionResult().getContacts()
        ]
