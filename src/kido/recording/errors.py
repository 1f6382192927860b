"""What can go wrong with a recording."""

from kido.errors import KidoError


class RecordingError(KidoError):
    """A recording cannot be written or read, or does not hold what was asked for."""
