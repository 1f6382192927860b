"""Modes of skeletons' flexible bodies, as arrays that sweeps read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.flexible.body import FlexibleBody, flexible_bodies
from kido.flexible.schema import FLEX, MODES
from kido.skeleton import Skeleton
from kido.skeleton.compiler import Links

Indices = NDArray[np.int64]


def fill(parts: Sequence[Links]) -> FLEX:
    """FLEX of a forest of skeletons, or of one, by their links.

    Raises:
        ModelError: a flexible body was taken apart; see `FlexibleBody.check`.
    """
    flex_of, node_of, has_modes = (np.full(sum(len(p.top) for p in parts), k, np.int64) for k in (-1, -1, 0))
    bodies: list[FlexibleBody] = []
    nodes, owners, first_mode = [], [], []
    link = dof = 0
    for links in parts:
        counts = [body.parent_joint.num_dofs for body in links.top]
        starts = dof + np.concatenate([[0], np.cumsum(counts)])
        for flexible in flexible_bodies(links.top[0].skeleton) if links.top else ():
            flexible.check()
            flex_of[link + links.of_body[flexible.body.index]] = len(bodies)
            of_modes = int(links.of_body[flexible.coordinates.index])
            has_modes[link + of_modes] = 1
            first_mode.append(int(starts[of_modes]))
            bodies.append(flexible)
            for node in flexible.modes.nodes:
                node_of[link + links.of_body[flexible.node(node.name).index]] = len(nodes)
                nodes.append(node)
                owners.append(flexible.modes.number)
        link, dof = link + len(links.top), int(starts[-1])
    modes = [b.modes for b in bodies]
    number, columns = np.array([m.number for m in modes], np.int64), np.array(owners, np.int64)
    linear = np.zeros((dof, 12))
    for k, m in zip(first_mode, modes, strict=True):
        linear[k : k + m.number] = np.hstack([_six(m.J1), m.R1, m.S1])
    constants = MODES(
        linear=linear,
        slope=_rows(12, [np.hstack([_six(2.0 * _flat(m.J2, 3, 3)), _flat(m.R2, 3), _flat(m.S2, 3)]) for m in modes]),
        swing=_rows(
            9, [np.hstack([_flat(m.R2 - m.R2.swapaxes(0, 1), 3), _flat(m.R2, 3), _flat(m.S2, 3)]) for m in modes]
        ),
        mass=_rows(1, [m.mass_matrix.reshape(-1, 1) for m in modes]).ravel(),
        translation=_rows(3, [n.translation.T for n in nodes]),
        rotation=_rows(3, [n.rotation.T for n in nodes]),
        quadratic=_rows(6, [np.vstack([n.second_order, n.second_rotation]).reshape(6, -1).T for n in nodes]),
    )
    return FLEX(
        flex_of_body=flex_of, node_of_body=node_of, has_modes=has_modes, dofs=dof, pairs=int((number**2).sum()),
        columns=int(columns.sum()), nodes=len(nodes), modes=constants,
        first_mode=np.array(first_mode, np.int64), number=number, first_pair=_starts(number**2),
        first_column=_starts(columns), first_node_pair=_starts(columns**2),
        twists=np.array([n.second_rotation.any() for n in nodes], np.int64),
    )  # fmt: skip


def _rows(width: int, parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.ascontiguousarray(np.vstack([np.zeros((0, width)), *parts]))


def _flat(A: NDArray[np.float64], *shape: int) -> NDArray[np.float64]:
    return A.reshape(-1, *shape)


def flex_of(skeleton: Skeleton) -> FLEX | None:
    """FLEX of a skeleton that is compiled; None: it has no flexible bodies.

    Raises:
        ModelError: as `fill`.
    """
    if not any(joint.has_modes for joint in skeleton.joints):
        return None
    return fill([skeleton.current_state.links])


def without_modes(links: int) -> FLEX:
    """FLEX of a skeleton without flexible bodies, for structs that must refer to one."""
    none = np.full(links, -1, np.int64)
    sizes = dict.fromkeys(("flexes", "dofs", "pairs", "nodes", "columns"), 0)
    constants = MODES(dofs=0, pairs=0, columns=0, node_pairs=0)
    return FLEX(
        flex_of_body=none, node_of_body=none.copy(), has_modes=np.zeros(links, np.int64), modes=constants, **sizes
    )


def in_lanes(flex: FLEX, samples: int) -> FLEX:
    """Work space for several states side by side, with the same modes; 0: for one."""
    sizes: dict[str, Any] = {}
    for name in FLEX.arrays:
        field, array = FLEX.fields[name], getattr(flex, name)
        sizes |= {dim: n for dim, n in zip(field.dims, array.shape, strict=False) if isinstance(dim, str)}
        if field.kind == "i":
            sizes[name] = array
    return FLEX(samples=samples, modes=flex.modes, **sizes)


def some_inertias(tree: Any, state: Any, chosen: tuple[int, ...]) -> Any:
    """A tree that shares all but inertias, rotors and springs, which only bodies of these indices have."""
    flexible = flexible_bodies(state.skeleton)
    whole = set(chosen) | {f.coordinates.index for f in flexible if f.body.index in chosen}
    whole -= {f.coordinates.index for f in flexible if f.body.index not in chosen}
    own = state.inertias_of([state.skeleton.bodies[k] for k in sorted(whole)])
    mass = np.ascontiguousarray(own.inertia[:, 0])
    has = (own.springs != 0)[tree.body_of_dof]
    return tree.sharing(
        mass=mass,
        com=own.inertia[:, 1:4] / np.where(mass > 0.0, mass, 1.0)[:, None],
        inertia=np.ascontiguousarray(own.inertia[:, 4:]),
        armature=np.where(has, tree.armature, 0.0),
        stiffness=np.where(has, tree.stiffness, 0.0),
    )


def some_modes(flex: FLEX, state: Any, chosen: tuple[int, ...]) -> FLEX:
    """Work space with modes that have the inertia of bodies of these indices alone; all move nodes."""
    constants: Any = flex.modes
    own = {name: getattr(constants, name).copy() for name in ("linear", "slope", "swing", "mass")}
    for c, flexible in enumerate(flexible_bodies(state.skeleton)):
        if flexible.body.index not in chosen:
            m0, pair, number = int(flex.first_mode[c]), int(flex.first_pair[c]), int(flex.number[c])
            own["linear"][m0 : m0 + number] = 0.0
            for name in ("slope", "swing", "mass"):
                own[name][pair : pair + number * number] = 0.0
    made: Any = in_lanes(flex, 0)
    made.modes = constants.sharing(**own)
    return made


def _starts(counts: Indices) -> Indices:
    return (np.cumsum(counts) - counts).astype(np.int64)


def _six(J: NDArray[np.float64]) -> NDArray[np.float64]:
    return J[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
