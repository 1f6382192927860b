"""Which bodies become aggregate bodies, and the container of an embedding, with room for any partition.

An aggregate is a set of links that one link, its parent, carries: every link of the set that hangs on a link outside
hangs on the parent, and with two links of one branch all between them belong to the set. Then aggregates and the links
outside them form a tree again, whatever hangs on a member of an aggregate.

A joint between two bodies closes a loop over the links from both up to their closest common ancestor, which stays
outside. A coupling of coordinates (gears, belts, mimic joints) takes the links that the coordinates move, and those
between them: its ancestor is that of their parents. Aggregates that share a link are merged and closed again.
Source: Jain (2012), "Multibody graph transformations and analysis, part II", sections on aggregation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kido.constraints.constraint import Constraint
from kido.constraints.loop_schema import COUPLE, DRIVEN, LOOPS, SPRING
from kido.dynamics.embedding.schema import EMBEDDING
from kido.dynamics.system import ConstrainedSystem
from kido.joints import ActuatorType, JointKind

WORLD = -1


@dataclass(frozen=True)
class Tie:
    """Links that one constraint ties together.

    Attributes:
        links: those it acts on; the world is left out.
        hinges: it couples coordinates: the joints above the links take part.
        to_world: one of its sides is the world.
    """

    links: tuple[int, ...]
    hinges: bool = False
    to_world: bool = False


def common_ancestor(parent: Sequence[int], links: Iterable[int]) -> int:
    """The last link from which all links descend, or one of them; `WORLD` if there is none."""
    found: int | None = None
    for link in links:
        if found is None:
            found = link
        # A parent's index is below its child's.
        while found != link:
            if found > link:
                found = parent[found]
            else:
                link = parent[link]
        if found == WORLD:
            return WORLD
    return WORLD if found is None else found


def below(parent: Sequence[int], links: Iterable[int], ancestor: int) -> set[int]:
    """The links and all on their paths up to an ancestor, which is left out."""
    found: set[int] = set()
    for link in links:
        while link != ancestor and link not in found:
            found.add(link)
            link = parent[link]
    return found


def path_of_tie(parent: Sequence[int], tie: Tie) -> set[int]:
    """Links that a constraint's loop goes over; none if nothing lies between its sides."""
    if tie.to_world:
        return below(parent, tie.links, WORLD)
    ends = [parent[i] for i in tie.links] if tie.hinges else tie.links
    return below(parent, tie.links, common_ancestor(parent, ends))


def parent_of_aggregate(parent: Sequence[int], members: set[int]) -> int:
    """Closest common ancestor of what the members' topmost links hang on."""
    return common_ancestor(parent, {parent[i] for i in members if parent[i] not in members})


def aggregate(parent: Sequence[int], ties: Sequence[Tie]) -> list[tuple[list[int], list[int]]]:
    """Aggregates of a tree: members, in order, and the constraints of each; the lowest member orders them.

    Args:
        parent: link that each link hangs on, of a lower index; `WORLD`.
        ties: of the constraints.
    """
    groups: list[tuple[set[int], list[int]]] = []
    for k, tie in enumerate(ties):
        members, own = path_of_tie(parent, tie), [k]
        if not members:
            continue
        # What is merged may reach over others: until nothing is shared.
        while True:
            members |= below(parent, members, parent_of_aggregate(parent, members))
            shared = [g for g in groups if g[0] & members]
            if not shared:
                break
            for g in shared:
                groups.remove(g)
                members |= g[0]
                own = g[1] + own
        groups.append((members, own))
    return sorted(((sorted(m), sorted(own)) for m, own in groups), key=lambda g: g[0][0])


def schedule(parent: Sequence[int], aggregates: Sequence[Sequence[int]]) -> list[int]:
    """Links and aggregates, parents first: a link's index, or -1 - c for aggregate c."""
    owner = {link: c for c, members in enumerate(aggregates) for link in members}
    items: list[int] = []
    for link in range(len(parent)):
        c = owner.get(link)
        if c is None:
            items.append(link)
        elif aggregates[c][0] == link:
            items.append(-1 - c)
    return items


