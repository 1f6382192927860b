"""The numbers of our block worlds: what stands where, of which size and mass.

A scene is plain data, so that the same one becomes a `kido.World`, a SKEL file, or a peer's model in a
benchmark. Everything is in SI units, Z up, and the floor's surface is at z = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kido.errors import ModelError
from kido.reprs import brief


def whole(count: Any, what: str, things: str) -> int:
    """A whole number of at least 1.

    Raises:
        ModelError: it is none.
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise ModelError(f"{what}: the number of {things} is {count!r}; expected a whole number of at least 1")
    return int(count)


Vector = tuple[float, float, float]

PALETTE: tuple[Vector, ...] = (
    (0.86, 0.37, 0.27),
    (0.93, 0.64, 0.24),
    (0.42, 0.62, 0.36),
    (0.27, 0.51, 0.71),
    (0.52, 0.40, 0.65),
)


@dataclass(frozen=True)
class Block:
    """A box: fixed to the world if `mass` is 0, otherwise free.

    `size` are full edge lengths [m]; `position` is its centre and `rotation` a rotation vector [m, rad, world
    axes]; `velocity` [m/s] and `angular_velocity` [rad/s] are in the block's own axes, about its centre.
    """

    name: str
    size: Vector
    position: Vector
    mass: float = 0.0
    rotation: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)
    velocity: Vector = (0.0, 0.0, 0.0)
    color: Vector = (0.6, 0.6, 0.6)

    @property
    def moment(self) -> Vector:
        """Principal moments of inertia of a solid box about its centre [kg m^2]."""
        x, y, z = self.size
        return (
            self.mass * (y * y + z * z) / 12.0,
            self.mass * (z * z + x * x) / 12.0,
            self.mass * (x * x + y * y) / 12.0,
        )


@dataclass(frozen=True)
class Scene:
    """Blocks on a floor, the plane z = 0, with one coefficient of friction for everything."""

    name: str
    blocks: tuple[Block, ...]
    friction: float = 1.0

    __repr__ = brief

    @property
    def fixed(self) -> tuple[Block, ...]:
        """The blocks that never move."""
        return tuple(b for b in self.blocks if b.mass == 0.0)

    @property
    def free(self) -> tuple[Block, ...]:
        """The blocks that move."""
        return tuple(b for b in self.blocks if b.mass > 0.0)


def stack_scene(count: int = 10) -> Scene:
    """A tower of `count` equal cubes of 0.1 m and 1 kg, each resting on the one below."""
    edge = 0.1
    return Scene(
        "stack",
        tuple(
            Block(
                name=f"box_{i}",
                size=(edge, edge, edge),
                position=(0.0, 0.0, (i + 0.5) * edge),
                mass=1.0,
                color=PALETTE[i % len(PALETTE)],
            )
            for i in range(count)
        ),
    )


def container_scene(count: int = 25, *, aside: float = 0.03) -> Scene:
    """An open bin, 0.7 m wide, with `count` cubes of 0.1 m and 1 kg about to fall into it.

    The cubes start in layers of 16, apart from one another, shifted and turned by amounts that look random
    and are the same in every run. Every other layer is moved by 2 `aside` [m], so that cubes fall between
    those below them and pile up in a heap; with 0 they fall onto them and mostly stay in columns.
    """
    inner, height, wall, edge, spacing = 0.7, 0.6, 0.05, 0.1, 0.16
    middle, shift = height / 2, (inner + wall) / 2
    sides = (
        Block("wall_left", (inner + 2 * wall, wall, height), (0.0, shift, middle)),
        Block("wall_right", (inner + 2 * wall, wall, height), (0.0, -shift, middle)),
        Block("wall_front", (wall, inner, height), (shift, 0.0, middle)),
        Block("wall_back", (wall, inner, height), (-shift, 0.0, middle)),
    )
    boxes = []
    for i in range(count):
        layer, cell = divmod(i, 16)
        row, column = divmod(cell, 4)
        moved = aside if layer % 2 else -aside
        # A low-discrepancy sequence (multiples of irrational numbers) in place of a random generator.
        noise = [math.modf((i + 1) * r)[0] - 0.5 for r in (0.754877666, 0.569840296, 0.437016024)]
        boxes.append(
            Block(
                name=f"box_{i}",
                size=(edge, edge, edge),
                position=(
                    (column - 1.5) * spacing + moved + 0.01 * noise[0],
                    (row - 1.5) * spacing + moved + 0.01 * noise[1],
                    0.12 + layer * 0.18,
                ),
                rotation=(0.4 * noise[1], 0.4 * noise[2], 0.4 * noise[0]),
                mass=1.0,
                color=PALETTE[layer % len(PALETTE)],
            )
        )
    return Scene("container", sides + tuple(boxes))


def dominoes_scene(count: int = 20) -> Scene:
    """A row of `count` dominoes on a gentle curve; the first is already tipping over."""
    thick, wide, tall, spacing, radius, push = 0.02, 0.08, 0.16, 0.07, 1.5, 3.0
    dominoes = []
    for i in range(count):
        angle = i * spacing / radius
        first = i == 0
        dominoes.append(
            Block(
                name=f"domino_{i}",
                size=(thick, wide, tall),
                position=(radius * math.sin(angle), radius * (1.0 - math.cos(angle)), tall / 2),
                rotation=(0.0, 0.0, angle),
                # The first turns about its lower front edge.
                angular_velocity=(0.0, push, 0.0) if first else (0.0, 0.0, 0.0),
                velocity=(push * tall / 2, 0.0, push * thick / 2) if first else (0.0, 0.0, 0.0),
                mass=0.2,
                color=PALETTE[i % len(PALETTE)],
            )
        )
    return Scene("dominoes", tuple(dominoes))
