"""Modes of a flexible body: how its points move with a few coordinates, and the integrals of mass that follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.attributes import FixedAttributes, dataclass
from kido.errors import ModelError, NameLookupError
from kido.math.lie import exp_rotation
from kido.math.transform import as_numbers
from kido.reprs import brief
from kido.skeleton.inertia import Inertia

if TYPE_CHECKING:
    from kido.flexible.surface import ModeSurface

Array = NDArray[np.float64]
# What modes are, besides names, mass and nodes, with the sizes of each.
_SIZES: dict[str, tuple[Any, ...]] = {
    "stiffness": ("n",), "damping": ("n",), "mass_matrix": ("n", "n"), "first_moment": (3,), "moment": (3, 3),
    "S1": ("n", 3), "S2": ("n", "n", 3), "J1": ("n", 3, 3), "J2": ("n", "n", 3, 3), "R1": ("n", 3), "R2": ("n", "n", 3),
}  # fmt: skip
_NODE = ("position", "translation", "rotation", "second_order", "second_rotation", "orientation")
ORTHOGONAL = 1e-7  # share of two modes' masses by which they may be coupled: rounding of eigenvectors


@dataclass(frozen=True, eq=False)
class ModeNode:
    """A point of a flexible body that bodies hang on, and how it moves by n modes; body axes.

    Args:
        name: unique in the body.
        position: undeformed [m].
        translation: (3, n) displacement per mode.
        rotation: (3, n) rotation vector per mode [rad]; by default the node does not turn.
        second_order: (3, n, n) second derivatives of the displacement, symmetric; by default zero. They are what forces
            at the node stiffen by.
        second_rotation: (3, n, n) those of the rotation vector, by which moments stiffen; by default zero.
        orientation: (3, 3) rotation from the axes of what hangs on the node, undeformed, to the body's; by default
            none.

    Raises:
        ModelError: arrays of other shapes, numbers that are not finite, an orientation that is no rotation.
    """

    name: str
    position: Any
    translation: Any
    rotation: Any = None
    second_order: Any = None
    second_rotation: Any = None
    orientation: Any = None

    def __post_init__(self) -> None:
        what = f"node {self.name!r}"
        translation = numbers(self.translation, f"{what}: translation", (3, None))
        n = translation.shape[1]
        rotation = np.zeros((3, n)) if self.rotation is None else numbers(self.rotation, f"{what}: rotation", (3, n))
        object.__setattr__(self, "position", fixed(numbers(self.position, f"{what}: position", (3,))))
        object.__setattr__(self, "translation", fixed(translation))
        object.__setattr__(self, "rotation", fixed(rotation))
        for key in ("second_order", "second_rotation"):
            object.__setattr__(self, key, fixed(symmetric(getattr(self, key), f"{what}: {key}", (3, n, n))))
        R = np.eye(3) if self.orientation is None else numbers(self.orientation, f"{what}: orientation", (3, 3))
        if np.abs(R @ R.T - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0.0:
            raise ModelError(f"{what}: orientation: expected a rotation matrix, R R^T = 1 with det 1, got {R.tolist()}")
        object.__setattr__(self, "orientation", fixed(R))

    def pose(self, eta: ArrayLike) -> Array:
        """(4, 4) of the node in the body's frame, by modal coordinates (n,)."""
        X, q = np.eye(4), np.asarray(eta, float)
        X[:3, :3] = exp_rotation(self.rotation @ q + 0.5 * (self.second_rotation @ q) @ q) @ self.orientation
        X[:3, 3] = self.position + self.translation @ q + 0.5 * (self.second_order @ q) @ q
        return X

    __repr__ = brief


