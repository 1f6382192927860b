"""What a compiled model has that is left out or taken otherwise, by kinds."""

from __future__ import annotations

from kido.errors import FileFormatError
from kido.io.fields import listed

__all__ = ["LeftOut"]


class LeftOut:
    """Things left out, counted by kind; with `strict` the first is refused.

    Args:
        path: of the file.
        strict: raise a FileFormatError instead.
    """

    def __init__(self, path: str, strict: bool):
        self.path = path
        self.strict = strict
        self._names: dict[str, list[str]] = {}

    def add(self, kind: str, name: str) -> None:
        """Say that something is not as the file has it: what of its kind becomes of it, and its name."""
        if self.strict:
            raise FileFormatError(self.path, None, f"{name}: {kind}")
        self.note(kind, name)

    def note(self, kind: str, name: str) -> None:
        """Say what is better here, which `strict` does not refuse."""
        self._names.setdefault(kind, []).append(name)

    @property
    def kinds(self) -> dict[str, int]:
        """How many there are of each kind."""
        return {kind: len(names) for kind, names in self._names.items()}

    def remarks(self) -> list[str]:
        """A sentence for each kind."""
        return [
            f"{self.path}: {kind}: {len(names)} ({listed(names, 4)})" for kind, names in sorted(self._names.items())
        ]
