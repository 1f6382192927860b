"""The lander's flights and the spacecraft: balances, landings, and flights that stop and go on to the bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido.devices import rodrigues_parameters
from kido.environment import EARTH, MARS, Orbit, clohessy_wiltshire, hill_axes
from kido.errors import ModelError, StateError
from kido.models import Landing, SpacecraftControl, lander, spacecraft
from kido.models.landing import FEET, dispersed, spread
from kido.systems import System

G = MARS.mu / MARS.radius**2


# Spacecraft ---------------------------------------------------------------------------------------------------------


def in_space(noise: float = 0.0, time_step: float = 0.05):
    world = kido.World(gravity=(0, 0, 0), time_step=time_step)
    craft = spacecraft().skeleton
    world.add_skeleton(craft)
    system = System(world=world)
    return craft, system, system.add(SpacecraftControl("control", craft, noise=noise))


def off(craft, control) -> float:
    """Angle between where it points and where it is to [rad]."""
    R = craft.body("hub").world_transform[:3, :3]
    return float(4.0 * np.arctan(np.linalg.norm(rodrigues_parameters(control["slew"].rotation.value.T @ R))))


@pytest.mark.parametrize("spin", [0.0, 20.0])
def test_slews_keep_momentum_to_rounding_and_turn_about_one_axis(spin) -> None:
    """Hub and wheels together, from rest and with wheels that spin: nothing outside of them acts."""
    craft, system, control = in_space()
    control["dumping"].begin = 1e3
    craft.velocities = [0] * 6 + [spin, -spin, 0.5 * spin, spin]
    axis = np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0)
    control["slew"].set_parameters(axis=axis, angle=2.5, begin=5.0, duration=120.0)
    before, most, size = np.array(craft.angular_momentum()), 0.0, 0.0
    for _ in range(30):
        system.run(5.0)
        most = max(most, np.abs(np.array(craft.angular_momentum()) - before).max())
        size = max(size, np.linalg.norm(control["wheels.momentum"].value))
        turn = Rotation.from_matrix(craft.body("hub").world_transform[:3, :3]).as_rotvec()
        # About the slew's axis, but for what holding torques for a tick of 0.1 s leaves.
        assert np.linalg.norm(np.cross(turn, axis)) < 2e-3
        np.testing.assert_allclose(craft.com, 0.0, atol=1e-12)
    assert size > 5.0  # they took and gave back what the turn needs
    assert most < 1e-11 * size
    assert off(craft, control) < 1e-4
    assert np.linalg.norm(craft.velocities[:3]) < 1e-5


def test_thrusters_take_momentum_out_of_wheels() -> None:
    """What the whole loses is the impulse of the thrusters' torques; attitude stays meanwhile."""
    craft, system, control = in_space()
    craft.velocities = [0] * 6 + [250.0, -50.0, 150.0, 250.0]
    before = np.array(craft.angular_momentum())
    log = system.log(control["jets.given_torque"], rate=10)
    assert np.linalg.norm(before) > 30.0
    worst = 0.0
    for _ in range(100):
        system.run(2.0)
        worst = max(worst, off(craft, control))
    after = np.array(craft.angular_momentum())
    assert np.linalg.norm(control["wheels.momentum"].value) < 0.5  # where dumping ends
    impulse = 0.1 * log[control["jets.given_torque"]][:-1].sum(axis=0)
    np.testing.assert_allclose(after - before, impulse, atol=1e-9)
    assert worst < 2e-3
    assert control["jets"].used.value > 0.0
    used = control["jets"].used.value
    system.run(50.0)
    assert control["jets"].used.value == used


def test_noisy_sensors_point_it_well() -> None:
    """Star tracker of 20 microradians, gyroscopes with a bias that it finds: a few times that off."""
    craft, system, control = in_space(noise=1.0)
    control["slew"].set_parameters(axis=(0, 1, 0), angle=1.0, begin=100.0, duration=100.0)
    system.run(400.0)
    seen = []
    for _ in range(100):
        system.run(1.0)
        seen.append(off(craft, control))
    assert 1e-6 < np.sqrt(np.mean(np.square(seen))) < 1e-4
    bias = control["estimator"].bias.value
    np.testing.assert_allclose(bias, (2e-6, -1e-6, 3e-6), atol=1.5e-5)


