"""Events and dense output of smooth motion: closed forms, motions by another route, mistakes.

A pendulum of 1 m that falls from the horizontal turns every half period of 2.367841947576237 s (complete elliptic
integral). Times are held to 1e-12, twenty roundings of the state over a second.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from kido.errors import ModelError, StateError
from kido.integrators import RK4, DormandPrince, Event, Variational, simulate
from kido.jit import Struct
from trees import build, random_state
from user_classes import Heun

PERIOD = 2.367841947576237  # [s] for g = 9.81
TIGHT = DormandPrince(rtol=1e-13, atol=1e-13)


def pendulum(**options) -> kido.Skeleton:
    skeleton = kido.Skeleton("pendulum")
    joint = kido.RevoluteJoint("hinge", axis=(0, -1, 0), **options)
    skeleton.add_body("bob", joint, inertia=kido.Inertia(1.0, (-1, 0, 0)))
    return skeleton


def moving_tree() -> kido.Skeleton:
    """Free, ball and other joints, whose displacements are on a manifold."""
    skeleton = build(["free", "ball", "revolute", "universal", "prismatic"], [-1, 0, 1, 1, 2], 7)
    q, u, _, tau = random_state(skeleton, 7, speed=0.5)
    skeleton.positions, skeleton.velocities, skeleton.forces = 0.5 * q, u, tau
    return skeleton


# Events ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("integrator", "step"), [(TIGHT, 1e-3), (RK4(), 5e-4)], ids=["DormandPrince", "RK4"])
def test_times_are_exact(integrator, step) -> None:
    bob = pendulum()
    motion = simulate(bob, integrator, 2.0, time_step=step, events=Event.turning(bob.dofs[0]))
    assert [e.time for e in motion.events] == pytest.approx([PERIOD / 2], abs=1e-12)
    assert motion.events[0].positions == pytest.approx([np.pi], abs=1e-12)
    assert motion.events[0].velocities == pytest.approx([0.0], abs=1e-12)


@pytest.mark.parametrize("integrator", [Variational(), Heun()], ids=lambda x: x.name)
def test_other_integrators_have_events_of_their_own_motion(integrator) -> None:
    """Second order: errors fall by four."""
    errors = []
    for h in (4e-3, 2e-3):
        bob = pendulum()
        motion = simulate(bob, integrator, 1.5, time_step=h, events=Event.turning(bob.dofs[0]))
        errors.append(abs(motion.events[0].time - PERIOD / 2))
    assert errors[0] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_directions_and_order() -> None:
    bob = pendulum()
    dof = bob.dofs[0]
    events = [
        Event.passing(dof, np.pi / 2, name="both"),
        Event.passing(dof, np.pi / 2, direction=1, name="up"),
        Event.passing(dof, np.pi / 2, direction=-1, name="down"),
    ]
    motion = simulate(bob, DormandPrince(rtol=1e-10, atol=1e-10), 2 * PERIOD, time_step=1.0, events=events)
    quarters = [(e.event.name, round(4 * e.time / PERIOD), e.direction) for e in motion.events]
    assert sorted(quarters) == sorted(
        [("both", 1, 1), ("both", 3, -1), ("both", 5, 1), ("both", 7, -1), ("up", 1, 1), ("up", 5, 1)]
        + [("down", 3, -1), ("down", 7, -1)]
    )
    assert [e.time for e in motion.events] == sorted(e.time for e in motion.events)


@pytest.mark.parametrize("integrator", [DormandPrince(rtol=1e-11, atol=1e-11), RK4(), Heun()], ids=lambda x: x.name)
def test_a_terminal_event_ends_the_motion(integrator) -> None:
    bob = pendulum()
    stop = Event.passing(bob.dofs[0], np.pi / 2, terminal=True)
    motion = simulate(bob, integrator, 2.0, time_step=0.01, events=[stop], dense_output=True)
    assert motion.times[-1] == motion.events[-1].time == motion.dense.end
    assert motion.times[-1] == pytest.approx(PERIOD / 4, abs=1e-4 if isinstance(integrator, Heun) else 1e-8)
    assert motion.times[:-1] == pytest.approx(0.01 * np.arange(len(motion.times) - 1))
    assert bob.positions[0] == motion.positions[-1, 0] == pytest.approx(np.pi / 2, abs=1e-13)
    assert motion.dense(motion.times[-1])[0] == pytest.approx(bob.positions)
    # Bounce, and on it goes from there: a second motion falls back to the start's height.
    bob.velocities = -bob.velocities
    end = simulate(bob, integrator, 2.0, time_step=0.01, events=Event.turning(bob.dofs[0], terminal=True))
    assert end.times[-1] == pytest.approx(PERIOD / 4, abs=1e-4)


def test_an_event_that_starts_at_zero_is_not_one() -> None:
    bob = pendulum()
    motion = simulate(bob, DormandPrince(), 0.5, events=[Event.turning(bob.dofs[0]), Event.passing(bob.dofs[0], 0.0)])
    assert motion.events == ()


def test_limits() -> None:
    bob = pendulum(position_lower_limit=-0.5, position_upper_limit=2.0)
    motion = simulate(bob, TIGHT, 2.0, time_step=0.1, events=Event.limit(bob.joints[0], terminal=True))
    # Energy: u^2 / 2 = g sin q; u of the state is that of the exact position.
    assert motion.positions[-1] == pytest.approx([2.0], abs=1e-12)
    assert motion.velocities[-1] == pytest.approx([np.sqrt(2 * 9.81 * np.sin(2.0))], rel=1e-12)


def test_functions_of_bodies_and_times_with_forces() -> None:
    """A ball thrown up with a force that depends on time; heights by quadrature of the polynomial."""
    ball = kido.Skeleton("ball")
    ball.add_body("ball", kido.PrismaticJoint("z", axis=(0, 0, 1)), inertia=kido.Inertia(2.0))
    ball.velocities = [3.0]
    low = Event(lambda time, s: s.body("ball").world_transform[2, 3], direction=-1, terminal=True)
    motion = simulate(ball, TIGHT, 5.0, time_step=1.0, forces=lambda time, s: [6.0 * time], events=low)
    # z = 3 t - g t^2 / 2 + t^3 / 2
    expected = min(r for r in np.roots([0.5, -9.81 / 2, 3.0]) if r > 0)
    assert motion.times[-1] == pytest.approx(expected, abs=1e-12)


def test_events_leave_the_motion_as_it_is() -> None:
    runs = []
    for events in (None, Event(lambda time, s: np.sin(40.0 * time))):
        skeleton = moving_tree()
        runs.append(simulate(skeleton, DormandPrince(rtol=1e-8), 0.4, time_step=0.03, events=events))
    assert (runs[0].positions == runs[1].positions).all()
    assert (runs[0].velocities == runs[1].velocities).all()
    assert runs[0].steps == runs[1].steps
    assert len(runs[1].events) == 5
    assert [e.time for e in runs[1].events] == pytest.approx(np.pi / 40 * np.arange(1, 6), abs=1e-12)


# Dense output ---------------------------------------------------------------------------------------------


def differences(skeleton, states, truth) -> float:
    worst = 0.0
    for q, u, r, v in zip(*states, *truth, strict=True):
        worst = max(worst, np.abs(skeleton.position_differences(q, r)).max(), np.abs(u - v).max())
    return worst


@pytest.mark.parametrize("integrator", [RK4(), DormandPrince(rtol=0.0, atol=1e3)], ids=lambda x: x.name)
def test_dense_output_is_of_fourth_order_at_least(integrator) -> None:
    """Fixed steps of Dormand-Prince by tolerances that nothing exceeds; its interpolant is of fifth order here."""
    errors = []
    times = np.linspace(0.0, 0.1, 14)
    truth = simulate(moving_tree(), TIGHT, times=times)
    for h in (0.01, 0.005):
        skeleton = moving_tree()
        if isinstance(integrator, DormandPrince):
            integrator = DormandPrince(rtol=0.0, atol=1e3, first_step=h, max_step=h)
        motion = simulate(skeleton, integrator, 0.1, time_step=h, dense_output=True)
        errors.append(differences(skeleton, motion.dense(times), (truth.positions, truth.velocities)))
    assert np.log2(errors[0] / errors[1]) > 3.5


def test_dense_output_agrees_with_results() -> None:
    skeleton = moving_tree()
    motion = simulate(skeleton, DormandPrince(rtol=1e-9, atol=1e-9), 0.4, time_step=0.03, dense_output=True)
    q, u = motion.dense(motion.times)
    assert differences(skeleton, (q, u), (motion.positions, motion.velocities)) < 1e-13
    one_q, one_u = motion.dense(0.2)
    assert one_q.shape == one_u.shape == (skeleton.num_dofs,)
    assert motion.dense(np.zeros((2, 3)))[0].shape == (2, 3, skeleton.num_dofs)
    assert len(motion.dense.step_times) == motion.steps + 1
    assert (motion.dense.start, motion.dense.end) == (0.0, 0.4)


def test_no_motion_is_dense_too() -> None:
    bob = pendulum()
    motion = simulate(bob, RK4(), 0.0, dense_output=True, events=Event.turning(bob.dofs[0]))
    assert motion.dense(0.0)[0] == pytest.approx([0.0])
    assert motion.events == ()


# Mistakes -------------------------------------------------------------------------------------------------


def test_mistakes() -> None:
    bob = pendulum()
    with pytest.raises(ModelError, match="function of the time and the skeleton"):
        Event(lambda time: 0.0)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="direction"):
        Event(lambda time, s: 0.0, direction=2)
    with pytest.raises(ModelError, match="checks"):
        Event(lambda time, s: 0.0, checks=0)
    with pytest.raises(ModelError, match="terminal"):
        Event(lambda time, s: 0.0, terminal="yes")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="no position limits"):
        Event.limit(bob.dofs[0])
    with pytest.raises(ModelError, match="finite position"):
        Event.passing(bob.dofs[0], np.nan)
    with pytest.raises(ModelError, match="coordinate"):
        Event.turning("hinge")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="events"):
        simulate(bob, RK4(), 1.0, events=[3])  # type: ignore[list-item]
    with pytest.raises(ModelError, match="dense_output"):
        simulate(bob, RK4(), 1.0, dense_output="much")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="stabilization"):
        simulate(bob, RK4(), 1.0, stabilization="projection")
    with pytest.raises(StateError, match="finite number at t = 0 s"):
        simulate(bob, RK4(), 1.0, events=Event(lambda time, s: np.nan))
    assert bob.positions[0] == 0.0
    with pytest.raises(StateError, match="finite number"):
        simulate(bob, RK4(), 1.0, events=Event(lambda time, s: np.nan if time > 0.5 else 1.0))
    assert bob.positions[0] == 0.0
    with pytest.raises(StateError, match="was not kept"):
        simulate(bob, RK4(), 0.1).dense(0.05)
    bob.positions = [0.0]
    motion = simulate(bob, RK4(), 0.1, dense_output=True)
    with pytest.raises(StateError, match=r"not between 0 s and 0.1 s"):
        motion.dense(0.2)
    with pytest.raises(StateError, match="dense output: expected times"):
        motion.dense("now")


# Copies, and what is refused -------------------------------------------------------------------------------


def swinging(closed: bool):
    """Something that swings: a skeleton, or its dynamics with a loop."""
    if closed:
        made = kido.models.slider_crank()
        return made.dynamics, made.skeleton
    arm = kido.load(kido.models.path("arm7"))
    arm.positions = [0.1, 0.2, 0.3, -1.0, 0.2, 0.4, 0.0]
    return lambda solver: arm, arm


@pytest.mark.parametrize("solver", ["", "CE", "TA"])
@pytest.mark.parametrize("integrator", [RK4(), DormandPrince(rtol=1e-9)], ids=lambda x: x.name)
def test_copies_of_motions_are_read_without_the_original(solver, integrator):
    """They are read by containers that hold addresses: a copy makes its own, also in another process."""
    make, skeleton = swinging(solver != "")
    turns = Event.turning(skeleton.dofs[0])
    forces = lambda time, s: np.zeros(s.num_dofs)  # noqa: E731
    motion = simulate(make(solver), integrator, 0.5, forces=forces, events=turns, dense_output=True)
    times = [0.0, 0.0501, 0.333, 0.5]
    expected = motion.dense(times)
    for twin in (copy.deepcopy(motion), pickle.loads(pickle.dumps(motion))):
        mine, other = motion.dense._segments[0].system, twin.dense._segments[0].system
        assert not {c.address for c in containers(mine)} & table_of(other)
        for found, wanted in zip(twin.dense(times), expected, strict=True):
            assert np.abs(found - wanted).max() < 1e-9
        assert len(twin.events) == len(motion.events)


def containers(system) -> list[Struct]:
    return [x for x in vars(system).values() if isinstance(x, Struct)]


def table_of(system) -> set[int]:
    return {*system._between.words_of_block().tolist(), *system._moves.words_of_block().tolist()}


def test_events_of_another_skeletons_coordinates_are_refused():
    _, arm = swinging(False)
    other = arm.clone()
    q = arm.positions
    for event in (Event.passing(other.dofs[0]), Event.turning(other.dofs[0]), Event.limit(other.dofs[1])):
        with pytest.raises(ModelError, match="no coordinate of skeleton"):
            simulate(arm, RK4(), 0.1, events=event)
    assert np.array_equal(arm.positions, q)


@pytest.mark.parametrize("solver", ["", "CE", "TA"])
def test_a_motion_that_is_done_stays_as_it_was(solver):
    """Joints and masses that change afterwards are no part of it."""
    make, skeleton = swinging(solver != "")
    joint = kido.FreeJoint("loose", transform_from_parent=(0.5, 0.0, 0.0))
    skeleton.add_body("loose", joint, None, kido.Inertia.from_diagonal(1.0, (0.1, 0.2, 0.3)))
    skeleton.velocities = np.concatenate([skeleton.velocities[:-6], [1.0, 2.0, 3.0, 0.5, 0.0, 1.0]])
    motion = simulate(make(solver), DormandPrince(rtol=1e-9), 0.3, dense_output=True)
    before = motion.dense([0.0501, 0.2])
    for k in (1, -1):
        skeleton.joints[k].transform_from_parent = (3.0, 0.0, 0.0)
        skeleton.bodies[k].inertia = kido.Inertia.from_diagonal(7.0, (1.0, 1.0, 1.0))
    _ = skeleton.mass_matrix
    for found, expected in zip(motion.dense([0.0501, 0.2]), before, strict=True):
        assert np.array_equal(found, expected)


def test_more_results_than_memory_has_room_for_are_refused(monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr("kido.integrators.system.System.motion", full)
    swing = pendulum(initial_position=0.5)
    with pytest.raises(ModelError, match=r"101 results of 1 coordinates.*memory"):
        simulate(swing, RK4(), 0.1)
    assert swing.positions == [0.5]
