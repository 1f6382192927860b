"""What a world says about contacts, which pairs it looks at, and that saved worlds go on bit for bit."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
import scenes
from kido import models
from kido.solvers import CONTACT, certify, problem_matrices
from scenes import G


def bodies_in_contact(world: kido.World) -> set[tuple[str, str]]:
    return {(c.body_a.skeleton.name, c.body_b.skeleton.name) for c in world.contacts}


# Filters -------------------------------------------------------------------------------------------------


def chain(**options) -> kido.Skeleton:
    """Three links in a row, each overlapping the next; the first and last are made to touch by the caller."""
    skeleton = kido.Skeleton("chain")
    parent = None
    for k in range(3):
        place = np.eye(4)
        place[0, 3] = 0.2 if k else 0.0
        joint = (
            kido.RevoluteJoint(f"joint{k}", axis=(0, 0, 1), transform_from_parent=place)
            if k
            else kido.FreeJoint("joint0")
        )
        parent = skeleton.add_body(
            f"link{k}", joint=joint, parent=parent, inertia=kido.Inertia(1.0, moment=0.01 * np.eye(3))
        )
        parent.add_shape(kido.Box((0.25, 0.1, 0.1)))
    for name, value in options.items():
        setattr(skeleton, name, value)
    return skeleton


@pytest.mark.parametrize(
    ("options", "pairs"),
    [
        ({}, set()),
        ({"adjacent_body_collision": True}, set()),
        ({"self_collision": True}, {("link0", "link2")}),
        (
            {"self_collision": True, "adjacent_body_collision": True},
            {("link0", "link1"), ("link1", "link2"), ("link0", "link2")},
        ),
    ],
)
def test_self_collision_filters(options, pairs):
    links = chain(**options)
    world = scenes.world(links, ground=False, gravity=(0, 0, 0))
    positions = links.positions.copy()
    positions[6:] = [2.4, 2.4]  # folded up
    links.positions = positions
    world.step()
    assert {(c.body_a.name, c.body_b.name) for c in world.contacts} == pairs


def test_links_without_shapes_are_looked_through():
    """A joint of two degrees of freedom as URDF files have it: two hinges and a link of no shape between."""
    skeleton = kido.Skeleton("hip")
    inertia = kido.Inertia(1.0, moment=0.01 * np.eye(3))
    pelvis = skeleton.add_body("pelvis", joint=kido.FreeJoint("root"), inertia=inertia)
    pelvis.add_shape(kido.Sphere(0.1))
    skeleton.add_body("between", joint=kido.RevoluteJoint("a", axis=(1, 0, 0)), parent="pelvis", inertia=inertia)
    thigh = skeleton.add_body("thigh", joint=kido.RevoluteJoint("b", axis=(0, 1, 0)), parent="between", inertia=inertia)
    thigh.add_shape(kido.Capsule(0.05, 0.3))
    skeleton.self_collision = True
    world = scenes.world(skeleton, ground=False)
    world.step()
    assert len(world.contacts) == 0


def test_user_pairs():
    lower, upper = scenes.cubes(2)
    world = scenes.world(lower, upper)
    world.set_collision_filter(lower.bodies[0], upper.bodies[0])
    world.step(10)
    assert bodies_in_contact(world) == {("ground", "cube0")}
    world.set_collision_filter(lower.bodies[0], upper.bodies[0], enabled=True)
    upper.positions = [0, 0, 0, 0, 0, 0.15]
    upper.velocities = np.zeros(6)
    world.step(10)
    assert bodies_in_contact(world) == {("ground", "cube0"), ("cube0", "cube1")}


def test_a_body_that_is_not_collidable_falls_through():
    box = scenes.cubes(1)[0]
    box.bodies[0].collidable = False
    world = scenes.world(box)
    world.step(1000)
    assert len(world.contacts) == 0
    assert scenes.place(box)[2] == pytest.approx(0.05 - G / 2, abs=1e-9)


def test_a_shape_without_collision_is_not_touched():
    box = scenes.cubes(1)[0]
    box.bodies[0].shapes[0].collision = False
    world = scenes.world(box)
    world.step(10)
    assert len(world.contacts) == 0


def test_immobile_skeletons_collide_but_not_with_each_other():
    table = scenes.fixed(kido.Box((1, 1, 0.2)), (0, 0, 0.1), name="table")
    shelf = scenes.fixed(kido.Box((1, 1, 0.2)), (0.5, 0, 0.15), name="shelf")
    box = scenes.free(kido.Box((0.1, 0.1, 0.1)), 1.0, (-0.3, 0, 0.25))
    world = scenes.world(table, shelf, box)
    world.step(100)
    assert bodies_in_contact(world) == {("table", "body")}
    np.testing.assert_allclose(scenes.place(box), [-0.3, 0, 0.25], atol=1e-8)


def test_an_immobile_robot_is_not_moved():
    arm = chain()
    world = scenes.world(arm)
    arm.mobile = False
    arm.positions = [0, 0, 0, 0, 0, 0.05, 0.3, 0.3]
    ball = scenes.free(kido.Sphere(0.05), 1.0, (0, 0, 0.15))
    world.add_skeleton(ball)
    before = arm.positions
    world.step(100)
    np.testing.assert_array_equal(arm.positions, before)
    assert scenes.place(ball)[2] == pytest.approx(0.15, abs=1e-6)


# What is reported ----------------------------------------------------------------------------------------


def test_forces_of_a_box_at_rest_sum_to_its_weight():
    box = scenes.free(kido.Box((0.2, 0.3, 0.1)), 7.0, (0.4, -0.2, 0.05))
    world = scenes.world(box)
    world.step(200)
    contacts = world.contacts
    assert len(contacts) == 4
    sign = np.array([1.0 if b.skeleton is box else -1.0 for b in contacts.body_b])[:, None]
    forces = sign * contacts.forces
    np.testing.assert_allclose(forces.sum(axis=0), [0, 0, 7 * G], atol=1e-4)
    moment = np.cross(contacts.points - scenes.place(box), forces).sum(axis=0)
    np.testing.assert_allclose(moment, 0.0, atol=1e-4)
    np.testing.assert_allclose(np.abs(contacts.normals), np.tile([0, 0, 1], (4, 1)), atol=1e-9)
    np.testing.assert_allclose(contacts.points[:, 2], 0.0, atol=1e-6)
    expected = {(x, y) for x in (0.3, 0.5) for y in (-0.35, -0.05)}
    assert {(round(x, 5), round(y, 5)) for x, y in contacts.points[:, :2]} == expected
    assert world.report.contacts == 4


def test_constraint_forces_are_the_contacts_forces_through_the_jacobians():
    """J^T f of every contact, in the free joint's own coordinates [moment; force] in body axes."""
    box = scenes.free(kido.Box((0.2, 0.3, 0.1)), 7.0, (0, 0, 0.2), rotation=(0.4, 0.2, 1.0), velocity=(1, 0.5, -1))
    other = scenes.free(kido.Sphere(0.1), 2.0, (0.1, 0.05, 0.4), velocity=(0, 0, -3), name="ball")
    world = scenes.world(box, other)
    compared = 0
    for _ in range(400):
        world.step()
        pose = box.bodies[0].world_transform
        # Contacts are those of mid-step; go back by half a step, along the body's own twist at the end.
        if not any(box in (c.body_a.skeleton, c.body_b.skeleton) for c in world.contacts):
            np.testing.assert_array_equal(world.constraint_forces(box), 0.0)
            continue
        force = np.zeros(3)
        for c in world.contacts:
            force += c.force if c.body_b.skeleton is box else -c.force if c.body_a.skeleton is box else 0.0
        found = world.constraint_forces(box)
        turn = 0.5 * 1e-3 * np.linalg.norm(scenes.spin(box))
        size = np.linalg.norm(force)
        assert np.linalg.norm(pose[:3, :3] @ found[3:] - force) <= (2 * turn + 1e-6) * size
        compared += 1
    assert compared > 100


