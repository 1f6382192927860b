"""Which stages the steps of a world have, and the table of addresses that ties them to its arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kido.integrators import ExplicitEuler, SemiImplicitEuler
from kido.simulation import schema
from kido.simulation.actuate import actuate_stage
from kido.simulation.aggregates.answers import answer_row, answer_tree
from kido.simulation.contact_surface import ContactSurfaceHandler
from kido.simulation.euler import explicit_integrate, explicit_predict, semi_implicit_integrate, semi_implicit_predict
from kido.simulation.events_stage import events_stage
from kido.simulation.integrate import integrate_share, integrate_stage
from kido.simulation.loops import LOOP_STAGES
from kido.simulation.predict import predict_stage
from kido.simulation.sleep import sleeping_stage
from kido.simulation.soft_balance import balance_tree
from kido.simulation.soft_contact import soft_assemble_stage, soft_integrate_stage
from kido.simulation.soft_predict import soft_predict_stage
from kido.simulation.step import assemble_stage, detect_stage
from kido.simulation.threads import STAGES
from kido.solvers import (
    CustomSolver,
    admm_island,
    gauss_seidel_island,
    project_positions,
    restitute,
    solve_chosen,
    solve_problem,
)

if TYPE_CHECKING:
    from kido.simulation.engine import Engine


def stages_of(engine: Engine) -> dict[int, Any]:
    """The callbacks of a step by their place in the table."""
    stages = {
        schema.PREDICT: predict_stage,
        schema.DETECT: detect_stage,
        schema.ASSEMBLE: assemble_stage,
        schema.SOLVE: solve_problem,
        schema.SWEEPER: gauss_seidel_island,
        schema.FALLBACK: admm_island,
        schema.PROJECT_POSITIONS: project_positions,
        schema.INTEGRATE: integrate_stage,
        schema.INTEGRATE_SHARE: integrate_share,
    }
    if engine.threads is not None:
        stages |= STAGES
    if isinstance(engine.solver, CustomSolver):
        del stages[schema.SOLVE]
    elif engine.solver._island is not None:
        stages[schema.SOLVE] = solve_chosen
        stages[schema.CHOSEN] = engine.solver._island
    if isinstance(engine.integrator, SemiImplicitEuler):
        stages[schema.PREDICT], stages[schema.INTEGRATE] = semi_implicit_predict, semi_implicit_integrate
    elif isinstance(engine.integrator, ExplicitEuler):
        stages[schema.PREDICT], stages[schema.INTEGRATE] = explicit_predict, explicit_integrate
    if _may_bounce(engine):
        stages[schema.RESTITUTE] = restitute
    if engine.tree.prescribed.any():
        stages[schema.ACTUATE] = actuate_stage
    if engine.soft is not None:
        stages[schema.PREDICT] = soft_predict_stage
        stages[schema.SOFT_ASSEMBLE] = soft_assemble_stage
        stages[schema.SOFT_INTEGRATE] = soft_integrate_stage
        stages[schema.SOFT_BALANCE] = balance_tree
    if engine.sleepers is not None:
        stages[schema.SLEEPING] = sleeping_stage
    if engine.event_log is not None:
        stages[schema.EVENTS] = events_stage
    if engine.loops is not None:
        stages |= LOOP_STAGES
    return stages


def _may_bounce(engine: Engine) -> bool:
    """Whether contacts may need the second phase of impacts."""
    if engine.settings["restitution_law"] == "newton":
        return False
    own = type(engine.surfaces.handler) is not ContactSurfaceHandler
    return own or any(n.restitution > 0.0 for n in engine.nodes)


def write_table(engine: Engine) -> None:
    """Write the addresses of containers and stages into the table that a step runs by."""
    table = engine.world.table
    table[schema.TREE_AT] = engine.tree.address
    table[schema.DATA_AT] = engine.data.address
    table[schema.COLLISION_AT] = engine.detector.address
    table[schema.PROBLEM_AT] = engine.problem.address
    table[schema.ROW_ORIGINS_AT] = engine.row_origins.address
    engine.regularized.place[:] = table[: schema.PREDICT][
        [schema.TREE_AT, schema.DATA_AT, schema.COLLISION_AT, schema.ROW_ORIGINS_AT]
    ]
    table[schema.PREDICT :] = 0
    for place, stage in stages_of(engine).items():
        table[place] = stage.address
    if engine.soft is not None:
        table[schema.SOFT_AT] = engine.soft.container.address
    if engine.sleepers is not None:
        table[schema.SLEEP_AT] = engine.sleepers.container.address
    if engine.event_log is not None:
        table[schema.EVENTS_AT] = engine.event_log.container.address
    if engine.threads is not None:
        engine.threads.link(engine.problem)
    if engine.loops is not None:
        table[schema.LOOPS_AT] = engine.loops.container.address
        table[schema.USERS_AT] = engine.loops.users.container.address
        table[schema.LOOP_USER] = int(bool(engine.loops.users.constraints))
    link_aggregates(engine)


def link_aggregates(engine: Engine) -> None:
    """Tell the step where aggregates are, and responses and rows who makes theirs."""
    responses = engine.responses.container
    if engine.loops is None or not engine.loops.aggregates.any:
        responses.apart[:] = 0
        responses.others = None
        return
    engine.world.table[schema.AGGREGATES_AT] = engine.loops.aggregates.container.address
    responses.others, responses.others_of = answer_tree, engine.world.address
    loops = engine.loops.container
    loops.answer, loops.answer_of = answer_row, engine.world.address
