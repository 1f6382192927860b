"""The tree solver: forward dynamics where nothing closes loops, with prescribed coordinates (mixed dynamics)."""

from __future__ import annotations

from kido.dynamics.rows import begin
from kido.dynamics.schema import DYNAMICS
from kido.dynamics.solver import DynamicsSolver
from kido.errors import ModelError
from kido.integrators.schema import FAILED
from kido.jit import Struct, callback, view
from kido.kernels.forward_dynamics import acceleration_scatter, articulated_inertias, bias_gather
from kido.kernels.impulse import generalized_row
from kido.kernels.inertia import body_inertia
from kido.kernels.kinematics import transforms

__all__ = ["TreeSolver"]


@callback
def accelerate(address, _a, _b, _c):
    """See `kido.dynamics.schema`."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    n = t.parent.shape[0]
    y.evaluations += 1
    begin(t, d, lp, y)
    status = int(articulated_inertias(t, d, 0, n, 0.0))
    if status >= 0:
        return FAILED - 1 - status
    bias_gather(t, d, 0, n)
    acceleration_scatter(t, d, 0, n)
    return 0


@callback
def respond(address, _a, _b, _c):
    """See `kido.dynamics.schema`."""
    y = view(DYNAMICS, address)
    t, d = y.tree, y.data
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
    status = int(articulated_inertias(t, d, 0, n, 0.0))
    if status >= 0:
        return FAILED - 1 - status
    for k in range(y.change.shape[0]):
        y.change[k] = 0.0
    generalized_row(t, d, 0, n, y.impulse, y.change, 0)
    return 0


class TreeSolver(DynamicsSolver):
    """Articulated-body forward dynamics of a system without rows, in O(n); coordinates with given accelerations too.

    Source: Jain (2013), sec. III; Featherstone (1983).
    """

    name = "tree"
    _accelerate, _respond = accelerate, respond

    def _make_own(self) -> Struct | None:
        system = self.system
        if system.num_rows:
            names = ", ".join(repr(c.name) for c in system.constraints[:5])
            raise ModelError(
                f"skeleton {system.skeleton.name!r}: solver tree takes no constraints, and there are "
                f"{len(system.constraints)}: {names}{' ...' if len(system.constraints) > 5 else ''}; take TA or FA"
            )
        return None
