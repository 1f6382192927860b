"""Tracks: on soil against the closed form, on rigid ground against the balance of friction; wheels that bear a body."""

from __future__ import annotations

import numpy as np
import pytest
from device_bench import give, on_bench

import kido
from kido.devices import BeltTrack, SoilContact, SoilTrack, SoilWheel
from kido.systems import BodyPort, System

G = 9.81
CLAY = {
    "cohesive_modulus": 13190.0, "frictional_modulus": 692200.0, "exponent": 0.5, "cohesion": 4140.0,
    "friction_angle": np.radians(13.0), "shear_modulus": 0.012, "length": 1.2, "width": 0.3, "radius": 0.2,
}  # fmt: skip


def of_wong(slip: float, load: float) -> float:
    """F = (A c + W tan phi) (1 - K / (i L) (1 - exp(-i L / K))) of that clay."""
    x = slip * 1.2 / 0.012
    return (1.2 * 0.3 * 4140.0 + load * np.tan(np.radians(13.0))) * (1.0 - (1.0 - np.exp(-x)) / x)


@pytest.mark.parametrize("slip", [1e-5, 0.02, 0.2, 0.9])
def test_soil_track_is_that_of_wong(slip) -> None:
    z, spin = 0.02, 5.0
    track = SoilTrack(**CLAY)
    on_bench(track, sinkage=z, spin=spin, speed=0.2 * spin * (1.0 - slip)).run(0.0)
    pressure = (13190.0 / 0.3 + 692200.0) * z**0.5
    load = 1.2 * 0.3 * pressure
    assert track.load.value == pytest.approx(load, rel=1e-12)
    assert track.slip.value == pytest.approx(slip, rel=1e-9)
    assert track.thrust.value == pytest.approx(of_wong(slip, load), rel=1e-6 if slip < 1e-3 else 1e-11)
    assert track.resistance.value == pytest.approx(0.3 * pressure * z / 1.5, rel=1e-12)
    assert track.drawbar_pull.value == pytest.approx(track.thrust.value - track.resistance.value, rel=1e-12)
    assert track.torque.value == pytest.approx(0.2 * track.thrust.value, rel=1e-12)


def test_soil_track_is_the_integral_of_shear() -> None:
    """b int_0^L (c + p tan phi) (1 - exp(-i x / K)) dx by quadrature: the closed form's own origin."""
    z, slip = 0.02, 0.1
    track = SoilTrack(**CLAY)
    on_bench(track, sinkage=z, spin=5.0, speed=0.9).run(0.0)
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = 0.6 * (x + 1.0), 0.6 * w
    pressure = (13190.0 / 0.3 + 692200.0) * z**0.5
    shear = (4140.0 + pressure * np.tan(np.radians(13.0))) * (1.0 - np.exp(-slip * x / 0.012))
    assert track.thrust.value == pytest.approx(0.3 * (w @ shear), rel=1e-10)


def test_soil_track_backwards_braked_at_rest_and_in_the_air() -> None:
    tracks = {}
    for name, z, spin, speed in (
        ("ahead", 0.02, 5.0, 0.8), ("back", 0.02, -5.0, -0.8), ("locked", 0.02, 0.0, 0.8),
        ("rest", 0.02, 0.0, 0.0), ("above", -0.1, 5.0, 0.8),
    ):  # fmt: skip
        tracks[name] = SoilTrack(name, **CLAY)
        on_bench(tracks[name], sinkage=z, spin=spin, speed=speed).run(0.0)
    assert tracks["back"].drawbar_pull.value == pytest.approx(-tracks["ahead"].drawbar_pull.value, rel=1e-14)
    assert tracks["back"].slip.value == pytest.approx(tracks["ahead"].slip.value)
    strength = 1.2 * 0.3 * 4140.0 + tracks["locked"].load.value * np.tan(np.radians(13.0))
    assert tracks["locked"].slip.value == -1.0
    assert tracks["locked"].thrust.value == pytest.approx(-strength, rel=1e-4)
    assert [tracks["rest"].thrust.value, tracks["rest"].drawbar_pull.value] == [0.0, 0.0]
    assert [tracks["above"].load.value, tracks["above"].drawbar_pull.value] == [0.0, 0.0]


L, B, R = 0.8, 0.6, 0.1


