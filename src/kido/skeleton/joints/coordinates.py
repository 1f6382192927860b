"""What a joint's coordinates are, and the elementary motions that some joints are made of."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.joints import JointKind


class CoordinateKind(Enum):
    """What a coordinate measures.

    ANGLE: about an axis; a full turn brings the joint back [rad].
    LENGTH: along an axis [m].
    ROTATION: one of three of a rotation vector [rad].
    OTHER: anything else, as the turn of a screw or what a user defines.
    """

    ANGLE = "angle"
    LENGTH = "length"
    ROTATION = "rotation"
    OTHER = "other"


KIND_OF_HINGE = {JointKind.REVOLUTE: CoordinateKind.ANGLE, JointKind.PRISMATIC: CoordinateKind.LENGTH}


class ElementaryMotion(NamedTuple):
    """A fixed transform (4x4), then a turn about, a slide along or a screw about one unit axis.

    Units: pitch in metres per revolution.
    """

    kind: JointKind
    axis: NDArray[np.float64]
    pitch: float = 0.0
    offset: NDArray[np.float64] = np.eye(4)
