"""Motions of closed chains with flexible bodies: formulations agree, energy, orders, the test set's slider-crank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_flexible_crank import (
    J1,
    L1,
    L2,
    LINEAR,
    M1,
    M3,
    NONLINEAR,
    SPEED,
    START,
    bending_stiffens,
    rod,
)
from test_flexible_loops import four_bar

import kido
from kido.dynamics import GGL, Baumgarte
from kido.flexible import FlexibleBody, Material, Section, beam_modes, flexible_bodies
from kido.integrators import RK4, DormandPrince, simulate

TIGHT = DormandPrince(rtol=1e-11, atol=1e-13)
ASSEMBLED: list[np.ndarray] = []


def moving_four_bar() -> tuple[kido.Skeleton, list]:
    """The four-bar of `test_flexible_loops`, bent, without damping, in motion."""
    s, constraints = four_bar()
    for dof in s.dofs:
        dof.damping = 0.0
    if not ASSEMBLED:
        s.set_positions([0.9, -0.5, 1.6], ["crank", "pin", "base"])
        modes = [k for f in flexible_bodies(s) for k in range(f.dofs.start, f.dofs.stop)]
        plane = [k for k in modes if "bending_y" in s.dofs[k].name]
        rng = np.random.default_rng(0)
        s.set_positions(0.01 * rng.normal(size=len(plane)), plane)
        s.velocities = rng.normal(size=s.num_dofs) * np.where(np.isin(np.arange(s.num_dofs), modes), 0.05, 1.0)
        kido.ConstrainedDynamics(s, constraints).assemble(freeze="crank")
        ASSEMBLED.extend([np.array(s.positions), np.array(s.velocities)])
    s.positions, s.velocities = ASSEMBLED
    return s, constraints


def energy(s: kido.Skeleton) -> float:
    return s.kinetic_energy + s.potential_energy


def moved(
    integrator: Any, duration: float = 0.02, solver: str = "TA", stabilization: Any = None, **options: Any
) -> tuple:
    s, constraints = moving_four_bar()
    dynamics, before = kido.ConstrainedDynamics(s, constraints, solver=solver), energy(s)
    motion = simulate(dynamics, integrator, duration, stabilization=stabilization, **options)
    return motion, energy(s) - before, dynamics


def test_formulations_and_stabilizations_have_one_motion() -> None:
    schemes = [("FA", None), ("CE", None), ("TA", GGL()), ("TA", Baumgarte(50.0))]
    truth, change, dynamics = moved(TIGHT, time_step=0.01)
    assert abs(change) < 1e-10 and dynamics.system.skeleton.kinetic_energy > 0.01
    for solver, stabilization in schemes:
        motion, change, dynamics = moved(TIGHT, 0.02, solver, stabilization, time_step=0.01)
        assert np.abs(motion.positions - truth.positions).max() < 1e-9
        assert np.abs(motion.velocities - truth.velocities).max() < 1e-9 * np.abs(truth.velocities).max()
        assert abs(change) < 1e-10
        assert np.abs(dynamics.system.phi()).max() < 1e-11
        assert np.abs(dynamics.system.evaluate()[2]).max() < 1e-11


@pytest.mark.parametrize("solver", ["TA", "CE"])
def test_runge_kutta_is_of_fourth_order(solver: str) -> None:
    truth = moved(TIGHT, 0.02, time_step=0.02)[0]
    errors, energies = [], []
    for h in (1e-4, 5e-5):
        motion, change, _ = moved(RK4(), 0.02, solver, time_step=h)
        errors.append(np.abs(motion.positions[-1] - truth.positions[-1]).max())
        energies.append(abs(change))
    assert 12.0 < errors[0] / errors[1] < 20.0
    assert energies[1] < energies[0] / 12.0


class Crank:
    """The slider-crank as a closed chain: a crank at its speed, a flexible rod, a slider on a rail, tied to the tip."""

    def __init__(self, nonlinear: bool):
        s = self.skeleton = kido.Skeleton("slider-crank")
        s.gravity = (0.0, 0.0, 0.0)
        modes, self.V = rod()
        crank = kido.RevoluteJoint("crank", axis=(0, 0, 1))
        arm = s.add_body("crank", crank, None, kido.Inertia(M1, moment=np.diag([J1, J1, J1])))
        pin = kido.RevoluteJoint("pin", axis=(0, 0, 1), transform_from_parent=(L1, 0.0, 0.0))
        flexible = FlexibleBody(s.add_body("rod", pin, arm), modes)
        slider = s.add_body("slider", kido.PrismaticJoint("rail", axis=(1, 0, 0)), None, kido.Inertia(M3))
        s.dof("crank").actuator_type = "VELOCITY"
        s.dof("crank").command = SPEED
        ends = flexible.node("tip"), slider
        self.closing = kido.BallJointConstraint(*ends, frame_a=np.eye(4), frame_b=np.eye(4))
        self.forces = self._bending_forces if nonlinear else None
        q, rate = (np.linalg.solve(self.V, part) for part in START)
        stretch, growth = self.V[3] @ q, self.V[3] @ rate
        turning = -L1 * SPEED / (L2 + stretch)
        s.positions = np.concatenate([[0.0, 0.0], q, [L1 + L2 + stretch]])
        s.velocities = np.concatenate([[SPEED, turning - SPEED], rate, [growth]])

    def _bending_forces(self, _: float, s: kido.Skeleton) -> np.ndarray:
        forces = np.zeros(s.num_dofs)
        forces[2:6] = self.V.T @ bending_stiffens(self.V @ np.array(s.positions[2:6]))
        return forces

    def end(self, solver: str, integrator: Any, duration: float = 0.1) -> np.ndarray:
        """Angle of the rod, place of the slider and the test set's coordinates after a time."""
        dynamics = kido.ConstrainedDynamics(self.skeleton, [self.closing], solver=solver)
        simulate(dynamics, integrator, times=[0.0, duration], forces=self.forces)
        q = np.array(self.skeleton.positions)
        return np.concatenate([[q[0] + q[1], q[6]], self.V @ q[2:6]])


