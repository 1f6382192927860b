"""Small sound files of every format that readers take, and what is to be damaged of them (see `tools/mutate.py`)."""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kido
from kido.io.images import read_png
from kido.io.meshes import load_mesh

SKEL = """<skel version="1.0"><world name="w">
<physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity>
<collision_detector>dart</collision_detector></physics>
<skeleton name="s"><mobile>true</mobile><transformation>0 0 1 0 0 0</transformation>
<body name="a"><transformation>0 0 0 0.1 0.2 0.3</transformation><gravity>1</gravity>
<inertia><mass>1</mass><offset>0 0 0</offset><moment_of_inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz>
<ixy>0</ixy><ixz>0</ixz>
<iyz>0</iyz></moment_of_inertia></inertia>
<visualization_shape><transformation>0 0 0 0 0 0</transformation>
<geometry><box><size>1 2 3</size></box></geometry>
<color>1 0 0</color></visualization_shape>
<collision_shape><geometry><cylinder><radius>1</radius><height>2</height></cylinder></geometry>
</collision_shape>
</body>
<body name="b"><inertia><mass>2</mass></inertia><collision_shape><collidable>1</collidable><geometry>
<ellipsoid><size>1 1 2</size></ellipsoid></geometry></collision_shape></body>
<body name="c"><inertia><mass>1</mass></inertia><soft_shape><total_mass>1</total_mass>
<geometry><box><size>1 1 1</size></box></geometry><kv>1</kv></soft_shape></body>
<body name="d"/>
<joint type="free" name="ja"><parent>world</parent><child>a</child><init_pos>0 0 0 0 0 1</init_pos>
<init_vel>0 0 0 0 0 1</init_vel></joint>
<joint type="universal" name="jb" actuator="force"><parent>a</parent><child>b</child>
<transformation>0 0 1 0 0 0</transformation>
<axis><xyz>1 0 0</xyz><limit><lower>-1</lower><upper>1</upper></limit>
<dynamics><damping>1</damping><friction>1</friction><spring_stiffness>1</spring_stiffness>
<spring_rest_position>0</spring_rest_position></dynamics></axis><axis2><xyz>0 1 0</xyz></axis2>
<dof local_index="1" name="d1"><position lower="-1" upper="1" initial="0"/><velocity lower="-1" upper="1"/>
<force lower="-1" upper="1"/></dof></joint>
<joint type="euler" name="jc"><parent>b</parent><child>c</child><axis_order>zyx</axis_order></joint>
<joint type="planar" name="jd"><parent>c</parent><child>d</child><plane type="arbitrary">
<translation_axis1><xyz>1 0 0</xyz></translation_axis1><translation_axis2><xyz>0 1 0</xyz></translation_axis2>
</plane></joint>
</skeleton></world></skel>"""

URDF = """<robot name="r">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="a"><inertial><origin xyz="0 0 0.1" rpy="0 0 0"/><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual name="v"><origin xyz="0 0 0" rpy="0.1 0 0"/><geometry><box size="1 2 3"/></geometry>
<material name="red"/></visual>
<collision><geometry><cylinder radius="1" length="2"/></geometry></collision></link>
<link name="b"><inertial><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><geometry><sphere radius="0.5"/></geometry>
<material name="own"><color rgba="0 1 0 1"/></material></visual>
</link>
<link name="c"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<link name="d"/>
<joint name="ab" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1" rpy="0 0 0"/>
<axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="10" velocity="5"/><dynamics damping="1" friction="0.5"/></joint>
<joint name="bc" type="continuous"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
<mimic joint="ab" multiplier="2" offset="0.1"/></joint>
<joint name="cd" type="fixed"><parent link="c"/><child link="d"/></joint>
</robot>"""

JOINTS_SKEL = """<skel version="1.0"><world name="w"><skeleton name="s">
<body name="b"><inertia><mass>1</mass></inertia></body>
<body name="c"><inertia><mass>1</mass></inertia></body>
<joint type="planar" name="j"><parent>world</parent><child>b</child><plane type="xy"/><dof local_index="0"/>
<init_pos>0 0 0</init_pos></joint><joint type="euler" name="k"><parent>b</parent><child>c</child>
<axis_order>xyz</axis_order></joint></skeleton></world></skel>"""

