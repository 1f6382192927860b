"""Worlds of a list: what they may not differ in is refused by name; those that are equal run as they would alone."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import kido
from kido.batch import RolloutPool, Worlds
from kido.errors import ModelError
from kido.shapes import Box, Heightmap, Mesh, Sphere


def place(x: float, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def free(name: str, shape: kido.Shape, x: float, z: float) -> kido.Skeleton:
    made = kido.Skeleton(name)
    body = made.add_body(name, kido.FreeJoint(f"{name}_root"), inertia=kido.Inertia.from_shape(shape, mass=1.0))
    body.add_shape(shape, friction=0.5)
    made.positions = [0, 0, 0, x, 0, z]
    return made


class Aim(kido.UserConstraint):
    """A body that moves along y at a speed."""

    def __init__(self, skeleton: kido.Skeleton, speed: float):
        super().__init__(skeleton)
        self.speed = speed

    def rows(self):
        return np.eye(6)[4:5]

    def bias(self, time_step: float):
        return np.array([-self.speed])


class Oily(kido.ContactSurfaceHandler):
    def __init__(self, friction: float):
        super().__init__()
        self.friction = friction

    def pair(self, shape_a, shape_b):
        return kido.ContactSurface(friction=self.friction)


def everything(length: float = 0.3, speed: float = 0.1, friction: float = 0.4, kv: float = 500.0) -> kido.World:
    """Two arms, free bodies, one of a mesh on a height map, a soft one, a spring, a user's row and handler."""
    world = kido.World(time_step=2e-3, contact_surface_handler=Oily(friction))
    world.add_ground()
    arm = kido.Skeleton("arm")
    for k in range(2):
        joint = kido.RevoluteJoint(f"hinge_{k}", axis=(0, 1, 0), transform_from_parent=place(0.3 * k, 0, 1.0 - k))
        body = arm.add_body(
            f"link_{k}", joint, arm.bodies[-1] if k else None, kido.Inertia(1.0, (0.15, 0, 0), 0.01 * np.eye(3))
        )
        body.add_shape(Sphere(0.05), place(0.3))
    world.add_skeleton(arm)
    box = world.add_skeleton(free("box", Box((0.2, 0.2, 0.2)), 2.0, 0.15))
    world.add_skeleton(free("other", Box((0.2, 0.2, 0.2)), 2.05, 0.4))
    corners = 0.1 * np.vstack([np.zeros(3), np.eye(3)])
    world.add_skeleton(free("mesh", Mesh(corners, [(0, 2, 1), (0, 3, 2), (0, 1, 3), (1, 2, 3)]), 4.0, 0.3))
    field = kido.Skeleton("field")
    field.add_body("field", kido.WeldJoint("field", transform_from_parent=place(4.0, 0, 0.1))).add_shape(
        Heightmap(np.zeros((3, 3)), 0.5)
    )
    field.mobile = False
    world.add_skeleton(field)
    soft = kido.Skeleton("soft")
    soft.add_soft_body(
        "soft", kido.SoftMesh.box((0.3, 0.3, 0.3)), kido.FreeJoint("soft"), total_mass=0.5, kv=kv, ke=20.0, kd=2.0,
        inertia=kido.Inertia.from_diagonal(1.0, (0.01, 0.012, 0.015)),
    )  # fmt: skip
    soft.positions = [0, 0, 0, 6.0, 0, 0.4]
    world.add_skeleton(soft)
    world.add_constraint(kido.DistanceConstraint(arm.body(1), None, distance=length, stiffness=20.0, name="spring"))
    world.add_constraint(Aim(box, speed))
    return world


def test_equal_worlds_run_as_they_would_alone():
    """Built twice, with meshes, soft bodies, constraints and handlers of users, and one of them further on."""
    ahead = everything()
    ahead.step(30, reset_command=False)
    worlds = Worlds([everything(), ahead, ahead.clone()], threads=2)
    worlds.step(n=60)
    for k, single in enumerate((everything(), ahead, ahead)):
        if k != 2:
            single.step(60, reset_command=False)
        assert np.array_equal(worlds.positions[k], np.concatenate([s.positions for s in single.skeletons]))


def limited(dof: int) -> kido.World:
    world = kido.World()
    arm = kido.Skeleton("arm")
    for k in range(2):
        joint = kido.RevoluteJoint(f"hinge_{k}", axis=(0, 1, 0), transform_from_parent=place(0.3 * k))
        arm.add_body(f"link_{k}", joint, arm.bodies[-1] if k else None, kido.Inertia(1.0, moment=0.01 * np.eye(3)))
    arm.dofs[dof].force_limit = 0.5
    world.add_skeleton(arm)
    return world


