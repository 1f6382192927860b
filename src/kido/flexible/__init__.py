"""Flexible bodies: modes, the bodies that have them, and dynamics of trees of rigid and flexible bodies."""

from kido.flexible.beams import Material, Section, beam_modes
from kido.flexible.body import FlexibleBody, flexible_bodies
from kido.flexible.files import read_modes, write_modes
from kido.flexible.joint import ModalJoint, NodeJoint
from kido.flexible.modes import ModeNode, Modes
from kido.flexible.surface import ModeSurface
from kido.flexible.tree import FlexibleMotion, FlexibleTree
from kido.flexible.vibrations import Vibrations, vibrations

__all__ = [
    "FlexibleBody", "FlexibleMotion", "FlexibleTree", "Material", "ModalJoint", "ModeNode", "ModeSurface", "Modes",
    "NodeJoint", "Section", "Vibrations", "beam_modes", "flexible_bodies", "read_modes", "vibrations", "write_modes",
]  # fmt: skip
