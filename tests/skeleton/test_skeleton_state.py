"""Lazy results are never stale, state survives changes of structure, copies are independent."""

from __future__ import annotations

import copy
import pickle
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kido
from trees import KINDS, build, random_inertia, random_joint, random_skeleton, random_state, random_transform


def rebuilt(skeleton: kido.Skeleton, forces: list) -> kido.Skeleton:
    """A skeleton made afresh from public properties, and its state; no result of the old one is in it."""
    fresh = kido.Skeleton("fresh")
    for body in skeleton.bodies:
        joint = body.parent_joint
        twin = type(joint)(
            joint.name,
            transform_from_parent=joint.transform_from_parent,
            transform_from_child=joint.transform_from_child,
            spring_stiffness=joint.spring_stiffness,
            rest_position=joint.rest_position,
            **joint.unique_properties,
        )
        parent = None if body.parent is None else body.parent.name
        fresh.add_body(body.name, twin, parent, body.inertia).gravity = body.gravity
    fresh.gravity = skeleton.gravity
    fresh.positions, fresh.velocities = skeleton.positions, skeleton.velocities
    fresh.accelerations, fresh.forces = skeleton.accelerations, skeleton.forces
    for name, force, offset, options in forces:
        fresh.body(name).add_external_force(force, offset, **options)
    return fresh


def held_forward_dynamics(skeleton: kido.Skeleton) -> np.ndarray:
    """Accelerations under the current forces and external forces; the current accelerations stay."""
    before = skeleton.accelerations
    skeleton.compute_forward_dynamics()
    found, skeleton.accelerations = skeleton.accelerations, before
    return found


def results(skeleton: kido.Skeleton) -> dict:
    """Every result, as functions, so that they can be asked for in any order."""
    return {
        "pose": lambda: [b.world_transform for b in skeleton.bodies],
        "velocity": lambda: [b.spatial_velocity for b in skeleton.bodies],
        "point": lambda: [b.linear_velocity((0.1, 0.2, 0.3)) for b in skeleton.bodies],
        "acceleration": lambda: [b.spatial_acceleration for b in skeleton.bodies],
        "classic": lambda: [b.linear_acceleration((0.1, 0.2, 0.3)) for b in skeleton.bodies],
        "wrench": lambda: [b.external_wrench for b in skeleton.bodies],
        "mass_matrix": lambda: skeleton.mass_matrix,
        "com": lambda: skeleton.com,
        "momentum": lambda: skeleton.momentum,
        "kinetic": lambda: skeleton.kinetic_energy,
        "potential": lambda: skeleton.potential_energy,
        "forward": lambda: skeleton.forward_dynamics(skeleton.positions, skeleton.velocities, skeleton.forces),
        "held forward": lambda: held_forward_dynamics(skeleton),
        "inverse": lambda: skeleton.inverse_dynamics(skeleton.positions, skeleton.velocities, skeleton.accelerations),
        "kinematics": lambda: skeleton.forward_kinematics(skeleton.positions),
        "state": lambda: [skeleton.positions, skeleton.velocities, skeleton.accelerations, skeleton.forces],
    }


def same(value, expected) -> bool:
    """To rounding: links of welded bodies may be merged in one and not in the other."""
    value, expected = np.asarray(value, float), np.asarray(expected, float)
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    return value.shape == expected.shape and bool(np.abs(value - expected).max(initial=0.0) <= 1e-9 * scale)


