"""What a system has of its world: ports by skeleton, and the controllers through which the world's steps run it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.flexible.filling import flex_of, without_modes
from kido.jit import Struct
from kido.simulation import World
from kido.simulation.controller import Controller
from kido.skeleton import Skeleton
from kido.systems import world_machine
from kido.systems.clock import SECOND, Rate
from kido.systems.engine import Engine
from kido.systems.flexible_ports import place_flexible, push_modes
from kido.systems.world_machine import LINK
from kido.systems.world_ports import BodyPort, JointPort, MassPort, WorldPort
from kido.tree.schema import data_for

if TYPE_CHECKING:
    from kido.systems.system import System


NEVER = 1 << 62  # steps


class SkeletonLink(Controller):
    """Through it a world calls a system at each step, and gets the forces on one skeleton."""

    def __init__(self, skeleton: Skeleton, side: WorldSide):
        super().__init__(skeleton, name=f"system {side.system.name!r}")
        self._side = side
        self.struct: LINK | None = None
        self.actuators = b""  # that it was made for

    def compute(self) -> NDArray[np.float64]:
        """Forces that it gives (skeleton's dofs,)."""
        return np.zeros(self.skeleton.num_dofs) if self.struct is None else self.struct.force.copy()

    def compile(self, time: float) -> tuple[Any, Struct] | None:
        """The system's part of a world's step; none before the system is made, which `prepare` does, or once it is
        driven no more."""
        if not self._side.system.is_made or self not in self._side.links:
            return None
        self._side.make_structs(self._side.system.engine)
        assert self.struct is not None
        return world_machine.act_in_world, self.struct

    @property
    def calls_python(self) -> bool:
        """The first does, for models of plain Python and logs; see `steps_ahead`."""
        return self._side.links[:1] == [self]

    @property
    def has_state(self) -> bool:
        """That of the system: `System.checkpoint` has it with the world's snapshot."""
        return True

    def prepare(self, time: float) -> None:
        """What is due, unless `System.run` does it."""
        self._side.catch_up()

    def failed(self) -> None:
        """The system could not make the step."""
        self._side.system.failed_in_world()

    def reset(self) -> None:
        """The system begins anew with its world."""
        if self.calls_python:
            self._side.system.reset()

    def steps_ahead(self, period: int) -> int:
        """Until Python is wanted again."""
        return self._side.steps_ahead()

    def relink(self) -> None:
        """The system has another engine."""
        if self._commands is not None:
            self._commands.properties_changed()
            self._commands.engine.link()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "struct": None}


