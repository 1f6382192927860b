"""The film that README opens with, of one simulation: docs/images/film.webp.

A quadruped lands on springy legs and jumps, an arm falls into a wall of bricks, and a humanoid that holds its pose by
springs at its joints is hit by a ball. Red arrows are the forces of the contacts.

python tools/film.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import kido
from kido.viewer import CameraPose, TrajectorySampler, export_film

TARGET = Path(__file__).parents[1] / "docs" / "images" / "film.webp"
DURATION, FPS, SIZE = 4.4, 15.0, (640, 360)
CAMERA = CameraPose(position=(3.4, -1.25, 1.3), target=(0.0, 0.3, 0.6), fov=0.62)
BRICK = np.array([0.2, 0.09, 0.1])
COLORS = ((0.80, 0.36, 0.28), (0.86, 0.62, 0.30), (0.36, 0.55, 0.72))


def place(skeleton: kido.Skeleton, x: float, y: float, z: float = 0.0, turned: float = 0.0) -> None:
    """Move a robot's root joint, and turn it about the vertical [rad]."""
    c, s = np.cos(turned), np.sin(turned)
    X = np.array([[c, -s, 0.0, x], [s, c, 0.0, y], [0.0, 0.0, 1.0, z], [0.0, 0.0, 0.0, 1.0]])
    joint = skeleton.root_bodies[0].parent_joint
    joint.transform_from_parent = X @ joint.transform_from_parent


def loose(name: str, shape: kido.shapes.Shape, density: float, position: object, color: object) -> kido.Skeleton:
    """A body that nothing holds."""
    skeleton = kido.Skeleton(name)
    body = skeleton.add_body(name, kido.FreeJoint(), inertia=kido.Inertia.from_shape(shape, density=density))
    body.add_shape(shape, color=color, friction=0.7)
    skeleton.positions = np.r_[0.0, 0.0, 0.0, position]
    return skeleton


def wall(world: kido.World, x: float, y: float, rows: int, columns: int) -> None:
    """Bricks on each other, every other row by half a brick beside the one below."""
    for row in range(rows):
        for k in range(columns - row % 2):
            along = (k - 0.5 * (columns - 1 - row % 2)) * 1.02 * BRICK[0]
            center = (x + along, y, BRICK[2] * (row + 0.5))
            world.add_skeleton(loose(f"brick{row}_{k}", kido.Box(BRICK), 500.0, center, COLORS[(row + k) % 3]))


def hold(skeleton: kido.Skeleton, stiffness: float, damping: float, stretch: float = 0.0) -> None:
    """Springs and dampers at all hinges; those of legs rest where they are stretched by so much [rad], or bent."""
    for joint in skeleton.joints:
        if joint.num_dofs == 1:
            share = {"pitch": -1.0, "knee": 2.0}.get(joint.name.rsplit("_", 1)[-1], 0.0)
            dof = joint.dofs[0]
            dof.rest_position, dof.spring_stiffness, dof.damping = share * stretch, stiffness, damping


def scene() -> kido.World:
    """Robots, bricks and balls, before anything moves."""
    world = kido.World("film")
    world.add_ground(friction=0.9)
    dog = world.add_skeleton(kido.load(kido.models.path("quadruped")))
    place(dog, 0.35, -0.8, 0.3, turned=0.6)
    hold(dog, 120.0, 3.0)
    man = world.add_skeleton(kido.load(kido.models.path("humanoid")))
    place(man, -0.7, 0.1, turned=-0.2)
    hold(man, 250.0, 12.0)
    arm = world.add_skeleton(kido.load(kido.models.path("arm7")))
    place(arm, 0.2, 1.75, turned=-0.5 * np.pi)
    arm.positions = [0.0, 0.3, 0.0, 0.2, 0.0, 0.1, 0.0]
    wall(world, 0.2, 1.15, 6, 3)
    for k, (x, y) in enumerate(((-0.9, -4.5), (4.6, -1.0))):  # outside of the picture
        world.add_skeleton(loose(f"ball{k}", kido.Sphere(0.1), 1200.0, (x, y, 0.1), (0.2, 0.2, 0.23)))
    return world


def throw(world: kido.World, name: str, target: object, duration: float) -> None:
    """Give a ball the velocity that brings it to a point in so many seconds."""
    ball = world.skeleton(name)
    way = np.asarray(target, dtype=float) - ball.com
    ball.velocities = np.r_[0.0, 0.0, 0.0, way / duration - 0.5 * world.gravity * duration]


def simulate() -> tuple[kido.World, TrajectorySampler]:
    """The whole simulation; now and then a ball is thrown, or springs change."""
    world = scene()
    man, dog = world.skeleton("humanoid"), world.skeleton("quadruped")
    sampler = TrajectorySampler(world, FPS)

    def until(time: float) -> None:
        sampler.run(time - world.time)

    until(0.5)
    throw(world, "ball0", man.body("chest").com, 0.65)
    until(1.9)
    throw(world, "ball1", dog.body("trunk").com + [0.0, 0.0, 0.02], 0.75)
    until(3.2)
    hold(dog, 150.0, 3.0, stretch=-0.25)
    until(3.6)
    hold(dog, 160.0, 3.0, stretch=0.2)
    until(3.74)
    hold(dog, 120.0, 3.0)
    until(DURATION)
    return world, sampler


def main(target: Path = TARGET) -> None:
    """Simulate, and write the film."""
    world, sampler = simulate()
    print(f"{world.num_steps} steps, {world.unconverged_steps} not converged")

    def tell(done: int, total: int) -> None:
        print(f"\r{done} of {total} pictures", end="", file=sys.stderr, flush=True)

    export_film(world, sampler.trajectory, target, fps=FPS, size=SIZE, camera=CAMERA, progress=tell)
    print(f"\nwrote {target}, {target.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
