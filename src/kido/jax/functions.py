"""Smooth quantities of skeletons, differentiable by JAX."""

from __future__ import annotations

from typing import Any

import jax
from numpy.typing import ArrayLike

from kido.batch import Batch
from kido.gradients import ForwardDynamics, ForwardKinematics, InverseDynamics
from kido.gradients.smooth import SmoothFunction
from kido.jax.callbacks import Function, together
from kido.skeleton import Skeleton
from kido.skeleton.nodes.node import JacobianNode


def _values(function: SmoothFunction, *given: Any) -> jax.Array:
    tails = {name: (x, (function.num_dofs,)) for name, x in zip(function.arguments, given, strict=True)}
    arrays = together(f"skeleton {function.batch.skeleton.name!r}", tails)
    made = Function(
        lambda *x: (function.value(*x),),
        lambda x, values, gradients: function.pull_back(x, *gradients),
        (1,) * len(given),
        (function.shape,),
    )
    return made(*arrays.values())[0]


def forward_dynamics(
    model: Skeleton | Batch, positions: jax.Array, velocities: jax.Array, forces: jax.Array
) -> jax.Array:
    """Accelerations M^-1 (T - C(q, u)) (..., dofs).

    Args:
        model: a skeleton, or a `Batch` of one, which is quicker if it is used again.
        positions, velocities, forces: (..., dofs).

    Raises:
        StateError: what is no array of 64 bits, or of another shape; or not finite, if this is not traced.
        ModelError: the inertia seen by a coordinate is not positive, or another model.
    """
    return _values(ForwardDynamics(model), positions, velocities, forces)


def inverse_dynamics(
    model: Skeleton | Batch, positions: jax.Array, velocities: jax.Array, accelerations: jax.Array
) -> jax.Array:
    """Joint forces M udot + C(q, u) (..., dofs); arguments and errors as of `forward_dynamics`."""
    return _values(InverseDynamics(model), positions, velocities, accelerations)


def forward_kinematics(
    model: Skeleton | Batch, positions: jax.Array, node: JacobianNode | str | int, offset: ArrayLike = (0.0, 0.0, 0.0)
) -> jax.Array:
    """World transforms (..., 4, 4) of a node, with the origin at a point of it.

    Args:
        model, positions: as of `forward_dynamics`; the errors too.
        node: a body of the skeleton, its name or its index, or a node on one.
        offset: the point, in the node's axes [m].
    """
    return _values(ForwardKinematics(model, node, offset), positions)
