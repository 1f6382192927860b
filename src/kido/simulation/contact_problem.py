"""The arrays of a world's contact problem: their sizes, what the solvers are told, and room for more."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from kido.constraints.deferred_rows import make_deferred_rows
from kido.constraints.impact_time import CENTRE, STRAIGHT, UNSTEADY
from kido.constraints.inertia import fill_inertia
from kido.constraints.row_origins import ROW_ORIGINS
from kido.constraints.tree_newton import tree_newton_island
from kido.jit import Struct
from kido.joints import ActuatorType, JointKind
from kido.kernels.free_lanes import NOT_FREE
from kido.kernels.responses import ALWAYS, IN_ROWS, NEVER, ONLY_APART
from kido.kernels.touched_bodies import TOUCHED, new_touched
from kido.simulation.feature import Feature
from kido.simulation.options import CHOICES, WORLD_SETTINGS, StepOptions, write_options
from kido.solvers import body_newton_island, gauss_seidel_island, new_problem

CORRECTION = ("erp", "slop", "max_correction", "skin", "skin_share")  # settings that the solvers do not know
MAX_ROOM = 1 << 18  # entries that are made before they are needed
MAX_COORDINATES = 300  # of a skeleton whose mass matrix solvers may factorize


class Stepped(Protocol):
    """What a contact problem is made for: an engine."""

    tree: Any
    stepped: Any
    data: Any
    responses: Any
    surfaces: Any
    tree_newton: Any
    touched: Any
    options: StepOptions

    @property
    def features(self) -> list[Feature]: ...

    @property
    def extra_dofs(self) -> int: ...


def list_joints(engine: Stepped, row_origins: ROW_ORIGINS) -> None:
    """Which coordinates may have rows in the contact problem, and of which trees solvers may do without rows."""
    t = engine.tree
    limits = (t.lower, -t.upper, t.velocity_lower, -t.velocity_upper)
    rows = (t.coulomb > 0.0) | np.isin(t.actuator, (ActuatorType.SERVO, ActuatorType.MIMIC, ActuatorType.POSITION))
    found = np.flatnonzero(rows | np.any([limit > -np.inf for limit in limits], axis=0))
    row_origins.joint_dof[: len(found)] = found
    row_origins.num_joint_dofs = len(found)
    engine.responses.container.deferrable[: len(t.tree_mobile)] = _deferrable(engine, found)


def _deferrable(engine: Stepped, found: np.ndarray) -> np.ndarray:
    """`RESPONSES.deferrable` of trees; `found`: coordinates that may have rows."""
    t = engine.tree
    turned = found[t.kind[t.body_of_dof[found]] == JointKind.FREE]
    others = np.concatenate([np.flatnonzero(t.prescribed), np.flatnonzero(t.actuator == ActuatorType.MIMIC), turned])
    fits = (np.diff(t.tree_dof) > 0) & (engine.extra_dofs == 0)
    fits[t.tree_of_body[t.body_of_dof[others]]] = False
    fits &= engine.responses.container.free[t.tree_body[:-1].clip(max=max(len(t.parent) - 1, 0))] == NOT_FREE
    bound = _bound_trees(engine)
    answers = np.where(fits, ALWAYS, NEVER)
    answers[bound] = np.where(fits[bound], ONLY_APART, IN_ROWS)
    return answers


def _bound_trees(engine: Stepped) -> list[int]:
    """Trees that features hold together."""
    return [tree for feature in engine.features for tree in feature.bound_trees]


def steady_trees(engine: Stepped) -> np.ndarray:
    """What impacts at their time may move of each tree: `ROW_ORIGINS.steady`."""
    t, steady = engine.tree, np.zeros(int(engine.tree.first_dof[-1]), np.int64)
    free = engine.responses.container.free
    for first, last in zip(t.tree_body[:-1], t.tree_body[1:], strict=True):
        begin, end = t.first_dof[first], t.first_dof[last]
        if begin == end or t.prescribed[begin:end].any():
            continue
        kinds = {int(kind) for kind in t.kind[first:last]} - {int(JointKind.WELD)}
        one = end - begin == 1 and kinds <= {JointKind.REVOLUTE, JointKind.SCREW}
        if free[first] != NOT_FREE:
            steady[begin] = CENTRE
        elif one or kinds <= {JointKind.PRISMATIC, JointKind.TRANSLATIONAL}:
            steady[begin] = STRAIGHT
    return steady


def has_unsteady(tree: Any, steady: np.ndarray) -> bool:
    """Whether there are trees whose impacts move a step's middle (`kido.simulation.middle`), by `steady_trees`."""
    first = tree.first_dof[tree.tree_body]
    moves = first[:-1] < first[1:]
    return bool((steady[first[:-1][moves]] == UNSTEADY).any())


def _inertia_sizes(engine: Stepped) -> np.ndarray:
    """Entries of the mass matrix of each skeleton; none where it would be too large to be worth its cost."""
    lengths = np.diff(engine.tree.tree_dof)
    return np.where(lengths <= MAX_COORDINATES, lengths**2, 0)


def has_robots(engine: Stepped) -> bool:
    """Whether some skeleton is to be solved along its tree: it has joints, and nothing else holds it together."""
    bound = any(feature.couples_bodies for feature in engine.features)
    t, free = engine.tree, engine.responses.container.free
    return not bound and any(
        t.tree_mobile[k] and t.tree_dof[k] < t.tree_dof[k + 1] and free[t.tree_body[k]] == NOT_FREE
        for k in range(len(t.tree_mobile))
    )


