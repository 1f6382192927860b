"""Controllers: forces on the coordinates of a skeleton that a world asks for at a rate of their own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import ModelError, StateError
from kido.jit import Struct
from kido.joints import JointKind
from kido.math.transform import as_positive, numbers_or_nan
from kido.skeleton import DegreeOfFreedom, Skeleton
from kido.skeleton.joints.coordinates import CoordinateKind
from kido.skeleton.state.subsets import indices_of

if TYPE_CHECKING:
    from kido.simulation.commands import Commands

Array = NDArray[np.float64]
LIGHT_SHARE = 1e-3  # of a skeleton's mass: what a body between two joints in a row has at most
_TOLERANCE = 1e-9  # share of a time step by which a period may miss a whole number of steps


class Controller(FixedAttributes, ABC):
    """Joint forces of a skeleton, made anew at a rate of their own, held in between (zero-order hold), in a world.

    `World.add_controller` takes one. Its forces are added to the skeleton's commands and to those of other controllers;
    the sum acts within force limits (`Joint.enforce_command_limits`). A subclass has `compute`, which is called from
    Python at the start of those steps that it is due in; those of `kido.control` run compiled, in `World.step(n)` and
    in rollouts too.

    Args:
        skeleton: whose coordinates get forces.
        dofs: which of them: indices, names, slices or `DegreeOfFreedom` objects; by default all those whose actuator
            is FORCE or MIMIC, but those of free joints, and of other joints without limits by which a root floats.
        rate: how often forces are made anew [Hz]; the time step of the world must divide its period.
        period: the same as a number of time steps; by default 1.
        name: for messages.

    Raises:
        ModelError: no skeleton, no such dofs, a rate and a period, or numbers that are not positive.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        dofs: Any = None,
        *,
        rate: float | None = None,
        period: int | None = None,
        name: str | None = None,
    ):
        self._name = type(self).__name__ if name is None else str(name)
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"controller {self._name!r}: expected a skeleton, got {skeleton!r}")
        self._skeleton = skeleton
        self._dofs = driven_dofs(skeleton, dofs, f"controller {self._name!r}")
        self._rate, self._period = _timing(rate, period, self._name)
        self._commands: Commands | None = None  # of the world that calls it
        self._number = -1

    @property
    def name(self) -> str:
        """For messages."""
        return self._name

    @property
    def skeleton(self) -> Skeleton:
        """Whose coordinates get forces."""
        return self._skeleton

    @property
    def dofs(self) -> NDArray[np.int64]:
        """Indices of the coordinates that get forces (a copy)."""
        return self._dofs.copy()

    @property
    def forces(self) -> Array:
        """Forces (skeleton's dofs,) that it asked for last, as they are held now; zeros before (a copy) [N, N m]."""
        if self._commands is None:
            return np.zeros(self._skeleton.num_dofs)
        return self._commands.forces_of(self._number).copy()

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """(skeleton's dofs,) where what all commands and controllers asked for in the last step was beyond limits."""
        if self._commands is None:
            return np.zeros(self._skeleton.num_dofs, bool)
        return self._commands.saturated(self._number)

    @abstractmethod
    def compute(self) -> ArrayLike:
        """Forces at the skeleton's present state: one for each of its `dofs`, or one for each of the skeleton's."""

    # For worlds --------------------------------------------------------------------------------------------

    def compile(self, time: float) -> tuple[Any, Struct] | None:
        """What a world calls in place of `compute`: a callback (world, struct, COMMANDS, number), and its struct.

        The callback returns 0; or something else, which ends the world's steps: `failed` says why.

        Args:
            time: for which forces are held [s].

        Returns:
            None: there is no such, and Python calls `compute`.
        """
        return None

    @property
    def calls_python(self) -> bool:
        """Whether Python has something to do each time that it is due."""
        return True

    @property
    def gives_commands(self) -> bool:
        """Whether its forces are commands, within limits of joint forces; else they act whatever these are."""
        return True

    @property
    def has_state(self) -> bool:
        """Whether it remembers more than snapshots of its world have: forces, number of calls, when it is due."""
        return False

    @property
    def num_remembered(self) -> int:
        """How many numbers it remembers that snapshots of its world have, besides forces: see `remember`."""
        return 0

    def remember(self, memory: Array) -> None:
        """Keep these numbers from now on, written once with those it has; called before `compile`."""

    def failed(self) -> None:
        """Compiled code could not find forces; the step is not done. Without an error it is begun once more."""
        raise StateError(f"controller {self._name!r}: it could not find its forces")

    def prepare(self, time: float) -> None:
        """It is due, at a time since it was added [s]; before compiled code runs it, or `compute` is called."""

    def reset(self) -> None:
        """The world goes back to its initial state: so does what it remembers besides."""

    def steps_ahead(self, period: int) -> int:
        """Steps from now on that need no `prepare`, where it `calls_python`: by default its period."""
        return period

    def whole_forces(self) -> Array:
        """What `compute` returns, checked, for all coordinates of the skeleton.

        Raises:
            StateError: it is something else than finite numbers, one for each dof.
        """
        found = self.compute()
        n, whole = self._skeleton.num_dofs, np.zeros(self._skeleton.num_dofs)
        values = numbers_or_nan(found)
        if values.shape not in ((n,), self._dofs.shape) or not np.isfinite(values).all():
            raise StateError(
                f"controller {self._name!r}: compute: expected {len(self._dofs)} finite forces, or {n}, "
                f"got {found!r:.200}"
            )
        whole[self._dofs] = values if values.shape == self._dofs.shape else values[self._dofs]
        return whole

    @property
    def hold(self) -> float:
        """For how long forces are held [s]; without a world as its rate says, or 0."""
        host = self._skeleton.host
        if host is None:
            return 0.0 if self._rate is None else 1.0 / self._rate
        return self.steps(host.time_step) * host.time_step

    def steps(self, time_step: float) -> int:
        """Its period in time steps.

        Raises:
            ModelError: its rate has no whole number of them.
        """
        if self._rate is None:
            return self._period
        number = 1.0 / (self._rate * time_step)
        if round(number) < 1 or abs(number - round(number)) > _TOLERANCE * max(1.0, number):
            raise ModelError(
                f"controller {self._name!r}: rate: {self._rate:g} Hz is a period of {number:g} time steps of "
                f"{time_step:g} s; expected a whole number"
            )
        return round(number)

    def held_by(self, commands: Commands | None, number: int) -> None:
        """A world keeps its forces from now on; None: no world does."""
        self._commands, self._number = commands, number

    def held_state(self) -> dict[str, Array]:
        """When it is due, how often it was called, and its forces, as its world has them; nothing without one."""
        return {} if self._commands is None else self._commands.part_of(self._number)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_commands": None, "_number": -1}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._skeleton.name!r}, {len(self._dofs)} dofs)"


