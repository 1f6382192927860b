"""Flexible bodies: modes, the bodies that have them, and dynamics of trees of rigid and flexible bodies."""

from kido.flexible.abaqus import read_abaqus
from kido.flexible.beams import Material, Section, beam_modes
from kido.flexible.body import FlexibleBody, flexible_bodies
from kido.flexible.files import read_modes, write_modes
from kido.flexible.hinges import ElasticHinge, beam_hinge, elastic_hinge
from kido.flexible.joint import ModalJoint, NodeJoint
from kido.flexible.links import make_flexible, make_flexible_by_modes, make_links_flexible
from kido.flexible.modes import ModeNode, Modes
from kido.flexible.nastran import read_nastran, read_nastran_vectors
from kido.flexible.plates import plate
from kido.flexible.reduction import modes_of_vectors, reduced_modes
from kido.flexible.sid import read_sid
from kido.flexible.solids import solid
from kido.flexible.structure import Elements, Structure
from kido.flexible.surface import ModeSurface
from kido.flexible.tree import FlexibleMotion, FlexibleTree
from kido.flexible.vibrations import Vibrations, vibrations

__all__ = [
    "ElasticHinge", "Elements", "FlexibleBody", "FlexibleMotion", "FlexibleTree", "Material", "ModalJoint",
    "ModeNode", "ModeSurface", "Modes", "NodeJoint", "Section", "Structure", "Vibrations", "beam_hinge", "beam_modes",
    "elastic_hinge", "flexible_bodies", "make_flexible", "make_flexible_by_modes", "make_links_flexible",
    "modes_of_vectors", "plate", "read_abaqus", "read_modes", "read_nastran", "read_nastran_vectors", "read_sid",
    "reduced_modes", "solid", "vibrations", "write_modes",
]  # fmt: skip
