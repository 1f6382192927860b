"""Scenes with some of everything in them, in an arena that nothing leaves."""

from __future__ import annotations

import numpy as np

import kido

HALF = 2.0  # half the inner width of the arena [m]
KICK = 500  # steps between pushes
SLEEP = kido.Sleeping(time=0.3)


def free(name: str, shape: kido.Shape, position: tuple[float, float, float], mass: float = 1.0, **surface):
    """A free body of one shape."""
    skeleton = kido.Skeleton(name)
    body = skeleton.add_body(name, kido.FreeJoint(f"{name}_joint"), inertia=kido.Inertia.from_shape(shape, mass=mass))
    body.add_shape(shape, surface=kido.Surface(**surface))
    skeleton.positions = [0.1, 0.2, 0.3, *position]
    return skeleton


def fixed(name: str, shape: kido.Shape, position: tuple[float, float, float], **surface) -> kido.Skeleton:
    """A body welded to the world."""
    pose = np.eye(4)
    pose[:3, 3] = position
    skeleton = kido.Skeleton(name)
    body = skeleton.add_body(name, kido.WeldJoint(f"{name}_joint", transform_from_parent=pose))
    body.add_shape(shape, surface=kido.Surface(**surface))
    skeleton.mobile = False
    return skeleton


def arena(world: kido.World) -> None:
    """A bowl of ground, walls around it, and a plane beneath for what should not be there."""
    x = np.linspace(-HALF - 0.4, HALF + 0.4, 25)
    bumps = 0.02 * np.cos(5.0 * x)[None, :] * np.sin(4.0 * x)[:, None]
    bowl = 0.03 * (x[None, :] ** 2 + x[:, None] ** 2)
    world.add_skeleton(fixed("ground", kido.Heightmap(bowl + bumps, x[1] - x[0]), (0, 0, 0), friction=0.8))
    reach, thick = HALF + 0.25, 0.5
    for name, size, position in (
        ("east", (thick, 6.0, 8.0), (reach, 0, 3.0)),
        ("west", (thick, 6.0, 8.0), (-reach, 0, 3.0)),
        ("north", (6.0, thick, 8.0), (0, reach, 3.0)),
        ("south", (6.0, thick, 8.0), (0, -reach, 3.0)),
    ):
        world.add_skeleton(fixed(f"wall_{name}", kido.Box(size), position, friction=0.3))


def octahedron(radius: float, **options) -> kido.Mesh:
    """A mesh of eight triangles."""
    corners = radius * np.vstack([np.eye(3), -np.eye(3)])
    faces = [(0, 1, 2), (1, 3, 2), (3, 4, 2), (4, 0, 2), (1, 0, 5), (3, 1, 5), (4, 3, 5), (0, 4, 5)]
    return kido.Mesh(corners, faces, **options)


def elbow(edge: float) -> kido.Mesh:
    """A closed mesh that is not convex, of two boxes that it is decomposed into."""
    outline = np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]) - 0.8
    corners = edge * np.vstack([np.column_stack([outline, np.full(6, z)]) for z in (-0.5, 0.5)])
    cap = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    faces = [(c, b, a) for a, b, c in cap] + [(a + 6, b + 6, c + 6) for a, b, c in cap]
    for a in range(6):
        b = (a + 1) % 6
        faces += [(a, b, b + 6), (a, b + 6, a + 6)]
    pieces = [corners[[0, 1, 2, 3, 6, 7, 8, 9]], corners[[0, 3, 4, 5, 6, 9, 10, 11]]]
    return kido.Mesh(corners, faces, collide_as="decomposition", convex_pieces=pieces)


def chain(name: str, links: int, position: tuple[float, float, float]) -> kido.Skeleton:
    """Capsules on ball joints, the first free."""
    skeleton = kido.Skeleton(name)
    shape = kido.Capsule(0.03, 0.15)
    for k in range(links):
        shift = np.eye(4)
        shift[2, 3] = 0.2
        joint = kido.BallJoint(f"{name}_{k}", transform_from_parent=shift, damping=1e-3)
        skeleton.add_body(
            f"{name}_{k}",
            kido.FreeJoint(f"{name}_{k}") if k == 0 else joint,
            parent=None if k == 0 else f"{name}_{k - 1}",
            inertia=kido.Inertia.from_shape(shape, mass=0.3),
        ).add_shape(shape, friction=0.6)
    skeleton.positions = [1.5, 0, 0, *position, *np.zeros(skeleton.num_dofs - 6)]
    return skeleton


def robots(world: kido.World) -> None:
    """The bundled robots: limp, held by servos, and driven by velocities."""
    humanoid = kido.load(kido.models.path("humanoid"))
    humanoid.positions = [0.1, 0, 0, -0.8, -0.8, 1.2, *np.zeros(humanoid.num_dofs - 6)]
    world.add_skeleton(humanoid)
    quadruped = kido.load(kido.models.path("quadruped"))
    quadruped.positions = [0, 0.1, 0, 0.9, -0.8, 0.7, *np.zeros(quadruped.num_dofs - 6)]
    for joint in quadruped.joints[1:]:
        if joint.num_dofs:
            joint.actuator_type = "servo"
            joint.force_limit = 8.0
    world.add_skeleton(quadruped)
    pose = np.eye(4)
    pose[:3, 3] = (-1.4, 1.4, 0.3)
    arm = kido.io.urdf.read(kido.models.path("arm7"), transform=pose)
    for joint in arm.joints:
        if joint.num_dofs:
            joint.actuator_type = "velocity"
    world.add_skeleton(arm)


