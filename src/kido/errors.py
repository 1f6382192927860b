"""Exceptions raised for users' mistakes. All of them are `KidoError`.

A message names the thing, the value it had, what was expected and, where there are some, the valid choices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import FrozenInstanceError

__all__ = [
    "ArgumentError",
    "ConcurrencyError",
    "FileFormatError",
    "KidoError",
    "KidoWarning",
    "MeshNotFoundError",
    "MissingExtraError",
    "ModelError",
    "NameLookupError",
    "ReadOnlyError",
    "ShapeError",
    "StateError",
    "UnknownAttributeError",
]


MAX_TEXT = 2000  # characters of a message; a name in a file may have a million


def shortened(text: str, most: int = MAX_TEXT) -> str:
    """A text of at most `most` characters: of a longer one the beginning and the end."""
    if len(text) <= most:
        return text
    gap = f" ... ({len(text) - most} characters) ... "
    end = most // 4
    return text[: most - end - len(gap)] + gap + text[-end:]


class KidoError(Exception):
    """Base class of all errors that KIDO raises for a user's mistake. Its text has at most 2,000 characters."""

    def __str__(self) -> str:
        return shortened(super().__str__())


class KidoWarning(UserWarning):
    """What may be done and is most likely a mistake, such as positions beyond limits; once for each place in a program.

    `warnings.simplefilter("ignore", kido.KidoWarning)` silences them, "error" makes errors of them.
    """


class ModelError(KidoError):
    """A model that cannot be: a bad property of a body or joint, duplicate names, a cycle, a massless moving body."""


class ShapeError(KidoError):
    """A shape with impossible dimensions or a mesh that cannot be used."""


class StateError(KidoError):
    """Positions, velocities, forces or a saved state of the wrong size or with values that are not finite."""


class ConcurrencyError(KidoError):
    """An object that serves one thread at a time, used by a second one meanwhile; nothing was changed."""


class FileFormatError(KidoError):
    """A file that does not hold what it should.

    Attributes: `path`, `line` (from 1, None if the whole file is meant) and `reason`.
    """

    def __init__(self, path: object, line: int | None, reason: str) -> None:
        self.path = str(path)
        self.line = line
        self.reason = reason
        super().__init__(f"{self.path}:{line}: {reason}" if line else f"{self.path}: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.path, self.line, self.reason))


class MeshNotFoundError(KidoError):
    """A mesh or other resource that a model names but that is not there, or that may not be read.

    Attributes: `uri` as the model writes it, `tried` (every path looked at), `reason`, and where the model names it:
    `path` and `line` (None if not known).
    """

    def __init__(
        self,
        uri: str,
        tried: Iterable[object],
        reason: str | None = None,
        path: object | None = None,
        line: int | None = None,
    ) -> None:
        self.uri = uri
        self.tried = [str(item) for item in tried]
        self.reason = reason or "no such file"
        self.path = None if path is None else str(path)
        self.line = line
        where = "" if self.path is None else f"{self.path}:{line}: " if line else f"{self.path}: "
        lines = "".join(f"\n  {item}" for item in self.tried)
        paths = f"; tried:{lines}" if self.tried else ""
        super().__init__(f"{where}mesh '{uri}' not found: {self.reason}{paths}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.uri, self.tried, self.reason, self.path, self.line))


class NameLookupError(KidoError, LookupError):
    """No thing of this name or index. The message lists the valid names."""

    def __init__(self, kind: str, name: object, choices: Sequence[str] = ()) -> None:
        self.kind = kind
        self.name = name
        self.choices = list(choices)
        known = ", ".join(self.choices) if self.choices else "there are none"
        super().__init__(f"no {kind} {name!r}; expected one of: {known}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.kind, self.name, self.choices))


class ArgumentError(KidoError, TypeError):
    """A call with arguments that it does not take, or without one that it needs. The message lists their names.

    Attributes: `call`, `reason`, `names` of the arguments, and `choices`, those that are like the one given.
    """

    def __init__(self, call: str, reason: str, names: Iterable[str] = (), choices: Iterable[str] = ()) -> None:
        self.call = call
        self.reason = reason
        self.names = list(names)
        self.choices = list(choices)
        hint = did_you_mean(self.choices)
        takes = f"; it takes {', '.join(self.names)}" if self.names else "; it takes none"
        super().__init__(f"{call}(): {reason}{hint}{takes}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.call, self.reason, self.names, self.choices))


class UnknownAttributeError(KidoError, AttributeError):
    """An attribute was set that an object does not have (derive a class of your own to have more), or a name of KIDO
    was asked for that there is not.

    Attributes: `attribute`, and `choices`, those that are like it.
    """

    def __init__(
        self, kind: str, owner: str | None, attribute: str, choices: Iterable[str], aim: str = " to set"
    ) -> None:
        self.kind = kind
        self.aim = aim
        self.owner = owner
        self.attribute = attribute
        self.choices = list(choices)
        thing = kind if owner is None else f"{kind} {owner!r}"
        super().__init__(f"{thing} has no attribute {attribute!r}{aim}{did_you_mean(self.choices)}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.kind, self.owner, self.attribute, self.choices, self.aim))


class ReadOnlyError(KidoError, FrozenInstanceError, ValueError):
    """What cannot be set was: a method, a result, a field of a value that does not change, an entry of an array.

    The message says what to do instead.
    """


def did_you_mean(choices: Sequence[str]) -> str:
    """Names that may have been meant, as the end of a sentence."""
    if not choices:
        return ""
    return f"; did you mean {choices[0]}?" if len(choices) == 1 else f"; did you mean one of: {', '.join(choices)}?"


class MissingExtraError(KidoError, ImportError):
    """A feature whose optional packages are not installed. The message names the command that installs them."""

    def __init__(self, feature: str, extra: str) -> None:
        self.feature = feature
        self.extra = extra
        super().__init__(f"{feature} needs optional packages; install them with: pip install 'kido[{extra}]'")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.feature, self.extra))
