"""Frames at a joint: F, the rotation of its parent-side frame, and the child-side origin."""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.math.so3 import compose, rotate

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inlined
def rotation_of(d, i):
    """R of body i as nine numbers."""
    return (
        d.R[i, 0], d.R[i, 1], d.R[i, 2], d.R[i, 3], d.R[i, 4], d.R[i, 5], d.R[i, 6], d.R[i, 7], d.R[i, 8],
    )  # fmt: skip


@inlined
def joint_frame(t, i, Rp):
    """F: rotation of the parent-side frame of body i's joint in world axes, from its parent's."""
    return compose(
        Rp,
        (
            t.rotation_pj[i, 0], t.rotation_pj[i, 1], t.rotation_pj[i, 2],
            t.rotation_pj[i, 3], t.rotation_pj[i, 4], t.rotation_pj[i, 5],
            t.rotation_pj[i, 6], t.rotation_pj[i, 7], t.rotation_pj[i, 8],
        ),
    )  # fmt: skip


@kernel
def joint_frame_of(t, d, i):
    """F of body i's joint, from its parent's current rotation."""
    parent = t.parent[i]
    if parent >= 0:
        return joint_frame(t, i, rotation_of(d, parent))
    return joint_frame(t, i, IDENTITY)


@inlined
def child_offset(t, d, i):
    """Body origin from the joint's child-side origin, world axes [m]; R of the body must be current."""
    return rotate(rotation_of(d, i), t.position_jb[i, 0], t.position_jb[i, 1], t.position_jb[i, 2])
