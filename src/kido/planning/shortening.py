"""Shorter and smoother paths: shortcuts between points of a path, and curves near it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from kido.errors import StateError
from kido.jit import entry, kernel, view
from kido.planning.arguments import as_path, as_whole
from kido.planning.checker import CollisionChecker
from kido.planning.curves import CUBIC, SpaceSpline, clamped_knots
from kido.planning.errors import PlanningError
from kido.planning.path import Path
from kido.planning.space import go, length_of, way_between
from kido.planning.tables import EDGE

Array = NDArray[np.float64]
DIVISIONS = 10  # times that pieces are halved until a smooth curve near them is free
DENSITY = 4.0  # states of a curve that are checked for each that is along an edge
GAIN = 0.01  # share of the length that a shortcut must gain to count


@kernel
def distance_between(e, path, i, j):
    """Length of `way`, which leads from state i to state j."""
    for k in range(path.shape[1]):
        e.start[k], e.end[k] = path[i, k], path[j, k]
    way_between(e.kind, e.start, e.end, e.way)
    return length_of(e.way)


@kernel
def is_free_between(e, path, i, j):
    for k in range(path.shape[1]):
        e.start[k], e.end[k] = path[i, k], path[j, k]
    return e.run(e) == 0


@kernel
def remove_states(path, first, last, count):
    """Remove states first..last-1; returns how many are left."""
    for i in range(last, count):
        for k in range(path.shape[1]):
            path[first + i - last, k] = path[i, k]
    return count - (last - first)


@kernel
def skip_states(e, path, count):
    """Leave out states without which the path is free as well, as many at a time as possible."""
    i = 0
    while i < count - 2:
        j = count - 1
        while j > i + 1 and not is_free_between(e, path, i, j):
            j -= 1
        count = remove_states(path, i + 1, j, count)
        i += 1
    return count


@kernel
def place_at(e, path, count, along, row):
    """Write the state at a distance along the path to a row; returns the piece that it is on."""
    i = 0
    while i < count - 2:
        length = distance_between(e, path, i, i + 1)
        if along <= length:
            break
        along -= length
        i += 1
    length = distance_between(e, path, i, i + 1)
    share = min(1.0, along / length) if length > 0.0 else 0.0
    go(e.kind, e.start, e.way, share, e.end)
    for k in range(path.shape[1]):
        path[row, k] = e.end[k]
    return i


@entry("i8(i8,f8[:,::1],i8,f8[:,::1],i8)")
def shorten(edge, path, count, draws, patience):
    """Shortcuts between states at random places of a path.

    Args:
        edge: what checks edges.
        path: states (n, columns), of which the first `count` are the path; the last two rows are work space.
        count: how many they are.
        draws: numbers from 0 to 1 (rounds, 2).
        patience: shortcuts in a row that may gain next to nothing.

    Returns:
        How many states the path has then.
    """
    e = view(EDGE, edge)
    count = skip_states(e, path, count)
    a, b, idle = path.shape[0] - 2, path.shape[0] - 1, 0
    total = 0.0
    for i in range(count - 1):
        total += distance_between(e, path, i, i + 1)
    for n in range(draws.shape[0]):
        if count < 3:
            break
        low, high = min(draws[n, 0], draws[n, 1]), max(draws[n, 0], draws[n, 1])
        i, j = place_at(e, path, count, low * total, a), place_at(e, path, count, high * total, b)
        idle += 1
        if idle > patience:
            break
        if i == j or not is_free_between(e, path, a, b):
            continue
        if j == i + 1:  # one state goes, two come
            if count + 3 > path.shape[0]:
                continue
            for m in range(count - 1, j - 1, -1):
                for k in range(path.shape[1]):
                    path[m + 1, k] = path[m, k]
            count += 1
        else:
            count = remove_states(path, i + 3, j + 1, count)
        for k in range(path.shape[1]):
            path[i + 1, k], path[i + 2, k] = path[a, k], path[b, k]
        before = total
        total = 0.0
        for m in range(count - 1):
            total += distance_between(e, path, m, m + 1)
        if total < (1.0 - GAIN) * before:
            idle = 0
    return skip_states(e, path, count)


def shortened(checker: CollisionChecker, path: Path, rounds: int = 100, seed: int = 0, patience: int = 15) -> Path:
    """A shorter path between the same ends, by shortcuts; the same for the same seed.

    Args:
        checker: what is free.
        path: to be shortened; it stays as it is.
        rounds: shortcuts that are tried at most.
        seed: of their places.
        patience: shortcuts in a row that may gain less than a hundredth of the length; then it is enough.

    Raises:
        StateError: no path, or numbers that are none.
    """
    path, rounds = as_path(path, "shortened"), as_whole(rounds, "rounds", 0)
    draws = np.random.default_rng(as_whole(seed, "seed", 0)).random((rounds, 2))
    states = np.zeros((len(path) + rounds + 4, checker.num_dofs))
    states[: len(path)] = path.states
    with checker.turn:
        count = shorten(checker.edge_address, states, len(path), draws, as_whole(patience, "patience", 1))
    return Path(states[:count], path.dof_names, path.seconds, path.iterations, path.checked_states, checker.space)


def smooth_curve(checker: CollisionChecker, path: Path, divisions: int = 2) -> BSpline | SpaceSpline:
    """A curve q(s), s from 0 to 1, near a path, with continuous second derivatives, free of collisions.

    It is the cubic B-spline whose control points are the path's states and points that divide its pieces: it rounds the
    corners between the nearest of these. Pieces are divided until it is free, at states as far apart as `resolution`
    wants along edges, and four times as close. With rotations it is a `SpaceSpline`.

    Args:
        checker: what is free.
        path: at least two states.
        divisions: times that pieces are halved at least.

    Raises:
        PlanningError: no such curve is free, as where the path touches something at a corner.
    """
    if len(as_path(path, "smooth_curve")) < 2:
        raise StateError(f"smooth_curve: expected a path of at least two states, got {path!r}")
    for number in range(as_whole(divisions, "divisions", 0), DIVISIONS):
        control = path.at_shares_of_pieces(2**number)
        if checker.space.rotations:
            curve = SpaceSpline(checker.space, control)
        else:
            curve = BSpline(clamped_knots(len(control)), control, CUBIC)
        states = curve(np.linspace(0.0, 1.0, 2 + int(DENSITY * checker.resolution * path.length)))
        if checker.states_are_free(states).all() and (
            not checker.certified or checker.edges_are_free(states[:-1], states[1:]).all()
        ):
            return curve
    raise PlanningError(f"no smooth curve near {path!r} is free of collisions; plan with a margin")
