"""Motions as a page that plays in a browser without KIDO, and as film."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kido.viewer.camera import CameraPose
from kido.viewer.model import Model, body_labels
from kido.viewer.scene import SceneView
from kido.viewer.server import ViewerError, quiet, start_server, stop_server
from kido.viewer.trajectory import Trajectory


def check_fit(model: Model, trajectory: Trajectory) -> None:
    """Refuse a trajectory whose bodies are not the model's."""
    names = body_labels(model)
    if trajectory.num_bodies != len(names):
        raise ViewerError(f"The trajectory has {trajectory.num_bodies} bodies, the model {len(names)}.")
    for k, (a, b) in enumerate(zip(trajectory.names, names, strict=False)):
        if a != b:
            raise ViewerError(f"Body {k} is {a!r} in the trajectory and {b!r} in the model.")


def export_html(
    model: Model,
    trajectory: Trajectory | None,
    path: str | os.PathLike,
    *,
    fps: float | None = 30.0,
    show: tuple[str, ...] = ("model", "ground", "contacts"),
    camera: CameraPose | None = None,
    aspect: float = 1.6,
    title: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write a page that shows a model, and plays its motion in a loop, offline.

    The page is one file and fetches nothing. It has a time line, pause, speed, and a list of the parts of the
    scene (model, contacts, ground, ...) that can be hidden.

    Args:
        model: World or Skeleton; not changed.
        trajectory: its motion; None for a still page of the present pose.
        path: file to write; written whole or not at all.
        fps: frames per second kept; None keeps all. A body costs 28 bytes a frame before compression.
        show: layers of the page, of ``kido.viewer.scene.LAYERS``.
        camera: first camera; None shows the whole motion.
        aspect: width by height of the window that the first camera is made for.
        title: title of the page.
        progress: called with the number of frames written and their total.

    Returns:
        Path of the page.

    Raises:
        MissingExtraError: viser is not installed.
        ViewerError: the trajectory is not one of this model, or the file cannot be written.
    """
    target = Path(path)
    if trajectory is not None:
        check_fit(model, trajectory)
        if fps is not None:
            trajectory = trajectory.at_rate(fps)
    motion = Trajectory.still(model) if trajectory is None else trajectory
    check_writable(target)
    server = start_server(0)
    try:
        view = SceneView(server, model, show=show, poses=(motion.positions[0], motion.wxyz[0]))
        most = max((len(points) for points, _ in motion.contacts), default=0)
        view.contacts.reserve(most)
        view.update(
            motion.positions[0], motion.wxyz[0], motion.contacts[0] if motion.contacts else None, motion.skin(0)
        )
        set_initial_camera(server, camera or view.home(aspect=aspect, frames=key_frames(motion)))
        serializer = server.get_scene_serializer()
        for k in range(1, motion.num_frames):
            serializer.insert_sleep(float(motion.times[k] - motion.times[k - 1]))
            view.update(
                motion.positions[k], motion.wxyz[k], motion.contacts[k] if motion.contacts else None, motion.skin(k)
            )
            if progress is not None:
                progress(k + 1, motion.num_frames)
        if motion.num_frames > 1:
            # The last frame stays for a moment before the loop begins anew.
            serializer.insert_sleep(min(0.5, 0.2 * motion.duration))
        with quiet():
            html = serializer.as_html()
    finally:
        stop_server(server)
    name = title or getattr(model, "name", None) or "model"
    html = html.replace("<title>Viser</title>", f"<title>{_escape(f'{name} · KIDO')}</title>", 1)
    write_whole(target, html.encode("utf-8"))
    return target


def key_frames(motion: Trajectory, count: int = 9) -> list[tuple[np.ndarray, np.ndarray]]:
    """A few frames of a motion that its camera should see."""
    index = np.unique(np.linspace(0, motion.num_frames - 1, count).round().astype(int))
    return [(motion.positions[k], motion.wxyz[k]) for k in index]


def set_initial_camera(server: Any, pose: CameraPose) -> None:
    """Camera of pages that are opened from now on."""
    camera = server.initial_camera
    camera.position, camera.look_at, camera.up, camera.fov = pose.position, pose.target, pose.up, pose.fov
    distance = float(np.linalg.norm(pose.position - pose.target))
    camera.near, camera.far = max(1e-3 * distance, 1e-4), max(1000.0, 200.0 * distance)


def check_writable(target: Path) -> None:
    if target.is_dir():
        raise ViewerError(f"Cannot write {str(target)!r}: it is a directory.")
    if not target.parent.is_dir():
        raise ViewerError(f"Cannot write {str(target)!r}: there is no directory {str(target.parent)!r}.")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise ViewerError(f"Cannot write {str(target)!r}: no permission.")


def write_whole(target: Path, data: bytes) -> None:
    """Write a file beside its place and move it there, so that it is never seen half written."""
    check_writable(target)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise ViewerError(f"Cannot write {str(target)!r}: {error.strerror or error}.") from error


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
