"""Joint forces of a robot by the model that it has of itself and of what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.attributes import dataclass
from kido.constraints import WeldJointConstraint
from kido.control import Controller
from kido.control.cartesian import pose_error
from kido.errors import ModelError, StateError
from kido.manipulation.grasp import Grasp
from kido.manipulation.load_sharing import FrictionGrip, LoadShare, LoadSharing, required_wrench
from kido.manipulation.model import RobotModel
from kido.manipulation.payload import PayloadEstimate, estimate_payload
from kido.math.transform import as_positive
from kido.planning import RuckigLaw, TimeLaw
from kido.reprs import brief
from kido.skeleton import BodyNode, Group, Skeleton

Array = NDArray[np.float64]
SHARE_PERIOD = 0.05  # [s] after which it is found anew how hands push against each other


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured while `ModelControl.record` was on, (samples, dofs) each: means over the periods.

    Forces are those of actuators, dampers and springs.
    """

    positions: Array
    velocities: Array
    accelerations: Array
    forces: Array

    __repr__ = brief


class ModelControl(Controller):
    """Computed torque by a `RobotModel`, which has what the hands hold, with loads shared between arms.

        tau = ID(q, u, a* + kp (q* - q) + kd (u* - u)) - springs, dampers + sum_i J_i^T (f_i - f_i,model)

    q and u are those of the robot that is controlled: the model's robot is put there each time, and with it what hangs
    on its hands. ID has the masses that the model believes in. What two arms hold hangs on one of them in the model,
    which gives it all of the wrench that it needs (f_model); `LoadSharing` says what each gives (f_i).

    Args:
        skeleton: the robot that is controlled.
        model: that it has of itself; its world has a robot of the same name and coordinates. Of one without a
            difference it may be the same.
        kp, kd: gains [1/s^2], [1/s].
        arms: names of parts that may share loads.
        grip: how they hold; None: rigidly.
        rate, period, name: as of `Controller`.

    Raises:
        ModelError: a model without such a robot; NameLookupError: no such parts.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        model: RobotModel,
        kp: float = 400.0,
        kd: float = 40.0,
        arms: Sequence[str] = (),
        grip: FrictionGrip | None = None,
        **options: Any,
    ):
        super().__init__(skeleton, **options)
        if not isinstance(model, RobotModel):
            raise ModelError(f"controller {self.name!r}: model: expected a RobotModel, got {model!r}")
        self._model, self._robot = model, model.world.skeleton(skeleton.name)
        if [dof.name for dof in self._robot.dofs] != [dof.name for dof in skeleton.dofs]:
            raise ModelError(f"controller {self.name!r}: the model's robot {skeleton.name!r} has other coordinates")
        self._kp = as_positive(kp, f"controller {self.name!r}: kp")
        self._kd = as_positive(kd, f"controller {self.name!r}: kd")
        self._arms = [model.part(name, skeleton.name) for name in arms]
        self._grip = grip
        self._time, self._start = 0.0, 0.0
        self._rest = np.array(skeleton.positions)
        self._law: tuple[TimeLaw | RuckigLaw, NDArray[np.intp]] | None = None
        self._share: LoadShare | None = None
        self._squeeze: tuple[list[Grasp], float, Array] | None = None  # of which grasps, until when, in object's axes
        self._rows: list[tuple[Array, ...]] | None = None

    @property
    def model(self) -> RobotModel:
        """That the robot has of itself."""
        return self._model

    @property
    def load_share(self) -> LoadShare | None:
        """Who bears what, as it was last found, 20 times a second; None: nothing is held by several arms."""
        return self._share

    # What it follows -------------------------------------------------------------------------------------------

    def follow(self, law: TimeLaw | RuckigLaw, dofs: Group | Sequence[Any]) -> float:
        """Move some coordinates by a time law from now on; the others stay where they are to be. Its duration [s].

        Raises:
            StateError: the law begins more than 1e-4 from where these coordinates are to be.
        """
        chosen = np.array([self._robot.dof(d.name).index for d in (dofs.dofs if isinstance(dofs, Group) else dofs)])
        self._rest = self.reference()[0]
        off = float(np.abs(law.positions(0.0) - self._rest[chosen]).max())
        if off > 1e-4:
            raise StateError(f"controller {self.name!r}: follow: the law begins {off:g} from where the robot is to be")
        self._law, self._start = (law, chosen), self._time
        return law.duration

    def reference(self) -> tuple[Array, Array, Array]:
        """q*, u* and a* at present."""
        q, u, a = self._rest.copy(), np.zeros(len(self._rest)), np.zeros(len(self._rest))
        if self._law is not None:
            law, chosen = self._law
            t = self._time - self._start
            q[chosen] = law.positions(t)
            if t < law.duration:
                u[chosen], a[chosen] = law.velocities(t), law.accelerations(t)
        return q, u, a

    # Forces ----------------------------------------------------------------------------------------------------

    def prepare(self, time: float) -> None:
        self._time = time

    def compute(self) -> Array:
        robot, own = self._robot, self.skeleton
        q, u, a = self.reference()
        if robot is not own:
            robot.positions, robot.velocities = own.positions, own.velocities
        a += self._kp * np.array(robot.position_differences(q, robot.positions)) + self._kd * (u - robot.velocities)
        tau = np.array(robot.inverse_dynamics(robot.positions, robot.velocities, a))
        passive = np.array(robot.damping_forces) + np.array(robot.spring_forces)
        tau -= passive
        shared = self._shared()
        if not shared:
            self._share = self._squeeze = None
        for body, grasps in shared:
            tau += self._balance(body, grasps)
        for grasp in self._model.grasps.held:
            if grasp.closes_loop and grasp.hand.skeleton is robot and grasp.body.skeleton.num_dofs == 1:
                tau += self._push(grasp, u, a)
        if self._rows is not None:
            low, high = own.command_bounds or (-np.inf, np.inf)
            self._rows.append((np.array(own.positions), np.array(own.velocities), np.clip(tau, low, high) + passive))
        return tau

    def _shared(self) -> list[tuple[BodyNode, list[Grasp]]]:
        """Objects that hang on a hand, and are held by others too: with the first hand's grasp first."""
        held = self._model.grasps.held
        hung = [g for g in held if not g.closes_loop and g.body.skeleton is self._robot]
        return [
            (g.body, found)
            for g in hung
            if len(found := [g, *(o for o in held if o.body is g.body and o is not g)]) > 1
        ]

    def _balance(self, body: BodyNode, grasps: list[Grasp]) -> Array:
        """Joint forces by which the load goes from the arm on which it hangs in the model to all that hold it."""
        tau = np.zeros(self._robot.num_dofs)
        arms = [arm for grasp in grasps for arm in self._arms if arm.tip is grasp.hand]
        if len(arms) < 2:
            return tau
        sharing, wrench, com = LoadSharing(arms, self._grip), required_wrench(body), np.array(body.com)
        hung = np.zeros((len(arms), 6))
        hung[0] = np.r_[wrench[:3] + np.cross(com - arms[0].tip.world_transform[:3, 3], wrench[3:]), wrench[3:]]
        turn = scipy.linalg.block_diag(*2 * [body.world_transform[:3, :3]])  # what squeezes turns with the object
        if self._squeeze is None or self._squeeze[0] != grasps or self._time >= self._squeeze[1]:
            own = sharing.own_forces()
            own[0] -= arms[0].tip_jacobian().T @ hung[0]
            self._share = sharing.share(wrench, com, own)
            self._squeeze = grasps, self._time + SHARE_PERIOD, self._share.squeezing @ turn
        f = sharing.move(wrench, com) + self._squeeze[2] @ turn.T
        for arm, change in zip(arms, f - hung, strict=True):
            tau[arm.shares[0].dofs] += arm.tip_jacobian().T @ change
        return tau

    def _push(self, grasp: Grasp, u: Array, a: Array) -> Array:
        """Joint forces that move an object of one coordinate with the hand; in the model it is where the hand has it.

        Of all wrenches f with v . f = T the least is taken, v the handle's velocity per unit of the coordinate's and T
        what the object needs, dry friction too; where the handle turns in the hand, f has no moment.
        """
        thing, hand, loop = grasp.body.skeleton, grasp.hand, grasp.constraint
        v = np.array(thing.jacobian(grasp.body, loop.frame_b[:3, 3]))[:, 0]
        if not isinstance(loop, WeldJointConstraint):
            v[:3] = 0.0
        v /= v @ v  # velocities of the handle times it are the coordinate's
        error = pose_error(hand.world_transform @ loop.frame_a, grasp.body.world_transform @ loop.frame_b)
        thing.positions = thing.positions + v @ error
        J = np.array(self._robot.jacobian(hand, loop.frame_a[:3, 3]))
        rate, acceleration = float(v @ J @ u), float(v @ J @ a)
        thing.velocities = [rate]
        need = np.array(thing.inverse_dynamics(thing.positions, thing.velocities, [acceleration]))
        need -= np.array(thing.damping_forces) + np.array(thing.spring_forces)
        need += np.sign(rate) * np.array([dof.coulomb_friction for dof in thing.dofs])
        return J.T @ v * float(need[0])

    # What is measured ------------------------------------------------------------------------------------------

    def record(self, on: bool = True) -> None:
        """Keep what is measured from now on, or no more."""
        self._rows = [] if on else None

    def measured(self) -> Measured:
        """What was kept since `record`.

        Raises:
            StateError: nothing was.
        """
        if self._rows is None or len(self._rows) < 2:
            raise StateError(f"controller {self.name!r}: measured: nothing was recorded; `record` begins it")
        q, u, tau = (np.array(column) for column in zip(*self._rows, strict=True))
        return Measured(0.5 * (q[1:] + q[:-1]), 0.5 * (u[1:] + u[:-1]), np.diff(u, axis=0) / self.hold, tau[:-1])

    def estimate(self, body: BodyNode, dofs: Group | Sequence[Any], noise: float | None = None) -> PayloadEstimate:
        """What a body of the model's robot has more than the model believes, of what was measured by some coordinates.

        Coordinates that come before all hands that hold the body do not feel how hands push against each other.
        """
        chosen = [self._robot.dof(d.name).index for d in (dofs.dofs if isinstance(dofs, Group) else dofs)]
        m = self.measured()
        return estimate_payload(body, m.positions, m.velocities, m.accelerations, m.forces, chosen, noise)

    def __repr__(self) -> str:
        return f"ModelControl({self.skeleton.name!r}, {self._model!r})"
