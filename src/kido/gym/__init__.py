"""Environments for learning: a world, what is observed, rewarded and ended, declared once; single and vector of it.

>>> import gymnasium, kido.gym
>>> env = gymnasium.make("Kido/Hopper-v0")
>>> many = gymnasium.make_vec("Kido/Hopper-v0", num_envs=1024)

Needs the extra `gym`.
"""

from kido.libraries import library

library("gymnasium", "kido.gym", "gym")

from kido.gym.checker import check_vector_env  # noqa: E402
from kido.gym.environment import Environment, Start, View, around  # noqa: E402
from kido.gym.goals import GoalObservation  # noqa: E402
from kido.gym.registration import environment, names, register  # noqa: E402
from kido.gym.single import KidoEnv  # noqa: E402
from kido.gym.terrains import heights_at, terrain  # noqa: E402
from kido.gym.transition import States, Transition  # noqa: E402
from kido.gym.vector import KidoVectorEnv  # noqa: E402

__all__ = [
    "Environment",
    "GoalObservation",
    "KidoEnv",
    "KidoVectorEnv",
    "Start",
    "States",
    "Transition",
    "View",
    "around",
    "check_vector_env",
    "environment",
    "heights_at",
    "names",
    "register",
    "terrain",
]
