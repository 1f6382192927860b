"""Parameters of a world by name, as directions in which the numbers of its compiled side change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kido.constraints.surfaces import NO_ROWS
from kido.errors import ModelError, NameLookupError
from kido.flexible import flexible_bodies
from kido.kernels.free_lanes import COM_AT, INERTIA_AT, INVERSE_AT, INVERSE_MASS_AT, NOT_FREE
from kido.skeleton import BodyNode, DegreeOfFreedom, FreeJoint, ShapeNode

OF_DOFS = {
    "damping": "damping",
    "armature": "armature",
    "spring_stiffness": "stiffness",
    "rest_position": "rest",
    "coulomb_friction": "coulomb",
    "position_gain": "position_gain",
    "velocity_gain": "velocity_gain",
}
OF_SHAPES = {"friction": "shape_friction", "restitution": "shape_restitution"}
NAMES = ("gravity", "mass", *OF_SHAPES, *OF_DOFS)
_SYMMETRIC = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


class Change(NamedTuple):
    """How numbers of a struct (a path from WORLD) change along a direction."""

    path: str
    field: str
    index: tuple[int, ...] | int
    rate: float


def _symmetric(values: Any) -> np.ndarray:
    made = np.zeros((3, 3))
    for value, (i, j) in zip(values, _SYMMETRIC, strict=True):
        made[i, j] = made[j, i] = value
    return made


def _of_mass(engine: Any, body: BodyNode) -> list[Change]:
    """Of a mass at the centre of mass of a body, per kilogram."""
    t, link = engine.tree, engine.link_index(body)
    offset = engine.links[body.skeleton].offset[body.index]
    c = offset[:3, :3] @ body.inertia.com + offset[:3, 3]
    m, com = float(t.mass[link]), np.array(t.com[link])
    moved, about_origin = (c - com) / m, c @ c * np.eye(3) - np.outer(c, c)
    found = [Change("tree", "mass", link, 1.0)]
    found += [Change("tree", "com", (link, j), moved[j]) for j in range(3)]
    found += [Change("tree", "inertia", (link, k), about_origin[ij]) for k, ij in enumerate(_SYMMETRIC)]
    r = engine.responses.container
    if r.free[link] != NOT_FREE:
        number, away = r.number[link], c - com
        about_centre = away @ away * np.eye(3) - np.outer(away, away)
        inverse = _symmetric(number[INVERSE_AT : INVERSE_AT + 6])
        of_inverse = -inverse @ about_centre @ inverse
        where = "row_origins.responses"
        found.append(Change(where, "number", (link, INVERSE_MASS_AT), -1.0 / m**2))
        found += [Change(where, "number", (link, COM_AT + j), moved[j]) for j in range(3)]
        for k, ij in enumerate(_SYMMETRIC):
            found.append(Change(where, "number", (link, INERTIA_AT + k), about_centre[ij]))
            found.append(Change(where, "number", (link, INVERSE_AT + k), of_inverse[ij]))
    return found


def _things(world: Any, name: str) -> tuple[type, list[Any]]:
    skeletons = world.skeletons
    if name == "mass":
        flexible = {f.body for s in skeletons for f in flexible_bodies(s)}  # theirs is that of their modes
        mobile = [b for s in skeletons if s.mobile for b in s.bodies]
        return BodyNode, [b for b in mobile if b.inertia.mass > 0.0 and b not in flexible]
    if name in OF_DOFS:
        return DegreeOfFreedom, [dof for s in skeletons if s.mobile for dof in s.dofs]
    return ShapeNode, list(world.engine.nodes)


def _check_in_force(world: Any, name: str, dofs: list[DegreeOfFreedom]) -> None:
    """Refuse properties of coordinates that their steps do not look at while they are zero.

    Raises:
        ModelError: names the first.
    """
    field = getattr(world.engine.tree, OF_DOFS[name])
    for dof in dofs:
        k = world.engine.dofs_of(dof.joint.child.skeleton).start + dof.index
        free = isinstance(dof.joint, FreeJoint)
        if (
            name != "rest_position"
            and field[k] == 0.0
            and (free or name not in ("damping", "spring_stiffness", "armature"))
        ):
            raise ModelError(
                f"world {world.name!r}: step_derivatives: {name} of {dof.name!r} is zero, where a step does "
                "without it: there is no derivative"
            )


def directions(world: Any, wanted: Mapping[str, Any] | Sequence[str]) -> dict[str, list[list[Change]]]:
    """Directions by the name of the parameter.

    Args:
        wanted: names, for all bodies, shapes or coordinates; or lists of such by name.

    Raises:
        NameLookupError: a parameter that there is not.
        ModelError: something else than bodies, shapes or coordinates of the world.
    """
    if isinstance(wanted, str):
        wanted = (wanted,)
    if isinstance(wanted, tuple) and not wanted:
        return {}
    what = f"world {world.name!r}: step_derivatives"
    if not isinstance(wanted, Iterable) or not all(isinstance(name, str) for name in wanted):
        raise ModelError(
            f"{what}: parameters: expected names, or lists of bodies, shapes or "
            f"coordinates by name, got {wanted!r:.100}"
        )
    given = dict(wanted) if isinstance(wanted, Mapping) else dict.fromkeys(wanted)
    engine, found = world.engine, {}
    for name, chosen in given.items():
        if name not in NAMES:
            raise NameLookupError("parameter of a step", name, NAMES)
        if name == "friction" and engine.surfaces.container.mode != NO_ROWS:
            raise ModelError(f"{what}: friction: not where surfaces have more than a coefficient")
        if name == "gravity":
            found[name] = [[Change("tree", "gravity", k, 1.0)] for k in range(3)]
            continue
        kind, possible = _things(world, name)
        if chosen is not None and not isinstance(chosen, Iterable):
            raise ModelError(f"{what}: {name}: expected a list of {kind.__name__}, got {chosen!r:.100}")
        chosen = possible if chosen is None else list(chosen)
        for x in chosen:
            if not isinstance(x, kind) or not any(x is y for y in possible):
                raise ModelError(f"{what}: {name}: expected a {kind.__name__} of the world that it can have, got {x!r}")
        if name == "mass":
            found[name] = [_of_mass(engine, x) for x in chosen]
        elif name in OF_DOFS:
            _check_in_force(world, name, chosen)
            start = {s: engine.dofs_of(s).start for s in engine.skeletons}
            found[name] = [
                [Change("tree", OF_DOFS[name], start[x.joint.child.skeleton] + x.index, 1.0)] for x in chosen
            ]
        else:
            found[name] = [[Change("collision", OF_SHAPES[name], engine.nodes.index(x), 1.0)] for x in chosen]
    return found