def test_constraint_forces_of_an_arm_on_the_ground():
    """At rest J^T f balances gravity's torque; J by differences of the contact point's position."""
    arm = kido.Skeleton("arm")
    lift = np.eye(4)
    lift[2, 3] = 0.3
    body = arm.add_body(
        "rod",
        joint=kido.RevoluteJoint("hinge", axis=(0, 1, 0), transform_from_parent=lift),
        inertia=kido.Inertia(1.5, com=(0.25, 0, 0), moment=0.02 * np.eye(3)),
    )
    tip = np.eye(4)
    tip[0, 3] = 0.5
    body.add_shape(kido.Sphere(0.05), transform=tip)
    world = scenes.world(arm)
    world.step(1500)
    (angle,) = arm.positions
    assert 0.3 - 0.5 * np.sin(angle) == pytest.approx(0.05, abs=1e-6)
    (contact,) = world.contacts
    force = contact.force if contact.body_b is body else -contact.force
    by_hand = np.cross(contact.point - [0, 0, 0.3], force)[1]
    assert world.constraint_forces(arm)[0] == pytest.approx(by_hand, rel=1e-6)
    assert by_hand == pytest.approx(-1.5 * G * 0.25 * np.cos(angle), rel=1e-4)


def test_the_certificate_of_a_worlds_solution_is_its_report():
    world = models.stack(5)
    stack = [s for s in world.skeletons if s.mobile]
    stack[2].velocities = [0, 0, 0.5, 0.3, 0.1, 0.0]
    for _ in range(20):
        report = world.step()
        problem = world.engine.problem
        blocks = problem.num_blocks
        assert (problem.kind[:blocks] == CONTACT).all()
        matrix, free = problem_matrices(problem)
        certificate = certify(matrix, free, problem.mu[:blocks], problem.impulse[: 3 * blocks])
        assert certificate.residual == pytest.approx(report.residual, rel=1e-3, abs=1e-12)
        assert certificate.dissipation == pytest.approx(report.dissipation, rel=1e-6, abs=1e-10)
        assert report.residual < 1e-3


