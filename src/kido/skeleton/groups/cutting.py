"""The small skeleton that stands for a subgraph, and its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.math.transform import inverse_transform
from kido.skeleton.inertia import Inertia
from kido.skeleton.joints.types import FreeJoint, WeldJoint
from kido.skeleton.naming import free_name
from kido.skeleton.state.loads import row_seen_from

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.groups.subgraph import Subgraph
    from kido.skeleton.skeleton import Skeleton


class Cut:
    """A skeleton made of copies of a subgraph's bodies.

    Attributes:
        model: the skeleton.
        twins: the copy of each body.
        boundary: the body that stands for the inboard one; None where the base hangs on the world.
        frozen: for each outboard body, the bodies welded in its place: with gravity, and without, where there are any.
    """

    def __init__(self, subgraph: Subgraph):
        host = subgraph.skeleton
        self._key = _key(host)
        copies = host.clone().parts.bodies
        inside = set(subgraph.bodies)
        self.twins: dict[BodyNode, BodyNode] = {body: copies[body.index] for body in subgraph.bodies}
        names = {body.parent_joint.name for body in inside}
        for copy in copies:
            own = copy.parent_joint
            own._mimics = [m if m and m.joint in names and own.name in names else None for m in own._mimics]
        for child in subgraph.outboard_bodies:
            copies[child.index].remove()
        base = self.twins[subgraph.base]
        self.model: Skeleton = base.split(subgraph.name)
        self.boundary: BodyNode | None = None
        if subgraph.inboard is not None:
            self._add_boundary(base)
        self.frozen: dict[BodyNode, list[tuple[bool, BodyNode]]] = {}
        outside = [b for child in subgraph.outboard_bodies for b in child.subtree]
        self._outside = np.array([dof.index for b in outside for dof in b.parent_joint.dofs], np.intp)
        self._positions: bytes | None = None
        if subgraph.outboard == "frozen":
            self._add_frozen(subgraph)

    def _add_boundary(self, base: BodyNode) -> None:
        model = self.model
        name = free_name(
            "boundary", {*model.parts.body_by_name, *model.parts.joint_by_name, *(d.name for d in model.parts.dofs)}
        )
        whole = type(model)(model.name)
        whole.gravity = model.gravity
        joint = FreeJoint(name, actuator_type="ACCELERATION")
        self.boundary = whole.add_body(name, joint)
        base.move_to(self.boundary)
        self.model = whole

    def _add_frozen(self, subgraph: Subgraph) -> None:
        model = self.model
        carriers = {child: body for body in subgraph.bodies for child in body.children}
        for child in subgraph.outboard_bodies:
            carrier = self.twins[carriers[child]]
            made = []
            for falls in sorted({b.gravity for b in child.subtree}):
                name = free_name(f"{child.name} (frozen)", {*model.parts.body_by_name, *model.parts.joint_by_name})
                body = model.add_body(name, WeldJoint(name), carrier)
                body._gravity = falls
                made.append((falls, body))
            self.frozen[child] = made

    def fits(self, subgraph: Subgraph) -> bool:
        """Whether the skeleton is as it was when this was made, but for its state."""
        return self._key == _key(subgraph.skeleton)

    def update(self, subgraph: Subgraph) -> None:
        """Bring the state of the model up to that of the skeleton."""
        host, model = subgraph.skeleton, self.model
        (part,) = subgraph.shares
        m = 0 if self.boundary is None else 6
        self._freeze(host)
        for body in host.soft_bodies:
            twin: Any = self.twins.get(body)
            if twin is not None:
                twin.skin.state = body.skin.state
        state = np.zeros((4, model.num_dofs))
        for row, name in enumerate(("positions", "velocities", "accelerations", "forces")):
            state[row, m:] = getattr(host, name)[part.dofs]
        if subgraph.inboard is not None:
            state[:3, :m] = _motion_of(subgraph.inboard)
        if not np.array_equal(model.gravity, host.gravity):
            model.gravity = host.gravity
        model.positions, model.velocities, model.accelerations, model.forces = state
        if self.boundary is not None:
            self.boundary.parent_joint.commands = state[2, :m]
        self._load(host)

    def _freeze(self, host: Skeleton) -> None:
        """Inertias of the frozen bodies at the skeleton's positions, in the frames of those that carry them."""
        if not self.frozen:
            return
        points = [b.skin.q for b in host.soft_bodies if b not in self.twins]
        key = b"".join(numbers.tobytes() for numbers in (host.positions[self._outside], *points))
        if key == self._positions:
            return
        self._positions = key
        composite, deformed = host.composite_inertias, host.current_state.deformed
        own_inertias = None if deformed is None else deformed.own_inertias()
        for child, made in self.frozen.items():
            back = inverse_transform(child.parent_frame.world_transform)
            if len(made) == 1:
                made[0][1].inertia = _rigid(composite[child.index], child.world_transform[:3, 3], back)
                continue
            for falls, body in made:
                total = Inertia()
                for b in child.subtree:
                    own = b.present_inertia
                    if own_inertias is not None and b.gravity == falls:
                        total = total + _rigid(own_inertias[b.index], b.world_transform[:3, 3], back)
                    elif b.gravity == falls and (own.mass > 0.0 or own.moment.any()):
                        total = total + own.transformed(back @ b.world_transform)
                body.inertia = total

    def _load(self, host: Skeleton) -> None:
        """External forces of the bodies, and of the frozen ones on what stands for them."""
        rows: dict[int, np.ndarray] = {}
        applied = host.current_state.applied
        if applied:
            rows = {self.twins[b].index: applied[b.index].copy() for b in self.twins if b.index in applied}
            for child, made in self.frozen.items():
                for b in child.subtree:
                    if b.index in applied:
                        X = inverse_transform(child.parent_frame.world_transform) @ b.world_transform
                        index = made[0][1].index
                        rows[index] = rows.get(index, np.zeros(24)) + row_seen_from(applied[b.index], X)
        model = self.model
        if rows or model.current_state.applied:
            model.current_state.set_external(rows)


def _rigid(composite: np.ndarray, p: np.ndarray, X: np.ndarray) -> Inertia:
    """Inertia, in a frame in which the world has the pose X, of a 6x6 one about a point p of the world."""
    m = float(composite[3, 3])
    c = np.array([composite[2, 4], composite[0, 5], composite[1, 3]]) / m if m > 0.0 else np.zeros(3)
    moment = composite[:3, :3] - m * (c @ c * np.eye(3) - np.outer(c, c))
    R = X[:3, :3]
    return Inertia(m, R @ (p + c) + X[:3, 3], R @ moment @ R.T)


def _key(host: Skeleton) -> tuple[int, int]:
    return host.structure_version, host.version


def _motion_of(body: BodyNode) -> np.ndarray:
    """Positions, velocities and accelerations (3, 6) of a free joint that moves as a body does."""
    X, V = body.world_transform, body.spatial_velocity
    R = X[:3, :3]
    rate = body.linear_acceleration() - np.cross(V[:3], V[3:])
    return np.array([
        FreeJoint.from_transform(X),
        np.concatenate([R.T @ V[:3], R.T @ V[3:]]),
        np.concatenate([R.T @ body.angular_acceleration(), R.T @ rate]),
    ])  # fmt: skip
