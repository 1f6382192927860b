"""Contacts as phases of robots with free bases: forces, impacts, friction cones, their derivatives, and a hop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kido
from kido.batch import Batch
from kido.optimal_control import (
    CenterOfPressure,
    ControlProblem,
    DdpSolver,
    FrictionCone,
    FunctionDynamics,
    Penalty,
    PointCost,
    QuadraticCost,
    ResidualCost,
    ShootingSolver,
    SkeletonDynamics,
)
from kido.optimal_control.dynamics import differences_of_nodes

FEET = [f"{end}_{side}_foot" for end in ("front", "hind") for side in ("left", "right")]
RADIUS = 0.022


def robot(name: str, folder: Path) -> tuple[kido.Skeleton, list[str]]:
    """A walking robot with a free base, and bodies that touch the ground."""
    files = {
        "solo": ("solo_description/robots/solo12.urdf", ["FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"]),
        "anymal": ("anymal_b_simple_description/robots/anymal.urdf", ["LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"]),
        "bolt": ("bolt_description/robots/bolt.urdf", ["FL_FOOT", "FR_FOOT"]),
    }
    if name not in files:
        own = kido.load(name)
        assert isinstance(own, kido.Skeleton)
        return own, [b.name for b in own.bodies if b.name.endswith("foot")]
    file, feet = files[name]
    found = kido.load(folder / file, visuals=False, collisions=False, base="free")
    assert isinstance(found, kido.Skeleton)
    return found, feet


@pytest.mark.parametrize("name", ["quadruped", "humanoid", "solo", "anymal", "bolt"])
def test_derivatives_of_steps_and_forces_in_contact(name: str, example_robots: Path) -> None:
    """Against central differences along the manifold: points, rolling balls, whole feet; held, touching and free."""
    s, feet = robot(name, example_robots)
    n, rng = s.num_dofs, np.random.default_rng(3)
    contact, first, last = SkeletonDynamics.contact, s.body(feet[0]), s.body(feet[-1])
    phases = [contact(first, 0, 3, (0.01, 0.0, -0.02)), contact(last, 1, 2, directions=np.eye(6)[1:5]),
              contact(last, 2, 4, (0.0, 0.01, 0.0), radius=0.03)]  # fmt: skip
    dynamics = SkeletonDynamics(s, 0.02, actuated=range(6, n), contacts=phases)
    X, U = rng.normal(size=(5, 2 * n)), rng.normal(size=(5, n - 6))
    X[:, :n] *= 0.5
    for own, other in zip(dynamics.derivatives(X, U), super(SkeletonDynamics, dynamics).derivatives(X, U)):
        assert np.abs(own - other).max() < 1e-7 * np.abs(other).max()

    def wrenches(z: np.ndarray) -> np.ndarray:
        return dynamics.contact_wrenches(z[:, : 2 * n], z[:, 2 * n :]).reshape(len(z), -1)

    found = np.concatenate(dynamics.contact_wrench_derivatives(X, U), axis=3)
    numbers = differences_of_nodes(wrenches, np.concatenate([X, U], axis=1), dynamics.moved_pairs)
    assert np.abs(found - numbers.reshape(found.shape)).max() < 1e-7 * np.abs(numbers).max()


def test_forces_hold_what_they_are_said_to() -> None:
    """Newton's law with the forces told: J udot + Jdot u = -g J u, and M udot + C = T + J^T f."""
    s, feet = robot("quadruped", Path())
    n, h, rng = s.num_dofs, 1e-3, np.random.default_rng(4)
    point = np.array([0.01, 0.02, -0.02])
    phases = [SkeletonDynamics.contact(s.body(foot), 0, 2, point) for foot in feet]
    dynamics = SkeletonDynamics(s, h, contacts=phases, fading=7.0)
    X, U = rng.normal(size=(2, 2 * n)) * 0.2, rng.normal(size=(2, n))
    F, after, impulses = (f(X, U)[1] for f in (dynamics.contact_wrenches, dynamics.step, lambda x, u: np.zeros((2, 1))))
    assert not impulses.any() and not dynamics.contact_impulses(X)[1].any()  # the second node begins nothing
    q, u = X[1, :n], X[1, n:]
    udot = (after[n:] - u) / h
    s.positions, s.velocities = q, u
    J = [s.jacobian(foot, point) for foot in feet]
    left = s.inverse_dynamics(q, u, udot) - U[1] - sum(j.T @ f for j, f in zip(J, F))
    assert np.abs(left).max() < 1e-9 * np.abs(F).max()
    for j, foot in zip(J, feet):
        rate = s.jacobian_classic_derivative(foot, point) @ u
        assert np.allclose((j @ udot + rate + 7.0 * j @ u)[3:], 0.0, atol=1e-9 * np.abs(udot).max())


