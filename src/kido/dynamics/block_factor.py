"""K = L S L^T of a sparse symmetric matrix in blocks, S = +1 or -1 for each row: factor and solution.

Nodes are eliminated in a given order. A node is a set of rows whose diagonal block, when its turn comes, has one sign:
positive for unknown accelerations with mass, negative (or zero) for multipliers whose bodies have gone before. The
block is factored by Cholesky, with the largest pivot first. Rows with a pivot below DROP of their scale follow from
others; their unknowns stay zero. Which blocks fill is found once, in Python (`BlockStructure`).
Source: George, Liu (1981), "Computer Solution of Large Sparse Positive Definite Systems"; Baraff (1996), "Linear-time
dynamics using Lagrange multipliers", for the order of bodies and hinges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from kido.constraints.loop_factor import PIVOT_TOLERANCE
from kido.jit import Struct, floats, integers, kernel

ALONE_TOLERANCE = 1e-15  # the same for rows that are judged by themselves
TINY_PIVOT = 1e-300


class BLOCKS(Struct):
    size = integers("nodes", doc="rows of each node")
    sign = floats("nodes", doc="1: positive, -1: negative")
    first = integers("nodes", doc="first row of each node in vectors")
    diagonal = integers("nodes", doc="where its diagonal block starts in `value`")
    later_first = integers("nodes1", doc="first neighbour that is eliminated later, in `later`, and the end")
    later = integers("links", doc="nodes")
    block = integers("links", doc="where the block of that neighbour (rows) and the node (columns) starts")
    target_first = integers("nodes1", doc="first block that the elimination of a node changes, in `target`")
    target = integers("targets", doc="where the block of each pair of its neighbours starts, later ones in rows")
    value = floats("values", doc="blocks, row by row; then the factor's")
    rank = integers("nodes", doc="rows of each node that do not follow from others")
    order = integers("rows", doc="row of the node at each place of its factor")
    scale = floats("rows", doc="factor of each row, by which pivots are judged; below 0: its own at that time")
    x = floats("rows", doc="right-hand side, then solution")
    right = floats("rows", doc="right-hand side, kept")
    total = floats("rows", doc="sum of the solutions so far")
    work = floats("widest", doc="work of a node")


class BlockStructure:
    """Which blocks there are once nodes are eliminated in their order, and where.

    Args:
        sizes: rows of each node, in the order of elimination.
        signs: of their diagonal blocks.
        pairs: nodes that have a block in common.
    """

    def __init__(self, sizes: Sequence[int], signs: Sequence[int], pairs: Iterable[tuple[int, int]]):
        later: list[set[int]] = [set() for _ in sizes]
        for i, j in pairs:
            later[min(i, j)].add(max(i, j))
        for own in later:
            if own:
                first = min(own)
                later[first] |= own - {first}
        self.later = [sorted(own) for own in later]
        # The neighbours of a node are those of the first of them too: every pair has its block.
        place = {}
        end = 0
        for i, size in enumerate(sizes):
            place[i, i] = end
            end += size * size
            for j in self.later[i]:
                place[j, i] = end
                end += size * sizes[j]
        self.place = place
        targets = [[place[b, a] for n, a in enumerate(own) for b in own[n:]] for own in self.later]
        self.container = BLOCKS(
            nodes=max(len(sizes), 1),
            nodes1=max(len(sizes), 1) + 1,
            links=max(sum(map(len, self.later)), 1),
            targets=max(sum(map(len, targets)), 1),
            values=max(end, 1),
            rows=max(sum(sizes), 1),
            widest=max([1, *sizes]),
        )
        c = self.container
        c.size[: len(sizes)], c.sign[: len(sizes)] = sizes, signs
        c.first[: len(sizes)] = np.cumsum([0, *sizes])[:-1]
        c.diagonal[: len(sizes)] = [place[i, i] for i in range(len(sizes))]
        fill_lists(c.later_first, c.later, self.later)
        fill_lists(c.later_first, c.block, [[place[j, i] for j in own] for i, own in enumerate(self.later)])
        fill_lists(c.target_first, c.target, targets)
        c.scale[:] = -1.0


def fill_lists(first: np.ndarray, values: np.ndarray, lists: Sequence[Sequence[int]]) -> None:
    """Write lists one after another, and where each begins."""
    ends = np.cumsum([0, *map(len, lists)])
    first[: len(ends)] = ends
    if ends[-1]:
        values[: ends[-1]] = np.concatenate([np.asarray(x, np.int64) for x in lists])


@kernel
def factor_diagonal(b, i):
    """Cholesky factor of a node's block, below its diagonal; its rank and order."""
    n, at, first, sign = b.size[i], b.diagonal[i], b.first[i], b.sign[i]
    D, order, w = b.value, b.order, b.work
    least = PIVOT_TOLERANCE
    for k in range(n):
        order[first + k] = k
        w[k] = b.scale[first + k]
        if w[k] < 0.0:
            least = ALONE_TOLERANCE
            w[k] = 1.0 / math.sqrt(max(sign * D[at + k * n + k], TINY_PIVOT))
    rank = 0
    for j in range(n):
        best, largest = j, 0.0
        for k in range(j, n):
            scale = w[order[first + k]]
            pivot = sign * D[at + k * n + k] * scale * scale
            if pivot > largest:
                best, largest = k, pivot
        if not largest > least:
            break
        if best != j:
            for k in range(n):
                p, q = D[at + j * n + k], D[at + best * n + k]
                D[at + j * n + k], D[at + best * n + k] = q, p
            for k in range(n):
                p, q = D[at + k * n + j], D[at + k * n + best]
                D[at + k * n + j], D[at + k * n + best] = q, p
            e, f = order[first + j], order[first + best]
            order[first + j], order[first + best] = f, e
        root = math.sqrt(sign * D[at + j * n + j])
        D[at + j * n + j] = root
        for k in range(j + 1, n):
            D[at + k * n + j] = sign * D[at + k * n + j] / root
        for k in range(j + 1, n):
            share = sign * D[at + k * n + j]
            for e in range(j + 1, k + 1):
                D[at + k * n + e] -= share * D[at + e * n + j]
                D[at + e * n + k] = D[at + k * n + e]
        rank = j + 1
    b.rank[i] = rank


