"""Bad input of cameras and renderers: refused by name, and nothing changed."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import kido
from kido.errors import ModelError, NameLookupError, StateError
from kido.rendering import Camera, CameraNode, Pinhole, Renderer, look_at


def ball() -> kido.Skeleton:
    skeleton = kido.Skeleton("ball")
    skeleton.add_body("ball", kido.FreeJoint("root"), inertia=kido.Inertia(1.0)).add_shape(kido.Sphere(0.5))
    return skeleton


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": 0}, "width: expected a whole number of pixels"),
        ({"height": 2.5}, "height: expected a whole number of pixels"),
        ({"width": True}, "width"),
        ({"fov": math.pi}, "fov: expected an angle above 0 and below pi"),
        ({"fov": math.nan}, "fov"),
        ({"near": 0.0}, "near: expected a positive number"),
        ({"near": 2.0, "far": 1.0}, "expected near below far"),
        ({"far": math.inf}, "far"),
    ],
)
def test_a_lens_out_of_range(options: dict, words: str):
    with pytest.raises(ModelError, match=words):
        Pinhole(**options)


def test_a_camera_without_a_lens_or_a_way():
    with pytest.raises(ModelError, match=r"expected a kido\.rendering\.Pinhole, got 5"):
        Camera(5)
    with pytest.raises(ModelError, match="Pinhole"):
        ball().bodies[0].create_node(CameraNode, "eye", "wide")
    camera = Camera()
    with pytest.raises(ModelError, match="Pinhole"):
        camera.lens = None
    assert camera.lens == Pinhole()
    with pytest.raises(ModelError, match="expected two points"):
        look_at((1, 2, 3), (1, 2, 3))
    with pytest.raises(ModelError, match="up: expected a direction"):
        look_at((1, 2, 3), (0, 0, 0), (0, 0, 0))
    with pytest.raises(ModelError, match="target"):
        look_at((1, 2, 3), (0, 0, math.nan))


def test_points_and_depths_of_another_shape():
    with pytest.raises(StateError, match=r"expected \(..., 3\)"):
        Pinhole().project([1.0, 2.0])
    with pytest.raises(StateError, match="480, 640"):
        Pinhole().unproject(np.zeros((640, 480)))
    assert np.isnan(Pinhole().project([[0.0, 0.0, -1.0]])).all()


def test_what_are_no_points_and_no_deformation():
    for project in (Pinhole().project, Camera().project):
        with pytest.raises(StateError, match=r"Points to project have shape .* expected \(..., 3\), got 'abc'"):
            project("abc")
    with pytest.raises(StateError, match=r"Renderer deformation is 5; expected a kido\.rendering\.Deformation"):
        Renderer(ball(), deformation=5)


def test_what_is_no_model():
    with pytest.raises(kido.KidoError, match="'int'"):
        Renderer(3)


@pytest.mark.parametrize("options", [{"oversampling": 0}, {"oversampling": 1.5}, {"threads": -1}, {"oversampling": 9}])
def test_options_out_of_range(options: dict):
    with pytest.raises(StateError, match=next(iter(options))):
        Renderer(ball(), **options)


def test_states_that_do_not_fit():
    skeleton, camera = ball(), Camera(Pinhole(8, 8))
    renderer = Renderer(skeleton)
    with pytest.raises(StateError, match="Camera"):
        renderer.render(np.eye(4))
    with pytest.raises(StateError, match=r"\(6,\); expected \(states, 6\)"):
        renderer.render(camera, positions=np.zeros(6))
    with pytest.raises(StateError, match="state 1 are not finite"):
        renderer.render(camera, positions=[[0.0] * 6, [math.nan] * 6])
    with pytest.raises(StateError, match=r"expected \(states, 1, 4, 4\)"):
        renderer.render(camera, transforms=np.zeros((2, 2, 4, 4)))
    with pytest.raises(StateError, match="both were given"):
        renderer.render(camera, positions=np.zeros((1, 6)), transforms=np.zeros((1, 1, 4, 4)))
    with pytest.raises(NameLookupError, match="normals"):
        renderer.render(camera, kinds=("normals",))
    with pytest.raises(StateError, match="Kinds of images are 5; expected some of color, depth, segmentation"):
        renderer.render(camera, kinds=5)
    assert renderer.render(camera, kinds="depth").color is None
    with pytest.raises(StateError, match=r"expected \(states, 6\), got 'a'"):
        renderer.render(camera, positions="a")
    with pytest.raises(StateError, match=r"expected \(states, 1, 4, 4\), got 'a'"):
        renderer.render(camera, transforms="a")
    with pytest.raises(StateError, match="not in the model"):
        renderer.render(ball().bodies[0].create_node(CameraNode, "eye"))


def test_a_world_of_nothing_is_sky():
    images = Renderer(kido.World("empty")).render(Camera(Pinhole(8, 6)))
    assert np.isinf(images.depth).all() and (images.segmentation == -1).all()
    assert images.color.min() > 100


def test_a_renderer_is_pickled_with_its_model():
    camera = Camera(Pinhole(16, 16), look_at((2, 0, 0), (0, 0, 0)))
    renderer = Renderer(ball(), oversampling=2)
    twin = pickle.loads(pickle.dumps(renderer))
    np.testing.assert_array_equal(twin.render(camera).color, renderer.render(camera).color)
