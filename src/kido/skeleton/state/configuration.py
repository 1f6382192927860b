"""Positions, velocities, accelerations and forces of some coordinates, by their names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import NameLookupError, StateError
from kido.math.transform import numbers_or_nan
from kido.skeleton.state.subsets import Dofs, indices_of

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton

Array = NDArray[np.float64]
PARTS = ("positions", "velocities", "accelerations", "forces", "commands")


class Configuration(FixedAttributes):
    """Numbers of coordinates, by name, so that another skeleton with such coordinates can take them.

    Args:
        dofs: names of the coordinates.
        **parts: for any of `positions`, `velocities`, `accelerations`, `forces`, `commands`: one number for each
            coordinate.

    Attributes:
        dofs: names of the coordinates.
        parts: name -> array; those that it has.

    Raises:
        StateError: an unknown part, a coordinate named twice, or numbers that are too few, too many or not finite.
    """

    def __init__(self, dofs: Iterable[str], **parts: ArrayLike):
        self.dofs = tuple(dofs) if isinstance(dofs, Iterable) else (dofs,)
        if not all(isinstance(name, str) for name in self.dofs) or len(set(self.dofs)) != len(self.dofs):
            raise StateError(f"configuration: expected different names of dofs, got {list(self.dofs)}")
        self.parts: dict[str, Array] = {}
        for name, values in parts.items():
            if name not in PARTS:
                raise StateError(f"configuration: no part {name!r}; valid are {', '.join(PARTS)}")
            array = numbers_or_nan(values)
            if array.shape != (len(self.dofs),) or not np.isfinite(array).all():
                raise StateError(f"configuration: {name}: expected {len(self.dofs)} finite numbers, got {values!r}")
            array.flags.writeable = False
            self.parts[name] = array

    @classmethod
    def of(cls, skeleton: Skeleton, dofs: Dofs | None = None, parts: Iterable[str] = PARTS) -> Configuration:
        """The configuration of a skeleton now.

        Args:
            dofs: indices, names, slices or `DegreeOfFreedom` objects; None for all.
            parts: which numbers.

        Raises:
            NameLookupError: there is no such coordinate.
            StateError: an unknown part.
        """
        chosen = [parts] if isinstance(parts, str) else list(parts)
        for part in chosen:
            if part not in PARTS:
                raise StateError(f"configuration: no part {part!r}; valid are {', '.join(PARTS)}")
        index = np.arange(skeleton.num_dofs) if dofs is None else indices_of(skeleton, dofs)
        names = [skeleton.parts.dofs[k].name for k in index.tolist()]
        return cls(names, **{part: getattr(skeleton, part)[index] for part in chosen})

    def restore(self, skeleton: Skeleton) -> None:
        """Set the numbers in a skeleton; its other coordinates stay as they are.

        Raises:
            NameLookupError: it has no coordinate of one of the names; nothing is changed.
            StateError: a command for a coordinate whose actuator takes none; nothing is changed.
        """
        index = indices_of(skeleton, list(self.dofs))
        before = {part: getattr(skeleton, part) for part in self.parts}
        try:
            for part, values in self.parts.items():
                whole = np.array(getattr(skeleton, part))
                whole[index] = values
                setattr(skeleton, part, whole)
        except StateError:
            for part, whole in before.items():
                setattr(skeleton, part, whole)
            raise

    def __getitem__(self, key: tuple[str, str]) -> float:
        """One number: `configuration["positions", "elbow"]`."""
        part, name = key
        if part not in self.parts:
            raise NameLookupError("part of the configuration", part, list(self.parts))
        if name not in self.dofs:
            raise NameLookupError("dof of the configuration", name, list(self.dofs))
        return float(self.parts[part][self.dofs.index(name)])

    def differences(self, other: Configuration) -> list[str]:
        """What differs from another configuration, a line for each number; the order of coordinates does not count.

        Raises:
            StateError: the other is no configuration.
        """
        if not isinstance(other, Configuration):
            raise StateError(f"expected a Configuration to compare with, got {other!r}")
        lines = []
        for part in PARTS:
            if (part in self.parts) != (part in other.parts):
                lines.append(f"{part}: only in the {'first' if part in self.parts else 'second'}")
        for name in [*self.dofs, *(d for d in other.dofs if d not in self.dofs)]:
            if name not in self.dofs or name not in other.dofs:
                lines.append(f"dof {name!r}: only in the {'first' if name in self.dofs else 'second'}")
                continue
            for part in (p for p in self.parts if p in other.parts):
                a, b = self[part, name], other[part, name]
                if a != b:
                    lines.append(f"dof {name!r}: {part}: {a!r} != {b!r}")
        return lines

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configuration):
            return NotImplemented
        return not self.differences(other)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"dofs": list(self.dofs), **{part: values.tolist() for part, values in self.parts.items()}}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Configuration:
        """From what `to_dict` returned.

        Raises:
            StateError: it is something else.
        """
        if not isinstance(data, dict) or not isinstance(data.get("dofs"), list):
            raise StateError(f"expected what Configuration.to_dict returned, got {data!r}")
        return cls(**data)

    def to_json(self) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Configuration:
        """From what `to_json` returned.

        Raises:
            StateError: it is something else.
        """
        try:
            data = json.loads(text)
        except (TypeError, ValueError) as error:
            raise StateError(f"configuration: not JSON: {error}") from None
        return cls.from_dict(data)

    def __repr__(self) -> str:
        return f"Configuration({len(self.dofs)} dofs: {', '.join(self.parts)})"
