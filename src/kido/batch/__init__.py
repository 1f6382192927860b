"""Many states of one model at once: in lanes of the processor, on several threads, or on a GPU.

batch = kido.batch.Batch(skeleton)
tau = batch.inverse_dynamics(q, u, udot)  # each (samples, dofs)

And many copies of a world with contacts, in lanes and threads, step by step or whole trajectories:

worlds = kido.batch.Worlds(world, 1024, properties={"mass": masses})
positions, velocities = worlds.step(commands)

found = kido.batch.rollout(world, positions, velocities, commands)
found.positions  # (samples, steps, dofs)
"""

from kido.batch.batch import Batch
from kido.batch.rollout import RolloutPool, Trajectories, rollout
from kido.batch.worlds import Worlds

__all__ = ["Batch", "RolloutPool", "Trajectories", "Worlds", "rollout"]
