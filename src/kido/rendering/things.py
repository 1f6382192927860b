"""What a model looks like: each shape as solids and triangles with colours, as arrays that images are drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from kido.collision.primitives import PRIMITIVE_NAMES
from kido.errors import KidoError
from kido.rendering import palette
from kido.rendering.geometry import MeshKey, Part, shape_parts, split_creases
from kido.rendering.model import is_mobile, nice_cell
from kido.rendering.structs import PLANE, SCENE, SKIN, TRIANGLES
from kido.shapes import Capsule, Plane
from kido.skeleton import Skin, SoftBodyNode


@dataclass(frozen=True)
class Instance:
    """A part drawn with a body: ``body`` indexes the pose arrays (-1: it stays in the world), ``color`` is RGB bytes.

    `shape` is its number in segmentation images, -1 for scenery that is only seen.
    """

    body: int
    part: Part
    color: tuple[int, int, int]
    opacity: float = 1.0
    shape: int = -1
    casts: bool = True


def solid_parts(shape: Any, transform: np.ndarray, cell: float) -> list[Part]:
    """Parts of a shape as `shape_parts` has them, but for capsules, which are one, and planes, which have a grid."""
    if isinstance(shape, Capsule):
        return [Part(("capsule",), (shape.radius, shape.radius, shape.height), transform)]
    if isinstance(shape, Plane):
        return [plane_part(transform[:3, :3] @ shape.normal, transform @ [*shape.centroid, 1.0], cell)]
    return shape_parts(shape, transform)


def plane_part(normal: np.ndarray, point: np.ndarray, cell: float = 0.0) -> Part:
    """A plane through a point (3,) with a unit normal (3,), with a grid of square cells if these have an edge [m]."""
    place = np.eye(4)
    side = np.eye(3)[np.argmin(np.abs(normal))]
    x = np.cross(side, normal) if abs(normal[2]) < 0.9 else np.array([1.0, 0.0, 0.0]) - normal * normal[0]
    x /= np.linalg.norm(x)
    place[:3, :3] = np.column_stack([x, np.cross(normal, x), normal])
    place[:3, 3] = point[:3]
    return Part(("plane",), (cell, 0.0, 0.0), place)


def node_colors(bodies: list[Any]) -> list[tuple[int, Any, tuple[int, int, int], float]]:
    """Body index, shape node, colour (RGB bytes) and opacity of all shapes: their own, or one for each body."""
    found, count = [], 0
    for index, body in enumerate(bodies):
        mobile = is_mobile(body.skeleton)
        color = palette.body_color(count) if mobile else palette.SCENERY
        count += bool(mobile and body.shapes)
        for node in body.shapes:
            given = node.color if node.color is not None else getattr(node.shape, "color", None)
            own = palette.GROUND if isinstance(node.shape, Plane) else color
            found.append((index, node, *(palette.rgba(given) if given is not None else (own, 1.0))))
    return found


def linear(color: Any) -> np.ndarray:
    """Linear light 0..1 of bytes of sRGB."""
    c = np.asarray(color, dtype=float) / 255.0
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def code_table(size: int = 8192) -> np.ndarray:
    """Bytes of sRGB for `size` steps of linear light from 0 to 1."""
    c = np.linspace(0.0, 1.0, size)
    c = np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1 / 2.4) - 0.055)
    return np.round(255.0 * c).astype(np.uint8)


def code_of(light: Any) -> np.ndarray:
    """Bytes of sRGB of linear light 0..1."""
    table = code_table()
    return table[np.round(np.asarray(light) * (len(table) - 1)).astype(int)]


@lru_cache(maxsize=256)
def corners_of(key: MeshKey) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, faces, normals and linear colours (negative: none) of a mesh, smooth but at creases."""
    mesh = key.mesh
    vertices, faces, source = split_creases(np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64))
    p = vertices[faces]
    weighted = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    normal = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(normal, faces[:, k], weighted)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    tint = np.full_like(vertices, -1.0)
    if mesh.vertex_colors is not None:
        tint = linear(255.0 * np.clip(np.asarray(mesh.vertex_colors)[source, :3], 0.0, 1.0))
    return vertices, faces, normal, tint