def mixed() -> kido.World:
    """Robots, all kinds of shapes and surfaces, loops, actuators and sleep on a height map."""
    world = kido.World(time_step=2e-3)
    arena(world)
    robots(world)
    places = iter([(x, y, z) for z in (0.6, 1.3) for x in (-1.2, -0.4, 0.4, 1.2) for y in (-1.3, -0.5, 0.3, 1.1)])
    shapes: list[tuple[kido.Shape, dict[str, object]]] = [
        (kido.Box((0.2, 0.16, 0.12)), {"friction": 0.9}),
        (kido.Box((0.2, 0.16, 0.12)), {"friction": 0.9, "secondary_friction": 0.3}),
        (kido.Box((0.15, 0.15, 0.15)), {"friction": 0.5, "softness": kido.TimeConstant(0.02)}),
        (kido.Sphere(0.1), {"friction": 0.7, "rolling_friction": 0.003, "torsional_friction": 0.01}),
        (kido.Sphere(0.08), {"friction": 0.5, "restitution": 0.7}),
        (kido.Capsule(0.06, 0.2), {"friction": 0.8}),
        (kido.Cylinder(0.09, 0.12), {"friction": 0.8, "rolling_friction": 0.002}),
        (kido.Cone(0.1, 0.2), {"friction": 0.8}),
        (kido.Ellipsoid((0.12, 0.1, 0.07)), {"friction": 0.8}),
        (octahedron(0.12), {"friction": 0.8}),
        (octahedron(0.12, collide_as="triangles"), {"friction": 0.8}),
        (elbow(0.1), {"friction": 0.8}),
    ]
    for k, (shape, surface) in enumerate(shapes):
        world.add_skeleton(free(f"body_{k}", shape, next(places), 0.5 + 0.3 * (k % 3), **surface))
    world.add_skeleton(
        fixed("belt", kido.Box((0.8, 0.5, 0.3)), (1.4, -1.4, 0.15), friction=0.7, surface_velocity=(0.0, 0.4, 0.0))
    )
    ring = world.add_skeleton(chain("ring", 5, next(places)))
    ring.positions = [*ring.positions[:6], *np.tile((0.5, 0.1, 0.0), 4)]
    world.add_constraint(kido.DistanceConstraint(ring.body(0), ring.body(4), name="rope"))
    one, two = (free(name, kido.Box((0.2, 0.1, 0.1)), (0, 0, 0)) for name in ("half_a", "half_b"))
    x, y, z = next(places)
    one.positions, two.positions = [0, 0, 0, x, y, z], [0, 0, 0, x + 0.25, y, z]
    world.add_skeleton(one)
    world.add_skeleton(two)
    world.add_constraint(kido.RevoluteJointConstraint(one.body(0), two.body(0), axis=(0, 0, 1), name="hinge"))
    world.sleeping = SLEEP
    return world


def soft() -> kido.World:
    """Soft bodies among rigid ones."""
    world = kido.World(time_step=1e-3)
    arena(world)
    for k, (skin, height) in enumerate(
        ((kido.SoftMesh.box((0.3, 0.3, 0.3)), 0.6), (kido.SoftMesh.box((0.2, 0.2, 0.4)), 1.2))
    ):
        skeleton = kido.Skeleton(f"soft_{k}")
        skeleton.add_soft_body(
            f"soft_{k}",
            skin,
            kido.FreeJoint(f"soft_{k}"),
            inertia=kido.Inertia.from_diagonal(1.0, [0.01, 0.012, 0.015]),
            total_mass=0.5,
            kv=500.0,
            ke=20.0,
            kd=2.0,
        )
        skeleton.positions = [0.3, 0.2, 0.1, 0.1 * k, 0.0, height]
        world.add_skeleton(skeleton)
    for k, shape in enumerate((kido.Box((0.2, 0.2, 0.2)), kido.Sphere(0.12), kido.Capsule(0.07, 0.2))):
        world.add_skeleton(free(f"body_{k}", shape, (0.6 * k - 0.6, 0.6, 0.7), friction=0.8))
    return world


SCENES = {"mixed": mixed, "soft": soft}


def command(world: kido.World, step: int) -> None:
    """Pushes and commands before step number `step`, the same in every run."""
    random = np.random.default_rng([step, 4])
    movers = [s for s in world.skeletons if s.mobile and s.num_dofs and not isinstance(s.joints[0], kido.WeldJoint)]
    for _ in range(3):
        skeleton = movers[int(random.integers(len(movers)))]
        body = skeleton.bodies[int(random.integers(skeleton.num_bodies))]
        direction = random.normal(size=3) * (1.0, 1.0, 0.3)
        toward = -np.append(body.world_transform[:2, 3], -0.5)  # inwards, so that not all ends in corners
        force = skeleton.mass * (25.0 * direction / np.linalg.norm(direction) + 8.0 * toward)
        world.push(body, force, 0.1)
