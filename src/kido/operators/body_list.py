"""The bodies that operators are about, and their arrays at one state."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError, NameLookupError, StateError
from kido.jit import Struct
from kido.operators import articulated, blocks, recursions, sweeps
from kido.operators.arrays import BODIES, NODES, snapshot_of
from kido.operators.blocks import BLOCKS
from kido.operators.linear import OperatorError
from kido.quantities.soft import refuse_moving
from kido.skeleton import BodyNode, DegreeOfFreedom, Group, Joint, Skeleton
from kido.skeleton.groups.group import with_parts
from kido.skeleton.nodes.node import JacobianNode
from kido.skeleton.state.subsets import Dofs, indices_of

if TYPE_CHECKING:
    from kido.operators.expression import Operator
    from kido.skeleton.frames.frame import Frame


Array = NDArray[np.float64]
_SMALL = 1 << 13  # numbers; below, allocating is quick
_MAX_KEPT = 4  # arrays of one shape, and shapes, that are kept


class Scratch:
    """Arrays that are free, by shape."""

    def __init__(self) -> None:
        self._free: dict[tuple[int, int], list[Array]] = {}

    def take(self, rows: int, columns: int) -> Array:
        """An array of any numbers."""
        free = self._free.get((rows, columns))
        return free.pop() if free else np.empty((rows, columns))

    def give(self, array: Array) -> None:
        """An array that nobody needs any more."""
        if array.size < _SMALL:
            return
        shape = array.shape[0], array.shape[1]
        if shape not in self._free and len(self._free) >= _MAX_KEPT:
            self._free.clear()
        free = self._free.setdefault(shape, [])
        if len(free) < _MAX_KEPT and array.base is None:
            free.append(array)


BODY_SPACE, JOINT_SPACE, GIVEN_SPACE, NODE_SPACE = (
    "spatial vectors of bodies",
    "joint numbers",
    "prescribed joint numbers",
    "nodes' vectors",
)
OWN_SPACE = "numbers"  # of a matrix that a user gives


class Space:
    """What the numbers of a vector are: their count, and which of them belong to each body or node."""

    def __init__(self, on: BodyList, kind: str, first: Iterable[int], nodes: tuple[Frame, ...] = ()):
        self.on, self.kind, self.nodes = on, kind, nodes
        self.first = [*map(int, first)]
        self.size = self.first[-1]
        self.is_joint = kind == JOINT_SPACE

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many of them belong to each."""
        return np.diff(self.first)

    def place(self, item: Any) -> int:
        """Place of a body (by itself, its joint, a coordinate of it, its name, its place) or of a node.

        Raises:
            OperatorError: it is none of these.
        """
        if self.kind == OWN_SPACE:
            if isinstance(item, int | np.integer) and 0 <= item < self.size:
                return int(item)
            raise OperatorError(f"no row {item!r} of {self.size}")
        if self.kind != NODE_SPACE:
            return self.on.place(item)
        names = [getattr(node, "name", repr(node)) for node in self.nodes]
        if isinstance(item, int | np.integer) and 0 <= item < len(names):
            return int(item)
        for k, node in enumerate(self.nodes):
            if item is node or (isinstance(item, str) and item == names[k]):
                return k
        raise OperatorError(f"no node {item!r}; the operator has {', '.join(names)}")

    def part(self, place: int) -> slice:
        """Rows of a body or node."""
        return slice(self.first[place], self.first[place + 1])

    def __repr__(self) -> str:
        return f"{self.size} {self.kind}"


