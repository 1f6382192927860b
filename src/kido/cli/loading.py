"""Models by path or name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kido.errors import KidoError
from kido.io import load, load_skeleton
from kido.io.files import find, format_of_file
from kido.simulation import World
from kido.skeleton import BodyNode, Skeleton, WeldJoint


def load_model(
    name: str, base: str = "auto", package_dirs: Sequence[str] = (), visuals: bool = True
) -> Skeleton | World:
    """Read a model; see `kido simulate --help` for `base`. Without `visuals`, what is only drawn is left out.

    Raises:
        KidoError: it cannot be read, or `package_dirs` names no folder.
    """
    for folder in package_dirs:
        if not Path(folder).is_dir():
            raise KidoError(f"--package-dir {folder}: no such directory")
    path = find(name)
    known = format_of_file(path).options
    options: dict[str, Any] = {"visuals": visuals} if "visuals" in known else {}
    if package_dirs and "package_dirs" in known:
        options["package_dirs"] = tuple(package_dirs)
    if "base" not in known:  # files that say themselves how a base is held
        model: Any = load(path, **options)
        return model if isinstance(model, Skeleton | World) else load_skeleton(path, **options)
    if base == "auto":
        try:
            bones = load(path, visuals=False, collisions=False)
        except KidoError:
            bones = None  # what is wrong is said below, by the reader of the whole
        if isinstance(bones, Skeleton):
            base = "free" if stands_on_limbs(bones) else "fixed"
    return load_skeleton(path, **options) if base == "auto" else load_skeleton(path, base=base, **options)


def stands_on_limbs(skeleton: Skeleton) -> bool:
    """Whether a model fixed by its root looks like one that stands, walks or lies about.

    So it is if the root has mass and carries nothing or at least two limbs. An arm has one limb; a root
    without mass stands for the world.
    """
    roots = skeleton.root_bodies
    if len(roots) != 1 or not isinstance(roots[0].parent_joint, WeldJoint):
        return False
    trunk = welded(roots[0])
    mass = sum(body.mass for body in trunk)
    limbs = [b for t in trunk for b in t.children if b not in trunk and carried_mass(b) > 0.02 * skeleton.mass]
    return mass > 0.0 and (not limbs or len(limbs) >= 2)


def welded(body: BodyNode) -> list[BodyNode]:
    """A body and all that are welded to it from there on."""
    found = [body]
    for other in found:
        found.extend(c for c in other.children if isinstance(c.parent_joint, WeldJoint))
    return found


def carried_mass(body: BodyNode) -> float:
    """Mass of a body and of all that hangs on it [kg]."""
    return body.mass + sum(carried_mass(child) for child in body.children)


def set_positions(skeletons: Sequence[Skeleton], settings: Sequence[str]) -> None:
    """Apply JOINT=VALUE settings, all of them or none.

    Raises:
        KidoError: not of that form, no such joint, or not a finite number.
    """
    positions = {skeleton: skeleton.positions.copy() for skeleton in skeletons}
    for setting in settings:
        name, sign, text = setting.partition("=")
        if not sign or not name or not text:
            raise KidoError(f"--set {setting}: expected JOINT=VALUE, such as --set elbow=0.5")
        skeleton, start, stop = _coordinates(skeletons, name, setting)
        positions[skeleton][start:stop] = _numbers(text, stop - start, setting)
    for skeleton, values in positions.items():
        if skeleton.num_dofs:
            skeleton.positions = values


def _coordinates(skeletons: Sequence[Skeleton], name: str, setting: str) -> tuple[Skeleton, int, int]:
    found: list[tuple[Skeleton, int, int]] = []
    known: list[str] = []
    for skeleton in skeletons:
        index = 0
        for joint in skeleton.joints:
            stop = index + joint.num_dofs
            spans = {joint.name: (index, stop)} if joint.num_dofs else {}
            spans |= {dof.name: (index + k, index + k + 1) for k, dof in enumerate(joint.dofs)}
            for label, span in spans.items():
                known.append(label)
                if name in (label, f"{skeleton.name}/{label}"):
                    found.append((skeleton, *span))
            index = stop
    if not found:
        unique = list(dict.fromkeys(known))
        near = difflib.get_close_matches(name, unique, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise KidoError(f"--set {setting}: no joint {name!r}{hint}; expected one of: {', '.join(unique) or 'none'}")
    if len({id(item[0]) for item in found}) > 1:
        choices = ", ".join(f"{item[0].name}/{name}" for item in found)
        raise KidoError(f"--set {setting}: several models have a joint {name!r}; write one of: {choices}")
    return found[0]


def _numbers(text: str, count: int, setting: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise KidoError(f"--set {setting}: {text!r} is not a number") from None
    if not np.isfinite(values).all():
        raise KidoError(f"--set {setting}: expected a finite number, got {text}")
    if len(values) != count:
        raise KidoError(f"--set {setting}: expected {count} number{'s' if count > 1 else ''}, got {len(values)}")
    return values
