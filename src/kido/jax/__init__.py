"""KIDO's worlds and dynamics as differentiable functions of JAX's arrays, under `jit`, `grad` and `vmap`.

simulation = kido.jax.Simulation(world, {"friction": [shape]})
cost = lambda mu: simulation.rollout(q, u, commands, friction=mu)[0][-1, 0]
jax.grad(cost)(mu)

Needs the extra `jax`, and arrays of 64 bits: `jax.config.update("jax_enable_x64", True)`. KIDO computes on the
processor, by callbacks. Leading axes are samples; those of all arguments are broadcast. Gradients by positions are by
them as numbers, as JAX has it; see `kido.gradients.Charts`. Under `jit`, what goes wrong while a program runs is JAX's
own error, with KIDO's words.
"""

from kido.libraries import library

library("jax", "kido.jax", "jax")

from kido.jax.functions import forward_dynamics, forward_kinematics, inverse_dynamics  # noqa: E402
from kido.jax.simulation import Simulation  # noqa: E402

__all__ = ["Simulation", "forward_dynamics", "forward_kinematics", "inverse_dynamics"]