def test_a_rod_caught_at_its_end() -> None:
    """A level rod of mass m and length l that falls at v turns by 3 v / (2 l) about its held end; impulse m v / 4."""
    m, length, v, h = 2.0, 0.8, 1.5, 1e-3
    rod = kido.Skeleton("rod")
    moment = m * length**2 / 12.0 * np.diag([1e-3, 1.0, 1.0])
    rod.add_body("rod", kido.FreeJoint("free"), inertia=kido.Inertia(m, moment=moment))
    rod.gravity = (0.0, 0.0, 0.0)
    caught = SkeletonDynamics.contact(rod.body("rod"), 1, 5, (0.5 * length, 0.0, 0.0))
    dynamics = SkeletonDynamics(rod, h, contacts=[caught], actuated=())
    X = dynamics.simulate([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -v], np.zeros((2, 0)))
    assert np.array_equal(X[1, 6:], X[0, 6:])  # free
    assert abs(X[2, 7] - (-1.5 * v / length)) < 1e-9 * v / length
    falling = np.tile(X[0], (2, 1))
    impulse = dynamics.contact_impulses(falling)
    assert np.allclose(impulse[1, 0], [0, 0, 0, 0, 0, 0.25 * m * v], atol=1e-12) and not impulse[0].any()
    mean = dynamics.contact_wrenches(falling, np.zeros((2, 0)))[1, 0]
    assert abs(mean[5] - 0.25 * m * v / h) < 1e-9 * m * v / h


def test_a_ball_rolls() -> None:
    """A ball down a slope by 5/7 of the gravity along it; the slope is one of gravity, the ground is level.

    Velocities are in turning axes: positions are of first order in the step.
    """
    r, m, h, slope = 0.1, 1.3, 1e-3, 0.3
    ball = kido.Skeleton("ball")
    ball.add_body("ball", kido.FreeJoint("free"), inertia=kido.Inertia.from_shape(kido.Sphere(r), m))
    ball.gravity = (9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope))
    roll = SkeletonDynamics.contact(ball.body("ball"), 0, 500, radius=r)
    dynamics = SkeletonDynamics(ball, h, contacts=[roll], actuated=())
    X = dynamics.simulate(np.zeros(12), np.zeros((500, 0)))
    rate = 5.0 / 7.0 * 9.81 * np.sin(slope)
    assert abs(X[-1, 3] - 0.5 * rate * 0.5**2) < 2e-3 * rate and np.abs(X[-1, 4:6]).max() < 1e-3
    F = dynamics.contact_wrenches(X[:-1], np.zeros((500, 0)))[:, 0]
    for found, exact in ((F[:, 5], 9.81 * np.cos(slope)), (F[:, 3], rate - 9.81 * np.sin(slope))):
        assert np.allclose(found, m * exact, rtol=2e-2)