class Session:
    """A skeleton in use: what is done to it, and what of that its state does not say."""

    def __init__(self, skeleton: kido.Skeleton, rng: np.random.Generator):
        self.skeleton, self.rng = skeleton, rng
        self.forces: list = []
        self.world: kido.World | None = None

    def act(self, name: str) -> None:
        getattr(self, name)()

    @property
    def body(self) -> kido.BodyNode:
        return self.skeleton.bodies[self.rng.integers(self.skeleton.num_bodies)]

    def vector(self) -> np.ndarray:
        return self.rng.normal(size=self.skeleton.num_dofs)

    def set_positions(self) -> None:
        self.skeleton.positions = self.vector()

    def set_velocities(self) -> None:
        self.skeleton.velocities = self.vector()

    def set_accelerations(self) -> None:
        self.skeleton.accelerations = self.vector()

    def set_forces(self) -> None:
        self.skeleton.forces = self.vector()

    def set_one(self) -> None:
        if self.skeleton.num_dofs:
            dof = self.skeleton.dofs[self.rng.integers(self.skeleton.num_dofs)]
            what = self.rng.choice(["position", "velocity", "acceleration", "force"])
            value = float(self.rng.normal())
            setattr(dof, what, value)
            assert getattr(dof, what) == value

    def set_joint(self) -> None:
        joint = self.body.parent_joint
        what = self.rng.choice(["positions", "velocities", "forces"])
        value = self.rng.normal(size=joint.num_dofs)
        setattr(joint, what, value)
        assert np.array_equal(getattr(joint, what), value)

    def forward_dynamics(self) -> None:
        fresh = rebuilt(self.skeleton, self.forces)
        self.skeleton.compute_forward_dynamics()
        fresh.compute_forward_dynamics()
        assert same(self.skeleton.accelerations, fresh.accelerations)

    def inverse_dynamics(self) -> None:
        fresh = rebuilt(self.skeleton, self.forces)
        self.skeleton.compute_inverse_dynamics()
        fresh.compute_inverse_dynamics()
        assert same(self.skeleton.forces, fresh.forces)

    def given_state(self) -> None:
        q, u, a = self.vector(), self.vector(), self.vector()
        self.skeleton.forward_dynamics(q, u, a)
        self.skeleton.inverse_dynamics(q, u, a)
        kido.quantities.mass_matrix(self.skeleton, q)
        self.skeleton.forward_kinematics(q)

    def change_inertia(self) -> None:
        self.body.inertia = random_inertia(self.rng, 2.0)

    def change_frames(self) -> None:
        joint = self.body.parent_joint
        joint.transform_from_parent = random_transform(self.rng)
        if self.rng.random() < 0.5:
            joint.transform_from_child = random_transform(self.rng)

    def change_axis(self) -> None:
        joint = self.body.parent_joint
        if isinstance(joint, kido.RevoluteJoint | kido.PrismaticJoint | kido.ScrewJoint):
            joint.axis = self.rng.normal(size=3)
        if isinstance(joint, kido.ScrewJoint):
            joint.pitch = self.rng.normal()
        if isinstance(joint, kido.EulerJoint):
            joint.order = "zxz" if joint.order != "zxz" else "xyz"

    def change_spring(self) -> None:
        joint = self.body.parent_joint
        joint.spring_stiffness = self.rng.uniform(0, 10, joint.num_dofs)
        joint.rest_position = self.rng.normal(size=joint.num_dofs)

    def change_gravity(self) -> None:
        if self.world is None:
            self.skeleton.gravity = self.rng.normal(size=3)
        else:
            self.world.gravity = self.rng.normal(size=3)

    def switch_gravity(self) -> None:
        body = self.body
        body.gravity = not body.gravity

    def add_force(self) -> None:
        body = self.body
        force, offset = self.rng.normal(size=(2, 3))
        local = {"force_is_local": bool(self.rng.random() < 0.5)}
        if not local["force_is_local"]:
            local["offset_is_local"] = bool(self.rng.random() < 0.5)
        body.add_external_force(force, offset, **local)
        self.forces.append((body.name, force, offset, local))

    def clear_force(self) -> None:
        body = self.body
        body.clear_external_forces()
        self.forces = [f for f in self.forces if f[0] != body.name]

    def add_body(self) -> None:
        skeleton, before = self.skeleton, self.skeleton.positions
        k = skeleton.num_bodies
        kind = str(self.rng.choice(KINDS))
        skeleton.add_body(f"b{k}", random_joint(self.rng, kind, f"j{k}"), self.body, random_inertia(self.rng, 1.0))
        assert np.array_equal(skeleton.positions[: len(before)], before)
        added = skeleton.bodies[k].parent_joint
        added.positions = self.rng.normal(size=added.num_dofs)

    def add_shape(self) -> None:
        self.body.add_shape(kido.Sphere(0.1))

    def rename(self) -> None:
        body = self.body
        old, body.name = body.name, f"{body.name}'"
        self.forces = [(body.name if name == old else name, *rest) for name, *rest in self.forces]

    def go_on_with_a_clone(self) -> None:
        if self.world is None:
            self.skeleton = self.skeleton.clone()

    def go_on_from_bytes(self) -> None:
        if self.world is None:
            self.skeleton = pickle.loads(pickle.dumps(self.skeleton))

    def enter_a_world(self) -> None:
        if self.world is None:
            self.world = kido.World(gravity=self.skeleton.gravity)
            self.world.add_skeleton(build(["free"], [-1], 1), "other")
            self.world.add_skeleton(self.skeleton)

    def change_the_world(self) -> None:
        if self.world is not None:
            self.world.add_skeleton(build(["ball"], [-1], 2), "one more")
            self.world.skeletons[0].positions = self.rng.normal(size=6)

    def leave_the_world(self) -> None:
        if self.world is not None:
            self.world.remove_skeleton(self.skeleton)
            self.world = None


