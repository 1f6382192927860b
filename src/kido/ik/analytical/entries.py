"""Calls from Python: one target, or many."""

from __future__ import annotations

import math

from kido.ik.analytical.families import (
    locked_out,
    parallel_axes,
    planar,
    spherical_wrist,
    swivel,
    swivel_of,
)
from kido.ik.analytical.refine import refine
from kido.ik.analytical.schema import ARM
from kido.ik.analytical.vectors import after, dot, inverse, outer, row
from kido.jit import direct_entry, kernel, view

SPHERICAL_WRIST, PARALLEL_AXES, SWIVEL, PLANAR_CHAIN = range(4)


@kernel
def _aim(w, base, R, p):
    """The motion that the chain is to make, and the goal, from poses of the base and of the tip in the world."""
    B = (base[0, 0], base[0, 1], base[0, 2], base[1, 0], base[1, 1], base[1, 2], base[2, 0], base[2, 1], base[2, 2])
    T, t = inverse(B, (base[0, 3], base[1, 3], base[2, 3]))
    R, p = after(T, t, R, p)
    w.goal[0, 0], w.goal[0, 1], w.goal[0, 2] = p
    m = w.home
    return after(R, p, (m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]), (m[9], m[10], m[11]))


@kernel
def _store(w, R, p):
    for i in range(9):
        w.G[i] = R[i]
    for i in range(3):
        w.G[9 + i] = p[i]


@kernel
def solve_one(w, family, R, p, angle, keep):
    """Solutions for the motion (R, p): `found`, `error` and `flags`; returns how many."""
    S, s = locked_out(w, R, p)
    if w.backward == 1:
        S, s = inverse(S, s)
    _store(w, S, s)
    if family == SPHERICAL_WRIST:
        raw = spherical_wrist(w)
    elif family == PARALLEL_AXES:
        raw = parallel_axes(w)
    elif family == PLANAR_CHAIN:
        raw = planar(w)
    else:
        raw = swivel(w, swivel_of(w, w.reference) if keep == 1 else angle)
    _store(w, R, p)
    return refine(w, raw)


@direct_entry("i8(i8,i8,f8[:,::1],f8[:,::1],f8[::1],f8,i8)")
def solve(arm, family, base, target, reference, angle, keep):
    """All solutions for one pose of the tip in the world; returns how many.

    Args:
        arm: address of an ARM.
        family: SPHERICAL_WRIST, PARALLEL_AXES, SWIVEL or PLANAR_CHAIN.
        base: pose of the base in the world, 4x4.
        target: pose of the tip in the world, 4x4.
        reference: positions that free choices and whole turns stay close to; also of a locked joint.
        angle: swivel angle [rad] (SWIVEL).
        keep: 1: the swivel angle of `reference` instead.
    """
    w = view(ARM, arm)
    for j in range(len(w.reference)):
        w.reference[j] = reference[j]
    X = target
    R = (X[0, 0], X[0, 1], X[0, 2], X[1, 0], X[1, 1], X[1, 2], X[2, 0], X[2, 1], X[2, 2])
    R, p = _aim(w, base, R, (X[0, 3], X[1, 3], X[2, 3]))
    return solve_one(w, family, R, p, angle, keep)


@direct_entry("i8(f8[:,::1])")
def is_pose(X):
    """1 if a matrix is a rigid transform to within 1e-12, else 0."""
    if X.shape[0] != 4 or X.shape[1] != 4:
        return 0
    x, y, z = row(X, 0), row(X, 1), row(X, 2)
    off = max(math.fabs(dot(x, y)), max(math.fabs(dot(y, z)), math.fabs(dot(z, x))))
    off = max(off, max(math.fabs(dot(x, x) - 1.0), max(math.fabs(dot(y, y) - 1.0), math.fabs(dot(z, z) - 1.0))))
    far = math.fabs(X[0, 3]) + math.fabs(X[1, 3]) + math.fabs(X[2, 3])
    last = math.fabs(X[3, 0]) + math.fabs(X[3, 1]) + math.fabs(X[3, 2]) + math.fabs(X[3, 3] - 1.0)
    right = dot(x, outer(y, z))
    # Comparisons with NaN are false.
    return 1 if off < 1e-12 and far < math.inf and last == 0.0 and right > 0.0 and dot(x, y) == dot(x, y) else 0


@direct_entry("f8(i8,f8[::1])")
def swivel_at(arm, q):
    """Swivel angle of positions q of the chain [rad]."""
    w = view(ARM, arm)
    return swivel_of(w, q)


@direct_entry("i8(i8,i8,f8[:,::1],f8[:,:,::1],f8[:,::1],f8,i8,f8[:,:,::1],f8[:,:,::1],f8[:,::1])")
def solve_many(arm, family, base, targets, references, angle, keep, positions, errors, flags):
    """`solve` for many targets; `references` has a row for each, or one for all.

    Solutions go into positions (targets, at most, joints), errors (..., 2) and flags (targets, 1 + at most), whose
    first column is their number.
    """
    w = view(ARM, arm)
    n = len(w.reference)
    most = positions.shape[1]
    for i in range(targets.shape[0]):
        for j in range(n):
            w.reference[j] = references[min(i, references.shape[0] - 1), j]
        X = targets
        R = (
            X[i, 0, 0], X[i, 0, 1], X[i, 0, 2], X[i, 1, 0], X[i, 1, 1], X[i, 1, 2], X[i, 2, 0], X[i, 2, 1], X[i, 2, 2],
        )  # fmt: skip
        R, p = _aim(w, base, R, (X[i, 0, 3], X[i, 1, 3], X[i, 2, 3]))
        count = min(solve_one(w, family, R, p, angle, keep), most)
        flags[i, 0] = count
        for k in range(count):
            flags[i, 1 + k] = w.flags[k]
            errors[i, k, 0], errors[i, k, 1] = w.error[k, 0], w.error[k, 1]
            for j in range(n):
                positions[i, k, j] = w.found[k, j]
    return 0
