"""Which bodies become aggregate bodies: paths of loops, closed and merged.

An aggregate is a set of links that one link, its parent, carries: every link of the set that hangs on a link outside
hangs on the parent, and with two links of one branch all between them belong to the set. Then aggregates and the links
outside them form a tree again, whatever hangs on a member of an aggregate.

A joint between two bodies closes a loop over the links from both up to their closest common ancestor, which stays
outside. A coupling of coordinates (gears, belts, mimic joints) takes the links that the coordinates move, and those
between them: its ancestor is that of their parents. Aggregates that share a link are merged and closed again.
Source: Jain (2012), "Multibody graph transformations and analysis, part II", sections on aggregation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
