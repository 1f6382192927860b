"""Worlds with a chosen solver: slides, stacks, falling scenes, fall-back, users' own solvers, copies, recordings."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from kido.errors import ModelError
from kido.recording.world_description import world_from_dict, world_to_dict
from kido.solvers import (
    ADMM,
    PGS,
    CustomSolver,
    Dantzig,
    DefaultSolver,
    GaussSeidel,
    IslandProblem,
    Lemke,
    certify,
)
from scenes import G, free, world

ALL = [DefaultSolver(), GaussSeidel(), ADMM(), Dantzig(), Dantzig(rounds=1), Lemke(4), Lemke(8), PGS(300)]
MU = 0.5


def names(solver) -> str:
    return repr(solver).split("pivots")[0]


def slider(solver, degrees: float, speed: float = 1.0) -> kido.World:
    """A flat box that slides on the ground."""
    angle = np.radians(degrees)
    velocity = (speed * np.cos(angle), speed * np.sin(angle), 0.0)
    box = free(kido.Box((0.4, 0.4, 0.02)), 1.0, (0, 0, 0.01), friction=MU, velocity=velocity)
    return world(box, friction=MU, solver=solver)


def velocity(w: kido.World) -> np.ndarray:
    return w.skeletons[-1].bodies[0].spatial_velocity[3:]


@pytest.mark.parametrize("solver", ALL, ids=names)
def test_a_slide_at_45_degrees_shows_each_friction_law(solver):
    # The cone decelerates by mu g in every direction; the box by sqrt(2) mu g along its diagonal; the polygon by
    # mu g along its directions, which for 8 of them include the diagonal, and between mu g / sqrt(2) and mu g for 4.
    w = slider(solver, 45.0)
    w.step(100)
    lost = (1.0 - np.linalg.norm(velocity(w))) / (MU * G * 0.1)
    if isinstance(solver, Dantzig | PGS):
        assert lost == pytest.approx(np.sqrt(2), rel=1e-3)
    elif solver == Lemke(4):
        assert 1 / np.sqrt(2) - 1e-3 < lost < 1 + 1e-3
    else:
        assert lost == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("solver", ALL, ids=names)
def test_a_slide_along_a_tangent_is_the_same_for_all(solver):
    w = slider(solver, 0.0)
    w.step(100)
    assert 1.0 - velocity(w)[0] == pytest.approx(MU * G * 0.1, rel=1e-3)


@pytest.mark.parametrize("solver", ALL, ids=names)
def test_a_stack_stands(solver):
    boxes = [free(kido.Box((0.1, 0.1, 0.1)), 1.0, (0, 0, 0.05 + 0.1 * i), name=f"box{i}") for i in range(4)]
    w = world(*boxes, solver=solver)
    w.step(400)
    drift = [np.abs(b.positions - [0, 0, 0, 0, 0, 0.05 + 0.1 * i]).max() for i, b in enumerate(boxes)]
    assert max(drift) < 2e-5
    assert w.report.contacts == 16


def pile(solver, count: int = 6) -> kido.World:
    rng = np.random.default_rng(7)
    boxes = [
        free(
            kido.Box((0.2, 0.15, 0.1)),
            10 ** rng.uniform(-1, 1),
            (*rng.uniform(-0.1, 0.1, 2), 0.15 + 0.22 * i),
            rotation=rng.normal(size=3),
            friction=MU,
            name=f"box{i}",
        )
        for i in range(count)
    ]
    return world(*boxes, friction=MU, solver=solver)


@pytest.mark.parametrize("solver", ALL, ids=names)
def test_falling_boxes_come_to_rest_without_gaining_energy(solver):
    w = pile(solver)
    energy = w.total_energy
    for _ in range(15):
        w.step(50)
        state = np.concatenate([s.positions for s in w.skeletons[1:]])
        assert np.isfinite(state).all()
        assert w.total_energy < energy + 1e-3
        energy = w.total_energy
    assert w.totals.max_penetration < 0.05  # the first touch, at 2 m/s and more
    if not isinstance(solver, GaussSeidel | PGS | ADMM | DefaultSolver):
        assert w.unconverged_steps < 20


class Harvest:
    """A user's solver that leaves all to the default and keeps every tenth problem."""

    def __init__(self) -> None:
        self.problems: list[IslandProblem] = []
        self.calls = 0

    def __call__(self, problem: IslandProblem) -> None:
        self.calls += 1
        if self.calls % 10 == 0:
            self.problems.append(problem)


def test_a_harvesting_solver_sees_the_problems_and_changes_nothing():
    harvest = Harvest()
    w = pile(harvest)
    w.step(400)
    plain = pile(None)
    plain.step(400)
    for a, b in zip(w.skeletons, plain.skeletons, strict=True):
        assert (a.positions == b.positions).all()
    assert len(harvest.problems) > 20
    for problem in harvest.problems:
        rows = len(problem.free_velocity)
        stiff = problem.jacobian @ problem.response.T
        assert problem.compliance == pytest.approx(stiff, rel=1e-6, abs=1e-12)  # but for the softness of some rows
        assert rows == 3 * len(problem.contact_rows) + len(problem.single_rows)
        assert np.linalg.eigvalsh(problem.compliance).min() > -1e-9 * np.abs(problem.compliance).max()
        assert (problem.mu == MU).all()


def projected_gauss_seidel(problem: IslandProblem) -> np.ndarray:
    """Exact-cone projections, contact after contact, as a user would write them."""
    p = problem.warm_start.copy()
    A, b = problem.compliance, problem.free_velocity
    for _ in range(300):
        for row, mu in zip(problem.contact_rows, problem.mu, strict=True):
            v = A[row : row + 3] @ p + b[row : row + 3]
            step = 1 / np.linalg.eigvalsh(A[row : row + 3, row : row + 3])[-1]
            x = p[row : row + 3] - step * v
            normal = max(x[0], 0.0)
            size = np.hypot(x[1], x[2])
            p[row] = normal
            p[row + 1 : row + 3] = x[1:] * min(1.0, mu * normal / size) if size > 0 else 0.0
    return p


