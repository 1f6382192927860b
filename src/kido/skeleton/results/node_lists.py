"""Several points on nodes at once, as kernels of the operational space read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.jit import Struct
from kido.math.transform import as_numbers
from kido.skeleton.arrays import Array
from kido.skeleton.frames.jacobian_node import JacobianNode
from kido.skeleton.results.impulses import SkeletonImpulses
from kido.skeleton.results.selections import NOTHING
from kido.skeleton.state.subsets import Dofs, indices_of
from kido.tree.nodes import NODES

_MAX_LISTS = 200  # that are kept
_BODIES = ("BodyNode", "SoftBodyNode")  # nodes whose place on their link is structure


class SkeletonNodeLists(SkeletonImpulses):
    """Lists of nodes, and coordinates that do not give way, as arguments of methods."""

    def _listed(self, nodes: Any) -> list[Any]:
        if isinstance(nodes, JacobianNode | str | int | np.integer):
            return [nodes]
        if not isinstance(nodes, list | tuple):
            raise ModelError(f"skeleton {self.name!r}: nodes: expected a node or a list of nodes, got {nodes!r}")
        return list(nodes)

    def _nodes(self, nodes: Any, offsets: ArrayLike | None, meet: bool = True) -> Struct:
        """A `NODES` container of points; it may be shared by lists on the same links, so it serves one call.

        Args:
            nodes, offsets: the points.
            meet: whether it says where paths of points meet, which compliances need.

        Raises:
            ModelError: no nodes, or of another skeleton; offsets that are not three finite numbers for each.
        """
        if offsets is None:
            try:
                return self._selections["nodes of bodies", meet, *nodes]
            except (KeyError, TypeError):  # one node, its first time, or something that is none
                pass
        listed = self._listed(nodes)
        self._compiled()
        links, count = self._links, len(listed)
        points = np.zeros((count, 3)) if offsets is None else self._offsets(offsets, count)
        found = []
        for row, item in enumerate(listed):
            body, pose = self._node(item)._carrier
            index = body._index
            link = int(links.of_body[index])  # type: ignore[union-attr]
            found.append(link)
            if pose is not None:
                points[row] = pose[:3, :3] @ points[row] + pose[:3, 3]
            if index != self._top(link):
                X = links.offset[index]  # type: ignore[union-attr]
                points[row] = X[:3, :3] @ points[row] + X[:3, 3]
        if offsets is None and all(type(item).__name__ in _BODIES for item in listed):
            made = self._new_nodes(("nodes of bodies", meet, *listed), tuple(found), meet)
        else:
            key = "nodes", meet, tuple(found)
            made = self._selections.get(key) or self._new_nodes(key, tuple(found), meet)
        made.point[:] = points
        return made

    def _offsets(self, offsets: ArrayLike, count: int) -> Array:
        try:
            given = as_numbers(offsets)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if given.shape == (3,) and count == 1:
            given = given[None]
        if given.shape != (count, 3) or not np.isfinite(given).all():
            raise ModelError(
                f"skeleton {self.name!r}: offsets: expected three finite numbers [m] for each of {count} nodes, "
                f"got {offsets!r}"
            )
        return np.array(given, float)

    def _new_nodes(self, key: tuple[Any, ...], links: tuple[int, ...], meet: bool) -> Struct:
        kept = [k for k in self._selections if isinstance(k, tuple) and k[0] in ("nodes", "nodes of bodies")]
        if len(kept) >= _MAX_LISTS:
            for old in kept:
                del self._selections[old]
        made = nodes_container(self._tree.parent, links, meet)  # type: ignore[union-attr]
        self._selections[key] = made
        return made

    def _all_links(self) -> Struct:
        """A container without nodes whose path holds all links."""
        made = self._selections.get("all links")
        if made is None:
            parent = self._tree.parent  # type: ignore[union-attr]
            made = nodes_container(parent, (), False, range(len(parent)))
            self._selections["all links"] = made
        return made

    def _flags(self, prescribed: Dofs | None) -> Array:
        """1.0 for coordinates that do not give way, (0,) for none; prescribed ones are named as for `get_positions`.

        Raises:
            NameLookupError: there is no such coordinate.
        """
        if prescribed is None:
            return NOTHING
        flags = np.zeros(len(self._dofs))
        flags[indices_of(self, prescribed)] = 1.0
        return flags


def nodes_container(parent: np.ndarray, links: tuple[int, ...], meet: bool, path: Any = ()) -> Struct:
    """Paths of points on links of a tree, and where those of two points meet.

    Args:
        parent: of each link, -1 for a root.
        links: link of each point.
        meet: whether paths of points are followed; else they are the points alone.
        path: links whose compliance is made, parents first, if paths are not followed.
    """
    if not meet:
        return NODES(
            bodies=len(parent),
            nodes=len(links),
            rows=0,
            slots=0,
            link=np.array(links, np.int64),
            path=np.array(path, np.int64),
            slot_link=np.zeros(0, np.int64),
            meeting=np.zeros((0, 0), np.int64),
            slot=np.zeros(len(links) + 1, np.int64),
        )
    upwards = []
    for link in links:
        chain = [link]
        while parent[chain[-1]] >= 0:
            chain.append(int(parent[chain[-1]]))
        upwards.append(chain)
    count = len(links)
    meets = np.full((count, count), -1, np.int64)
    sets = [set(chain) for chain in upwards]
    for i, chain in enumerate(upwards):
        for j in range(i + 1):
            meets[i, j] = meets[j, i] = next((link for link in chain if link in sets[j]), -1)
    first, stops = [0], []
    meeting = np.full((count, count), -1, np.int64)
    for i, chain in enumerate(upwards):
        own = [link for link in chain if link == links[i] or link in meets[i]]
        for j in range(count):
            if meets[i, j] >= 0:
                meeting[i, j] = first[-1] + own.index(int(meets[i, j]))
        stops += own
        first.append(len(stops))
    above = sorted({link for chain in upwards for link in chain})
    return NODES(
        bodies=len(parent),
        nodes=count,
        rows=6 * count,
        slots=len(stops),
        link=np.array(links, np.int64),
        path=np.array(above, np.int64),
        slot=np.array(first, np.int64),
        slot_link=np.array(stops, np.int64),
        meeting=meeting,
    )
