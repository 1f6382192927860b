"""Geoms of a compiled model as shapes of bodies; sites and cameras as nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import KidoError
from kido.io.fields import free_name
from kido.io.mjcf.margins import paddings_of
from kido.io.mjcf.remarks import LeftOut
from kido.io.mjcf.trees import NO_PARENT_FILTER, NO_SAFE_REFERENCE, Trees, pose
from kido.rendering import CameraNode, Pinhole
from kido.rendering.camera import FLIP
from kido.shapes import Box, Capsule, Cylinder, Ellipsoid, Heightmap, Mesh, Plane, Shape, Sphere
from kido.skeleton import EndEffector, ShapeNode, Surface, TimeConstant

__all__ = ["ShapeReader", "softness_of"]

Array = NDArray[np.float64]
PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)  # mjtGeom
PRIMITIVES: dict[int, Callable[[Any], Shape]] = {
    PLANE: lambda size: Plane(),
    SPHERE: lambda size: Sphere(size[0]),
    CAPSULE: lambda size: Capsule(size[0], 2.0 * size[1]),
    ELLIPSOID: lambda size: Ellipsoid((size[0], size[1], size[2])),
    CYLINDER: lambda size: Cylinder(size[0], 2.0 * size[1]),
    BOX: lambda size: Box((2.0 * size[0], 2.0 * size[1], 2.0 * size[2])),
}
HIDDEN_GROUP = 3  # geoms of this group and those above are not seen in MuJoCo unless one asks
# With impedance d, a lone contact of MuJoCo obeys a = (1 - d) a_0 - v 2 / T - r / (T zeta)^2.
SUNK = "springs swing as solref says, and weights sink in 1 / (1 - impedance) times as deep"
DEFAULT_RGBA = np.array([0.5, 0.5, 0.5, 1.0], np.float32)
DEFAULT_SOLREF, DEFAULT_SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)
MAX_BITS = 62  # classes of shapes that collide alike, a bit each
ROLE_RGB = 1  # mjTEXROLE_RGB


def softness_of(solref: Any, least: float = 0.0) -> TimeConstant | None:
    """What `solref` says: a time constant and a damping ratio, or if negative a stiffness and a damping per mass.

    Args:
        least: time constants below are brought there [s], as MuJoCo does it with two time steps.
    """
    first, second = float(solref[0]), float(solref[1])
    if first > 0.0 and second > 0.0:
        return TimeConstant(max(first, least), second)
    if first < 0.0 and second < 0.0:
        time = 2.0 / -second
        return TimeConstant(time, 1.0 / (time * np.sqrt(-first)))
    return None


class ShapeReader:
    """Puts shapes on bodies.

    Args:
        trees: the bodies.
        visuals, collisions: which shapes are wanted.
        springs: contacts are as soft as `solref` says.

    Attributes:
        nodes: shape of each geom that became one, by its number.
        least_time: time constants of `solref` below are brought there [s].
    """

    def __init__(self, trees: Trees, left_out: LeftOut, *, visuals: bool, collisions: bool, springs: bool):
        self.model, self.trees, self.left_out = trees.model, trees, left_out
        self.visuals, self.collisions, self.springs = visuals, collisions, springs
        self.nodes: dict[int, ShapeNode] = {}
        self._meshes: dict[int, Mesh] = {}
        self._heightmaps: dict[int, Heightmap] = {}
        self.least_time = 2.0 * float(self.model.opt.timestep) if trees.switched(NO_SAFE_REFERENCE) else 0.0
        self._bits = self._collision_bits()
        self._paddings = paddings_of(self.model, left_out) if collisions else np.zeros(int(self.model.ngeom))

    def add_geoms(self) -> None:
        """Add the geoms."""
        for g in range(int(self.model.ngeom)):
            self._add(g)

    def _add(self, g: int) -> None:
        m = self.model
        collides = self.collisions and g in self._bits
        color = self._color(g)
        seen = self.visuals and int(m.geom_group[g]) < HIDDEN_GROUP and color[3] > 0.0
        if not (collides or seen):
            return
        name, kind = m.geom(g).name, int(m.geom_type[g])
        try:
            shape = self._shape(g, kind)
        except KidoError as error:
            self.left_out.add(f"geoms whose shape cannot be are left out: {error}", f"geom {name}")
            return
        body = self.trees.bodies[int(m.geom_bodyid[g])]
        options: dict[str, Any] = {}
        if collides:
            category, mask = self._bits[g]
            options = {"collision_category": category, "collision_mask": mask, "surface": self._surface(g)}
        self.nodes[g] = body.add_shape(
            shape,
            pose(m.geom_pos[g], m.geom_quat[g]),
            name=free_name(name, {node.name for node in body.shapes}),
            visual=seen,
            collision=collides,
            color=color,
            **options,
        )

    def _shape(self, g: int, kind: int) -> Shape:
        m = self.model
        if kind in PRIMITIVES:
            return PRIMITIVES[kind](np.asarray(m.geom_size[g], float))
        data = int(m.geom_dataid[g])
        if kind == HFIELD:
            return self._heightmap(data)
        if kind == SDF:
            self.left_out.add("signed distance fields collide as the hull of their mesh", f"geom {m.geom(g).name}")
        return self._mesh(data)

    def _mesh(self, k: int) -> Mesh:
        if k not in self._meshes:
            m = self.model
            corners = slice(int(m.mesh_vertadr[k]), int(m.mesh_vertadr[k] + m.mesh_vertnum[k]))
            faces = slice(int(m.mesh_faceadr[k]), int(m.mesh_faceadr[k] + m.mesh_facenum[k]))
            self._meshes[k] = Mesh(np.asarray(m.mesh_vert[corners], float), np.asarray(m.mesh_face[faces]))
        return self._meshes[k]

    def _heightmap(self, k: int) -> Heightmap:
        if k not in self._heightmaps:
            m = self.model
            rows, columns, at = int(m.hfield_nrow[k]), int(m.hfield_ncol[k]), int(m.hfield_adr[k])
            half_x, half_y, top, _ = m.hfield_size[k]
            heights = float(top) * np.asarray(m.hfield_data[at : at + rows * columns], float).reshape(rows, columns)
            spacing = (2.0 * half_x / (columns - 1), 2.0 * half_y / (rows - 1))
            self._heightmaps[k] = Heightmap(heights, spacing)
        return self._heightmaps[k]

    # -- what they look like -------------------------------------------------------------------------------

    def _color(self, g: int) -> tuple[float, ...]:
        """A geom's colour: its own, or that of its material, with the mean of its texture."""
        m = self.model
        rgba, material = np.array(m.geom_rgba[g]), int(m.geom_matid[g])
        if material >= 0 and np.array_equal(rgba, DEFAULT_RGBA):
            rgba = np.array(m.mat_rgba[material])
        if material >= 0:
            texture = int(np.atleast_1d(m.mat_texid[material])[ROLE_RGB])
            if texture >= 0:
                self.left_out.add("textures are their mean colours", f"geom {m.geom(g).name}")
                rgba[:3] *= self._mean_color(texture)
        return tuple(np.clip(rgba.astype(float), 0.0, 1.0).tolist())

    def _mean_color(self, k: int) -> Array:
        m = self.model
        channels, at = int(m.tex_nchannel[k]), int(m.tex_adr[k])
        size = int(m.tex_height[k]) * int(m.tex_width[k]) * channels
        pixels = np.asarray(m.tex_data[at : at + size]).reshape(-1, channels)[:, :3]
        return np.broadcast_to(pixels.mean(axis=0) / 255.0, (3,))

    # -- how they touch ------------------------------------------------------------------------------------

    def _surface(self, g: int) -> Surface:
        m = self.model
        name, dimensions = f"geom {m.geom(g).name}", int(m.geom_condim[g])
        slide, spin, roll = (float(value) for value in m.geom_friction[g])
        solref, solimp = m.geom_solref[g], m.geom_solimp[g]
        softness = softness_of(solref, self.least_time) if self.springs else None
        if self.springs and softness is None:
            self.left_out.add("solref that is no spring with a damper: the contact is rigid", name)
        if not self.springs and not np.allclose(solref, DEFAULT_SOLREF):
            self.left_out.add("solref is left out: contacts are rigid", name)
        if not np.allclose(solimp, DEFAULT_SOLIMP):
            self.left_out.add("solimp is left out: " + (SUNK if self.springs else "contacts are rigid"), name)
        if np.any(m.geom_adhesion[g]):
            self.left_out.add("adhesion of geoms is left out", name)
        motion: dict[str, Any] = {}
        if np.any(m.geom_surfacevel[g]):
            motion = self._motion(np.asarray(m.geom_surfacevel[g], float), name)
        return Surface(
            friction=slide if dimensions >= 3 else 0.0,
            torsional_friction=spin if dimensions >= 4 else 0.0,
            rolling_friction=roll if dimensions >= 6 else 0.0,
            friction_rule="max",
            priority=int(m.geom_priority[g]),
            padding=float(self._paddings[g]),
            softness=softness,
            **motion,
        )

    def _motion(self, velocity: Array, name: str) -> dict[str, Any]:
        """A moving surface: linear velocity first, then what turns."""
        if len(velocity) == 6:
            return {"surface_velocity": tuple(velocity[:3]), "surface_spin": tuple(velocity[3:])}
        self.left_out.add("moving surfaces are left out", name)
        return {}

    def _collision_bits(self) -> dict[int, tuple[int, int]]:
        """Category and mask of each geom that collides.

        Two geoms collide if the `contype` of either has a bit of the other's `conaffinity`, unless their bodies only
        do so in pairs, or if they are a pair. Geoms that do so alike are of one class, which has a bit of its own.
        """
        m = self.model
        pairs: dict[int, set[int]] = {}
        for a, b in zip(m.pair_geom1.tolist(), m.pair_geom2.tolist(), strict=True):
            pairs.setdefault(a, set()).add(b)
            pairs.setdefault(b, set()).add(a)
        apart = self._bodies_that_touch_in_pairs()
        alone = {b for two in apart for b in two}
        keys: dict[int, tuple[Any, ...]] = {}
        for g in range(int(m.ngeom)):
            kind, affinity, body = int(m.geom_contype[g]), int(m.geom_conaffinity[g]), int(m.geom_bodyid[g])
            if kind or affinity or g in pairs:
                keys[g] = (kind, affinity, tuple(sorted(pairs.get(g, ()))), body if body in alone else -1)
        classes = list(dict.fromkeys(keys.values()))
        if len(classes) > MAX_BITS:
            self.left_out.add(f"more than {MAX_BITS} classes of geoms by contype, conaffinity and pairs: the others "
                              "collide with all", f"{len(classes)} classes")  # fmt: skip
        bit = {key: 1 << min(k, MAX_BITS) for k, key in enumerate(classes)}
        masks = dict.fromkeys(classes, 0)
        for key in classes:
            for other in classes:
                if _meet(key, other) and frozenset((key[3], other[3])) not in apart:
                    masks[key] |= bit[other]
        for a, others in pairs.items():
            for b in others:
                masks[keys[a]] |= bit[keys[b]]
        return {g: (bit[key], masks[key]) for g, key in keys.items()}

    def _bodies_that_touch_in_pairs(self) -> set[frozenset[int]]:
        """Bodies with a pair of geoms, of which no others touch: a file excludes them, or a joint connects them."""
        m = self.model
        excluded = {frozenset((k >> 16, k & 0xFFFF)) for k in m.exclude_signature.tolist()}
        found: set[frozenset[int]] = set()
        for a, b in zip(m.geom_bodyid[m.pair_geom1].tolist(), m.geom_bodyid[m.pair_geom2].tolist(), strict=True):
            welds = int(m.body_weldid[a]), int(m.body_weldid[b])
            above = [int(m.body_weldid[m.body_parentid[w]]) for w in welds]
            joined = all(welds) and (welds[0] == above[1] or welds[1] == above[0])
            if frozenset((a, b)) in excluded or (joined and self.trees.switched(NO_PARENT_FILTER)):
                found.add(frozenset((a, b)))
        return found

    # -- sites and cameras ---------------------------------------------------------------------------------

    def add_sites(self) -> None:
        """Sites become end effectors of the same names, cameras `kido.rendering.CameraNode`."""
        m = self.model
        for s in range(int(m.nsite)):
            body = self.trees.bodies[int(m.site_bodyid[s])]
            body.create_node(EndEffector, self._node_name(body, m.site(s).name), pose(m.site_pos[s], m.site_quat[s]))
        for c in range(int(m.ncam)):
            body, name = self.trees.bodies[int(m.cam_bodyid[c])], m.camera(c).name
            if int(m.cam_mode[c]):
                self.left_out.add("cameras that track or look at bodies are fixed", f"camera {name}")
            width, height = (int(k) for k in m.cam_resolution[c])
            lens = Pinhole(*((width, height) if width > 1 else (640, 480)), fov=np.radians(float(m.cam_fovy[c])))
            body.create_node(CameraNode, self._node_name(body, name), lens, pose(m.cam_pos[c], m.cam_quat[c]) @ FLIP)
        for k in range(int(m.nlight)):
            self.left_out.add("lights are left out: scenes have their own", f"light {m.light(k).name}")

    def _node_name(self, body: Any, name: str) -> str:
        return free_name(name, {node.name for node in body.skeleton.nodes()})


def _meet(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return bool(a[0] & b[1] or b[0] & a[1])
