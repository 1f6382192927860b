"""What forces of contacts may be: within friction cones, pushing; and penalties of rows."""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.math.transform import as_positive, as_vector
from kido.optimal_control.cost import Cost, Quadratic, ResidualCost
from kido.optimal_control.dynamics import Array, Dynamics
from kido.optimal_control.skeleton_dynamics import SkeletonDynamics


class FrictionCone(ResidualCost):
    """Rows that are not above zero while forces of contacts are within their cones: to be given as `inequality`.

    For each phase, of the mean wrench of each step (`SkeletonDynamics.contact_wrenches`), with f_n its force along the
    normal and f_t the rest:

        sqrt(|f_t|^2 + e^2) - e - mu f_n <= 0,    least - f_n <= 0,

    Rows are zero where a phase does not hold.

    Args:
        dynamics: whose contacts they are.
        friction: mu, or one for each phase.
        normal: of the ground, world axes.
        least: normal force [N].
        rounding: e [N], of the cone's tip, where derivatives would jump.

    Raises:
        ModelError: no skeleton's dynamics with contacts, or numbers that are no friction.
    """

    def __init__(
        self,
        dynamics: SkeletonDynamics,
        friction: ArrayLike,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        least: float = 0.0,
        rounding: float = 1.0,
    ):
        if not isinstance(dynamics, SkeletonDynamics) or not dynamics.contacts:
            raise ModelError(f"friction cone: expected SkeletonDynamics with contacts, got {dynamics!r:.80}")
        count = len(dynamics.contacts)
        mu = as_vector(np.broadcast_to(np.asarray(friction, dtype=float), count), "friction", count)
        if not (mu >= 0.0).all():
            raise ModelError(f"friction: expected numbers not below 0, got {friction!r}")
        n, e = as_vector(normal, "normal"), as_positive(rounding, "rounding", "N")
        n = n / as_positive(float(np.linalg.norm(n)), "length of the normal")
        flat = np.eye(3) - np.outer(n, n)

        def held(nodes: int) -> Array:
            """(nodes, phases), 1 where a phase holds."""
            return np.array([[float(p.begin <= k < p.end) for p in dynamics.contacts] for k in range(nodes)])

        def residuals(states: Array, controls: Array | None) -> Array:
            f = dynamics.contact_wrenches(states, _present(controls))[:, :, 3:]
            along, across = f @ n, f @ flat
            length = np.sqrt(np.einsum("kpi,kpi->kp", across, across) + e * e)
            return np.concatenate([length - e - mu * along, (least - along) * held(len(states))], axis=1)

        def jacobians(states: Array, controls: Array | None) -> tuple[Array, Array]:
            u = _present(controls)
            across = dynamics.contact_wrenches(states, u)[:, :, 3:] @ flat
            unit = across / np.sqrt(np.einsum("kpi,kpi->kp", across, across) + e * e)[:, :, None]
            slopes = np.concatenate([unit - mu[:, None] * n, np.broadcast_to(-n, unit.shape)], axis=1)
            found = []
            for D in dynamics.contact_wrench_derivatives(states, u):
                both = np.concatenate([D[:, :, 3:], D[:, :, 3:]], axis=1)
                found.append(np.einsum("kri,krij->krj", slopes, both))
            return found[0], found[1]

        super().__init__(residuals, jacobians)


class Penalty(Cost):
    """weight |max(r(x, u), 0)|^2 / 2 of rows r that are wished not to be above zero, at each node.

    Args:
        rows: a `ResidualCost`, such as a `FrictionCone`.
        weight: one, or of each row.

    Raises:
        ModelError: no rows, or weights that are not above zero.
    """

    def __init__(self, rows: ResidualCost, weight: ArrayLike = 1.0):
        if not isinstance(rows, ResidualCost):
            raise ModelError(f"penalty: expected a kido.optimal_control.ResidualCost, got {rows!r:.80}")
        self._rows: ResidualCost = rows
        self._weight: Array = np.asarray(weight, dtype=float)
        if not (np.isfinite(self._weight).all() and (self._weight > 0.0).all()):
            raise ModelError(f"penalty: weight: expected numbers above 0, got {weight!r}")

    def on(self, dynamics: Dynamics) -> Self:
        """This cost for states of dynamics; see `Cost.on`."""
        found = copy(self)
        found._rows = self._rows.on(dynamics)
        return found

    def value(self, states: Array, controls: Array | None) -> Array:
        """Cost (nodes,)."""
        r = np.maximum(self._rows.residuals(states, controls), 0.0)
        return 0.5 * np.sum(self._weight * r * r, axis=1)

    def quadratic(self, states: Array, controls: Array | None) -> Quadratic:
        """Derivatives by Gauss and Newton, of rows that are above zero."""
        r = np.maximum(self._rows.residuals(states, controls), 0.0)
        Jx, Ju = self._rows.jacobians(states, controls)
        xt = np.swapaxes(Jx, 1, 2) * (self._weight * (r > 0.0))[:, None, :]
        x, xx = (xt @ r[:, :, None])[:, :, 0], xt @ Jx
        if not isinstance(Ju, np.ndarray):
            return Quadratic(x, 0.0, xx, 0.0, 0.0)
        ut = np.swapaxes(Ju, 1, 2) * (self._weight * (r > 0.0))[:, None, :]
        return Quadratic(x, (ut @ r[:, :, None])[:, :, 0], xx, ut @ Jx, ut @ Ju)


def _present(controls: Array | None) -> Array:
    if controls is None:
        raise ModelError("friction cone: it is of steps, and not of the last node")
    return controls
