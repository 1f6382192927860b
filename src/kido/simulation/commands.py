"""Commands as they act in steps of a world: within limits. What was given is put back after each step.

Bounds are those of `Skeleton.bounded_commands`; worlds where no limit is enforced have no such stage.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.jit import Struct, callback, entry, floats, integer, integers, kernel, view
from kido.simulation.feature import Feature
from kido.simulation.world_struct import BEGIN, END, WORLD
from kido.skeleton.state.actuation import takes_force, takes_motion


class COMMANDS(Struct):
    applied = integer(doc="1: the forest has commands as they act, and `given` holds those that were given")
    dof = integers("bounded", doc="coordinates with bounds")
    of_force = integers("bounded", doc="1: the bounds are of DATA.tau, 0: of DATA.command")
    lower = floats("bounded", doc="least command that acts")
    upper = floats("bounded", doc="greatest command that acts")
    given = floats("bounded", doc="command as given, while a step uses the forest's array")


@kernel
def bound(d, s):
    """Put commands within their bounds; a step that begins once more has them there."""
    if s.applied == 0:
        for j in range(s.dof.shape[0]):
            k = s.dof[j]
            command = d.tau[k] if s.of_force[j] != 0 else d.command[k]
            s.given[j] = command
            command = min(max(command, s.lower[j]), s.upper[j])
            if s.of_force[j] != 0:
                d.tau[k] = command
            else:
                d.command[k] = command
        s.applied = 1


@callback
def bound_stage(world, own, unused_2, unused_3):
    """`bound` at the start of a step. Returns 0."""
    bound(view(WORLD, world).data, view(COMMANDS, own))
    return 0


@entry("i8(i8,i8)")
def bound_commands(world, own):
    """`bound` before steps that have no stages. Returns 0."""
    bound(view(WORLD, world).data, view(COMMANDS, own))
    return 0


@kernel
def put_back(d, s):
    """Put commands back to those that were given."""
    if s.applied != 0:
        for j in range(s.dof.shape[0]):
            if s.of_force[j] != 0:
                d.tau[s.dof[j]] = s.given[j]
            else:
                d.command[s.dof[j]] = s.given[j]
        s.applied = 0


@callback
def put_back_stage(world, own, unused_2, unused_3):
    """`put_back` at the end of a step. Returns 0: Python has nothing to do."""
    put_back(view(WORLD, world).data, view(COMMANDS, own))
    return 0


@entry("i8(i8,i8)")
def put_back_commands(world, own):
    """`put_back` after steps that have no stages, or that failed. Returns 0."""
    put_back(view(WORLD, world).data, view(COMMANDS, own))
    return 0


class Commands(Feature):
    """Bounds of commands."""

    container: COMMANDS | None = None
    is_compiled = True

    def stages(self) -> dict[str | int, Any]:
        return {} if self.container is None else {BEGIN: bound_stage, END: put_back_stage}

    @property
    def own_struct(self) -> Any:
        return self.container

    def options_changed(self) -> None:
        if self.container is None:  # the engine is new
            self.properties_changed()

    def properties_changed(self) -> None:
        engine, tree = self.engine, self.engine.tree
        bounds = np.full((2, len(tree.actuator)), [[-np.inf], [np.inf]])
        for skeleton in engine.skeletons:
            if skeleton.command_bounds is not None:
                bounds[:, engine.dofs_of(skeleton)] = skeleton.command_bounds
        limited = np.isfinite(bounds).any(axis=0) & (takes_force(tree.actuator) | takes_motion(tree.actuator))
        dofs = np.flatnonzero(limited)
        self.container = COMMANDS(bounded=len(dofs)) if len(dofs) else None
        if self.container is not None:
            self.container.dof[:], self.container.of_force[:] = dofs, takes_force(tree.actuator[dofs])
            self.container.lower[:], self.container.upper[:] = bounds[:, dofs]
        engine.acting = self if self.is_active else None

    def apply(self) -> None:
        """What its first stage does, before steps without stages."""
        bound_commands(self.engine.world.address, self.own_struct.address)

    def put_back(self) -> None:
        """Have the commands that were given in the forest, whatever became of the steps."""
        put_back_commands(self.engine.world.address, self.own_struct.address)
