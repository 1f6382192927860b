"""Mesh readers: STL, OBJ and COLLADA, against hand-made files and trimesh."""

from __future__ import annotations

import re
import struct
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

from kido.errors import FileFormatError, KidoError, MeshNotFoundError
from kido.io.meshes import load_mesh, read_mesh_data
from kido.io.meshes.triangles import merge_equal_vertices

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], dtype=float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
VOLUME = 1.0  # 1 * 2 * 3 / 6


def text_stl(header: str = "solid t") -> str:
    lines = [header]
    for face in FACES:
        lines += ["facet normal 0 0 0", " outer loop"]
        lines += [f"  vertex {x:g} {y:g} {z:g}" for x, y, z in TETRAHEDRON[face]]
        lines += [" endloop", "endfacet"]
    return "\n".join([*lines, "endsolid t\n"])


def binary_stl(header: bytes = b"made by hand") -> bytes:
    triangles = b"".join(struct.pack("<12fH", 0, 0, 0, *TETRAHEDRON[face].reshape(-1), 0) for face in FACES)
    return header.ljust(80, b" ") + struct.pack("<I", len(FACES)) + triangles


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def check_tetrahedron(mesh) -> None:
    assert len(mesh.vertices) == 4
    assert len(mesh.faces) == 4
    assert mesh.volume == pytest.approx(VOLUME, abs=1e-12)
    np.testing.assert_array_equal(mesh.aabb, [[0, 0, 0], [1, 2, 3]])


# -- STL ---------------------------------------------------------------------------------------------


def test_text_and_binary_stl(tmp_path: Path) -> None:
    check_tetrahedron(load_mesh(write(tmp_path, "text.stl", text_stl())))
    check_tetrahedron(load_mesh(write(tmp_path, "upper.STL", text_stl().upper())))
    check_tetrahedron(load_mesh(write(tmp_path, "dos.stl", text_stl().replace("\n", "\r\n"))))
    check_tetrahedron(load_mesh(write(tmp_path, "binary.stl", binary_stl())))
    check_tetrahedron(load_mesh(write(tmp_path, "solid.stl", binary_stl(b"solid but binary"))))


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"", None, "not an STL file: 0 bytes"),
        (b"no STL at all", None, "not an STL file: 13 bytes"),
        (binary_stl()[:-1], None, "its header counts 4 triangles \\(284 bytes\\), but it has 283 bytes"),
        (
            text_stl()[:-40],
            text_stl()[:-40].count("\n") + 1,
            "truncated STL: it does not end with 'endsolid'",
        ),
        (text_stl().replace("  vertex 1 0 0\n", "", 1), None, "11 vertices, not a multiple of 3"),
        (
            text_stl().replace("vertex 1 0 0", "vertex 1 0", 1),
            6,
            "expected 'vertex x y z' with three numbers",
        ),
        (
            text_stl().replace("vertex 1 0 0", "vertex 1 0 one", 1),
            6,
            "expected 'vertex x y z' with three numbers",
        ),
        (text_stl().replace("vertex 1 0 0", "vertex 1 0 nan", 1), None, "expected finite numbers"),
        ("solid empty\nendsolid empty\n", None, "the mesh has no triangles"),
    ],
)
def test_bad_stl(tmp_path: Path, content: str | bytes, line: int | None, reason: str) -> None:
    path = write(tmp_path, "bad.stl", content)
    with pytest.raises(FileFormatError, match=reason) as caught:
        load_mesh(path)
    assert caught.value.path == str(path)
    assert caught.value.line == line


def test_equal_corners_are_merged_exactly() -> None:
    rng = np.random.default_rng(3)
    vertices = rng.normal(size=(500, 3)).astype(np.float32)
    corners = vertices[rng.integers(0, 500, 3 * 4000)]
    merged, faces = merge_equal_vertices(corners)
    assert len(merged) == len(np.unique(corners, axis=0))
    np.testing.assert_array_equal(merged[faces.reshape(-1)], corners)
    merged, faces = merge_equal_vertices(np.array([[0.0, 1, 2], [-0.0, 1, 2], [0, 1, 2.5]]))
    assert len(merged) == 2


