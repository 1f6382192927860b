"""Worlds as plain data, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import kido.constraints as classes
from kido.collision.detectors import detector_from_dict, detector_to_dict
from kido.constraints import (
    AxisForces,
    BodyConstraint,
    Constraint,
    CouplerConstraint,
)
from kido.integrators.registry import integrator_from_dict, integrator_to_dict
from kido.recording.codec import RecordingError
from kido.recording.description import skeleton_from_dict, skeleton_to_dict, source_text
from kido.recording.joints import suffixes_of
from kido.recording.users import add_aspects
from kido.reprs import in_few_words
from kido.simulation import Sleeping, World
from kido.simulation.contact_surface import handler_from_dict, handler_to_dict
from kido.skeleton import BodyNode, Skeleton
from kido.skeleton.state.users import users_aspects
from kido.solvers.registry import solver_from_dict, solver_to_dict

_WORLD = "world"  # label of what carries a world's aspects
_OF_AXIS = (
    *("lower_limit", "upper_limit", "rest_position", "stiffness", "damping", "coulomb_friction"),
    *("force", "target_velocity", "motor_force"),
)
_NUMBERS = ("stiffness", "damping", "force_limit", "torque_limit", "breaking_force", "breaking_torque")


def constraint_to_dict(constraint: Constraint, skeletons: Sequence[Skeleton]) -> dict[str, Any] | None:
    """A constraint as plain data; bodies and coordinates by the numbers of their skeletons and their own. None: it is
    a user's."""
    number = {s: k for k, s in enumerate(skeletons)}
    kind = type(constraint).__name__
    if getattr(classes, kind, None) is not type(constraint):
        return None
    if isinstance(constraint, CouplerConstraint):
        terms = [[number[d.joint.child.skeleton], d.index, factor] for d, factor in constraint.terms]
        return {
            "type": "CouplerConstraint",
            "kind": kind,
            "name": constraint.name,
            "terms": terms,
            "offset": constraint.offset,
            "force_limit": constraint.force_limit,
        }
    if not isinstance(constraint, BodyConstraint):
        return None
    bodies = [None if b is None else [number[b.skeleton], b.index] for b in (constraint.body_a, constraint.body_b)]
    return {
        "type": kind,
        "name": constraint.name,
        "bodies": bodies,
        "frame_a": constraint.frame_a.tolist(),
        "frame_b": constraint.frame_b.tolist(),
        **{key: getattr(constraint, key) for key in (_OF_AXIS if isinstance(constraint, AxisForces) else _NUMBERS)},
        **{key: getattr(constraint, key) for key in constraint.own_options},
    }


def constraint_from_dict(data: dict[str, Any], skeletons: Sequence[Skeleton]) -> Constraint:
    """A constraint equal to the one that `constraint_to_dict` was given.

    Raises:
        RecordingError: a type that is not known.
    """
    kind = getattr(classes, data["type"], None)
    if kind is CouplerConstraint:
        terms = [(skeletons[s].dofs[int(k)], factor) for s, k, factor in data["terms"]]
        own = getattr(classes, data["kind"], None)
        if not (isinstance(own, type) and issubclass(own, CouplerConstraint)):
            raise RecordingError(f"constraint {data['name']!r}: unknown kind {data['kind']!r} of coupler")
        made = own.__new__(own)  # gears and differentials are couplers with their terms given otherwise
        CouplerConstraint.__init__(made, terms, data["offset"], name=data["name"], force_limit=data["force_limit"])
        return made
    if not (isinstance(kind, type) and issubclass(kind, BodyConstraint)):
        raise RecordingError(f"constraint {data.get('name')!r}: unknown type {data['type']!r}")
    bodies: list[BodyNode | None] = [None if b is None else skeletons[b[0]].body(int(b[1])) for b in data["bodies"]]
    options = {key: data[key] for key in (*_NUMBERS, *_OF_AXIS, *kind.own_options) if key in data}
    made = kind(*bodies, frame_a=data["frame_a"], frame_b=data["frame_b"], name=data["name"], **options)
    made.restore_frames(data["frame_a"], data["frame_b"])
    return made


