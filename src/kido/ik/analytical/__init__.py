"""Inverse kinematics in closed form: as a gradient method of a task, and solvers of chains of hinges by themselves."""

from kido.ik.analytical.chain import HingeChain, read_chain
from kido.ik.analytical.chain_method import AnalyticalChain
from kido.ik.analytical.method import AnalyticalMethod, ExtraDofUtilization
from kido.ik.analytical.solution import (
    Singularity,
    Solution,
    SolutionBatch,
    Validity,
    largest_component_is_smaller,
    ranked,
)
from kido.ik.analytical.solvers import (
    ChainSolver,
    ParallelAxesSolver,
    PlanarSolver,
    SphericalWristSolver,
    SwivelSolver,
    chain_solver,
)

__all__ = [
    "AnalyticalChain",
    "AnalyticalMethod",
    "ChainSolver",
    "ExtraDofUtilization",
    "HingeChain",
    "ParallelAxesSolver",
    "PlanarSolver",
    "Singularity",
    "Solution",
    "SolutionBatch",
    "SphericalWristSolver",
    "SwivelSolver",
    "Validity",
    "chain_solver",
    "largest_component_is_smaller",
    "ranked",
    "read_chain",
]
