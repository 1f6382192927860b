"""Steps and rollouts of worlds, differentiable by PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kido.attributes import FixedAttributes
from kido.errors import NameLookupError
from kido.gradients import WorldFunction
from kido.simulation import World
from kido.torch.tensors import FirstDerivative, as_rows, as_tensor, batched, together


class _Rollouts(torch.autograd.Function):
    """`WorldFunction.rollout`. `options`: steps, hold, every; `names`: of what is given."""

    @staticmethod
    def forward(function: WorldFunction, options: dict[str, Any], names: tuple[str, ...], *given: torch.Tensor) -> Any:
        samples = tuple(given[0].shape[:-1])
        rows = [as_rows(x, 2 if name == "commands" else 1) for name, x in zip(names, given, strict=True)]
        found = function.named_rollout(names, rows, options)
        return as_tensor(found.positions, samples), as_tensor(found.velocities, samples)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.function, ctx.options, ctx.names, *given = inputs
        ctx.save_for_backward(*given, *output)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        function, options, names = ctx.function, ctx.options, ctx.names
        ends = tuple(2 if name == "commands" else 1 for name in names)

        def pull_back(*arrays: Any) -> tuple[Any, ...]:
            k = len(names)
            return function.named_pull_back(names, arrays[:k], options, arrays[k : k + 2], arrays[k + 2 :])

        made = FirstDerivative.apply(pull_back, (*ends, 2, 2, 2, 2), *ctx.saved_tensors, *gradients)
        return None, None, None, *made  # type: ignore[misc]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Any, Any]:
        return _Rollouts.apply(*batched(info, in_dims, arguments)), (0, 0)


class Simulation(FixedAttributes):
    """A world whose steps and rollouts are functions of PyTorch's tensors, with gradients by all of them.

    Results are `World.step`'s, bit for bit (in lanes, to rounding), and gradients those of `World.step_derivatives`.
    Every call starts each sample from the world as it was when this was made, contacts among it: it is a function of
    its arguments alone. Arrays have the coordinates of all skeletons, one after another.

    Args:
        world, parameters, threads, lanes: as of `kido.gradients.WorldFunction`.

    Example:
        >>> simulation = kido.torch.Simulation(world, {"mass": [box]})
        >>> q, u = simulation.step(q, u, commands, mass=torch.tensor([1.0], dtype=torch.float64))
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
        positions: torch.Tensor,
        velocities: torch.Tensor,
        commands: torch.Tensor | None = None,
        *,
        steps: int = 1,
        **parameters: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Positions and velocities (..., dofs) after steps with the same commands.

        Args:
            positions, velocities: (..., dofs).
            commands: of the actuators (..., dofs); those of the world by default.
            steps: how many.
            **parameters: (..., numbers), by name; those of the world by default.

        Raises:
            StateError: what is no tensor of 64 bits on the processor, of another shape, not finite or out of range, and
                motions that fail.
            NameLookupError: a parameter that this was not made with.
            ModelError: gradients are asked for, and the world has something of which there are none.
        """
        rows = commands[..., None, :] if isinstance(commands, torch.Tensor) and commands.ndim else None
        found = self._run(positions, velocities, commands if rows is None else rows, parameters, steps, steps, steps)
        return found[0][..., 0, :], found[1][..., 0, :]

    def rollout(
        self,
        positions: torch.Tensor,
        velocities: torch.Tensor,
        commands: torch.Tensor | None = None,
        *,
        steps: int | None = None,
        hold: int = 1,
        every: int | None = None,
        **parameters: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Positions and velocities (..., records, dofs) of whole motions.

        Args:
            positions, velocities: where they start (..., dofs).
            commands: (..., rows, dofs), each row for `hold` steps; those of the world, held, by default.
            steps: how many; rows times `hold` by default.
            hold: time steps that a row of commands acts.
            every: time steps from one record to the next; `hold` by default.
            **parameters: as in `step`; the errors too.
        """
        if steps is None and isinstance(commands, torch.Tensor) and commands.ndim > 1:
            steps = commands.shape[-2] * hold
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
    ) -> tuple[torch.Tensor, torch.Tensor]:
        function = self.function
        n = function.num_dofs
        given: dict[str, Any] = {"positions": (positions, (n,)), "velocities": (velocities, (n,))}
        if commands is not None:
            given["commands"] = commands, (None, n)
        for name, value in parameters.items():
            if name not in function.sizes:
                raise NameLookupError("parameter of this simulation", name, list(function.sizes))
            given[name] = value, (function.sizes[name],)
        tensors = together(f"world {function.name!r}", given)
        if torch.is_grad_enabled() and any(x.requires_grad for x in tensors.values()):
            function.check_differentiable()
        options = function.checked_times(steps, hold, every)
        return _Rollouts.apply(function, options, tuple(tensors), *tensors.values())  # type: ignore[return-value]