SPHERES = """<skel><world><skeleton name="s"><body name="a"><collision_shape><geometry><multi_sphere>
<sphere><radius>1</radius><position>1 0 0</position></sphere>
<sphere><radius>2</radius><position>-1 0 0</position></sphere>
</multi_sphere></geometry></collision_shape></body></skeleton></world></skel>"""

SDF = """<sdf version="1.11"><world name="w"><gravity>0 0 -9.8</gravity>
<physics type="x" default="true"><max_step_size>0.001</max_step_size></physics>
<include><uri>model://sun</uri></include><frame name="g"><pose>0 0 1 0 0 0</pose></frame>
<model name="m" canonical_link="a" placement_frame="f"><pose relative_to="g" degrees="true">0 0 1 0 0 90</pose>
<static>false</static><self_collide>1</self_collide>
<frame name="f" attached_to="a"><pose>0 0 0 0.1 0.2 0.3</pose></frame>
<link name="a"><gravity>1</gravity><inertial><pose>0 0 0.1 0 0 1</pose><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy>
<izz>1</izz><ixy>0</ixy></inertia></inertial>
<visual name="v"><pose rotation_format="quat_xyzw">0 0 0 0 0 0 1</pose><transparency>0.5</transparency>
<geometry><box><size>1 2 3</size></box></geometry><material><diffuse>1 0 0 1</diffuse></material></visual>
<collision name="c"><geometry><cylinder><radius>1</radius><length>2</length></cylinder></geometry>
<surface><friction><ode><mu>1</mu></ode></friction><bounce><restitution_coefficient>0.5</restitution_coefficient>
</bounce></surface></collision></link>
<link name="b"><pose relative_to="f">0 0 1 0 0 0</pose><inertial auto="true"><density>10</density></inertial>
<collision name="c"><density>5</density><geometry>
<ellipsoid><radii>1 1 2</radii></ellipsoid></geometry></collision></link>
<model name="n"><link name="c"/><link name="d"/><joint name="l" type="screw"><parent>c</parent><child>d</child>
<screw_thread_pitch>0.1</screw_thread_pitch><axis><xyz>1 0 0</xyz><mimic joint="k"><multiplier>2</multiplier></mimic>
</axis></joint><joint name="k" type="universal"><parent>c</parent><child>d</child>
<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint></model>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><pose relative_to="b">0 0 0 0 0 0</pose>
<axis><xyz expressed_in="f">0 0 1</xyz><limit><lower>-1</lower><upper>1</upper><effort>1</effort>
<velocity>1</velocity>
</limit><dynamics><damping>1</damping><friction>1</friction><spring_stiffness>1</spring_stiffness></dynamics></axis>
</joint>
<joint name="i" type="ball"><parent>b</parent><child>n::c</child></joint>
<joint name="h" type="gearbox"><parent>b</parent><child>n::d</child><gearbox_ratio>2</gearbox_ratio>
<gearbox_reference_body>a</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis></joint>
</model></world></sdf>"""


MESHES_URDF = """<?xml version="1.0"?>
<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<contact><lateral_friction value="0.5"/><restitution value="0.1"/><stiffness value="1e5"/><damping value="100"/>
</contact>
<visual><geometry><mesh filename="package://p/m.stl" scale="1 1 1"/></geometry></visual>
<collision><geometry><mesh filename="m.obj" scale="0.5"/></geometry></collision></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<collision><geometry><mesh filename="m.dae" scale="1 2 -1"/></geometry></collision>
<collision><geometry><capsule radius="0.1" length="1"/></geometry></collision></link>
<link name="c"><inertial><mass value="1"/></inertial><collision><geometry><plane normal="0 0 1"/></geometry>
</collision>
</link><joint name="j" type="floating"><parent link="a"/><child link="b"/></joint>
<joint name="k" type="planar"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/></joint>
<gazebo reference="a"><mu1>0.5</mu1><kp>1e5</kp></gazebo>
<gazebo><joint name="l" type="revolute"><parent>a</parent><child>c</child><pose relative_to="b">0 0 0 0 0 0</pose>
<axis><xyz expressed_in="a">0 0 1</xyz></axis></joint></gazebo></robot>"""