def test_signalling_nan_in_a_damaged_stl_is_merged_without_a_warning():
    corners = np.arange(9, dtype="<f4").reshape(3, 3)
    corners.view(np.uint32)[0, 0] = 0x7F800001  # a signalling NaN
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        merged, _ = merge_equal_vertices(corners)
    assert np.isnan(merged).sum() == 1


# -- OBJ ---------------------------------------------------------------------------------------------

OBJ = """# a tetrahedron
mtllib colours.mtl
v 0 0 0
v 1 0 0
v 0 2 0 1.0 0.5 0.5
v 0 0 3
usemtl red
f 1 3 2
f 1/1 2/2 4/3
usemtl green
f -4//1 -1//1 -2//1
f 2 3 \\
  4
"""


def test_obj(tmp_path: Path) -> None:
    (tmp_path / "colours.mtl").write_text("newmtl red\nKd 1 0 0\nd 0.5\nnewmtl green\nKd 0 1 0\nTr 0.25\n")
    data = read_mesh_data(write(tmp_path, "t.obj", OBJ))
    assert data.remarks == ()
    assert data.vertex_colors is not None
    colors = {tuple(data.vertex_colors[face[0]]) for face in data.faces}
    assert colors == {(1, 0, 0, 0.5), (0, 1, 0, 0.75)}
    mesh = load_mesh(tmp_path / "t.obj")
    assert mesh.volume == pytest.approx(VOLUME, abs=1e-12)
    np.testing.assert_array_equal(mesh.aabb, [[0, 0, 0], [1, 2, 3]])


def test_obj_polygons_and_one_colour(tmp_path: Path) -> None:
    (tmp_path / "m.mtl").write_text("newmtl a b\nKd 0.2 0.4 0.6\n")
    text = "mtllib m.mtl\nusemtl a b\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 5 5 5\nf 1 2 3 4\n"
    data = read_mesh_data(write(tmp_path, "square.obj", text))
    assert data.faces.shape == (2, 3)
    assert len(data.vertices) == 4  # the fifth is not used
    assert data.color == (0.2, 0.4, 0.6, 1.0)
    assert data.vertex_colors is None


def test_obj_material_libraries_that_cannot_be_read(tmp_path: Path) -> None:
    square = "v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\n"
    remarks: list[str] = []
    for _ in range(2):  # a cached mesh is remarked again
        load_mesh(write(tmp_path, "a.obj", "mtllib none.mtl\n" + square), remark=remarks.append)
    load_mesh(write(tmp_path, "null.obj", "mtllib no\0ne.mtl\n" + square), remark=remarks.append)
    assert len(remarks) == 3
    assert "none.mtl' is not there" in remarks[0]
    (tmp_path / "sub").mkdir()
    (tmp_path / "out.mtl").write_text("newmtl x\nKd 1 0 0\n")
    data = read_mesh_data(write(tmp_path / "sub", "b.obj", "mtllib ../out.mtl\nusemtl x\n" + square))
    assert data.color is None
    assert "is not below the mesh's folder" in data.remarks[0]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("v 0 0\n", 1, "expected 3 numbers, got '0 0'"),
        ("v 0 0 x\n", 1, "expected 3 numbers"),
        ("v 0 0 0\n\nf 1 2 3\n", 3, "vertex index 2; the file has 1 vertices so far"),
        ("v 0 0 0\nf 0 0 0\n", 2, "vertex index 0"),
        ("v 0 0 0\nf -2 1 1\n", 2, "vertex index -2"),
        ("v 0 0 0\nf 1 1\n", 2, "a face with 2 corners"),
        ("v 0 0 0\nf a b c\n", 2, "'a' is not a vertex index"),
        ("v 0 0 0\n", None, "the mesh has no triangles"),
        ("v 0 0 inf\nv 0 1 0\nv 1 0 0\nf 1 2 3\n", None, "expected finite numbers"),
    ],
)
def test_bad_obj(tmp_path: Path, text: str, line: int | None, reason: str) -> None:
    with pytest.raises(FileFormatError, match=reason) as caught:
        load_mesh(write(tmp_path, "bad.obj", text), strict=True)
    assert caught.value.line == line


