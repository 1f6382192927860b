"""Eight worlds of one structure that step together: which worlds do, and the arrays that they share."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.batch.lockstep_blocks import (
    KINDS,
    MAX_BODY_CONTACTS,
    clear_blocks,
    fill_blocks,
    keep_solutions,
    keep_velocities,
    lay_out_blocks,
    pull_together,
)
from kido.batch.lockstep_motion import (
    balance_together,
    gather_ends,
    gather_floating,
    gather_states,
    keep_ends,
    keep_floating,
    predict_together,
    products_together,
    scatter_motion,
    scatter_rest,
)
from kido.batch.lockstep_newton import apply_together, clear_pulls, solve_together
from kido.batch.lockstep_single import finish_lanes, single_of
from kido.batch.lockstep_step import predict_others
from kido.batch.lockstep_struct import (
    FEW,
    LANE_NUMBERS,
    LOCKSTEP,
    MAX_FEW_BODIES,
    MAX_FEW_DOFS,
    WIDE_FEW,
    WIDE_MOTION,
    WIDE_PROBLEM,
)
from kido.constraints.row_origins import ROW_ORIGINS
from kido.integrators import MoreauMidpoint
from kido.jit import JIT_DISABLED, LANES, Struct
from kido.kernels.regularized_tree import REGULARIZED
from kido.simulation import World
from kido.simulation.commands import Commands
from kido.simulation.integrate import integrate_stage
from kido.simulation.midpoint_problem import assemble_midpoint_stage
from kido.simulation.predict import predict_stage
from kido.simulation.step import solve_stage
from kido.simulation.world_struct import WORLD
from kido.solvers.default import begin_islands, end_islands, go_on_with, solve_one, solve_problem
from kido.solvers.problem import DEFAULT_SETTINGS, MAX_MEMORY, PROBLEM
from kido.tree.schema import TREE, data_for


def why_alone(world: World) -> str:
    """Why the steps of a world are not for lanes; "" if they are."""
    engine: Any = world.engine
    w, problem = engine.world, engine.problem
    if JIT_DISABLED:
        return "kernels run as plain Python"
    if type(world.integrator) is not MoreauMidpoint:
        return f"its integrator is {world.integrator!r}, not MoreauMidpoint()"
    if w.predict.callback is not predict_stage:
        return "it has soft or flexible bodies"
    if not engine.is_compiled or engine.calls_users:
        return "its steps call functions of users or of other libraries"
    if w.loops.address != 0:
        return "it has loops or constraints between bodies"
    placed = [type(f) for f in engine.features if any(isinstance(where, int) for where in f.stages())]
    if set(placed) - {Commands}:
        active = ", ".join(kind.__name__ for kind in placed if kind is not Commands)
        return f"features have stages of their own in its steps: {active}"
    if w.restitute.address != 0 or any(node.restitution > 0.0 for node in engine.nodes):
        return "contacts rebound"
    if engine.detector.container.sweep_step > 0.0:
        return "shapes are swept along their motion"
    if w.assemble.callback is not assemble_midpoint_stage or w.integrate.callback is not integrate_stage:
        return "its steps are put together in another way"
    if w.solve.callback is not solve_stage or w.solve_problem.callback is not solve_problem or problem.chosen.address:
        return "its solver is not the default"
    if problem.tree_newton.address == 0 or not _robots(engine).any():
        return "it has no robot: no skeleton with joints that lanes take"
    return ""


def _robots(engine: Any) -> np.ndarray:
    """Which trees go by lanes: those whose contacts may be Newton's along the tree."""
    t, r = engine.tree, engine.responses.container
    trees = len(t.tree_mobile)
    return (r.deferrable[:trees] > 0) & (t.tree_mobile != 0) & (r.apart[:trees] == 0)


def _wide(kind: type[Struct], *structs: Struct) -> Any:
    """Fields of structs in lanes as numbers."""
    found = {}
    for name in kind.arrays:
        array = next(getattr(s, name) for s in structs if name in type(s).fields)
        found[name] = array.reshape(*array.shape[:-2], -1)
    return kind(**found)