MESHES_SDF = """<sdf version="1.6"><world name="w"><include><uri>model://p</uri><name>one</name>
<pose>0 0 1 0 0 0</pose></include>
<include><uri>p/model.sdf</uri><static>1</static></include>
<model name="h"><static>1</static><link name="l"><collision name="c"><geometry><heightmap><uri>h.png</uri>
<size>4 4 1</size>
<pos>0 0 0</pos></heightmap></geometry></collision><visual name="v"><geometry><mesh><uri>m.dae</uri>
<scale>1 1 1</scale><submesh><name>part</name><center>true</center></submesh></mesh></geometry></visual></link>
</model>
<state world_name="w"><model name="h"><pose>0 0 0 0 0 0</pose></model></state><light name="s" type="point"/></world>
</sdf>"""

SURFACES_SDF = """<?xml version="1.0"?><sdf version="1.9"><world name="w"><gravity>0 0 -9.8</gravity>
<physics name="p" type="ode"><max_step_size>0.001
</max_step_size></physics><frame name="f" attached_to="m"><pose relative_to="m">0 0 1 0 0 0</pose></frame>
<include><uri>p/model.sdf</uri><name>second</name><pose relative_to="f">0 0 1 0 0 0</pose></include>
<model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><heightmap><uri>h.png</uri>
<size>4 4 1</size><pos>0 0 0</pos></heightmap></geometry><surface><friction><ode><mu>0.5</mu><mu2>0.4</mu2>
<fdir1>1 0 0
</fdir1><slip1>0.1</slip1></ode><torsional><coefficient>1</coefficient><patch_radius>0.01</patch_radius></torsional>
</friction><bounce><restitution_coefficient>0.3</restitution_coefficient></bounce><contact><ode><kp>1e5</kp>
<kd>10</kd>
</ode><collide_bitmask>0x01</collide_bitmask></contact></surface></collision></link></model>
<model name="m" canonical_link="a"><pose>0 0 2 0 0 1</pose><frame name="g" attached_to="b"/>
<link name="a"><inertial auto="true"><density>100</density></inertial><collision name="c"><geometry><box>
<size>1 2 3</size>
</box></geometry></collision></link>
<link name="b"><pose relative_to="a">1 0 0 0 0.5 0</pose><inertial><mass>1</mass><pose>0 0 0.1 0 0 0</pose><inertia>
<ixx>1</ixx><iyy>1</iyy><izz>1</izz><ixy>0.1</ixy></inertia></inertial><visual name="v"><geometry><mesh>
<uri>m.dae</uri>
<scale>1 1 2</scale></mesh></geometry><material><diffuse>1 0 0 1</diffuse></material></visual><collision name="c">
<geometry><mesh><uri>m.obj</uri><submesh><name>part</name><center>true</center></submesh></mesh></geometry>
</collision>
</link><link name="c"><pose relative_to="b">1 0 0 0 0 0</pose><collision name="p"><geometry><polyline>
<point>0 0</point>
<point>1 0</point><point>0 1</point><height>1</height></polyline></geometry></collision></link>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz expressed_in="g">0 1 0</xyz><limit>
<lower>-1</lower><upper>1</upper><effort>10</effort></limit><dynamics><damping>0.1</damping><friction>0.2</friction>
</dynamics></axis></joint>
<joint name="k" type="screw"><parent>b</parent><child>c</child><axis><xyz>0 0 1</xyz></axis>
<thread_pitch>3</thread_pitch>
</joint><joint name="loop" type="ball"><pose relative_to="c">0 0 1 0 0 0</pose><parent>a</parent><child>c</child>
</joint>
<joint name="gear" type="gearbox"><parent>b</parent><child>c</child><gearbox_ratio>2</gearbox_ratio>
<gearbox_reference_body>a</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis></joint>
<model name="inner"><pose relative_to="b">0 1 0 0 0 0</pose><link name="x"/><link name="y"/>
<joint name="u" type="universal">
<parent>x</parent><child>y</child><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint></model>
<joint name="fix" type="fixed"><parent>b</parent><child>inner::x</child></joint></model></world></sdf>"""

