"""Aspects: a user's data and functions, attached to a skeleton, body, joint, shape or node.

Any class will do. What is saved of an aspect with a skeleton's state is its attribute `state`, and with a
skeleton's properties its attribute `properties`: dataclasses, say. A dataclass with neither is all properties.
Aspects are copied, cloned, pickled, moved and removed with what carries them. Those derived from `Aspect` also notice
when their state or properties are set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakValueDictionary

from kido.errors import ModelError, NameLookupError

T = TypeVar("T")
_MISSING = object()
_KINDS = {"state": "State", "properties": "Properties"}
_OWNERS: WeakValueDictionary[int, Extension] = WeakValueDictionary()  # by the id of a state or of properties


class Extension:
    """What users extend a skeleton with: an aspect or a node, with a state and with properties.

    Setting either as a whole, or a field of it, calls the hook `state_changed` or `properties_changed`. A hook that
    raises refuses the value: then all is as it was. Numbers that are changed within an array are not noticed; set the
    field again.

    Source: DART report, section 4.4.1.
    """

    State: ClassVar[type | None] = None
    Properties: ClassVar[type | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for kind in _KINDS.values():
            if isinstance(cls.__dict__.get(kind), type):
                _tell_owner(cls.__dict__[kind])

    def _fill(self, state: Any, properties: Any) -> None:
        """Take a state and properties, or the defaults of the inner classes; no hook is called.

        Raises:
            ModelError: one is given though the class has none, or it is of another class.
        """
        for key, value in (("state", state), ("properties", properties)):
            kind = getattr(type(self), _KINDS[key])
            if kind is None:
                if value is not None:
                    raise ModelError(f"{type(self).__name__} has no {key}, got {value!r}")
            else:
                self.__dict__[key] = kind() if value is None else self._checked_part(key, value)

    def _checked_part(self, key: str, value: Any) -> Any:
        kind = getattr(type(self), _KINDS[key])
        if kind is not None and not isinstance(value, kind):
            raise ModelError(f"{type(self).__name__}: {key}: expected {kind.__qualname__}, got {value!r}")
        return value

    @property
    def state(self) -> Any:
        """Part of the skeleton's saved state; of the class's `State`, if it has one."""
        return self._part("state")

    @state.setter
    def state(self, value: Any) -> None:
        self._set_part("state", value)

    @property
    def properties(self) -> Any:
        """Part of the skeleton's saved properties; of the class's `Properties`, if it has one."""
        return self._part("properties")

    @properties.setter
    def properties(self, value: Any) -> None:
        self._set_part("properties", value)

    def _part(self, key: str) -> Any:
        part = self.__dict__.get(key, _MISSING)
        if part is _MISSING:
            raise AttributeError(f"{type(self).__name__} has no {key}")
        _OWNERS[id(part)] = self
        return part

    def _set_part(self, key: str, value: Any) -> None:
        before = self.__dict__.get(key, _MISSING)
        self.__dict__[key] = self._checked_part(key, value)
        try:
            self._part_changed(key)
        except BaseException:
            if before is _MISSING:
                del self.__dict__[key]
            else:
                self.__dict__[key] = before
            raise

    def _part_changed(self, key: str) -> None:
        if key == "state":
            self.state_changed()
            return
        self.properties_changed()
        self.__dict__["_version"] = self.version + 1
        home = self._home()
        if home is not None:
            home.version += 1

    def _home(self) -> Any:
        """The skeleton that it is part of; None if there is none."""

    @property
    def version(self) -> int:
        """How often its properties were set. `Skeleton.version` rises with it."""
        return self.__dict__.get("_version", 0)

    def state_changed(self) -> None:
        """Called when the state, or a field of it, was set. To be overridden."""

    def properties_changed(self) -> None:
        """Called when the properties, or a field of them, were set. To be overridden."""


def _tell_owner(kind: Any) -> None:
    """Have objects of a class of states or properties tell whose they are when a field of theirs is set."""
    plain = kind.__setattr__
    if getattr(plain, "tells_owner", False):
        return

    def __setattr__(self: Any, name: str, value: Any) -> None:
        owner = _OWNERS.get(id(self))
        key = None if owner is None else next((key for key in _KINDS if owner.__dict__.get(key) is self), None)
        before = _MISSING if key is None else getattr(self, name, _MISSING)
        plain(self, name, value)
        if owner is None or key is None:
            return
        try:
            owner._part_changed(key)
        except BaseException:
            if before is _MISSING:
                delattr(self, name)
            else:
                plain(self, name, before)
            raise

    __setattr__.tells_owner = True
    kind.__setattr__ = __setattr__


class Aspect(Extension):
    """Base of aspects that know their carrier; aspects need not derive from it.

    Subclasses may name the types of their state and properties, which then start with their defaults:

        >>> class Temperature(Aspect):
        ...     @dataclass
        ...     class State:
        ...         kelvin: float = 293.15
        ...
        ...     def state_changed(self):
        ...         print("now", self.state.kelvin)
        >>> body.create(Temperature).state.kelvin = 300.0
        now 300.0

    Args:
        state, properties: instead of the defaults.
    """

    def __init__(self, state: Any = None, properties: Any = None):
        self._carrier: Carrier | None = None
        self._fill(state, properties)

    def _home(self) -> Any:
        carrier = getattr(self, "_carrier", None)
        return None if carrier is None else carrier._home()

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


class Carrier:
    """What aspects attach to; at most one of each class."""

    if TYPE_CHECKING:
        _aspects: dict[type, Any]

    def _home(self) -> Any:
        """The skeleton that it is part of; None if there is none, as for worlds."""
        home = getattr(self, "skeleton", None)
        return home if isinstance(home, Carrier) else None

    def _carried(self) -> dict[type, Any]:
        return self.__dict__.setdefault("_aspects", {})

    def _check_class(self, aspect_type: Any) -> None:
        if not isinstance(aspect_type, type):
            raise ModelError(f"{self!r}: aspect: expected a class, got {aspect_type!r}")

    @property
    def aspects(self) -> list[Any]:
        """Its aspects, in the order they were attached."""
        return list(self._carried().values())

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