CHANGES: list[tuple[Callable[[kido.World], object], str]] = [
    (lambda w: setattr(w, "solver", kido.solvers.PGS()), r"its solver is PGS\(.*\), not DefaultSolver\(\)"),
    (lambda w: setattr(w, "loop_solver", "TA"), "its loop_solver is 'TA'"),
    (lambda w: w.set_collision_filter(w.skeleton("box").body(0), w.skeleton("ground").body(0)), "collision filters"),
    (lambda w: setattr(w.skeleton("box").body(0).shapes[0], "collision_mask", 0), "collision filters"),
    (lambda w: setattr(w.skeleton("box").body(0).shapes[0], "collision_category", 2), "collision filters"),
    (lambda w: setattr(w.skeleton("arm"), "self_collision", True), "collision filters"),
    (lambda w: setattr(w.skeleton("other").body(0), "collidable", False), "shape 'other/other/.*' collides in one"),
    (lambda w: setattr(w.skeleton("box").body(0), "continuous", True), r"swept along their motion \(continuous\)"),
    (lambda w: setattr(w.skeleton("arm"), "mobile", False), r"joints or actuators are others \(moves\)"),
]


@pytest.fixture(scope="module")
def model() -> kido.World:
    return everything()


@pytest.mark.parametrize(("change", "reason"), CHANGES)
def test_what_would_be_taken_from_the_first_world_is_refused(model, change, reason):
    other = model.clone()
    change(other)
    with pytest.raises(ModelError, match=r"world 1 \('world'\) is unlike world 0: .*" + reason):
        Worlds([model, other])


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ({"length": 0.4}, r"constraints are others \(offset\)"),
        ({"speed": 0.2}, "its constraint 'Aim' has other attributes"),
        ({"friction": 0.3}, "its contact_surface_handler is another Oily"),
        ({"kv": 50.0}, r"soft bodies are others \(kv\)"),
    ],
)
def test_parts_of_other_numbers_are_refused(model, numbers, reason):
    with pytest.raises(ModelError, match=reason):
        Worlds([model, everything(**numbers)])


def test_limits_of_commands_of_other_coordinates_are_refused():
    with pytest.raises(ModelError, match="other coordinates have limits of commands"):
        Worlds([limited(0), limited(1)])
    worlds = Worlds([limited(0), limited(0)], threads=1)
    worlds.step([[2.0, 0.0], [0.1, 0.0]])
    assert np.allclose(worlds.actuator_forces[:, 0], [0.5, 0.1])


def test_who_sleeps_is_a_state_and_no_structure():
    awake = kido.World(sleeping=True)
    awake.add_ground()
    for k in range(2):
        awake.add_skeleton(free(f"box {k}", Box((0.2, 0.2, 0.2)), 1.0 * k, 0.1 + 0.1 * k))
    asleep = awake.clone()
    asleep.step(1500)
    assert asleep.skeletons[1].is_asleep
    worlds = Worlds([awake, asleep], threads=1)
    worlds.step(n=300)
    for k, single in enumerate((awake, asleep)):
        single.step(300, reset_command=False)
        assert np.array_equal(worlds.positions[k], np.concatenate([s.positions for s in single.skeletons]))
    kept = asleep.clone()
    kept.skeletons[1].can_sleep = False
    with pytest.raises(ModelError, match=r"may sleep \(can_sleep\)"):
        Worlds([awake, kept])


def test_integrators_of_other_tolerances_are_refused():
    worlds = []
    for tolerance in (1e-6, 1e-9):
        world = kido.World(integrator=kido.integrators.DormandPrince(rtol=tolerance))
        world.add_skeleton(free("box", Box((0.2, 0.2, 0.2)), 0.0, 1.0))
        worlds.append(world)
    with pytest.raises(ModelError, match="its integrator is DormandPrince"):
        Worlds(worlds)


def test_a_push_that_goes_on_is_refused(model):
    pushed = model.clone()
    pushed.push(pushed.skeleton("box").body(0), (1.0, 0, 0), 0.1)
    for make in (Worlds, RolloutPool):
        with pytest.raises(ModelError, match=r"a push of box/box goes on \(`World.push`\)"):
            make(pushed)
    with pytest.raises(ModelError, match="a push of box/box goes on"):
        Worlds([model, pushed])
    pushed.step(60)
    Worlds(pushed)


def test_what_is_done_to_their_world_does_nothing_to_them():
    """Nor to some of them: threads step in worlds of their own."""
    model = limited(0)
    found = []
    for change in (
        lambda w: None,
        lambda w: setattr(w, "gravity", (0, 0, 5.0)),
        lambda w: setattr(w, "time_step", 0.01),
        lambda w: w.step(10),
        lambda w: w.remove_skeleton("arm"),
    ):
        worlds = Worlds(model, 20, threads=2)
        change(worlds.world)
        worlds.step(n=20)
        worlds.reset([0])
        worlds.step(n=20)
        found.append(worlds.positions.copy())
    for positions in found[1:]:
        assert np.array_equal(positions, found[0])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_worlds_are_not_pickled_nor_pools_copied(copied):
    """Worlds have copies of their own, by `clone`."""
    with pytest.raises(ModelError, match="RolloutPool of 'world' cannot be copied or pickled"):
        copied(RolloutPool(limited(0), threads=1))
    worlds = Worlds(limited(0), 2, threads=1)
    if copied is pickle.dumps:
        with pytest.raises(ModelError, match="Worlds of 'world' cannot be pickled"):
            copied(worlds)
        return
    twin = copied(worlds)
    worlds.step(n=5)
    assert not twin.steps.any() and not np.array_equal(twin.positions, worlds.positions)
    twin.step(n=5)
    np.testing.assert_array_equal(twin.positions, worlds.positions)
