"""The world that `kido simulate` simulates, from its options."""

from __future__ import annotations

import math
import sys

import numpy as np

from kido.cli.loading import load_model, set_positions
from kido.cli.main import UsageError
from kido.cli.options import Simulate
from kido.cli.placement import extent, move, place_above, side_by_side
from kido.errors import KidoError
from kido.integrators import RK4
from kido.simulation import World
from kido.skeleton import BodyNode, Joint, Skeleton


def check(options: Simulate) -> None:
    """Refuse options that make no sense, before anything is read.

    Raises:
        UsageError: naming the option.
    """
    if not options.model and options.world is None:
        raise UsageError("nothing to simulate: name a model (kido models lists the bundled ones) or --world FILE")
    if options.duration is not None and not (math.isfinite(options.duration) and options.duration >= 0):
        raise UsageError(f"--duration {options.duration:g}: expected seconds, not below 0")
    if options.dt is not None and not (math.isfinite(options.dt) and options.dt > 0):
        raise UsageError(f"--dt {options.dt:g}: expected seconds above 0")
    if options.every < 1:
        raise UsageError(f"--every {options.every}: expected a whole number above 0")
    if len(options.at) > len(options.model):
        raise UsageError(f"--at is given {len(options.at)} times for {len(options.model)} models")
    if not np.isfinite(np.array(options.at)).all():
        raise UsageError("--at: expected three finite numbers")
    if options.port is not None and not 0 <= options.port < 65536:
        raise UsageError(f"--port {options.port}: expected 0 to 65535")


def build(options: Simulate) -> World:
    """Read, set, place: the world at time zero.

    Raises:
        KidoError: a file cannot be read, or a setting does not fit.
    """
    world, added = _read(options)
    if options.dt is not None:
        world.time_step = options.dt
    if options.solver is not None:
        world.loop_solver = options.solver
        world.integrator = RK4()
    for remark in set_positions(world.skeletons, options.set):
        print(f"kido: warning: {remark}", file=sys.stderr)
    grounded = options.ground or options.world is not None
    placed = [s for s in world.skeletons if s not in added]
    for skeleton, at in zip(added, options.at):
        move(skeleton, np.array(at))
        placed.append(skeleton)
    rest = added[len(options.at) :]
    if grounded:
        for skeleton in rest:
            place_above(skeleton, world.up, 0.0)
    if options.ground:
        _warn_of_sunken(added, world.up)
    floor = [s for s in placed if s.mobile or s in added]
    side_by_side(rest, floor, world.up)
    if options.ground and not any(s.name == "ground" for s in world.skeletons):
        world.add_ground()
    return world


def _warn_of_sunken(skeletons: list[Skeleton], up: np.ndarray) -> None:
    """Say which models start with a moving part below the ground."""
    for skeleton in skeletons:
        moving = [b for b in skeleton.bodies if not all(w.num_dofs == 0 for w in _joints_above(b))]
        low, _ = extent([node for b in moving for node in b.shapes if node.collision], up)
        if low < -1e-3:
            print(
                f"kido: warning: {skeleton.name} starts {-1e3 * low:.3g} mm deep in the ground; "
                "--set another pose, or move it with --at",
                file=sys.stderr,
            )


def _joints_above(body: BodyNode) -> list[Joint]:
    joints, at = [], body
    while at is not None:
        joints.append(at.parent_joint)
        at = at.parent
    return joints


def _read(options: Simulate) -> tuple[World, list[Skeleton]]:
    """The world, and the models that were put into it."""
    models = [
        (name, load_model(name, options.base, options.package_dir, not options.no_visuals)) for name in options.model
    ]
    world: World | None = None
    if options.world is not None:
        base = load_model(options.world, options.base, options.package_dir, not options.no_visuals)
        if not isinstance(base, World):
            raise KidoError(f"--world {options.world}: holds a single model, expected a world (SKEL)")
        world = base
    elif len(models) == 1 and isinstance(models[0][1], World):
        return models[0][1], []
    world = World("simulation") if world is None else world
    added = []
    for name, model in models:
        if isinstance(model, World):
            raise KidoError(f"{name}: is a whole world; give it as --world, and models to add to it")
        added.append(world.add_skeleton(model))
    return world, added
