"""What a result is about: a point on a node, a list of bodies; and calls with a given state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.jit import Struct
from kido.math.transform import as_numbers, as_vector, number_or_nan
from kido.quantities.branches import columns_workspace, derivatives_workspace, solution_rows
from kido.quantities.jacobians import world_transform
from kido.skeleton.frames.frame import ORIGIN, Frame
from kido.skeleton.nodes.node import JacobianNode
from kido.skeleton.state.subsets import Dofs, indices_of
from kido.skeleton.state.workspace import Workspace
from kido.tree import data_for
from kido.tree.workspace import MEMBERS, NODES, PATH, SUBSET

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.compiler import Links
    from kido.skeleton.skeleton import Skeleton

Array = NDArray[np.float64]

Bodies = Iterable[Any] | None  # BodyNodes, their names or indices; None: all
_MAX_LISTS = 2000  # results for lists of bodies that are kept
NOTHING = np.zeros(0)  # no flags: all coordinates are free
_MAX_NODE_LISTS = 200  # lists of points that are kept
_BODIES = ("BodyNode", "SoftBodyNode")  # nodes whose place on their link is structure
Place = tuple[int, float, float, float]  # address of the path to a link, and a point in the link's axes


class Selections:
    """Paths to bodies and choices of bodies as kernels read them, kept until the structure or a property changes.

    They have work space of kernels in them, so that each state has its own.
    """

    skeleton: Skeleton
    name: str
    links: Links
    tree: Any
    data: Any
    selections: dict[Any, Any]
    kept: dict[Any, Any]
    ready: Workspace | None

    if TYPE_CHECKING:

        def compiled(self) -> Any: ...
        def prepare(self) -> Workspace: ...
        def world_transform(self, node: Any) -> Array: ...

    # Bodies ----------------------------------------------------------------------------------------------

    def indices_of(self, bodies: Bodies) -> tuple[int, ...] | None:
        """Indices of bodies of this skeleton, sorted, each once; None for all.

        Raises:
            ModelError: no list, or a body of another skeleton.
            NameLookupError: no body of that name or index.
        """
        if bodies is None:
            return None
        if isinstance(bodies, JacobianNode | str | int):
            bodies = (bodies,)
        if not isinstance(bodies, Iterable):
            raise ModelError(f"skeleton {self.name!r}: bodies: expected a list of bodies, got {bodies!r}")
        given = tuple(bodies)
        try:
            known = self.selections.get(("bodies", given))
        except TypeError:  # something that cannot be a key, and no body either
            known = None
        if known is not None:
            return known
        found = set()
        for item in given:
            body: Any = self.skeleton.body(item) if isinstance(item, str | int | np.integer) else item
            if getattr(body, "skeleton", None) is not self.skeleton or not hasattr(body, "_index"):
                raise ModelError(f"skeleton {self.name!r}: bodies: {body!r} is no body of it")
            found.add(body._index)
        self.compiled()
        result = tuple(sorted(found))
        self._keep(("bodies", given), result)
        return result

    def _keep(self, key: tuple[str, Any], made: Any) -> None:
        """Keep what belongs to a list of bodies; of lists there may be any number, so earlier ones go."""
        table = self.selections
        count = table.get("lists kept", 0) + 1
        if count > _MAX_LISTS:
            old = [
                k
                for k in table
                if isinstance(k, tuple) and k[0] in ("bodies", "subset", "members", "members of") and k[1] is not None
            ]
            self.kept.clear()  # results are known by the addresses of what they are of
            table["retired"] = [table.pop(k) for k in old]  # the call that is going on may hold their addresses
            count = 1
        table["lists kept"] = count
        table[key] = made

    def subset(self, bodies: Bodies) -> int:
        """Address of the inertias of chosen bodies by link."""
        return self.inertias_of(bodies).address

    def inertias_of(self, bodies: Bodies) -> Any:
        """Inertias of chosen bodies by link, a `SUBSET`."""
        key = ("subset", None if bodies is None else self.indices_of(bodies))
        return self.selections.get(key) or self._new_subset(key)

    def _new_subset(self, key: tuple[str, tuple[int, ...] | None]) -> Struct:
        self.compiled()
        links = self.links
        made = SUBSET(bodies=len(links.top))
        if key[1] is None:
            tree: Any = self.tree
            made.whole = 1
            made.inertia[:] = np.column_stack([tree.mass, tree.mass[:, None] * tree.com, tree.inertia])
            made.springs[:] = 1
            self.selections[key] = made
            return made
        bodies = self.skeleton.bodies
        for index in key[1]:
            body = bodies[index]
            link, X = int(links.of_body[index]), links.offset[index]
            own = body.present_inertia if index == self._top(link) else body.present_inertia.transformed(X)
            made.inertia[link] += parameters_of(own)
            if index == self._top(link):
                made.springs[link] = 1
        self._keep(key, made)
        return made

    def _top(self, link: int) -> int:
        return self.links.top[link]._index

    def members(self, bodies: Bodies = None) -> int:
        """Address of chosen bodies, each with its link and its own inertia."""
        listed = ("members of", tuple(bodies)) if type(bodies) is list else None
        try:
            return self.selections[listed].address
        except (KeyError, TypeError):  # no list, its first time, or no bodies
            pass
        key = ("members", self.indices_of(bodies))
        made = self.selections.get(key) or self._new_members(key)
        if listed:
            self._keep(listed, made)
        return made.address

    def _new_members(self, key: tuple[str, tuple[int, ...] | None]) -> Struct:
        self.compiled()
        links = self.links
        bodies = self.skeleton.bodies
        chosen = list(range(len(bodies)) if key[1] is None else key[1])
        made = MEMBERS(members=len(chosen))
        for row, index in enumerate(chosen):
            body = bodies[index]
            made.parent[row] = -1 if body.parent is None else body.parent._index
            made.link[row] = links.of_body[index]
            made.pose[row] = links.offset[index, :3].ravel()
            made.inertia[row] = parameters_of(body.present_inertia)
        if key[1] is None:
            self.selections[key] = made
        else:
            self._keep(key, made)
        return made

    def columns(self) -> int:
        """Address of the workspace for all columns of a matrix."""
        w = self.ready or self.prepare()
        made = self.selections.get("columns")
        if made is None:
            made = self.selections["columns"] = columns_workspace(self.tree)
        w.columns = made.address
        return made.address

    # Points on nodes -------------------------------------------------------------------------------------

    def node(self, node: Any) -> JacobianNode:
        """A node of this skeleton, or a body by name or index."""
        if isinstance(node, str | int | np.integer):
            return self.skeleton.body(node)
        if not isinstance(node, JacobianNode):
            raise ModelError(f"skeleton {self.name!r}: expected a node that rides on one of its bodies, got {node!r}")
        if node._carrier[0].skeleton is not self.skeleton:
            body = node._carrier[0]
            raise ModelError(f"skeleton {self.name!r}: {node!r} rides on skeleton {body.skeleton.name!r}")
        return node

    def carried_by(self, node: Any) -> tuple[BodyNode, Array | None]:
        """The body that a node rides on, and its 4x4 pose there; None for the body's own frame."""
        return self.node(node)._carrier

    def place_of(self, node: Any, offset: ArrayLike = ORIGIN) -> Place:
        """Path to the link of a node, and the point at `offset` from the node's origin, in the link's axes."""
        w = self.ready or self.prepare()
        if offset is ORIGIN:
            try:
                return w.places[node]
            except (TypeError, KeyError):  # no node, or its first time
                pass
        node = self.node(node)
        body, pose = node._carrier
        self.compiled()
        point = np.zeros(3) if offset is ORIGIN else as_vector(offset, f"{node!r}: offset")
        if pose is not None:
            point = pose[:3, :3] @ point + pose[:3, 3]
        links, index = self.links, body._index
        link = int(links.of_body[index])
        path = self._path_to(index)
        if index != self._top(link):
            X = links.offset[index]
            point = X[:3, :3] @ point + X[:3, 3]
        place = path.address, float(point[0]), float(point[1]), float(point[2])
        if offset is ORIGIN and pose is None:
            w.places[node] = place
        return place

    def _path_to(self, index: int) -> Struct:
        """The links from a root to the one that carries a body."""
        made = self.selections.get(("path", index))
        if made is None:
            self.compiled()
            above, upwards, i = self.tree.parent, [], int(self.links.of_body[index])
            while i >= 0:
                upwards.append(i)
                i = int(above[i])
            made = self.selections["path", index] = PATH(body=np.array(upwards[::-1], np.int64), member=index)
        return made

    def carrier_of(self, node: Any) -> tuple[int, Array | None]:
        """Path to the body that a node rides on, and its 4x4 pose there; None for the body's own frame."""
        w, (body, pose) = self.ready or self.prepare(), self.node(node)._carrier
        found = self._path_to(body.index).address, pose
        if pose is None:
            w.carriers[node] = found
        return found

    def dependent_dofs_of(self, body: BodyNode) -> NDArray[np.intp]:
        """Indices of the coordinates that move a body, ascending."""
        self.compiled()
        path = self._path_to(body.index)
        first = self.tree.first_dof
        parts = [np.arange(int(first[i]), int(first[i + 1])) for i in path.body]
        return np.concatenate(parts).astype(np.intp)

    def point_of_world(self, point: ArrayLike) -> tuple[float, float, float]:
        """Three finite numbers."""
        x, y, z = as_vector(point, f"skeleton {self.name!r}: about").tolist()
        return x, y, z

    def axes_of(self, frame: Any, positions: ArrayLike | None = None) -> Array:
        """Rotation from a frame's axes to the world's; of a node of this skeleton in this state, or at positions."""
        if not isinstance(frame, Frame):
            raise ModelError(f"skeleton {self.name!r}: in_coordinates_of: expected a frame, got {frame!r}")
        if isinstance(frame, JacobianNode) and frame._carrier[0].skeleton is self.skeleton:
            if positions is not None:
                return world_transform(self, positions, frame)[:3, :3]
            if self is not self.skeleton.current_state:
                return self.world_transform(frame)[:3, :3]
        return frame.world_transform[:3, :3]

    def turned(self, J: Array, frame: Any, positions: ArrayLike | None = None) -> Array:
        """Rows of vectors (3 or 6, n) from world axes into a frame's, see `axes_of`."""
        return turned(J, self.axes_of(frame, positions))

    # Numbers and workspaces ------------------------------------------------------------------------------

    def dof_indices(self, dofs: Dofs) -> NDArray[np.int64]:
        """Indices of coordinates, as `get_positions` takes them."""
        return indices_of(self.skeleton, dofs)

    def number_of(self, bodies: Bodies) -> int:
        """How many bodies are chosen."""
        return self.skeleton.num_bodies if bodies is None else len(self.indices_of(bodies) or ())

    def mass_of(self, bodies: Bodies) -> float:
        """Their mass [kg]."""
        chosen, own = self.indices_of(bodies), self.skeleton.bodies
        return float(sum(b.inertia.mass for b in (own if chosen is None else map(own.__getitem__, chosen))))

    def step_of(self, time_step: float) -> float:
        """A time step [s], checked."""
        h = number_or_nan(time_step)
        if not 0.0 <= h < np.inf:
            raise ModelError(f"skeleton {self.name!r}: time_step: expected a number not below 0 [s], got {time_step!r}")
        return h

    def derivation(self) -> int:
        """Address of the workspace of derivatives that fits the compiled tree."""
        w = self.ready or self.prepare()
        work = self.selections.get("derivatives")
        if work is None:
            work = derivatives_workspace(self.tree)
            self.selections["derivative rows"] = solution_rows(work)
            self.selections["derivatives"] = work
        w.derivation = work.address
        return work.address

    def loaded(self) -> int:
        """Address of data for calls that are given this state with its loads; all but these is their own."""
        w, d = self.ready or self.prepare(), self.data
        made = self.selections["loaded"] = data_for(self.tree, external=d.external, has_external=d.has_external)
        w.loaded, w.loaded_udot = made.address, made.udot
        return made.address

    # Lists of points --------------------------------------------------------------------------------------

    def listed(self, nodes: Any) -> list[Any]:
        """A node, or nodes, as a list."""
        if isinstance(nodes, JacobianNode | str | int | np.integer):
            return [nodes]
        if not isinstance(nodes, list | tuple):
            raise ModelError(f"skeleton {self.name!r}: nodes: expected a node or a list of nodes, got {nodes!r}")
        return list(nodes)

    def nodes(self, nodes: Any, offsets: ArrayLike | None, meet: bool = True) -> Struct:
        """A `NODES` container of points; it may be shared by lists on the same links, so it serves one call.

        Args:
            nodes, offsets: the points.
            meet: whether it says where paths of points meet, which compliances need.

        Raises:
            ModelError: no nodes, or of another skeleton; offsets that are not three finite numbers for each.
        """
        if offsets is None:
            try:
                return self.selections["nodes of bodies", meet, *nodes]
            except (KeyError, TypeError):  # one node, its first time, or something that is none
                pass
        listed = self.listed(nodes)
        self.compiled()
        links, count = self.links, len(listed)
        points = np.zeros((count, 3)) if offsets is None else self.offsets(offsets, count)
        found = []
        for row, item in enumerate(listed):
            body, pose = self.node(item)._carrier
            index = body._index
            link = int(links.of_body[index])
            found.append(link)
            if pose is not None:
                points[row] = pose[:3, :3] @ points[row] + pose[:3, 3]
            if index != self._top(link):
                X = links.offset[index]
                points[row] = X[:3, :3] @ points[row] + X[:3, 3]
        if offsets is None and all(type(item).__name__ in _BODIES for item in listed):
            made = self._new_nodes(("nodes of bodies", meet, *listed), tuple(found), meet)
        else:
            key = "nodes", meet, tuple(found)
            made = self.selections.get(key) or self._new_nodes(key, tuple(found), meet)
        made.point[:] = points
        return made

    def offsets(self, offsets: ArrayLike, count: int) -> Array:
        """Points (count, 3) of as many nodes, checked."""
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
        kept = [k for k in self.selections if isinstance(k, tuple) and k[0] in ("nodes", "nodes of bodies")]
        if len(kept) >= _MAX_NODE_LISTS:
            for old in kept:
                del self.selections[old]
        made = nodes_container(self.tree.parent, links, meet)
        self.selections[key] = made
        return made

    def all_links(self) -> Struct:
        """A container without nodes whose path holds all links."""
        made = self.selections.get("all links")
        if made is None:
            parent = self.tree.parent
            made = nodes_container(parent, (), False, range(len(parent)))
            self.selections["all links"] = made
        return made

    def flags(self, prescribed: Dofs | None) -> Array:
        """1.0 for coordinates that do not give way, (0,) for none; prescribed ones are named as for `get_positions`.

        Raises:
            NameLookupError: there is no such coordinate.
        """
        if prescribed is None:
            return NOTHING
        flags = np.zeros(len(self.skeleton.dofs))
        flags[indices_of(self.skeleton, prescribed)] = 1.0
        return flags


def parameters_of(inertia: Any) -> Array:
    """[m, m c (3), J about the body origin (xx, xy, xz, yy, yz, zz)] of an `Inertia`."""
    J = inertia.moment_about_origin
    return np.array([inertia.mass, *(inertia.mass * inertia.com), J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2]])


def turned(J: Array, R: Array) -> Array:
    """Rows of vectors (3 or 6, n) from world axes into axes with rotation R to the world."""
    return np.matmul(R.T, J.reshape(len(J) // 3, 3, J.shape[1])).reshape(J.shape)


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
