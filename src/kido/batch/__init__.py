"""Many states of one model at once: in lanes of the processor, on several threads, or on a GPU.

batch = kido.batch.Batch(skeleton)
tau = batch.inverse_dynamics(q, u, udot)  # each (samples, dofs)
"""

from kido.batch.batch import Batch

__all__ = ["Batch"]
