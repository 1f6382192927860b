"""Derivatives of a step: its stages run in dual numbers, its impulses by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.errors import ModelError, StateError
from kido.jit.duals import DIRECTIONS
from kido.math.transform import numbers_or_nan
from kido.simulation.gradients.impulses import Impulses, contact_modes
from kido.simulation.gradients.mirror import Mirror, NoRoom
from kido.simulation.gradients.parameters import Change, directions
from kido.simulation.gradients.refusals import check_supported
from kido.simulation.gradients.result import StepDerivatives
from kido.simulation.gradients.tangent.attempt import STOPPED
from kido.simulation.gradients.tangent.kept import Kept
from kido.simulation.gradients.tangent.step import DONE
from kido.simulation.gradients.tangent.way import Formulas, may_have_formulas
from kido.simulation.motion import run
from kido.skeleton.state.actuation import takes_force

if TYPE_CHECKING:
    from kido.simulation.world import World

Array = NDArray[np.float64]
MOST_OF_JOINT = 6  # coordinates of a joint; links that have more have modes


class StepDifferentiator:
    """Differentiates steps of one engine."""

    def __init__(self, engine: Any):
        self.mirror = Mirror(engine)
        first = np.asarray(engine.tree.first_dof)
        self.joints: list[slice] = []
        for a, b in pairwise(first.tolist()):  # modes are coordinates of one link, each moved by itself
            each = 1 if b - a > MOST_OF_JOINT else max(b - a, 1)
            self.joints += [slice(k, k + each) for k in range(a, b, each)]
        self.charts: list[Array] = []  # of each joint, the rates of its positions by its velocities
        self.impulses: list[Impulses] = []  # of each step
        self.smoothing = 0.0
        self.after = np.zeros(0)  # positions after the steps
        self._formulas: Formulas | None = None
        self._kept: Kept | None = None
        self._may_have_formulas = may_have_formulas(engine)

    def formulas(self) -> Formulas | None:
        """What differentiates a step by formulas, where the engine's may have such."""
        if not self._may_have_formulas:
            return None
        if self._formulas is None or not self._formulas.is_current:
            self._formulas = Formulas(self.mirror)
        return self._formulas

    def kept(self) -> Kept:
        """Room for states of the engine as it is now."""
        engine = self.mirror.engine
        if self._kept is None or self._kept.linked != engine.times_linked:
            self._kept = Kept(engine)
        return self._kept

    def derivatives(self, parameters: dict[str, list[list[Change]]], known: list[Array]) -> StepDerivatives:
        """All derivatives of the next steps, whose impulses are known."""
        engine = self.mirror.engine
        n = len(engine.data.q)
        of_force = takes_force(engine.tree.actuator)
        self.charts = self._charts(engine.data.q)
        columns: list[list[Change]] = [self._position(k) for k in range(n)]
        columns += [[Change("data", "u", k, 1.0)] for k in range(n)]
        columns += [[Change("data", "tau" if of_force[k] else "command", k, 1.0)] for k in range(n)]
        for found in parameters.values():
            columns += found
        made = self._made(columns, known)
        modes, margins, margin = contact_modes(self.impulses)
        by_parameters, at = {}, 3 * n
        for name, found in parameters.items():
            by_parameters[name] = fixed(made[:, at : at + len(found)].copy())
            at += len(found)
        return StepDerivatives(
            fixed(made[:, : 2 * n].copy()), fixed(made[:, 2 * n : 3 * n].copy()), by_parameters, tuple(modes),
            fixed(margins), margin,
        )  # fmt: skip

    def carried(self, known: list[Array], commands: Array) -> Array:
        """See `carried_derivatives`; the impulses of both steps are known."""
        engine = self.mirror.engine
        n, of_force = len(engine.data.q), takes_force(engine.tree.actuator)
        self.charts = self._charts(engine.data.q)
        columns: list[list[Change]] = [self._position(k) for k in range(n)]
        columns += [[Change("data", "u", k, 1.0)] for k in range(n)]

        def only_carried() -> None:
            d = self.mirror.world.data
            d.q[:, 1:] = d.u[:, 1:] = 0.0
            d.tau[of_force, 0], d.command[~of_force, 0] = commands[of_force], commands[~of_force]

        return self._made(columns, known, only_carried)

    def _made(
        self, columns: list[list[Change]], known: list[Array], between: Callable[[], None] | None = None
    ) -> Array:
        """Changes of the state after steps along directions (2n, directions)."""
        n = len(self.mirror.engine.data.q)
        self.impulses = []
        made = np.zeros((2 * n, len(columns)))
        for begin in range(0, len(columns), DIRECTIONS):
            part = columns[begin : begin + DIRECTIONS]
            q, u = self._run(part, known, between)
            made[:n, begin : begin + len(part)] = q[:, 1 : 1 + len(part)]
            made[n:, begin : begin + len(part)] = u[:, 1 : 1 + len(part)]
        if columns:
            for chart, joint in zip(self._charts(self.after), self.joints, strict=True):
                made[joint] = np.linalg.solve(chart, made[joint])
        if not np.isfinite(made).all():
            raise StateError("step_derivatives: they are not finite: the state is at a change of the motion's form")
        return made

    def _charts(self, q: Array) -> list[Array]:
        """Of each joint, the rates of its positions by its velocities."""
        w = self.mirror.world
        self.mirror.fill()
        w.data.q[:, 0] = q
        w.data.u[:] = 0.0
        for joint in self.joints:
            for j, k in enumerate(range(joint.start, joint.stop)):
                w.data.u[k, 1 + j] = 1.0
        self.mirror.move()
        return [w.data.q[joint, 1 : 1 + joint.stop - joint.start].copy() for joint in self.joints]

    def _position(self, k: int) -> list[Change]:
        """The change of positions along velocity k."""
        for chart, joint in zip(self.charts, self.joints, strict=True):
            if joint.start <= k < joint.stop:
                j = k - joint.start
                return [Change("data", "q", joint.start + i, rate) for i, rate in enumerate(chart[:, j]) if rate != 0.0]
        return []

    def _run(
        self, part: Sequence[list[Change]], known: list[Array], between: Callable[[], None] | None
    ) -> tuple[Array, Array]:
        """Positions and velocities after steps, with derivatives along up to DIRECTIONS directions.

        Between steps, `between` is called.
        """
        mirror = self.mirror
        mirror.fill()
        for lane, changes in enumerate(part):
            for path, name, index, rate in changes:
                at = (*index, 1 + lane) if isinstance(index, tuple) else (index, 1 + lane)
                getattr(attrgetter(path)(mirror.world), name)[at] += rate
        problem = mirror.problem
        for k, impulses in enumerate(known):
            if k and between is not None:
                between()
            mirror.begin()
            if k == len(self.impulses):  # all directions have the same
                bounces = bool(mirror.engine.world.restitute.address)
                self.impulses.append(Impulses(mirror.engine, problem, impulses, bounces, self.smoothing))
            problem.free[: problem.num_rows] = self.impulses[k].derivatives(problem)
            mirror.end()
        d = mirror.world.data
        self.after = d.q[:, 0].copy()
        return d.q, d.u


