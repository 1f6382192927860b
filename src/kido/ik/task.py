"""What inverse kinematics is to achieve: tasks about frames, the centre of mass, or the posture of a skeleton."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kido.errors import ModelError
from kido.ik.model import carrier_of
from kido.ik.tasks.balance import balance
from kido.ik.tasks.callback import residual
from kido.ik.tasks.com import com
from kido.ik.tasks.kind import TaskFields
from kido.ik.tasks.look_at import look_at
from kido.ik.tasks.pose import orientation, plane, pose, position
from kido.ik.tasks.posture import posture

if TYPE_CHECKING:
    from kido.skeleton import Skeleton


class Task(TaskFields):
    """One aim of inverse kinematics; made by `Task.pose`, `Task.look_at` and the other functions of this class.

    A task has a residual that is zero where it is met, and its Jacobian. The search for positions (`IkSolver`),
    velocities by priority (`DifferentialIK`) and motions over time (`MotionProblem`) are drivers of the same tasks.
    That of a task about a frame has six components, [angular; linear], in radians and metres: how the node's frame B is
    displaced from the target frame T, in the axes of T. Components that lie between their bounds are zero; beyond, they
    are the distance to the bound.

    Attributes:
        kind: whose kernel writes the residual, see `kido.ik.tasks`.
        node: the body, end effector or other node that the task is about; None for centre of mass and posture.
        target: T: a 4x4 pose in the world, or a `Frame`, which it then follows. A frame that rides on a body of the
            skeleton makes the task a relative one.
        lower, upper: (6,) bounds [angular; linear] [rad, m].
        weights: (6,) factors of the residual's components in the sum of squares that is minimized; 1 by default.
        priority: place in a hierarchy, 0 first.
        gain: rate at which the residual is to decay [1/s], in inverse differential kinematics.
        tolerance: angle [rad] and distance [m] up to which the task counts as met.
        error_from_center: beyond a bound, whether the residual is measured from the middle between the bounds, or from
            the bound. It means the same in `BoundedError`, where the middle is the default, as in DART; here the bound
            is, which control loops approach.

    Source: task space regions are those of Berenson, Srinivasa, Kuffner (2011); DART report, section 2.8.2.
    """

    pose = classmethod(pose)
    position = classmethod(position)
    orientation = classmethod(orientation)
    plane = classmethod(plane)
    look_at = classmethod(look_at)
    com = classmethod(com)
    balance = classmethod(balance)
    posture = classmethod(posture)
    residual = classmethod(residual)


def skeleton_of(tasks: Iterable[Task]) -> Skeleton:
    """The one skeleton that tasks are about.

    Raises:
        ModelError: nodes of several skeletons, or no node at all.
    """
    found: list[Skeleton] = []
    for task in tasks:
        if not isinstance(task, Task):
            raise ModelError(f"tasks: expected kido.ik.Task objects, got {task!r}")
        if task.node is not None:
            skeleton = carrier_of(task.node)[0].skeleton
            if not any(skeleton is s for s in found):
                found.append(skeleton)
    if len(found) != 1:
        names = [s.name for s in found]
        raise ModelError(f"tasks: expected nodes of one skeleton, or a skeleton beside them; got those of {names}")
    return found[0]
