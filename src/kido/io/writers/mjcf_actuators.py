"""Actuators and tendons of a world as those of MJCF."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kido.actuation import Actuator, Actuators, Around, Ball, Linear, Path, Place, Pulley, Tendon, Wrench
from kido.io.writers.unsupported import UnsupportedFeatures
from kido.io.xml import Element, add, number, vector
from kido.joints import JointKind

__all__ = ["ActuatorWriter"]

WRAPPED = "5"  # group of what strings wrap around, which is not seen
MOST = 1e10  # for a bound that there is not


class ActuatorWriter:
    """Writes the actuators and tendons of one file.

    Args:
        names: of joints and coordinates in the file.
        name: gives names that no other element of a kind has: (kind, name, prefix).
        site: writes a site: (name, body or None, pose). Returns its name.
        geom: writes a geom that nothing touches: (name, body or None, pose, attributes). Returns its name.
    """

    def __init__(
        self,
        tendons: Element,
        actuators: Element,
        names: Mapping[Any, str],
        name: Callable[[str, str, str], str],
        site: Callable[..., str],
        geom: Callable[..., str],
        unsupported: UnsupportedFeatures,
    ):
        self.tendons, self.actuators, self.names, self.unsupported = tendons, actuators, names, unsupported
        self.name, self.site, self.geom = name, site, geom
        self.written: dict[str, tuple[Element, Any]] = {}
        self.order: list[str] = []  # of actuators in the file, by their names in the world
        self._sites: dict[int, str] = {}

    def add(self, made: Actuators) -> None:
        """Write all of a world."""
        for tendon in made.tendons:
            self._add_tendon(tendon.name, tendon)
        for name in made.names:
            self._add_actuator(made[name])

    def _add_tendon(self, name: str, tendon: Tendon) -> str:
        transmission = tendon.transmission
        name = self.name("tendon", name, "tendon")
        element = add(self.tendons, "fixed" if isinstance(transmission, Linear) else "spatial", name=name)
        if tendon.stiffness:
            element.set("stiffness", number(tendon.stiffness))
            element.set("springlength", vector(tendon.rest))
        if tendon.damping:
            element.set("damping", number(tendon.damping))
        if np.isfinite(tendon.force_range).any():
            element.set("actuatorfrcrange", _bounds(tendon.force_range))
        if isinstance(transmission, Linear):
            for dof, factor in transmission.terms:
                add(element, "joint", joint=self.names[dof], coef=number(factor))
        else:
            self._add_items(element, name, transmission)
        self.written[tendon.name] = element, transmission
        return name

    def _add_items(self, element: Element, name: str, path: Path) -> None:
        for item in path.items:
            if isinstance(item, Place):
                add(element, "site", site=self._site(name, item))
            elif isinstance(item, Pulley):
                add(element, "pulley", divisor=number(item.divisor))
            elif isinstance(item, Around):
                size = [item.radius] if item.shape == "sphere" else [item.radius, max(item.radius, 1e-3)]
                shape = {"type": item.shape, "size": vector(size), "group": WRAPPED}
                made = add(element, "geom", geom=self.geom(f"{name}_around", item.place.body, item.place.pose, shape))
                if item.side is not None:
                    made.set("sidesite", self._site(name, item.side))

    def _site(self, name: str, place: Place) -> str:
        if id(place) not in self._sites:
            self._sites[id(place)] = self.site(f"{name}_place", place.body, place.pose)
        return self._sites[id(place)]

    def _add_actuator(self, a: Actuator) -> None:
        found = self._transmission(a)
        if found is None:
            self.unsupported.remark(f"actuator '{a.name}' is left out: it acts along axes of two kinds")
            return
        self.order.append(a.name)
        element = add(self.actuators, "general", name=self.name("actuator", a.name, "actuator"), **found)
        for key, kind in (("dyn", a.dynamics), ("gain", a.gain), ("bias", a.bias)):
            element.set(f"{key}type", kind)
        for key, values in (
            ("dynprm", a.dynamics_parameters),
            ("gainprm", a.gain_parameters),
            ("biasprm", a.bias_parameters),
        ):
            if len(values):
                element.set(key, vector(values))
        for key, bounds in (
            ("ctrlrange", a.control_range),
            ("actrange", a.activation_range),
            ("forcerange", a.force_range),
        ):
            if np.isfinite(bounds).any():
                element.set(key, _bounds(bounds))
        if any(a.length_range):
            element.set("lengthrange", vector(a.length_range))
        if a.early:
            element.set("actearly", "true")
        if not a.active:
            self.unsupported.remark(f"actuator '{a.name}': that it is switched off is left out")

    def _transmission(self, a: Actuator) -> dict[str, str] | None:
        """Attributes of what it acts along; None: MJCF has no such."""
        t: Any = a.transmission
        if isinstance(t, Tendon):
            return {"tendon": t.name, "gear": number(a.gear)}
        if isinstance(t, Linear) and len(t.terms) == 1:
            ((dof, factor),) = t.terms
            return {"joint": self.names[dof], "gear": number(factor * a.gear)}
        if isinstance(t, Linear | Path):
            return {
                "tendon": self._add_tendon(f"{a.name}_tendon", Tendon(f"{a.name}_tendon", t)),
                "gear": number(a.gear),
            }
        gear = vector(a.gear * np.asarray(t.gear))
        if isinstance(t, Ball):
            return {"jointinparent" if t.in_parent else "joint": self.names[t.joint], "gear": gear}
        return self._wrench(a.name, t, gear)

    def _wrench(self, name: str, t: Wrench, gear: str) -> dict[str, str] | None:
        axes, body = (t.force_axes, t.torque_axes), t.place.body
        if t.reference is not None and axes == ("reference", "reference"):
            return {"site": self._site(name, t.place), "refsite": self._site(name, t.reference), "gear": gear}
        if t.reference is None and axes == ("place", "place"):
            return {"site": self._site(name, t.place), "gear": gear}
        free = body is not None and body.parent_joint.kind == JointKind.FREE and np.array_equal(t.place.pose, np.eye(4))
        if body is None or not free or t.reference is not None or axes[0] != "world":
            return None
        joint = self.names[body.parent_joint]
        return {"jointinparent" if axes[1] == "world" else "joint": joint, "gear": gear}


def _bounds(bounds: tuple[float, float]) -> str:
    return vector(np.clip(bounds, -MOST, MOST))
