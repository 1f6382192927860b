"""What models and assemblies share: a name, and a place in an assembly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kido.attributes import FixedAttributes
from kido.errors import ModelError

if TYPE_CHECKING:
    from kido.systems.assembly import Assembly


class Part(FixedAttributes):
    """A model or an assembly.

    Args:
        name: in the assembly that it is in.

    Attributes:
        parent: that assembly; None: it is in none.

    Raises:
        ModelError: the name is no identifier.
    """

    def __init__(self, name: str):
        self._name = checked_part(name)
        self.parent: Assembly | None = None

    @property
    def name(self) -> str:
        """In the assembly that it is in."""
        return self._name

    @property
    def path(self) -> str:
        """From the system down; its name if it is in none."""
        above = self.parent.path if self.parent is not None else ""
        return f"{above}.{self._name}" if above else self._name

    def root_system(self) -> Any:
        """The system that it is in, however deep; None: it is in none."""
        return None if self.parent is None else self.parent.root_system()


def checked_part(name: Any) -> str:
    """A name that can be part of a path.

    Raises:
        ModelError: it is no identifier.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ModelError(f"name {name!r}: expected letters, digits and underscores, so that it can be part of a path")
    return name
