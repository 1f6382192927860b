"""Recording of simulations to HDF5, reading back, exact resumption and playback."""

from kido.recording.codec import RecordingError
from kido.recording.file import FrameContacts
from kido.recording.recorder import Recorder
from kido.recording.recording import Energies, Event, Motion, Recording, SkeletonRecording

__all__ = [
    "Energies",
    "Event",
    "FrameContacts",
    "Motion",
    "Recorder",
    "Recording",
    "RecordingError",
    "SkeletonRecording",
]