# -- COLLADA -----------------------------------------------------------------------------------------

EFFECT = """<effect id="e{0}"><profile_COMMON><technique sid="t"><phong>
<diffuse>{1}</diffuse></phong></technique></profile_COMMON></effect>"""
RED = "<color>1 0 0 1</color>"
BLUE = "<color>0 0 1 0.5</color>"


def collada(
    asset: str = "",
    node: str = "<node>{instance}</node>",
    primitives: str = "",
    effects: str = EFFECT.format(1, RED) + EFFECT.format(2, BLUE),
) -> str:
    indices = " ".join(str(i) for i in FACES.reshape(-1))
    triangles = (
        '<triangles count="4" material="m1"><input semantic="VERTEX" source="#v" offset="0"/>'
        f"<p>{indices}</p>"
        "</triangles>"
    )
    positions = " ".join(f"{x:g}" for x in TETRAHEDRON.reshape(-1))
    instance = (
        '<instance_geometry url="#g"><bind_material><technique_common>'
        '<instance_material symbol="m1" target="#M1"/><instance_material symbol="m2" target="#M2"/>'
        "</technique_common></bind_material></instance_geometry>"
    )
    return f"""<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>{asset}</asset>
<library_effects>{effects}</library_effects>
<library_materials><material id="M1"><instance_effect url="#e1"/></material>
<material id="M2"><instance_effect url="#e2"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="a" count="12">{positions}</float_array>
<technique_common><accessor source="#a" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
{primitives or triangles}</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="scene">{node.format(instance=instance)}</visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#scene"/></scene></COLLADA>"""


def primitive(tag: str, inside: str, material: str = "m1") -> str:
    source = '<input semantic="VERTEX" source="#v" offset="0"/>'
    return f'<{tag} count="4" material="{material}">{source}{inside}</{tag}>'


def test_dae(tmp_path: Path) -> None:
    mesh = load_mesh(write(tmp_path, "t.dae", collada()))
    check_tetrahedron(mesh)
    assert mesh.color == (1, 0, 0, 1)


def test_dae_turned_about_an_axis_of_any_length(tmp_path: Path) -> None:
    turn = "<node><rotate>0 0 {:g} 90</rotate>{{instance}}</node>"
    for length in (1.0, 1e200, 1e-200):  # whose squares are no numbers, or zero
        mesh = load_mesh(write(tmp_path, f"{length}.dae", collada(node=turn.format(length))))
        np.testing.assert_allclose(mesh.aabb, [[-2, 0, 0], [0, 1, 3]], atol=1e-15)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("first", ["1e300", "1e308", "-1e-320"])
def test_dae_in_places_beyond_numbers(tmp_path: Path, first: str) -> None:
    matrix = f"<matrix>{first} 0 0 {first}  0 1e300 0 0  0 0 1e300 0  0 0 0 1</matrix>"
    path = write(tmp_path, "t.dae", collada(node=f"<node>{matrix}<scale>1e300 1 1</scale>{{instance}}</node>"))
    with pytest.raises(KidoError, match="vert"):
        _ = load_mesh(path).hull


