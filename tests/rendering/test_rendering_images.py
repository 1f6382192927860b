"""Depth, segmentation and colour of images against equations, ray casts and each other."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.rendering import Camera, CameraNode, Pinhole, Renderer, look_at
from trees import at

LENS = Pinhole(81, 61, np.deg2rad(50.0), near=0.05, far=50.0)
F32 = 1e-6  # relative: depth is kept as float32, of 24 bits


def ways(lens: Pinhole) -> np.ndarray:
    """(x, y, 1) of the middle of every pixel (height, width, 3)."""
    x = (np.arange(lens.width) + 0.5 - 0.5 * lens.width) / lens.focal_length
    y = (np.arange(lens.height) + 0.5 - 0.5 * lens.height) / lens.focal_length
    return np.stack([*np.meshgrid(x, y), np.ones((lens.height, lens.width))], axis=-1)


def scenery(shape: kido.Shape, transform: object = None, **options: object) -> kido.Skeleton:
    skeleton = kido.Skeleton("scenery")
    skeleton.add_body("body", kido.WeldJoint("weld")).add_shape(shape, transform, **options)
    return skeleton


def seen(model: object, lens: Pinhole = LENS, transform: object = None, **options: object):
    return Renderer(model, threads=1, **options).render(Camera(lens, transform))


def cube(edge: float) -> kido.Mesh:
    corners = 0.5 * edge * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    faces = [
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
    ]
    return kido.Mesh(corners, [*faces, [1, 5, 7], [1, 7, 3]])


def test_depth_of_a_ball_is_that_of_its_equation():
    d, c, r = ways(LENS), np.array([0.1, -0.2, 3.0]), 0.8
    b, a = d @ c, np.sum(d * d, axis=-1)
    under = b * b - a * (c @ c - r * r)
    expected = np.where(under > 0.0, (b - np.sqrt(np.maximum(under, 0.0))) / a, np.inf)
    images = seen(scenery(kido.Sphere(r), at(*c)))
    np.testing.assert_allclose(images.depth, expected, rtol=F32)
    np.testing.assert_array_equal(images.segmentation, np.where(np.isfinite(expected), 0, -1))
    assert 0.1 < np.isfinite(expected).mean() < 0.5


def test_depth_of_a_plane_is_that_of_its_equation():
    """A camera 1.3 m above the ground that looks down by 20 degrees; what is farther than `far` is not seen."""
    down = np.deg2rad(20.0)
    transform = look_at((0.0, 0.0, 1.3), (np.cos(down), 0.0, 1.3 - np.sin(down)))
    world = kido.World("plane")
    world.add_ground()
    falling = ways(LENS) @ transform[2, :3]
    expected = np.where(falling < 0.0, -1.3 / np.minimum(falling, -1e-9), np.inf)
    expected[expected > LENS.far] = np.inf
    images = seen(world, transform=transform)
    np.testing.assert_allclose(images.depth, expected, rtol=F32)
    assert np.isfinite(expected).any() and np.isinf(expected).any()


@pytest.mark.parametrize("shape", [kido.Box((1.0, 1.0, 1.0)), cube(1.0)], ids=["box", "mesh"])
def test_depth_of_a_cube_before_the_camera(shape: kido.Shape):
    """Its front is the plane z = 2.5, its sides are not seen."""
    images = seen(scenery(shape, at(0.0, 0.0, 3.0)))
    p = 2.5 * ways(LENS)[..., :2]
    inside = np.abs(p).max(axis=-1) < 0.5
    np.testing.assert_allclose(images.depth, np.where(inside, 2.5, np.inf), rtol=F32)


def test_triangles_that_go_through_the_near_plane():
    """From inside a large cube of triangles its walls are seen, those of them too that begin behind the camera."""
    X = look_at((0.3, -0.2, 0.1), (1.0, 0.4, 0.3))
    d = ways(LENS) @ X[:3, :3].T
    with np.errstate(divide="ignore"):
        reach = np.max([(np.sign(d) * 2.0 - X[:3, 3]) / d], axis=0).min(axis=-1)
    images = seen(scenery(cube(4.0)), transform=X)
    np.testing.assert_allclose(images.depth, reach, rtol=1e-5)  # a ray near an edge may see either wall
    assert (images.segmentation == 0).all()


def one_of_each() -> kido.World:
    world = kido.World("shapes")
    world.add_ground(-0.6)
    rng = np.random.default_rng(4)
    heights = 0.06 * rng.random((6, 5))
    shapes = [
        *(kido.Sphere(0.3), kido.Box((0.5, 0.3, 0.4)), kido.Capsule(0.15, 0.4), kido.Cylinder(0.2, 0.5)),
        *(kido.Cone(0.3, 0.6), kido.Ellipsoid((0.3, 0.2, 0.15)), kido.Heightmap(heights, 0.15)),
        kido.Mesh(cube(0.45).vertices, cube(0.45).faces, collide_as="triangles"),
    ]
    for k, shape in enumerate(shapes):
        skeleton = kido.Skeleton(f"s{k}")
        body = skeleton.add_body("body", kido.FreeJoint("root"), inertia=kido.Inertia(1.0))
        body.add_shape(shape)
        # The height map lies open to the camera: rays meet it from above alone, images show either side.
        turn = [0.5, 0.0, 0.3] if isinstance(shape, kido.Heightmap) else rng.uniform(-2, 2, 3)
        skeleton.positions = [*turn, 0.9 * (k % 4) - 1.35, 0.0, 0.9 * (k // 4)]
        world.add_skeleton(skeleton)
    return world


def test_every_shape_is_where_ray_casts_find_it():
    world = one_of_each()
    lens = Pinhole(160, 120, np.deg2rad(60.0), far=50.0)
    camera = Camera(lens, look_at((0.3, -3.0, 1.4), (0.0, 0.0, 0.3)))
    renderer = Renderer(world)
    images = renderer.render(camera)
    X = camera.world_transform
    ends = X[:3, 3] + (50.0 * ways(lens).reshape(-1, 3)) @ X[:3, :3].T
    hits = world.collision_group.raycast(X[:3, 3], ends)
    number = {id(node): k for k, node in enumerate(renderer.shapes)}
    names = np.array([-1 if node is None else number[id(node)] for node in hits.objects]).reshape(120, 160)
    depth = np.where(names.ravel() < 0, np.inf, 50.0 * hits.fractions).reshape(120, 160)
    same = images.segmentation == names
    assert set(np.unique(names)) == set(range(-1, 9))
    # Only where a ray runs along an edge may the two differ.
    assert (~same).sum() <= 4, "pixels of other shapes"
    np.testing.assert_allclose(images.depth[same], depth[same], rtol=2e-6)


def test_points_are_seen_where_they_project_to():
    """Small balls in a scene: the middle of each in the image is that of its projection, to half a pixel."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-0.5, 0.5, (8, 3))
    skeleton = kido.Skeleton("points")
    body = skeleton.add_body("body", kido.WeldJoint("weld"))
    for p in points:
        body.add_shape(kido.Sphere(0.02), at(*p))
    camera = Camera(Pinhole(200, 150), look_at((1.2, -1.6, 0.8), (0.0, 0.0, 0.0)))
    segmentation = Renderer(skeleton).render(camera).segmentation
    pixels = camera.project(points)
    for k, (u, v) in enumerate(pixels):
        rows, columns = np.nonzero(segmentation == k)
        assert len(rows) > 4
        np.testing.assert_allclose([columns.mean() + 0.5, rows.mean() + 0.5], [u, v], atol=0.5)
    # The intrinsic matrix says the same, and OpenGL's axes are those of OpenCV turned about x.
    X = np.asarray(camera.world_transform)
    q = (points - X[:3, 3]) @ X[:3, :3]
    h = q @ camera.lens.matrix.T
    np.testing.assert_allclose(h[:, :2] / h[:, 2:], pixels, rtol=1e-12)
    np.testing.assert_allclose(camera.opengl_transform[:3, 2], -X[:3, 2], atol=1e-15)
    np.testing.assert_allclose(camera.opengl_transform[:3, 0], X[:3, 0], atol=1e-15)


