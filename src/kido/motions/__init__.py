"""Motions: positions over time, between frames, smoothed, blended, and on other skeletons; places of markers; the
forces, momenta and energies that a motion takes."""

from kido.motions.analysis import Analysis, Series, analyze
from kido.motions.markers import MarkerMotion
from kido.motions.motion import Derivatives, Motion
from kido.motions.touching import ContactPhase

__all__ = ["Analysis", "ContactPhase", "Derivatives", "MarkerMotion", "Motion", "Series", "analyze"]
