"""Dispersion: many runs of one system, with parameters and initial states drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.attributes import FixedAttributes
from kido.errors import KidoError, ModelError, NameLookupError
from kido.integrators.integrator import count
from kido.systems.declarations import Parameter, State
from kido.systems.model import Model
from kido.systems.noise import key_of

if TYPE_CHECKING:
    from kido.systems.system import System

Draw = Callable[[np.random.Generator], Any]


class Dispersion(FixedAttributes):
    """Values of parameters and initial states for runs 0, 1, 2, ... of a system.

    What a run gets depends on the seed, the path and the run's number alone: any run can be had again by itself.

    Args:
        draws: by path of a parameter or state, a function of a `numpy.random.Generator` that gives its value.
        seed: of all of them.

    Example:
        >>> spread = Dispersion({"motor.R": lambda rng: rng.normal(1.0, 0.1)})
        >>> for run in spread.runs(system, 1000):
        ...     system.run(2.0)

    Raises:
        ModelError: no functions by path.
    """

    def __init__(self, draws: Mapping[str, Draw], seed: int = 0):
        if not isinstance(draws, Mapping) or not all(isinstance(k, str) and callable(f) for k, f in draws.items()):
            raise ModelError(f"dispersion: expected functions of a random generator by path, got {draws!r:.100}")
        self._draws = dict(draws)
        self._seed = count(seed, "dispersion: seed", zero=True)

    def values(self, run: int) -> dict[str, Any]:
        """What a run gets, by path."""
        number = count(run, "dispersion: run", zero=True)
        return {
            path: draw(np.random.Generator(np.random.Philox(key=[key_of(self._seed, path), number])))
            for path, draw in self._draws.items()
        }

    def apply(self, system: System, run: int) -> dict[str, Any]:
        """Put a system back to time 0 with the values of a run; and its world to its initial state, see `World.reset`.

        Raises:
            NameLookupError: it has no such parameter or state.
            ModelError: a value does not fit, the message names the run; nothing is changed.
        """
        values = self.values(run)
        checked: list[tuple[Model, str, NDArray[np.float64]]] = []
        for path, value in values.items():
            above, _, name = path.rpartition(".")
            model = system[above] if above else None
            d = model.declared.get(name) if isinstance(model, Model) else None
            if not isinstance(model, Model) or not isinstance(d, Parameter | State):
                known = [
                    f"{m.path}.{key}"
                    for m in system.models
                    for key in m.declared
                    if isinstance(m.declared[key], Parameter | State)
                ]
                raise NameLookupError("parameter or state", path, known)
            try:
                checked.append((model, name, d.checked(value, path)))
            except KidoError as error:
                raise ModelError(f"dispersion: run {run}: {error}") from None
        if system.world is not None:
            system.world.reset()
        system.reset()
        for model, name, value in checked:
            if isinstance(model.declared[name], Parameter):
                model.set_parameters(**{name: value})
            else:
                system.set_state_value(model.port(name), value)
        return values

    def runs(self, system: System, number: int) -> Iterator[int]:
        """Numbers of runs, the system at the start of each."""
        for run in range(count(number, "dispersion: number of runs", zero=True)):
            self.apply(system, run)
            yield run