# How willingly a coordinate is made dependent.
UNDRIVEN, DRIVEN_BY_FORCE, NAMED, PRESCRIBED = 1.0, 0.25, 1e-2, 0.0
ROTATION = 3.0  # factor of those of ball and free joints: their coordinates are best dependent together


def tie_of(system: ConstrainedSystem, k: int) -> Tie:
    """Links that constraint k of a system ties together."""
    lp, tree = system.loops, system.tree
    if lp.kind[lp.first_row[k]] == COUPLE:
        dofs = lp.term_dof[lp.first_term[k] : lp.first_term[k + 1]]
        return Tie(tuple(int(i) for i in np.unique(tree.body_of_dof[dofs])), hinges=True)
    sides = [int(lp.body_a[k]), int(lp.body_b[k])]
    return Tie(tuple(i for i in sides if i >= 0), to_world=min(sides) < 0)


def size_of_loop(system: ConstrainedSystem, k: int) -> int:
    """Number of coordinates that the loop of constraint k of a system goes over."""
    tree = system.tree
    path = path_of_tie([int(i) for i in tree.parent], tie_of(system, k))
    return sum(int(tree.first_dof[i + 1] - tree.first_dof[i]) for i in path)


def touches_of(system: ConstrainedSystem, k: int, place: dict[int, int]) -> list[tuple[int, float]]:
    """Coordinates that a constraint's rows have, as places, with their factors: what moves both sides is left out."""
    lp, tree = system.loops, system.tree
    if lp.kind[lp.first_row[k]] == COUPLE:
        terms = range(int(lp.first_term[k]), int(lp.first_term[k + 1]))
        return [(place[int(lp.term_dof[e])], float(lp.term_factor[e])) for e in terms]
    sides: dict[int, float] = {}
    for body, sign in ((int(lp.body_a[k]), -1.0), (int(lp.body_b[k]), 1.0)):
        while body >= 0:
            sides[body] = sides.get(body, 0.0) + sign
            body = int(tree.parent[body])
    found = []
    for body, sign in sides.items():
        if sign != 0.0:
            found += [(place[d], sign) for d in range(int(tree.first_dof[body]), int(tree.first_dof[body + 1]))]
    return sorted(found)


def weights_of(system: ConstrainedSystem, independent: Collection[int]) -> np.ndarray:
    """How willingly each coordinate (dofs,) is made dependent."""
    tree = system.tree
    weight = np.where(tree.actuator == ActuatorType.FORCE, DRIVEN_BY_FORCE, UNDRIVEN)
    kind = tree.kind[tree.body_of_dof]
    weight[np.isin(kind, (JointKind.BALL, JointKind.FREE))] *= ROTATION
    weight[list(independent)] = NAMED
    weight[tree.prescribed != 0] = PRESCRIBED
    return weight


