"""Moments of inertia as files give them."""

from __future__ import annotations

import numpy as np

__all__ = ["possible_moment"]


def possible_moment(moment: np.ndarray, where: str, remarks: list[str]) -> np.ndarray:
    """The moment as given, or, if it has negative principal moments, the nearest matrix without; remarked.

    `where` names the body in remarks.
    """
    values, vectors = np.linalg.eigh(moment)
    listed = ", ".join(f"{v:.4g}" for v in values)
    if values[0] < -1e-9 * abs(values[2]):
        remarks.append(
            f"{where} has principal moments of inertia {listed} kg m^2; negative ones, which no body has, "
            f"are set to zero"
        )
        return (vectors * np.maximum(values, 0.0)) @ vectors.T
    if values[0] + values[1] < values[2] * (1.0 - 1e-6):
        remarks.append(
            f"{where} has principal moments of inertia {listed} kg m^2, which no rigid body has "
            f"(the sum of two is below the third); kept as they are"
        )
    return moment
