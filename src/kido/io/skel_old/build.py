"""What a SKEL file with braces describes to a skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from kido.errors import NameLookupError
from kido.io.bones import AXES, chain_of_hinges, translation, turn, warn_of_massless
from kido.io.fields import located
from kido.io.skel_old.parse import Description, NodeSpec, PrimitiveSpec, Transform
from kido.io.text import Place
from kido.math.transform import inverse_transform
from kido.shapes import Box, Ellipsoid
from kido.skeleton import BallJoint, BodyNode, FreeJoint, Hinge, Inertia, Joint, Marker, Skeleton

__all__ = ["build_skeleton"]

MAX_HINGES = 6  # of one joint
DEFAULT_MASS = 1.0  # [kg] of a primitive that names none


def build_skeleton(description: Description, stem: str, start: np.ndarray) -> Skeleton:
    """A skeleton whose roots are turned by `start`; `stem` is its name, and stands before those of its parts."""
    skeleton = Skeleton(stem)
    builder = _Builder(description, skeleton)
    bodies: list[BodyNode] = []
    for node in description.nodes:
        above = None if node.parent is None else bodies[node.parent]
        with located(node.place):
            bodies.append(builder.add(node, above, start if above is None else np.eye(4)))
    by_name = {node.name: body for node, body in zip(description.nodes, bodies, strict=True)}
    for name, place, point, owner in description.handles:
        with located(place):
            if owner not in by_name:
                raise NameLookupError("node", owner, list(by_name))
            by_name[owner].create_node(Marker, builder.name(name), point)
    warn_of_massless(skeleton)
    return skeleton


class _Builder:
    """Adds nodes to a skeleton."""

    def __init__(self, description: Description, skeleton: Skeleton) -> None:
        self.description = description
        self.skeleton = skeleton
        self.used: dict[str, Place] = {}

    def name(self, name: str) -> str:
        """A name with the file's before it."""
        return f"{self.skeleton.name}_{name}"

    def value(self, name: str) -> float:
        """What a name in ``dofs`` stands for."""
        return float(self._dof(name)[0])

    def _dof(self, name: str) -> np.ndarray:
        if name not in self.description.dofs:
            raise NameLookupError("name in dofs", name, list(self.description.dofs))
        return self.description.dofs[name]

    def add(self, node: NodeSpec, above: BodyNode | None, start: np.ndarray) -> BodyNode:
        """Add the body of a node; of a chain that is more than one joint, massless ones before it."""
        name = self.name(node.name)
        inertia = self._inertia(node.primitive)
        joints = self._joints(node, start)
        for k, joint in enumerate(joints[:-1]):
            above = self.skeleton.add_body(f"{name}_{k + 1}", joint, above)
        body = self.skeleton.add_body(name, joints[-1], above, inertia)
        if node.primitive is not None:
            self._add_shape(body, node.primitive)
        return body

    # -- joints --------------------------------------------------------------------------------------------

    def _joints(self, node: NodeSpec, start: np.ndarray) -> list[Joint]:
        groups = _grouped(node.transforms)
        joints = []
        for k, group in enumerate(groups):
            last = k == len(groups) - 1
            name = f"Joint-{self.name(node.name)}" + ("" if last else f"_{k + 1}")
            joints.append(self._joint(name, group, start if k == 0 else np.eye(4)))
        return joints

    def _joint(self, name: str, group: Sequence[Transform], start: np.ndarray) -> Joint:
        """One joint of some transforms, of which only one is a rotation vector or a quaternion, if any is."""
        names = [dof for transform in group if transform.kind != "telescope" for dof in transform.names]
        for transform in group:
            for dof in transform.names if transform.kind != "telescope" else ():
                if dof in self.used:
                    raise transform.place.error(f"the coordinate '{dof}' moves in line {self.used[dof].line} already")
                self.used[dof] = transform.place
        options: dict[str, Any] = {"transform_from_parent": start}
        turns = [k for k, transform in enumerate(group) if transform.kind in ("rotate_expmap", "rotate_quat")]
        if not turns:
            limits = np.array([self._dof(dof) for dof in names]).reshape(-1, 3)
            if names:
                values, lower, upper = limits.T
                options |= {"initial_position": values, "position_lower_limit": lower, "position_upper_limit": upper}
            parts = [part for transform in group for part in self._parts(transform)]
            return chain_of_hinges(name, parts, [self.name(dof) for dof in names], **options)
        rotation = group[turns[0]]
        values = np.array([self.value(dof) for dof in rotation.names])
        if rotation.kind == "rotate_quat":
            values = _vector_of_quaternion(values)
        slide = group[turns[0] - 1] if turns[0] and group[turns[0] - 1].kind == "translate" else None
        before = [self._constant(t) for t in group[: turns[0]] if t is not slide]
        after = [self._constant(t) for t in group[turns[0] + 1 :]]
        options["transform_from_parent"] = np.linalg.multi_dot([start, np.eye(4), *before])
        options["transform_from_child"] = inverse_transform(np.linalg.multi_dot([np.eye(4), np.eye(4), *after]))
        dof_names = [self.name(dof) for dof in rotation.names[:3]]
        if slide is None:
            return BallJoint(name, dof_names=dof_names, initial_position=values, **options)
        dof_names += [self.name(dof) for dof in slide.names]
        place = np.array([self.value(dof) for dof in slide.names])
        return FreeJoint(name, dof_names=dof_names, initial_position=np.concatenate([values, place]), **options)

    def _parts(self, transform: Transform) -> list[Hinge | np.ndarray]:
        if transform.kind == "translate":
            return [Hinge.prismatic(axis) for axis in AXES.values()]
        if transform.kind == "rotate_euler":
            return [Hinge.revolute(transform.vector)]
        return [self._constant(transform)]

    def _constant(self, transform: Transform) -> np.ndarray:
        assert transform.vector is not None
        if transform.kind == "telescope":
            return translation(self.value(transform.names[0]) * transform.vector)
        return turn(transform.angle * transform.vector)

    # -- masses and shapes ---------------------------------------------------------------------------------

    def _inertia(self, spec: PrimitiveSpec | None) -> Inertia:
        if spec is None:
            return Inertia(0.0)
        with located(spec.place):
            if spec.mass is None:
                self.skeleton.warnings.append(f"{spec.place.what} names no mass; it has {DEFAULT_MASS:g} kg")
                mass = DEFAULT_MASS
            elif spec.mass in self.description.masses:
                mass = self.description.masses[spec.mass]
            else:
                raise NameLookupError("name in mass", spec.mass, list(self.description.masses))
            scale = self.value(spec.scale)
            with np.errstate(over="ignore", invalid="ignore"):  # what is no number is refused
                xx, yy, zz = mass * (scale * spec.size) ** 2 / (12.0 if spec.box else 20.0)
                return Inertia.from_diagonal(mass, (yy + zz, xx + zz, xx + yy), scale * spec.center)

    def _add_shape(self, body: BodyNode, spec: PrimitiveSpec) -> None:
        with located(spec.place):
            scale = self.value(spec.scale)
            size = np.abs(scale * spec.size)
            if not (size > 0.0).all():
                self.skeleton.warnings.append(f"{spec.place.what} has the size {size.tolist()} m; it is no shape")
                return
            shape = Box(tuple(size)) if spec.box else Ellipsoid(tuple(0.5 * size))
            color = None if spec.color is None else tuple(np.clip(spec.color, 0.0, 1.0).tolist())
            body.add_shape(shape, translation(scale * spec.center), color=color)


