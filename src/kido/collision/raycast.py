"""Batches of rays against the shapes of a container: one compiled call for all."""

from __future__ import annotations

from kido.collision.container import COLLISION, COMPOUND, HEIGHTMAP, PLANE, SPHERES
from kido.collision.rays import crosses, ray_convex
from kido.collision.surface_rays import ray_balls, ray_compound, ray_heightmap
from kido.jit import entry, kernel, view


@kernel
def ray_shape(c, s, x, y, z, e0, e1, e2):
    """Where the ray from (x, y, z) along (e0, e1, e2), world axes, enters shape s.

    Returns:
        fraction (MISS or more if it does not) and outward normal, world axes (3 numbers).
    """
    kind = c.shape_type[s]
    if kind == COMPOUND:
        return ray_compound(c, s, x, y, z, e0, e1, e2)
    if kind == HEIGHTMAP:
        return ray_heightmap(c, s, x, y, z, e0, e1, e2)
    if kind == SPHERES:
        return ray_balls(c, s, x, y, z, e0, e1, e2)
    return ray_convex(c, s, x, y, z, e0, e1, e2)


@kernel
def meets_box(c, s, x, y, z, d0, d1, d2, most):
    """Whether a ray meets the bounding box of a shape before the fraction `most`."""
    box = c.aabb
    low0, low1, low2, high0, high1, high2 = box[s, 0], box[s, 1], box[s, 2], box[s, 3], box[s, 4], box[s, 5]
    return crosses(low0, low1, low2, high0, high1, high2, x, y, z, d0, d1, d2, most)


@entry("i8(i8, i8[::1], f8[:,::1], f8[:,::1], i8[::1], f8[:,::1])")
def first_hits(address, wanted, starts, ends, shape, numbers):
    """The first hit of each ray: shape (-1 for none) and [fraction, normal] of each.

    Args:
        wanted: (shapes,) 0 for shapes that rays pass through.
    """
    c = view(COLLISION, address)
    shapes = c.shape_body.shape[0]
    for r in range(starts.shape[0]):
        x, y, z = starts[r, 0], starts[r, 1], starts[r, 2]
        d0, d1, d2 = ends[r, 0] - x, ends[r, 1] - y, ends[r, 2] - z
        best, n0, n1, n2, which = 1.0, 0.0, 0.0, 0.0, -1
        for s in range(shapes):
            if wanted[s] != 0 and (c.shape_type[s] == PLANE or meets_box(c, s, x, y, z, d0, d1, d2, best)):
                t, m0, m1, m2 = ray_shape(c, s, x, y, z, d0, d1, d2)
                if t < best or (t == best and which < 0):
                    best, n0, n1, n2, which = t, m0, m1, m2, s
        shape[r] = which
        numbers[r, 0], numbers[r, 1], numbers[r, 2], numbers[r, 3] = best, n0, n1, n2
    return 0


@entry("i8(i8, i8[::1], f8[:,::1], f8[:,::1], i8[:,::1], f8[:,::1])")
def all_hits(address, wanted, starts, ends, which, numbers):
    """All hits: [ray, shape] and [fraction, normal] of each, by ray. Returns how many there are, stored or not."""
    c = view(COLLISION, address)
    shapes = c.shape_body.shape[0]
    found = 0
    for r in range(starts.shape[0]):
        x, y, z = starts[r, 0], starts[r, 1], starts[r, 2]
        d0, d1, d2 = ends[r, 0] - x, ends[r, 1] - y, ends[r, 2] - z
        for s in range(shapes):
            if wanted[s] != 0 and (c.shape_type[s] == PLANE or meets_box(c, s, x, y, z, d0, d1, d2, 1.0)):
                t, m0, m1, m2 = ray_shape(c, s, x, y, z, d0, d1, d2)
                if t <= 1.0:
                    if found < which.shape[0]:
                        which[found, 0], which[found, 1] = r, s
                        numbers[found, 0], numbers[found, 1] = t, m0
                        numbers[found, 2], numbers[found, 3] = m1, m2
                    found += 1
    return found
