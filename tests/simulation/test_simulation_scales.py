"""Bodies of a micrometre to a kilometre, a microgram to a million tons: contact is what it is for a brick."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kido
from scenes import G, free, world

pytestmark = pytest.mark.filterwarnings("ignore:.*time_step")  # of what is large

SIZES = (1e-6, 1e-4, 1e-2, 1.0, 1e3)
MASSES = (1e-9, 1.0, 1e9)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mass", MASSES)
def test_a_box_slides_as_far_as_friction_lets_it_and_stays_level(size, mass):
    """v^2 / (2 mu g) = 20 sizes, in 300 steps."""
    mu, way = 0.4, 20.0 * size
    speed = math.sqrt(2.0 * mu * G * way)
    h = speed / (mu * G) / 300
    box = free(kido.Box((size, size, size)), mass, (0, 0, 0.5 * size), velocity=(speed, 0, 0), friction=mu)
    w = world(box, time_step=h)
    w.step(320)
    assert box.positions[3] == pytest.approx(way, rel=1e-4)
    assert np.abs(box.positions[:3]).max() < 1e-4
    assert box.positions[5] == pytest.approx(0.5 * size, rel=1e-3)
    assert w.unconverged_steps == 0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("parts", [20, 200])
def test_a_tilted_box_falls_and_rests(size, parts):
    """At rest within 60 of the times sqrt(size / g); a box of a millimetre is no greater than what detection looks
    beyond its surface, so that all of its eight corners are near the ground."""
    h = math.sqrt(size / G) / parts
    box = free(kido.Box((size, size, size)), 1.0, (0, 0, size), rotation=(0.3, 0.2, 0.1), friction=0.5)
    w = world(box, time_step=h)
    w.step(60 * parts)
    assert box.positions[5] == pytest.approx(0.5 * size, rel=1e-3)
    assert np.abs(box.velocities[:3]).max() * math.sqrt(size / G) < 1e-3
    assert np.abs(box.velocities[3:]).max() / math.sqrt(size * G) < 1e-3


@pytest.mark.parametrize("thickness", [1e-4, 5e-4, 9e-4])
@pytest.mark.parametrize("length", [5e-3, 0.2])
def test_a_sheet_lies_on_four_corners_of_its_lower_side(thickness, length):
    """Also where its upper side is near the ground: it carries a load at each of its corners."""
    sheet = free(kido.Box((length, 0.5 * length, thickness)), 0.05, (0, 0, 0.5 * thickness), friction=0.5)
    w = world(sheet)
    w.step()
    assert len(w.contacts) == 4
    assert w.contacts.gaps.max() < 0.5 * thickness
    for x, y in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        sheet.bodies[0].add_external_force((0, 0, -5.0), (0.4 * length * x, 0.2 * length * y, 0))
        w.step(200, reset_command=False)
        sheet.bodies[0].clear_external_forces()
        assert np.abs(sheet.positions[:3]).max() < 1e-6
        assert sheet.positions[5] == pytest.approx(0.5 * thickness, abs=1e-7)
