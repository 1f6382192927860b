"""What copies of inverse kinematics refer to: the same skeleton, or the parts of the same name of another one."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from kido.errors import ModelError
from kido.ik.model import carrier_of
from kido.ik.tasks import Task
from kido.skeleton import Frame, Skeleton
from kido.skeleton.nodes.node import JacobianNode

T = TypeVar("T")


def twins(old: Skeleton, new: Skeleton) -> dict[int, Any]:
    """A memo for `copy.deepcopy`: what stands for a skeleton, its bodies, joints, coordinates and nodes in another."""
    memo: dict[int, Any] = {id(old): new}
    for body in old.bodies:
        twin = body if new is old else new.parts.body_by_name.get(body.name)
        if twin is not None:
            memo[id(body)] = twin
            memo[id(body.parent_joint)] = twin.parent_joint
            for a, b in zip(body.parent_joint.dofs, twin.parent_joint.dofs):
                memo[id(a)] = b
            named = {(type(n), n.name): n for n in twin.nodes()}
            for n in body.nodes():
                if (type(n), n.name) in named:
                    memo[id(n)] = named[type(n), n.name]
    return memo


def frames_outside(frames: Iterable[Frame], skeleton: Skeleton) -> Iterator[Frame]:
    """Of frames and those that they hang on, the ones that hang on no body of a skeleton; not the world."""
    for frame in frames:
        above = [frame]
        while above[-1] is not Frame.world() and not isinstance(above[-1], JacobianNode):
            above.append(above[-1].parent_frame)
        last: Any = above[-1]
        if last is Frame.world() or carrier_of(last)[0].skeleton is not skeleton:
            yield from (f for f in above if f is not Frame.world())


def copied_for(thing: T, old: Skeleton, new: Skeleton | None, tasks: Iterable[Task]) -> T:
    """An independent copy of what has tasks for the same skeleton (None) or another one.

    Target frames that are not on the old skeleton are shared.

    Raises:
        ModelError: `new` is no skeleton, or lacks a body or node that tasks are about.
    """
    if new is not None and not isinstance(new, Skeleton):
        raise ModelError(f"{thing!r}: clone: expected a skeleton, got {new!r}")
    memo = twins(old, old if new is None else new)
    given = list(tasks)
    for task in given:
        if new is not None and task.node is not None and id(task.node) not in memo:
            raise ModelError(f"{thing!r}: clone: skeleton {new.name!r} has nothing that stands for {task.node!r}")
    for frame in frames_outside((t.target for t in given if isinstance(t.target, Frame)), old):
        memo.setdefault(id(frame), frame)
    return copy.deepcopy(thing, memo)
