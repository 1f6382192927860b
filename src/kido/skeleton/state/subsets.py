"""Some of a skeleton's coordinates, as a user names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kido.errors import NameLookupError, StateError
from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton

Dof: TypeAlias = "int | str | slice | range | DegreeOfFreedom"
Dofs: TypeAlias = "Dof | Sequence[Dof] | NDArray[np.integer]"


def indices_of(skeleton: Skeleton, dofs: Dofs) -> NDArray[np.int64]:
    """Indices of coordinates in a skeleton's arrays, in the order given.

    Args:
        dofs: an index (negative: from the end), a name, a slice or range of indices, a `DegreeOfFreedom`, or a
            sequence of these.

    Raises:
        NameLookupError: there is no such coordinate, or it is another skeleton's.
        StateError: not a coordinate at all.
    """
    if isinstance(dofs, list | tuple | np.ndarray):
        items = dofs
    else:
        items = list(dofs) if isinstance(dofs, Iterable) and not isinstance(dofs, str | range) else [dofs]
    own = skeleton.dofs
    number = len(own)
    names: dict[str, int] | None = None
    found: list[int] = []
    for item in items:
        if isinstance(item, slice):
            found.extend(range(number)[_checked(skeleton, item)])
        elif isinstance(item, range):
            found.extend(_index(skeleton, k, number) for k in item)
        elif isinstance(item, str):
            if names is None:
                names = {dof.name: k for k, dof in enumerate(own)}
            if item not in names:
                raise _unknown(skeleton, item)
            found.append(names[item])
        elif isinstance(item, DegreeOfFreedom):
            if item not in own:
                raise _unknown(skeleton, item.name)
            found.append(own.index(item))
        else:
            found.append(_index(skeleton, item, number))
    return np.array(found, np.int64)


def _index(skeleton: Skeleton, item: object, number: int) -> int:
    if isinstance(item, bool | np.bool_) or not isinstance(item, int | np.integer):
        raise StateError(
            f"skeleton {skeleton.name!r}: expected a dof (an index, a name, a slice, a range or a DegreeOfFreedom), "
            f"got {item!r}"
        )
    if not -number <= item < number:
        raise _unknown(skeleton, int(item))
    return int(item) % number


def _checked(skeleton: Skeleton, part: slice) -> slice:
    try:
        part.indices(0)
    except (TypeError, ValueError):
        raise StateError(f"skeleton {skeleton.name!r}: expected a slice of dof indices, got {part!r}") from None
    return part


def _unknown(skeleton: Skeleton, key: object) -> NameLookupError:
    return NameLookupError(f"dof in skeleton {skeleton.name!r}", key, [d.name for d in skeleton.dofs])