def driven_dofs(skeleton: Skeleton, dofs: Any, what: str) -> NDArray[np.int64]:
    """Indices of coordinates that get forces; None: all that take forces, but those of free joints and floating bases.

    Raises:
        NameLookupError: there is no such coordinate.
        ModelError: one that takes no forces.
    """
    own = skeleton.dofs
    if dofs is None:
        floating = _floating(skeleton)
        takes = [k for k, d in enumerate(own) if d.actuator_type.takes_force and d not in floating]
        return np.array(takes, np.int64)
    chosen = np.array(list(dict.fromkeys(np.asarray(indices_of(skeleton, dofs)).tolist())), np.int64)
    for k in chosen.tolist():
        if not own[k].actuator_type.takes_force:
            raise ModelError(
                f"{what}: dof {own[k].name!r} is driven by a {own[k].actuator_type.name} actuator; "
                "controllers give forces: expected FORCE or MIMIC"
            )
    return chosen


def _floating(skeleton: Skeleton) -> set[DegreeOfFreedom]:
    """Coordinates of free joints, and of other joints in a row that let a root float.

    Such are three translations and three rotations in all, without limits of position or force, between the world and
    the first body with mass: some file formats, and many models in them, have no free joint.
    """
    found = {d for d in skeleton.dofs if d.joint.kind == JointKind.FREE}
    light = LIGHT_SHARE * skeleton.mass
    for root in skeleton.bodies:
        if root.parent is None:
            body, row = root, list(root.parent_joint.dofs)
            while len(row) < 6 and body.mass <= light and len(body.children) == 1:
                body = body.children[0]
                row += body.parent_joint.dofs
            kinds = [d.joint.coordinate_kind(d.index_in_joint) for d in row]
            turns = kinds.count(CoordinateKind.ANGLE) + kinds.count(CoordinateKind.ROTATION)
            if len(row) == 6 and turns == kinds.count(CoordinateKind.LENGTH) == 3 and not any(map(_limited, row)):
                found.update(row)
    return found


def _limited(dof: DegreeOfFreedom) -> bool:
    limits = (getattr(dof, f"{what}_{side}_limit") for what in ("position", "force") for side in ("lower", "upper"))
    return any(map(math.isfinite, limits))


def _timing(rate: float | None, period: int | None, name: str) -> tuple[float | None, int]:
    if rate is not None and period is not None:
        raise ModelError(f"controller {name!r}: expected a rate [Hz] or a period [steps], got both")
    if rate is not None:
        return as_positive(rate, f"controller {name!r}: rate", "Hz"), 1
    steps = 1 if period is None else period
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
        raise ModelError(f"controller {name!r}: period: expected a number of steps above 0, got {period!r}")
    return None, int(steps)
