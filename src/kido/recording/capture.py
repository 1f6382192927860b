"""Reads one frame off a world, as cheaply as the arrays allow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kido.collision import CONTACTS
from kido.kernels import entries
from kido.simulation import World
from kido.simulation.engine import Engine


class Frame(NamedTuple):
    """Rows of one frame: values of `layout.frame_columns`; its contacts and external forces, if any."""

    values: tuple[Any, ...]
    contacts: tuple[np.ndarray, ...] | None
    external: tuple[np.ndarray, ...] | None


def engine_of(world: World) -> Engine:
    """The compiled side of a world; another object whenever its structure changed."""
    return world._compile()


def fixed_mass(engine: Engine) -> list[Any]:
    """Immobile skeletons with mass: their potential energy does not count."""
    return [s for s in engine.skeletons if not s.mobile and s.mass > 0.0]


def energies(engine: Engine, immobile: list[Any]) -> tuple[float, float]:
    """Kinetic and potential energy of the mobile skeletons [J], by one sweep over the whole forest."""
    tree, data = engine.tree.address, engine.data.address
    entries.update_transforms(tree, data)
    entries.update_velocities(tree, data)
    kinetic, potential = entries.read_kinetic_energy(tree, data), entries.read_potential_energy(tree, data)
    for skeleton in immobile:
        kinetic -= skeleton.kinetic_energy
        potential -= skeleton.potential_energy
    return kinetic, potential


def capture(world: World, engine: Engine, structure: int, immobile: list[Any], commands: np.ndarray) -> Frame:
    """The frame of the present state.

    Args:
        world, engine: what to read.
        structure: number of the structure that is valid.
        immobile: from `fixed_mass`.
        commands: joint forces to note.
    """
    data = engine.data
    kinetic, potential = energies(engine, immobile)
    contacts, external = _contacts(engine), _external(engine)
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
    return Frame(values, contacts, external)


def _contacts(engine: Engine) -> tuple[np.ndarray, ...] | None:
    c = engine.detector.container
    n = int(c.count[CONTACTS])
    if n == 0:
        return None
    force = c.impulse[:n] / engine.world.time_step[0]
    numbers = (c.body_a, c.body_b, c.shape_a, c.shape_b)
    return (
        c.point[:n].copy(),
        c.normal[:n].copy(),
        c.gap[:n].copy(),
        force,
        *(k[:n].copy() for k in numbers),
    )


def _external(engine: Engine) -> tuple[np.ndarray, ...] | None:
    data = engine.data
    if not data.has_external.any():
        return None
    index = np.flatnonzero(data.has_external)
    bodies = [body for s in engine.skeletons for body in s.bodies]
    wrenches = np.array([bodies[i].external_wrench for i in index])
    return index, wrenches, data.external[index].copy()