def test_standing_still_takes_the_weight() -> None:
    s, feet = robot("quadruped", Path())
    phases = [SkeletonDynamics.contact(s.body(foot), 0, 50, radius=RADIUS) for foot in feet]
    dynamics = SkeletonDynamics(s, 0.01, actuated=range(6, 18), contacts=phases)
    still = np.zeros(36)
    hold = dynamics.holding_controls(still)[0]
    X = dynamics.simulate(still, np.tile(hold, (50, 1)))
    assert np.abs(X).max() < 1e-9
    F = dynamics.contact_wrenches(X[:-1], np.tile(hold, (50, 1)))
    assert np.allclose(F[:, :, 3:].sum(axis=1), [0.0, 0.0, 9.81 * s.mass], atol=1e-8)


def test_rows_of_cones_and_penalties() -> None:
    """Rows by hand from the forces; derivatives of rows and penalties against differences; zero where none hold."""
    s, feet = robot("quadruped", Path())
    phases = [SkeletonDynamics.contact(s.body(foot), 1, 3) for foot in feet[:2]]
    dynamics = SkeletonDynamics(s, 0.02, actuated=range(6, 18), contacts=phases)
    cone = FrictionCone(dynamics, [0.5, 0.8], normal=(0.0, 0.6, 0.8), least=3.0, rounding=0.1)
    rng = np.random.default_rng(6)
    X, U = rng.normal(size=(4, 36)) * 0.3, rng.normal(size=(4, 12))
    rows, F = cone.residuals(X, U), dynamics.contact_wrenches(X, U)[:, :, 3:]
    along = F @ [0.0, 0.6, 0.8]
    across = np.linalg.norm(F - along[..., None] * [0.0, 0.6, 0.8], axis=2)
    held = np.array([[0.0], [1.0], [1.0], [0.0]])
    assert np.allclose(rows[:, :2], (np.hypot(across, 0.1) - [0.5, 0.8] * along) * held)
    assert np.allclose(rows[:, 2:], held * (3.0 - along)) and not rows[[0, 3]].any()
    on, numbers = ResidualCost(cone.residuals).on(dynamics), cone.jacobians(X, U)
    for own, other in zip(numbers, on.jacobians(X, U)):
        assert np.abs(own - other).max() < 1e-7 * np.abs(other).max()
    penalty, weights = Penalty(cone, [1.0, 2.0, 3.0, 4.0]).on(dynamics), np.array([1.0, 2.0, 3.0, 4.0])
    assert np.allclose(penalty.value(X, U), 0.5 * np.maximum(rows, 0.0) ** 2 @ weights) and penalty.value(X, U).any()
    z = np.concatenate([X, U], axis=1)
    slope = differences_of_nodes(lambda z: penalty.value(z[:, :36], z[:, 36:])[:, None], z, dynamics.moved_pairs)[:, 0]
    found = penalty.quadratic(X, U)
    own = np.concatenate([found.x, found.u], axis=1)
    assert np.abs(own - slope).max() < 1e-6 * np.abs(slope).max()


@pytest.mark.parametrize("solver", [ShootingSolver(), DdpSolver()], ids=lambda solver: solver.name)
def test_forces_are_within_their_cone(solver: Any) -> None:
    """A light point that is held, and pulled along the ground as far as it goes: |f_t| = mu f_n but for rounding."""
    s = kido.Skeleton("point")
    light = kido.Inertia(0.1, (0, 0, 0), 1e-3 * np.eye(3))
    across = s.add_body("across", kido.PrismaticJoint("x", axis=(1, 0, 0)), None, light)
    up = s.add_body("up", kido.PrismaticJoint("z", axis=(0, 0, 1)), across, light)
    held = SkeletonDynamics.contact(up, 0, 10, directions=((1, 0, 0), (0, 0, 1)))
    dynamics = SkeletonDynamics(s, 0.02, contacts=[held])
    cost = QuadraticCost(0.0, 1e-2, r=[-1.0, 0.0])
    problem = ControlProblem(
        dynamics, np.zeros(4), 10, cost, control_limits=([-50, 0], [50, 0]), inequality=FrictionCone(dynamics, 0.5)
    )
    solution = solver.solve(problem)
    X, U = problem.split(solution.x)
    f = dynamics.contact_wrenches(X[:-1], U)[:, 0, 3:]
    share = np.abs(f[:, 0]) / (0.5 * f[:, 2])
    assert solution.converged and (share <= 1.0 + 1e-6).all() and share.max() > 0.9