class Nodes:
    """Nodes on listed bodies, where they are on their bodies now, with the arrays of `NODES` at the list's state."""

    def __init__(self, on: BodyList, nodes: list[Any]):
        self.on, self.stamp = on, -1
        self.space = Space(on, NODE_SPACE, range(0, 6 * len(nodes) + 1, 6), tuple(nodes))
        self._container = NODES(nodes=len(nodes))
        self._offset = np.zeros((len(nodes), 3))
        for k, node in enumerate(nodes):
            body, pose = on.skeleton.current_state.carried_by(node)
            self._container.body[k] = on.places[body]
            self._container.row[k] = on.body_space.first[on.places[body]]
            if pose is not None:
                self._offset[k] = pose[:3, 3]

    @property
    def container(self) -> Struct:
        """The arrays."""
        if self.stamp != self.on.stamp:
            made = self._container
            R = self.on.rigid.R[made.body].reshape(-1, 3, 3)
            made.arm[:] = np.einsum("kij,kj->ki", R, self._offset)
            self.stamp = self.on.stamp
        return self._container


class BodyList:
    """Bodies of a skeleton, parents first, with the arrays of `BODIES` at one state, of flexible ones of `BLOCKS`.

    A flexible body has its modes and nodes with it.

    Raises:
        OperatorError: not bodies of one skeleton, or bodies with a gap between them.
    """

    def __init__(self, source: Any, prescribed: Dofs = (), outboard: str | None = None):
        self.skeleton, indices, held = _bodies_of(source)
        skeleton = self.skeleton
        self.bodies: list[BodyNode] = [skeleton.parts.bodies[k] for k in indices]
        self.version = skeleton.structure_version
        self.places = {body: place for place, body in enumerate(self.bodies)}
        self.has_modes = any(body.parent_joint.has_modes for body in skeleton.parts.bodies)
        carriers = [_carrier(body) if self.has_modes else body.parent for body in self.bodies]
        parents = [-1 if body is None else self.places.get(body, -1) for body in carriers]
        self._refuse_gaps(parents)
        for place, parent in enumerate(parents):
            if parent >= place:  # an edit has put modes behind nodes
                raise OperatorError(f"body {self.bodies[place].name!r} is listed before {self.bodies[parent].name!r}")
        number = {dof: k for k, dof in enumerate(skeleton.parts.dofs)}
        hinges = [[number[dof] for dof in body.parent_joint.dofs] for body in self.bodies]
        self.given = held | {int(k) for k in indices_of(skeleton, prescribed)}
        strange = self.given.difference(*hinges)
        if strange:
            names = ", ".join(repr(skeleton.parts.dofs[k].name) for k in sorted(strange))
            raise OperatorError(f"prescribed: {names} belong to no hinge of the listed bodies")
        free = [[k for k in hinge if k not in self.given] for hinge in hinges]
        given = [[k for k in hinge if k in self.given] for hinge in hinges]
        self.outboard = outboard or getattr(source, "outboard", "cut")
        if self.outboard not in ("cut", "frozen"):
            raise OperatorError(f"outboard: expected 'cut' or 'frozen', got {self.outboard!r}")
        massed = [_massed(body).index for body in self.bodies] if self.has_modes else indices
        frozen = self._carried() if self.outboard == "frozen" else []
        self._structure = {
            "member": np.array(indices, np.int64),
            "massed": np.array(massed, np.int64),
            "parent": np.array(parents, np.int64),
            "frozen": np.array(frozen, np.int64).reshape(-1, 2),
            "first_dof": _firsts(free),
            "source": np.array([k for hinge in free for k in hinge], np.int64),
            "first_given": _firsts(given),
            "given_source": np.array([k for hinge in given for k in hinge], np.int64),
        }
        self.hinge_sizes = np.diff(self._structure["first_dof"])
        self._body_of_dof = np.repeat(np.arange(len(self.bodies)), self.hinge_sizes)
        self._dof_in_hinge = np.arange(len(self._body_of_dof)) - self._structure["first_dof"][self._body_of_dof]
        self.inner_bodies = sum(p >= 0 for p in parents)  # that have a parent in the list
        self.body_sizes = np.full(len(self.bodies), 6)
        if self.has_modes:
            self.body_sizes += [b.parent_joint.num_dofs * b.parent_joint.has_modes for b in self.bodies]
        self.width = int(self.body_sizes.max(initial=6))  # rows and columns of arrays of blocks
        self._blocks = self._of_flexible(free, given, frozen) if self.has_modes else None
        self._allocate()

    def _of_flexible(self, free: list[list[int]], given: list[list[int]], frozen: list[tuple[int, int]]) -> Any:
        """What `BLOCKS` has besides the structure of `BODIES`."""
        all_dofs, bodies = self.skeleton.parts.dofs, self.skeleton.parts.bodies

        def columns(hinges: list[list[int]]) -> NDArray[np.int64]:
            dofs = [all_dofs[k] for hinge in hinges for k in hinge]
            return np.array([6 + dof.index_in_joint if dof.joint.has_modes else -1 for dof in dofs], np.int64)

        joints = [body.parent_joint for body in self.bodies]
        deformed = [(k, _massed(b).index) for k, b in enumerate(self.bodies) if b.parent_joint.has_modes]
        deformed += [(place, k) for place, k in frozen if _massed(bodies[k]) is not bodies[k] and bodies[k].mass > 0.0]
        return {
            "kind": np.array([blocks.MODES if j.has_modes else blocks.NODE * j.is_part for j in joints], np.int64),
            "flexible": np.array(deformed, np.int64).reshape(-1, 2),
            "first_row": _firsts([range(size) for size in self.body_sizes.tolist()]),
            "mode": columns(free),
            "given_mode": columns(given),
        }

    def _allocate(self) -> None:
        """Arrays of a state that is not held yet."""
        given = self._structure
        sizes = {"bodies": len(self.bodies), "dofs": len(given["source"]), "given": len(given["given_source"])}
        self.rigid: Any = BODIES(**sizes, **given)
        self.container: Any = self.rigid
        self.sweeps: Any = sweeps
        self.recursions: Any = recursions
        self._articulate: Any = articulated.articulate
        self.work_rows = 12
        if self._blocks is not None:
            shared = {name: given[name] for name in given if name in BLOCKS.fields}
            sizes |= {"width": self.width, "rows": int(self.body_sizes.sum()), "edges": 2 * len(self.bodies)}
            self.container = BLOCKS(**sizes, **shared, **self._blocks)
            self.sweeps = self.recursions = blocks
            self._articulate = blocks.articulate
            self.work_rows = 2 * self.width
        self.address = self.container.address
        self.body_space = Space(self, BODY_SPACE, np.concatenate([[0], np.cumsum(self.body_sizes)]))
        self.joint_space = Space(self, JOINT_SPACE, given["first_dof"])
        self.given_space = Space(self, GIVEN_SPACE, given["first_given"])
        self.q = self.u = np.zeros(0)
        self.inverses: Callable[[], dict[Hashable, Operator]] = dict  # known by theory; whoever makes operators says
        self.scratch = Scratch()
        self.stamp = 0  # counts the states that were held: what is kept of an earlier one is stale
        self._articulated = False

    def twin(self) -> BodyList:
        """The same bodies, with arrays for another state."""
        made = copy.copy(self)
        made._allocate()
        return made

    def __getstate__(self) -> dict[str, Any]:
        # A state's arrays, and what holds their address, are made anew; so are spaces, which tell states apart.
        kept = ("skeleton", "bodies", "places", "given", "outboard", "inner_bodies", "hinge_sizes", "_structure")
        more = ("_body_of_dof", "_dof_in_hinge", "body_sizes", "width", "has_modes", "_blocks")
        return {name: self.__dict__[name] for name in (*kept, *more)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.version = self.skeleton.structure_version
        self._allocate()

    def _refuse_gaps(self, parents: list[int]) -> None:
        for body, parent in zip(self.bodies, parents, strict=True):
            missing = above = body.parent
            while parent < 0 and missing is not None and above is not None:
                if above in self.places:
                    raise OperatorError(
                        f"bodies {above.name!r} and {body.name!r} are listed, but not {missing.name!r} between "
                        "them: list connected bodies"
                    )
                above = above.parent

    def _carried(self) -> list[tuple[int, int]]:
        """Bodies outside that hang on listed ones: place of the listed body, index of the other."""
        carrier: dict[BodyNode, int] = {}
        for body in self.skeleton.parts.bodies:
            if body not in self.places and body.parent is not None:
                place = carrier.get(body.parent, self.places.get(body.parent, -1))
                if place >= 0:
                    carrier[body] = place
        return [(place, body.index) for body, place in carrier.items()]

    def hold(self, positions: ArrayLike | None, velocities: ArrayLike | None) -> None:
        """Fill the arrays from a state of the skeleton; None: its present one."""
        s = self.skeleton
        q = s.positions if positions is None else s.current_state.vector(positions, len(s.parts.dofs), "positions")
        u = s.velocities if velocities is None else s.current_state.vector(velocities, len(s.parts.dofs), "velocities")
        for what, numbers in (("positions", q), ("velocities", u)):
            if not np.isfinite(numbers).all():
                raise StateError(f"operators of {s.name!r}: {what}: expected finite numbers, got {numbers.tolist()}")
        w = s.current_state.ready or s.current_state.prepare()
        if velocities is None and s.current_state.has_soft:
            refuse_moving(s.current_state, "operators")
        members = s.current_state.members()
        if self.has_modes:
            s.current_state.deformed.snapshot(members, self.rigid.address, self.container.address, q, u)
        else:
            snapshot_of.call(w.tree, w.data, members, self.address, q, u)
        self.q, self.u = q, u
        self.stamp += 1
        self._articulated = False

    @property
    def articulated(self) -> Struct:
        """The arrays with articulated inertias.

        Raises:
            OperatorError: a coordinate moves no mass.
        """
        if not self._articulated:
            failed = self._articulate.call(self.address)
            if failed >= 0:
                dof = self.skeleton.parts.dofs[int(self.container.source[failed])]
                raise OperatorError(
                    f"coordinate {dof.name!r} moves no inertia (D is not positive), so that psi, G, K and D^-1 are not "
                    "defined; give the bodies below it mass, or name it among `prescribed`"
                )
            self._articulated = True
        return self.container

    def place(self, item: Any) -> int:
        """Place in the list of a body, given by itself, its joint, a coordinate of it, its name or its place.

        Raises:
            OperatorError: it is not in the list.
        """
        body: Any = item
        joint = item.joint if isinstance(item, DegreeOfFreedom) else item
        if isinstance(joint, Joint):
            body = next((own for own in self.bodies if own.parent_joint is joint), None)
        elif isinstance(item, str):
            body = next((own for own in self.bodies if own.name == item), None)
        elif isinstance(item, int | np.integer) and not isinstance(item, bool) and 0 <= item < len(self.bodies):
            body = self.bodies[item]
        if not isinstance(body, BodyNode) or body not in self.places:
            names = ", ".join(body.name for body in self.bodies)
            raise OperatorError(f"no body {item!r} among those of the operators: {names}")
        return self.places[body]

    def nodes(self, nodes: Any) -> Nodes:
        """Nodes on the bodies.

        Raises:
            OperatorError: no nodes of these bodies.
        """
        if not isinstance(nodes, JacobianNode | str | Iterable):
            raise OperatorError(f"nodes: expected nodes, bodies or their names, got {nodes!r}")
        given = [nodes] if isinstance(nodes, JacobianNode | str) else list(nodes)
        found: list[Any] = []
        for item in given:
            if isinstance(item, str):
                try:
                    item = self.skeleton.body(item)
                except NameLookupError as error:
                    raise OperatorError(f"nodes: {error}") from None
            if not self._carries(item):
                raise OperatorError(f"nodes: {item!r} does not ride on a body of the operators")
            found.append(item)
        if not found:
            raise OperatorError("B of no nodes")
        return Nodes(self, found)

    def _carries(self, node: Any) -> bool:
        try:
            return isinstance(node, JacobianNode) and self.skeleton.current_state.carried_by(node)[0] in self.places
        except ModelError:
            return False

    def operations(self, articulated: bool) -> int:
        """Additions and multiplications of a sweep with phi, or with psi."""
        parent = self.rigid.parent
        below = parent >= 0
        if self._blocks is not None:  # matrices, of phi what is not zero of them
            modes, own = self.body_sizes[parent[below]] - 6, self.body_sizes[below]
            kind = self._blocks["kind"][below]
            nodes = 18 + 12 * modes * (kind == blocks.NODE)
            return int((2 * own * (6 + modes) if articulated else nodes).sum())
        return 18 * self.inner_bodies + (23 * int(self.hinge_sizes[below].sum()) if articulated else 0)

    def empty_blocks(self) -> Array:
        """Zeros (bodies, width, width), where the width is 6, or the largest number of rows of a body."""
        return np.zeros((len(self.bodies), self.width, self.width))

    def by_body(self, rows: Array) -> Array:
        """(bodies, 6, 6) with the rows (dofs, 6) of each body's coordinates in the leading rows; see `empty_blocks`."""
        blocks = self.empty_blocks()
        blocks[self._body_of_dof, self._dof_in_hinge] = rows
        return blocks

    @property
    def describes(self) -> str:
        """The list in words."""
        n, whole = len(self.bodies), len(self.bodies) == self.skeleton.num_bodies
        return f"{self.skeleton.name!r}" if whole else f"{n} bodies of {self.skeleton.name!r}"


def _modes_of(body: BodyNode) -> BodyNode | None:
    """The body whose coordinates are the modes of a flexible one; None: it is rigid."""
    return next((child for child in body.children if child.parent_joint.has_modes), None)


def _carrier(body: BodyNode) -> BodyNode | None:
    """What it hangs on in the list: nodes of flexible bodies on the modes."""
    joint = body.parent_joint
    return _modes_of(body.parent) if body.parent and joint.is_part and not joint.has_modes else body.parent


def _massed(body: BodyNode) -> BodyNode:
    """The body whose inertia it has: modes that of the body which they deform, and that one none."""
    return body.parent if body.parent and body.parent_joint.has_modes else _modes_of(body) or body


def _firsts(hinges: list[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum([len(hinge) for hinge in hinges])]).astype(np.int64)


def _bodies_of(source: Any) -> tuple[Skeleton, list[int], set[int]]:
    """The skeleton, indices of the bodies in its order, and coordinates that a group holds."""
    held: set[int] = set()
    if isinstance(source, Skeleton):
        return source, list(range(source.num_bodies)), held
    bodies = getattr(source, "bodies", source)
    if isinstance(bodies, BodyNode):
        bodies = [bodies]
    if not isinstance(bodies, Iterable) or isinstance(bodies, str):
        raise OperatorError(f"expected a skeleton, a group or a list of bodies, got {source!r}")
    listed = list(bodies)
    for body in listed:
        if not isinstance(body, BodyNode):
            raise OperatorError(f"expected bodies, got {body!r}")
        if body.skeleton is not listed[0].skeleton:
            a, b = listed[0], body
            raise OperatorError(
                f"bodies {a.name!r} and {b.name!r} are of different skeletons, {a.skeleton.name!r} and "
                f"{b.skeleton.name!r}: operators are of one"
            )
    if not listed:
        raise OperatorError("operators of no bodies")
    skeleton = listed[0].skeleton
    if any(body.parent_joint.has_modes for body in skeleton.parts.bodies):
        listed = with_parts(listed)
    if isinstance(source, Group):
        own = {dof for body in listed for dof in body.parent_joint.dofs}
        held = {dof.index for dof in own.difference(source.dofs)}
    return skeleton, sorted({body.index for body in listed}), held
