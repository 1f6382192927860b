"""Recording of simulations to HDF5, reading back, exact resumption and playback."""

from kido.recording.errors import RecordingError

__all__ = ["RecordingError"]
