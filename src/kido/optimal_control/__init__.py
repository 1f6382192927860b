"""Optimal control: motions of least cost under dynamics, limits and constraints, certified.

problem = ControlProblem(SkeletonDynamics(arm, 0.01), start, 100, QuadraticCost(R=1e-3), PointCost(arm, "hand", goal))
solution = ShootingSolver().solve(problem)
states, controls = problem.split(solution.x)
"""

from kido.optimal_control.contacts import ContactPhase
from kido.optimal_control.cost import Cost, PointCost, Quadratic, QuadraticCost, ResidualCost
from kido.optimal_control.dynamics import Dynamics, FunctionDynamics, LinearDynamics
from kido.optimal_control.friction import CenterOfPressure, FrictionCone, Penalty
from kido.optimal_control.problem import ControlProblem
from kido.optimal_control.skeleton_dynamics import SkeletonDynamics
from kido.optimal_control.solver import DdpSolver, ShootingSolver
from kido.optimal_control.world_dynamics import WorldDynamics

__all__ = [
    "CenterOfPressure",
    "ContactPhase",
    "ControlProblem",
    "Cost",
    "DdpSolver",
    "Dynamics",
    "FrictionCone",
    "FunctionDynamics",
    "LinearDynamics",
    "Penalty",
    "PointCost",
    "Quadratic",
    "QuadraticCost",
    "ResidualCost",
    "ShootingSolver",
    "SkeletonDynamics",
    "WorldDynamics",
]
