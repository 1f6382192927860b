"""Poses and Jacobians of a skeleton's nodes, and their time derivatives.

A node is a body, its name or its index, or a frame fixed to a body. `offset` is a point in the node's axes, from its
origin [m]. `in_coordinates_of` is the frame in whose axes the rows are; None for the world's. At a given state nodes
of the skeleton are where that state puts them, other frames where they are. Jacobians have a column for every
coordinate of the skeleton; those of the nodes themselves are compact.
"""

from __future__ import annotations

import numpy as np

from kido.jit import kernel
from kido.kernels import matrix_entries
from kido.kernels.entries import OK
from kido.kernels.jacobian import add_jacobian, add_jacobian_rate, clear, end_of, point_of, point_velocity
from kido.kernels.placement import write_pose, write_poses
from kido.kernels.states import PATH_COLUMNS, PATH_POSES, PATH_VELOCITIES, POSES
from kido.quantities.quantity import (
    NODE,
    OF_POSITIONS,
    OF_VELOCITIES,
    ORIGIN,
    POINT,
    POSITIONS,
    VELOCITIES,
    array,
    derived,
)

_TURN = "if in_coordinates_of is not None:\n    out = state.turned(out, in_coordinates_of, positions)"


@kernel
def poses_core(t, d, c, X):
    write_poses(t, d, X)
    return OK


@kernel
def pose_core(t, d, path, X):
    write_pose(t, d, path.member, X)
    return OK


@kernel
def jacobian_core(t, d, path, x, y, z, J):
    px, py, pz = point_of(d, end_of(path), x, y, z)
    clear(J)
    add_jacobian(t, d, path, px, py, pz, 1.0, J)
    return OK


@kernel
def classic_rate_core(t, d, path, x, y, z, J):
    i = end_of(path)
    px, py, pz = point_of(d, i, x, y, z)
    vx, vy, vz = point_velocity(d, i, px, py, pz)
    clear(J)
    add_jacobian_rate(t, d, path, px, py, pz, vx, vy, vz, 1.0, J)
    return OK


@kernel
def spatial_rate_core(t, d, path, x, y, z, J):
    px, py, pz = point_of(d, end_of(path), x, y, z)
    clear(J)
    add_jacobian_rate(t, d, path, px, py, pz, 0.0, 0.0, 0.0, 1.0, J)
    return OK


world_transforms = array(
    "world_transforms", poses_core, POSES, ("bodies", 4, 4),
    "World transforms of all bodies.", kept=False,
)  # fmt: skip
world_transform = array(
    "world_transform", pose_core, PATH_POSES, (4, 4),
    "World transform of a node. Only what carries the node is evaluated; `world_transforms` gives all bodies at once.",
    of=NODE, finish="if offset is not None:\n    out = out @ offset", kept=False,
)  # fmt: skip
jacobian = array(
    "jacobian", jacobian_core, PATH_COLUMNS, (6, "dofs"),
    """J with [angular; linear] velocity of a point of a node = J u.

    Args:
        node: a body of the skeleton, its name or its index; or a node on one (end effector, marker, shape).
        offset: the point, from the node's origin in its own axes [m].
        in_coordinates_of: frame in whose axes the rows are; None for the world's.

    Raises:
        ModelError: a node of another skeleton, or no node; an offset that is not three finite numbers.
    """,
    of=POINT, finish=_TURN, has_gravity=False,
)  # fmt: skip
jacobian_classic_derivative = array(
    "jacobian_classic_derivative", classic_rate_core, PATH_VELOCITIES, (6, "dofs"),
    """dJ: the time derivative of the numbers of `jacobian` in world axes, along the velocities.

    [angular acceleration; acceleration of the point] = J udot + dJ u. In other axes than the world's its columns are
    the same vectors, written there: the turning of the axes is no part of it.
    """,
    of=POINT, finish=_TURN, has_gravity=False,
)  # fmt: skip
jacobian_spatial_derivative = array(
    "jacobian_spatial_derivative", spatial_rate_core, PATH_VELOCITIES, (6, "dofs"),
    """dJ with (spatial acceleration, Featherstone's, at the point) = J udot + dJ u.

    Each column is the rate of a screw that moves with its body, at the point of space where the node's point is:
    that of `jacobian_classic_derivative` less [0; w_k x v], v the velocity of the point.
    """,
    of=POINT, finish=_TURN, has_gravity=False,
)  # fmt: skip


@derived(POSITIONS, (3, "dofs"))
def linear_jacobian(state, node, offset=ORIGIN, in_coordinates_of=None):
    """J with velocity of a point of a node = J u; arguments as for `jacobian`."""
    return jacobian(state, None, node, offset, in_coordinates_of)[3:]


@derived(POSITIONS, (3, "dofs"))
def angular_jacobian(state, node, in_coordinates_of=None):
    """J with angular velocity of a node = J u; arguments as for `jacobian`."""
    return jacobian(state, None, node, ORIGIN, in_coordinates_of)[:3]


@derived(POSITIONS, (6, "dofs"))
def relative_jacobian(state, node, relative_to, offset=ORIGIN, in_coordinates_of=None):
    """J with [angular; linear] velocity of a point of a node as seen from another node = J u.

    The observer moves and turns with `relative_to`: w = w_B - w_A, v = v_P - v_A - w_A x (p_P - p_A).
    World axes unless told otherwise.
    """
    J = _relative_to(state, node, relative_to, offset, matrix_entries.relative_jacobian, OF_POSITIONS)
    return J[0].copy() if in_coordinates_of is None else state.turned(J[0], in_coordinates_of)


@derived(VELOCITIES, (6, "dofs"))
def relative_jacobian_derivative(state, node, relative_to, offset=ORIGIN, in_coordinates_of=None):
    """dJ with [angular; linear] acceleration as seen from another node = J udot + dJ u.

    J is that of `relative_jacobian`; dJ is its rate in the axes of `relative_to`, where the observer is.
    """
    J = _relative_to(state, node, relative_to, offset, matrix_entries.relative_jacobian_rate, OF_VELOCITIES)
    return J[1].copy() if in_coordinates_of is None else state.turned(J[1], in_coordinates_of)


def _relative_to(state, node, relative_to, offset, entry, stamp):
    """Jacobian, and its rate if the entry has it, of a point of a node seen from another one."""
    place, other = state.place_of(node, offset), state.place_of(state.node(relative_to))[0]

    def compute():
        w = state.settled or state.settle()
        J = np.empty((2, 6, w.dofs[0]))
        entry.call(w.tree, w.held, place[0], other, *place[1:], J[0], J[1])
        return J

    return state.result(stamp, ("relative_jacobian", stamp, place, other), compute)
