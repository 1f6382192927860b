"""What people move with the mouse: frames and bodies by a gizmo, bodies by where they are grabbed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.rendering.model import is_mobile
from kido.rendering.rotations import matrix_from_wxyz, wxyz_from_matrix
from kido.skeleton import BodyNode, Frame, SimpleFrame
from kido.skeleton.nodes.node import JacobianNode
from kido.viewer.server import LivePage, ViewerError

Array = NDArray[np.float64]

EXACT = 1e-6  # [rad, m]


class Gizmo:
    """Arrows, planes and rings that people drag.

    Args:
        page: of the viewer.
        name: scene path.
        size: length of the arrows [m].
        moved: called in the model's thread with the pose (4, 4) in the world to which it was dragged.

    Attributes:
        handle: viser's.
        held: whether somebody holds it.
    """

    def __init__(self, page: LivePage, name: str, size: float, moved: Callable[[Array], None]) -> None:
        self.handle = page.server.scene.add_transform_controls(name, scale=size, depth_test=False, line_width=3.0)
        self.held = False
        self._shown: Array | None = None

        async def dragged(event: Any) -> None:  # a coroutine: viser keeps the order of these
            X = np.eye(4)
            X[:3, :3] = matrix_from_wxyz(np.array(event.target.wxyz, float))
            X[:3, 3] = event.target.position
            page.post(lambda held=event.phase != "end": apply(X, held))

        def apply(X: Array, held: bool) -> None:
            self.held, self._shown = held, X
            moved(X)

        self.handle.on_update(dragged)

    def show(self, X: Array) -> None:
        """Put it at a pose (4, 4) in the world, unless somebody holds it."""
        if self.held or (self._shown is not None and np.array_equal(X, self._shown)):
            return
        self._shown = X
        self.handle.position = tuple(X[:3, 3])
        self.handle.wxyz = tuple(wxyz_from_matrix(X[None, :3, :3])[0])


class Reach:
    """Moves the joints above a body so that it, or a point of it, comes to where it is dragged.

    Args:
        node: a body or a node on one.
        point: (3,) in its axes, which alone is led; None: its whole pose is.

    Raises:
        ViewerError: no joint moves it.
    """

    def __init__(self, node: JacobianNode, point: Array | None = None) -> None:
        from kido.ik import InverseKinematics, TaskSpaceRegion

        if not node.dependent_dofs:
            raise ViewerError(f"{node.label} cannot be dragged: no joint moves it.")
        region = TaskSpaceRegion(EXACT if point is None else math.inf, EXACT)
        self._ik = InverseKinematics(node, dofs="body", error_method=region)
        if point is not None:
            offset = np.eye(4)
            offset[:3, 3] = point
            self._ik.offset = offset

    def to(self, X: Array) -> None:
        """Come as near to a pose (4, 4) in the world as can be, and be at rest there."""
        self._ik.target.world_transform = X
        self._ik.solve_and_apply(allow_incomplete_result=True)
        self._ik.skeleton.velocities = np.zeros(self._ik.skeleton.num_dofs)


class Drag:
    """A frame or body that people move by a gizmo on the page, until it is removed; see `Viewer.enable_drag`.

    Attributes:
        frame: what is moved.
        gizmo: what is dragged.
    """

    def __init__(
        self, viewer: LivePage, name: str, frame: Frame, size: float, on_move: Callable[[Any], Any] | None
    ) -> None:
        self.frame = frame
        self.removed = False
        self._viewer, self._on_move = viewer, on_move
        self._reach = Reach(frame) if isinstance(frame, JacobianNode) else None
        if self._reach is None and not isinstance(frame, SimpleFrame):
            raise ViewerError(f"{frame!r} cannot be dragged; expected a kido.SimpleFrame, a body or a node on one.")
        self.gizmo = Gizmo(viewer, name, size, self._moved)
        self.show()

    def _moved(self, X: Array) -> None:
        if self.removed:
            return
        if self._reach is None:
            assert isinstance(self.frame, SimpleFrame)
            self.frame.world_transform = X
        else:
            self._viewer.hold_still()
            self._reach.to(X)
        if self._on_move is not None:
            self._on_move(self.frame)

    def show(self) -> None:
        """Put the gizmo where the frame is, unless somebody holds it."""
        self.gizmo.show(self.frame.world_transform)

    def remove(self) -> None:
        """Take the gizmo off the page; a second call does nothing."""
        if not self.removed:
            self.removed = True
            self.gizmo.handle.remove()


class PullTool:
    """Shift and drag on a body: in a world that runs, a spring from the point that was grabbed to the mouse.

    In a world that is paused, and in a skeleton, the joints above the body let the point follow the mouse.
    """

    def __init__(self, viewer: LivePage) -> None:
        self._viewer = viewer
        self._pulls: dict[int, Any] = {}
        self._reaches: dict[int, Reach] = {}
        self._listens = True

    def attach(self, batch: Any) -> None:
        """Listen to clicks and drags on shapes."""
        if not self._listens:
            return

        async def clicked(event: Any) -> None:
            self._viewer.post(lambda: self._viewer.select(self._body(batch, event)))

        async def dragged(event: Any) -> None:
            body = self._body(batch, event)
            start, end = np.array(event.start_position, float), np.array(event.end_position, float)
            self._viewer.post(lambda: self.drag(event.client_id, body, event.phase, start, end))

        batch.handle.on_click(clicked)
        batch.handle.on_drag("left", modifier="shift")(dragged)

    def detach(self) -> None:
        """Listen no longer: shapes take no clicks from what is drawn over them."""
        self._listens = False
        for batch in self._viewer.view.visual.batches:
            batch.handle.remove_click_callback("all")
            batch.handle.remove_drag_callback("all")

    def _body(self, batch: Any, event: Any) -> Any:
        k = 0 if event.instance_index is None else int(event.instance_index)
        return self._viewer.view.bodies[batch.bodies[k]]

    def drag(self, client: int, body: BodyNode, phase: str, start: Array, end: Array) -> None:
        """A drag of ``body`` from ``start`` to ``end`` (3,) in the world; phase is start, update or end."""
        if phase == "start":
            X = np.asarray(body.world_transform)
            self._grab(client, body, X[:3, :3].T @ (start - X[:3, 3]))
        pull, reach = self._pulls.get(client), self._reaches.get(client)
        if pull is not None:
            pull.target = end
        if reach is not None:
            target = np.eye(4)
            target[:3, 3] = end
            reach.to(target)
        if phase == "end":
            self._reaches.pop(client, None)
            if pull is not None:
                self._viewer.pusher.remove(self._pulls.pop(client))

    def _grab(self, client: int, body: BodyNode, point: Array) -> None:
        viewer = self._viewer
        if viewer.pusher is None or viewer.paused:
            if body.dependent_dofs:
                self._reaches[client] = Reach(body, point)
        elif is_mobile(body.skeleton):
            pull = viewer.pusher.add(body, np.zeros(3), math.inf, point)
            # The spring can carry the whole skeleton, and calms the body that it holds.
            pull.stiffness = 8.0 * viewer.weight(body.skeleton) / viewer.view.body_size
            pull.damping = 2.0 * math.sqrt(pull.stiffness * float(body.inertia.mass))
            self._pulls[client] = pull