ACTIONS = [
    name
    for name, member in vars(Session).items()
    if callable(member) and not name.startswith("_") and name not in ("act", "vector")
]


@given(st.integers(1, 6), st.integers(0, 2**20), st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=12))
@settings(max_examples=200)
def test_results_are_never_stale(bodies: int, seed: int, actions: list[str]) -> None:
    """Whatever is done in whatever order, results are those of a skeleton made from scratch."""
    rng = np.random.default_rng(seed)
    session = Session(random_skeleton(seed, bodies), rng)
    session.set_positions()  # at zero, two axes of an Euler joint may coincide
    if session.skeleton.mass == 0.0:
        session.skeleton.bodies[0].inertia = random_inertia(rng, 1.0)
    for action in actions:
        session.act(action)
        found, expected = results(session.skeleton), results(rebuilt(session.skeleton, session.forces))
        # Some results only, in any order, so that what they leave behind varies.
        for name in rng.permutation(sorted(found))[: rng.integers(1, len(found) + 1)]:
            assert same(found[name](), expected[name]()), f"{name} after {action}"


def test_each_result_is_computed_once_and_only_if_stale() -> None:
    skeleton = random_skeleton(1, 5)

    def asked(*getters: str) -> set[str]:
        before = skeleton.evaluations
        for getter in getters:
            results(skeleton)[getter]()
        return {what for what, number in skeleton.evaluations.items() if number != before.get(what, 0)}

    skeleton.compute_forward_kinematics()
    assert asked("pose", "com", "velocity", "kinetic", "momentum") <= {"kinetic_energy", "com", "momentum_about"}
    assert asked("mass_matrix") == {"mass_matrix"}
    assert asked("mass_matrix") == set()
    assert asked("acceleration", "classic") == {"accelerations"}
    skeleton.velocities = np.ones(skeleton.num_dofs)  # leaves what depends on positions alone
    assert asked("pose", "mass_matrix") == set()
    assert asked("acceleration") == {"velocities", "accelerations"}
    skeleton.accelerations = np.ones(skeleton.num_dofs)
    assert asked("pose", "velocity", "mass_matrix", "acceleration") == {"accelerations"}
    skeleton.forces = np.ones(skeleton.num_dofs)
    assert asked("pose", "velocity", "mass_matrix", "acceleration") == set()
    skeleton.positions = np.ones(skeleton.num_dofs)
    assert asked("velocity") == {"transforms", "velocities"}


# Copies ----------------------------------------------------------------------------------------------------


def test_writing_to_a_returned_array_changes_nothing() -> None:
    skeleton = random_skeleton(4, 6)
    q, u, udot, tau = random_state(skeleton, 4)
    skeleton.positions, skeleton.velocities, skeleton.accelerations, skeleton.forces = q, u, udot, tau
    skeleton.bodies[2].add_external_force([1, 2, 3])
    getters = results(skeleton)
    before = {name: copy.deepcopy(getter()) for name, getter in getters.items()}
    joint = skeleton.joints[1]
    arrays = [getter() for getter in getters.values()]
    arrays += [joint.transform_from_parent, joint.transform_from_child, joint.positions, joint.velocities]
    arrays += [joint.damping, joint.position_upper_limit, skeleton.gravity, skeleton.bodies[1].com]
    arrays += [j.axis for j in skeleton.joints if hasattr(j, "axis")]
    for value in arrays:
        for array in value if isinstance(value, list) else [value]:
            if isinstance(array, np.ndarray):
                with suppress(kido.ReadOnlyError):
                    array[...] = 7.0
    for name, getter in getters.items():
        assert np.array_equal(np.asarray(getter()), np.asarray(before[name])), name
    assert (joint.damping == 0).all()
    lists = [skeleton.bodies, skeleton.joints, skeleton.dofs, skeleton.root_bodies, skeleton.bodies[0].children]
    assert all(type(items) is tuple for items in lists)
    assert skeleton.num_bodies == len(skeleton.bodies) == 6


def test_inertia_cannot_be_written_to() -> None:
    inertia = kido.Inertia.from_diagonal(1.0, [1, 2, 3])
    for array in (inertia.com, inertia.moment):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_setters_copy_what_they_are_given() -> None:
    skeleton = random_skeleton(4, 6)
    q = np.ones(skeleton.num_dofs)
    skeleton.positions = q
    q[:] = 5.0
    assert (skeleton.positions == 1.0).all()
    X = np.eye(4)
    skeleton.joints[0].transform_from_parent = X
    X[0, 3] = 9.0
    assert skeleton.joints[0].transform_from_parent[0, 3] == 0.0


