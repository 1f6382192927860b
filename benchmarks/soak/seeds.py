"""Good files of every format, as seeds of mutations."""

# ruff: noqa: E501  (lines of files)
from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

import kido

SUFFIXES = (".urdf", ".sdf", ".skel", ".stl", ".obj", ".dae", ".png", ".h5", ".npz")

SDF = """<?xml version="1.0"?>
<sdf version="1.9"><world name="w"><gravity>0 0 -9.8</gravity><physics name="p" type="ode"><max_step_size>0.001
</max_step_size></physics><frame name="f" attached_to="m"><pose relative_to="m">0 0 1 0 0 0</pose></frame>
<include><uri>model.sdf</uri><name>second</name><pose relative_to="f">0 0 1 0 0 0</pose></include>
<model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><heightmap><uri>map.png</uri>
<size>4 4 1</size><pos>0 0 0</pos></heightmap></geometry><surface><friction><ode><mu>0.5</mu><mu2>0.4</mu2><fdir1>1 0 0
</fdir1><slip1>0.1</slip1></ode><torsional><coefficient>1</coefficient><patch_radius>0.01</patch_radius></torsional>
</friction><bounce><restitution_coefficient>0.3</restitution_coefficient></bounce><contact><ode><kp>1e5</kp><kd>10</kd>
</ode><collide_bitmask>0x01</collide_bitmask></contact></surface></collision></link></model>
<model name="m" canonical_link="a"><pose>0 0 2 0 0 1</pose><frame name="g" attached_to="b"/>
<link name="a"><inertial auto="true"><density>100</density></inertial><collision name="c"><geometry><box><size>1 2 3</size>
</box></geometry></collision></link>
<link name="b"><pose relative_to="a">1 0 0 0 0.5 0</pose><inertial><mass>1</mass><pose>0 0 0.1 0 0 0</pose><inertia>
<ixx>1</ixx><iyy>1</iyy><izz>1</izz><ixy>0.1</ixy></inertia></inertial><visual name="v"><geometry><mesh><uri>mesh.dae</uri>
<scale>1 1 2</scale></mesh></geometry><material><diffuse>1 0 0 1</diffuse></material></visual><collision name="c">
<geometry><mesh><uri>mesh.obj</uri><submesh><name>part</name><center>true</center></submesh></mesh></geometry></collision>
</link><link name="c"><pose relative_to="b">1 0 0 0 0 0</pose><collision name="p"><geometry><polyline><point>0 0</point>
<point>1 0</point><point>0 1</point><height>1</height></polyline></geometry></collision></link>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz expressed_in="g">0 1 0</xyz><limit>
<lower>-1</lower><upper>1</upper><effort>10</effort></limit><dynamics><damping>0.1</damping><friction>0.2</friction>
</dynamics></axis></joint>
<joint name="k" type="screw"><parent>b</parent><child>c</child><axis><xyz>0 0 1</xyz></axis><thread_pitch>3</thread_pitch>
</joint><joint name="loop" type="ball"><pose relative_to="c">0 0 1 0 0 0</pose><parent>a</parent><child>c</child></joint>
<joint name="gear" type="gearbox"><parent>b</parent><child>c</child><gearbox_ratio>2</gearbox_ratio>
<gearbox_reference_body>a</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis></joint>
<model name="inner"><pose relative_to="b">0 1 0 0 0 0</pose><link name="x"/><link name="y"/><joint name="u" type="universal">
<parent>x</parent><child>y</child><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint></model>
<joint name="fix" type="fixed"><parent>b</parent><child>inner::x</child></joint></model></world></sdf>
"""
MODEL = """<sdf version="1.6"><model name="n"><link name="a"><collision name="c"><geometry><mesh><uri>mesh.stl</uri></mesh>
</geometry></collision></link><link name="b"/><joint name="j" type="prismatic"><parent>a</parent><child>b</child><axis><xyz>
1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame></axis></joint></model></sdf>
"""
DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>
<unit meter="0.01"/><up_axis>Z_UP</up_axis></asset><library_effects><effect id="e"><profile_COMMON><technique sid="t"><phong>
<diffuse><color>1 0 0 1</color></diffuse></phong></technique></profile_COMMON></effect></library_effects><library_materials>
<material id="m"><instance_effect url="#e"/></material></library_materials><library_geometries><geometry id="g" name="part">
<mesh><source id="p"><float_array id="pa" count="12">0 0 0 100 0 0 0 100 0 0 0 100</float_array><technique_common><accessor
 source="#pa" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
