"""Derivatives of steps by formulas: the work space of an engine, and which worlds have such."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.collision.narrow import detect_contacts
from kido.constraints.surfaces import NO_ROWS
from kido.jit import LANES
from kido.jit.duals import DIRECTIONS, dual_callback
from kido.jit.duals.structs import NUMBERS
from kido.joints import ActuatorType, JointKind
from kido.quantities.branches import derivatives_workspace, solution_rows
from kido.simulation.gradients.tangent.schema import TABLES, TANGENT
from kido.simulation.gradients.tangent.step import DONE, step_rates
from kido.tree.schema import data_for

Array = NDArray[np.float64]
_KINDS = (JointKind.WELD, JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.SCREW, JointKind.BALL, JointKind.FREE_MIXED)
_KINDS += (JointKind.TRANSLATIONAL, JointKind.UNIVERSAL, JointKind.EULER, JointKind.PLANAR)
_ROTATES = (JointKind.BALL, JointKind.FREE_MIXED)
MOST_DOFS = 400


def has_formulas(engine: Any, acts: bool) -> bool:
    """Whether steps of a world may be differentiated by formulas; `acts`: commands are more than forces."""
    t = engine.tree
    rotation = np.concatenate([np.arange(t.first_dof[i], t.first_dof[i] + 3) for i in np.flatnonzero(np.isin(t.kind, _ROTATES))] or [np.zeros(0, np.int64)])
    return (
        LANES == DIRECTIONS + 1 == 8
        and not acts
        and 0 < len(t.body_of_dof) <= MOST_DOFS
        and bool(np.isin(t.kind, _KINDS).all())
        and not t.prescribed.any()
        and bool((t.actuator == ActuatorType.FORCE).all())
        and not t.stiffness[rotation].any()
        and engine.surfaces.container.mode == NO_ROWS
        and not engine.responses.container.apart.any()
    )


class Formulas:
    """Derivatives of an engine's steps by formulas, where these are all that a step has.

    Args:
        mirror: the engine's structs for duals, of which the detector's are used.
    """

    def __init__(self, mirror: Any):
        self.mirror, engine = mirror, mirror.engine
        t = engine.tree
        n, blocks = len(t.body_of_dof), len(engine.row_origins.origin)
        rows = 3 * blocks
        narrow = -(-n // LANES)
        sizes = {"dofs": n, "rows": rows, "narrow": narrow, "wide": 3 * narrow}
        self._lanes = TABLES(samples=LANES, **sizes)
        flat = {f: getattr(self._lanes, f) for f in TABLES.arrays}
        self._numbers = TABLES(**{f: a.reshape(a.shape[0], -1) for f, a in flat.items()})
        self.tangent = c = TANGENT(dofs=n, bodies=len(t.parent), blocks=blocks, rows=rows, twice=2 * n, thrice=3 * n)
        self._data, self._work = data_for(t), derivatives_workspace(t)
        for i in np.flatnonzero(t.kind == JointKind.FREE_MIXED):
            k = int(t.first_dof[i])
            self._work.carried[k : k + 3], self._work.carried[k + 3 : k + 6] = k + 6, k
        self._solutions = solution_rows(self._work)
        c.data, c.derivatives = self._data, self._work
        c.lanes, c.numbers = self._lanes.address, self._numbers.address
        found = mirror.world.collision
        self._views = [
            NUMBERS(number=a.reshape(-1))
            for a in (found.point, found.normal, found.gap, mirror.world.data.R, mirror.world.data.p)
        ]
        c.geometry[:] = [x.address for x in self._views[:3]]
        c.poses[:] = [x.address for x in self._views[3:]]
        self._blocks = blocks
        self._detect = dual_callback(detect_contacts).address

    @property
    def is_current(self) -> bool:
        """Whether it fits the engine's arrays."""
        return self.mirror.is_current and self._blocks == len(self.mirror.engine.row_origins.origin)

    def begin(self, engine: Any) -> None:
        """Take what there is before a step."""
        c, d = self.tangent, engine.data
        c.start_q[:], c.start_u[:], c.force[:] = d.q, d.u, d.tau
        c.time_step = engine.world.time_step
        self._data.has_external[:], self._data.external[:] = d.has_external, d.external
        self.mirror.fill()

    def after(self, engine: Any) -> bool:
        """`out`, of the step that was done. Returns whether there are formulas for all of it."""
        collision = self.mirror.world.collision.address
        return step_rates(engine.world.address, self.tangent.address, self._detect, collision) == DONE
