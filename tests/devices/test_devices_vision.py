"""Lidars and cameras: what they read of scenes whose distances are known."""

from __future__ import annotations

import copy

import h5py
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido.devices import ImageSensor, Lidar
from kido.rendering import Camera, CameraNode, Pinhole, Renderer, look_at
from kido.systems import System, read_log

AROUND = np.linspace(-np.pi, np.pi, 37)


def room(half: float = 2.0) -> tuple[kido.World, kido.BodyNode]:
    """A body in a ball of its own at the origin; four walls, a floor 1 m below, their tops 1 m above."""
    world = kido.World(time_step=1e-3, gravity=(0, 0, 0))
    rover = kido.Skeleton("rover")
    body = rover.add_body("deck", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (0.1, 0.1, 0.1)))
    body.add_shape(kido.Sphere(0.3))
    world.add_skeleton(rover)
    walls = kido.Skeleton("walls")
    carrier = walls.add_body("walls", kido.WeldJoint("weld"))
    for k in range(4):
        turn = np.eye(4)
        turn[:3, :3] = Rotation.from_rotvec((0, 0, k * np.pi / 2)).as_matrix()
        turn[:3, 3] = turn[:3, :3] @ (half + 0.05, 0.0, 0.0)
        carrier.add_shape(kido.Box((0.1, 2 * half + 0.4, 2.0)), turn)
    world.add_skeleton(walls)
    world.add_ground(-1.0)
    return world, body


def test_lidar_in_a_room() -> None:
    """A square room from its middle: half / max(|cos|, |sin|), turned as body and mount are; its body is unseen."""
    world, body = room()
    body.skeleton.velocities = [0, 0, 0.5, 0, 0, 0]
    mount = np.eye(4)
    mount[:3, :3] = Rotation.from_rotvec((0, 0, 0.3)).as_matrix()
    system = System(world=world)
    lidar = system.add(Lidar(body, AROUND, mount=mount, rate=10))
    system.run(0.0)
    for turns in range(5):
        a = AROUND + 0.3 + 0.5 * 0.1 * turns
        expected = 2.0 / np.maximum(np.abs(np.cos(a)), np.abs(np.sin(a)))
        np.testing.assert_allclose(lidar.ranges.value, expected, rtol=1e-9)
        assert lidar.hits.value.min() == 1.0
        system.run(0.1)


def test_lidar_sees_the_floor_and_over_walls() -> None:
    """Down: 1 / sin; up: over walls of 1 m, where 2 tan(e) > 1. Points are directions times ranges."""
    world, body = room()
    system = System(world=world)
    elevations = np.radians([-60.0, -40.0, -10.0, 20.0, 30.0])
    lidar = system.add(Lidar(body, [0.0, np.pi / 2], elevations, farthest=20.0))
    system.run(0.0)
    floor, walls = -1.0 / np.sin(elevations[:2]), 2.0 / np.cos(elevations[2:4])
    expected = np.array([*floor, *walls, 20.0])
    np.testing.assert_allclose(lidar.ranges.value, np.stack([expected, expected], axis=1), rtol=1e-9)
    np.testing.assert_array_equal(lidar.hits.value, np.array([[1, 1, 1, 1, 0]] * 2).T)
    points = lidar.directions * lidar.ranges.value[..., None]
    np.testing.assert_allclose(points[:2, 0, 2], -1.0, rtol=1e-9)


def test_lidar_ranges_end_and_come_in_steps() -> None:
    world, body = room()
    system = System(world=world)
    system.add(Lidar(body, [0.0, np.pi / 4], name="short", farthest=2.5))
    system.add(Lidar(body, [0.0, np.pi / 4], name="blind", nearest=2.5))
    system.add(Lidar(body, [0.1], name="coarse", resolution=0.25))
    system.run(0.0)
    np.testing.assert_allclose(system["short.ranges"].value, [2.0, 2.5], rtol=1e-9)
    np.testing.assert_array_equal(system["short.hits"].value, [1, 0])
    np.testing.assert_allclose(system["blind.ranges"].value, [30.0, 2.0 * np.sqrt(2.0)], rtol=1e-9)
    np.testing.assert_array_equal(system["blind.hits"].value, [0, 1])
    np.testing.assert_array_equal(system["coarse.ranges"].value, [2.0])


