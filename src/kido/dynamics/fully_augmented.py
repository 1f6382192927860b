"""FA, the fully augmented solver: every hinge is cut, and all forces of hinges and loops are unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.constraints.loop_factor import measure_all
from kido.constraints.loop_schema import COUPLE
from kido.dynamics.block_factor import BLOCKS, BlockStructure, factor_blocks, fill_lists
from kido.dynamics.cut_equations import coordinate_rate, fill_bodies, fill_slots, read_bodies, solve_twice
from kido.dynamics.cut_hinges import CUT, fill_matrix
from kido.dynamics.rows import begin, missing, row_forces
from kido.dynamics.schema import DYNAMICS
from kido.dynamics.solver import DynamicsSolver
from kido.errors import ModelError
from kido.integrators.schema import FAILED
from kido.jit import Struct, callback, kernel, view
from kido.kernels.forward_dynamics import articulated_inertias
from kido.kernels.inertia import body_inertia
from kido.kernels.kinematics import transforms

__all__ = ["FullyAugmentedSolver"]

MIN_INERTIA = 1e-8  # least moment of inertia about the centre of mass, as a share of the largest about the origin
MASSLESS = -1_000_000_000  # statuses below: MASSLESS - 1 - i says that body i cannot do without its hinge


@kernel
def prepare_matrix(t, d, lp, y, o, b):
    """Matrix and factor at the present transforms, with the status of a callback."""
    # Articulated inertias give the scales by which redundant rows are told, as TA has them.
    status = int(articulated_inertias(t, d, 0, t.parent.shape[0], 0.0))
    if status < 0:
        status = fill_matrix(t, d, lp, y, o, b)
    if status >= 0:
        return FAILED - 1 - status
    node = factor_blocks(b)
    if node >= 0:
        for i in range(t.parent.shape[0]):
            if o.body_node[i] == node:
                return MASSLESS - 1 - i
    return 0


@kernel
def read_rows(t, d, lp, y, o, b):
    """Multipliers, their joint forces, rank and redundant rows from the solution."""
    rank = 0
    for s in range(y.num_rows):
        node = o.slot_node[s]
        first = b.first[node]
        y.multiplier[s] = -b.x[first + o.slot_row[s]]
        y.redundant[s] = 1
        for k in range(b.rank[node]):
            if b.order[first + k] == o.slot_row[s]:
                y.redundant[s] = 0
                rank += 1
    y.rank = rank
    row_forces(t, d, lp, y, y.multiplier, y.constraint_force)


@callback
def accelerate(address, _a, _b, _c):
    """See `kido.dynamics.schema`."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    o = view(CUT, y.own)
    b = view(BLOCKS, o.place[0])
    y.evaluations += 1
    begin(t, d, lp, y)
    status = prepare_matrix(t, d, lp, y, o, b)
    if status < 0:
        return status
    fill_bodies(t, d, o, b, d.tau, 1)
    fill_slots(t, d, lp, y, o, b)
    solve_twice(t, d, lp, y, o, b)
    read_bodies(t, o, b, d.A)
    still = (-t.gravity[0], -t.gravity[1], -t.gravity[2])
    for k in range(d.udot.shape[0]):
        if t.prescribed[k] == 0:
            d.udot[k] = coordinate_rate(t, d, o, d.A, k, still, 1)
    read_rows(t, d, lp, y, o, b)
    missing(t, d, lp, y, y.residual)
    return 0


@callback
def respond(address, _a, _b, _c):
    """See `kido.dynamics.schema`."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    o = view(CUT, y.own)
    b = view(BLOCKS, o.place[0])
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
    measure_all(d, lp)
    status = prepare_matrix(t, d, lp, y, o, b)
    if status < 0:
        return status
    fill_bodies(t, d, o, b, y.impulse, 0)
    for s in range(y.num_rows):
        b.x[b.first[o.slot_node[s]] + o.slot_row[s]] = y.jump[s]
    solve_twice(t, d, lp, y, o, b)
    read_bodies(t, o, b, d.B)
    for k in range(y.change.shape[0]):
        y.change[k] = 0.0 if t.prescribed[k] != 0 else coordinate_rate(t, d, o, d.B, k, (0.0, 0.0, 0.0), 0)
    read_rows(t, d, lp, y, o, b)
    return 0


class FullyAugmentedSolver(DynamicsSolver):
    """FA: every hinge is cut; unknowns are the accelerations of all bodies, the forces of all hinges and of all rows.

    The sparse system is factored in blocks from the tips to the roots, each body and its hinge before the parent, so
    that the tree part fills nothing. The rows of a loop come as soon as the bodies of the loop are done: loops that
    reach over few bodies cost in proportion to their number, where TA has a dense matrix of all rows. It is
    the way that shares the least with the others, and so their check.
    Source: Jain (2013), sec. IV; Baraff (1996).
    """

    name = "FA"
    _accelerate, _respond = accelerate, respond

    def _make_own(self) -> Struct:
        order = _Order(self.system)
        self.blocks = order.structure
        return order.container

    def _check(self, status: int) -> None:
        if status < MASSLESS:
            skeleton = self.system.skeleton
            body = skeleton.current_state.links.top[MASSLESS - 1 - status]
            raise ModelError(
                f"skeleton {skeleton.name!r}: solver FA cuts all hinges, and body {body.name!r} has not enough mass or "
                "rotational inertia for itself; give it an inertia, or take solver TA"
            )
        super()._check(status)


def _is_light(tree: Any, i: int) -> bool:
    """Whether a link's own inertia is singular, or nearly."""
    xx, xy, xz, yy, yz, zz = tree.inertia[i]
    m, c = tree.mass[i], tree.com[i]
    if m <= 0.0:
        return True
    about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (c @ c * np.eye(3) - np.outer(c, c))
    moments = np.linalg.eigvalsh(about_com)
    return bool(moments[0] <= MIN_INERTIA * (moments[2] + m * (c @ c)))


