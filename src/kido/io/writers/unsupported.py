"""What a format cannot hold of a model."""

from __future__ import annotations

from kido.errors import KidoError

__all__ = ["UnsupportedFeatures"]


class UnsupportedFeatures:
    """Collects, in words, what a format cannot hold.

    Args:
        format: its name, for messages.
        approximate: whether what changes the mechanism may be approximated.
    """

    def __init__(self, format: str, approximate: bool) -> None:
        self.format = format
        self.approximate = approximate
        self.remarks: list[str] = []
        self._refused: list[str] = []

    def approximated(self, what: str, by: str) -> None:
        """A thing that the format does not have, and what would stand for it."""
        if self.approximate:
            self.remark(f"{what} is written as {by}")
        else:
            self._refused.append(f"{what} (could be {by})")

    def remark(self, text: str) -> None:
        """A property that is left out or changed; each text once."""
        if text not in self.remarks:
            self.remarks.append(text)

    def check(self) -> None:
        """Raises KidoError if something had to be approximated and may not be."""
        if self._refused:
            listed = "".join(f"\n  {text}" for text in self._refused)
            nearest = "approximate=True (--approximate) writes what comes nearest"
            raise KidoError(f"{self.format} cannot hold this model; {nearest}:{listed}")
