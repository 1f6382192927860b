"""What a scene asks of a program."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from benchmarks.scenes.description import Scene, TooSlowError, Touch


class Program:
    """A scene in one program. Indices are those of the scene's bodies; everything is in world axes."""

    name = ""

    def __init__(self, scene: Scene, patience: float = float("inf")) -> None:
        self.scene = scene
        self.patience = patience
        self.seconds, self.steps, self.first = 0.0, 0, 0.0  # `first`: of the first step, which builds what is needed
        self.build(scene)

    def step(self, count: int = 1) -> None:
        """Go on by so many steps; pushes go on as well."""
        while count > 0:
            chunk = min(count, 100) if self.steps else 1
            start = perf_counter()
            self.advance(chunk)
            took = perf_counter() - start
            self.first = self.first if self.steps else took
            self.seconds += took
            self.steps += chunk
            count -= chunk
            if self.seconds > self.patience:
                raise TooSlowError(f"more than {self.patience:g} s")

    def place(self, index: int) -> np.ndarray:
        """Position of a centre of mass [m]."""
        return np.array(self.pose(index)[:3, 3])

    @property
    def free(self) -> list[int]:
        """Indices of the bodies that move."""
        return [i for i, body in enumerate(self.scene.bodies) if body.mass]

    def places(self) -> np.ndarray:
        """Positions of all moving bodies, (n, 3)."""
        return np.array([self.place(i) for i in self.free])

    def fastest(self) -> float:
        """Largest speed of a moving body [m/s]."""
        return max(float(np.linalg.norm(self.velocity(i))) for i in self.free)

    def deepest(self) -> float:
        """Depth of the deepest contact that the program itself reports [m]."""
        return max([0.0, *(-touch.gap for touch in self.touches())])

    # What each program does in its own way -----------------------------------------------------------------

    def build(self, scene: Scene) -> None:
        """Make the scene."""
        raise NotImplementedError

    def advance(self, count: int) -> None:
        """Do so many steps."""
        raise NotImplementedError

    def set_velocity(self, index: int, velocity, spin=(0.0, 0.0, 0.0)) -> None:
        """Set the velocity of a free body's centre of mass and its spin."""
        raise NotImplementedError

    def push(self, index: int, force) -> None:
        """A constant force at the centre of mass from now on [N]."""
        raise NotImplementedError

    def pose(self, index: int) -> np.ndarray:
        """Pose of a body at its centre of mass, (4, 4)."""
        raise NotImplementedError

    def velocity(self, index: int) -> np.ndarray:
        """Velocity of a centre of mass [m/s]."""
        raise NotImplementedError

    def spin(self, index: int) -> np.ndarray:
        """Angular velocity [rad/s]."""
        raise NotImplementedError

    def touches(self) -> list[Touch]:
        """Contacts of the last step."""
        raise NotImplementedError
