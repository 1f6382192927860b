"""Impulses of a step and their derivatives, from its contact problem in dual numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import StateError
from kido.simulation.gradients.laws import MODE_NAMES, Array, Blocks, Laws, Places
from kido.solvers import new_problem, restitute, solve_problem
from kido.solvers.problem import CONTACT, DEFAULT_SETTINGS

# What a problem of numbers takes from one of duals.
_INTEGERS = ("kind", "row", "dof_a", "len_a", "at_a", "dof_b", "len_b", "at_b", "more_count", "partner")
_FLOATS = ("mu", "torsion", "lower", "upper", "floor", "restitution", "position_bias", "bias", "compliance")
_NUMBERS = ("num_blocks", "num_rows", "num_dofs")
SAME = 1e-3  # relative difference of impulses up to which two solutions are one


class Impulses:
    """The solution of the contact problem of a step, phase by phase: compression, and where something bounces, all.

    Args:
        engine: whose solver and settings are used.
        problem: assembled in dual numbers; their values count.
        known: impulses that the step itself finds.
        bounces: whether rebounds have a phase of their own.
        smoothing: see `Laws`.

    Attributes:
        phases: laws and solutions.
        raised: floor of the second phase, of each block, as a multiple of the impulse p_c of the first; 0: none.

    Raises:
        StateError: there is no solution of which a derivative could be taken.
    """

    def __init__(self, engine: Any, problem: Any, known: Array, bounces: bool, smoothing: float = 0.0):
        m, blocks = problem.num_rows, problem.num_blocks
        self.phases: list[Laws] = []
        self.blocks = Blocks(
            problem.kind[:blocks].copy(),
            problem.row[:blocks].copy(),
            *(getattr(problem, name)[:blocks, 0].copy() for name in ("mu", "lower", "upper")),
        )
        self.places = Places(problem)
        self.J, self.Y = (self.places.matrix(pool[self.places.pool, 0]) for pool in (problem.J, problem.Y))
        A = self.J @ self.Y.T + np.diag(problem.compliance[:m, 0])
        free = self.J @ problem.u_free[: problem.num_dofs, 0] + problem.bias[:m, 0]
        self.restitution, self.raised = problem.restitution[:blocks, 0].copy(), np.zeros(blocks)
        if m == 0:
            return
        self.speed = float(problem.restitution_speed)
        rebound = bounces and self.restitution.any()
        start = known
        if rebound or len(known) != m:
            found = self._scratch(engine, problem)
            solve_problem(found.address, 0, 0, 0)
            start = found.impulse[:m]
        self.phases.append(Laws(self.blocks, A, free, np.zeros(blocks), start, smoothing))
        if not rebound:
            return
        for island in range(found.num_islands):
            self._raise(found.island_block[found.island_start[island] : found.island_start[island + 1]], free)
        if self.raised.any():
            restitute(found.address, 0, 0, 0)
            floor = self.raised * self.phases[0].p[self.blocks.row]
            self.phases.append(Laws(self.blocks, A, free, floor, found.impulse[:m], smoothing))
            off = np.abs(self.phases[1].p - found.impulse[:m]).max()
            if off > SAME * np.abs(self.phases[1].p).max():
                raise StateError("an impact that would create energy was cut short: its derivative is not known")

    def _scratch(self, engine: Any, problem: Any) -> Any:
        """The problem in numbers, to be solved."""
        blocks, rows, dofs = problem.num_blocks, problem.num_rows, problem.num_dofs
        pool = min(int(rows * dofs) + 1, len(problem.J))
        known = engine.options.settings
        settings = {name: known[name] for name in DEFAULT_SETTINGS if name in known}
        made = new_problem(
            blocks=blocks, rows=rows, dofs=dofs, pool=pool, **{**settings, **engine.options.solver.sizes()}
        )
        engine.options.solver.choose(made)
        for name in _NUMBERS:
            setattr(made, name, getattr(problem, name))
        for name in _INTEGERS:
            getattr(made, name)[:blocks] = getattr(problem, name)[:blocks]
        for name in _FLOATS:
            count = rows if name in ("bias", "compliance") else blocks
            getattr(made, name)[:count] = getattr(problem, name)[:count, 0]
        made.impulse[:rows], made.u_free[:dofs] = problem.impulse[:rows, 0], problem.u_free[:dofs, 0]
        made.J[:], made.Y[:] = problem.J[:pool, 0], problem.Y[:pool, 0]
        return made

    def _raise(self, island: Any, free: Array) -> None:
        """Floors of the second phase of an island, as `kido.solvers.restitution` has them."""
        contacts = [b for b in island if self.blocks.kind[b] == CONTACT]
        row, e = self.blocks.row, self.restitution
        if not any(e[b] > 0.0 and free[row[b]] < -self.speed for b in contacts):
            return
        first = self.phases[0]
        for b in contacts:
            stopped = first.p[row[b]] * first.A[row[b], row[b]]
            self.raised[b] = 1.0 + e[b] if e[b] > 0.0 and stopped > self.speed else 1.0

    def derivatives(self, problem: Any) -> Array:
        """Impulses of all rows with their derivatives (rows, 8), of a problem in duals with the same values."""
        m, n, blocks = problem.num_rows, problem.num_dofs, problem.num_blocks
        dJ, dY = problem.J[self.places.pool, 1:], problem.Y[self.places.pool, 1:]
        of_blocks = {name: getattr(problem, name)[:blocks, 1:] for name in ("mu", "lower", "upper", "restitution")}
        made = np.zeros((m, dJ.shape[-1] + 1))
        floor = np.zeros_like(of_blocks["mu"])
        changes = of_blocks["mu"], of_blocks["lower"], of_blocks["upper"]
        for laws in self.phases:
            u = problem.u_free[:n, 0] + self.Y.T @ laws.p
            du = problem.u_free[:n, 1:] + self.places.along_columns(dY, laws.p)
            dv = self.places.along_rows(dJ, u) + self.J @ du
            dv += problem.bias[:m, 1:] + problem.compliance[:m, 1:] * laws.p[:, None]
            made[:, 0] = laws.p
            made[:, 1:] = laws.derivative(dv, *changes, floor)
            normal = made[self.blocks.row]
            floor = self.raised[:, None] * normal[:, 1:]
            floor += (self.raised > 1.0)[:, None] * normal[:, :1] * of_blocks["restitution"]
        return made


def contact_modes(steps: list[Impulses]) -> tuple[list[str], Array, float]:
    """Names of the modes of contacts in the last step, their margins, and the least margin of all rows [m/s, rad/s]."""
    if not steps or not steps[-1].phases:
        return [], np.zeros(0), np.inf
    laws = steps[-1].phases[-1]
    chosen = np.flatnonzero(laws.blocks.kind == CONTACT)
    return [MODE_NAMES[m] for m in laws.mode[chosen]], laws.margin[chosen], float(laws.margin.min())
