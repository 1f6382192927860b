"""Central differences of `World.step` along velocities: the truth for its derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

import kido
from manifold import moved


def away(skeleton: kido.Skeleton, q: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Small motion, as velocities, that leads from positions q to others; joints: free, balls, of one coordinate."""
    found = other - q
    for joint in skeleton.joints:
        if isinstance(joint, kido.FreeJoint | kido.BallJoint):
            k = joint.dofs[0].index
            before, after = (Rotation.from_rotvec(x[k : k + 3]) for x in (q, other))
            found[k : k + 3] = (before.inv() * after).as_rotvec()
            if isinstance(joint, kido.FreeJoint):
                found[k + 3 : k + 6] = before.inv().apply(other[k + 3 : k + 6] - q[k + 3 : k + 6])
    return found


def mobile(world: kido.World) -> list[kido.Skeleton]:
    """Skeletons that have coordinates."""
    return [s for s in world.skeletons if s.num_dofs]


def ahead(world: kido.World, prepare: Callable[[], None], steps: int = 1) -> list[np.ndarray]:
    """Positions and velocities of all skeletons after steps from the present state, once changed by `prepare`."""
    before = world.snapshot()
    prepare()
    world.step(steps, reset_command=False)
    found = [x.copy() for s in mobile(world) for x in (s.positions, s.velocities)]
    world.restore(before)
    return found


def difference(world: kido.World, prepare: Callable[[float], None], h: float, steps: int = 1) -> np.ndarray:
    """d(q, u) after steps by the number that `prepare` is given, at 0; of fourth order."""
    base = ahead(world, lambda: prepare(0.0), steps)
    positions, velocities = [], []
    for k, s in enumerate(mobile(world)):
        dq, du = np.zeros(s.num_dofs), np.zeros(s.num_dofs)
        for at, weight in ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0)):
            found = ahead(world, lambda at=at: prepare(at * h), steps)
            dq += weight * away(s, base[2 * k], found[2 * k]) / (12 * h)
            du += weight * (found[2 * k + 1] - base[2 * k + 1]) / (12 * h)
        positions.append(dq)
        velocities.append(du)
    return np.concatenate(positions + velocities)


def differences(world: kido.World, h: float = 1e-5, steps: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """d(q, u)+ by (q, u) and by forces of the coordinates."""
    columns: list[list[np.ndarray]] = [[], [], []]
    for s in mobile(world):
        q, u, tau = s.positions.copy(), s.velocities.copy(), s.forces.copy()
        for e in np.eye(s.num_dofs):

            def of_position(x: float, s=s, q=q, e=e) -> None:
                s.positions = moved(s, q, e, x)

            def of_velocity(x: float, s=s, u=u, e=e) -> None:
                s.velocities = u + x * e

            def of_force(x: float, s=s, tau=tau, e=e) -> None:
                s.forces = tau + x * e

            for found, prepare in zip(columns, (of_position, of_velocity, of_force), strict=True):
                found.append(difference(world, prepare, h, steps))
    by_position, by_velocity, by_force = (np.stack(found, axis=1) for found in columns)
    return np.concatenate([by_position, by_velocity], axis=1), by_force


def largest(found: np.ndarray, wanted: np.ndarray) -> float:
    """Largest difference, relative to the size of the row's entries where that is above 1."""
    return float((np.abs(found - wanted) / np.maximum(1.0, np.abs(wanted).max(axis=1, keepdims=True))).max())
