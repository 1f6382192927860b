"""What users do to a world while it runs: let parts of it sleep, push bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError, NameLookupError
from kido.math.transform import as_flag, as_vector, number_or_nan
from kido.simulation.pushes import Push, Pushing
from kido.simulation.sleeping import Sleeping
from kido.skeleton import BodyNode, Skeleton

if TYPE_CHECKING:
    from kido.simulation.engine import Engine


class WorldDynamics:
    """Sleeping, and forces that act for a while."""

    if TYPE_CHECKING:
        name: str
        _skeletons: list[Skeleton]
        _compile: Any
        _engine: Engine | None
        _stale: bool
        _sleeping: Sleeping | None
        _pushes: list[Push]
        _advance: Any
        _version: int
        _steps: int
        time_step: Any

    # Sleeping --------------------------------------------------------------------------------------------

    @property
    def sleeping(self) -> Sleeping | None:
        """When skeletons at rest are no longer computed; None, the default: never.

        True stands for `Sleeping()`, False for None. What sleeps is woken by a body that pushes it, by a change of its
        state, commands or external forces, by `Skeleton.wake`, and with all others by a change of gravity, of
        properties or of the structure, or when an immobile skeleton is moved. Its contacts and their forces stay as
        they were; `Skeleton.can_sleep` exempts a skeleton. Results differ from those without sleep by less than the
        threshold's speeds; without it every skeleton is computed in every step, exactly.

        Nothing sleeps under integrators for smooth motion, and in worlds with soft bodies.
        """
        return self._sleeping

    @sleeping.setter
    def sleeping(self, value: Sleeping | bool | None) -> None:
        self._sleeping = checked_sleeping(value, f"world {self.name!r}")
        if self._engine is not None and not self._stale:
            self._engine.set_sleeping(self._sleeping)

    def _part(self, skeleton: Skeleton) -> int:
        if skeleton not in self._skeletons:
            raise NameLookupError(f"skeleton in world {self.name!r}", skeleton.name, [s.name for s in self._skeletons])
        return self._skeletons.index(skeleton)

    def _is_asleep(self, skeleton: Skeleton) -> bool:
        sleepers = self._compile().sleepers
        if sleepers is None:
            return False
        sleepers.wake_disturbed()
        return sleepers.is_asleep(self._part(skeleton))

    def _wake(self, skeleton: Skeleton) -> None:
        sleepers = self._compile().sleepers
        if sleepers is not None:
            sleepers.wake([self._part(skeleton)])

    def _can_sleep_changed(self, skeleton: Skeleton) -> None:
        if self._engine is not None and not self._stale and self._engine.sleepers is not None:
            self._wake(skeleton)
            self._engine.sleepers.set_permission(self._part(skeleton))

    # Pushes ----------------------------------------------------------------------------------------------

    def push(
        self,
        body: BodyNode,
        force: ArrayLike,
        duration: float,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        offset_is_local: bool = True,
    ) -> None:
        """Let a force act on a body from now on for a while, whatever calls of `step` that takes.

        It acts for the whole number of steps, at least one, that comes closest to the duration, and is scaled so that
        its impulse is force times duration. `BodyNode.push` gives an impulse at once.

        Args:
            body: of a skeleton in this world.
            force: [N], world axes.
            duration: [s]
            offset: point at which it acts: from the body's origin in body axes, or, unless `offset_is_local`, the
                point of the body that is now at this point of the world.

        Raises:
            ModelError: no body of this world, not finite numbers, or a duration that is not positive.
        """
        what = f"world {self.name!r}: push"
        if not isinstance(body, BodyNode) or body.skeleton not in self._skeletons:
            raise ModelError(f"{what}: expected a body of a skeleton in this world, got {body!r}")
        seconds = number_or_nan(duration)
        if not 0.0 < seconds < np.inf:
            raise ModelError(f"{what}: duration: expected a positive number [s], got {duration!r}")
        f, r = as_vector(force, f"{what}: force"), as_vector(offset, f"{what}: offset")
        if not as_flag(offset_is_local, f"{what}: offset in body axes"):
            X = body.world_transform
            r = X[:3, :3].T @ (r - X[:3, 3])
        steps = max(1, round(seconds / self.time_step))
        row = body._force_row(f * (seconds / (steps * self.time_step)), r, False, True, None, "push")
        self._pushes.append(Push(body, row, steps))

    def _advance_pushed(self, engine: Engine, number: int) -> None:
        """Do steps, with the pushes that go on."""
        while number > 0:
            if not self._pushes:
                self._advance(engine, number)
                return
            some = min(number, *(p.left for p in self._pushes))
            pushing, before = Pushing(self._pushes), self._steps
            try:
                self._advance(engine, some)
            finally:
                pushing.end()
                for push in self._pushes:
                    push.left -= self._steps - before  # a step that was undone is still to come
                self._pushes = [p for p in self._pushes if p.left > 0]
            number -= some


def checked_sleeping(value: Any, what: str) -> Sleeping | None:
    """A rule from what users give.

    Raises:
        ModelError: it is none.
    """
    if value is None or value is False:
        return None
    if value is True:
        return Sleeping()
    if not isinstance(value, Sleeping):
        raise ModelError(f"{what}: sleeping: expected True, False or kido.Sleeping(), got {value!r}")
    return value
