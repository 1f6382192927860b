"""Changes of coordinates that serve tasks by their priority, within limits.

Tasks of a level share what the levels above leave: their changes lie in the null space N of all Jacobians above,

    g_l = g_(l-1) + N_(l-1) (J_l N_(l-1))^# (e_l - J_l g_(l-1)),   N_l = N_(l-1) - (J_l N_(l-1))^+ (J_l N_(l-1))

where # is the inverse that the tasks' gradient methods make, and + the undamped one: whatever is done below, the levels
above are not disturbed, to first order. With weights W the change of a task is W N_W (J W N_W)^# (e - J g), N_W the
null space of all Jacobians above times W: the smallest |W^-1 g|, and what has no weight does not move.

Sources: Siciliano and Slotine, "A general framework for managing multiple tasks in highly redundant robotic systems"
(1991), eqs. 8-11; Baerlocher and Boulic, "An inverse kinematics architecture enforcing an arbitrary number of strict
priority levels" (2004), section 4 (limits); DART report, section 2.8.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import StateError
from kido.ik.gradient_method import GradientMethod, JacobianMethod, clamped

Array = NDArray[np.float64]

_CUTOFF = 1e-9  # singular values below this share of the largest entry span nothing
_ROUNDS = 8  # how often limits that a step would break are taken up
MAX_LEVEL_STEP = 0.5  # [rad, m] of a coordinate by the Jacobian methods of a level: beyond, errors are shortened first


@dataclass
class TaskRows:
    """What a task wants at a pose.

    Attributes:
        method: its gradient method.
        dofs: columns of the owner that are its coordinates.
        error: e (6,).
        jacobian: J (6, columns of the owner).
        used: components (6,) that can be other than zero.
        margins: inequalities (k,) that hold.
        margin_jacobian: their derivatives (k, columns of the owner).
    """

    method: GradientMethod
    dofs: NDArray[np.int64]
    error: Array
    jacobian: Array
    used: NDArray[np.bool_]
    margins: Array
    margin_jacobian: Array


def projector(N: Array, J: Array) -> Array:
    """N less what J sees of it: the null space of J within that of N, as an orthogonal projector (n, n)."""
    A = J @ N
    if not A.size:
        return N
    _, s, V = np.linalg.svd(A, full_matrices=False)
    V = V[s > _CUTOFF * max(np.abs(J).max(), 1e-300)]
    return N - V.T @ V


def null_spaces(levels: Sequence[Sequence[TaskRows]], n: int) -> list[Array]:
    """Projectors (n, n): the first is 1, each next one the null space of all levels so far."""
    found = [np.eye(n)]
    for level in levels:
        N = found[-1]
        found.append(projector(N, np.concatenate([np.zeros((0, n)), *(t.jacobian for t in level)])))
    return found


def prioritized_change(levels: Sequence[Sequence[TaskRows]], lower: Array, upper: Array) -> Array:
    """A change g (n,) that takes errors away; positions move by -g.

    Args:
        levels: tasks by level, the first most important.
        lower, upper: (n,) how far each coordinate can still move.
    """
    n = len(lower)
    held = np.full(n, np.nan)  # changes of coordinates that are taken to their limits
    kept: list[NDArray[np.bool_]] = [np.zeros(len(t.margins), bool) for level in levels for t in level]
    shares: dict[Any, float] = {}
    g = _change(levels, held, kept, shares)
    for _ in range(_ROUNDS):
        more = False
        broken = np.isnan(held) & ((-g < lower - 1e-12) | (-g > upper + 1e-12))
        if broken.any():
            held[broken] = -np.clip(-g, lower, upper)[broken]
            more = True
        for k, task in enumerate(task for level in levels for task in level):
            if len(task.margins):
                left = task.margins - task.margin_jacobian @ g < -1e-12
                more = more or bool((left & ~kept[k]).any())
                kept[k] |= left
        if not more:
            break
        g = _change(levels, held, kept, shares)
    return -np.clip(-g, lower, upper)


def _change(
    levels: Sequence[Sequence[TaskRows]], held: Array, kept: list[NDArray[np.bool_]], shares: dict[Any, float]
) -> Array:
    """g, with some coordinates held and some margins kept.

    shares: by which the errors of each group of tasks are shortened; filled the first time.
    """
    free = np.isnan(held)
    g = np.where(free, 0.0, held)
    whole = N = np.diag(free.astype(float))
    above = np.zeros((0, len(g)))
    k = 0
    for number, level in enumerate(levels):
        start = g.copy()
        rows: list[Array] = []
        groups: dict[tuple, tuple[JacobianMethod, NDArray[np.int64], list[Array], list[Array]]] = {}
        for task in level:
            guard = task.margin_jacobian[kept[k]]
            J, e = np.concatenate([task.jacobian, guard]), np.concatenate([task.error, task.margins[kept[k]]])
            k += 1
            rows.append(J)
            if isinstance(task.method, JacobianMethod):
                _, _, jacobians, errors = groups.setdefault(_key(task), (task.method, task.dofs, [], []))
                jacobians.append(J)
                errors.append(e)
            else:
                part = np.asarray(task.method.compute_gradient(task.error), dtype=float)
                if part.shape != task.dofs.shape or not np.isfinite(part).all():
                    raise StateError(
                        f"{type(task.method).__name__}: compute_gradient: expected {task.dofs.size} finite numbers, "
                        f"got {part!r}"
                    )
                own = np.zeros(len(g))
                own[task.dofs] = part
                g += N @ own
        for key, (method, dofs, jacobians, errors) in groups.items():
            J, e = np.concatenate(jacobians), np.concatenate(errors)
            share = shares.get((number, key), 1.0)
            W, P = np.ones(len(g)), N
            if method.component_weights is not None:
                W[dofs] = method.weights_of(len(dofs))
                P = projector(whole, above * W)
            part = method.step_within(P, W, J, share * e - J @ start)
            if (number, key) not in shares:
                size = float(np.abs(part).max(initial=0.0))
                shares[number, key] = share = min(1.0, MAX_LEVEL_STEP / max(size, 1e-300))
                part *= share
            g += clamped(part, MAX_LEVEL_STEP)
        if number < len(levels) - 1:
            N = projector(N, np.concatenate([np.zeros((0, len(g))), *rows]))
            above = np.concatenate([above, *rows])
    return g


def _key(task: TaskRows) -> tuple:
    """Equal for tasks that are solved together: those of equal methods; weights are by coordinate, so of equal dofs."""
    method = task.method
    assert isinstance(method, JacobianMethod)
    return method.settings_key() if method.component_weights is None else (*method.settings_key(), task.dofs.tobytes())
