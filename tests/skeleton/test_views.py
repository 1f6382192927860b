"""Groups, linkages, chains and branches: their bodies against dartpy's, their dynamics against the whole skeleton."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kido
import trees

# Names of bodies and their parents: a tree with branches at the root and below.
FAMILY = {"r": None, "a": "r", "b": "a", "c": "b", "e": "c", "x": "a", "y": "x", "z": "r", "w": "z"}


def family(parents: dict[str, str | None] = FAMILY) -> kido.Skeleton:
    skeleton = kido.Skeleton("family")
    rng = np.random.default_rng(1)
    for name, parent in parents.items():
        skeleton.add_body(name, kido.RevoluteJoint(f"j{name}", (0, 1, 0)), parent, trees.random_inertia(rng, 1.0))
    return skeleton


def tree(seed: int, bodies: int = 8, **options) -> kido.Skeleton:
    skeleton = trees.random_skeleton(seed, bodies, **options)
    trees.set_state(skeleton, *trees.random_state(skeleton, seed + 1))
    return skeleton


# Which bodies ------------------------------------------------------------------------------------------------

POLICIES = [p.name for p in kido.Expansion]


@st.composite
def cases(draw) -> tuple[list[int], tuple, list, list]:
    n = draw(st.integers(2, 9))
    parents = [-1] + [draw(st.integers(0, k - 1)) for k in range(1, n)]
    body = st.integers(0, n - 1)
    start = draw(st.one_of(st.none(), st.tuples(body, st.sampled_from(POLICIES))))
    targets = draw(st.lists(st.tuples(body, st.sampled_from(POLICIES)), min_size=int(start is None), max_size=2))
    terminals = draw(st.lists(st.tuples(body, st.booleans()), max_size=2, unique_by=lambda t: t[0]))
    targets = [t for t in targets if start is None or t[0] != start[0]]  # there DART lets the start decide alone
    ends = {t[0] for t in targets} | ({start[0]} if start else set())
    return parents, start, targets, [t for t in terminals if t[0] not in ends]


@settings(max_examples=60)
@given(cases())
def test_linkages_have_the_bodies_of_dart(case) -> None:
    dynamics = pytest.importorskip("dartpy").dynamics
    parents, start, targets, terminals = case
    names = [f"b{k}" for k in range(len(parents))]
    mine = family({name: None if p < 0 else names[p] for name, p in zip(names, parents, strict=True)})
    skeleton, bodies = dynamics.Skeleton("s"), []
    for k, parent in enumerate(parents):
        above = () if parent < 0 else (bodies[parent],)
        joint, body = skeleton.createRevoluteJointAndBodyNodePair(*above)
        body.setName(names[k])
        joint.setName(f"jb{k}")
        bodies.append(body)
    theirs = dynamics.LinkageCriteria
    criteria = dynamics.ChainCriteria(bodies[0], bodies[-1]).convert()
    criteria.mStart = theirs.Target(bodies[start[0]], getattr(theirs, start[1])) if start else theirs.Target()
    criteria.mTargets = [theirs.Target(bodies[k], getattr(theirs, policy), False) for k, policy in targets]
    criteria.mTerminals = [theirs.Terminal(bodies[k], inclusive) for k, inclusive in terminals]
    expected = dynamics.Linkage(criteria, "linkage")
    linkage = kido.Linkage(
        kido.LinkageCriteria(
            kido.Target(mine.bodies[start[0]], kido.Expansion[start[1]]) if start else None,
            [kido.Target(mine.bodies[k], kido.Expansion[policy]) for k, policy in targets],
            [kido.Terminal(mine.bodies[k], inclusive) for k, inclusive in terminals],
        )
    )
    assert {b.name for b in linkage.bodies} == {b.getName() for b in expected.getBodyNodes()}
    assert {j.name for j in linkage.joints} == {j.getName() for j in expected.getJoints()}


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("ends", ["ae", "be", "rz", "zw", "rw", "xy", "ab"])
def test_chains_have_the_coordinates_of_dart(ends: str, upper: bool) -> None:
    dynamics = pytest.importorskip("dartpy").dynamics
    skeleton = dynamics.Skeleton("s")
    bodies = {}
    for name, parent in FAMILY.items():
        joint, body = skeleton.createRevoluteJointAndBodyNodePair(*(() if parent is None else (bodies[parent],)))
        body.setName(name)
        joint.setName(f"j{name}")
        bodies[name] = body
    expected = dynamics.Chain(bodies[ends[0]], bodies[ends[1]], upper)
    mine = family()
    chain = kido.Chain(mine.body(ends[0]), mine.body(ends[1]), upper)
    assert [d.name for d in chain.dofs] == [d.getName() for d in expected.getDofs()]
    assert [b.name for b in chain] == [b.getName() for b in expected.getBodyNodes()]
    back = kido.Chain(mine.body(ends[1]), mine.body(ends[0]), upper)
    assert back.bodies == chain.bodies[::-1]


def test_chains_do_not_branch() -> None:
    skeleton = family()
    assert [b.name for b in kido.Branch(skeleton.body("a"))] == ["a", "b", "c", "e", "x", "y"]
    for a, b, message in (
        ("r", "c", "'a' between them has 2 children"),
        ("c", "y", "neither is above"),
    ):
        with pytest.raises(kido.ModelError, match=message):
            kido.Chain(skeleton.body(a), skeleton.body(b))
    path = kido.Linkage(kido.LinkageCriteria(skeleton.body("c"), [skeleton.body("y")]))
    assert [b.name for b in path] == ["c", "b", "a", "x", "y"]
    other = family()
    for wrong in (
        lambda: kido.Linkage(kido.LinkageCriteria(skeleton.body("c"), [other.body("y")])),
        lambda: kido.Linkage(skeleton.body("c")),  # type: ignore[arg-type]
        lambda: kido.Linkage(kido.LinkageCriteria("c")),  # type: ignore[arg-type]
        lambda: kido.Group([skeleton.body("a"), skeleton.body("a")]),
        lambda: kido.Group(["a"]),  # type: ignore[list-item]
        lambda: kido.Group(7),  # type: ignore[arg-type]
        lambda: kido.Group(dofs=skeleton.joints),  # type: ignore[arg-type]
    ):
        with pytest.raises(kido.ModelError):
            wrong()


# State -------------------------------------------------------------------------------------------------------


def random_group(seed: int) -> tuple[kido.Group, kido.Skeleton, kido.Skeleton]:
    """Coordinates of two skeletons in random order, some bodies."""
    a, b = tree(seed), tree(seed + 50, 5)
    rng = np.random.default_rng(seed)
    dofs = [d for d in (*a.dofs, *b.dofs) if rng.random() < 0.6]
    bodies = [x for x in (*a.bodies, *b.bodies) if rng.random() < 0.5] or a.bodies
    rng.shuffle(dofs)  # type: ignore[arg-type]
    return kido.Group(bodies, dofs=dofs), a, b


def test_state_of_a_group_is_that_of_its_coordinates() -> None:
    group, a, b = random_group(3)
    new = np.random.default_rng(0).normal(size=group.num_dofs)
    for name, one in (("positions", "position"), ("velocities", "velocity"), ("accelerations", "acceleration"),
                      ("forces", "force")):  # fmt: skip
        np.testing.assert_array_equal(getattr(group, name), [getattr(d, one) for d in group.dofs])
        others = {d: getattr(d, one) for d in (*a.dofs, *b.dofs) if d not in group}
        setattr(group, name, new)
        np.testing.assert_array_equal([getattr(d, one) for d in group.dofs], new)
        assert all(getattr(d, one) == value for d, value in others.items())
        before = getattr(a, name), getattr(b, name)
        for wrong in (new[1:], [np.nan] * group.num_dofs, "none"):
            with pytest.raises(kido.StateError, match="group"):
                setattr(group, name, wrong)
        np.testing.assert_array_equal(np.concatenate([getattr(a, name), getattr(b, name)]), np.concatenate(before))
    group.commands = new
    np.testing.assert_array_equal(group.commands, new)
    group.position_lower_limit = -(new**2)
    np.testing.assert_array_equal([d.position_lower_limit for d in group.dofs], -(new**2))
    group.set_property("damping", 0.5)
    np.testing.assert_array_equal(group.get_property("damping"), 0.5)
    damped = {d for d in (*a.dofs, *b.dofs) if d.damping == 0.5}
    assert damped == set(group.dofs)
    values = np.where(np.arange(group.num_dofs) < group.num_dofs - 1, 0.7, -1.0)
    for key, value in (("damping", values), ("mass", 1.0), ("damping", [1.0, 2.0])):
        with pytest.raises(kido.ModelError):
            group.set_property(key, value)
    np.testing.assert_array_equal(group.get_property("damping"), 0.5)
    assert list(group.skeletons) == [a, b] or list(group.skeletons) == [b, a]
    assert group.body(0) is group.bodies[0] and group.dof(-1) is group.dofs[-1] and len(group) == group.num_bodies
    with pytest.raises(kido.NameLookupError, match="2 have it"):
        kido.Group([a.bodies[0], b.bodies[0]]).body("b0")
    with pytest.raises(kido.NameLookupError):
        group.dof("nobody")


# Kinematics and dynamics -------------------------------------------------------------------------------------


@settings(max_examples=10)
@given(st.integers(0, 40))
def test_sums_over_bodies(seed: int) -> None:
    group, a, b = random_group(seed)
    refs = {s: trees.Reference(s, s.positions, s.velocities, s.accelerations) for s in (a, b)}
    mass, com, v, acc, momentum, kinetic, potential = 0.0, np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(6), 0.0, 0.0
    for body in group:
        ref, k, m = refs[body.skeleton], body.index, body.mass
        c = ref.X[k, :3, :3] @ body.inertia.com
        w, wdot = ref.V[k, :3], ref.A[k, :3]
        mass += m
        com += m * (c + ref.X[k, :3, 3])
        v += m * (ref.V[k, 3:] + np.cross(w, c))
        acc += m * (ref.A[k, 3:] + np.cross(wdot, c) + np.cross(w, np.cross(w, c)))
        h = ref.I[k] @ ref.V[k]
        momentum += np.concatenate([h[:3] + np.cross(ref.X[k, :3, 3], h[3:]), h[3:]])
        kinetic += 0.5 * ref.V[k] @ h
        potential += 9.81 * m * (c + ref.X[k, :3, 3])[2] * body.gravity
    if mass == 0.0:
        with pytest.raises(kido.ModelError, match="no mass"):
            group.com  # noqa: B018
        return
    assert group.mass == pytest.approx(mass, rel=1e-14)
    for value, expected in (
        (group.com, com / mass), (group.com_velocity(), v / mass), (group.com_acceleration(), acc / mass),
        (group.momentum, momentum), (group.kinetic_energy, kinetic), (group.potential_energy, potential),
    ):  # fmt: skip
        assert trees.relative_error(value, expected) < 1e-11
    rest = {s: s.velocities for s in (a, b)}
    for s in (a, b):
        s.velocities = np.zeros(s.num_dofs)
    group.velocities = np.concatenate([[rest[d.joint.child.skeleton][d.index] for d in group.dofs]])
    assert trees.relative_error(group.com_jacobian() @ group.velocities, group.com_velocity()) < 1e-12


@settings(max_examples=10)
@given(st.integers(0, 40))
def test_dynamics_with_all_else_held(seed: int) -> None:
    group, a, b = random_group(seed)
    refs = {s: trees.Reference(s, s.positions, s.velocities, s.accelerations) for s in (a, b)}
    home, index = [d.joint.child.skeleton for d in group.dofs], [d.index for d in group.dofs]
    M = np.array([[refs[s].mass_matrix[i, j] if s is t else 0.0 for t, j in zip(home, index, strict=True)]
                  for s, i in zip(home, index, strict=True)]).reshape(group.num_dofs, group.num_dofs)  # fmt: skip
    bias = np.array([refs[s].bias[i] for s, i in zip(home, index, strict=True)])
    assert trees.relative_error(group.mass_matrix, M) < 1e-12
    assert trees.relative_error(group.coriolis_and_gravity_forces, bias) < 1e-11
    assert trees.relative_error(group.coriolis_forces + group.gravity_forces, bias) < 1e-11
    if np.linalg.cond(M) > 1e8:
        return
    rng = np.random.default_rng(seed)
    udot = rng.normal(size=group.num_dofs)
    tau = group.inverse_dynamics(accelerations=udot)
    assert trees.relative_error(tau, M @ udot + bias) < 1e-11
    assert trees.relative_error(group.forward_dynamics(forces=tau), udot) < 1e-12 * max(1e3, np.linalg.cond(M))
    assert trees.relative_error(group.inverse_mass_matrix @ M, np.eye(group.num_dofs)) < 1e-9
    # A given state is that of the group set, and the held one stays.
    q, u = rng.normal(size=(2, group.num_dofs))
    held = group.positions
    other = group.inverse_dynamics(q, u, udot)
    np.testing.assert_array_equal(group.positions, held)
    group.positions, group.velocities, group.accelerations = q, u, udot
    np.testing.assert_array_equal(group.inverse_dynamics(), other)
    with pytest.raises(kido.StateError, match="velocities"):
        group.inverse_dynamics(q, u[1:], udot)


@pytest.mark.parametrize("seed", range(4))
def test_jacobians_of_any_node(seed: int) -> None:
    group, a, b = random_group(seed)
    X = trees.random_transform(np.random.default_rng(seed))
    tip = a.bodies[-1].create_node(kido.EndEffector, "tip", X)
    for node in (tip, b.bodies[-1], a.bodies[0]):
        home = a if node is not b.bodies[-1] else b
        whole = home.jacobian(node, (0.1, 0.2, 0.3), tip)
        J = group.jacobian(node, (0.1, 0.2, 0.3), tip)
        spatial = home.jacobian_spatial_derivative(node)
        for k, dof in enumerate(group.dofs):
            mine = dof.joint.child.skeleton is home
            np.testing.assert_array_equal(J[:, k], whole[:, dof.index] if mine else 0.0)
            np.testing.assert_array_equal(
                group.jacobian_spatial_derivative(node)[:, k], spatial[:, dof.index] if mine else 0.0
            )
        np.testing.assert_array_equal(group.linear_jacobian(node), group.jacobian(node)[3:])
        np.testing.assert_array_equal(group.angular_jacobian(node), group.jacobian(node)[:3])
    with pytest.raises(kido.ModelError, match="body or a node"):
        group.jacobian("tip")


def test_whole_skeletons_are_groups_too() -> None:
    skeleton = tree(5)
    group = kido.Group(skeleton.bodies)
    np.testing.assert_array_equal(group.mass_matrix, skeleton.mass_matrix)
    np.testing.assert_allclose(group.com, skeleton.com, rtol=1e-13)
    state = skeleton.positions, skeleton.velocities, skeleton.forces
    np.testing.assert_allclose(group.forward_dynamics(), skeleton.forward_dynamics(*state), rtol=1e-9)
    empty = kido.Group()
    assert empty.mass_matrix.shape == (0, 0) and empty.positions.shape == (0,) and empty.mass == 0.0
    assert empty.forward_dynamics().shape == (0,) and not empty.momentum.any()


# Locks -------------------------------------------------------------------------------------------------------


def test_locked_groups_do_not_move() -> None:
    skeleton = family()
    world = kido.World()
    world.add_skeleton(skeleton)
    skeleton.dof("jx").actuator_type = "passive"
    arm = kido.Branch(skeleton.body("a"))
    arm.lock()
    arm.lock()
    held = arm.positions
    world.step(20)
    np.testing.assert_array_equal(arm.velocities, 0.0)
    np.testing.assert_allclose(arm.positions, held, atol=1e-15)
    assert abs(skeleton.dof("jw").velocity) > 0.0
    arm.unlock()
    assert skeleton.dof("jx").actuator_type is kido.ActuatorType.PASSIVE
    assert skeleton.dof("ja").actuator_type is kido.ActuatorType.FORCE
    world.step(20)
    assert abs(arm.velocities).min() > 0.0


# Edits -------------------------------------------------------------------------------------------------------


def test_edits_are_followed_or_reported() -> None:
    skeleton = family()
    chain = kido.Chain(skeleton.body("a"), skeleton.body("e"))
    branch = kido.Branch(skeleton.body("a"))
    chain.positions = [0.1, 0.2, 0.3]
    skeleton.body("r").move_to(skeleton)
    skeleton.body("z").remove()  # renumbers
    skeleton.body("x").move_to(skeleton.body("r"))
    np.testing.assert_array_equal(chain.positions, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(chain.positions, [d.position for d in chain.dofs])
    assert chain.is_assembled and not branch.is_assembled
    branch.satisfy_criteria()
    assert branch.is_assembled and [b.name for b in branch] == ["a", "b", "c", "e"]
    skeleton.body("c").change_parent_joint_type(kido.BallJoint)
    for call in (lambda: chain.positions, lambda: chain.mass_matrix, lambda: setattr(chain, "velocities", [0] * 3)):
        with pytest.raises(kido.ModelError, match="'jc' was replaced"):
            call()
    assert not chain.is_assembled
    chain.satisfy_criteria()
    assert chain.num_dofs == 5 and chain.mass_matrix.shape == (5, 5)
    part = skeleton.body("b").split("part")
    assert not branch.is_assembled
    group = kido.Group([*part.bodies, *skeleton.bodies])
    assert group.num_dofs == part.num_dofs + skeleton.num_dofs
    skeleton.body("a").create_child(kido.RevoluteJoint, "new")
    part.root_bodies[0].move_to(skeleton.body("new"))
    assert list(group.skeletons) == [skeleton] or list(group.skeletons) == [part, skeleton]
    assert group.positions.shape == (group.num_dofs,)


def test_copies_of_a_group_are_of_copies_of_its_skeletons() -> None:
    skeleton = tree(4)
    group = kido.Group(skeleton.bodies[:3])
    for twin in (copy.deepcopy(group), pickle.loads(pickle.dumps(group))):
        assert twin.skeletons[0] is not skeleton
        np.testing.assert_array_equal(twin.positions, group.positions)
        twin.positions = np.zeros(twin.num_dofs)
        assert group.positions.any()
