"""Motions without collisions: spheres over any robot, states checked eight at a time, planners, time laws."""

from kido.planning.checker import CollisionChecker, Contact
from kido.planning.constrained import ConstrainedRRTConnect
from kido.planning.curves import SpaceSpline
from kido.planning.environment import Environment
from kido.planning.errors import GoalError, NoPathError, PlanningError, StartError
from kido.planning.goals import goal_states
from kido.planning.graph_planners import PRM, AITStar
from kido.planning.library_laws import RuckigLaw, ruckig_law, toppra_law
from kido.planning.ompl_planner import OmplPlanner
from kido.planning.path import Path
from kido.planning.planner import RRTConnect
from kido.planning.shortening import shortened, smooth_curve
from kido.planning.time_law import TimeLaw, time_optimal

__all__ = [
    "PRM",
    "AITStar",
    "CollisionChecker",
    "ConstrainedRRTConnect",
    "Contact",
    "Environment",
    "GoalError",
    "NoPathError",
    "OmplPlanner",
    "Path",
    "PlanningError",
    "RRTConnect",
    "RuckigLaw",
    "SpaceSpline",
    "StartError",
    "TimeLaw",
    "goal_states",
    "ruckig_law",
    "shortened",
    "smooth_curve",
    "time_optimal",
    "toppra_law",
]
