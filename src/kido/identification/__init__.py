"""Identification: parameters of a robot from how it moved, and how well they are known.

parameters = DynamicParameters(robot, friction=True)
found = exciting_motion(parameters)
q, u, udot = found.motion.sampled(100.0)
result = identify(parameters, q, u, udot, forces)
print(result)
parameters.apply(result.physical().values)
"""

from kido.identification.base import BaseParameters, base_parameters
from kido.identification.consistent import (
    PhysicalParameters,
    from_log_cholesky,
    log_cholesky,
    pseudo_inertia,
)
from kido.identification.contact import RolloutFit, fit_contact, fit_rollouts
from kido.identification.estimate import Estimate, Identification, identify
from kido.identification.excitation import Excitation, FourierMotion, exciting_motion
from kido.identification.parameters import DynamicParameters

__all__ = [
    "BaseParameters",
    "DynamicParameters",
    "Estimate",
    "Excitation",
    "FourierMotion",
    "Identification",
    "PhysicalParameters",
    "RolloutFit",
    "base_parameters",
    "exciting_motion",
    "fit_contact",
    "fit_rollouts",
    "from_log_cholesky",
    "identify",
    "log_cholesky",
    "pseudo_inertia",
]
