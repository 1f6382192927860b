"""The compiled constraints of a world: containers of their rows, and what is read back from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.constraints.body_constraint import BodyConstraint
from kido.constraints.constraint import Constraint
from kido.constraints.coupler import CouplerConstraint
from kido.constraints.loop_rows import measure
from kido.constraints.loop_schema import (
    BOUNDED_ROW,
    CONSTRAINTS,
    COUPLE,
    ELIMINATED,
    GROUPS,
    LOOP_ROWS_COUNT,
    LOOPS,
)
from kido.constraints.loop_solve import OPEN
from kido.constraints.user_constraint import UserConstraint
from kido.jit import Container, entry, view
from kido.kernels.kinematics import transforms
from kido.simulation.user_rows import UserRows
from kido.tree.schema import DATA, TREE

if TYPE_CHECKING:
    from kido.simulation.engine import Engine
    from kido.skeleton import BodyNode

Array = NDArray[np.float64]
RATE = 1e-6  # [m/s or rad/s] velocity error above which a row is not met
# What the next step depends on.
_KEPT = ("impulse", "enabled", "angle", "end_q", "end_u", "closure", "start", "start_rank")


@entry("i8(i8,i8,i8,i8)")
def _measure(tree, data, loops, c):
    """Values of the rows of constraint c at the present positions. Returns 0."""
    t, d = view(TREE, tree), view(DATA, data)
    transforms(t, d, 0, t.parent.shape[0])
    measure(d, view(LOOPS, loops), c)
    return 0


class _Table:
    """Rows in the making."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.terms: list[tuple[int, float]] = []
        self.first_row, self.first_term = [0], [0]
        self.parts: list[set[int]] = []  # mobile parts of each constraint