def halved(image: np.ndarray) -> list[np.ndarray]:
    """An image (h, w, 3) of bytes of sRGB, and smaller ones down to one pixel, each pixel the mean light of four."""
    found, light = [image], linear(image)
    while light.shape[0] > 1 or light.shape[1] > 1:
        for axis in (0, 1):
            n = light.shape[axis]
            if n > 1:
                even = np.take(light, range(0, n - n % 2, 2), axis), np.take(light, range(1, n, 2), axis)
                light = 0.5 * (even[0] + even[1])
        found.append(code_of(light))
    return found


def _cover(s: SCENE, meshes: list[tuple[Any, int]], textures: list[list[np.ndarray]]) -> None:
    """Write the textures of meshes, each with its first face, into the arrays."""
    s.covered[:] = -1
    s.light_of[:] = linear(np.arange(256))
    done = images = pixels = 0
    for (mesh, first_face), own in zip(meshes, textures, strict=True):
        faces = np.flatnonzero(mesh.texture_of_face >= 0)
        rows = slice(done, done + len(faces))
        s.covered[first_face + faces] = np.arange(len(s.image))[rows]
        s.corner[rows] = mesh.texture_coordinates[faces].reshape(-1, 6)
        s.image[rows] = images + mesh.texture_of_face[faces]
        done += len(faces)
        for image, all_sizes in zip(mesh.textures, own, strict=True):
            s.size_of[images] = pixels, image.shape[1], image.shape[0]
            flat = all_sizes.astype(np.int64)
            s.pixel[pixels : pixels + len(flat)] = flat[:, 0] << 16 | flat[:, 1] << 8 | flat[:, 2]
            images, pixels = images + 1, pixels + len(flat)


@lru_cache(maxsize=64)
def _pixels(key: MeshKey) -> list[np.ndarray]:
    """Of each image of a mesh the pixels (n, 3) of all its sizes, one after another."""
    return [np.concatenate([part.reshape(-1, 3) for part in halved(image)]) for image in key.mesh.textures]


def _solid(part: Part) -> tuple[int, tuple[float, float, float], float]:
    """Kind, sizes and bounding radius of a part that is no mesh."""
    kind, (x, y, z) = part.key[0], part.scale
    if kind == "plane":
        return PLANE, (x, 0.0, 0.0), 0.0
    if kind == "sphere":
        kind = "sphere" if x == y == z else "ellipsoid"
        return 1 + PRIMITIVE_NAMES.index(kind), (x, y, z), max(x, y, z)
    if kind == "box":
        return 1 + PRIMITIVE_NAMES.index(kind), (0.5 * x, 0.5 * y, 0.5 * z), 0.5 * float(np.linalg.norm(part.scale))
    if kind in PRIMITIVE_NAMES:
        radius = x + 0.5 * z if kind == "capsule" else float(np.hypot(x, 0.5 * z))
        return 1 + PRIMITIVE_NAMES.index(kind), (x, 0.5 * z, 0.0), radius
    raise KidoError(f"Images have no solid of the kind {kind!r}.")


@dataclass(frozen=True)
class Scene:
    """What images are drawn from; work spaces have room for `points` corners of triangles."""

    arrays: SCENE
    points: int
    up: np.ndarray


