"""Objects that refuse attributes which they do not have, so that a misspelt property is not silently taken.

The check costs 0.2 microseconds. Skeletons and worlds are without it: setting positions takes as long.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from inspect import get_annotations
from typing import Any, ClassVar

from kido.errors import KidoError


class UnknownAttributeError(KidoError, AttributeError):
    """An attribute was set that an object does not have. Derive a class of your own to have more.

    Attributes: `attribute`, and `choices`, those that are like it.
    """

    def __init__(self, kind: str, owner: str | None, attribute: str, choices: Iterable[str]) -> None:
        self.kind = kind
        self.owner = owner
        self.attribute = attribute
        self.choices = list(choices)
        thing = kind if owner is None else f"{kind} {owner!r}"
        hint = f"; did you mean one of: {', '.join(self.choices)}?" if self.choices else ""
        super().__init__(f"{thing} has no attribute {attribute!r} to set{hint}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.kind, self.owner, self.attribute, self.choices))


class FixedAttributes:
    """Base of classes whose instances take no new public attributes.

    What may be set are attributes of the class (properties, methods' names, values) and what its body annotates. Names
    that begin with an underscore are free. Classes derived outside KIDO are free too: their instances take any
    attribute and pay nothing for the check.
    """

    _settable: ClassVar[frozenset[str]] = frozenset()
    _has_fixed_attributes: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        annotated = {name for base in cls.__mro__ for name in get_annotations(base)}
        cls._settable = frozenset(name for name in {*dir(cls), *annotated} if not name.startswith("_"))
        cls._has_fixed_attributes = cls.__module__.partition(".")[0] == "kido"
        if not cls._has_fixed_attributes and cls.__setattr__ is FixedAttributes.__setattr__:
            type.__setattr__(cls, "__setattr__", object.__setattr__)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._settable or name[0] == "_" or not self._has_fixed_attributes or hasattr(type(self), name):
            object.__setattr__(self, name, value)
            return
        words = set(name.split("_"))
        known = sorted(self._settable)
        alike = [k for k in known if len(words & set(k.split("_"))) >= min(2, len(words))]
        close = sorted({*get_close_matches(name, known, 4), *alike})[:8]
        raise UnknownAttributeError(type(self).__name__, getattr(self, "name", None), name, close)
