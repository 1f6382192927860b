"""What forces of contacts may be: within friction cones, pushing, under soles; and penalties of rows."""

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

        sqrt(|f_t|^2 + e^2) - mu f_n <= 0,    least - f_n <= 0,

    so that forces are within the cone itself, and f_n is at least e / mu. Rows are zero where a phase does not hold.

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
        rounding: float = 0.1,
    ):
        if not isinstance(dynamics, SkeletonDynamics) or not dynamics.contacts:
            raise ModelError(f"friction cone: expected SkeletonDynamics with contacts, got {dynamics!r:.80}")
        count = len(dynamics.contacts)
        mu = as_vector(np.full(count, friction) if np.ndim(friction) == 0 else friction, "friction", count)
        if not (mu >= 0.0).all():
            raise ModelError(f"friction: expected numbers not below 0, got {friction!r}")
        least = float(as_vector([least], "least", 1)[0])
        n, e = _unit(as_vector(normal, "normal"), "normal"), as_positive(rounding, "rounding", "N")
        flat = np.eye(3) - np.outer(n, n)

        def held(nodes: int) -> Array:
            """(nodes, phases), 1 where a phase holds."""
            return np.array([[float(p.begin <= k < p.end) for p in dynamics.contacts] for k in range(nodes)])

        def residuals(states: Array, controls: Array | None) -> Array:
            f = dynamics.contact_wrenches(states, _present(controls))[:, :, 3:]
            along, across = f @ n, f @ flat
            length = np.sqrt(np.einsum("kpi,kpi->kp", across, across) + e * e)
            holds = held(len(states))
            return np.concatenate([(length - mu * along) * holds, (least - along) * holds], axis=1)

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


class CenterOfPressure(ResidualCost):
    """Rows that are not above zero while soles press on the ground within their outlines: to be given as `inequality`.

    For each phase that holds a body, of the mean wrench [m; f] of each step at the phase's point, on the ground, with t
    and b = n x t along the sole, half its lengths l_t and l_b, and f_n the force along the normal n:

        |m_b| <= l_t f_n,    |m_t| <= l_b f_n,    |m_n| <= torsion f_n,

    so that the point -m_b / f_n, m_t / f_n, where the ground's pressure acts as a whole, is within the rectangle. Rows
    are zero where a phase does not hold.

    Args:
        dynamics: whose contacts they are.
        half_lengths: l_t and l_b (2,), or of each phase (phases, 2) [m].
        normal: of the ground, world axes.
        along: t, world axes; its part along the normal does not count.
        torsion: most moment about the normal, by the normal force [m]; None: any.

    Raises:
        ModelError: no skeleton's dynamics with contacts that hold bodies, or numbers that are none of these.

    Source: Caron, Pham and Nakamura, "Stability of surface contacts for humanoid robots", ICRA 2015.
    """

    def __init__(
        self,
        dynamics: SkeletonDynamics,
        half_lengths: ArrayLike,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        along: ArrayLike = (1.0, 0.0, 0.0),
        torsion: float | None = None,
    ):
        held = isinstance(dynamics, SkeletonDynamics) and [p.directions.shape[1] == 6 for p in dynamics.contacts]
        if not held or not all(held):
            raise ModelError(
                f"center of pressure: expected SkeletonDynamics with contacts that hold bodies, got {dynamics!r:.80}"
            )
        count = len(held)
        sizes = np.asarray(half_lengths, dtype=float)
        if sizes.shape not in ((2,), (count, 2)) or not (sizes > 0.0).all() or not np.isfinite(sizes).all():
            raise ModelError(f"half_lengths: expected (2,) or ({count}, 2) lengths above 0, got {half_lengths!r}")
        n = _unit(as_vector(normal, "normal"), "normal")
        t = as_vector(along, "along")
        t = _unit(t - (t @ n) * n, "along, across the normal,")
        zero = np.zeros(3)
        moments, most = [np.cross(n, t), t], [*np.broadcast_to(sizes, (count, 2)).T]
        if torsion is not None:
            moments.append(n)
            most.append(np.full(count, as_positive(torsion, "torsion", "m")))
        rows = np.array(
            [
                [np.concatenate([sign * m, zero]) - np.concatenate([zero, length * n]) for length in lengths]
                for m, lengths in zip(moments, most, strict=True)
                for sign in (1.0, -1.0)
            ]
        )  # (rows, phases, 6)

        def residuals(states: Array, controls: Array | None) -> Array:
            found = np.einsum("rpi,kpi->krp", rows, dynamics.contact_wrenches(states, _present(controls)))
            return found.reshape(len(states), -1)

        def jacobians(states: Array, controls: Array | None) -> tuple[Array, Array]:
            found = [
                np.einsum("rpi,kpij->krpj", rows, D).reshape(len(states), -1, D.shape[-1])
                for D in dynamics.contact_wrench_derivatives(states, _present(controls))
            ]
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


def _unit(vector: Array, what: str) -> Array:
    return vector / as_positive(float(np.linalg.norm(vector)), f"length of the {what}")


def _present(controls: Array | None) -> Array:
    if controls is None:
        raise ModelError("friction cone: it is of steps, and not of the last node")
    return controls
