"""The skin of a soft body: a shape of point masses that move in the body's frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kido.arrays import fixed
from kido.attributes import dataclass
from kido.errors import ModelError, StateError
from kido.math.transform import number_or_nan, numbers_or_nan
from kido.reprs import brief
from kido.shapes import SoftMesh
from kido.skeleton.host import edits
from kido.skeleton.inertia import Inertia
from kido.skeleton.nodes.shape_node import ShapeNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kido.skeleton.body_node import BodyNode

Array = NDArray[np.float64]


@dataclass(eq=False)
class SkinState:
    """State of a skin's points; arrays in the order of the points, vectors in the body's axes.

    Attributes:
        displacements: from the places at rest (n,3) [m].
        velocities: their rates (n,3) [m/s].
        forces: external forces (n,3), world axes [N].
        frozen: (n,) 1 where a point is fixed to the body.
        transfer: (6,) momentum that points which froze in the last step have yet to hand to the body.
    """

    displacements: Any
    velocities: Any
    forces: Any
    frozen: Any
    transfer: Any

    __repr__ = brief


class Skin(ShapeNode):
    """Point masses on the surface of a body, held by springs; made by `Skeleton.add_soft_body`.

    Each point has a displacement q from its place at rest X0 in the body's frame. Its springs and its damper give

        f = -Kv q - Ke sum over neighbours j of (q - q_j) - Kd dq/dt

    and act between the point and the body, so that momentum is kept whatever they do.

    Args:
        body: the body that carries it.
        name: unique on the body.
        shape: the skin at rest.
        transform: pose of the shape in the body.
        total_mass: of all points together [kg], shared equally; or one mass for each point (n,).
        kv: Kv, stiffness towards the place at rest [N/m].
        ke: Ke, stiffness of each edge between neighbours [N/m].
        kd: Kd, damping of each point's motion in the body [N s/m].
        automatic: radius [m] of the automatic mode, see `SoftBodyNode.automatic`; None: off.
        options: of `ShapeNode`. The restitution is zero: a skin bounces by its springs.

    Attributes:
        q, qd, forces, impulses: of each point (n,3), see `SkinState`; a world's arrays while it holds the skin.
        frozen, transfer: see `SkinState`.
        masses: (n,) [kg].
        on_release: called when other points are free.
    """

    _property_fields: ClassVar[dict[str, str]] = {
        **ShapeNode._property_fields,
        "masses": "masses",
        "kv": "kv",
        "ke": "ke",
        "kd": "kd",
        "automatic": "automatic",
    }

    masses: Array
    kv: float
    ke: float
    kd: float
    automatic: float | None
    q: Array
    qd: Array
    forces: Array
    impulses: Array
    frozen: NDArray[np.int64]
    transfer: Array
    on_release: Callable[[], None] | None

    def __init__(
        self,
        body: BodyNode,
        name: str,
        shape: SoftMesh,
        transform: Any = None,
        total_mass: Any = 1.0,
        kv: float = 1.0,
        ke: float = 1.0,
        kd: float = 0.01,
        automatic: float | None = None,
        **options: Any,
    ):
        if not isinstance(shape, SoftMesh):
            raise ModelError(f"skin {name!r}: expected a kido.shapes.SoftMesh, got {type(shape).__name__}")
        n = len(shape.vertices)
        self.masses = checked_masses(f"skin {name!r}", total_mass, n)
        self.kv, self.ke, self.kd = (
            _coefficient(name, key, value) for key, value in (("kv", kv), ("ke", ke), ("kd", kd))
        )
        self.automatic = checked_radius(name, automatic)
        self.q, self.qd, self.forces = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
        self.impulses = np.zeros((n, 3))
        self.frozen, self.transfer = np.zeros(n, np.int64), np.zeros(6)
        self.on_release = None
        options.setdefault("restitution", 0.0)
        super().__init__(body, name, shape, transform, **options)

    @property
    def mesh(self) -> SoftMesh:
        """Its shape at rest."""
        assert isinstance(self.shape, SoftMesh)
        return self.shape

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state["on_release"] = None
        for field in ("q", "qd", "forces", "impulses", "frozen", "transfer"):
            state[field] = np.array(state[field])  # of windows on a world's arrays the numbers
        return state

    @property
    def num_points(self) -> int:
        """Number of point masses."""
        return len(self.masses)

    @property
    def rest(self) -> Array:
        """Places at rest (n,3) in the body's frame [m]."""
        X = self.relative_transform
        return fixed(self.mesh.vertices @ X[:3, :3].T + X[:3, 3])

    def inertia_of(self, places: Array, chosen: Any = slice(None)) -> Inertia:
        """Inertia of some of the points, held at places (n,3) in the body's frame."""
        m, x = self.masses[chosen], places[chosen]
        total = total_of(m)
        if total == 0.0:
            return Inertia()
        com = m @ x / total
        r = x - com
        second = (m[:, None] * r).T @ r
        return Inertia(total, com, np.trace(second) * np.eye(3) - second)

    # State -----------------------------------------------------------------------------------------------

    @property
    def state(self) -> SkinState:
        """A copy of the points' state."""
        return SkinState(*(np.array(a) for a in (self.q, self.qd, self.forces, self.frozen, self.transfer)))

    @state.setter
    @edits
    def state(self, value: SkinState) -> None:
        pairs = (
            (self.q, value.displacements), (self.qd, value.velocities), (self.forces, value.forces),
            (self.frozen, value.frozen), (self.transfer, value.transfer),
        )  # fmt: skip
        for own, given in pairs:
            if np.shape(given) != own.shape or not np.isfinite(given).all():
                raise StateError(
                    f"skin {self.name!r}: expected finite numbers of shape {own.shape}, got {np.shape(given)}"
                )
        for own, given in pairs:
            own[:] = given
        self._changed()

    def _changed(self) -> None:
        if self.on_release is not None:
            self.on_release()

    @edits
    def freeze(self, points: Any) -> None:
        """See `SoftBodyNode.freeze`."""
        freeze_points(self, chosen_points(self, points))
        self._changed()

    @edits
    def free(self, points: Any) -> None:
        """See `SoftBodyNode.free`."""
        self.frozen[chosen_points(self, points)] = 0
        self._changed()

    @edits
    def set_coefficient(self, what: str, value: Any) -> None:
        """Set `kv`, `ke` or `kd`, checked."""
        setattr(self, what, _coefficient(self.name, what, value))
        self.body.skeleton.properties_changed()

    def live_in(self, **arrays: Any) -> None:
        """Have a world's arrays hold the state, from here on."""
        for field, array in arrays.items():
            array[:] = getattr(self, field)
            setattr(self, field, array)

    def copy_to(self, body: BodyNode, name: str | None = None) -> Self:
        """Refused: a skin is part of its body's dynamics. Copy the body."""
        raise ModelError(f"{self!r}: a skin cannot be copied to another body; copy its soft body")


