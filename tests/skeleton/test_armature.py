"""Rotor inertia (armature) on the diagonal of M: every quantity of a skeleton against dense equations and peers.

Tolerances: identities hold to rounding, 1e-10 of the largest number; what solves with M to that times its condition.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import kido
from consistency import errors
from kido.errors import KidoError, ModelError
from kido.operators import OperatorError, SpatialOperators
from pinocchio_layout import NAMED, Layout, pin
from trees import KINDS, SEEDS, Reference, random_skeleton, random_state, relative_error, set_state, skeletons

TOLERANCE = 1e-10


def give_rotors(skeleton: kido.Skeleton, seed: int) -> np.ndarray:
    """Rotors on two coordinates of three, from 1e-3 to 1e1."""
    rng = np.random.default_rng(seed)
    n = skeleton.num_dofs
    armature = np.exp(rng.uniform(np.log(1e-3), np.log(10.0), n)) * (rng.random(n) < 0.67)
    for dof, value in zip(skeleton.dofs, armature, strict=True):
        dof.armature = value
    return armature


def moving(seed: int, bodies: int, kinds=KINDS) -> tuple[kido.Skeleton, np.ndarray, Reference]:
    """A random skeleton with rotors at a random state, and the dense truth without them."""
    skeleton = random_skeleton(seed, bodies, kinds)
    armature = give_rotors(skeleton, seed)
    q, u, udot, tau = random_state(skeleton, seed)
    set_state(skeleton, q, u, udot, tau)
    return skeleton, armature, Reference(skeleton, q, u, udot, skeleton.gravity)


# Against definitions -----------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(skeletons(), SEEDS)
def test_equations_of_motion_of_random_trees(skeleton: kido.Skeleton, seed: int) -> None:
    armature = give_rotors(skeleton, seed)
    q, u, udot, tau = random_state(skeleton, seed)
    set_state(skeleton, q, u, udot, tau)
    truth = Reference(skeleton, q, u, udot, skeleton.gravity)
    M = truth.mass_matrix + np.diag(armature)
    assert relative_error(skeleton.mass_matrix, M) < TOLERANCE
    T = truth.joint_forces + armature * udot
    assert relative_error(skeleton.inverse_dynamics(q, u, udot), T) < TOLERANCE
    condition = np.linalg.cond(M) if len(q) else 1.0
    if condition < 1e7:
        assert relative_error(skeleton.forward_dynamics(q, u, T), udot) < 1e-14 * max(condition, 1e4)
        jump = kido.quantities.velocity_changes(skeleton, q, tau)
        assert relative_error(jump, np.linalg.solve(M, tau)) < 1e-14 * max(condition, 1e4)
    assert skeleton.kinetic_energy == pytest.approx(0.5 * u @ M @ u, rel=1e-10, abs=1e-12)
    plain = {key: value for key, value in errors(skeleton, seed).items() if not value < 1e-5}
    assert not plain, plain


@pytest.mark.parametrize("seed", range(6))
def test_identities(seed: int) -> None:
    skeleton, _, _ = moving(seed, 20)
    found = errors(skeleton, seed)
    numeric = ("Mdot: differences", "dID/dq", "dID/du", "dg/dq")  # central differences: see `consistency`
    assert max(value for key, value in found.items() if key not in numeric) < TOLERANCE
    assert max(found[key] for key in numeric) < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_hybrid_dynamics(seed: int) -> None:
    """[M_ff M_fp; M_pf M_pp] by blocks."""
    skeleton, armature, truth = moving(seed, 12)
    q, u, _, values = random_state(skeleton, seed)
    n = skeleton.num_dofs
    held = np.arange(n)[:: 2 + seed % 2]
    free = np.setdiff1d(np.arange(n), held)
    M = truth.mass_matrix + np.diag(armature)
    bias = skeleton.coriolis_and_gravity_forces
    found = skeleton.hybrid_dynamics(q, u, values, held)
    udot = np.zeros(n)
    udot[held] = values[held]
    udot[free] = np.linalg.solve(M[np.ix_(free, free)], values[free] - bias[free] - M[np.ix_(free, held)] @ udot[held])
    assert relative_error(found[0], udot) < 1e-9
    assert relative_error(found[1], np.where(np.isin(np.arange(n), held), M @ udot + bias, values)) < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_operational_space_and_determinant(seed: int) -> None:
    skeleton, armature, truth = moving(seed, 16)
    M = truth.mass_matrix + np.diag(armature)
    bodies = skeleton.bodies[3:16:4]
    J = np.vstack([truth.J[b.index] for b in bodies])
    compliance = J @ np.linalg.solve(M, J.T)
    assert relative_error(skeleton.operational_space_compliance(bodies), compliance) < 1e-9
    assert skeleton.log_det_mass_matrix() == pytest.approx(np.linalg.slogdet(M)[1], rel=1e-10)
    q, step = skeleton.positions, 1e-5

    def at(k: int, h: float) -> float:
        moved = skeleton.integrate_positions(q, h * np.eye(len(q))[k])
        return float(np.linalg.slogdet(kido.quantities.mass_matrix(skeleton, moved))[1])

    slopes = [(at(k, step) - at(k, -step)) / (2.0 * step) for k in range(len(q))]
    gradient = skeleton.log_det_mass_matrix_gradient()
    assert np.abs(gradient - slopes).max() < 1e-6 * max(1.0, np.abs(gradient).max())  # differences: 1e-10 / step


@pytest.mark.parametrize("seed", range(4))
def test_operators(seed: int) -> None:
    skeleton, armature, truth = moving(seed, 16)
    ops = SpatialOperators(skeleton)
    M = truth.mass_matrix + np.diag(armature)
    H, Phi, K, D = ops["H", "Phi", "K", "D"]
    links = H * Phi * ops.M * Phi.T * H.T
    factor = ops.I + H * Phi * K
    assert relative_error((links + ops.J_a).dense(), M) < TOLERANCE
    assert relative_error((factor * D * factor.T).dense(), M) < TOLERANCE
    inverse = (links + ops.J_a).inverse()
    assert relative_error(inverse.dense() @ M, np.eye(len(M))) < 1e-13 * np.linalg.cond(M)
    assert ops.log_det == pytest.approx(np.linalg.slogdet(M)[1], rel=1e-10)
    with pytest.raises(OperatorError, match="J_a where joints have rotor inertia"):
        links.inverse()
    hinge = next(d for d in skeleton.dofs if type(d.joint) is kido.RevoluteJoint)
    block = (ops.carried(hinge) * ops.P * ops.Upsilon).dense()
    k = 6 * ops.on.place(hinge)
    slope = 2.0 * np.trace(block[k : k + 6, k : k + 6])
    assert slope == pytest.approx(skeleton.log_det_mass_matrix_gradient()[hinge.index], abs=1e-8)
    for dof in skeleton.dofs:
        dof.armature = 0.0
    bare = SpatialOperators(skeleton)
    mass = bare.H * bare.Phi * bare.M * bare.Phi.T * bare.H.T
    assert relative_error(mass.inverse().dense() @ truth.mass_matrix, np.eye(len(M))) < 1e-13 * np.linalg.cond(M)
    assert mass.inverse().text(False) == (mass + bare.J_a).inverse().text(False)


def test_parts_of_a_skeleton() -> None:
    """A rotor belongs to the body whose joint it drives; groups and subgraphs have those of their joints."""
    skeleton, armature, truth = moving(3, 12)
    u = skeleton.velocities
    total, mass = 0.0, np.zeros_like(truth.mass_matrix)
    for body in skeleton.bodies:
        total += kido.quantities.kinetic_energy(skeleton, bodies=[body])
        mass += kido.quantities.mass_matrix(skeleton, bodies=[body])
    assert total == pytest.approx(skeleton.kinetic_energy, rel=1e-12)
    assert relative_error(mass, skeleton.mass_matrix) < 1e-12
    body = next(b for b in skeleton.bodies if b.parent_joint.num_dofs and b.parent_joint.armature.any())
    own = [dof.index for dof in body.parent_joint.dofs]
    with_rotors = kido.quantities.kinetic_energy(skeleton, bodies=[body])
    body.parent_joint.armature = 0.0
    links = kido.quantities.kinetic_energy(skeleton, bodies=[body])
    assert with_rotors - links == pytest.approx(0.5 * float(armature[own] @ u[own] ** 2), rel=1e-9)


def test_momentum_has_no_rotors() -> None:
    """As in MuJoCo: what a rotor reacts on the link that carries it is left out, and so is its momentum."""
    skeleton, _, _ = moving(5, 8)
    with_rotors = skeleton.momentum.copy(), skeleton.centroidal_momentum.copy(), skeleton.coriolis_forces.copy()
    for dof in skeleton.dofs:
        dof.armature = 0.0
    without = skeleton.momentum, skeleton.centroidal_momentum, skeleton.coriolis_forces
    for one, other in zip(with_rotors, without, strict=True):
        assert np.array_equal(one, other)


def test_batches() -> None:
    skeleton, armature, _ = moving(2, 12)
    q, u, udot, tau = (np.array(x) for x in zip(*(random_state(skeleton, k) for k in range(9)), strict=True))
    batch = kido.batch.Batch(skeleton)
    for k in range(9):
        M = kido.quantities.mass_matrix(skeleton, q[k])
        assert np.allclose(np.diag(M) - armature, np.diag(Reference(skeleton, q[k]).mass_matrix))
        assert relative_error(batch.mass_matrix(q)[k], M) < 1e-13
        assert (
            relative_error(batch.inverse_dynamics(q, u, udot)[k], skeleton.inverse_dynamics(q[k], u[k], udot[k]))
            < 1e-13
        )
        assert (
            relative_error(batch.forward_dynamics(q, u, tau)[k], skeleton.forward_dynamics(q[k], u[k], tau[k])) < 1e-9
        )
        D = skeleton.forward_dynamics_derivatives(q[k], u[k], tau[k])
        assert relative_error(batch.forward_dynamics_derivatives(q, u, tau).dq[k], D.dq) < 1e-8


# Peers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
def test_pinocchio(example_robots: Path, name: str, free: bool) -> None:
    path = example_robots / NAMED[name]
    skeleton = kido.load(path, visuals=False, collisions=False, base="free" if free else "fixed")
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if free else []))
    layout = Layout(model, skeleton)
    rng = np.random.default_rng(7)
    armature = np.exp(rng.uniform(np.log(1e-3), np.log(3.0), skeleton.num_dofs))
    for dof, value in zip(skeleton.dofs, armature, strict=True):
        dof.armature = value
    model.armature = layout.to_theirs(armature)
    data = model.createData()
    worst = dict.fromkeys(("crba", "rnea", "aba", "inverse", "dID", "dFD"), 0.0)
    for _ in range(10):
        q = rng.uniform(-np.pi, np.pi, skeleton.num_dofs)
        u, a, tau = rng.normal(size=(3, skeleton.num_dofs))
        pq, pu, pa, ptau = layout.positions(q), *map(layout.to_theirs, (u, a, tau))
        M = pin.crba(model, data, pq)
        M = np.triu(M) + np.triu(M, 1).T
        inverse = pin.computeMinverse(model, data, pq)
        inverse = np.triu(inverse) + np.triu(inverse, 1).T
        ours, theirs = np.ix_(layout.ours, layout.ours), np.ix_(layout.theirs, layout.theirs)
        D, E = skeleton.inverse_dynamics_derivatives(q, u, a), skeleton.forward_dynamics_derivatives(q, u, tau)
        pin.computeRNEADerivatives(model, data, pq, pu, pa)
        rnea = [data.dtau_dq.copy(), data.dtau_dv.copy(), np.triu(data.M) + np.triu(data.M, 1).T]
        aba = pin.computeABADerivatives(model, data, pq, pu, ptau)
        found = {
            "crba": relative_error(kido.quantities.mass_matrix(skeleton, q)[ours], M[theirs]),
            "rnea": relative_error(
                skeleton.inverse_dynamics(q, u, a), layout.to_ours(pin.rnea(model, data, pq, pu, pa))
            ),
            "aba": relative_error(
                skeleton.forward_dynamics(q, u, tau), layout.to_ours(pin.aba(model, data, pq, pu, ptau))
            ),
            "inverse": relative_error(kido.quantities.inverse_mass_matrix(skeleton, q)[ours], inverse[theirs]),
            "dID": max(relative_error(x[ours], y[theirs]) for x, y in zip(D, rnea, strict=True)),
            "dFD": max(relative_error(x[ours], y[theirs]) for x, y in zip(E, aba, strict=True)),
        }
        worst = {key: max(worst[key], value) for key, value in found.items()}
    print(name, free, {key: f"{value:.1e}" for key, value in worst.items()})
    assert max(worst.values()) < TOLERANCE, worst


MODEL = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.0005" integrator="RK4" gravity="0 0 -9.81"><flag contact="disable"/></option>
  <worldbody>
    <body name="base" pos="0 0 1">
      <joint name="floating" type="free" armature="0.3"/>
      <inertial pos="0.1 0 0.05" mass="3" diaginertia="0.1 0.2 0.25"/>
      <body name="arm" pos="0.2 0 0">
        <joint name="shoulder" type="ball" armature="0.05"/>
        <inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.03 0.01"/>
        <body name="hand" pos="0 0 -0.4">
          <joint name="slider" type="slide" axis="0 0 1" armature="0.7"/>
          <joint name="elbow" type="hinge" axis="0 1 0" armature="0.02"/>
          <inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.01 0.01 0.005"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def mujocos_robot() -> kido.Skeleton:
    """The same robot."""

    def at(*xyz: float) -> np.ndarray:
        X = np.eye(4)
        X[:3, 3] = xyz
        return X

    robot = kido.Skeleton("robot")
    inertia = kido.Inertia.from_diagonal
    base = robot.add_body(
        "base", kido.FreeJoint("floating", armature=0.3), inertia=inertia(3.0, (0.1, 0.2, 0.25), (0.1, 0, 0.05))
    )
    shoulder = kido.BallJoint("shoulder", transform_from_parent=at(0.2, 0, 0), armature=0.05)
    arm = robot.add_body("arm", shoulder, base, inertia(1.0, (0.02, 0.03, 0.01), (0, 0, -0.2)))
    slider = kido.PrismaticJoint("slider", (0, 0, 1), transform_from_parent=at(0, 0, -0.4), armature=0.7)
    rail = robot.add_body("rail", slider, arm)
    elbow = kido.RevoluteJoint("elbow", (0, 1, 0), armature=0.02)
    robot.add_body("hand", elbow, rail, inertia(0.5, (0.01, 0.01, 0.005), (0, 0, -0.1)))
    return robot


def test_mujoco() -> None:
    """M and a second of motion. Worlds have a free joint's linear velocity in fixed axes, as MuJoCo has."""
    mujoco = pytest.importorskip("mujoco", reason="the package mujoco is not installed")
    from kido.layouts import MujocoLayout

    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    robot = mujocos_robot()
    layout = MujocoLayout(robot, model)
    assert np.array_equal(np.sort(model.dof_armature), np.sort(np.concatenate([j.armature for j in robot.joints])))
    rng = np.random.default_rng(1)
    q, u = rng.uniform(-1.0, 1.0, robot.num_dofs), rng.normal(size=robot.num_dofs)
    v = layout.velocities(q, u)
    data.qpos, data.qvel = layout.positions(q), v
    mujoco.mj_forward(model, data)
    momentum = np.zeros(model.nv)
    mujoco.mj_mulM(model, data, momentum, v)
    # Equal rotors along all axes of the base have the same energy in fixed axes and in the body's.
    set_state(robot, q, u)
    assert robot.kinetic_energy == pytest.approx(0.5 * v @ momentum, rel=1e-12)
    world = kido.World("flight", time_step=0.0005)
    world.add_skeleton(robot)
    world.integrator = kido.integrators.RK4()
    for _ in range(500):
        mujoco.mj_step(model, data)
    world.step(500)
    # Both are of fourth order: 1e-8 of what moves by metres.
    assert np.abs(layout.positions(robot.positions) - data.qpos).max() < 1e-7
    assert np.abs(layout.velocities(robot.positions, robot.velocities) - data.qvel).max() < 1e-6


