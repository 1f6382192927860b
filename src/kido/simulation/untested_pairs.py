"""Pairs of shapes that no detector looks at: a plane and a plane, a height map and a height map."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from kido.callers import warn_user
from kido.collision.detector import UNTESTED
from kido.simulation.collision_filter import is_tested, masks_meet

if TYPE_CHECKING:
    from kido.simulation.engine import Engine
    from kido.skeleton import ShapeNode


def warn_of_untested_pairs(engine: Engine) -> None:
    """Warn a user of shapes that the filters let meet, and that pass through each other all the same."""
    for kind, kinds in UNTESTED.items():
        some = [node for node in engine.nodes if isinstance(node.shape, kind)]
        for a, b in combinations(some, 2):
            if _may_meet(engine, a, b):
                text = (
                    f"bodies {a.body.name!r} and {b.body.name!r} carry {kinds}, which pass through each other: there "
                    f"are no contacts of two {kinds}. Give one of them a Box or a Mesh, or take the two out by "
                    "`World.collision_filter`"
                )
                warn_user("untested pair", lambda text=text: text, ("kido",))
                return


def _may_meet(engine: Engine, a: ShapeNode, b: ShapeNode) -> bool:
    i, j = engine.link_index(a.body), engine.link_index(b.body)
    c = engine.detector.container
    excluded = [(i, int(k)) for k in c.excluded[c.excluded_first[i] : c.excluded_first[i + 1]]]
    filters = {"moving": engine.moves, "group": c.body_group, "excluded": excluded}
    return masks_meet(a, b) and is_tested(filters, i, j)
