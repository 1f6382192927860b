"""Staying clear of collisions as a task of inverse kinematics: how deep spheres are in what they may not touch.

With r the radius of a sphere and the distance it is to keep, d that of its centre from a solid or from another sphere's
surface, and b the buffer, p = max(r + b - d, 0). A row of the task has

    e = sqrt(sum p^2) where any p > b, that is where something touches, else 0,
    de/dt = -sum p n . v / e,

n the direction in which d grows and v the velocity of the centre. So residuals push as far as the buffer, and vanish
where nothing touches: poses are met to their tolerance however near the surroundings are. There is a row for the
surroundings of each group of spheres, and one for all pairs of groups.

Where all rows are zero the checker's finest spheres are clear, so that it finds the state free. A checker that asks
exact shapes where spheres touch finds more states free than have rows of zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.ik.engine.tasks import RANGE, TASKS
from kido.ik.tasks import Task
from kido.ik.tasks.kind import TaskKind
from kido.jit import Struct, all_positive, floats, inlined, integers, kernel, number, reference, view, where_positive
from kido.math.choices import larger, smaller
from kido.math.so3 import cross
from kido.planning.depths import solid_depth
from kido.planning.solids import box_gap, solid_gap
from kido.planning.tables import AXES_BOX, NODE, ROBOT, SCENE

if TYPE_CHECKING:
    from kido.planning.checker import CollisionChecker
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]
BUFFER = 0.01  # how far out of what they touch spheres are pushed [m]
WEIGHT = 3.0  # of the depth beside residuals of poses
SLACK = 1e-9  # by which clear is clear in spite of rounding [m]
DEPTH = 512  # pairs of spheres that wait at most


class CLEARANCE(Struct):
    robot = reference(ROBOT)
    scene = reference(SCENE)
    near = integers("near", doc="groups that can come near the surroundings")
    outer = floats(
        "spheres", unit="m", doc="radii, of spheres that are replaced by others such that they contain those"
    )
    waiting = integers("depth", 2, doc="pairs of spheres that are still to be looked at")
    buffer = number("m", doc="how far out of what they touch spheres are pushed")


@inlined
def centre_of(b, d, link, n):
    """World centre of sphere n of a link."""
    x, y, z = b.centre[n, 0], b.centre[n, 1], b.centre[n, 2]
    R, p = d.R, d.p
    return (
        R[link, 0] * x + R[link, 1] * y + R[link, 2] * z + p[link, 0],
        R[link, 3] * x + R[link, 4] * y + R[link, 5] * z + p[link, 1],
        R[link, 6] * x + R[link, 7] * y + R[link, 8] * z + p[link, 2],
    )


@inlined
def gap_of(s, m, x, y, z, r):
    """Positive where spheres are clear of node m."""
    gap = box_gap(s, m, x, y, z, r)
    kind = s.kind[m]
    if kind != NODE and kind != AXES_BOX and not all_positive(gap):
        gap = larger(gap, solid_gap(s, m, x, y, z, r))
    return gap


@kernel
def add_work(t, d, s, o, row, link, sign, fx, fy, fz, mx, my, mz):
    """Add sign times what a force and its moment about the world's origin do on each coordinate to a row of J."""
    i = link
    while i >= 0:
        cx, cy, cz = cross(d.p[i, 0], d.p[i, 1], d.p[i, 2], fx, fy, fz)
        cx, cy, cz = mx - cx, my - cy, mz - cz
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            c = s.column[k]
            if c >= 0:
                H = d.H
                work = cx * H[k, 0] + cy * H[k, 1] + cz * H[k, 2] + fx * H[k, 3] + fy * H[k, 4] + fz * H[k, 5]
                o.J[row, c] += (sign * s.ratio[k]) * work
        i = t.parent[i]


@kernel
def finish_row(o, row, total, most, buffer):
    """e, and J from the sum of p n . v that is there."""
    touching = most - buffer
    e = where_positive(touching, math.sqrt(total), 0.0 * total)
    o.e[row] = e
    scale = where_positive(touching, -1.0 / math.sqrt(total + 1e-300), 0.0 * total)
    for c in range(o.J.shape[1]):
        o.J[row, c] *= scale


