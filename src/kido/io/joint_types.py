"""Joint types by their names in a file format, as the types declare them."""

from __future__ import annotations

from kido.joints import JointKind
from kido.skeleton import JOINT_TYPES, Joint

__all__ = ["joint_types", "names_of_kinds", "num_axes"]


def joint_types(file_format: str) -> dict[str, type[Joint]]:
    """Types by all the names that a format ("urdf", "sdf", "skel") has for them."""
    return {name: kind for kind in JOINT_TYPES.values() for name in kind.formats.get(file_format, ())}


def names_of_kinds(file_format: str) -> dict[JointKind, str]:
    """The name by which a format's files are written, of each kind of joint that the format has."""
    return {kind.kind: kind.formats[file_format][0] for kind in JOINT_TYPES.values() if file_format in kind.formats}


def num_axes(kind: type[Joint]) -> int:
    """Axes of a type that has one for each of its coordinates; 0 of others."""
    axes = len(kind.axis_properties())
    return axes if axes == len(kind.dof_suffixes) else 0
