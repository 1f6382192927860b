"""What quantities suppose of a state, and how it comes to be: from what is held, or from arguments.

A *core* computes a quantity from what it needs, and supposes that to be current. What it needs is a `Needs`: one kernel
brings it up to date in a state that is held (body by body, `kido.kernels.lazy`), another loads a state that is given
and computes it. `array_entries` and `number_entries` make of a core the two calls from Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kido.jit import Struct, direct_entry, inlined, kernel, view
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.kernels.inertia import body_inertia
from kido.kernels.inverse_dynamics import accelerations
from kido.kernels.jacobian import end_of, path_transforms, path_velocities
from kido.kernels.kinematics import body_pose, poses, transforms, velocities
from kido.kernels.lazy import (
    POSE_BIT,
    ensure_all_accelerations,
    ensure_all_poses,
    ensure_all_velocities,
    ensure_pose,
    ensure_velocity,
    evaluate_pose,
)
from kido.math.so3 import cross
from kido.tree.schema import DATA, TREE
from kido.tree.workspace import COLUMNS, MEMBERS, PATH, SUBSET


class Needs(NamedTuple):
    """What a core needs of a state.

    Attributes:
        vectors: how many of q, u, udot it depends on, from the first on.
        ensure: kernel (t, d, c) that brings it up to date in a state that is held; c is the core's third argument.
        load: kernel (t, d, c, q[, u[, udot]]) that computes it from a state that is given, or refuses that.
    """

    vectors: int
    ensure: Any
    load: Any


@kernel
def ensure_transforms(t, d, c):
    """R, p, l, H of all bodies."""
    for i in range(t.parent.shape[0]):
        if d.fresh[i] & POSE_BIT == 0:
            evaluate_pose(t, d, i)


@kernel
def ensure_poses(t, d, c):
    """`ensure_transforms`, and J and mc."""
    ensure_all_poses(t, d)


@kernel
def ensure_velocities(t, d, c):
    """`ensure_poses`, V and a."""
    ensure_all_poses(t, d)
    ensure_all_velocities(t, d)


@kernel
def ensure_accelerations(t, d, c):
    """`ensure_velocities`, and A."""
    ensure_all_poses(t, d)
    ensure_all_velocities(t, d)
    ensure_all_accelerations(t, d)


@kernel
def ensure_path(t, d, path):
    """R, p, l, H of the bodies of a path."""
    ensure_pose(t, d, end_of(path))


@kernel
def ensure_path_velocities(t, d, path):
    """`ensure_path`, V and a."""
    ensure_velocity(t, d, end_of(path))


@kernel
def load_poses(t, d, c, q):
    """R, p, l of all bodies."""
    if copy_finite(q, d.q) != OK:
        return REFUSED
    poses(t, d, 0, t.parent.shape[0])
    return OK


@kernel
def load_positions(t, d, c, q):
    """R, p, l, H of all bodies."""
    if copy_finite(q, d.q) != OK:
        return REFUSED
    transforms(t, d, 0, t.parent.shape[0])
    return OK


@kernel
def load_inertias(t, d, c, q):
    """`load_positions`, and J and mc."""
    if copy_finite(q, d.q) != OK:
        return REFUSED
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
    return OK


@inlined
def body_twist(t, d, i):
    """V of body i: `body_velocity` without the velocity product."""
    w0, w1, w2, v0, v1, v2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        s = d.u[k]
        w0 += d.H[k, 0] * s
        w1 += d.H[k, 1] * s
        w2 += d.H[k, 2] * s
        v0 += d.H[k, 3] * s
        v1 += d.H[k, 4] * s
        v2 += d.H[k, 5] * s
    parent = t.parent[i]
    if parent >= 0:
        q0, q1, q2 = d.V[parent, 0], d.V[parent, 1], d.V[parent, 2]
        c0, c1, c2 = cross(q0, q1, q2, d.l[i, 0], d.l[i, 1], d.l[i, 2])
        w0 += q0
        w1 += q1
        w2 += q2
        v0 += d.V[parent, 3] + c0
        v1 += d.V[parent, 4] + c1
        v2 += d.V[parent, 5] + c2
    d.V[i, 0], d.V[i, 1], d.V[i, 2], d.V[i, 3], d.V[i, 4], d.V[i, 5] = w0, w1, w2, v0, v1, v2


@kernel
def load_twists(t, d, c, q, u):
    """`load_positions`, and V."""
    if copy_finite(q, d.q) + copy_finite(u, d.u) != OK:
        return REFUSED
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_twist(t, d, i)
    return OK


@kernel
def load_velocities(t, d, c, q, u):
    """`load_positions`, V and a."""
    if copy_finite(q, d.q) + copy_finite(u, d.u) != OK:
        return REFUSED
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    velocities(t, d, 0, n)
    return OK


@kernel
def load_accelerations(t, d, c, q, u, udot):
    """`load_velocities`, and A."""
    if copy_finite(q, d.q) + copy_finite(u, d.u) + copy_finite(udot, d.udot) != OK:
        return REFUSED
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    velocities(t, d, 0, n)
    accelerations(t, d, 0, n)
    return OK


@kernel
def load_path_poses(t, d, path, q):
    """R, p, l of the bodies of a path."""
    if copy_finite(q, d.q) != OK:
        return REFUSED
    for n in range(path.body.shape[0]):
        body_pose(t, d, path.body[n])
    return OK


@kernel
def load_path(t, d, path, q):
    """R, p, l, H of the bodies of a path."""
    if copy_finite(q, d.q) != OK:
        return REFUSED
    path_transforms(t, d, path)
    return OK


@kernel
def load_path_velocities(t, d, path, q, u):
    """`load_path`, V and a."""
    if copy_finite(q, d.q) + copy_finite(u, d.u) != OK:
        return REFUSED
    path_transforms(t, d, path)
    path_velocities(t, d, path)
    return OK


POSES = Needs(1, ensure_transforms, load_poses)
COLUMNS_OF_MOTION = Needs(1, ensure_transforms, load_positions)
INERTIAS = Needs(1, ensure_poses, load_inertias)
TWISTS = Needs(2, ensure_velocities, load_twists)
VELOCITIES = Needs(2, ensure_velocities, load_velocities)
ACCELERATIONS = Needs(3, ensure_accelerations, load_accelerations)
PATH_POSES = Needs(1, ensure_path, load_path_poses)
PATH_COLUMNS = Needs(1, ensure_path, load_path)
PATH_VELOCITIES = Needs(2, ensure_path_velocities, load_path_velocities)


@inlined
def tree_at(address):
    return view(TREE, address)


@inlined
def subset_at(address):
    return view(SUBSET, address)


@inlined
def members_at(address):
    return view(MEMBERS, address)


@inlined
def path_at(address):
    return view(PATH, address)


@inlined
def columns_at(address):
    return view(COLUMNS, address)


_VIEWS: dict[Any, Any] = {
    TREE: tree_at, SUBSET: subset_at, MEMBERS: members_at, PATH: path_at, COLUMNS: columns_at,
}  # fmt: skip
_ARRAYS = {1: "f8[::1]", 2: "f8[:,::1]", 3: "f8[:,:,::1]"}
_STATE = {1: "f8[::1]", 2: "f8[::1],f8[::1]", 3: "f8[::1],f8[::1],f8[::1]"}


def array_entries(core: Any, needs: Needs, struct: type[Struct], rank: int, point: bool = False) -> tuple[Any, Any]:
    """The two entries of a core that fills an array: of a state that is held, and of one that is given.

    Args:
        core: kernel (t, d, c, out), or (t, d, c, x, y, z, out) with `point`; returns 0, or 2 and more for what failed.
        needs: what it supposes current.
        struct: of its third argument, which says what the quantity is about.
        rank: of the array.
        point: whether three numbers come after that argument.

    Returns:
        (tree, data, c[, x, y, z], out) and (tree, data, c[, x, y, z], q[, u[, udot]], out).
    """
    make = _point_entries if point else _array_entries
    return make(core, needs.ensure, needs.load, needs.vectors, _VIEWS[struct], _ARRAYS[rank])


def _array_entries(core: Any, ensure: Any, load: Any, vectors: int, argument: Any, out_type: str) -> tuple[Any, Any]:
    @direct_entry(f"i8(i8,i8,i8,{out_type})")
    def current(tree, data, chosen, out):
        t, d, c = view(TREE, tree), view(DATA, data), argument(chosen)
        ensure(t, d, c)
        return core(t, d, c, out)

    signature = f"i8(i8,i8,i8,{_STATE[vectors]},{out_type})"
    if vectors == 1:

        @direct_entry(signature)
        def given(tree, data, chosen, q, out):
            t, d, c = view(TREE, tree), view(DATA, data), argument(chosen)
            if load(t, d, c, q) != OK:
                return REFUSED
            return core(t, d, c, out)

        return current, given
    if vectors == 2:

        @direct_entry(signature)
        def given_motion(tree, data, chosen, q, u, out):
            t, d, c = view(TREE, tree), view(DATA, data), argument(chosen)
            if load(t, d, c, q, u) != OK:
                return REFUSED
            return core(t, d, c, out)

        return current, given_motion

    @direct_entry(signature)
    def given_accelerations(tree, data, chosen, q, u, udot, out):
        t, d, c = view(TREE, tree), view(DATA, data), argument(chosen)
        if load(t, d, c, q, u, udot) != OK:
            return REFUSED
        return core(t, d, c, out)

    return current, given_accelerations


def _point_entries(core: Any, ensure: Any, load: Any, vectors: int, argument: Any, out_type: str) -> tuple[Any, Any]:
    @direct_entry(f"i8(i8,i8,i8,f8,f8,f8,{out_type})")
    def current(tree, data, chosen, x, y, z, out):
        t, d, c = view(TREE, tree), view(DATA, data), argument(chosen)
        ensure(t, d, c)
        return core(t, d, c, x, y, z, out)

    signature = f"i8(i8,i8,i8,f8,f8,f8,{_STATE[vectors]},{out_type})"
    if vectors == 1:

        @direct_entry(signature)
        def given(tree, data, chosen, x, y, z, q, out):
            t, d, c = view(TREE, tree), view(DATA, data), argument(chosen)
            if load(t, d, c, q) != OK:
                return REFUSED
            return core(t, d, c, x, y, z, out)

        return current, given

    @direct_entry(signature)
    def given_motion(tree, data, chosen, x, y, z, q, u, out):
        t, d, c = view(TREE, tree), view(DATA, data), argument(chosen)
        if load(t, d, c, q, u) != OK:
            return REFUSED
        return core(t, d, c, x, y, z, out)

    return current, given_motion


def number_entries(core: Any, needs: Needs, struct: type[Struct]) -> tuple[Any, Any]:
    """`array_entries` of a core (t, d, c) that returns a number; it is NaN for a state that is refused."""
    return _number_entries(core, needs.ensure, needs.load, needs.vectors, _VIEWS[struct])


def _number_entries(core: Any, ensure: Any, load: Any, vectors: int, argument: Any) -> tuple[Any, Any]:
    nan = float("nan")

    @direct_entry("f8(i8,i8,i8)")
    def current(tree, data, chosen):
        t, d, c = view(TREE, tree), view(DATA, data), argument(chosen)
        ensure(t, d, c)
        return core(t, d, c)

    if vectors == 1:

        @direct_entry("f8(i8,i8,i8,f8[::1])")
        def given(tree, data, chosen, q):
            t, d, c = view(TREE, tree), view(DATA, data), argument(chosen)
            if load(t, d, c, q) != OK:
                return nan
            return core(t, d, c)

        return current, given

    @direct_entry("f8(i8,i8,i8,f8[::1],f8[::1])")
    def given_motion(tree, data, chosen, q, u):
        t, d, c = view(TREE, tree), view(DATA, data), argument(chosen)
        if load(t, d, c, q, u) != OK:
            return nan
        return core(t, d, c)

    return current, given_motion