def test_derivatives_know_of_changes_of_the_model() -> None:
    """What is kept from one question to the next is not kept when a mass changes: as dynamics made afterwards say."""
    s, feet = robot("quadruped", Path())
    phases = [SkeletonDynamics.contact(s.body(feet[0]), 0, 3)]
    dynamics = SkeletonDynamics(s, 0.02, actuated=range(6, 18), contacts=phases)
    rng = np.random.default_rng(7)
    X, U = rng.normal(size=(4, 36)) * 0.3, rng.normal(size=(4, 12))
    before = dynamics.derivatives(X, U)[0]
    s.body(feet[1]).inertia = kido.Inertia.from_diagonal(0.5, (1e-3, 1e-3, 1e-3))
    fresh = SkeletonDynamics(s, 0.02, actuated=range(6, 18), contacts=phases)
    assert np.array_equal(dynamics.derivatives(X, U)[0], fresh.derivatives(X, U)[0])
    assert np.array_equal(dynamics.contact_wrenches(X, U), fresh.contact_wrenches(X.copy(), U))
    assert np.abs(dynamics.derivatives(X, U)[0] - before).max() > 1e-3


def test_rows_of_centers_of_pressure() -> None:
    """Where the ground pushes, a foot's rows are below zero exactly while the pressure's center is on the foot."""
    s, feet = robot("humanoid", Path())
    dofs = s.num_dofs
    phases = [SkeletonDynamics.contact(s.body(foot), 1, 3, directions=np.eye(6)) for foot in feet[:2]]
    dynamics = SkeletonDynamics(s, 0.02, actuated=range(6, dofs), contacts=phases)
    n, t, half = np.array([0.0, 0.6, 0.8]), np.array([1.0, 0.0, 0.0]), np.array([[0.1, 0.05], [0.2, 0.3]])
    rows = CenterOfPressure(dynamics, half, normal=n, along=(2.0, 3.0, 4.0), torsion=0.02)
    rng = np.random.default_rng(6)
    X, U = rng.normal(size=(60, 2 * dofs)) * 0.3, rng.normal(size=(60, dofs - 6))
    found, W = rows.residuals(X, U).reshape(60, 6, 2), dynamics.contact_wrenches(X, U)
    b, inside = np.cross(n, t), 0
    for k in (1, 2):
        for phase, (length, width) in enumerate(half):
            m, f = W[k, phase, :3], W[k, phase, 3:]
            expected = [m @ b, -m @ b, m @ t, -m @ t, m @ n, -m @ n] - np.repeat([length, width, 0.02], 2) * (f @ n)
            assert np.allclose(found[k, :, phase], expected)
            x, y = -(m @ b) / (f @ n), (m @ t) / (f @ n)
            rest = m - np.cross(x * t + y * b, f)  # about the center of pressure there is moment about the normal alone
            assert np.allclose([rest @ t, rest @ b], 0.0, atol=1e-9 * max(1.0, np.abs(m).max()))
            if f @ n > 0.0:
                inside += 1
                assert (found[k, :4, phase] <= 0.0).all() == (abs(x) <= length and abs(y) <= width)
    assert inside and not found[[0, *range(3, 60)]].any()
    on, numbers = ResidualCost(rows.residuals).on(dynamics), rows.jacobians(X[:4], U[:4])
    for own, other in zip(numbers, on.jacobians(X[:4], U[:4])):
        assert np.abs(own - other).max() < 1e-7 * np.abs(other).max()
    points = SkeletonDynamics(
        s, 0.02, actuated=range(6, 18), contacts=[SkeletonDynamics.contact(s.body(feet[0]), 0, 2)]
    )
    mistakes: list[tuple[Any, str]] = [
        ((points, (0.1, 0.1)), "contacts that hold bodies"),
        ((dynamics, (0.1, -0.1)), "half_lengths"),
        ((dynamics, (0.1, 0.1), n, n), "length of the along"),
    ]
    for arguments, message in mistakes:
        with pytest.raises(kido.ModelError, match=message):
            CenterOfPressure(*arguments)