</accessor></technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="2"
 material="m"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3</p></triangles><polylist count="2"><input
 semantic="VERTEX" source="#v" offset="0"/><vcount>3 3</vcount><p>0 3 2 1 2 3</p></polylist></mesh></geometry>
</library_geometries><library_nodes><node id="n"><instance_geometry url="#g"/></node></library_nodes><library_visual_scenes>
<visual_scene id="s"><node id="r"><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix><rotate>0 0 1 90</rotate><translate>1 0 0
</translate><instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="m" target="#m"/>
</technique_common></bind_material></instance_geometry><node><scale>2 1 1</scale><instance_node url="#n"/></node></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""
OBJ = """mtllib mesh.mtl
o part
v 0 0 0
v 1 0 0 0.5 0.5 0.5
v 0 1 0
v 0 0 1
vn 0 0 1
vt 0 0
usemtl red
f 1 3 2
f 1//1 2//1 4//1
g other
f -4 -1 -2
f 2 3 \\
 4
"""


def png(values: np.ndarray, depth: int = 8) -> bytes:
    """A grey PNG image, with each of the filters that need no neighbours."""
    rows = values.astype(">u2" if depth == 16 else "u1")
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    height, width = values.shape

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def stl(triangles: np.ndarray) -> bytes:
    """A binary STL file of triangles (n, 3, 3)."""
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *corners.ravel(), 0) for corners in triangles)
    return b"\0" * 80 + struct.pack("<I", len(triangles)) + body


def text_stl(triangles: np.ndarray) -> bytes:
    """The same as text."""
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in t) + "endloop\nendfacet\n"
        for t in triangles
    )
    return f"solid a\n{facets}endsolid a\n".encode()


def write_seeds(folder: Path) -> None:
    """Write good files of all formats."""
    for name in kido.models.names():
        source = kido.models.path(name)
        (folder / source.name).write_bytes(source.read_bytes())
        if source.suffix == ".skel":
            kido.save(kido.load(source), folder / f"{name}.sdf", approximate=True)
    (folder / "model.sdf").write_text(MODEL)
    (folder / "world.sdf").write_text(SDF)
    for name, joints in (("planar", "planar"), ("euler", "euler")):
        extra = "<axis_order>xyz</axis_order>" if joints == "euler" else '<plane type="xy"/>'
        (folder / f"{name}.skel").write_text(
            f'<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><inertia><mass>1</mass></inertia>'
            f"<visualization_shape><geometry><mesh><file_name>mesh.stl</file_name><scale>1 1 1</scale></mesh></geometry>"
            f"</visualization_shape></body><joint type='{joints}' name='j'><parent>world</parent><child>b</child>{extra}"
            f"<dof local_index='0'/><init_pos>0 0 0</init_pos></joint></skeleton></world></skel>"
        )
    (folder / "mesh.urdf").write_text(
        '<robot name="r"><material name="m"><color rgba="1 0 0 1"/></material><link name="a"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1"/></inertial><visual><geometry><mesh filename="mesh.dae" scale="1 1 1"/></geometry>'
        '<material name="m"/></visual><collision><geometry><mesh filename="package://case/mesh.stl"/></geometry></collision>'
        '</link><link name="b"/><joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/>'
        '<axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="k"/></joint><link name="c"/>'
        '<joint name="k" type="planar"><parent link="a"/><child link="c"/></joint></robot>'
    )
    triangles = np.random.default_rng(0).normal(size=(8, 3, 3))
    (folder / "mesh.stl").write_bytes(stl(triangles))
    (folder / "text.stl").write_bytes(text_stl(triangles))
    (folder / "mesh.obj").write_text(OBJ)
    (folder / "mesh.mtl").write_text("newmtl red\nKd 1 0 0\nd 0.5\n")
    (folder / "mesh.dae").write_text(DAE)
    grey = np.arange(81).reshape(9, 9) * 3
    (folder / "map.png").write_bytes(png(grey))
    (folder / "deep.png").write_bytes(png(grey * 200, 16))
    world = kido.load(kido.models.path("stack"))
    kido.save(world, folder / "of_snapshot.skel")
    world = kido.load(folder / "of_snapshot.skel")
    with kido.Recorder(world, folder / "run.h5"):
        world.step(20)
    world.snapshot().save(folder / "snapshot.npz")
