"""What is put on the page: number of meshes, their places, contacts, ground; read back from the handles."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from trees import at
from viewer_models import arm, box, boxes

viser = pytest.importorskip("viser", reason="the extra 'viewer' is not installed")

from kido.rendering.model import model_poses, up_axis  # noqa: E402
from kido.rendering.rotations import matrix_from_wxyz  # noqa: E402
from kido.viewer.forces import arrow_vectors  # noqa: E402
from kido.viewer.scene import SceneView, nice_cell  # noqa: E402
from kido.viewer.server import start_server, stop_server  # noqa: E402


@pytest.fixture
def server():
    server = start_server(0)
    yield server
    stop_server(server)


def test_a_hundred_boxes_are_one_mesh(server):
    world = kido.World("many")
    for k in range(100):
        world.add_skeleton(box(f"b{k}", (0.1, 0.1 + 0.001 * k, 0.2), (0.3 * k, 0.0, 1.0)))
    view = SceneView(server, world)
    assert len(view.visual.batches) == 1
    handle = view.visual.batches[0].handle
    assert handle.batched_positions.shape == (100, 3)
    np.testing.assert_allclose(handle.batched_scales[:, 1], 0.1 + 0.001 * np.arange(100), rtol=1e-6)


def test_batched_places_are_those_of_the_shapes(server):
    skeleton = arm()
    view = SceneView(server, skeleton)
    skeleton.positions = [0.4, -0.7, 0.3, 0.2, -0.5]
    view.update()
    seen = {}
    for batch in view.visual.batches:
        for k, body in enumerate(batch.bodies):
            X = np.eye(4)
            X[:3, :3] = matrix_from_wxyz(batch.handle.batched_wxyzs[k].astype(float))
            X[:3, 3] = batch.handle.batched_positions[k]
            seen.setdefault((batch.key[0], int(body)), []).append(X)
    # single precision on the wire: 1e-6 of a metre
    for name, body in (("cylinder", 0), ("tube", 1), ("box", 2)):
        node = skeleton.bodies[body].shapes[0]
        np.testing.assert_allclose(seen[name, body][0], node.world_transform, atol=1e-6)
    ends = np.sort([X[:3, 3] for X in seen["hemisphere", 1]], axis=0)
    node = skeleton.bodies[1].shapes[0].world_transform
    exact = np.sort([(node @ at(z=z))[:3, 3] for z in (0.3, -0.3)], axis=0)
    np.testing.assert_allclose(ends, exact, atol=1e-6)


def test_colours_given_are_kept_and_transparent_shapes_are_apart(server):
    view = SceneView(server, arm())
    by_key = {(b.key[0], b.handle.opacity): b.handle for b in view.visual.batches}
    assert by_key["box", 0.5].batched_colors.tolist() == [[230, 128, 26]]
    assert by_key["tube", None].batched_colors.tolist() == [[51, 102, 230]]


def test_collision_shapes_are_made_when_they_are_first_shown(server):
    skeleton = box("b", (0.1, 0.1, 0.1), (0.0, 0.0, 1.0))
    body = skeleton.bodies[0]
    body.add_shape(kido.Sphere(0.3), visual=False)
    view = SceneView(server, skeleton)
    assert view.collision is None
    assert sum(len(b.bodies) for b in view.visual.batches) == 1
    view.set_visible("collision", True)
    assert view.collision is not None
    assert view.collision.visible
    assert sum(len(b.bodies) for b in view.collision.batches) == 2
    view.set_visible("collision", False)
    assert not view.collision.visible


def test_a_model_without_visual_shapes_shows_its_collision_shapes(server):
    skeleton = kido.Skeleton("bare")
    body = skeleton.add_body("b", kido.FreeJoint("root"), inertia=kido.Inertia(1.0, moment=np.eye(3)))
    body.add_shape(kido.Sphere(0.3), visual=False)
    assert sum(len(b.bodies) for b in SceneView(server, skeleton).visual.batches) == 1


def test_contact_forces_point_away_from_the_ground_whatever_the_order(server):
    for ground_first in (True, False):
        world = kido.World("w")
        if ground_first:
            world.add_ground()
        world.add_skeleton(box("b", (0.2, 0.2, 0.2), (0.0, 0.0, 0.1)))
        if not ground_first:
            world.add_ground()
        world.step(50)
        view = SceneView(server, world)
        assert view.contacts.count == 4
        shaft, head = view.contacts._handles["shaft"], view.contacts._handles["head"]
        assert np.all(head.batched_positions[:4, 2] > shaft.batched_positions[:4, 2])
        assert np.all(shaft.batched_scales[4:] == 0.0)
        view.remove()


def test_contacts_vanish_when_the_body_leaves(server):
    world = boxes(1)
    world.step(20)
    view = SceneView(server, world)
    assert view.contacts.count == 4
    world.skeletons[1].positions = [0, 0, 0, 0, 0, 3.0]
    world.step(1)
    view.update()
    assert view.contacts.count == 0
    assert np.all(view.contacts._handles["dot"].batched_scales == 0.0)


def test_arrows_are_cut_at_the_longest():
    v = arrow_vectors(np.array([[0, 0, 10.0], [0, 3.0, 4.0], [0, 0, 0]]), 0.1, 0.8)
    np.testing.assert_allclose(v, [[0, 0, 0.8], [0, 0.3, 0.4], [0, 0, 0]])


@pytest.mark.parametrize(("gravity", "up"), [((0, 0, -9.81), 2), ((0, -9.81, 0), 1), ((3.0, 0, 0), None)])
def test_ground_is_across_the_up_axis(server, gravity, up):
    world = boxes(2, gravity=gravity)
    view = SceneView(server, world)
    exact = -np.array(gravity) / np.linalg.norm(gravity)
    np.testing.assert_allclose(up_axis(world), exact)
    grid = view.grounds[0]
    normal = matrix_from_wxyz(np.array(grid.wxyz))[:, 2]
    np.testing.assert_allclose(normal, exact, atol=1e-12)
    if up is not None:
        assert abs(grid.position[up]) < 1e-3
    assert len(view.grounds) == 1


def test_a_lone_robot_stands_on_a_grid_at_its_feet(server):
    skeleton = box("b", (0.2, 0.2, 0.2), (0.0, 0.0, -0.5))
    assert SceneView(server, skeleton).grounds[0].position[2] == pytest.approx(-0.6, abs=1e-3)
    skeleton.positions = [0, 0, 0, 0, 0, 0.13]  # close above the origin: the floor is z = 0
    assert SceneView(server, skeleton).grounds[0].position[2] == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(("extent", "cell"), [(0.08, 0.01), (0.8, 0.1), (1.7, 0.2), (8.0, 1.0), (35.0, 5.0)])
def test_grid_cells_are_round_numbers(extent, cell):
    assert nice_cell(extent) == pytest.approx(cell)


def test_home_sees_the_whole_model(server):
    world = boxes(5)
    pose = SceneView(server, world).home(aspect=1.6)
    p, _ = model_poses(world)
    local = (p[1:] - pose.position) @ matrix_from_wxyz(pose.wxyz)
    assert np.all(local[:, 2] > 0)
    assert np.all(np.abs(local[:, 0] / local[:, 2]) < 1.6 * np.tan(0.5 * pose.fov))
    assert np.all(np.abs(local[:, 1] / local[:, 2]) < np.tan(0.5 * pose.fov))


def test_vertex_colours_are_kept(server):
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    colors = np.eye(4, 3)
    skeleton = kido.Skeleton("m")
    body = skeleton.add_body("b", kido.FreeJoint("root"), inertia=kido.Inertia(1.0, moment=np.eye(3)))
    body.add_shape(kido.Mesh(vertices, faces, vertex_colors=colors))
    batch = SceneView(server, skeleton).visual.batches[0]
    assert b"COLOR_0" in bytes(batch.handle.glb_data)


def test_what_is_no_model_is_refused(server):
    with pytest.raises(kido.KidoError, match=r"World or a kido\.Skeleton, not 'dict'"):
        SceneView(server, {})


def test_scenery_is_translucent_and_its_walls_are_in_the_picture(server):
    world = boxes(1)
    walls = kido.Skeleton("walls")
    body = walls.add_body("walls", kido.WeldJoint("fixed"))
    body.add_shape(kido.Box((0.02, 0.3, 0.3)), at(x=-0.09, z=0.15))
    body.add_shape(kido.Box((50.0, 0.1, 50.0)), at(y=9.0))
    walls.mobile = False
    world.add_skeleton(walls)
    view = SceneView(server, world)
    opacity = {b.handle.opacity: len(b.bodies) for b in view.visual.batches}
    assert opacity == {None: 1, 0.3: 2}
    lower, upper = view.bounds(view.positions, view.wxyz)
    # the wall beside the box counts, the far one does not
    np.testing.assert_allclose(lower, [-0.1, -0.15, 0.0], atol=1e-6)
    np.testing.assert_allclose(upper, [0.05, 0.15, 0.3], atol=1e-6)
