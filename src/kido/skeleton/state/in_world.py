"""What a skeleton is in a world besides its dynamics: moved by its user, asleep, awake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from kido.errors import ModelError
from kido.joints import JointKind
from kido.math.transform import as_flag, number_or_nan

if TYPE_CHECKING:
    from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom
    from kido.skeleton.joints.joint import Joint


class SkeletonInWorld:
    """Kinematic skeletons, and sleep."""

    if TYPE_CHECKING:
        name: str
        joints: list[Joint]
        velocities: Any
        positions: Any
        position_differences: Any
        _dofs: list[DegreeOfFreedom]
        _world: Any
        _vector: Any
        _raise_not_finite: Any
        _structure_changed: Any

    def _init_in_world(self) -> None:
        self._kinematic = False
        self._can_sleep = True

    # Kinematic -------------------------------------------------------------------------------------------

    @property
    def kinematic(self) -> bool:
        """Whether a world moves it as its velocities say, and nothing pushes it: a lift, a conveyor, a paddle.

        Its velocities stay as they were set, whatever it touches; a free joint goes straight on and turns about its
        body's axis. It carries others along by friction. `move_to` sets the velocities that lead somewhere. Its
        actuators, limits, springs and gravity do not act, it takes no commands, and needs no mass; to contacts and
        islands it is like a wall that moves. What its motion took is in `actuator_forces`.
        """
        return self._kinematic

    @kinematic.setter
    def kinematic(self, value: bool) -> None:
        self._kinematic = as_flag(value, f"skeleton {self.name!r}: kinematic")
        self._structure_changed()

    def move_to(self, positions: ArrayLike, duration: float | None = None) -> None:
        """Set the velocities that lead a kinematic skeleton to positions, exactly, if they are held.

        It goes on with them afterwards: call it before each step, or set `velocities` to zero once there.

        Args:
            positions: (dofs,) where to.
            duration: after this time [s]; by default after the world's time step.

        Raises:
            ModelError: the skeleton is not kinematic, or the duration is not positive.
            StateError: positions of the wrong count or not finite.
        """
        what = f"skeleton {self.name!r}: move_to"
        if not self._kinematic:
            raise ModelError(f"{what}: it is moved by forces; set kinematic = True")
        if duration is None and self._world is None:
            raise ModelError(f"{what}: give duration [s], or add the skeleton to a world")
        seconds = number_or_nan(self._world.time_step if duration is None else duration)
        if not 0.0 < seconds < np.inf:
            raise ModelError(f"{what}: duration: expected a positive number [s], got {duration!r}")
        goal, now = self._vector(positions, len(self._dofs), "move_to"), self.positions
        if not np.isfinite(goal).all():
            self._raise_not_finite("move_to", goal)
        moves = self.position_differences(goal, now)
        for joint in self.joints:
            if joint.kind == JointKind.FREE:  # straight on, and not along a screw
                own = joint._coordinates()
                moves[own][3:] = Rotation.from_rotvec(now[own][:3]).inv().apply((goal[own] - now[own])[3:])
        self.velocities = moves / seconds

    # Sleep -----------------------------------------------------------------------------------------------

    @property
    def can_sleep(self) -> bool:
        """Whether a world that lets skeletons sleep (`World.sleeping`) may let this one, and what it lies against."""
        return self._can_sleep

    @can_sleep.setter
    def can_sleep(self, value: bool) -> None:
        self._can_sleep = as_flag(value, f"skeleton {self.name!r}: can_sleep")
        if self._world is not None:
            self._world.can_sleep_changed(self)

    @property
    def is_asleep(self) -> bool:
        """Whether it sleeps: the next step of its world will leave it alone, unless something wakes it."""
        return False if self._world is None else self._world.is_asleep(self)

    def wake(self) -> None:
        """Wake it, and all that fell asleep with it; in no world, or awake, nothing happens."""
        if self._world is not None:
            self._world.wake(self)
