"""Many states of one model at once: in lanes of the processor, on several threads, or on a GPU.

batch = kido.batch.Batch(skeleton)
tau = batch.inverse_dynamics(q, u, udot)  # each (samples, dofs)

And many copies of a world with contacts, in threads:

found = kido.batch.rollout(world, positions, velocities, commands)
found.positions  # (samples, steps, dofs)
"""

from kido.batch.batch import Batch
from kido.batch.rollout import RolloutPool, Trajectories, rollout

__all__ = ["Batch", "RolloutPool", "Trajectories", "rollout"]