def scene_of(instances: list[Instance], skins: list[Instance], up: np.ndarray, fade: float) -> Scene:
    """The scene of what is drawn.

    Args:
        instances: what is drawn.
        skins: soft skins; each one's part is its mesh at rest, and its points follow each other in this order.
        up: world axes (3,).
        fade: distance at which the ground begins to look as the horizon does [m].
    """
    meshes: dict[MeshKey, tuple[int, int, int, int]] = {}
    arrays: list[tuple[np.ndarray, ...]] = []
    vertices_done = faces_done = points = skin_points = 0
    rows = []
    for instance in [*instances, *skins]:
        part, soft = instance.part, len(rows) >= len(instances)
        size, where, of_faces = (0.0, 0.0, 0.0), (0, 0, 0), (0, 0)
        if part.key[0] == "mesh":
            key = part.key[1]
            vertices = np.asarray(key.mesh.vertices) if soft else corners_of(key)[0]
            if soft or key not in meshes:
                faces = np.asarray(key.mesh.faces) if soft else corners_of(key)[1]
                empty = np.zeros((0, 3))
                arrays.append((faces, empty, empty, empty) if soft else (faces, vertices, *corners_of(key)[2:]))
                found = (vertices_done, len(vertices), faces_done, faces_done + len(faces))
                faces_done += len(faces)
                if soft:
                    found = (skin_points, *found[1:])
                    skin_points += len(vertices)
                else:
                    meshes[key] = found
                    vertices_done += len(vertices)
            else:
                found = meshes[key]
            kind, radius = SKIN if soft else TRIANGLES, float(np.linalg.norm(vertices, axis=1).max())
            where, of_faces = (found[0], found[1], points), found[2:]
            points += found[1]
        else:
            kind, size, radius = _solid(part)
        rows.append((instance, kind, size, radius, where, of_faces))
    faces, vertex, normal, tint = (np.concatenate([np.zeros((0, 3)), *(a[k] for a in arrays)]) for k in range(4))
    textured = [(key, found[2]) for key, found in meshes.items() if key.mesh.textures is not None]
    textures = [_pixels(key) for key, _ in textured]
    s = SCENE(
        things=len(rows),
        all_faces=len(faces),
        all_vertices=len(vertex),
        textured=sum(int((key.mesh.texture_of_face >= 0).sum()) for key, _ in textured),
        images=sum(len(own) for own in textures),
        pixels=sum(len(pixels) for own in textures for pixels in own),
    )
    _cover(s, [(key.mesh, first) for key, first in textured], textures)
    s.face[:], s.vertex[:], s.normal[:], s.tint[:] = faces, vertex, normal, tint
    s.fade = fade
    for i, (instance, kind, size, radius, where, of_faces) in enumerate(rows):
        s.kind[i], s.size[i], s.radius[i], s.vertices[i], s.faces[i] = kind, size, radius, where, of_faces
        s.body[i], s.shape[i] = instance.body, instance.shape
        s.scenery += int(instance.shape < 0)
        s.place[i] = instance.part.transform[:3].reshape(12)
        s.color[i] = *linear(instance.color), instance.opacity
        s.casts[i] = int(instance.casts and kind != PLANE and instance.opacity >= 1.0)
        s.transparent += int(instance.opacity < 1.0)
    return Scene(s, points, np.asarray(up, dtype=float))


def extent_of(bodies: list[Any]) -> float:
    """Size of what moves, or of all if nothing does, where it is now [m]."""
    moving = [body for body in bodies if is_mobile(body.skeleton)] or bodies
    nodes = [n for body in moving for n in body.shapes if np.isfinite(n.shape.bounding_radius)]
    if not nodes:
        return 1.0
    middle = np.array([np.asarray(n.world_transform)[:3, 3] for n in nodes])
    reach = np.array([n.shape.bounding_radius for n in nodes])[:, None]
    span = (middle + reach).max(axis=0) - (middle - reach).min(axis=0)
    return max(float(np.linalg.norm(span)) / np.sqrt(3.0), 1e-3)


def instances_of(
    bodies: list[Any], deforms: Callable[[Any], bool] = lambda node: False
) -> tuple[list[Instance], list[Instance], list[Any]]:
    """What is drawn of bodies: solids and triangles, those that deform, and the shape nodes by their numbers.

    Skins deform, and other nodes of which `deforms` says so.

    Visual shapes are drawn; of a model without any, those that collide.
    """
    colors = node_colors(bodies)
    any_visual = any(node.visual for _, node, *_ in colors)
    cell = nice_cell(extent_of(bodies))
    solids, skins, nodes = [], [], []
    moving = any(is_mobile(body.skeleton) for body in bodies)
    for index, node, rgb, opacity in colors:
        if not (node.visual or (not any_visual and node.collision)):
            continue
        casts = is_mobile(bodies[index].skeleton) or not moving
        if isinstance(node, Skin) or deforms(node):
            mesh = node.mesh if isinstance(node, Skin) else node.shape
            part = Part(("mesh", MeshKey(mesh)), (1.0, 1.0, 1.0), np.eye(4))
            skins.append(Instance(index, part, rgb, opacity, len(nodes), casts))
        else:
            parts = solid_parts(node.shape, np.asarray(node.relative_transform), cell)
            solids += [Instance(index, part, rgb, opacity, len(nodes), casts) for part in parts]
        nodes.append(node)
    return solids, skins, nodes


def skin_points(node: Skin) -> np.ndarray:
    """Where the points (n, 3) of a skin are now, body axes [m]."""
    body = node.body
    assert isinstance(body, SoftBodyNode)
    return np.asarray(body.rest_positions) + body.displacements
