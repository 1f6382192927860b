"""Motions of a skeleton that bring its points to where markers are seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import NameLookupError, StateError
from kido.ik import IkSolver, Task
from kido.skeleton import Marker

if TYPE_CHECKING:
    from kido.motions.markers import MarkerMotion
    from kido.skeleton import Skeleton

__all__ = ["fit", "point"]

ATTEMPTS = 30  # from how many positions the first frame is searched for; others go on from the one before
LEAST = 3  # markers in the first frame


def point(skeleton: Skeleton, name: str) -> Any:
    """The marker of a name, or the body if there is none, whose origin is meant.

    Raises:
        NameLookupError: there is neither.
    """
    markers = {node.name: node for node in skeleton.nodes(Marker)}
    bodies = {body.name: body for body in skeleton.bodies}
    if name not in markers and name not in bodies:
        raise NameLookupError(f"marker or body of skeleton '{skeleton.name}'", name, [*markers, *bodies])
    return markers[name] if name in markers else bodies[name]


def fit(
    skeleton: Skeleton, markers: MarkerMotion, names: Mapping[str, str] | None, start: ArrayLike | None
) -> NDArray[np.float64]:
    """Positions (T, dofs) whose points are nearest to the markers, by least squares, frame after frame.

    Raises:
        StateError: fewer than three markers of the skeleton, or of the first frame.
        NameLookupError: `names` has one that is not there.
    """
    if names is None:
        own = {node.name for node in skeleton.nodes(Marker)}
        names = {name: name.rpartition(":")[2] for name in markers.names if name.rpartition(":")[2] in own}
    places = [markers[name] for name in names]
    nodes = [point(skeleton, name) for name in names.values()]
    expected = f"expected at least {LEAST}"
    if len(nodes) < LEAST:
        known = ", ".join(node.name for node in skeleton.nodes(Marker)) or "none"
        raise StateError(f"motion: {len(nodes)} markers are on skeleton '{skeleton.name}' ({known}); {expected}")
    seen = ~np.isnan(np.array(places).sum(axis=2))  # (markers, T)
    if (first := int(seen[:, 0].sum())) < LEAST:
        raise StateError(f"motion: {first} of {len(nodes)} markers are seen in the first frame; {expected}")
    solvers: dict[tuple[bytes, bool], IkSolver] = {}
    X = np.tile(np.eye(4), (len(nodes), 1, 1))
    positions = np.zeros((markers.num_frames, skeleton.num_dofs))
    q = np.array(skeleton.positions if start is None else start, dtype=float)
    for frame in range(markers.num_frames):
        there = np.flatnonzero(seen[:, frame])
        if len(there):
            key = (seen[:, frame].tobytes(), frame == 0)
            if key not in solvers:
                tasks = [Task.position(nodes[k], np.eye(4)) for k in there]
                solvers[key] = IkSolver(tasks, attempts=ATTEMPTS if frame == 0 else 1)
            X[there, :3, 3] = [places[k][frame] for k in there]
            q = np.array(solvers[key].solve(X[there], start=q).positions)
        positions[frame] = q
    return positions
