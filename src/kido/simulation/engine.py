"""The compiled side of a world: its forest, detector, contact problem and the table that ties them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kido.collision import Collider
from kido.collision.external import COMPLETE
from kido.constraints.assemble import SURFACES_WANTED
from kido.constraints.constraint import Constraint
from kido.constraints.inertia import fill_inertia
from kido.constraints.tree_newton import TREE_NEWTON
from kido.errors import ModelError
from kido.integrators import ExplicitEuler, Integrator, MoreauMidpoint, SemiImplicitEuler
from kido.jit import prepare
from kido.kernels.regularized_tree import REGULARIZED
from kido.kernels.responses import Responses
from kido.simulation import schema
from kido.simulation.aggregates.answers import answer_row, answer_tree
from kido.simulation.closed_motion import ClosedMotion
from kido.simulation.contact_events import ContactEventLog
from kido.simulation.contact_problem import (
    Arrays,
    first_room,
    larger_arrays,
    list_joints,
    new_arrays,
    place_inertias,
    place_responses,
)
from kido.simulation.contact_surface import ContactSurfaceHandler
from kido.simulation.contacts import ContactSet
from kido.simulation.filters import filter_arrays, is_tested
from kido.simulation.loop_system import LoopSystem
from kido.simulation.loops import LOOP_STAGES, close_now
from kido.simulation.schema import WORLD
from kido.simulation.settings import write_options
from kido.simulation.sleeping import Sleepers, Sleeping
from kido.simulation.smooth_motion import SmoothMotion
from kido.simulation.soft_arrays import SoftArrays
from kido.simulation.stages import stages_of, write_table
from kido.simulation.surface_table import SurfaceTable
from kido.simulation.threads import StepThreads, step_threads
from kido.skeleton.compiler import compile_forest
from kido.skeleton.joints.actuator import followed_dofs
from kido.skeleton.state.actuation import is_prescribed, join_commands, takes_force, takes_motion
from kido.solvers import (
    CustomSolver,
    Solver,
    body_newton_island,
)

if TYPE_CHECKING:
    from kido.collision import CollisionDetector, NativeDetector
    from kido.simulation.collision_filter import CollisionFilter
    from kido.skeleton import BodyNode, ShapeNode, Skeleton

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
        loop_solver: str = "auto",
    ):
        self.skeletons = list(skeletons)
        self.tree, self.data, self.windows = compile_forest(self.skeletons, gravity)
        self.first_link = {s: int(b) for s, b in zip(self.skeletons, self.tree.tree_body, strict=False)}
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
        self.event_log: ContactEventLog | None = None
        self.threads: StepThreads | None = None
        self.loops: LoopSystem | None = None
        self.loop_solver = loop_solver
        dofs = int(self.tree.first_dof[-1])
        self.world = WORLD(dofs=dofs)
        self.surfaces = SurfaceTable(self.nodes, self.place, surface_handler)
        self.detector = collisions.detector.world_detector(
            [self.collider(n, g, collisions.continuous) for n, g in zip(self.nodes, geometries, strict=True)],
            self.data.R,
            self.data.p,
            body_velocity=self.data.V,
            margin=MARGIN,
            prepare=self._prepare,
            like=like,
            **self._filters(collisions.filter),
        )
        response_room, row_room = first_room(self.tree)
        self.responses = Responses(self.tree, response_room, free=self.soft is None)
        self.tree_newton = TREE_NEWTON(regularized=REGULARIZED(bodies=max(len(self.tree.parent), 1), dofs=max(dofs, 1)))
        blocks = 64 + 2 * dofs
        self.set_arrays(new_arrays(self, blocks, 3 * blocks, 4096 + row_room))
        self.set_time_step(time_step)
        self.set_integrator(integrator)
        self.set_constraints(list(constraints))

    def set_constraints(self, constraints: list[Constraint]) -> None:
        """Hold other constraints from now on."""
        self.loops = LoopSystem(self, constraints) if constraints else None
        if constraints:
            prepare([*LOOP_STAGES.values(), answer_tree, answer_row])
        self._choose_motion()
        place_inertias(self, self.problem)
        self.link()

    def close_loops(self) -> float:
        """Positions and velocities onto the constraints; returns the largest error left, 0 without constraints."""
        if self.loops is None:
            return 0.0
        return close_now(self.tree.address, self.data.address, self.loops.container.address)

    def set_threads(self, threads: int) -> None:
        """Let several threads share a step, where that pays."""
        self.threads = step_threads(threads, self.world, self.tree)
        if self.threads is not None:
            self.responses = self.responses.with_room(threads=self.threads.team.threads)
            place_responses(self, self.problem, self.row_origins)
        self.link()

    def set_sleeping(self, sleeping: Sleeping | None) -> None:
        """Let trees sleep from now on, by other thresholds, or not at all. Needs skeletons that have their arrays."""
        if sleeping is None or self.smooth_motion is not None or self.soft is not None:
            if self.sleepers is not None:
                self.sleepers.wake_all()
            self.sleepers = None
        elif self.sleepers is None:
            self.sleepers = Sleepers(self, sleeping)
        else:
            self.sleepers.set_rule(sleeping)
        self.link()

    def collect_events(self, wanted: bool) -> None:
        """Log which pairs touch, or no longer."""
        self.event_log = (self.event_log or ContactEventLog(self)) if wanted else None
        self.link()

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
        if self.loops is not None:
            self.loops.choose_aggregates()
        self._choose_motion()
        self._set_sweep()
        self.link()

    def _choose_motion(self) -> None:
        """What steps by an integrator for smooth motion; nothing for those that step in stages."""
        if isinstance(self.integrator, MoreauMidpoint | SemiImplicitEuler | ExplicitEuler):
            self.smooth_motion = None
        elif self.loops is None:
            self.smooth_motion = SmoothMotion(self, self.integrator)
        else:
            self.smooth_motion = ClosedMotion(self, self.loops, self.integrator, self.loop_solver)

    def set_loop_solver(self, name: str) -> None:
        """Hold constraints by another solver in smooth motion."""
        self.loop_solver = name
        if self.loops is not None:
            self.loops.choose_aggregates()
        self._choose_motion()
        self.link()

    def set_solver(self, solver: Solver) -> None:
        """Solve contacts by another solver from now on; warm starts are kept."""
        self.solver = solver
        old = Arrays(self.problem, self.row_origins)
        self.set_arrays(new_arrays(self, *old.sizes, keep=old))

    def set_options(self) -> None:
        """The laws of impact and of position correction in the settings have changed."""
        write_options(self.row_origins, self.settings)
        self.link()

    def surfaces_changed(self, handler: ContactSurfaceHandler) -> None:
        """Shapes have other surfaces, or something else makes those of pairs; contacts stay warm, sleepers wake."""
        if self.sleepers is not None:
            self.sleepers.wake_all()
        self.surfaces = SurfaceTable(self.nodes, self.place, handler)
        self.row_origins.surfaces = self.surfaces.container
        c = self.detector.container
        for k, node in enumerate(self.nodes):
            c.shape_friction[k], c.shape_restitution[k] = node.friction, node.restitution
        self.link()

    def continue_assembly(self, status: int) -> None:
        """Supply what the assembly of the contact problem lacked: larger arrays, or the surfaces of pairs.

        Raises:
            ModelError: a user's handler gave no surface.
        """
        if status == SURFACES_WANTED:
            self.surfaces.supply(self.detector.container, float(self.world.time_step[0]))
            self.row_origins.surfaces = self.surfaces.container
        else:
            self.set_arrays(larger_arrays(self, Arrays(self.problem, self.row_origins)))

    def set_time_step(self, time_step: float) -> None:
        """Change the time step [s]."""
        self.world.time_step[0] = time_step
        self.row_origins.time_step = time_step
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

    def properties_changed(self) -> None:
        """The forest has new properties.

        Raises:
            NameLookupError, ModelError: a joint mimics what it cannot.
        """
        self._read_actuators()
        self.responses.properties_changed()
        list_joints(self, self.row_origins)
        if self.soft is not None:
            self.soft.fill()
        if self.sleepers is not None:
            self.sleepers.wake_all()
            self.sleepers.set_lengths()
        self.link()
        if self.loops is not None:  # frames on links, and which trees move
            kept = self.loops.state()
            self.set_constraints(self.loops.constraints)
            self.loops.set_state(kept)

    @property
    def moves(self) -> np.ndarray:
        """Of each link of the forest, whether it moves unless it sleeps."""
        return self.tree.moves if self.sleepers is None else self.sleepers.moves

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

    def set_arrays(self, arrays: Arrays) -> None:
        """Step with another contact problem from now on."""
        self.problem, self.row_origins = arrays
        self.link()

    def link(self) -> None:
        """Write the table that steps run by; after a container was replaced or a stage chosen."""
        write_table(self)

    def _prepare(self, callbacks: list[Any]) -> None:
        prepare([*callbacks, *stages_of(self).values(), *self.solver.callbacks(), body_newton_island, fill_inertia])

    def grow_contacts(self, status: int) -> None:
        """Enlarge the detector's arrays after it returned a status."""
        self.detector.grow(status)
        self.link()

    def detect_elsewhere(self) -> None:
        """Contacts by another library, between the broad phase and the contact problem."""
        self.detector.complete()
        self.detector.container.pending = COMPLETE
        self.link()

    @property
    def is_compiled(self) -> bool:
        """Whether `run_steps` alone does its steps, but for what `make_room` does."""
        from_python = isinstance(self.solver, CustomSolver) or self.world.table[schema.LOOP_USER] != 0
        return not from_python and self.smooth_motion is None and self.sleepers is None and self.event_log is None

    def dof_name(self, dof: int) -> str:
        """Name "skeleton/dof" of a coordinate of the forest."""
        tree_index = int(np.searchsorted(self.tree.tree_dof, dof, side="right")) - 1
        skeleton = self.skeletons[tree_index]
        return f"{skeleton.name}/{skeleton.dofs[dof - int(self.tree.tree_dof[tree_index])].name}"

    def contacts(self) -> ContactSet:
        """Contacts of the last step."""
        container = self.detector.container
        n = container.num_contacts
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