def test_a_peers_solution_gets_a_certificate():
    """MuJoCo's forces on a sliding box, measured by the same function against the exact problem."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option timestep="0.001" cone="elliptic"/><worldbody>
        <geom type="plane" size="5 5 1" friction="0.5"/>
        <body pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1" friction="0.5"/></body>
        </worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 300)
    data.qvel[0] = 1.0
    place = data.qpos[:3].copy()
    mujoco.mj_step(model, data)
    rows, impulses = [], []
    for k in range(data.ncon):
        wrench = np.zeros(6)
        mujoco.mj_contactForce(model, data, k, wrench)
        frame = data.contact[k].frame.reshape(3, 3)  # rows: normal, two tangents, from the plane to the box
        arm = data.contact[k].pos - place
        rows.append(np.hstack([frame, np.cross(arm, frame)]))
        impulses.append(1e-3 * wrench[:3])
    jacobian = np.vstack(rows)
    inverse = np.diag([1, 1, 1, *([6 / 0.04] * 3)])  # cube of 1 kg and edge 0.2
    velocity = np.concatenate([data.qvel[:3], data.xmat[1].reshape(3, 3) @ data.qvel[3:]])
    matrix = jacobian @ inverse @ jacobian.T
    p = np.concatenate(impulses)
    certificate = certify(matrix, jacobian @ velocity - matrix @ p, 0.5, p)
    assert len(impulses) == 4
    assert 1e-6 < certificate.residual < 2.0  # its soft contact pushes the box off at 4 cm/s
    assert certificate.dissipation < 0.0


def test_a_problem_that_does_not_converge_is_reported():
    """One sweep and no fall-back is too little for ten boxes; the step says so and nothing becomes NaN."""
    bodies = scenes.cubes(10)
    world = scenes.world(*bodies, sweeps=1, newton_steps=0, admm_iterations=0)
    converged = [world.step().converged for _ in range(20)]
    assert not all(converged)
    assert not world.totals.converged
    assert world.totals.residual > 1e-6
    assert np.isfinite([s.positions for s in bodies]).all()


def test_reports_of_a_world_without_contact():
    world = scenes.world(scenes.free(kido.Sphere(0.1), 1.0, (0, 0, 5)))
    report = world.step(10)
    assert (report.contacts, report.max_penetration, report.residual) == (0, 0.0, 0.0)
    assert report.converged


# Going on bit for bit ------------------------------------------------------------------------------------


def heap() -> kido.World:
    """A scene with every kind of contact state: boxes, a ball that bounces, an arm with limits and friction."""
    world = models.container(8)
    world.add_skeleton(scenes.free(kido.Sphere(0.05), 1.0, (0, 0, 0.8), restitution=0.8, name="ball"))
    arm = kido.Skeleton("arm")
    arm.add_body(
        "rod",
        joint=kido.RevoluteJoint("hinge", axis=(0, 1, 0), position_upper_limit=0.5, coulomb_friction=0.2, damping=0.1),
        inertia=kido.Inertia(1.0, com=(0.3, 0, 0), moment=0.02 * np.eye(3)),
    )
    world.add_skeleton(arm)
    return world


def numbers(world: kido.World) -> np.ndarray:
    forces = world.contacts.forces.ravel()
    return np.concatenate([*(np.r_[s.positions, s.velocities] for s in world.skeletons), forces])


def test_the_same_world_twice_is_bit_identical():
    first, second = heap(), heap()
    first.step(500)
    for _ in range(10):
        second.step(50)
    np.testing.assert_array_equal(numbers(first), numbers(second))


@pytest.mark.parametrize("way", ["clone", "deepcopy", "pickle", "state"])
def test_a_copy_made_in_contact_goes_on_bit_for_bit(way):
    world = heap()
    world.step(400)
    assert len(world.contacts) > 5
    if way == "clone":
        twin = world.clone()
    elif way == "deepcopy":
        twin = copy.deepcopy(world)
    elif way == "pickle":
        twin = pickle.loads(pickle.dumps(world))
    else:
        twin = heap()
        twin.step(100)
        twin.restore(world.snapshot())
    np.testing.assert_array_equal(numbers(world), numbers(twin))
    for _ in range(5):
        world.step(60)
        twin.step(60)
        np.testing.assert_array_equal(numbers(world), numbers(twin))
    assert twin.time == world.time


def test_a_state_is_not_changed_by_going_on():
    world = heap()
    world.step(300)
    state = world.snapshot()
    world.step(200)
    end = numbers(world)
    world.restore(state)
    world.step(200)
    np.testing.assert_array_equal(numbers(world), end)


def test_steps_that_do_not_converge_are_counted():
    """One sweep is too little for ten boxes; the count goes with the state and starts afresh when told."""
    world = kido.World(sweeps=1, newton_steps=0, admm_iterations=0)
    world.add_ground()
    box = kido.Box((0.1, 0.1, 0.1))
    for k in range(6):
        skeleton = kido.Skeleton(f"box{k}")
        body = skeleton.add_body("box", inertia=kido.Inertia.from_shape(box, mass=1.0 + k))
        body.add_shape(box)
        world.add_skeleton(skeleton).positions = [0, 0, 0, 0, 0, 0.05 + 0.1 * k]
    missed = sum(not world.step().converged for _ in range(20))
    assert missed > 0 and world.unconverged_steps == missed
    assert world.clone().unconverged_steps == missed
    world.reset_totals()
    assert world.unconverged_steps == 0 and world.totals.converged


def test_immense_friction_sticks():
    """A coefficient beyond all surfaces is no more than sticking: the box stops and stays on the ground."""
    world = kido.World()
    world.add_ground(friction=1e15)
    box = kido.Box((0.1, 0.1, 0.1))
    skeleton = kido.Skeleton("box")
    body = skeleton.add_body("box", inertia=kido.Inertia.from_shape(box, mass=1.0))
    body.add_shape(box, friction=1e15)
    world.add_skeleton(skeleton)
    skeleton.positions = [0, 0, 0, 0, 0, 0.05]
    world.step(1000)
    np.testing.assert_allclose(skeleton.positions, [0, 0, 0, 0, 0, 0.05], atol=1e-6)


def test_wrong_things_leave_the_world_as_it_was():
    world = kido.World()
    world.add_ground()
    body = world.skeleton("ground").body(0)
    with pytest.raises(kido.ModelError, match="expected two bodies, got 'ground'"):
        world.set_collision_filter(body, "ground")
    with pytest.raises(kido.ModelError, match="expected a skeleton to add, got NoneType"):
        world.add_skeleton(None)
    with pytest.raises(kido.StateError, match=r"expected what snapshot\(\) returned"):
        world.restore({})
    with pytest.raises(kido.NameLookupError, match="stranger"):
        world.constraint_forces(kido.Skeleton("stranger"))
    for key in (True, 1, "x", None):
        with pytest.raises(kido.NameLookupError):
            world.skeleton(key)
    world.step(3)
    assert world.skeleton(-1).name == "ground"
