"""Systems: devices, environment and control as models that are connected by signals."""

from kido.systems.assembly import Assembly, Connection
from kido.systems.checkpoint import Checkpoint
from kido.systems.clock import Rate, as_rate
from kido.systems.declarations import Crossing, Declared, Input, Noise, Output, Parameter, State
from kido.systems.dispersion import Dispersion
from kido.systems.files import load_assembly
from kido.systems.fmu_export import export_fmu
from kido.systems.fmus import load_fmu
from kido.systems.inspection import Cost, Entry
from kido.systems.log import Log, LogData, read_log
from kido.systems.model import Model, Port, PythonModel
from kido.systems.part import Part
from kido.systems.schema import MODEL
from kido.systems.sources import Constant
from kido.systems.system import System
from kido.systems.tracing import feedthrough
from kido.systems.units import Unit, as_unit
from kido.systems.world_ports import BodyPort, JointPort, MassPort, WorldPort

__all__ = [
    "MODEL",
    "Assembly",
    "BodyPort",
    "Checkpoint",
    "Connection",
    "Constant",
    "Cost",
    "Crossing",
    "Declared",
    "Dispersion",
    "Entry",
    "Input",
    "JointPort",
    "Log",
    "LogData",
    "MassPort",
    "Model",
    "Noise",
    "Output",
    "Parameter",
    "Part",
    "Port",
    "PythonModel",
    "Rate",
    "State",
    "System",
    "Unit",
    "WorldPort",
    "as_rate",
    "as_unit",
    "export_fmu",
    "feedthrough",
    "load_assembly",
    "load_fmu",
    "read_log",
]
