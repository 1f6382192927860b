"""Elements <visual> and <collision>: geometry to shapes, colours, surfaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import FileFormatError, ShapeError
from kido.io.fields import direction, read_rgba
from kido.io.images import read_png
from kido.io.resources import ResourceFinder
from kido.io.sdf.fields import note_unknown
from kido.io.shapes import MeshReader, primitive_types, read_primitive
from kido.io.surfaces import PATCH, coefficient, first_direction, given, make_surface, softness_of, two
from kido.io.xml import Node
from kido.shapes import Heightmap, Mesh, Plane, Shape

__all__ = ["ShapeReader", "read_color", "read_surface", "shape_offset"]

_TYPES = primitive_types("sdf")
NOT_SUPPORTED = ("polyline", "image")
HEIGHTMAP_CHILDREN = ("uri", "size", "pos")


class ShapeReader(MeshReader):
    """Makes shapes of <geometry>; None for those that are left out."""

    def read(self, node: Node, finder: ResourceFinder, visuals: list[Node]) -> Shape | None:
        """Shape of a <visual> or <collision>; `visuals` are those of the link of a <collision>."""
        geometry = node.require("geometry")
        kinds = geometry.children()
        if len(kinds) != 1:
            reason = f"<geometry> of {node.describe()} holds {len(kinds)} shapes; expected one"
            if not kinds:
                raise geometry.error(reason)
            geometry.forgive(reason, "the first is taken")
        kind = kinds[0]
        if kind.tag == "empty":
            return None
        if kind.tag in NOT_SUPPORTED:
            kind.remark(f"<{kind.tag}> of {node.describe()} is left out: not supported")
            return None
        if kind.tag == "mesh":
            return self._mesh(kind, finder, node.tag == "visual", visuals)
        if kind.tag == "heightmap":
            return self._heightmap(kind, node, finder)
        if kind.tag != "plane" and kind.tag not in _TYPES:
            known = ", ".join((*_TYPES, "plane", "mesh", "heightmap", "empty", *NOT_SUPPORTED))
            raise kind.error(f"unknown shape <{kind.tag}> in {node.describe()}; expected one of {known}")
        if kind.tag == "plane":
            return _plane(kind)
        return read_primitive(kind, _TYPES[kind.tag], "sdf", kind.child_number, lambda name: kind.child_vector(name, 3))

    def _mesh(self, node: Node, finder: ResourceFinder, visual: bool, visuals: list[Node]) -> Mesh | None:
        factors = node.child("scale")
        scale = np.ones(3) if factors is None else factors.text_vector(3, surplus=True)
        part = node.child("submesh")
        options: dict[str, Any] = {}
        if part is not None:
            options = {"submesh": part.require("name").text, "center": part.child_boolean("center", False)}
        meshes = [mesh for other in visuals for mesh in other.require("geometry").children("mesh")]
        same = [mesh for mesh in meshes if mesh.child_text("scale", "1 1 1") == node.child_text("scale", "1 1 1")]
        seen = [mesh.child_text("uri", "") for mesh in same]
        return self.mesh(node, node.require("uri").text, scale, finder, visual=visual, seen=seen, **options)

    def _heightmap(self, node: Node, owner: Node, finder: ResourceFinder) -> Heightmap | None:
        """Grey values from 0 to 1 times the height of <size>, the image's top row at high y, as Gazebo has them."""
        note_unknown(node, HEIGHTMAP_CHILDREN, owner.describe())
        uri = node.child_text("uri", "")
        if not uri:
            node.remark(f"<heightmap> of {owner.describe()} is left out: it names no image")
            return None
        size = node.child_vector("size", 3, (1.0, 1.0, 1.0))
        if size[0] <= 0.0 or size[1] <= 0.0:
            raise node.error(
                f"<size> of <heightmap> '{uri}' is {size.tolist()}; expected positive lengths along x and y"
            )
        path = self.find(node, uri, finder, "<heightmap>", visual=owner.tag == "visual")
        if path is None:
            return None
        if path.suffix.lower() != ".png":
            node.remark(f"<heightmap> '{uri}' is left out: only PNG images are read")
            return None
        try:
            grey = read_png(path)[::-1]
            spacing = (size[0] / max(grey.shape[1] - 1, 1), size[1] / max(grey.shape[0] - 1, 1))
            heights = size[2] * grey if size[2] >= 0.0 else size[2] * (grey - 1.0)
            return Heightmap(heights, spacing)
        except FileFormatError as error:
            raise node.error(f"image {error.path}: {error.reason}") from None
        except ShapeError as error:
            raise node.error(str(error)) from None


def shape_offset(node: Node) -> np.ndarray:
    """Where the shape of a <visual> or <collision> stands in its frame (3,): <pos> of a <heightmap>, else zero."""
    heightmap = node.require("geometry").child("heightmap")
    return np.zeros(3) if heightmap is None else heightmap.child_vector("pos", 3, (0.0, 0.0, 0.0))


