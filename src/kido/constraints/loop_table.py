"""The rows of constraints compiled into a container: for the forest of a world, or for one skeleton's own tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kido.constraints.body_constraint import BodyConstraint
from kido.constraints.constraint import Constraint
from kido.constraints.coupler import CouplerConstraint
from kido.constraints.loop_schema import ELIMINATED, LOOPS
from kido.jit import Struct

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, Skeleton
    from kido.skeleton.compiler import Links

Array = NDArray[np.float64]


class LoopForest(Protocol):
    """What rows are made for: skeletons in one container of the forest, one tree each.

    Attributes:
        skeletons: the trees.
        tree: TREE of all of them.
        links: of each.
    """

    @property
    def skeletons(self) -> Sequence[Skeleton]: ...

    @property
    def tree(self) -> Struct: ...

    @property
    def links(self) -> Mapping[Skeleton, Links]: ...

    def link_index(self, body: BodyNode) -> int:
        """Number in the tree of the link that carries a body."""
        ...


class LoopTable:
    """Rows in the making.

    Args:
        forest: whose bodies and coordinates they are about.
        joined: the constraints: between bodies, and couplers of coordinates.

    Attributes:
        rows: fields of each row.
        groups: trees and rows of each set of trees that eliminated rows connect, in the order of their first row.
    """

    def __init__(self, forest: LoopForest, joined: Sequence[Constraint]):
        self.forest, self.joined = forest, list(joined)
        self.rows: list[dict[str, Any]] = []
        self._terms: list[tuple[int, float]] = []
        self._first_row, self._first_term = [0], [0]
        self._trees: list[set[int]] = []  # mobile parts of each constraint
        tree_of = {s: k for k, s in enumerate(forest.skeletons)}
        for k, c in enumerate(self.joined):
            if isinstance(c, CouplerConstraint):
                self._read_coupler(k, c, tree_of)
            elif isinstance(c, BodyConstraint):
                self.rows.extend({"of": k, **row} for row in c.row_values())
            self._first_row.append(len(self.rows))
            self._first_term.append(len(self._terms))
            trees = {tree_of[s] for s in c.skeletons}
            self._trees.append({p for p in trees if forest.skeletons[p].mobile and self._size(p) > 0})
        self.groups = self._find_groups()

    def _read_coupler(self, k: int, c: CouplerConstraint, tree_of: dict[Skeleton, int]) -> None:
        self.rows.extend({"of": k, **row} for row in c.row_values())
        for dof, factor in c.terms:
            tree_index = tree_of[dof.joint.child.skeleton]
            self._terms.append((int(self.forest.tree.tree_dof[tree_index]) + dof.index, factor))

    def _size(self, tree_index: int) -> int:
        return int(self.forest.tree.tree_dof[tree_index + 1] - self.forest.tree.tree_dof[tree_index])

    def _find_groups(self) -> list[tuple[list[int], list[int]]]:
        root: dict[int, int] = {}

        def find(tree_index: int) -> int:
            while root.setdefault(tree_index, tree_index) != tree_index:
                tree_index = root[tree_index]
            return tree_index

        for row in self.rows:
            if row["mode"] == ELIMINATED:
                roots = sorted(find(p) for p in self._trees[row["of"]])
                for other in roots[1:]:
                    root[other] = roots[0]
        rows: dict[int, list[int]] = {}
        for k, row in enumerate(self.rows):
            if row["mode"] == ELIMINATED and self._trees[row["of"]]:
                rows.setdefault(find(min(self._trees[row["of"]])), []).append(k)
        return [([p for p in sorted(root) if find(p) == key], own) for key, own in rows.items()]

    def container(self, dense: bool = True) -> LOOPS:
        """LOOPS, filled.

        Args:
            dense: with room for the Jacobian, the responses and the matrix of each group.
        """
        lp = self._allocate(dense)
        lp.num_constraints, lp.num_rows, lp.num_groups = len(self.joined), len(self.rows), len(self.groups)
        lp.first_row[:], lp.first_term[:] = self._first_row, self._first_term
        for k, (dof, factor) in enumerate(self._terms):
            lp.term_dof[k], lp.term_factor[k] = dof, factor
        lp.sign[:] = 1.0
        for k, row in enumerate(self.rows):
            for key, value in row.items():
                getattr(lp, key)[k] = value
        self._fill_constraints(lp)
        self._fill_groups(lp)
        return lp

    def _allocate(self, dense: bool) -> LOOPS:
        groups, number = self.groups, len(self.joined)
        sizes = [sum(self._size(p) for p in trees) for trees, _ in groups]
        pool = sum(size * len(rows) for size, (_, rows) in zip(sizes, groups, strict=True))
        tree = self.forest.tree
        return LOOPS(
            constraints=max(number, 1),
            constraints1=number + 1,
            terms=max(len(self._terms), 1),
            rows=max(len(self.rows), 1),
            slots=max(sum(len(rows) for _, rows in groups), 1),
            groups=max(len(groups), 1),
            groups1=len(groups) + 1,
            members=max(sum(len(own) for own, _ in groups), 1),
            trees=max(len(tree.tree_mobile), 1),
            pool=max(pool * dense, 1),
            squares=max(sum(len(rows) ** 2 for _, rows in groups) * dense, 1),
            dofs=max(int(tree.first_dof[-1]), 1),
        )

    def _fill_constraints(self, lp: LOOPS) -> None:
        lp.breaking_force[:] = lp.breaking_moment[:] = np.inf
        lp.enabled[:] = 1
        for k, c in enumerate(self.joined):
            lp.body_a[k] = lp.body_b[k] = -1
            if isinstance(c, BodyConstraint):
                lp.body_a[k], lp.frame_a[k] = self._placed(c.body_a, c.frame_a)
                lp.body_b[k], lp.frame_b[k] = self._placed(c.body_b, c.frame_b)
                lp.breaking_force[k], lp.breaking_moment[k] = c.breaking_force, c.breaking_torque
                lp.enabled[k] = not c.was_broken

    def _fill_groups(self, lp: LOOPS) -> None:
        lp.tree_group[:] = -1
        slot = member = pool = square = 0
        for g, (own, rows) in enumerate(self.groups):
            size = sum(self._size(p) for p in own)
            lp.group_dofs[g], lp.group_pool[g], lp.group_square[g] = size, pool, square
            pool, square = pool + size * len(rows), square + len(rows) ** 2
            local = 0
            for tree_index in own:
                lp.member[member], lp.tree_group[tree_index], lp.tree_local[tree_index] = tree_index, g, local
                member, local = member + 1, local + self._size(tree_index)
            lp.slot[slot : slot + len(rows)] = rows
            slot += len(rows)
            lp.group_slot[g + 1], lp.group_member[g + 1] = slot, member

    def _placed(self, body: BodyNode | None, frame: Array) -> tuple[int, Array]:
        """Link of a body, and a frame of the body in it as twelve numbers."""
        if body is None:
            return -1, np.concatenate([frame[:3, :3].ravel(), frame[:3, 3]])
        X = self.forest.links[body.skeleton].offset[body.index] @ frame
        return self.forest.link_index(body), np.concatenate([X[:3, :3].ravel(), X[:3, 3]])
