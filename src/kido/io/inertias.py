"""Masses and moments of inertia as files give them: what readers of all formats say of joints that move no mass, and
of moments that no body has."""

from __future__ import annotations

import numpy as np

__all__ = ["listed", "massless_text", "possible_moment"]

LISTED = 12


def massless_text(movers: list[tuple[str, str]]) -> str:
    """What is wrong with moving joints that carry no mass, in words."""
    names = listed([f"body '{link}' (moved by {joint!r})" for joint, link in movers])
    return (
        f"zero mass on a moving body: {names}: neither it nor any body it carries has mass, "
        f"so its acceleration is not defined; give it a mass or fix its joint"
    )


def listed(items: list[str]) -> str:
    """The first of many items, and how many more there are."""
    shown = ", ".join(items[:LISTED])
    return shown if len(items) <= LISTED else f"{shown} and {len(items) - LISTED} more"


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