def tracked(v_left: float, v_right: float, friction: float = 0.6) -> tuple[System, kido.BodyNode, list[BeltTrack]]:
    """A hull of 40 kg on two belts as long as L, in lines a width B apart, which touch at their ends."""
    world = kido.World(time_step=1e-3, gravity=(0, 0, -G))
    hull = kido.Skeleton("hull")
    body = hull.add_body("hull", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(40.0, (2.0, 3.0, 4.0)))
    for side in (1.0, -1.0):
        body.add_shape(kido.Capsule(0.05, L), _along_x(side * B / 2), surface=kido.Surface(friction=friction))
    hull.positions = [0, 0, 0, 0, 0, 0.05]
    world.add_skeleton(hull)
    world.add_ground(0.0)
    system = System(world=world)
    belts = []
    for k, v in enumerate((v_left, v_right)):
        # A capsule's axis is z, which is turned to x of the hull.
        belt = system.add(BeltTrack(body.shapes[k], f"belt_{k}", direction=(0, 0, 1)))
        give(system, belt.speed, v)
        belts.append(belt)
    return system, body, belts


def _along_x(y: float) -> np.ndarray:
    return np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, y], [-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])


def test_belts_drive_straight() -> None:
    """Both at v: from rest by mu g until there; then they roll, and the traction is none."""
    system, body, belts = tracked(0.5, 0.5)
    system.run(0.05)
    assert body.linear_velocity()[0] == pytest.approx(0.6 * G * 0.05, rel=1e-6)
    assert sum(b.traction.value for b in belts) == pytest.approx(0.6 * G * 40.0, rel=1e-6)
    assert sum(b.load.value for b in belts) == pytest.approx(G * 40.0, rel=1e-6)
    system.run(1.0)
    assert body.linear_velocity()[0] == pytest.approx(0.5, abs=1e-6)
    assert body.angular_velocity()[2] == pytest.approx(0.0, abs=1e-6)
    assert sum(b.traction.value for b in belts) == pytest.approx(0.0, abs=1e-3)


def test_belts_turn_on_the_spot() -> None:
    """At v and -v its four ends slide square to their arms: w = 2 v B / (L^2 + B^2), whatever the friction."""
    for friction in (0.3, 0.9):
        system, body, _ = tracked(-0.3, 0.3, friction)
        system.run(3.0)
        assert body.angular_velocity()[2] == pytest.approx(2.0 * 0.3 * B / (L**2 + B**2), rel=1e-4)
        assert body.world_transform[:2, 3] == pytest.approx([0.0, 0.0], abs=1e-4)


def test_a_checkpoint_has_the_belts() -> None:
    """Put back into another system between two ticks, it goes on bit by bit."""
    one, body, _ = tracked(0.2, 0.5)
    one.run(0.205)
    before = one.checkpoint()
    one.run(0.1)
    two, other, _ = tracked(0.2, 0.5)
    two.run(0.0)
    two.restore(before)
    two.run(0.1)
    np.testing.assert_array_equal(other.skeleton.positions, body.skeleton.positions)


@pytest.mark.parametrize("kind", ["wheel", "track"])
def test_soil_bears_a_body_and_drives_it(kind) -> None:
    """A carriage that is held level sinks until the soil bears it, and is driven at the slip that its drag asks for."""
    world = kido.World(time_step=1e-3, gravity=(0, 0, -G))
    cart = kido.Skeleton("cart")
    body = cart.add_body("cart", kido.TranslationalJoint(), inertia=kido.Inertia(20.0))
    world.add_skeleton(cart)
    for dof in cart.dofs[:2]:
        dof.damping = 200.0
    system = System(world=world)
    hub, contact = system.add(BodyPort(body, name="hub")), system.add(SoilContact(drop=0.15, damping=2000.0))
    soil = system.add(SoilWheel("soil") if kind == "wheel" else SoilTrack("soil"))
    cart.positions = [0.0, 0.0, 0.15]
    for source, target in (
        ("hub.position", "soilcontact.position"), ("hub.velocity", "soilcontact.velocity"),
        ("hub.rotation", "soilcontact.rotation"), ("soilcontact.sinkage", "soil.sinkage"),
        ("soilcontact.speed", "soil.speed"), ("soil.load", "soilcontact.load"),
        ("soil.drawbar_pull", "soilcontact.drawbar_pull"), ("soilcontact.force", "hub.force"),
    ):  # fmt: skip
        system.connect(source, target)
    give(system, soil.spin, 2.0)
    system.run(6.0)
    assert soil.load.value == pytest.approx(20.0 * G, rel=1e-5)
    assert soil.drawbar_pull.value == pytest.approx(200.0 * contact.speed.value, rel=1e-4)
    assert 0.0 < soil.slip.value < 0.9
    assert hub.position.value[0] > 0.2


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(kido.ModelError, match="model 'belttrack': expected a shape node of a body, got 'box'"):
        BeltTrack("box")
    body = kido.Skeleton("s").add_body("b", kido.FreeJoint())
    with pytest.raises(kido.ModelError, match="direction: expected a vector that is not zero"):
        BeltTrack(body.add_shape(kido.Sphere(0.1)), direction=(0, 0, 0))
    with pytest.raises(kido.ModelError, match="parameter 'length'"):
        SoilTrack(length=-1.0)
