"""The compiled side of a world: forest, detector and contact problem, tied by the WORLD struct, and its features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from kido.collision import Collider
from kido.collision.external import COMPLETE, ExternalDetector
from kido.constraints.assemble import SURFACES_WANTED
from kido.constraints.constraint import Constraint
from kido.constraints.inertia import fill_inertia
from kido.constraints.tree_newton import TREE_NEWTON
from kido.errors import ModelError, StateError
from kido.integrators import MoreauMidpoint, SemiImplicitEuler
from kido.jit import prepare
from kido.joints import ActuatorType
from kido.kernels.regularized_tree import REGULARIZED
from kido.kernels.responses import Responses
from kido.simulation.collision_filter import filter_arrays, is_tested
from kido.simulation.contact_problem import (
    Arrays,
    first_room,
    has_unsteady,
    larger_arrays,
    likely_solvers,
    list_joints,
    new_arrays,
    place_inertias,
    place_responses,
    steady_trees,
    touched_bodies,
)
from kido.simulation.contacts import ContactSet
from kido.simulation.feature import Feature, overriding
from kido.simulation.integrate import integrate_share, integrate_stage
from kido.simulation.midpoint_problem import assemble_midpoint_stage
from kido.simulation.options import StepOptions, write_options
from kido.simulation.outrun import farthest
from kido.simulation.predict import predict_stage
from kido.simulation.step import detect_stage, leave_to_python, solve_stage
from kido.simulation.surface_table import SurfaceTable
from kido.simulation.world_struct import ASK, MAX_STAGES, REPORT, RESPOND, WORLD
from kido.skeleton.compiler import check_masses, compile_forest
from kido.skeleton.joints.actuator import followed_dofs
from kido.skeleton.state.actuation import is_prescribed, join_commands, takes_force, takes_motion
from kido.solvers import CustomSolver, project_positions, solve_problem
from kido.tree.schema import TREE

if TYPE_CHECKING:
    from kido.collision import NativeDetector
    from kido.simulation.collision_filter import CollisionFilter
    from kido.skeleton import BodyNode, ShapeNode, Skeleton

RUNAWAY = 100.0  # [m, rad] in a step, which no motion is followed at
MARGIN = 1e-3  # [m] contacts are made before surfaces meet, within this distance
F = TypeVar("F", bound=Feature)


class Layout:
    """What states of an engine are laid out for: it gets another one whenever they may have other sizes or meanings."""


class Engine:
    """Arrays and addresses of one structure of a world; a change of structure makes a new engine.

    Args:
        skeletons: of the world.
        options: of the world, which changes them and says so.
        filter: pairs that do not collide.
        features: what it may have besides contacts.
        constraints: that hold.
        like: the detector of an equal world.
    """

    def __init__(
        self,
        skeletons: list[Skeleton],
        options: StepOptions,
        filter: CollisionFilter,
        features: Sequence[type[Feature]],
        constraints: Iterable[Constraint] = (),
        like: NativeDetector | None = None,
    ):
        self.skeletons, self.options, self.constraints = list(skeletons), options, list(constraints)
        self.tree: Any
        self.data: Any
        self.tree, self.data, self.windows = compile_forest(self.skeletons, options.gravity)
        self.stepped = self.tree  # as steps see it: its dampings may be others, by `World.spring_law`
        self.moves = self.tree.moves.copy()  # of each link, whether it moves unless it sleeps
        self.first_link = {s: int(b) for s, b in zip(self.skeletons, self.tree.tree_body, strict=False)}
        self.links = {s: links for s, (links, _, _) in zip(self.skeletons, self.windows, strict=True)}
        self.nodes: list[ShapeNode] = [
            node for s in self.skeletons for b in s.bodies for node in b.shapes if node.collision and b.collidable
        ]
        self.is_adopted = False
        self.acting: Any = None  # the feature by which commands act otherwise than they are given, while it does
        self.differentiator: Any = None  # of steps, once derivatives were asked for (kido.simulation.gradients)
        self.times_linked = 0  # structs, stages and options are the same as long as this is
        self.differentiable_at = -1  # `times_linked` when steps were last found to have derivatives
        self.asks_controllers = False  # whether Python has something to do for controllers
        self.controlled: set[Skeleton] = set()  # skeletons with controllers
        dofs = int(self.tree.first_dof[-1])
        self.last, self.worst = REPORT(), REPORT()
        self.world = WORLD(dofs=dofs, trees=len(self.tree.tree_mobile), last=self.last, worst=self.worst)
        self._features: dict[type[Feature], Any] = {}
        for kind in features:
            self._features[kind] = kind(self)
        geometries: list[Any] = [node.shape for node in self.nodes]
        for feature in self.features:
            self.nodes, geometries = feature.shapes_of(self.nodes, geometries)
        self.undriven: np.ndarray | None = None  # coordinates whose actuators take no forces; None: there are none
        self.momentary: np.ndarray | None = None  # coordinates whose commands end with a call of step; None: all
        self._read_actuators()
        self.surfaces = SurfaceTable(self.nodes, self.place, options.surface_handler)
        self.detector = options.detector.world_detector(
            [self.collider(n, g) for n, g in zip(self.nodes, geometries, strict=True)],
            self.data.R,
            self.data.p,
            body_velocity=self.data.V,
            margin=MARGIN,
            prepare=self._prepare,
            like=like,
            **self._filters(filter),
        )
        farthest(self.detector.container.address, 0.0)  # its code is loaded now, not within a step
        response_room, row_room = first_room(self.tree)
        self.responses = Responses(self.tree, response_room, free=self.extra_dofs == 0)
        sizes = {"bodies": len(self.tree.parent), "dofs": dofs, "trees": len(self.tree.tree_mobile)}
        self.tree_newton = TREE_NEWTON(regularized=REGULARIZED(**{name: max(n, 1) for name, n in sizes.items()}))
        self.touched = touched_bodies(self.tree)
        blocks = 64 + 2 * dofs
        self.row_origins: Any
        self.problem, self.row_origins = new_arrays(self, blocks, 3 * blocks, 4096 + row_room)
        self.set_time_step()
        self.options_changed()
        self.set_constraints(self.constraints)

    @property
    def features(self) -> list[Feature]:
        """What it may have besides contacts, in the order of stages."""
        return list(self._features.values())

    def feature(self, kind: type[F]) -> F:
        """The feature of a kind."""
        return self._features[kind]

    # What steps run by -------------------------------------------------------------------------------------

    def link(self) -> None:
        """Write the structs and stages that steps run by; after one was replaced, or a stage chosen.

        And `calls_users`: whether steps call functions of users, or of other libraries, which may fail;
        `told_of_runs`, `told_of_steps`: the features that are told.
        """
        self.times_linked += 1
        w = self.world
        w.tree, w.data, w.collision = self.stepped, self.data, self.detector.container
        w.problem, w.row_origins = self.problem, self.row_origins
        newton = self.tree_newton
        newton.tree, newton.data, newton.collision, newton.row_origins = w.tree, w.data, w.collision, w.row_origins
        for feature in self.features:
            for name, struct in feature.structs().items():
                setattr(w, name, struct)
        fields, places = self._stages()
        for name, field in WORLD.fields.items():
            if field.kind == "s":
                setattr(w, name, fields.get(name))
        w.feature_stage[:] = w.feature_struct[:] = 0
        for place, found in places.items():
            assert len(found) < MAX_STAGES
            for k, (feature, stage) in enumerate(reversed(found) if place == RESPOND else found):
                own = feature.own_struct
                w.feature_stage[place, k] = stage.address
                w.feature_struct[place, k] = 0 if own is None else own.address
        timed = fields["assemble"] is assemble_midpoint_stage and not w.loops.address and not w.soft.address
        steady = steady_trees(self)
        self.row_origins.steady[: len(self.data.q)] = steady if timed else 0
        self.row_origins.may_move = timed and ASK not in places and has_unsteady(self.tree, steady)
        # For each call of a step, which takes a few microseconds.
        self.calls_users = (
            ASK in places
            or isinstance(self.options.solver, CustomSolver)
            or isinstance(self.detector, ExternalDetector)
            or self.surfaces.per_contact
        )
        active = [feature for feature in self.features if feature.is_active]
        self.told_of_runs, self.told_of_steps = overriding(active, "begin_run"), overriding(active, "before_steps")

    def _stages(self) -> tuple[dict[str, Any], dict[int, list[tuple[Feature, Any]]]]:
        """Callbacks by field of WORLD, and those of features by place."""
        fields: dict[str, Any] = {
            "predict": predict_stage,
            "detect": detect_stage,
            "assemble": assemble_midpoint_stage,
            "solve": solve_stage,
            "solve_problem": solve_problem,
            "project_positions": project_positions,
            "integrate": integrate_stage,
            "integrate_share": integrate_share,
        }
        places: dict[int, list[tuple[Feature, Any]]] = {}
        for feature in self.features:
            for where, stage in feature.stages().items():
                if isinstance(where, str):
                    fields[where] = stage
                else:
                    places.setdefault(where, []).append((feature, stage))
        if isinstance(self.options.solver, CustomSolver):
            fields["solve"] = leave_to_python
        return fields, places

    def _prepare(self, callbacks: Iterable[Any] = ()) -> None:
        """Compile stages in parallel; those of features from outside are compiled on their first use."""
        fields, places = self._stages()
        stages = [*fields.values(), *(stage for found in places.values() for _, stage in found)]
        stages = [stage for stage in stages if stage.function.__module__.startswith("kido.")]
        prepare([*callbacks, *stages, *self.options.solver.callbacks(), *likely_solvers(self), fill_inertia])

    @property
    def is_compiled(self) -> bool:
        """Whether `run_steps` alone does its steps, but for what `kido.simulation.motion.make_room` does."""
        return not isinstance(self.options.solver, CustomSolver) and all(f.is_compiled for f in self.features)

    @property
    def extra_dofs(self) -> int:
        """Velocities in the contact problem behind those of the forest."""
        return sum(feature.extra_dofs for feature in self.features)

    # What the forest has -----------------------------------------------------------------------------------

    def link_index(self, body: BodyNode) -> int:
        """Number in the forest of the link that carries a body."""
        return self.first_link[body.skeleton] + int(self.links[body.skeleton].of_body[body.index])

    def place(self, node: ShapeNode) -> np.ndarray:
        """Pose of a shape in its body's link."""
        return self.links[node.body.skeleton].offset[node.body.index] @ node.relative_transform

    def dofs_of(self, skeleton: Skeleton) -> slice:
        """Coordinates of a skeleton."""
        k = self.skeletons.index(skeleton)
        return slice(int(self.tree.tree_dof[k]), int(self.tree.tree_dof[k + 1]))

    def dof_name(self, dof: int) -> str:
        """Name "skeleton/dof" of a coordinate of the forest."""
        tree_index = int(np.searchsorted(self.tree.tree_dof, dof, side="right")) - 1
        skeleton = self.skeletons[tree_index]
        return f"{skeleton.name}/{skeleton.dofs[dof - int(self.tree.tree_dof[tree_index])].name}"

    def collider(self, node: ShapeNode, geometry: Any) -> Collider:
        """A shape as the detector takes it; `geometry`: the node's shape, or a part of a soft skin."""
        return Collider(
            geometry,
            self.link_index(node.body),
            self.place(node) if geometry is node.shape else None,
            node.friction,
            node.restitution,
            node.collision_category,
            node.collision_mask,
            (self.options.continuous or node.body.continuous) and geometry is node.shape,
            node.padding,
        )

    def _filters(self, given: CollisionFilter) -> dict[str, Any]:
        """The detector's arguments that say which links collide."""
        arguments = (self.links, self.link_index, self.tree.moves)
        alone = filter_arrays(*arguments, given.forbidden([], lambda a, b: True), given.lifted)
        if given.callback is None:
            return alone
        bodies = list(dict.fromkeys(node.body for node in self.nodes))

        def tested(a: BodyNode, b: BodyNode) -> bool:
            return is_tested(alone, self.link_index(a), self.link_index(b))

        return filter_arrays(*arguments, given.forbidden(bodies, tested), given.lifted)

    def _read_actuators(self) -> None:
        """Take the actuators from the forest.

        Raises:
            NameLookupError, ModelError: a joint mimics what it cannot.
        """
        for skeleton in self.skeletons:
            followed_dofs(skeleton)
        self.tree.prescribed[:] = is_prescribed(self.tree.actuator)
        undriven = np.flatnonzero(~takes_force(self.tree.actuator))
        self.undriven = undriven if len(undriven) else None
        placed = self.tree.actuator == ActuatorType.POSITION
        self.momentary = np.flatnonzero(~placed) if placed.any() else None

    # Changes -----------------------------------------------------------------------------------------------

    def adopted(self) -> None:
        """Skeletons have taken its arrays: features may ask them."""
        self.is_adopted = True
        self.options_changed()

    def options_changed(self) -> None:
        """The world has other options.

        Raises:
            ModelError: a feature cannot be with them.
        """
        self.layout = Layout()
        for feature in self.features:
            feature.options_changed()
        self._set_sweep()
        self._set_springs()
        self.link()

    def set_constraints(self, constraints: Iterable[Constraint]) -> None:
        """Hold other constraints from now on."""
        self.layout = Layout()
        self.constraints = list(constraints)
        for feature in self.features:
            feature.constraints_changed()
        if self.constraints:
            self._prepare()
        place_inertias(self, self.problem)
        list_joints(self, self.row_origins)
        self.link()

    def set_solver(self) -> None:
        """Solve contacts by another solver from now on; warm starts are kept."""
        old = Arrays(self.problem, self.row_origins)
        self.set_arrays(new_arrays(self, *old.sizes, keep=old))

    def set_laws(self) -> None:
        """The laws of impact and of position correction in the settings have changed."""
        write_options(self.row_origins, self.options.settings)
        self._set_springs()
        self.link()

    def _set_springs(self) -> None:
        """Dampings that steps see: those of joints, and what takes springs in the future instead of at mid-step."""
        future = self.options.settings["spring_law"] == "future"
        if self.stepped is self.tree:
            if not future:
                return
            arrays = {name: getattr(self.tree, name) for name in TREE.arrays}
            self.stepped = TREE(**{**arrays, "damping": self.tree.damping.copy()})
            place_inertias(self, self.problem)
        self.stepped.damping[:] = self.tree.damping + self.springs_ahead * self.tree.stiffness

    @property
    def springs_ahead(self) -> np.ndarray:
        """What springs add to the dampings that steps see, over their stiffness (dofs,) [s]."""
        future = self.options.settings["spring_law"] == "future"
        of_integrator = {MoreauMidpoint: 0.5, SemiImplicitEuler: 1.0}.get(type(self.options.integrator), 0.0)
        return of_integrator * self.options.time_step * (self.tree.prescribed == 0) * future

    def set_time_step(self) -> None:
        """The time step has changed."""
        self.world.time_step = self.row_origins.time_step = self.options.time_step
        self.row_origins.middle[0] = 0.5 * self.options.time_step
        self._set_sweep()
        self._set_springs()

    def _set_sweep(self) -> None:
        """What continuous detection needs to know of the step."""
        h = self.options.time_step
        midway = isinstance(self.options.integrator, MoreauMidpoint | SemiImplicitEuler)
        self.detector.set_sweep(h, 0.5 * h if midway else h)

    def surfaces_changed(self) -> None:
        """Shapes have other surfaces, or something else makes those of pairs; contacts stay warm."""
        for feature in self.features:
            feature.surfaces_changed()
        self.surfaces = SurfaceTable(self.nodes, self.place, self.options.surface_handler)
        self.row_origins.surfaces = self.surfaces.container
        c = self.detector.container
        for k, node in enumerate(self.nodes):
            c.shape_friction[k], c.shape_restitution[k] = node.friction, node.restitution
            c.shape_padding[k] = node.padding
        self.link()

    def properties_changed(self) -> None:
        """The forest has new properties.

        Raises:
            NameLookupError, ModelError: a joint mimics what it cannot.
        """
        self.layout = Layout()
        self._read_actuators()
        self._set_springs()
        self.responses.properties_changed()
        list_joints(self, self.row_origins)
        for feature in reversed(self.features):  # what sleeps is awake before others look at it
            feature.properties_changed()
        self.link()

    def disturb(self, skeletons: Iterable[Skeleton]) -> None:
        """Something from outside acts on skeletons, of which some may have left."""
        number = {s: k for k, s in enumerate(self.skeletons)}
        trees = [number[s] for s in skeletons if s in number]
        for feature in self.features:
            feature.disturb(trees)

    # Room --------------------------------------------------------------------------------------------------

    def continue_assembly(self, status: int) -> None:
        """Supply what the assembly of the contact problem lacked: larger arrays, or the surfaces of pairs.

        Raises:
            ModelError: a user's handler gave no surface.
        """
        if status == SURFACES_WANTED:
            self.surfaces.supply(self.detector.container, self.world.time_step)
            self.row_origins.surfaces = self.surfaces.container
        else:
            self.set_arrays(larger_arrays(self, Arrays(self.problem, self.row_origins)))

    def set_arrays(self, arrays: Arrays) -> None:
        """Step with another contact problem from now on."""
        self.problem, self.row_origins = arrays
        self.link()

    def set_threads(self, threads: int) -> None:
        """Room for several threads."""
        self.responses = self.responses.with_room(threads=threads)
        place_responses(self, self.problem, self.row_origins)

    def grow_contacts(self, status: int) -> None:
        """Enlarge the detector's arrays after it returned a status."""
        self.detector.grow(status)
        self.link()

    def detect_elsewhere(self) -> None:
        """Contacts by another library, between the broad phase and the contact problem."""
        self.detector.complete()
        self.detector.container.pending = COMPLETE
        self.link()

    # Results and commands ----------------------------------------------------------------------------------

    def contacts(self) -> ContactSet:
        """Contacts of the last step."""
        container, h = self.detector.container, self.world.time_step
        names = ("shape_a", "shape_b", "point", "normal", "gap", "impulse", "torque")
        c = {name: getattr(container, name)[: container.num_contacts] for name in names}
        for feature in self.features:
            c = feature.add_contacts(c)
        shape_a = [self.nodes[k] for k in c["shape_a"]]
        shape_b = [self.nodes[k] for k in c["shape_b"]]
        return ContactSet(
            points=c["point"].copy(),
            normals=c["normal"].copy(),
            gaps=c["gap"].copy(),
            forces=c["impulse"] / h,
            torques=c["torque"] / h,
            body_a=[node.body for node in shape_a],
            body_b=[node.body for node in shape_b],
            shape_a=shape_a,
            shape_b=shape_b,
        )

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

    def raise_failed(self, dof: int) -> NoReturn:
        """Say why a step failed at a coordinate: no mass below it, a state that is not finite, or one that diverged."""
        body = int(self.tree.body_of_dof[dof])
        tree_index = int(self.tree.tree_of_body[body])
        skeleton = self.skeletons[tree_index]
        check_masses(skeleton)
        joint = self.links[skeleton].top[body - int(self.tree.tree_body[tree_index])].parent_joint
        d = self.data
        begin, end = self.tree.tree_dof[tree_index : tree_index + 2]
        fastest = float(np.abs(d.u[begin:end]).max())
        if self.options.time_step * fastest > RUNAWAY and np.isfinite(fastest):
            raise StateError(
                f"skeleton {skeleton.name!r}: the motion diverged at joint {joint.name!r} in step {self.world.steps}, "
                f"with speeds of up to {fastest:.3g}: gains or forces are too large for a time step of "
                f"{self.options.time_step:g} s; those of joints' own springs, dampers and actuators may be larger"
            )
        if not all(np.isfinite(a).all() for a in (d.q, d.u, d.tau, d.R)):
            raise StateError(
                f"skeleton {skeleton.name!r}: the motion became NaN or infinite at joint {joint.name!r} in step "
                f"{self.world.steps}; a smaller time step or smaller forces may help"
            )
        raise ModelError(
            f"skeleton {skeleton.name!r}: the inertia seen by joint {joint.name!r} is not positive; a body it "
            "moves needs mass or rotational inertia, or axes of the joint coincide at this position"
        )
