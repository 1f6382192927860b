"""What a world keeps of skeletons whose loops are aggregates of their trees (kido.simulation.aggregates)."""

from __future__ import annotations

from kido.jit import Field, Schema

# Entries of `place`: the aggregates, what their kernels read besides; data and aggregates at the end of a step.
EMBEDDING_AT, DYNAMICS_AT, END_DATA_AT, END_EMBEDDING_AT = range(4)

AGGREGATE_STEP = Schema(
    "AGGREGATE_STEP",
    Field("place", "i", (4,), doc="addresses of containers: EMBEDDING_AT ... END_EMBEDDING_AT"),
    Field("fits", "i", ("groups",), doc="1: the loops of the group's one skeleton may be aggregates"),
    Field("anew", "i", ("groups",), doc="1: partitions are to be chosen before the next step"),
    Field("wanted", "i", ("aggregates",), doc="rank of its rows wherever a position is not singular"),
    Field("tau", "f", ("dofs",), "N, N m", "joint forces of the step, springs and dampers of joints included"),
    Field("loaded", "f", ("dofs",), "N, N m", "work: the same with what else acts in a sweep"),
    Field("product", "f", ("bodies", 6), "rad/s^2, m/s^2", "velocity products of the step about bodies' origins"),
    Field("bias", "f", ("bodies", 6), "N m, N", "bodies' own bias wrenches less external ones"),
    Field("force", "f", ("bodies", 6), "N m, N", "work: wrench that each body's motion takes"),
    Field("reaction", "f", ("dofs",), "N s, N m s", "generalized impulse of a group's rows in the step"),
)
