"""Volumes of sites: whether a ray from a point meets one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.reprs import brief

Array = NDArray[np.float64]
SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX = range(2, 7)  # mjtGeom
NEVER = (np.inf, -np.inf)


@dataclass(frozen=True)
class Zone:
    """A volume about the origin of a site.

    Attributes:
        kind: of mjtGeom.
        size: as MuJoCo has it: radius, half lengths.
    """

    kind: int
    size: Array
    __repr__ = brief

    @classmethod
    def of_site(cls, model: Any, s: int) -> Zone:
        """That of a site."""
        return cls(int(model.site_type[s]), np.array(model.site_size[s], float))

    def contains(self, p: Array) -> bool:
        """Whether p, in the axes of the site, is inside."""
        return self.is_hit(p, np.zeros(3))

    def is_hit(self, p: Array, d: Array) -> bool:
        """Whether the ray from p along d meets it, both in the axes of the site; it does if p is inside."""
        r = self.size
        if self.kind == BOX:
            spans = [_slab(p[k], d[k], r[k]) for k in range(3)]
        elif self.kind in (SPHERE, ELLIPSOID):
            scale = r if self.kind == ELLIPSOID else np.full(3, r[0])
            spans = [_ball(p / scale, d / scale, 1.0)]
        else:
            spans = [_ball(p[:2], d[:2], r[0]), _slab(p[2], d[2], r[1])]
            if self.kind == CAPSULE:
                ends = [_ball(p - np.array([0.0, 0.0, z]), d, r[0]) for z in (-r[1], r[1])]
                if any(first <= last and last >= 0.0 for first, last in ends):
                    return True
        first, last = max(span[0] for span in spans), min(span[1] for span in spans)
        return bool(first <= last and last >= 0.0)


def _slab(p: float, d: float, half: float) -> tuple[float, float]:
    """Where on the line it is between -half and half."""
    if d == 0.0:
        return (-np.inf, np.inf) if abs(p) <= half else NEVER
    ends = (-half - p) / d, (half - p) / d
    return min(ends), max(ends)


def _ball(p: Array, d: Array, r: float) -> tuple[float, float]:
    """Where on the line it is within r of the origin."""
    a, b, c = float(d @ d), float(p @ d), float(p @ p) - r * r
    if a == 0.0:
        return (-np.inf, np.inf) if c <= 0.0 else NEVER
    root = b * b - a * c
    if root < 0.0:
        return NEVER
    return (-b - np.sqrt(root)) / a, (-b + np.sqrt(root)) / a
