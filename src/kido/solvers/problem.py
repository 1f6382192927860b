"""The one description of a contact and constraint problem that every solver reads and writes.

Unknown are the impulses of *blocks* acting on a concatenated generalized velocity u:

    u = u_free + sum_blocks Y p,    v = J u + bias + compliance * p      (v, p: the block's rows)

* kind CONTACT: three rows (normal, two tangents), exact Coulomb cone. With mu the coefficient of friction,
  p_n >= 0, |p_t| <= mu p_n, v_n >= 0, p_n v_n = 0 and friction opposes slip: v_t = -lambda p_t, lambda >=
  0, lambda (mu p_n - |p_t|) = 0. `floor` raises the lower bound of p_n (restitution), 0 by default.
* kind SPIN_BLOCK: three rows (angular velocities about the normal and the two tangents) of the contact block
  `partner`, which comes directly before it. Torsional and rolling friction: |p_n| <= `torsion` times, and
  |p_t| <= `mu` times the contact's normal impulse, both [m], each opposed to its angular velocity, which is
  zero below the bound.
* kind BOUNDED: one row; lower <= p <= upper and v >= 0 at lower, v <= 0 at upper, v = 0 between. A joint
  limit has bounds [0, inf), Coulomb joint friction [-f h, f h], an equality (-inf, inf).

A block touches one or two *segments* of u: `dof_a`, `len_a` and `dof_b`, `len_b`, length 0 where that
side is static. A segment is a whole skeleton (or free body): Y is M^-1 J^T restricted to it, and a
contact of a skeleton with itself has one segment. Jacobian and response rows lie in the pools `J` and `Y`
at `at_a + r*len_a + k` and `at_b + r*len_b + k`. Of a block that is `deferred` they are made where a solver asks for
them (`kido.solvers.rows.complete`): what Newton's method along a tree needs is known without.

A block that touches more than two segments has `more_count` *extra* ones, entries `more_first`, `more_first`
+ 1, ... of `more_dof`, `more_len` and `more_at`, with rows in the pools just so. No two segments of a block are
the same. Whoever fills a block sets `more_count`, 0 in the usual case.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from kido.errors import ModelError
from kido.jit import Struct, floats, integer, integers, number, reference, stage
from kido.kernels.responses import RESPONSES
from kido.tree.schema import DATA, TREE

CONTACT = 0
BOUNDED = 1
SPIN_BLOCK = 2

# Status of an island, and of the problem (the largest of its islands).
CONVERGED = 0  # residual below tolerance
FELL_BACK = 1  # residual below tolerance, reached by the fall-back solver
AT_CAP = 2  # stopped at the cap of iterations; the residual says how good it is
PROBLEM_NOT_FINITE = 3  # data or result not finite: impulses of the island are zero, its velocity is the free one

# How the solver that was chosen in place of the default ended on an island (`island_ended`).
MEASURED = 0  # it does not say: its certified residual tells
OWN_SOLVED = 1  # its own problem, with its own model of friction, is solved
CAPPED = 2  # stopped at its cap of iterations; what it has is used
TOO_LARGE = 3  # this and what follows are failures: the default solver takes over
RAY = 4  # Lemke: the path goes to infinity, as where no impulses exist
STUCK = 5  # pivots without end, or none that is large enough
INACCURATE = 6  # rounding left too large a defect, or bounds and normal impulses do not agree
DECLINED = 7  # a user's solver gave no impulses, or such that are not finite
UNKNOWN_KIND = 8  # the island has blocks that the solver does not know

MAX_MEMORY = 8
MAX_PARTS, ROW_DOFS = 16, 128  # largest island, in segments and DOFs, that is swept in row velocities
PLAN_ENTRIES, VALUES_PER_DOF = 128, 160  # room of a sparse factorization per DOF


_SETTINGS: list[tuple[Any, float]] = []


def setting(default: float, unit: str = "", doc: str = "") -> Any:
    """A number by which users tune the solvers, and its value in new problems (`DEFAULT_SETTINGS`)."""
    field = number(unit, doc)
    _SETTINGS.append((field, default))
    return field


class PROBLEM(Struct):
    # Set by whoever fills the problem; islands are counted by `build_islands`.
    num_blocks = integer()
    num_rows = integer()
    num_dofs = integer()
    num_islands = integer()
    num_extras = integer(doc="extra segments of blocks")
    # Solvers of an island: (problem, island, cap of iterations) -> iterations.
    sweeper = stage(doc="`gauss_seidel_island` or another like it", rare=True)
    fallback = stage(
        doc="where that stagnates, for islands that fit into `matrix`: `admm_island`; may be unset", rare=True
    )
    chosen = stage(doc="a solver to try first, see `kido.solvers.Solver.choose`; may be unset")
    body_newton = stage(doc="Newton's method where `inertia` is known: `body_newton_island`; may be unset", rare=True)
    tree_newton = stage(doc="Newton's method for islands of one robot, which returns -1 for others; may be unset")
    tree_newton_of = integer(doc="address of the struct that it reads")
    make_rows = stage(doc="rows of an island's blocks that are `deferred`: (problem, island); may be unset")
    fill_inertia = stage(doc="fills `inertia` of the segment that starts at a DOF; unset: it is filled already")
    tree = reference(TREE, doc="what `fill_inertia` reads")
    data = reference(DATA, doc="the same")
    responses = reference(RESPONSES, doc="the same; may be unset")
    given = integer(doc="1: `impulse` and `island_ended` hold a user's solution, found in Python")
    # Parameters of the chosen solver.
    chosen_cap = integer(doc="most iterations of an island")
    chosen_max_rows = integer(doc="largest island that it is asked for")
    friction_directions = integer(doc="of Lemke's friction polygon")
    relaxation = number(doc="of projected Gauss-Seidel")
    change_tolerance = number(doc="relative change of impulses in a sweep at which projected Gauss-Seidel stops")
    refuses_spin = integer(doc="1: it knows no rolling and torsional friction")
    # Settings of the default solver.
    tolerance = setting(1e-6, doc="relative natural-map residual asked of an island of at most small_rows rows")
    tolerance_large = setting(1e-4, doc="and of a larger one")
    newton_tolerance = setting(1e-9, doc="residual for which Newton's method does one iteration more, small island")
    speed_tolerance = setting(1e-4, doc="largest defect as a speed, relative to the fastest approach of the island")
    speed_tolerance_large = setting(1e-2, doc="the same of a larger one")
    acceptance = setting(10.0, doc="factor of tolerances within which a small island that stopped at a cap is solved")
    small_rows = setting(150, doc="rows up to which an island counts as small, and may go to ADMM")
    sweeps = setting(120, doc="cap of Gauss-Seidel sweeps, small island")
    sweeps_large = setting(100, doc="and large")
    first_sweeps = setting(20, doc="cap of sweeps before Newton's method in body space, where masses are known")
    newton_steps = setting(60, doc="cap of its iterations")
    newton_rows = setting(3000, doc="largest island, in rows, for which it is used")
    check_every = setting(4, doc="sweeps between residuals when not accelerated")
    anderson = setting(5, doc="memory of the acceleration (at most MAX_MEMORY); 0: none")
    admm_iterations = setting(800, doc="cap of its iterations")
    admm_relaxation = setting(1.6, doc="factor of its steps")
    admm_penalty = setting(0.01, doc="first penalty, relative to the largest eigenvalue of the scaled compliance")
    position_sweeps = setting(10, doc="cap of sweeps of the position correction")
    restitution_speed = setting(0.05, "m/s", doc="approach below which no contact bounces")
    restitution_sweeps = setting(200, doc="cap of sweeps of an impact's second phase")
    kind = integers("blocks", doc="CONTACT, BOUNDED or SPIN_BLOCK")
    row = integers("blocks", doc="first row of the block")
    dof_a = integers("blocks", doc="first DOF of the first segment")
    len_a = integers("blocks", doc="its number of DOFs, 0 if static")
    at_a = integers("blocks", doc="where its rows start in J and Y")
    dof_b = integers("blocks", doc="first DOF of the second segment")
    len_b = integers("blocks", doc="its number of DOFs, 0 if static")
    at_b = integers("blocks", doc="where its rows start in J and Y")
    more_first = integers("blocks", doc="first of the block's extra segments")
    more_count = integers("blocks", doc="number of its extra segments, usually 0")
    more_dof = integers("extras", doc="first DOF of an extra segment")
    more_len = integers("extras", doc="its number of DOFs, 0 if static")
    more_at = integers("extras", doc="where its rows start in J and Y")
    mu = floats("blocks", doc="coefficient of friction of a contact; of rolling friction [m]")
    torsion = floats("blocks", unit="m", doc="coefficient of torsional friction of a spin block")
    partner = integers("blocks", doc="the contact block of a spin block, directly before it")
    lower = floats("blocks", unit="N s", doc="lower impulse bound of a bounded row")
    upper = floats("blocks", unit="N s", doc="upper impulse bound of a bounded row")
    floor = floats("blocks", unit="N s", doc="lower bound of a contact's normal impulse, usually 0")
    restitution = floats("blocks", doc="coefficient of restitution of a contact, 0 to 1")
    position_bias = floats("blocks", unit="m/s", doc="bias of the position correction, negative to separate")
    deferred = integers("blocks", doc="1: W, step and free are there, J and Y are not: `make_rows` makes them")
    bias = floats("rows", unit="m/s", doc="added to the row velocity")
    compliance = floats("rows", unit="m/(N s)", doc="row velocity per own impulse (softness), usually 0")
    J = floats("pool", doc="Jacobian rows")
    Y = floats("pool", doc="response rows M^-1 J^T")
    free = floats("rows", unit="m/s", doc="velocity without impulses and bias of rows that are deferred")
    u_free = floats("dofs", unit="m/s", doc="velocity without the impulses")
    inertia_at = integers("dofs", doc="at a segment's first DOF: 1 + where its mass matrix lies; 0: unknown")
    inertia = floats("inertias", doc="mass matrices of segments, row after row, as `fill_inertia` leaves them")
    impulse = floats("rows", unit="N s", doc="in: warm start; out: solution")
    u = floats("dofs", unit="m/s", doc="out: velocity with the impulses")
    u_position = floats("dofs", unit="m/s", doc="out: pseudo velocity of the position correction")
    position_impulse = floats("blocks", doc="out: pseudo impulse of each block")
    W = floats("blocks", 6, unit="m/(N s)", doc="out: own compliance nn, n1, n2, 11, 12, 22 with softness")
    step = floats("blocks", unit="N s/m", doc="out: inverse of its mean, 0 if nothing can move")
    island_start = integers("islands", doc="out: first entry of each island in island_block, and the end")
    island_block = integers("blocks", doc="out: blocks, island after island")
    island_row = integers("islands", doc="out: number of rows before each island, and of all")
    island_status = integers("blocks", doc="out: CONVERGED, FELL_BACK, AT_CAP or PROBLEM_NOT_FINITE")
    island_iterations = integers("blocks", doc="out: sweeps and iterations of each island")
    island_residual = floats("blocks", doc="out: relative natural-map residual of each island")
    island_speed = floats("blocks", unit="m/s", doc="out: largest defect of a block as a speed, |r| trace W / 3")
    island_approach = floats("blocks", unit="m/s", doc="out: fastest approach (-normal velocity) without impulses")
    island_power = floats("blocks", unit="J", doc="out: power balance sum p . v of each island")
    island_fallbacks = integers("blocks", doc="out: 1 where another solver than the first was needed")
    island_bounces = integers("blocks", doc="out: 1 where something bounced")
    total_residual = number(doc="out: worst of all islands")
    total_speed = number("m/s", doc="out: the same of island_speed")
    total_power = number("J", doc="out: sum over islands")
    total_status = integer(doc="out: worst of all islands")
    total_iterations = integer(doc="out: sum over islands")
    total_fallbacks = integer(doc="out: islands for which another solver than the first was needed")
    total_bounces = integer(doc="out: islands in which something bounced")
    node = integers("dofs", doc="work: union-find parent of each segment")
    label = integers("dofs", doc="work: island of each union-find root")
    walk = floats("dofs", doc="work: velocity of an iteration")
    direction = floats("dofs", doc="work: and the way it takes")
    momentum = floats("dofs", doc="work: M (walk - u_free)")
    pull = floats("dofs", doc="work: M direction, and the gradient")
    history = floats("memory", "rows", doc="work: past iterates of the acceleration and of ADMM")
    thread = integers(1, doc="number of the thread whose problem this is")
    gram = floats(MAX_MEMORY + 2, MAX_MEMORY + 2, doc="work: normal matrix of the acceleration")
    matrix = floats("dense", "dense", doc="work: compliance of one island, scaled for ADMM")
    factor = floats("dense", "dense", doc="work: its Cholesky factor, or Dantzig's tableau")
    plan = integers("plans", doc="work: segments, structure and order of a sparse factorization")
    values = floats("value_room", doc="work: its numbers")
    row_part = integers(MAX_PARTS, 3, doc="work: first DOF, number of DOFs and place of an island's segments")
    row_dof = integers(ROW_DOFS, doc="work: coordinates that move the rows of a block")
    row_response = floats(ROW_DOFS, "dense", doc="work: responses of one island's rows, side by side")
    island_ended = integers("blocks", doc="out: how that solver ended: MEASURED ... DECLINED")
    row_state = integers("rows", doc="work of Dantzig: where a row is")
    row_normal = integers("rows", doc="work of Dantzig: the island's row of a tangent's normal impulse, or -1")
    tableau = floats("unknowns", "columns", doc="work of Lemke: dictionary; of Dantzig: a linear system")
    unknown = floats("unknowns", 4, doc="work of Lemke: direction, friction and offset of each unknown")
    basis = integers("unknowns", 6, doc="work of Lemke: what each unknown is, and where")
    column = integers("columns", 1, doc="work of Lemke: the variable of each column")


DEFAULT_SETTINGS: dict[str, float] = {field.name: default for field, default in _SETTINGS}

# Fields that an island's solution fills and needs no longer than until its end: one set for each thread.
WORK_FIELDS = (
    *("gram", "matrix", "factor", "plan", "values", "tableau", "unknown", "basis", "column"),
    *("row_part", "row_dof", "row_response", "thread"),
)


def new_problem(
    *,
    blocks: int,
    rows: int,
    dofs: int,
    pool: int,
    extras: int = 0,
    inertias: int = 0,
    small_rows: int = 150,
    dense_rows: int = 0,
    unknowns: int = 0,
    **settings: float,
) -> PROBLEM:
    """Allocate a problem for at most the given numbers of blocks, rows, DOFs and pool entries.

    Args:
        extras: extra segments of blocks.
        inertias: entries of the mass matrices of all segments.
        small_rows: largest island, in rows, that the dense fall-back solver can take (two square matrices
            of that order are allocated).
        dense_rows: the same for another solver that works on dense matrices.
        unknowns: the most unknowns of Lemke's method, or rows of Dantzig's.
        **settings: values that replace DEFAULT_SETTINGS.

    Returns:
        A PROBLEM without blocks, rows and DOFs.

    Raises:
        ModelError: an unknown setting, one that is no number, or a size below zero.
    """
    unknown = set(settings) - set(DEFAULT_SETTINGS)
    if unknown:
        raise ModelError(f"unknown solver settings {sorted(unknown)}; valid are {sorted(DEFAULT_SETTINGS)}")
    for name, value in settings.items():
        if not isinstance(value, numbers.Real) or value != value:
            raise ModelError(f"solver setting {name!r}: expected a number, got {value!r}")
    sizes = {"blocks": blocks, "rows": rows, "dofs": dofs, "pool": pool, "extras": extras, "inertias": inertias,
             "small_rows": small_rows, "dense_rows": dense_rows, "unknowns": unknowns}  # fmt: skip
    for name, value in sizes.items():
        if not isinstance(value, numbers.Integral) or value < 0:
            raise ModelError(f"contact problem: {name}: expected a whole number of at least 0, got {value!r}")
    dense = min(max(small_rows, dense_rows, 1), max(rows, 1))
    problem = PROBLEM(
        blocks=max(blocks, 1),
        rows=max(rows, 1),
        dofs=max(dofs, 1),
        pool=max(pool, 1),
        extras=max(extras, 1),
        inertias=max(inertias, 1),
        plans=PLAN_ENTRIES * max(dofs, 1) + 8 * blocks + 256 if inertias else 1,
        value_room=VALUES_PER_DOF * max(dofs, 1) if inertias else 1,
        islands=max(blocks, 1) + 1,
        memory=2 * MAX_MEMORY + 7,
        dense=dense,
        unknowns=max(unknowns, 1),
        columns=max(unknowns, 1) + 2,
    )
    for name, value in (DEFAULT_SETTINGS | {"small_rows": small_rows} | settings).items():
        setattr(problem, name, value)
    return problem


def worker_problem(problem: PROBLEM, thread: int = 1) -> PROBLEM:
    """The same problem for another thread: all arrays are shared but the work space of `WORK_FIELDS`.

    Islands share no other numbers, so that threads, each with an address of its own, solve different islands at
    the same time, to the same bits as one after the other.
    """
    own = {name: np.zeros_like(getattr(problem, name)) for name in WORK_FIELDS}
    own["thread"][0] = thread
    return problem.sharing(**own)


def block_segments(problem: PROBLEM, block: int) -> list[tuple[int, int, int]]:
    """First DOF, number of DOFs and place in the pools of every moving segment that a block touches."""
    p, b = problem, block
    found = [(p.dof_a[b], p.len_a[b], p.at_a[b]), (p.dof_b[b], p.len_b[b], p.at_b[b])]
    for k in range(int(p.more_first[b]), int(p.more_first[b] + p.more_count[b])):
        found.append((p.more_dof[k], p.more_len[k], p.more_at[k]))
    return [(int(dof), int(length), int(at)) for dof, length, at in found if length > 0]


def problem_matrices(problem: PROBLEM) -> tuple[np.ndarray, np.ndarray]:
    """The problem as dense matrices: v = A p + b over all rows.

    Returns:
        A: compliance J M^-1 J^T plus the softness on the diagonal, (rows, rows); b: free velocity with
        bias, (rows,).
    """
    num_blocks, num_rows, num_dofs = problem.num_blocks, problem.num_rows, problem.num_dofs
    jacobian = np.zeros((num_rows, num_dofs))
    response = np.zeros((num_rows, num_dofs))
    for block in range(num_blocks):
        first = int(problem.row[block])
        for d, n, at in block_segments(problem, block):
            for r in range(1 if problem.kind[block] == BOUNDED else 3):
                begin = at + r * n
                jacobian[first + r, d : d + n] += problem.J[begin : begin + n]
                response[first + r, d : d + n] += problem.Y[begin : begin + n]
    matrix = jacobian @ response.T + np.diag(problem.compliance[:num_rows])
    free = jacobian @ problem.u_free[:num_dofs] + problem.bias[:num_rows]
    return 0.5 * (matrix + matrix.T), free
