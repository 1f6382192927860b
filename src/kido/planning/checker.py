"""Whether states of a skeleton and motions between them are free of collisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import ModelError, NameLookupError, ShapeError, StateError
from kido.ik.coupling import coupling_of
from kido.jit import JIT_DISABLED, LANES
from kido.math.transform import as_flag, as_transform
from kido.planning.arguments import as_whole, not_negative, numbers, positive
from kido.planning.clearance import clearance_task
from kido.planning.covering import convex_parts, moved, sphere_tree
from kido.planning.edges import check_edge, check_edges
from kido.planning.environment import Environment
from kido.planning.exact import WORLD, ExactShapes, Posed, colliders, settle
from kido.planning.robot import (
    Group,
    body_group,
    group_of,
    groups_near,
    layout_of,
    merged,
    neighbours,
    never_apart,
    ordered,
    planned_columns,
    robot_table,
)
from kido.planning.space import Space
from kido.planning.states import check_eight, check_states, look_at_states, place_all
from kido.planning.tables import CHECK, CHECK_NUMBERS, EDGE
from kido.quantities.soft import refuse_flexible
from kido.shapes import Shape
from kido.tree import data_for
from kido.turns import Turn, in_turn

if TYPE_CHECKING:
    from kido.ik import Task
    from kido.skeleton import Skeleton
    from kido.skeleton.body_node import BodyNode

Array = NDArray[np.float64]
DEPTH = 256  # of a tree of spheres at most
LIMIT_SLACK = 1e-9  # by which a state may be outside of limits [rad or m]
LANE_FIELDS = ("fraction", "half", "hit", "where", "gap", "need")
WAITING = 4096  # pieces of an edge that wait for their certificate at most


class Contact(tuple[str, str]):
    """Names of two things that touch: a body or what is carried, and a body or an obstacle."""

    def __new__(cls, first: str, second: str) -> Contact:
        return super().__new__(cls, (first, second))

    def __str__(self) -> str:
        return f"{self[0]!r} touches {self[1]!r}"


class CollisionChecker(FixedAttributes):
    """Checks states and edges of a skeleton for collisions with itself and with an environment.

    The shapes of the skeleton that collide are covered by trees of spheres, whose union contains them; eight states
    are checked side by side. Where the finest spheres touch, the distance of the shapes themselves decides, as
    `kido.collision` has it; so passages in which spheres would touch are found, and a certificate is one for the
    shapes. Without `exact`, what comes nearer to something than the spheres stand out of the shapes (`tolerance`, where
    `max_spheres` allow it) may be refused. Bodies that no planned coordinate moves are not checked against the
    environment. Threads that use one checker, or planners with it, wait for each other.

    Args:
        skeleton: the model. What is changed in it later is not seen.
        environment: obstacles; None: there are none.
        dofs: coordinates to plan with, of revolute, prismatic, ball and free joints: names, indices or the coordinates;
            None: all but LOCKED ones. Coordinates that mimic others are none of these: they follow, within their own
            limits. Hinges without limits turn the shorter way round; rotations, which have no limits, too.
        positions: of the other coordinates; None: the skeleton's own now.
        self_collision: bodies of the skeleton may not touch each other. Neighbours, and those that touch in each of
            some random states, always may.
        ignored_pairs: pairs of names of bodies that may touch too.
        tolerance: how far a sphere may stand out of the shape that it covers [m].
        max_spheres: for each body at most.
        margin: distance to be kept from the environment [m].
        self_margin: distance to be kept among bodies [m].
        resolution: states checked along an edge for each radian or metre of its length.
        certified: edges are accepted if all of their states are free, by bounds on how far spheres move.
        finest: shortest piece of an edge that is looked at for that [rad or m].
        exact: distances of shapes decide where their spheres touch; else spheres do, which is faster.

    Raises:
        ModelError, NameLookupError: coordinates or pairs that are not there, or not to be planned with.
        ShapeError: a shape that spheres cannot cover.
        StateError: numbers out of range; a coordinate that mimics another or is LOCKED among `dofs`.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        environment: Environment | None = None,
        dofs: Iterable[Any] | None = None,
        positions: ArrayLike | None = None,
        self_collision: bool = True,
        ignored_pairs: Iterable[tuple[str, str]] = (),
        tolerance: float = 0.01,
        max_spheres: int = 64,
        margin: float = 0.0,
        self_margin: float = 0.0,
        resolution: float = 32.0,
        certified: bool = False,
        finest: float = 1e-3,
        exact: bool = True,
    ):
        if not hasattr(skeleton, "bodies"):
            raise ModelError(f"CollisionChecker: expected a kido.Skeleton, got {skeleton!r:.80}")
        refuse_flexible(skeleton, "collision checks of plans")
        self.skeleton, self.turn = skeleton, Turn()
        self.columns = planned_columns(skeleton, dofs)
        self.space = Space(skeleton, self.columns)
        self._tree = skeleton.current_state.compiled_tree()
        self._links = skeleton.current_state.links
        held = np.array(skeleton.positions) if positions is None else numbers(positions, "positions")
        if held.shape != (skeleton.num_dofs,):
            raise StateError(f"positions: expected {skeleton.num_dofs} numbers, got shape {held.shape}")
        coupling = coupling_of(skeleton)
        self._held = coupling.spread(held.copy(), self.columns)
        self._tolerance, self._most = positive(tolerance, "tolerance"), as_whole(max_spheres, "max_spheres", 1)
        self._margins = not_negative(margin, "margin"), not_negative(self_margin, "self_margin")
        self._resolution = positive(resolution, "resolution"), positive(finest, "finest")
        self._certified, self._exact = as_flag(certified, "certified"), as_flag(exact, "exact")
        self._limits = coupling.limits(self._tree.lower, self._tree.upper, self.columns)
        for limit in self._limits:
            limit.setflags(write=False)
        self._loose = self._limits[0] - LIMIT_SLACK, self._limits[1] + LIMIT_SLACK
        self._dof_names = [skeleton.dofs[int(k)].name for k in self.columns]
        self._layout = layout_of(skeleton, self._tree, self.columns, self._held)
        self._body_groups: list[Group] = []
        for body in skeleton.bodies:
            group = body_group(body, self._links, self._tolerance, self._most)
            if group is not None:
                self._body_groups.append(group)
        self._version = 0
        self._carried: dict[str, tuple[Group, frozenset[str]]] = {}
        self._ignored = self._pairs_ignored(ignored_pairs)
        self._checks_itself = as_flag(self_collision, "self_collision")
        self._environment = Environment() if environment is None else environment
        if not isinstance(self._environment, Environment):
            raise StateError(f"environment: expected a kido.planning.Environment, got {environment!r}")
        if self._checks_itself:
            pairs = self._body_pairs()
            shapes = [group.shapes for group in self._body_groups]
            posed = Posed(shapes, len(self._tree.parent)) if self._exact else None
            overlapping = never_apart(skeleton, self._body_groups, pairs, self.columns, held, posed)
            self._ignored |= {self._bodies_of(pair) for pair in overlapping}
        self._rebuild()

    # What is checked ------------------------------------------------------------------------------------------

    def _pairs_ignored(self, pairs: Iterable[tuple[str, str]]) -> set[tuple[int, int]]:
        named = [group.body for group in self._body_groups]
        found = neighbours(self.skeleton, named)
        names = [body.name for body in self.skeleton.bodies]
        for pair in pairs:
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise StateError(f"ignored_pairs: expected two names of bodies, got {pair!r}")
            for name in pair:
                if name not in names:
                    raise NameLookupError("body", name, names)
            found.add(ordered(names.index(pair[0]), names.index(pair[1])))
        return found

    def _bodies_of(self, pair: tuple[int, int]) -> tuple[int, int]:
        return ordered(self._body_groups[pair[0]].body, self._body_groups[pair[1]].body)

    def _moves_apart(self, a: int, b: int) -> bool:
        """Whether planned coordinates move one body against another."""
        path, of_body = self._layout.path, self._links.of_body
        return path[of_body[a]] != path[of_body[b]]

    def _body_pairs(self) -> list[tuple[int, int]]:
        """Pairs of groups of bodies that may not touch."""
        if not self._checks_itself:
            return []
        number = range(len(self._body_groups))
        pairs = [(a, b) for a in number for b in range(a + 1, len(number))]
        return [
            pair
            for pair in pairs
            if self._bodies_of(pair) not in self._ignored and self._moves_apart(*self._bodies_of(pair))
        ]

    def _rebuild(self) -> None:
        """Tables of all that is checked now."""
        groups, pairs = self._things(), self._body_pairs()
        for a, (group, allowed) in enumerate(self._carried.values(), start=len(self._body_groups)):
            for b, other in enumerate(groups[:a]):
                if other.name not in allowed and self._moves_apart(group.body, other.body):
                    pairs.append((a, b))
        self.names = tuple(group.name for group in groups)
        groups, pairs = merged(groups, pairs, self._links)
        self._owners = [name for group in groups for name in group.owners]
        samples, lanes = (0, 1) if JIT_DISABLED else (LANES, LANES)
        robot = robot_table(self._tree, self._layout, self._links, groups, pairs, self.names)
        robot.margin, robot.self_margin = self._margins
        data: Any = data_for(self._tree, samples=samples)
        data.q[:] = self._held[:, None] if samples else self._held
        check = CHECK(samples=samples, groups=len(groups), spheres=len(robot.radius), pairs=len(pairs), depth=2 * DEPTH)
        check.robot, check.data, check.run, check.by_spheres = robot, data, check_eight, int(not self._exact)
        flat = {name: getattr(check, name).reshape(-1) for name in LANE_FIELDS}
        numbers = CHECK_NUMBERS(lanes=lanes, wheres=3 * lanes, q=data.q.reshape(-1), **flat)
        self._check, self._numbers = check, numbers
        edge = EDGE(columns=len(self.columns), waiting=WAITING)
        edge.check, edge.numbers, edge.run = check, numbers, check_edge
        edge.resolution, edge.finest = self._resolution
        edge.kind[:], edge.flat = self.space.kind, int(self.space.is_flat)
        edge.certified = int(self._certified)
        self._edge = edge
        self._set_scene()

    def _set_scene(self) -> None:
        self._version += 1
        self._obstacles = tuple(self._environment.names)
        self._check.scene = self._environment.compiled()
        if self._exact and not (self._leaves_are_exact() and self._check.scene.exact.all()):
            placed = (self._environment.placed(name) for name in self._obstacles)
            obstacles = [colliders(shape, WORLD, X) for shape, X in placed]
            d, n = self._check.data, self._numbers
            self._shapes = ExactShapes(
                [*(group.shapes for group in self._things()), *obstacles],
                d.R.reshape(-1),
                d.p.reshape(-1),
                n.gap,
                n.need,
            )
            self._check.exact, self._check.settle = self._shapes.table, settle
        place_all(self._check.address)
        near = groups_near(self._check.robot, self._layout, self._check.data, self._check.scene)
        self._check.near[:] = -1
        self._check.near[: len(near)] = near

    def _things(self) -> list[Group]:
        """Bodies with spheres, and what is carried."""
        return [*self._body_groups, *(group for group, _ in self._carried.values())]

    def _leaves_are_exact(self) -> bool:
        return all(group.tree.exact[group.tree.leaves].all() for group in self._things())

    @property
    def environment(self) -> Environment:
        """Obstacles; assign the same or another one again to have changes of it seen."""
        return self._environment

    @environment.setter
    def environment(self, value: Environment) -> None:
        if not isinstance(value, Environment):
            raise StateError(f"environment: expected a kido.planning.Environment, got {value!r}")
        with self.turn:
            self._environment = value
            self._set_scene()

    @property
    def version(self) -> int:
        """A number that is another one after each change of what is checked, obstacles or what is carried."""
        return self._version

    @property
    def certified(self) -> bool:
        """Whether edges are accepted only if all of their states are free."""
        return self._certified

    @certified.setter
    def certified(self, value: bool) -> None:
        self._certified = as_flag(value, "certified")
        self._version += 1
        self._edge.certified = int(self._certified)

    @property
    def held_positions(self) -> Array:
        """Positions of all coordinates, of which those that are not planned are held (a copy)."""
        return self._held.copy()

    @property
    def resolution(self) -> float:
        """States checked along an edge for each radian or metre of its length."""
        return self._resolution[0]

    @property
    def num_dofs(self) -> int:
        """Planned coordinates."""
        return len(self.columns)

    @property
    def dof_names(self) -> list[str]:
        """Their names."""
        return list(self._dof_names)

    @property
    def limits(self) -> tuple[Array, Array]:
        """Lower and upper position limits of the planned coordinates [rad or m], which keep also what mimics them
        within its own; infinite where there are none."""
        return self._limits

    @property
    def edge_address(self) -> int:
        """What planners check edges with; valid until something is attached, detached or this object is gone."""
        return self._edge.address

    @property
    def edge_table(self) -> EDGE:
        """The table there."""
        return self._edge

    def spheres(self, name: str) -> tuple[Array, Array]:
        """Centres (n, 3), in the axes of the body's link, and radii (n,) of the finest spheres of a body [m].

        Raises:
            NameLookupError: no body of this name has spheres, and nothing of this name is carried.
        """
        for group in self._things():
            if group.name == name:
                return group.tree.centres[group.tree.leaves], group.tree.radii[group.tree.leaves]
        raise NameLookupError("body with spheres", name, self.names)

    # What is carried ------------------------------------------------------------------------------------------

    @in_turn
    def attach(
        self, name: str, shape: Shape, body: BodyNode | str, pose: Any = None, touching: Iterable[str] = ()
    ) -> None:
        """Have a body carry an object, which then may touch neither the environment nor other bodies.

        Args:
            name: of the object; an obstacle of this name is no obstacle any more, if there is one.
            shape: its geometry.
            body: what carries it.
            pose: of the shape in the body's frame; None: the same.
            touching: names of bodies that it may touch, besides those that move with it.

        Raises:
            StateError: the name is that of a body or of what is carried already.
            NameLookupError: there is no such body.
            ShapeError: a shape that spheres cannot cover.
        """
        if not isinstance(name, str) or name in self.names:
            raise StateError(f"attach: expected a name that no body has, got {name!r}")
        if not isinstance(shape, Shape):
            raise ShapeError(f"attach {name!r}: expected a kido shape, got {type(shape).__name__}")
        names = [b.name for b in self.skeleton.bodies]
        carrier = body if isinstance(body, str) else str(getattr(body, "name", body))
        for wanted in (carrier, *touching):
            if wanted not in names:
                raise NameLookupError("body", wanted, names)
        X = np.eye(4) if pose is None else as_transform(pose, f"attach {name!r}: pose")
        index = names.index(carrier)
        X = self._links.offset[index] @ X
        tree = sphere_tree(moved(convex_parts(shape, f"attach {name!r}"), X), self._tolerance, self._most)
        group = group_of(name, index, tree, colliders(shape, int(self._links.of_body[index]), X))
        if name in self._environment.names:
            self._environment.remove(name)
        self._carried[name] = (group, frozenset(touching))
        self._rebuild()

    @in_turn
    def detach(self, name: str) -> None:
        """Take an object away that was attached.

        Raises:
            NameLookupError: nothing of this name is carried.
        """
        if name not in self._carried:
            raise NameLookupError("carried object", name, list(self._carried))
        del self._carried[name]
        self._rebuild()

    # Questions ------------------------------------------------------------------------------------------------

    def states_are_free(self, states: ArrayLike) -> NDArray[np.bool_]:
        """Which states (n, planned dofs) are free of collisions; limits are not looked at.

        Raises:
            StateError: numbers that are not finite, or not of this shape.
        """
        return self._checked(states)[:, 0] < 0.0

    @in_turn
    def states_are_good(self, states: ArrayLike) -> NDArray[np.bool_]:
        """Which states (n, planned dofs) are free of collisions and, up to rounding, within limits.

        Raises:
            StateError: numbers that are not finite, or not of this shape.
        """
        Q = self.as_states(states)
        good = np.ones(len(Q), np.int64)
        look_at_states(self._check.address, self._numbers.address, *self._loose, Q, good)
        return good != 0

    def is_free(self, state: ArrayLike) -> bool:
        """Whether a state (planned dofs,) is free of collisions."""
        return bool(self.states_are_free(np.asarray(state)[None])[0])

    def clearance_task(self) -> Task:
        """The task of inverse kinematics to touch nothing; `IkSolver(tasks, avoid=checker)` takes it."""
        return clearance_task(self)

    @in_turn
    def contact(self, state: ArrayLike) -> Contact | None:
        """What touches first in a state, or None."""
        hit, sphere, obstacle, other = self._checked(np.asarray(state)[None])[0]
        if hit < 0.0:
            return None
        second = self._owners[int(other)] if other >= 0.0 else self._obstacles[int(obstacle)]
        return Contact(self._owners[int(sphere)], second)

    @in_turn
    def edges_are_free(self, starts: ArrayLike, ends: ArrayLike) -> NDArray[np.bool_]:
        """Which straight motions from `starts` to `ends` (n, planned dofs) are free, their ends too.

        If `certified` is set, all of their states are; else no state is farther than half of 1 / `resolution` from one
        that was checked, or is part of a piece that is free as a whole.

        Raises:
            StateError: numbers that are not finite, or not of this shape.
        """
        A, B = self.as_states(starts, "starts"), self.as_states(ends, "ends")
        if A.shape != B.shape:
            raise StateError(f"edges: expected as many starts as ends, got {len(A)} and {len(B)}")
        out = np.zeros(len(A), np.int64)
        check_edges(self._edge.address, A, B, out)
        return (out == 0) & self.states_are_free(B)

    def edge_is_free(self, start: ArrayLike, end: ArrayLike) -> bool:
        """Whether a straight motion is free, as `edges_are_free` has it."""
        return bool(self.edges_are_free(np.asarray(start)[None], np.asarray(end)[None])[0])

    def as_states(self, states: ArrayLike, what: str = "states") -> Array:
        """States as finite numbers (n, planned dofs).

        Raises:
            StateError: they are not.
        """
        Q = numbers(states, what)
        if Q.ndim != 2 or Q.shape[1] != len(self.columns):
            raise StateError(f"{what}: expected shape (n, {len(self.columns)}), got {Q.shape}")
        return np.ascontiguousarray(Q)

    @in_turn
    def _checked(self, states: ArrayLike) -> Array:
        Q = self.as_states(states)
        out = np.zeros((len(Q), 4))
        check_states(self._check.address, self._numbers.address, Q, out)
        return out
