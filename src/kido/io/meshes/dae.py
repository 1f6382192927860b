"""COLLADA files (.dae): all triangles of the scene, with node transforms, unit and material colours.

About the up axis: COLLADA says that a file's ``<up_axis>`` names the direction that points up. Robot
descriptions do not mean it: exporters write a default (Y_UP) while the coordinates are those of the link,
and the tools the files were made for (RViz, Gazebo, DART, Pinocchio) leave the coordinates as they are.
Barrett's WAM shows it: its ``wam1.dae`` says Y_UP, and its raw coordinates equal those of ``wam1.STL`` to
1e-6 m. So ``up_axis="ignore"`` is the default and ``up_axis="apply"`` turns the mesh so that the file's up
becomes Z.

A broken or missing material costs the colour, never the geometry; broken geometry is an error.

Source: COLLADA 1.4.1 specification (Khronos, 2008).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kido.errors import FileFormatError
from kido.io.meshes.triangles import Color, MeshData, Part, join_parts
from kido.io.xml import Element, Node, parse

__all__ = ["UP_AXIS_CHOICES", "material_color", "read_dae"]

SHADERS = ("phong", "lambert", "blinn", "constant")


def material_color(ids: Mapping[str, Element], material: str) -> Color | None:
    """Diffuse RGBA of a material (of a constant shader: emission); None for textures and broken materials."""
    element = ids.get(material)
    instance = element.find("{*}instance_effect") if element is not None else None
    effect = ids.get(instance.get("url", "").lstrip("#")) if instance is not None else None
    technique = effect.find("{*}profile_COMMON/{*}technique") if effect is not None else None
    if technique is None:
        return None
    for name in SHADERS:
        shader = technique.find(f"{{*}}{name}")
        if shader is not None:
            which = "emission" if name == "constant" else "diffuse"
            return _color(shader.find(f"{{*}}{which}/{{*}}color"))
    return None


def _color(element: Element | None) -> Color | None:
    if element is None:
        return None
    try:
        values = [min(1.0, max(0.0, float(word))) for word in (element.text or "").split()]
    except ValueError:
        return None
    if len(values) not in (3, 4) or any(value != value for value in values):
        return None
    return (values[0], values[1], values[2], values[3] if len(values) == 4 else 1.0)


UP_AXIS_CHOICES = ("ignore", "apply")
MAX_MESH_BYTES = 512 * 1024 * 1024
MAX_TRIANGLES = 10_000_000  # counted as often as they are placed
COUNT = re.compile("[0-9]{1,15}")
MAX_NODE_DEPTH = 200  # of nodes in nodes
MAX_NODES = 100_000  # counted as often as they are placed

# Rotations that turn the file's up direction into +Z (up_axis: the right, up and inward axes).
TO_Z_UP = {
    "X_UP": np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
    "Y_UP": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "Z_UP": np.eye(3),
}
_PLACING = ("instance_node", "instance_geometry", "instance_controller")  # what makes a node's transform matter
_PRIMITIVES = ("triangles", "polylist", "polygons", "tristrips", "trifans")


@np.errstate(all="ignore")  # what is not finite is refused with the mesh
def read_dae(path: str, up_axis: str = "ignore", submesh: str | None = None) -> MeshData:
    """Triangles of a COLLADA file's scene in metres, or of its geometries of one name or id.

    Raises FileFormatError if it is not COLLADA, if geometry in it is broken, or if it has no such part.
    """
    names: dict[str, None] = {}
    document = _Document(parse(path, max_bytes=MAX_MESH_BYTES), path)
    unit, up = document.unit_and_up()
    turn = unit * (TO_Z_UP[up] if up_axis == "apply" else np.eye(3))
    parts = []
    count = 0
    for placed in document.placed_geometries():
        own = (placed.geometry.get("name") or "", placed.geometry.get("id") or "")
        names[own[0] or own[1]] = None
        if submesh is not None and submesh not in own:
            continue
        rotation, translation = placed.matrix[:3, :3], placed.matrix[:3, 3]
        mirrored = np.linalg.det(rotation) < 0.0
        for positions, faces, symbol in document.primitives(placed.geometry):
            count += len(faces)
            if count > MAX_TRIANGLES:
                raise document.error(placed.geometry, f"its scene has more than {MAX_TRIANGLES:,} triangles; refused")
            color = material_color(document.ids, placed.materials.get(symbol, symbol))
            vertices = (positions @ rotation.T + translation) @ turn.T
            parts.append(Part(vertices, faces[:, ::-1] if mirrored else faces, color))
    if submesh is not None and not parts:
        raise FileFormatError(path, None, f"no part '{submesh}'; expected one of {', '.join(names) or '(none)'}")
    return join_parts(parts, document.remarks)


@dataclass(frozen=True)
class _Placed:
    """A geometry in the scene: its element, its 4x4 place, material ids by the symbols of its primitives."""

    geometry: Element
    matrix: np.ndarray
    materials: dict[str, str]


class _Document:
    def __init__(self, root: Node, path: str) -> None:
        if root.tag != "COLLADA":
            raise root.error(f"the root element is <{root.tag}>; expected <COLLADA>")
        self.root = root
        self.path = path
        self.remarks: list[str] = []
        self.placed = 0
        self.ids: dict[str, Element] = {}
        for element in root.element.iter():
            name = element.get("id")
            if name is not None:
                self.ids.setdefault(name, element)

    def error(self, element: Element, reason: str) -> FileFormatError:
        return FileFormatError(self.path, element.sourceline, reason)

    def target(self, element: Element, attribute: str, tag: str) -> Element:
        """The element that an attribute ``#id`` names."""
        url = element.get(attribute, "")
        found = self.ids.get(url[1:]) if url.startswith("#") else None
        if found is None or _tag(found) != tag:
            raise self.error(
                element, f"<{_tag(element)}> names {attribute}='{url}'; no <{tag}> in this file has that id"
            )
        return found

    def unit_and_up(self) -> tuple[float, str]:
        """Metres per unit and the up axis."""
        asset = self.root.child("asset")
        unit = asset.child("unit") if asset is not None else None
        meter = unit.number("meter", 1.0) if unit is not None else 1.0
        if meter <= 0.0:
            raise self.root.error(f"the unit is {meter} metres; expected a positive number")
        up = (asset.child_text("up_axis", "Y_UP") if asset is not None else "Y_UP") or "Y_UP"
        if up not in TO_Z_UP:
            raise self.root.error(f"up_axis is '{up}'; expected one of {', '.join(TO_Z_UP)}")
        return meter, up

    # -- scene ---------------------------------------------------------------------------------------------

    def placed_geometries(self) -> Iterator[_Placed]:
        instance = self.root.element.find("{*}scene/{*}instance_visual_scene")
        if instance is not None:
            scene = self.target(instance, "url", "visual_scene")
        else:
            scene = self.root.element.find("{*}library_visual_scenes/{*}visual_scene")
        if scene is None:
            for geometry in self.root.element.iterfind("{*}library_geometries/{*}geometry"):
                yield _Placed(geometry, np.eye(4), {})
            return
        for node in scene.iterfind("{*}node"):
            yield from self._node(node, np.eye(4), ())

    def _node(self, node: Element, parent: np.ndarray, above: tuple[Element, ...]) -> Iterator[_Placed]:
        if node in above:
            raise self.error(node, f"the node '{node.get('id')}' contains itself")
        self.placed += 1
        if len(above) > MAX_NODE_DEPTH or self.placed > MAX_NODES:
            most = (
                f"nested more than {MAX_NODE_DEPTH} deep"
                if len(above) > MAX_NODE_DEPTH
                else f"placed more than {MAX_NODES} times"
            )
            raise self.error(node, f"nodes are {most}")
        matrix = parent
        for child in node if any(_tag(item) in _PLACING for item in node.iter()) else ():
            matrix = matrix @ self._transform(child)
        for child in node:
            tag = _tag(child)
            if tag == "node":
                yield from self._node(child, matrix, (*above, node))
            elif tag == "instance_node":
                yield from self._node(self.target(child, "url", "node"), matrix, (*above, node))
            elif tag == "instance_geometry":
                yield _Placed(self.target(child, "url", "geometry"), matrix, _bound_materials(child))
            elif tag == "instance_controller":
                skin = self.target(child, "url", "controller").find("{*}skin")
                if skin is None:
                    self.remarks.append(f"{self.path}:{child.sourceline}: a controller without skin is left out")
                    continue
                bind = skin.find("{*}bind_shape_matrix")
                shape = np.eye(4) if bind is None else self._floats(bind, 16).reshape(4, 4)
                geometry = self.target(skin, "source", "geometry")
                yield _Placed(geometry, matrix @ shape, _bound_materials(child))

    def _transform(self, element: Element) -> np.ndarray:
        tag = _tag(element)
        matrix = np.eye(4)
        if tag == "matrix":
            matrix = self._floats(element, 16).reshape(4, 4)
        elif tag == "translate":
            matrix[:3, 3] = self._floats(element, 3)
        elif tag == "scale":
            matrix[:3, :3] = np.diag(self._floats(element, 3))
        elif tag == "rotate":
            values = self._floats(element, 4)
            matrix[:3, :3] = _rotation(values[:3], np.radians(values[3]))
        elif tag in ("lookat", "skew"):
            raise self.error(element, f"the node transform <{tag}> is not supported")
        return matrix

    # -- geometry ------------------------------------------------------------------------------------------

    def primitives(self, geometry: Element) -> Iterator[tuple[np.ndarray, np.ndarray, str]]:
        """Positions (n, 3), faces (m, 3) and material symbol of each primitive."""
        mesh = geometry.find("{*}mesh")
        if mesh is None:
            self.remarks.append(f"{self.path}:{geometry.sourceline}: geometry that is not a mesh is left out")
            return
        for element in mesh:
            if _tag(element) not in _PRIMITIVES:
                continue
            vertex = next((i for i in element.iterfind("{*}input") if i.get("semantic") == "VERTEX"), None)
            if vertex is None:
                raise self.error(element, f"<{_tag(element)}> has no VERTEX input")
            offsets = [self._integer(i, "offset") for i in element.iterfind("{*}input")]
            faces = self._faces(element, self._integer(vertex, "offset"), max(offsets) + 1)
            if not len(faces):
                continue
            positions = self._positions(vertex)
            if faces.min() < 0 or faces.max() >= len(positions):
                raise self.error(
                    element,
                    f"<{_tag(element)}> names vertices {faces.min()} to {faces.max()} of {len(positions)}",
                )
            yield positions, faces, element.get("material", "")

    def _positions(self, vertex: Element) -> np.ndarray:
        vertices = self.target(vertex, "source", "vertices")
        position = next((i for i in vertices.iterfind("{*}input") if i.get("semantic") == "POSITION"), None)
        if position is None:
            raise self.error(vertices, "<vertices> has no POSITION input")
        source = self.target(position, "source", "source")
        accessor = source.find("{*}technique_common/{*}accessor")
        array = source.find("{*}float_array")
        if accessor is None or array is None:
            raise self.error(source, "the <source> of positions has no <accessor> or no <float_array>")
        values = self._floats(array)
        count, stride = self._integer(accessor, "count"), self._integer(accessor, "stride")
        offset = self._integer(accessor, "offset")
        if stride < 3 or count < 0 or len(values) < offset + count * stride:
            raise self.error(
                source, f"{len(values)} numbers; the accessor needs {count} times {stride} from {offset} on"
            )
        return values[offset : offset + count * stride].reshape(count, stride)[:, :3]

    def _faces(self, element: Element, offset: int, inputs: int) -> np.ndarray:
        tag = _tag(element)
        lists = [self._corners(p, offset, inputs) for p in element.iter("{*}p")]
        if tag == "polylist":
            counts = element.find("{*}vcount")
            if counts is None or not lists:
                return np.zeros((0, 3), dtype=np.int64)
            return self._fans(element, lists[0], self._integers(counts))
        if tag == "polygons":
            if element.find("{*}ph") is not None:
                self.remarks.append(f"{self.path}:{element.sourceline}: holes of polygons are filled")
            counts = np.array([len(corners) for corners in lists], dtype=np.int64)
            return self._fans(element, np.concatenate([*lists, np.zeros(0, dtype=np.int64)]), counts)
        found = [np.zeros((0, 3), dtype=np.int64)]
        for corners in lists:
            if tag == "triangles":
                if len(corners) % 3:
                    raise self.error(element, f"<triangles> has {len(corners)} corners, not a multiple of 3")
                found.append(corners.reshape(-1, 3))
            elif len(corners) < 3:
                continue
            elif tag == "trifans":
                found.append(np.stack([np.full(len(corners[2:]), corners[0]), corners[1:-1], corners[2:]], axis=1))
            else:
                strip = np.stack([corners[:-2], corners[1:-1], corners[2:]], axis=1)
                strip[1::2] = strip[1::2, ::-1]
                found.append(strip)
        return np.concatenate(found)

    def _fans(self, element: Element, corners: np.ndarray, counts: np.ndarray) -> np.ndarray:
        if len(counts) and (counts.min() < 0 or counts.max() > len(corners) or counts.sum() > len(corners)):
            raise self.error(element, f"<vcount> and <p> do not match: {len(corners)} corners in <p>")
        starts = np.cumsum(counts) - counts
        found = [np.zeros((0, 3), dtype=np.int64)]
        for n in np.unique(counts):
            polygons = corners[starts[counts == n][:, None] + np.arange(n)]
            found.extend(polygons[:, [0, k, k + 1]] for k in range(1, n - 1))
        return np.concatenate(found)

    def _corners(self, element: Element, offset: int, inputs: int) -> np.ndarray:
        values = self._integers(element)
        if len(values) % inputs:
            raise self.error(element, f"{len(values)} indices, not a multiple of the {inputs} inputs")
        return values.reshape(-1, inputs)[:, offset]

    # -- numbers -------------------------------------------------------------------------------------------

    def _floats(self, element: Element, count: int | None = None) -> np.ndarray:
        values = self._numbers(element, float)
        if count is not None and len(values) != count:
            raise self.error(element, f"<{_tag(element)}> holds {len(values)} numbers; expected {count}")
        if not np.isfinite(values).all():
            raise self.error(element, f"<{_tag(element)}> holds numbers that are not finite")
        return values

    def _integers(self, element: Element) -> np.ndarray:
        return self._numbers(element, np.int64)

    def _numbers(self, element: Element, kind: type) -> np.ndarray:
        text = element.text or ""
        if not text.strip():
            return np.zeros(0, dtype=kind)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return np.fromstring(text, dtype=kind, sep=" ")
        except (ValueError, DeprecationWarning):
            raise self.error(element, f"<{_tag(element)}> holds something that is not a number") from None

    def _integer(self, element: Element, attribute: str) -> int:
        text = element.get(attribute, "1" if attribute == "stride" else "0")
        if not COUNT.fullmatch(text.strip()):
            raise self.error(element, f"{attribute}='{text}' of <{_tag(element)}> is not a count")
        return int(text)


def _tag(element: Element) -> str:
    return str(element.tag).rsplit("}", 1)[-1]


def _bound_materials(instance: Element) -> dict[str, str]:
    bound = instance.iterfind("{*}bind_material/{*}technique_common/{*}instance_material")
    return {item.get("symbol", ""): item.get("target", "").lstrip("#") for item in bound}


def _rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    largest = float(np.abs(axis).max())
    if largest == 0.0:
        return np.eye(3)
    axis = axis / largest  # whose squares are numbers
    x, y, z = axis / np.linalg.norm(axis)
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * (k @ k)
