"""Elastic joints, play and beams as hinges, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import kido
from kido.flexible import FlexibleTree, Material, Section, beam_hinge, beam_modes, elastic_hinge

LINK = 0.5


def wheel(joint: type = kido.RevoluteJoint) -> kido.Skeleton:
    """A link on a hinge about z, or a slide along it."""
    skeleton = kido.Skeleton("wheel")
    skeleton.gravity = (0.0, 0.0, 0.0)
    skeleton.add_body(
        "link", joint("hinge", axis=(0, 0, 1)), None, kido.Inertia(LINK, moment=np.diag([1.0, 1.0, LINK]))
    )
    return skeleton


@pytest.mark.parametrize("joint", [kido.RevoluteJoint, kido.PrismaticJoint])
@pytest.mark.parametrize(("ratio", "rotor"), [(1.0, 1.0), (100.0, 1e-4), (-50.0, 3e-3)])
def test_two_inertias_on_a_spring(joint: type, ratio: float, rotor: float) -> None:
    """omega = sqrt(k (1 / (N^2 J) + 1 / M)), and the rigid motion together."""
    skeleton = wheel(joint)
    hinge = elastic_hinge(skeleton.joint("hinge"), 1e3, rotor, ratio)
    assert [dof.name for dof in skeleton.dofs] == ["hinge", "hinge_elastic"]
    K = np.diag([0.0, 1e3])
    values = scipy.linalg.eigh(K, skeleton.mass_matrix, eigvals_only=True)
    assert np.isclose(values[1], 1e3 * (1.0 / (ratio**2 * rotor) + 1.0 / LINK), rtol=1e-12)
    assert abs(values[0]) < 1e-9 * values[1]
    skeleton.positions = [0.3, 0.02]
    assert np.isclose(hinge.link_position, 0.32) and np.isclose(hinge.motor_position, 0.3 * ratio)
    assert np.isclose(hinge.torque, -20.0)
    hinge.drive(2.0)
    assert np.allclose(skeleton.forces, [2.0 * ratio, 0.0])


def test_a_robot_keeps_what_it_had() -> None:
    """A joint amid an arm: its name, limits and state, and all other bodies where they were."""
    arm = kido.load(kido.models.path("arm7"))
    q = arm.random_positions(3)
    arm.positions = q
    joint = arm.dofs[3].joint
    name, child, limits = joint.name, joint.child.name, (joint.position_lower_limit[0], joint.position_upper_limit[0])
    places = {body.name: body.world_transform.copy() for body in arm.bodies}
    M = arm.mass_matrix.copy()
    hinge = elastic_hinge(joint, 5e3, rotor_inertia=2e-5, ratio=100.0, damping=3.0)
    assert hinge.motor.joint.name == name and arm.num_dofs == 8
    assert (hinge.motor.position_lower_limit, hinge.motor.position_upper_limit) == limits
    for key, X in places.items():
        assert np.allclose(arm.body(key).world_transform, X, atol=1e-12), key
    assert np.isclose(hinge.link_position, q[3])
    # Without deflection the motor's inertia is all that is new.
    own = [arm.dof(d.name).index for d in arm.dofs if d is not hinge.deflection]
    order = np.argsort([list(places).index(_link_of(arm, arm.dofs[k])) for k in own])
    found = arm.mass_matrix[np.ix_(own, own)][np.ix_(order, order)]
    assert np.allclose(found - M, np.diag([0.0, 0, 0, 0.2, 0, 0, 0]), atol=1e-12)
    assert child in places


def _link_of(arm: kido.Skeleton, dof: kido.DegreeOfFreedom) -> str:
    return dof.joint.child.name.removesuffix("_motor")


def test_play_between_stops() -> None:
    """Undamped, the play adds the time to cross it twice: 2 pi / omega + 2 b / v; what is loose takes little energy."""
    b, k, gear = 0.02, 1e3, 1e-5
    skeleton = wheel()
    hinge = elastic_hinge(skeleton.joint("hinge"), k, 1e-4, 100.0, backlash=b, gear_inertia=gear)
    world = kido.World(gravity=(0, 0, 0))
    world.time_step = 2e-4
    world.add_skeleton(skeleton)
    hinge.deflection.velocity = 1.0
    play, relative, energy = [], [], []
    for _ in range(2000):
        world.step()
        play.append(hinge.play.position)
        relative.append(hinge.deflection.position + hinge.play.position)
        energy.append(skeleton.kinetic_energy + 0.5 * k * hinge.deflection.position**2)
    rate = np.sqrt(k * (1.0 / LINK + 1.0))
    at = np.array(relative)
    up = np.flatnonzero((at[:-1] < 0.0) & (at[1:] >= 0.0))
    crossed = world.time_step * (up + at[up] / (at[up] - at[up + 1]))
    assert np.allclose(np.diff(crossed), 2.0 * np.pi / rate + 2.0 * b, rtol=2e-4)
    assert np.isclose(at.max(), 0.5 * b + 1.0 / rate, rtol=1e-3)
    # Stops hold, to the share of a step's motion that a world's limits leave.
    assert 0.5 * b - 1e-5 < np.abs(play).max() < 0.5 * b + 1e-5
    assert energy[-1] <= energy[0] + 1e-9 and energy[-1] > 0.998 * energy[0]


def test_without_play_a_step_is_implicit() -> None:
    """A spring of 1 MHz at 1 ms stays bounded, and the link follows the motor."""
    skeleton = wheel()
    hinge = elastic_hinge(skeleton.joint("hinge"), 1e13, 1e-4, 100.0)
    world = kido.World(gravity=(0, 0, 0))
    world.add_skeleton(skeleton)
    hinge.drive(0.015)
    world.step(1000)
    assert np.isclose(hinge.link_position, 0.5 * 1.5 / (LINK + 1.0), rtol=2e-3)


def test_a_flexure_is_as_stiff_as_its_beam() -> None:
    """A moment at the tip turns it by M L / E I, a force moves it by F L^3 / 3 E I."""
    section, material = Section.rectangle(0.02, 1e-3), Material(2e11, 7800.0)
    skeleton = kido.Skeleton("flexure")
    skeleton.gravity = (0.0, 0.0, 0.0)
    base = skeleton.add_body("base", kido.WeldJoint(), None, kido.Inertia(1.0))
    arm = skeleton.add_body(
        "arm", kido.WeldJoint(transform_from_parent=(0.1, 0, 0)), base, kido.Inertia(2.0, (0.3, 0, 0))
    )
    arm.add_shape(kido.Sphere(0.1))
    modes = beam_modes(0.05, section, material, bending_z=2, theory="euler-bernoulli", boundary="craig-bampton")
    flexible = beam_hinge(arm, modes)
    assert flexible.body.name == "arm_hinge" and arm.parent is flexible.node("tip")
    assert np.allclose(arm.world_transform[:3, 3], [0.15, 0, 0])
    tree, q = FlexibleTree(skeleton), np.zeros(2)
    J = tree.jacobian(arm, q)
    EI, L = 2e11 * section.about_y, 0.05
    C = J / modes.stiffness @ J.T
    assert np.isclose(C[1, 1], L / EI, rtol=1e-9)
    assert np.isclose(C[5, 5], L**3 / (3.0 * EI), rtol=1e-9)
    # A body on it swings as on the beam's stiffness, which has force and moment together.
    M = tree.mass_matrix(q)
    found = np.sqrt(scipy.linalg.eigh(np.diag(modes.stiffness), M, eigvals_only=True)[0])
    stiff = np.linalg.inv(np.array([[L**3 / 3.0, L**2 / 2.0], [L**2 / 2.0, L]]) / EI)
    inert = 2.0 * np.array([[1.0, 0.3], [0.3, 0.09]])
    exact = np.sqrt(1.0 / scipy.linalg.eigh(inert, stiff, eigvals_only=True)[-1])
    assert np.isclose(found, exact, rtol=2e-3)  # the beam's own 8 g


def test_hinges_that_cannot_be() -> None:
    skeleton = wheel()
    joint = skeleton.joint("hinge")
    for options, message in (
        ({"stiffness": 0.0, "rotor_inertia": 1.0}, "stiffness: expected a positive number, got 0"),
        ({"stiffness": 1.0}, "rotor_inertia: expected some, or the motor moves no mass"),
        ({"stiffness": 1.0, "rotor_inertia": -1.0}, "rotor_inertia: expected a number that is not negative"),
        ({"stiffness": 1.0, "rotor_inertia": 1.0, "ratio": 0.0}, "ratio: expected a finite number that is not zero"),
        ({"stiffness": 1.0, "rotor_inertia": 1.0, "backlash": 0.1}, "gear_inertia: expected a positive number"),
        ({"stiffness": 1.0, "rotor_inertia": 1.0, "damping": np.nan}, "damping: expected a number"),
    ):
        with pytest.raises(kido.ModelError, match=message):
            elastic_hinge(joint, **options)
    with pytest.raises(kido.ModelError, match="expected a revolute or prismatic joint of a skeleton"):
        elastic_hinge(kido.RevoluteJoint("loose"), 1.0, 1.0)
    skeleton.add_body("hinge_elastic", kido.WeldJoint("other"), skeleton.body("link"))
    with pytest.raises(kido.ModelError, match="skeleton 'wheel' has 'hinge_elastic' already"):
        elastic_hinge(joint, 1.0, 1.0)
    follower = kido.RevoluteJoint("follower", mimic=kido.Mimic("hinge"))
    skeleton.add_body("finger", follower, skeleton.body("link"), kido.Inertia(1.0, moment=np.eye(3)))
    with pytest.raises(kido.ModelError, match="'follower' follows it"):
        elastic_hinge(joint, 1.0, 1.0)
    modes = beam_modes(1.0, Section.tube(0.1), Material(1e9, 1e3), axial=1)
    with pytest.raises(kido.NameLookupError, match="no node 'end'; expected one of: tip"):
        beam_hinge(skeleton.body("finger"), modes, "end")
    with pytest.raises(kido.ModelError, match=r"has a body, joint or coordinate 'link'|'link'"):
        beam_hinge(skeleton.body("finger"), modes, name="link")
    assert [b.name for b in skeleton.bodies] == ["link", "hinge_elastic", "finger"]
