"""Derivatives of steps by formulas: the work space of an engine, and which worlds have such."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.arrays import fixed
from kido.collision.container import COLLISION
from kido.collision.narrow import detect_contacts
from kido.jit import LANES
from kido.jit.duals import DIRECTIONS, dual_callback
from kido.jit.duals.structs import NUMBERS
from kido.joints import JointKind
from kido.quantities.branches import derivatives_workspace
from kido.simulation.commands import Commands
from kido.simulation.flexible_bodies import FlexibleBodies
from kido.simulation.gradients.laws import MODE_NAMES
from kido.simulation.gradients.result import StepDerivatives
from kido.simulation.gradients.tangent.attempt import ATTEMPT, Handed, try_pull, try_rates
from kido.simulation.gradients.tangent.kept import BY, Kept, put_features
from kido.simulation.gradients.tangent.schema import TABLES, TANGENT, UNIT_NUMBERS, UNITS
from kido.simulation.threads import StepThreads
from kido.tree.schema import data_for

Array = NDArray[np.float64]
_OTHERS = (JointKind.FREE, JointKind.USER)
MOST_DOFS = 400


def may_have_formulas(engine: Any) -> bool:
    """Whether steps of a world of this structure may be differentiated by formulas."""
    t = engine.tree
    if engine.feature(FlexibleBodies).any:
        return False
    return DIRECTIONS + 1 == 8 == LANES and 0 < len(t.body_of_dof) <= MOST_DOFS and not np.isin(t.kind, _OTHERS).any()


def _wide(numbers: int) -> int:
    """Blocks of lanes for a row: five are worked on together, which takes less time than four, and less than four."""
    blocks = -(-numbers // LANES)
    return blocks + 1 if blocks % 5 == 4 else blocks


def _above(t: Any) -> NDArray[np.bool_]:
    """Of each body, which bodies are on its path to the root."""
    above = np.eye(len(t.parent), dtype=bool)
    for i, parent in enumerate(t.parent):
        if parent >= 0:
            above[i] |= above[parent]
    return above


def _relatives(t: Any) -> NDArray[np.bool_]:
    """Of each two coordinates, whether one's body is on the other's path to the root."""
    found = _above(t)[np.ix_(t.body_of_dof, t.body_of_dof)]
    return found | found.T


def _parts() -> dict[str, str]:
    """Arrays of a detector that detections leave to the next one, by what is in use of them."""
    chosen = {"order": ""}
    for name in COLLISION.arrays:
        dim = COLLISION.fields[name].dims[0]
        if dim in BY:
            chosen[name] = str(dim)
    return chosen


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
        narrow = _wide(n)
        sizes = {"dofs": n, "rows": rows, "narrow": narrow, "twice_narrow": 2 * narrow, "thrice": 3 * n}
        sizes["row_lanes"] = _wide(rows)
        self._lanes = TABLES(samples=LANES, **sizes)
        flat = {f: getattr(self._lanes, f) for f in TABLES.arrays}
        self._numbers = TABLES(**{f: a.reshape(a.shape[0], -1) for f, a in flat.items()})
        self.tangent = c = TANGENT(dofs=n, bodies=len(t.parent), blocks=blocks, rows=rows, twice=2 * n, thrice=3 * n)
        c.path[:] = _above(t)[:, t.body_of_dof]
        mounted = np.arange(n)
        for k in t.first_dof[np.flatnonzero(t.kind == JointKind.FREE_MIXED)]:
            mounted[k : k + 6] = *range(k + 3, k + 6), *range(k, k + 3)
        c.order[:] = np.arange(n), mounted
        for m, place in enumerate((np.arange(n), np.argsort(mounted))):
            for k, row in enumerate(_relatives(t)):
                found = np.flatnonzero(row)
                found = found[np.argsort(place[found])]
                above = found[place[found] <= place[k]]
                c.num_kin[k], c.kin[m, k, : len(found)], c.num_above[m, k] = len(found), found, len(above) - 1
                c.blocks_above[k] = above.max() // LANES + 1
        c.tip[:] = [max(np.flatnonzero(row), default=0) for row in c.path]
        self._data, self._work = data_for(t), derivatives_workspace(t)
        for i in np.flatnonzero(t.kind == JointKind.FREE_MIXED):
            k = int(t.first_dof[i])
            self._work.carried[k : k + 3], self._work.carried[k + 3 : k + 6] = k + 6, k
        c.data, c.derivatives = self._data, self._work
        c.lanes, c.numbers = self._lanes.address, self._numbers.address
        found = mirror.world.collision
        self._views = [
            NUMBERS(number=a.reshape(-1))
            for a in (found.point, found.normal, found.gap, mirror.world.data.R, mirror.world.data.p, found.impulse)
        ]
        c.geometry[:] = [x.address for x in self._views[:3]]
        c.poses[:] = [x.address for x in self._views[3:5]]
        c.warm = self._views[5].address
        units = UNITS(samples=LANES, dofs=n, bodies=len(t.parent))
        numbers = UNIT_NUMBERS(**{f: getattr(units, f).reshape(-1) for f in UNITS.arrays if f != "P"})
        self._units = units, numbers
        c.units[:] = units.address, numbers.address
        self._blocks, self._linked = blocks, -1
        self._kept = Kept(engine)
        self._handed = Handed(engine.detector.container, found, _parts())
        self._attempt = ATTEMPT(tangent=c, kept=self._kept.plan, copies=self._handed.copies)
        self._attempt.detect = dual_callback(detect_contacts).address
        self._attempt.collision = found.address
        self._stateful: list[Any] = []  # features that have a state which steps change
        self._teams: list[Any] = []

    @property
    def is_current(self) -> bool:
        """Whether it fits the engine's arrays."""
        return self.mirror.is_current and self._blocks == len(self.mirror.engine.row_origins.origin)

    def _link(self, engine: Any) -> None:
        """Take what calls have in common until the engine links its structs again."""
        self.mirror.fill()
        own = engine.feature(Commands).container
        self._attempt.world, self._attempt.commands = engine.world, 0 if own is None else own.address
        self._stateful = [f for f in engine.features if f.key and f.state() is not None]
        self._teams, self._linked = engine.feature(StepThreads).teams, engine.times_linked

    def attempt(self, gradient: Array | None = None, memory: Array | None = None) -> int:
        """Do the next step, find `out` or, where there is a gradient by the state after it, `pulled`, and undo it.

        Args:
            memory: gradient by points and normals of its contacts (contacts, 6), which the next step recalls.

        Returns:
            DONE, or why there is nothing: OTHER_WAY, SINGULAR or STOPPED.
        """
        engine, c = self.mirror.engine, self.tangent
        for feature in engine.told_of_runs:
            feature.begin_run()
        if engine.times_linked != self._linked:
            self._link(engine)
        call = try_rates
        if gradient is not None:
            call, c.gradient[:], c.remembers = try_pull, gradient, 0
            if memory is not None:
                c.remembers = 1 + len(memory)
                c.memory[: len(memory)] = memory
        if not (self._stateful or engine.told_of_steps or self._teams):
            return call(self._attempt.address)
        states = [(feature, feature.state()) for feature in self._stateful]
        try:
            for feature in engine.told_of_steps:
                feature.before_steps()
            with self._teams[0].working() if self._teams else nullcontext():
                return call(self._attempt.address)
        finally:
            put_features(engine, states)

    def derivatives(self) -> StepDerivatives:
        """What `attempt` found."""
        c = self.tangent
        out, number, split = c.out.copy(), c.num_told, len(c.gradient)
        modes = tuple([MODE_NAMES[mode] for mode in c.told_mode[:number].tolist()])
        margins = fixed(c.told_margin[:number].copy())
        return StepDerivatives(fixed(out[:split].T), fixed(out[split:].T), {}, modes, margins, c.least_margin)

    def pulled(self) -> tuple[Array, Array, dict[str, Array]]:
        """What `attempt` found for a gradient."""
        found = self.tangent.pulled[:, 0]
        n = len(self.tangent.start_q)
        return found[: 2 * n].copy(), found[2 * n :].copy(), {}

    def recalled(self) -> Array:
        """Gradient by points and normals of the contacts that the step recalled (contacts, 6)."""
        return self.tangent.recalled[: self.mirror.engine.detector.container.num_contacts].copy()
