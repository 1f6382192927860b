"""The spheres of a skeleton: groups on its links, which pairs may not meet, how far coordinates move them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.batch import Batch
from kido.collision import Collider
from kido.errors import ModelError, NameLookupError
from kido.ik.coupling import coupling_of
from kido.joints import JointKind
from kido.planning.covering import SphereTree, convex_parts, joined, moved, sphere_tree
from kido.planning.exact import Posed, colliders
from kido.planning.tables import NODE, ROBOT, SCENE

if TYPE_CHECKING:
    from kido.skeleton import Skeleton
    from kido.skeleton.body_node import BodyNode

Array = NDArray[np.float64]
SLIDES = (JointKind.PRISMATIC, JointKind.SCREW, JointKind.FREE)
SAMPLES = 64  # states in all of which a pair that is never apart touches


class Group(NamedTuple):
    """Spheres that move together.

    Attributes:
        name: of the body, or of what is carried.
        body: index of the body that they are on.
        tree: the spheres, in the axes of the body's link.
        owners: whose each sphere is.
        shapes: that they cover, on the body's link; of one body or thing alone.
    """

    name: str
    body: int
    tree: SphereTree
    owners: tuple[str, ...]
    shapes: tuple[Collider, ...] = ()


def group_of(name: str, body: int, tree: SphereTree, shapes: Iterable[Collider]) -> Group:
    """A group of one body or thing."""
    return Group(name, body, tree, (name,) * len(tree.radii), tuple(shapes))


def merged(
    groups: Sequence[Group], pairs: Sequence[tuple[int, int]], links: Any
) -> tuple[list[Group], list[tuple[int, int]]]:
    """Groups of one link that may not meet the same others become one."""
    partners: list[set[int]] = [set() for _ in groups]
    for a, b in pairs:
        partners[a].add(b)
        partners[b].add(a)
    alike: dict[Any, list[int]] = {}
    for a, group in enumerate(groups):
        alike.setdefault((int(links.of_body[group.body]), frozenset(partners[a])), []).append(a)
    number = {a: k for k, members in enumerate(alike.values()) for a in members}
    made = []
    for members in alike.values():
        first = groups[members[0]]
        owners = first.owners
        for k in members[1:]:
            owners = (first.name, *owners, *groups[k].owners)
        made.append(Group(first.name, first.body, joined([groups[k].tree for k in members]), owners))
    return made, sorted({ordered(number[a], number[b]) for a, b in pairs})


def is_turn(tree: Any, link: int, column: int) -> bool:
    """Whether a coordinate turns its link about its joint, and does not move it."""
    kind = tree.kind[link]
    return kind in (JointKind.REVOLUTE, JointKind.BALL) or (
        kind == JointKind.FREE and column < tree.first_dof[link] + 3
    )


class Layout(NamedTuple):
    """How the planned coordinates move a skeleton's links.

    Attributes:
        columns: planned coordinates.
        driven: coordinates that move with them: themselves and what mimics them.
        place_of: for each of these, the place in `columns` of what it moves with.
        ratio, offset: its rate per rate of that one, and its position where that one is at zero.
        path: for each link, which driven coordinates move it.
        place: links whose poses depend on them, parents first.
        length: for each link, most that its origin can be from its parent's [m].
    """

    columns: NDArray[np.int64]
    driven: list[int]
    place_of: NDArray[np.int64]
    ratio: Array
    offset: Array
    path: list[frozenset[int]]
    place: list[int]
    length: Array


def planned_columns(skeleton: Skeleton, dofs: Iterable[Any] | None) -> NDArray[np.int64]:
    """Indices of the coordinates that are planned.

    Raises:
        NameLookupError: no such coordinate.
        ModelError: none, or one twice.
        StateError: one mimics another, or is LOCKED.
    """
    coupling = coupling_of(skeleton)
    if dofs is None:
        columns = coupling.every().tolist()
        if not columns:
            raise ModelError(f"planning: skeleton {skeleton.name!r} has no coordinates to plan with")
        return np.array(columns, np.int64)
    names = [dof.name for dof in skeleton.dofs]
    if isinstance(dofs, str) or not isinstance(dofs, Iterable):
        raise ModelError(f"planning: dofs: expected a list of coordinates, got {dofs!r}")
    wanted, columns = list(dofs), []
    for one in wanted:
        name = one if isinstance(one, str | int | np.integer) else getattr(one, "name", one)
        if isinstance(name, str) and name in names:
            columns.append(names.index(name))
        elif isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < len(names):
            columns.append(int(name))
        else:
            raise NameLookupError("coordinate", name, names)
    if not columns or len(set(columns)) < len(columns):
        raise ModelError(f"planning: expected coordinates, each once, got {wanted!r}")
    return coupling.checked(columns)


def layout_of(skeleton: Skeleton, tree: Any, columns: NDArray[np.int64], held: Array) -> Layout:
    """How coordinates `columns` move the links of a skeleton's TREE whose others are at `held`."""
    coupling, place = coupling_of(skeleton), []
    driven = [*columns.tolist(), *coupling.mimics_of(columns).tolist()]
    at = {int(k): n for n, k in enumerate(columns)}
    place_of = np.array([at[int(coupling.master[k])] for k in driven], np.int64)
    path: list[frozenset[int]] = []
    length, moved = np.zeros(len(tree.parent)), set(driven)
    for i, parent in enumerate(tree.parent):
        own = {k for k in range(tree.first_dof[i], tree.first_dof[i + 1]) if k in moved}
        path.append(frozenset(own | (path[parent] if parent >= 0 else frozenset())))
        if path[i]:
            place.append(i)
        length[i] = np.linalg.norm(tree.position_pj[i]) + np.linalg.norm(tree.position_jb[i])
        for k in range(tree.first_dof[i], tree.first_dof[i + 1]):
            if not is_turn(tree, i, k):
                slide = max(abs(tree.lower[k]), abs(tree.upper[k])) if k in moved else abs(held[k])
                length[i] += slide if tree.kind[i] in SLIDES else np.inf
    return Layout(columns, driven, place_of, coupling.ratio[driven], coupling.offset[driven], path, place, length)