def test_dae_unit_and_up_axis(tmp_path: Path) -> None:
    asset = '<unit name="centimeter" meter="0.01"/><up_axis>{}</up_axis>'
    y_up = write(tmp_path, "y.dae", collada(asset.format("Y_UP")))
    np.testing.assert_allclose(load_mesh(y_up).aabb, [[0, 0, 0], [0.01, 0.02, 0.03]], atol=1e-15)
    turned = load_mesh(y_up, up_axis="apply")  # y becomes z, z becomes -y
    np.testing.assert_allclose(turned.aabb, [[0, -0.03, 0], [0.01, 0, 0.02]], atol=1e-15)
    assert turned.volume == pytest.approx(1e-6, rel=1e-12)
    x_up = write(tmp_path, "x.dae", collada(asset.format("X_UP")))  # x becomes z, y becomes -x, z becomes -y
    turned = load_mesh(x_up, up_axis="apply")
    np.testing.assert_allclose(turned.aabb, [[-0.02, -0.03, 0], [0, 0, 0.01]], atol=1e-15)
    assert turned.volume == pytest.approx(1e-6, rel=1e-12)
    z_up = write(tmp_path, "z.dae", collada(asset.format("Z_UP")))
    np.testing.assert_array_equal(load_mesh(z_up, up_axis="apply").aabb, load_mesh(z_up).aabb)


def test_dae_node_transforms(tmp_path: Path) -> None:
    node = (
        "<node><translate>10 0 0</translate><node><rotate>0 0 1 90</rotate><scale>2 2 2</scale>{instance}"
        "</node></node>"
        "<node><matrix>-1 0 0 0  0 1 0 0  0 0 1 0  0 0 0 1</matrix>{instance}</node>"
    )
    mesh = load_mesh(write(tmp_path, "t.dae", collada(node=node)))
    first, second = mesh.vertices[:4], mesh.vertices[4:]
    # Rotated: x to y, y to -x; then moved by 10.
    np.testing.assert_allclose([first.min(axis=0), first.max(axis=0)], [[6, 0, 0], [10, 2, 6]], atol=1e-14)
    np.testing.assert_allclose([second.min(axis=0), second.max(axis=0)], [[-1, 0, 0], [0, 2, 3]], atol=1e-14)
    assert mesh.volume == pytest.approx(8 + 1)  # the mirrored copy still faces outwards


@pytest.mark.parametrize(
    "primitives",
    [
        primitive("polylist", "<vcount>3 3 3 3</vcount><p>0 2 1 0 1 3 0 3 2 1 2 3</p>"),
        primitive("polygons", "<p>0 2 1</p><p>0 1 3</p><p>0 3 2</p><p>1 2 3</p>"),
        primitive("trifans", "<p>0 2 1 3 2</p><p>1 2 3</p>"),
        primitive("tristrips", "<p>0 2 1 3 0 2</p>"),
    ],
    ids=["polylist", "polygons", "trifans", "tristrips"],
)
def test_dae_primitives(tmp_path: Path, primitives: str) -> None:
    check_tetrahedron(load_mesh(write(tmp_path, "t.dae", collada(primitives=primitives))))


def test_dae_quadrilaterals(tmp_path: Path) -> None:
    primitives = primitive("polylist", "<vcount>4 3</vcount><p>0 1 2 3 0 1 2</p>")
    assert len(load_mesh(write(tmp_path, "t.dae", collada(primitives=primitives))).faces) == 3


def test_dae_colours(tmp_path: Path) -> None:
    two = primitive("triangles", "<p>0 2 1 0 1 3</p>") + primitive("triangles", "<p>0 3 2 1 2 3</p>", "m2")
    data = read_mesh_data(write(tmp_path, "two.dae", collada(primitives=two)))
    assert data.vertex_colors is not None
    assert {tuple(data.vertex_colors[face[0]]) for face in data.faces} == {(1, 0, 0, 1), (0, 0, 1, 0.5)}


