"""A skeleton with the rows that hold on it: what all solvers of constrained dynamics start from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.constraints.body_constraint import BodyConstraint
from kido.constraints.constraint import Constraint
from kido.constraints.coupler import CouplerConstraint, GearConstraint
from kido.constraints.from_loop import constraints_of_loop
from kido.constraints.loop_schema import COUPLE, DRIVEN, ELIMINATED, ONE_SIDED, SPRING
from kido.constraints.loop_table import LoopTable
from kido.dynamics.rows import evaluate_rows
from kido.dynamics.schema import DYNAMICS
from kido.errors import ModelError, StateError
from kido.flexible.filling import flex_of
from kido.integrators.system import with_arrays
from kido.joints import ActuatorType, JointKind
from kido.math.transform import number_or_nan
from kido.quantities.soft import refuse_free_points
from kido.skeleton import Skeleton
from kido.skeleton.joints.actuator import followed_dofs
from kido.skeleton.state.actuation import is_prescribed, takes_force
from kido.tree import TREE, data_for

if TYPE_CHECKING:
    from kido.skeleton import BodyNode
    from kido.skeleton.compiler import Links

__all__ = ["ConstrainedSystem"]

Array = NDArray[np.float64]
Rates = Mapping[Any, tuple[ArrayLike, ArrayLike] | Callable[[float], tuple[ArrayLike, ArrayLike, ArrayLike]]]
_UNEVEN = (JointKind.BALL, JointKind.FREE)  # their velocities are not the rates of their positions
_SETTLED = {DRIVEN: "dry friction or a motor", ONE_SIDED: "a limit", SPRING: "a force limit"}


class ConstrainedSystem(FixedAttributes):
    """One skeleton, which may have several trees, and the rows that hold on it: phi(q) = 0, G u = U, G udot = gamma.

    Constraints hold with whatever force that takes. Springs, dampers and given forces along the free axes of
    constraints (`AxisForces`, and constraints with a stiffness) act. Limits and dry friction do not, neither those of
    joints nor those of loops from files. Mimicking joints are rows of two coordinates.

    Args:
        skeleton: mobile, with actuators of any type but SERVO and POSITION.
        constraints: between its bodies or the world, and couplers of its coordinates, which may or may not be in a
            world; None: its `loops`, if they are enabled.
        rates: for some of the constraints, with what rates their values phi change. Either (U, Udot), so that
            phi = U t + Udot t^2 / 2; or a function of the time that returns (phi, U, Udot). Each is a number for all
            rows of the constraint or one for each of them. [m or rad, and per second and per second squared]

    Raises:
        ModelError: a constraint that is none, of another skeleton, given twice, or whose force has bounds; a coupler
            of coordinates whose velocities are not the rates of their positions; a SERVO or POSITION actuator;
            points of a soft body that are free; an immobile skeleton.
    """

    def __init__(self, skeleton: Skeleton, constraints: Iterable[Constraint] | None = None, rates: Rates | None = None):
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"constrained dynamics: expected a skeleton, got {skeleton!r}")
        self.skeleton = skeleton
        what = f"skeleton {skeleton.name!r}"
        if not skeleton.mobile or skeleton.kinematic:
            raise ModelError(f"{what} is {'kinematic' if skeleton.mobile else 'immobile'}: it has no dynamics")
        self._data_of_skeleton = skeleton.current_state.compiled()
        refuse_free_points(skeleton.current_state, "constrained dynamics")
        self.flex: Any = flex_of(skeleton)
        tree: TREE = skeleton.current_state.tree
        self._skeleton_tree = tree
        motors = np.flatnonzero(np.isin(tree.actuator, (ActuatorType.SERVO, ActuatorType.POSITION)))
        if len(motors):
            dof = skeleton.dofs[int(motors[0])]
            raise ModelError(
                f"{what}: dof {dof.name!r} has a {dof.actuator_type.name} actuator, which works by impulses in worlds "
                "alone; make it PASSIVE or FORCE for smooth dynamics"
            )
        self.tree = with_arrays(tree, prescribed=is_prescribed(tree.actuator))
        self.data = self.new_data()
        self._given = None if constraints is None else listed_constraints(skeleton, constraints)
        self._given_rates = rates
        held = _loops_of(skeleton) if self._given is None else self._given
        self.constraints: list[Constraint] = [c for c in (*held, *_gears_of(skeleton)) if not getattr(c, "_broken", 0)]
        for constraint in held:
            self._check(constraint, strict=self._given is not None)
        self._table = LoopTable(self, self.constraints)
        self.loops = self._table.container(dense=False)
        self.slots = [row for _, rows in self._table.groups for row in rows]
        self._rates = self._read_rates({} if rates is None else rates)
        self._fingerprint = self._present()
        self._own = self.new_dynamics()

    # What rows are made for (kido.constraints.loop_table.LoopForest) --------------------------------------

    @property
    def skeletons(self) -> tuple[Skeleton, ...]:
        """The skeleton."""
        return (self.skeleton,)

    @property
    def links(self) -> dict[Skeleton, Links]:
        """Its links."""
        return {self.skeleton: self.skeleton.current_state.links}

    def link_index(self, body: BodyNode) -> int:
        """Number of the link that carries a body."""
        return int(self.skeleton.current_state.links.of_body[body.index])

    # Making ----------------------------------------------------------------------------------------------

    def _check(self, constraint: Any, strict: bool) -> None:
        what = f"skeleton {self.skeleton.name!r}: constrained dynamics"
        if not isinstance(constraint, BodyConstraint | CouplerConstraint):
            raise ModelError(f"{what}: expected constraints between bodies or couplers, got {constraint!r}")
        for other in constraint.skeletons:
            if other is not self.skeleton:
                raise ModelError(f"{what}: constraint {constraint.name!r} is on skeleton {other.name!r}")
        if isinstance(constraint, CouplerConstraint):
            for dof, _ in constraint.terms:
                if dof.joint.kind in _UNEVEN:
                    raise ModelError(
                        f"{what}: constraint {constraint.name!r}: dof {dof.name!r} is of a {type(dof.joint).__name__}, "
                        "whose velocities are not the rates of its positions"
                    )
        if strict or isinstance(constraint, CouplerConstraint):
            for name, row in zip(constraint.row_names, constraint.row_values(), strict=True):
                if _acts_within_bounds(row):
                    self._refuse(constraint, f"{_SETTLED.get(row['mode'], 'a force limit')} ({name})")

    def _refuse(self, constraint: Constraint, why: str) -> None:
        raise ModelError(
            f"skeleton {self.skeleton.name!r}: constrained dynamics: constraint {constraint.name!r} has {why}: smooth "
            "dynamics takes rows that hold with any force, springs, dampers and given forces; worlds take all"
        )

    def _read_rates(self, rates: Rates) -> list[tuple[slice, Any]]:
        read = []
        if not isinstance(rates, Mapping):
            raise ModelError(
                f"skeleton {self.skeleton.name!r}: constrained dynamics: rates: expected a dictionary by constraint, "
                f"got {rates!r}"
            )
        for constraint, value in rates.items():
            what = f"rates of constraint {getattr(constraint, 'name', constraint)!r}"
            if constraint not in self.constraints:
                names = ", ".join(repr(c.name) for c in self.constraints) or "none"
                raise ModelError(f"{what}: it is not among the constraints of the system; these are {names}")
            part = self.slots_of(constraint)
            if part.start == part.stop:
                raise ModelError(f"{what}: none of its rows holds with any force")
            if not callable(value):
                value = _steady(value, what)
            _rate_at(value, 0.0, part.stop - part.start, what)
            read.append((part, value))
        return read

    def new_data(self) -> Any:
        """A DATA container for a state; external forces are the skeleton's."""
        d = self._data_of_skeleton
        return data_for(self.tree, external=d.external, has_external=d.has_external)

    def new_dynamics(self, tree: Any = None, data: Any = None,
                     passive: bool = True) -> DYNAMICS:  # fmt: skip
        """A DYNAMICS container over the system's rows, without callbacks.

        Args:
            tree: TREE of another kind of free joints, with the same bodies; by default the skeleton's.
            data: a state; by default the system's own.
            passive: with springs and dampers of joints.
        """
        y = DYNAMICS(
            dofs=self.num_dofs,
            slots=max(self.num_rows, 1),
            rows=len(self.loops.kind),
            bodies=max(len(self.tree.parent), 1),
        )
        y.tree, y.data, y.loops = tree or self.tree, data or self.data, self.loops
        y.num_rows, y.passive = self.num_rows, int(passive)
        y.redundant[:] = 1  # rows that no solver says more of hold within one link
        self.load(y)
        return y

    def load(self, y: DYNAMICS, forces: Array | None = None, time: float = 0.0) -> None:
        """Write commands, prescribed accelerations and the rates of rows at a time into a DYNAMICS container.

        Args:
            y: the container.
            forces: joint forces (dofs,); None: those that the skeleton holds. Coordinates whose commands are no
                forces have none.
            time: [s]
        """
        t, d = self.tree, self._data_of_skeleton
        y.command[:] = np.where(takes_force(t.actuator), d.tau if forces is None else forces, 0.0)
        y.given[:] = np.where(t.actuator == ActuatorType.ACCELERATION, d.command, 0.0)
        self.drive(y, time)

    def drive(self, y: DYNAMICS, time: float) -> None:
        """Write the rates of rows at a time [s] into a DYNAMICS container."""
        for part, value in self._rates:
            numbers = _rate_at(value, time, part.stop - part.start, "rates")
            y.aim[part], y.rate[part], y.rate_change[part] = numbers

    def _present(self) -> tuple[Any, ...]:
        actuator, rotors = self._skeleton_tree.actuator, self._skeleton_tree.armature != 0.0
        mimics = []
        if (actuator == ActuatorType.MIMIC).any():
            mimics = [d.mimic for d in self.skeleton.dofs]
        return (self.skeleton.structure_version, actuator.tobytes(), rotors.tobytes(), *mimics)

    @property
    def is_current(self) -> bool:
        """Whether bodies, joints and actuators are still those that it was made of."""
        s = self.skeleton
        s.current_state.compiled()
        return s.current_state.tree is self._skeleton_tree and self._present() == self._fingerprint

    # Description -----------------------------------------------------------------------------------------

    @property
    def num_dofs(self) -> int:
        """Number of coordinates, n."""
        return int(self.tree.first_dof[-1])

    @property
    def num_rows(self) -> int:
        """Number of rows that hold, nc."""
        return len(self.slots)

    @property
    def row_names(self) -> tuple[str, ...]:
        """What each row holds, as "constraint: row"."""
        names = []
        for row in self.slots:
            k = int(self.loops.of[row])
            c = self.constraints[k]
            names.append(f"{c.name}: {c.row_names[row - int(self.loops.first_row[k])]}")
        return tuple(names)

    def require(self, constraint: Any) -> None:
        """Refuse what is not among the constraints.

        Raises:
            ModelError: it is not.
        """
        if constraint not in self.constraints:
            raise ModelError(
                f"skeleton {self.skeleton.name!r}: constrained dynamics: constraint "
                f"{getattr(constraint, 'name', constraint)!r} is not among those of the system"
            )

    def slots_of(self, constraint: Constraint) -> slice:
        """Where the rows of a constraint stand among those that hold."""
        return self.rows_of(constraint)[0]

    def rows_of(self, constraint: Constraint) -> tuple[slice, NDArray[np.intp]]:
        """The same, and which of the constraint's rows these are.

        Raises:
            ModelError: the system has no such constraint.
        """
        self.require(constraint)
        k = self.constraints.index(constraint)
        first, last = int(self.loops.first_row[k]), int(self.loops.first_row[k + 1])
        held = [s for s, row in enumerate(self.slots) if first <= row < last]
        rows = np.array([self.slots[s] - first for s in held], np.intp)
        return slice(held[0], held[-1] + 1) if held else slice(0, 0), rows

    def bodies_of_rows(self) -> list[list[int]]:
        """Links that each row acts on; of couplers those that their coordinates move."""
        lp, found = self.loops, []
        for row in self.slots:
            k = int(lp.of[row])
            if lp.kind[row] == COUPLE:
                dofs = lp.term_dof[lp.first_term[k] : lp.first_term[k + 1]]
                bodies = {int(b) for b in self.tree.body_of_dof[dofs]}
            else:
                bodies = {int(b) for b in (lp.body_a[k], lp.body_b[k]) if b >= 0}
            found.append(sorted(bodies))
        return found

    @property
    def has_functions(self) -> bool:
        """Whether a rate is a function of the time, so that rates hold for one moment."""
        return any(getattr(value, "func", None) is not _polynomial for _, value in self._rates)

    # Rows at a state -------------------------------------------------------------------------------------

    def evaluate(
        self, q: ArrayLike | None = None, u: ArrayLike | None = None, time: float = 0.0
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Rows at a state, by default the one that the skeleton holds.

        Args:
            q, u: positions and velocities (dofs,).
            time: [s] at which rates are taken.

        Returns:
            phi (nc,): by how much rows are missed [m or rad], less what they are driven to; G (nc, dofs); G u (nc,);
            U (nc,): the rates that they should have; gamma = Udot - Gdot u (nc,), so that G udot = gamma.

        Raises:
            StateError: positions or velocities of the wrong count, or not finite; a time that is no finite number.
        """
        from kido.dynamics.flexible import rows_at

        y, n = self._own, self.num_dofs
        time = self.checked_time(time)
        self.data.q[:], self.data.u[:] = self.checked_state(q, u)
        self.drive(y, time)
        m = self.num_rows
        if self.flex is not None:
            phi, G, rate, gamma = rows_at(self, y)
            return phi - y.aim[:m], G, rate, y.rate[:m].copy(), gamma
        phi, G, rate, gamma = (np.zeros(max(k, 1)) for k in (self.num_rows, self.num_rows * n, *[self.num_rows] * 2))
        evaluate_rows(y.address, phi, G, rate, gamma)
        return phi[:m] - y.aim[:m], G[: m * n].reshape(m, n), rate[:m], y.rate[:m].copy(), gamma[:m]

    def phi(self, q: ArrayLike | None = None, time: float = 0.0) -> Array:
        """By how much each row is missed (nc,) [m or rad]."""
        return self.evaluate(q, None, time)[0]

    def G(self, q: ArrayLike | None = None) -> Array:
        """Jacobian (nc, dofs) of the rows: d phi / dt = G u."""
        return self.evaluate(q)[1]

    def U(self, time: float = 0.0) -> Array:
        """Rates (nc,) that rows prescribe at a time [m/s or rad/s]."""
        self.drive(self._own, self.checked_time(time))
        return self._own.rate[: self.num_rows].copy()

    def gamma(self, q: ArrayLike | None = None, u: ArrayLike | None = None, time: float = 0.0) -> Array:
        """Udot - Gdot u (nc,) [m/s^2 or rad/s^2]."""
        return self.evaluate(q, u, time)[4]

    def checked_state(self, q: ArrayLike | None, u: ArrayLike | None) -> tuple[Array, Array]:
        """Positions and velocities, those of the skeleton where none are given.

        Raises:
            StateError: they have the wrong count, or are not finite.
        """
        return (
            self.skeleton.positions if q is None else self.checked(q, "positions"),
            self.skeleton.velocities if u is None else self.checked(u, "velocities"),
        )

    def checked(self, value: ArrayLike, what: str) -> Array:
        """A finite vector (dofs,)."""
        vector = self.skeleton.current_state.vector(value, self.num_dofs, what)
        if not np.isfinite(vector).all():
            self.skeleton.current_state.raise_not_finite(what, vector)
        return vector

    def checked_time(self, time: Any) -> float:
        """A finite time [s].

        Raises:
            StateError: it is none.
        """
        number = number_or_nan(time)
        if not np.isfinite(number):
            raise StateError(f"skeleton {self.skeleton.name!r}: time: expected a finite number, got {time!r}")
        return number

    def __reduce__(self) -> tuple[Any, ...]:
        # Containers have each other's addresses: a copy makes its own.
        return type(self), (self.skeleton, self._given, self._given_rates)

    def __repr__(self) -> str:
        return f"ConstrainedSystem({self.skeleton.name!r}, {len(self.constraints)} constraints, {self.num_rows} rows)"


def listed_constraints(skeleton: Skeleton, constraints: Any) -> list[Any]:
    """Constraints as a list, each once.

    Raises:
        ModelError: something that cannot be gone through, or one that is there twice.
    """
    what = f"skeleton {skeleton.name!r}: constrained dynamics"
    if not isinstance(constraints, Iterable):
        raise ModelError(f"{what}: expected a list of constraints, got {constraints!r}")
    found = list(constraints)
    known: set[int] = set()
    for constraint in found:
        if id(constraint) in known:
            raise ModelError(f"{what}: constraint {getattr(constraint, 'name', constraint)!r} is given twice")
        known.add(id(constraint))
    return found


def _loops_of(skeleton: Skeleton) -> list[Constraint]:
    if not skeleton.loops_enabled:
        return []
    return [constraint for loop in skeleton.loops for constraint in constraints_of_loop(skeleton, loop)]


def _gears_of(skeleton: Skeleton) -> list[Constraint]:
    """Mimicking coordinates as gears.

    Raises:
        ModelError: one that slips.
    """
    made: list[Constraint] = []
    for k, other in followed_dofs(skeleton).items():
        dof, followed = skeleton.dofs[k], skeleton.dofs[other]
        mimic = dof.mimic
        name = f"{dof.name} mimics {followed.name}"
        assert mimic is not None  # it follows one
        if mimic.force_limit != np.inf:
            raise ModelError(
                f"skeleton {skeleton.name!r}: dof {name} with a force limit, which smooth dynamics has no place for: "
                "worlds have"
            )
        made.append(GearConstraint(dof, followed, mimic.multiplier, mimic.offset, name=name))
    return made


def _acts_within_bounds(row: dict[str, Any]) -> bool:
    """Whether a row is neither one that holds with any force nor a smooth force."""
    mode, lower, upper = row["mode"], row["lower"], row["upper"]
    if mode == ELIMINATED:
        return False
    if mode == SPRING:
        return lower != -np.inf or upper != np.inf
    if mode == ONE_SIDED:
        return bool(np.isfinite(row["offset"]))
    return lower != upper


def _polynomial(rate: Array, change: Array, time: float) -> tuple[Array, Array, Array]:
    return rate * time + 0.5 * change * time**2, rate + change * time, change


def _steady(value: Any, what: str) -> Callable[[float], tuple[Array, Array, Array]]:
    try:
        rate, change = (np.asarray(x, float) for x in value)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected (U, Udot) or a function of the time, got {value!r}") from None
    return partial(_polynomial, rate, change)


def _rate_at(value: Any, time: float, rows: int, what: str) -> list[Array]:
    """phi, U and Udot of the rows of a constraint at a time.

    Raises:
        ModelError: the function does not return them.
    """
    result = value(time)
    try:
        numbers = [np.broadcast_to(np.asarray(x, float), (rows,)) for x in result]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != 3 or not all(np.isfinite(x).all() for x in numbers):
        raise ModelError(
            f"{what}: expected finite (phi, U, Udot) at t = {time:g} s, each a number or {rows} of them, got {result!r}"
        )
    return numbers
