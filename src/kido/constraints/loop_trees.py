"""What rows of loops ask of the trees that they hold; of trees *apart*, with flexible bodies, others know it.

`lp.others(lp.others_of, what, ...)` answers for trees with `lp.apart` set; whoever moves such trees gives it.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.kernels.forward_dynamics import articulated_inertias
from kido.kernels.inertia import body_inertia
from kido.kernels.kinematics import transforms

# What `others` does, with its arguments.
PLACE = 0  # (tree) poses at the positions
PREPARE = 1  # (tree) articulated inertias, springs and dampers apart; it is placed
BODY_ROW = 2  # (row, body) what row's unit force on a body is on the tree's coordinates, to row_J
RESPOND = 3  # (tree) velocities that the impulses in row_J bring, to row_Y
SHIFTS = 4  # (row, body) trace of what forces at the row's point move it by, to `answered`
TURNS = 5  # (row, body) the same of moments
EVALUATE = 6  # (tree) accelerations udot at the velocities of the data
ENERGY = 7  # (tree) kinetic energy at the velocities predicted for mid-step, to `answered`


@kernel
def is_apart(t, lp, body):
    """Whether a body's tree is apart."""
    return lp.apart[t.tree_of_body[body]] != 0


@kernel
def place_tree(t, d, lp, tree_index):
    """Poses of a tree at its positions."""
    if lp.apart[tree_index] != 0:
        lp.others(lp.others_of, PLACE, tree_index)
    else:
        transforms(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1])


@kernel
def prepare_tree(t, d, lp, tree_index):
    """Articulated inertias of a tree that is placed."""
    if lp.apart[tree_index] != 0:
        lp.others(lp.others_of, PREPARE, tree_index)
        return
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    for i in range(first, last):
        body_inertia(t, d, i)
    articulated_inertias(t, d, first, last, 0.0)


@kernel
def add_answer(t, lp, tree_index, sign, source, target, at):
    """Add sign times a vector over coordinates to an array whose part for the tree begins at `at`."""
    begin = t.tree_dof[tree_index]
    for k in range(begin, t.tree_dof[tree_index + 1]):
        target[at + k - begin] += sign * source[k]


@kernel
def add_row_apart(t, lp, r, body, sign, J, at):
    """Add row r on a body of a tree apart to J; row_J is the row."""
    lp.others(lp.others_of, BODY_ROW, r, body)
    add_answer(t, lp, t.tree_of_body[body], sign, lp.row_J, J, at)


@kernel
def add_response_apart(t, lp, tree_index, sign, Y, at):
    """Add sign times the response to row_J to Y."""
    lp.others(lp.others_of, RESPOND, tree_index)
    add_answer(t, lp, tree_index, sign, lp.row_Y, Y, at)


@kernel
def response_apart(t, lp, tree_index, J, Y, at):
    """Add the response of a tree apart to the row J to Y."""
    begin = t.tree_dof[tree_index]
    for k in range(begin, t.tree_dof[tree_index + 1]):
        lp.row_J[k] = J[at + k - begin]
    add_response_apart(t, lp, tree_index, 1.0, Y, at)
