"""The compiled side of a world: its forest, detector, contact problem and the table that ties them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kido.collision import CONTACTS, Collider
from kido.collision.container import PENDING
from kido.collision.external import COMPLETE, ELSEWHERE, ExternalDetector
from kido.constraints.assemble import SURFACES_WANTED
from kido.constraints.constraint import Constraint
from kido.constraints.inertia import fill_inertia
from kido.constraints.sources import (
    BLOCKS_NEEDED,
    ERP,
    EXTRAS_NEEDED,
    MAX_CORRECTION,
    POOL_NEEDED,
    RESPONSES_NEEDED,
    RESTITUTION_SPEED,
    ROWS_NEEDED,
    SKIN,
    SKIN_SHARE,
    SLOP,
    SOURCES,
    TIME_STEP,
)
from kido.errors import ModelError, StateError
from kido.integrators import ExplicitEuler, Integrator, MoreauMidpoint, SemiImplicitEuler
from kido.jit import Container, prepare
from kido.joints import ActuatorType
from kido.kernels.responses import Responses
from kido.simulation import schema
from kido.simulation.actuate import actuate_stage
from kido.simulation.contact_events import TouchLog
from kido.simulation.contact_surface import ContactSurfaceHandler
from kido.simulation.contacts import ContactSet
from kido.simulation.euler import explicit_finish, explicit_smooth, semi_implicit_finish, semi_implicit_smooth
from kido.simulation.filters import filter_arrays, is_tested
from kido.simulation.finish import finish_share, finish_stage
from kido.simulation.loop_system import LoopSystem
from kido.simulation.loops import LOOP_STAGES, close_now
from kido.simulation.schema import WORLD
from kido.simulation.settings import OPTIONS, write_options
from kido.simulation.sleep import sleeping_stage
from kido.simulation.sleeping import Sleepers, Sleeping
from kido.simulation.smooth import smooth_stage
from kido.simulation.smooth_motion import SmoothMotion
from kido.simulation.soft_arrays import SoftArrays
from kido.simulation.soft_contact import soft_assemble_stage, soft_finish_stage
from kido.simulation.soft_smooth import soft_smooth_stage
from kido.simulation.step import (
    AFTER,
    FROM_ASSEMBLY,
    FROM_DETECTION,
    FROM_SOLUTION,
    FROM_START,
    assemble_stage,
    detect_stage,
    run_steps,
)
from kido.simulation.surface_table import SurfaceTable
from kido.simulation.threads import STAGES, StepThreads, step_threads
from kido.simulation.touch import touch_stage
from kido.skeleton.arrays import STATE_FIELDS
from kido.skeleton.compiler import check_masses, compile_forest
from kido.skeleton.joints.actuator import followed_dofs
from kido.skeleton.state.actuation import is_prescribed, join_commands, takes_force, takes_motion
from kido.solvers import (
    STAGE_BODY,
    STAGE_INERTIA,
    STAGE_INERTIA_OF,
    CustomSolver,
    Solver,
    admm_island,
    body_newton_island,
    correct_positions,
    gauss_seidel_island,
    new_problem,
    restitute,
    solve_chosen,
    solve_problem,
    solve_with,
)

if TYPE_CHECKING:
    from kido.collision import CollisionDetector, NativeDetector
    from kido.simulation.collision_filter import CollisionFilter
    from kido.skeleton import BodyNode, ShapeNode, Skeleton

CORRECTION = ("erp", "slop", "max_correction", "skin", "skin_share")  # settings that the solvers do not know
MOST_COORDINATES = 300  # of a skeleton whose mass matrix solvers may factorize
MARGIN = 1e-3  # [m] contacts are made before surfaces meet, within this distance


class Collisions(NamedTuple):
    """How a world finds contacts: by which detector, between which bodies, and whether all of them are swept."""

    detector: CollisionDetector
    filter: CollisionFilter
    continuous: bool


class Engine:
    """Arrays and addresses of one structure of a world; a change of structure makes a new engine."""

    def __init__(
        self,
        skeletons: list[Skeleton],
        gravity: np.ndarray,
        time_step: float,
        collisions: Collisions,
        settings: dict[str, float],
        integrator: Integrator,
        solver: Solver,
        surface_handler: ContactSurfaceHandler,
        like: NativeDetector | None = None,
        constraints: Iterable[Constraint] = (),
    ):
        self.skeletons = list(skeletons)
        self.tree, self.data, self.windows = compile_forest(self.skeletons, gravity)
        self.first_link = {s: int(b) for s, b in zip(self.skeletons, self.tree.part_body, strict=False)}
        self.links = {s: links for s, (links, _, _) in zip(self.skeletons, self.windows, strict=True)}
        self.nodes: list[ShapeNode] = [
            node for s in self.skeletons for b in s.bodies for node in b.shapes if node.collision and b.collidable
        ]
        self.soft = SoftArrays(self.skeletons, self.link_index) if any(s.soft_bodies for s in skeletons) else None
        geometries: list[Any] = [node.shape for node in self.nodes]
        if self.soft is not None:
            self.nodes, geometries = self.soft.shapes_of(self.nodes)
        self.settings = settings
        self.solver = solver
        self.undriven = np.zeros(0, np.int64)
        self._read_actuators()
        self.integrator = integrator
        self.smooth_motion: SmoothMotion | None = None
        self.sleepers: Sleepers | None = None
        self.touch_log: TouchLog | None = None
        self.threads: StepThreads | None = None
        self.loops: LoopSystem | None = None
        dofs = int(self.tree.first_dof[-1])
        self.world = Container(WORLD, dofs=dofs)
        self.surfaces = SurfaceTable(self.nodes, self.place, surface_handler)
        self.detector = collisions.detector._in_world(
            [self.collider(n, g, collisions.continuous) for n, g in zip(self.nodes, geometries, strict=True)],
            self.data.R,
            self.data.p,
            body_velocity=self.data.V,
            margin=MARGIN,
            prepare=self._prepare,
            like=like,
            **self._filters(collisions.filter),
        )
        self.responses = Responses(self.tree)
        blocks = 64 + 2 * dofs
        self._make_problem(blocks, 3 * blocks, 4096)
        self.set_time_step(time_step)
        self.set_integrator(integrator)
        self.set_constraints(list(constraints))

    def set_constraints(self, constraints: list[Constraint]) -> None:
        """Hold other constraints from now on."""
        self.loops = LoopSystem(self, constraints) if constraints else None
        if constraints:
            prepare(list(LOOP_STAGES.values()))
        self._place_inertias(self.problem)
        self._link()

    def close_loops(self) -> float:
        """Positions and velocities onto the constraints; returns the largest error left."""
        assert self.loops is not None
        return close_now(self.tree.address, self.data.address, self.loops.container.address)

    def set_threads(self, threads: int) -> None:
        """Let several threads share a step, where that pays."""
        self.threads = step_threads(threads, self.world, self.tree)
        self._link()

    def set_sleeping(self, sleeping: Sleeping | None) -> None:
        """Let parts sleep from now on, by other thresholds, or not at all. Needs skeletons that have their arrays."""
        if sleeping is None or self.smooth_motion is not None or self.soft is not None:
            if self.sleepers is not None:
                self.sleepers.wake_all()
            self.sleepers = None
        elif self.sleepers is None:
            self.sleepers = Sleepers(self, sleeping)
        else:
            self.sleepers.set_rule(sleeping)
        self._link()

    def collect_events(self, wanted: bool) -> None:
        """Log which pairs touch, or no longer."""
        self.touch_log = (self.touch_log or TouchLog(self)) if wanted else None
        self._link()

    def link_index(self, body: BodyNode) -> int:
        """Number in the forest of the link that carries a body."""
        return self.first_link[body.skeleton] + int(self.links[body.skeleton].of_body[body.index])

    def collider(self, node: ShapeNode, geometry: Any, continuous: bool) -> Collider:
        """A shape as the detector takes it; `geometry`: the node's shape, or a part of a soft skin."""
        return Collider(
            geometry,
            self.link_index(node.body),
            self.place(node) if geometry is node.shape else None,
            node.friction,
            node.restitution,
            node.collision_category,
            node.collision_mask,
            (continuous or node.body.continuous) and geometry is node.shape,
        )

    def _filters(self, given: CollisionFilter) -> dict[str, Any]:
        """The detector's arguments that say which links collide."""
        arguments = (self.links, self.link_index, self.tree.moves)
        alone = filter_arrays(*arguments, given._forbidden([], lambda a, b: True), given._lifted)
        if given.callback is None:
            return alone
        bodies = list(dict.fromkeys(node.body for node in self.nodes))

        def tested(a: BodyNode, b: BodyNode) -> bool:
            return is_tested(alone, self.link_index(a), self.link_index(b))

        return filter_arrays(*arguments, given._forbidden(bodies, tested), given._lifted)

    def place(self, node: ShapeNode) -> np.ndarray:
        """Pose of a shape in its body's link."""
        return self.links[node.body.skeleton].offset[node.body.index] @ node.relative_transform

    def set_integrator(self, integrator: Integrator) -> None:
        """Step by another integrator from now on."""
        if self.soft is not None and not isinstance(integrator, MoreauMidpoint):
            raise ModelError(f"worlds with soft bodies step by MoreauMidpoint only, got {integrator!r}")
        self.integrator = integrator
        in_stages = isinstance(integrator, MoreauMidpoint | SemiImplicitEuler | ExplicitEuler)
        self.smooth_motion = None if in_stages else SmoothMotion(self, integrator)
        self._set_sweep()
        self._link()

    def set_solver(self, solver: Solver) -> None:
        """Solve contacts by another solver from now on; warm starts are kept."""
        self.solver = solver
        problem = self.problem
        sizes = (len(problem.kind), len(problem.bias), len(problem.J), len(problem.more_dof))
        self._make_problem(*sizes, keep=self.sources)

    def set_options(self) -> None:
        """The laws of impact and of position correction in the settings have changed."""
        write_options(self.sources.parameter, self.settings)
        self._link()

    def surfaces_changed(self, handler: ContactSurfaceHandler) -> None:
        """Shapes have other surfaces, or something else makes those of pairs; contacts stay warm, sleepers wake."""
        if self.sleepers is not None:
            self.sleepers.wake_all()
        self.surfaces = SurfaceTable(self.nodes, self.place, handler)
        self.sources.surfaces[0] = self.surfaces.address
        c = self.detector.container
        for k, node in enumerate(self.nodes):
            c.shape_friction[k], c.shape_restitution[k] = node.friction, node.restitution
        self._link()

    def continue_assembly(self, status: int) -> None:
        """Supply what the assembly of the contact problem lacked: larger arrays, or the surfaces of pairs.

        Raises:
            ModelError: a user's handler gave no surface.
        """
        if status == SURFACES_WANTED:
            self.surfaces.supply(self.detector.container, float(self.world.time_step[0]))
            self.sources.surfaces[0] = self.surfaces.address
        else:
            self.grow_problem()

    def set_time_step(self, time_step: float) -> None:
        """Change the time step [s]."""
        self.world.time_step[0] = time_step
        self.sources.parameter[TIME_STEP] = time_step
        self._set_sweep()

    def _set_sweep(self) -> None:
        """What continuous detection needs to know of the step."""
        h = float(self.world.time_step[0])
        midway = isinstance(self.integrator, MoreauMidpoint | SemiImplicitEuler)
        self.detector.set_sweep(h, 0.5 * h if midway else h)

    def _read_actuators(self) -> None:
        """Take the actuators from the forest.

        Raises:
            NameLookupError, ModelError: a joint mimics what it cannot.
        """
        for skeleton in self.skeletons:
            followed_dofs(skeleton)
        self.tree.prescribed[:] = is_prescribed(self.tree.actuator)
        self.undriven = np.flatnonzero(~takes_force(self.tree.actuator))

    def _list_joints(self, sources: Container) -> None:
        """Which coordinates may have rows in the contact problem."""
        t = self.tree
        limits = (t.lower, -t.upper, t.velocity_lower, -t.velocity_upper)
        rows = (t.coulomb > 0.0) | (t.actuator == ActuatorType.SERVO) | (t.actuator == ActuatorType.MIMIC)
        found = np.flatnonzero(rows | np.any([limit > -np.inf for limit in limits], axis=0))
        sources.joint_dof[: len(found)] = found
        sources.jointed[0] = len(found)

    def properties_changed(self) -> None:
        """The forest has new properties.

        Raises:
            NameLookupError, ModelError: a joint mimics what it cannot.
        """
        self._read_actuators()
        self._list_joints(self.sources)
        if self.soft is not None:
            self.soft.fill()
        if self.sleepers is not None:
            self.sleepers.wake_all()
            self.sleepers.set_lengths()
        self._link()
        if self.loops is not None:  # frames on links, and which parts move
            kept = self.loops.state()
            self.set_constraints(self.loops.constraints)
            self.loops.set_state(kept)

    def commands(self) -> np.ndarray:
        """Commands (dofs,) of the next step."""
        return join_commands(self.tree.actuator, self.data.tau, self.data.command)

    def last_commands(self) -> np.ndarray:
        """Commands (dofs,) of the last step."""
        return join_commands(self.tree.actuator, self.world.command, self.world.target)

    def set_commands(self, commands: np.ndarray) -> None:
        """Set the commands (dofs,) of the next step."""
        self.data.tau[:] = np.where(takes_force(self.tree.actuator), commands, 0.0)
        self.data.command[:] = np.where(takes_motion(self.tree.actuator), commands, 0.0)

    def _inertia_sizes(self) -> np.ndarray:
        """Entries of the mass matrix of each skeleton; none where it would be too large to be worth its cost."""
        lengths = np.diff(self.tree.part_dof)
        return np.where(lengths <= MOST_COORDINATES, lengths**2, 0)

    def _place_inertias(self, problem: Container) -> None:
        """Tell the solvers where mass matrices lie and what fills them."""
        starts = self.tree.part_dof[:-1]
        sizes = self._inertia_sizes()
        known = sizes > 0
        problem.inertia_at[starts[known]] = (1 + np.cumsum(sizes) - sizes)[known]
        if self.loops is not None:  # what they hold together answers impulses otherwise than mass alone does
            held = self.loops.container.part_group[: len(starts)] >= 0
            problem.inertia_at[starts[held & known]] = 0
        problem.stage[STAGE_BODY] = body_newton_island.address
        problem.stage[STAGE_INERTIA] = fill_inertia.address
        problem.stage[STAGE_INERTIA_OF : STAGE_INERTIA_OF + 2] = self.tree.address, self.data.address

    def _make_problem(self, blocks: int, rows: int, pool: int, extras: int = 0, keep: Container | None = None) -> None:
        dofs = int(self.tree.first_dof[-1])
        options = {k: v for k, v in self.settings.items() if k not in CORRECTION and k not in OPTIONS}
        sizes = {**options, **self.solver._sizes()}
        if self.soft is not None:
            dofs += self.soft.dofs
        problem = new_problem(  # type: ignore[arg-type]
            blocks=blocks,
            rows=rows,
            dofs=dofs,
            pool=pool,
            extras=extras,
            inertias=int(self._inertia_sizes().sum()),
            **sizes,
        )
        self._place_inertias(problem)
        self.solver._choose(problem)
        sources = Container(SOURCES, blocks=blocks, dofs=int(self.tree.first_dof[-1]))
        self._list_joints(sources)
        sources.responses[0] = self.responses.address
        sources.surfaces[0] = self.surfaces.address
        parameter = sources.parameter
        parameter[ERP] = self.settings["erp"]
        parameter[SLOP] = self.settings["slop"]
        parameter[MAX_CORRECTION] = self.settings["max_correction"]
        parameter[RESTITUTION_SPEED] = self.settings["restitution_speed"]
        parameter[SKIN] = self.settings["skin"]
        parameter[SKIN_SHARE] = self.settings["skin_share"]
        write_options(parameter, self.settings)
        if keep is not None:
            problem.u_free[:] = self.problem.u_free
            parameter[TIME_STEP] = keep.parameter[TIME_STEP]
            sources.limit_impulse[:] = keep.limit_impulse
            sources.friction_impulse[:] = keep.friction_impulse
            sources.actuator_impulse[:] = keep.actuator_impulse
        self.problem, self.sources = problem, sources
        self._link()

    def _stages(self) -> dict[int, Any]:
        """The callbacks of a step by their place in the table."""
        stages = {
            schema.SMOOTH: smooth_stage,
            schema.DETECT: detect_stage,
            schema.ASSEMBLE: assemble_stage,
            schema.SOLVE: solve_problem,
            schema.SWEEPER: gauss_seidel_island,
            schema.FALLBACK: admm_island,
            schema.CORRECT: correct_positions,
            schema.FINISH: finish_stage,
            schema.FINISH_SHARE: finish_share,
        }
        if self.threads is not None:
            stages |= STAGES
        if isinstance(self.solver, CustomSolver):
            del stages[schema.SOLVE]
        elif self.solver._island is not None:
            stages[schema.SOLVE] = solve_chosen
            stages[schema.CHOSEN] = self.solver._island
        if isinstance(self.integrator, SemiImplicitEuler):
            stages[schema.SMOOTH], stages[schema.FINISH] = semi_implicit_smooth, semi_implicit_finish
        elif isinstance(self.integrator, ExplicitEuler):
            stages[schema.SMOOTH], stages[schema.FINISH] = explicit_smooth, explicit_finish
        if self._may_bounce():
            stages[schema.RESTITUTE] = restitute
        if self.tree.prescribed.any():
            stages[schema.ACTUATE] = actuate_stage
        if self.soft is not None:
            stages[schema.SMOOTH] = soft_smooth_stage
            stages[schema.SOFT_ASSEMBLE] = soft_assemble_stage
            stages[schema.SOFT_FINISH] = soft_finish_stage
        if self.sleepers is not None:
            stages[schema.SLEEPING] = sleeping_stage
        if self.touch_log is not None:
            stages[schema.EVENTS] = touch_stage
        if self.loops is not None:
            stages |= LOOP_STAGES
        return stages

    def _may_bounce(self) -> bool:
        """Whether contacts may need the second phase of impacts."""
        if self.settings["restitution_law"] == "newton":
            return False
        own = type(self.surfaces.handler) is not ContactSurfaceHandler
        return own or any(n.restitution > 0.0 for n in self.nodes)

    def _prepare(self, callbacks: list[Any]) -> None:
        prepare([*callbacks, *self._stages().values(), body_newton_island, fill_inertia])

    def _link(self) -> None:
        table = self.world.table
        table[schema.TREE_AT] = self.tree.address
        table[schema.DATA_AT] = self.data.address
        table[schema.COLLISION_AT] = self.detector.address
        table[schema.PROBLEM_AT] = self.problem.address
        table[schema.SOURCES_AT] = self.sources.address
        table[schema.SMOOTH :] = 0
        for place, stage in self._stages().items():
            table[place] = stage.address
        if self.soft is not None:
            table[schema.SOFT_AT] = self.soft.container.address
        if self.sleepers is not None:
            table[schema.SLEEP_AT] = self.sleepers.container.address
        if self.touch_log is not None:
            table[schema.EVENTS_AT] = self.touch_log.container.address
        if self.threads is not None:
            self.threads.link(self.problem)
        if self.loops is not None:
            table[schema.LOOPS_AT] = self.loops.container.address
            table[schema.USERS_AT] = self.loops.users.container.address
            table[schema.LOOP_USER] = int(bool(self.loops.users.constraints))

    def grow_contacts(self, status: int) -> None:
        """Enlarge the detector's arrays after it returned a status."""
        self.detector.grow(status)
        self._link()

    def _detect_elsewhere(self) -> None:
        """Contacts by another library, between the broad phase and the contact problem."""
        self.detector.complete()
        self.detector.container.count[PENDING] = COMPLETE
        self._link()

    def grow_problem(self) -> None:
        """Enlarge the contact problem to what was found to be needed."""
        used = self.sources.used
        problem = self.problem
        if used[RESPONSES_NEEDED] > len(self.responses.container.rows):
            self.responses = Responses(self.tree, int(1.5 * used[RESPONSES_NEEDED]))
        have = (len(problem.kind), len(problem.bias), len(problem.J), len(problem.more_dof))
        need = (used[BLOCKS_NEEDED], used[ROWS_NEEDED], used[POOL_NEEDED], used[EXTRAS_NEEDED])
        self._make_problem(*(max(h, int(1.5 * n)) for h, n in zip(have, need, strict=True)), keep=self.sources)

    @property
    def is_compiled(self) -> bool:
        """Whether `run_steps` alone does its steps, but for what `make_room` does."""
        from_python = isinstance(self.solver, CustomSolver) or self.world.table[schema.LOOP_USER] != 0
        return not from_python and self.smooth_motion is None and self.sleepers is None and self.touch_log is None

    def make_room(self, stage: int, status: int) -> int:
        """Enlarge what a stage of a step found too small. Returns where the step goes on.

        Raises:
            ModelError: a coordinate has no inertia.
            StateError: a pose became NaN or infinite.
        """
        if stage == schema.SMOOTH:
            self._raise_failed(status - 1)
        if stage == schema.DETECT:
            if status == ELSEWHERE:
                self._detect_elsewhere()
            else:
                self.grow_contacts(status)
            return FROM_DETECTION
        self.continue_assembly(status)
        return FROM_ASSEMBLY

    def run(self, number: int, time: float) -> None:
        """Do a number of steps, enlarging arrays as contacts need.

        Args:
            number: of steps.
            time: at which they start [s].

        Raises:
            ModelError: a coordinate has no inertia.
            StateError: a pose became NaN or infinite, contact ended a smooth motion, or an integrator for smooth
                motion is to hold constraints.
        """
        self.data.tau[self.undriven] = 0.0
        if self.smooth_motion is not None:
            if self.loops is not None:
                raise StateError(
                    f"integrator {type(self.integrator).__name__} is for smooth motion and knows no constraints, as "
                    f"{self.loops.constraints[0].name!r}; expected MoreauMidpoint, SemiImplicitEuler or ExplicitEuler"
                )
            self.smooth_motion.run(number, time)
        elif self.threads is None:
            self._run(number)
        else:
            with self.threads.working():
                self._run(number)

    def _run(self, number: int) -> None:
        resume = FROM_START
        from_python = (
            isinstance(self.solver, CustomSolver)
            or isinstance(self.detector, ExternalDetector)
            or self.surfaces.per_contact
            or self.world.table[schema.LOOP_USER] != 0
        )
        kept = self._kept_steps() if self.surfaces.own_pairs else None
        asked = number
        before: dict[str, np.ndarray] | None = None
        if self.sleepers is not None:
            self.sleepers.wake_disturbed()
        while number > 0:
            if self.touch_log is not None:
                self.touch_log.make_room()
                self._link()
            if from_python and resume == FROM_START:
                before = {f: getattr(self.data, f).copy() for f in STATE_FIELDS}
            done, stage, status = run_steps(self.world.address, 1 if from_python else number, resume)
            number -= done
            resume = FROM_START
            try:
                if stage in (schema.SMOOTH, schema.DETECT, schema.ASSEMBLE):
                    resume = self.make_room(stage, status)
                elif stage == schema.LOOP_USER and self.loops is not None:
                    self.loops.users.ask()
                    resume = FROM_ASSEMBLY
                elif stage == schema.SOLVE:
                    solve_with(self.problem, self.solver)
                    resume = FROM_SOLUTION
            except BaseException:
                if stage in (
                    schema.DETECT,
                    schema.LOOP_USER,
                    schema.ASSEMBLE,
                    schema.SOLVE,
                ):  # of others' code: the step is undone
                    if from_python:
                        self._undo_step(before, None, 0)
                    elif stage == schema.ASSEMBLE and kept is not None:
                        self._undo_step(None, kept, asked - number)
                raise
            if stage == schema.SLEEPING and self.sleepers is not None:
                if status == AFTER:
                    self.sleepers.put_to_sleep()
                else:
                    self.sleepers.undo_step()

    def _kept_steps(self) -> tuple[dict[str, np.ndarray], dict[str, Any], int]:
        """What `_undo_step` needs to come back to the present."""
        fields = {f: getattr(self.data, f).copy() for f in STATE_FIELDS}
        return fields, self.warm_state(), int(self.world.steps[0])

    def _undo_step(self, before: dict[str, np.ndarray] | None, kept: Any, done: int) -> None:
        """Back to before a step that a user's function failed in: to `before`, or `done` steps on from `kept`."""
        fields = kept[0] if before is None else before
        for field, values in fields.items():
            getattr(self.data, field)[:] = values
        if before is None:
            self.set_warm_state(kept[1])
            self.world.steps[0] = kept[2]
            if done > 0:
                self._run(done)

    def _raise_failed(self, dof: int) -> None:
        """Say why a coordinate has no positive inertia: no mass below it, or a state that is not finite."""
        body = int(self.tree.body_of_dof[dof])
        part = int(self.tree.part[body])
        skeleton = self.skeletons[part]
        check_masses(skeleton)
        joint = self.links[skeleton].top[body - int(self.tree.part_body[part])].parent_joint
        d = self.data
        if not all(np.isfinite(a).all() for a in (d.q, d.u, d.tau, d.R)):
            raise StateError(
                f"skeleton {skeleton.name!r}: the motion became NaN or infinite at joint {joint.name!r} in step "
                f"{int(self.world.steps[0])}; a smaller time step or smaller forces may help"
            )
        raise ModelError(
            f"skeleton {skeleton.name!r}: the inertia seen by joint {joint.name!r} is not positive; a body it "
            "moves needs mass or rotational inertia, or axes of the joint coincide at this position"
        )

    def dof_name(self, dof: int) -> str:
        """Name "skeleton/dof" of a coordinate of the forest."""
        part = int(np.searchsorted(self.tree.part_dof, dof, side="right")) - 1
        skeleton = self.skeletons[part]
        return f"{skeleton.name}/{skeleton.dofs[dof - int(self.tree.part_dof[part])].name}"

    def contacts(self) -> ContactSet:
        """Contacts of the last step."""
        container = self.detector.container
        n = int(container.count[CONTACTS])
        c = {
            f: getattr(container, f)[:n] for f in ("shape_a", "shape_b", "point", "normal", "gap", "impulse", "torque")
        }
        if self.sleepers is not None:
            c = {f: np.concatenate([values, self.sleepers.store[f]]) for f, values in c.items()}
        shape_a = [self.nodes[k] for k in c["shape_a"]]
        shape_b = [self.nodes[k] for k in c["shape_b"]]
        return ContactSet(
            points=c["point"].copy(),
            normals=c["normal"].copy(),
            gaps=c["gap"].copy(),
            forces=c["impulse"] / self.world.time_step[0],
            torques=c["torque"] / self.world.time_step[0],
            body_a=[node.body for node in shape_a],
            body_b=[node.body for node in shape_b],
            shape_a=shape_a,
            shape_b=shape_b,
        )

    def warm_state(self) -> dict[str, Any]:
        """What the next step needs besides the skeletons' states: persistent contacts and impulses."""
        return {
            "detector": self.detector.state(),
            "limit_impulse": self.sources.limit_impulse.copy(),
            "friction_impulse": self.sources.friction_impulse.copy(),
            "actuator_impulse": self.sources.actuator_impulse.copy(),
            "actuator_force": self.world.actuator_force.copy(),
            "constraint_force": self.world.constraint_force.copy(),
            "last": self.world.last.copy(),
            "worst": self.world.worst.copy(),
            "unconverged": self.world.unconverged.copy(),
            "loops": None if self.loops is None else self.loops.state(),
            "integrator": None if self.smooth_motion is None else self.smooth_motion.memory(),
            "sleepers": None if self.sleepers is None else self.sleepers.state(),
            "touch": None if self.touch_log is None else self.touch_log.state(),
            "soft": None if self.soft is None else self.soft.state(),
        }

    def set_warm_state(self, state: dict[str, Any]) -> None:
        """Restore what `warm_state` returned."""
        self.detector.set_state(state["detector"])
        self.sources.limit_impulse[:] = state["limit_impulse"]
        self.sources.friction_impulse[:] = state["friction_impulse"]
        self.world.constraint_force[:] = state["constraint_force"]
        self.sources.actuator_impulse[:] = state.get("actuator_impulse", 0.0)  # not in older recordings
        self.world.actuator_force[:] = state.get("actuator_force", 0.0)
        for field in ("last", "worst"):  # older recordings have fewer numbers
            getattr(self.world, field)[: len(state[field])] = state[field]
        self.world.unconverged[:] = state["unconverged"]
        if self.loops is not None and state.get("loops") is not None:
            self.loops.set_state(state["loops"])
        if self.smooth_motion is not None and state.get("integrator") is not None:
            self.smooth_motion.set_memory(state["integrator"])
        if self.sleepers is not None:
            self.sleepers.set_state(state.get("sleepers"))
        if self.touch_log is not None:
            self.touch_log.set_state(state.get("touch"))
        if self.soft is not None and state.get("soft") is not None:
            self.soft.set_state(state["soft"])
        self._link()