def test_unprojected_depth_lies_on_the_surface():
    images = seen(scenery(kido.Sphere(0.8), at(0.1, -0.2, 3.0)))
    points = LENS.unproject(images.depth)[images.segmentation == 0]
    away = np.linalg.norm(points - [0.1, -0.2, 3.0], axis=1)
    np.testing.assert_allclose(away, 0.8, atol=4 * F32 * 3.0)


def swinging() -> tuple[kido.World, CameraNode]:
    world = kido.World("swing")
    world.add_ground(-1.0)
    skeleton = kido.Skeleton("arm")
    upper = skeleton.add_body("upper", kido.RevoluteJoint("hip", axis=(0, 1, 0)), inertia=kido.Inertia(1.0))
    upper.add_shape(kido.Capsule(0.05, 0.4), at(z=-0.2), color=(0.8, 0.1, 0.1))
    lower = skeleton.add_body(
        "lower", kido.RevoluteJoint("knee", axis=(0, 1, 0), transform_from_parent=at(z=-0.5)), upper, kido.Inertia(1.0)
    )
    lower.add_shape(cube(0.2), at(z=-0.2), color=(0.1, 0.6, 0.2, 0.5))
    world.add_skeleton(skeleton)
    eye = lower.create_node(CameraNode, "eye", Pinhole(40, 30), look_at((0.5, 0.3, 0.2), (0.0, 0.0, 0.0)))
    return world, eye


