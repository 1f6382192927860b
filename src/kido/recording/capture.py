"""Reads frames off a world, as cheaply as the arrays allow, and puts forces back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.simulation import World
from kido.simulation.soft_bodies import SoftBodies

Array = NDArray[np.float64]


class Frame(NamedTuple):
    """Rows of one frame: values of `layout.frame_columns`; its contacts and external forces, if any."""

    values: tuple[Any, ...]
    contacts: tuple[np.ndarray, ...] | None
    external: tuple[np.ndarray, ...] | None


class Probe:
    """Reads one structure of a world.

    Attributes:
        engine: the compiled side it belongs to.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.engine = world.engine
        first, start = {}, 0
        for skeleton in world.skeletons:
            first[skeleton] = start
            start += skeleton.num_bodies
        self._first_body = first
        bodies = [first[node.body.skeleton] + node.body.index for node in self.engine.nodes]
        self._body_of_shape = np.array(bodies, dtype=np.int64)

    @property
    def valid(self) -> bool:
        """Whether the world still has this structure."""
        return self.world.engine is self.engine

    def energies(self) -> tuple[float, float]:
        """Kinetic and potential energy of the mobile skeletons [J].

        By the skeletons' own arrays: those of the forest have their free joints in other axes, and are in use.
        """
        return self.world.kinetic_energy, self.world.potential_energy

    def frame(self, structure: int, commands: Array, soft_points: bool = False) -> Frame:
        """The frame of the present state.

        Args:
            structure: number of the structure.
            commands: of the actuators, to note.
            soft_points: note displacements of points of soft bodies.
        """
        world, data = self.world, self.engine.data
        kinetic, potential = self.energies()
        contacts, external = self._contacts(), self._external()
        report = world.report
        values = (
            world.time,
            world.num_steps,
            structure,
            kinetic,
            potential,
            report.residual,
            report.iterations,
            report.max_penetration,
            int(report.converged),
            report.dissipation,
            data.q.copy(),
            data.u.copy(),
            commands.copy(),
            0 if contacts is None else len(contacts[2]),
            0 if external is None else len(external[0]),
        )
        if soft_points:
            values += (self.engine.feature(SoftBodies).displacements.ravel(),)
        return Frame(values, contacts, external)

    def _contacts(self) -> tuple[np.ndarray, ...] | None:
        c = self.engine.detector.container
        n = c.num_contacts
        if n == 0:
            return None
        force = c.impulse[:n] / self.engine.world.time_step
        a, b = c.shape_a[:n].copy(), c.shape_b[:n].copy()
        bodies = self._body_of_shape[a], self._body_of_shape[b]
        return (c.point[:n].copy(), c.normal[:n].copy(), c.gap[:n].copy(), force, *bodies, a, b)

    def _external(self) -> tuple[np.ndarray, ...] | None:
        numbers, wrenches, laws = [], [], []
        with self.world.pushes.in_place(self.world.num_steps):
            for skeleton, first in self._first_body.items():
                for index, law in skeleton.current_state.applied.items():
                    numbers.append(first + index)
                    wrenches.append(skeleton.bodies[index].external_wrench)
                    laws.append(law.copy())
        return (np.array(numbers), np.array(wrenches), np.array(laws)) if numbers else None


def set_forces(world: World, commands: Array | None, bodies: Any = (), laws: Any = ()) -> None:
    """Set commands and external forces as they were recorded; None: zero."""
    engine = world.engine
    size = len(engine.data.tau)
    engine.set_commands(np.zeros(size) if commands is None else commands[:size])
    for skeleton in world.skeletons:
        skeleton.clear_external_forces()
    owners = [(s, b.index) for s in world.skeletons for b in s.bodies] if len(bodies) else []
    for number, law in zip(bodies, laws):
        skeleton, index = owners[number]
        skeleton.current_state.add_external(index, law)
