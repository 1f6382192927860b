"""Soft bodies in SKEL files."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.io.writers.text import add, number, vector, xyz_angles
from kido.io.xml import Element
from kido.skeleton import SoftBodyNode

__all__ = ["add_soft_shape", "is_known"]


def is_known(body: SoftBodyNode) -> bool:
    """Whether SKEL has the skin's shape and its masses, which are equal."""
    masses = body.point_masses
    return body.skin.mesh.built is not None and bool((masses == masses[0]).all())


def add_soft_shape(element: Element, body: SoftBodyNode) -> None:
    """Add the ``<soft_shape>`` of a soft body to its ``<body>``."""
    skin: Any = body.skin
    X = skin.relative_transform
    soft = add(element, "soft_shape")
    add(soft, "total_mass", number(body.total_mass))
    add(soft, "transformation", f"{vector(X[:3, 3])} {vector(xyz_angles(X[:3, :3]))}")
    geometry = add(soft, "geometry")
    kind, *sizes = skin.shape.built
    shape = add(geometry, kind)
    if kind == "box":
        add(shape, "size", vector(sizes[0]))
        add(shape, "frags", " ".join(str(n) for n in sizes[1]))
    elif kind == "ellipsoid":
        add(shape, "size", vector(2.0 * np.array(sizes[0])))
        add(shape, "num_slices", str(sizes[1]))
        add(shape, "num_stacks", str(sizes[2]))
    else:
        names = ("radius", "height", "num_slices", "num_stacks", "num_rings")
        for name, value in zip(names, sizes, strict=True):
            add(shape, name, number(value) if isinstance(value, float) else str(value))
    for name, value in (("kv", body.kv), ("ke", body.ke), ("damp", body.kd)):
        add(soft, name, number(value))
