"""What a study varies: ranges, choices and distributions of named numbers, and designs that sample them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError

Array = NDArray[np.float64]
SAMPLERS = ("random", "latin", "sobol")


class Factors:
    """Factors by name, as a study is given them.

    A pair (lower, upper) is a uniform distribution, a list of numbers a choice of these, all alike, and an object with
    `ppf`, such as `scipy.stats.norm(1.0, 0.1)`, any distribution.

    Raises:
        ModelError: none, or something else.
    """

    def __init__(self, given: Mapping[str, Any]):
        if not isinstance(given, Mapping) or not given or not all(isinstance(name, str) for name in given):
            raise ModelError(f"factors: expected ranges, choices or distributions by name, got {given!r:.80}")
        self.names = tuple(given)
        self._given = [self._checked(name, what) for name, what in given.items()]

    @staticmethod
    def _checked(name: str, what: Any) -> Any:
        if callable(getattr(what, "ppf", None)):
            return what
        try:
            numbers = np.asarray(what, dtype=float).reshape(-1)
        except (TypeError, ValueError):
            numbers = np.full(1, np.nan)
        if not numbers.size or not np.isfinite(numbers).all():
            raise ModelError(f"factor {name!r}: expected (lower, upper), numbers or a distribution, got {what!r:.80}")
        if not isinstance(what, tuple):
            return numbers
        if numbers.size != 2 or not numbers[0] < numbers[1]:
            raise ModelError(f"factor {name!r}: expected lower < upper, got {what!r:.80}")
        return float(numbers[0]), float(numbers[1])

    def __len__(self) -> int:
        return len(self.names)

    def described(self) -> list[list[Any]]:
        """Names and what they are, for files."""
        rows: list[list[Any]] = []
        for name, what in zip(self.names, self._given):
            if isinstance(what, tuple):
                rows.append([name, "uniform", *what])
            elif isinstance(what, np.ndarray):
                rows.append([name, "choice", *what.tolist()])
            else:  # a distribution is known by its quantiles
                rows.append([name, "distribution", *map(float, what.ppf([0.1, 0.5, 0.9]))])
        return rows

    def of_shares(self, shares: Array) -> Array:
        """Values (samples, factors) of shares in 0 ... 1 of each distribution."""
        values = np.empty_like(shares)
        for k, what in enumerate(self._given):
            if isinstance(what, tuple):
                values[:, k] = what[0] + (what[1] - what[0]) * shares[:, k]
            elif isinstance(what, np.ndarray):
                values[:, k] = what[np.minimum((shares[:, k] * what.size).astype(int), what.size - 1)]
            else:
                values[:, k] = what.ppf(shares[:, k])
        return values

    def sampled(self, samples: int, sampler: str, seed: int) -> Array:
        """Random values (samples, factors); the same for the same seed.

        Raises:
            ModelError: no such sampler.
        """
        if sampler == "random":
            return self.of_shares(np.random.default_rng(seed).random((samples, len(self))))
        if sampler not in SAMPLERS:
            raise ModelError(f"sampler: expected one of {', '.join(SAMPLERS)}, got {sampler!r}")
        from scipy.stats import qmc

        kind = qmc.LatinHypercube if sampler == "latin" else qmc.Sobol
        return self.of_shares(kind(len(self), rng=np.random.default_rng(seed)).random(samples))

    def grid(self, points: int | Mapping[str, int]) -> Array:
        """All combinations (samples, factors): choices as they are, `points` of each range from end to end.

        The last factor changes fastest. Distributions are taken at evenly spread quantiles.
        """
        axes = []
        for name, what in zip(self.names, self._given):
            count = points.get(name, 5) if isinstance(points, Mapping) else points
            if not isinstance(what, np.ndarray) and (
                isinstance(count, bool) or not isinstance(count, int) or count < 1
            ):
                raise ModelError(f"points of {name!r}: expected a whole number above 0, got {count!r}")
            if isinstance(what, np.ndarray):
                axes.append(what)
            elif isinstance(what, tuple):
                axes.append(
                    np.linspace(what[0], what[1], count) if count > 1 else np.array([0.5 * (what[0] + what[1])])
                )
            else:
                axes.append(np.asarray(what.ppf((np.arange(count) + 0.5) / count)))
        return np.stack([part.reshape(-1) for part in np.meshgrid(*axes, indexing="ij")], axis=1)


def numbers_of(result: Any, count: int | None) -> tuple[tuple[str, ...], Array]:
    """Names and numbers (samples, outputs) that a run gave: a number, a sequence of them, or numbers by name.

    Args:
        result: what it returned.
        count: samples of a batch; None: one sample.

    Raises:
        ModelError: something else.
    """
    try:
        if isinstance(result, Mapping):
            names: Sequence[str] = [str(name) for name in result]
            columns = [_floats(value) for value in result.values()]
        else:
            array = _floats(result)
            one = array.ndim == (0 if count is None else 1)
            parts = [array] if one else list(array if count is None else array.T)
            columns = [np.asarray(part) for part in parts]
            names = ["value"] if one else [f"value_{k}" for k in range(len(columns))]
        shapes = ((), (1,)) if count is None else ((), (count,))
        if any(column.shape not in shapes for column in columns):
            raise ValueError
        table = np.stack([np.broadcast_to(column, (1 if count is None else count,)) for column in columns], axis=1)
    except (TypeError, ValueError):
        raise ModelError(
            f"run: expected numbers{'' if count is None else f' of {count} samples'}, such as {{'speed': 1.5}}, got "
            f"{result!r:.120}"
        ) from None
    return tuple(names), table


def _floats(value: Any) -> Array:
    """Numbers as floats; what is none of them, such as None, is refused, which NumPy takes for NaN."""
    if np.asarray(value).dtype.kind not in "biuf":
        raise TypeError
    return np.asarray(value, dtype=float)
