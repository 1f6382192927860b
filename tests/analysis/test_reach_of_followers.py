"""Reach of robots whose coordinates mimic others: a finger of two links that closes by one coordinate."""

from __future__ import annotations

import numpy as np

import kido
from kido.analysis import reach_map
from kido.manipulation import Part

INERTIA = kido.Inertia(1.0)


def two_slides(multiplier: float) -> kido.Skeleton:
    """Two slides along x, one on the other, 2 m each way; the second moves with the first."""
    skeleton = kido.Skeleton("slides")
    limits = {"position_lower_limit": -2.0, "position_upper_limit": 2.0}
    first = skeleton.add_body("first", kido.PrismaticJoint("x1", axis=(1, 0, 0), **limits), None, INERTIA)
    skeleton.add_body("second", kido.PrismaticJoint("x2", axis=(1, 0, 0), **limits), first, INERTIA)
    skeleton.joint("x2").mimic = kido.Mimic("x1", multiplier, 0.0)
    return skeleton


def test_what_follows_is_where_it_is_said_to_be() -> None:
    for multiplier, most in ((-1.0, 0.0), (1.0, 4.0), (2.0, 3.0)):  # of 2 within limits: the first goes to 1
        skeleton = two_slides(multiplier)
        tip = skeleton.body("second")
        found = reach_map(tip, 0.1, 4000)
        x = np.concatenate([found.origin[:1], found.origin[:1] + found.counts.shape[0] * found.cell])
        assert -most - 0.1 <= x[0] <= -most + 0.1 and most <= x[1] <= most + 0.2
        part = Part("arm", "arm", skeleton.bodies, tip)
        reach = part.reach(2000)
        assert reach.farthest <= most + 1e-12 and reach.farthest >= 0.99 * most
        assert part.solver.dofs.tolist() == [0]