def body_group(body: BodyNode, links: Any, tolerance: float, most: int) -> Group | None:
    """Spheres over all of a body that collides, and its shapes, in its link's axes; None: nothing does."""
    parts, shapes, link, offset = [], [], int(links.of_body[body.index]), links.offset[body.index]
    for node in body.shapes:
        if node.collision:
            X, padding = offset @ node.relative_transform, node.surface.padding
            for part in moved(convex_parts(node.shape, f"body {body.name!r}, shape {node.name!r}"), X):
                part.radius += padding
                parts.append(part)
            shapes += colliders(node.shape, link, X, padding)
    return group_of(body.name, body.index, sphere_tree(parts, tolerance, most), shapes) if parts else None


def neighbours(skeleton: Skeleton, named: Iterable[int]) -> set[tuple[int, int]]:
    """Pairs of bodies among `named` with a single joint between them, or bodies without shapes."""
    shaped, found = set(named), set()
    for body in skeleton.bodies:
        above = body.parent
        while above is not None and above.index not in shaped:
            above = above.parent
        if body.index in shaped and above is not None:
            found.add(ordered(body.index, above.index))
    return found


def ordered(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def never_apart(
    skeleton: Skeleton,
    groups: Sequence[Group],
    pairs: Sequence[tuple[int, int]],
    columns: Any,
    held: Array,
    posed: Posed | None,
) -> set[tuple[int, int]]:
    """Pairs whose finest spheres, or shapes if they are `posed`, meet in all of some states within limits."""
    links = skeleton.current_state.links
    lower, upper = (np.array(v)[columns] for v in (skeleton.position_lower_limits, skeleton.position_upper_limits))
    lower, upper = np.maximum(lower, -np.pi), np.minimum(upper, np.pi)
    Q = np.tile(held, (SAMPLES, 1))
    Q[:, columns] = np.random.default_rng(0).uniform(lower, np.maximum(lower, upper), (SAMPLES, len(columns)))
    coupling_of(skeleton).spread(Q, columns)
    X = Batch(skeleton, threads=1).forward_kinematics(Q)
    tops = [links.top[links.of_body[group.body]].index for group in groups]
    world = []
    for group, top in zip(groups, tops, strict=True):
        leaves = group.tree.leaves
        world.append(
            (np.einsum("sij,nj->sni", X[:, top, :3, :3], group.tree.centres[leaves]) + X[:, top, None, :3, 3],
             group.tree.radii[leaves])
        )  # fmt: skip
    found = set()
    for a, b in pairs:
        (x, r), (y, s) = world[a], world[b]
        distance = np.linalg.norm(x[:, :, None] - y[:, None], axis=-1) - r[:, None] - s
        if (distance.min(axis=(1, 2)) <= 0.0).all():
            poses = ((Q[tops[a]], Q[tops[b]]) for Q in X)
            if posed is None or not any(posed.apart(a, b, two) for two in poses):
                found.add((a, b))
    return found


def reaches(tree: Any, layout: Layout, link: int, spheres: SphereTree) -> Array:
    """Most that a sphere's centre on a link moves with each driven coordinate [m/rad or 1].

    So no point of what they cover moves by more than that either. About a hinge it is the largest distance from its
    axis: the sum of the lengths between.
    """
    out = np.zeros(len(layout.driven))
    beyond = max(float(np.linalg.norm(spheres.centres, axis=1).max()), spheres.reach)
    place = {k: at for at, k in enumerate(layout.driven)}
    i = link
    while i >= 0:
        for k in range(tree.first_dof[i], tree.first_dof[i + 1]):
            if k in place:
                turns = is_turn(tree, i, k)
                out[place[k]] = beyond + np.linalg.norm(tree.position_jb[i]) if turns else 1.0
        beyond += layout.length[i]
        i = tree.parent[i]
    return out


def robot_table(
    tree: Any,
    layout: Layout,
    links: Any,
    groups: Sequence[Group],
    pairs: Sequence[tuple[int, int]],
    names: Sequence[str],
) -> ROBOT:
    """The ROBOT of groups of spheres and pairs of them, which are of things of some names."""
    link = [int(links.of_body[group.body]) for group in groups]
    first = np.concatenate([[0], np.cumsum([len(group.tree.radii) for group in groups])]).astype(np.int64)
    reach = np.array([reaches(tree, layout, i, group.tree) for i, group in zip(link, groups, strict=True)])
    pair_reach = np.zeros((len(pairs), len(layout.driven)))
    for row, (a, b) in enumerate(pairs):
        for at, k in enumerate(layout.driven):
            if (k in layout.path[link[a]]) != (k in layout.path[link[b]]):
                pair_reach[row, at] = max(reach[a, at], reach[b, at])
    share = np.zeros((len(layout.driven), len(layout.columns)))  # of what each driven coordinate moves, by planned one
    share[np.arange(len(layout.driven)), layout.place_of] = np.abs(layout.ratio)
    follow = slice(len(layout.columns), None)  # of what is driven
    spheres = [group.tree for group in groups]
    made = ROBOT(
        places=len(layout.place), columns=len(layout.columns), groups=len(groups), groups1=len(groups) + 1,
        spheres=int(first[-1]), pairs=len(pairs), followers=len(layout.driven[follow]),
    )  # fmt: skip
    made.tree, made.things = tree, len(names)
    made.place[:], made.column[:], made.link[:], made.first[:] = layout.place, layout.columns, link, first
    made.moves[:] = [bool(layout.path[i]) for i in link]
    made.pair[:] = np.array(pairs, np.int64).reshape(-1, 2)
    made.reach[:], made.pair_reach[:] = reach.reshape(-1, len(layout.driven)) @ share, pair_reach @ share
    made.follower[:], made.leader[:] = layout.driven[follow], layout.columns[layout.place_of[follow]]
    made.ratio[:], made.offset[:] = layout.ratio[follow], layout.offset[follow]
    if groups:
        made.centre[:] = np.concatenate([s.centres for s in spheres])
        made.radius[:] = np.concatenate([s.radii for s in spheres])
        made.skip[:] = np.concatenate([s.skip + k for s, k in zip(spheres, first[:-1], strict=True)])
        made.exact[:] = np.concatenate([s.exact for s in spheres])
        made.thing[:] = [names.index(name) for group in groups for name in group.owners]
    return made


def groups_near(robot: ROBOT, layout: Layout, data: Any, scene: SCENE) -> list[int]:
    """Groups that can come near a scene; those far out first, as they meet something most often.

    A group is kept within a ball about the first joint that moves it.
    """
    tree, found = robot.tree, []
    for g, i in enumerate(robot.link):
        if not layout.path[i] or not len(scene.kind):
            continue
        first = int(i)
        while tree.parent[first] >= 0 and layout.path[tree.parent[first]]:
            first = int(tree.parent[first])
        spheres = slice(robot.first[g], robot.first[g + 1])
        k = layout.driven.index(min(layout.path[first]))
        radius = np.inf
        if tree.kind[first] == JointKind.REVOLUTE and layout.ratio[k] != 0.0:
            reach = robot.reach[g, layout.place_of[k]] / abs(layout.ratio[k])
            radius = reach + robot.radius[spheres].max() + robot.margin
        above = int(tree.parent[first])
        centre = np.array(tree.position_pj[first])
        if above >= 0:
            R, p = (np.array(v).reshape(len(tree.parent), -1, v.shape[-1] if v.ndim > 2 else 1)[above, :, 0]
                    for v in (data.R, data.p))  # fmt: skip
            centre = R.reshape(3, 3) @ centre + p
        away = np.maximum(np.maximum(scene.low - centre, centre - scene.high), 0.0)
        if (np.linalg.norm(away, axis=1)[scene.kind != NODE] <= radius).any():
            found.append(g)
    return found[::-1]
