"""Functions of many states and their pull-backs, in NumPy: what `kido.torch` and `kido.jax` hand to their frameworks.

function = kido.gradients.WorldFunction(world, {"friction": [shape], "mass": [body]})
trajectories = function.rollout(positions, velocities, commands, {"friction": [[0.4]]})
gradients = function.pull_back(trajectories, by_positions, by_velocities)

A pull-back takes the gradient of a number by what a function gave to those by what it was given.
"""

from kido.gradients.charts import Charts
from kido.gradients.second import ForwardDynamicsHessian, InverseDynamicsHessian, SecondDerivatives
from kido.gradients.smooth import ForwardDynamics, ForwardKinematics, InverseDynamics
from kido.gradients.worlds import Gradients, Rollout, WorldFunction

__all__ = [
    "Charts",
    "ForwardDynamics",
    "ForwardDynamicsHessian",
    "ForwardKinematics",
    "Gradients",
    "InverseDynamics",
    "InverseDynamicsHessian",
    "Rollout",
    "SecondDerivatives",
    "WorldFunction",
]
