"""Aspects: a user's data and functions, attached to a skeleton, body, joint, shape or node.

Any class will do. What is saved of an aspect with a skeleton's state is its attribute `state`, and with a
skeleton's properties its attribute `properties`: dataclasses, say. A dataclass with neither is all properties.
Aspects are copied, cloned, pickled, moved and removed with what carries them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from kido.attributes import FixedAttributes
from kido.errors import ModelError, NameLookupError

T = TypeVar("T")


class Aspect(FixedAttributes):
    """Base of aspects that know their carrier; aspects need not derive from it.

    Subclasses may name the types of their state and properties, which then start with their defaults:

        >>> class Temperature(Aspect):
        ...     @dataclass
        ...     class State:
        ...         kelvin: float = 293.15
        >>> body.create(Temperature).state.kelvin
        293.15

    Args:
        state, properties: instead of the defaults.
    """

    State: ClassVar[type | None] = None
    Properties: ClassVar[type | None] = None
    state: Any
    properties: Any

    def __init__(self, state: Any = None, properties: Any = None):
        self._carrier: Carrier | None = None
        fill_parts(self, state, properties)

    def _check_carrier(self, carrier: Carrier) -> None:
        """Raise a ModelError if it cannot be attached to a carrier; it always can unless overridden."""

    @property
    def carrier(self) -> Carrier:
        """What it is attached to.

        Raises:
            ModelError: nothing.
        """
        if self._carrier is None:
            raise ModelError(f"aspect {type(self).__name__} is attached to nothing")
        return self._carrier


def fill_parts(owner: Any, state: Any, properties: Any) -> None:
    """Set `state` and `properties` of an aspect or node: those given, or the defaults of its inner classes.

    Raises:
        ModelError: one is given though the class has none, or it is of another class.
    """
    for key, value in (("state", state), ("properties", properties)):
        kind = getattr(type(owner), key.capitalize(), None)
        if kind is None:
            if value is not None:
                raise ModelError(f"{type(owner).__name__} has no {key}, got {value!r}")
        elif value is not None and not isinstance(value, kind):
            raise ModelError(f"{type(owner).__name__}: {key}: expected {kind.__qualname__}, got {value!r}")
        else:
            setattr(owner, key, kind() if value is None else value)


class Carrier(FixedAttributes):
    """What aspects attach to; at most one of each class."""

    if TYPE_CHECKING:
        _aspects: dict[type, Any]

    def _carried(self) -> dict[type, Any]:
        return self.__dict__.setdefault("_aspects", {})

    def _check_class(self, aspect_type: Any) -> None:
        if not isinstance(aspect_type, type):
            raise ModelError(f"{self!r}: aspect: expected a class, got {aspect_type!r}")

    @property
    def aspects(self) -> tuple[Any, ...]:
        """Its aspects, in the order they were attached."""
        return tuple(self._carried().values())

    def create(self, aspect_type: type[T], *args: Any, **options: Any) -> T:
        """Make an aspect of a class and attach it.

        Args:
            aspect_type: the class.
            args, options: of its constructor.

        Raises:
            ModelError: there is one of that class already.
        """
        self._check_class(aspect_type)
        if aspect_type in self._carried():
            raise ModelError(f"{self!r} has an aspect {aspect_type.__name__} already; erase() it, or set() another")
        return self.set(aspect_type(*args, **options))

    def set(self, aspect: T) -> T:
        """Attach an aspect; one of the same class is replaced.

        Raises:
            ModelError: it is attached to something else, or is a class.
        """
        if isinstance(aspect, type) or aspect is None:
            raise ModelError(f"{self!r}: aspect: expected an object, got {aspect!r}; create() makes one of a class")
        if isinstance(aspect, Aspect):
            if aspect._carrier is not None and aspect._carrier is not self:
                raise ModelError(f"aspect {type(aspect).__name__} is attached to {aspect._carrier!r}; attach a copy")
            aspect._check_carrier(self)
        if type(aspect) in self._carried() and self._carried()[type(aspect)] is not aspect:
            self.erase(type(aspect))
        self._carried()[type(aspect)] = aspect
        if isinstance(aspect, Aspect):
            aspect._carrier = self
        return aspect

    def get(self, aspect_type: type[T]) -> T | None:
        """The aspect of a class, or None."""
        self._check_class(aspect_type)
        return self._carried().get(aspect_type)

    def has(self, aspect_type: type) -> bool:
        """Whether there is an aspect of a class."""
        self._check_class(aspect_type)
        return aspect_type in self._carried()

    def erase(self, aspect_type: type[T]) -> T:
        """Take the aspect of a class off, and return it.

        Raises:
            NameLookupError: there is none.
        """
        self._check_class(aspect_type)
        if aspect_type not in self._carried():
            names = [kind.__name__ for kind in self._carried()]
            raise NameLookupError(f"aspect of {self!r}", aspect_type.__name__, names)
        aspect = self._carried().pop(aspect_type)
        if issubclass(aspect_type, Aspect):
            aspect._carrier = None
        return aspect
