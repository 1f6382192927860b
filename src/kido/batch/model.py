"""What many worlds are made from: worlds, a skeleton that is chosen, bodies whose contacts are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kido.errors import ModelError
from kido.simulation import World
from kido.skeleton import BodyNode, ShapeNode, Skeleton


class NotPickled:
    """What has threads, and worlds in their hands: not pickled, nor copied unless it says how."""

    world: World
    refused = "copied or pickled"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise ModelError(
            f"{type(self).__name__} of {self.world.name!r} cannot be {self.refused}; make another one of its model, "
            "and take states over by `snapshot` and `restore`, or positions and velocities"
        )


def worlds_of(model: Any) -> list[World]:
    """The worlds of a sequence; none of anything else.

    Raises:
        ModelError: it is empty, or something in it is no world.
    """
    if isinstance(model, World | Skeleton | str) or not isinstance(model, Sequence):
        return []
    if not model:
        raise ModelError("worlds: expected worlds, got none")
    for k, world in enumerate(model):
        if not isinstance(world, World):
            raise ModelError(f"worlds: expected worlds, got {type(world).__name__} as number {k}")
    return list(model)


def world_of(model: Any, skeleton: Any) -> tuple[World, Skeleton | None]:
    """A world of the model, and the skeleton of it that was chosen.

    Raises:
        ModelError: it is neither a world nor a skeleton, or the skeleton chosen is not in it.
        NameLookupError: no skeleton has that name.
    """
    if isinstance(model, Skeleton):
        if model.host is not None:
            return model.host, model  # type: ignore[return-value]
        world = World(model.name, gravity=model.gravity)
        return world, world.add_skeleton(model.clone())
    if not isinstance(model, World):
        raise ModelError(f"worlds: expected a world or a skeleton, got {type(model).__name__}")
    if skeleton is None:
        return model, None
    chosen = skeleton if isinstance(skeleton, Skeleton) else model.skeleton(skeleton)
    if chosen.host is not model:
        raise ModelError(f"worlds: skeleton {chosen.name!r} is not in world {model.name!r}")
    return model, chosen


def refuse_what_is_called(world: World) -> None:
    """Refuse controllers that batches cannot run, and pushes that go on.

    Raises:
        ModelError: one has states that snapshots lack, or is called from Python; or there is a push.
    """
    if world.pushes.all:
        pushed = ", ".join(sorted({f"{p.body.skeleton.name}/{p.body.name}" for p in world.pushes.all}))
        raise ModelError(
            f"worlds like {world.name!r}: a push of {pushed} goes on (`World.push`), which batches do not; step the "
            "world until it is over, or add an external force, which acts all the time"
        )
    remembering = [c.name for c in world.controllers if c.has_state]
    if remembering:
        raise ModelError(
            f"worlds like {world.name!r}: {', '.join(remembering)} has states that snapshots of worlds lack, "
            "and batches put worlds back to these; run such worlds one by one, by `World.step` or `System.run` "
            "(`kido.systems.Dispersion` draws what differs)"
        )
    asking = [c.name for c in world.controllers if c.calls_python]
    if asking:
        raise ModelError(
            f"worlds like {world.name!r}: controllers {', '.join(asking)} are called from Python, which batches do "
            "not; those of kido.control without functions of time run compiled"
        )


def places_of(world: World, bodies: Sequence[BodyNode | str], chosen: int | None) -> list[tuple[int, int]]:
    """Indices of the skeletons and of the bodies in them.

    Args:
        bodies: of the world, or names, "skeleton/body" where a name is not unique.
        chosen: index of the skeleton whose bodies are meant by names alone, if there is one.

    Raises:
        ModelError: a body is none of the world's or is given twice, or a name fits none or several of them.
        NameLookupError: no such skeleton or body.
    """
    found = []
    names = [s.name for s in world.skeletons]
    for body in bodies:
        if isinstance(body, BodyNode):
            if body.skeleton is None or body.skeleton.name not in names:
                raise ModelError(f"worlds: bodies: {body.name!r} is no body of world {world.name!r}")
            place, name = names.index(body.skeleton.name), body.name
        elif isinstance(body, str):
            skeleton, _, name = body.rpartition("/")
            if skeleton:
                place = names.index(world.skeleton(skeleton).name)
            else:
                place = _having(world, name) if chosen is None else chosen
        else:
            raise ModelError(f"worlds: bodies: expected bodies or their names, got {body!r}")
        at = place, world.skeletons[place].body(name).index
        if at in found:
            raise ModelError(f"worlds: bodies: expected each once, got {world.skeletons[place].name}/{name} again")
        found.append(at)
    return found


def _having(world: World, name: str) -> int:
    """The one skeleton that has a body of a name."""
    having = [k for k, s in enumerate(world.skeletons) if any(b.name == name for b in s.bodies)]
    if len(having) != 1:
        what = "no body has" if not having else "several bodies have"
        raise ModelError(f"worlds: bodies: {what} the name {name!r}; 'skeleton/body' names one")
    return having[0]


def counterpart(thing: Any, twin: World, names: Sequence[str]) -> Any:
    """What a world, body, shape or coordinate is in a copy of its world, whose skeletons have names in order."""
    if isinstance(thing, World):
        return twin
    if isinstance(thing, ShapeNode):
        number = next(k for k, node in enumerate(thing.body.shapes) if node is thing)
        return counterpart(thing.body, twin, names).shapes[number]
    if isinstance(thing, BodyNode):
        return twin.skeletons[names.index(thing.skeleton.name)].bodies[thing.index]
    return twin.skeletons[names.index(thing.joint.child.skeleton.name)].dofs[thing.index]
