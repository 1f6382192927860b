"""Points and directions between shape axes and world axes."""

from __future__ import annotations

from kido.jit import kernel


@kernel
def to_world(c, s, x, y, z):
    """A point from the axes of shape s to world axes."""
    position, rotation = c.position, c.rotation
    return (
        position[s, 0] + rotation[s, 0] * x + rotation[s, 1] * y + rotation[s, 2] * z,
        position[s, 1] + rotation[s, 3] * x + rotation[s, 4] * y + rotation[s, 5] * z,
        position[s, 2] + rotation[s, 6] * x + rotation[s, 7] * y + rotation[s, 8] * z,
    )


@kernel
def middle_of(c, s):
    """The middle of shape s in world axes."""
    return to_world(c, s, c.shape_middle[s, 0], c.shape_middle[s, 1], c.shape_middle[s, 2])


@kernel
def direction_to_world(c, s, x, y, z):
    """A direction from the axes of shape s to world axes."""
    rotation = c.rotation
    return (
        rotation[s, 0] * x + rotation[s, 1] * y + rotation[s, 2] * z,
        rotation[s, 3] * x + rotation[s, 4] * y + rotation[s, 5] * z,
        rotation[s, 6] * x + rotation[s, 7] * y + rotation[s, 8] * z,
    )


@kernel
def direction_to_shape(c, s, x, y, z):
    """A direction from world axes to the axes of shape s."""
    rotation = c.rotation
    return (
        rotation[s, 0] * x + rotation[s, 3] * y + rotation[s, 6] * z,
        rotation[s, 1] * x + rotation[s, 4] * y + rotation[s, 7] * z,
        rotation[s, 2] * x + rotation[s, 5] * y + rotation[s, 8] * z,
    )


@kernel
def to_shape(c, s, x, y, z):
    """A point from world axes to the axes of shape s."""
    position = c.position
    return direction_to_shape(c, s, x - position[s, 0], y - position[s, 1], z - position[s, 2])
