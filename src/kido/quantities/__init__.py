"""Quantities of a skeleton, each declared once: `kido.quantities.mass_matrix(skeleton, positions)`.

A pure call takes a skeleton or a `State`, and the positions, velocities, ... that the quantity needs; the current state
stays. Without these it is of the current state, as the property or method of the same name is.
"""

from importlib import import_module

from kido.quantities.quantity import TABLE, Quantity

THEMES = (
    "jacobians", "matrices", "centroidal", "impulses", "regressors", "articulated", "operational_space",
    "motion_derivatives", "derivatives", "underactuation",
)  # fmt: skip
for _theme in THEMES:
    import_module(f"kido.quantities.{_theme}")
globals().update({_name: _row.given for _name, _row in TABLE.items()})

__all__ = ["TABLE", "THEMES", "Quantity", *TABLE]  # noqa: PLE0604  (names from the table)
