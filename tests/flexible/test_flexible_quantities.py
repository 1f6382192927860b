"""Every declared quantity of skeletons with flexible bodies is that of a rigid twin, at all kinds of calls.

A quantity that is declared anew is tested here by itself; one with a parameter that has no value below fails until it
is given one. `kido.quantities.TABLE` has them all.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import kido
from flexible_trees import Dense, random_tree
from flexible_twins import ROOTS, Twins, make_twins
from kido.batch.quantities import IN_LANES, has_arrays
from kido.quantities import TABLE
from kido.quantities.verbs import VERBS
from trees import relative_error

TWINS = {root: make_twins(root) for root in ROOTS}
PARTS = {"positions": "positions", "velocities": "velocities", "accelerations": "accelerations", "forces": "forces"}


def values(twins: Twins, skeleton: kido.Skeleton) -> dict[str, Any]:
    """A value for each parameter that a quantity may have besides a state."""
    rng, n = np.random.default_rng(1), skeleton.num_dofs
    impulses = np.zeros((skeleton.num_bodies, 6))
    for name in ("tool", "wing", "base"):
        impulses[skeleton.body(name).index] = rng.normal(size=6)
    return {
        "node": "tool", "nodes": ["tool", "wing_a", "base"], "relative_to": skeleton.body("flap"),
        "with_respect_to": skeleton.body("wing_b"), "in_coordinates_of": skeleton.body("wing_a"),
        "offset": (0.1, -0.2, 0.3), "offsets": rng.normal(size=(3, 3)), "about": (0.3, 0.1, -0.2), "time_step": 1e-2,
        "values": rng.normal(size=n), "wrenches": rng.normal(size=(3, 6)), "rows": "linear", "damping": 0.1,
        "prescribed": ["hub.mode1", "tool_joint"], "spatial": True, "active": ["hub_hinge", "wing.mode1"],
        "bodies": twins.chosen(skeleton, ["hub", "tool", "base"]),
        "joint_impulses": rng.normal(size=n), "body_impulses": impulses,
    }  # fmt: skip


def calls(row: Any) -> list[list[str]]:
    """Parameters to give: those that a call needs, and with each of the others."""
    parts = [p for p in row.arguments.split(", ") if p]
    needed = [p.split("=")[0].strip() for p in parts if "=" not in p]
    return [needed, *([*needed, p.split("=")[0].strip()] for p in parts if "=" in p)]


def flat(found: Any) -> list[np.ndarray]:
    """All numbers of a result, by parts."""
    if dataclasses.is_dataclass(found):
        return [np.asarray(getattr(found, f.name)) for f in dataclasses.fields(found)]
    return [np.asarray(x) for x in found] if isinstance(found, tuple) else [np.asarray(found)]


def matching(twins: Twins, skeleton: kido.Skeleton, array: np.ndarray) -> np.ndarray:
    """What can be compared: along axes of bodies, those that both skeletons have; regressors of given bodies alone."""
    for axis, size in enumerate(array.shape):
        if size == skeleton.num_bodies:
            array = np.take(array, [skeleton.body(name).index for name in twins.common], axis)
        elif size == 10 * skeleton.num_bodies:
            shape = array.shape[:axis] + (skeleton.num_bodies, 10) + array.shape[axis + 1 :]
            rigid = [skeleton.body(name).index for name in twins.common if name not in twins.sliders]
            array = np.take(array.reshape(shape), rigid, axis)
    return array


def compare(twins: Twins, found: list[Any], what: str) -> None:
    parts = [[matching(twins, s, x) for x in flat(f)] for s, f in zip(twins.both, found, strict=True)]
    for of_flexible, of_rigid in zip(*parts, strict=True):
        assert of_flexible.shape == of_rigid.shape, what
        scale = max(1.0, np.abs(of_rigid).max(initial=0.0))
        assert np.abs(of_flexible - of_rigid).max(initial=0.0) < 1e-9 * scale, what


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_quantity_is_that_of_the_rigid_twin(name: str, root: str) -> None:
    """Of the current state, of one that is given, and in a batch: to 1e-9 of the largest number.

    M has conditions of up to 1e4 here, and what is found by its inverse so many digits less.
    """
    twins, row = TWINS[root], TABLE[name]
    sizes = {twins.flexible.num_bodies, twins.rigid.num_bodies, twins.rigid.num_dofs, 3, 4, 6, 10}
    assert len(sizes) == 7  # so that axes of arrays are known by their lengths
    for skeleton in twins.both:
        skeleton.clear_external_forces()
        skeleton.body("tool").add_external_wrench((0.1, 0.2, 0.3, -1.0, 2.0, 0.5))
    for given in calls(row):
        arguments = [{p: values(twins, s)[p] for p in given} for s in twins.both]
        if "bodies" in given and "regressor" in name:  # of a flexible body the columns are those of its frame
            arguments = [{**a, "bodies": ["arm", "tool", "base"]} for a in arguments]
        what = f"{name}({', '.join(given)})"
        both = list(zip(twins.both, arguments, strict=True))
        compare(twins, [row.current(s, **a) for s, a in both], what)
        state = [getattr(twins.rigid, part) for part in row.needs]
        compare(twins, [row.given(s, *state, **a) for s, a in both], f"{what} of a state")
        if has_arrays(row) and not (name in IN_LANES and set(given) & {"bodies", "in_coordinates_of"}):
            samples = [np.array([x, 0.5 * x]) for x in state]
            found = [flat(getattr(kido.batch.Batch(s), name)(*samples, **a))[0][1] for s, a in both]
            compare(twins, found, f"{what} of a batch")


@pytest.mark.parametrize("root", ROOTS)
def test_every_verb_is_that_of_the_rigid_twin(root: str) -> None:
    twins = TWINS[root]
    n = twins.rigid.num_dofs
    x = 0.5 * np.random.default_rng(2).normal(size=(3, n))
    arguments = {"interpolate_positions": (x[0], x[1], 0.3), **{
        f"hybrid_dynamics{end}": (*x, ["hub.mode1", "tool_joint"]) for end in ("", "_derivatives")
    }}  # fmt: skip
    for call in VERBS:
        name = call.__name__
        count = 1 if name == "forward_kinematics" else 2 if "position" in name else 3
        given = arguments.get(name, tuple(x[:count]))
        compare(twins, [call(s, *given) for s in twins.both], name)


@pytest.mark.parametrize("root", ROOTS)
def test_every_method_of_a_batch_is_that_of_the_rigid_twin(root: str) -> None:
    """With wrenches on rigid bodies, flexible ones and on nodes where these are taken."""
    twins, rng = TWINS[root], np.random.default_rng(3)
    n, count = twins.rigid.num_dofs, 3
    q, u, x = 0.4 * rng.normal(size=(count, n)), rng.normal(size=(count, n)), rng.normal(size=(count, n))
    pushed = {name: rng.normal(size=(count, 6)) for name in ("tool", "hub", "hub_a", "wing_b", "base")}
    held, found = ["hub.mode1", "tool_joint"], []
    for skeleton in twins.both:
        batch, w = kido.batch.Batch(skeleton), np.zeros((count, skeleton.num_bodies, 6))
        for name, wrenches in pushed.items():
            w[:, skeleton.body(name).index] = wrenches
        calls = {
            "forward_kinematics": (q,), "body_velocities": (q, u), "jacobian": (q, "tool", (0.1, 0.2, 0.3)),
            "mass_matrix": (q,), "inverse_mass_matrix": (q,), "integrate": (q, u, 0.3),
            "hybrid_dynamics_derivatives": (q, u, x, held),
        }  # fmt: skip
        loaded = {
            "inverse_dynamics": (q, u, x), "forward_dynamics": (q, u, x), "hybrid_dynamics": (q, u, x, held),
            "inverse_dynamics_derivatives": (q, u, x), "forward_dynamics_derivatives": (q, u, x),
            "simulate": (0.5 * q, 0.5 * u, x),
        }  # fmt: skip
        own = {name for name, f in vars(kido.batch.Batch).items() if callable(f) and not name.startswith("_")}
        assert own == {*calls, *loaded}
        made = {name: getattr(batch, name)(*given) for name, given in calls.items()}
        for name, given in loaded.items():
            made[name] = getattr(batch, name)(*given)
            made[f"{name} with wrenches"] = getattr(batch, name)(*given, wrenches=w)
        found.append(made)
    for name in found[0]:
        compare(twins, [made[name] for made in found], name)


# Of bodies that bend --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_coriolis_matrix_and_the_factors(seed: int) -> None:
    """dM/dt - 2 C is skew-symmetric, C u the velocity forces; F D F^T is M, as sparse, D as sweeps have it."""
    skeleton = random_tree(seed, bodies=9).skeleton
    rng, n = np.random.default_rng(seed), skeleton.num_dofs
    skeleton.positions, skeleton.velocities = 0.5 * rng.normal(size=n), rng.normal(size=n)
    C, rate = skeleton.coriolis_matrix, skeleton.mass_matrix_derivative
    size = np.abs(rate).max()
    S = rate - 2.0 * C
    assert np.abs(S + S.T).max() < 1e-12 * size
    assert np.abs(C @ skeleton.velocities - skeleton.coriolis_forces).max() < 1e-11 * size
    h = 1e-4
    M = [
        kido.quantities.mass_matrix(
            skeleton, skeleton.integrate_positions(skeleton.positions, s * h * skeleton.velocities)
        )
        for s in (-2, -1, 1, 2)
    ]
    assert np.abs((M[0] - 8.0 * M[1] + 8.0 * M[2] - M[3]) / (12.0 * h) - rate).max() < 1e-8 * size
    (F, D), M = skeleton.mass_matrix_factors, skeleton.mass_matrix
    assert np.abs(F @ np.diag(D) @ F.T - M).max() < 1e-13 * np.abs(M).max()
    assert np.array_equal(np.diag(F), np.ones(n))
    assert not F[M == 0.0].any()
    assert not np.tril(F, -1).any()
    assert abs(np.log(D).sum() - skeleton.log_det_mass_matrix()) < 1e-10


@pytest.mark.parametrize("seed", range(2))
def test_sums_over_some_bodies_make_up_those_of_all(seed: int) -> None:
    """A flexible body has its modes' inertia, weight and springs, and BODY_modes adds nothing by itself."""
    tree = random_tree(seed, bodies=7)
    skeleton, rng = tree.skeleton, np.random.default_rng(seed)
    n = skeleton.num_dofs
    dense = Dense(tree, 0.5 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n))
    skeleton.positions, skeleton.velocities, skeleton.accelerations = dense.q, dense.u, dense.udot
    for name in ("mass_matrix", "coriolis_matrix", "coriolis_forces", "gravity_forces", "kinetic_energy",
                 "potential_energy", "momentum"):  # fmt: skip
        parts = [TABLE[name].current(skeleton, bodies=[body]) for body in skeleton.bodies]
        assert relative_error(sum(parts), TABLE[name].current(skeleton)) < 1e-11, name
        for flexible in tree.bodies:
            assert not np.any(parts[flexible.coordinates.index])
    for c, flexible in enumerate(tree.bodies):
        welded = [b for b in skeleton.bodies if b.name == "welded"]
        masses, x, v, a = dense.points[c]
        assert relative_error(kido.quantities.com(skeleton, bodies=[flexible.body]), masses @ x / masses.sum()) < 1e-12
        assert relative_error(skeleton.com_velocity(bodies=[flexible.body]), masses @ v / masses.sum()) < 1e-12
        assert relative_error(skeleton.com_acceleration(bodies=[flexible.body.name]), masses @ a / masses.sum()) < 1e-11
        assert skeleton.momentum_about((0.0, 0.0, 0.0), bodies=welded).any()


