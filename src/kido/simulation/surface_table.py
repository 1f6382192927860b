"""Contact properties of a world's pairs of shapes as compiled arrays (`kido.constraints.surfaces`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.collision import CONTACTS
from kido.constraints.surfaces import (
    BY_CONTACT,
    BY_MATERIAL,
    DIRECTION,
    DIRECTION_OF,
    ERP_CFM,
    FRICTION,
    MAX_SPEED,
    MOTION_A,
    MOTION_B,
    MOVING,
    NO_DIRECTION,
    NO_ROWS,
    OF_A,
    OF_B,
    OF_WORLD,
    RESTITUTION,
    RIGID,
    ROLLING,
    SECONDARY_FRICTION,
    SECONDARY_SLIP,
    SLIP,
    SLOP_OF_PAIR,
    SOFTNESS_1,
    SOFTNESS_2,
    SOFTNESS_KIND,
    SPRING_DAMPER,
    SPRING_DAMPER_AT_END,
    SURFACES,
    TIME_CONSTANT,
    TORSION,
)
from kido.constraints.surfaces import COLUMNS as _COLUMNS
from kido.errors import ModelError
from kido.jit import Struct
from kido.simulation.contact_surface import ContactSurface, ContactSurfaceHandler
from kido.simulation.contacts import Contact
from kido.skeleton.nodes.surface import ErpCfm, Softness, SpringDamper, TimeConstant

if TYPE_CHECKING:
    from kido.skeleton import ShapeNode


class SurfaceTable:
    """Owner of a SURFACES container.

    Args:
        nodes: the world's colliding shapes, in the detector's order.
        place: pose (4,4) of a shape in its link.
        handler: makes pairs' surfaces.
    """

    def __init__(
        self,
        nodes: list[ShapeNode],
        place: Callable[[ShapeNode], np.ndarray],
        handler: ContactSurfaceHandler,
    ):
        self.nodes = nodes
        self.place = place
        self.handler = handler
        self.own_pairs = own_pairs = type(handler).pair is not ContactSurfaceHandler.pair
        self.per_contact = callable(getattr(handler, "contact", None))
        plain = (handler.friction_rule, handler.restitution_rule) == ("min", "multiply")
        simple = all(node.surface.is_simple for node in nodes)
        self.mode = BY_CONTACT if self.per_contact else BY_MATERIAL
        if plain and simple and not own_pairs and not self.per_contact:
            self.mode = NO_ROWS
        # Shapes with equal surfaces are one material, where their place on the link and the handler do not matter.
        materials: dict[Any, int] = {}
        number = []
        for k, node in enumerate(nodes):
            surface = node.surface
            alone = own_pairs or surface.is_directed or any(surface.surface_velocity) or any(surface.surface_spin)
            number.append(materials.setdefault(k if alone else surface, len(materials)))
        self.rows: list[np.ndarray] = []
        self.known: dict[int, int] = {}
        self._pairs: dict[tuple[int, int], ContactSurface] = {}
        self.container = self._container(np.array(number, dtype=np.int64), 16, 1)

    def _container(self, material: np.ndarray, slots: int, rows: int) -> Struct:
        made = SURFACES(material=material, slots=slots, number=np.zeros((rows, _COLUMNS)), slot_key=np.full(slots, -1))
        made.mode[0] = self.mode
        return made

    @property
    def address(self) -> int:
        """Of the container; changes with `supply`."""
        return self.container.address

    def supply(self, c: Struct, time_step: float) -> None:
        """Rows for the contacts of a COLLISION container that have none.

        Raises:
            ModelError: the handler gave something else than a surface.
        """
        if self.per_contact:
            self._write_contacts(c, time_step)
        else:
            self._add_pairs(c)

    def _pair(self, a: int, b: int) -> ContactSurface:
        known = self._pairs.get((a, b))
        if known is None:
            known = self._pairs[a, b] = self._checked(self.handler.pair(self.nodes[a], self.nodes[b]), "pair")
        return known

    def _checked(self, surface: Any, method: str) -> ContactSurface:
        if not isinstance(surface, ContactSurface):
            raise ModelError(
                f"contact surface handler {type(self.handler).__name__}: {method}: expected a ContactSurface, got "
                f"{surface!r}"
            )
        return surface

    def _add_pairs(self, c: Struct) -> None:
        material = self.container.material
        shapes = len(material)
        for a, b in {(int(a), int(b)) for a, b in zip(*(x[: c.count[CONTACTS]] for x in (c.shape_a, c.shape_b)))}:
            key = int(material[a]) * shapes + int(material[b])
            if key not in self.known:
                surface = self._checked(self.handler.pair(self.nodes[a], self.nodes[b]), "pair")
                row = self._numbers(surface, self.nodes[a], self.nodes[b])
                self.known[key] = len(self.rows)
                self.rows.append(row)
        slots = 16
        while slots < 2 * len(self.known) + 2:
            slots *= 2
        made = self._container(material, slots, len(self.rows))
        made.number[:] = self.rows
        made.spins[0] = int((made.number[:, [ROLLING, TORSION]] > 0.0).any())
        for key, row in self.known.items():
            at = ((key * 40503) >> 4) & (slots - 1)  # kido.constraints.surfaces.first_slot
            while made.slot_key[at] >= 0:
                at = (at + 1) & (slots - 1)
            made.slot_key[at], made.slot_row[at] = key, row
        self.container = made

    def _write_contacts(self, c: Struct, time_step: float) -> None:
        number = int(c.count[CONTACTS])
        if number > len(self.container.number):
            self.container = self._container(self.container.material, 16, 2 * number)
        s = self.container
        for k in range(number):
            a, b = int(c.shape_a[k]), int(c.shape_b[k])
            node_a, node_b = self.nodes[a], self.nodes[b]
            contact = Contact(
                node_a.body,
                node_b.body,
                node_a,
                node_b,
                c.point[k].copy(),
                c.normal[k].copy(),
                float(c.gap[k]),
                c.impulse[k] / time_step,
            )
            surface = self._checked(self.handler.contact(contact, self._pair(a, b)), "contact")  # type: ignore[attr-defined]
            s.number[k] = self._numbers(surface, node_a, node_b)
        s.spins[0] = int((s.number[:number, [ROLLING, TORSION]] > 0.0).any())
        s.ready[0] = 1

    def _numbers(self, surface: ContactSurface, a: ShapeNode, b: ShapeNode) -> np.ndarray:
        """A row of `number`."""
        row = np.zeros(_COLUMNS)
        second, slip = surface.secondary_friction, surface.secondary_slip
        row[FRICTION] = surface.friction
        row[SECONDARY_FRICTION] = surface.friction if second is None else second
        row[SLIP] = surface.slip
        row[SECONDARY_SLIP] = surface.slip if slip is None else slip
        row[ROLLING], row[TORSION] = surface.rolling_friction, surface.torsional_friction
        row[RESTITUTION] = surface.restitution
        row[SOFTNESS_KIND], row[SOFTNESS_1], row[SOFTNESS_2] = softness_numbers(surface.softness)
        row[SLOP_OF_PAIR] = -1.0 if surface.slop is None else surface.slop
        row[MAX_SPEED] = np.inf if surface.max_correction_speed is None else surface.max_correction_speed
        isotropic = row[FRICTION] == row[SECONDARY_FRICTION] and row[SLIP] == row[SECONDARY_SLIP]
        row[DIRECTION_OF] = NO_DIRECTION
        if surface.first_friction_direction is not None and not isotropic:
            direction = np.array(surface.first_friction_direction, dtype=float)
            if surface.direction_of != "world":
                direction = self.place(a if surface.direction_of == "a" else b)[:3, :3] @ direction
            row[DIRECTION : DIRECTION + 3] = direction / np.linalg.norm(direction)
            row[DIRECTION_OF] = {"a": OF_A, "b": OF_B, "world": OF_WORLD}[surface.direction_of]
        for at, node, velocity, spin in (
            (MOTION_A, a, surface.velocity_a, surface.spin_a),
            (MOTION_B, b, surface.velocity_b, surface.spin_b),
        ):
            X = self.place(node)
            row[at : at + 9] = np.concatenate([X[:3, :3] @ velocity, X[:3, :3] @ spin, X[:3, 3]])
            row[MOVING] = max(row[MOVING], float(any(velocity) or any(spin)))
        return row


def softness_numbers(softness: Softness | None) -> tuple[int, float, float]:
    """SOFTNESS_KIND and the two numbers of a softness."""
    if isinstance(softness, SpringDamper):
        kind = SPRING_DAMPER_AT_END if softness.at_end else SPRING_DAMPER
        return kind, softness.stiffness, softness.damping
    if isinstance(softness, ErpCfm):
        return ERP_CFM, softness.erp, softness.cfm
    if isinstance(softness, TimeConstant):
        return TIME_CONSTANT, softness.time_constant, softness.damping_ratio
    return RIGID, 0.0, 0.0