@pytest.mark.parametrize(
    "effects", ["", EFFECT.format(1, '<texture texture="x"/>'), EFFECT.format(1, "<color>a</color>")]
)
def test_dae_with_broken_materials_keeps_its_geometry(tmp_path: Path, effects: str) -> None:
    mesh = load_mesh(write(tmp_path, "t.dae", collada(effects=effects)))
    check_tetrahedron(mesh)
    assert mesh.color is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<robot/>", "the root element is <robot>; expected <COLLADA>"),
        (collada()[:-30], "not well-formed XML"),
        ('<!DOCTYPE COLLADA [<!ENTITY a "b">]>\n' + collada().split("\n", 1)[1], "entities are refused"),
        (collada('<unit meter="0"/>'), "the unit is 0.0 metres"),
        (collada("<up_axis>UP</up_axis>"), "up_axis is 'UP'; expected one of X_UP, Y_UP, Z_UP"),
        (collada().replace('url="#g"', 'url="#h"'), "no <geometry> in this file has that id"),
        (collada().replace('url="#g"', 'url="other.dae#g"'), "no <geometry> in this file has that id"),
        (collada().replace("0 2 1 0 1 3", "0 2 1 0 1 9"), "names vertices 0 to 9 of 4"),
        (collada().replace("0 2 1 0 1 3", "0 2 1 0 1"), "not a multiple of 3"),
        (collada().replace("0 2 1 0 1 3", "0 2 1 0 x 3"), "holds something that is not a number"),
        (collada().replace("0 0 0 1 0 0 0 2 0", "0 0 0 1 nan 0 0 2 0"), "not finite"),
        (
            collada().replace('count="4" stride', 'count="5" stride'),
            "12 numbers; the accessor needs 5 times 3",
        ),
        (collada().replace("<node>", "<node><translate>1 2</translate>"), "holds 2 numbers; expected 3"),
        (
            collada(node='<node id="n">{instance}<instance_node url="#n"/></node>'),
            "the node 'n' contains itself",
        ),
        (collada(node="<node/>"), "the mesh has no triangles"),
    ],
)
def test_bad_dae(tmp_path: Path, content: str, reason: str) -> None:
    path = write(tmp_path, "bad.dae", content)
    with pytest.raises(FileFormatError, match=reason) as caught:
        load_mesh(path)
    assert caught.value.path == str(path)


def test_dae_with_nodes_without_end(tmp_path: Path) -> None:
    """Nodes 1,500 deep, and 40 nodes each of which places the next one twice."""
    deep = "<node>" * 1500 + '<instance_geometry url="#g"/>' + "</node>" * 1500
    twice = "".join(f'<node id="n{k}">' + f'<instance_node url="#n{k + 1}"/>' * 2 + "</node>" for k in range(40))
    for node, reason in (
        (deep, "nested more than 200 deep"),
        (twice + '<node id="n40"/>', "placed more than 100000 times"),
    ):
        with pytest.raises(FileFormatError, match=reason):
            load_mesh(write(tmp_path, "t.dae", collada(node=node)))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # its use of numpy.matrix
def test_dae_against_pycollada(example_robots: Path) -> None:
    """Bounds of real files equal those another reader finds; it works in single precision, hence 1e-6."""
    reader = pytest.importorskip("collada", reason="pycollada is not installed")
    for name in (
        "ur_description/meshes/ur5/visual/base.dae",
        "tiago_description/meshes/arm/arm_1_collision.dae",
        "anymal_b_simple_description/meshes/hip/anymal_hip_l.dae",
    ):
        path = example_robots / name
        document = reader.Collada(str(path), ignore=[reader.common.DaeBrokenRefError])
        points = []
        for geometry in document.scene.objects("geometry"):
            for item in geometry.primitives():
                triangles = item.triangleset() if hasattr(item, "triangleset") else item
                points.append(np.asarray(triangles.vertex)[np.asarray(triangles.vertex_index)].reshape(-1, 3))
        found = np.concatenate(points) * (document.assetInfo.unitmeter or 1.0)
        np.testing.assert_allclose(load_mesh(path).aabb, [found.min(axis=0), found.max(axis=0)], atol=1e-6)


