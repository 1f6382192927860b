"""Dynamics of whole worlds: contacts that open, stick and slide as they come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kido.batch import Batch
from kido.batch.arguments import whole_number
from kido.errors import ModelError
from kido.gradients import Rollout, WorldFunction
from kido.optimal_control.dynamics import Array, Dynamics
from kido.optimal_control.manifold import block_jacobians, blocks_of
from kido.simulation import World


class WorldDynamics(Dynamics):
    """x = [q, u] of all skeletons of a world, controls are commands; a node is `hold` steps of the world.

    Which contacts there are, and whether they stick or slide, is found by each step, not given. Derivatives are exact
    for these steps (`World.step_derivatives`). They are blind to what does not touch: where a push or a jump is to be
    found, let the motion that is begun with make contact. Each node starts from the contacts of the model, as if it
    were the first, so that motions of `World.step` differ a little from those of the nodes.

    Args:
        world: the model, which is copied.
        hold: steps of a node.
        actuated: coordinates that controls drive, by their numbers in the world; all by default. Others have the
            commands of the model.
        threads: how many compute forward.

    Raises:
        ModelError: a world of which there are no derivatives, or nothing that moves; no such coordinate.
    """

    def __init__(self, world: World, hold: int = 1, actuated: Sequence[int] | None = None, threads: int | None = None):
        self.function = WorldFunction(world, threads=threads)
        self.function.check_differentiable()
        n = self.function.num_dofs
        if not n:
            raise ModelError(f"dynamics: world {world.name!r} has no coordinate that moves")
        chosen = list(range(n)) if actuated is None else list(actuated)
        if not all(isinstance(k, int | np.integer) and 0 <= k < n for k in chosen) or len(set(chosen)) < len(chosen):
            raise ModelError(f"dynamics: actuated: expected numbers from 0 to {n - 1}, each once, got {actuated!r:.80}")
        self.hold, self.actuated = whole_number("hold", hold), np.array(chosen, dtype=np.int64)
        self.time_step = float(world.time_step) * self.hold
        self.num_states, self.num_controls = 2 * n, len(chosen)
        self._parts = [(Batch(s, threads=1), part) for s, part in self.function.skeletons]
        self._blocks = [
            slice(part.start + b.start, part.start + b.stop)
            for s, part in self.function.skeletons
            for b in blocks_of(s)
        ]
        self.curved = tuple(i for block in self._blocks for i in range(block.start, block.stop))
        self._commands = np.zeros(n)
        for s, part in self.function.skeletons:
            self._commands[part] = s.commands

    def step(self, states: Array, controls: Array) -> Array:
        """States (nodes, 2 dofs) that follow; NaN where a motion fails."""
        n = self.num_states // 2
        found = self.function.pool.run(
            states[:, :n], states[:, n:], self._all(controls), steps=self.hold, hold=self.hold
        )
        return np.concatenate([found.positions[:, -1], found.velocities[:, -1]], axis=1)

    def _all(self, controls: Array) -> Array:
        """Commands (nodes, 1, dofs)."""
        found = np.tile(self._commands, (len(controls), 1, 1))
        found[:, 0, self.actuated] = controls
        return found

    def derivatives(self, states: Array, controls: Array) -> tuple[Array, Array]:
        """A (nodes, 2 dofs, 2 dofs) and B (nodes, 2 dofs, controls), along moves."""
        n, hold = self.num_states // 2, self.hold
        start = np.ascontiguousarray(states[:, :n]), np.ascontiguousarray(states[:, n:])
        none = np.zeros((len(states), 1, n))
        found = self.function.derivatives(
            Rollout(none, none, start, self._all(controls), steps=hold, hold=hold, every=hold)
        )
        by_controls = np.stack([d.by_commands for d in found])[:, :, self.actuated]
        return np.stack([d.by_state for d in found]), np.ascontiguousarray(by_controls)

    # Manifold -------------------------------------------------------------------------------------------------

    def differences(self, after: Array, before: Array) -> Array:
        """Moves (nodes, 2 dofs) from states to others; NaN for states that are not finite."""
        found = after - before
        for k in np.flatnonzero(np.isfinite(found).all(axis=1)) if self.curved else ():
            for batch, part in self._parts:
                found[k, part] = batch.skeleton.position_differences(after[k, part], before[k, part])
        return found

    def moved(self, states: Array, steps: Array) -> Array:
        """States moved by steps."""
        found = states + steps
        good = np.isfinite(found).all(axis=1)
        for batch, part in self._parts if self.curved and good.any() else ():
            q, u = np.ascontiguousarray(states[good, part]), np.ascontiguousarray(steps[good, part])
            found[good, part] = batch.integrate(q, u, 1.0)
        return found

    def move_derivatives(self, steps: Array) -> tuple[Array, Array] | None:
        """J and T (nodes, 2 dofs, 2 dofs); see `Dynamics.move_derivatives`."""
        return block_jacobians(self._blocks, steps) if self.curved else None
