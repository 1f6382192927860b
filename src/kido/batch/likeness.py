"""Whether worlds are alike in all but what `kido.batch.differences` lets them differ in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kido.constraints.constraint import UserConstraint
from kido.constraints.surfaces import NO_ROWS
from kido.jit import Struct
from kido.simulation import World
from kido.simulation.commands import Commands
from kido.simulation.loop_system import LoopSystem
from kido.simulation.sleeping import Sleepers
from kido.simulation.world_snapshot import first_difference, structure_of
from kido.skeleton import BodyNode, ShapeNode, Skeleton
from kido.tree.schema import TREE

_OPTIONS = {"solver": "solver", "detector": "collision_detector", "loop_solver": "loop_solver", "sleeping": "sleeping"}
_TESTED = (
    "shape_category", "shape_mask", "body_collidable", "body_group", "excluded_first", "excluded",
)  # fmt: skip
_LOOPS = (
    "body_a", "body_b", "frame_a", "frame_b", "breaking_force", "breaking_moment", "first_row", "first_term",
    "term_dof", "term_factor", "kind", "axis", "of", "mode", "sign", "offset", "lower", "upper", "stiffness", "damping",
    "target", "gain",
)  # fmt: skip
_SOFT = (
    "link", "first", "kv", "ke", "kd", "automatic", "radius", "calm", "rest", "mass", "force", "neighbor_first",
    "neighbor", "face",
)  # fmt: skip
_FLEXIBLE = ("linear", "slope", "swing", "mass", "translation", "rotation", "quadratic")
_SURFACES = ("place", "shift", "bend", "vertex")
_AWAKE = ("tree_mobile", "moves")  # of TREE: zero for what sleeps


def unlike(one: World, other: World) -> str:
    """How a world is unlike another; "" if it is not."""
    return (
        first_difference(structure_of(other.skeletons), structure_of(one.skeletons))
        or _other_steps(one, other)
        or _other_joints(one.engine, other.engine)
        or _other_shapes(one.engine, other.engine)
        or _other_parts(one.engine, other.engine)
    )


def _other_steps(one: World, other: World) -> str:
    a, b = one.engine.options, other.engine.options
    if b.time_step != a.time_step:
        return f"its time step is {b.time_step:g} s, not {a.time_step:g} s"
    if b.integrator != a.integrator:
        return f"its integrator is {b.integrator!r}, not {a.integrator!r}"
    if b.settings != a.settings:
        return "it has other settings"
    for name, public in _OPTIONS.items():
        if getattr(b, name) != getattr(a, name):
            return f"its {public} is {getattr(b, name)!r}, not {getattr(a, name)!r}"
    if not is_same(a.surface_handler, b.surface_handler):
        return f"its contact_surface_handler is another {type(b.surface_handler).__name__}"
    if one.controllers or other.controllers:
        return "worlds with controllers are rolled out as copies of one"
    if any(f.is_active != g.is_active for f, g in zip(one.engine.features, other.engine.features, strict=True)):
        return "it has features that the other has not (loops, soft bodies, sleep, ...)"
    return ""


def _other_joints(a: Any, b: Any) -> str:
    whole = [name for name in TREE.arrays if TREE.fields[name].kind == "i" and name not in _AWAKE]
    differing = _first_of(a.stepped, b.stepped, whole)
    if not differing and not np.array_equal(a.moves, b.moves):
        differing = "moves"
    if differing:
        return f"its joints or actuators are others ({differing})"
    if not np.array_equal(a.responses.container.free, b.responses.container.free):
        return "a free body of it is damped, has a spring, a rotor, or another centre of mass than its origin"
    dofs = [e.row_origins.joint_dof[: e.row_origins.num_joint_dofs] for e in (a, b)]
    if not np.array_equal(*dofs):
        return "other coordinates have limits, friction or actuators with rows"
    bounded = [getattr(e.feature(Commands).own_struct, "dof", np.zeros(0)) for e in (a, b)]
    if not np.array_equal(bounded[0], bounded[1]):
        return "other coordinates have limits of commands"
    if not np.array_equal(a.data.external, b.data.external):
        return "other external forces act"
    return ""


def _other_shapes(a: Any, b: Any) -> str:
    names = [[f"{n.body.skeleton.name}/{n.body.name}/{n.name}" for n in e.nodes] for e in (a, b)]
    for name in (n for n in [*names[0], *names[1]] if (n in names[0]) != (n in names[1])):
        return f"shape {name!r} collides in one of them only"
    for p, q in zip(a.nodes, b.nodes, strict=True):
        same = p.surface == q.surface or a.surfaces.mode == b.surfaces.mode == NO_ROWS
        if not same or p.restitution != q.restitution:
            return f"shape {p.name!r} of body {p.body.name!r} has another surface"
        if not is_same(p.shape, q.shape) or not np.array_equal(a.place(p), b.place(q)):
            return f"shape {p.name!r} of body {p.body.name!r} has another size or place"
    c, d = a.detector.container, b.detector.container
    if _first_of(c, d, _TESTED):
        return "its collision filters are others: masks, categories, pairs that do not collide, self-collision"
    if _first_of(c, d, ("shape_continuous",)):
        return "other shapes are swept along their motion (continuous)"
    return ""


def _other_parts(a: Any, b: Any) -> str:
    """Constraints, soft and flexible bodies, sleep."""
    differing = _first_of(a.world.loops, b.world.loops, _LOOPS)
    own = [[c for c in e.feature(LoopSystem).constraints if isinstance(c, UserConstraint)] for e in (a, b)]
    if differing or len(own[0]) != len(own[1]):
        return f"its constraints are others ({differing or 'of users'})"
    for c, d in zip(*own, strict=True):
        if not is_same(c, d):
            return f"its constraint {d.name!r} has other attributes"
    parts = [("soft", _SOFT), ("flexible", _FLEXIBLE), ("flexible", _SURFACES)]
    structs = [(e.world.soft, getattr(e.world.flex, "modes", None), e.world.flex_surfaces) for e in (a, b)]
    for (what, names), c, d in zip(parts, *structs, strict=True):
        differing = _first_of(c, d, names)
        if differing:
            return f"its {what} bodies are others ({differing})"
    sleepers = [e.feature(Sleepers).own_struct for e in (a, b)]
    if _first_of(sleepers[0], sleepers[1], ("may",)):
        return "other skeletons may sleep (can_sleep)"
    return ""


def _first_of(a: Any, b: Any, names: Iterable[str]) -> str:
    """The first field in which two structs differ, of which there may be none; "" if they do not."""
    if not (isinstance(a, Struct) and isinstance(b, Struct) and a.address and b.address):
        return ""
    return next((name for name in names if not np.array_equal(getattr(a, name), getattr(b, name))), "")


def is_same(a: Any, b: Any, depth: int = 8) -> bool:
    """Whether what users gave two worlds is the same: objects of one class with the same attributes.

    Of worlds, skeletons, bodies and shapes it is their names that are to be the same.
    """
    if a is b:
        return True
    if type(a) is not type(b) or depth == 0:
        return False
    if isinstance(a, World):
        return True
    if isinstance(a, Skeleton | BodyNode | ShapeNode):
        return a.name == b.name
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if isinstance(a, dict):
        return list(a) == list(b) and all(is_same(a[key], b[key], depth - 1) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(is_same(x, y, depth - 1) for x, y in zip(a, b, strict=True))
    if hasattr(a, "__dict__") and type(a).__eq__ is object.__eq__ and not callable(a):
        return is_same(vars(a), vars(b), depth - 1)
    return bool(a == b)
