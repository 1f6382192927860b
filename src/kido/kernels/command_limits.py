"""Commands within limits, for dynamics of one state, and as they were given again."""

from __future__ import annotations

from kido.jit import direct_entry, view
from kido.joints.actuators import FORCE, MIMIC
from kido.kernels.entries import OK
from kido.tree.schema import DATA, TREE


@direct_entry("i8(i8,i8,f8[::1],f8[::1],f8[::1])")
def bound_commands(tree, data, lower, upper, given):
    """Put commands within bounds; `given` is what they were."""
    t = view(TREE, tree)
    d = view(DATA, data)
    for k in range(given.shape[0]):
        if t.actuator[k] == FORCE or t.actuator[k] == MIMIC:
            given[k] = d.tau[k]
            d.tau[k] = min(max(d.tau[k], lower[k]), upper[k])
        else:
            given[k] = d.command[k]
            d.command[k] = min(max(d.command[k], lower[k]), upper[k])
    return OK


@direct_entry("i8(i8,i8,f8[::1])")
def put_back_commands(tree, data, given):
    """Commands as they were before `bound_commands`."""
    t = view(TREE, tree)
    d = view(DATA, data)
    for k in range(given.shape[0]):
        if t.actuator[k] == FORCE or t.actuator[k] == MIMIC:
            d.tau[k] = given[k]
        else:
            d.command[k] = given[k]
    return OK
