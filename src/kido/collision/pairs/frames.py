"""Points and directions between shape axes and world axes."""

from __future__ import annotations

from kido.collision.container import COLLISION
from kido.jit import kernel, view


@kernel
def to_world(address, s, x, y, z):
    """A point from the axes of shape s to world axes."""
    c = view(COLLISION, address)
    return (
        c.position[s, 0] + c.rotation[s, 0] * x + c.rotation[s, 1] * y + c.rotation[s, 2] * z,
        c.position[s, 1] + c.rotation[s, 3] * x + c.rotation[s, 4] * y + c.rotation[s, 5] * z,
        c.position[s, 2] + c.rotation[s, 6] * x + c.rotation[s, 7] * y + c.rotation[s, 8] * z,
    )


@kernel
def direction_to_world(address, s, x, y, z):
    """A direction from the axes of shape s to world axes."""
    c = view(COLLISION, address)
    return (
        c.rotation[s, 0] * x + c.rotation[s, 1] * y + c.rotation[s, 2] * z,
        c.rotation[s, 3] * x + c.rotation[s, 4] * y + c.rotation[s, 5] * z,
        c.rotation[s, 6] * x + c.rotation[s, 7] * y + c.rotation[s, 8] * z,
    )


@kernel
def direction_to_shape(address, s, x, y, z):
    """A direction from world axes to the axes of shape s."""
    c = view(COLLISION, address)
    return (
        c.rotation[s, 0] * x + c.rotation[s, 3] * y + c.rotation[s, 6] * z,
        c.rotation[s, 1] * x + c.rotation[s, 4] * y + c.rotation[s, 7] * z,
        c.rotation[s, 2] * x + c.rotation[s, 5] * y + c.rotation[s, 8] * z,
    )


@kernel
def to_shape(address, s, x, y, z):
    """A point from world axes to the axes of shape s."""
    c = view(COLLISION, address)
    return direction_to_shape(
        address, s, x - c.position[s, 0], y - c.position[s, 1], z - c.position[s, 2]
    )
