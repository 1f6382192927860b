"""The benchmark bicycle rolls as its linearized equations say, of second order in the time step.

Parameters and matrices: J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, "Linearized dynamics equations for
the balance and steer of a bicycle: a benchmark and review", Proc. R. Soc. A 463 (2007), table 1 and section 5. Their z
points down and y to the right; here z points up and y to the left, so products of inertia change their sign.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

import kido

SPEED, GRAVITY, LEAN_RATE = 5.0, 9.81, 1e-3
WHEEL_BASE, TRAIL, STEER_TILT = 1.02, 0.08, np.pi / 10.0

MASS = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
STIFFNESS_OF_GRAVITY = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
STIFFNESS_OF_SPEED = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
DAMPING_OF_SPEED = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])


def at(x: float, z: float) -> np.ndarray:
    pose = np.eye(4)
    pose[[0, 2], 3] = x, z
    return pose


def inertia(mass: float, x: float, z: float, xx: float, yy: float, zz: float, xz: float = 0.0) -> kido.Inertia:
    return kido.Inertia(mass, (x, 0.0, z), np.array([[xx, 0.0, -xz], [0.0, yy, 0.0], [-xz, 0.0, zz]]))


def bicycle(h: float) -> tuple[kido.World, kido.Skeleton]:
    """The bicycle upright on a plane at `SPEED`, falling over at `LEAN_RATE`; its wheels are thin as knives."""
    world = kido.World(time_step=h)
    world.gravity = (0.0, 0.0, -GRAVITY)
    world.add_ground(friction=2.0)
    skeleton = kido.Skeleton("bicycle")
    frame = skeleton.add_body("frame", kido.FreeJoint(), inertia=inertia(85, 0.3, 0.9, 9.2, 11, 2.8, 2.4))
    head = WHEEL_BASE + TRAIL
    fork = skeleton.add_body(
        "fork",
        kido.RevoluteJoint(
            "steer", axis=(np.sin(STEER_TILT), 0.0, -np.cos(STEER_TILT)), transform_from_parent=at(head, 0.0)
        ),
        parent=frame,
        inertia=inertia(4, 0.9 - head, 0.7, 0.05892, 0.06, 0.00708, -0.00756),
    )
    rear = inertia(2, 0, 0, 0.0603, 0.12, 0.0603)
    front = inertia(3, 0, 0, 0.1405, 0.28, 0.1405)
    for name, parent, x, radius, moments in (
        ("rear", frame, 0.0, 0.3, rear),
        ("front", fork, WHEEL_BASE - head, 0.35, front),
    ):
        axle = kido.RevoluteJoint(name, axis=(0.0, 1.0, 0.0), transform_from_parent=at(x, radius))
        wheel = skeleton.add_body(name, axle, parent=parent, inertia=moments)
        wheel.add_shape(kido.Ellipsoid((radius, 1e-5, radius)), friction=2.0)
        skeleton.dof(name).velocity = SPEED / radius
    skeleton.set_velocities([LEAN_RATE, 0, 0, SPEED, 0, 0], dofs=range(6))
    world.add_skeleton(skeleton)
    return world, skeleton


def error(h: float) -> np.ndarray:
    """Largest errors of lean and steer [rad] in a second, over the largest lean."""
    matrix = np.zeros((4, 4))
    matrix[:2, 2:] = np.eye(2)
    stiffness = GRAVITY * STIFFNESS_OF_GRAVITY + SPEED**2 * STIFFNESS_OF_SPEED
    matrix[2:] = -np.linalg.solve(MASS, np.hstack([stiffness, SPEED * DAMPING_OF_SPEED]))
    world, skeleton = bicycle(h)
    found, exact = [], []
    for k in range(1, 11):
        world.step(round(0.1 / h))
        lean = np.arcsin(skeleton.body("frame").world_transform[2, 1])
        found.append([lean, skeleton.dof("steer").position])
        exact.append((expm(matrix * 0.1 * k) @ [0.0, 0.0, LEAN_RATE, 0.0])[:2])
    exact = np.array(exact)
    return np.abs(np.array(found) - exact).max(axis=0) / np.abs(exact[:, 0]).max()


def test_the_benchmark_bicycle_leans_and_steers():
    """1.3e-5 and 2.7e-5 at 1 ms, and a quarter of it at half the step."""
    errors = np.array([error(h) for h in (4e-3, 2e-3, 1e-3)])
    assert (errors[-1] < 5e-5).all()
    assert (np.log2(errors[:-1] / errors[1:]) > 1.9).all()