# A property like others -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [-1e-9, np.nan, np.inf, [1.0, 2.0], "heavy"])
def test_bad_values(value) -> None:
    joint = kido.RevoluteJoint("elbow", armature=0.5)
    with pytest.raises(ModelError, match="joint 'elbow': armature: expected"):
        joint.armature = value
    assert joint.armature.tolist() == [0.5]
    with pytest.raises(KidoError, match="armature"):
        kido.RevoluteJoint("elbow", armature=value)


def test_bad_name() -> None:
    with pytest.raises(KidoError, match="armature"):  # among what there is
        kido.RevoluteJoint("elbow", armatur=1.0)
    with pytest.raises(ModelError, match=r"no property 'rotor'.*armature"):
        kido.RevoluteJoint("elbow").set_property("rotor", 1.0)


def test_change_is_seen_at_once() -> None:
    skeleton, armature, _ = moving(1, 6)
    twin, dof = skeleton.clone(), next(d for d in skeleton.dofs)
    before = skeleton.mass_matrix[dof.index, dof.index]
    dof.armature = armature[dof.index] + 2.0
    assert skeleton.mass_matrix[dof.index, dof.index] == pytest.approx(before + 2.0, rel=1e-12)
    assert twin.mass_matrix[dof.index, dof.index] == before
    assert skeleton.clone().dof(dof.name).armature == dof.armature