def test_rendezvous_near_a_target_in_orbit() -> None:
    """From 100 m behind to 5 m from a target that falls round the Earth, by two-body gravity, in a world about it."""
    world = kido.World(gravity=(0, 0, 0), time_step=0.05)
    craft = spacecraft().skeleton
    orbit = Orbit(7000e3, 0.0, 0.9, 0.4, 0.0, 1.1)
    r, v = orbit.state(EARTH.mu)
    H, n = hill_axes(r, v), orbit.mean_motion(EARTH.mu)
    start = np.array([5.0, -100.0, 10.0])
    hub = craft.body("hub")
    hub.parent_joint.set_transform(kido.models.mechanisms.at(*(H @ start)))
    hub.parent_joint.set_linear_velocity(H @ np.cross((0, 0, n), start))
    world.add_skeleton(craft)
    system = System(world=world)
    line = {"start": start, "goal": (0.0, -5.0, 0.0), "begin": 600.0, "duration": 400.0}
    parts = system.add(kido.models.assembly("spacecraft", craft, position=r, velocity=v, noise=0.0, **line))
    control, frame, guide = parts["control"], parts["target"], parts["guide"]
    # Nothing pushes it: it drifts as Clohessy and Wiltshire say, but for 3/2 n^2 rho^2 / R, and steps of first order.
    system.run(590.0)
    assert np.linalg.norm(frame.position.value - orbit.after(590.0, EARTH.mu).state(EARTH.mu)[0]) < 1e-6
    free = clohessy_wiltshire(n, 590.0) @ [*start, 0, 0, 0]
    np.testing.assert_allclose(guide.place.value, free[:3], atol=5e-3)
    np.testing.assert_allclose(guide.approach.value, free[3:], atol=2e-5)
    assert np.linalg.norm(free[:3] - start) > 3.0
    guide.start = free[:3]
    system.run(600.0)
    np.testing.assert_allclose(guide.place.value, (0, -5, 0), atol=0.05)
    np.testing.assert_allclose(guide.approach.value, 0.0, atol=2e-3)
    assert off(craft, control) < 1e-3
    # At least what it takes to begin to move and to stop: twice the path's greatest speed, 15/8 of its mean.
    least = 2.0 * 15.0 / 8.0 * np.linalg.norm(free[:3] - (0, -5, 0)) / 400.0
    speed = control["jets"].used.value * 220.0 * 9.80665 / 500.0
    assert least < speed < 3.0 * least


# Lander -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def landing() -> Landing:
    return Landing()


def test_the_lander_stands_on_its_struts() -> None:
    made = lander()
    assert made.skeleton.mass == pytest.approx(420.0)
    world = made.world(1e-2)
    world.gravity = (0, 0, -G)
    floor = kido.Skeleton("floor")
    floor.add_body("floor", kido.WeldJoint("floor")).add_shape(kido.Plane())
    world.add_skeleton(floor)
    made.skeleton.joint("hub").set_transform(kido.models.mechanisms.at(0, 0, FEET))
    world.step(1000)
    # Each of the four carries a quarter of the hub.
    sink = 400.0 * G / (4 * 6000.0)
    np.testing.assert_allclose(made.skeleton.positions[6:], sink, atol=1e-5)
    assert made.skeleton.positions[5] == pytest.approx(FEET - sink, abs=1e-3)


def test_a_landing_from_entry_to_touch_down(landing) -> None:
    landing.begin()
    landing.enter()
    hub = landing.hub
    assert np.linalg.norm(hub.linear_velocity()) == pytest.approx(400.0, abs=1e-3)
    seen = {}
    while not landing.is_over:
        landing.run(0.5)
        phase = round(landing.guidance.phase.value)
        seen.setdefault(phase, (landing.site.height.value, hub.linear_velocity(), landing.tank.mass.value))
        if phase == 2:
            slowest = np.array(hub.linear_velocity())
    assert sorted(seen) == [0, 1, 2, 3]
    # On its parachute it falls about as fast as its weight and drag are equal; the density changes slowly.
    height, velocity, _ = seen[1]
    density = 0.0158 * np.exp(-height / 9354.5)
    area = 109.0 * 0.62 + 5.5 * 1.6
    assert -velocity[2] == pytest.approx(np.sqrt(2.0 * 600.0 * G / (density * area)), rel=0.08)
    assert height == pytest.approx(1200.0, abs=60.0)
    assert seen[2][0] == pytest.approx(12.0, abs=3.0)
    np.testing.assert_allclose(slowest, (0.0, 0.0, -1.5), atol=0.1)
    result = landing.result()
    assert result["phase"] == 3.0 and result["lean"] < 0.15 and result["speed"] < 0.02
    assert np.hypot(result["x"], result["y"]) < 100.0  # the entry's range is set for that
    # Propellant: of the braking's change of velocity and of gravity's meanwhile, a little more for its steering.
    mass = seen[1][2]
    gained = 220.0 * 9.80665 * np.log(mass / landing.tank.mass.value)
    times = result["time"]
    assert 60.0 < times < 200.0
    needed = np.linalg.norm(velocity) + G * 2.0 * (height - 12.0) / (1.5 - velocity[2])
    assert needed < gained + 10.0 < 1.3 * needed + 10.0
    contacts = {b.name for b in (*landing.world.contacts.body_a, *landing.world.contacts.body_b)}
    assert {f"foot_{k}" for k in range(4)} <= contacts