def impulses_of_steps(world: World, steps: int, between: Callable[[], None] | None = None) -> list[Array]:
    """Impulses of all rows in the next steps, which are done and undone; between them, `between` is called.

    Raises:
        StateError, ModelError: they fail.
    """
    before, engine, found = world.snapshot(), world.engine, []
    try:
        for k in range(steps):
            if k and between is not None:
                between()
            run(engine, 1, lambda: world.time)
            problem = engine.problem
            found.append(problem.impulse[: problem.num_rows].copy())
    finally:
        world.restore(before)
    return found


ATTEMPTS = 5  # at a step that needs more room than the one before
Found = TypeVar("Found")


def differentiator(engine: Any) -> StepDifferentiator:
    """That of an engine, which fits its arrays."""
    if engine.differentiator is None or not engine.differentiator.mirror.is_current:
        engine.differentiator = StepDifferentiator(engine)
    return engine.differentiator


def by_formulas(world: World, gradient: Array | None = None, memory: Array | None = None) -> Formulas | None:
    """What has differentiated the next step by formulas, which leaves the world as it is; None: they do not go.

    Args:
        gradient, memory: as of `Formulas.attempt`.

    Raises:
        StateError, ModelError: the step fails.
    """
    for _ in range(ATTEMPTS):
        formulas = differentiator(world.engine).formulas()
        if formulas is None:
            return None
        try:
            status = formulas.attempt(gradient, memory)
        finally:
            world.version += 1
        if status == DONE:
            return formulas
        if status != STOPPED:
            return None
        impulses_of_steps(world, 1)  # makes room, or says why the step fails
    return None