# -- common ------------------------------------------------------------------------------------------


def test_scale_and_mirror(tmp_path: Path) -> None:
    path = write(tmp_path, "t.stl", binary_stl())
    assert load_mesh(path, 2.0).volume == pytest.approx(8 * VOLUME)
    mirrored = load_mesh(path, (1, -1, 1))
    np.testing.assert_array_equal(mirrored.aabb, [[0, -2, 0], [1, 0, 3]])
    corners = mirrored.vertices[mirrored.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    outward = corners.mean(axis=1) - mirrored.vertices.mean(axis=0)
    assert (np.einsum("ij,ij->i", normals, outward) > 0).all()


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    path = write(tmp_path, "t.stl", binary_stl())
    first = load_mesh(path)
    assert load_mesh(path) is first
    assert load_mesh(path, 2.0) is not first
    write(tmp_path, "t.stl", text_stl())
    again = load_mesh(path)
    assert again is not first
    assert first.uri == again.uri == str(path)


@pytest.mark.parametrize("scale", [0.0, (1, 0, 1), (1, 2), float("nan"), "big", (1, np.inf, 1)])
def test_bad_scales(tmp_path: Path, scale) -> None:
    path = write(tmp_path, "t.stl", binary_stl())
    with pytest.raises(KidoError, match="mesh scale is"):
        load_mesh(path, scale)


def test_files_that_cannot_be_meshes(tmp_path: Path) -> None:
    with pytest.raises(MeshNotFoundError, match=r"none\.stl"):
        load_mesh(tmp_path / "none.stl")
    with pytest.raises(FileFormatError, match=r"mesh format '\.ply' is not supported; expected one of \.dae, \.glb"):
        load_mesh(write(tmp_path, "t.ply", "ply"))
    with pytest.raises(KidoError, match="up_axis is 'Z'; expected one of ignore, apply"):
        load_mesh(write(tmp_path, "t.stl", binary_stl()), up_axis="Z")


# Textures ------------------------------------------------------------------------------------------------------------

PICTURE = np.random.default_rng(5).integers(0, 256, (4, 6, 3)).astype(np.uint8)
COVERED = """mtllib sheet.mtl
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vt 0 0
vt 1 0
vt 1 1
vt 0 0.5
usemtl cloth
f 1/1 2/2 3/3 4/-1
usemtl paint
f 1 2 3
f 2/1 2/1 3/2
"""
LIBRARY = "newmtl cloth\nKd 1 1 1\nmap_Kd -s 1 1 1 pictures/cloth.png\nnewmtl paint\nKd 0 1 0\n"


def covered(folder: Path, library: str = LIBRARY) -> Path:
    (folder / "pictures").mkdir(exist_ok=True)
    Image.fromarray(PICTURE).save(folder / "pictures" / "cloth.png")
    write(folder, "sheet.mtl", library)
    return write(folder, "sheet.obj", COVERED)


def test_obj_has_the_textures_of_its_materials(tmp_path):
    mesh = load_mesh(covered(tmp_path))
    assert len(mesh.textures) == 1
    np.testing.assert_array_equal(mesh.textures[0], PICTURE)
    assert mesh.texture_of_face.tolist() == [0, 0, -1]  # a triangle with two equal corners is left out
    assert mesh.texture_coordinates[:2].tolist() == [[[0, 0], [1, 0], [1, 1]], [[0, 0], [1, 1], [0, 0.5]]]
    mirrored = load_mesh(tmp_path / "sheet.obj", (1, 1, -1))
    assert mirrored.texture_coordinates[0].tolist() == [[1, 1], [1, 0], [0, 0]]
    assert mirrored.faces[0].tolist() == mesh.faces[0, ::-1].tolist()


@pytest.mark.parametrize(
    "named, words",
    [
        ("../cloth.png", r"texture '\.\./cloth\.png' is not below the mesh's folder and is left out"),
        ("/etc/hostname", "is not below the mesh's folder"),
        ("pictures/none.png", r"texture 'none\.png' cannot be read and is left out"),
        ("sheet.mtl", r"texture 'sheet\.mtl' cannot be read and is left out"),
    ],
)
def test_textures_that_cannot_be_read_are_left_out_with_a_remark(tmp_path, named, words):
    path, remarks = covered(tmp_path, LIBRARY.replace("-s 1 1 1 pictures/cloth.png", named)), []
    mesh = load_mesh(path, remark=remarks.append)
    assert mesh.textures is None and len(mesh.faces) == 3
    assert any(re.search(words, text) for text in remarks)


def test_without_pillow_there_are_no_textures(tmp_path, monkeypatch):
    path, remarks = covered(tmp_path), []
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    assert load_mesh(path, remark=remarks.append).textures is None
    assert any("images need Pillow, pip install 'kido[viewer]'" in text for text in remarks)


def test_gltf_is_read_with_colours_and_textures(tmp_path):
    """What trimesh wrote: places of nodes, an image, colours of vertices and one of a material."""
    scene = trimesh.Scene()
    cloth = trimesh.Trimesh(TETRAHEDRON, FACES, process=False)
    uv = np.array([[0, 0], [1, 0], [0, 1], [0.5, 0.25]])
    material = trimesh.visual.material.PBRMaterial(baseColorTexture=Image.fromarray(PICTURE))
    cloth.visual = trimesh.visual.TextureVisuals(uv=uv, material=material)
    moved = np.eye(4)
    moved[:3, 3] = (0.0, 5.0, 0.0)
    scene.add_geometry(cloth, transform=moved)
    tinted = trimesh.Trimesh(TETRAHEDRON, FACES, process=False)
    tinted.visual = trimesh.visual.ColorVisuals(vertex_colors=np.tile([255, 0, 51, 255], (4, 1)))
    scene.add_geometry(tinted)
    path = write(tmp_path, "two.glb", scene.export(file_type="glb"))
    mesh = load_mesh(path)
    first = next(k for k in range(8) if mesh.texture_of_face[k] == 0)
    order = [k for k in range(8) if mesh.texture_of_face[k] == 0]
    assert len(mesh.faces) == 8 and len(order) == 4
    np.testing.assert_array_equal(mesh.textures[0], PICTURE)
    for face, corners in zip(mesh.faces[order], mesh.texture_coordinates[order]):
        for vertex, pin in zip(mesh.vertices[face], corners):
            k = int(np.flatnonzero((vertex == TETRAHEDRON + (0, 5, 0)).all(axis=1))[0])
            np.testing.assert_allclose(pin, uv[k], atol=1e-6)  # float32 in the file
    other = next(k for k in range(8) if mesh.texture_of_face[k] == -1)
    np.testing.assert_allclose(mesh.vertex_colors[mesh.faces[other, 0]], [1.0, 0.0, 0.2, 1.0], atol=1e-9)
    turned = load_mesh(path, up_axis="apply")
    np.testing.assert_allclose(turned.vertices, mesh.vertices[:, [0, 2, 1]] * (1, -1, 1), atol=1e-12)
    assert mesh.faces[first].tolist() == turned.faces[first].tolist()
    for content in (b"", b"glTF no", path.read_bytes()[:200]):
        with pytest.raises(FileFormatError, match="no glTF file of one piece"):
            load_mesh(write(tmp_path, "broken.glb", content))
    with pytest.raises(FileFormatError, match="a glTF file, as it is read, has no parts"):
        load_mesh(path, submesh="cloth")
    outside = '{"asset": {"version": "2.0"}, "buffers": [{"uri": "../x.bin", "byteLength": 4}]}'
    with pytest.raises(FileFormatError):
        load_mesh(write(tmp_path, "outside.gltf", outside))