@pytest.mark.parametrize("options", [{}, {"shadows": True, "oversampling": 2}], ids=["plain", "fine"])
def test_many_states_are_what_each_is_alone(options: dict):
    world, eye = swinging()
    rng = np.random.default_rng(0)
    q = rng.uniform(-1.0, 1.0, (7, 2))
    renderer = Renderer(world, threads=2, **options)
    many = renderer.render(eye, positions=q)
    transforms = []
    for k, row in enumerate(q):
        world.skeletons[1].positions = row
        alone = Renderer(world, threads=1, **options).render(eye)
        transforms.append(np.concatenate([s.world_transforms for s in world.skeletons]))
        np.testing.assert_array_equal(many.segmentation[k], alone.segmentation)
        np.testing.assert_allclose(many.depth[k], alone.depth, rtol=F32)
        # The recursions in lanes round differently: a byte may be one beside, and a pixel on an edge another.
        assert (np.abs(many.color[k].astype(int) - alone.color) > 1).mean() < 0.01
    again = renderer.render(eye, transforms=transforms, kinds=("depth",))
    np.testing.assert_allclose(again.depth, many.depth, rtol=F32)
    assert again.color is None and again.segmentation is None
    assert renderer.render(eye, positions=q[:0]).color.shape == (0, 30, 40, 3)


def test_rows_shared_out_to_threads_are_the_same_image():
    world, _ = swinging()
    camera = Camera(Pinhole(160, 120), look_at((1.5, -1.0, 0.3), (0.0, 0.0, -0.4)))
    one, two = (Renderer(world, threads=n, shadows=True, oversampling=3).render(camera) for n in (1, 2))
    for a, b in ((one.color, two.color), (one.depth, two.depth), (one.segmentation, two.segmentation)):
        np.testing.assert_array_equal(a, b)


def test_a_camera_goes_with_what_it_hangs_on():
    world, eye = swinging()
    arm = world.skeletons[1]
    hanging = Camera(eye.lens, eye.relative_transform, parent=kido.SimpleFrame(arm.body("lower")))
    renderer = Renderer(world)
    arm.positions = [0.3, -0.7]
    a, b = renderer.render(eye), renderer.render(hanging)
    np.testing.assert_array_equal(a.color, b.color)
    q = [[0.1, 0.2], [0.5, -0.4]]
    np.testing.assert_allclose(renderer.render(hanging, positions=q).depth, renderer.render(eye, positions=q).depth)
    # What is fixed to the camera's own body stays where it is in the image; the ground does not.
    first, second = renderer.render(eye, positions=q).segmentation
    np.testing.assert_array_equal(first == 2, second == 2)
    assert (first != second).any()


