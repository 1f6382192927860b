"""An environment as one declaration, of which the single and the vector one are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.gym.transition import States, Transition
from kido.math.transform import as_vector, number_or_nan
from kido.reprs import brief
from kido.simulation import World

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from kido.gym.single import KidoEnv
    from kido.gym.vector import KidoVectorEnv

__all__ = ["Environment", "Start", "View", "around"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Start:
    """Where an episode of one world begins.

    Attributes:
        positions, velocities: (dofs,); those of the model by default.
        goals: numbers that the functions of the environment read, such as a target.
    """

    positions: ArrayLike | None = None
    velocities: ArrayLike | None = None
    goals: ArrayLike = ()

    __repr__ = brief


@dataclass(frozen=True)
class View:
    """From where images are drawn.

    Attributes:
        eye: place of the camera [m].
        target: what it looks at [m].
        follow: name of a body by whose horizontal motion both are shifted, or None.
        width, height: of images in pixels.

    Raises:
        ModelError: places that are not finite, or numbers of pixels that are not whole or not above 0.
    """

    eye: tuple[float, float, float] = (2.5, -3.0, 1.5)
    target: tuple[float, float, float] = (0.0, 0.0, 0.5)
    follow: str | None = None
    width: int = 480
    height: int = 480

    def __post_init__(self) -> None:
        for name in ("eye", "target"):
            as_vector(getattr(self, name), f"View: {name}")
        for name in ("width", "height"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ModelError(f"View: {name}: expected a whole number of pixels above 0, got {value!r}")


@dataclass(frozen=True)
class Environment:
    """One declaration, of which `single` makes a `gymnasium.Env`, and `vector` a `gymnasium.vector.VectorEnv`.

    Functions take a `Transition` of many worlds and return an array with a row for each, so that the same ones serve a
    single environment, which is one world.

    Attributes:
        name: for messages.
        model: makes the world, with everything where it begins.
        observation: (worlds, numbers), or (worlds, ...).
        reward: (worlds,), or a dictionary of such terms by name, which are added in their order and are in the infos
            as "reward_NAME".
        terminated: (worlds,) whether the episode has ended there; it never has by default.
        info: numbers by name for the infos, (worlds, ...) each.
        gears: forces of actuators for actions of 1 by names of coordinates, in the order of the actions; the action
            space is [-1, 1] unless another is given. Commands are those of actions clipped to their space.
        commands: instead, commands (worlds, dofs) of actions (worlds, ...), clipped to their space, and of the `States`
            that they were chosen in; it needs the `action_space`.
        action_space: a `gymnasium.spaces.Box` or `Discrete`.
        observation_space: unbounded numbers of 64 bits by default, of the shape that `observation` returns.
        start: where an episode begins: from a generator of random numbers a `Start` of one world; by default as
            the model.
        randomization: what is different in each episode: from a generator of random numbers properties of one world by
            name, as `kido.batch.Worlds` takes them, without their first axis: {"gravity": (3,), "mass": {"rod": 3.5}}.
        speed_limits: largest velocities by names of coordinates; what is faster after a step is brought there.
        skeleton: whose coordinates are read and driven; those of all skeletons, one after another, by default.
        bodies: whose `contact_wrenches` are read.
        frame_skip: time steps of the world in one of the environment.
        time_limit: steps after which an episode is truncated.
        view: of images.
    """

    name: str
    model: Callable[[], World]
    observation: Callable[[Transition], NDArray]
    reward: Callable[[Transition], Array | Mapping[str, Array]]
    terminated: Callable[[Transition], NDArray[np.bool_]] | None = None
    info: Callable[[Transition], Mapping[str, NDArray]] | None = None
    gears: Mapping[str, float] | None = None
    commands: Callable[[NDArray, States], Array] | None = None
    action_space: Space | None = None
    observation_space: Space | None = None
    start: Callable[[np.random.Generator], Start] | None = None
    randomization: Callable[[np.random.Generator], Mapping[str, Any]] | None = None
    speed_limits: Mapping[str, float] | None = None
    skeleton: str | None = None
    bodies: tuple[str, ...] = ()
    frame_skip: int = 1
    time_limit: int = 1000
    view: View = View()

    __repr__ = brief

    def __post_init__(self) -> None:
        what = f"environment {self.name!r}"
        if (self.gears is None) == (self.commands is None):
            raise ModelError(f"{what}: expected either gears or commands, got {'both' if self.gears else 'neither'}")
        if self.commands is not None and self.action_space is None:
            raise ModelError(f"{what}: action_space: expected a space, because commands are a function, got None")
        for name in ("frame_skip", "time_limit"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ModelError(f"{what}: {name}: expected a whole number above 0, got {value!r}")

    def __deepcopy__(self, memo: Any) -> Environment:
        return self  # it does not change

    def single(self, **options: Any) -> KidoEnv:
        """A single environment; options as of `KidoEnv`."""
        from kido.gym.single import KidoEnv

        return KidoEnv(self, **options)

    def vector(self, num_envs: int, **options: Any) -> KidoVectorEnv:
        """A vector environment; options as of `KidoVectorEnv`."""
        from kido.gym.vector import KidoVectorEnv

        return KidoVectorEnv(self, num_envs, **options)


def around(
    positions: ArrayLike,
    velocities: ArrayLike | None = None,
    *,
    uniform: float = 0.0,
    normal: float | None = None,
) -> Callable[[np.random.Generator], Start]:
    """Starts around a state.

    Args:
        positions: (dofs,), to which numbers from -uniform to uniform are added.
        velocities: (dofs,), zero by default, to which the same is done; or, where `normal` is given, numbers of the
            normal distribution with that deviation.

    Raises:
        ModelError: numbers that are not finite, or a negative `uniform` or `normal`.
    """
    for name, value in (("uniform", uniform), ("normal", 0.0 if normal is None else normal)):
        if not 0.0 <= number_or_nan(value) < np.inf:
            raise ModelError(f"around: {name}: expected a finite number not below 0, got {value!r}")
    q = np.array(positions, dtype=float)
    u = np.zeros(len(q)) if velocities is None else np.array(velocities, dtype=float)
    if not (np.isfinite(q).all() and np.isfinite(u).all()):
        raise ModelError(f"around: expected finite positions and velocities, got {q!r:.80} and {u!r:.80}")

    def start(rng: np.random.Generator) -> Start:
        moved = q + rng.uniform(-uniform, uniform, len(q))
        if normal is None:
            return Start(moved, u + rng.uniform(-uniform, uniform, len(u)))
        return Start(moved, u + normal * rng.standard_normal(len(u)))

    return start