def _grouped(transforms: Sequence[Transform]) -> list[list[Transform]]:
    """Transforms in runs that one joint can be: hinges, at most six, or one rotation vector with the translation right
    before it; constants go with what is before them."""
    groups: list[list[Transform]] = [[]]
    hinges, turns = 0, 0
    for k, transform in enumerate(transforms):
        following = transforms[k + 1].kind if k + 1 < len(transforms) else ""
        free = transform.kind == "translate" and following in ("rotate_expmap", "rotate_quat")
        turn = transform.kind in ("rotate_expmap", "rotate_quat")
        count = {"translate": 3, "rotate_euler": 1}.get(transform.kind, 0)
        joined = turn and bool(groups[-1]) and groups[-1][-1].kind == "translate"
        new = (turn and not joined and hinges + turns > 0) or (count and (turns > 0 or hinges + count > MAX_HINGES))
        if new or (free and hinges + turns > 0):
            groups.append([])
            hinges, turns = 0, 0
        groups[-1].append(transform)
        hinges, turns = hinges + count, turns + turn
    return groups


def _vector_of_quaternion(values: np.ndarray) -> np.ndarray:
    """Rotation vector of a quaternion x, y, z, w; zero if it is."""
    if not values.any():
        return np.zeros(3)
    return scipy.spatial.transform.Rotation.from_quat(values / np.abs(values).max()).as_rotvec()
