"""From tasks to the arrays that kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.flexible.filling import flex_of, without_modes
from kido.ik.coupling import coupling_of
from kido.ik.engine.tasks import TASKS
from kido.ik.model import carrier_of, compiled, dofs_moving_node, frame_above, place_of_body, tree_of
from kido.skeleton import WORLD_FRAME, EndEffector, FrameNode, Support
from kido.skeleton.body_node import BodyNode
from kido.skeleton.frames.frame import Frame
from kido.skeleton.nodes.node import JacobianNode

if TYPE_CHECKING:
    from kido.ik.tasks.kind import Task
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]


def place_of_node(skeleton: Skeleton, node: JacobianNode) -> tuple[int, Array]:
    """Link that carries a node, and its 4x4 pose there."""
    body, relative = carrier_of(node)
    if body.skeleton is not skeleton:
        raise ModelError(f"task: {node!r} is of skeleton {body.skeleton.name!r}, not of {skeleton.name!r}")
    compiled(skeleton)
    link, X = place_of_body(skeleton, body)
    return link, X if relative is None else X @ relative


def place_of_target(skeleton: Skeleton, target: Frame | Array) -> tuple[int, Array]:
    """Link that a target frame rides on, -1 for the world, and its 4x4 pose there, as it is now."""
    if not isinstance(target, Frame):
        return -1, target
    frame = target
    while not (isinstance(frame, BodyNode) and frame.skeleton is skeleton):
        if frame is WORLD_FRAME:
            return -1, target.world_transform
        frame = frame.parent_frame
    compiled(skeleton)
    link, X = place_of_body(skeleton, frame)
    return link, X @ target.transform(frame)


def places_of_supports(skeleton: Skeleton) -> tuple[list[int], Array]:
    """Links that carry the points of all active supports, and where they are there (n, 3) [m].

    Raises:
        ModelError: there are none.
    """
    links: list[int] = []
    places: list[Array] = [np.zeros((0, 3))]
    for node in skeleton.nodes(FrameNode):
        support = node.get(Support)
        if support is not None and support.active:
            link, X = place_of_node(skeleton, node)
            points = support.geometry @ X[:3, :3].T + X[:3, 3]
            links += [link] * len(points)
            places.append(points)
    if not links:
        raise ModelError(
            f"skeleton {skeleton.name!r}: balance: nothing supports it; give an {EndEffector.__name__} an active "
            "Support with points"
        )
    return links, np.concatenate(places)


def needed_links(skeleton: Skeleton, tasks: Sequence[Task], ends: Sequence[int]) -> list[int]:
    """Links whose poses tasks depend on, parents first; `ends` are the links that carry frames."""
    tree = tree_of(skeleton)
    if any(task.kind.needs_all_links for task in tasks):
        return list(range(len(tree.parent)))
    found: set[int] = set()
    for link in ends:
        while link >= 0:
            found.add(link)
            link = int(tree.parent[link])
    return sorted(found)


def dofs_moving(skeleton: Skeleton, task: Task) -> NDArray[np.int64]:
    """Independent coordinates that move what a task measures, ascending; all of what is about no node.

    Modes of flexible bodies are not among them: they are held unless they are named.
    """
    coupling = coupling_of(skeleton)
    if task.node is None:
        return coupling.every()
    moving, frame = dofs_moving_node(task.node), task.target
    while isinstance(frame, Frame) and frame_above(frame) is not None:
        if isinstance(frame, JacobianNode) and carrier_of(frame)[0].skeleton is skeleton:
            moving = np.union1d(moving, dofs_moving_node(frame))
            break
        frame = frame.parent_frame
    return coupling.independent(moving)


def compile_tasks(
    skeleton: Skeleton, tasks: Sequence[Task], dofs: Sequence[int] | NDArray[np.integer], all_links: bool = False
) -> TASKS:
    """The TASKS container of tasks over a skeleton's tree, targets where they are now.

    Args:
        skeleton: what the tasks are about.
        tasks: in the order of their rows.
        dofs: indices of the active coordinates, in the order of columns.
        all_links: whether poses of all links are computed, not only of those that tasks depend on.

    Raises:
        ModelError: a task of another skeleton, a posture of the wrong size, or the centre of mass of what has no mass.
    """
    compiled(skeleton)
    for task in tasks:
        task.kind.check(skeleton)
    tree = tree_of(skeleton)
    places = [(-1, np.eye(4)) if t.node is None else place_of_node(skeleton, t.node) for t in tasks]
    targets = [place_of_target(skeleton, t.target) for t in tasks]
    links = range(len(tree.parent)) if all_links else [link for link, _ in [*places, *targets]]
    needed = needed_links(skeleton, tasks, links)
    rows = [t.kind.rows(skeleton, t, len(dofs)) for t in tasks]
    first = np.concatenate([[0], np.cumsum(rows)]).astype(int)
    postures = [k for k, t in enumerate(tasks) if t.kind.has_reference]
    supports = len(places_of_supports(skeleton)[0]) if any(t.kind.stands for t in tasks) else 0
    n = len(tree.body_of_dof)
    coupling = coupling_of(skeleton)
    mimics = coupling.mimics_of(dofs)
    made = TASKS(tasks=len(tasks), tasks1=len(tasks) + 1, rows=int(first[-1]), postures=len(postures), dofs=n,
        columns=len(dofs), bodies=len(tree.parent), paths=len(needed), mimics=len(mimics), supports=supports,
        supports2=2 * supports + 2, com_rows=3 if supports else 0,
    )  # fmt: skip
    flex = flex_of(skeleton)
    made.deforms = int(flex is not None)
    made.flex = flex or without_modes(len(tree.parent))  # compiled code looks at it ahead of time
    made.first_row[:] = first
    made.needed[:] = needed
    made.active[:] = dofs
    made.column[:] = -1
    made.column[made.active] = np.arange(len(dofs))
    made.column[mimics] = made.column[coupling.master[mimics]]
    made.ratio[:] = coupling.ratio
    made.mimic[:, 0], made.mimic[:, 1] = mimics, coupling.master[mimics]
    made.offset[:] = coupling.offset[mimics]
    for k, (task, (link, X), (base, Y)) in enumerate(zip(tasks, places, targets, strict=True)):
        kind = task.kind
        made.residual[k], made.residual_of_lanes[k] = kind.residual, kind.lanes_residual
        made.framed[k], made.seeded[k] = int(kind.framed), int(kind.seeded)
        made.link[k], made.base[k] = postures.index(k) if k in postures else link, base
        made.pose[k], made.target[k] = X[:3].ravel(), Y[:3].ravel()
        made.axis[k], made.angle[k] = task.axis, task.angle
        made.to_middle[k], made.priority[k], made.gain[k] = int(task.error_from_center), task.priority, task.gain
        kind.write(skeleton, made, k, slice(int(first[k]), int(first[k + 1])), task)
    return made
