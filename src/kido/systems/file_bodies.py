"""Bodies in files of assemblies::

    wheel:
      parent: post                      # a body of the file or of the skeleton; by default what the assembly hangs on
      joint: {type: revolute, axis: [0, 1, 0], damping: 0.01}    # a class of joints without "Joint", its arguments
      xyz: [0.3, 0.0, -0.1]             # place and turn of the joint in the body that it hangs on [m, rad]
      rpy: [0.0, 0.0, 0.0]              # about its fixed x, then y, then z axis, as in URDF
      mass: 2.0                         # of the first shape as a solid; or with com [m] and moment [kg m^2] (3 or 3x3)
      shapes:
        - {type: cylinder, radius: 0.12, height: 0.1, rpy: [1.5708, 0, 0], color: [0.2, 0.2, 0.2], friction: 0.8}

Without a joint it is welded; without a mass it has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kido.errors import ModelError
from kido.math.transform import as_vector
from kido.shapes.primitives import PRIMITIVES
from kido.skeleton import BodyNode, Inertia, Skeleton
from kido.skeleton.joints.types import JOINT_TYPES

_KEYS = ("joint", "xyz", "rpy", "mass", "com", "moment", "shapes")
_JOINTS = {name.removesuffix("Joint").lower(): kind for name, kind in JOINT_TYPES.items()}
_NODE = ("color", "friction", "restitution", "visual", "collision", "name")


def add_body(skeleton: Skeleton, name: str, parent: BodyNode | None, values: Mapping[str, Any]) -> BodyNode:
    """Add a body as it is described.

    Args:
        skeleton: that it is added to.
        name: of the body, and of its joint.
        parent: that it hangs on; None: the world.
        values: by key, see the module.

    Raises:
        ModelError: an unknown key, joint or shape, a mass without a solid or a moment, and whatever joints, shapes and
            bodies refuse; the skeleton is as it was.
    """
    what = f"body {name!r}"
    unknown = [key for key in values if key not in _KEYS]
    if unknown:
        raise ModelError(f"{what}: unknown key {unknown[0]!r}; expected parent, {', '.join(_KEYS)}")
    joint_type, options = _kind(values.get("joint", {"type": "weld"}), _JOINTS, f"{what}: joint")
    joint = joint_type(name, transform_from_parent=_pose(values, f"{what}: joint"), **options)
    made = [_shape(given, f"{what}: shape {k}") for k, given in enumerate(values.get("shapes", ()))]
    body = skeleton.add_body(name, joint, parent, _inertia(values, made, what))
    try:
        for shape, X, node in made:
            body.add_shape(shape, X, **node)
    except BaseException:
        body.remove()
        raise
    return body


def _kind(given: Any, kinds: Mapping[str, Any], what: str) -> tuple[Any, dict[str, Any]]:
    """A class by its name, and its arguments."""
    if not isinstance(given, dict) or "type" not in given:
        raise ModelError(f"{what}: expected names with values, one of them type, got {given!r:.100}")
    rest = {key: value for key, value in given.items() if key != "type"}
    if given["type"] not in kinds:
        raise ModelError(f"{what}: no type {given['type']!r}; there are {', '.join(kinds)}")
    return kinds[given["type"]], rest


def _pose(values: Mapping[str, Any], what: str) -> np.ndarray:
    """Of xyz and rpy, 4x4."""
    X = np.eye(4)
    X[:3, 3] = as_vector(values.get("xyz", (0.0, 0.0, 0.0)), f"{what}: xyz")
    X[:3, :3] = Rotation.from_euler("xyz", as_vector(values.get("rpy", (0.0, 0.0, 0.0)), f"{what}: rpy")).as_matrix()
    return X


def _shape(given: Any, what: str) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """A shape, its pose in the body, and options of its node."""
    kind, options = _kind(given, PRIMITIVES, what)
    X = _pose({key: options.pop(key) for key in ("xyz", "rpy") if key in options}, what)
    node = {key: options.pop(key) for key in _NODE if key in options}
    return kind(**options), X, node


def _inertia(values: Mapping[str, Any], made: list[Any], what: str) -> Inertia | None:
    if "mass" not in values:
        left = [key for key in ("com", "moment") if key in values]
        if left:
            raise ModelError(f"{what}: {left[0]} without a mass")
        return None
    if "moment" in values:
        moment, com = values["moment"], values.get("com", (0.0, 0.0, 0.0))
        diagonal = isinstance(moment, list) and len(moment) == 3 and not isinstance(moment[0], list)
        return Inertia.from_diagonal(values["mass"], moment, com) if diagonal else Inertia(values["mass"], com, moment)
    if not made or "com" in values:
        raise ModelError(f"{what}: a mass: expected shapes, the first of which is the solid, or com and moment")
    shape, X, _ = made[0]
    return Inertia.from_shape(shape, values["mass"], transform=X)
