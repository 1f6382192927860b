"""Commands as they act in steps of a world: what was given, and what controllers add, within limits.

Bounds are those of `Skeleton.bounded_commands`. What was given is put back after each step. Worlds without controllers
where no limit is enforced have no such stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kido.errors import ModelError
from kido.jit import Struct, callback, caller, entry, floats, integer, integers, kernel, view
from kido.jit.kept import COUNT, FINITE, checked_arrays
from kido.simulation.controller import Controller
from kido.simulation.feature import Feature
from kido.simulation.world_struct import BEGIN, END, WORLD
from kido.skeleton.state.actuation import takes_force, takes_motion

call_controller = caller("COMMANDS.call")


class COMMANDS(Struct):
    applied = integer(doc="1: the forest has commands as they act, and `given` holds those that were given")
    # Coordinates whose commands may act otherwise than they are given.
    dof = integers("bounded", doc="coordinate")
    of_force = integers("bounded", doc="1: its command is DATA.tau, 0: DATA.command")
    lower = floats("bounded", doc="least command that acts")
    upper = floats("bounded", doc="greatest command that acts")
    given = floats("bounded", doc="command as given, while a step uses the forest's array")
    asked = floats("bounded", doc="command with what controllers add, before it is bounded")
    # Controllers.
    call = integers("controllers", doc="callback: (world, own struct, COMMANDS, number); 0: Python computes forces")
    own = integers("controllers", doc="address of its struct")
    period = integers("controllers", doc="steps from one call to the next")
    due = integers("controllers", doc="steps until the next call")
    calls = integers("controllers", doc="calls up to now")
    begin = integers("controllers", doc="first coordinate of its skeleton")
    unbounded = integers("controllers", doc="1: its forces are no commands, and bounds do not hold for them")
    first = integers("controllers1", doc="where its forces begin; the last entry is their number")
    force = floats("forces", unit="N, N m", doc="held forces on the coordinates of each controller's skeleton")
    memory = floats("numbers", doc="what controllers remember besides, one after the other")


@kernel
def add_forces(address, d, own, unbounded):
    """Call the controllers of one kind that are due, and add what all of these hold.

    Returns:
        0; or 1 + the number of a controller that failed: none of its kind has made its step.
    """
    s = view(COMMANDS, own)
    for c in range(s.call.shape[0]):
        if s.unbounded[c] == unbounded and s.due[c] == 0 and s.call[c] != 0:
            if call_controller(s.call[c], address, s.own[c], own, c) != 0:
                return 1 + c
    for c in range(s.call.shape[0]):
        if s.unbounded[c] != unbounded:
            continue
        if s.due[c] == 0:
            s.due[c] = s.period[c]
            s.calls[c] += 1
        s.due[c] -= 1
        shift = s.begin[c] - s.first[c]
        for j in range(s.first[c], s.first[c + 1]):
            d.tau[j + shift] += s.force[j]
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


@kernel
def act(address, own):
    """Bring commands to what acts in a step; one that begins once more has them already. Returns as `add_forces`."""
    d = view(WORLD, address).data
    s = view(COMMANDS, own)
    if s.applied == 0:
        for j in range(s.dof.shape[0]):
            s.given[j] = d.tau[s.dof[j]] if s.of_force[j] != 0 else d.command[s.dof[j]]
        s.applied = 1
        failed = add_forces(address, d, own, 0)
        if failed != 0:
            put_back(d, s)
            return failed
        for j in range(s.dof.shape[0]):
            k = s.dof[j]
            command = d.tau[k] if s.of_force[j] != 0 else d.command[k]
            s.asked[j] = command
            command = min(max(command, s.lower[j]), s.upper[j])
            if s.of_force[j] != 0:
                d.tau[k] = command
            else:
                d.command[k] = command
        failed = add_forces(address, d, own, 1)
        if failed != 0:
            put_back(d, s)
            return failed
    return 0


@callback
def act_stage(world, own, unused_2, unused_3):
    """`act` at the start of a step. Returns 0, or minus (1 + the number of a controller that failed)."""
    failed = act(world, own)
    return -failed


@entry("i8(i8,i8)")
def act_commands(world, own):
    """`act` before steps that have no stages, and no controllers. Returns 0."""
    act(world, own)
    return 0


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


_STATE = {"due": COUNT, "calls": COUNT, "force": FINITE, "memory": FINITE.or_absent()}


class Commands(Feature):
    """Bounds of commands, and controllers."""

    key = "controllers"
    container: COMMANDS | None = None

    def __init__(self, engine: Any):
        super().__init__(engine)
        self.controllers: list[Controller] = []
        self.callers: list[int] = []  # numbers of those that Python has something to do for
        self._time_step = 0.0
        self._kept: list[Any] = []  # structs and callbacks of controllers

    def stages(self) -> dict[str | int, Any]:
        return {} if self.container is None else {BEGIN: act_stage, END: put_back_stage}

    @property
    def own_struct(self) -> Any:
        return self.container

    @property
    def is_compiled(self) -> bool:
        return True

    @property
    def is_undone(self) -> bool:
        return bool(self.controllers)

    def options_changed(self) -> None:
        if self.container is None:  # the engine is new
            self.properties_changed()

    def begin_run(self) -> None:
        if self.controllers and self._time_step != self.engine.options.time_step:
            self.properties_changed()
            self.engine.link()

    def set_controllers(self, controllers: Sequence[Controller]) -> None:
        """Have other controllers; those that stay, or come from the engine before, keep their time and their forces.

        Raises:
            ModelError: one cannot be run with the present time step or skeleton.
        """
        before = {c: {name: x.copy() for name, x in c.held_state().items()} for c in controllers}
        self.engine.controlled = {c.skeleton for c in controllers}
        for c in self.controllers:
            c.held_by(None, -1)
        self.controllers = list(controllers)
        self.container = None
        self.properties_changed()
        for k, c in enumerate(self.controllers):
            own = self.part_of(k)
            if len(own["force"]) != len(before[c].get("force", own["force"])):  # its skeleton has other coordinates
                del before[c]["force"]
                before[c]["due"][:] = 0
            for name, values in before[c].items():
                own[name][:] = values

    def part_of(self, number: int) -> dict[str, np.ndarray]:
        """A controller's part of the state."""
        own = self.own_struct
        part = slice(number, number + 1)
        numbers = [c.num_remembered for c in self.controllers[: number + 1]]
        memory = own.memory[sum(numbers[:-1]) : sum(numbers)]
        return {"due": own.due[part], "calls": own.calls[part], "force": self.forces_of(number), "memory": memory}

    def properties_changed(self) -> None:
        before = self.container, self._kept
        try:
            self._make()
        except BaseException:
            self.container, self._kept = before  # the world's stages have their addresses
            raise

    def _make(self) -> None:
        engine, tree, h = self.engine, self.engine.tree, self.engine.options.time_step
        bounds = np.full((2, len(tree.actuator)), [[-np.inf], [np.inf]])
        for skeleton in engine.skeletons:
            if skeleton.command_bounds is not None:
                bounds[:, engine.dofs_of(skeleton)] = skeleton.command_bounds
        acting = np.isfinite(bounds).any(axis=0) & (takes_force(tree.actuator) | takes_motion(tree.actuator))
        for c in self.controllers:
            acting[engine.dofs_of(c.skeleton)] |= takes_force(tree.actuator[engine.dofs_of(c.skeleton)])
        dofs = np.flatnonzero(acting)
        number, kept = len(self.controllers), self.state()
        sizes = [c.skeleton.num_dofs for c in self.controllers]
        self.container = None
        if len(dofs) or number:
            own = COMMANDS(
                bounded=len(dofs), controllers=number, controllers1=number + 1, forces=sum(sizes),
                numbers=sum(c.num_remembered for c in self.controllers),
            )  # fmt: skip
            own.dof[:], own.of_force[:] = dofs, takes_force(tree.actuator[dofs])
            own.lower[:], own.upper[:] = bounds[:, dofs]
            own.first[1:] = np.cumsum(sizes)
            self._kept, self.container = [], own
            for k, c in enumerate(self.controllers):
                if c.num_remembered:
                    c.remember(self.part_of(k)["memory"])
                own.begin[k], own.period[k] = engine.dofs_of(c.skeleton).start, c.steps(h)
                own.unbounded[k] = not c.gives_commands
                made = c.compile(float(own.period[k] * h))
                if made is not None:
                    own.call[k], own.own[k] = made[0].address, made[1].address
                    self._kept.append(made)
                c.held_by(self, k)
            self.set_state(kept)
        self.callers = [k for k, c in enumerate(self.controllers) if c.calls_python]
        self._time_step = h
        engine.acting = self if self.is_active else None
        engine.asks_controllers = bool(self.callers)

    # In a step ---------------------------------------------------------------------------------------------

    def ask(self, most: int) -> int:
        """Have Python do what controllers that are due need of it. Returns the steps until it must again."""
        own, h = self.own_struct, self.engine.options.time_step
        if self._time_step != h:
            self.properties_changed()
            self.engine.link()
            own = self.own_struct
        for k in self.callers:
            if own.due[k] == 0:
                c = self.controllers[k]
                c.prepare(float(own.calls[k] * own.period[k] * h))
                if self.own_struct is not own:  # it has the world call others
                    return self.ask(most)
                if own.call[k] == 0:
                    self.forces_of(k)[:] = c.whole_forces()
                most = min(most, c.steps_ahead(int(own.period[k])))
            else:
                most = min(most, int(own.due[k]))
        return most

    def failed(self, status: int) -> None:
        """A step stopped where it began, see `act_stage`.

        Raises:
            KidoError: why; unless the controller can do it now.
        """
        self.controllers[-status - 1].failed()

    def apply(self) -> None:
        """What its first stage does, before steps without stages.

        Raises:
            ModelError: there are controllers, which only stages can call in each step.
        """
        if self.controllers:
            raise ModelError(
                f"controller {self.controllers[0].name!r}: integrator {self.engine.options.integrator.name} is for "
                "smooth motion; controllers need MoreauMidpoint, SemiImplicitEuler or ExplicitEuler"
            )
        act_commands(self.engine.world.address, self.own_struct.address)

    def put_back(self) -> None:
        """Have the commands that were given in the forest, whatever became of the steps."""
        put_back_commands(self.engine.world.address, self.own_struct.address)

    # Results and state -------------------------------------------------------------------------------------

    def forces_of(self, number: int) -> np.ndarray:
        """Forces that a controller holds, on its skeleton's coordinates."""
        own = self.own_struct
        return own.force[own.first[number] : own.first[number + 1]]

    def saturated(self, number: int) -> np.ndarray:
        """Where what was asked for in the last step was beyond limits, by coordinates of a controller's skeleton."""
        own = self.own_struct
        beyond = np.zeros(len(self.engine.tree.actuator), bool)
        beyond[own.dof] = (own.asked < own.lower) | (own.asked > own.upper)
        return beyond[self.engine.dofs_of(self.controllers[number].skeleton)]

    def state(self) -> Any:
        if self.container is None or not self.controllers:
            return None
        return {name: getattr(self.container, name).copy() for name in _STATE}

    def checked_state(self, state: Any, where: str) -> Any:
        if state is None or self.container is None or not self.controllers:
            return None
        return checked_arrays(self.container, _STATE, state, where)

    def set_state(self, state: Any) -> None:
        if self.container is None:
            return
        self.container.applied = 0
        if self.controllers and state is not None:
            if all(len(state[name]) == len(getattr(self.container, name)) for name in ("force", "memory")):
                for name in _STATE:
                    getattr(self.container, name)[:] = state[name]