@pytest.mark.parametrize("name, length, height", [("solo", 0.06, 0.04), ("anymal", 0.15, 0.08)])
def test_diagonal_feet_step(name: str, length: float, height: float, example_robots: Path) -> None:
    """Two feet lift, swing and land where they are asked to, the others stay; the motion is one of the dynamics."""
    s, feet = robot(name, example_robots)
    n, lift, land, N = s.num_dofs, 12, 27, 40
    start = np.zeros(2 * n)
    for dof in s.dofs[6:]:  # knees inwards
        bend = {"HFE": 0.4, "KFE": -0.8}.get(dof.name.split("_")[1], 0.0) * (2.0 if name == "solo" else 1.0)
        start[dof.index] = bend if "F" in dof.name.split("_")[0] else -bend
    X = Batch(s).forward_kinematics(start[None, :n])[0]
    where = {foot: X[s.body(foot).index, :3, 3] for foot in feet}
    swinging, landing, middle = (feet[0], feet[3]), np.eye(N)[land], np.eye(N)[(lift + land) // 2]
    phases = [
        SkeletonDynamics.contact(s.body(foot), *span)
        for foot in feet
        for span in (((0, lift), (land, N)) if foot in swinging else ((0, N),))
    ]
    dynamics = SkeletonDynamics(s, 0.02, actuated=range(6, n), contacts=phases)
    Q = np.concatenate([np.full(6, 1.0), np.full(n - 6, 0.1), np.full(n, 0.01)])
    goal = start + length / 2 * np.eye(2 * n)[3]
    problem = ControlProblem(
        dynamics, start, N,
        [QuadraticCost(Q, 1e-3, target=start), Penalty(FrictionCone(dynamics, 0.7, least=2.0), 1e-2),
         *(PointCost(s, f, where[f] + [length / 2, 0, height], 1e3 * middle) for f in swinging)],
        QuadraticCost(np.concatenate([np.full(6, 100.0), np.ones(2 * n - 6)]), target=goal),
        equality=[PointCost(s, foot, where[foot] + [length, 0, 0], landing) for foot in swinging],
        controls=np.tile(dynamics.holding_controls(start)[0], (N, 1)),
    )  # fmt: skip
    found = DdpSolver().solve(problem)
    assert found.converged
    states, controls = problem.split(found.x)
    assert np.abs(dynamics.simulate(start, controls) - states).max() < 1e-9
    X = Batch(s).forward_kinematics(np.ascontiguousarray(states[:, :n]))
    for foot in feet:
        path = X[:, s.body(foot).index, :3, 3] - where[foot]
        if foot in swinging:
            assert np.abs(path[land] - [length, 0, 0]).max() < 1e-6 and path[:, 2].max() > 0.5 * height
            assert np.abs(path[land + 1 :] - path[land + 1]).max() < 2e-3
        else:
            assert np.abs(path).max() < 2e-3
    assert np.abs(dynamics.contact_impulses(states[:-1])[land]).max() > 0.0


def test_reach_on_whole_soles() -> None:
    """A humanoid of 35 coordinates stands on soles that cannot turn and brings a hand to a place."""
    s, feet = robot("humanoid", Path())
    n, N = s.num_dofs, 30
    soles = [SkeletonDynamics.contact(s.body(foot), 0, N, directions=np.eye(6)) for foot in feet]
    dynamics = SkeletonDynamics(s, 0.02, actuated=range(6, n), contacts=soles)
    still = np.zeros(2 * n)
    hold = dynamics.holding_controls(still)[0]
    weight = dynamics.contact_wrenches(still[None], hold[None])[0, :, 3:].sum(axis=0)
    assert np.allclose(weight, [0.0, 0.0, 9.81 * s.mass], atol=1e-8)
    hand = s.body("left_hand").index
    goal = Batch(s).forward_kinematics(still[None, :n])[0, hand, :3, 3] + [0.25, 0.05, 0.2]
    problem = ControlProblem(
        dynamics, still, N,
        [QuadraticCost(np.concatenate([np.ones(n), np.full(n, 0.01)]), 1e-4, target_control=hold),
         Penalty(FrictionCone(dynamics, 0.7, least=20.0), 1e-3)],
        [PointCost(s, hand, goal, 1e4), QuadraticCost(np.concatenate([np.zeros(n), np.full(n, 5.0)]))],
        controls=np.tile(hold, (N, 1)),
    )  # fmt: skip
    found = DdpSolver().solve(problem)
    assert found.converged
    states, controls = problem.split(found.x)
    X = Batch(s).forward_kinematics(np.ascontiguousarray(states[:, :n]))
    assert np.linalg.norm(X[-1, hand, :3, 3] - goal) < 0.02
    for foot in feet:
        assert np.abs(X[:, s.body(foot).index] - X[0, s.body(foot).index]).max() < 2e-3
    assert dynamics.contact_wrenches(states[:-1], controls)[:, :, 5].min() > 20.0


STEP, LIFT, LAND, STEPS = 0.01, 30, 60, 100


def hop() -> tuple[ControlProblem, SkeletonDynamics]:
    """A quadruped hops forward: it pushes, flies, is caught by its feet and comes to rest."""
    dog, _ = robot("quadruped", Path())
    spans = (0, LIFT), (LAND, STEPS)
    phases = [SkeletonDynamics.contact(dog.body(foot), *span, radius=RADIUS) for span in spans for foot in FEET]
    dynamics = SkeletonDynamics(dog, STEP, actuated=range(6, 18), contacts=phases)
    still, goal, landing = np.zeros(36), np.zeros(36), np.zeros(STEPS)
    goal[3], landing[LAND] = 0.3, 1.0
    controls = np.tile(dynamics.holding_controls(still)[0], (STEPS, 1))
    controls[LIFT:LAND] = 0.0
    Q = np.concatenate([[10, 10, 10, 0, 10, 0], np.full(12, 1.0), np.full(6, 0.1), np.full(12, 0.01)])
    problem = ControlProblem(
        dynamics, still, STEPS,
        [QuadraticCost(Q, 1e-3), Penalty(FrictionCone(dynamics, 0.7, least=5.0), 1e-2)],
        QuadraticCost(np.concatenate([np.full(6, 1e3), np.full(12, 100.0), np.full(18, 10.0)]), target=goal),
        control_limits=(-45.0, 45.0),
        equality=[PointCost(dog, foot, (0.0, 0.0, RADIUS), landing, directions=(0, 0, 1)) for foot in FEET],
        controls=controls,
    )  # fmt: skip
    return problem, dynamics


def test_hop_of_a_quadruped_is_one_in_a_world() -> None:
    problem, dynamics = hop()
    found = DdpSolver().solve(problem)
    assert found.converged and found.feasible
    X, U = problem.split(found.x)
    assert X[:, 5].max() > 0.1 and X[-1, 3] > 0.2  # it flies, and forward
    # In flight the centre of mass is on a parabola, to the scheme's first order.
    flight = X[LIFT : LAND + 1]
    momentum = Batch(dynamics.skeleton).linear_momentum(flight[:, :18], flight[:, 18:]) / dynamics.skeleton.mass
    assert np.allclose(np.diff(momentum, axis=0), [0.0, 0.0, -9.81 * STEP], atol=0.02)
    landed = Batch(dynamics.skeleton).forward_kinematics(X[LAND : LAND + 1, :18])[0]
    feet = [landed[dynamics.skeleton.body(foot).index, 2, 3] for foot in FEET]
    assert np.allclose(feet, RADIUS, atol=1e-6)
    held = np.array([[p.begin <= k < p.end for p in dynamics.contacts] for k in range(STEPS)])
    F = dynamics.contact_wrenches(X[:-1], U)[:, :, 3:][held]
    assert F[:, 2].min() > 4.0
    assert (np.hypot(F[:, 0], F[:, 1]) / F[:, 2]).max() < 0.71
    # In a simulated world, whose contacts are found and not given, with the same forces: near, step by step.
    world = kido.World(time_step=0.001)
    dog, ground = kido.load("quadruped"), kido.Skeleton("ground")
    ground.add_body("floor", kido.WeldJoint("weld")).add_shape(kido.Box((4, 4, 0.2)), transform=(0, 0, -0.1))
    ground.body("floor").friction = 1.0
    for foot in FEET:
        dog.body(foot).friction = 0.7
    for dof in dog.dofs:
        dof.damping = 0.0
    world.add_skeleton(ground)
    world.add_skeleton(dog)
    off = []
    for x, u in zip(X[1:], U):
        dog.forces = np.concatenate([np.zeros(6), u])
        world.step(10)
        off.append(np.linalg.norm(dog.positions[3:6] - x[3:6]))
    # Steps of 10 ms are of first order: about h v / 2 = 8 mm at the speed of the landing, and what comes of it.
    assert max(off[:LAND]) < 0.015 and max(off) < 0.06


def test_bad_input() -> None:
    s, feet = robot("quadruped", Path())
    contact = SkeletonDynamics.contact
    for arguments in ((s.body(feet[0]), 3, 3), ("foot", 0, 3), (s.body(feet[0]), 0, 3, (0, 0, 0), [[1.0, 0.0]])):
        with pytest.raises(kido.ModelError, match="contact: expected a body, steps begin < end and directions"):
            contact(*arguments)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="radius"):
        contact(s.body(feet[0]), 0, 3, radius=-1.0)
    with pytest.raises(kido.ModelError, match=r"expected what `SkeletonDynamics\.contact` gives"):
        SkeletonDynamics(s, 0.01, contacts=["foot"])  # type: ignore[list-item]
    held = SkeletonDynamics(s, 0.01, contacts=[contact(s.body(feet[0]), 0, 3)])
    with pytest.raises(kido.ModelError, match="friction: expected numbers not below 0"):
        FrictionCone(held, -0.1)
    with pytest.raises(kido.ModelError, match="friction: expected 1 numbers, got 2"):
        FrictionCone(held, [0.5, 0.5])
    with pytest.raises(kido.ModelError, match="least: expected finite numbers"):
        FrictionCone(held, 0.5, least=np.nan)
    with pytest.raises(kido.ModelError, match="expected SkeletonDynamics with contacts"):
        FrictionCone(SkeletonDynamics(s, 0.01), 0.5)
    with pytest.raises(kido.ModelError, match="expected SkeletonDynamics with contacts"):
        FrictionCone(FunctionDynamics(1, 1, lambda x, u: x), 0.5)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="weight: expected numbers above 0"):
        Penalty(FrictionCone(held, 0.5), 0.0)
    with pytest.raises(kido.ModelError, match=r"expected a kido\.optimal_control\.ResidualCost"):
        Penalty(QuadraticCost(), 1.0)  # type: ignore[arg-type]
    twice = [contact(s.body(feet[0]), 0, 3), contact(s.body(feet[0]), 0, 3)]
    with pytest.raises(kido.ModelError, match="depend on each other"):
        SkeletonDynamics(s, 0.01, contacts=twice).step(np.zeros((2, 36)), np.zeros((2, 18)))
