"""Constraints of a world: added and removed at any time, those of model files among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kido.constraints.closure import OPEN_TOLERANCE
from kido.constraints.constraint import Constraint
from kido.constraints.from_loop import constraints_of_loop, lost_in_loop
from kido.dynamics.registry import AUTO, SOLVERS
from kido.errors import ModelError, NameLookupError
from kido.skeleton import BodyNode, Skeleton

if TYPE_CHECKING:
    from kido.simulation.engine import Engine
    from kido.skeleton import LoopJoint

LISTED = 6  # equations in a remark


@dataclass(frozen=True)
class ConstraintReport:
    """How well constraints without limits were met in the last step.

    Attributes:
        rows: number of their equations.
        rank: how many of them are independent; the others are `redundant` and got no impulse.
        redundant: equations that follow from others, as "constraint: equation".
        unmet: equations that are not met, because constraints contradict each other or drives that prescribe motions:
            their errors of position [m or rad] and of velocity [m/s or rad/s], where one exceeds 1e-8 or 1e-6.
        closure: largest error of positions [m or rad]; not small where constraints contradict each other.
        worst_closure: the same over all steps since constraints last changed.
        velocity_error: largest error of velocities [m/s or rad/s].
        worst_velocity_error: the same over all steps.
        broken: names of constraints that broke.
    """

    rows: int
    rank: int
    redundant: list[str]
    unmet: dict[str, tuple[float, float]]
    closure: float
    worst_closure: float
    velocity_error: float
    worst_velocity_error: float
    broken: list[str]


class WorldConstraints:
    """What a world does with constraints."""

    if TYPE_CHECKING:
        name: str
        _skeletons: list[Skeleton]
        _engine: Engine | None
        _stale: bool
        _version: int
        _compile: Any
        _wake: Any

    def __init__(self) -> None:
        super().__init__()
        self._constraints: list[Constraint] = []
        self._closed_loops: dict[LoopJoint, list[Constraint]] = {}
        self._loop_solver = AUTO

    @property
    def loop_solver(self) -> str:
        """How constraints without limits are held: "auto", or a solver of `kido.dynamics`.

        By the default integrator, `kido.integrators.MoreauMidpoint`, with contacts:

        - "auto", "CE", "CE+TA": loops of one skeleton are aggregate bodies of its tree (constraint embedding) where
          they fit; other constraints are eliminated: their equations are solved for apart from contacts, and what they
          prevent is taken off the responses to all other impulses.
        - "TA", "FA", "tree": all are eliminated.

        Loops fit where no such constraint holds their skeleton to another that moves, none of its coordinates is
        prescribed or a mimic, the world has no soft bodies, no aggregate has more than 40 coordinates or 12 independent
        ones, and their equations are independent but for those that nothing moves, as across the plane of a planar
        linkage. Near to positions where equations lose rank, after one broke, and while loops are open they are
        eliminated for those steps. Both are of second order in the time step and differ by less than either is off;
        loops are closed below 1e-10 m.

        Euler's rules eliminate always. Integrators for smooth motion use the solver of that name; each skeleton is
        moved by itself there, so that constraints between skeletons are refused.

        Raises:
            NameLookupError: when set to something else.
        """
        return self._loop_solver

    @loop_solver.setter
    def loop_solver(self, value: str) -> None:
        if not isinstance(value, str) or (value != AUTO and value not in SOLVERS):
            raise NameLookupError("loop solver", value, [AUTO, *SOLVERS])
        self._loop_solver = value
        if self._engine is not None and not self._stale:
            self._engine.set_loop_solver(value)

    @property
    def constraints(self) -> list[Constraint]:
        """All constraints that act: those added, and those of loops of its skeletons (`Skeleton.loops`)."""
        return [*self._constraints, *self._loop_constraints()]

    def _loop_constraints(self) -> list[Constraint]:
        found: dict[LoopJoint, list[Constraint]] = {}
        for skeleton in self._skeletons:
            if skeleton.loops_enabled:
                for loop in skeleton.loops:
                    made: list[Constraint] | None = self._closed_loops.get(loop)
                    if made is None:
                        made = [*constraints_of_loop(skeleton, loop)]
                        _remark_on_lost(skeleton, loop)
                    for constraint in made:
                        constraint._world = self
                    found[loop] = made
        for loop, gone in self._closed_loops.items():
            if loop not in found:
                for constraint in gone:
                    constraint._world = None
        self._closed_loops = found
        return self._closing()

    def _closing(self) -> list[Constraint]:
        return [constraint for made in self._closed_loops.values() for constraint in made]

    def add_constraint(self, constraint: Constraint) -> Constraint:
        """Have a constraint hold from the next step on.

        Where it does not hold at that moment, positions are first moved onto it, if they can be, and velocities by an
        inelastic impulse, nearest to what they were in the sense of kinetic energy.

        Args:
            constraint: one that is in no world, between bodies or coordinates of skeletons of this world.

        Returns:
            The constraint.

        Raises:
            ModelError: it is no constraint, is in a world already, or something of it is not in this world.
        """
        if not isinstance(constraint, Constraint):
            raise ModelError(f"world {self.name!r}: expected a constraint to add, got {constraint!r}")
        if constraint._world is not None:
            raise ModelError(f"constraint {constraint.name!r} is in world {constraint._world.name!r} already")
        for skeleton in constraint.skeletons:
            if skeleton not in self._skeletons:
                raise ModelError(
                    f"constraint {constraint.name!r}: skeleton {skeleton.name!r} is not in world {self.name!r}; it has "
                    f"{', '.join(repr(s.name) for s in self._skeletons) or 'none'}"
                )
        constraint._world = self
        self._constraints.append(constraint)
        self._constraints_changed(constraint)
        return constraint

    def remove_constraint(self, constraint: Constraint) -> Constraint:
        """Have a constraint hold no more; momentum and energy stay as they are.

        Raises:
            ModelError: it is not among those that were added.
        """
        if constraint not in self._constraints:
            if constraint in self._closing():
                raise ModelError(
                    f"constraint {constraint.name!r} closes a loop of its skeleton; set its loops_enabled to False"
                )
            names = ", ".join(repr(c.name) for c in self._constraints) or "none"
            raise ModelError(
                f"world {self.name!r} has no constraint {getattr(constraint, 'name', constraint)!r}; it has {names}"
            )
        self._constraints.remove(constraint)
        constraint._world = None
        self._constraints_changed(constraint)
        return constraint

    @property
    def constraint_report(self) -> ConstraintReport:
        """How well constraints without limits were met in the last step, and which of their equations are redundant."""
        loops = self._compile().loops
        if loops is None:
            return ConstraintReport(0, 0, [], {}, 0.0, 0.0, 0.0, 0.0, [])
        lp = loops.container
        groups = len(lp.group_slot) - 1
        return ConstraintReport(
            rows=int(lp.group_slot[-1]),
            rank=int(lp.rank[:groups].sum()),
            redundant=loops.redundant(),
            unmet=loops.unmet(),
            closure=lp.closure,
            worst_closure=lp.worst_closure,
            velocity_error=lp.misfit,
            worst_velocity_error=lp.worst_misfit,
            broken=[c.name for c in loops.joined if loops.is_broken(c)],
        )

    def close_constraints(self) -> float:
        """Move positions and velocities onto all constraints without limits now, as the next step would.

        Returns:
            The largest error of positions that is left [m or rad]; where it is not below 1e-8 the constraints could
            not be met from here, and positions are as they were. Then `Skeleton.warnings` name the equations that are
            open, until they are closed; `ConstrainedDynamics.assemble` tries farther.
        """
        engine = self._compile()
        if engine.loops is None:
            return 0.0
        error = engine.close_loops()
        self._version += 1
        unmet = engine.loops.unmet() if not error <= OPEN_TOLERANCE else {}
        self._remark_on_open({name: phi for name, (phi, _) in unmet.items() if not abs(phi) <= OPEN_TOLERANCE})
        return error

    def _remark_on_open(self, rows: dict[str, float]) -> None:
        """Say among the warnings of skeletons which of their equations are open, and nothing of those that are not."""
        start = f"world {self.name!r}: constraints could not be closed from where they were: "
        for skeleton in self._skeletons:
            skeleton.warnings[:] = [text for text in skeleton.warnings if not text.startswith(start)]
            names = [f"{c.name}: " for c in self.constraints if skeleton in c.skeletons]
            wrong = sorted((r for r in rows if r.startswith(tuple(names))), key=lambda r: -abs(rows[r]))
            if wrong:
                listed = ", ".join(f"{row} ({rows[row]:.3g})" for row in wrong[:LISTED])
                skeleton.warnings.append(f"{start}{listed}{' ...' if len(wrong) > LISTED else ''} [m or rad]")

    def _constraints_changed(self, constraint: Constraint | None = None) -> None:
        """Constraints came, went or changed: the compiled ones are made anew, and what they held wakes up.

        Args:
            constraint: which one; None: all loops of skeletons.
        """
        loops = self._closing()
        if self._engine is not None and not self._stale:
            self._engine.set_constraints(self.constraints)
            if self._engine.sleepers is not None:
                changed = [constraint] if constraint is not None else [*loops, *self._closing()]
                for skeleton in {s for c in changed for s in c.skeletons}:
                    if skeleton in self._skeletons:
                        self._wake(skeleton)

    def _drop_constraints(self, bodies: Iterable[BodyNode], skeletons: Iterable[Skeleton] = ()) -> None:
        """Take out the constraints of bodies and skeletons that left."""
        gone, left = set(bodies), set(skeletons)
        for c in list(self._constraints):
            if gone & set(c.bodies) or left & set(c.skeletons):
                self._constraints.remove(c)
                c._world = None


def _remark_on_lost(skeleton: Skeleton, loop: LoopJoint) -> None:
    """Say among a skeleton's warnings what of a loop's joint acts on nothing; each once."""
    lost = lost_in_loop(loop.joint)
    text = f"joint {loop.name!r}, which closes a loop: its {', '.join(lost)} act on nothing"
    if lost and text not in skeleton.warnings:
        skeleton.warnings.append(text)