class WorldSide:
    """A system's world.

    Args:
        system: which.
        world: whose steps run it.

    Raises:
        ModelError: it is no world, or its time step is no whole number of nanoseconds.
    """

    def __init__(self, system: System, world: World):
        if not isinstance(world, World):
            raise ModelError(f"system {system.name!r}: world: expected a World, got {world!r}")
        self.system, self.world = system, world
        self.links: list[SkeletonLink] = []
        self._step()

    def _step(self) -> int:
        """Time step of the world [ns]."""
        h = self.world.time_step * SECOND
        if round(h) < 1 or abs(h - round(h)) > 1e-6 * h:
            raise ModelError(
                f"system {self.system.name!r}: the time step of world {self.world.name!r} is {h:g} ns; expected a "
                "whole number of nanoseconds"
            )
        return round(h)

    @property
    def step(self) -> int:
        """Time step of the world [ns]."""
        return self._step()

    def check_rate(self, rate: Rate, what: str) -> None:
        """Raise ModelError unless all ticks of a rate are at steps of the world."""
        if not rate.divides(self.step):
            raise ModelError(
                f"{what}: rate: {rate} has a period of {rate.period:g} s; expected a whole number of the world's time "
                f"steps of {self.world.time_step:g} s"
            )

    def check_port(self, port: WorldPort, what: str) -> None:
        """Raise ModelError unless the skeleton of a port is in the world."""
        if port.skeleton not in self.world.skeletons:
            raise ModelError(f"{what}: model {port.name!r} is of no skeleton in world {self.world.name!r}")

    def ports(self) -> dict[Skeleton, list[WorldPort]]:
        """Those of the system's models, by skeleton, in the order of paths."""
        found: dict[Skeleton, list[WorldPort]] = {}
        for m in self.system.models:
            if isinstance(m, WorldPort):
                self.check_port(m, f"system {self.system.name!r}")
                found.setdefault(m.skeleton, []).append(m)
        if not found and self.world.skeletons:
            found[self.world.skeletons[0]] = []
        return found

    def expect(self) -> None:
        """Have the world's next step make the system, unless `System.run` does before."""
        for skeleton in [] if self.links else list(self.ports())[:1]:
            self.links.append(SkeletonLink(skeleton, self))
            self.world.add_controller(self.links[0])

    def attach(self, engine: Engine) -> None:
        """Have the world's steps run an engine.

        Raises:
            ModelError: the world has no skeleton.
        """
        ports = self.ports()
        if not ports:
            raise ModelError(f"system {self.system.name!r}: world {self.world.name!r} has no skeleton")
        for link in [k for k in self.links if k.skeleton not in ports]:
            self.links.remove(link)
            if link in self.world.controllers:
                self.world.remove_controller(link)
        new = [SkeletonLink(s, self) for s in ports if s not in [k.skeleton for k in self.links]]
        self.links += new
        self.make_structs(engine)
        for link in self.links:
            if link not in self.world.controllers and link.skeleton in self.world.skeletons:
                self.world.add_controller(link)
        if self.links and not new:
            self.links[0].relink()

    def make_structs(self, engine: Engine) -> None:
        """What the world's steps see of the system, for the present arrays of the skeletons."""
        h = self.step
        if all(_is_present(link, engine, h) for link in self.links):
            return
        what, ports = f"system {self.system.name!r}", self.ports()
        for rate in engine.linked.rates:
            self.check_rate(rate, what)  # the time step may be another by now
        for port in (p for own in ports.values() for p in own if isinstance(p, JointPort)):
            port.check_driven()
        made = [_struct(engine, link.skeleton, ports.get(link.skeleton, []), h) for link in self.links]
        made[0] = _leading(made[0], len(made))
        made[0].everyone[:] = [own.address for own in made]
        for link, own in zip(self.links, made, strict=True):
            link.struct, link.actuators = own, _actuators(link.skeleton)

    def catch_up(self) -> None:
        """Do what Python is wanted for now, where steps are the world's own and not those of `System.run`.

        Raises:
            StateError: as of `System.run`.
        """
        if not self.system.is_running:
            engine = self.system.engine
            if engine.next_python() <= engine.system.now:
                self.read()
                self.system.tick()

    def steps_ahead(self) -> int:
        """Steps of the world until Python is wanted; `System.run` makes no more by itself."""
        if self.system.is_running:
            return NEVER
        engine = self.system.engine
        return max((engine.next_python() - int(engine.system.now)) // self.step, 1)

    def read(self) -> None:
        """Values of all ports, as the skeletons are now."""
        if self.links and self.links[0].struct is not None:
            self.make_structs(self.system.engine)
            world_machine.read_now(self.links[0].struct.address)


def _is_present(link: SkeletonLink, engine: Engine, step: int) -> bool:
    """Whether its struct is of the engine, of the time step, and of the skeleton's present arrays and actuators."""
    own, state = link.struct, link.skeleton.current_state
    if own is None or own.system is not engine.system or own.step != step:
        return False
    return own.data.q is state.compiled().q and own.tree is state.tree and link.actuators == _actuators(link.skeleton)


def _actuators(skeleton: Skeleton) -> bytes:
    """Of all coordinates."""
    return skeleton.current_state.tree.actuator.tobytes()


def _leading(own: LINK, links: int) -> LINK:
    """The struct that knows all of them."""
    arrays = {name: getattr(own, name) for name in LINK.arrays if name != "everyone"}
    parts = {"system": own.system, "tree": own.tree, "data": own.data, "flex": own.flex}
    return _with_modes(LINK(step=own.step, links=links, **parts, **arrays))


def _with_modes(made: LINK) -> LINK:
    """The struct, with what a skeleton with flexible bodies has."""
    if len(made.flex.number):
        made.place_others, made.push_others = place_flexible, push_modes
    return made


def _struct(engine: Engine, skeleton: Skeleton, ports: list[WorldPort], step: int) -> LINK:
    plant, tree = skeleton.current_state.compiled(), skeleton.current_state.tree
    joints = [p for p in ports if isinstance(p, JointPort)]
    bodies = [p for p in ports if isinstance(p, BodyPort)]
    masses = sorted((p for p in ports if isinstance(p, MassPort)), key=MassPort.link)
    massive = {p.body for p in masses}
    for p in masses:
        if any(body.parent_joint.has_modes for body in p.body.children):
            raise ModelError(
                f"model {p.name!r}: body {p.body.name!r} is flexible; its mass is that of its modes, which stays"
            )
    data, flex = data_for(tree, q=plant.q, u=plant.u), flex_of(skeleton) or without_modes(len(tree.parent))
    made = LINK(
        system=engine.system, tree=tree, data=data, flex=flex, step=step, links=0, joints=len(joints),
        bodies=len(bodies), masses=len(masses), dofs=skeleton.num_dofs,
    )  # fmt: skip
    slots = engine.linked.slots
    for k, p in enumerate(joints):
        made.dof[k] = p.dof.index
        made.position_slot[k], made.velocity_slot[k] = slots[p.path, "position"][0], slots[p.path, "velocity"][0]
        made.force_slot[k] = slots[p.path, "force"][0]
    for k, p in enumerate(bodies):
        made.body[k], made.place[k] = tree.member_link[p.body.index], p.place()
        made.pose_slot[k], made.twist_slot[k] = slots[p.path, "position"][0], slots[p.path, "velocity"][0]
        made.wrench_slot[k] = [*slots[p.path, "force"], *slots[p.path, "torque"]]
    for k, p in enumerate(masses):
        made.mass_slot[k] = slots[p.path, "mass"][0]
        made.massive[k], (made.others[k], made.each[k]) = p.link(), p.inertias(massive)
    return _with_modes(made)
