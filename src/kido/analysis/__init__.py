"""Analysis: studies of many samples, workspaces, singularities, sizes of actuators.

study = Study({"mass": (0.5, 2.0), "friction": (0.2, 0.9)}, run)
result = study.monte_carlo(100_000, file="slides.h5", workers=2)
"""

from kido.analysis.factors import Factors
from kido.analysis.results import StudyResult
from kido.analysis.sensitivity import Sensitivity
from kido.analysis.singularities import SingularityMap, singularities
from kido.analysis.sizing import ActuatorSizes, best_gear_ratio, size_actuators
from kido.analysis.study import Study
from kido.analysis.workspace import ReachMap, dexterity, reach_map

__all__ = [
    "ActuatorSizes",
    "Factors",
    "ReachMap",
    "Sensitivity",
    "SingularityMap",
    "Study",
    "StudyResult",
    "best_gear_ratio",
    "dexterity",
    "reach_map",
    "singularities",
    "size_actuators",
]
