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
from kido.kernels.placement import world_row, write_pose, write_poses
from kido.kernels.states import PATH_COLUMNS, PATH_POSES, PATH_VELOCITIES, POSES
from kido.math.so3 import cross
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
def pose_derivatives_core(t, d, path, out):
    for k in range(out.shape[0]):
        for r in range(4):
            for s in range(4):
                out[k, r, s] = 0.0
    x0, x1, x2, px = world_row(t, d, path.member, 0)
    y0, y1, y2, py = world_row(t, d, path.member, 1)
    z0, z1, z2, pz = world_row(t, d, path.member, 2)
    for n in range(path.body.shape[0]):
        i = path.body[n]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            w0, w1, w2 = d.H[k, 0], d.H[k, 1], d.H[k, 2]
            a, b, c = cross(w0, w1, w2, px - d.p[i, 0], py - d.p[i, 1], pz - d.p[i, 2])
            out[k, 0, 0], out[k, 1, 0], out[k, 2, 0] = cross(w0, w1, w2, x0, y0, z0)
            out[k, 0, 1], out[k, 1, 1], out[k, 2, 1] = cross(w0, w1, w2, x1, y1, z1)
            out[k, 0, 2], out[k, 1, 2], out[k, 2, 2] = cross(w0, w1, w2, x2, y2, z2)
            out[k, 0, 3], out[k, 1, 3], out[k, 2, 3] = d.H[k, 3] + a, d.H[k, 4] + b, d.H[k, 5] + c
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
world_transform_derivatives = array(
    "world_transform_derivatives", pose_derivatives_core, PATH_COLUMNS, ("dofs", 4, 4),
    """dX/dq_k of the world transform X of a node, for each coordinate: dX/dt = sum of u_k dX/dq_k.

    [[w x R, v], [0, 0]] with w and v the coordinate's column of the node's `jacobian`, and R its rotation. Along
    velocities, as all derivatives are: of ball and free joints d/dh of R exp(h e_k) or X exp(h e_k).

    Args:
        node: a body, its name or its index, or a frame fixed to a body.

    Raises:
        ModelError: a node of another skeleton, or no node.
    """,
    of=NODE, finish="if offset is not None:\n    out = out @ offset", has_gravity=False,
    source="RTQL8 tutorial, section 6.2",
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
