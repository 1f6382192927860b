"""`kido ik`, and the effectors that it chooses."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from kido.cli.main import INTERRUPTED, OK
from kido.cli.options import Ik
from kido.cli.scene import free_joints
from kido.errors import KidoError, NameLookupError
from kido.ik import CompositeIK, DifferentialSolver, InverseKinematics
from kido.skeleton import BodyNode, EndEffector, Skeleton, WeldJoint
from kido.skeleton.nodes.node import JacobianNode

SMALL_SHARE = 0.005
"""Share of the skeleton's mass below which what a body carries counts as part of it: fingers, sensors."""

STANDING_SHARE = 0.1
"""Ends of limbs stand if they are within this share of the skeleton's height of the lowest one."""

FRAME_ITERATIONS = 40
"""Iterations of a solve: one is done for each picture, and the next goes on from there."""


def hierarchy(skeleton: Skeleton, names: Sequence[str] = ()) -> CompositeIK:
    """Tasks for end effectors, targets where these are now.

    Args:
        skeleton: the model.
        names: bodies or nodes, as NAME or NAME:PRIORITY; without any, the model's own end effectors, or `limb_ends`.

    Raises:
        NameLookupError: there is no such body or node.
    """
    found = [_named(skeleton, name) for name in names] or _own(skeleton)
    whole = CompositeIK(skeleton)
    whole.solver = DifferentialSolver(max_iterations=FRAME_ITERATIONS, nudges=0, restarts=0)
    for node, priority in found:
        whole.add(InverseKinematics(node, dofs="body")).priority = priority
    return whole


def _named(skeleton: Skeleton, name: str) -> tuple[JacobianNode, int]:
    nodes: dict[str, JacobianNode] = {n.name: n for n in skeleton.nodes(EndEffector)}
    nodes = {**nodes, **{body.name: body for body in skeleton.bodies}}
    if name in nodes:
        return nodes[name], 0
    plain, sign, priority = name.rpartition(":")
    if sign and priority.isdigit() and plain in nodes:
        return nodes[plain], int(priority)
    raise NameLookupError(f"body or end effector of {skeleton.name!r}", plain or name, list(nodes))


def _own(skeleton: Skeleton) -> list[tuple[JacobianNode, int]]:
    nodes: list[JacobianNode] = list(skeleton.nodes(EndEffector)) or list(limb_ends(skeleton))
    if not nodes:
        return []
    heights = np.array([node.world_transform[2, 3] for node in nodes])
    whole = np.array([body.world_transform[2, 3] for body in skeleton.bodies])
    floats = bool(free_joints(skeleton))
    stands = heights <= heights.min() + STANDING_SHARE * max(float(np.ptp(whole)), 1e-9)
    return [(node, 0 if low or not floats else 1) for node, low in zip(nodes, stands)]


def limb_ends(skeleton: Skeleton) -> list[BodyNode]:
    """The last body of each branch that carries more than a small share of the skeleton's mass, if it can move.

    Hands count, their fingers do not. Of a skeleton without mass, all bodies without children.
    """
    least = SMALL_SHARE * skeleton.mass
    carried = {body: body.mass for body in skeleton.bodies}
    for body in reversed(skeleton.bodies):
        if body.parent is not None:
            carried[body.parent] += carried[body]
    found = []
    for body in skeleton.bodies:
        heavy = [child for child in body.children if carried[child] > least or skeleton.mass == 0.0]
        if not heavy and (carried[body] > least or skeleton.mass == 0.0) and body.dependent_dofs:
            found.append(_moving(body))
    return found


def _moving(body: BodyNode) -> BodyNode:
    """The body itself, or the one that it is welded to, if that is no limb of its own."""
    while isinstance(body.parent_joint, WeldJoint) and body.parent is not None and len(body.parent.children) == 1:
        body = body.parent
    return body


def ik(options: Ik) -> int:
    """Show a model whose end effectors follow their targets, until Ctrl-C."""
    from kido.cli.loading import set_positions
    from kido.simulation import World
    from kido.viewer.server import require_viser

    require_viser()
    model = options.load(options.file)
    skeletons = model.skeletons if isinstance(model, World) else [model]
    set_positions(skeletons, options.set)
    able = [s for s in skeletons if s.num_dofs]
    if options.skeleton is not None:
        able = [s for s in skeletons if s.name == options.skeleton]
        if not able:
            raise NameLookupError("skeleton", options.skeleton, [s.name for s in skeletons])
    if len(able) > 1:
        names = ", ".join(s.name for s in able)
        raise KidoError(f"{options.file}: has several skeletons; choose one with --skeleton: {names}")
    if not able or not able[0].num_dofs:
        raise KidoError(f"{options.file}: nothing in it can move: no degrees of freedom")
    whole = hierarchy(able[0], options.effector)
    from kido.viewer import Viewer

    with Viewer(model, port=options.port, paused=True) as viewer:
        viewer.add_targets(whole)
        names = ", ".join(f"{task.node.name} (priority {task.priority})" for task in whole.modules)
        print(f"kido: targets: {names}", file=sys.stderr)
        print(f"kido: {viewer.url} (Ctrl-C ends)", file=sys.stderr, flush=True)
        return OK if viewer.run() else INTERRUPTED
