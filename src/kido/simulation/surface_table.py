"""Contact properties of a world's pairs of shapes as compiled arrays (`kido.constraints.surfaces`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.constraints.surfaces import (
    BY_CONTACT,
    BY_MATERIAL,
    ERP_CFM,
    NO_DIRECTION,
    NO_ROWS,
    NO_SOFTNESS,
    OF_A,
    OF_B,
    OF_WORLD,
    SPRING_DAMPER,
    SPRING_DAMPER_AT_END,
    SURFACES,
    TIME_CONSTANT,
)
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
        self.handler: Any = handler  # may have `contact`
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
        self.rows: list[dict[str, Any]] = []
        self.known: dict[int, int] = {}
        self._pairs: dict[tuple[int, int], ContactSurface] = {}
        self.container = self._container(np.array(number, dtype=np.int64), 16, 1)

    def _container(self, material: np.ndarray, slots: int, rows: int) -> SURFACES:
        return SURFACES(material=material, slots=slots, rows=rows, slot_key=np.full(slots, -1), mode=self.mode)

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
        for a, b in {(int(a), int(b)) for a, b in zip(*(x[: c.num_contacts] for x in (c.shape_a, c.shape_b)))}:
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
        for k, row in enumerate(self.rows):
            _write(made, k, row)
        made.any_spin = int((made.rolling + made.torsion > 0.0).any())
        for key, row in self.known.items():
            at = ((key * 40503) >> 4) & (slots - 1)  # kido.constraints.surfaces.first_slot
            while made.slot_key[at] >= 0:
                at = (at + 1) & (slots - 1)
            made.slot_key[at], made.slot_row[at] = key, row
        self.container = made

    def _write_contacts(self, c: Struct, time_step: float) -> None:
        number = c.num_contacts
        if number > len(self.container.friction):
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
            surface = self._checked(self.handler.contact(contact, self._pair(a, b)), "contact")
            _write(s, k, self._numbers(surface, node_a, node_b))
        s.any_spin = int((s.rolling[:number] + s.torsion[:number] > 0.0).any())
        s.ready = 1

    def _numbers(self, surface: ContactSurface, a: ShapeNode, b: ShapeNode) -> dict[str, Any]:
        """A row of the table."""
        second, slip = surface.secondary_friction, surface.secondary_slip
        kind, *softness = softness_numbers(surface.softness)
        row: dict[str, Any] = {
            "friction": surface.friction,
            "secondary_friction": surface.friction if second is None else second,
            "slip": surface.slip,
            "secondary_slip": surface.slip if slip is None else slip,
            "rolling": surface.rolling_friction,
            "torsion": surface.torsional_friction,
            "restitution": surface.restitution,
            "softness_kind": kind,
            "softness": softness,
            "slop": -1.0 if surface.slop is None else surface.slop,
            "max_speed": np.inf if surface.max_correction_speed is None else surface.max_correction_speed,
            "direction_of": NO_DIRECTION,
            "direction": 0.0,
        }
        isotropic = row["friction"] == row["secondary_friction"] and row["slip"] == row["secondary_slip"]
        if surface.first_friction_direction is not None and not isotropic:
            direction = np.array(surface.first_friction_direction, dtype=float)
            if surface.direction_of != "world":
                direction = self.place(a if surface.direction_of == "a" else b)[:3, :3] @ direction
            row["direction"] = direction / np.linalg.norm(direction)
            row["direction_of"] = {"a": OF_A, "b": OF_B, "world": OF_WORLD}[surface.direction_of]
        motions = [(a, surface.velocity_a, surface.spin_a), (b, surface.velocity_b, surface.spin_b)]
        row["moves"] = int(any(any(velocity) or any(spin) for _, velocity, spin in motions))
        for name, (node, velocity, spin) in zip(("motion_a", "motion_b"), motions, strict=True):
            X = self.place(node)
            row[name] = np.concatenate([X[:3, :3] @ velocity, X[:3, :3] @ spin, X[:3, 3]])
        return row


def _write(s: Struct, k: int, row: dict[str, Any]) -> None:
    for name, value in row.items():
        getattr(s, name)[k] = value


def softness_numbers(softness: Softness | None) -> tuple[int, float, float]:
    """SOFTNESS_KIND and the two numbers of a softness."""
    if isinstance(softness, SpringDamper):
        kind = SPRING_DAMPER_AT_END if softness.at_end else SPRING_DAMPER
        return kind, softness.stiffness, softness.damping
    if isinstance(softness, ErpCfm):
        return ERP_CFM, softness.erp, softness.cfm
    if isinstance(softness, TimeConstant):
        return TIME_CONSTANT, softness.time_constant, softness.damping_ratio
    return NO_SOFTNESS, 0.0, 0.0