@kernel
def divide_block(b, i, at, rows):
    """Block B of a later neighbour becomes B L^-T, columns in the order of the factor."""
    n, diagonal, first, rank, sign = b.size[i], b.diagonal[i], b.first[i], b.rank[i], b.sign[i]
    D, w = b.value, b.work
    for r in range(rows):
        line = at + r * n
        for k in range(rank):
            value = sign * D[line + b.order[first + k]]
            for e in range(k):
                value -= w[e] * D[diagonal + k * n + e]
            w[k] = value / D[diagonal + k * n + k]
        for k in range(rank):
            D[line + k] = w[k]


@kernel
def take_product(b, at, first, rows, second, columns, width, rank, sign, lower):
    """Subtract sign * X Y^T of two blocks from a third; of a diagonal block (lower = 1) both halves alike."""
    D = b.value
    for r in range(rows):
        for c in range(r + 1 if lower != 0 else columns):
            value = 0.0
            for k in range(rank):
                value += D[first + r * width + k] * D[second + c * width + k]
            value *= sign
            D[at + r * columns + c] -= value
            if lower != 0 and c != r:
                D[at + c * columns + r] -= value


@kernel
def factor_blocks(b):
    """Factor the matrix in `value`. Returns -1, or the first positive node that is not."""
    for i in range(b.size.shape[0]):
        factor_diagonal(b, i)
        n, rank, sign = b.size[i], b.rank[i], b.sign[i]
        if sign > 0.0 and rank < n:
            return i
        begin, end = b.later_first[i], b.later_first[i + 1]
        for e in range(begin, end):
            divide_block(b, i, b.block[e], b.size[b.later[e]])
        t = b.target_first[i]
        for e in range(begin, end):
            columns = b.size[b.later[e]]
            for f in range(e, end):
                rows, lower = b.size[b.later[f]], 1 if e == f else 0
                take_product(b, b.target[t], b.block[f], rows, b.block[e], columns, n, rank, sign, lower)
                t += 1
    return -1


@kernel
def solve_blocks(b):
    """x <- K^-1 x by the factor; unknowns of rows that follow from others become zero."""
    D, x, w = b.value, b.x, b.work
    nodes = b.size.shape[0]
    for i in range(nodes):
        n, at, first, rank = b.size[i], b.diagonal[i], b.first[i], b.rank[i]
        for k in range(rank):
            value = x[first + b.order[first + k]]
            for e in range(k):
                value -= D[at + k * n + e] * w[e]
            w[k] = value / D[at + k * n + k]
        for k in range(n):
            x[first + k] = w[k] if k < rank else 0.0
        for e in range(b.later_first[i], b.later_first[i + 1]):
            j = b.later[e]
            line = b.block[e]
            for r in range(b.size[j]):
                value = 0.0
                for k in range(rank):
                    value += D[line + k] * x[first + k]
                x[b.first[j] + r] -= value
                line += n
    for i in range(nodes - 1, -1, -1):
        n, at, first, rank, sign = b.size[i], b.diagonal[i], b.first[i], b.rank[i], b.sign[i]
        for k in range(rank):
            w[k] = sign * x[first + k]
        for e in range(b.later_first[i], b.later_first[i + 1]):
            j = b.later[e]
            line = b.block[e]
            for r in range(b.size[j]):
                value = x[b.first[j] + r]
                for k in range(rank):
                    w[k] -= D[line + k] * value
                line += n
        for k in range(rank - 1, -1, -1):
            value = w[k]
            for e in range(k + 1, rank):
                value -= D[at + e * n + k] * w[e]
            w[k] = value / D[at + k * n + k]
        for k in range(n):
            x[first + k] = 0.0
        for k in range(rank):
            x[first + b.order[first + k]] = w[k]