def checked_vectors(skin: Skin, what: str, value: Any) -> Array:
    """Finite vectors, one for each point or one for all, in the form that they were given."""
    array = numbers_or_nan(value)
    if array.shape not in ((3,), skin.q.shape) or not np.isfinite(array).all():
        raise StateError(f"skin {skin.name!r}: {what}: expected {skin.num_points} x 3 finite numbers, got {value!r}")
    return array


def chosen_points(skin: Skin, points: Any) -> NDArray[np.int64]:
    """Numbers of the given points; None: of all."""
    if points is None:
        return np.arange(skin.num_points)
    try:
        given = np.array(points, dtype=float).reshape(-1)
        chosen = given.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"skin {skin.name!r}: expected numbers of points, got {points!r}") from None
    if not (given == chosen).all() or (len(chosen) and (chosen.min() < 0 or chosen.max() >= skin.num_points)):
        raise ModelError(
            f"skin {skin.name!r}: points {points!r}; expected whole numbers from 0 to {skin.num_points - 1}"
        )
    return np.unique(chosen)


def total_of(masses: Array) -> float:
    """Sum of masses [kg]; of equal ones without the rounding of a sum."""
    same = len(masses) > 0 and bool((masses == masses[0]).all())
    return float(masses[0] * len(masses)) if same else float(masses.sum())