class Lockstep:
    """What worlds share while they step together.

    Args:
        worlds: up to `LANES`, clones of one another, for which `why_alone` gives no reason.
    """

    def __init__(self, worlds: list[World]):
        self.worlds = worlds
        engine: Any = worlds[0].engine
        t = engine.tree
        bodies, dofs, trees = len(t.parent), len(t.body_of_dof), len(t.tree_mobile)
        blocks = MAX_BODY_CONTACTS * bodies + KINDS * dofs
        rows = 3 * MAX_BODY_CONTACTS * bodies + KINDS * dofs
        self.data = data_for(t, samples=LANES)
        sizes = {
            name: size
            for f in TREE.fields.values()
            for name, size in zip(f.dims, getattr(t, f.name).shape)
            if isinstance(name, str)
        }
        self.tree = TREE(
            samples=LANES, **{n: getattr(t, n) for n in TREE.arrays if TREE.fields[n].kind == "i"}, **sizes
        )
        small = dict.fromkeys(("pool", "extras", "inertias", "plans", "value_room", "dense", "unknowns", "columns"), 1)
        problem = PROBLEM(
            samples=LANES, blocks=blocks, rows=rows, dofs=dofs, islands=2, memory=2 * MAX_MEMORY + 7, **small
        )
        for name in DEFAULT_SETTINGS:
            setattr(problem, name, getattr(engine.problem, name))
        problem.small_rows = rows  # each world asks for itself
        origins = ROW_ORIGINS(samples=LANES, blocks=blocks, dofs=dofs)
        regularized = REGULARIZED(
            samples=LANES, bodies=max(bodies, MAX_FEW_BODIES), dofs=max(dofs, MAX_FEW_DOFS), trees=trees
        )
        sizes = {name: 1 for f in WORLD.fields.values() for name in f.dims if isinstance(name, str)} | {"dofs": dofs}
        motion = WORLD(samples=LANES, **sizes)
        own = LANE_NUMBERS(samples=LANES, bodies=bodies, dofs=dofs)
        most_dofs = max(dofs, MAX_FEW_DOFS)
        x = LOCKSTEP(
            bodies=max(bodies, MAX_FEW_BODIES), dofs=most_dofs, blocks=blocks, trees=trees, kinds=KINDS * most_dofs
        )
        x.tree = self.tree
        x.data, x.motion, x.problem, x.origins, x.regularized, x.own = (
            self.data, motion, problem, origins, regularized, own,
        )  # fmt: skip
        x.few = few = FEW(samples=LANES)
        x.wide_few = _wide(WIDE_FEW, few)
        x.wide_motion = _wide(WIDE_MOTION, self.data, motion, problem, own)
        x.wide_problem = _wide(WIDE_PROBLEM, regularized, problem, origins, own)
        x.gather, x.predict, x.scatter = gather_states, predict_together, scatter_motion
        x.lay_out, x.clear, x.fill = lay_out_blocks, clear_blocks, fill_blocks
        x.solve, x.finish, x.keep, x.predict_others = solve_together, finish_lanes, keep_solutions, predict_others
        x.clear_pulls, x.pull, x.apply = clear_pulls, pull_together, apply_together
        x.keep_velocities, x.scatter_rest = keep_velocities, scatter_rest
        x.gather_ends, x.products, x.keep_ends = gather_ends, products_together, keep_ends
        x.gather_floating, x.balance, x.keep_floating = gather_floating, balance_together, keep_floating
        x.begin_islands, x.solve_one, x.go_on_with, x.end_islands = begin_islands, solve_one, go_on_with, end_islands
        x.single = single_of(x)
        x.time_step, x.robot[:] = engine.world.time_step, _robots(engine)
        self.data.has_external[:] = engine.data.has_external
        for lane, world in enumerate(worlds):
            self.take_tree(lane, world.engine.stepped)
        self.container, self.addresses = x, np.array([world.engine.world.address for world in worlds])

    def begin(self, samples: np.ndarray) -> None:
        """The first worlds are at the start of samples; others take no part."""
        x, number = self.container, len(samples)
        x.phase = 0
        self.data.udot[:] = 0.0
        x.world[:number], x.world[number:], x.sample[:number] = self.addresses[:number], 0, samples

    def take_tree(self, lane: int, tree: Any) -> None:
        """The numbers of a forest into a lane."""
        for name in TREE.arrays:
            if TREE.fields[name].kind == "f":
                getattr(self.tree, name)[..., lane] = getattr(tree, name)

    def leave(self, lane: int) -> None:
        """The world in a lane takes no part any more."""
        self.container.world[lane] = 0