def likely_solvers(engine: Stepped) -> list[Any]:
    """What is likely to solve islands by the default: sweeps, and Newton's method, along the trees of robots."""
    robots = (np.diff(engine.tree.tree_body) > 1) & (engine.tree.tree_mobile != 0)
    if robots.any() and not any(feature.couples_bodies for feature in engine.features):
        return [gauss_seidel_island, tree_newton_island, make_deferred_rows]
    return [gauss_seidel_island, body_newton_island]


def place_inertias(engine: Stepped, problem: Any) -> None:
    """Tell the solvers where mass matrices lie and what fills them."""
    starts = engine.tree.tree_dof[:-1]
    sizes = _inertia_sizes(engine)
    known = sizes > 0
    problem.inertia_at[starts[known]] = (1 + np.cumsum(sizes) - sizes)[known]
    problem.inertia_at[starts[_bound_trees(engine)]] = 0
    problem.body_newton, problem.fill_inertia = body_newton_island, fill_inertia
    problem.tree, problem.data = engine.stepped, engine.data
    problem.tree_newton = tree_newton_island if has_robots(engine) else None
    problem.make_rows = make_deferred_rows if has_robots(engine) else None
    problem.tree_newton_of = engine.tree_newton.address


def place_responses(engine: Stepped, problem: Any, row_origins: ROW_ORIGINS) -> None:
    """Tell assembly and solvers where responses of bodies lie."""
    row_origins.responses = problem.responses = engine.responses.container
    engine.responses.container.deferred[:] = 0
    row_origins.regularized, row_origins.touched = engine.tree_newton.regularized, engine.touched


def first_room(tree: Struct) -> tuple[int, int]:
    """Entries of responses, and of rows, that robots are likely to need: a step that enlarges arrays takes long."""
    bodies, dofs = np.diff(tree.tree_body), np.diff(tree.tree_dof)
    robots = (bodies > 1) & (tree.tree_mobile != 0)
    responses = np.where(robots, (12 * bodies + dofs) * dofs, 0).sum()
    rows = np.where(robots, (3 * np.minimum(4 * bodies, 40) + dofs) * dofs, 0).sum()
    return int(min(responses, MAX_ROOM)), int(min(rows, MAX_ROOM))


def touched_bodies(tree: Struct) -> TOUCHED:
    """Room for the equations of what is touched, of each robot."""
    robots = (np.diff(tree.tree_body) > 1) & (np.diff(tree.tree_dof) > 0)
    made = new_touched(trees=max(len(robots), 1), bodies=max(len(tree.parent), 1), slots=max(int(robots.sum()), 1))
    made.slot[:] = -1
    made.slot[np.flatnonzero(robots)] = np.arange(robots.sum())
    return made


class Arrays(NamedTuple):
    """A contact problem, and where its rows come from."""

    problem: Any
    row_origins: ROW_ORIGINS

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Room for blocks, rows, numbers of J, and extra segments."""
        p = self.problem
        return len(p.kind), len(p.bias), len(p.J), len(p.more_dof)


def new_arrays(
    engine: Stepped, blocks: int, rows: int, pool: int, extras: int = 0, keep: Arrays | None = None
) -> Arrays:
    """Arrays of these sizes for an engine.

    Args:
        keep: those whose warm starts and free velocities they take over.
    """
    dofs = int(engine.tree.first_dof[-1])
    options = {k: v for k, v in engine.options.settings.items() if k not in CORRECTION and k not in CHOICES}
    sizes = {**options, **engine.options.solver.sizes()}
    dofs += engine.extra_dofs
    problem = new_problem(
        blocks=blocks,
        rows=rows,
        dofs=dofs,
        pool=pool,
        extras=extras,
        inertias=int(_inertia_sizes(engine).sum()),
        **sizes,
    )
    place_inertias(engine, problem)
    engine.options.solver.choose(problem)
    row_origins = ROW_ORIGINS(blocks=blocks, dofs=int(engine.tree.first_dof[-1]))
    list_joints(engine, row_origins)
    place_responses(engine, problem, row_origins)
    row_origins.surfaces = engine.surfaces.container
    for name in WORLD_SETTINGS:
        setattr(row_origins, name, engine.options.settings[name])
    write_options(row_origins, engine.options.settings)
    if keep is not None:
        problem.u_free[:] = keep.problem.u_free
        row_origins.time_step, row_origins.middle[0] = keep.row_origins.time_step, keep.row_origins.middle[0]
        row_origins.limit_impulse[:] = keep.row_origins.limit_impulse
        row_origins.friction_impulse[:] = keep.row_origins.friction_impulse
        row_origins.actuator_impulse[:] = keep.row_origins.actuator_impulse
    return Arrays(problem, row_origins)


def larger_arrays(engine: Stepped, old: Arrays) -> Arrays:
    """Arrays with room for what was found to be needed; enlarges the engine's responses too."""
    row_origins = old.row_origins
    if row_origins.responses_needed > len(engine.responses.container.rows):
        engine.responses = engine.responses.with_room(pool=int(1.5 * row_origins.responses_needed))
    need = (row_origins.blocks_needed, row_origins.rows_needed, row_origins.pool_needed, row_origins.extras_needed)
    return new_arrays(engine, *(max(h, int(1.5 * n)) for h, n in zip(old.sizes, need, strict=True)), keep=old)
