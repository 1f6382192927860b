"""Where the bodies of a skeleton are, from where the links are that carry them.

A body sits on its link with the pose `TREE.member_pose`; most are links themselves (`TREE.member_apart` is 0).
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.kinematics import rotation_of
from kido.math.so3 import rotate


@inlined
def pose_row(t, m, x, y, z, p):
    """A row of a body's world transform from that of its link: (x, y, z) and the position p."""
    Y = t.member_pose
    return (
        x * Y[m, 0] + y * Y[m, 4] + z * Y[m, 8],
        x * Y[m, 1] + y * Y[m, 5] + z * Y[m, 9],
        x * Y[m, 2] + y * Y[m, 6] + z * Y[m, 10],
        x * Y[m, 3] + y * Y[m, 7] + z * Y[m, 11] + p,
    )


@inlined
def world_row(t, d, m, r):
    """Row r of the upper three of the world transform of body m of the skeleton."""
    i = t.member_link[m]
    x, y, z, p = d.R[i, 3 * r], d.R[i, 3 * r + 1], d.R[i, 3 * r + 2], d.p[i, r]
    if t.member_apart[m] != 0:
        x, y, z, p = pose_row(t, m, x, y, z, p)
    return x, y, z, p


@inlined
def write_pose(t, d, m, X):
    """X (4, 4): the world transform of body m of the skeleton."""
    for r in range(3):
        X[r, 0], X[r, 1], X[r, 2], X[r, 3] = world_row(t, d, m, r)
    X[3, 0], X[3, 1], X[3, 2], X[3, 3] = 0.0, 0.0, 0.0, 1.0


@kernel
def write_poses(t, d, X):
    """X (bodies, 4, 4): the world transforms of all bodies of the skeleton."""
    for m in range(X.shape[0]):
        for r in range(3):
            X[m, r, 0], X[m, r, 1], X[m, r, 2], X[m, r, 3] = world_row(t, d, m, r)
        X[m, 3, 0], X[m, 3, 1], X[m, 3, 2], X[m, 3, 3] = 0.0, 0.0, 0.0, 1.0


@inlined
def member_arm(t, d, m):
    """Origin of body m of the skeleton from that of its link, world axes."""
    return rotate(rotation_of(d, t.member_link[m]), t.member_pose[m, 3], t.member_pose[m, 7], t.member_pose[m, 11])


@inlined
def point_on_link(t, m, x, y, z):
    """A point of body m of the skeleton, in the axes of its link, from the link's origin."""
    Y = t.member_pose
    return (
        Y[m, 0] * x + Y[m, 1] * y + Y[m, 2] * z + Y[m, 3],
        Y[m, 4] * x + Y[m, 5] * y + Y[m, 6] * z + Y[m, 7],
        Y[m, 8] * x + Y[m, 9] * y + Y[m, 10] * z + Y[m, 11],
    )
