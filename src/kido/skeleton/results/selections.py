"""What a result is about: a point on a node, a list of bodies; and calls with a given state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.jit import REFUSALS, Struct
from kido.kernels import entries
from kido.math.transform import as_vector
from kido.skeleton.arrays import Array
from kido.skeleton.frames.frame import ORIGIN
from kido.skeleton.frames.jacobian_node import JacobianNode
from kido.skeleton.results.workspace import Workspace
from kido.skeleton.state.actuation import SkeletonActuation
from kido.tree import data_for
from kido.tree.nodes import WIDE
from kido.tree.selection import COLUMNS, MEMBERS, PATH, SUBSET

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode

Bodies = Iterable[Any] | None  # BodyNodes, their names or indices; None: all
_MAX_LISTS = 2000  # results for lists of bodies that are kept
NOTHING = np.zeros(0)  # stands for the state where a kernel takes the held one
Place = tuple[int, float, float, float]  # address of the path to a link, and a point in the link's axes


class SkeletonSelections(SkeletonActuation):
    """Paths to bodies and choices of bodies as kernels read them, kept until the structure changes."""

    # Bodies ----------------------------------------------------------------------------------------------

    def _indices_of(self, bodies: Bodies) -> tuple[int, ...] | None:
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
            known = self._selections.get(("bodies", given))
        except TypeError:  # something that cannot be a key, and no body either
            known = None
        if known is not None:
            return known
        found = set()
        for item in given:
            body = self.body(item) if isinstance(item, str | int | np.integer) else item  # type: ignore[attr-defined]
            if getattr(body, "skeleton", None) is not self or not hasattr(body, "_index"):
                raise ModelError(f"skeleton {self.name!r}: bodies: {body!r} is no body of it")
            found.add(body._index)
        self._compiled()
        result = tuple(sorted(found))
        self._keep(("bodies", given), result)
        return result

    def _keep(self, key: tuple[str, Any], made: Any) -> None:
        """Keep what belongs to a list of bodies; of lists there may be any number, so earlier ones go."""
        table = self._selections
        count = table.get("lists kept", 0) + 1
        if count > _MAX_LISTS:
            old = [
                k
                for k in table
                if isinstance(k, tuple) and k[0] in ("bodies", "subset", "members") and k[1] is not None
            ]
            table["retired"] = [table.pop(k) for k in old]  # the call that is going on may hold their addresses
            count = 1
        table["lists kept"] = count
        table[key] = made

    def _subset(self, bodies: Bodies) -> int:
        """Address of the inertias of chosen bodies by link."""
        key = ("subset", None if bodies is None else self._indices_of(bodies))
        return (self._selections.get(key) or self._new_subset(key)).address

    def _new_subset(self, key: tuple[str, tuple[int, ...] | None]) -> Struct:
        self._compiled()
        links = self._links
        made = SUBSET(bodies=len(links.top))  # type: ignore[union-attr]
        if key[1] is None:
            tree: Any = self._tree
            made.inertia[:] = np.column_stack([tree.mass, tree.mass[:, None] * tree.com, tree.inertia])
            made.springs[:] = 1
            self._selections[key] = made
            return made
        for index in key[1]:
            body = self._bodies[index]
            link, X = int(links.of_body[index]), links.offset[index]  # type: ignore[union-attr]
            own = body.inertia if index == self._top(link) else body.inertia.transformed(X)
            made.inertia[link] += parameters_of(own)
            if index == self._top(link):
                made.springs[link] = 1
        self._keep(key, made)
        return made

    def _top(self, link: int) -> int:
        return self._links.top[link]._index  # type: ignore[union-attr]

    def _members(self, bodies: Bodies = None) -> int:
        """Address of chosen bodies, each with its link and its own inertia."""
        key = ("members", self._indices_of(bodies))
        return (self._selections.get(key) or self._new_members(key)).address

    def _new_members(self, key: tuple[str, tuple[int, ...] | None]) -> Struct:
        self._compiled()
        links = self._links
        chosen = list(range(len(self._bodies)) if key[1] is None else key[1])
        made = MEMBERS(members=len(chosen))
        for row, index in enumerate(chosen):
            body = self._bodies[index]
            made.parent[row] = -1 if body.parent is None else body.parent._index
            made.link[row] = links.of_body[index]  # type: ignore[union-attr]
            made.pose[row] = links.offset[index, :3].ravel()  # type: ignore[union-attr]
            made.inertia[row] = parameters_of(body.inertia)
        if key[1] is None:
            self._selections[key] = made
        else:
            self._keep(key, made)
        return made

    def _columns_of(self) -> int:
        """Address of the workspace for all columns of a matrix."""
        w = self._ready or self._workspace()
        made = self._selections.get("columns")
        if made is None:
            parent, first = self._tree.parent, self._tree.first_dof  # type: ignore[union-attr]
            n, m = len(parent), len(self._dofs)
            made = COLUMNS(bodies=n, dofs=m, columns=m + WIDE)
            for i in range(n - 1, -1, -1):
                own, above = slice(int(first[i]), int(first[i + 1])), int(parent[i])
                made.below[i, own] = 1.0
                made.end[i] = max(int(made.end[i]), own.stop)
                if above >= 0:
                    made.below[above] += made.below[i]
                    made.end[above] = max(int(made.end[above]), int(made.end[i]))
            self._selections["columns"] = made
        w.columns = made.address
        return made.address

    # Points on nodes -------------------------------------------------------------------------------------

    def _node(self, node: Any) -> JacobianNode:
        """A node of this skeleton, or a body by name or index."""
        if isinstance(node, str | int | np.integer):
            return self.body(node)  # type: ignore[attr-defined]
        if not isinstance(node, JacobianNode):
            raise ModelError(f"skeleton {self.name!r}: expected a node that rides on one of its bodies, got {node!r}")
        if node._carrier[0].skeleton is not self:
            body = node._carrier[0]
            raise ModelError(f"skeleton {self.name!r}: {node!r} rides on skeleton {body.skeleton.name!r}")
        return node

    def _place_of(self, node: Any, offset: ArrayLike = ORIGIN) -> Place:
        """Path to the link of a node, and the point at `offset` from the node's origin, in the link's axes."""
        w = self._ready or self._workspace()
        if offset is ORIGIN:
            try:
                return w.places[node]
            except (TypeError, KeyError):  # no node, or its first time
                pass
        node = self._node(node)
        body, pose = node._carrier
        self._compiled()
        point = np.zeros(3) if offset is ORIGIN else as_vector(offset, f"{node!r}: offset")
        if pose is not None:
            point = pose[:3, :3] @ point + pose[:3, 3]
        links, index = self._links, body._index
        link = int(links.of_body[index])  # type: ignore[union-attr]
        path = self._selections.get(("path", link)) or self._new_path(link)
        if index != self._top(link):
            X = links.offset[index]  # type: ignore[union-attr]
            point = X[:3, :3] @ point + X[:3, 3]
        place = path.address, float(point[0]), float(point[1]), float(point[2])
        if offset is ORIGIN and pose is None:
            w.places[node] = place
        return place

    def _new_path(self, link: int) -> Struct:
        above = self._tree.parent  # type: ignore[union-attr]
        upwards, i = [], link
        while i >= 0:
            upwards.append(i)
            i = int(above[i])
        made = PATH(body=np.array(upwards[::-1], np.int64))
        self._selections["path", link] = made
        return made

    def _dependent_dofs_of(self, body: BodyNode) -> NDArray[np.intp]:
        """Indices of the coordinates that move a body, ascending."""
        self._compiled()
        path = self._selections.get(("path", link := int(self._links.of_body[body._index])))  # type: ignore[union-attr]
        path = path or self._new_path(link)
        first = self._tree.first_dof  # type: ignore[union-attr]
        parts = [np.arange(int(first[i]), int(first[i + 1])) for i in path.body]
        return np.concatenate(parts).astype(np.intp)

    # Calls with a given state ----------------------------------------------------------------------------

    def _workspace(self) -> Workspace:
        """Where calls with the state given work; `_ready` while nothing changes."""
        self._compiled()
        if self._scratch is None:
            self._scratch = data_for(self._tree)  # type: ignore[arg-type]
        self._ready = Workspace(
            self._tree.address,  # type: ignore[union-attr]
            self._scratch.address,
            self._subset(None),
            len(self._bodies),
            len(self._dofs),
        )
        return self._ready

    def _evaluate(self, entry: Any, first: tuple[Any, ...], out: tuple[Array, ...], **given: ArrayLike) -> int:
        """Call an entry on arrays that belong to no state: (tree, data, *first, *given, *out).

        Calls that are to take a microsecond do this themselves, with `_again` for what is refused.

        Raises:
            StateError: a state of the wrong size or not finite.
        """
        w = self._ready or self._workspace()
        try:
            status = entry.call(w.tree, w.data, *first, *given.values(), *out)
        except REFUSALS:
            status = entries.REFUSED
        return self._again(entry, first, out, **given) if status == entries.REFUSED else status

    def _again(self, entry: Any, first: tuple[Any, ...], out: tuple[Array, ...], **given: ArrayLike) -> Any:
        """Call an entry that refused its arguments once more, with checked and converted copies of them.

        Raises:
            StateError: a state of the wrong size or not finite.
        """
        size = len(self._dofs)
        vectors = [self._vector(value, size, what) for what, value in given.items()]
        for what, vector in zip(given, vectors, strict=True):
            if not np.isfinite(vector).all():
                self._raise_not_finite(what, vector)
        w = self._workspace()
        return entry(w.tree, w.data, *first, *vectors, *out)

    def _of_current(self, entry: Any, d: Struct, *arguments: Any) -> int:
        """Call an entry on the current state: (tree, data, *arguments)."""
        return entry.call(self._tree.address, d.address, *arguments)  # type: ignore[union-attr]


def parameters_of(inertia: Any) -> Array:
    """[m, m c (3), J about the body origin (xx, xy, xz, yy, yz, zz)] of an `Inertia`."""
    J = inertia.moment_about_origin
    return np.array([inertia.mass, *(inertia.mass * inertia.com), J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2]])


def turned(J: Array, R: Array) -> Array:
    """Rows of vectors (3 or 6, n) from world axes into axes with rotation R to the world."""
    return np.matmul(R.T, J.reshape(len(J) // 3, 3, J.shape[1])).reshape(J.shape)
