"""What pictures need of a model: its skeletons, bodies, up axis and poses."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import KidoError
from kido.rendering.rotations import wxyz_from_matrix
from kido.shapes import Plane

Model = Any
"""A :class:`kido.World` or a :class:`kido.Skeleton`."""


def skeletons_of(model: Model) -> list[Any]:
    """Skeletons of a world in its order, or the skeleton itself."""
    if hasattr(model, "skeletons"):
        return list(model.skeletons)
    if hasattr(model, "bodies") and hasattr(model, "dofs"):
        return [model]
    raise KidoError(f"what is drawn is a kido.World or a kido.Skeleton, not {type(model).__name__!r}.")


def is_world(model: Model) -> bool:
    """Whether the model can be stepped."""
    return hasattr(model, "skeletons")


def bodies_of(model: Model) -> list[Any]:
    """All bodies, skeleton by skeleton; the order of every array of poses."""
    return [body for skeleton in skeletons_of(model) for body in skeleton.bodies]


def drawn_version(model: Model) -> tuple[tuple[Any, int, int], ...]:
    """Another one than before if bodies, joints, shapes or colours came, went or changed."""
    return tuple((s, s.structure_version, s.appearance_version) for s in skeletons_of(model))


def body_labels(model: Model) -> list[str]:
    """Unique names of :func:`bodies_of`: the body's name, with the skeleton's where there are several."""
    skeletons = skeletons_of(model)
    if len(skeletons) == 1:
        return [body.name for body in skeletons[0].bodies]
    return [f"{s.name}/{body.name}" for s in skeletons for body in s.bodies]


def gravity_of(model: Model) -> np.ndarray:
    """Gravity (3,) in m/s^2; the default of a world for a lone skeleton."""
    return np.asarray(getattr(model, "gravity", (0.0, 0.0, -9.81)), dtype=float)


def up_axis(model: Model) -> np.ndarray:
    """Unit vector (3,) that points up: minus gravity, +z without gravity."""
    g = gravity_of(model) if is_world(model) else np.zeros(3)
    norm = float(np.linalg.norm(g))
    return -g / norm if norm > 1e-9 else np.array([0.0, 0.0, 1.0])


def basis(up: np.ndarray) -> np.ndarray:
    """Rotation (3, 3) whose columns are front, left and up of a scene with this up axis.

    Z up gives the world's axes, Y up gives front +z and left +x.
    """
    u = np.asarray(up, dtype=float) / np.linalg.norm(up)
    front = np.roll(np.eye(3)[int(np.argmax(np.abs(u)))], 1)
    front = front - u * (front @ u)
    front /= np.linalg.norm(front)
    return np.stack([front, np.cross(u, front), u], axis=1)


def nice_cell(extent: float) -> float:
    """Edge of a grid cell for a model of this size [m]: 1, 2 or 5 times a power of ten, about an eighth."""
    raw = max(extent, 1e-6) / 8.0
    power = 10.0 ** np.floor(np.log10(raw))
    return float(power * min((1.0, 2.0, 5.0, 10.0), key=lambda f: abs(np.log(f * power / raw))))


def is_mobile(skeleton: Any) -> bool:
    """Whether a skeleton moves in a simulation."""
    return bool(getattr(skeleton, "mobile", True))


def typical(values: Any, masses: Any) -> float:
    """The value that half of the mass is not above: pebbles around a car do not make it small."""
    order = np.argsort(values)
    shares = np.cumsum(np.asarray(masses, dtype=float)[order])
    return float(np.asarray(values, dtype=float)[order[np.searchsorted(shares, 0.5 * shares[-1])]])


def planes_of(model: Model) -> list[tuple[Any, np.ndarray, np.ndarray]]:
    """Plane shapes as (shape node, point (3,), unit normal (3,)), in world axes."""
    found = []
    for body in bodies_of(model):
        for node in body.shapes:
            if isinstance(node.shape, Plane):
                X = np.asarray(node.world_transform)
                n = np.asarray(node.shape.normal, dtype=float)
                n = n / np.linalg.norm(n)
                found.append((node, X[:3, :3] @ (n * node.shape.offset) + X[:3, 3], X[:3, :3] @ n))
    return found


def model_poses(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """World positions (n, 3) [m] and quaternions wxyz (n, 4) of all bodies, in the order of `bodies_of`."""
    p, R = [], []
    for skeleton in skeletons_of(model):
        X = skeleton.world_transforms
        p.append(X[:, :3, 3])
        R.append(X[:, :3, :3])
    if not p:
        return np.zeros((0, 3)), np.zeros((0, 4))
    return np.concatenate(p), wxyz_from_matrix(np.concatenate(R))


def contacts_of(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Contact points (n, 3) [m] and forces (n, 3) [N] of a world's last step.

    A force is the one on the second body, or on the first where only that one moves: what lies on the ground
    shows what the ground does to it.
    """
    contacts = getattr(model, "contacts", None)
    if contacts is None or len(contacts) == 0:
        return np.zeros((0, 3)), np.zeros((0, 3))
    forces = np.array(contacts.forces, dtype=float)
    for k, (a, b) in enumerate(zip(contacts.body_a, contacts.body_b, strict=True)):
        if not b.skeleton.mobile and a.skeleton.mobile:
            forces[k] = -forces[k]
    return np.array(contacts.points, dtype=float), forces
