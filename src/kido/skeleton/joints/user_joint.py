"""Joints that users define by writing down their motion."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.joints import JointKind
from kido.joints.trace import check_points, trace
from kido.math.transform import as_unit_vector
from kido.skeleton.host import edits
from kido.skeleton.joints.joint import Joint

_MAX_DOFS = 6


class UserJoint(Joint):
    """A joint with a motion of the user's own: subclass it and write `transform`.

    KIDO calls `transform` once with expressions in place of numbers, differentiates what it writes down, and
    works through the formulas in its kernels: a user's joint is simulated, differentiated and computed in batches
    like any other, and nothing is compiled for it. Velocities are the derivatives of positions.

    A subclass sets `dof_suffixes`, one text for each coordinate (0 to 6): what its name adds to the joint's. Its
    attributes are the joint's parameters: setting one traces the formula anew, and results follow. Parameters
    that must change together are set by `set_parameters`; after a change inside an attribute (an element of an
    array), call `changed`.

    Example:
        >>> class Knee(kido.UserJoint):
        ...     '''Rolls on a circle while it bends.'''
        ...     dof_suffixes = ("",)
        ...
        ...     def __init__(self, name=None, radius=0.03, **options):
        ...         self.radius = radius
        ...         super().__init__(name, **options)
        ...
        ...     def transform(self, q):
        ...         R = self.rotation_about((0, 1, 0), q[0])
        ...         return R, np.array([self.radius * q[0], 0.0, 0.0])

    Raises:
        ModelError: `transform` fails on expressions (it branches on coordinates, say), gives arrays of other
            shapes or no rotation, or is not finite somewhere between the position limits (between -2 and 2
            where there are none).
    """

    kind = JointKind.USER

    def __init__(self, name: str | None = None, **options: Any):
        n = len(self.dof_suffixes)
        if not isinstance(self.dof_suffixes, tuple) or n > _MAX_DOFS:
            raise ModelError(
                f"{type(self).__name__}: dof_suffixes: expected a tuple of at most {_MAX_DOFS} texts, "
                f"got {self.dof_suffixes!r}"
            )
        own = set(self.__dict__)
        super().__init__(name, **options)
        self._no_parameters = frozenset(self.__dict__) - own
        self._tape = self._traced()

    def transform(self, q: NDArray[Any]) -> Any:
        """Pose of the child-side frame in the joint's parent-side frame at positions q.

        Args:
            q: (dofs,) positions. Their entries take +, -, *, /, ** and NumPy's sin, cos, tan, sqrt, exp, log,
                arctan2, tanh, ...; arrays of them take NumPy's array arithmetic (@, np.cross, sums, ...).

        Returns:
            Rotation (3x3) and translation (3) [m], or a 4x4 matrix.
        """
        raise ModelError(f"{type(self).__name__} has no transform(self, q): write it, as kido.UserJoint describes")

    @staticmethod
    def rotation_about(axis: ArrayLike, angle: Any) -> NDArray[Any]:
        """Rotation matrix (3x3) about a fixed axis by an angle that may be an expression [rad]."""
        a = as_unit_vector(axis, "rotation_about: axis")
        along, across = np.outer(a, a), np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
        return along + (np.eye(3) - along) * np.cos(angle) + across * np.sin(angle)

    @classmethod
    def restored(cls, name: str | None, parameters: dict[str, Any], **options: Any) -> Self:
        """A joint of the class with given parameters, made without the class's own `__init__`.

        Parameters that were arrays when the class's `__init__` left them may be nested lists here: those that are
        all numbers become arrays again.
        """
        if not isinstance(parameters, dict):
            raise ModelError(f"joint {name!r}: parameters: expected a dictionary by name, got {parameters!r}")
        joint = cls.__new__(cls)
        joint.__dict__.update({key: _as_array(value) for key, value in parameters.items()})
        UserJoint.__init__(joint, name, **options)
        return joint

    @edits
    def changed(self) -> None:
        """Trace `transform` anew, after a change inside one of the joint's attributes.

        Raises:
            ModelError: as for a new joint; results stay those of the formula before.
        """
        old, new = self._tape, self._traced()
        self._tape = new
        same = old is not None and old.steps.shape == new.steps.shape and old.results.shape == new.results.shape
        if same:
            self._changed()
        elif self.skeleton is not None:
            self.skeleton.structure_changed()

    @edits
    def set_parameters(self, **parameters: Any) -> None:
        """Set several of the joint's attributes at once.

        Raises:
            ModelError: a name that the joint does not have, or values that give no joint; nothing is changed.
        """
        for key in parameters:
            if key.startswith("_") or not hasattr(self, key):
                raise ModelError(f"joint {self.name!r} has no parameter {key!r}; it has {', '.join(self.parameters)}")
        before = {key: self.__dict__[key] for key in parameters if key in self.__dict__}
        self.__dict__.update(parameters)
        try:
            self.changed()
        except Exception:
            for key in parameters:
                del self.__dict__[key]
            self.__dict__.update(before)
            raise

    @property
    def parameters(self) -> dict[str, Any]:
        """The joint's own attributes by name."""
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_") and k not in self._no_parameters}

    @property
    def unique_properties(self) -> dict[str, Any]:
        """The joint's parameters."""
        return self.parameters

    def __setattr__(self, key: str, value: Any) -> None:
        traced = not key.startswith("_") and self.__dict__.get("_tape") is not None
        if traced and key not in self._no_parameters and not hasattr(Joint, key) and hasattr(self, key):
            self.set_parameters(**{key: value})
        else:
            super().__setattr__(key, value)

    def _traced(self) -> Any:
        limits = self.get_property("position_lower_limit"), self.get_property("position_upper_limit")
        what = f"joint {self.name!r} ({type(self).__name__})"
        return trace(self.transform, check_points(*limits), what)


def _as_array(value: Any) -> Any:
    """A list of numbers, or of such lists of one length, as an array; all else as it is."""
    if not isinstance(value, list):
        return value
    try:
        array = np.array(value)
    except ValueError:
        return value
    return array if array.dtype.kind in "fiub" else value