def test_a_dispersed_landing_can_be_had_again(landing) -> None:
    landing.begin(run=3)
    first = landing.fly()
    assert landing.capsule.drag_coefficient != 1.6
    landing.begin()
    assert landing.capsule.drag_coefficient == 1.6 and landing.site.surface_density == 0.0158
    other = landing.fly()
    assert abs(other["x"] - first["x"]) > 100.0
    landing.begin(run=3)
    assert landing.fly() == first


PROGRAM = """
import json, sys
from kido.models import Landing
from kido.models.landing import dispersed

what, folder = sys.argv[1:3]
if what == "go on":
    landing = Landing()
    landing.load(folder)
    print(json.dumps(landing.fly()))
else:
    dispersed(int(what), folder)
"""


def in_another_process(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )


@pytest.mark.parametrize("when", ["entry", "parachute", "braking"])
def test_a_flight_goes_on_in_another_process_to_the_bit(landing, when, tmp_path) -> None:
    landing.begin()
    if when == "entry":
        landing.entry.run(60.0)
    else:
        landing.enter()
        landing.run(30.0 if when == "parachute" else 90.0)
    assert landing.guidance.phase.value == (1.0 if when == "braking" else 0.0)
    landing.save(tmp_path / "flight")
    expected = landing.fly()
    process = in_another_process("go on", str(tmp_path / "flight"))
    assert json.loads(process.communicate(timeout=300)[0]) == expected


def test_a_flight_that_is_loaded_leaves_the_next_one_undispersed(landing, tmp_path) -> None:
    """Parameters of a dispersed run are not those with which `begin` flies; what cannot be loaded changes nothing."""
    landing.begin()
    paths = list(spread().values(0))
    nominal = {path: np.array(landing._parameter(path)) for path in paths}
    seed, time = landing.descent.seed, landing.entry.time
    other = Landing()
    other.begin(5)
    other.entry.run(20.0)
    other.save(tmp_path / "flight")
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    for name in ("entry", "nominal.json"):
        (wrong / name).write_bytes((tmp_path / "flight" / name).read_bytes())
    (wrong / "descent").write_bytes((tmp_path / "flight" / "entry").read_bytes())
    with pytest.raises(StateError):
        landing.load(wrong)
    (wrong / "nominal.json").write_text("{}")
    with pytest.raises(StateError, match="no parameters of a landing"):
        landing.load(wrong)
    assert (landing.descent.seed, landing.entry.time) == (seed, time)
    assert all(np.array_equal(landing._parameter(path), nominal[path]) for path in paths)
    landing.load(tmp_path / "flight")
    assert landing.entry.time == 20.0
    assert any(not np.array_equal(landing._parameter(path), nominal[path]) for path in paths)
    landing.begin()
    assert all(np.array_equal(landing._parameter(path), nominal[path]) for path in paths)


def test_flights_that_cannot_be(landing, tmp_path) -> None:
    landing.begin()
    before = landing.capsule.parameters
    for wrong in ({"run": -1}, {"run": 1.5}, {"run": 0, "seed": -1}):
        with pytest.raises(ModelError):
            landing.begin(**wrong)
    assert landing.capsule.parameters == before
    landing.approach.angle = np.radians(-5.0)  # it leaves the air again
    landing.begin()
    with pytest.raises(StateError, match="has not become slow within 1000 s"):
        landing.fly()
    landing.approach.angle = np.radians(-12.5)
    for number, processes in ((0, 1), (2.5, 1), (1, 0)):
        with pytest.raises(ModelError, match="dispersed: the number of"):
            dispersed(number, tmp_path / "none", processes=processes)
    assert not (tmp_path / "none").exists()


def test_dispersed_landings_that_are_killed_go_on_to_the_bit(tmp_path) -> None:
    path = tmp_path / "landings.jsonl"
    process = in_another_process("1000", str(path))
    began = time.monotonic()
    while not path.exists() or path.read_text().count("\n") < 2:
        assert process.poll() is None and time.monotonic() - began < 300.0
        time.sleep(0.05)
    process.kill()
    process.communicate()
    done = path.read_text().count("\n")
    assert 2 <= done < 900
    with path.open("a") as file:
        file.write('{"run": 17, "se')  # a line that was being written
    number = done + 2
    found = dispersed(number, path, processes=2)
    assert [line["run"] for line in found] == list(range(number))
    assert found == dispersed(number)
    assert path.read_text().count("\n") == number
    with pytest.raises(StateError, match="of seed 0, and not of 1"):
        dispersed(1, path, seed=1)
    Path(path).write_text("no\n")
    with pytest.raises(StateError, match="no results of landings"):
        dispersed(1, path)
    with pytest.raises(StateError, match="no checkpoint"):
        Landing().load(tmp_path)