def read_color(visual: Node) -> tuple[float, ...] | None:
    """RGBA of a <visual>: the diffuse colour, or the ambient one where that alone is given."""
    material = visual.child("material")
    if material is None:
        return None
    node = material.child("diffuse") or material.child("ambient")
    if node is None:
        if material.child("script") is not None:
            visual.remarks.once(f"{visual.path}: materials by <script> are left out: their colours are in other files")
        return None
    *rgb, alpha = read_rgba(node, node.text_vector((3, 4)))
    return (*rgb, float(np.clip(alpha * (1.0 - visual.child_number("transparency", 0.0)), 0.0, 1.0)))


def read_surface(collision: Node) -> dict[str, Any]:
    """Contact properties and bits of a <collision>, as options of a shape; nothing if none are given."""
    surface = collision.child("surface")
    if surface is None:
        return {}
    owner = collision.describe()
    note_unknown(surface, ("friction", "bounce", "contact"), owner)
    values: dict[str, Any] = {}
    friction = surface.child("friction")
    if friction is not None:
        note_unknown(friction, ("ode", "bullet", "torsional"), owner)
        values |= _read_friction(friction, owner)
    bounce = surface.child("bounce")
    if bounce is not None:
        note_unknown(bounce, ("restitution_coefficient",), owner)
        if bounce.child("restitution_coefficient") is not None:
            value = bounce.child_number("restitution_coefficient")
            if not 0.0 <= value <= 1.0:
                raise bounce.error(f"<restitution_coefficient> is {value:g}; expected a number from 0 to 1")
            values["restitution"] = value
    contact = surface.child("contact")
    if contact is not None:
        values |= _read_contact(contact, owner)
    return {**make_surface(surface, values), **_read_bitmask(contact)}


def _read_bitmask(contact: Node | None) -> dict[str, int]:
    """<collide_bitmask>: two shapes collide if they have a bit in common."""
    node = None if contact is None else contact.child("collide_bitmask")
    if node is None:
        return {}
    try:
        bits = int(node.text, 0)
    except ValueError:
        bits = -1
    if not 0 <= bits < 1 << 16:
        raise node.error(f"<collide_bitmask> is {node.text!r}; expected a number of 16 bits")
    return {"collision_category": bits, "collision_mask": bits}


def _read_friction(friction: Node, owner: str) -> dict[str, Any]:
    """Coulomb friction from <ode>, else from <bullet>; torsional friction."""
    values: dict[str, Any] = {}
    torsional = friction.child("torsional")
    if torsional is not None:
        values |= _read_torsional(torsional, owner)
    for tag, first, second in (("ode", "mu", "mu2"), ("bullet", "friction", "friction2")):
        node = friction.child(tag)
        if node is None:
            continue
        rolling = coefficient(node, "rolling_friction") if tag == "bullet" else None
        if rolling is not None:
            values.setdefault("rolling_friction", rolling)
        slips = coefficient(node, "slip1"), coefficient(node, "slip2")
        if "slip" not in values:  # slip1 without slip2 is no slip across
            values |= two(slips[0], 0.0 if slips[1] is None and slips[0] else slips[1], "slip", "secondary_slip")
        if "friction" in values or node.child(first) is None:
            continue
        value = coefficient(node, first)
        values |= two(value, coefficient(node, second), "friction", "secondary_friction")
        direction = node.child("fdir1")
        if direction is not None:
            for name in ("gz:expressed_in", "ignition:expressed_in"):
                if direction.attribute(name, ""):
                    direction.remark(f"{owner}: <fdir1> is taken in the collision's own frame, not in another")
            values |= given(first_friction_direction=first_direction(node))
        note_unknown(node, (first, second, "fdir1", "slip1", "slip2", "rolling_friction"), owner)
    return values


def _read_torsional(node: Node, owner: str) -> dict[str, float]:
    """Torsional friction of a round patch: 3 pi / 16 times its radius and the coefficient [m]."""
    note_unknown(node, ("coefficient", "use_patch_radius", "patch_radius"), owner)
    mu = coefficient(node, "coefficient")
    if not node.child_boolean("use_patch_radius", True):
        node.remark(f"{owner}: torsional friction by the radius of the surface is left out")
        return {}
    radius = coefficient(node, "patch_radius") or 0.0
    value = PATCH * radius * (1.0 if mu is None else mu)
    return {"torsional_friction": value} if value > 0.0 else {}


def _read_contact(contact: Node, owner: str) -> dict[str, Any]:
    """Softness and position correction from <ode>, else from <bullet>."""
    note_unknown(contact, ("ode", "bullet", "collide_bitmask"), owner)
    node = contact.child("ode")
    if node is None:
        node = contact.child("bullet")
    if node is None:
        return {}
    known = ("kp", "kd", "soft_erp", "soft_cfm", "max_vel", "min_depth")
    note_unknown(node, known, owner)
    kp, kd, erp, cfm, speed, depth = (coefficient(node, tag) for tag in known)
    return given(softness=softness_of(kp, kd, erp, cfm), max_correction_speed=speed, slop=depth or None)


def _plane(node: Node) -> Plane:
    normal = node.child("normal")
    if normal is None:
        return Plane()
    x, y, z = direction(normal, normal.text_vector(3))
    return Plane((float(x), float(y), float(z)))
