"""Air from 86 to 1000 km, where its gases part: temperature in closed form, pressure and density by a table."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

BOTTOM, TOP = 86e3, 1000e3  # [m]
# Geometric height [km], pressure [Pa], density [kg/m^3]: from the standard's equations of diffusion of N2, O, O2, Ar,
# He and H (section 1.3.1, tables 5 to 7), integrated in steps of 10 m; the tables of the standard are met to 4e-4.
_TABLE = (
    (86, 3.7338e-01, 6.9579e-06), (90, 1.8359e-01, 3.4163e-06), (95, 7.5966e-02, 1.3934e-06),
    (100, 3.2012e-02, 5.6042e-07), (105, 1.4477e-02, 2.3249e-07), (110, 7.1041e-03, 9.7079e-08),
    (112, 5.5547e-03, 6.8378e-08), (115, 4.0096e-03, 4.2888e-08), (120, 2.5382e-03, 2.2222e-08),
    (130, 1.2505e-03, 8.1525e-09), (140, 7.2029e-04, 3.8313e-09), (150, 4.5423e-04, 2.0757e-09),
    (160, 3.0395e-04, 1.2332e-09), (180, 1.5272e-04, 5.1942e-10), (200, 8.4737e-05, 2.5407e-10),
    (250, 2.4767e-05, 6.0727e-11), (300, 8.7705e-06, 1.9158e-11), (400, 1.4518e-06, 2.8027e-12),
    (500, 3.0236e-07, 5.2153e-13), (600, 8.2127e-08, 1.1367e-13), (700, 3.1905e-08, 3.0695e-14),
    (800, 1.7033e-08, 1.1358e-14), (900, 1.0871e-08, 5.7587e-15), (950, 8.9791e-09, 4.4524e-15),
    (1000, 7.5114e-09, 3.5604e-15),
)  # fmt: skip


def thermosphere(height: Any) -> tuple[Any, Any, Any]:
    """Temperature [K], pressure [Pa] and density [kg/m^3] at a geometric height [m]: arrays, or expressions of a model.

        T = 186.8673                                            from 86 km
        T = 263.1905 - 76.3232 sqrt(1 - ((z - 91) / 19.9429)^2)    from 91 km
        T = 240 + 12 (z - 110)                                  from 110 km
        T = 1000 - 640 exp(-0.01875 (z - 120) (R + 120) / (R + z))   from 120 km, R = 6356.766 km

    Logarithms of pressure and density are cubic splines over height, within 3e-3 of the integrated equations. Below
    86 km they are those there; above 1000 km they go on with the slope there.

    Source: U.S. Standard Atmosphere, 1976 (NASA-TM-X-74335), section 1.2.5 and 1.3, equations 25 to 31 and 32 to 39.
    """
    z = 1e-3 * height
    h = np.clip(z, 1e-3 * BOTTOM, 1e-3 * TOP)
    bend = (np.clip(h, 91.0, 110.0) - 91.0) / 19.9429
    T = np.where(h < 110.0, 263.1905 - 76.3232 * np.sqrt(1.0 - bend * bend), 240.0 + 12.0 * (h - 110.0))
    rise = (h - 120.0) * ((6356.766 + 120.0) / (6356.766 + h))
    T = np.where(h < 120.0, T, 1000.0 - 640.0 * np.exp(-0.01875 * rise))
    first, knots, turns, slopes = _splines()
    x, beyond = h - _TABLE[0][0], np.maximum(z - 1e-3 * TOP, 0.0)
    logs: list[Any] = [
        ((a[0] * x + a[1]) * x + a[2]) * x + a[3] + s * beyond for a, s in zip(first, slopes, strict=True)
    ]
    for knot, own in zip(knots, turns, strict=True):
        y = np.maximum(h - knot, 0.0)
        cube = y * y * y
        logs = [log + turn * cube for log, turn in zip(logs, own, strict=True)]
    return T, np.exp(logs[0]), np.exp(logs[1])


@cache
def _splines() -> tuple[NDArray[np.float64], ...]:
    """Of both logarithms: the first cubic (2, 4), heights (n,) and by how much its leading coefficient changes there
    (n, 2), slopes at the top (2,) [1/km]."""
    from scipy.interpolate import CubicSpline  # takes a while to be read

    table = np.array(_TABLE)
    spline = CubicSpline(table[:, 0], np.log(table[:, 1:]))
    return spline.c[:, 0].T, table[1:-1, 0], np.diff(spline.c[0], axis=0), spline(table[-1, 0], 1)


__all__ = ["BOTTOM", "TOP", "thermosphere"]
