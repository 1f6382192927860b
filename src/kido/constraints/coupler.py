"""Gears and other couplings of coordinates: they hold in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.constraints.constraint import Constraint, bound, not_negative, read_only
from kido.constraints.loop_schema import BOUNDED_ROW, COUPLE, DRIVEN, ELIMINATED, ONE_SIDED
from kido.errors import ModelError
from kido.math.transform import number_or_nan
from kido.skeleton import DegreeOfFreedom, Joint
from kido.turns import in_turn

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, Skeleton

__all__ = ["CouplerConstraint", "CouplerForces", "DifferentialConstraint", "GearConstraint"]


def as_dof(item: Any, what: str) -> DegreeOfFreedom:
    """A coordinate, given as such or as a joint that has one.

    Raises:
        ModelError: anything else.
    """
    if isinstance(item, Joint):
        if item.num_dofs != 1:
            raise ModelError(
                f"{what}: joint {item.name!r} has {item.num_dofs} coordinates; expected one of joint.dofs, "
                "or a joint with one"
            )
        item = item.dofs[0]
    if not isinstance(item, DegreeOfFreedom):
        raise ModelError(f"{what}: expected a coordinate or a joint that has one, got {item!r}")
    return item


class CouplerConstraint(Constraint):
    """A linear relation between coordinates, of one skeleton or several: sum of factor * q = offset.

    Its generalized forces are the factors times one number: what it takes from one coordinate it gives to the others,
    power included. Unlike a mimic, no coordinate leads.

    Args:
        terms: coordinates (`DegreeOfFreedom`, or joints that have one) and their factors, as a mapping or in pairs.
        offset: of the relation; by default as coordinates are at present.
        name: for messages and reports.
        force_limit: largest size of that number [N or N m]; beyond, the coupling slips, and then comes back.

    Raises:
        ModelError: no coordinates, one twice, numbers that are not finite.
    """

    def __init__(
        self,
        terms: Mapping[Any, float] | Iterable[tuple[Any, float]],
        offset: float | None = None,
        *,
        name: str | None = None,
        force_limit: float = np.inf,
    ):
        super().__init__(name)
        what = f"constraint {self.name!r}"
        pairs = list(terms.items()) if isinstance(terms, Mapping) else list(terms)
        self._terms: list[tuple[DegreeOfFreedom, float]] = []
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ModelError(f"{what}: expected pairs of a coordinate and its factor, got {pair!r}")
            dof, factor = as_dof(pair[0], what), number_or_nan(pair[1])
            if not np.isfinite(factor) or factor == 0.0:
                raise ModelError(f"{what}: factor of {dof.name!r}: expected a number other than 0, got {pair[1]!r}")
            if any(dof is other for other, _ in self._terms):
                raise ModelError(f"{what}: coordinate {dof.name!r} comes twice")
            self._terms.append((dof, factor))
        if not self._terms:
            raise ModelError(f"{what}: expected at least one coordinate")
        if offset is None:
            offset = sum(factor * dof.position for dof, factor in self._terms)
        self._offset_value = number_or_nan(offset)
        if not np.isfinite(self._offset_value):
            raise ModelError(f"{what}: offset: expected a finite number, got {offset!r}")
        self._force_limit = bound(force_limit, f"{what}: force_limit")

    @property
    def terms(self) -> tuple[tuple[DegreeOfFreedom, float], ...]:
        """Coordinates and their factors."""
        return tuple(self._terms)

    @property
    def offset(self) -> float:
        """Of the relation; settable."""
        return self._offset_value

    @offset.setter
    @in_turn
    def offset(self, value: float) -> None:
        number = number_or_nan(value)
        if not np.isfinite(number):
            raise ModelError(f"constraint {self.name!r}: offset: expected a finite number, got {value!r}")
        self._offset_value = number
        self.changed()

    force_limit: float = read_only("_force_limit", "Beyond it the coupling slips [N or N m].")

    @property
    def bodies(self) -> tuple[BodyNode, ...]:
        """Bodies that its coordinates move."""
        return tuple(dict.fromkeys(dof.joint.child for dof, _ in self._terms))

    @property
    def skeletons(self) -> tuple[Skeleton, ...]:
        """Skeletons of its coordinates, each once."""
        return tuple(dict.fromkeys(body.skeleton for body in self.bodies))

    @property
    def row_names(self) -> tuple[str, ...]:
        """Its one equation, in words."""
        return (" ".join(f"{factor:+g} {dof.name}" for dof, factor in self._terms) + f" = {self.offset:g}",)

    def row_values(self) -> list[dict[str, Any]]:
        """Fields of its rows in the world's table (kido.constraints.loop_schema)."""
        limit = self._force_limit
        mode = ELIMINATED if limit == np.inf else BOUNDED_ROW
        return [{"kind": COUPLE, "offset": self.offset, "lower": -limit, "upper": limit, "mode": mode}]

    @property
    def force(self) -> float:
        """The number by which it drove its coordinates in the last step: each had its factor times it [N or N m]."""
        return float(self.system().wrench(self)[0])


