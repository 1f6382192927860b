"""Lazy evaluation: only what is asked for and stale is evaluated, and nothing stale is ever returned.

`Book` keeps by brute force what must be stale: sets of bodies, ancestors walked one by one. Evaluations are counted
by the kernels themselves (`skeleton.evaluations`). Values are compared with a skeleton built from scratch that is
given the same state: the same kernels in another order of calls, so 1e-11 is rounding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import kido
from trees import build, random_inertia, random_transform

SEEDS = st.integers(0, 2**20)
PER_BODY = ("transforms", "inertias", "velocities", "accelerations")
COUNTED = (*PER_BODY, "mass_matrix", "kinetic_energy", "potential_energy")
MOVING = ("revolute", "prismatic", "screw", "universal", "euler", "ball", "planar", "translational", "free")


def counts(skeleton: kido.Skeleton) -> Counter[str]:
    evaluations = skeleton.evaluations
    return Counter({key: evaluations.get(key, 0) for key in COUNTED})


# The arm of the DART report, section 4.3 -----------------------------------------------------------------


def arm_with_fingers() -> kido.Skeleton:
    """Seven links from the base to the end effector, and on it three fingers of three links."""
    arm = kido.Skeleton("arm")

    def link(name: str, parent: kido.BodyNode | None, axis) -> kido.BodyNode:
        joint = kido.RevoluteJoint(axis=axis, transform_from_parent=(0.0, 0.0, 0.2))
        return arm.add_body(name, joint, parent, kido.Inertia.from_diagonal(1.0, [0.01, 0.01, 0.01]))

    body = None
    for k in range(7):
        body = link(f"link{k + 1}", body, np.eye(3)[(2, 1)[k % 2]])
    for finger in ("thumb", "index", "middle"):
        above = body
        for k in range(3):
            above = link(f"{finger}{k + 1}", above, (1, 0, 0))
    return arm


def evaluated(skeleton: kido.Skeleton, act: Callable[[], object]) -> dict[str, int]:
    """What an act evaluates."""
    before = counts(skeleton)
    act()
    return dict(+(counts(skeleton) - before))


def test_the_end_effector_of_an_arm_with_three_fingers_takes_7_transforms_and_not_16() -> None:
    arm = arm_with_fingers()
    palm, tip = arm.body("link7"), arm.body("thumb3")
    assert arm.num_bodies == 16
    assert evaluated(arm, lambda: palm.world_transform) == {"transforms": 7}
    assert evaluated(arm, lambda: palm.world_transform) == {}
    for k in range(5):  # as inverse kinematics does
        arm.set_positions(np.full(7, 0.1 * (k + 1)), slice(0, 7))
        assert evaluated(arm, lambda: palm.world_transform) == {"transforms": 7}
    assert evaluated(arm, lambda: tip.world_transform) == {"transforms": 3}
    arm.set_positions(1.0, "link5_joint")
    assert evaluated(arm, lambda: arm.body("link4").world_transform) == {}
    assert evaluated(arm, lambda: tip.world_transform) == {"transforms": 6}
    arm.set_positions(1.0, "index2_joint")
    assert evaluated(arm, lambda: tip.world_transform) == {}
    assert evaluated(arm, lambda: arm.world_transforms) == {"transforms": 6}  # index2, index3, middle and index1
    assert evaluated(arm, lambda: tip.spatial_velocity) == {"velocities": 10}
    assert evaluated(arm, lambda: palm.linear_acceleration()) == {"accelerations": 7}
    arm.set_velocities(1.0, "link6_joint")
    assert evaluated(arm, lambda: tip.transform(palm)) == {}
    assert evaluated(arm, lambda: tip.angular_velocity(relative_to=palm)) == {"velocities": 5}
    assert evaluated(arm, lambda: palm.spatial_acceleration) == {"accelerations": 2}
    arm.set_accelerations(1.0, "link7_joint")
    assert evaluated(arm, lambda: palm.angular_acceleration()) == {"accelerations": 1}


def test_equal_values_leave_everything_valid() -> None:
    arm = arm_with_fingers()
    arm.positions, arm.velocities, arm.accelerations = np.random.default_rng(0).normal(size=(3, 16))
    tip = arm.body("thumb3")

    def ask() -> None:
        tip.linear_acceleration()
        assert arm.mass_matrix.any() and arm.kinetic_energy and arm.potential_energy

    ask()
    arm.positions = arm.positions.tolist()
    arm.velocities, arm.accelerations, arm.forces = arm.velocities, arm.accelerations, arm.forces
    arm.dofs[3].position = arm.dofs[3].position
    arm.set_velocities(arm.get_velocities([1, 2]), [1, 2])
    assert evaluated(arm, ask) == {}
    arm.forces = np.ones(16)
    assert evaluated(arm, ask) == {}
    with pytest.raises(kido.StateError):
        arm.positions = np.full(16, np.nan)
    assert evaluated(arm, ask) == {}


def test_a_failed_setter_leaves_the_state() -> None:
    arm = arm_with_fingers()
    q = np.arange(16.0)
    arm.positions = q
    for wrong in (np.append(q[:15], np.inf), q[:15], "x", None, np.ones((16, 1))):
        with pytest.raises(kido.StateError):
            arm.positions = wrong
        assert np.array_equal(arm.positions, q)


def test_a_world_step_makes_its_skeletons_stale_and_setting_one_does_not_touch_the_other() -> None:
    world = kido.World()
    one, two = world.add_skeleton(arm_with_fingers()), world.add_skeleton(arm_with_fingers())
    tips = [s.body("thumb3") for s in (one, two)]
    for _ in range(2):
        assert [evaluated(s, lambda t=t: t.world_transform) for s, t in zip((one, two), tips, strict=True)] == [
            {"transforms": 10},
            {"transforms": 10},
        ]
        one.positions = one.positions + 0.1
        assert evaluated(two, lambda: tips[1].world_transform) == {}
        assert evaluated(one, lambda: tips[0].world_transform) == {"transforms": 10}
        world.step(2)


def test_forward_and_inverse_dynamics_evaluate_accelerations_once() -> None:
    arm = arm_with_fingers()
    arm.velocities = np.ones(16)
    needed = {"transforms": 16, "inertias": 16, "velocities": 16, "accelerations": 16}
    assert evaluated(arm, arm.compute_inverse_dynamics) == needed
    assert evaluated(arm, arm.compute_inverse_dynamics) == {}
    arm.forces = np.zeros(16)
    assert evaluated(arm, arm.compute_forward_dynamics) == {"accelerations": 16}
    assert evaluated(arm, lambda: arm.body("thumb3").linear_acceleration()) == {}


def test_clones_count_for_themselves_and_a_new_structure_keeps_the_count() -> None:
    arm = arm_with_fingers()
    assert arm.body("link7").world_transform.any()
    twin = arm.clone()
    assert counts(arm)["transforms"] == 7 and counts(twin)["transforms"] == 0
    arm.add_body("more", kido.WeldJoint(), arm.body("link7"))
    assert counts(arm)["transforms"] == 7
    assert arm.body("more").world_transform.any()
    assert counts(arm)["transforms"] == 14


# Random sequences ----------------------------------------------------------------------------------------


class Book:
    """Which results of which bodies are stale, kept by brute force."""

    def __init__(self, skeleton: kido.Skeleton):
        self.skeleton = skeleton
        self.parent = [-1 if b.parent is None else b.parent.index for b in skeleton.bodies]
        self.body_of = [b.index for b in skeleton.bodies for _ in b.parent_joint.dofs]
        self.everything()

    def everything(self) -> None:
        self.stale = {what: set(range(len(self.parent))) for what in PER_BODY}
        self.whole = {"mass_matrix", "kinetic_energy", "potential_energy"}

    def ancestors(self, i: int) -> set[int]:
        found = set()
        while i >= 0:
            found.add(i)
            i = self.parent[i]
        return found

    def changed(self, field: str, dofs: list[int]) -> None:
        moved = {self.body_of[k] for k in dofs}
        below = {i for i in range(len(self.parent)) if self.ancestors(i) & moved}
        first = {"positions": 0, "velocities": 2, "accelerations": 3, "forces": 4}[field]
        for what in PER_BODY[first:]:
            self.stale[what] |= below
        if dofs and field == "positions":
            self.whole = {"mass_matrix", "kinetic_energy", "potential_energy"}
        if dofs and field == "velocities":
            self.whole |= {"kinetic_energy"}

    def gravity(self) -> None:
        self.stale["accelerations"] = set(range(len(self.parent)))
        self.whole |= {"potential_energy"}

    def ask(self, what: str, i: int = -1) -> dict[str, int]:
        """Evaluations that asking for a result of body i, or of the whole (-1), must take."""
        needed = {
            "pose": PER_BODY[:1],
            "velocity": (PER_BODY[0], PER_BODY[2]),
            "acceleration": (PER_BODY[0], *PER_BODY[2:]),
            "mass_matrix": PER_BODY[:2],
            "potential_energy": PER_BODY[:1],
            "kinetic_energy": PER_BODY[:3],
        }[what]
        if i < 0 and what not in self.whole:
            return {}
        bodies = set(range(len(self.parent))) if i < 0 else self.ancestors(i)
        result = {kind: len(bodies & self.stale[kind]) for kind in needed}
        for kind in needed:
            self.stale[kind] -= bodies
        if i < 0:
            self.whole.discard(what)
            result[what] = 1
        return {kind: n for kind, n in result.items() if n}


class Session:
    """A skeleton to which things are done, the same things noted for one built from scratch."""

    def __init__(self, bodies: int, seed: int, kinds: tuple[str, ...]):
        self.rng = rng = np.random.default_rng(seed)
        self.kinds = [str(k) for k in rng.choice(kinds, bodies)]
        self.parents = [-1] + [int(rng.integers(-1, k)) for k in range(1, bodies)]
        self.seed = seed
        self.done: list[Callable[[kido.Skeleton], object]] = []
        self.skeleton = build(self.kinds, self.parents, seed)
        self.skeleton.positions = rng.uniform(-2.0, 2.0, self.skeleton.num_dofs)  # at 0 Euler axes may coincide
        self.external: list[tuple[int, np.ndarray]] = []
        self.world: kido.World | None = None
        self.book = Book(self.skeleton)

    def set_state(self, field: str) -> None:
        """New values for some coordinates, of which some are the old ones."""
        s, rng = self.skeleton, self.rng
        if s.num_dofs == 0:
            return
        before = getattr(s, field)
        k = rng.permutation(s.num_dofs)[: rng.integers(1, s.num_dofs + 1)].tolist()
        values = np.where(rng.random(len(k)) < 0.5, before[k], rng.uniform(-2.0, 2.0, len(k)))
        way = rng.integers(3)
        if way == 0:
            whole = before.copy()
            whole[k] = values
            setattr(s, field, whole)
        elif way == 1:
            getattr(s, f"set_{field}")(values, k)
        else:
            k, values = k[:1], values[:1]
            setattr(s.dofs[k[0]], {"velocities": "velocity"}.get(field, field[:-1]), values[0])
        self.book.changed(field, [i for i, v in zip(k, values, strict=True) if v != before[i]])

    def everywhere(self, act: Callable[[kido.Skeleton], object]) -> None:
        """Do something to the skeleton, and later to the one built from scratch."""
        self.done.append(act)
        act(self.skeleton)
        self.book.everything()

    def act(self, action: str) -> None:
        s, rng = self.skeleton, self.rng
        body = int(rng.integers(s.num_bodies))
        match action:
            case "positions" | "velocities" | "accelerations" | "forces":
                self.set_state(action)
            case "gravity":
                g = rng.normal(size=3)
                if self.world is None:
                    self.done.append(lambda x: setattr(x, "gravity", g))
                    s.gravity = g
                    self.book.gravity()
                else:
                    self.done.append(lambda x: setattr(x, "gravity", g))
                    self.world.gravity = g
                    self.book.everything()
            case "inertia":
                inertia = random_inertia(rng, 2.0)
                self.everywhere(lambda x: setattr(x.bodies[body], "inertia", inertia))
            case "joint":
                X = random_transform(rng)
                self.everywhere(lambda x: setattr(x.bodies[body].parent_joint, "transform_from_parent", X))
            case "spring":
                k = rng.uniform(0.0, 2.0, 2)

                def stiffen(x: kido.Skeleton) -> None:
                    joint = x.bodies[body].parent_joint
                    joint.spring_stiffness, joint.damping = k

                self.everywhere(stiffen)
            case "external":
                self.external.append((body, rng.normal(size=3)))
                s.bodies[body].add_external_force(self.external[-1][1])
            case "step":
                if self.world is None:
                    g = s.gravity
                    self.world = kido.World(gravity=g)
                    self.world.add_skeleton(s)
                for b, give in ((b, random_inertia(rng, 1.0)) for b in s.bodies if b.inertia.mass == 0.0):
                    self.done.append(lambda x, k=b.index, give=give: setattr(x.bodies[k], "inertia", give))
                    b.inertia = give
                self.world.step()
                self.external.clear()  # it clears them
                self.book.everything()
            case "leave":
                if self.world is not None:
                    self.world.remove_skeleton(s)
                    self.world = None
                    self.book.everything()

    def fresh(self) -> kido.Skeleton:
        """A skeleton built from scratch, in the same state."""
        s = build(self.kinds, self.parents, self.seed)
        for act in self.done:
            act(s)
        for field in ("positions", "velocities", "accelerations", "forces"):
            setattr(s, field, getattr(self.skeleton, field))
        for body, force in self.external:
            s.bodies[body].add_external_force(force)
        return s


def read(skeleton: kido.Skeleton, what: str, i: int) -> object:
    """A result, of body i where it is one of a body."""
    body = skeleton.bodies[i]
    getters: dict[str, Callable[[], object]] = {
        "pose": lambda: body.world_transform,
        "velocity": lambda: body.spatial_velocity,
        "acceleration": lambda: np.concatenate([body.angular_acceleration(), body.linear_acceleration()]),
        "mass_matrix": lambda: skeleton.mass_matrix,
        "kinetic_energy": lambda: skeleton.kinetic_energy,
        "potential_energy": lambda: skeleton.potential_energy,
        "momentum": lambda: skeleton.momentum,
        "com": lambda: skeleton.com if skeleton.mass > 0.0 else np.zeros(3),
        "com_acceleration": lambda: skeleton.com_acceleration() if skeleton.mass > 0.0 else np.zeros(3),
        "com_jacobian": lambda: skeleton.com_jacobian() if skeleton.mass > 0.0 else np.zeros(3),
        "jacobian": lambda: skeleton.jacobian(body, (1, 2, 3)),
        "compact jacobian": lambda: body.jacobian(),
        "jacobian_classic_derivative": lambda: skeleton.jacobian_classic_derivative(body, (1, 2, 3)),
        "relative_jacobian": lambda: skeleton.relative_jacobian(body, skeleton.bodies[0], in_coordinates_of=body),
        "inverse_dynamics_regressor": lambda: skeleton.inverse_dynamics_regressor(),
        "inverse_dynamics_derivatives": lambda: skeleton.inverse_dynamics_derivatives(),
    }
    return getters[what]() if what in getters else getattr(skeleton, what)


def numbers(result: object) -> np.ndarray:
    """All numbers of a result, of the parts of one that is a tuple too."""
    if isinstance(result, tuple):
        return np.concatenate([np.ravel(part) for part in result])  # type: ignore[arg-type]
    return np.asarray(result)


OF_BODY = ("pose", "velocity", "acceleration")
OF_WHOLE = ("mass_matrix", "kinetic_energy", "potential_energy")
OTHERS = (
    "momentum", "com", "world_transforms", "com_acceleration", "com_jacobian", "jacobian", "compact jacobian",
    "jacobian_classic_derivative", "relative_jacobian", "inverse_dynamics_regressor", "inverse_dynamics_derivatives",
    "centroidal_inertia", "centroidal_momentum", "centroidal_momentum_matrix",
    "centroidal_momentum_matrix_derivative", "coriolis_and_gravity_forces", "coriolis_forces", "coriolis_matrix",
    "damping_forces", "external_forces", "gravity_forces", "lagrangian", "mass_matrix_derivative",
    "reaction_wrenches", "spring_forces",
)  # fmt: skip
ACTIONS = ("positions", "velocities", "accelerations", "forces", "gravity", "inertia", "joint", "spring", "external",
           "step", "leave")  # fmt: skip
# States are set more often than the rest.
SEQUENCES = st.lists(st.sampled_from(ACTIONS[:3] * 4 + ACTIONS), min_size=1, max_size=15)


@given(st.integers(1, 8), SEEDS, SEQUENCES)
@settings(max_examples=150)
def test_nothing_is_computed_twice_and_nothing_that_nobody_asked_for(
    bodies: int, seed: int, actions: list[str]
) -> None:
    session = Session(bodies, seed, MOVING)
    s, rng = session.skeleton, session.rng
    for action in actions:
        session.act(action)
        for what in rng.permutation([*OF_BODY, *OF_BODY, *OF_WHOLE])[: rng.integers(0, 6)]:
            i = int(rng.integers(bodies))
            expected = session.book.ask(what, i if what in OF_BODY else -1)
            assert evaluated(s, lambda what=what, i=i: read(s, what, i)) == expected, (what, i, action)


@given(st.integers(1, 8), SEEDS, SEQUENCES)
@settings(max_examples=100)
def test_results_are_those_of_a_skeleton_built_from_scratch(bodies: int, seed: int, actions: list[str]) -> None:
    """Bodies that are welded, and a moving frame on one of them, too."""
    session = Session(bodies, seed, (*MOVING, "weld", "weld", "revolute"))
    s, rng = session.skeleton, session.rng
    on = int(rng.integers(bodies))
    frame = kido.SimpleFrame(s.bodies[on], "frame", random_transform(rng))
    frame.relative_spatial_velocity, frame.relative_spatial_acceleration = rng.normal(size=(2, 6))
    for action in actions:
        session.act(action)
        fresh = session.fresh()
        for what in rng.permutation([*OF_BODY, *OF_BODY, *OF_WHOLE, *OTHERS])[: rng.integers(1, 12)]:
            i = int(rng.integers(bodies))
            try:
                expected = numbers(read(fresh, what, i))
            except kido.KidoError as error:  # without mass, say
                with pytest.raises(type(error)):
                    read(s, what, i)
                continue
            scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
            found = numbers(read(s, what, i))
            assert_allclose(found, expected, rtol=0, atol=1e-11 * scale, err_msg=f"{what} after {action}")
        if rng.random() < 0.5:
            twin = frame.clone(fresh.bodies[on])
            i = int(rng.integers(bodies))
            found = frame.linear_acceleration((1, 2, 3), s.bodies[i], s.bodies[on])
            expected = twin.linear_acceleration((1, 2, 3), fresh.bodies[i], fresh.bodies[on])
            scale = max(1.0, float(np.abs(s.velocities).max(initial=0.0))) ** 2
            assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * scale, err_msg=f"frame after {action}")


def test_kept_results_do_not_pile_up() -> None:
    arm = arm_with_fingers()
    tip = arm.body("thumb3")
    for k in range(3000):
        arm.jacobian(tip, (0.0, 0.0, 0.001 * k))
    assert len(arm.state.kept) <= 1000
