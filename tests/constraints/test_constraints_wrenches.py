"""Contacts as wrenches on bodies: the rows made later are those of the assembly, and what is known without them agrees.

Truth: the rows and responses that the assembly makes where no solver does without them, bit for bit; J Y and J u_free
for own compliances and free velocities; the same steps by solvers in rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import closed_legs
import kido
import scenes
from kido import models
from kido.constraints.assemble import SURFACES_WANTED
from kido.jit import JIT_DISABLED, callback
from kido.simulation.threads import StepThreads
from kido.solvers import begin_islands, project_positions
from kido.solvers.position import FIRST_SWEEPS, STOP_TOLERANCE
from kido.solvers.problem import BOUNDED, block_segments, problem_matrices
from scenes import pose

ROUNDING = 1e-10  # relative, of two ways to the same numbers: inertias of a robot's bodies differ by up to 1e4


@callback
def refuse(problem, island, cap, unused):
    """Newton's method along a tree, of which no island is one: all of them fall back."""
    return -1


def robot_world(ground: kido.Surface | None = None, name: str = "quadruped", drop: float = 0.0) -> kido.World:
    world = kido.World()
    world.add_ground(friction=0.7)
    if ground is not None:
        world.skeleton("ground").bodies[0].shapes[0].surface = ground
    robot = world.add_skeleton(kido.load(models.path(name)))
    robot.self_collision = False
    q = robot.positions.copy()
    q[0], q[5] = 0.2, q[5] - drop
    robot.positions = q
    return world


def driven() -> kido.World:
    """Rows of all kinds that joints may have beside contacts."""
    world = robot_world()
    joints = [joint for joint in world.skeletons[-1].joints if joint.num_dofs == 1]
    for k, joint in enumerate(joints):
        dof = joint.dofs[0]
        if k % 4 == 0:
            joint.actuator_type = "servo"
            joint.force_lower_limit, joint.force_upper_limit = [(-40.0, 40.0), (-np.inf, np.inf)][k % 8 == 0]
        elif k % 4 == 1:
            joint.position_gain, joint.velocity_gain = 80.0, 2.0
            joint.actuator_type = "position"
        elif k % 4 == 2:
            dof.coulomb_friction = 0.3
        else:
            dof.velocity_lower_limit, dof.velocity_upper_limit = -2.0, 3.0
        dof.damping = 0.05
    return world


def pendulum(contacts: int = 1) -> kido.World:
    """An arm that lies on the ground with one ball, or more."""
    arm = kido.Skeleton("arm")
    for k in range(2):
        body = arm.add_body(
            f"link{k}",
            joint=kido.RevoluteJoint(
                f"hinge{k}", axis=(0, 1, 0), transform_from_parent=pose((0.4 * k, 0, 0.3 * (1 - k)))
            ),
            inertia=kido.Inertia(1.0, com=(0.2, 0, 0), moment=0.02 * np.eye(3)),
        )
    for k in range(contacts):
        body.add_shape(kido.Sphere(0.05), pose((0.4 - 0.1 * k, 0, 0)), friction=0.5)
    return scenes.world(arm, friction=0.5)


def legs(driven: bool = False) -> kido.World:
    """Loops that are aggregates; feet of planar legs, beside each other, move along the legs' axes together."""
    world, robot, _ = closed_legs.legs_world()
    closed_legs.held_by_springs(robot)
    for node in list(robot.body("trunk").shapes):  # only feet touch
        robot.body("trunk").remove_shape(node)
    if driven:
        joint = {j.name: j for j in robot.joints}
        joint["fr_back_hip"].coulomb_friction = joint["fr_fore_knee"].coulomb_friction = 0.2
        for name in ("hl_fore_hip", "hl_back_knee"):
            joint[name].actuator_type = kido.ActuatorType.SERVO
            joint[name].force_limit = 5.0
        joint["fl_fore_knee"].velocity_upper_limit = 0.5
        joint["hr_fore_hip"].position_lower_limit = float(joint["hr_fore_hip"].positions[0]) - 0.1
    return world


WORLDS: dict[str, Callable[[], kido.World]] = {
    "humanoid": lambda: robot_world(name="humanoid"),
    "slippery": lambda: robot_world(kido.Surface(0.02)),
    "ellipse": lambda: robot_world(kido.Surface(0.6, 0.2, (1.0, 1.0, 0.0), slip=1e-4, secondary_slip=3e-4)),
    "belt": lambda: robot_world(kido.Surface(0.6, surface_velocity=(0.5, 0, 0))),
    "spring": lambda: robot_world(kido.Surface(0.6, softness=kido.SpringDamper(2e5, 300.0))),
    "time": lambda: robot_world(kido.Surface(0.6, softness=kido.TimeConstant(0.01, 1.0))),
    "erp": lambda: robot_world(kido.Surface(0.6, softness=kido.ErpCfm(0.2, 1e-5))),
    "driven": driven,
    "deep": lambda: robot_world(drop=1e-3),
    "one": pendulum,
    "two": lambda: pendulum(2),
    "legs": legs,
    "driven legs": lambda: legs(driven=True),
}  # fmt: skip


