"""Solvers for closed chains with flexible bodies: three formulations that share no matrix (`flexible_chain`).

All take independent rows and free coordinates, those that nothing prescribes. With N = M^-1 G^T by sweeps over
articulated bodies, and c the bias:

* TA: (G N) lambda = gamma - G a, a the accelerations of the open tree, then udot = a + N lambda; M is not formed.
* FA: [M, -G^T; G, 0] [udot; lambda] = [T - c; gamma], by Gaussian elimination.
* CE: udot = X v + b with G X = 0, G b = gamma, X the unit matrix for independent coordinates, and
  X^T M X v = X^T (T - c - M b).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kido.dynamics import flexible_chain
from kido.dynamics.flexible_chain import LOOPS_NOT_CLOSED, SINGULAR
from kido.dynamics.flexible_chain_rows import CHAIN, MODES_SHARE
from kido.dynamics.flexible_rows import evaluate_rows
from kido.dynamics.solver import DynamicsSolver
from kido.errors import ModelError, StateError

Array = NDArray[np.float64]


class FlexibleSolver(DynamicsSolver):
    """What they have in common."""

    _accelerate: ClassVar[Any] = flexible_chain.accelerate_tree
    _respond: ClassVar[Any] = flexible_chain.respond
    moves: ClassVar[Any] = flexible_chain

    def _make_own(self) -> Any:
        system = self.system
        m, n = max(system.num_rows, 1), max(system.num_dofs, 1)
        own = CHAIN(slots=m, dofs=n, dofs1=n + 1, size=m + n)
        own.flex = system.flex
        own.weight[: system.num_dofs] = [MODES_SHARE if d.joint.has_modes else 1.0 for d in system.skeleton.dofs]
        return own

    def _check(self, status: int) -> None:
        what = f"skeleton {self.system.skeleton.name!r}: solver {self.name}"
        if status == SINGULAR:
            raise StateError(f"{what}: what its rows hold sees no inertia")
        if status == LOOPS_NOT_CLOSED:
            raise StateError(f"{what}: no positions near the given ones close the loops; assemble the skeleton first")
        super()._check(status)

    def accelerate(self, q: Array, u: Array, forces: Array | None = None, time: float = 0.0) -> Array:
        """See `DynamicsSolver.accelerate`.

        Raises:
            StateError: accelerations are not finite.
        """
        udot = super().accelerate(q, u, forces, time)
        if not np.isfinite(udot).all():
            raise StateError(
                f"skeleton {self.system.skeleton.name!r}: solver {self.name}: accelerations are not finite"
            )
        return udot


class FlexibleTree(FlexibleSolver):
    """A tree that no rows hold."""

    name = "tree"

    def _make_own(self) -> Any:
        system = self.system
        if system.num_rows:
            raise ModelError(
                f"skeleton {system.skeleton.name!r}: solver tree takes no constraints, and there are "
                f"{len(system.constraints)}; take TA or FA"
            )
        return super()._make_own()


class FlexibleTreeAugmented(FlexibleSolver):
    """TA by sweeps."""

    name = "TA"


class FlexibleFullyAugmented(FlexibleSolver):
    """FA: accelerations and forces of rows together."""

    name = "FA"
    _accelerate = flexible_chain.accelerate_full


class FlexibleEmbedding(FlexibleSolver):
    """CE: rows embedded, by coordinates that are independent of each other, chosen anew after each step of a motion."""

    name = "CE"
    _accelerate, _project_dependent = flexible_chain.accelerate_embedded, flexible_chain.project_dependent
    project_stage, project_step = flexible_chain.project_stage, flexible_chain.project_step

    @property
    def partition(self) -> list[str]:
        """Names of the coordinates that are not dependent."""
        return [d.name for d, k in zip(self.system.skeleton.dofs, self._own.is_dependent, strict=False) if not k]

    @property
    def repartitions(self) -> int:
        return int(self._own.choices)


KINDS: dict[str, type[FlexibleSolver]] = {
    kind.name: kind for kind in (FlexibleTreeAugmented, FlexibleFullyAugmented, FlexibleEmbedding, FlexibleTree)
}


def rows_at(system: Any, y: Any) -> tuple[Array, Array, Array, Array]:
    """phi, G, G u and gamma of the slots at the state in the container's data."""
    m, n = system.num_rows, system.num_dofs
    phi, rate, gamma = np.zeros((3, max(m, 1)))
    G = np.zeros((max(m, 1), n))
    evaluate_rows(y.address, system.flex.address, phi, G, rate, gamma)
    return phi[:m], G[:m], rate[:m], gamma[:m]