def test_a_users_solver_is_used_and_measured():
    w = slider(projected_gauss_seidel, 30.0)
    w.step(50)
    assert isinstance(w.solver, CustomSolver)
    assert w.totals.fallbacks == 0 and w.unconverged_steps == 0
    assert 1.0 - np.linalg.norm(velocity(w)) == pytest.approx(MU * G * 0.05, rel=1e-3)


def test_what_a_user_sees_is_what_is_certified():
    seen = []

    def solve(problem):
        p = projected_gauss_seidel(problem)
        seen.append(certify(problem.compliance, problem.free_velocity, problem.mu, p).residual)
        return p

    w = slider(solve, 30.0)
    w.step(3)
    assert w.report.residual == pytest.approx(seen[-1], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("answer", [None, lambda n: np.full(n, np.nan), lambda n: [np.inf] * n])
def test_a_users_failure_falls_back_and_is_counted(answer):
    w = slider(lambda problem: answer and answer(len(problem.free_velocity)), 30.0)
    plain = slider(None, 30.0)
    for _ in range(20):
        w.step()
        plain.step()
        assert w.report.fallbacks == 1 and w.report.converged
    assert (w.skeletons[-1].positions == plain.skeletons[-1].positions).all()


def test_a_users_mistake_is_named_and_the_step_is_undone():
    w = slider(None, 30.0)
    w.step(5)
    before = [w.skeletons[-1].positions.copy(), w.skeletons[-1].velocities.copy(), w.time]
    for wrong in ([1.0, 2.0], "impulses", np.zeros((3, 3))):
        w.solver = lambda problem, wrong=wrong: wrong
        with pytest.raises(ModelError, match="expected 12 impulses"):
            w.step(3)
        assert (w.skeletons[-1].positions == before[0]).all()
        assert (w.skeletons[-1].velocities == before[1]).all()
        assert w.time == before[2]

    def raises(problem):
        raise RuntimeError("mine")

    w.solver = raises
    with pytest.raises(RuntimeError, match="mine"):
        w.step()
    assert (w.skeletons[-1].positions == before[0]).all()
    w.solver = DefaultSolver()
    w.step(5)
    assert w.report.converged


@pytest.mark.parametrize("solver", [Dantzig(max_rows=3), Lemke(4, max_rows=3), Lemke(4, pivots=1), ADMM(max_rows=3)])
def test_islands_that_do_not_fit_go_to_the_default(solver):
    w = slider(solver, 45.0)
    w.step(50)
    assert w.report.fallbacks == 1 and w.report.converged
    assert 1.0 - np.linalg.norm(velocity(w)) == pytest.approx(MU * G * 0.05, rel=1e-3)


def test_solvers_change_between_steps_and_stay_with_copies():
    w = slider(None, 45.0)
    assert w.solver == DefaultSolver()
    w.step(10)
    w.solver = Dantzig()
    before = np.linalg.norm(velocity(w))
    w.step(10)
    assert (before - np.linalg.norm(velocity(w))) / (MU * G * 0.01) == pytest.approx(np.sqrt(2), rel=1e-3)
    twins = [w.clone(), copy.deepcopy(w), pickle.loads(pickle.dumps(w))]
    w.step(10)
    for twin in twins:
        assert twin.solver == Dantzig()
        twin.step(10)
        assert (twin.skeletons[-1].positions == w.skeletons[-1].positions).all()


@pytest.mark.parametrize("solver", ALL, ids=names)
def test_recordings_know_the_solver(solver):
    assert world_from_dict(world_to_dict(slider(solver, 0.0))).solver == solver


def test_a_recorded_users_solver_says_that_it_is_missing():
    w = world_from_dict(world_to_dict(slider(projected_gauss_seidel, 0.0)))
    with pytest.raises(ModelError, match="'projected_gauss_seidel' is not part of kido"):
        w.step()


@pytest.mark.parametrize("wrong", [3, "Dantzig", Dantzig, None])
def test_what_is_no_solver_is_refused(wrong):
    w = kido.World()
    with pytest.raises(ModelError, match="solver: expected"):
        w.solver = wrong


@pytest.mark.parametrize("solver", [Dantzig(), Lemke(4), PGS(300)], ids=names)
def test_bouncing_is_the_same_with_every_solver(solver):
    ball = free(kido.Sphere(0.1), 1.0, (0, 0, 0.6), restitution=0.8)
    w = world(ball, solver=solver)
    plain = world(free(kido.Sphere(0.1), 1.0, (0, 0, 0.6), restitution=0.8))
    w.step(800)
    plain.step(800)
    assert w.skeletons[-1].positions == pytest.approx(plain.skeletons[-1].positions, abs=1e-6)


@pytest.mark.parametrize("ratio", [1e4, 1e6])
def test_a_heavy_box_does_not_sink_into_a_light_one(ratio):
    # Asked for is 1e-4 of the approach speed g h, 1e-6 m/s; the softness of contacts yields 1e-7 m/s at most.
    light = free(kido.Box((0.2, 0.2, 0.2)), 1.0, (0, 0, 0.1), name="light")
    heavy = free(kido.Box((0.2, 0.2, 0.2)), ratio, (0, 0, 0.3), name="heavy")
    w = world(light, heavy)
    w.step(1000)
    assert abs(light.positions[5] - 0.1) < 1e-6 and abs(heavy.positions[5] - 0.3) < 1e-6
    assert w.unconverged_steps == 0