def assembled(world: kido.World, deferring: bool = True):
    """The problem of the step to come, assembled and divided; its rows are deferred if they may be."""
    problem, w = world.engine.problem, world.engine.world
    if not deferring:
        problem.tree_newton = None
    assert w.predict(w) == w.detect(w) == 0
    while (status := w.assemble(w)) != 0:
        assert status == SURFACES_WANTED
        world.engine.continue_assembly(status)
    begin_islands(problem.address, 0, 0, 0)
    return problem


def touching(name: str, steps: int = 700) -> kido.World:
    """A world in which the robot touches the ground, after 700 steps lying on it, and is pushed about."""
    world = WORLDS[name]()
    world.step(steps if name != "deep" else 1)
    for _ in range(200):  # on soft ground it leaps
        if len(world.contacts) == 0:
            world.step()
    robot = world.skeletons[-1]
    robot.velocities = robot.velocities + np.random.default_rng(3).normal(size=robot.num_dofs) * 0.05
    assert len(world.contacts) > 0
    return world


@pytest.mark.parametrize("steps", [60, 700])
@pytest.mark.parametrize("name", list(WORLDS))
def test_rows_made_later_are_those_of_the_assembly(name, steps):
    world = touching(name, steps)
    twin = world.clone()
    later, now = assembled(world), assembled(twin, deferring=False)
    blocks, rows = later.num_blocks, later.num_rows
    assert blocks == now.num_blocks > 0 and later.num_islands == now.num_islands
    assert later.deferred[:blocks].all() and not now.deferred[:blocks].any()
    compliance, free = later.W[:blocks].copy(), later.free[:rows].copy()
    for island in range(later.num_islands):
        assert later.make_rows(later, island) == np.diff(later.island_start[island : island + 2])
    assert not later.deferred[:blocks].any()
    for b in range(blocks):
        n = 1 if later.kind[b] == BOUNDED else 3
        first = int(later.row[b])
        W, v = np.diag(later.compliance[first : first + n]), np.zeros(n)
        assert block_segments(later, b) == block_segments(now, b)
        for dof, length, at in block_segments(later, b):
            here = slice(at, at + n * length)
            assert np.array_equal(later.J[here], now.J[here]) and np.array_equal(later.Y[here], now.Y[here])
            J, Y = later.J[here].reshape(n, length), later.Y[here].reshape(n, length)
            W += J @ Y.T
            v += J @ later.u_free[dof : dof + length]
        upper = np.triu_indices(n)
        np.testing.assert_allclose(compliance[b, : len(upper[0])], W[upper], rtol=0, atol=ROUNDING * W.max())
        np.testing.assert_allclose(free[first : first + n], v, rtol=0, atol=ROUNDING * max(1.0, np.abs(v).max()))
    for field in ("bias", "compliance", "impulse"):
        a, b = getattr(later, field)[:rows], getattr(now, field)[:rows]
        np.testing.assert_allclose(a, b, rtol=ROUNDING, atol=1e-12 * max(1.0, np.abs(b).max()), err_msg=field)
    single = now.kind[:blocks] == BOUNDED
    for field in ("kind", "mu", "position_bias", "restitution", "floor", "lower", "upper"):
        a, b = getattr(later, field)[:blocks], getattr(now, field)[:blocks]
        which = single if field in ("lower", "upper") else slice(None)
        np.testing.assert_allclose(a[which], b[which], rtol=ROUNDING, err_msg=field)


