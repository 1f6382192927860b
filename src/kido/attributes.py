"""What attributes may be set and what arguments given: all else is refused, with the names that are like it.

`FixedAttributes` is the base of classes whose objects take no attributes that they do not have; `dataclass` makes
dataclasses that refuse alike; `named_arguments` is for functions.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import get_annotations, getattr_static
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from kido.errors import ArgumentError, ReadOnlyError, UnknownAttributeError

F = TypeVar("F", bound=Callable[..., Any])


def names_like(name: str, known: Iterable[str]) -> list[str]:
    """Names that are spelt nearly as one, the nearest first, and then those that share words with it."""
    known = sorted(set(known))
    words = set(name.split("_"))
    alike = [k for k in known if len(words & set(k.split("_"))) >= min(2, len(words))]
    return list(dict.fromkeys([*get_close_matches(name, known, 4), *alike]))[:8]


# Attributes ---------------------------------------------------------------------------------------------------


class FixedAttributes:
    """Base of classes whose instances take no new public attributes.

    What may be set are properties with a setter, and what the bodies of the classes annotate (not as `ClassVar`); all
    else only by KIDO itself. Names that begin with an underscore are free. Classes derived outside KIDO are free too:
    their instances take any attribute.
    """

    _settable: ClassVar[frozenset[str]] = frozenset()  # attributes of instances, as annotated
    _admitted: ClassVar[set[str]] = set()  # those that were found to be settable, and private ones
    _inner: ClassVar[set[str]] = set()  # those that were found to be set by KIDO alone

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if _is_own(cls.__module__):
            kinds = {name: str(kind) for base in cls.__mro__ for name, kind in get_annotations(base).items()}
            cls._settable = frozenset(name for name, kind in kinds.items() if not kind.startswith("ClassVar"))
            cls._admitted, cls._inner = set(cls._settable), set()
            if "__init__" in vars(cls):
                cls.__init__ = named_arguments(cls.__init__)
        else:
            for name in ("__setattr__", "__delattr__"):
                if getattr(cls, name) is getattr(FixedAttributes, name):
                    setattr(cls, name, getattr(object, name))

    if not TYPE_CHECKING:  # to type checkers, a class that has these takes any attribute

        def __setattr__(self, name, value, _set=object.__setattr__):
            if name not in self._admitted:
                kind = type(self)
                if name in kind._inner and _is_own(sys._getframe(1).f_globals.get("__name__")):
                    pass
                elif name[:1] == "_" or hasattr(type(getattr_static(kind, name, None)), "__set__"):
                    kind._admitted.add(name)
                else:
                    refuse(self, name, value, 2)
                    kind._inner.add(name)
                    return
            try:
                _set(self, name, value)
            except AttributeError:
                refuse(self, name, value, 2)
                raise

        def __delattr__(self, name):
            if name[:1] != "_" and not _is_own(sys._getframe(1).f_globals.get("__name__")):
                raise ReadOnlyError(f"{_words_for(self)}: attribute {name!r} cannot be deleted")
            object.__delattr__(self, name)


def set_attribute(thing: Any, name: str, value: Any) -> None:
    """What `FixedAttributes.__setattr__` does, for a `__setattr__` that calls this."""
    if name[:1] == "_" or name in thing._settable or not _is_own(type(thing).__module__):
        object.__setattr__(thing, name, value)
    else:
        refuse(thing, name, value, 3)


def _is_own(module: str | None) -> bool:
    """Whether a module is one of KIDO's."""
    return module is not None and (module == "kido" or module.startswith("kido."))


def refuse(thing: Any, name: str, value: Any, depth: int = 1) -> None:
    """Raise the error that says why an attribute cannot be set; set it where KIDO itself asks for that.

    Args:
        depth: number of frames from here to the one that sets it.

    Raises:
        ReadOnlyError: it is a method, a property without a setter, or something that only KIDO sets.
        UnknownAttributeError: there is none.
    """
    kind = type(thing)
    static = getattr_static(kind, name, None)
    if not hasattr(type(static), "__set__") and _is_own(sys._getframe(depth).f_globals.get("__name__")):
        object.__setattr__(thing, name, value)
        return
    what = _words_for(thing)
    if isinstance(static, property) and static.fset is not None:
        return  # the setter raised an error of its own
    if callable(getattr(kind, name, None)):
        raise ReadOnlyError(f"{what}: {name} is a method, and cannot be set{_verbs_for(kind, name)}")
    if static is not None or name in getattr(thing, "__dict__", ()):
        raise ReadOnlyError(f"{what}: {name} cannot be set{_verbs_for(kind, name)}")
    known = {n for n in dir(kind) if isinstance(p := getattr_static(kind, n), property) and p.fset}
    known |= getattr(kind, "_settable", set()) | {f.name for f in fields_of(kind)}
    own = getattr(thing, "name", None) if what.endswith("'") else None
    raise UnknownAttributeError(kind.__name__, own, name, names_like(name, (n for n in known if n[:1] != "_")))


