"""Height maps of SDF, PNG images, and the new shapes through the writers."""

import struct
import zlib

import numpy as np
import pytest

import kido
from kido.errors import FileFormatError, KidoError, MeshNotFoundError
from kido.io.images import read_png

GREY = (np.add.outer(np.arange(6), 3 * np.arange(5)) * 4000 % 65536).astype(np.uint16)


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(values, kind=0, filters=None, depth=None, palette=None, interlaced=0):
    """A PNG file of an array (rows, columns) or (rows, columns, channels); filters only 0, 1 and 2."""
    values = np.asarray(values)
    depth = depth or 8 * values.dtype.itemsize
    rows = values.astype(values.dtype.newbyteorder(">")).reshape(len(values), -1).view(np.uint8)
    pixel = (values.shape[2] if values.ndim == 3 else 1) * values.dtype.itemsize
    above, packed = np.zeros_like(rows[0]), b""
    for y, row in enumerate(rows):
        method = 0 if filters is None else filters[y % len(filters)]
        line = row
        if method == 1:
            line = row - np.concatenate([np.zeros(pixel, np.uint8), row[:-pixel]])
        elif method == 2:
            line = row - above
        packed += bytes([method]) + line.tobytes()
        above = row
    header = struct.pack(">IIBBBBB", values.shape[1], values.shape[0], depth, kind, 0, 0, interlaced)
    body = chunk(b"IHDR", header) + (chunk(b"PLTE", palette) if palette else b"")
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IDAT", zlib.compress(packed)) + chunk(b"IEND", b"")


def written(tmp_path, data, name="h.png"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("filters", [None, [1], [2], [0, 1, 2]])
def test_grey_values_of_images(tmp_path, filters):
    np.testing.assert_array_equal(read_png(written(tmp_path, png(GREY, filters=filters))), GREY / 65535.0)
    small = (GREY >> 8).astype(np.uint8)
    np.testing.assert_array_equal(read_png(written(tmp_path, png(small, filters=filters))), small / 255.0)
    rgba = np.stack([small, small + 1, small + 2, small + 3], axis=2)
    np.testing.assert_array_equal(read_png(written(tmp_path, png(rgba, 6, filters))), small / 255.0)
    palette = bytes(range(30))
    picked = read_png(written(tmp_path, png(small % 10, 3, filters, palette=palette)))
    np.testing.assert_array_equal(picked, (small % 10) * 3 / 255.0)


def test_images_by_a_peer(tmp_path):
    imageio = pytest.importorskip("imageio.v3")
    smooth = (np.add.outer(np.arange(64), np.arange(50)) * 500).astype(np.uint16)  # of all filters
    imageio.imwrite(tmp_path / "a.png", smooth)
    np.testing.assert_array_equal(read_png(tmp_path / "a.png"), smooth / 65535.0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GIF89a", "no PNG"),
        (png(GREY)[:20], "no header"),
        (png(GREY)[:-30], "damaged"),
        (png(GREY, interlaced=1), "interlacing 1"),
        (png(GREY, kind=5), "colour type 5"),
        (png((GREY % 10).astype(np.uint8), 3, palette=bytes(9)), "not among the 3"),
    ],
)
def test_bad_images_are_refused(tmp_path, data, message):
    with pytest.raises(FileFormatError, match=message):
        read_png(written(tmp_path, data))


def test_huge_images_are_refused_before_they_are_unpacked(tmp_path):
    header = struct.pack(">IIBBBBB", 2**20, 2**20, 8, 0, 0, 0, 0)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(2**20)))
        + chunk(b"IEND", b"")
    )
    with pytest.raises(FileFormatError, match="1048576 x 1048576"):
        read_png(written(tmp_path, data))


def sdf(tmp_path, heightmap):
    path = tmp_path / "w.sdf"
    path.write_text(
        '<sdf version="1.9"><model name="m"><static>true</static><link name="a"><collision name="c">'
        f"<pose>1 0 0 0 0 1.5707963267948966</pose><geometry><heightmap>{heightmap}</heightmap></geometry></collision>"
        "</link></model></sdf>"
    )
    return path


def test_height_map_of_sdf(tmp_path):
    written(tmp_path, png(GREY))
    path = sdf(tmp_path, "<uri>h.png</uri><size>8 10 3</size><pos>0 2 5</pos><texture/>")
    skeleton = kido.load(path).skeletons[0]
    node = skeleton.body("a").shapes[0]
    assert isinstance(node.shape, kido.Heightmap)
    assert node.shape.size == pytest.approx((8.0, 10.0))
    # The top row of the image is at high y.
    np.testing.assert_allclose(node.shape.heights, 3.0 * GREY[::-1] / 65535.0, rtol=1e-15)
    np.testing.assert_allclose(node.relative_transform[:3, 3], [-1, 0, 5], atol=1e-12)
    assert any("texture" in text for text in skeleton.warnings)
    upside_down = (
        kido.load(sdf(tmp_path, "<uri>h.png</uri><size>8 10 -3</size>")).skeletons[0].body("a").shapes[0].shape
    )
    np.testing.assert_allclose(upside_down.heights, 3.0 * (1.0 - GREY[::-1] / 65535.0), rtol=1e-15)