def test_bodies_without_mass_have_no_centre_and_are_named() -> None:
    skeleton = TWINS["floating"].flexible
    with pytest.raises(kido.ModelError, match="the bodies have no mass"):
        skeleton.com_jacobian(bodies=["hub_a"])
    with pytest.raises(kido.NameLookupError, match="nobody"):
        kido.quantities.coriolis_matrix(skeleton, bodies=["nobody"])


def test_the_centre_of_mass_of_a_flexible_body_is_where_it_is_bent_to() -> None:
    """What the body itself says of it, in a frame too, is what its hub and sliders together have."""
    twins = TWINS["floating"]
    found = []
    for skeleton in twins.both:
        frame, whole = skeleton.body("tool"), twins.chosen(skeleton, ["hub"])
        if skeleton is twins.flexible:
            hub = skeleton.body("hub")
            V, A = hub.com_spatial_velocity(frame, frame), hub.com_spatial_acceleration(frame, frame)
            assert np.allclose(V[3:], hub.com_velocity(frame, frame), rtol=1e-13)
            assert np.allclose(A[3:], hub.com_acceleration(frame, frame) - np.cross(V[:3], V[3:]), rtol=1e-12)
            found.append(
                [hub.com, hub.com_position(frame), hub.com_velocity(frame, frame), hub.com_acceleration(frame)]
            )
            for name in ("com_jacobian", "com_jacobian_derivative"):
                with pytest.raises(kido.ModelError, match=rf"'hub' is flexible.*skeleton\.{name}\(bodies=\['hub'\]\)"):
                    getattr(hub, name)()
        else:
            com = kido.quantities.com(skeleton, bodies=whole)
            X = frame.world_transform
            found.append([
                com, X[:3, :3].T @ (com - X[:3, 3]), skeleton.com_velocity(whole, frame, frame),
                skeleton.com_acceleration(whole, frame),
            ])  # fmt: skip
    for a, b in zip(*found, strict=True):
        assert relative_error(a, b) < 1e-11


@pytest.mark.parametrize("moved", ["a probe", "the flexible tree"])
def test_taking_hold_of_flexible_bodies_keeps_momentum(moved: str) -> None:
    """A rigid body comes to hang on a node, or the flexible tree on a rigid one: as for the rigid twin."""
    twins, found = make_twins("floating"), []
    for skeleton in twins.both:
        other = kido.Skeleton("other")
        probe = other.add_body("probe", kido.FreeJoint(), None, kido.Inertia(1.5, (0.1, 0.0, 0.0), 0.1 * np.eye(3)))
        other.velocities = 0.3 * np.arange(6.0)
        before = skeleton.momentum + other.momentum
        body, parent = (probe, skeleton.body("wing_a")) if moved == "a probe" else (skeleton.body("base"), probe)
        made = body.attach(parent, kido.BallJoint("grip"))
        joined = parent.skeleton
        assert np.abs(joined.momentum - before).max() < 1e-12
        assert made.energy_lost > 0.0
        found.append(np.r_[joined.velocities, made.impulse, made.energy_lost])
    assert relative_error(*found) < 1e-11
