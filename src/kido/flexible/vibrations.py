"""Natural vibrations of a skeleton with flexible bodies: of all bodies and joints together."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.reprs import brief
from kido.skeleton import Skeleton

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Vibrations:
    """Natural vibrations, by rising frequency; those of no frequency are free motions.

    Attributes:
        frequencies: (n,) [rad/s].
        shapes: (coordinates, n) velocities of the coordinates; each column's largest is 1.
    """

    frequencies: Array
    shapes: Array

    __repr__ = brief


def vibrations(skeleton: Skeleton) -> Vibrations:
    """Natural vibrations K x = w^2 M x of a skeleton at rest where it is, without damping, weight and contacts.

    K is the stiffness of modes and of springs of joints, M the mass matrix at the present positions. Actuators hold
    nothing.

    Raises:
        ModelError: the skeleton has no coordinates, or one without inertia.
    """
    n = skeleton.num_dofs
    if not n:
        raise ModelError(f"skeleton {skeleton.name!r} has no coordinates, and so no vibrations")
    K = np.diag([float(dof.spring_stiffness) for dof in skeleton.dofs])
    skeleton.log_det_mass_matrix()  # refuses what is not positive, by name
    squares, V = scipy.linalg.eigh(K, np.asarray(skeleton.mass_matrix))
    largest = V[np.abs(V).argmax(axis=0), np.arange(n)]
    floor = 1e-12 * max(float(squares[-1]), 1e-300)  # rounding of zeros
    return Vibrations(np.sqrt(np.where(squares > floor, squares, 0.0)), V / largest)
