"""Steps of a world with closed loops by an integrator for smooth motion: each skeleton by its constrained dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.constraints.constraint import Constraint
from kido.constraints.loop_factor import measure_all
from kido.constraints.loop_schema import LOOPS
from kido.constraints.loop_solve import openness
from kido.dynamics.motion import ClosedSystem
from kido.errors import ModelError
from kido.integrators.integrator import CompiledIntegrator, Integrator
from kido.integrators.schema import MOTION
from kido.jit import entry, view
from kido.simulation.loops import close_now, sum_wrenches
from kido.simulation.smooth_motion import SmoothMotion, read_given, run_motion, take_state
from kido.skeleton import Skeleton
from kido.tree.schema import DATA

if TYPE_CHECKING:
    from kido.simulation.engine import Engine
    from kido.simulation.loop_system import LoopSystem

Array = NDArray[np.float64]


@entry("i8(i8,i8,f8)")
def note_reactions(data, loops, h):
    """Wrenches of constraints from their impulses, what breaks by them, and how far rows are open. Returns 0."""
    lp = view(LOOPS, loops)
    measure_all(view(DATA, data), lp)
    sum_wrenches(lp, h)
    lp.closure = 0.0
    for g in range(lp.num_groups):
        lp.closure = max(lp.closure, openness(lp, g))
    lp.worst_closure = max(lp.worst_closure, lp.closure)
    return 0


@dataclass(eq=False)
class _Part:
    """One skeleton: its coordinates in the world's, and which row of the world's each row of its system is."""

    dofs: slice
    system: ClosedSystem
    rows: NDArray[np.intp]
    slots: NDArray[np.intp]
    motion: MOTION | None = None


class ClosedMotion(SmoothMotion):
    """Runs an engine's steps where loops hold, by an integrator for smooth motion.

    Skeletons move one by one (`kido.dynamics.ClosedSystem`), so constraints between them are refused. The engine's own
    rows take no part but for the state that was set from outside, which they close, and for what is reported of them.
    """

    def __init__(self, engine: Engine, loops: LoopSystem, integrator: Integrator, solver: str):
        super().__init__(engine, integrator)
        self.loops, self.solver = loops, solver
        self._parts: list[_Part] | None = None

    def _made_part(self, number: int, skeleton: Skeleton) -> _Part:
        held = [c for c in self._constraints_on(skeleton) if not getattr(c, "was_broken", False)]
        given = None if held == self._loops_of(skeleton) else held
        system = ClosedSystem(skeleton, given, None, self.solver, True, None, self.integrator, None)
        rows, slots = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        for constraint, twin in zip(held, system.rows.constraints, strict=False):  # then gears of mimics
            where, own = system.rows.rows_of(twin)
            rows.append(self.loops.rows_of(constraint).start + own)
            slots.append(np.arange(where.start, where.stop))
        first = self.engine.tree.tree_dof
        dofs = slice(int(first[number]), int(first[number + 1]))
        return _Part(dofs, system, np.concatenate(rows), np.concatenate(slots))

    def _constraints_on(self, skeleton: Skeleton) -> list[Constraint]:
        own = [c for c in self.loops.constraints if skeleton in c.skeletons]
        for c in own:
            if any(s is not skeleton and s.mobile and not s.kinematic for s in c.skeletons):
                between = " and ".join(repr(s.name) for s in c.skeletons)
                raise ModelError(
                    f"integrator {self.integrator.name} moves skeletons one by one, but constraint {c.name!r} is "
                    f"between {between}; expected MoreauMidpoint, SemiImplicitEuler or ExplicitEuler"
                )
        return own

    def _loops_of(self, skeleton: Skeleton) -> list[Constraint]:
        world: Any = skeleton._world
        return [c for loop in skeleton.loops for c in world.constraint_set.of_loop(loop)] if world is not None else []

    @property
    def parts(self) -> list[_Part]:
        """What integrators see of each skeleton; made anew after an edit."""
        if self._parts is None or not all(part.system.rows.is_current for part in self._parts):
            moving = [
                (k, s) for k, s in enumerate(self.engine.skeletons) if s.num_dofs and s.mobile and not s.kinematic
            ]
            self._parts = [self._made_part(k, s) for k, s in moving]
        return self._parts

    def run(self, number: int, time: float) -> None:
        """As `SmoothMotion.run`.

        Raises:
            ModelError: a constraint is between skeletons, or none that smooth dynamics have.
            StateError: also where loops are open and cannot be closed.
        """
        engine, d = self.engine, self.engine.data
        h = engine.world.time_step
        parts = self.parts
        if self.motion.times[1] != h:
            self._set_size()
            for part in parts:
                part.motion = None
        close_now(engine.tree.address, d.address, self.loops.container.address)
        given, m = np.zeros(len(d.q)), self.motion
        done = 0
        while done < number:
            read_given(engine.world.address, given)
            m.Q[1], m.U[1] = d.q, d.u
            start = time + done * h
            for part in parts:
                k = part.dofs
                q, u = d.q[k].copy(), d.u[k].copy()
                if done == 0:
                    q, u = part.system.start(start, q, u)
                m.Q[1, k], m.U[1, k] = self._step(part, start, q, u, h, d.tau[k], given[k])
            stage, status = take_state(engine.world.address, m.address)
            done += int(stage == -1)
            self._handle_status(stage, status, start + h)
            if stage == -1:
                parts = self._note(parts, h)

    def _step(
        self, part: _Part, time: float, q: Array, u: Array, h: float, forces: Array, given: Array
    ) -> tuple[Array, Array]:
        system = part.system
        if not isinstance(self.integrator, CompiledIntegrator):
            system.set_constant(forces, given)
            return system.step(self.integrator, time, q, u, h)
        if part.motion is None:
            part.motion = system.motion(self.integrator, np.array([0.0, h]), h, q, u)
        system.set_constant(forces, given, part.motion)
        system.check(run_motion(part.motion.address, q, u), time)
        return q, u

    def _note(self, parts: list[_Part], h: float) -> list[_Part]:
        """Report the rows' forces at the end of a step as impulses of it. Returns the parts of the next step."""
        loops, d = self.loops, self.engine.data
        for part in parts:
            force = part.system.row_forces(0.0, d.q[part.dofs], d.u[part.dofs])
            loops.container.impulse[part.rows] = h * force[part.slots]
        note_reactions(d.address, loops.container.address, h)
        if any(loops.is_broken(c) and not c.was_broken for c in loops.joined):
            loops.note_broken()
            self._parts = None
            return self.parts
        return parts
