"""Steps and rollouts of worlds, differentiable by JAX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax

from kido.attributes import FixedAttributes
from kido.errors import NameLookupError
from kido.gradients import WorldFunction
from kido.jax.callbacks import Function, together
from kido.simulation import World


class Simulation(FixedAttributes):
    """A world whose steps and rollouts are functions of JAX's arrays, with gradients by all of them.

    Results are `World.step`'s, bit for bit (in lanes, to rounding), and gradients those of `World.step_derivatives`.
    Every call starts each sample from the world as it was when this was made, contacts among it: it is a function of
    its arguments alone. Arrays have the coordinates of all skeletons, one after another.

    Args:
        world, parameters, threads, lanes: as of `kido.gradients.WorldFunction`.

    Example:
        >>> simulation = kido.jax.Simulation(world, {"mass": [box]})
        >>> step = jax.jit(lambda q, u, c, m: simulation.step(q, u, c, mass=m))
    """

    def __init__(
        self,
        world: World,
        parameters: Mapping[str, Any] | Sequence[str] = (),
        *,
        threads: int | None = None,
        lanes: bool = False,
    ):
        self.function = WorldFunction(world, parameters, threads=threads, lanes=lanes)

    def __repr__(self) -> str:
        return f"Simulation({self.function.name!r}, {self.function.num_dofs} dofs, parameters={[*self.function.sizes]})"

    def step(
        self,
        positions: jax.Array,
        velocities: jax.Array,
        commands: jax.Array | None = None,
        *,
        steps: int = 1,
        **parameters: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        """Positions and velocities (..., dofs) after steps with the same commands.

        Args:
            positions, velocities: (..., dofs).
            commands: of the actuators (..., dofs); those of the world by default.
            steps: how many.
            **parameters: (..., numbers), by name; those of the world by default.

        Raises:
            StateError: what is no array of 64 bits, or of another shape; not finite or out of range, and motions that
                fail, if this is not traced.
            NameLookupError: a parameter that this was not made with.
            ModelError: the world has something of which there are no derivatives, when they are computed.
        """
        rows = commands[..., None, :] if getattr(commands, "ndim", 0) else commands  # type: ignore[index]
        q, u = self._run(positions, velocities, rows, parameters, steps, steps, steps)
        return q[..., 0, :], u[..., 0, :]

    def rollout(
        self,
        positions: jax.Array,
        velocities: jax.Array,
        commands: jax.Array | None = None,
        *,
        steps: int | None = None,
        hold: int = 1,
        every: int | None = None,
        **parameters: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        """Positions and velocities (..., records, dofs) of whole motions.

        Args:
            positions, velocities: where they start (..., dofs).
            commands: (..., rows, dofs), each row for `hold` steps; those of the world, held, by default.
            steps: how many; rows times `hold` by default.
            hold: time steps that a row of commands acts.
            every: time steps from one record to the next; `hold` by default.
            **parameters: as in `step`; the errors too.
        """
        if steps is None and getattr(commands, "ndim", 0) > 1:
            steps = commands.shape[-2] * hold  # type: ignore[union-attr]
        return self._run(positions, velocities, commands, parameters, steps, hold, hold if every is None else every)

    def _run(
        self,
        positions: Any,
        velocities: Any,
        commands: Any,
        parameters: dict[str, Any],
        steps: Any,
        hold: Any,
        every: Any,
    ) -> Any:
        function = self.function
        n = function.num_dofs
        given: dict[str, Any] = {"positions": (positions, (n,)), "velocities": (velocities, (n,))}
        if commands is not None:
            given["commands"] = commands, (None, n)
        for name, value in parameters.items():
            if name not in function.sizes:
                raise NameLookupError("parameter of this simulation", name, list(function.sizes))
            given[name] = value, (function.sizes[name],)
        arrays = together(f"world {function.name!r}", given)
        names, options = tuple(arrays), function.checked_times(steps, hold, every)
        ends = tuple(2 if name == "commands" else 1 for name in names)
        shapes = ((options["steps"] // options["every"], n),) * 2

        def value(*arrays: Any) -> Any:
            found = function.named_rollout(names, arrays, options)
            return found.positions, found.velocities

        def pull_back(arrays: Any, values: Any, gradients: Any) -> Any:
            return function.named_pull_back(names, arrays, options, values, gradients)

        return Function(value, pull_back, ends, shapes)(*arrays.values())