def checked_masses(owner: str, value: Any, n: int) -> Array:
    """One positive mass for each of n points, from their sum or one by one."""
    given = numbers_or_nan(value)
    masses = np.full(n, float(given) / n) if given.ndim == 0 else given.copy()
    if masses.shape != (n,) or not np.isfinite(masses).all() or not (masses > 0.0).all():
        raise ModelError(f"{owner}: total_mass: expected a positive mass, or {n} of them [kg], got {value!r}")
    return masses


def _coefficient(name: str, what: str, value: Any) -> float:
    number = number_or_nan(value)
    if not np.isfinite(number) or number < 0.0:
        raise ModelError(f"skin {name!r}: {what}: expected a finite number not below 0, got {value!r}")
    return number


def checked_radius(name: str, value: Any) -> float | None:
    if value is None:
        return None
    number = number_or_nan(value)
    if not np.isfinite(number) or number <= 0.0:
        raise ModelError(f"skin {name!r}: automatic: expected a radius above 0 [m] or None, got {value!r}")
    return number


# Freezing ------------------------------------------------------------------------------------------------------


def spatial_inertia(masses: Array, places: Array) -> Array:
    """6x6 inertia [[J, m c x], [-m c x, m]] of point masses about the origin of their frame."""
    total = np.zeros((6, 6))
    for m, x in zip(masses, places, strict=True):
        X = _motion(x)
        total += m * X.T @ X
    return total


def _motion(x: Array) -> Array:
    """Velocity of a point at x of a body that moves with [w; v]: [-x x, 1]."""
    return np.array(
        [
            [0.0, x[2], -x[1], 1.0, 0.0, 0.0],
            [-x[2], 0.0, x[0], 0.0, 1.0, 0.0],
            [x[1], -x[0], 0.0, 0.0, 0.0, 1.0],
        ]
    )


def freeze_points(skin: Skin, chosen: NDArray[np.int64]) -> None:
    """Fix points where they are.

    Their momentum relative to the body goes to all that is rigid with it, as in a plastic impact; points that stay
    free keep their velocities in the world, since their springs give no impulse at once.
    """
    stopped = chosen[(skin.frozen[chosen] == 0) & skin.qd[chosen].any(axis=1)]
    skeleton, body = skin.body.skeleton, skin.body
    skin.frozen[chosen] = 1
    if len(stopped) == 0:
        return
    places = skin.rest + skin.q
    impulse = sum(skin.masses[k] * _motion(places[k]).T @ skin.qd[k] for k in stopped)
    skin.qd[stopped] = 0.0
    if skeleton.num_dofs == 0 or not skeleton.mobile:
        return
    M = skeleton.mass_matrix
    jacobians: dict[Any, Array] = {soft: soft.jacobian(in_coordinates_of=soft) for soft in skeleton.soft_bodies}
    for soft, J in jacobians.items():
        own = soft.skin
        free = own.frozen == 0
        M = M - J.T @ spatial_inertia(own.masses[free], (own.rest + own.q)[free]) @ J
    du = np.linalg.lstsq(M, jacobians[body].T @ impulse, rcond=None)[0]
    for soft, J in jacobians.items():
        own, dV = soft.skin, J @ du
        for k in np.flatnonzero(own.frozen == 0):
            own.qd[k] -= _motion(own.rest[k] + own.q[k]) @ dV
    skeleton.velocities = skeleton.velocities + du
