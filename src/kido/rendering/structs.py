"""What images are drawn from, and the work space of a thread that draws."""

from __future__ import annotations

from kido.collision.primitives import PRIMITIVE_NAMES
from kido.jit import Struct, floats, integer, integers, number

PLANE, TRIANGLES, SKIN = 0, 1 + len(PRIMITIVE_NAMES), 2 + len(PRIMITIVE_NAMES)
"""Kinds of things besides the primitives, which count as `kido.collision.primitives` has them."""


class SCENE(Struct):
    kind = integers("things", doc="of each thing: PLANE, a primitive's, TRIANGLES, or SKIN: triangles that deform")
    body = integers("things", doc="that it moves with; -1: it stays in the world")
    shape = integers("things", doc="its number in segmentation images; -1: none")
    casts = integers("things", doc="1: it throws shadows")
    place = floats("things", 12, doc="its axes and origin in the body's, 3x4 row by row [m]")
    size = floats("things", 3, unit="m", doc="of a primitive its half sizes; of a plane the edge of its grid's cells")
    radius = floats("things", unit="m", doc="of the ball about its origin that holds it")
    color = floats("things", 4, doc="red, green, blue, linear, and opacity")
    faces = integers("things", 2, doc="first face, and one past the last")
    vertices = integers("things", 3, doc="first vertex (of a skin: of all skins' points), how many, first point drawn")
    face = integers("all_faces", 3, doc="vertices of each triangle, from the first of its thing")
    vertex = floats("all_vertices", 3, unit="m")
    normal = floats("all_vertices", 3)
    tint = floats("all_vertices", 3, doc="linear colour of a vertex; negative: the thing's own")
    covered = integers("all_faces", doc="number of a triangle among those with a texture; -1: it has none")
    corner = floats("textured", 6, doc="texture coordinates of the corners of a triangle")
    image = integers("textured", doc="number of its image")
    size_of = integers("images", 3, doc="first pixel of an image, its width and height; smaller ones follow, halved")
    pixel = integers("pixels", doc="red, green and blue, bytes of sRGB, in one number")
    light_of = floats(256, doc="linear light of a byte")
    fade = number("m", doc="distance at which the ground begins to look as the horizon does")
    transparent = integer(doc="number of things that are seen through")
    scenery = integer(doc="number of things that depth and segmentation do not have, those without a shape's number")


class RASTER(Struct):
    width = integer(doc="pixels")
    height = integer(doc="pixels")
    oversampling = integer(doc="samples of colour along either edge of a pixel")
    columns = integer(doc="samples in a row, of what is being drawn")
    focal = number(doc="focal length in samples")
    center_x = number(doc="column of the optical axis, in samples")
    center_y = number(doc="row of the optical axis, in samples")
    near = number("m")
    far = number("m")
    eye = floats(3, unit="m", doc="of the camera, world axes")
    axes = floats(9, doc="right, down and forward of the camera, world axes")
    light = floats(9, doc="up, towards the key light and towards the fill light, camera axes")
    place = floats("things", 12, doc="axes and origin of each thing in the camera's, 3x4 row by row [m]")
    point = floats("points", 5, doc="corners of triangles, camera axes [m], and where they are seen [samples]")
    inverse = floats("all_samples", unit="1/m", doc="1 / depth of what is nearest")
    limit = floats("all_samples", unit="1/m", doc="what is not below is not drawn: the near plane, or a layer in front")
    owner = integers("all_samples", doc="thing that is nearest, -1: none")
    facet = integers("all_samples", doc="its face")
    paint = floats("all_samples", 3, doc="linear colour")
    front = floats("all_samples", 5, doc="of what is seen through: colour, share of what is behind, its `inverse`")
    texels = integer(doc="edge of the map of shadows; 0: no shadows")
    texel = number("m", doc="size of a texel at the middle")
    sun_focal = number(doc="focal length of the map in texels")
    to_sun = floats(12, doc="pose of the camera in the axes of the light's, 3x4 row by row [m]")
    shadow = floats("all_texels", unit="1/m", doc="1 / distance along the light of what it falls on first")
