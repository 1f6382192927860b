"""Controllers of joints: PD, stable PD, computed torque, gravity compensation; compiled where the world is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import named_arguments
from kido.control import feedback
from kido.control.feedback import FEEDBACK
from kido.control.reference import Reference, spread
from kido.errors import ModelError
from kido.jit import Struct
from kido.math.transform import as_positive
from kido.quantities.soft import refuse_flexible, refuse_free
from kido.simulation.controller import Controller
from kido.skeleton import BodyNode, Inertia, Skeleton
from kido.skeleton.state.actuation import is_prescribed
from kido.tree.schema import TREE, data_for

Array = NDArray[np.float64]


class JointController(Controller):
    """What controllers of joints share: the model of the skeleton that their law works on, and what it carries.

    Args:
        skeleton, dofs, rate, period, name: as of `Controller`.
        payload: what bodies carry besides, `Inertia` in body axes by body; the model has it, the skeleton need not.
    """

    _law: ClassVar[Any]
    _shared = ("q", "u", "external", "has_external")  # of the skeleton's state, which the law sees
    _ahead = 0
    _loads = False

    def __init__(
        self, skeleton: Skeleton, dofs: Any = None, *, payload: Mapping[BodyNode, Inertia] | None = None, **options: Any
    ):
        super().__init__(skeleton, dofs, **options)
        refuse_flexible(skeleton, type(self).__name__)
        if skeleton.soft_bodies:
            refuse_free(skeleton.current_state, type(self).__name__)
        self._payload = dict(payload or {})
        for body, inertia in self._payload.items():
            if not isinstance(body, BodyNode) or body.skeleton is not skeleton or not isinstance(inertia, Inertia):
                raise ModelError(
                    f"controller {self.name!r}: payload: expected kido.Inertia by body of skeleton "
                    f"{skeleton.name!r}, got {body!r}: {inertia!r}"
                )
        self._core: FEEDBACK | None = None  # of its world
        self._present_core: FEEDBACK | None = None  # for forces that Python asks for
        self._made_for: Any = None

    # The compiled side -------------------------------------------------------------------------------------

    def _write(self, core: FEEDBACK, time: float) -> None:
        """Gains and targets into a new struct, for a time that forces are held [s]."""

    def _prescribed(self) -> NDArray[np.int64]:
        """Coordinates whose accelerations the law is given."""
        return is_prescribed(self.skeleton.current_state.tree.actuator).astype(np.int64)

    def _damping(self, own: Array) -> Array:
        """Damping of joints in the model."""
        return own

    def _make(self, time: float) -> FEEDBACK:
        state = self.skeleton.current_state
        plant, tree = state.compiled(), state.tree
        n = self.skeleton.num_dofs
        own = {
            "damping": self._damping(tree.damping.copy()),
            "prescribed": self._prescribed(),
            **self._loaded(tree),
        }
        model = TREE(**{**{name: getattr(tree, name) for name in TREE.arrays}, **own})
        data = data_for(model, **{name: getattr(plant, name) for name in self._shared})
        data.command[:] = plant.q
        core = FEEDBACK(dofs=n, tree=model, data=data, plant=plant, period=time, ahead=self._ahead, **self._rows(time))
        core.driven[self._dofs] = 1
        core.damping[:] = tree.damping
        core.loaded, core.law = int(self._loads), type(self)._law
        self._write(core, time)
        return core

    def _rows(self, time: float) -> dict[str, Any]:
        """Arrays of targets at times 0, T, 2 T, ..."""
        return {"rows": 0}

    def _loaded(self, tree: Any) -> dict[str, Array]:
        """Inertias of the model's links with what they carry."""
        mass, com, moment = tree.mass.copy(), tree.com.copy(), tree.inertia.copy()
        for body, inertia in self._payload.items():
            i, X = int(tree.member_link[body.index]), np.eye(4)
            X[:3] = tree.member_pose[body.index].reshape(3, 4)
            load = inertia.transformed(X)
            total = mass[i] + load.mass
            if total > 0.0:
                com[i] = (mass[i] * com[i] + load.mass * np.asarray(load.com)) / total
            mass[i] = total
            moment[i] += load.moment_about_origin[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
        return {"mass": mass, "com": com, "inertia": moment}

    def compile(self, time: float) -> tuple[Any, Struct] | None:
        self._core = self._make(time)
        return feedback.act_in_world, self._core

    @property
    def calls_python(self) -> bool:
        return False

    def _present(self, time: float) -> FEEDBACK:
        """A struct for the skeleton as it is."""
        state = self.skeleton.current_state
        made_for = state.compiled(), self.skeleton.version, time
        if self._present_core is None or self._made_for != made_for:
            self._present_core, self._made_for = self._make(time), made_for
        return self._present_core

    def compute(self) -> Array:
        loads = self.skeleton.constraint_forces if self._loads and self.skeleton.host is not None else None
        return self.forces_at(self.hold, loads)

    def forces_at(self, time: float, loads: ArrayLike | None = None) -> Array:
        """Forces (skeleton's dofs,) at the present state, to be held for a time [s].

        Args:
            loads: generalized forces of contacts and constraints; none by default.
        """
        core = self._present(time)
        core.load[:] = 0.0 if loads is None else loads
        feedback.act_now(core.address)
        return core.force.copy()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_core": None, "_present_core": None, "_made_for": None}


class Tracking(JointController):
    """What controllers with gains and targets share.

    Args:
        skeleton, dofs, rate, period, name, payload: as of `JointController`.
        target: what coordinates follow, one number for each of `dofs` or of the skeleton's: numbers; a `Motion` of the
            skeleton, `Samples`, or another object with `positions(t)`, `velocities(t)`, `accelerations(t)` (the latter
            two if it has them); or a function of time that gives positions. Time begins when a world gets the
            controller. What has a `duration` runs compiled, and its last positions stay; functions are called from
            Python.
        kp, kd: gains, one number or one for each of `dofs`, not negative.

    Raises:
        ModelError: as of `Controller`, and gains and targets of other sizes.
    """

    def __init__(self, skeleton: Skeleton, target: Any, kp: ArrayLike, kd: ArrayLike, dofs: Any = None, **options: Any):
        super().__init__(skeleton, dofs, **options)
        self._kp, self._kd = self._checked_gains("kp", kp), self._checked_gains("kd", kd)
        self._reference = Reference(skeleton, self._dofs, target)
        if self._reference.constant is None:
            self._reference.positions(0.0)  # of another size it is refused here

    def _checked_gains(self, what: str, value: ArrayLike) -> Array:
        n = self.skeleton.num_dofs
        words = f"controller {self.name!r}: {what}"
        return spread(self.skeleton, self._dofs, value, np.zeros(n), words, n, least=0.0)

    @property
    def kp(self) -> Array:
        """Gains of positions (skeleton's dofs,); zero where there is no force. May be set."""
        return self._kp.copy()

    @kp.setter
    def kp(self, value: ArrayLike) -> None:
        self._kp = self._checked_gains("kp", value)
        self._changed()

    @property
    def kd(self) -> Array:
        """Gains of velocities (skeleton's dofs,); zero where there is no force. May be set."""
        return self._kd.copy()

    @kd.setter
    def kd(self, value: ArrayLike) -> None:
        self._kd = self._checked_gains("kd", value)
        self._changed()

    @property
    def target(self) -> Any:
        """What coordinates follow, as it was given. May be set; what is a function of time goes on at the same time."""
        return self._reference.given

    @target.setter
    def target(self, value: Any) -> None:
        before, self._reference = self._reference, Reference(self.skeleton, self._dofs, value)
        core, self._present_core = self._core, None
        if core is not None and before.constant is not None and self._reference.constant is not None:
            core.data.command[:] = self._reference.constant
        else:
            self._changed()

    def _changed(self) -> None:
        self._core = self._present_core = None
        if self._commands is not None:
            self._commands.properties_changed()
            self._commands.engine.link()

    @property
    def calls_python(self) -> bool:
        return self._reference.constant is None and self._reference.duration is None

    def prepare(self, time: float) -> None:
        if self._core is not None:
            self._aim(self._core, time)

    def _aim(self, core: FEEDBACK, time: float) -> None:
        """Targets of a call at a time since the first one."""
        at, reference = time + self._ahead * core.period, self._reference
        core.data.command[:] = reference.positions(at)
        core.velocity[:], core.acceleration[:] = reference.velocities(at), reference.accelerations(at)

    def _write(self, core: FEEDBACK, time: float) -> None:
        core.kp[:], core.kd[:] = self._kp, self._kd
        self._aim(core, 0.0)

    def _rows(self, time: float) -> dict[str, Any]:
        reference = self._reference
        if reference.constant is not None or reference.duration is None or not time > 0.0:
            return {"rows": 0}
        return dict(zip(("positions", "velocities", "accelerations"), reference.rows(time), strict=True))


class PD(Tracking):
    """Proportional and derivative control of joints.

        tau = Kp (q* - q) + Kd (u* - u)

    Of ball and free joints q* - q is the rotation vector log(R^T R*) in body axes, and R^T (p* - p). One coordinate of
    inertia m with forces made at each time step h is stable under `SemiImplicitEuler` iff h^2 Kp + 2 h Kd < 4 m, and
    under a world's midpoint rule iff h Kp < 2 Kd and h Kd < 2 m.

    Args:
        target: q*, see `Tracking`.
        kp: [N/m, N m/rad]
        kd: [N s/m, N m s/rad]
    """

    _law = feedback.pd_law


class StablePD(Tracking):
    """PD with the position and the velocity that the skeleton will have at the end of the period T.

        tau = -Kp (q + T u - q*) - Kd (u + T a - u*),   a = (M + T Kd)^-1 (tau with a = 0, and all other forces)

    with q*, u* at the end of the period, in one sweep of articulated bodies with T Kd added to their diagonal: O(n).
    Other forces are gravity, velocity products, springs and dampers of joints, external forces, and those of contacts
    and constraints in the step before. One coordinate of inertia m, T = h, is stable under `SemiImplicitEuler` iff
    3 h^2 Kp < 4 m + 2 h Kd, and under a world's midpoint rule iff h^2 Kp < 2 m + h Kd: damping only helps.
    Source: Tan, Liu and Turk, Stable Proportional-Derivative Controllers, 2011.

    Args:
        target: q*, see `Tracking`.
        kp: [N/m, N m/rad]
        kd: [N s/m, N m s/rad]
    """

    _law = feedback.stable_pd_law
    _ahead, _loads = 1, True

    def _damping(self, own: Array) -> Array:
        return own + self._kd


class ComputedTorque(Tracking):
    """Forces by inverse dynamics, so that errors of each coordinate decay as those of a mass, spring and damper.

        tau = M (a* + kp (q* - q) + kd (u* - u)) + C(q, u) + g(q) - springs, dampers and external forces

    Without model error q - q* has the poles of s^2 + kd s + kp. Coordinates that are not driven (a floating base) move
    as they do: tau gives the driven ones their accelerations nevertheless (partial feedback linearisation), with forces
    of contacts and constraints as in the step before. O(n), by articulated bodies with prescribed coordinates.
    Source: Luh, Walker and Paul 1980; Spong 1994.

    Args:
        target: q*, see `Tracking`.
        kp: [1/s^2]
        kd: [1/s]
    """

    _law = feedback.computed_torque_law
    _loads = True

    def _prescribed(self) -> NDArray[np.int64]:
        prescribed = super()._prescribed()
        prescribed[self._dofs] = 1
        return prescribed


class GravityCompensation(JointController):
    """Forces that hold the skeleton, and what it carries, where it is: tau = g(q).

    Args:
        payload: what bodies carry, `Inertia` in body axes by body: J^T (0, 0, m g) of each is part of tau.
    """

    _law = feedback.gravity_law
    _shared = ("q",)


# As functions ----------------------------------------------------------------------------------------------


@named_arguments
def pd(skeleton: Skeleton, target: Any, kp: ArrayLike, kd: ArrayLike, dofs: Any = None) -> Array:
    """Forces (skeleton's dofs,) of `PD` at the present state.

    Args:
        target: positions asked for, or an object as `Tracking` takes, at time 0.
        kp, kd: [N/m, N m/rad], [N s/m, N m s/rad]
        dofs: which coordinates get forces; as of `Controller`.
    """
    return PD(skeleton, target, kp, kd, dofs).forces_at(0.0)


@named_arguments
def stable_pd(
    skeleton: Skeleton,
    target: Any,
    kp: ArrayLike,
    kd: ArrayLike,
    time_step: float,
    dofs: Any = None,
    loads: ArrayLike | None = None,
) -> Array:
    """Forces (skeleton's dofs,) of `StablePD` at the present state.

    Args:
        target: positions asked for at the end of the time step.
        kp, kd: [N/m, N m/rad], [N s/m, N m s/rad]
        time_step: T [s].
        dofs: which coordinates get forces; as of `Controller`.
        loads: generalized forces of contacts and constraints, say `Skeleton.constraint_forces`; none by default.
    """
    return StablePD(skeleton, target, kp, kd, dofs).forces_at(as_positive(time_step, "time_step", "s"), loads)


@named_arguments
def computed_torque(
    skeleton: Skeleton, target: Any, kp: ArrayLike, kd: ArrayLike, dofs: Any = None, loads: ArrayLike | None = None
) -> Array:
    """Forces (skeleton's dofs,) of `ComputedTorque` at the present state.

    Args:
        target: positions asked for, or an object as `Tracking` takes, at time 0.
        kp, kd: [1/s^2], [1/s]
        dofs: which coordinates get forces; as of `Controller`.
        loads: generalized forces of contacts and constraints; none by default.
    """
    return ComputedTorque(skeleton, target, kp, kd, dofs).forces_at(0.0, loads)


@named_arguments
def gravity_compensation(
    skeleton: Skeleton, payload: Mapping[BodyNode, Inertia] | None = None, dofs: Any = None
) -> Array:
    """Forces (skeleton's dofs,) of `GravityCompensation` at the present positions."""
    return GravityCompensation(skeleton, dofs, payload=payload).forces_at(0.0)