COPIERS = {
    "clone": lambda s: s.clone(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda s: pickle.loads(pickle.dumps(s)),
}


@pytest.mark.parametrize("copier", COPIERS.values(), ids=COPIERS)
@pytest.mark.parametrize("in_world", [False, True], ids=["alone", "in a world"])
def test_copies_are_equal_and_independent(copier, in_world: bool) -> None:
    skeleton = random_skeleton(7, 8)
    q, u, udot, tau = random_state(skeleton, 7)
    skeleton.positions, skeleton.velocities, skeleton.accelerations, skeleton.forces = q, u, udot, tau
    skeleton.bodies[3].add_external_force([1, 2, 3], [0.1, 0.2, 0.3], force_is_local=True)
    skeleton.bodies[3].add_shape(kido.Box((1, 2, 3)), friction=0.3)
    skeleton.joints[2].damping = 2.0
    skeleton.gravity = (0, 1, 2)
    if in_world:
        world = kido.World(gravity=(0, 1, 2))
        world.add_skeleton(skeleton)
    expected = {name: copy.deepcopy(getter()) for name, getter in results(skeleton).items()}
    twin = copier(skeleton)
    for name, getter in results(twin).items():
        assert np.array_equal(np.asarray(getter()), np.asarray(expected[name])), name
    assert [b.name for b in twin.bodies] == [b.name for b in skeleton.bodies]
    assert [d.name for d in twin.dofs] == [d.name for d in skeleton.dofs]
    assert all(b.skeleton is twin for b in twin.bodies)
    assert twin.bodies[3].shapes[0].friction == 0.3
    assert twin.bodies[3].shapes[0].body is twin.bodies[3]
    twin.positions = twin.positions + 1.0
    twin.gravity = (0, 0, 0)  # outside any world
    twin.joints[2].damping = 0.0
    twin.bodies[1].inertia = kido.Inertia.from_diagonal(5, [1, 1, 1])
    twin.clear_external_forces()
    twin.add_body("more", inertia=kido.Inertia.from_diagonal(5, [1, 1, 1]))
    for name, getter in results(skeleton).items():
        assert np.array_equal(np.asarray(getter()), np.asarray(expected[name])), name
    assert (skeleton.joints[2].damping == (2.0,) * skeleton.joints[2].num_dofs).all()


def test_clones_can_be_renamed() -> None:
    assert random_skeleton(1, 2).clone("other").name == "other"


def test_new_joints_start_at_their_initial_state() -> None:
    skeleton = kido.Skeleton()
    first = kido.RevoluteJoint("a", initial_position=0.5, initial_velocity=2.0)
    skeleton.add_body("a", first, inertia=kido.Inertia.from_diagonal(1, [1, 1, 1]))
    assert skeleton.positions == 0.5 and skeleton.velocities == 2.0
    skeleton.positions = [1.5]
    second = kido.UniversalJoint("b", initial_position=[0.1, 0.2])
    skeleton.add_body("b", second, "a", kido.Inertia.from_diagonal(1, [1, 1, 1]))
    np.testing.assert_array_equal(skeleton.positions, [1.5, 0.1, 0.2])
    np.testing.assert_array_equal(skeleton.velocities, [2.0, 0.0, 0.0])
    first.initial_position = 3.0  # means the start, not now
    np.testing.assert_array_equal(skeleton.positions, [1.5, 0.1, 0.2])


# Input -----------------------------------------------------------------------------------------------------


def frozen(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


INPUTS = {
    "list": list,
    "tuple": tuple,
    "integers": lambda a: np.round(a).astype(int),
    "single": lambda a: a.astype(np.float32),
    "read-only": frozen,
    "strided": lambda a: np.repeat(a, 2)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "subclass": lambda a: a.view(np.recarray),
    "big-endian": lambda a: a.astype(">f8"),
}


@pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS)
def test_all_kinds_of_numbers_are_taken(make) -> None:
    skeleton = random_skeleton(2, 6)
    rng = np.random.default_rng(0)
    q, u, a = (make(rng.uniform(-3, 3, skeleton.num_dofs)) for _ in range(3))
    plain = [np.array([float(x) for x in v]) for v in (q, u, a)]
    skeleton.positions, skeleton.velocities, skeleton.forces = q, u, a
    for value, expected in zip((skeleton.positions, skeleton.velocities, skeleton.forces), plain, strict=True):
        assert np.array_equal(value, expected)
    assert np.array_equal(skeleton.forward_dynamics(q, u, a), skeleton.forward_dynamics(*plain))
    assert np.array_equal(skeleton.inverse_dynamics(q, u, a), skeleton.inverse_dynamics(*plain))
    assert np.array_equal(kido.quantities.mass_matrix(skeleton, q), kido.quantities.mass_matrix(skeleton, plain[0]))
    assert np.array_equal(skeleton.forward_kinematics(q), skeleton.forward_kinematics(plain[0]))


def two_dofs() -> kido.Skeleton:
    skeleton = kido.Skeleton("arm")
    inertia = kido.Inertia.from_diagonal(1, [1, 1, 1])
    skeleton.add_body("upper", kido.RevoluteJoint("shoulder"), inertia=inertia)
    skeleton.add_body("lower", kido.RevoluteJoint("elbow"), "upper", inertia)
    skeleton.positions, skeleton.velocities = [0.1, 0.2], [0.3, 0.4]
    skeleton.accelerations, skeleton.forces = [0.5, 0.6], [0.7, 0.8]
    return skeleton


SHAPES = "expected 2 numbers, one for each degree of freedom, got an array of shape"
WRONG = {
    "short": ([1.0], f"{SHAPES} (1,)"),
    "long": (np.zeros(3), f"{SHAPES} (3,)"),
    "column": (np.zeros((2, 1)), f"{SHAPES} (2, 1)"),
    "scalar": (1.0, f"{SHAPES} ()"),
    "empty": ([], f"{SHAPES} (0,)"),
    "nan": ([0.0, np.nan], "expected finite numbers, got nan for dof 1 ('elbow')"),
    "nan in array": (np.array([np.nan, 0.0]), "expected finite numbers, got nan for dof 0 ('shoulder')"),
    "infinite": (np.array([0.0, -np.inf]), "expected finite numbers, got -inf for dof 1 ('elbow')"),
    "strided nan": (np.array([0.0, 0.0, np.nan, 0.0])[::2], "expected finite numbers, got nan for dof 1 ('elbow')"),
    "words": (["a", "b"], "expected 2 numbers, got ['a', 'b']"),
    "complex": (np.array([1j, 0.0]), "expected 2 numbers, got array([0.+1.j, 0.+0.j])"),
    "nothing": (None, "expected 2 numbers, got None"),
}


@pytest.mark.parametrize("what", ["positions", "velocities", "accelerations", "forces"])
@pytest.mark.parametrize("case", WRONG)
def test_wrong_states_are_refused_and_change_nothing(what: str, case: str) -> None:
    skeleton = two_dofs()
    value, message = WRONG[case]
    before = results(skeleton)["state"]()
    with pytest.raises(kido.StateError) as caught:
        setattr(skeleton, what, value)
    assert str(caught.value) == f"skeleton 'arm': {what}: {message}"
    assert np.array_equal(results(skeleton)["state"](), before)


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused(case: str) -> None:
    skeleton = two_dofs()
    value, message = WRONG[case]
    good = np.zeros(2)
    calls = {
        "positions": lambda: skeleton.forward_kinematics(value),
        "velocities": lambda: skeleton.forward_dynamics(good, value, good),
        "forces": lambda: skeleton.forward_dynamics(good, good, value),
        "accelerations": lambda: skeleton.inverse_dynamics(good, good, value),
    }
    for what, call in calls.items():
        with pytest.raises(kido.StateError) as caught:
            call()
        assert str(caught.value) == f"skeleton 'arm': {what}: {message}"
    if value is not None:  # which stands for the current state
        with pytest.raises(kido.StateError):
            kido.quantities.mass_matrix(skeleton, value)


def test_wrong_parts_of_states_are_refused() -> None:
    skeleton = two_dofs()
    for act, message in (
        (lambda: setattr(skeleton.dof(0), "position", np.nan), "dof 'shoulder': position: expected finite numbers, "
         "got [nan]"),
        (lambda: setattr(skeleton.dof(1), "force", "x"), "dof 'elbow': force: expected 1 numbers, got 'x'"),
        (lambda: setattr(skeleton.joint(0), "positions", [1, 2]), "joint 'shoulder': positions: expected 1 numbers, "
         "got [1, 2]"),
    ):  # fmt: skip
        with pytest.raises(kido.StateError) as caught:
            act()
        assert str(caught.value) == message
    assert np.array_equal(skeleton.positions, [0.1, 0.2])