def test_a_camera_node_is_copied_with_its_body():
    world, eye = swinging()
    twin = world.clone()
    other = twin.skeletons[1].body("lower").nodes(CameraNode)[0]
    assert other is not eye and other.lens == eye.lens
    np.testing.assert_array_equal(Renderer(twin).render(other).color, Renderer(world).render(eye).color)
    eye.lens = Pinhole(20, 10)
    assert Renderer(world).render(eye).color.shape == (10, 20, 3)


def test_colours_are_those_of_the_shapes_in_the_light():
    world = kido.World("balls")
    for k, color in enumerate([(0.9, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.2, 0.9)]):
        world.add_skeleton(scenery(kido.Sphere(0.4), at(0.0, k - 1.0, 0.0), color=color), name=f"ball {k}")
    camera = Camera(Pinhole(120, 60, np.deg2rad(30.0)), look_at((5.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    images = Renderer(world).render(camera)
    for k in range(3):
        rows, columns = np.nonzero(images.segmentation == k)
        pixels = images.color[rows, columns].astype(float)
        assert (pixels.argmax(axis=1) == k).all()
        top, bottom = pixels[rows < np.quantile(rows, 0.3)].mean(), pixels[rows > np.quantile(rows, 0.7)].mean()
        assert top > 1.3 * bottom  # the light comes from above
    behind = images.color[images.segmentation < 0]
    assert (behind[:, 2] >= behind[:, 0]).all()  # the sky


def test_a_mesh_has_the_colours_of_its_vertices():
    corners = [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]
    colors = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    mesh = kido.Mesh(corners, [[0, 1, 2], [0, 2, 3]], vertex_colors=colors)
    color = seen(scenery(mesh), transform=look_at((0.0, 0.0, 3.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))).color
    left, right = color[30, 25].astype(int), color[30, 55].astype(int)
    assert left[0] > left[2] + 50 and right[2] > right[0] + 50


SQUARE = [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]
HALVES = [[0, 1, 2], [0, 2, 3]]
FOUR = np.array([[[255, 0, 0], [0, 255, 0]], [[40, 80, 160], [255, 255, 255]]], np.uint8)  # the first row is above


def covered(image: np.ndarray, times: float = 1.0) -> kido.Mesh:
    """A square in the plane x, y with an image, so many times along either edge."""
    coordinates = times * (np.array(SQUARE)[:, :2][HALVES] + 1.0) / 2.0
    return kido.Mesh(SQUARE, HALVES, textures=[image], texture_coordinates=coordinates)


def tinted(color: np.ndarray) -> kido.Mesh:
    return kido.Mesh(SQUARE, HALVES, vertex_colors=np.tile(np.asarray(color) / 255.0, (4, 1)))


def from_above(mesh: kido.Mesh, height: float = 3.0) -> np.ndarray:
    """Colours of it, x to the right and y up."""
    return seen(scenery(mesh), transform=look_at((0.0, 0.0, height), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))).color


@pytest.mark.parametrize("times", [1, 2])
def test_a_texture_is_where_its_coordinates_say(times):
    """In the middle of a pixel of the image the colour is that of a mesh of this colour, to the last bit."""
    large = np.repeat(np.repeat(FOUR, 16, axis=0), 16, axis=1)
    found = from_above(covered(large, times))
    focal, count = LENS.focal_length, 2 * times
    for row in range(count):
        for column in range(count):
            x, y = (column + 0.5) / count * 2.0 - 1.0, 1.0 - (row + 0.5) / count * 2.0
            pixel = int(30.5 - y * focal / 3.0), int(40.5 + x * focal / 3.0)
            np.testing.assert_array_equal(found[pixel], from_above(tinted(FOUR[row % 2, column % 2]))[pixel])


def test_a_texture_is_linear_light_between_its_pixels():
    """Half way between black and white there is half of the light."""
    image = np.array([[[0, 0, 0], [255, 255, 255]]], np.uint8)
    half = 255.0 * (1.055 * 0.5 ** (1 / 2.4) - 0.055)
    found, expected = from_above(covered(image)), from_above(tinted(np.full(3, half)))
    assert np.abs(found[30, 40].astype(int) - expected[30, 40]).max() <= 1


def test_a_texture_from_afar_is_its_mean_light():
    """Checks that no sample can tell apart: without halved images samples would hit either colour."""
    image = np.zeros((256, 256, 3), np.uint8)
    image[::2, ::2] = image[1::2, 1::2] = 255
    half = 255.0 * (1.055 * 0.5 ** (1 / 2.4) - 0.055)
    found, expected = from_above(covered(image, 3), 5.0), from_above(tinted(np.full(3, half)), 5.0)
    inside = (slice(25, 36), slice(35, 46))
    assert np.abs(found[inside].astype(int) - expected[inside]).max() <= 1


def test_triangles_with_other_images_and_with_none():
    blue, red = np.full((4, 4, 3), (0, 0, 255), np.uint8), np.full((2, 2, 3), (255, 0, 0), np.uint8)
    for of_face, wanted in (([0, 1], (0, 0)), ([1, 0], (0, 0)), ([-1, 0], (1, 0)), ([1, -1], (0, 1))):
        mesh = kido.Mesh(
            SQUARE, HALVES, color=(0.0, 1.0, 0.0), textures=[blue, red], texture_of_face=of_face,
            texture_coordinates=np.zeros((2, 3, 2)),
        )  # fmt: skip
        found = from_above(mesh)
        for pixel, k, plain in (((40, 50), of_face[0], wanted[0]), ((20, 30), of_face[1], wanted[1])):
            own = (0, 255, 0) if plain else ((0, 0, 255), (255, 0, 0))[k]
            np.testing.assert_array_equal(found[pixel], from_above(tinted(own))[pixel])


def test_what_is_seen_through_lets_half_of_the_light_pass():
    """Front and back of a pane hide 1 - (1 - a)^1 of what is behind: its one entry."""
    world = kido.World("pane")
    world.add_skeleton(scenery(kido.Sphere(0.5), color=(1.0, 0.0, 0.0)), name="ball")
    camera = Camera(Pinhole(41, 41), look_at((4.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    bare = Renderer(world).render(camera).color[20, 20].astype(float)
    pane = scenery(kido.Box((0.1, 2.0, 2.0)), at(2.0, 0.0, 0.0), color=(0.0, 0.0, 0.0, 0.25))
    world.add_skeleton(pane, name="pane")
    images = Renderer(world).render(camera)
    assert images.segmentation[20, 20] == 1 and images.depth[20, 20] == pytest.approx(1.95, rel=F32)
    light = lambda c: ((c / 255.0 + 0.055) / 1.055) ** 2.4  # noqa: E731
    np.testing.assert_allclose(light(images.color[20, 20])[0], 0.75 * light(bare)[0], rtol=0.01)


def test_shadows_darken_the_ground_beside_what_throws_them():
    world = kido.World("shadow")
    world.add_ground()
    world.add_skeleton(scenery(kido.Sphere(0.3), at(z=1.0)), name="ball")
    world.skeletons[1].mobile = False
    camera = Camera(Pinhole(121, 121), look_at((0.0, 0.0, 6.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)))
    plain, shaded = (Renderer(world, shadows=on).render(camera).color.astype(int) for on in (False, True))
    # The key light stands at (0.45, -0.35, 1): a point below the ball is lit, one opposite of the light is not.
    u, v = np.floor(camera.project([-0.45, 0.35, 0.0])).astype(int)
    assert (shaded[v, u] < 0.75 * plain[v, u]).all()
    u, v = np.floor(camera.project([0.45, -0.35, 0.0])).astype(int)
    assert (np.abs(shaded[v, u] - plain[v, u]) <= 1).all()


def test_ridges_of_a_height_map_have_no_dark_specks():
    """Where smooth normals turn away at a ridge, it is as bright as the slopes, which see the sky and the lamps."""
    x = np.linspace(-1.0, 1.0, 21)
    ground = scenery(kido.Heightmap(0.05 * np.cos(2 * np.pi * x / 0.6) * np.ones((21, 1)), 0.1))
    images = seen(ground, Pinhole(160, 120, 0.5), look_at((2.5, 0.1, 0.6), (0.0, 0.0, 0.0)))
    bright = images.color[images.segmentation == 0].sum(axis=-1)
    assert len(bright) > 8000
    assert bright.min() > 0.9 * np.median(bright)


def test_oversampling_mixes_colours_at_edges_alone():
    model = scenery(kido.Sphere(0.8), at(0.1, -0.2, 3.0), color=(1.0, 0.2, 0.2))
    plain, fine = seen(model), seen(model, oversampling=4)
    differs = np.abs(plain.color.astype(int) - fine.color).max(axis=-1) > 8
    mask = plain.segmentation == 0
    edge = np.zeros_like(mask)
    for axis in (0, 1):
        for step in (-1, 1):
            edge |= np.roll(mask, step, axis) != mask
    assert differs.any() and not (differs & ~edge).any()
    np.testing.assert_array_equal(plain.depth, fine.depth)


def test_a_soft_skin_is_drawn_as_it_is_deformed():
    skeleton = kido.Skeleton("jelly")
    body = skeleton.add_soft_body("jelly", kido.SoftMesh.box((0.4, 0.4, 0.4)), total_mass=1.0)
    renderer = Renderer(skeleton)
    camera = Camera(LENS, look_at((2.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    middle = (30, 40)
    assert renderer.render(camera).depth[middle] == pytest.approx(1.8, rel=F32)
    body.displacements = np.tile([0.1, 0.0, 0.0], (body.num_points, 1))
    images = renderer.render(camera)
    assert images.depth[middle] == pytest.approx(1.7, rel=F32)
    assert renderer.shapes[images.segmentation[middle]] is body.skin


def test_changes_of_the_model_are_followed():
    world, _ = swinging()
    camera = Camera(Pinhole(64, 48), look_at((1.5, -1.0, 0.3), (0.0, 0.0, -0.4)))
    renderer = Renderer(world)
    before = renderer.render(camera)
    body = world.skeletons[1].body("upper")
    body.shapes[0].color = (0.1, 0.1, 0.9)
    after = renderer.render(camera)
    np.testing.assert_array_equal(before.depth, after.depth)
    mine = before.segmentation == renderer.shapes.index(body.shapes[0])
    assert (after.color[mine][:, 2] > after.color[mine][:, 0]).all()
    body.add_shape(kido.Sphere(0.3))
    assert (renderer.render(camera).depth < before.depth - 0.1).any()
    np.testing.assert_array_equal(renderer.body_of_shape, [0, 1, 1, 2])
    body.shapes[0].visual = False
    assert len(renderer.shapes) == 3


def test_lines_points_and_arrows_are_drawn():
    skeleton = kido.Skeleton("marks")
    body = skeleton.add_body("body", kido.WeldJoint("weld"))
    body.add_shape(kido.LineSegment([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]], thickness=0.1))
    body.add_shape(kido.PointCloud([[0.0, 0.5, 0.0]], radius=0.1), collision=False)
    body.add_shape(kido.Arrow((0.0, -0.5, 0.0), (0.5, -0.5, 0.0), 0.05))
    camera = Camera(Pinhole(64, 64), look_at((0.0, 0.0, 3.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    images = Renderer(skeleton).render(camera)
    assert set(np.unique(images.segmentation)) == {-1, 0, 1, 2}
    assert images.depth.min() == pytest.approx(2.9, abs=0.01)
