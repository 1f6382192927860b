"""Constraints of a world: added and removed at any time, those of model files among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from kido.constraints.closure import OPEN_TOLERANCE
from kido.constraints.constraint import Constraint
from kido.constraints.from_loop import constraints_of_loop, lost_in_loop
from kido.errors import ModelError
from kido.reprs import brief
from kido.simulation.owner import Owner
from kido.skeleton import BodyNode, Skeleton

if TYPE_CHECKING:
    from kido.skeleton import LoopJoint

C = TypeVar("C", bound=Constraint)
MAX_LISTED = 6  # equations in a remark


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

    __repr__ = brief


class ConstraintSet:
    """The constraints of a world; see the methods of `World`.

    Attributes:
        added: those that users added.
    """

    def __init__(self, world: Owner):
        self._world = world
        self.added: list[Constraint] = []
        self._of_loops: dict[LoopJoint, list[Constraint]] = {}

    def all(self) -> list[Constraint]:
        """Those added, and those of loops of the world's skeletons."""
        return [*self.added, *self._read_loops()]

    def of_loop(self, loop: LoopJoint) -> list[Constraint]:
        """Those that close a loop of a skeleton."""
        return self._of_loops.get(loop, [])

    def _read_loops(self) -> list[Constraint]:
        found: dict[LoopJoint, list[Constraint]] = {}
        for skeleton in self._world.skeletons:
            if skeleton.loops_enabled:
                for loop in skeleton.loops:
                    made: list[Constraint] | None = self._of_loops.get(loop)
                    if made is None:
                        made = [*constraints_of_loop(skeleton, loop)]
                        _remark_on_lost(skeleton, loop)
                    for constraint in made:
                        constraint.world = self._world
                    found[loop] = made
        for loop, gone in self._of_loops.items():
            if loop not in found:
                for constraint in gone:
                    constraint.world = None
        self._of_loops = found
        return self._closing()

    def _closing(self) -> list[Constraint]:
        return [constraint for made in self._of_loops.values() for constraint in made]

    def add(self, constraint: C) -> C:
        """See `World.add_constraint`."""
        world = self._world
        if not isinstance(constraint, Constraint):
            raise ModelError(f"world {world.name!r}: expected a constraint to add, got {constraint!r}")
        if constraint.world is not None:
            raise ModelError(f"constraint {constraint.name!r} is in world {constraint.world.name!r} already")
        for skeleton in constraint.skeletons:
            if skeleton not in world.skeletons:
                raise ModelError(
                    f"constraint {constraint.name!r}: skeleton {skeleton.name!r} is not in world {world.name!r}; it "
                    f"has {', '.join(repr(s.name) for s in world.skeletons) or 'none'}"
                )
        constraint.world = world
        self.added.append(constraint)
        self.changed(constraint)
        return constraint

    def remove(self, constraint: Constraint) -> Constraint:
        """See `World.remove_constraint`."""
        if constraint not in self.added:
            if constraint in self._closing():
                raise ModelError(
                    f"constraint {constraint.name!r} closes a loop of its skeleton; set its loops_enabled to False"
                )
            names = ", ".join(repr(c.name) for c in self.added) or "none"
            raise ModelError(
                f"world {self._world.name!r} has no constraint {getattr(constraint, 'name', constraint)!r}; "
                f"it has {names}"
            )
        self.added.remove(constraint)
        constraint.world = None
        self.changed(constraint)
        return constraint

    def report(self) -> ConstraintReport:
        """See `World.constraint_report`."""
        loops = self._world.constraint_system
        if not loops.any:
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

    def close(self) -> float:
        """See `World.close_constraints`."""
        loops = self._world.constraint_system
        if not loops.any:
            return 0.0
        error = loops.close()
        self._world.version += 1
        unmet = loops.unmet() if not error <= OPEN_TOLERANCE else {}
        self._remark_on_open({name: phi for name, (phi, _) in unmet.items() if not abs(phi) <= OPEN_TOLERANCE})
        return error

    def _remark_on_open(self, rows: dict[str, float]) -> None:
        """Say among the warnings of skeletons which of their equations are open, and nothing of those that are not."""
        start = f"world {self._world.name!r}: constraints could not be closed from where they were: "
        for skeleton in self._world.skeletons:
            skeleton.warnings[:] = [text for text in skeleton.warnings if not text.startswith(start)]
            names = [f"{c.name}: " for c in self.all() if skeleton in c.skeletons]
            wrong = sorted((r for r in rows if r.startswith(tuple(names))), key=lambda r: -abs(rows[r]))
            if wrong:
                listed = ", ".join(f"{row} ({rows[row]:.3g})" for row in wrong[:MAX_LISTED])
                skeleton.warnings.append(f"{start}{listed}{' ...' if len(wrong) > MAX_LISTED else ''} [m or rad]")

    def changed(self, constraint: Constraint | None = None) -> None:
        """Constraints came, went or changed: the compiled ones are made anew, and what they held wakes up.

        Args:
            constraint: which one; None: all loops of skeletons.
        """
        before, engine = self._closing(), self._world.present_engine
        if engine is not None:
            engine.set_constraints(self.all())
            changed = [constraint] if constraint is not None else [*before, *self._closing()]
            engine.disturb({s for c in changed for s in c.skeletons})

    def drop(self, bodies: Iterable[BodyNode], skeletons: Iterable[Skeleton] = ()) -> None:
        """Take out the constraints of bodies and skeletons that left."""
        gone, left = set(bodies), set(skeletons)
        for c in list(self.added):
            if gone & set(c.bodies) or left & set(c.skeletons):
                self.added.remove(c)
                c.world = None


def _remark_on_lost(skeleton: Skeleton, loop: LoopJoint) -> None:
    """Say among a skeleton's warnings what of a loop's joint acts on nothing; each once."""
    lost = lost_in_loop(loop.joint)
    text = f"joint {loop.name!r}, which closes a loop: its {', '.join(lost)} act on nothing"
    if lost and text not in skeleton.warnings:
        skeleton.warnings.append(text)
