"""KIDO's worlds and dynamics as differentiable functions of PyTorch's tensors.

simulation = kido.torch.Simulation(world, {"friction": [shape]})
positions, velocities = simulation.rollout(q, u, commands, friction=mu)
positions[..., -1, 0].sum().backward()

Needs the extra `torch`. Tensors are of 64 bits, on the processor. Leading axes are samples; those of all arguments are
broadcast. Gradients by positions are by them as numbers, as PyTorch has it; see `kido.gradients.Charts`.
"""

from kido.libraries import library

library("torch", "kido.torch", "torch")

from kido.torch.functions import forward_dynamics, forward_kinematics, inverse_dynamics  # noqa: E402
from kido.torch.simulation import Simulation  # noqa: E402

__all__ = ["Simulation", "forward_dynamics", "forward_kinematics", "inverse_dynamics"]
