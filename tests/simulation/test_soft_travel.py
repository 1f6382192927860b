"""Soft bodies in recordings, in SKEL files, and in the viewer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_soft_bodies import soft_box

import kido
from kido.recording.world_description import world_from_dict, world_to_dict


def test_a_description_makes_the_same_world() -> None:
    world, body = soft_box(automatic=0.1, friction=0.3)
    body.add_shape(kido.Box((0.01, 0.01, 0.01)))
    world.add_ground()
    body.skeleton.positions = [0.3, 0.2, 0.1, 0, 0, 0.18]
    world.step(100)
    body.automatic = None
    body.freeze([4])
    twin = world_from_dict(world_to_dict(world))
    other = twin.skeletons[0].soft_bodies[0]
    assert [node.name for node in other.shapes] == [node.name for node in body.shapes]
    np.testing.assert_array_equal(other.point_positions, body.point_positions)
    np.testing.assert_array_equal(other.frozen, body.frozen)
    assert (other.kv, other.ke, other.kd) == (body.kv, body.ke, body.kd)
    np.testing.assert_array_equal(other.inertia.moment, body.inertia.moment)


def test_recordings_hold_the_points_and_resume_to_the_bit(tmp_path: Path) -> None:
    world, body = soft_box()
    world.add_ground()
    body.skeleton.positions = [0.3, 0.2, 0.1, 0, 0, 0.18]
    path = tmp_path / "soft.h5"
    places, shapes = [], []
    with kido.Recorder(world, path, checkpoint_every=50):
        for _ in range(120):
            world.step()
            places.append(body.point_positions)
            shapes.append(body.displacements)
    with kido.Recording(path) as recording:
        assert recording.displacements.shape == (121, 26, 3)
        np.testing.assert_array_equal(recording.displacements[1:], shapes)
        resumed = recording.resume(70)
        np.testing.assert_array_equal(resumed.skeletons[0].soft_bodies[0].point_positions, places[69])
        resumed.step(10)
        np.testing.assert_array_equal(resumed.skeletons[0].soft_bodies[0].point_positions, places[79])
        shown = recording.display_world()
        for frame in recording.play(shown):
            last = frame.index
        assert last == 120
        np.testing.assert_allclose(shown.skeletons[0].soft_bodies[0].point_positions, places[-1], atol=1e-12)


def test_the_viewer_draws_skins_as_they_are_deformed(tmp_path: Path) -> None:
    pytest.importorskip("viser")
    from kido.viewer.scene import SceneView
    from kido.viewer.server import start_server, stop_server
    from kido.viewer.trajectory import TrajectorySampler

    world, body = soft_box()
    world.add_ground()
    body.skeleton.positions = [0.3, 0.2, 0.1, 0, 0, 0.18]
    motion = TrajectorySampler(world, fps=100).run(0.2)
    assert len(motion.skins) == motion.num_frames
    server = start_server(0)
    try:
        view = SceneView(server, world)
        ((_, _, rest, handle),) = view.skins._skins
        view.update()
        np.testing.assert_allclose(handle.vertices, rest + body.displacements, atol=1e-6)
        view.update(*motion.frame(3))
        np.testing.assert_allclose(handle.vertices, rest + motion.skins[3], atol=1e-6)
        np.testing.assert_allclose(handle.position, motion.positions[3][0], atol=1e-6)
        assert view.extent > 0.1
    finally:
        stop_server(server)


@pytest.mark.parametrize(
    "shape",
    [
        kido.SoftMesh.box((0.1, 0.2, 0.3), (3, 4, 5)),
        kido.SoftMesh.ellipsoid((0.1, 0.2, 0.3), 7, 6),
        kido.SoftMesh.cylinder(0.1, 0.3, 9, 4, 3),
    ],
)
def test_skel_files_hold_soft_bodies(shape: kido.SoftMesh, tmp_path: Path) -> None:
    skeleton = kido.Skeleton("soft")
    options = {"total_mass": 0.7, "kv": 300.0, "ke": 20.0, "kd": 0.5, "transform": [0.1, 0.2, 0.3]}
    place = np.eye(4)
    place[:3, 3] = options.pop("transform")
    inertia = kido.Inertia.from_diagonal(2.0, [0.1, 0.1, 0.1])
    body = skeleton.add_soft_body("body", shape, inertia=inertia, transform=place, **options)
    world = kido.World()
    world.add_skeleton(skeleton)
    path = tmp_path / "soft.skel"
    kido.save(world, path)
    other = kido.load(path).skeletons[0].soft_bodies[0]
    np.testing.assert_allclose(other.rest_positions, body.rest_positions, atol=1e-12)
    np.testing.assert_array_equal(other.skin.shape.edges, shape.edges)
    assert (other.kv, other.ke, other.kd, other.total_mass) == (body.kv, body.ke, body.kd, pytest.approx(0.7))
    assert other.core_inertia.mass == 2.0
    assert len(other.shapes) == 1