def world_to_dict(world: World) -> dict[str, Any]:
    """Parameters, skeletons, collision filters and the text of the model files of a world.

    Step callbacks and users' constraints are code and are left out; the state of the solver is in `World.snapshot`.
    """
    place = {body: [i, body.index] for i, s in enumerate(world.skeletons) for body in s.bodies}
    given = [([place[a], place[b]][: 1 if a is b else 2], sorted(why)) for a, b, why in world.collision_filter.pairs]
    lifted = [sorted(place[body] for body in pair) for pair in world.collision_filter.lifted]
    uris = [getattr(world, "uri", None), *(s.uri for s in world.skeletons)]
    sources = {str(uri): source_text(str(uri)) for uri in uris if uri is not None}
    return {
        "name": world.name,
        "uri": None if world.uri is None else str(world.uri),
        "gravity": world.gravity.tolist(),
        "time_step": world.time_step,
        "settings": dict(world.options.settings),
        "integrator": integrator_to_dict(world.integrator),
        "solver": solver_to_dict(world.solver),
        "loop_solver": world.loop_solver,
        "contact_surfaces": handler_to_dict(world.contact_surface_handler),
        "sleeping": None if world.sleeping is None else [world.sleeping.speed, world.sleeping.time],
        "skeletons": [skeleton_to_dict(s) for s in world.skeletons],
        "collision_filters": [pair for pair, _ in sorted(given)],
        "collision_reasons": [why for _, why in sorted(given)],
        "collisions_of_adjacent": sorted(lifted),
        "collision_detector": detector_to_dict(world.collision_detector),
        "continuous_detection": world.continuous_detection,
        "constraints": [
            item for c in world.constraint_set.added if (item := constraint_to_dict(c, world.skeletons)) is not None
        ],
        "sources": {uri: text for uri, text in sources.items() if text is not None},
        "users": list(users_aspects(_WORLD, world)),
    }


def world_from_dict(data: dict[str, Any], users: bool = True) -> World:
    """A world equal to the one that `world_to_dict` was given, at time zero.

    Args:
        data: what it returned, perhaps from a file.
        users: with the nodes and aspects of users' classes.

    Raises:
        RecordingError: the data do not describe a world, or something of a user's class cannot be restored.
    """
    try:
        world = World(data["name"], data["gravity"], data["time_step"], **data["settings"])
        world.uri = data["uri"]
        if "integrator" in data:  # recordings of versions before had the default one
            world.integrator = integrator_from_dict(data["integrator"])
        if "solver" in data:
            world.solver = solver_from_dict(data["solver"])
        world.loop_solver = data.get("loop_solver", world.loop_solver)
        if "contact_surfaces" in data:
            world.contact_surface_handler = handler_from_dict(data["contact_surfaces"])
        if data.get("sleeping") is not None:
            world.sleeping = Sleeping(*data["sleeping"])
        for item in data["skeletons"]:
            world.add_skeleton(skeleton_from_dict(item, users))
        skeletons = world.skeletons
        reasons = data.get("collision_reasons", [["user"]] * len(data["collision_filters"]))
        for pair, why in zip(data["collision_filters"], reasons, strict=True):
            bodies = [skeletons[s].body(int(b)) for s, b in (pair * 2)[:2]]
            for reason in why:
                world.collision_filter.add(bodies[0], bodies[1], reason)
        for pair in data.get("collisions_of_adjacent", []):
            bodies = [skeletons[s].body(int(b)) for s, b in pair]
            world.collision_filter.remove(bodies[0], bodies[1], "adjacent")
        if "collision_detector" in data:
            world.options.detector = detector_from_dict(data["collision_detector"])
            world.continuous_detection = data["continuous_detection"]
        for item in data.get("constraints", []):
            world.add_constraint(constraint_from_dict(item, skeletons))
        if users:
            add_aspects(_WORLD, world, data.get("users", []))
    except RecordingError:
        raise
    except Exception as error:
        raise RecordingError(f"stored description of a world is damaged: {error!r:.300}") from error
    return world


def check_names(data: dict[str, Any]) -> None:
    """Refuse what is no description of a world, as far as names go.

    Raises:
        RecordingError: something that should have a name has none.
    """
    for s in data["skeletons"]:
        bodies = s["bodies"]
        owners = [s, *bodies, *(b["joint"] for b in bodies), *(node for b in bodies for node in b["shapes"])]
        for name in (*(owner["name"] for owner in owners), *dofs_of(s)):
            if not isinstance(name, str):
                raise RecordingError(f"a name is {in_few_words(name)}; expected a text")


def body_names(data: dict[str, Any]) -> list[str]:
    """Names "skeleton/body" of all bodies of a described world, in the order of its numbers."""
    return [f"{s['name']}/{b['name']}" for s in data["skeletons"] for b in s["bodies"]]


def shape_names(data: dict[str, Any]) -> list[str]:
    """Names "skeleton/body/shape" of all colliding shapes of a described world, in order."""
    return [
        f"{s['name']}/{b['name']}/{node['name']}"
        for s in data["skeletons"]
        for b in s["bodies"]
        for node in b["shapes"]
        if node["collision"]
    ]


def dof_names(data: dict[str, Any]) -> list[str]:
    """Names "skeleton/dof" of all coordinates of a described world, in the order of its positions."""
    return [f"{s['name']}/{name}" for s in data["skeletons"] for name in dofs_of(s)]


def dofs_of(skeleton: dict[str, Any]) -> list[str]:
    """Names of the coordinates of a described skeleton."""
    names: list[str] = []
    for body in skeleton["bodies"]:
        joint = body["joint"]
        names += joint["dof_names"] or [joint["name"] + suffix for suffix in suffixes_of(joint)]
    return names
