"""Derivatives by formulas of steps of robots in the air, whose momentum a step keeps, against dual numbers."""

from __future__ import annotations

import numpy as np
import pytest
from step_differences import differences, largest
from test_step_derivatives import chain, hinges

import kido
from kido.simulation.gradients.derivatives import by_duals, by_formulas
from manifold import moved
from scenes import world

ROUNDING = 1e-12  # of two ways to the same derivative
TOLERANCE = 1e-7  # of differences of fourth order with steps of 1e-5


def check(made: kido.World, against_differences: bool = False) -> None:
    """Formulas are there, and are as dual numbers; so is what they pull back."""
    formulas = by_formulas(made)
    assert formulas is not None
    found, other = formulas.derivatives(), by_duals(made, {}, 1)
    np.testing.assert_allclose(found.by_state, other.by_state, atol=ROUNDING, rtol=0)
    np.testing.assert_allclose(found.by_commands, other.by_commands, atol=ROUNDING, rtol=0)
    g = np.random.default_rng(0).normal(size=len(found.by_state))
    by_state, by_commands, _ = made.pull_back(g)
    np.testing.assert_allclose(by_state, g @ found.by_state, atol=10 * ROUNDING, rtol=0)
    np.testing.assert_allclose(by_commands, g @ found.by_commands, atol=10 * ROUNDING, rtol=0)
    if against_differences:
        by_state, by_forces = differences(made)
        assert largest(found.by_state, by_state) < TOLERANCE
        assert largest(found.by_commands, by_forces) < TOLERANCE


@pytest.mark.parametrize("joints", [hinges(2), [kido.BallJoint("ball"), *hinges(2)]], ids=["hinges", "ball"])
def test_chains_in_the_air(joints) -> None:
    """Ten milliseconds, in which they turn by some hundredths, with forces on all coordinates."""
    check(world(chain(joints, free_base=True), ground=False, time_step=1e-2), against_differences=True)


def test_joints_with_springs_dampers_rotors_and_friction() -> None:
    """Dry friction changes velocities, and so velocity products."""
    skeleton = chain(hinges(4), free_base=True)
    for k, dof in enumerate(skeleton.dofs[-4:]):
        dof.damping, dof.spring_stiffness, dof.armature = 0.3 * k, 5.0 * k, 0.02
    skeleton.dofs[7].coulomb_friction = 0.1
    check(world(skeleton, ground=False, time_step=1e-2))


def test_momentum_stays_whatever_joints_do() -> None:
    """The momentum after the step does not change as forces in joints do, nor the centre of mass."""
    skeleton = chain(hinges(3), free_base=True)
    made = world(skeleton, ground=False, time_step=1e-2)
    found = made.step_derivatives()
    made.step()
    q, u = skeleton.positions.copy(), skeleton.velocities.copy()

    def kept(of_force: np.ndarray, x: float) -> np.ndarray:
        skeleton.positions, skeleton.velocities = moved(skeleton, q, of_force[:9], x), u + x * of_force[9:]
        return np.concatenate([skeleton.centroidal_momentum, skeleton.com])

    for k in range(6, 9):
        column = found.by_commands[:, k] / np.abs(found.by_commands[:, k]).max()
        change = (kept(column, 1e-5) - kept(column, -1e-5)) / 2e-5
        np.testing.assert_allclose(change, 0.0, atol=1e-8)  # of differences of numbers of size 10
        assert np.abs(column[9:15]).max() > 1e-2  # the base does move


def test_two_of_which_one_floats() -> None:
    """An arm on the world and a chain in the air do not know of each other."""
    one, two = chain(hinges(3), free_base=True), chain(hinges(2), seed=3)
    two.name = "arm"
    made = world(one, two, ground=False, time_step=5e-3)
    check(made)


def test_surfaces_of_their_own_have_no_part_in_the_air() -> None:
    """Two coefficients of friction make a table of surfaces, which a step without contacts does not read."""
    skeleton = chain(hinges(2), free_base=True)
    skeleton.bodies[0].add_shape(kido.Sphere(0.01), surface=kido.Surface(friction=0.5, secondary_friction=0.2))
    made = world(skeleton, ground=False, time_step=1e-3)
    assert made.engine.surfaces.container.mode != 0
    check(made)


@pytest.mark.parametrize("what", ["a push", "no gravity", "a spring"])
def test_what_formulas_leave_out_goes_by_dual_numbers(what: str) -> None:
    skeleton = chain(hinges(2), free_base=True)
    if what == "no gravity":
        skeleton.bodies[1].gravity = 0.5
    if what == "a push":
        skeleton.bodies[1].add_external_force((1.0, 2.0, 3.0))
    if what == "a spring":
        skeleton.dofs[4].spring_stiffness = 3.0  # on the base: its momentum is not kept, and formulas know that
    made = world(skeleton, ground=False, time_step=1e-3)
    formulas = by_formulas(made)
    went = formulas is not None
    assert went == (what == "a spring")
    found = made.step_derivatives()
    by_state, by_forces = differences(made)
    assert largest(found.by_state, by_state) < TOLERANCE
    assert largest(found.by_commands, by_forces) < TOLERANCE