class CouplerForces(CouplerConstraint):
    """Limits and dry friction of a sum of factor * q, as of a tendon over several joints; it holds nothing else.

    Args:
        terms, name: as of `CouplerConstraint`.
        lower_limit, upper_limit: of the sum [m or rad].
        coulomb_friction: largest size of the friction along it [N or N m].

    Raises:
        ModelError: as of `CouplerConstraint`; a lower limit above the upper one, friction below zero.
    """

    def __init__(
        self,
        terms: Mapping[Any, float] | Iterable[tuple[Any, float]],
        lower_limit: float = -np.inf,
        upper_limit: float = np.inf,
        coulomb_friction: float = 0.0,
        *,
        name: str | None = None,
    ):
        super().__init__(terms, 0.0, name=name)
        self._lower_limit, self._upper_limit = number_or_nan(lower_limit), number_or_nan(upper_limit)
        what = f"constraint {self.name!r}"
        if not self._lower_limit <= self._upper_limit:
            raise ModelError(f"{what}: expected lower_limit <= upper_limit, got {lower_limit!r} and {upper_limit!r}")
        self._coulomb_friction = not_negative(coulomb_friction, f"{what}: coulomb_friction")

    lower_limit: float = read_only("_lower_limit", "Least value of the sum [m or rad].")
    upper_limit: float = read_only("_upper_limit", "Greatest value of the sum [m or rad].")
    coulomb_friction: float = read_only("_coulomb_friction", "Largest size of the friction [N or N m].")

    @property
    def row_names(self) -> tuple[str, ...]:
        """What each of its rows is."""
        return "lower limit", "upper limit", "dry friction"

    def row_values(self) -> list[dict[str, Any]]:
        dry = self._coulomb_friction
        rows: list[dict[str, Any]] = [
            {"kind": COUPLE, "mode": ONE_SIDED, "lower": 0.0, "upper": np.inf, "offset": limit, "sign": sign}
            for limit, sign in ((self._lower_limit, 1.0), (self._upper_limit, -1.0))
        ]
        return [*rows, {"kind": COUPLE, "mode": DRIVEN, "lower": -dry, "upper": dry, "offset": 0.0}]


class GearConstraint(CouplerConstraint):
    """Two coordinates that mesh: q_a = ratio * q_b + offset.

    Args:
        dof_a, dof_b: coordinates, or joints that have one.
        ratio: negative where they turn against each other.
        offset: by default as coordinates are at present.
        name, force_limit: as of `CouplerConstraint`.
    """

    def __init__(self, dof_a: Any, dof_b: Any, ratio: float, offset: float | None = None, **options: Any):
        super().__init__([(dof_a, 1.0), (dof_b, -number_or_nan(ratio))], offset, **options)

    @property
    def ratio(self) -> float:
        """Velocity of the first coordinate for a unit velocity of the second."""
        return -self._terms[1][1]


class DifferentialConstraint(CouplerConstraint):
    """A differential: the carrier turns by the mean of what the two sides turn by.

    Args:
        carrier, left, right: coordinates, or joints that have one.
        offset: of 2 q_carrier - q_left - q_right; by default as coordinates are at present.
        name, force_limit: as of `CouplerConstraint`; the sides are driven by the same force, the carrier by minus the
            double of it.
    """

    def __init__(self, carrier: Any, left: Any, right: Any, offset: float | None = None, **options: Any):
        super().__init__([(carrier, 2.0), (left, -1.0), (right, -1.0)], offset, **options)
