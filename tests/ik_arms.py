"""Arms for inverse kinematics, built in code from published lengths and limits."""

from __future__ import annotations

import numpy as np

import kido


def planar_arm(lengths=(1.0, 0.7), limits: float = np.inf) -> kido.Skeleton:
    """Links in the xy plane, joints about z; the node "tip" is at the end of the last one."""
    arm = kido.Skeleton("planar")
    body, X = None, np.eye(4)
    for k, length in enumerate(lengths):
        joint = kido.RevoluteJoint(
            f"j{k}", (0, 0, 1), transform_from_parent=X, position_lower_limit=-limits, position_upper_limit=limits
        )
        body = arm.add_body(f"b{k}", joint, body, kido.Inertia(1.0, [0.5 * length, 0, 0], 0.01 * np.eye(3)))
        X = np.eye(4)
        X[0, 3] = length
    assert body is not None
    body.create_node(kido.EndEffector, "tip", X)
    return arm


def arm7() -> kido.Skeleton:
    """A KUKA LBR iiwa 14 R820: lengths 360, 420, 400 and 126 mm, limits 170, 120, ..., 175 degrees (data sheet)."""
    arm = kido.Skeleton("iiwa")
    body, X = None, np.eye(4)
    limits = np.deg2rad([170.0, 120.0, 170.0, 120.0, 170.0, 120.0, 175.0])
    for k, (tilt, length) in enumerate(zip([-1, 1, 1, -1, -1, 1, 0], [0.36, 0, 0.42, 0, 0.4, 0, 0.126], strict=True)):
        joint = kido.RevoluteJoint(
            f"j{k}", (0, 0, 1), transform_from_parent=X, position_lower_limit=-limits[k], position_upper_limit=limits[k]
        )
        body = arm.add_body(f"b{k}", joint, body, kido.Inertia(1.0, [0, 0, 0.1], 0.01 * np.eye(3)))
        X = np.array([[1.0, 0, 0, 0], [0, 1 - abs(tilt), -tilt, 0], [0, tilt, 1 - abs(tilt), length], [0, 0, 0, 1.0]])
    assert body is not None
    body.create_node(kido.EndEffector, "tip", X)
    return arm


def reachable(skeleton: kido.Skeleton, node, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random positions within limits (pi where there are none), and the poses of a node there."""
    rng = np.random.default_rng(seed)
    skeleton.state.compiled()
    tree = skeleton.state.tree
    assert tree is not None
    lower, upper = np.maximum(tree.lower, -np.pi), np.minimum(tree.upper, np.pi)
    q = rng.uniform(lower, upper, (count, skeleton.num_dofs))
    held = skeleton.positions
    poses = []
    for x in q:
        skeleton.positions = x
        poses.append(node.world_transform)
    skeleton.positions = held
    return q, np.array(poses)


def errors(skeleton: kido.Skeleton, node, q, target) -> tuple[float, float]:
    """Angle [rad] and distance [m] of a node from a pose at positions q."""
    held = skeleton.positions
    skeleton.positions = q
    X = np.linalg.inv(target) @ node.world_transform
    skeleton.positions = held
    sine = 0.5 * np.array([X[2, 1] - X[1, 2], X[0, 2] - X[2, 0], X[1, 0] - X[0, 1]])
    return float(np.arctan2(np.linalg.norm(sine), 0.5 * (np.trace(X[:3, :3]) - 1.0))), float(np.linalg.norm(X[:3, 3]))
