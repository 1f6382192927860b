"""The wheel that is changed and the door that is opened: every phase, from beginning to end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kido.demos import door, garage, tire
from kido.manipulation import Grasps


def linear_momentum(*skeletons) -> np.ndarray:
    return np.sum([np.array(s.centroidal_momentum_matrix)[3:] @ s.velocities for s in skeletons], axis=0)


def done(operator, task, watch):
    """Do what a task asks for, and call `watch` after every step."""
    world = operator.real.world
    for seconds in task:
        for _ in range(int(np.ceil(seconds / world.time_step))):
            world.step(1, reset_command=False)
            watch()


def robots_contacts(world) -> set[tuple[str, str]]:
    """Names of bodies that touch, one of the robot's or both."""
    own = set(world.skeleton("two_arms").bodies)
    pairs = zip(world.contacts.body_a, world.contacts.body_b, strict=True)
    return {(a.name, b.name) for a, b in pairs if own & {a, b}}


@pytest.fixture(scope="module")
def changed():
    """All of the change, and what was seen meanwhile."""
    operator, log = garage.prepared(*garage.known_and_real()), {}
    world, control, grasps = operator.real.world, operator.control, operator.real.grasps
    robot = world.skeleton("two_arms")
    seen = SimpleNamespace(log=log, operator=operator, touched=set(), share=0.0, errors={}, open=0.0, kept=[], let=[])
    seen.nuts, seen.residual, attach, detach = {}, 0.0, Grasps.attach, Grasps.detach

    def held(of, body, hand, **options):
        if of is not grasps or body.name not in garage.MASSES or "hub" in {options["name"], *(g.name for g in of.held)}:
            return attach(of, body, hand, **options)
        before, u, first = linear_momentum(robot, body.skeleton), np.array(robot.velocities), not of.holding(body)
        point = (np.linalg.inv(hand.world_transform) @ body.world_transform)[:3, 3]
        M, J = np.array(robot.mass_matrix), np.array(robot.jacobian(hand, point))
        made = attach(of, body, hand, **options)
        seen.kept.append(linear_momentum(robot, body.skeleton) - before)
        if first:  # later ones push by the hands before as well
            assert np.abs(made.impulse).max() > 1e-4
            seen.kept.append(M @ (robot.velocities - u) + J.T @ made.impulse)
        return made

    def let(of, name):
        before = [np.array(s.velocities) for s in world.skeletons]
        detach(of, name)
        if of is grasps:
            seen.let.append(max(np.abs(s.velocities - u).max(initial=0.0) for s, u in zip(world.skeletons, before)))

    def watch():
        phase = log["phase"]
        seen.share = max(seen.share, float(np.abs(control.forces / robot.force_upper_limits).max()))
        error = float(np.abs(control.reference()[0] - robot.positions).max())
        seen.errors[phase] = max(error, seen.errors.get(phase, 0.0))
        seen.nuts[phase] = [float(world.skeleton(f"nut_{k}").positions[0]) for k in range(3)]
        seen.touched |= robots_contacts(world)
        if control.load_share is not None:
            seen.residual = max(seen.residual, control.load_share.residual)
        for grasp in grasps.held:
            seen.open = max(seen.open, float(np.abs(grasp.constraint.error).max()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Grasps, "attach", held)
        patch.setattr(Grasps, "detach", let)
        done(operator, tire.change(operator, log), watch)
    return seen


@pytest.mark.slow
class TestTheWheel:
    def test_all_phases_come_to_their_end(self, changed):
        assert changed.log["phase"] == "is done"
        assert not changed.operator.model.grasps.held[1:] and changed.operator.model.grasps.held[0].name == "hub"

    def test_the_nuts_come_out_and_in_again(self, changed):
        np.testing.assert_allclose(changed.nuts["loosens the nuts"], 1.5 * np.pi, atol=2e-3)
        np.testing.assert_allclose(changed.nuts["tightens the nuts"], 0.0, atol=2e-3)

    @pytest.mark.parametrize("name", garage.MASSES)
    def test_masses_are_found(self, changed, name):
        """From forces and motions of the lift and the base, without noise: to what the midpoint of a period leaves."""
        assert abs(garage.MASSES[name] - garage.GUESS) > 2.0
        assert changed.log[name][0] == pytest.approx(garage.MASSES[name], abs=1e-3)
        assert changed.operator.model.body(name).inertia.mass == changed.log[name][0]

    def test_wheels_are_where_they_are_to_be(self, changed):
        spare, flat = (changed.operator.real.body(name).world_transform for name in ("spare", "flat"))
        np.testing.assert_allclose(spare[:3, 3], garage.HUB, atol=1e-3)
        np.testing.assert_allclose(spare[:3, 2], garage.OUT[:3, 2], atol=0.01)
        rest = np.sqrt((garage.RADIUS + 0.02) ** 2 - 0.15**2) - 0.26  # on two rails
        np.testing.assert_allclose(flat[:3, 3], garage.HUB + [0, garage.RACKS["flat"], rest], atol=3e-3)

    def test_a_found_mass_makes_holding_better(self, changed):
        assert changed.errors["mounts it"] < 0.5 * changed.errors["takes the wheel off"] < 0.015

    def test_torques_keep_their_limits(self, changed):
        assert 0.3 < changed.share < 1.0

    def test_the_robot_touches_nothing_but_what_it_holds(self, changed):
        assert not changed.touched

    def test_loops_stay_closed_and_loads_are_what_is_needed(self, changed):
        assert changed.open < 1e-8 and changed.residual < 1e-10

    def test_momentum_is_kept(self, changed):
        """Across grasps, that of robot and wheel together, which base and lift leave free in all directions, and each
        coordinate's by what the hand gave the wheel; across releases, all velocities."""
        assert len(changed.kept) == 3 and len(changed.let) == 2 * 3 + 1 + 2 * 2
        for change in changed.kept:
            np.testing.assert_allclose(change, 0.0, atol=1e-12)
        assert max(changed.let) == 0.0


def test_a_reset_begins_anew():
    """Also with hands that hold: after it, the robot goes the way that it went at first, to the bit."""
    demo = tire.make()
    world: Any = demo.model
    robot = world.skeleton("two_arms")
    demo.run(1.0)
    first = np.array(robot.positions)
    demo.run(4.5)
    assert any("right_hand" in c.name for c in world.constraints)
    world.reset()
    demo.run(1.0)
    assert [c.name for c in world.constraints] == ["grasp: hub"]
    np.testing.assert_array_equal(robot.positions, first)


@pytest.mark.slow
def test_the_door_opens_by_the_force_that_it_takes():
    """F = I a / r at the handle: along its way, by the loop that holds it, of the motion of the same step."""
    operator = door.prepared(*door.known_and_real())
    world, forces, touched, share = operator.real.world, [], set(), 0.0
    leaf, robot = world.skeleton("door"), world.skeleton("two_arms")
    inertia = door.MASS * (door.WIDTH**2 / 3 + 0.04**2 / 12)  # about the hinge's axis
    assert inertia == pytest.approx(float(leaf.mass_matrix[0, 0]), rel=1e-12)
    r = np.hypot(0.9 * door.WIDTH, 0.02 + 0.08)

    def watch():
        nonlocal share, touched
        touched |= robots_contacts(world)
        share = max(share, float(np.abs(operator.control.forces / robot.force_upper_limits).max()))
        held = operator.real.grasps.held
        if held and abs(leaf.velocities[0]) > 1e-3:
            arm = held[0].constraint.body_b.world_transform @ held[0].constraint.frame_b
            radius = arm[:3, 3] - leaf.body(0).world_transform[:3, 3]
            along = np.cross((0, 0, 1), radius * [1, 1, 0]) / r
            forces.append((held[0].constraint.wrench()[3:] @ along, inertia * float(leaf.accelerations[0]) / r))

    done(operator, door.open_door(operator), watch)
    measured, needed = np.array(forces).T
    assert len(measured) > 1000 and np.abs(needed).max() > 8.0
    # The force is a mean over the step, the way that of its end: it turns by less than 5e-3 rad within one.
    np.testing.assert_allclose(measured, needed, atol=5e-3 * 12.0)
    assert leaf.positions[0] == pytest.approx(door.OPEN, abs=5e-3)
    assert share < 1.0 and not touched
