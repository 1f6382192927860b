"""The few lanes that Newton's method has not solved yet go on one by one, as numbers, each at a third of the cost.

By the source, the blocks and the order of operations that lanes have: what a lane finds is the same, bit for bit,
whether it goes on by itself or not, and so whatever its neighbours are.
"""

from __future__ import annotations

from typing import Any

from kido.batch.lockstep_few import columns_of
from kido.batch.lockstep_iterations import go_on
from kido.batch.lockstep_struct import FEW, LANE_NUMBERS, LOCKSTEP, SINGLE
from kido.constraints.row_origins import ROW_ORIGINS
from kido.jit import LANES, Struct, callback, kernel, view
from kido.jit.compile import thread_view
from kido.kernels.regularized_tree import REGULARIZED
from kido.solvers.history import BEST_ROW
from kido.solvers.laws import V
from kido.solvers.problem import BOUNDED, DEFAULT_SETTINGS, PROBLEM
from kido.tree.schema import DATA, TREE

FEW_LEFT = 3  # lanes that go on one by one


def single_of(x: Any) -> Struct:
    """Room for one lane of a LOCKSTEP; integers are those of all lanes."""
    one = SINGLE()
    for name in SINGLE.fields:
        setattr(one, name, _one_of(getattr(x, name)))
    for name in (*DEFAULT_SETTINGS, "small_rows"):
        setattr(one.problem, name, getattr(x.problem, name))
    return one


def _one_of(lanes: Struct) -> Struct:
    kind = type(lanes)
    sizes = {
        name: size
        for f in kind.fields.values()
        if f.is_array
        for name, size in zip(f.dims, getattr(lanes, f.name).shape, strict=False)
        if isinstance(name, str)
    }
    shared = {name: getattr(lanes, name) for name in kind.arrays if kind.fields[name].kind == "i"}
    return kind(**shared, **sizes)


@kernel
def take_numbers(own, o):
    """The state of a lane's iterations."""
    o.merit[0], o.taken[0], o.best[0], o.vain[0] = own.merit[0], own.taken[0], own.best[0], own.vain[0]
    o.penalty[0], o.cold[0], o.more[0], o.inner[0] = own.penalty[0], own.cold[0], own.more[0], own.inner[0]


@kernel
def take_blocks(c, o, src, to):
    """What iterations read of a lane's blocks."""
    o.num_blocks = c.num_blocks
    o.island_residual[0], o.island_speed[0] = c.island_residual[0], c.island_speed[0]
    o.island_approach[0] = c.island_approach[0]
    for b in range(c.num_blocks):
        o.mu[b], o.step[b], o.lower[b], o.upper[b] = c.mu[b], c.step[b], c.lower[b], c.upper[b]
        to.sign[b] = src.sign[b]
        if c.kind[b] != BOUNDED:
            for a in range(18):
                to.wrench[b, a] = src.wrench[b, a]
    for r in range(c.island_row[1]):
        o.impulse[r], o.compliance[r] = c.impulse[r], c.compliance[r]
        o.history[V, r], o.history[BEST_ROW, r] = c.history[V, r], c.history[BEST_ROW, r]


@kernel
def take_columns(few, o):
    """The inertia of a lane's few columns."""
    columns = columns_of(few)
    o.num_bodies[0], o.num_dofs[0] = few.num_bodies[0], few.num_dofs[0]
    for r in range(columns):
        for s in range(columns):
            o.inverse[0, r, s] = few.inverse[0, r, s]


@kernel
def take_tree(t, d, y, tree, data, to, tree_index):
    """What sweeps read of a lane's tree."""
    for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
        for a in range(3):
            data.l[i, a] = d.l[i, a]
        for a in range(21):
            to.P[i, a] = y.P[i, a]
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        tree.damping[k], tree.stiffness[k], tree.armature[k] = t.damping[k], t.stiffness[k], t.armature[k]
        for a in range(6):
            data.H[k, a] = d.H[k, a]


@kernel
def finish_lane(x, tree_index, j):
    """All iterations that lane j needs."""
    one = x.single
    dense = x.dense != 0
    own = thread_view(LANE_NUMBERS, x.own.address, j)
    c = thread_view(PROBLEM, x.problem.address, j)
    take_numbers(own, one.own)
    take_blocks(c, one.problem, thread_view(ROW_ORIGINS, x.origins.address, j), one.origins)
    if dense:
        take_columns(thread_view(FEW, x.few.address, j), one.few)
    else:
        take_tree(
            *(thread_view(TREE, x.tree.address, j), thread_view(DATA, x.data.address, j)),
            *(thread_view(REGULARIZED, x.regularized.address, j), one.tree, one.data, one.regularized, tree_index),
        )
    while one.own.inner[0] > 0.0:
        go_on(
            *(one.tree, one.data, one.problem, one.origins, one.regularized, one.few, one.own),
            *(dense, tree_index, x.time_step),
        )
    take_numbers(one.own, own)
    for r in range(c.island_row[1]):
        c.impulse[r], c.history[BEST_ROW, r] = one.problem.impulse[r], one.problem.history[BEST_ROW, r]


@callback
def finish_lanes(address, tree_index, unused_1, unused_2):
    """The iterations of lanes that go on, where they are few. Returns how many go on together."""
    x = view(LOCKSTEP, address)
    number = 0
    for j in range(LANES):
        number += 1 if thread_view(LANE_NUMBERS, x.own.address, j).inner[0] > 0.0 else 0
    if number > FEW_LEFT:
        return number
    for j in range(LANES):
        if thread_view(LANE_NUMBERS, x.own.address, j).inner[0] > 0.0:
            finish_lane(x, tree_index, j)
    return 0