def test_lidar_noise_belongs_to_the_ray_and_to_the_tick() -> None:
    """4,000 rays: 4 % of the standard deviation are three and a half of its standard errors."""
    scans = []
    for order in (0, 1):
        world, body = room()
        system = System(world=world, seed=3)
        if order:
            system.add(Lidar(body, [0.0], name="another", noise=1.0))
        lidar = system.add(Lidar(body, np.zeros(4000), noise=0.02, rate=100))
        system.run(0.0)
        scans.append(lidar.ranges.value)
        system.run(0.01)
        scans.append(lidar.ranges.value)
    np.testing.assert_array_equal(scans[0], scans[2])
    np.testing.assert_array_equal(scans[1], scans[3])
    assert scans[0].mean() == pytest.approx(2.0, abs=4 * 0.02 / np.sqrt(4000))
    assert scans[0].std() == pytest.approx(0.02, rel=0.04)
    assert abs(np.corrcoef(scans[0], scans[1])[0, 1]) < 0.06


def test_a_falling_camera_sees_the_floor_come() -> None:
    """Depth along the optical axis of a floor below: height, in each pixel the same, to a float32's digits."""
    world, body = room()
    world.gravity = (0, 0, -9.81)
    eye = body.create_node(CameraNode, "eye", Pinhole(8, 6), look_at((0, 0, -0.4), (0, 0, -1.0), up=(1, 0, 0)))
    system = System(world=world)
    sensor = system.add(ImageSensor(eye, ("depth", "segmentation"), rate=50))
    system.run(0.0)
    for _ in range(5):
        z = body.world_transform[2, 3]
        np.testing.assert_allclose(sensor.depth.value, np.full((6, 8), 0.6 + z), rtol=1e-6)
        assert sensor.shapes[int(sensor.segmentation.value[3, 4])].body.skeleton is world.skeletons[-1]
        system.run(0.02)
    assert z < -0.03


def test_colours_are_those_of_the_renderer_and_are_logged(tmp_path) -> None:
    world, body = room()
    body.skeleton.velocities = [0, 0, 0, 0.5, 0, 0]
    camera = Camera(Pinhole(24, 16), look_at((-1.5, -1, 0.5), (0, 0, 0)))
    system = System(world=world)
    sensor = system.add(ImageSensor(camera, rate=10, oversampling=2))
    log = system.log(sensor.color, 10, tmp_path / "film.h5")
    seen = []
    system.run(0.0)
    for _ in range(4):
        own = Renderer(world, oversampling=2).render(camera, kinds=("color",)).color
        np.testing.assert_array_equal(sensor.color.value, own)
        np.testing.assert_array_equal(sensor.images.color, own)
        seen.append(own)
        system.run(0.1)
    log.close()
    film = read_log(tmp_path / "film.h5")[f"{sensor.path}.color"]
    np.testing.assert_array_equal(film[:4], seen)
    assert (film[0] != film[3]).any()
    with h5py.File(tmp_path / "film.h5") as file:
        assert file[f"signals/{sensor.path}.color"].id.get_storage_size() < film.nbytes / 2


