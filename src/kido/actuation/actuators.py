"""Actuators and tendons of a world: controls by name, forces in its steps, lengths and moments at its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.actuation import laws
from kido.actuation.description import Actuator, Tendon
from kido.actuation.program import Layout
from kido.actuation.schema import CHAIN, PROGRAM
from kido.arrays import fixed
from kido.attributes import FixedAttributes
from kido.errors import ModelError, NameLookupError, StateError
from kido.jit import Struct
from kido.math.transform import numbers_or_nan
from kido.simulation import World
from kido.simulation.controller import Controller
from kido.skeleton import Skeleton

Array = NDArray[np.float64]


class ActuatorLink(Controller):
    """Through it a world's steps run actuators, and get their forces on one skeleton."""

    def __init__(self, skeleton: Skeleton, actuators: Actuators, leads: bool):
        super().__init__(skeleton, name="actuators")
        self._actuators, self._leads = actuators, leads

    @property
    def actuators(self) -> Actuators:
        """Those that it is for."""
        return self._actuators

    def compute(self) -> Array:
        """Forces of actuators and tendons on its skeleton at the present state."""
        own = self._actuators
        return own.joint_forces(self.skeleton) + own.passive_forces(self.skeleton)

    def compile(self, time: float) -> tuple[Any, Struct] | None:
        return laws.act_in_world, self._actuators.chain_of(self.skeleton, time)

    @property
    def calls_python(self) -> bool:
        return False

    @property
    def num_remembered(self) -> int:
        """Controls and activations."""
        return 2 * len(self._actuators) if self._leads else 0

    def remember(self, memory: Array) -> None:
        self._actuators.keep_in(memory)


