"""Vehicles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kido.constraints import GearConstraint
from kido.models.mechanisms import Mechanism, at
from kido.shapes import Box, Cylinder
from kido.skeleton import BodyNode, FreeJoint, Inertia, RevoluteJoint, Skeleton

RADIUS, WIDTH = 0.12, 0.10  # of a wheel [m]
TRACK = 0.35  # [m] from the middle to the wheels
AHEAD, BEHIND, HALF = 0.44, 0.22, 0.22  # [m] from the rockers' axis to the front wheel and to the bogie; half a bogie
HEIGHT = 0.20  # [m] of the rockers' axis over those of wheels
BOGIE = 0.06  # [m] of the bogies' axis over those of wheels
STEERED = ("front", "rear")
WHEELS = [f"{place}_{side}" for place in ("front", "middle", "rear") for side in ("left", "right")]
GREY, DARK, GOLD, BLUE = (0.75, 0.77, 0.8), (0.18, 0.19, 0.22), (0.83, 0.66, 0.3), (0.16, 0.25, 0.5)


def rover() -> Mechanism:
    """A six-wheeled rover of 40 kg on rockers and bogies, x ahead, z up, its origin on the rockers' common axis.

    Each side has a rocker, which carries the front wheel and a bogie with the middle and the rear wheel. Lever arms of
    the rocker are 2 to 1, so that all wheels carry alike on level ground. The differential turns the rockers
    against each other, rocker_left = -rocker_right: the chassis' pitch is the mean of theirs. Coordinates: six of
    the chassis; `rocker_left`, `bogie_left`, `steer_front_left`, `drive_front_left`, `drive_middle_left`,
    `steer_rear_left`, `drive_rear_left`, and those of the right. Wheels have a radius of 0.12 m; `points` has their
    centres.

    Source: D. Bickler, Articulated suspension system, US patent 4840394 (1989): rockers, bogies and differential.
    """
    skeleton = Skeleton("rover")
    box = Box((0.66, 0.42, 0.20))
    chassis = skeleton.add_body("chassis", FreeJoint("chassis"), inertia=Inertia.from_shape(box, 20.0))
    chassis.add_shape(box, at(0, 0, 0.06), color=GOLD)
    chassis.add_shape(Box((0.80, 0.62, 0.015)), at(-0.06, 0, 0.17), color=BLUE)
    chassis.add_shape(Cylinder(0.02, 0.34), at(0.28, 0.12, 0.33), color=GREY)
    chassis.add_shape(Box((0.08, 0.2, 0.07)), at(0.28, 0.12, 0.53), color=GREY)
    skeleton.positions = [0, 0, 0, 0, 0, HEIGHT + RADIUS]
    made = Mechanism("rover", skeleton, [])
    for side, y in (("left", TRACK), ("right", -TRACK)):
        rocker = _beam(skeleton, f"rocker_{side}", chassis, (0, 0.72 * y, 0), 2.0,
                       [(AHEAD, -0.03), (0.0, 0.0), (-BEHIND, BOGIE - HEIGHT)])  # fmt: skip
        bogie = _beam(skeleton, f"bogie_{side}", rocker, (-BEHIND, 0, BOGIE - HEIGHT), 1.0,
                      [(HALF, 0.0), (0.0, 0.05), (-HALF, 0.12)])  # fmt: skip
        out = 0.28 * y
        for place, parent, x, down in (
            ("front", rocker, AHEAD, -HEIGHT),
            ("middle", bogie, HALF, -BOGIE),
            ("rear", bogie, -HALF, -BOGIE),
        ):
            _wheel(made, f"{place}_{side}", parent, (x, out, down), place in STEERED)
    made.constraints.append(
        GearConstraint(skeleton.joint("rocker_left"), skeleton.joint("rocker_right"), -1.0, 0.0, name="differential")
    )
    return made


def _beam(
    skeleton: Skeleton,
    name: str,
    parent: BodyNode,
    place: tuple[float, float, float],
    mass: float,
    points: list[tuple[float, float]],
) -> BodyNode:
    """A bent tube in the plane x, z, on a joint about y."""
    joint = RevoluteJoint(name, axis=(0, 1, 0), transform_from_parent=at(*place))
    tubes = []
    for (x, z), (x2, z2) in pairwise(points):
        length = float(np.hypot(x2 - x, z2 - z))
        X = at(0.5 * (x + x2), 0.0, 0.5 * (z + z2))
        along = np.array([x2 - x, 0.0, z2 - z]) / length
        X[:3, :3] = np.column_stack([np.cross((0, 1, 0), along), (0, 1, 0), along])
        tubes.append((Cylinder(0.018, length), X, length))
    whole = sum(length for *_, length in tubes)
    parts = [Inertia.from_shape(tube, mass * length / whole, transform=X) for tube, X, length in tubes]
    body = skeleton.add_body(name, joint, parent, parts[0] + parts[1])
    for tube, X, _ in tubes:
        body.add_shape(tube, X, color=GREY)
    return body


def _wheel(made: Mechanism, name: str, parent: BodyNode, place: tuple[float, float, float], steered: bool) -> None:
    skeleton = made.skeleton
    if steered:
        post = RevoluteJoint(f"steer_{name}", axis=(0, 0, 1), transform_from_parent=at(*place))
        parent = skeleton.add_body(f"steer_{name}", post, parent, Inertia.from_shape(Box((0.08, 0.08, 0.15)), 0.5))
        post.dofs[0].position_lower_limit, post.dofs[0].position_upper_limit = -0.9, 0.9
        parent.add_shape(Cylinder(0.015, 0.15), at(0, 0, 0.075), color=GREY, collision=False)
        place = (0.0, 0.0, 0.0)
    tyre = Cylinder(RADIUS, WIDTH)
    X = np.eye(4)
    X[:3, :3] = [[1, 0, 0], [0, 0, 1], [0, -1, 0]]
    joint = RevoluteJoint(f"drive_{name}", axis=(0, 1, 0), transform_from_parent=at(*place))
    wheel = skeleton.add_body(f"wheel_{name}", joint, parent, Inertia.from_shape(tyre, 2.0, transform=X))
    wheel.add_shape(tyre, X, color=DARK)
    for turn in (0.0, 0.25 * np.pi, 0.5 * np.pi, 0.75 * np.pi):  # what shows that it turns
        spoke = np.eye(4)
        spoke[:3, :3] = [[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]]
        wheel.add_shape(Box((1.7 * RADIUS, 1.04 * WIDTH, 0.012)), spoke, color=GREY, collision=False)
    made.points[f"wheel_{name}"] = wheel, np.zeros(3)
