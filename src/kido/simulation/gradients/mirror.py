"""A world's compiled side in dual numbers: the structs that a step reads and writes, and its stages made for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.collision.detector import pair_function
from kido.collision.narrow import detect_contacts
from kido.constraints.assemble import ASSEMBLED, SURFACES_WANTED
from kido.errors import StateError
from kido.jit import LANES
from kido.jit.duals import DualStructs, dual_callback
from kido.kernels.free_lanes import CENTRED, FREE_LANES, OFF_CENTRE
from kido.kernels.free_lanes import ROWS as LANE_ROWS
from kido.kernels.responses import BODIES_TOGETHER, RESPONSE_SWEEP, WRENCHES
from kido.simulation.commands import Commands, act_stage, put_back_stage
from kido.simulation.flexible_bodies import FlexibleBodies
from kido.simulation.flexible_step import (
    answer_flexible,
    flexible_assemble_stage,
    flexible_predict_stage,
    move_flexible,
)
from kido.simulation.gradients.stages import move_stage, solution_stage
from kido.simulation.integrate import integrate_share, integrate_stage
from kido.simulation.middle import keep_start_stage, moves_middle_stage
from kido.simulation.midpoint_problem import assemble_midpoint_stage
from kido.simulation.predict import predict_stage
from kido.simulation.surface_contact import deform_contact, detect_surfaces_stage

# Results and work space that a step fills before it reads them.
FILLED = ("PROBLEM", "RESPONSES.rows", "REGULARIZED", "TOUCHED", "TREE_NEWTON")
NEEDS = ("blocks_needed", "rows_needed", "pool_needed", "extras_needed", "responses_needed")


class NoRoom(Exception):
    """The engine has too little room for a step; `mend` enlarges it."""

    def __init__(self, mirror: Mirror, stage: str, status: int):
        super().__init__(f"{stage} ended with {status}")
        self.mirror, self.stage, self.status = mirror, stage, status

    def mend(self) -> None:
        """Make room."""
        engine, mirror = self.mirror.engine, self.mirror
        if self.stage == "detect":
            c, found = engine.detector.container, mirror.world.collision
            c.contacts_found, c.pairs_found = found.contacts_found, found.pairs_found
            engine.grow_contacts(self.status)
            return
        if self.status == SURFACES_WANTED:
            engine.surfaces.supply(mirror.world.collision, engine.world.time_step)
            engine.row_origins.surfaces = engine.surfaces.container
            return
        for name in NEEDS:
            setattr(engine.row_origins, name, getattr(mirror.origins, name))
        engine.continue_assembly(self.status)


class Mirror:
    """The structs of an engine in dual numbers.

    Attributes:
        world, problem, origins: its WORLD, PROBLEM and ROW_ORIGINS.
    """

    def __init__(self, engine: Any):
        self.engine = engine
        r = engine.responses
        sizes = {"dofs": r.container.sweep.e.shape[0], "bodies": r.container.sweep.B.shape[0]}
        self._sweep = RESPONSE_SWEEP(samples=LANES, columns=BODIES_TOGETHER * WRENCHES, **sizes)
        self._lanes = FREE_LANES(samples=LANES, rows=LANE_ROWS, lanes=1)
        for k in range(WRENCHES):
            self._sweep.wrench[k, k, 0] = -1.0
        given: dict[int, Any] = {struct.address: self._sweep for pair in r.sweeps for struct in pair}
        self._structs = DualStructs(given, FILLED)
        flexible = engine.feature(FlexibleBodies)
        self._flexible, self._surfaces = flexible.any, bool(flexible.surfaces.found)
        self.world = self._structs.of(engine.world)
        self.world.team = None  # one thread does it
        self.problem, self.origins = self.world.problem, self.world.row_origins
        table = engine.detector.container.pair_function
        pairs = [(int(a), int(b)) for a, b in np.argwhere(table)]
        self._pairs = {pair: dual_callback(pair_function(*pair)) for pair in pairs}
        own = engine.feature(Commands).own_struct
        self._commands = None if own is None else self._structs.of(own)
        self._of, self._linked = self._structure(), engine.times_linked

    def _structure(self) -> list[Any]:
        w, engine = self.engine.world, self.engine
        own = engine.feature(Commands).container
        parts = [engine.surfaces.container, w.tree, w.data, w.collision, w.problem, w.row_origins]
        return [*parts, engine.responses.container, own, engine.feature(FlexibleBodies).container, w.flex_surfaces]

    @property
    def is_current(self) -> bool:
        """Whether the engine still has the structs that it mirrors."""
        engine = self.engine
        # Others are replaced where the engine links them.
        if engine.times_linked == self._linked and engine.surfaces.container is self._of[0]:
            return True
        if not all(a is b for a, b in zip(self._of, self._structure(), strict=True)):
            return False
        self._linked = engine.times_linked
        return True

    def fill(self) -> None:
        """The state of the engine, without derivatives."""
        self._structs.fill()
        w = self.world
        c, r = w.collision, w.row_origins.responses
        r.lanes[:], r.sweeps[:] = self._lanes.address, self._sweep.address
        r.deferrable[:] = 0
        r.free[r.free == CENTRED] = OFF_CENTRE  # a centre of mass may move
        c.pair_function[:] = 0
        for pair, function in self._pairs.items():
            c.pair_function[pair] = function.address
        w.feature_stage[:] = w.feature_struct[:] = 0
        c.detect = dual_callback(detect_contacts)
        w.integrate_share = dual_callback(integrate_share)
        if self._flexible:
            w.move_flexible = dual_callback(move_flexible)
            r.others, r.others_of = dual_callback(answer_flexible), w.address
            if self._surfaces:
                r.deform = dual_callback(deform_contact)

    def move(self) -> None:
        """Move positions by velocities for a second."""
        self._run(move_stage)

    def begin(self) -> None:
        """The step up to its contact problem.

        Raises:
            NoRoom: the arrays are too small.
            StateError: the step itself would fail.
        """
        w = self.world
        if self._commands is not None:
            self._run(act_stage, self._commands.address)
        self._run(keep_start_stage)
        self._find_problem()
        if dual_callback(moves_middle_stage)(w.address, 0, 0, 0) != 0:
            self._find_problem()

    def _find_problem(self) -> None:
        """Positions at mid-step, and the contact problem there."""
        w = self.world
        self._run(flexible_predict_stage if self._flexible else predict_stage)
        if self._surfaces:
            status = dual_callback(detect_surfaces_stage)(w.address, 0, 0, 0)
        else:
            status = dual_callback(detect_contacts)(w.collision.address, 0, 0, 0)
        if status != 0:
            raise NoRoom(self, "detect", status)
        stage = flexible_assemble_stage if self._flexible else assemble_midpoint_stage
        status = dual_callback(stage)(w.address, 0, 0, 0)
        if status != ASSEMBLED:
            raise NoRoom(self, "assemble", status)

    def end(self) -> None:
        """The rest of the step, with the impulses in `problem.free`."""
        self._run(solution_stage)
        self._run(integrate_stage)
        if self._commands is not None:
            self._run(put_back_stage, self._commands.address)

    def _run(self, stage: Any, second: int = 0) -> None:
        status = dual_callback(stage)(self.world.address, second, 0, 0)
        if status != 0:
            raise StateError(f"step_derivatives: a step from this state fails in {stage}, with status {status}")