SOFT_SKEL = """<skel version="1.0"><world name="w"><skeleton name="s">
<body name="a"><inertia><mass>1</mass></inertia><soft_shape><total_mass>1</total_mass><geometry><sphere>
<radius>0.3</radius><num_slices>5</num_slices><num_stacks>4</num_stacks></sphere></geometry><kv>100</kv><ke>1</ke>
<damp>0.1</damp></soft_shape></body>
<body name="b"><inertia><mass>1</mass></inertia><soft_shape><geometry><cylinder><radius>0.3</radius><height>1</height>
<num_slices>5</num_slices><num_stacks>2</num_stacks><num_rings>2</num_rings></cylinder></geometry></soft_shape></body>
<body name="c"><inertia><mass>1</mass></inertia><collision_shape><geometry><mesh><file_name>m.obj</file_name>
<scale>1 1 1</scale></mesh></geometry></collision_shape><soft_shape><geometry><box><size>1 1 1</size>
<frags>3 4 5</frags>
</box></geometry></soft_shape></body></skeleton></world></skel>"""

MODEL_SDF = """<sdf version="1.9"><model name="m"><link name="a"><collision name="c"><geometry><box>
<size>1 1 1</size></box>
</geometry></collision></link></model></sdf>"""
MODEL_CONFIG = """<model><name>p</name><sdf version="1.9">model.sdf</sdf><sdf version="1.4">other.sdf</sdf></model>"""
PACKAGE = "<package><name>p</name></package>"

BRACES = """dofs {
  x { 0.1, -1, 1 }  y { 0.2, -1, 1 }  z { 0.3, -1, 1 }
  pelvis<a-Z> { 0.1, -3, 3 }  pelvis<a-X> { 0.2, -3, 3 }  pelvis<a-Y> { 0.3, -3, 3 }
  knee { -0.5, -2, 0 }  b<a-X> { 0.1, -3, 3 }  b<a-Y> { 0.2, -3, 3 }  b<a-Z> { 0.3, -3, 3 }
  q0 { 0, -1, 1 } q1 { 0, -1, 1 } q2 { 0.6, -1, 1 } q3 { 0.8, -1, 1 }
  length { 0.5, 0, 10 }
}
mass { heavy { 5 } light { 1.5 } }
node pelvis { 0
  chain { 2 translate { <x, y, z> } rotate_euler { pelvis<a-Z>, z } rotate_euler { pelvis<a-X>, x }
    rotate_euler { pelvis<a-Y>, y } }
  primitive { <0.2, 1.0, 0.3>, <0.0, -0.5, 0.1>, length, CUBE, heavy, <1.0, 0.5, 0.0> }
  node shank { 1
    chain { 3 telescope { <0, -1, 0>, length } rotate_cons { 0.4, y } rotate_euler { knee, z } }
    primitive { <0.2, 1.0, 0.3>, <0, -0.5, 0>, length, light }
    node foot { 2
      chain { 2 telescope { <0, -1, 0>, length } rotate_expmap { <b<a-X>, b<a-Y>, b<a-Z>> } }
      primitive { <0.2, 0.4, 0.3>, <0, -0.5, 0>, length, SPHERE, light }
    }
  }
}
node other { 3
  chain { 1 rotate_quat { <q0, q1, q2, q3> } }
  primitive { <1, 1, 1>, <0, 0, 0>, length, "", light }
}
handles { tip { <0, -0.4, 0>, 1, foot } }
"""

