"""Free bodies by the lane: the same smooth motion and the same rows as by the general way."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.kernels.free_lanes import CENTRED, NOT_FREE, OFF_CENTRE
from kido.shapes import Box

TOLERANCE = 1e-12  # rounding of some hundred operations on numbers of order 1 to 10


def tumblers(count: int, centred: bool, time_step: float = 1e-3) -> kido.World:
    """Boxes of random inertias at random poses and velocities."""
    rng = np.random.default_rng(7)
    world = kido.World(time_step=time_step)
    world.add_ground(friction=0.5)
    for i in range(count):
        skeleton = kido.Skeleton(f"s{i}")
        half = rng.uniform(0.1, 0.3, 3)
        moments = np.diag(half[[1, 0, 0]] ** 2 + half[[2, 2, 1]] ** 2)
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        x, y, z = np.zeros(3) if centred else rng.uniform(-0.05, 0.05, 3)
        inertia = kido.Inertia(rng.uniform(0.5, 2.0), com=(x, y, z), moment=turn @ moments @ turn.T)
        body = skeleton.add_body("body", joint=kido.FreeJoint("free"), inertia=inertia)
        body.add_shape(Box((2.0 * half[0], 2.0 * half[1], 2.0 * half[2])))
        skeleton.positions = [*rng.normal(size=3), 2.0 * i, 0.0, rng.uniform(0.0, 0.4)]
        skeleton.velocities = rng.normal(size=6)
        world.add_skeleton(skeleton)
    return world


def state(world: kido.World) -> np.ndarray:
    """Positions, velocities and forces of all."""
    return np.concatenate(
        [np.concatenate([s.positions, s.velocities, s.accelerations, s.constraint_forces]) for s in world.skeletons]
    )


@pytest.mark.parametrize("centred", [True, False])
def test_a_step_by_lanes_is_the_general_one(centred):
    """A force of 1e-300 N changes nothing but the way that is taken; eleven bodies are no whole number of lanes."""
    by_lanes, general = tumblers(11, centred), tumblers(11, centred)
    for _ in range(20):
        for skeleton in general.skeletons:
            if skeleton.num_dofs:
                skeleton.forces = np.full(6, 1e-300)
        by_lanes.step()
        general.step()
    assert len(by_lanes.contacts) == len(general.contacts) > 0
    a, b = state(by_lanes), state(general)
    assert np.abs(a - b).max() < 1e-9 * np.abs(b).max()  # the solver's accuracy over 1 ms


@pytest.mark.parametrize("centred", [True, False])
def test_rows_of_contacts_are_those_of_the_sweep(centred):
    """J and Y in closed form against the columns of the articulated-body sweep.

    Poses at mid-step differ by h^2 w^2 c / 8: single free bodies are placed by their centres of mass.
    """
    world = tumblers(5, centred, 1e-6)
    world.step()
    closed = world.engine.problem
    J, Y, blocks = closed.J.copy(), closed.Y.copy(), closed.num_blocks
    other = tumblers(5, centred, 1e-6)
    len(other.contacts)  # compiles
    other.engine.responses.free = False  # also where arrays grow within the step
    other.engine.responses.container.free[:] = NOT_FREE
    other.step()
    swept = other.engine.problem
    assert blocks == swept.num_blocks > 0
    np.testing.assert_allclose(J, swept.J, atol=TOLERANCE)
    np.testing.assert_allclose(Y, swept.Y, rtol=0, atol=TOLERANCE * np.abs(Y).max())
    for a, b in zip(world.skeletons, other.skeletons, strict=True):
        np.testing.assert_allclose(a.positions, b.positions, atol=1e-5)  # what is pushed out may turn about its origin
        np.testing.assert_allclose(a.velocities, b.velocities, atol=1e-5)  # impacts of 1 m/s: h w dw


def test_which_bodies_are_free():
    """Damped, held, offset and jointed ones are not; edits of properties are seen."""
    world = tumblers(3, True)
    bodies = [s.bodies[0] for s in world.skeletons if s.num_dofs]
    bodies[1].inertia = kido.Inertia(1.0, com=(0.1, 0.0, 0.0), moment=np.eye(3))
    len(world.contacts)
    free = world.engine.responses.container.free
    of = [world.engine.link_index(b) for b in bodies]
    assert free[of].tolist() == [CENTRED, OFF_CENTRE, CENTRED]
    for dof in bodies[0].parent_joint.dofs:
        dof.damping = 0.1
    world.step()
    assert world.engine.responses.container.free[of].tolist() == [NOT_FREE, OFF_CENTRE, CENTRED]


def test_motion_that_is_not_finite_is_named():
    """As for bodies by the general way."""
    world = tumblers(3, True)
    skeleton = world.skeletons[-1]
    skeleton.velocities = [1e200, 1e200, 0.0, 0.0, 0.0, 0.0]
    with pytest.raises(kido.KidoError, match=skeleton.name):
        world.step(3)