def fields_of(kind: type) -> tuple[dataclasses.Field[Any], ...]:
    """Fields of a dataclass; none of another class."""
    return dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()


def _words_for(thing: Any) -> str:
    """An object in a message: its class, and its name if it has one."""
    try:
        name = getattr(thing, "name", None)
    except Exception:  # it is not complete yet
        name = None
    return f"{type(thing).__name__} {name!r}" if isinstance(name, str) else type(thing).__name__


def _verbs_for(kind: type, name: str) -> str:
    """Methods that change what a name is of, as the end of a sentence."""
    stem = re.sub(r"ies$", "y", name).removesuffix("s")
    pattern = re.compile(rf"(set|add|remove|change|create)_({name}|{stem})(_type)?$")
    verbs = [n for n in dir(kind) if pattern.match(n)]
    return f"; see {', '.join(f'{verb}()' for verb in verbs)}" if verbs else ""


# Arguments ----------------------------------------------------------------------------------------------------


def named_arguments(function: F) -> F:
    """Have calls with arguments that a function does not take raise an `ArgumentError`, which lists what it takes."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # from within
            refusal = _refusal_of(function, args, options)
            if refusal is None:
                raise
        raise refusal

    return call  # type: ignore[return-value]


def check_options(call: Any, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse options by names that are not known.

    Args:
        call: what takes them: its name, or an object that is being made.
        given, known: names.

    Raises:
        ArgumentError: one is not known.
    """
    unknown = [key for key in given if key not in known]
    if unknown:
        names = [*known] if isinstance(call, str) else [*_names_of_constructor(type(call)), *known]
        name = call if isinstance(call, str) else type(call).__name__
        raise ArgumentError(name, f"unexpected argument {unknown[0]!r}", names, names_like(unknown[0], names))


def _names_of(function: Any) -> list[str]:
    """Names of the arguments that can be given by name; "**" among them if any can."""
    parameters = inspect.signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name[0] != "_"]
    return names + ["**"] * any(p.kind is p.VAR_KEYWORD for p in parameters)


def _refusal_of(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> ArgumentError | None:
    """The error for arguments that do not fit a function's signature."""
    parameters = list(inspect.signature(function).parameters.values())
    call, names = function.__qualname__, _names_of(function)
    if parameters and parameters[0].name in ("self", "cls"):
        parameters, names = parameters[1:], names[1:]
        if function.__name__ == "__init__":
            call, names = type(args[0]).__name__, _names_of_constructor(type(args[0]))
        args = args[1:]
    by_position = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    given = {*by_position[: len(args)], *options}
    reasons = [
        *(f"unexpected argument {key!r}" for key in options if key not in names and "**" not in names),
        *(f"argument {key!r} is given twice" for key in by_position[: len(args)] if key in options),
        *(f"argument {key!r} is missing" for key in needed if key not in given),
        *[f"takes {len(by_position)} arguments by position, got {len(args)}"] * (len(args) > len(by_position)),
    ]
    if not reasons:
        return None
    wrong = [key for key in options if key not in names]
    return ArgumentError(
        call, reasons[0], [n for n in names if n != "**"], names_like(wrong[0], names) if wrong else ()
    )


def _names_of_constructor(kind: type) -> list[str]:
    """Names of what a class takes, and what the classes that it hands arguments on to take."""
    names: list[str] = []
    for base in kind.__mro__[:-1]:
        if "__init__" in vars(base):
            own = _names_of(inspect.unwrap(vars(base)["__init__"]))
            names += [name for name in own[1:] if name not in (*names, "**")]
            if "**" not in own:
                break
    return names


# Dataclasses --------------------------------------------------------------------------------------------------

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """`dataclasses.dataclass`: wrong arguments, and assignments to a frozen one, are `KidoError`s."""

        def decorate(cls):
            made = dataclasses.dataclass(**options)(cls)
            if "__init__" in vars(made):
                made.__init__ = named_arguments(made.__init__)
            if options.get("frozen"):
                made.__setattr__ = _refuse_field
                made.__delattr__ = FixedAttributes.__delattr__
            return made

        return decorate if cls is None else decorate(cls)


def _refuse_field(self: Any, name: str, value: Any) -> None:
    """`__setattr__` of frozen dataclasses; those derived from them that are none have attributes of their own."""
    if name in [f.name for f in fields_of(type(self))]:
        raise ReadOnlyError(
            f"{_words_for(self)}: {name} cannot be set, a {type(self).__name__} does not change; make another, "
            f"dataclasses.replace(..., {name}=...)"
        )
    if _is_own(type(self).__module__):
        refuse(self, name, value, 2)
    else:
        object.__setattr__(self, name, value)
