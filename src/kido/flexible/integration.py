"""Trees with flexible bodies as integrators see them: accelerations by their own sweeps."""

from __future__ import annotations

from typing import Any

from kido.errors import ModelError
from kido.flexible import sweeps
from kido.flexible.filling import in_lanes
from kido.flexible.schema import FLEX
from kido.integrators import Variational
from kido.integrators.integrator import CompiledIntegrator
from kido.integrators.rates import loads
from kido.integrators.schema import FAILED, MOTION
from kido.integrators.system import System
from kido.jit import callback, kernel, view


@kernel
def articulate_trees(t, d, f, h):
    """As `kido.integrators.rates.articulate`."""
    result = 0
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        sweeps.positions(t, d, f, first, last)
        if t.tree_mobile[tree_index] != 0:
            status = int(sweeps.articulated_inertias(t, d, f, first, last, h))
            if status >= 0 and result == 0:
                result = FAILED - 1 - status
    return result


@kernel
def accelerate_trees(t, d, f):
    """As `kido.integrators.rates.accelerate`."""
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
            sweeps.velocities(t, d, f, first, last)
            sweeps.accelerate(t, d, f, first, last)


@callback
def articulate(owner, motion, _a, _b):
    """See `kido.integrators.schema`."""
    m, f = view(MOTION, motion), view(FLEX, owner)
    return articulate_trees(m.tree, m.data, f, m.implicit)


@callback
def give_way(owner, motion, _a, _b):
    """See `kido.integrators.schema`."""
    m, f = view(MOTION, motion), view(FLEX, owner)
    accelerate_trees(m.tree, m.data, f)
    return 0


@callback
def accelerate(owner, motion, _a, _b):
    """See `kido.integrators.schema`."""
    m, f = view(MOTION, motion), view(FLEX, owner)
    t, d = m.tree, m.data
    loads(t, d, m)
    status = articulate_trees(t, d, f, 0.0)
    accelerate_trees(t, d, f)
    return status


class FlexibleSystem(System):
    """Joints, bodies and modes, and the forces that act on them.

    Args:
        flex: modes of all bodies of the tree; work space is made anew.
        arguments: as of `kido.integrators.System`.
    """

    def __init__(self, flex: FLEX, *arguments: Any):
        self._flex = in_lanes(flex, 0)
        super().__init__(*arguments)

    def _new_motion(self, tree: Any, outputs: int) -> MOTION:
        motion: Any = super()._new_motion(tree, outputs)
        motion.owner = self._flex.address
        motion.accelerate, motion.articulate, motion.give_way = accelerate, articulate, give_way
        return motion

    def motion(self, integrator: CompiledIntegrator, times: Any, largest: float, q: Any, u: Any) -> MOTION:
        """The container of an integration; see `System.motion`.

        Raises:
            ModelError: the variational integrator, whose discrete momenta are those of rigid bodies.
        """
        if isinstance(integrator, Variational):
            raise ModelError(
                f"{self.name} has flexible bodies, whose discrete momenta Variational does not have: expected another "
                "integrator; MoreauMidpoint keeps momenta and energy to second order, with implicit springs"
            )
        return super().motion(integrator, times, largest, q, u)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_flex": self._flex}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({**state, "_flex": in_lanes(state["_flex"], 0)})
