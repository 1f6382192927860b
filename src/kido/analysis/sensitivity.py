"""Sobol's indices, by SALib (MIT, extra `study`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kido.analysis.factors import Array
from kido.analysis.results import StudyResult
from kido.attributes import dataclass
from kido.errors import ModelError
from kido.libraries import library
from kido.reprs import brief


@dataclass(frozen=True)
class Sensitivity:
    """Shares of the variance of outputs.

    Attributes:
        result: of the study.
        first: S1 (outputs, factors), of a factor alone.
        total: ST (outputs, factors), of a factor and all that it does together with others.
        first_error, total_error: (outputs, factors), half widths of 95 % intervals, by bootstrap.

    Source: Saltelli et al. (2010), "Variance based sensitivity analysis of model output".
    """

    result: StudyResult
    first: Array
    total: Array
    first_error: Array
    total_error: Array

    __repr__ = brief

    def __str__(self) -> str:
        lines = []
        for k, output in enumerate(self.result.outputs):
            lines.append(f"{output}:")
            lines += [
                f"  {name}: S1 {self.first[k, i]:.3f} +- {self.first_error[k, i]:.3f}, ST {self.total[k, i]:.3f} +- "
                f"{self.total_error[k, i]:.3f}"
                for i, name in enumerate(self.result.names)
            ]
        return "\n".join(lines)


def _problem(names: Sequence[str]) -> dict[str, Any]:
    return {"num_vars": len(names), "names": list(names), "bounds": [[0.0, 1.0]] * len(names)}


def sobol_design(names: Sequence[str], samples: int, seed: int) -> Array:
    """Shares (samples (factors + 2), factors) in 0 ... 1, as `sobol_indices` takes them.

    Raises:
        ModelError: a number of samples that is no power of 2.
    """
    if samples & (samples - 1):
        raise ModelError(f"samples: expected a power of 2, got {samples}")
    library("SALib", "sensitivity of studies", "study")
    sampling = library("SALib.sample.sobol", "sensitivity of studies", "study")
    return np.asarray(sampling.sample(_problem(names), samples, calc_second_order=False, seed=seed), dtype=float)


def sobol_indices(result: StudyResult, seed: int) -> Sensitivity:
    """Indices of the outputs of a design's samples.

    Raises:
        ModelError: some samples failed.
    """
    if result.errors or not np.isfinite(result.values).all():
        first = next(iter(result.errors.items()), "NaN")
        raise ModelError(
            f"sensitivity: {len(result.errors)} samples failed, indices need all of them; the first: {first}"
        )
    analysis = library("SALib.analyze.sobol", "sensitivity of studies", "study")
    found = [
        analysis.analyze(_problem(result.names), column, calc_second_order=False, seed=seed)
        for column in result.values.T
    ]
    S1, ST, S1_conf, ST_conf = (np.array([f[key] for f in found]) for key in ("S1", "ST", "S1_conf", "ST_conf"))
    return Sensitivity(result, S1, ST, S1_conf, ST_conf)
