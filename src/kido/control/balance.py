"""Balance of bodies that stand: the ankle strategy, and regulation of angular momentum by the upper body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.control import feedback
from kido.control.balance_law import BALANCE
from kido.control.feedback import FEEDBACK
from kido.control.joint_space import StablePD
from kido.control.reference import spread
from kido.errors import ModelError
from kido.math.transform import as_positive, as_vector, number_or_nan
from kido.simulation.controller import driven_dofs
from kido.skeleton import BodyNode, Skeleton
from kido.tree.workspace import SUBSET

Array = NDArray[np.float64]


class AnkleStrategy(StablePD):
    """Stable PD of a standing body that leans on its feet, and lets its upper body take up angular momentum.

        tau = tau_PD + E^T (n x (ka d + kb d')) - kL A^+ L,    A^+ = A^T (A A^T)^-1

    with d the horizontal way from the middle of the feet to the centre of mass, n upwards, E the axes of the ankles'
    coordinates, and A the rows of horizontal angular momentum of the centroidal momentum matrix: L = A u of all
    coordinates, A^+ of the columns of the upper body's. A^+ L are the velocities of the upper body that have that
    momentum, so kL damps them. Forces of contacts in the step before are part of stable PD. What is too fast for the
    feet falls: a push along which the edge of the feet is e away has to be of less than about m omega0 e [N s],
    omega0 = sqrt(g / height of the centre of mass), where nothing but the ankles acts.
    Source: Tan, Liu and Turk 2011; the balance application of RTQL8's tutorial.

    Args:
        skeleton, dofs, rate, period, name, payload: as of `JointController`.
        target, kp, kd: as of `StablePD`.
        feet: a point of each foot, in body axes [m], by body: the centre of mass is to be over the middle of them.
        ankles: coordinates that lean; those that turn about the vertical do nothing.
        ankle_kp, ankle_kd: ka [N m/m] and kb [N m s/m], one number or one for each of `ankles`, not negative.
        upper: coordinates that take up angular momentum; none by default.
        momentum_gain: kL [N m s/rad], not negative.
        reach: for d from here on, where it falls, stable PD is all that acts [m].

    Raises:
        ModelError: as of `Tracking`; no feet, bodies of another skeleton, and gains of other sizes.
        NameLookupError: `ankles` or `upper` are no coordinates.
    """

    _law = feedback.ankle_strategy_law

    def __init__(
        self,
        skeleton: Skeleton,
        target: Any,
        kp: ArrayLike,
        kd: ArrayLike,
        dofs: Any = None,
        *,
        feet: Mapping[BodyNode, ArrayLike],
        ankles: Any,
        ankle_kp: ArrayLike,
        ankle_kd: ArrayLike,
        upper: Any = (),
        momentum_gain: float = 0.0,
        reach: float = np.inf,
        **options: Any,
    ):
        super().__init__(skeleton, target, kp, kd, dofs, **options)
        what = f"controller {self.name!r}"
        if not isinstance(feet, Mapping) or not feet:
            raise ModelError(f"{what}: feet: expected points by body of skeleton {skeleton.name!r}, got {feet!r}")
        for body in feet:
            if not isinstance(body, BodyNode) or body.skeleton is not skeleton:
                raise ModelError(f"{what}: feet: expected bodies of skeleton {skeleton.name!r}, got {body!r}")
        self._feet = {body: as_vector(p, f"{what}: point of foot {body.name!r}") for body, p in feet.items()}
        self._ankles, self._upper = self._driven("ankles", ankles), self._driven("upper", upper)
        self._ankle_kp, self._ankle_kd = (
            self._ankle_gains("ankle_kp", ankle_kp),
            self._ankle_gains("ankle_kd", ankle_kd),
        )
        self._momentum_gain = self._checked_gain("momentum_gain", momentum_gain)
        self._reach = np.inf if number_or_nan(reach) == np.inf else as_positive(reach, f"{what}: reach", "m")

    def _driven(self, what: str, dofs: Any) -> NDArray[np.int64]:
        where = f"controller {self.name!r}: {what}"
        found = driven_dofs(self.skeleton, dofs, where)
        strange = np.setdiff1d(found, self._dofs)
        if len(strange):
            name = self.skeleton.dofs[int(strange[0])].name
            raise ModelError(f"{where}: dof {name!r} is none of those that the controller gives forces")
        return found

    def _ankle_gains(self, what: str, value: ArrayLike) -> Array:
        n = self.skeleton.num_dofs
        return spread(
            self.skeleton, self._ankles, value, np.zeros(n), f"controller {self.name!r}: {what}", n, least=0.0
        )

    def _checked_gain(self, what: str, value: Any) -> float:
        gain = number_or_nan(value)
        if not 0.0 <= gain < np.inf:
            raise ModelError(
                f"controller {self.name!r}: {what}: expected a finite number not below 0 [N m s/rad], got {value!r}"
            )
        return gain

    @property
    def ankle_kp(self) -> Array:
        """ka (skeleton's dofs,); zero where no ankle is [N m/m]. May be set."""
        return self._ankle_kp.copy()

    @ankle_kp.setter
    def ankle_kp(self, value: ArrayLike) -> None:
        self._ankle_kp = self._ankle_gains("ankle_kp", value)
        self._changed()

    @property
    def ankle_kd(self) -> Array:
        """kb (skeleton's dofs,); zero where no ankle is [N m s/m]. May be set."""
        return self._ankle_kd.copy()

    @ankle_kd.setter
    def ankle_kd(self, value: ArrayLike) -> None:
        self._ankle_kd = self._ankle_gains("ankle_kd", value)
        self._changed()

    @property
    def momentum_gain(self) -> float:
        """kL [N m s/rad]. May be set."""
        return self._momentum_gain

    @momentum_gain.setter
    def momentum_gain(self, value: float) -> None:
        self._momentum_gain = self._checked_gain("momentum_gain", value)
        self._changed()

    def _write(self, core: FEEDBACK, time: float) -> None:
        super()._write(core, time)
        tree = core.tree
        whole = SUBSET(bodies=len(tree.mass), whole=1)
        whole.inertia[:] = np.column_stack([tree.mass, tree.mass[:, None] * tree.com, tree.inertia])
        own = BALANCE(
            feet=len(self._feet),
            dofs=self.skeleton.num_dofs,
            bodies=whole,
            momentum=self._momentum_gain,
            reach=self._reach,
        )
        for k, (body, point) in enumerate(self._feet.items()):
            X = tree.member_pose[body.index].reshape(3, 4)
            own.foot[k], own.offset[k] = tree.member_link[body.index], X[:, :3] @ point + X[:, 3]
        own.ankle_kp[:], own.ankle_kd[:], own.upper[self._upper] = self._ankle_kp, self._ankle_kd, 1.0
        core.balance = own