def test_height_maps_that_are_not_there(tmp_path):
    with pytest.raises(MeshNotFoundError, match=r"h\.png"):
        kido.load(sdf(tmp_path, "<uri>h.png</uri>"))
    written(tmp_path, b"nothing")
    with pytest.raises(FileFormatError, match=r"h\.png.*no PNG"):
        kido.load(sdf(tmp_path, "<uri>h.png</uri>"))
    with pytest.raises(FileFormatError, match="size"):
        kido.load(sdf(tmp_path, "<uri>h.png</uri><size>0 1 1</size>"))
    written(tmp_path, b"nothing", "h.tif")
    skeleton = kido.load(sdf(tmp_path, "<uri>h.tif</uri>")).skeletons[0]
    assert list(skeleton.body("a").shapes) == []
    assert any("only PNG" in text for text in skeleton.warnings)
    written(tmp_path, png(GREY[:1]))
    with pytest.raises(FileFormatError, match=r"at least \(2, 2\)"):
        kido.load(sdf(tmp_path, "<uri>h.png</uri>"))


OBJ = """o floor
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 2 3
g peak
f 1 2 4
f 2 3 4
"""
GEOMETRY = """<geometry id="{0}-mesh" name="{0}"><mesh><source id="{0}-p"><float_array id="{0}-a" count="9">{1} 0 0
{2} 0 0 {1} 1 0</float_array><technique_common><accessor source="#{0}-a" count="3" stride="3"/></technique_common>
</source><vertices id="{0}-v"><input semantic="POSITION" source="#{0}-p"/></vertices><triangles count="1">
<input semantic="VERTEX" source="#{0}-v" offset="0"/><p>0 1 2</p></triangles></mesh></geometry>"""
DAE = (
    '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><library_geometries>'
    f"{GEOMETRY.format('one', 0, 1)}{GEOMETRY.format('two', 5, 6)}</library_geometries></COLLADA>"
)


def sdf_mesh(tmp_path, uri, submesh):
    path = tmp_path / "m.sdf"
    path.write_text(
        '<sdf version="1.9"><model name="m"><static>true</static><link name="a"><collision name="c"><geometry><mesh>'
        f"<uri>{uri}</uri><scale>2 2 2</scale><submesh>{submesh}</submesh></mesh></geometry></collision></link>"
        "</model></sdf>"
    )
    return path


def test_parts_of_meshes(tmp_path):
    (tmp_path / "a.obj").write_text(OBJ)
    (tmp_path / "a.dae").write_text(DAE)
    (tmp_path / "a.stl").write_bytes(bytes(80) + struct.pack("<I", 0))

    def part(uri, submesh):
        return kido.load(sdf_mesh(tmp_path, uri, submesh)).skeletons[0].body("a").shapes[0].shape

    peak = part("a.obj", "<name>peak</name>")
    assert len(peak.faces) == 2 and len(peak.vertices) == 4
    floor = part("a.obj", "<name>floor</name><center>true</center>")
    np.testing.assert_allclose(floor.aabb, [[-1, -1, 0], [1, 1, 0]], atol=1e-15)
    for name in ("two", "two-mesh"):
        np.testing.assert_allclose(part("a.dae", f"<name>{name}</name>").aabb, [[10, 0, 0], [12, 2, 0]], atol=1e-15)
    with pytest.raises(FileFormatError, match=r"no part 'roof'; expected one of floor, peak"):
        part("a.obj", "<name>roof</name>")
    with pytest.raises(FileFormatError, match=r"no part 'three'; expected one of one, two"):
        part("a.dae", "<name>three</name>")
    with pytest.raises(FileFormatError, match="STL file has no parts"):
        part("a.stl", "<name>x</name>")
    with pytest.raises(FileFormatError, match="name"):
        part("a.obj", "")


SHAPES = {
    "pyramid": kido.Pyramid(0.3, 0.5, 0.4),
    "spheres": kido.MultiSphereHull([[0, 0, 0], [0.3, 0, 0.1]], [0.1, 0.05]),
    "voxels": kido.VoxelGrid(np.ones((1, 2, 1)), 0.2),
    "heights": kido.Heightmap(np.arange(6.0).reshape(2, 3)),
    "line": kido.LineSegment([[0, 0, 1], [0, 1, 1]], thickness=0.1),
    "cloud": kido.PointCloud([[0, 0, 0.0]]),
}


@pytest.mark.parametrize("suffix", ["urdf", "sdf", "skel"])
@pytest.mark.parametrize("name", SHAPES)
def test_new_shapes_are_written(tmp_path, name, suffix):
    skeleton = kido.Skeleton("s")
    inertia = kido.Inertia.from_shape(kido.Box((1, 1, 1)), mass=1.0)
    skeleton.add_body("b", kido.FreeJoint("j"), inertia=inertia).add_shape(SHAPES[name], name="it")
    path = tmp_path / f"s.{suffix}"
    if name in ("voxels", "heights", "line", "cloud"):
        with pytest.raises(KidoError, match="approximate=True"):
            kido.save(skeleton, path)
    kido.save(skeleton, path, approximate=True)
    loaded = kido.load(path)
    bodies = (loaded.skeletons[0] if isinstance(loaded, kido.World) else loaded).bodies
    nodes = [node for body in bodies for node in body.shapes]
    if name == "cloud":
        assert nodes == []
        return
    low, high = SHAPES[name].aabb
    for node in nodes:
        X = node.relative_transform
        if isinstance(node.shape, kido.Mesh | kido.MultiSphereHull):
            np.testing.assert_allclose(node.shape.aabb, [low, high], atol=1e-9)
        else:  # a line's cylinder
            np.testing.assert_allclose(X[:3, 3], [0, 0.5, 1], atol=1e-12)
            np.testing.assert_allclose(np.abs(X[:3, 2]), [0, 1, 0], atol=1e-12)
    assert nodes
    if (name, suffix) == ("spheres", "skel"):
        np.testing.assert_array_equal(nodes[0].shape.centers, SHAPES[name].centers)
        np.testing.assert_array_equal(nodes[0].shape.radii, SHAPES[name].radii)