class Modes(FixedAttributes):
    """n modes of a flexible body, of point masses whose displacements are linear in n modal coordinates eta.

    Point j is at rho_j + Phi_j eta, and with `second_order` at rho_j + Phi_j eta + G_j(eta, eta) / 2, in the axes of
    the body's frame, which is that of its inboard node: no mode moves that. G is what stiffens a body under load: a
    bent beam's points come nearer to its root (foreshortening), so that pulling at them straightens it.

    Terms of second order in eta are kept in the first moment and the inertia of the body, of first order in what
    couples modes and body, and the modal mass is constant. Without G nothing is left out by that. With it the mass
    matrix is positive definite for small deflections only; beyond, forward dynamics refuses.

    Args:
        masses: (p,) of the points [kg], not negative; or (p, p), a consistent mass matrix of each direction.
        positions: (p, 3) undeformed [m].
        shapes: (p, 3, n) displacements per mode.
        stiffness: (n,) modal stiffness [N/m for shapes without unit], positive.
        nodes: points that bodies may hang on.
        second_order: (p, 3, n, n), symmetric in its last two indices; by default zero.
        damping_ratio: of critical damping: one number or (n,), not negative.
        rayleigh: a [1/s] and b [s] of a damping a M + b K besides, not negative.
        names: of the modes, by default mode1, mode2, ...
        thermal: (n, 4) modal forces per kelvin of warming, and per K/m of a gradient of temperature along x, y and z
            that is zero at the origin; by default zero.
        surface: what is seen of the body and may touch others, and stress and strain on it.

    Raises:
        ModelError: shapes that do not fit, numbers that are not finite, modes that are not orthogonal with the
            masses, a mode without mass or with a stiffness that is not positive, names that occur twice; says which.

    Source: Wallrapp and Schwertassek (1991), Representation of geometric stiffening in multibody system simulation.
    """

    def __init__(
        self,
        masses: ArrayLike,
        positions: ArrayLike,
        shapes: ArrayLike,
        stiffness: ArrayLike,
        nodes: Sequence[ModeNode] = (),
        second_order: ArrayLike | None = None,
        damping_ratio: ArrayLike = 0.0,
        rayleigh: ArrayLike = (0.0, 0.0),
        names: Sequence[str] | None = None,
        thermal: ArrayLike | None = None,
        surface: ModeSurface | None = None,
    ):
        rho = numbers(positions, "positions", (None, 3))
        p = len(rho)
        weigh = _weigh(masses, p)
        phi = numbers(shapes, "shapes", (p, 3, None))
        n = phi.shape[2]
        bent = symmetric(second_order, "second_order", (p, 3, n, n))
        # Sums over points a^T M b are those of L a and L b, with M = L^T L.
        one, rho, phi, bent = weigh(np.ones(p)), weigh(rho), weigh(phi), weigh(bent)
        self.names = _names(names, n)
        self.stiffness = fixed(_positive(numbers(stiffness, "stiffness", (n,)), self.names))
        self.mass_matrix = fixed(np.einsum("pam,pan->mn", phi, phi))
        _check_orthogonal(self.mass_matrix, self.names)
        self.damping = fixed(modal_damping(self.stiffness, np.diag(self.mass_matrix), damping_ratio, rayleigh))
        self.thermal = _thermal(thermal, n)
        self.nodes = _checked_nodes(nodes, n)
        self.surface = _checked_surface(surface, n)
        self.mass = float(one @ one)
        self.first_moment = fixed(one @ rho)
        self.moment = fixed(second_moment(rho[:, :, None], rho[:, :, None])[0, 0])
        self.S1 = fixed(np.einsum("p,pam->ma", one, phi))
        self.S2 = fixed(np.einsum("p,pamn->mna", one, bent))
        self.J1 = fixed(2.0 * second_moment(rho[:, :, None], phi)[0])
        along = second_moment(rho[:, :, None], bent.reshape(p, 3, n * n))[0].reshape(n, n, 3, 3)
        self.J2 = fixed(second_moment(phi, phi) + along)
        self.R1 = fixed(np.cross(rho[:, None], phi.swapaxes(1, 2)).sum(axis=0))
        turning = np.cross(phi[:, :, None, :], phi[:, :, :, None], axis=1)  # (p, 3, m, n): Phi_n x Phi_m
        turning = turning + np.cross(rho[:, :, None, None], bent, axis=1)
        self.R2 = fixed(np.einsum("pamn->mna", turning))

    @property
    def number(self) -> int:
        """How many modes there are."""
        return len(self.stiffness)

    @property
    def frequencies(self) -> Array:
        """Natural frequencies with the inboard node held (n,) [rad/s]."""
        return fixed(np.sqrt(self.stiffness / np.diag(self.mass_matrix)))

    @property
    def inertia(self) -> Inertia:
        """Of the undeformed body."""
        com = self.first_moment / self.mass
        return Inertia(self.mass, com, self.moment - self.mass * (com @ com * np.eye(3) - np.outer(com, com)))

    def node(self, name: str) -> ModeNode:
        """A node by its name.

        Raises:
            NameLookupError: there is none; lists them.
        """
        for node in self.nodes:
            if node.name == name:
                return node
        raise NameLookupError("node", name, [node.name for node in self.nodes])

    def to_dict(self) -> dict[str, Any]:
        """Names, numbers and arrays, from which `from_dict` makes the same modes."""
        nodes = [{"name": node.name, **{key: getattr(node, key) for key in _NODE}} for node in self.nodes]
        return {
            "names": list(self.names),
            "mass": self.mass,
            **{key: getattr(self, key) for key in (*_SIZES, "thermal")},
            "nodes": nodes,
            **({} if self.surface is None else {"surface": self.surface.to_dict()}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Modes:
        """Modes from what `to_dict` gave, perhaps by way of a file.

        Raises:
            ModelError: something is missing, or is as the constructor refuses it; says what.
        """
        missing = [key for key in ("names", "mass", "nodes", *_SIZES) if key not in data]
        if missing:
            raise ModelError(f"modes: there is no {missing[0]!r}; expected what Modes.to_dict gives")
        made = cls.__new__(cls)
        n = len(data["names"])
        given = {
            key: numbers(data[key], key, tuple(n if k == "n" else k for k in shape)) for key, shape in _SIZES.items()
        }
        made.names = _names(data["names"], n)
        made.mass = float(numbers([data["mass"]], "mass", (1,))[0])
        if not made.mass > 0.0:
            raise ModelError(f"mass: expected a positive number [kg], got {made.mass:g}")
        _positive(given["stiffness"], made.names)
        _check_orthogonal(given["mass_matrix"], made.names)
        if not (given["damping"] >= 0.0).all():
            raise ModelError(f"damping: expected numbers that are not negative, got {given['damping'].tolist()}")
        for key, array in given.items():
            setattr(made, key, fixed(array))
        made.thermal = _thermal(data.get("thermal"), n)
        made.nodes = _checked_nodes(
            [ModeNode(node["name"], **{key: node.get(key) for key in _NODE}) for node in data["nodes"]], n
        )
        from kido.flexible.surface import ModeSurface  # which has its checks from here

        made.surface = _checked_surface(ModeSurface.from_dict(data["surface"]) if "surface" in data else None, n)
        return made

    def __repr__(self) -> str:
        shown = ", ".join(f"{w / (2 * np.pi):.4g}" for w in self.frequencies[:6])
        more = ", ..." if self.number > 6 else ""
        nodes = ", ".join(node.name for node in self.nodes)
        return f"Modes({self.number} of {self.mass:.4g} kg at {shown}{more} Hz; nodes: {nodes or 'none'})"


def modal_damping(stiffness: Array, mass: Array, ratio: ArrayLike = 0.0, rayleigh: ArrayLike = (0.0, 0.0)) -> Array:
    """Damping (n,) of modes by their stiffness and mass (n,): 2 ratio sqrt(k m) + a m + b k, with rayleigh = (a, b).

    Raises:
        ModelError: numbers that are negative, not finite, or of another size.
    """
    zeta = numbers(ratio if np.ndim(ratio) else [ratio] * len(mass), "damping_ratio", (len(mass),))
    a, b = numbers(rayleigh, "rayleigh", (2,))
    for what, given in (("damping_ratio", zeta), ("rayleigh", np.array([a, b]))):
        if not (given >= 0.0).all():
            raise ModelError(f"{what}: expected numbers that are not negative, got {given.tolist()}")
    return 2.0 * zeta * np.sqrt(stiffness * mass) + a * mass + b * stiffness


def second_moment(a: Array, b: Array) -> Array:
    """Sum of (a . b) 1 - (b a^T + a b^T) / 2 over points: (i, j, 3, 3) of a (p, 3, i) and b (p, 3, j)."""
    ab = np.einsum("pci,pdj->ijcd", a, b)
    return np.einsum("ijcc->ij", ab)[:, :, None, None] * np.eye(3) - 0.5 * (ab + ab.swapaxes(2, 3))


def _weigh(masses: ArrayLike, p: int) -> Callable[[Array], Array]:
    """x -> L x, along the first index, with L^T L = M of masses or of a mass matrix."""
    if np.ndim(masses) != 2:
        m = numbers(masses, "masses", (p,))
        if not (m >= 0.0).all() or not m.any():
            raise ModelError(f"masses: expected numbers that are not negative, and some mass, got {m.tolist()}")
        return lambda x: (np.sqrt(m) * x.T).T
    M = numbers(masses, "masses", (p, p))
    try:
        if np.abs(M - M.T).max() > 1e-9 * np.abs(M).max():
            raise np.linalg.LinAlgError
        L = np.linalg.cholesky(M).T
    except np.linalg.LinAlgError:
        raise ModelError("masses: expected a symmetric positive definite mass matrix") from None
    return lambda x: np.tensordot(L, x, 1)


def numbers(value: Any, what: str, shape: tuple[int | None, ...]) -> Array:
    """A finite array of a given shape; None: any size.

    Raises:
        ModelError: anything else.
    """
    wanted = " x ".join("any" if n is None else str(n) for n in shape)
    try:
        array = as_numbers(value)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected an array ({wanted}) of numbers, got {value!r}") from None
    fits = array.ndim == len(shape) and all(n in (None, k) for n, k in zip(shape, array.shape, strict=True))
    if not fits:
        raise ModelError(f"{what}: expected an array ({wanted}), got one of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ModelError(f"{what}: expected finite numbers")
    return array


def symmetric(value: Any, what: str, shape: tuple[int, ...]) -> Array:
    """An array that is symmetric in its last two indices; zeros for None.

    Raises:
        ModelError: it is not, or as `numbers`.
    """
    if value is None:
        return np.zeros(shape)
    array = numbers(value, what, shape)
    if np.abs(array - array.swapaxes(-1, -2)).max(initial=0.0) > 1e-9 * np.abs(array).max(initial=0.0):
        raise ModelError(f"{what}: expected second derivatives, symmetric in the last two indices")
    return 0.5 * (array + array.swapaxes(-1, -2))


def _thermal(given: ArrayLike | None, n: int) -> Array:
    return fixed(np.zeros((n, 4)) if given is None else numbers(given, "thermal", (n, 4)))


def _names(names: Sequence[str] | None, n: int) -> tuple[str, ...]:
    given = tuple(f"mode{k + 1}" for k in range(n)) if names is None else tuple(names)
    if len(given) != n or len(set(given)) != n:
        raise ModelError(f"names: expected {n} different names, one for each mode, got {given!r}")
    return given


def _positive(stiffness: Array, names: Sequence[str]) -> Array:
    for name, k in zip(names, stiffness, strict=True):
        if not k > 0.0:
            raise ModelError(f"mode {name!r}: expected a positive stiffness, got {k:g}; rigid motions are no modes")
    return stiffness


def _check_orthogonal(M: Array, names: Sequence[str]) -> None:
    own = np.diag(M)
    for name, mass in zip(names, own, strict=True):
        if not mass > 0.0:
            raise ModelError(f"mode {name!r} moves no mass: every mode needs some, or its frequency is infinite")
    share = np.abs(M - np.diag(own)) / np.sqrt(np.outer(own, own))
    i, j = np.unravel_index(int(share.argmax()), share.shape) if len(M) else (0, 0)
    if len(M) and share[i, j] > ORTHOGONAL:
        raise ModelError(
            f"modes {names[int(i)]!r} and {names[int(j)]!r} are not orthogonal: their mass is coupled by "
            f"{share[i, j]:.3g} of their own; solve the eigenvalue problem of the modal stiffness and mass first"
        )


def _checked_nodes(nodes: Sequence[ModeNode], n: int) -> tuple[ModeNode, ...]:
    seen: set[str] = set()
    for node in nodes:
        if not isinstance(node, ModeNode):
            raise ModelError(f"nodes: expected ModeNode objects, got {node!r}")
        if node.name in seen:
            raise ModelError(f"node {node.name!r} occurs twice")
        if node.translation.shape[1] != n:
            raise ModelError(f"node {node.name!r}: expected {n} modes, got {node.translation.shape[1]}")
        seen.add(node.name)
    return tuple(nodes)


def _checked_surface(surface: ModeSurface | None, n: int) -> ModeSurface | None:
    if surface is None:
        return None
    from kido.flexible.surface import ModeSurface  # which has its checks from here

    if not isinstance(surface, ModeSurface):
        raise ModelError(f"surface: expected a ModeSurface, got {surface!r}")
    if surface.number != n:
        raise ModelError(f"surface: expected {n} modes, got {surface.number}")
    return surface
