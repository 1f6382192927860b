"""State vectors converted to and from Pinocchio, MuJoCo and dartpy: the same motion, force and power there.

Forward dynamics at converted states must agree after conversion back, which checks positions, velocities,
their rates and forces at once. Accelerations are known to the condition of M times 1e-16; 1e-9 of the largest holds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from kido.io import skel
from kido.layouts import DartpyLayout, MujocoLayout, PinocchioLayout
from trees import relative_error

MJCF = """
<mujoco>
  <compiler angle="radian"/>
  <option><flag contact="disable"/></option>
  <worldbody>
    <body name="base" pos="0 0 1">
      <freejoint name="floating"/>
      <inertial pos="0.1 0 0.05" mass="3" diaginertia="0.1 0.2 0.25"/>
      <body name="arm" pos="0.2 0 0">
        <joint name="shoulder" type="ball"/>
        <inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.03 0.01"/>
        <body name="hand" pos="0 0 -0.4">
          <joint name="slider" type="slide" axis="0 0 1"/>
          <joint name="elbow" type="hinge" axis="0 1 0"/>
          <inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.01 0.01 0.005"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def same_dynamics(layout, skeleton, accelerations, rng, states: int = 10) -> None:
    """FD here equals theirs at converted states; conversions undo each other; the power is the same."""
    n = skeleton.num_dofs
    for _ in range(states):
        q, u, tau = rng.uniform(-1.5, 1.5, n), rng.normal(size=n), rng.normal(size=n)
        theirs, v, forces = layout.positions(q), layout.velocities(q, u), layout.forces(q, tau)
        udot = layout.our_accelerations(q, u, accelerations(theirs, v, forces))
        expected = skeleton.forward_dynamics(q, u, tau)
        assert relative_error(udot, expected) < 1e-9
        assert relative_error(layout.accelerations(q, u, expected), accelerations(theirs, v, forces)) < 1e-9
        assert v @ forces == pytest.approx(u @ tau, rel=1e-12)
        # rotation vectors come back with angles up to pi, so poses are compared
        back = layout.our_positions(theirs)
        assert np.abs(skeleton.forward_kinematics(back) - skeleton.forward_kinematics(q)).max() < 1e-12
        assert np.abs(layout.our_velocities(q, v) - u).max() < 1e-12
        assert np.abs(layout.our_forces(q, forces) - tau).max() < 1e-12


@pytest.mark.parametrize(
    ("path", "free"),
    [
        ("panda_description/urdf/panda.urdf", False),
        ("solo_description/robots/solo12.urdf", True),
        ("kinova_description/robots/kinova.urdf", False),  # continuous joints
    ],
)
def test_pinocchio(example_robots: Path, path: str, free: bool) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) is not installed")
    file = example_robots / path
    skeleton = kido.load(file, visuals=False, collisions=False, base="free" if free else "fixed")
    model = pin.buildModelFromUrdf(str(file), *([pin.JointModelFreeFlyer()] if free else []))
    data = model.createData()
    layout = PinocchioLayout(skeleton, model)
    same_dynamics(layout, skeleton, lambda q, v, tau: pin.aba(model, data, q, v, tau), np.random.default_rng(1))


def test_planar_and_ball_joints_of_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) is not installed")
    inertia = kido.Inertia(2.0, (0.1, 0.2, 0.05), np.diag([0.1, 0.2, 0.15]))
    skeleton = kido.Skeleton("cart")
    cart = skeleton.add_body("cart", kido.PlanarJoint("plane"), inertia=inertia)
    place = np.eye(4)
    place[:3, 3] = 0.1, 0.0, 0.3
    skeleton.add_body("head", kido.BallJoint("neck", transform_from_parent=place), cart, inertia)
    model = pin.Model()
    theirs = pin.Inertia(inertia.mass, inertia.com, inertia.moment)
    first = model.addJoint(0, pin.JointModelPlanar(), pin.SE3.Identity(), "plane")
    model.appendBodyToJoint(first, theirs, pin.SE3.Identity())
    second = model.addJoint(first, pin.JointModelSpherical(), pin.SE3(place), "neck")
    model.appendBodyToJoint(second, theirs, pin.SE3.Identity())
    data = model.createData()
    layout = PinocchioLayout(skeleton, model)
    same_dynamics(layout, skeleton, lambda q, v, tau: pin.aba(model, data, q, v, tau), np.random.default_rng(2))