@pytest.mark.parametrize("steps", [60, 700])
@pytest.mark.parametrize("name", list(WORLDS))
def test_equations_of_few_touched_bodies_are_those_of_all_rows(name, steps):
    """C Omega C^T = J M^-1 J^T over all rows, C the rows by columns of wrenches and coordinates."""
    world = touching(name, steps)
    problem, engine = assembled(world), world.engine
    x, origins, tree = engine.touched, engine.row_origins, len(world.skeletons) - 1
    slot, columns = int(x.slot[tree]), int(x.number[tree])
    bodies = x.body[slot, : x.num_bodies[slot]]
    points, dofs = x.contacts[bodies], x.dof[slot, : x.num_dofs[slot]]
    assert columns in (0, 3 * np.sum(points == 1) + 6 * np.sum(points > 1) + len(dofs))
    if columns == 0:
        assert 3 * len(bodies) + len(dofs) > 8
        return
    for island in range(problem.num_islands):
        problem.make_rows(problem, island)
    matrix, _ = problem_matrices(problem)
    C = np.zeros((problem.num_rows, columns))
    for b in range(problem.num_blocks):
        row = int(problem.row[b])
        if problem.kind[b] == BOUNDED:
            at = columns - len(dofs) + list(dofs).index(origins.index[b])
            C[row, at] = origins.sign[b]
        else:
            body = origins.body[b]
            at, first = x.place[body], 3 if x.contacts[body] == 1 else 0
            C[row : row + 3, at : at + 6 - first] = origins.wrench[b].reshape(3, 6)[:, first:]
    omega = x.Omega[slot, :columns, :columns]
    np.testing.assert_allclose(omega, omega.T, rtol=0, atol=ROUNDING * np.abs(omega).max())
    soft = np.diag(problem.compliance[: problem.num_rows])
    np.testing.assert_allclose(C @ omega @ C.T + soft, matrix, rtol=0, atol=ROUNDING * np.abs(matrix).max())


@pytest.mark.parametrize("name", [name for name in WORLDS if "legs" not in name])  # aggregates have no such sweeps
def test_few_touched_bodies_are_solved_as_by_sweeps(name):
    """The same iterations; dense equations lose digits to the penalty's square, 1e6, not more."""
    world = touching(name, 60)  # robots still stand on their feet
    few = sweeps = 0
    for _ in range(20):
        twin = world.clone()
        twin.engine.touched.slot[:] = -1
        world.step()
        twin.step()
        few += int(world.engine.touched.number.max())
        sweeps += int(twin.engine.touched.number.max())
        u, v = world.skeletons[-1].velocities, twin.skeletons[-1].velocities
        np.testing.assert_allclose(u, v, rtol=0, atol=1e-7 * max(1.0, np.abs(v).max()))
        assert world.report.iterations == twin.report.iterations
        world.step(9)
    assert sweeps == 0 and (few > 0 or name == "driven")


