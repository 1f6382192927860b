"""Positions onto phi = 0 within limits: Levenberg-Marquardt far away, Newton's method near, then back to the start.

With d a change of the coordinates, W the mass matrix at the start, and t a change that one would like to have,

    far away   |phi + G d|^2 + mu |d|_W^2  is made least       lower <= q + d <= upper
    near       |d|_W                       is made least       R^T (phi + G d) = 0, the same limits
    back       |d - t|_W                   is made least       the same; t leads to the start

where the columns of R are those directions among rows in which coordinates move by more than rounding or the digits of
a file. Each is solved exactly, by an active set of limits and a singular value decomposition. Where no positions close
the loops, Newton's method with second derivatives finds those that miss them least.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kido.constraints.closure import CONTRADICTION_TOLERANCE, MOTION_TOLERANCE
from kido.constraints.loop_schema import COUPLE
from kido.dynamics.system import ConstrainedSystem
from kido.skeleton import Skeleton

Array = NDArray[np.float64]

MAX_DESCENT_STEPS = 100  # of one descent
# Mu as a share of the mean square of what rows yield
FIRST_DESCENT_DAMPING, MIN_DESCENT_DAMPING, MAX_DESCENT_DAMPING = 1e-3, 1e-12, 1e8
MAX_DESCENT_MOVE = 0.5  # [m or rad] most that one step moves a coordinate along which rows are curved
NEWTON_RANGE = 1e-2  # [m or rad] rows this near to zero are tried by Newton's method
MAX_NEWTON_STEPS = 30  # steps of it
STALLED_SHARE, WINDOW = 0.9, 8  # share to which the error has to come down within so many steps of a descent
STRONG, WEAK = 1e-4, 1e-9  # singular values, as shares of the largest, above which rows hold at first, and in the end
LEVER = 1e-6  # the same above which a row that is missed is more than the digits of a file
METRIC_RANK_TOLERANCE = 1e-10  # the same in the metric of W, below which rows follow from others
MAX_WEAK_MOVE = 0.5  # [m or rad] most that coordinates move for weak rows
REGULAR = 1e-9  # share of the mean of a singular M's diagonal that is added: bodies without inertia are moved too
CHANGES = 6  # of an active set in both directions, then coordinates are only added to it
RETURNS, WORTH = 12, 1e-2  # steps back to the start; share of the distance that a further one has to save
DIFFERENCE_STEP = 1e-5  # [m or rad] by which coordinates are moved for second derivatives
FLATNESS_TOLERANCE = 1e-7  # share of the largest curvature below which there is none
ESCAPE = 0.05  # [m or rad] first step away from a saddle point
HALVINGS = 20  # of such a step


class LoopCloser:
    """Closes the loops of one system at one time.

    Args:
        system: the skeleton with its rows.
        frozen: (dofs,) coordinates that stay.
        lower, upper: (dofs,) limits.
        time: [s] at which rates of rows are taken.
        tolerance: [m or rad] by which rows may be missed that contradict others.

    Attributes:
        iterations: steps so far.
        reach: (nc, dofs) which coordinates each row may depend on.
    """

    def __init__(
        self, system: ConstrainedSystem, frozen: NDArray[np.bool_], lower: Array, upper: Array, time: float,
        tolerance: float,
    ) -> None:  # fmt: skip
        self.system, self.skeleton, self.time, self.tolerance = system, system.skeleton, time, tolerance
        self.movable, self.lower, self.upper = ~frozen, lower, upper
        self.iterations = 0
        self.W = np.eye(len(frozen))
        self._roots: dict[bytes, Array] = {}
        self.reach = coordinates_of_rows(system)
        between = [s for s in range(system.num_rows) if system.loops.kind[system.slots[s]] != COUPLE]
        self.bending = self.reach[between].any(axis=0)  # rows may be curved along these, not along others

    def groups(self) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """Rows (nc,) that share no coordinates with those of other groups, and the coordinates (dofs,) of each."""
        found: list[tuple[NDArray[np.bool_], NDArray[np.bool_]]] = []
        for s, dofs in enumerate(self.reach & self.movable):
            rows = np.arange(len(self.reach)) == s
            apart = []
            for group in found:
                if (group[1] & dofs).any():
                    rows, dofs = rows | group[0], dofs | group[1]
                else:
                    apart.append(group)
            found = [*apart, (rows, dofs)]
        return found

    # Rows and moves --------------------------------------------------------------------------------------

    def rows(self, q: Array) -> tuple[Array, Array]:
        """phi and G at positions; 1/2 |phi|^2 has the gradient G^T phi also where axes are far from aligned."""
        return self.system.evaluate(q, None, self.time)[:2]

    def moved(self, q: Array, step: Array) -> Array:
        """Positions after a step, within limits."""
        q_new = np.where(self.movable, self.skeleton.integrate_positions(q, step), q)
        return np.where(self.movable, np.clip(q_new, self.lower, self.upper), q)

    def measure_from(self, q: Array) -> None:
        """Let W be the mass matrix at some positions."""
        self.W = metric(self.skeleton, q)
        self._roots = {}

    def distance(self, q: Array, start: Array) -> float:
        """sqrt(t^T W t) of the change t from positions to the start."""
        t = self.skeleton.position_differences(start, q)
        return float(np.sqrt(max(t @ self.W @ t, 0.0)))

    def largest(self, step: Array) -> float:
        """The largest change of a coordinate along which rows are curved [m or rad]."""
        return float(np.abs(step[self.bending]).max(initial=0.0))

    # Steps -----------------------------------------------------------------------------------------------

    def step(self, q: Array, phi: Array, G: Array, damping: float = 0.0, wish: Array | None = None) -> Array:
        """A change of the coordinates, as above.

        Args:
            q, phi, G: positions, their rows or those directions among them that are to be met.
            damping: mu, as a share of the mean square of what rows yield; 0: rows are met exactly.
            wish: t.
        """
        low, high = self.lower - q, self.upper - q
        t = np.zeros(len(q)) if wish is None else wish
        side = np.zeros(len(q), int)  # of a limit at which a coordinate is held
        d = np.zeros(len(q))
        for change in range(CHANGES + len(q)):
            d = np.where(side < 0, low, np.where(side > 0, high, 0.0))
            free = self.movable & (side == 0)
            force = self._move_free(d, free, t, phi, G, damping)
            side_new = np.where(free & (d < low), -1, np.where(free & (d > high), 1, side))
            if change < CHANGES:
                slope = self.W @ np.where(self.movable, d - t, 0.0) + G.T @ force
                side_new[(side < 0) & (slope < 0.0) | (side > 0) & (slope > 0.0)] = 0
            if (side_new == side).all():
                break
            side = side_new
        return np.where(self.movable, np.clip(d, low, high), 0.0)

    def _move_free(self, d: Array, free: NDArray[np.bool_], t: Array, phi: Array, G: Array, damping: float) -> Array:
        """Fill in the changes of free coordinates, with the others' given; returns the force of each row for it."""
        if not free.any():
            return np.zeros(len(phi))
        held = self.movable & ~free
        K, A = self._root(free), G[:, free]
        to = t[free].copy()
        if held.any():
            to -= K.T @ (K @ (self.W[np.ix_(free, held)] @ (d - t)[held]))
        U, s, Vt = np.linalg.svd(A @ K.T, full_matrices=False)
        mu = damping * float(s @ s) / max(len(phi), 1)
        rest = phi + G @ d + A @ to
        keep = s > METRIC_RANK_TOLERANCE * max(s.max(initial=0.0), 1e-300)
        share = U.T @ rest
        gain = np.where(keep, s / np.where(keep, s * s + mu, 1.0), 0.0)
        d[free] = to - K.T @ (Vt.T @ (gain * share))
        force = U @ (np.where(keep, gain / np.where(keep, s, 1.0), 0.0) * share)
        if mu > 0.0:
            force += (rest - U[:, keep] @ share[keep]) / mu
        return force

    def _root(self, free: NDArray[np.bool_]) -> Array:
        """K with K^T K = W^-1 for free coordinates."""
        key = free.tobytes()
        if key not in self._roots:
            self._roots[key] = np.asarray(np.linalg.inv(np.linalg.cholesky(self.W[np.ix_(free, free)])), float)
        return self._roots[key]

    def _strong(self, phi: Array, G: Array, cut: float) -> tuple[Array, Array]:
        """R^T phi and R^T G for the directions in which singular values of G are above a share of the largest."""
        U, s, _ = np.linalg.svd(G[:, self.movable], full_matrices=False)
        R = U[:, s > cut * s.max(initial=0.0)]
        return R.T @ phi, R.T @ G

    # Closing ---------------------------------------------------------------------------------------------

    def close(self, q: Array) -> tuple[Array, Array]:
        """Positions that close the loops, or that are a local minimum of |phi|; and their phi."""
        q = self.moved(q, np.zeros(len(q)))
        phi, G = self.rows(q)
        damping, sizes = FIRST_DESCENT_DAMPING, [float(phi @ phi)]
        tried = np.inf
        for _ in range(MAX_DESCENT_STEPS):
            worst = float(np.abs(phi).max(initial=0.0))
            if worst <= MOTION_TOLERANCE:
                break
            if worst <= min(NEWTON_RANGE, 0.1 * tried):
                tried = worst
                done, found = self._newton(q, STRONG)
                if found:
                    done, rest = self._close_weak(done)
                    if np.abs(rest).max() <= self.tolerance:
                        return done, rest
            self.iterations += 1
            step = self.step(q, phi, G, damping)
            if not step.any():
                break
            trial = self.moved(q, step * min(1.0, MAX_DESCENT_MOVE / max(self.largest(step), MAX_DESCENT_MOVE)))
            new_phi, new_G = self.rows(trial)
            size = float(new_phi @ new_phi)
            if size < sizes[-1]:
                q, phi, G = trial, new_phi, new_G
                damping = max(0.1 * damping, MIN_DESCENT_DAMPING)
                sizes.append(size)
                if len(sizes) > WINDOW and size > STALLED_SHARE**2 * sizes[-1 - WINDOW]:
                    break
            else:
                damping *= 10.0
                if damping > MAX_DESCENT_DAMPING:
                    break
        return q, phi

    def polish(self, q: Array) -> Array:
        """Positions near to given ones with those rows met to rounding that free coordinates can meet."""
        done, found = self._newton(q, STRONG)
        return self._close_weak(done)[0] if found else q

    def _newton(self, q: Array, cut: float) -> tuple[Array, bool]:
        """Newton's method for rows that hold by more than the cut: positions, and whether those rows are met there."""
        before = np.inf
        for _ in range(MAX_NEWTON_STEPS):
            phi, G = self._strong(*self.rows(q), cut)
            error = float(np.abs(phi).max(initial=0.0))
            if error <= MOTION_TOLERANCE or not error < 0.5 * before:
                return q, error <= 10.0 * MOTION_TOLERANCE
            before = error
            self.iterations += 1
            step = self.step(q, phi, G)
            if not self.largest(step) <= MAX_DESCENT_MOVE:
                return q, False
            q = self.moved(q, step)
        return q, False

    def _close_weak(self, q: Array) -> tuple[Array, Array]:
        """Rows that barely hold met too, where they have some lever and it takes no long way; else they stay.

        After each step the others are met anew, as the way may be long compared with what weak rows gain by it. Once
        begun, rows are followed to where their lever vanishes, as it does with errors that grow by the square of a way.
        """
        start, (phi, G) = q, self.rows(q)
        closest = q, phi
        if not np.linalg.norm(self._strong(phi, G, LEVER)[0]) > 0.5 * np.linalg.norm(phi):
            return closest
        for _ in range(MAX_NEWTON_STEPS):
            error = float(np.abs(phi).max(initial=0.0))
            if error <= MOTION_TOLERANCE:
                return q, phi
            self.iterations += 1
            step = self.step(q, *self._strong(phi, G, WEAK))
            share = min(1.0, MAX_DESCENT_MOVE / max(self.largest(step), MAX_DESCENT_MOVE))
            q, met = self._newton(self.moved(q, share * step), STRONG)
            phi, G = self.rows(q)
            if not (met and np.abs(phi).max() < (1.0 - 0.3 * share) * error):
                break
            if not self.largest(self.skeleton.position_differences(q, start)) <= MAX_WEAK_MOVE:
                break
            if np.abs(phi).max() <= CONTRADICTION_TOLERANCE:
                closest = q, phi
        return closest

    def back(self, q: Array, start: Array) -> Array:
        """Closed positions nearer to the start than given ones, by steps along those that are closed."""
        phi, G = self.rows(q)
        error = max(float(np.abs(phi).max(initial=0.0)), 10.0 * MOTION_TOLERANCE)
        cut = WEAK if error <= CONTRADICTION_TOLERANCE else STRONG
        length = self.distance(q, start)
        for _ in range(RETURNS):
            self.iterations += 1
            wish = self.skeleton.position_differences(start, q)
            step = self.step(q, *self._strong(phi, G, cut), wish=wish)
            share = min(1.0, MAX_DESCENT_MOVE / max(self.largest(step), MAX_DESCENT_MOVE))
            trial, found = self._newton(self.moved(q, share * step), STRONG)
            if not found:
                break
            trial, phi = self._close_weak(trial)
            new = self.distance(trial, start)
            if not (new < length and np.abs(phi).max(initial=0.0) <= error):
                break
            saved = length - new
            q, length, G = trial, new, self.rows(trial)[1]
            if saved < WORTH * length:
                break
        return q

    # Where loops cannot be closed --------------------------------------------------------------------------

    def miss_least(self, q: Array) -> tuple[Array, Array]:
        """A local minimum of |phi|^2 / 2 within limits and its phi, by Newton's method; saddle points are left.

        Coordinates of loops that are closed stay.
        """
        phi, G = self.rows(q)
        taken = np.zeros(len(q), bool)
        for rows, dofs in self.groups():
            taken |= dofs & (np.abs(phi[rows]).max() > self.tolerance)
        for _ in range(MAX_NEWTON_STEPS):
            slope = G.T @ phi
            free = taken & ~((q <= self.lower) & (slope > 0.0) | (q >= self.upper) & (slope < 0.0))
            if not free.any():
                break
            w, V = np.linalg.eigh(self._curvature(q, free))
            flat = FLATNESS_TOLERANCE * max(float(np.abs(w).max()), 1e-300)
            along = V.T @ slope[free]
            change = np.where(np.abs(w) > flat, -along / np.maximum(np.abs(w), flat), 0.0)
            if w[0] < -flat and abs(change[0]) < ESCAPE:
                change[0] = ESCAPE if along[0] <= 0.0 else -ESCAPE
            newton = np.zeros(len(q))
            newton[free] = V @ change
            self.iterations += 1
            before = float(phi @ phi)
            for step in (newton, np.where(free, -slope, 0.0)):  # limits may leave nothing of the first
                trial, phi, G = self._shortened(q, step, phi, G)
                if trial is not q:
                    break
            if trial is q or float(phi @ phi) > (1.0 - 1e-15) * before:
                break
            q = trial
        return q, phi

    def _shortened(self, q: Array, step: Array, phi: Array, G: Array) -> tuple[Array, Array, Array]:
        """Positions after as much of a step as makes |phi| less, their phi and G; or what was given."""
        share = min(1.0, MAX_DESCENT_MOVE / max(self.largest(step), MAX_DESCENT_MOVE))
        for _ in range(HALVINGS):
            trial = self.moved(q, share * step)
            new_phi, new_G = self.rows(trial)
            if float(new_phi @ new_phi) < float(phi @ phi):
                return trial, new_phi, new_G
            share *= 0.5
        return q, phi, G

    def held_by_limits(self, q: Array) -> NDArray[np.bool_]:
        """Coordinates (dofs,) at limits beyond which |phi| would become less."""
        phi, G = self.rows(q)
        slope = G.T @ phi
        least = FLATNESS_TOLERANCE * float(np.linalg.norm(G)) * float(np.linalg.norm(phi))
        return self.movable & ((q <= self.lower) & (slope > least) | (q >= self.upper) & (slope < -least))

    def _curvature(self, q: Array, free: NDArray[np.bool_]) -> Array:
        """Second derivatives of |phi|^2 / 2 along free coordinates, by differences of its slope G^T phi."""
        which = np.flatnonzero(free)
        H = np.empty((len(which), len(which)))
        for i, k in enumerate(which):
            slopes = []
            for sign in (1.0, -1.0):
                move = np.zeros(len(q))
                move[k] = sign * DIFFERENCE_STEP
                phi, G = self.rows(self.skeleton.integrate_positions(q, move))
                slopes.append((G.T @ phi)[which])
            H[i] = (slopes[0] - slopes[1]) / (2.0 * DIFFERENCE_STEP)
        return 0.5 * (H + H.T)


def coordinates_of_rows(system: ConstrainedSystem) -> NDArray[np.bool_]:
    """Which coordinates (nc, dofs) each row may depend on: those between its bodies, or those that it couples."""
    t, lp = system.tree, system.loops
    depends = np.zeros((system.num_rows, system.num_dofs), bool)
    for s, row in enumerate(system.slots):
        k = int(lp.of[row])
        if lp.kind[row] == COUPLE:
            depends[s, lp.term_dof[lp.first_term[k] : lp.first_term[k + 1]]] = True
            continue
        for body in (int(lp.body_a[k]), int(lp.body_b[k])):
            while body >= 0:
                depends[s, t.first_dof[body] : t.first_dof[body + 1]] ^= True  # what both hang on moves neither
                body = int(t.parent[body])
    return depends


def metric(skeleton: Skeleton, q: Array) -> Array:
    """The mass matrix, made regular where it is not."""
    M = skeleton.compute_mass_matrix(q)
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return M + (REGULAR * float(np.trace(M)) / len(M) or 1.0) * np.eye(len(M))
    return M
