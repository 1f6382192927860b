"""A ball, a soft ball, a chain of rigid and soft links, a rigid chain and a closed ring are thrown at a wall.

A port of DART's tutorial `collisions`. Soft bodies have skins of point masses on springs; the ring is a chain whose
ends are held together by a ball constraint, with springs at its joints so that it stays round. Keys throw each again,
at another speed and with another spin every time.
"""

from typing import Any

import numpy as np

import kido
from kido.demos.demo import Demo

RADIUS, LINK, WALL = 0.12, 0.16, 2.2  # of balls, length of links, place of the wall [m]
SKIN: dict[str, Any] = {"total_mass": 0.3, "kv": 300.0, "ke": 100.0, "kd": 2.0}
COLORS = ((0.86, 0.37, 0.27), (0.93, 0.64, 0.24), (0.42, 0.62, 0.36), (0.27, 0.51, 0.71), (0.52, 0.40, 0.65))


def ball(name):
    skeleton = kido.Skeleton(name)
    shape = kido.Sphere(RADIUS)
    skeleton.add_body("ball", kido.FreeJoint("free"), inertia=kido.Inertia.from_shape(shape, mass=1.0)).add_shape(shape)
    return skeleton


def soft_ball(name):
    skeleton = kido.Skeleton(name)
    core = kido.Inertia.from_shape(kido.Sphere(0.5 * RADIUS), mass=0.5)
    mesh = kido.SoftMesh.sphere(RADIUS, slices=12, stacks=8)
    skeleton.add_soft_body("ball", mesh, kido.FreeJoint("free"), inertia=core, **SKIN)
    return skeleton


def chain(name, links, soft=()):
    """Links on ball joints from a free one; those of the numbers `soft` have skins."""
    skeleton, parent = kido.Skeleton(name), None
    rigid = kido.Box((0.06, 0.06, 0.9 * LINK))
    for k in range(links):
        half = (0, 0, LINK / 2)
        joint = (
            kido.BallJoint(
                f"ball_{k}", transform_from_parent=half, transform_from_child=(0, 0, -LINK / 2), damping=0.01
            )
            if k
            else kido.FreeJoint("free")
        )
        inertia = kido.Inertia.from_shape(rigid, mass=0.3)
        if k in soft:
            skin = kido.SoftMesh.box((0.1, 0.1, 0.9 * LINK), points=(3, 3, 4))
            parent = skeleton.add_soft_body(f"link_{k}", skin, joint, parent, inertia=inertia, **SKIN)
        else:
            parent = skeleton.add_body(f"link_{k}", joint, parent, inertia)
            parent.add_shape(rigid)
    return skeleton


def ring(world, name, links=8):
    """A chain whose joints are bent by the same angle, and whose ends are held together; added to the world."""
    skeleton = chain(name, links)
    bend = 2 * np.pi / links
    skeleton.positions = [0] * 6 + [0, bend, 0] * (links - 1)
    for joint in skeleton.joints[1:]:
        joint.rest_position, joint.spring_stiffness, joint.damping = (0, bend, 0), 0.5, 0.02
    world.add_skeleton(skeleton)
    last, first = skeleton.body(links - 1), skeleton.body(0)
    ends = np.eye(4), np.eye(4)
    ends[0][2, 3], ends[1][2, 3] = LINK / 2, -LINK / 2
    world.add_constraint(kido.BallJointConstraint(last, first, frame_a=ends[0], frame_b=ends[1], name="ring"))
    return skeleton


def make():
    world = kido.World("collisions", time_step=1e-3)
    world.add_ground(friction=0.8)
    wall = kido.Skeleton("wall")
    place = np.eye(4)
    place[:3, 3] = (WALL + 0.05, 0, 0.6)
    wall.add_body("wall", kido.WeldJoint("wall_weld", transform_from_parent=place)).add_shape(
        kido.Box((0.1, 5.0, 1.2)), color=(0.7, 0.7, 0.7)
    )
    wall.mobile = False
    world.add_skeleton(wall)

    thrown = [ball("ball"), soft_ball("soft ball"), chain("hybrid chain", 6, soft=(0, 2, 4)), chain("rigid chain", 6)]
    for skeleton in thrown:
        world.add_skeleton(skeleton)
    thrown.append(ring(world, "ring"))
    for skeleton, color in zip(thrown, COLORS):
        for body in skeleton.bodies:
            for shape in body.shapes:
                shape.color = color
    starts = [skeleton.positions for skeleton in thrown]
    random = np.random.default_rng(3)
    demo = Demo(world, duration=4.0, camera=((-2.8, -3.9, 2.8), (1.2, -0.3, 0.3)))

    def throw(k):
        skeleton, q, u = thrown[k], starts[k].copy(), np.zeros(thrown[k].num_dofs)
        q[3:6] = (-0.5, 0.9 * (2 - k), 0.7)
        u[:3] = random.uniform(-1, 1, 3)
        u[3:6] = (random.uniform(4, 6), 0, 1.0)
        skeleton.positions, skeleton.velocities = q, u
        for body in skeleton.soft_bodies:
            body.displacements = body.displacement_rates = np.zeros((body.num_points, 3))

    for k, skeleton in enumerate(thrown):
        throw(k)

        @demo.key(str(k + 1), f"Throw the {skeleton.name}")
        def throw_again(k=k):
            throw(k)

    for skeleton in thrown:

        @demo.number(f"{skeleton.name} [m/s]")
        def speed(skeleton=skeleton):
            return float(np.linalg.norm(skeleton.com_velocity()))

    @demo.number("ring is open by [m]")
    def gap():
        return float(np.abs(world.constraints[0].error).max())

    return demo
