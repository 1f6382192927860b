"""Modes of a skeleton's flexible bodies, as arrays that sweeps read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kido.flexible.body import FlexibleBody
from kido.flexible.schema import FLEX
from kido.skeleton.compiler import Links

Indices = NDArray[np.int64]


def fill(links: Links, bodies: Sequence[FlexibleBody]) -> FLEX:
    """FLEX of the flexible bodies of a skeleton with the given links."""
    modes = [b.modes for b in bodies]
    counts = np.array([m.number for m in modes], np.int64)
    flex_of, node_of = np.full(len(links.top), -1, np.int64), np.full(len(links.top), -1, np.int64)
    nodes, owners = [], []
    for c, flexible in enumerate(bodies):
        flex_of[links.of_body[flexible.body.index]] = c
        for node in flexible.modes.nodes:
            node_of[links.of_body[flexible.node(node.name).index]] = len(nodes)
            nodes.append(node)
            owners.append(counts[c])
    columns = np.array(owners, np.int64)
    flex = FLEX(
        flex_of_body=flex_of, node_of_body=node_of, modes=int(counts.sum()), pairs=int((counts**2).sum()),
        columns=int(columns.sum()), node_pairs=int((columns**2).sum()),
        dofs=sum(b.parent_joint.num_dofs for b in links.top),
        first_mode=_starts(counts), first_pair=_starts(counts**2),
        first_column=_starts(columns), first_node_pair=_starts(columns**2),
    )  # fmt: skip
    own = {
        "stiffness": [m.stiffness for m in modes], "damping": [m.damping for m in modes],
        "linear": [np.hstack([_six(m.J1), m.R1, m.S1]) for m in modes],
        "slope": [
            np.hstack([_six(2.0 * m.J2.reshape(-1, 3, 3)), m.R2.reshape(-1, 3), m.S2.reshape(-1, 3)]) for m in modes
        ],
        "mass": [m.mass_matrix.ravel() for m in modes],
        "translation": [n.translation.T for n in nodes], "rotation": [n.rotation.T for n in nodes],
        "quadratic": [n.second_order.reshape(3, -1).T for n in nodes],
    }  # fmt: skip
    for field, parts in own.items():
        if parts:
            getattr(flex, field)[:] = np.concatenate(parts)
    return flex


def _starts(counts: Indices) -> Indices:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _six(J: NDArray[np.float64]) -> NDArray[np.float64]:
    return J[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