@inlined
def size_of(s, m):
    """Longest edge of the box about node m."""
    return max(s.high[m, 0] - s.low[m, 0], max(s.high[m, 1] - s.low[m, 1], s.high[m, 2] - s.low[m, 2]))


@kernel
def surroundings_push(d, a, g):
    """Of group g against the surroundings: sum p^2, sum p n and its moment about the world's origin, largest p.

    Of a sphere and a box about others that touch the larger one is replaced by what it covers.
    """
    b, scene, stack = a.robot, a.scene, a.waiting
    link, keep = b.link[g], b.margin + a.buffer + SLACK
    zero = 0.0 * d.p[link, 0]
    total, fx, fy, fz, mx, my, mz, most = zero, zero, zero, zero, zero, zero, zero, zero
    n, m, depth, placed = b.first[g], 0, 0, -1
    x, y, z = zero, zero, zero
    while True:
        if placed != n:
            x, y, z = centre_of(b, d, link, n)
            placed = n
        leaf = b.skip[n] == n + 1
        r = (b.radius[n] if leaf else a.outer[n]) + keep
        gap = gap_of(scene, m, x, y, z, r)
        if not all_positive(gap):
            if scene.kind[m] == NODE and (leaf or size_of(scene, m) > 2.0 * r):
                stack[depth, 0], stack[depth, 1] = n, scene.skip[m + 1]
                m, depth = m + 1, depth + 1
                continue
            if not leaf:
                stack[depth, 0], stack[depth, 1] = b.skip[n + 1], m
                n, depth = n + 1, depth + 1
                continue
            distance, nx, ny, nz = solid_depth(scene, m, x, y, z)
            p = where_positive(gap, zero, larger(r - distance, zero))
            nx, ny, nz = p * nx, p * ny, p * nz
            cx, cy, cz = cross(x, y, z, nx, ny, nz)
            total += p * p
            fx += nx
            fy += ny
            fz += nz
            mx += cx
            my += cy
            mz += cz
            most = larger(most, p)
        if depth == 0:
            return total, fx, fy, fz, mx, my, mz, most
        depth -= 1
        n, m = stack[depth, 0], stack[depth, 1]


@kernel
def pair_push(d, a, k):
    """Of pair k of groups: sum p^2, sum p n and its moment about the world's origin, largest p.

    Of two spheres that touch the larger one is replaced by what it covers. A lane where they do not is clear of all
    that comes of these two, whatever other lanes look at: until what waited before them is taken up.
    """
    b, stack = a.robot, a.waiting
    g, h = b.pair[k, 0], b.pair[k, 1]
    link, other = b.link[g], b.link[h]
    keep = b.self_margin + SLACK
    zero = 0.0 * d.p[link, 0]
    total, fx, fy, fz, mx, my, mz, most = zero, zero, zero, zero, zero, zero, zero, zero
    n, m, depth, clear = b.first[g], b.first[h], 0, zero + DEPTH
    while True:
        ax, ay, az = centre_of(b, d, link, n)
        bx, by, bz = centre_of(b, d, other, m)
        x, y, z = ax - bx, ay - by, az - bz
        n_leaf, m_leaf = b.skip[n] == n + 1, b.skip[m] == m + 1
        r = b.radius[n] + b.radius[m] + keep
        if n_leaf and m_leaf:
            r += a.buffer
        d2 = x * x + y * y + z * z
        gap = where_positive(DEPTH - clear, 1.0 + zero, d2 - r * r)
        if not all_positive(gap):
            clear = where_positive(gap, smaller(clear, zero + depth), clear)
            if not n_leaf and (m_leaf or b.radius[n] >= b.radius[m]):
                stack[depth, 0], stack[depth, 1] = b.skip[n + 1], m
                n, depth = n + 1, depth + 1
                continue
            if not m_leaf:
                stack[depth, 0], stack[depth, 1] = n, b.skip[m + 1]
                m, depth = m + 1, depth + 1
                continue
            away = math.sqrt(d2 + 1e-300)
            p = where_positive(gap, zero, r - away)
            f = p / away
            x, y, z = f * x, f * y, f * z
            cx, cy, cz = cross(ax, ay, az, x, y, z)
            total += p * p
            fx += x
            fy += y
            fz += z
            mx += cx
            my += cy
            mz += cz
            most = larger(most, p)
        if depth == 0:
            return total, fx, fy, fz, mx, my, mz, most
        depth -= 1
        clear = where_positive(clear - depth, zero + DEPTH, clear)
        n, m = stack[depth, 0], stack[depth, 1]