class LoopSystem:
    """Containers of the constraints of one structure of a world.

    Args:
        engine: of the world.
        constraints: in the order they were added.
    """

    def __init__(self, engine: Engine, constraints: list[Constraint]):
        self.engine = engine
        self.constraints = list(constraints)
        self.joined: list[Any] = [c for c in constraints if not isinstance(c, UserConstraint)]
        self.users = UserRows(engine, [c for c in constraints if isinstance(c, UserConstraint)])
        self.number = {c: k for k, c in enumerate(self.joined)}
        table = self._read()
        groups = self._groups(table)
        self.container = self._fill(table, groups)

    # Making ----------------------------------------------------------------------------------------------

    def _read(self) -> _Table:
        table, engine = _Table(), self.engine
        part_of = {s: k for k, s in enumerate(engine.skeletons)}
        for k, c in enumerate(self.joined):
            if isinstance(c, CouplerConstraint):
                limit = c.force_limit
                table.rows.append(
                    {"kind": COUPLE, "of": k, "offset": c.offset, "lower": -limit, "upper": limit}
                    | {"mode": ELIMINATED if limit == np.inf else BOUNDED_ROW}
                )
                for dof, factor in c.terms:
                    part = part_of[dof.joint.child.skeleton]
                    table.terms.append((int(engine.tree.part_dof[part]) + dof.index, factor))
            else:
                self._read_body_rows(table, k, c)
            table.first_row.append(len(table.rows))
            table.first_term.append(len(table.terms))
            parts = {part_of[s] for s in c.skeletons}
            table.parts.append({p for p in parts if engine.skeletons[p].mobile and self._size(p) > 0})
        return table

    @staticmethod
    def _read_body_rows(table: _Table, k: int, c: BodyConstraint) -> None:
        table.rows.extend({"of": k, **row} for row in c._row_values())

    def _size(self, part: int) -> int:
        return int(self.engine.tree.part_dof[part + 1] - self.engine.tree.part_dof[part])

    @staticmethod
    def _groups(table: _Table) -> list[tuple[list[int], list[int]]]:
        """Parts and rows of each set of parts that eliminated rows connect, in the order of their first row."""
        root: dict[int, int] = {}

        def find(part: int) -> int:
            while root.setdefault(part, part) != part:
                part = root[part]
            return part

        for row in table.rows:
            if row["mode"] == ELIMINATED:
                roots = sorted(find(p) for p in table.parts[row["of"]])
                for other in roots[1:]:
                    root[other] = roots[0]
        rows: dict[int, list[int]] = {}
        for k, row in enumerate(table.rows):
            if row["mode"] == ELIMINATED and table.parts[row["of"]]:
                rows.setdefault(find(min(table.parts[row["of"]])), []).append(k)
        return [([p for p in sorted(root) if find(p) == key], own) for key, own in rows.items()]

    def _fill(self, table: _Table, groups: list[tuple[list[int], list[int]]]) -> Container:
        engine = self.engine
        sizes = [sum(self._size(p) for p in parts) for parts, _ in groups]
        number, dofs, parts = len(self.joined), len(engine.data.q), len(engine.tree.part_mobile)
        lp = Container(
            LOOPS,
            constraints=max(number, 1),
            constraints1=number + 1,
            terms=max(len(table.terms), 1),
            rows=max(len(table.rows), 1),
            slots=max(sum(len(rows) for _, rows in groups), 1),
            groups=max(len(groups), 1),
            groups1=len(groups) + 1,
            members=max(sum(len(own) for own, _ in groups), 1),
            parts=max(parts, 1),
            pool=max(sum(size * len(rows) for size, (_, rows) in zip(sizes, groups, strict=True)), 1),
            squares=max(sum(len(rows) ** 2 for _, rows in groups), 1),
            dofs=max(dofs, 1),
        )
        lp.count[[CONSTRAINTS, LOOP_ROWS_COUNT, GROUPS]] = number, len(table.rows), len(groups)
        lp.first_row[:], lp.first_term[:] = table.first_row, table.first_term
        for k, (dof, factor) in enumerate(table.terms):
            lp.term_dof[k], lp.term_factor[k] = dof, factor
        lp.sign[:] = 1.0
        for k, row in enumerate(table.rows):
            for key, value in row.items():
                getattr(lp, key)[k] = value
        lp.breaking_force[:] = lp.breaking_moment[:] = np.inf
        lp.enabled[:] = 1
        for k, c in enumerate(self.joined):
            lp.body_a[k] = lp.body_b[k] = -1
            if isinstance(c, BodyConstraint):
                lp.body_a[k], lp.frame_a[k] = self._placed(c.body_a, c.frame_a)
                lp.body_b[k], lp.frame_b[k] = self._placed(c.body_b, c.frame_b)
                lp.breaking_force[k], lp.breaking_moment[k] = c.breaking_force, c.breaking_torque
                lp.enabled[k] = not c._broken
        lp.part_group[:] = -1
        slot = member = pool = square = 0
        for g, ((own, rows), size) in enumerate(zip(groups, sizes, strict=True)):
            lp.group_dofs[g], lp.group_pool[g], lp.group_square[g] = size, pool, square
            pool, square = pool + size * len(rows), square + len(rows) ** 2
            local = 0
            for part in own:
                lp.member[member], lp.part_group[part], lp.part_local[part] = part, g, local
                member, local = member + 1, local + self._size(part)
            lp.slot[slot : slot + len(rows)] = rows
            slot += len(rows)
            lp.group_slot[g + 1], lp.group_member[g + 1] = slot, member
        lp.end_q[:] = lp.end_u[:] = np.nan  # no step has left this state: it is closed before the next
        return lp

    def _placed(self, body: BodyNode | None, frame: Array) -> tuple[int, Array]:
        """Link of a body, and a frame of the body in it as twelve numbers."""
        if body is None:
            return -1, np.concatenate([frame[:3, :3].ravel(), frame[:3, 3]])
        links = self.engine.links[body.skeleton]
        X = links.offset[body.index] @ frame
        return self.engine.link_index(body), np.concatenate([X[:3, :3].ravel(), X[:3, 3]])

    # Reading ---------------------------------------------------------------------------------------------

    def _rows_of(self, constraint: Any) -> slice:
        k = self.number[constraint]
        return slice(int(self.container.first_row[k]), int(self.container.first_row[k + 1]))

    def errors(self, constraint: Any) -> Array:
        """Values of a constraint's rows at the present positions."""
        engine = self.engine
        _measure(engine.tree.address, engine.data.address, self.container.address, self.number[constraint])
        return self.container.phi[self._rows_of(constraint)].copy()

    def impulses(self, constraint: Any) -> Array:
        """Impulses of a constraint's rows in the last step."""
        if isinstance(constraint, UserConstraint):
            return self.users.impulses(constraint)
        return self.container.impulse[self._rows_of(constraint)].copy()

    def wrench(self, constraint: Any) -> Array:
        """Mean wrench (6,) of a constraint on its second body in the last step, about B's origin, world axes."""
        return self.container.wrench[self.number[constraint]] / self.engine.world.time_step[0]

    def angle(self, constraint: Any) -> float:
        """Last angle that a row of a constraint measured [rad]."""
        return float(self.container.angle[self._rows_of(constraint).start])

    def write_row(self, constraint: Any, row: int, values: dict[str, float]) -> None:
        """Change fields of one row of a constraint, without making anything anew."""
        for key, value in values.items():
            getattr(self.container, key)[self._rows_of(constraint).start + row] = value
        if self.engine.sleepers is not None:
            parts = {s: k for k, s in enumerate(self.engine.skeletons)}
            self.engine.sleepers.wake(parts[s] for s in constraint.skeletons)

    def is_broken(self, constraint: Any) -> bool:
        """Whether a constraint broke."""
        return self.container.enabled[self.number[constraint]] == 0

    def set_broken(self, constraint: Any, broken: bool) -> None:
        """Break or repair a constraint."""
        self.container.enabled[self.number[constraint]] = not broken
        self.container.end_q[:] = np.nan

    def note_broken(self) -> None:
        """Tell constraints that they broke."""
        for k in np.flatnonzero(self.container.enabled[: len(self.joined)] == 0):
            self.joined[k]._broken = True

    def redundant(self) -> list[str]:
        """Rows that followed from others in the last step, as "constraint: row"."""
        lp, names = self.container, []
        for k, c in enumerate(self.joined):
            for r, name in zip(range(int(lp.first_row[k]), int(lp.first_row[k + 1])), c.row_names, strict=True):
                if lp.redundant[r] != 0 and lp.enabled[k] != 0:
                    names.append(f"{c.name}: {name}")
        return names

    def unmet(self) -> dict[str, tuple[float, float]]:
        """Errors of position and of velocity of eliminated rows that the last step left open."""
        lp, found = self.container, {}
        for s, r in enumerate(lp.slot[: int(lp.group_slot[-1])]):
            phi, rate, c = float(lp.phi[r]), float(lp.right[s]), int(lp.of[r])
            if lp.enabled[c] != 0 and not (abs(phi) <= OPEN and abs(rate) <= RATE):
                name = self.joined[c].row_names[int(r - lp.first_row[c])]
                found[f"{self.joined[c].name}: {name}"] = (phi, rate)
        return found

    # State -----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What the next step depends on."""
        lp = self.container
        return {"user_impulse": self.users.container.impulse.copy(), **{key: getattr(lp, key).copy() for key in _KEPT}}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned, of the same constraints."""
        lp = self.container
        if len(state["impulse"]) != len(lp.impulse) or len(state["end_q"]) != len(lp.end_q):
            return  # of other constraints: the next step closes what it finds
        for key in _KEPT:
            if key in state:  # older recordings have no angles
                getattr(lp, key)[:] = state[key]
        for k, c in enumerate(self.joined):
            c._broken = bool(lp.enabled[k] == 0)
        self.users.set_impulses(state["user_impulse"])
