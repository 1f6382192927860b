"""What a world keeps of skeletons whose loops are aggregates of their trees (kido.simulation.aggregates)."""

from __future__ import annotations

from kido.dynamics.embedding.schema import EMBEDDING
from kido.dynamics.schema import DYNAMICS
from kido.jit import Struct, floats, integers, reference
from kido.tree.schema import DATA


class AGGREGATE_STEP(Struct):
    embedding = reference(EMBEDDING, doc="the aggregates")
    dynamics = reference(DYNAMICS, doc="what their kernels read besides")
    end_data = reference(DATA, doc="data at the end of a step")
    end_embedding = reference(EMBEDDING, doc="aggregates at the end of a step")
    fits = integers("groups", doc="1: the loops of the group's one skeleton may be aggregates")
    anew = integers("groups", doc="1: partitions are to be chosen before the next step")
    wanted = integers("aggregates", doc="rank of its rows wherever a position is not singular")
    tau = floats("dofs", unit="N, N m", doc="joint forces of the step, springs and dampers of joints included")
    loaded = floats("dofs", unit="N, N m", doc="work: the same with what else acts in a sweep")
    product = floats("bodies", 6, unit="rad/s^2, m/s^2", doc="velocity products of the step about bodies' origins")
    bias = floats("bodies", 6, unit="N m, N", doc="bodies' own bias wrenches less external ones")
    force = floats("bodies", 6, unit="N m, N", doc="work: wrench that each body's motion takes")
    reaction = floats("dofs", unit="N s, N m s", doc="generalized impulse of a group's rows in the step")
