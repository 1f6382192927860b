"""What skeletons with soft skins compute on their own: the points where they are, held there, or a refusal by name.

Truths: sums over the points with their Jacobians, a rigid body of the same masses in the same places, differences of
energies, and what a world does in the next step. Sums agree to 1e-13 relative.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kido
from kido import SoftMesh
from kido.operators import SpatialOperators
from manifold import along_positions
from trees import relative_error

EXACT = 1e-12
NODES = ["box"]


def displaced(frozen: bool = True, moving: bool = False) -> kido.Skeleton:
    """A soft box on a hinge on a cart, with a bob below it; its points are far from their places."""
    rng = np.random.default_rng(5)
    skeleton = kido.Skeleton("soft")
    cart = skeleton.add_body("cart", kido.PrismaticJoint("rail", axis=(1, 0, 0)), inertia=kido.Inertia(2.0))
    place = np.eye(4)
    place[:3, 3] = (0.1, 0.0, 0.2)
    hinge = kido.BallJoint("hinge", transform_from_parent=place)
    core = kido.Inertia(0.8, (0.01, 0.02, 0.03), np.diag([0.01, 0.012, 0.015]))
    options = {"total_mass": 0.6, "kv": 300.0, "ke": 20.0, "kd": 1.0}
    box = skeleton.add_soft_body("box", SoftMesh.box((0.2, 0.2, 0.2)), hinge, cart, core, **options)
    knee = kido.RevoluteJoint("knee", axis=(0, 1, 0), transform_from_parent=place)
    skeleton.add_body("bob", knee, box, kido.Inertia(0.4, (0.0, 0.0, -0.1), 1e-3 * np.eye(3)))
    skeleton.positions = rng.normal(size=5)
    skeleton.velocities = rng.normal(size=5)
    box.displacements = 0.05 * rng.normal(size=(box.num_points, 3))
    if moving:
        box.displacement_rates = rng.normal(size=(box.num_points, 3))
    if frozen:
        box.skin.frozen[:] = 1
    return skeleton


def rigid_twin(skeleton: kido.Skeleton) -> kido.Skeleton:
    """The same skeleton with a rigid body in place of the soft one: core and points summed up here."""
    box, twin = skeleton.body("box"), kido.Skeleton("rigid")
    m, x = box.point_masses, box.rest_positions + box.displacements
    core = box.core_inertia
    mass = core.mass + m.sum()
    com = (core.mass * core.com + m @ x) / mass
    moment = core.moment + core.mass * steiner(core.com - com)
    moment = moment + sum(mk * steiner(xk - com) for mk, xk in zip(m, x, strict=True))
    inertias = {"box": kido.Inertia(mass, com, moment)}
    for body in skeleton.bodies:
        joint = copy.copy(type(body.parent_joint))(
            body.parent_joint.name,
            transform_from_parent=body.parent_joint.transform_from_parent,
            **body.parent_joint.unique_properties,
        )
        parent = None if body.parent is None else body.parent.name
        twin.add_body(body.name, joint, parent, inertias.get(body.name, body.inertia))
    twin.positions, twin.velocities = skeleton.positions, skeleton.velocities
    twin.accelerations, twin.forces = skeleton.accelerations, skeleton.forces
    return twin


def steiner(r: np.ndarray) -> np.ndarray:
    return r @ r * np.eye(3) - np.outer(r, r)


def point_jacobians(skeleton: kido.Skeleton) -> list[np.ndarray]:
    box = skeleton.body("box")
    return [skeleton.linear_jacobian(box, x) for x in box.rest_positions + box.displacements]


def test_the_mass_matrix_is_a_sum_over_the_points() -> None:
    s = displaced()
    box = s.body("box")
    J, core = s.jacobian(box, box.core_inertia.com, in_coordinates_of=box), box.core_inertia
    M = J[3:].T @ J[3:] * core.mass + J[:3].T @ core.moment @ J[:3]
    M = M + sum(m * K.T @ K for m, K in zip(box.point_masses, point_jacobians(s), strict=True))
    assert relative_error(s.mass_matrix, M + kido.quantities.mass_matrix(s, bodies=["cart", "bob"])) < EXACT
    assert relative_error(kido.quantities.mass_matrix(s, bodies=[box]), M) < EXACT


def test_gravity_acts_on_the_points_where_they_are() -> None:
    """-sum J^T m g, and the gradient of the energy that the same skeleton tells, by central differences."""
    s = displaced()
    box, g = s.body("box"), s.gravity
    held = -box.core_inertia.mass * s.linear_jacobian(box, box.core_inertia.com).T @ g
    held = held - sum(m * K.T @ g for m, K in zip(box.point_masses, point_jacobians(s), strict=True))
    assert relative_error(kido.quantities.gravity_forces(s, bodies=[box]), held) < EXACT
    slope = along_positions(lambda q: np.array([kido.quantities.potential_energy(s, q)]), s, s.positions)[0]
    assert relative_error(s.gravity_forces, slope) < 1e-8


def quantity_cases() -> dict[str, Callable[[Any], Any]]:
    rng = np.random.default_rng(7)
    q, u, a, tau = rng.normal(size=(4, 5))
    return {
        "mass_matrix": lambda s: s.mass_matrix,
        "inverse_mass_matrix": lambda s: s.inverse_mass_matrix,
        "gravity_forces": lambda s: s.gravity_forces,
        "coriolis_and_gravity_forces": lambda s: s.coriolis_and_gravity_forces,
        "coriolis_matrix": lambda s: s.coriolis_matrix,
        "com": lambda s: s.com,
        "com_velocity": lambda s: s.com_velocity(),
        "com_acceleration": lambda s: s.com_acceleration(),
        "com_jacobian": lambda s: s.com_jacobian(),
        "com_jacobian_derivative": lambda s: s.com_jacobian_derivative(),
        "centroidal_momentum": lambda s: s.centroidal_momentum,
        "centroidal_momentum_matrix": lambda s: s.centroidal_momentum_matrix,
        "kinetic_energy": lambda s: s.kinetic_energy,
        "composite_inertias": lambda s: s.composite_inertias,
        "articulated_inertias": lambda s: s.articulated_inertias(),
        "operational_space_inertia": lambda s: s.operational_space_inertia(NODES),
        "operational_space_bias": lambda s: s.operational_space_bias(NODES),
        "inverse_dynamics": lambda s: s.inverse_dynamics(q, u, a),
        "forward_dynamics": lambda s: s.forward_dynamics(q, u, tau),
        "hybrid_dynamics": lambda s: np.concatenate(s.hybrid_dynamics(q, u, tau, ["knee"])),
        "inverse_dynamics_derivatives": lambda s: np.array(s.inverse_dynamics_derivatives()),
        "forward_dynamics_derivatives": lambda s: np.array(s.forward_dynamics_derivatives(q, u, tau)),
        "velocity_changes": lambda s: kido.quantities.velocity_changes(s, joint_impulses=tau),
        "reaction_wrenches": lambda s: s.reaction_wrenches,
        "regressor": lambda s: kido.quantities.inverse_dynamics_regressor(s, q, u, a) @ s.inertial_parameters(),
        "computed forces": computed_forces,
        "computed accelerations": computed_accelerations,
        "operators": operators,
        "a state beside": lambda s: s.new_state().mass_matrix,
        "batch": lambda s: kido.batch.Batch(s).forward_dynamics(np.stack([q, u]), np.stack([u, a]), np.stack([a, tau])),
        "batch of samples": lambda s: kido.batch.Batch(s).gravity_forces(np.stack([q, u])),
        "batch in motion": lambda s: np.array(kido.batch.Batch(s).simulate(q, u, tau, steps=20)),
        "smooth motion": smooth_motion,
        "constrained dynamics": lambda s: kido.ConstrainedDynamics(s, []).accelerations(tau),
    }  # fmt: skip


def operators(s: kido.Skeleton) -> np.ndarray:
    H, Phi, M = SpatialOperators(s)["H", "Phi", "M"]
    return (H * Phi * M * Phi.T * H.T).dense()


def computed_forces(s: kido.Skeleton) -> np.ndarray:
    s.accelerations = np.arange(5.0)
    s.compute_inverse_dynamics()
    return s.forces


def computed_accelerations(s: kido.Skeleton) -> np.ndarray:
    s.forces = np.arange(5.0)
    s.compute_forward_dynamics()
    return s.accelerations


def smooth_motion(s: kido.Skeleton) -> np.ndarray:
    trajectory = kido.integrators.simulate(s, kido.integrators.RK4(), 0.05)
    return np.concatenate([trajectory.positions[-1], trajectory.velocities[-1]])


@pytest.mark.parametrize("name", quantity_cases())
def test_frozen_skins_are_rigid_bodies(name: str) -> None:
    """Whatever is asked of the skeleton or a rigid one is the same, wherever the points were frozen."""
    case, s = quantity_cases()[name], displaced()
    twin = rigid_twin(s)
    assert relative_error(case(s), case(twin)) < (1e-9 if "motion" in name else 1e-11)


@pytest.mark.parametrize("name", quantity_cases())
def test_what_points_change_is_seen_at_once(name: str) -> None:
    """Before and after another displacement, in a world and without one: nothing is kept that is not so any more."""
    case, s = quantity_cases()[name], displaced()
    case(s)
    s.body("box").displacements = 0.03 * np.random.default_rng(8).normal(size=(26, 3))
    tolerance = 1e-9 if "motion" in name else 1e-11
    twin = rigid_twin(s)
    assert relative_error(case(s), case(twin)) < tolerance
    world = kido.World(gravity=s.gravity)
    world.add_skeleton(s)
    if name not in ("constrained dynamics", "smooth motion"):
        s.velocities = twin.velocities
        assert relative_error(case(s), case(rigid_twin(s))) < tolerance
        s.body("box").displacements = [0.02, 0.0, -0.01]
        assert relative_error(case(s), case(rigid_twin(s))) < tolerance


def test_a_world_that_moves_points_is_followed() -> None:
    """After each step; and the world goes the same way, to the bit, whether anybody asks or not."""
    s = displaced(frozen=False)
    world = kido.World(gravity=s.gravity)
    world.add_skeleton(s)
    alone = world.clone()
    for _ in range(20):
        world.step()
        assert relative_error(s.mass_matrix, rigid_twin(s).mass_matrix) < EXACT
        assert relative_error(s.gravity_forces, rigid_twin(s).gravity_forces) < EXACT
    alone.step(20)
    assert alone.skeletons[0].positions.tobytes() == s.positions.tobytes()
    np.testing.assert_array_equal(alone.skeletons[0].body("box").displacements, s.body("box").displacements)


def test_forward_dynamics_is_what_a_world_does_with_frozen_points() -> None:
    """The change of velocity in a short step over its length; of first order in it."""
    s = displaced()
    expected = s.forward_dynamics(s.positions, s.velocities, np.zeros(5))
    world = kido.World(gravity=s.gravity, time_step=1e-6)
    world.add_skeleton(s)
    before = s.velocities
    world.step()
    assert relative_error((s.velocities - before) / 1e-6, expected) < 1e-4


def test_springs_of_skins_are_part_of_the_potential_energy() -> None:
    """At the current state, at a given one, and of a state beside."""
    s = displaced()
    box, rigid = s.body("box"), rigid_twin(s)
    expected = rigid.potential_energy + box.elastic_energy
    assert box.elastic_energy > 1.0
    assert s.potential_energy == pytest.approx(expected, rel=1e-12)
    assert kido.quantities.potential_energy(s, s.positions) == pytest.approx(expected, rel=1e-12)
    assert s.new_state().potential_energy == pytest.approx(expected, rel=1e-12)
    bob = kido.quantities.potential_energy(rigid, bodies=["bob"])
    assert kido.quantities.potential_energy(s, bodies=["bob"]) == pytest.approx(bob, rel=1e-12)


def test_states_beside_and_given_ones_hold_the_points() -> None:
    """They have no motion of points: kinetic energy, momentum and Coriolis forces are those of the rigid body."""
    s = displaced(frozen=False, moving=True)
    rigid, other, q, u = rigid_twin(s), s.new_state(), s.positions, s.velocities
    for name in ("kinetic_energy", "momentum", "coriolis_and_gravity_forces", "mass_matrix_derivative"):
        expected = getattr(rigid, name)
        assert relative_error(getattr(other, name), expected) < 1e-11
        assert relative_error(getattr(kido.quantities, name)(s, q, u), expected) < 1e-11
    assert abs(s.kinetic_energy - other.kinetic_energy) > 1e-3


# Refusals ----------------------------------------------------------------------------------------------------

OF_MOVING_POINTS = (
    "coriolis_matrix", "mass_matrix_derivative", "coriolis_forces", "coriolis_and_gravity_forces",
    "com_jacobian_derivative", "centroidal_momentum_matrix_derivative", "reaction_wrenches",
    "inverse_dynamics_regressor", "energy_regressors", "diagonalized_velocities", "composite_momenta",
    "operational_space_bias", "centroidal_momentum_derivatives", "bias_forces_derivatives", "active_passive_split",
    "inverse_dynamics_derivatives", "compute_inverse_dynamics",
)  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", OF_MOVING_POINTS)
def test_the_part_of_moving_points_is_refused_by_name(name: str, compiled: bool) -> None:
    s = displaced(frozen=False, moving=True)
    if not compiled:
        s = s.clone()
    arguments = [NODES] if name == "operational_space_bias" else []

    def ask() -> Any:
        found = getattr(s, name)
        return found(*arguments) if callable(found) else found

    with pytest.raises(
        kido.ModelError, match=rf"skeleton 'soft': {name}: points of soft bodies move \('box'\), .*World"
    ):
        ask()
    s.body("box").displacement_rates = [0.0, 0.0, 0.0]
    ask()


def test_operators_of_the_present_motion_are_refused() -> None:
    s = displaced(frozen=False, moving=True)
    with pytest.raises(kido.ModelError, match=r"operators: points of soft bodies move \('box'\)"):
        SpatialOperators(s)
    SpatialOperators(s, s.positions, s.velocities)


def free_cases() -> dict[str, Callable[[Any], Any]]:
    names = (
        "forward_dynamics", "hybrid_dynamics", "forward_dynamics_derivatives", "velocity_changes",
        "computed accelerations", "batch", "batch in motion", "smooth motion", "constrained dynamics",
    )  # fmt: skip
    cases: dict[str, Callable[[Any], Any]] = {name: quantity_cases()[name] for name in names}
    cases["current derivatives"] = lambda s: s.forward_dynamics_derivatives()
    cases["impulses"] = lambda s: (s.body("bob").add_impulse((0, 0, 1)), s.apply_impulses())
    return cases


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", free_cases())
def test_motion_of_free_points_is_left_to_worlds(name: str, compiled: bool) -> None:
    s = displaced(frozen=False)
    if not compiled:
        s = s.clone()
    before = s.saved_state
    with pytest.raises(kido.ModelError, match=r"soft bodies have points that are free to move \('box'\).* freeze\(\)"):
        free_cases()[name](s)
    if name not in ("computed accelerations", "impulses"):
        assert s.saved_state == before
    s.body("box").freeze()
    free_cases()[name](s)


def test_groups_and_subgraphs_follow_the_points() -> None:
    s = displaced()
    rigid = rigid_twin(s)
    for make in (kido.Group, lambda bodies: kido.Subgraph(bodies)):
        pair, its = make(s.bodies[1:]), make(rigid.bodies[1:])
        assert relative_error(pair.com, its.com) < EXACT
        assert relative_error(pair.gravity_forces, its.gravity_forces) < EXACT
    part, outer = kido.Subgraph(s.bodies[1:]), kido.Subgraph(s.bodies[:1])
    for _ in range(2):
        rigid = rigid_twin(s)
        assert relative_error(part.mass_matrix, kido.Subgraph(rigid.bodies[1:]).mass_matrix) < EXACT
        assert relative_error(outer.mass_matrix, kido.Subgraph(rigid.bodies[:1]).mass_matrix) < EXACT
        s.body("box").displacements = [0.04, 0.0, -0.01]
