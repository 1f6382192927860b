"""What all solvers of smooth constrained dynamics have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kido.attributes import FixedAttributes, dataclass
from kido.dynamics import moving
from kido.dynamics.schema import (
    DYNAMICS,
)
from kido.dynamics.system import ConstrainedSystem
from kido.errors import StateError
from kido.integrators.schema import FAILED
from kido.jit import callback, entry, view
from kido.reprs import brief

__all__ = ["DynamicsReport", "DynamicsSolver"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DynamicsReport:
    """What a solver found in the last evaluation.

    Attributes:
        solver: its name.
        constraints: how many constraints there are.
        rows: number of their equations.
        rank: how many of them are independent.
        redundant: equations that follow from others, as "constraint: equation".
        independent_coordinates: how many coordinates can still be chosen: those that nothing prescribes, less the rank.
        partition: names of the coordinates that the solver takes for independent; None where it takes all alike.
        repartitions: how often it chose others.
        residual: the largest |G udot - gamma| that was left [m/s^2 or rad/s^2].
    """

    solver: str
    constraints: int
    rows: int
    rank: int
    redundant: list[str]
    independent_coordinates: int
    partition: list[str] | None
    repartitions: int
    residual: float

    __repr__ = brief


@callback
def project_dependent(_address, _a, _b, _c):
    """Of a solver that takes nothing for granted."""
    return 0


@entry("i8(i8)")
def run_accelerate(address):
    """Accelerations, from Python."""
    y = view(DYNAMICS, address)
    return y.accelerate(y)


@entry("i8(i8)")
def run_project_dependent(address):
    """The projection of dependent coordinates, from Python."""
    y = view(DYNAMICS, address)
    return y.project_dependent(y)


@entry("i8(i8)")
def run_respond(address):
    """Responses, from Python."""
    y = view(DYNAMICS, address)
    return y.respond(y)


class DynamicsSolver(FixedAttributes, ABC):
    """Accelerations of a constrained system: M udot + C = T + external forces + G^T lambda, G udot = gamma.

    Its parts are callbacks over the address of a DYNAMICS container (`kido.dynamics.schema`), so that whole motions run
    compiled. This class calls them once.

    Args:
        system: what it solves.
        tree: TREE with free joints of another kind; by default that of the system.
        data: the state; by default one of its own.
        passive: with springs and dampers of joints.

    Attributes:
        name: by which it is chosen.
        moves: where integrations find `accelerate`, `project_velocities` and `project` where a solver has none of its
            own (`kido.dynamics.moving`).
        project_stage, project_step: callbacks by which integrations keep states where a solver takes them for granted
            to be (`kido.integrators.schema`, `project` and `close`); None: it takes nothing for granted.
        container: DYNAMICS.
        data: DATA of the state.
    """

    name: ClassVar[str]
    _accelerate: ClassVar[Any]
    _project_dependent: ClassVar[Any] = project_dependent
    _respond: ClassVar[Any]
    moves: ClassVar[Any] = moving
    project_stage: ClassVar[Any] = None
    project_step: ClassVar[Any] = None

    def __init__(
        self,
        system: ConstrainedSystem,
        *,
        tree: Any = None,
        data: Any = None,
        passive: bool = True,
    ):
        self.system = system
        self.data = system.new_data() if data is None else data
        self._tree = tree
        self._make_container(passive)

    def _make_container(self, passive: bool) -> None:
        """The DYNAMICS container with the addresses of all parts."""
        self._own = self._make_own()
        self.container = self.system.new_dynamics(tree=self._tree, data=self.data, passive=passive)
        y, kind = self.container, type(self)
        if self._own is not None:
            y.own = self._own.address
        y.accelerate, y.project_dependent, y.respond = kind._accelerate, kind._project_dependent, kind._respond

    def __getstate__(self) -> dict[str, Any]:
        # Containers have each other's addresses: a copy makes its own, and results are left behind.
        state = {k: v for k, v in self.__dict__.items() if k not in ("container", "data", "_own")}
        return {**state, "_passive": bool(self.container.passive)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        passive = state.pop("_passive")
        vars(self).update(state)
        self.data = self.system.new_data()
        self._make_container(passive)

    @abstractmethod
    def _make_own(self) -> Any:
        """The container that its callbacks find at `own`."""

    # Calls -----------------------------------------------------------------------------------------------

    def _check(self, status: int) -> None:
        """Raise the error that a status stands for.

        Raises:
            ModelError: a coordinate sees no inertia.
            StateError: another failure.
        """
        if status >= 0:
            return
        if status < FAILED:
            self.system.skeleton.current_state.raise_singular(FAILED - 1 - status)
        raise StateError(f"skeleton {self.system.skeleton.name!r}: solver {self.name} failed with status {status}")

    def accelerate(self, q: Array, u: Array, forces: Array | None = None, time: float = 0.0) -> Array:
        """udot (dofs,) at a state, all arguments checked already; results stay in `container` and `data`."""
        self.system.load(self.container, forces, time)
        self.data.q[:], self.data.u[:] = q, u
        self._check(run_accelerate(self.container.address))
        return self.data.udot.copy()

    def project_dependent(self, q: Array, u: Array, time: float = 0.0) -> tuple[Array, Array]:
        """Positions and velocities as the solver has them: the same where it takes nothing for granted."""
        self.system.drive(self.container, time)
        self.data.q[:], self.data.u[:] = q, u
        self._check(run_project_dependent(self.container.address))
        return self.data.q.copy(), self.data.u.copy()

    def respond(self, q: Array, impulse: Array, jump: Array) -> Array:
        """Velocities (dofs,) that change by a generalized impulse, with a change `jump` (nc,) of G u."""
        self.data.q[:] = q
        self.container.impulse[:], self.container.jump[: len(jump)] = impulse, jump
        self._check(run_respond(self.container.address))
        return self.container.change.copy()

    # Results ---------------------------------------------------------------------------------------------

    @property
    def partition(self) -> list[str] | None:
        """Names of the coordinates that it takes for independent; None: it takes all alike."""
        return None

    @property
    def repartitions(self) -> int:
        """How often it chose other independent coordinates."""
        return 0

    @property
    def report(self) -> DynamicsReport:
        """What it found in the last evaluation."""
        y, system = self.container, self.system
        m, rank = system.num_rows, y.rank
        names = system.row_names if y.redundant[:m].any() else []
        free = int(np.count_nonzero(system.tree.prescribed == 0))
        return DynamicsReport(
            solver=self.name,
            constraints=len(system.constraints),
            rows=m,
            rank=rank,
            redundant=[names[s] for s in np.flatnonzero(y.redundant[:m])],
            independent_coordinates=free - rank,
            partition=self.partition,
            repartitions=self.repartitions,
            residual=float(np.abs(y.residual[:m]).max(initial=0.0)),
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.system!r})"
