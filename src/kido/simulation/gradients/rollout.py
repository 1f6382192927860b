"""Gradients of a loss along many steps, pulled back from one to the other between checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.errors import ModelError, StateError
from kido.math.transform import numbers_or_nan
from kido.simulation.gradients.derivatives import (
    by_duals,
    by_formulas,
    carried_derivatives,
    checked_smoothing,
    differentiator,
)
from kido.simulation.gradients.parameters import directions
from kido.simulation.gradients.refusals import check_supported
from kido.simulation.gradients.result import RolloutGradient
from kido.simulation.gradients.tangent.kept import Saved
from kido.simulation.motion import run
from kido.skeleton.state.actuation import takes_force

if TYPE_CHECKING:
    from kido.simulation.world import World

Array = NDArray[np.float64]
Loss = Callable[[int, Any], ArrayLike | None]


MANY = 1000  # steps, up to which all states are kept


class _Rollout:
    """Steps of a world with commands of their own, and their pull-back."""

    def __init__(self, world: World, commands: Array, parameters: Mapping[str, Any] | Sequence[str], smoothing: float):
        self.smoothing = smoothing
        self.world, self.commands, self.parameters = world, commands, parameters
        self.of_force = takes_force(world.engine.tree.actuator)

    def command(self, k: int) -> None:
        """Give the commands of step k."""
        d, given = self.world.engine.data, self.commands[k]
        np.copyto(d.tau, given, where=self.of_force)
        np.copyto(d.command, given, where=~self.of_force)

    def step(self, k: int) -> None:
        """Do step k."""
        self.command(k)
        run(self.world.engine, 1, lambda: self.world.time)
        self.world.version += 1

    def saved(self) -> Saved:
        """The present state."""
        return differentiator(self.world.engine).kept().saved()

    def restore(self, state: Saved) -> None:
        """Go back to a state."""
        differentiator(self.world.engine).kept().put(state)
        self.world.version += 1

    def pull(
        self, k: int, g: Array, after: Array | None, memory: Array | None
    ) -> tuple[Array, Array, dict[str, Array], Array | None]:
        """Gradients by what there was before step k, and by the contacts that it recalls.

        Args:
            g: by the state after it.
            after: by the state after the step that follows, if one does.
            memory: by the contacts that that step recalls, where formulas have found it.
        """
        world = self.world
        wanted = directions(world, self.parameters)
        formulas = None if wanted or self.smoothing > 0.0 else by_formulas(world, g, memory)
        if formulas is not None:
            by_state, by_commands, by_parameters = formulas.pulled()
            recalled = formulas.recalled()
        else:
            by_state, by_commands, by_parameters = by_duals(world, wanted, 1, self.smoothing).pull_back(g)
            recalled = memory = None
        if after is not None and memory is None:
            by_state = by_state + after @ carried_derivatives(world, self.commands[k + 1], self.smoothing)
        return by_state, by_commands, by_parameters, recalled


def rollout_gradient(
    world: World,
    commands: ArrayLike,
    gradient: Loss,
    parameters: Mapping[str, Any] | Sequence[str],
    checkpoints: int | None,
    smoothing: float = 0.0,
) -> RolloutGradient:
    """See `World.rollout_gradient`."""
    what = f"world {world.name!r}: rollout_gradient"
    engine = world.engine
    n = len(engine.data.q)
    given = numbers_or_nan(commands)
    if given.ndim != 2 or given.shape[1] != n or not len(given) or not np.isfinite(given).all():
        raise ModelError(f"{what}: commands: expected finite numbers (steps, {n}), got {commands!r:.80}")
    steps = len(given)
    every = checkpoints
    if every is None:
        every = 1 if steps <= MANY else ceil(sqrt(steps))
    if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
        raise ModelError(f"{what}: checkpoints: expected a number of steps above 0, got {checkpoints!r}")
    check_supported(world)
    rollout = _Rollout(world, given, parameters, checked_smoothing(world, "rollout_gradient", smoothing))
    seeds, q, u = np.zeros((steps + 1, 2 * n)), np.zeros((steps + 1, n)), np.zeros((steps + 1, n))
    start = world.snapshot()
    marks = {}
    try:
        q[0], u[0] = engine.data.q, engine.data.u
        for k in range(steps):
            if k % every == 0:
                marks[k] = rollout.saved()
            rollout.step(k)
            q[k + 1], u[k + 1] = world.engine.data.q, world.engine.data.u
            version = world.version
            found = gradient(k + 1, world)
            if world.version != version:
                raise StateError(f"{what}: gradient({k + 1}) changed the world, which it is only shown")
            if found is not None:
                seed = numbers_or_nan(found)
                if seed.shape != (2 * n,) or not np.isfinite(seed).all():
                    raise StateError(f"{what}: gradient({k + 1}): expected {2 * n} finite numbers, got {found!r:.80}")
                seeds[k + 1] = seed
        by_commands, by_parameters = np.zeros((steps, n)), {}
        g, memory, after = np.zeros(2 * n), None, None
        for first in sorted(marks, reverse=True):
            rollout.restore(marks[first])
            last, states = min(first + every, steps), [marks[first]]
            for k in range(first, last - 1):
                rollout.step(k)
                states.append(rollout.saved())
            for k in range(last - 1, first - 1, -1):
                if k < last - 1:
                    rollout.restore(states[k - first])
                rollout.command(k)
                by_end = g + seeds[k + 1]
                g, by_commands[k], of_parameters, memory = rollout.pull(k, by_end, after, memory)
                after = by_end
                for name, values in of_parameters.items():
                    by_parameters[name] = by_parameters.get(name, 0.0) + values
    finally:
        world.restore(start)
    return RolloutGradient(
        fixed(g), fixed(by_commands), {name: fixed(x) for name, x in by_parameters.items()}, fixed(q), fixed(u)
    )