@pytest.mark.parametrize("solver", ["TA", "FA", "CE"])
def test_the_closed_slider_crank_ends_where_the_test_set_has_it(solver: str) -> None:
    """Linear, by rows of the loop: angle and place within a few units of the thirteenth digit, coordinates too."""
    found = Crank(False).end(solver, DormandPrince(rtol=1e-12, atol=1e-14))
    assert np.abs(found - LINEAR).max() < 5e-13


@pytest.mark.slow
def test_the_nonlinear_one_too() -> None:
    """Its forces are a function of the state, in Python."""
    found = Crank(True).end("TA", DormandPrince(rtol=1e-10, atol=1e-12))
    assert np.abs(found[:2] - NONLINEAR).max() < 5e-12


def parallelogram(floating: bool) -> tuple[kido.Skeleton, list]:
    """A plane loop of rigid bodies, with a beam on it that bends in the plane."""
    s = kido.Skeleton("parallelogram")
    inertia = kido.Inertia(0.5, (0.2, 0, 0), moment=0.01 * np.eye(3))
    base = None
    if floating:
        base = s.add_body("floating", kido.FreeJoint("float"), None, kido.Inertia(2.0, moment=0.1 * np.eye(3)))

    def turning(name: str, parent: kido.BodyNode | None, place: float) -> kido.BodyNode:
        joint = kido.RevoluteJoint(name, (0, 0, 1), transform_from_parent=(place, 0, 0))
        return s.add_body(name, joint, parent, inertia)

    a = turning("a", base, 0.0)
    b, c = turning("b", a, 0.4), turning("c", base, 1.0)
    beam = beam_modes(0.4, Section.rectangle(0.02, 0.01), Material(7e10, 2700.0, 0.33), bending_y=2)
    hinge = kido.RevoluteJoint("beam", (0, 0, 1), transform_from_parent=(0.4, 0, 0))
    FlexibleBody(s.add_body("beam", hinge, c), beam)
    ends = [np.eye(4), np.eye(4)]
    ends[0][0, 3], ends[1][0, 3] = 1.0, 0.4
    return s, [kido.BallJointConstraint(b, c, frame_a=ends[0], frame_b=ends[1])]


@pytest.mark.parametrize("solver", ["TA", "FA", "CE"])
def test_rows_of_rounding_are_none(solver: str) -> None:
    """A plane loop has two rows and one of zeros; on a base that is turned the latter is rounding, 1e-17."""
    s, tied = parallelogram(True)
    s.set_positions([0.7, -0.7, 0.7], ["a", "b", "c"])
    s.set_velocities([1.0, -1.0, 1.0], ["a", "b", "c"])
    dynamics = kido.ConstrainedDynamics(s, tied, solver=solver)
    level = np.array(dynamics.accelerations())
    assert dynamics.report.rank == 2
    s.set_positions([0.3, 0.2, -0.4], [0, 1, 2])
    s.gravity = np.array(s.body("floating").world_transform)[:3, :3] @ np.array(s.gravity)  # all is turned together
    turned = np.array(dynamics.accelerations())
    assert dynamics.report.rank == 2
    assert np.abs(turned - level).max() < 1e-9 * np.abs(level).max()


def test_dependent_coordinates_of_another_rank_are_chosen_anew() -> None:
    """Folded, a parallelogram's loop has one row less."""
    s, tied = parallelogram(False)
    s.gravity = [0.0, -9.81, 0.0]
    made = {name: kido.ConstrainedDynamics(s, tied, solver=name) for name in ("TA", "CE")}
    for angle in (0.7, 0.0, 0.7):
        s.set_positions([angle, -angle, angle], ["a", "b", "c"])
        found = {name: np.array(dynamics.accelerations()) for name, dynamics in made.items()}
        assert np.abs(found["CE"] - found["TA"]).max() < 1e-8 * np.abs(found["TA"]).max()


def test_steps_that_try_too_much_are_tried_again() -> None:
    """A stage with deflections far beyond what modes are for has no inertia that is positive: a step too large."""
    s, tied = parallelogram(False)
    for dof in s.dofs:
        dof.damping = 0.0
    s.set_positions([0.7, -0.7, 0.7], ["a", "b", "c"])
    s.set_velocities([1.0, -1.0, 1.0], ["a", "b", "c"])
    before = energy(s)
    simulate(kido.ConstrainedDynamics(s, tied), DormandPrince(rtol=1e-10, atol=1e-12), 1e-3, time_step=1e-6)
    assert energy(s) == pytest.approx(before, abs=1e-9)
