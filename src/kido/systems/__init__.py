"""Systems: devices, environment and control as models that are connected by signals."""

from kido.systems.assembly import Assembly, Connection
from kido.systems.clock import Rate, as_rate
from kido.systems.declarations import Crossing, Declared, Input, Noise, Output, Parameter, State
from kido.systems.model import Model, Port, PythonModel
from kido.systems.schema import MODEL
from kido.systems.system import System
from kido.systems.tracing import feedthrough
from kido.systems.units import Unit, as_unit

__all__ = [
    "MODEL",
    "Assembly",
    "Connection",
    "Crossing",
    "Declared",
    "Input",
    "Model",
    "Noise",
    "Output",
    "Parameter",
    "Port",
    "PythonModel",
    "Rate",
    "State",
    "System",
    "Unit",
    "as_rate",
    "as_unit",
    "feedthrough",
]