class Actuators(FixedAttributes):
    """Actuators and tendons of a world, run in its steps without Python.

    They belong to the world: clones have their own, snapshots and `World.reset` bring controls and activations back.
    Controls stay until others are set. Forces hold for a step, made of the state at its start; activations go on by
    one step of Euler's method.

    Args:
        world: whose steps run them.
        actuators: in the order of `controls`.
        tendons: of which actuators, springs and dampers may be.
        force_ranges: by skeleton (dofs, 2), within which the sum of all actuators acts on each coordinate [N, N m].

    Raises:
        ModelError: two of one name; a tendon that is none of those given; skeletons that are not in the world; a world
            that has actuators.
    """

    def __init__(
        self,
        world: World,
        actuators: Sequence[Actuator] = (),
        tendons: Sequence[Tendon] = (),
        force_ranges: Mapping[Skeleton, ArrayLike] | None = None,
    ):
        self._actuators, self._tendons = tuple(actuators), tuple(tendons)
        self._index = _by_name([a.name for a in actuators], "actuators")
        self._tendon_index = _by_name([t.name for t in tendons], "tendons")
        if _link_in(world) is not None:
            raise ModelError(f"world {world.name!r} has actuators already; expected one set with all of them")
        self._layout = Layout(
            self._tendons,
            self._actuators,
            {s: np.asarray(bounds, float) for s, bounds in (force_ranges or {}).items()},
        )
        for s in self._layout.skeletons:
            if s not in world.skeletons:
                raise ModelError(f"actuators: skeleton {s.name!r} is not in world {world.name!r}")
        self._memory = np.zeros(2 * len(self._actuators))
        self._made: tuple[PROGRAM, list[CHAIN]] | None = None
        self._links = [ActuatorLink(s, self, k == 0) for k, s in enumerate(self._layout.skeletons)]
        for link in self._links:
            world.add_controller(link)

    @staticmethod
    def of(world: World) -> Actuators:
        """Those of a world.

        Raises:
            ModelError: it has none.
        """
        link = _link_in(world)
        if link is None:
            raise ModelError(f"world {world.name!r} has no actuators and no tendons that act")
        return link.actuators

    def __len__(self) -> int:
        return len(self._actuators)

    def __getitem__(self, name: str) -> Actuator:
        return self._actuators[self._number(name)]

    @property
    def names(self) -> list[str]:
        """Of the actuators, in order."""
        return list(self._index)

    @property
    def tendon_names(self) -> list[str]:
        """Of the tendons, in order."""
        return list(self._tendon_index)

    @property
    def skeletons(self) -> tuple[Skeleton, ...]:
        """Those whose coordinates transmissions depend on."""
        return tuple(self._layout.skeletons)

    @property
    def tendons(self) -> tuple[Tendon, ...]:
        """Descriptions."""
        return self._tendons

    def _number(self, name: str) -> int:
        if name not in self._index:
            raise NameLookupError("actuator", name, list(self._index))
        return self._index[name]

    # Controls and activations ----------------------------------------------------------------------------------

    @property
    def controls(self) -> Array:
        """(actuators,) as given; may be set, and act from the next step on, within their ranges. A copy."""
        return self._memory[: len(self)].copy()

    @controls.setter
    def controls(self, value: ArrayLike) -> None:
        self._memory[: len(self)] = self._checked(value, "controls")

    @property
    def activations(self) -> Array:
        """(actuators,) states of those that have one, 0 of others; may be set. A copy."""
        return self._memory[len(self) :].copy()

    @activations.setter
    def activations(self, value: ArrayLike) -> None:
        self._memory[len(self) :] = self._checked(value, "activations")

    def set_controls(self, values: Mapping[str, float] | None = None, **named: float) -> None:
        """Set controls by name; others stay.

        Raises:
            NameLookupError: no such actuator.
            StateError: no finite number; none is set.
        """
        after = self.controls
        for name, value in {**(values or {}), **named}.items():
            after[self._number(name)] = numbers_or_nan(value).item() if np.ndim(value) == 0 else np.nan
        self.controls = after

    def control(self, name: str) -> float:
        """Control of an actuator, as given."""
        return float(self._memory[self._number(name)])

    @property
    def control_ranges(self) -> Array:
        """(actuators, 2) least and greatest controls that act."""
        return np.array([a.control_range for a in self._actuators]).reshape(-1, 2)

    def _checked(self, value: ArrayLike, what: str) -> Array:
        numbers = numbers_or_nan(value)
        if numbers.shape != (len(self),) or not np.isfinite(numbers).all():
            raise StateError(f"actuators: {what}: expected {len(self)} finite numbers, got {value!r:.200}")
        return numbers

    # At the present state --------------------------------------------------------------------------------------

    @property
    def forces(self) -> Array:
        """(actuators,) forces along their transmissions at the present state [N, N m]."""
        return fixed(self._now().force.copy())

    @property
    def lengths(self) -> Array:
        """(actuators,) of transmissions, by gear [m, rad]."""
        p = self._now()
        return fixed(p.ratio * p.length[p.row])

    @property
    def velocities(self) -> Array:
        """(actuators,) rates of their lengths [m/s, rad/s]."""
        p = self._now()
        return fixed(p.ratio * p.velocity[p.row])

    @property
    def tendon_lengths(self) -> Array:
        """(tendons,) [m]; of coordinates as their factors have it."""
        p = self._now()
        return fixed(p.length[p.tendon_row])

    @property
    def tendon_velocities(self) -> Array:
        """(tendons,) [m/s]"""
        p = self._now()
        return fixed(p.velocity[p.tendon_row])

    @property
    def tendon_forces(self) -> Array:
        """(tendons,) of all actuators on each [N]."""
        p = self._now()
        total = np.zeros(len(self._tendons))
        on = p.on_tendon >= 0
        np.add.at(total, p.on_tendon[on], p.force[on])
        return fixed(total)

    def moments(self, skeleton: Skeleton) -> Array:
        """(actuators, dofs) of a skeleton: derivatives of lengths by velocities."""
        p = self._now()
        return fixed(p.ratio[:, None] * self._moments(skeleton)[p.row])

    def tendon_moments(self, skeleton: Skeleton) -> Array:
        """(tendons, dofs) of a skeleton: derivatives of lengths by velocities."""
        p = self._now()
        return fixed(self._moments(skeleton)[p.tendon_row])

    def joint_forces(self, skeleton: Skeleton) -> Array:
        """(dofs,) forces of actuators on the coordinates of a skeleton at the present state [N, N m]."""
        p = self._now()
        return fixed(p.actuated[self._part(skeleton)])

    def passive_forces(self, skeleton: Skeleton) -> Array:
        """(dofs,) forces of tendons' springs and dampers on them [N, N m]."""
        p = self._now()
        return fixed(p.passive[self._part(skeleton)])

    def _part(self, skeleton: Skeleton) -> Any:
        """Coordinates of a skeleton among all."""
        before = 0
        for s in self._layout.skeletons:
            if s is skeleton:
                return np.arange(before, before + s.num_dofs)
            before += s.num_dofs
        raise ModelError(f"actuators: they do not act on {skeleton!r}; expected one of {self._layout.skeletons!r:.200}")

    def _moments(self, skeleton: Skeleton) -> Array:
        """(rows, dofs) of all transmissions."""
        p = self._now()
        whole = np.zeros((len(p.kind), len(p.q)))
        for r in range(len(p.kind)):
            part = slice(p.first_column[r], p.first_column[r + 1])
            np.add.at(whole[r], p.column[part], p.moment[part])
        return whole[:, self._part(skeleton)]

    # For worlds ------------------------------------------------------------------------------------------------

    def _now(self) -> PROGRAM:
        """The program, after it ran at the present state."""
        program, _ = self._present()
        laws.act_now(program.address)
        return program

    def _present(self, time: float | None = None) -> tuple[PROGRAM, list[CHAIN]]:
        """Tables for the present arrays of the skeletons."""
        made, skeletons = self._made, self._layout.skeletons
        if made is None or not all(_is_present(c, s) for c, s in zip(made[1], skeletons, strict=True)):
            hold = self._links[0].hold if self._links and time is None else time or 0.0
            made = self._made = self._layout.make(self._memory, hold)
        return made

    def chain_of(self, skeleton: Skeleton, time: float) -> CHAIN:
        """What a world's steps see of them on one skeleton."""
        program, chains = self._present(time)
        program.time = time
        return chains[self._layout.skeletons.index(skeleton)]

    def keep_in(self, memory: Array) -> None:
        """Have controls and activations in an array of the world."""
        memory[:] = self._memory
        self._memory, self._made = memory, None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_made": None, "_memory": self._memory.copy()}

    def __repr__(self) -> str:
        return f"Actuators({len(self._actuators)} actuators, {len(self._tendons)} tendons)"


def _link_in(world: World) -> ActuatorLink | None:
    return next((c for c in world.controllers if isinstance(c, ActuatorLink)), None)


def _is_present(chain: CHAIN, skeleton: Skeleton) -> bool:
    state = skeleton.current_state
    return chain.data.q is state.compiled().q and chain.tree is state.tree


def _by_name(names: Sequence[str], what: str) -> dict[str, int]:
    found = {name: k for k, name in enumerate(names)}
    if len(found) != len(names):
        twice = sorted({name for name in names if list(names).count(name) > 1})
        raise ModelError(f"{what}: expected one of each name, got several of {', '.join(twice)}")
    return found