@kernel
def clearance_residual(t, d, s, o, k):
    """A row of each group near the surroundings, and one of all pairs."""
    a = view(CLEARANCE, s.link[k])
    row, groups = s.first_row[k], a.near.shape[0]
    for i in range(groups):
        g = a.near[i]
        total, fx, fy, fz, mx, my, mz, most = surroundings_push(d, a, g)
        if not all_positive(a.buffer - most):
            add_work(t, d, s, o, row + i, a.robot.link[g], 1.0, fx, fy, fz, mx, my, mz)
            finish_row(o, row + i, total, most, a.buffer)
    row += groups
    b = a.robot
    zero = 0.0 * d.q[0]
    total, most = zero, zero
    for pair in range(b.pair.shape[0]):
        one, fx, fy, fz, mx, my, mz, p = pair_push(d, a, pair)
        if not all_positive(-p + 1e-300):
            add_work(t, d, s, o, row, b.link[b.pair[pair, 0]], 1.0, fx, fy, fz, mx, my, mz)
            add_work(t, d, s, o, row, b.link[b.pair[pair, 1]], -1.0, fx, fy, fz, mx, my, mz)
            total += one
            most = larger(most, p)
    finish_row(o, row, total, most, a.buffer)


def enclosing_radii(robot: ROBOT) -> Array:
    """Radii such that spheres which are replaced by others contain these."""
    centre, skip, found = np.array(robot.centre), np.array(robot.skip), np.array(robot.radius)
    for n in range(len(found) - 1, -1, -1):
        if skip[n] != n + 1:
            for child in (n + 1, int(skip[n + 1])):
                found[n] = max(found[n], np.linalg.norm(centre[child] - centre[n]) + found[child] + SLACK)
    return found


class ClearanceKind(TaskKind):
    """Staying clear of what a checker checks.

    Args:
        checker: with the spheres, the surroundings and the distances to keep.
    """

    what = "clearance"
    framed = False
    needs_node = False
    weighs_rows = True
    needs_all_links = True

    _callbacks = TaskKind("", clearance_residual)

    def __init__(self, checker: CollisionChecker):
        self.checker = checker
        self._residual, self._lanes = self._callbacks._residual, self._callbacks._lanes
        self._tables: WeakKeyDictionary[TASKS, CLEARANCE] = WeakKeyDictionary()

    def __reduce__(self) -> Any:
        return ClearanceKind, (self.checker,)

    def __deepcopy__(self, memo: dict[int, Any]) -> ClearanceKind:
        return self  # each table of tasks has its own work space

    def made_of(self) -> tuple[Any, ...]:
        check = self.checker.edge_table.check
        return check, check.scene

    def admits(self, positions: Array) -> NDArray[np.bool_]:
        return self.checker.states_are_free(positions[:, self.checker.columns])

    def check(self, skeleton: Skeleton) -> None:
        if skeleton is not self.checker.skeleton:
            raise ModelError(
                f"clearance: the checker is of skeleton {self.checker.skeleton.name!r}, not {skeleton.name!r}"
            )

    def rows(self, skeleton: Skeleton, task: Task, columns: int) -> int:
        return len(self._near()) + 1

    def _near(self) -> NDArray[np.int64]:
        near = self.checker.edge_table.check.near
        return near[near >= 0]

    def write(self, skeleton: Skeleton, made: TASKS, k: int, rows: slice, task: Task) -> None:
        check, near = self.checker.edge_table.check, self._near()
        outer = enclosing_radii(check.robot)
        table = CLEARANCE(near=near, depth=DEPTH, outer=outer, robot=check.robot, scene=check.scene, buffer=BUFFER)
        self._tables[made] = table
        made.link[k] = table.address
        made.weight[rows], made.tolerance[rows] = task.weights, BUFFER
        made.row_kind[rows] = RANGE

    def words(self, task: Task, row: int, dof_names: list[str]) -> str:
        return f"(clearance), row {row}"


def clearance_task(checker: CollisionChecker) -> Task:
    """The task that a checker finds nothing to touch."""
    return Task(ClearanceKind(checker), weights=np.array(WEIGHT))