def test_depth_is_noisier_far_away_and_ends() -> None:
    """A wall at z: standard deviation c z^2; nothing, and what is farther than the sensor can, reads `farthest`."""
    world, _ = room()
    for z in (1.0, 2.0):
        system = System(world=world)
        camera = Camera(Pinhole(60, 60, fov=0.5), look_at((2.0 - z, 0, 0), (2.0, 0, 0)))
        sensor = system.add(ImageSensor(camera, "depth", noise=0.01))
        # The ball about the body is around the camera, whose inside is not seen.
        system.run(0.0)
        assert sensor.depth.value.mean() == pytest.approx(z, abs=4 * 0.01 * z * z / 60)
        assert sensor.depth.value.std() == pytest.approx(0.01 * z * z, rel=0.05)
        sensor.farthest = 0.9 * z
        system.run(0.1)
        np.testing.assert_array_equal(sensor.depth.value, 0.9 * z)
        with pytest.raises(kido.NameLookupError, match="color"):
            sensor.color  # noqa: B018


def test_sensors_go_with_copies_of_their_system() -> None:
    world, body = room()
    system = System(world=world)
    system.add(Lidar(body, AROUND, rate=10))
    system.add(ImageSensor(Camera(Pinhole(6, 4), look_at((-1.5, -1, 0.5), (0, 0, 0))), "depth", rate=10))
    system.run(0.1)
    other = copy.deepcopy(system)
    assert other["lidar"].body.skeleton is other.world.skeletons[0] is not body.skeleton
    other.world.skeletons[0].positions = [0, 0, 0, 0.5, 0, 0]
    system.run(0.1)
    other.run(0.1)
    assert system["lidar.ranges"].value[18] == pytest.approx(2.0)
    assert other["lidar.ranges"].value[18] == pytest.approx(1.5)
    assert (system["imagesensor.depth"].value != other["imagesensor.depth"].value).any()


def test_what_does_not_fit_is_named() -> None:
    _, body = room()
    with pytest.raises(kido.ModelError, match="model 'lidar': azimuths: expected finite angles"):
        Lidar(body, [0.0, np.nan])
    with pytest.raises(kido.ModelError, match="model 'lidar': azimuths"):
        Lidar(body, [])
    with pytest.raises(kido.ModelError, match="expected a body, got 'deck'"):
        Lidar("deck", [0.0])
    with pytest.raises(kido.NameLookupError, match="colour"):
        ImageSensor(Camera(), "colour")
    with pytest.raises(kido.ModelError, match=r"at most 1048576 numbers each as signals; .* of 640 x 1000 pixels"):
        ImageSensor(Camera(Pinhole(640, 1000)))
    with pytest.raises(kido.ModelError, match=r"expected a kido\.rendering\.Camera"):
        ImageSensor(body)
    with pytest.raises(kido.ModelError, match="model 'imagesensor': kinds: expected some of color"):
        ImageSensor(Camera(), 5)
    with pytest.raises(kido.ModelError, match="model 'imagesensor': device: expected one of 'cpu', 'gpu', got 'x'"):
        ImageSensor(Camera(), device="x")
    for made in (lambda **kw: Lidar(body, [0.0], **kw), lambda **kw: ImageSensor(Camera(), **kw)):
        with pytest.raises(kido.ModelError, match="nearest is 5 m and farthest 2 m"):
            made(nearest=5.0, farthest=2.0)
    system = System()
    system.add(Lidar(body, [0.0]))
    with pytest.raises(kido.ModelError, match="'lidar': it looks at a world, and its system has none"):
        system.run(0.1)
    system = System(world=kido.World())
    system.world.add_ground(0.0)
    system.add(Lidar(body, [0.0]))
    with pytest.raises(kido.ModelError, match="body 'deck' is not in world"):
        system.run(0.1)
    system = System(world=room()[0])
    sensor = system.add(ImageSensor(Camera(Pinhole(8, 6)), "depth"))
    system.run(0.05)
    sensor.nearest = 200.0
    with pytest.raises(kido.ModelError, match="model 'imagesensor': nearest is 200 m and farthest 100 m"):
        system.run(0.05)
    sensor.nearest = 0.0
    sensor.camera.lens = Pinhole(16, 6)
    with pytest.raises(kido.StateError, match="model 'imagesensor': its camera now has images of 16 x 6 pixels"):
        system.run(0.05)
