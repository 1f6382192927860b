"""Images of many states by one call of compiled code: colour, depth and segmentation, in bands of rows."""

from __future__ import annotations

import math

from kido.jit import entry, kernel, view
from kido.rendering.raster import ALL, OPAQUE, TRANSPARENT, draw_things, place_things, ray_way, start_rows
from kido.rendering.shading import cast_shadows, haze, look_from, shade_sample, turn_lights
from kido.rendering.structs import PLANE, RASTER, SCENE, TRIANGLES

CREASE = 0.2  # change of the slope of 1/depth between samples that tells a crease
LAYERS = 4  # of things that are seen through, the nearest first


@kernel
def set_samples(r, oversampling, focal):
    """Draw so many samples along either edge of a pixel; focal length in pixels."""
    r.columns = r.width * oversampling
    r.focal = focal * oversampling
    r.center_x, r.center_y = 0.5 * r.columns, 0.5 * r.height * oversampling


@kernel
def is_even(s, r, k, n):
    """Whether a pixel, whose first sample is k, sees one smooth surface, so that one sample's colour is its own."""
    owner, inverse, columns = r.owner, r.inverse, r.columns
    for j in range(n):
        for m in range(n):
            if owner[k + j * columns + m] != owner[k]:
                return False
    i = owner[k]
    if i >= 0 and s.kind[i] == TRIANGLES:  # of one colour
        a = s.vertices[i, 0] + s.face[r.facet[k], 0]
        for j in range(n):
            for m in range(n):
                b = s.vertices[i, 0] + s.face[r.facet[k + j * columns + m], 0]
                if s.tint[a, 0] != s.tint[b, 0] or s.tint[a, 1] != s.tint[b, 1] or s.tint[a, 2] != s.tint[b, 2]:
                    return False
    if n > 2:  # 1/depth is linear where there is no crease
        for step in (1, columns):
            a, b, c = inverse[k], inverse[k + step], inverse[k + 2 * step]
            if math.fabs(a + c - 2.0 * b) > CREASE * math.fabs(c - a) + 1e-9 * b:
                return False
    return True


@kernel
def paint_sample(s, r, k, column, row, size, w, sky, n):
    """Linear colour (3) at a place of the image, as sample k sees it; `size` samples are one."""
    i = r.owner[k]
    line = int(row) // n
    if i < 0:
        return sky[line, 0], sky[line, 1], sky[line, 2]
    red, green, blue = shade_sample(s, r, i, r.facet[k], column, row, w, size)
    if s.kind[i] == PLANE:
        x, y = ray_way(r, column, row)
        mist = haze(s, x, y, 1.0 / w)
        red += mist * (sky[line, 0] - red)
        green += mist * (sky[line, 1] - green)
        blue += mist * (sky[line, 2] - blue)
    return red, green, blue


@kernel
def paint_solid(s, r, begin, end, sky, n):
    """Have `paint` hold the colours of what is solid, and of the sky, in pixel rows begin..end-1 of n x n samples."""
    paint, columns, middle = r.paint, r.columns, 0.5 * (n - 1)
    for row in range(begin, end):
        for column in range(r.width):
            k = (row - begin) * n * columns + column * n
            even = is_even(s, r, k, n)
            if even:
                w = 0.5 * (r.inverse[k] + r.inverse[k + (n - 1) * (columns + 1)])
                red, green, blue = paint_sample(s, r, k, column * n + middle, row * n + middle, n, w, sky, n)
            for j in range(n):
                for m in range(n):
                    q = k + j * columns + m
                    if not even:
                        red, green, blue = paint_sample(s, r, q, column * n + m, row * n + j, 1, r.inverse[q], sky, n)
                    paint[q, 0], paint[q, 1], paint[q, 2] = red, green, blue


@kernel
def paint_layer(s, r, begin, end, n):
    """Add to `front` the layer of what is seen through that `owner` and `inverse` have; returns whether there is."""
    front, columns, middle = r.front, r.columns, 0.5 * (n - 1)
    found = False
    for row in range(begin, end):
        for column in range(r.width):
            k = (row - begin) * n * columns + column * n
            even = is_even(s, r, k, n)
            if even:
                if r.owner[k] < 0:
                    continue
                w = 0.5 * (r.inverse[k] + r.inverse[k + (n - 1) * (columns + 1)])
                x, y = column * n + middle, row * n + middle
                red, green, blue = shade_sample(s, r, r.owner[k], r.facet[k], x, y, w, n)
            for j in range(n):
                for m in range(n):
                    q = k + j * columns + m
                    i = r.owner[q]
                    if i < 0:
                        continue
                    found = True
                    if not even:
                        x, y = column * n + m, row * n + j
                        red, green, blue = shade_sample(s, r, i, r.facet[q], x, y, r.inverse[q], 1)
                    share = front[q, 3] * s.color[i, 3]
                    front[q, 0] += share * red
                    front[q, 1] += share * green
                    front[q, 2] += share * blue
                    front[q, 3] -= share
                    r.limit[q] = r.inverse[q]
    return found


