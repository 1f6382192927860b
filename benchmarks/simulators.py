"""Block scenes and the bundled humanoid in KIDO, dartpy and MuJoCo, made from the same numbers.

All run at the same time step, without sleeping, without self-collision of the humanoid, with friction 1.
"""

from __future__ import annotations

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

from benchmarks.residual import Contacts, Motion
from kido.models import path
from kido.models.scenes import Block, Scene

TIME_STEP = 1e-3
FRICTION = 1.0


def _rows(values: list, width: int = 3) -> np.ndarray:
    return np.array(values, dtype=float).reshape(-1, width)


def _index(scene: Scene | None) -> dict[str, int]:
    return {} if scene is None else {block.name: i for i, block in enumerate(scene.free)}


class KidoWorld:
    """KIDO with its defaults."""

    name = "KIDO"

    def __init__(self, scene: Scene | None) -> None:
        import kido
        from kido.models import build_world

        if scene is None:
            self.world = kido.World()
            self.world.add_ground(friction=FRICTION)
            self.world.add_skeleton(kido.load(path("humanoid")))
        else:
            self.world = build_world(scene)
        self.world.time_step = TIME_STEP
        self.index = _index(scene)
        self.bodies = [self.world.skeleton(name).body(name) for name in self.index]

    def step(self, count: int) -> None:
        self.world.step(count)

    def num_contacts(self) -> int:
        return len(self.world.contacts)

    def motion(self) -> Motion:
        poses = np.array([body.world_transform for body in self.bodies]).reshape(-1, 4, 4)
        linear = _rows([body.linear_velocity() for body in self.bodies])
        angular = _rows([body.angular_velocity() for body in self.bodies])
        return Motion(poses[:, :3, 3], poses[:, :3, :3], linear, angular)

    def contacts(self) -> Contacts:
        c = self.world.contacts
        a = np.array([self.index.get(body.name, -1) for body in c.body_a], dtype=int)
        b = np.array([self.index.get(body.name, -1) for body in c.body_b], dtype=int)
        return Contacts(c.points, c.normals, c.forces, c.gaps, a, b)


class DartWorld:
    """dartpy with its default solver (boxed LCP) and one of its collision detectors."""

    def __init__(self, scene: Scene | None, detector: str) -> None:
        import dartpy as dart

        self.dart = dart
        self.name = f"dartpy {detector}"
        self.world = dart.simulation.World()
        self.world.setTimeStep(TIME_STEP)
        self.world.setGravity([0, 0, -9.81])
        options = self.world.getDeactivationOptions()
        options.mEnabled = False
        self.world.setDeactivationOptions(options)
        kinds = {"ODE": dart.collision.OdeCollisionDetector, "FCL": dart.collision.FCLCollisionDetector}
        solver = self.world.getConstraintSolver()
        solver.setCollisionDetector(kinds[detector]())
        solver.getCollisionOption().maxNumContacts = 100_000
        self.index = _index(scene)
        self.bodies = []
        ground = dart.dynamics.Skeleton("ground")
        _, body = ground.createWeldJointAndBodyNodePair()
        self._shape(body, dart.dynamics.BoxShape([20, 20, 2]), np.array([0, 0, -1.0]))
        ground.setMobile(False)
        self.world.addSkeleton(ground)
        if scene is None:
            self._humanoid()
        else:
            self._blocks(scene)

    def _shape(self, body, shape, position, rotation=None) -> None:
        node = body.createShapeNode(shape)
        offset = self.dart.math.Isometry3()
        offset.set_translation(position)
        if rotation is not None:
            offset.set_rotation(rotation)
        node.setRelativeTransform(offset)
        node.createCollisionAspect()
        node.createDynamicsAspect()
        node.getDynamicsAspect().setFrictionCoeff(FRICTION)

    def _blocks(self, scene: Scene) -> None:
        dynamics = self.dart.dynamics
        fixture = dynamics.Skeleton("fixture")
        for block in scene.fixed:
            _, body = fixture.createWeldJointAndBodyNodePair()
            rotation = Rotation.from_rotvec(block.rotation).as_matrix()
            self._shape(body, dynamics.BoxShape(list(block.size)), np.array(block.position), rotation)
        if scene.fixed:
            fixture.setMobile(False)
            self.world.addSkeleton(fixture)
        for block in scene.free:
            skeleton = dynamics.Skeleton(block.name)
            _, body = skeleton.createFreeJointAndBodyNodePair()
            body.setName(block.name)
            inertia = dynamics.Inertia(block.mass, np.zeros(3), np.diag(block.moment))
            body.setInertia(inertia)
            self._shape(body, dynamics.BoxShape(list(block.size)), np.zeros(3))
            skeleton.setPositions([*block.rotation, *block.position])
            self.world.addSkeleton(skeleton)
            self.bodies.append(body)

    def _humanoid(self) -> None:
        self._robot(etree.parse(str(path("humanoid"))).getroot())

    def _robot(self, robot) -> None:
        """Add the robot of a URDF text; its shapes are boxes, spheres, capsules and cylinders."""
        parts = []
        for link in robot.findall("link"):
            for element in link.findall("visual") + link.findall("collision"):
                if element.tag == "collision":
                    parts.append((link.get("name"), element))
                link.remove(element)
        loader = self.dart.utils.DartLoader()
        skeleton = loader.parseSkeletonString(etree.tostring(robot, encoding="unicode"), "")
        dynamics = self.dart.dynamics
        for name, element in parts:
            origin, shape = element.find("origin"), element.find("geometry").find("*")
            value = {key: [float(x) for x in text.split()] for key, text in shape.attrib.items()}
            if shape.tag == "box":
                made = dynamics.BoxShape(value["size"])
            elif shape.tag == "sphere":
                made = dynamics.SphereShape(value["radius"][0])
            elif shape.tag == "cylinder":
                made = dynamics.CylinderShape(value["radius"][0], value["length"][0])
            else:
                made = dynamics.CapsuleShape(value["radius"][0], value["length"][0])
            position, angles = (np.array(origin.get(k).split(), dtype=float) for k in ("xyz", "rpy"))
            rotation = Rotation.from_euler("xyz", angles).as_matrix()
            self._shape(skeleton.getBodyNode(name), made, position, rotation)
        for joint in skeleton.getJoints():
            joint.setLimitEnforcement(True)
        self.world.addSkeleton(skeleton)

    def step(self, count: int) -> None:
        for _ in range(count):
            self.world.step()

    def num_contacts(self) -> int:
        return self.world.getLastCollisionResult().getNumContacts()

    def motion(self) -> Motion:
        poses = [body.getWorldTransform() for body in self.bodies]
        return Motion(
            _rows([pose.translation() for pose in poses]),
            np.array([pose.rotation() for pose in poses]).reshape(-1, 3, 3),
            _rows([body.getCOMLinearVelocity() for body in self.bodies]),
            _rows([body.getAngularVelocity() for body in self.bodies]),
        )

    def contacts(self) -> Contacts:
        def block(frame) -> int:
            return self.index.get(frame.getShapeFrame().asShapeNode().getBodyNode().getName(), -1)

        found = list(self.world.getLastCollisionResult().getContacts())
        # dartpy's normal points from the second body to the first, on which the force acts.
        return Contacts(
            _rows([c.point for c in found]),
            _rows([c.normal for c in found]),
            _rows([c.force for c in found]),
            np.array([-c.penetrationDepth for c in found]),
            np.array([block(c.collisionObject2) for c in found], dtype=int),
            np.array([block(c.collisionObject1) for c in found], dtype=int),
        )