def checked_smoothing(world: World, what: str, smoothing: Any) -> float:
    """A smoothing as a number.

    Raises:
        ModelError: it is none.
    """
    if smoothing.__class__ is float and 0.0 <= smoothing < np.inf:
        return smoothing
    number = numbers_or_nan(smoothing)
    if isinstance(smoothing, bool) or number.ndim or not 0.0 <= number < np.inf:
        raise ModelError(
            f"world {world.name!r}: {what}: smoothing: expected a speed [m/s] not below 0, got {smoothing!r:.80}"
        )
    return float(number)


def step_derivatives(
    world: World, parameters: Mapping[str, Any] | Sequence[str], steps: int, smoothing: float = 0.0
) -> StepDerivatives:
    """See `World.step_derivatives`."""
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
        raise ModelError(
            f"world {world.name!r}: step_derivatives: steps: expected a number of steps above 0, got {steps!r}"
        )
    smooth = checked_smoothing(world, "step_derivatives", smoothing)
    wanted = directions(world, parameters)
    check_supported(world)
    formulas = by_formulas(world) if steps == 1 and not wanted and smooth == 0.0 else None
    return by_duals(world, wanted, int(steps), smooth) if formulas is None else formulas.derivatives()


def by_duals(
    world: World,
    wanted: dict[str, list[list[Change]]],
    steps: int,
    smoothing: float = 0.0,
) -> StepDerivatives:
    """Derivatives of steps by dual numbers.

    Raises:
        StateError, ModelError: the steps fail, or something in them has no derivative.
    """
    known = impulses_of_steps(world, steps)
    check_supported(world)  # what surfaces are there is known now
    return _with_room(world, lambda differentiator: differentiator.derivatives(wanted, known), smoothing)


def carried_derivatives(world: World, commands: Array, smoothing: float = 0.0) -> Array:
    """d(q, u)++ / d(q, u) through what the next step leaves to the one after it (2n, 2n).

    A step leaves where contacts were, by which the next one knows how they roll. With A and A+ the derivatives of both
    steps by the states before them, all of d(q, u)++ / d(q, u) is A+ A plus this.

    Args:
        commands: of all coordinates in the second step.

    Raises:
        ModelError, StateError: as `World.step_derivatives`.
    """
    check_supported(world)
    n = len(world.engine.data.q)

    def change() -> None:
        for skeleton in world.skeletons:
            if skeleton.num_dofs:
                skeleton.commands = commands[world.engine.dofs_of(skeleton)]

    known = impulses_of_steps(world, 2, change)
    if not len(known[0]) or not len(known[1]):
        return np.zeros((2 * n, 2 * n))
    return _with_room(world, lambda differentiator: differentiator.carried(known, commands), smoothing)


def _with_room(world: World, of: Callable[[StepDifferentiator], Found], smoothing: float) -> Found:
    """What a differentiator of the world gives, which is made anew, with more room, where it needs that.

    Raises:
        StateError: it needs ever more.
    """
    engine = world.engine
    for _ in range(ATTEMPTS):
        try:
            found = differentiator(engine)
            found.smoothing = smoothing
            return of(found)
        except NoRoom as full:
            full.mend()
    raise StateError(f"world {world.name!r}: step_derivatives: a step from this state needs ever more room")


def pull_back(
    world: World, gradient: ArrayLike, parameters: Mapping[str, Any] | Sequence[str], smoothing: float = 0.0
) -> tuple[Array, Array, dict[str, Array]]:
    """See `World.pull_back`."""
    n = len(world.engine.data.q)
    g = numbers_or_nan(gradient)
    if g.shape != (2 * n,) or not np.isfinite(g).all():
        raise StateError(f"world {world.name!r}: pull_back: expected {2 * n} finite numbers, got {gradient!r:.80}")
    smooth = checked_smoothing(world, "pull_back", smoothing)
    wanted = directions(world, parameters)
    check_supported(world)
    formulas = None if wanted or smooth > 0.0 else by_formulas(world, g)
    return by_duals(world, wanted, 1, smooth).pull_back(g) if formulas is None else formulas.pulled()