class _Order:
    """Nodes in the order of elimination, and where their blocks are."""

    def __init__(self, system: Any):
        tree, lp = system.tree, system.loops
        self.parent = tree.parent.tolist()
        free = np.zeros(len(self.parent), int)
        np.add.at(free, tree.body_of_dof, tree.prescribed == 0)
        held = (6 - free).tolist()
        reach = [self._bodies_of(system, row) for row in system.slots]
        ties = [sorted(bodies - {-1}) for bodies in reach]
        of = [int(lp.of[row]) for row in system.slots]  # one node for the rows of a constraint
        after: dict[int, list[int]] = {}
        for c in dict.fromkeys(of):
            after.setdefault(self._last_on_path(reach[of.index(c)]), []).append(c)
        body_node, hinge_node = [-1] * len(self.parent), [-1] * len(self.parent)
        loop_node: dict[int, int] = {}
        sizes: list[int] = []
        signs: list[int] = []
        pairs: list[tuple[int, int]] = []

        def add(size: int, sign: int) -> int:
            sizes.append(size)
            signs.append(sign)
            return len(sizes) - 1

        for i in range(len(self.parent) - 1, -1, -1):
            body_node[i] = add(6, 1)
            if held[i]:
                hinge_node[i] = add(held[i], -1)
            for c in after.get(i, ()):
                loop_node[c] = add(of.count(c), -1)
        for c in after.get(-1, ()):
            loop_node[c] = add(of.count(c), -1)
        leans = [hinge_node[i] >= 0 and _is_light(tree, i) for i in range(len(self.parent))]
        rotors = np.zeros(len(self.parent), bool)
        rotors[tree.body_of_dof[(tree.armature != 0.0) & (tree.prescribed == 0)]] = True
        coupled = rotors | np.array(leans, bool)  # to their parents, besides by the hinge
        for i, above in enumerate(self.parent):
            if coupled[i] and above >= 0:
                pairs.append((body_node[i], body_node[above]))
            if hinge_node[i] >= 0:
                pairs.append((body_node[i], hinge_node[i]))
                if above >= 0:
                    pairs.append((hinge_node[i], body_node[above]))
        pairs += [(loop_node[c], body_node[i]) for c, own in zip(of, ties, strict=True) for i in own]
        self.structure = BlockStructure(sizes, signs, pairs)
        place, slots = self.structure.place, max(len(of), 1)
        own = CUT(bodies=max(len(self.parent), 1), dofs=max(system.num_dofs, 1), slots=slots, slots1=slots + 1,
            ties=max(sum(map(len, ties)), 1),
        )  # fmt: skip
        own.place[0] = self.structure.container.address
        count = len(self.parent)
        own.body_node[:count], own.hinge_node[:count], own.leans[:count] = body_node, hinge_node, leans
        own.rotors[:count] = rotors
        for i, above in enumerate(self.parent):
            own.parent_block[i] = -1
            if coupled[i] and above >= 0:
                own.lean_block[i] = place[body_node[above], body_node[i]]
            if hinge_node[i] >= 0:
                own.hinge_block[i] = place[hinge_node[i], body_node[i]]
                if above >= 0:
                    own.parent_block[i] = place[body_node[above], hinge_node[i]]
        for s, c in enumerate(of):
            own.slot_node[s], own.slot_row[s] = loop_node[c], s - of.index(c)
        turned = [[int(body_node[i] > loop_node[c]) for i in bodies] for c, bodies in zip(of, ties, strict=True)]
        blocks = [
            [place[max(body_node[i], loop_node[c]), min(body_node[i], loop_node[c])] for i in bodies]
            for c, bodies in zip(of, ties, strict=True)
        ]
        for field, lists in ((own.tie_body, ties), (own.tie_turned, turned), (own.tie_block, blocks)):
            fill_lists(own.tie_first, field, lists)
        self.container = own

    def _bodies_of(self, system: Any, row: int) -> set[int]:
        """Links whose acceleration a row has, -1 for the world; of couplers also the parents'."""
        lp, tree, k = system.loops, system.tree, int(system.loops.of[row])
        if lp.kind[row] == COUPLE:
            dofs = lp.term_dof[lp.first_term[k] : lp.first_term[k + 1]]
            own = {int(tree.body_of_dof[k]) for k in dofs if tree.prescribed[k] == 0}
            return own | {self.parent[i] for i in own}
        return {int(lp.body_a[k]), int(lp.body_b[k])}

    def _last_on_path(self, bodies: set[int]) -> int:
        """The last to be eliminated of the bodies below the closest common ancestor; -1: there are none."""
        ends, last = set(bodies), -1
        while len(ends) > 1:
            last = max(ends)
            ends.discard(last)
            ends.add(self.parent[last])
        return last
