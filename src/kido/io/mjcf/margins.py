"""How far apart bodies stand by the margins of MJCF: as paddings of the geoms' surfaces.

A contact acts where the distance of two geoms is below the sum of their margins, and holds them that far apart; `gap`
says only how much earlier it is found. A pair of MJCF's has a margin of its own instead. So a geom that touches others
is padded by its margin, and one that touches in pairs alone by whatever these say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from kido.io.mjcf.remarks import LeftOut

__all__ = ["paddings_of"]

OVERRIDE = 1  # of mjtEnableBit
SAME = 1e-9  # [m]


def paddings_of(model: Any, left_out: LeftOut) -> NDArray[np.float64]:
    """Paddings of the model's geoms (ngeom,) [m], with which any two stand as far apart as in MuJoCo.

    Says where there are none such: margins below zero, and pairs of which no paddings have all the margins. Points of
    contact are between the padded surfaces, half of the difference of two margins from MuJoCo's: said as well.
    """
    m: Any = model
    if int(m.opt.enableflags) & OVERRIDE:
        return np.full(int(m.ngeom), max(0.5 * float(m.opt.o_margin), 0.0))
    touches = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    found = np.where(touches, np.maximum(np.asarray(m.geom_margin, float), 0.0), 0.0)
    for g in np.flatnonzero(touches & (m.geom_margin < 0.0)).tolist():
        left_out.add("margins below zero are left out: contacts push where surfaces meet", f"geom {m.geom(g).name}")
    for g in np.flatnonzero(touches & (m.geom_gap < 0.0)).tolist():
        left_out.add("gaps below zero are left out: contacts act within the whole margin", f"geom {m.geom(g).name}")
    ends = np.stack([np.asarray(m.pair_geom1, int), np.asarray(m.pair_geom2, int)], axis=1)
    wanted = np.asarray(m.pair_margin, float)
    _pad_for_pairs(found, touches, ends, wanted)
    for k in np.flatnonzero(np.abs(found[ends].sum(axis=1) - wanted) > SAME).tolist():
        left_out.add("margins of pairs are left out: bodies stand apart by the margins of their geoms", f"pair {k}")
    colliding = found[touches | np.isin(np.arange(int(m.ngeom)), ends)]
    if colliding.size and np.ptp(colliding) > SAME:
        for g in np.flatnonzero(found > 0.0).tolist():
            left_out.add("points of contact lie between surfaces that margins put outwards", f"geom {m.geom(g).name}")
    return found


def _pad_for_pairs(
    found: NDArray[np.float64], touches: NDArray[np.bool_], ends: NDArray[np.int64], wanted: NDArray[np.float64]
) -> None:
    """Paddings of geoms that touch in pairs alone: halves of their margins where these do, else any that do."""
    alone = [g for g in np.unique(ends).tolist() if not touches[g]]
    if not alone:
        return
    for g in alone:
        found[g] = max(0.5 * min(wanted[(ends == g).any(axis=1)]), 0.0)
    if np.abs(found[ends].sum(axis=1) - wanted).max() <= SAME:
        return
    shares = np.array([[(pair == g).sum() for g in alone] for pair in ends], float)
    found[alone] = 0.0
    found[alone] = nnls(shares, wanted - found[ends].sum(axis=1))[0]