class MujocoWorld:
    """MuJoCo with its default solver (Newton) and a pyramidal (its default) or elliptic friction cone."""

    def __init__(self, scene: Scene | None, cone: str) -> None:
        import mujoco

        self.mujoco = mujoco
        self.name = f"MuJoCo {cone}"
        spec = mujoco.MjSpec.from_string(_humanoid_text() if scene is None else mjcf(scene))
        if scene is None:
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_PLANE,
                size=[0, 0, 1],
                friction=[FRICTION, 0, 0],
                contype=1,
                conaffinity=0,
            )
            for geom in spec.geoms:
                if geom.type != mujoco.mjtGeom.mjGEOM_PLANE:
                    geom.contype, geom.conaffinity, geom.friction = 0, 1, [FRICTION, 0, 0]
        spec.option.timestep = TIME_STEP
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC if cone == "elliptic" else mujoco.mjtCone.mjCONE_PYRAMIDAL
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.index = _index(scene)
        self.block_of_body = np.full(self.model.nbody, -1)
        for name, i in self.index.items():
            self.block_of_body[self.model.body(name).id] = i

    def step(self, count: int) -> None:
        self.mujoco.mj_step(self.model, self.data, count)

    def num_contacts(self) -> int:
        return self.data.ncon

    def motion(self) -> Motion:
        q, v = self.data.qpos.reshape(-1, 7), self.data.qvel.reshape(-1, 6)
        rotation = Rotation.from_quat(q[:, [4, 5, 6, 3]])
        return Motion(q[:, :3].copy(), rotation.as_matrix(), v[:, :3].copy(), rotation.apply(v[:, 3:]))

    def contacts(self) -> Contacts:
        contact, n, wrench = self.data.contact, self.data.ncon, np.zeros(6)
        frames, forces = contact.frame.reshape(n, 3, 3), np.zeros((n, 3))
        for i in range(n):
            self.mujoco.mj_contactForce(self.model, self.data, i, wrench)
            forces[i] = frames[i].T @ wrench[:3]
        body = self.model.geom_bodyid[contact.geom]
        blocks = self.block_of_body[body].reshape(n, 2)
        return Contacts(
            contact.pos.copy(), frames[:, 0].copy(), forces, contact.dist.copy(), blocks[:, 0], blocks[:, 1]
        )


def _humanoid_text() -> str:
    """The bundled file with what MuJoCo needs to keep: capsules and the free base."""
    return path("humanoid").read_text(encoding="utf-8")


def mjcf(scene: Scene) -> str:
    """MJCF text of a scene."""

    def numbers(values) -> str:
        return " ".join(f"{x:.17g}" for x in values)

    def geom(block: Block) -> str:
        half = numbers(s / 2 for s in block.size)
        return f'<geom type="box" size="{half}" mass="{block.mass:.17g}" friction="{scene.friction} 0 0"/>'

    def body(block: Block) -> str:
        x, y, z, w = Rotation.from_rotvec(block.rotation).as_quat()
        place = f'name="{block.name}" pos="{numbers(block.position)}" quat="{numbers((w, x, y, z))}"'
        joint = "<freejoint/>" if block.mass else ""
        return f"<body {place}>{joint}{geom(block)}</body>"

    bodies = "\n".join(body(block) for block in scene.blocks)
    floor = f'<geom type="plane" size="0 0 1" friction="{scene.friction} 0 0"/>'
    return f"<mujoco><worldbody>{floor}\n{bodies}</worldbody></mujoco>"
