"""A robot at work: motions planned by its model and followed by its controller, holds in the model and in the world."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import ModelError
from kido.manipulation.model import RobotModel
from kido.manipulation.model_control import ModelControl
from kido.manipulation.parts import Part
from kido.manipulation.scene import Place
from kido.math.lie import exp_pose
from kido.math.transform import as_positive, as_vector, inverse_transform, numbers_or_nan
from kido.planning import PlanningError, RRTConnect, goal_states, shortened, smooth_curve, time_optimal
from kido.skeleton import BodyNode, Group
from kido.skeleton.nodes.node import FrameNode

Array = NDArray[np.float64]
MOST_GOALS = 64  # of several arms together


def straight_path(pose: Any, way: ArrayLike = (0.0, 0.0, 0.0), turn: float = 0.0, samples: int = 12) -> Array:
    """Poses (samples, 4, 4) from one on, straight along a way, turning evenly about the pose's own z axis.

    Args:
        pose: the first, 4x4.
        way: world axes [m].
        turn: [rad]
        samples: how many.
    """
    made = np.array([pose @ exp_pose(np.array([0, 0, s * turn, 0, 0, 0])) for s in np.linspace(0.0, 1.0, samples)])
    made[:, :3, 3] += np.linspace(0.0, 1.0, samples)[:, None] * as_vector(way, "straight_path: way")
    return made


class Operator(FixedAttributes):
    """Plans motions with a robot's model, has its controller follow them, and takes hold and lets go.

    Motions begin where the robot is to be, and are over after the seconds that are returned; what steps the world may
    wait for as long, and then ask for the next one. Holds are made twice: in the model, in which what is free comes to
    hang on the hand, and in the world that the robot acts on, where loops close, so that its skeletons stay.

    Args:
        control: of the robot, with its model.
        real: the world that it acts on, with the names of the model; most often a fork of the model.
        speed: share of the joints' limits of velocity that motions use.
        acceleration: of each coordinate, by its largest velocity [1/s].
        clearance: from obstacles in planned motions, at least errors of tracking [m]; None: paddings of the scene.

    Raises:
        ModelError: a controller of a robot in another world.
    """

    def __init__(
        self,
        control: ModelControl,
        real: RobotModel,
        speed: float = 0.6,
        acceleration: float = 4.0,
        clearance: float | None = None,
    ):
        if control.skeleton.host is not real.world:
            raise ModelError(f"operator: {control!r} controls no robot of {real!r}")
        self.control, self.model, self.real = control, control.model, real
        self._robot = self.model.world.skeleton(control.skeleton.name)
        self._speed = as_positive(speed, "operator: speed")
        self._acceleration = as_positive(acceleration, "operator: acceleration")
        self._kept: dict[str, Any] = {}
        if clearance is not None:
            self._kept["margin"] = as_positive(clearance, "operator: clearance", "m")

    # Motions ---------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Put the model's robot where the real one is to be: there motions begin."""
        self._robot.positions = self.control.reference()[0]

    def move(self, part: Group, goals: ArrayLike, speed: float | None = None) -> float:
        """To one of the goals without collisions, as the model has them; the duration [s].

        Args:
            part: coordinates that move.
            goals: (n,) or (goals, n).
            speed: another one than the operator's.

        Raises:
            ModelError: goals of another shape, none, or a part that would tear a loop of a grasp.
            PlanningError: there is no way, or what touches at its ends.
        """
        wanted = numbers_or_nan(goals)
        if not wanted.size or wanted.ndim > 2 or wanted.shape[-1:] != (part.num_dofs,) or not np.isfinite(wanted).all():
            raise ModelError(f"operator: move: goals: expected finite (n, {part.num_dofs}), got {goals!r:.80}")
        self.begin()
        checker = self.model.scene.checker(part, **self._kept)
        if np.abs(wanted - part.positions).max() < 1e-9:
            return 0.0
        path = shortened(checker, RRTConnect(checker).plan(part.positions, wanted))
        return self._follow(part, smooth_curve(checker, path), speed)

    def reach(self, poses: Mapping[Part, Any], last: float | None = None) -> float:
        """Tips come to poses without collisions, all together; the duration [s].

        Args:
            poses: 4x4 in the world by part.
            last: position of each part's last coordinate, whatever that makes of the pose; None: as the pose says.

        Raises:
            ModelError: no parts with tips, or one that would tear a loop of a grasp.
            PlanningError: a pose is out of reach or in collision, or there is no way.
        """
        _require_parts(poses, "reach")
        self.begin()
        goals = []
        for part, pose in poses.items():
            found = goal_states(self.model.scene.checker(part, **self._kept), part.solver, pose)
            near = np.argsort(np.abs(found - part.positions).max(axis=1))
            goals.append(found[near])
        share = max(1, int(MOST_GOALS ** (1.0 / len(goals))))
        every = np.array([np.concatenate(g) for g in itertools.product(*(g[:share] for g in goals))])
        if last is not None:
            every[:, np.cumsum([part.num_dofs for part in poses]) - 1] = last
        return self.move(_together(poses), every)

    def along(
        self, poses: Mapping[Part, ArrayLike], speed: float | None = None, touching: Iterable[Place] | None = ()
    ) -> float:
        """Tips go through poses, (samples, 4, 4) by part, all together; the duration [s].

        Args:
            poses: by part.
            speed: another one than the operator's.
            touching: skeletons, bodies or shapes of the model that may be touched, such as what is grasped, put down or
                moved by it; None: whatever is in the way.

        Raises:
            ModelError: no parts with tips.
            StateError: a pose is not met, or only by a jump.
            PlanningError: something else would be touched on the way.
        """
        _require_parts(poses, "along")
        self.begin()
        rows = np.hstack([part.follow(path) for part, path in poses.items()])
        curve = scipy.interpolate.CubicSpline(np.linspace(0.0, 1.0, len(rows)), rows)
        part = _together(poses)
        if touching is not None:
            self._require_free(part, curve, touching)
        return self._follow(part, curve, speed)

    def _require_free(self, part: Group, curve: Any, touching: Iterable[Place]) -> None:
        checker = self.model.scene.checker(part, without=touching, closes_loops=True)
        length = np.linalg.norm(np.diff(curve(curve.x), axis=0), axis=1).sum()
        share = np.linspace(0.0, 1.0, 2 + int(checker.resolution * length))
        states = curve(share)
        bad = np.flatnonzero(~checker.states_are_free(states))
        if len(bad):
            contact = checker.contact(states[bad[0]])
            raise PlanningError(f"operator: {contact} after {share[bad[0]]:.0%} of the way")

    def advance(self, parts: Iterable[Part], way: float, touching: Iterable[Place] | None = ()) -> float:
        """Tips go straight along their own z axes; the duration [s].

        Args:
            parts: whose tips.
            way: how far [m].
            touching: as of `along`, which also says what is raised.
        """
        parts = tuple(parts)
        _require_parts(dict.fromkeys(parts), "advance")
        self.begin()
        poses = {part: part.forward_kinematics() for part in parts}
        paths = {part: straight_path(X, way * X[:3, 2]) for part, X in poses.items()}
        return self.along(paths, touching=touching)

    def carry(
        self, body: BodyNode, path: ArrayLike, speed: float | None = None, touching: Iterable[Place] | None = ()
    ) -> float:
        """All parts whose tips hold a body bring it through poses (samples, 4, 4); the duration [s].

        Args:
            body, path: what is carried, and where.
            speed, touching: as of `along`, which also says what is raised.

        Raises:
            ModelError: no part's tip holds it.
        """
        self.begin()
        hands = {grasp.hand for grasp in self.model.grasps.holding(body)}
        parts = [p for p in self.model.parts(self._robot.name).values() if p.has_tip and p.tip in hands]
        if not parts:
            raise ModelError(f"operator: carry: no part of {self._robot.name!r} holds {body.name!r}")
        inverse = inverse_transform(body.world_transform)
        return self.along({p: np.asarray(path) @ (inverse @ p.forward_kinematics()) for p in parts}, speed, touching)

    def _follow(self, part: Group, curve: Any, speed: float | None) -> float:
        share = self._speed if speed is None else as_positive(speed, "operator: speed")
        velocity = share * np.array([dof.velocity_upper_limit for dof in part.dofs])
        law = time_optimal(curve, velocity=velocity, acceleration=self._acceleration * velocity)
        return self.control.follow(law, part)

    # Holds -----------------------------------------------------------------------------------------------------

    def hold(self, body: BodyNode | FrameNode, hand: BodyNode, **options: Any) -> str:
        """Take hold of a body of the model, and of what it stands for; the name of both grasps.

        Args:
            body, hand, options: as of `Grasps.attach`.
        """
        name = self.model.grasps.attach(body, hand, **options).name
        try:
            self.real.grasps.attach(self.twin(body), self.twin(hand), **{**options, "name": name, "as_loop": True})
        except BaseException:
            self.model.grasps.detach(name)
            raise
        return name

    def release(self, *names: str) -> None:
        """Let go of what grasps of these names hold, in the model and in the world.

        Raises:
            NameLookupError, ModelError: as `Grasps.detach`; then all are held as before.
        """
        chosen = tuple(dict.fromkeys(names))
        for grasps in (self.model.grasps, self.real.grasps):
            grasps.check_release(*chosen)
        for name in chosen:
            self.model.grasps.detach(name)
            self.real.grasps.detach(name)

    def twin(self, thing: Any) -> Any:
        """What a body of the model, or a node on one, stands for."""
        if isinstance(thing, FrameNode):
            return self.twin(thing.body).skeleton.node(thing.name)
        if thing.name in self.model.seen and thing is self.model.body(thing.name):
            return self.real.body(thing.name)
        return self.real.world.skeleton(thing.skeleton.name).body(thing.name)

    def __repr__(self) -> str:
        return f"Operator({self.control!r})"


def _together(parts: Iterable[Group]) -> Group:
    several = list(parts)
    return several[0] if len(several) == 1 else Group([body for part in several for body in part.bodies])


def _require_parts(poses: Any, what: str) -> None:
    if not isinstance(poses, Mapping) or not poses or not all(isinstance(p, Part) and p.has_tip for p in poses):
        raise ModelError(f"operator: {what}: expected parts with tips, at least one, got {poses!r:.80}")
