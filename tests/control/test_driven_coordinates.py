"""Which coordinates controllers drive if none are named: all but those by which a root floats."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.control import PD

LINK = kido.Inertia.from_diagonal(1.0, (0.1, 0.1, 0.1))
X, Y, Z = np.eye(3)


def driven(robot: kido.Skeleton) -> list[str]:
    return [robot.dofs[k].name for k in PD(robot, 0.0, 1.0, 1.0).dofs]


def robot_on(*joints: kido.Joint, masses: tuple[float, ...] = ()) -> kido.Skeleton:
    """Bodies in a row, of which the last has mass, and an arm of one hinge."""
    robot, body = kido.Skeleton("robot"), None
    weights = [*masses, *([0.0] * (len(joints) - 1 - len(masses))), None]
    for k, (joint, mass) in enumerate(zip(joints, weights, strict=True)):
        inertia = LINK if mass is None else kido.Inertia(mass)
        body = robot.add_body(f"b{k}", joint, body, inertia)
    robot.add_body("arm", kido.RevoluteJoint("elbow"), body, LINK)
    return robot


FLOATING = {
    "free": lambda: [kido.FreeJoint("free")],
    "translations and a ball": lambda: [kido.TranslationalJoint("at"), kido.BallJoint("turn")],
    "translations and angles": lambda: [kido.TranslationalJoint("at"), kido.EulerJoint("turn")],
    "angles first": lambda: [kido.EulerJoint("turn"), kido.TranslationalJoint("at")],
    "one joint": lambda: [
        kido.CompoundJoint("base", [*map(kido.Hinge.prismatic, np.eye(3)), *map(kido.Hinge.revolute, np.eye(3))])
    ],
    "six joints": lambda: [
        *(kido.PrismaticJoint(f"p{k}", axis) for k, axis in enumerate(np.eye(3))),
        *(kido.RevoluteJoint(f"r{k}", axis) for k, axis in enumerate(np.eye(3))),
    ],
}


@pytest.mark.parametrize("name", FLOATING)
def test_floating_bases_are_not_driven(name: str) -> None:
    assert driven(robot_on(*FLOATING[name]())) == ["elbow"]


def test_light_bodies_between_are_none() -> None:
    joints = FLOATING["translations and a ball"]()
    assert driven(robot_on(*joints, masses=(1e-3,))) == ["elbow"]
    assert len(driven(robot_on(*FLOATING["translations and a ball"](), masses=(0.5,)))) == 7


def test_bases_that_do_not_float_are_driven() -> None:
    assert len(driven(robot_on(kido.PlanarJoint("cart")))) == 4
    assert len(driven(robot_on(kido.TranslationalJoint("gantry")))) == 4
    six = [kido.RevoluteJoint(f"r{k}", (X, Y, Z)[k % 3]) for k in range(6)]
    assert len(driven(robot_on(*six))) == 7  # an arm without mass in its first links
    for limits in ({"position_upper_limit": 2.0}, {"force_limit": 50.0}):
        at = kido.TranslationalJoint("at", **limits)
        assert len(driven(robot_on(at, kido.BallJoint("turn")))) == 7


def test_named_ones_are_driven() -> None:
    robot = robot_on(*FLOATING["translations and a ball"]())
    assert len(PD(robot, 0.0, 1.0, 1.0, dofs=range(7)).dofs) == 7
