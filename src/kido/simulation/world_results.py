"""What a world tells: contacts, forces, energies, events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import named_arguments
from kido.collision import CollisionGroup
from kido.errors import ModelError, StateError
from kido.math.transform import as_flag, takes
from kido.simulation.collision_filter import CollisionFilter
from kido.simulation.collision_group import WorldGroup
from kido.simulation.contact_events import ContactEvent, ContactListener
from kido.simulation.contacts import ContactSet
from kido.simulation.gradients.result import RolloutGradient, StepDerivatives
from kido.simulation.report import StepReport
from kido.simulation.world_state import set_report
from kido.simulation.world_struct import REPORT
from kido.simulation.world_structure import WorldStructure
from kido.skeleton import BodyNode, Skeleton
from kido.turns import in_turn


class WorldResults(WorldStructure):
    """What a world tells of its last step, and which contacts it looks for."""

    # Results -----------------------------------------------------------------------------------------------

    @property
    @in_turn
    def contacts(self) -> ContactSet:
        """Contacts of the last step with their forces; empty before the first."""
        return self.engine.contacts()

    @property
    def report(self) -> StepReport:
        """Quality of the last step."""
        return StepReport.of(self.engine.last)

    @property
    def totals(self) -> StepReport:
        """Worst values over all steps since the structure last changed or `reset_totals`."""
        return StepReport.of(self.engine.worst)

    @property
    def unconverged_steps(self) -> int:
        """Steps, as counted by `totals`, whose contact problem was not solved to its tolerance."""
        return self.engine.world.unconverged

    @in_turn
    def step_derivatives(
        self, parameters: Mapping[str, Any] | Sequence[str] = (), steps: int = 1, smoothing: float = 0.0
    ) -> StepDerivatives:
        """Derivatives of the next step, or of several, from the present state with the present commands.

        d(q, u)+ / d(q, u), / d commands and / d parameters, exact for steps as they are: mid-step, contacts that stick
        and slide, impacts at their times, limits, joint friction, position correction. The world stays as it is.
        A step is only piecewise smooth: `margins` say how far each contact is from another mode. What steps before
        left to the first one, contacts with their normals and impulses, is not varied; what the first ones leave to
        those after them is. Step callbacks are not called.

        Args:
            parameters: what else to differentiate by: "gravity", "mass" of bodies (a mass at their centre of mass),
                "friction" and "restitution" of shapes, "damping", "armature", "spring_stiffness", "rest_position",
                "coulomb_friction", "position_gain" and "velocity_gain" of coordinates. Names, for all of these that
                move; or lists of bodies, shapes or coordinates by name.
            steps: how many, under the same commands.
            smoothing: s [m/s, rad/s]; the step stays as it is, but modes that are about that speed apart are mixed: one
                at a margin m counts (1 + m / sqrt(m^2 + s^2)) / 2. So contacts that are found but do not touch yet, and
                bodies that friction holds, have gradients too. 0: none of it.

        Raises:
            ModelError: a world with soft bodies, closed loops, constraints, rolling friction, sleep, controllers,
                pushes, bodies that are swept or another integrator than `MoreauMidpoint`, which is named; or parameters
                of other things; a smoothing that is no speed.
            NameLookupError: a parameter that there is not.
            StateError: a state from which a step fails.

        Example:
            >>> found = world.step_derivatives(["mass"])
            >>> A, B = found.by_state, found.by_commands
        """
        from kido.simulation.gradients.derivatives import step_derivatives  # needs the compiler

        return step_derivatives(self, parameters, steps, smoothing)  # type: ignore[arg-type]

    @in_turn
    def pull_back(
        self, gradient: ArrayLike, parameters: Mapping[str, Any] | Sequence[str] = (), smoothing: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, NDArray[np.float64]]]:
        """Gradient of a number by the present state, commands and parameters, from that by the state after a step.

        As `step_derivatives().pull_back(gradient)`, without the matrices: one transposed solve where formulas go.

        Args:
            gradient: by positions, along velocities, and velocities after the step (2n,).
            parameters, smoothing: as for `step_derivatives`.

        Returns:
            By the state (2n,), by commands (n,), and by parameters, by name.

        Raises:
            ModelError, NameLookupError: as `step_derivatives`.
            StateError: an array of another shape, or not finite; or a state from which a step fails.
        """
        from kido.simulation.gradients.derivatives import pull_back  # needs the compiler

        return pull_back(self, gradient, parameters, smoothing)  # type: ignore[arg-type]

    @in_turn
    def rollout_gradient(
        self,
        commands: ArrayLike,
        gradient: Callable[[int, Any], ArrayLike | None],
        parameters: Mapping[str, Any] | Sequence[str] = (),
        checkpoints: int | None = None,
        smoothing: float = 0.0,
    ) -> RolloutGradient:
        """Gradient of a loss over many steps by the present state, the commands of each step, and parameters.

        The steps are done, with their state kept every `checkpoints` of them, and their derivatives pulled back from
        the last to the first; from each of these states on steps are done again. Memory grows with checkpoints and
        steps / checkpoints, at best with the root of the number of steps. The world stays as it is.

        What a step recalls of the contacts of the one before is pulled back too.

        Args:
            commands: of each step (N, n).
            gradient: called with k = 1..N and the world after step k: the gradient of what that adds to the loss by
                positions, along velocities, and velocities (2n,), or None: it adds nothing.
            parameters, smoothing: as for `step_derivatives`.
            checkpoints: steps from one state that is kept to the next; None: 1 up to a thousand steps, the root of N
                beyond.

        Raises:
            ModelError, NameLookupError: as `step_derivatives`; or commands of another shape.
            StateError: a step fails, or `gradient` returns something else.

        Example:
            >>> found = world.rollout_gradient(commands, lambda k, w: goal_gradient(w) if k == len(commands) else None)
            >>> commands -= rate * found.by_commands
        """
        from kido.simulation.gradients.rollout import rollout_gradient  # needs the compiler

        return rollout_gradient(self, commands, gradient, parameters, checkpoints, smoothing)  # type: ignore[arg-type]

    @in_turn
    def reset_totals(self) -> None:
        """Start `totals` and `unconverged_steps` afresh."""
        world = self.engine.world
        set_report(world.worst, np.zeros(len(REPORT.fields)))
        world.unconverged = 0

    def contact_force(self, body_a: BodyNode, body_b: BodyNode) -> NDArray[np.float64]:
        """Force of body a on body b through all their contacts in the last step, world axes [N].

        Raises:
            ModelError: one of them is no body of this world.
        """
        for body in (body_a, body_b):
            self._check_body(body, "contact force")
        return self.contacts.between(body_a, body_b)

    def constraint_forces(self, skeleton: Skeleton | str | int) -> NDArray[np.float64]:
        """Generalized forces (dofs,) of contacts, limits, joint friction and gears on a skeleton in the last step."""
        return self.engine.world.constraint_force[self._dofs_of(skeleton)].copy()

    def actuator_forces(self, skeleton: Skeleton | str | int) -> NDArray[np.float64]:
        """Forces (dofs,) that a skeleton's actuators gave in the last step; see `Skeleton.actuator_forces`."""
        return self.engine.world.actuator_force[self._dofs_of(skeleton)].copy()

    def _dofs_of(self, skeleton: Skeleton | str | int) -> slice:
        s = skeleton if isinstance(skeleton, Skeleton) else self.skeleton(skeleton)
        return self.engine.dofs_of(self._own(s))

    @property
    def kinetic_energy(self) -> float:
        """Sum over mobile skeletons [J]."""
        return float(sum(s.kinetic_energy for s in self._skeletons if s.mobile))

    @property
    def potential_energy(self) -> float:
        """Sum over mobile skeletons [J]."""
        return float(sum(s.potential_energy for s in self._skeletons if s.mobile))

    @property
    def total_energy(self) -> float:
        """Kinetic plus potential energy [J]."""
        return self.kinetic_energy + self.potential_energy

    # Contacts and constraints ------------------------------------------------------------------------------

    @property
    def collision_filter(self) -> CollisionFilter:
        """Which pairs of bodies do not collide, and why."""
        return self._collision_filter

    @named_arguments
    def set_collision_filter(self, body_a: BodyNode, body_b: BodyNode, enabled: bool = False) -> None:
        """Switch collision of a pair of bodies off, or back on: the reason "user" of `collision_filter`."""
        if as_flag(enabled, f"world {self.name!r}: set_collision_filter: enabled"):
            self._collision_filter.remove(body_a, body_b)
        else:
            self._collision_filter.add(body_a, body_b)

    @property
    def collision_group(self) -> CollisionGroup:
        """All collision shapes of the world as a group with the world's filters, to be asked between steps.

        It finds contacts, distances and ray hits at the present positions, by the world's detector.
        """
        return WorldGroup(self)

    @property
    def collects_contact_events(self) -> bool:
        """Whether `step` collects contact events. False at first; a listener switches it on."""
        return self.options.collects_events

    @collects_contact_events.setter
    @in_turn
    def collects_contact_events(self, value: bool) -> None:
        value = as_flag(value, f"world {self.name!r}: collects_contact_events")
        if not value:
            self._events.listeners.clear()
        self.options.collects_events, self._events.events = value, []
        self.options_changed("collects_events")

    @property
    def contact_events(self) -> tuple[ContactEvent, ...]:
        """Events of the last call of `step`: which pairs of shapes began to touch, touch still, or ceased to.

        Every BEGIN and END of all its steps, in the order of steps and shapes; then one PERSIST for each pair that was
        in touch before the call and still is. A pair touches in a step if a contact of it has an impulse, or its
        surfaces meet. Pairs that were in touch when collecting began, or when the structure changed, begin anew.

        Raises:
            StateError: `collects_contact_events` is off.
        """
        if not self.options.collects_events:
            raise StateError(
                f"world {self.name!r}: contact events are not collected; set collects_contact_events = True, or "
                "add_contact_listener"
            )
        return tuple(self._events.events)

    @in_turn
    @named_arguments
    def add_contact_listener(self, listener: ContactListener) -> Callable[[], None]:
        """Have a function called with each contact event; events of a call of `step(n)` come at its end.

        Args:
            listener: called with a `ContactEvent`.

        Returns:
            A function that takes it off again.

        Raises:
            ModelError: it is no function of one argument.
        """
        if not callable(listener) or not takes(listener, 1):
            what = f"world {self.name!r}: contact listener"
            raise ModelError(f"{what}: expected a function of an event, got {listener!r}")
        if not self.options.collects_events:
            self.collects_contact_events = True
        return self._events.add(listener)