VSK = """<?xml version="1.0"?><KinematicModel>
<Parameters><Parameter NAME="Thigh" VALUE="400"/><Parameter NAME="Wide" VALUE="100"/></Parameters>
<Skeleton DENSITY="1000">
<Segment NAME="Hips" POSITION="0 0 0" ORIENTATION="0 0 0.1" BOUNDS="0 0 0 1 1 1" RGB="0 128 0"><JointFree/>
<Segment NAME="Thigh" POSITION="Wide -Wide 0" ORIENTATION="0.2 0 0"><JointBall MEAN="0 0 0"/>
<Segment NAME="Shank" POSITION="0 -Thigh 0" ORIENTATION="0 0 0" MASS="3"><JointHinge AXIS="1 0 0"/>
<Segment NAME="Foot" POSITION="0 -380 0"><JointHardySpicer AXIS-PAIR="1 0 0 0 0 1"/>
<Segment NAME="End" POSITION="0 0 150"><JointDummy/></Segment></Segment></Segment></Segment></Segment></Skeleton>
<MarkerSet NAME="m"><Markers><Marker NAME="KNEE" SEGMENT="Thigh" POSITION="50 -Thigh 0" RADIUS="9" RGB="1 2 3"/>
<Marker NAME="TOE" SEGMENT="Foot" POSITION="0 0 150"/></Markers><Sticks><Stick MARKER1="KNEE" MARKER2="TOE"/></Sticks>
</MarkerSet></KinematicModel>"""

DOF = """frames = 3 dofs = 2
man_hip man_knee

 1.15719466e+00 -0.2
 1.1 -0.25
 1.05 -3e-1
FPS 60
"""

BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0.0 0.0 0.0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Thigh
  {
    OFFSET 10.0 -5.0 0.0
    CHANNELS 3 Xrotation Zrotation Yrotation
    JOINT Shank
    {
      OFFSET 0.0 -40.0 0.0
      CHANNELS 1 Xrotation
      End Site
      {
        OFFSET 0.0 -38.0 5.0
      }
    }
  }
  JOINT Spine
  {
    OFFSET 0.0 20.0 0.0
    CHANNELS 0
    End Site
    {
      OFFSET 0.0 30.0 0.0
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.0083333
1.0 90.0 2.0 10.0 20.0 30.0 -40.0 5.0 6.0 50.0
1.5 91.0 2.0 11.0 20.0 31.0 -41.0 5.0 6.5 51.0
2.0 92.0 2.0 12.0 20.0 32.0 -42.0 5.0 7.0 52.0
"""

CSV = """time,hip,"the knee, left"
0.0,1.0,-0.2
0.02,1.1,-0.25
0.04,1.2,-3e-1
"""

ASF = """# a leg and a trunk
:version 1.10
:name man
:units
  mass 1.0
  length 0.45
  angle deg
:documentation
  two bones, of our own
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 1 0
  orientation 0 10 0
:bonedata
  begin
    id 1
    name thigh
    direction 0.6 -0.8 0
    length 7.2
    axis 10 20 30 XYZ
    dof rx ry rz
    limits (-160.0 20.0)
      (-70 70)
      (-inf 70)
  end
  begin
    id 2
    name shank
    direction 0 -1 0
    length 7.1
    axis 0 0 20 XYZ
    dof rx
    limits (-10.0 170.0)
  end
  begin
    id 3
    name spine
    direction 0 1 0
    length 2
    axis 0 0 0 XYZ
  end
:hierarchy
  begin
    root thigh spine
    thigh shank
  end
"""

AMC = """#!OML:ASF man.ASF
:FULLY-SPECIFIED
:DEGREES
1
root 9.37 17.8 -17.3 -2.1 -4.2 -0.3
thigh 12.8 -1.1 6.5
shank 30
2
root 9.38 17.8 -17.4 -2.0 -4.4 -0.3
thigh 13.8 -1.2 6.4
shank 31
"""

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])

OBJ = (
    "mtllib m.mtl\no part\ng part\nusemtl red\n# a tetrahedron\n"
    + "".join(f"v {x:g} {y:g} {z:g}\n" for x, y, z in CORNERS)
    + "vn 0 0 1\nvt 0 0\nf 1//1 3//1 2//1\nf 1/1 2/1 4/1\nusemtl blue\nf -4 -1 -2\nf 2 3 4\nl 1 2\n"
)
MTL = "newmtl red\nKd 1 0 0\nd 0.5\nnewmtl blue\nKd 0 0 1\nTr 0.1\n"

STL_TEXT = (
    "solid s\n"
    + "".join(
        "facet normal 0 0 1\n outer loop\n"
        + "".join(f"  vertex {x:g} {y:g} {z:g}\n" for x, y, z in CORNERS[face])
        + " endloop\nendfacet\n"
        for face in FACES
    )
    + "endsolid s\n"
)

DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="1" name="m"/><up_axis>Z_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="t"><phong><diffuse><color>1 0 0 1</color></diffuse>
</phong>
</technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g" name="part"><mesh>
<source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array><technique_common>
<accessor source="#pa" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="2" material="s"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="NORMAL" source="#p" offset="1"/><p>0 0 2 0 1 0 0 1 1 1 3 1</p></triangles>
<polylist count="1" material="s"><input semantic="VERTEX" source="#v" offset="0"/><vcount>3</vcount><p>0 3 2</p>
</polylist>
<polygons count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>1 2 3</p></polygons>
<tristrips count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2 3</p></tristrips>
<trifans count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2 3</p></trifans></mesh></geometry>
</library_geometries>
<library_nodes><node id="inner"><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="s" target="#m"/></technique_common></bind_material></instance_geometry></node>
</library_nodes>
<library_controllers><controller id="k"><skin source="#g"><bind_shape_matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1
</bind_shape_matrix></skin></controller></library_controllers>
<library_visual_scenes><visual_scene id="vs"><node id="n"><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix>
<translate>0 0 1</translate><rotate>0 0 1 90</rotate><scale>1 1 -1</scale><instance_node url="#inner"/>
<instance_controller url="#k"/><node id="nn"><instance_geometry url="#g"/></node></node></visual_scene>
</library_visual_scenes>
<scene><instance_visual_scene url="#vs"/></scene></COLLADA>"""


def stl() -> bytes:
    """A tetrahedron as a binary STL file."""
    records = b"".join(struct.pack("<12fH", 0, 0, 1, *CORNERS[face].ravel(), 0) for face in FACES)
    return b"binary".ljust(80) + struct.pack("<I", len(FACES)) + records


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk of a PNG file."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, depth: int, colour: int, rows: bytes, palette: bytes = b"") -> bytes:
    """A PNG file of filtered rows."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    colours = chunk(b"PLTE", palette) if palette else b""
    return b"\x89PNG\r\n\x1a\n" + header + colours + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


ROWS = b"".join(bytes([k, *range(10 * k, 10 * k + 5)]) for k in range(5))  # each filter once, five pixels wide
GREY = png(5, 5, 8, 0, ROWS)
PALETTE = png(5, 5, 8, 3, bytes(30), bytes(range(30)))
DEEP = png(2, 2, 16, 2, bytes(26))


def c3d() -> bytes:
    """Two markers in four frames, one of them not always seen, as a C3D file."""
    places = np.arange(24.0).reshape(4, 2, 3) / 10
    places[1, 1] = np.nan
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.c3d")
        kido.save(kido.MarkerMotion(["LFWT", "RFWT"], places, 100.0), path)
        return path.read_bytes()


FILES = {
    "man.asf": ASF.encode(),
    "man_01.amc": AMC.encode(),
    "r.urdf": MESHES_URDF.encode(),
    "w.sdf": MESHES_SDF.encode(),
    "s.sdf": SURFACES_SDF.encode(),
    "w.skel": SOFT_SKEL.encode(),
    "package.xml": PACKAGE.encode(),
    "m.obj": OBJ.encode(),
    "m.mtl": MTL.encode(),
    "m.stl": stl(),
    "m.dae": DAE.encode(),
    "h.png": GREY,
    "p/model.config": MODEL_CONFIG.encode(),
    "p/model.sdf": MODEL_SDF.encode(),
}


def write_files(folder: Path) -> Path:
    """A folder with models and all the files that they name."""
    for name, data in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


# -- what is to be damaged ---------------------------------------------------------------------------------


def use(model: Any) -> None:
    """What comes out of a reader has finite numbers, and can be asked and stepped, or says why not."""
    if isinstance(model, kido.MarkerMotion):
        assert not np.isinf(model.places).any()
        return
    if isinstance(model, kido.Motion):
        assert np.isfinite(model.at(model.start + 0.5 * model.duration, smooth=True)).all()
        if model.skeleton is None:
            return
        assert np.isfinite(model.skeleton.forward_kinematics(model.positions[0])).all()
        model = model.skeleton
    world = model
    if isinstance(model, kido.Skeleton):
        world = kido.World()
        world.add_skeleton(model)
    for skeleton in world.skeletons:
        assert np.isfinite(skeleton.positions).all() and np.isfinite(skeleton.velocities).all()
        assert all(len(text) < 5000 for text in skeleton.warnings)
        for body in skeleton.bodies:
            assert np.isfinite(body.inertia.moment).all() and np.isfinite(body.mass)
            for node in body.shapes:
                assert node.shape.aabb.shape == (2, 3)
    world.step()


def of_text(suffix: str) -> Callable[[bytes], None]:
    """Read a model of one format from a file of its own."""

    def read(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"m{suffix}")
            path.write_bytes(data)
            use(kido.load(path))

    return read


def beside(name: str, model: str | None = None, *options: dict[str, Any]) -> Callable[[bytes], None]:
    """Read a model (the file itself if none is named) of the folder of all files, one of which is damaged."""

    def read(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder, "p"))
            Path(folder, "p", name).write_bytes(data)
            for chosen in options or ({},):
                use(kido.load(Path(folder, "p", model or name), **chosen))

    return read


def of_mesh(suffix: str) -> Callable[[bytes], None]:
    """Read a mesh and ask for its hull and moment."""

    def read(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"m{suffix}")
            path.write_bytes(data)
            Path(folder, "m.mtl").write_text(MTL)
            mesh = load_mesh(path, center=True)
            assert np.isfinite(mesh.aabb).all()
            assert len(mesh.hull.vertices) >= 4
            assert np.isfinite(mesh.moment(1.0)).all()

    return read


def of_png(data: bytes) -> None:
    """Read an image of heights."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "h.png")
        path.write_bytes(data)
        values = read_png(path)
        assert 0.0 <= values.min() <= values.max() <= 1.0


def of_rows(data: bytes) -> None:
    """Read an image whose header and rows are damaged before they are packed."""
    width, height, depth, colour = struct.unpack(">IIBB", data[:10].ljust(10, b"\0"))
    of_png(png(width, height, depth, colour, data[10:]))


SUBJECTS: dict[str, tuple[list[bytes], Callable[[bytes], None]]] = {
    "urdf": ([URDF.encode()], of_text(".urdf")),
    "urdf with meshes": ([FILES["r.urdf"]], beside("r.urdf", None, {}, {"base": "free", "up_axis": "apply"})),
    "sdf": ([SDF.encode()], of_text(".sdf")),
    "sdf with files": ([FILES["w.sdf"], FILES["s.sdf"]], beside("w.sdf")),
    "model.config": ([FILES["p/model.config"]], beside("p/model.config", "w.sdf")),
    "included sdf": ([FILES["p/model.sdf"]], beside("p/model.sdf", "w.sdf")),
    "skel": ([SKEL.encode(), SPHERES.encode(), JOINTS_SKEL.encode()], of_text(".skel")),
    "soft skel": ([FILES["w.skel"]], beside("w.skel")),
    "skel with braces": ([BRACES.encode()], of_text(".skel")),
    "vsk": ([VSK.encode()], of_text(".vsk")),
    "dof": ([DOF.encode()], of_text(".dof")),
    "bvh": ([BVH.encode()], of_text(".bvh")),
    "asf": ([ASF.encode()], of_text(".asf")),
    "asf of a motion": ([ASF.encode()], beside("man.asf", "man_01.amc")),
    "amc": ([AMC.encode()], beside("man_01.amc")),
    "c3d": ([c3d()], of_text(".c3d")),
    "csv": ([CSV.encode()], of_text(".csv")),
    "obj": ([OBJ.encode()], of_mesh(".obj")),
    "mtl": ([MTL.encode()], beside("m.mtl", "r.urdf")),
    "stl": ([stl(), STL_TEXT.encode()], of_mesh(".stl")),
    "dae": ([DAE.encode()], of_mesh(".dae")),
    "dae in a model": ([DAE.encode()], beside("m.dae", "w.sdf")),
    "png": ([GREY, PALETTE, DEEP], of_png),
    "png rows": ([struct.pack(">IIBB", 5, 5, 8, 0) + ROWS], of_rows),
    "png in a model": ([GREY], beside("h.png", "w.sdf")),
}