def embed(
    system: ConstrainedSystem, independent: Collection[int] = (), loose: Collection[Constraint] = ()
) -> EMBEDDING:
    """The aggregates of a system's rows.

    Args:
        system: whose rows that hold with any force are embedded.
        independent: coordinates that are to be independent where that is possible.
        loose: constraints that are not embedded.
    """
    lp, tree = system.loops, system.tree
    parent = [int(i) for i in tree.parent]
    slot_of = {row: s for s, row in enumerate(system.slots)}
    held = [k for k in range(len(system.constraints)) if any(r in slot_of for r in _rows(lp, k))]
    left = [k for k in held if system.constraints[k] in loose]
    held = [k for k in held if k not in left]
    slots = [slot_of[r] for k in left for r in _rows(lp, k) if r in slot_of]
    groups = [(m, [held[i] for i in own]) for m, own in aggregate(parent, [tie_of(system, k) for k in held])]
    aggregates = [m for m, _ in groups]
    weight = weights_of(system, independent)

    members: list[int] = []
    above: list[int] = []
    dofs: list[int] = []
    rows: list[int] = []
    touches: list[list[tuple[int, float]]] = []
    firsts: dict[str, list[int]] = {name: [0] for name in ("member", "place", "row", "tie", "member_place")}
    tie_rows: list[int] = []
    matrix, squares, motions = [0], [0], [0]
    for own, constraints in groups:
        start, at = len(members), len(dofs)
        number = {link: start + j for j, link in enumerate(own)}
        for link in own:
            members.append(link)
            above.append(number.get(parent[link], -1))
            dofs += range(int(tree.first_dof[link]), int(tree.first_dof[link + 1]))
            firsts["member_place"].append(len(dofs))
        place = {d: k for k, d in enumerate(dofs[at:])}
        for k in constraints:
            touched = touches_of(system, k, place)
            own_rows = [r for r in _rows(lp, k) if r in slot_of]
            rows += own_rows
            touches += [touched] * len(own_rows)
            tie_rows.append(len(own_rows))
        firsts["member"].append(len(members))
        firsts["place"].append(len(dofs))
        firsts["row"].append(len(rows))
        firsts["tie"].append(firsts["tie"][-1] + len(constraints))
        n, m = len(dofs) - at, len(rows) - firsts["row"][-2]
        matrix.append(matrix[-1] + m * (n + 1))
        squares.append(squares[-1] + n * (n + 1))
        motions.append(motions[-1] + n * len(own))

    count, items = len(groups), schedule(parent, aggregates)
    sizes = {
        "items": len(items), "aggregates": count, "aggregates1": count + 1, "members": len(members),
        "members1": len(members) + 1, "places": len(dofs), "rows": len(rows), "rows1": len(rows) + 1,
        "ties": firsts["tie"][-1], "touches": sum(map(len, touches)), "pivots1": len(rows) + count + 1,
        "matrix": matrix[-1], "entries": matrix[-1], "squares": squares[-1], "motions": motions[-1],
        "links": len(parent), "dofs": len(tree.body_of_dof), "loop_rows": len(lp.kind),
        "loose_rows": len(slots), "slots": len(slot_of), "trees1": len(tree.tree_mobile) + 1,
    }  # fmt: skip
    e = EMBEDDING(**{name: max(size, 1) for name, size in sizes.items()})
    e.num_aggregates, e.num_items, e.num_loose = count, len(items), len(slots)
    _write(e.loose, slots)
    e.has_axial = int(np.isin(lp.mode[: int(lp.first_row[-1])], (SPRING, DRIVEN)).any())
    _write(e.item, items)
    tree_of_item = tree.tree_of_body[[i if i >= 0 else aggregates[-1 - i][0] for i in items]] if items else []
    e.tree_item[:] = np.searchsorted(tree_of_item, np.arange(len(e.tree_item)))
    e.owner[:] = -1
    for c, own in enumerate(aggregates):
        e.owner[own] = c
    for m, link in enumerate(members):
        e.number[link] = m
    _write(e.member, members)
    _write(e.above, above)
    _write(e.dof, dofs)
    _write(e.weight, weight[dofs])
    _write(e.row, rows)
    _write(e.slot, [slot_of[r] for r in rows])
    _write(e.first_member, firsts["member"])
    _write(e.first_place, firsts["place"])
    _write(e.member_place, firsts["member_place"])
    _write(e.first_row, firsts["row"])
    _write(e.first_tie, firsts["tie"])
    _write(e.tie, [k for _, constraints in groups for k in constraints])
    _write(e.tie_rows, tie_rows)
    _write(e.first_touch, np.cumsum([0, *map(len, touches)]))
    _write(e.touch, [place for own in touches for place, _ in own])
    _write(e.touch_factor, [factor for own in touches for _, factor in own])
    _write(e.parent, [parent_of_aggregate(parent, set(m)) for m in aggregates])
    _write(e.matrix_at, matrix[:-1])
    _write(e.X_at, squares[:-1])
    _write(e.h_at, motions[:-1])
    outer = {parent[i] for i in range(len(parent)) if parent[i] >= 0 and e.owner[i] != e.owner[parent[i]]}
    for m in range(len(members)):
        e.outer[m] = members[m] in outer
        e.carries[m] = m in above or firsts["member_place"][m + 1] - firsts["member_place"][m] > 1
    for c, (own, constraints) in enumerate(groups):
        e.bears[c] = not outer.isdisjoint(own)
        e.constant[c] = all(lp.kind[lp.first_row[k]] == COUPLE for k in constraints)
    return e


def _rows(lp: LOOPS, k: int) -> range:
    return range(int(lp.first_row[k]), int(lp.first_row[k + 1]))


def _write(field: np.ndarray, values: Any) -> None:
    field[: len(values)] = values