@pytest.mark.parametrize("name", list(WORLDS))
def test_islands_that_fall_back_end_where_rows_from_the_start_do(name):
    """States after a step: two ways in rows to the same numbers, and along the tree to the solvers' tolerance."""
    world = touching(name)
    kinds = []
    for how in ("along the tree", "falls back", "rows"):
        twin = world.clone()
        if how != "along the tree":
            twin.engine.problem.tree_newton = refuse if how == "falls back" else None
        twin.step()
        assert twin.report.converged and twin.report.residual <= 1e-5
        robot = twin.skeletons[-1]
        kinds.append(np.concatenate([robot.velocities, twin.constraint_forces(robot) * twin.time_step]))
    scale = max(1.0, np.abs(kinds[2]).max())
    np.testing.assert_allclose(kinds[1], kinds[2], rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(kinds[0], kinds[2], rtol=0, atol=2e-4 * scale)


def test_a_single_contact_is_solved_to_rounding():
    world = touching("one")
    twin = world.clone()
    twin.engine.problem.tree_newton = None
    for w in (world, twin):
        w.step()
        assert w.report.residual < 1e-12
    np.testing.assert_allclose(world.skeletons[-1].velocities, twin.skeletons[-1].velocities, rtol=0, atol=1e-12)
    np.testing.assert_allclose(world.contacts.forces, twin.contacts.forces, rtol=1e-9, atol=1e-9)


def bouncing() -> kido.World:
    world = robot_world()
    for body in world.skeletons[-1].bodies:
        for node in body.shapes:
            node.restitution = 0.5
    world.skeleton("ground").bodies[0].shapes[0].restitution = 0.5
    return world


def prescribed() -> kido.World:
    world = robot_world()
    next(j for j in world.skeletons[-1].joints if j.num_dofs == 1).actuator_type = "velocity"
    return world


def mixed() -> kido.World:
    world = robot_world()
    world.add_skeleton(scenes.free(kido.Box((0.2, 0.2, 0.2)), 2.0, (0, 0, 0.9)))
    return world


def two_robots() -> kido.World:
    world = robot_world()
    other = kido.load(models.path("quadruped"))
    other.name = "other"
    q = other.positions.copy()
    q[5] += 0.35
    other.positions = q
    world.add_skeleton(other)
    return world


def pulled_legs() -> kido.World:
    """A spring between legs is a row that is added after the assembly, so that those of contacts are made too."""
    world = legs()
    bodies = [world.skeletons[-1].body(f"{leg}_fore_shank") for leg in ("fl", "hr")]
    world.add_constraint(kido.DistanceConstraint(*bodies, stiffness=300.0, damping=2.0, name="spring"))
    return world


@pytest.mark.parametrize(
    ("make", "deferred"),
    [
        (bouncing, False),
        (prescribed, False),
        (mixed, None),
        (two_robots, False),
        (lambda: robot_world(kido.Surface(0.6, rolling_friction=0.01)), False),
        (robot_world, True),
        (legs, True),
        (pulled_legs, True),
    ],
)
def test_only_trees_that_newton_may_follow_are_deferred(make, deferred):
    """Others are solved in rows that the assembly makes; worlds of both go from one to the other, step by step."""
    world = make()
    seen = set()
    for _ in range(30):
        world.step(20)
        assert world.report.residual < 1e-4
        twin = world.clone()
        twin.engine.problem.tree_newton = None
        world.step()
        twin.step()
        for a, b in zip(world.skeletons, twin.skeletons, strict=True):
            scale = max(1.0, np.abs(b.velocities).max(initial=0.0))
            np.testing.assert_allclose(a.velocities, b.velocities, rtol=0, atol=2e-3 * scale)
        responses = world.engine.responses.container
        if len(world.contacts):
            seen.add(bool(responses.deferred[: len(world.skeletons)].any()))
    assert seen == ({True, False} if deferred is None else {deferred})


def test_a_chosen_solver_has_rows():
    world = touching("humanoid")
    seen = []

    def look(island: kido.solvers.IslandProblem) -> None:
        np.testing.assert_allclose(island.jacobian @ island.response.T, island.response @ island.jacobian.T, atol=1e-9)
        seen.append(len(island.jacobian))

    world.solver = kido.solvers.CustomSolver(look)
    world.step()
    assert sum(seen) > 10
    for solver in (kido.solvers.PGS(), kido.solvers.ADMM()):
        world.solver = solver
        world.step()
        assert not world.engine.problem.deferred[: world.engine.problem.num_blocks].any()


@pytest.mark.skipif(JIT_DISABLED, reason="needs compiled threads")
@pytest.mark.parametrize("falls_back", [False, True])
def test_bits_do_not_depend_on_threads(falls_back):
    first = kido.World()
    first.add_ground()
    for k in range(12):
        robot = kido.load(models.path("quadruped"))
        robot.name = f"robot{k}"
        q = robot.positions.copy()
        q[0], q[4] = 0.1 * k, 2.0 * k
        robot.positions = q
        first.add_skeleton(robot)
    first.step(300)
    found = []
    for threads in (1, 3):
        world = first.clone()
        world.threads = threads
        if falls_back:
            world.engine.problem.tree_newton = refuse
        world.step(40)
        assert world.engine.feature(StepThreads).is_active == (threads > 1)
        assert bool(world.engine.problem.tree_newton.address == refuse.address) == falls_back
        found.append(np.concatenate([s.positions for s in world.skeletons]))
    assert np.array_equal(*found)


def test_positions_are_corrected_in_row_velocities():
    """0 <= p, J u + bias >= 0 to the sweeps' tolerance and p (J u + bias) = 0, with u = sum Y p over the normals."""
    world = robot_world(name="humanoid")
    robot = world.skeletons[-1]
    q = robot.positions.copy()
    q[0], q[1], q[5] = 0.0, 0.02, q[5] - 0.003
    robot.positions = q
    problem, w = assembled(world), world.engine.world
    w.solve(w)
    assert problem.deferred[: problem.num_blocks].all()
    assert project_positions(problem.address, w.address, 0, 0) > FIRST_SWEEPS
    assert not problem.deferred[: problem.num_blocks].any()
    u, largest = np.zeros(problem.num_dofs), -problem.position_bias[: problem.num_blocks].min()
    assert largest > 0.1
    velocities = []
    for b in range(problem.num_blocks):
        v = problem.position_bias[b]
        for dof, length, at in block_segments(problem, b):
            u[dof : dof + length] += problem.Y[at : at + length] * problem.position_impulse[b]
            v += problem.J[at : at + length] @ problem.u_position[dof : dof + length]
        velocities.append(v)
    np.testing.assert_allclose(problem.u_position, u, rtol=0, atol=1e-12 * np.abs(u).max())
    p, v = problem.position_impulse[: problem.num_blocks], np.array(velocities)
    assert (p >= 0.0).all() and p.max() > 0.0
    assert v.min() > -20 * STOP_TOLERANCE * largest
    assert np.abs(v[p > 0.0]).max() < 20 * STOP_TOLERANCE * largest