def test_massless_link_with_a_rotor() -> None:
    """A rotor alone gives a coordinate inertia."""
    skeleton = kido.Skeleton("axle")
    skeleton.add_body("wheel", kido.RevoluteJoint("axle", armature=0.2))
    assert skeleton.mass_matrix.tolist() == [[0.2]]
    assert skeleton.forward_dynamics([0.0], [0.0], [1.0]) == pytest.approx([5.0])
    skeleton.dofs[0].armature = 0.0
    with pytest.raises(ModelError):
        skeleton.forward_dynamics([0.0], [0.0], [1.0])


ROD = kido.Inertia.from_diagonal(1.0, (0.1, 0.1, 0.1), (0.1, 0.0, 0.0))


def test_editing_keeps_or_refuses() -> None:
    arm = kido.Skeleton("arm")
    upper = arm.add_body("upper", kido.RevoluteJoint("shoulder", armature=0.3), inertia=ROD)
    lower = arm.add_body("lower", kido.BallJoint("wrist", armature=0.1), upper, ROD)
    with pytest.raises(ModelError, match="rotor inertia"):
        arm.reroot(lower, keep_base=True)
    arm.joint("shoulder").armature = 0.0
    arm.joint("wrist").armature = (0.1, 0.2, 0.1)
    with pytest.raises(ModelError, match="armature"):
        arm.reroot(lower, keep_base=True)
    arm.joint("wrist").armature = 0.1
    arm.reroot(lower, keep_base=True)
    assert arm.joint("wrist").armature.tolist() == [0.1] * 3


def test_files(tmp_path: Path) -> None:
    arm = kido.Skeleton("arm")
    arm.add_body("upper", kido.RevoluteJoint("shoulder", armature=0.25), inertia=ROD)
    kido.save(arm, tmp_path / "arm.skel")
    again = kido.load(tmp_path / "arm.skel")
    again = again.skeletons[0] if isinstance(again, kido.World) else again
    assert again.joint("shoulder").armature.tolist() == [0.25]
    for suffix in ("urdf", "sdf"):
        assert "joint 'shoulder': its armature is left out" in kido.save(arm, tmp_path / f"arm.{suffix}")
