"""Images by a graphics card, or by what draws in its place, against those of the processor."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from test_rendering_images import covered, cube, one_of_each, scenery, tinted

import kido
from kido.errors import KidoError, MissingExtraError, StateError
from kido.rendering import Camera, Pinhole, Renderer, graphics, look_at
from trees import at

LENS = Pinhole(160, 120, np.deg2rad(60.0), near=0.05, far=50.0)


@pytest.fixture(scope="module", autouse=True)
def _card():
    pytest.importorskip("moderngl")
    try:
        graphics.card()
    except KidoError as error:
        pytest.skip(str(error))


def edges(segmentation: np.ndarray) -> np.ndarray:
    """Pixels beside those of another shape."""
    found = np.zeros(segmentation.shape, bool)
    for axis in (-1, -2):
        for step in (-1, 1):
            found |= np.roll(segmentation, step, axis) != segmentation
    return found


def both(model: object, camera: Camera, positions: Any = None, **options: Any) -> Any:
    return [Renderer(model, device=device, **options).render(camera, positions=positions) for device in ("cpu", "gpu")]


def assert_close(model: object, camera: Camera, positions: Any = None, color: float = 2.0, **options: Any) -> Any:
    """Away from edges: shapes the same, depth to 1e-4 of itself (corners of triangles lie on a grid of 1/256 pixel on
    cards, primitives are exact), colours on the mean of a shape to a byte or two."""
    cpu, gpu = both(model, camera, positions, **options)
    inside = ~edges(cpu.segmentation)
    np.testing.assert_array_equal(gpu.segmentation[inside], cpu.segmentation[inside])
    assert (gpu.segmentation != cpu.segmentation).mean() < 2e-3
    np.testing.assert_allclose(gpu.depth[inside], cpu.depth[inside], rtol=1e-4)
    off = np.abs(gpu.color.astype(int) - cpu.color)
    assert off[inside].mean() < 1.0 and np.quantile(off[inside], 0.99) <= color
    return cpu, gpu


@pytest.fixture
def camera() -> Camera:
    return Camera(LENS, look_at((0.3, -3.0, 1.4), (0.0, 0.0, 0.3)))


@pytest.mark.parametrize("options", [{}, {"oversampling": 3}, {"shadows": True}], ids=["plain", "fine", "shadows"])
def test_every_shape_is_what_the_processor_draws(camera: Camera, options: dict):
    cpu, gpu = assert_close(one_of_each(), camera, color=12.0 if options else 1.0, **options)
    assert set(np.unique(gpu.segmentation)) == set(range(-1, 9))
    primitives = (cpu.segmentation == gpu.segmentation) & (gpu.segmentation >= 0) & (gpu.segmentation < 7)
    np.testing.assert_allclose(gpu.depth[primitives], cpu.depth[primitives], rtol=4e-6)  # of 24 bits


def test_shadows_lie_where_they_do(camera: Camera):
    world = one_of_each()
    plain, shaded = both(world, camera), both(world, camera, shadows=True)
    expected, dark = (
        a.color.astype(int).sum(axis=-1) - b.color.astype(int).sum(axis=-1) > 60
        for a, b in zip(plain, shaded, strict=True)
    )
    assert expected.sum() > 200 and (dark != expected).sum() < 0.1 * expected.sum()  # soft rims fall either way


def test_many_states_share_frames(camera: Camera, monkeypatch: pytest.MonkeyPatch):
    world = one_of_each()
    rng = np.random.default_rng(2)
    q = np.concatenate([s.positions for s in world.skeletons]) + 0.2 * rng.normal(size=(7, 48))
    small = Camera(Pinhole(40, 30, LENS.fov), camera.world_transform)
    monkeypatch.setattr(graphics, "FRAME", 3 * 40 * 30)  # three frames of three, three and one
    _, gpu = assert_close(world, small, q)
    assert gpu.color.shape == (7, 30, 40, 3)
    monkeypatch.undo()
    again = both(world, small, q)[1]
    np.testing.assert_array_equal(again.segmentation, gpu.segmentation)
    np.testing.assert_allclose(again.depth, gpu.depth, rtol=1e-4)  # tiles at other places of a frame, and of the grid


def test_no_states_are_no_images(camera: Camera):
    world = one_of_each()
    assert both(world, camera, np.zeros((0, 48)))[1].color.shape == (0, 120, 160, 3)


@pytest.mark.parametrize("kinds", [("depth",), ("segmentation",), ("color",), ("segmentation", "color")])
def test_kinds_by_themselves(camera: Camera, kinds: tuple[str, ...]):
    renderer: Any = Renderer(one_of_each(), device="gpu")
    whole, part = renderer.render(camera), renderer.render(camera, kinds=kinds)
    for kind in ("color", "depth", "segmentation"):
        if kind in kinds:
            np.testing.assert_array_equal(getattr(part, kind), getattr(whole, kind))
        else:
            assert getattr(part, kind) is None


def test_textures_and_tints_and_none_on_one_mesh():
    image = np.zeros((8, 8, 3), np.uint8)
    image[:4, :4], image[4:, 4:] = (255, 40, 0), (0, 90, 255)
    view = Camera(Pinhole(120, 90, 0.6), look_at((0.4, -0.5, 5.0), (0.0, 0.0, 0.0)))
    for mesh in (covered(image, 3), tinted(np.array([30, 200, 90]))):
        cpu, gpu = both(scenery(mesh), view)
        inside = ~edges(cpu.segmentation)
        off = np.abs(gpu.color.astype(int) - cpu.color)[inside]
        assert np.quantile(off, 0.95) <= 4  # cards mix two sizes of a texture
        np.testing.assert_array_equal(gpu.segmentation[inside], cpu.segmentation[inside])


def test_what_is_seen_through_in_layers():
    """Three panes, one a mesh, behind each other, before a ball; the order of shapes is not that of depth."""
    world = kido.World("panes")
    for k, x in enumerate((1.0, 2.5, 1.7)):
        color = (*np.eye(3)[k], 0.3 + 0.2 * k)
        shape = cube(0.6) if k == 2 else kido.Box((0.1, 0.8 + 0.3 * k, 0.9))
        world.add_skeleton(scenery(shape, at(x, 0.1 * k, 0.1), color=color), name=f"pane {k}")
    world.add_skeleton(scenery(kido.Sphere(0.5), color=(1.0, 1.0, 0.2)), name="ball")
    view = Camera(Pinhole(80, 60), look_at((4.5, 0.5, 0.4), (0.0, 0.0, 0.0)))
    cpu, _ = assert_close(world, view)
    assert len(np.unique(cpu.color.reshape(-1, 3), axis=0)) > 100


def test_triangles_through_the_near_plane_and_solids_around_the_camera():
    view = Camera(LENS, look_at((0.3, -0.2, 0.1), (1.0, 0.4, 0.3)))
    assert_close(scenery(cube(4.0)), view)
    _, gpu = assert_close(scenery(kido.Box((4.0, 4.0, 4.0))), view)
    assert (gpu.segmentation == -1).all()


def test_a_solid_that_begins_behind_the_camera():
    """A beam from behind the camera to far ahead, just beside it."""
    view = Camera(LENS, look_at((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)))
    for shape in (kido.Box((8.0, 0.2, 0.2)), cube(1.0)):
        assert_close(scenery(shape, at(1.0, 0.0, -0.7)), view)


def test_a_soft_skin_is_drawn_as_it_is_deformed():
    skeleton = kido.Skeleton("jelly")
    body = skeleton.add_soft_body("jelly", kido.SoftMesh.box((0.4, 0.4, 0.4)), total_mass=1.0)
    view = Camera(LENS, look_at((2.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    renderer: Any = Renderer(skeleton, device="gpu")
    assert renderer.render(view).depth[60, 80] == pytest.approx(1.8, rel=1e-5)
    body.displacements = np.tile([0.1, 0.0, 0.0], (body.num_points, 1))
    assert renderer.render(view).depth[60, 80] == pytest.approx(1.7, rel=1e-5)
    assert_close(skeleton, view)


def test_small_things_far_away_keep_their_depth():
    """A ball of 5 cm in 40 m: its rays are followed from where they are nearest, so no digits are lost."""
    view = Camera(Pinhole(64, 64, 0.004, far=100.0), look_at((40.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    cpu, gpu = both(scenery(kido.Sphere(0.05)), view)
    inside = np.isfinite(cpu.depth) & np.isfinite(gpu.depth)
    assert inside.sum() > 800
    np.testing.assert_allclose(gpu.depth[inside], cpu.depth[inside], rtol=1e-6)


def test_changes_of_the_model_are_followed_and_threads_wait(camera: Camera):
    world = one_of_each()
    renderer: Any = Renderer(world, device="gpu")
    before = renderer.render(camera)
    with ThreadPoolExecutor(3) as pool:
        for images in pool.map(lambda _: renderer.render(camera), range(6)):
            np.testing.assert_array_equal(images.color, before.color)
    world.skeletons[1].bodies[0].add_shape(kido.Sphere(0.4))
    after = renderer.render(camera)
    assert (after.depth < before.depth - 0.05).any()
    twin = pickle.loads(pickle.dumps(renderer))
    assert twin.device == "gpu"
    np.testing.assert_array_equal(twin.render(camera).segmentation, after.segmentation)


def test_a_world_of_nothing_is_sky():
    cpu, gpu = both(kido.World("empty"), Camera(Pinhole(8, 6)))
    assert np.isinf(gpu.depth).all() and (gpu.segmentation == -1).all()
    assert np.abs(gpu.color.astype(int) - cpu.color).max() <= 1


def test_devices_that_there_are_not(monkeypatch: pytest.MonkeyPatch):
    import moderngl

    with pytest.raises(StateError, match="'cuda'; expected 'cpu' or 'gpu'"):
        Renderer(kido.World(), device="cuda")
    graphics._card_of.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(moderngl, "create_context", lambda **_: (_ for _ in ()).throw(Exception("libEGL.so not loaded")))
        with pytest.raises(KidoError, match=r"libEGL\.so not loaded.*apt-get install libegl1 libgl1-mesa-dri"):
            Renderer(kido.World(), device="gpu")
    with monkeypatch.context() as patch:
        patch.setitem(__import__("sys").modules, "moderngl", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'kido\[gpu-images\]'"):
            Renderer(kido.World(), device="gpu")
    assert Renderer(kido.World(), device="gpu").device == "gpu"