@kernel
def paint_front(s, r, begin, end, n):
    """Add to `paint` what is seen through: layer by layer, the nearest first."""
    paint, front, inverse, count = r.paint, r.front, r.inverse, (end - begin) * n * r.columns
    for k in range(count):
        front[k, 0] = front[k, 1] = front[k, 2] = 0.0
        front[k, 3], front[k, 4] = 1.0, inverse[k]
    for _layer in range(LAYERS):
        for k in range(count):
            inverse[k] = front[k, 4]
            r.owner[k] = -1
        draw_things(s, r, begin * n, end * n, TRANSPARENT)
        if not paint_layer(s, r, begin, end, n):
            break
    for k in range(count):
        for m in range(3):
            paint[k, m] = front[k, m] + front[k, 3] * paint[k, m]


@kernel
def encode_rows(r, begin, end, n, color, code):
    """Bytes of pixel rows begin..end-1: means of n x n samples of `paint`."""
    paint, columns, top = r.paint, r.columns, code.shape[0] - 1
    f = top / (n * n)
    for row in range(begin, end):
        for column in range(r.width):
            red = green = blue = 0.0
            for j in range(n):
                k = ((row - begin) * n + j) * columns + column * n
                for m in range(n):
                    red += min(paint[k + m, 0], 1.0)
                    green += min(paint[k + m, 1], 1.0)
                    blue += min(paint[k + m, 2], 1.0)
            color[row, column, 0] = code[int(f * red + 0.5)]
            color[row, column, 1] = code[int(f * green + 0.5)]
            color[row, column, 2] = code[int(f * blue + 0.5)]


@kernel
def keep_distances(s, r, begin, end, depth, segmentation):
    """Depth and numbers of shapes of rows begin..end-1, of those that are wanted."""
    for row in range(begin, end):
        for column in range(r.width):
            k = (row - begin) * r.width + column
            i = r.owner[k]
            if depth.shape[0] > 0:
                depth[row, column] = 1.0 / r.inverse[k] if i >= 0 else math.inf
            if segmentation.shape[0] > 0:
                segmentation[row, column] = s.shape[i] if i >= 0 else -1


@entry(
    "i8(i8, i8, f8[:,:,:,::1], f8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[:,::1], u1[::1], i8, i8, i8, i8,"
    " u1[:,:,:,::1], f4[:,:,::1], i4[:,:,::1])"
)
def draw_images(
    scene, raster, X, skin, cameras, lights, sky, code, first, last, top, bottom, color, depth, segmentation
):
    """Rows top..bottom-1 of images first..last-1.

    Args:
        X: (images, bodies, 4, 4) world transforms.
        skin: (images, n, 3) points of soft skins in their bodies' axes [m].
        cameras: (images, 4, 4) world poses: x right, y down, z forward.
        lights: (3, 3) up, towards the key light, towards the fill light, world axes.
        sky: (rows, 3) linear colour behind all.
        code: bytes of linear light 0..1.
        color: (images, rows, columns, 3); no rows: not wanted, as with the others.
        depth: (images, rows, columns) [m].
        segmentation: (images, rows, columns).
    """
    s, r = view(SCENE, scene), view(RASTER, raster)
    n, focal, capacity = r.oversampling, r.focal, r.inverse.shape[0]
    colored, measured = color.shape[1] > 0, depth.shape[1] > 0 or segmentation.shape[1] > 0
    both = n == 1 and s.transparent == 0 and s.scenery == 0  # one look at what is nearest serves all
    for image in range(first, last):
        look_from(r, cameras[image])
        turn_lights(r, lights)
        set_samples(r, 1, focal)
        place_things(s, r, X[image], skin[image])
        placed = True
        if colored and r.texels > 0:
            cast_shadows(s, r, X[image], skin[image], lights)
            placed = False
        if measured and not (both and colored):
            if not placed:
                place_things(s, r, X[image], skin[image])
            rows = capacity // r.columns
            for begin in range(top, bottom, rows):
                end = min(begin + rows, bottom)
                start_rows(r, (end - begin) * r.columns)
                draw_things(s, r, begin, end, ALL)
                keep_distances(s, r, begin, end, depth[image], segmentation[image])
            placed = True
        if colored:
            set_samples(r, n, focal)
            if n > 1 or not placed:
                place_things(s, r, X[image], skin[image])
            rows = capacity // (r.columns * n)
            for begin in range(top, bottom, rows):
                end = min(begin + rows, bottom)
                start_rows(r, (end - begin) * n * r.columns)
                draw_things(s, r, begin * n, end * n, OPAQUE)
                if both and measured:
                    keep_distances(s, r, begin, end, depth[image], segmentation[image])
                paint_solid(s, r, begin, end, sky, n)
                if s.transparent > 0:
                    paint_front(s, r, begin, end, n)
                encode_rows(r, begin, end, n, color[image], code)
    r.focal = focal
    return 0