def test_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco", reason="the package mujoco is not installed")
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)

    def at(*xyz: float) -> np.ndarray:
        X = np.eye(4)
        X[:3, 3] = xyz
        return X

    skeleton = kido.Skeleton("robot")
    base = skeleton.add_body(
        "base", kido.FreeJoint("floating"), inertia=kido.Inertia.from_diagonal(3.0, (0.1, 0.2, 0.25), (0.1, 0, 0.05))
    )
    arm = skeleton.add_body(
        "arm",
        kido.BallJoint("shoulder", transform_from_parent=at(0.2, 0, 0)),
        base,
        kido.Inertia.from_diagonal(1.0, (0.02, 0.03, 0.01), (0, 0, -0.2)),
    )
    slide = skeleton.add_body(
        "rail", kido.PrismaticJoint("slider", (0, 0, 1), transform_from_parent=at(0, 0, -0.4)), arm
    )
    hand = kido.Inertia.from_diagonal(0.5, (0.01, 0.01, 0.005), (0, 0, -0.1))
    skeleton.add_body("hand", kido.RevoluteJoint("elbow", (0, 1, 0)), slide, hand)
    layout = MujocoLayout(skeleton, model)

    def accelerations(q, v, tau):
        data.qpos, data.qvel, data.qfrc_applied = q, v, tau
        mujoco.mj_forward(model, data)
        return data.qacc.copy()

    same_dynamics(layout, skeleton, accelerations, np.random.default_rng(3))


@pytest.mark.parametrize("name", ["test/free_joints", "test/ball_joints", "test/planar_joint", "fullbody1"])
def test_dartpy(name: str, dart_data: Path) -> None:
    dartpy = pytest.importorskip("dartpy", reason="the package dartpy is not installed")
    path = dart_data / "skel" / f"{name}.skel"
    ours, theirs = skel.read(path, package_dirs=[dart_data]), dartpy.utils.SkelParser.readWorld(str(path))
    for k, skeleton in enumerate(ours.skeletons):
        if skeleton.num_dofs == 0:
            continue
        for joint in skeleton.joints:  # springs and dampers are part of DART's forward dynamics
            joint.damping, joint.spring_stiffness = 0.0, 0.0
        truth = theirs.getSkeleton(k)
        for dof in truth.getDofs():
            dof.setDampingCoefficient(0.0)
            dof.setSpringStiffness(0.0)

        def accelerations(q, v, tau, truth=truth):
            truth.setPositions(q)
            truth.setVelocities(v)
            truth.setForces(tau)
            truth.computeForwardDynamics()
            return truth.getAccelerations()

        same_dynamics(DartpyLayout(skeleton, truth), skeleton, accelerations, np.random.default_rng(4))


def test_what_does_not_match_is_named() -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) is not installed")
    model = pin.Model()
    model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "hip")
    inertia = kido.Inertia(1.0, (0, 0, 0), np.eye(3))
    skeleton = kido.Skeleton("leg")
    skeleton.add_body("thigh", kido.RevoluteJoint("knee"), inertia=inertia)
    with pytest.raises(kido.ModelError, match=r"knee.*hip"):
        PinocchioLayout(skeleton, model)
    skeleton.joint("knee").name = "hip"
    layout = PinocchioLayout(skeleton, model)
    with pytest.raises(kido.StateError, match="positions: expected 1 finite numbers"):
        layout.positions([np.nan])
    with pytest.raises(kido.StateError, match="velocities: expected 1"):
        layout.velocities([0.0], [1.0, 2.0])
    ball = kido.Skeleton("ball")
    ball.add_body("b", kido.BallJoint("hip"), inertia=inertia)
    with pytest.raises(kido.ModelError, match="BallJoint here is not JointModelRX"):
        PinocchioLayout(ball, model)


def test_joints_only_they_have_stay_neutral() -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) is not installed")
    model = pin.Model()
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
    for k, joint in enumerate(
        [pin.JointModelRX(), pin.JointModelRUBX(), pin.JointModelSpherical(), pin.JointModelPlanar()]
    ):
        model.addJoint(base, joint, pin.SE3.Identity(), f"j{k}")
    skeleton = kido.Skeleton("one")
    body = skeleton.add_body("base", kido.FreeJoint("anything"), inertia=kido.Inertia(1.0, (0, 0, 0), np.eye(3)))
    skeleton.add_body("leg", kido.RevoluteJoint("j0"), body, kido.Inertia(1.0, (0, 0, 0), np.eye(3)))
    layout = PinocchioLayout(skeleton, model)
    assert np.abs(layout.positions(np.zeros(7)) - pin.neutral(model)).max() == 0.0
    assert layout.velocities(np.zeros(7), np.ones(7)).sum() == 7.0


def test_a_free_joint_away_from_its_body_is_refused(dart_data: Path) -> None:
    dartpy = pytest.importorskip("dartpy", reason="the package dartpy is not installed")
    path = dart_data / "skel" / "freeChain.skel"
    ours, theirs = skel.read(path), dartpy.utils.SkelParser.readWorld(str(path))
    with pytest.raises(kido.ModelError, match="no counterpart in dartpy"):
        DartpyLayout(ours.skeletons[0], theirs.getSkeleton(0))
