"""Pictures of a page's scene: all that is in it is drawn, where it is, without a browser."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.rendering import Camera, Pinhole, Renderer, look_at
from kido.viewer import CameraPose, Viewer
from trees import at
from viewer_models import arm, boxes

pytest.importorskip("viser", reason="the extra 'viewer' is not installed")

POSE = CameraPose((0.0, -4.0, 0.6), (0.0, 0.0, 0.6))
SIZE = (240, 180)


def changed(viewer: Viewer, before: np.ndarray) -> np.ndarray:
    """Pixels (n, 2), column and row, that are clearly others than before."""
    difference = np.abs(viewer.picture(SIZE, POSE).astype(int) - before).max(axis=-1)
    return np.argwhere(difference > 40)[:, ::-1]


def pixel(point: object) -> np.ndarray:
    lens = Pinhole(*SIZE, POSE.fov)
    return Camera(lens, look_at(POSE.position, POSE.target)).project(point)


DRAWN = {
    "line": (lambda v: v.add_line([[1, 0, 1.0], [1, 0, 1.4]], color=(1, 0, 0), thickness=4.0), (1, 0, 1.2)),
    "shape": (lambda v: v.add_shape(kido.Sphere(0.1), transform=at(-1, 0, 1.2), color=(1, 0, 0)), (-1, 0, 1.2)),
    "points": (lambda v: v.add_points([[1, 0, 0.4]], size=0.2, color=(1, 0, 0)), (1, 0, 0.4)),
    "frame": (lambda v: v.add_frame(at(0.98, 0, 1.0), size=0.3), (1, 0, 1.12)),
    "arrow": (lambda v: v.add_arrow((1, 0, 0.8), (1, 0, 1.6), color=(0, 0, 0), radius=0.05), (1, 0, 1.2)),
    "mesh": (lambda v: v.add_mesh([[0.9, 0, 1], [1.1, 0, 1], [1, 0, 1.3]], [[0, 1, 2]], color=(0, 0, 0)), (1, 0, 1.1)),
    "label": (lambda v: v.add_label("a label", (1, 0, 1.2)), (1.4, 0, 1.05)),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_what_is_drawn_is_in_the_picture_where_it_is(kind: str):
    draw, middle = DRAWN[kind]
    with Viewer(arm(), 0, show=("model",)) as viewer:  # no ground, on which shadows would fall
        before = viewer.picture(SIZE, POSE)
        drawable = draw(viewer)
        pixels = changed(viewer, before)
        assert len(pixels) > 4
        np.testing.assert_allclose(0.5 * (pixels.min(axis=0) + pixels.max(axis=0)) + 0.5, pixel(middle), atol=8.0)
        drawable.visible = False
        assert len(changed(viewer, before)) == 0
        drawable.visible = True
        drawable.remove()
        np.testing.assert_array_equal(viewer.picture(SIZE, POSE), before)


def test_the_model_is_where_a_renderer_has_it():
    """Silhouettes of boxes in the picture and in an image of `kido.rendering`: but at edges the same."""
    world = boxes(3)
    pose = CameraPose((0.3, -1.5, 0.6), (0.3, 0.0, 0.05))
    with Viewer(world, 0) as viewer:
        picture = viewer.picture(SIZE, pose).astype(int)
    camera = Camera(Pinhole(*SIZE, pose.fov), look_at(pose.position, pose.target))
    renderer = Renderer(world, oversampling=3, shadows=True)
    images = renderer.render(camera)
    inside = images.segmentation > 0
    for axis in (0, 1):
        for step in (-1, 1):
            inside &= np.roll(images.segmentation, step, axis) == images.segmentation
    assert inside.sum() > 500
    assert np.abs(picture - images.color)[inside].max() <= 2


def test_layers_that_are_hidden_are_not_in_the_picture():
    world = kido.World("arm")
    world.add_skeleton(arm())
    world.add_ground()
    with Viewer(world, 0) as viewer:
        whole = viewer.picture(SIZE, POSE)
        for layer in ("model", "ground"):
            viewer.view.set_visible(layer, False)
            assert len(changed(viewer, whole)) > 20
            viewer.view.set_visible(layer, True)
        np.testing.assert_array_equal(viewer.picture(SIZE, POSE), whole)
        viewer.view.set_visible("model", False)
        bare = viewer.picture(SIZE, POSE)
        for layer in ("collision", "frames"):
            viewer.view.set_visible(layer, True)
            assert len(changed(viewer, bare)) > 20
            viewer.view.set_visible(layer, False)


def test_meshes_with_colours_and_soft_skins_are_in_the_picture():
    skeleton = kido.Skeleton("coloured")
    body = skeleton.add_body("body", kido.WeldJoint("weld"))
    corners = [[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 1.0]]
    body.add_shape(kido.Mesh(corners, [[0, 1, 2]], vertex_colors=np.tile([0.9, 0.0, 0.0], (3, 1))), collision=False)
    with Viewer(skeleton, 0) as viewer:
        u, v = pixel((0.0, 0.0, 0.4)).astype(int)
        red, green, blue = viewer.picture(SIZE, POSE)[v, u].astype(int)
        assert red > 2 * green and red > 2 * blue
    image = np.array([[[230, 0, 0], [0, 0, 230]]], np.uint8)
    coordinates = np.array([[[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]]])
    cloth = kido.Mesh(corners, [[0, 1, 2]], textures=[image], texture_coordinates=coordinates)
    body.remove_shape(body.shapes[0])
    body.add_shape(cloth, collision=False)
    with Viewer(skeleton, 0) as viewer:
        left, right = (viewer.picture(SIZE, POSE)[tuple(pixel((x, 0.0, 0.1)).astype(int)[::-1])] for x in (-0.3, 0.3))
        assert sorted([int(left.argmax()), int(right.argmax())]) == [0, 2]
    soft = kido.Skeleton("soft")
    jelly = soft.add_soft_body("jelly", kido.SoftMesh.box((0.4, 0.4, 0.4)), total_mass=1.0)
    with Viewer(soft, 0) as viewer:
        before = viewer.picture(SIZE, POSE)
        jelly.displacements = np.tile([0.8, 0.0, 0.0], (jelly.num_points, 1))
        viewer.update()
        u, v = pixel((0.8, -0.2, 0.1)).astype(int)
        assert (np.abs(viewer.picture(SIZE, POSE)[v, u].astype(int) - before[v, u]) > 20).any()
