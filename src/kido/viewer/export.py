"""Motions as a page that plays in a browser without KIDO, and as film."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from kido.attributes import named_arguments
from kido.rendering.deforming import Deformation, modal_columns
from kido.rendering.model import Model, body_labels, skeletons_of
from kido.viewer.camera import CameraPose, set_initial_camera
from kido.viewer.film import Film, check_writable, write_whole
from kido.viewer.painting import Painter, check_size
from kido.viewer.scene import SceneView
from kido.viewer.server import ViewerError, quiet, require_viser, start_server, stop_server
from kido.viewer.trajectory import Trajectory
from kido.viewer.webpage import with_script


def check_fit(model: Model, trajectory: Trajectory) -> None:
    """Refuse a trajectory whose bodies are not the model's."""
    names = body_labels(model)
    if trajectory.num_bodies != len(names):
        raise ViewerError(f"The trajectory has {trajectory.num_bodies} bodies, the model {len(names)}.")
    for k, (a, b) in enumerate(zip(trajectory.names, names, strict=False)):
        if a != b:
            raise ViewerError(f"Body {k} is {a!r} in the trajectory and {b!r} in the model.")
    modes = len(modal_columns(skeletons_of(model)))
    if trajectory.modes is not None and trajectory.modes.shape[1] != modes:
        raise ViewerError(f"The trajectory has {trajectory.modes.shape[1]} modes, the model {modes}.")


@named_arguments
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
    deformation: Deformation | None = None,
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
        aspect: width by height of the window that the first camera is made for; in a narrower one it stands farther
            away.
        title: title of the page.
        deformation: how flexible bodies are shown.
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
    check_writable(target)
    page = page_of(model, trajectory, fps, show, camera, aspect, title, deformation, progress)
    write_whole(target, page.encode("utf-8"))
    return target


class EmbeddedPage:
    """A page that :func:`embed_html` made.

    Attributes:
        page: its HTML.
        height: of the frame in which a notebook shows it, in pixels.
    """

    def __init__(self, page: str, height: int) -> None:
        self.page, self.height = page, int(height)

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #ccc"
        return f'<iframe srcdoc="{html.escape(self.page)}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"EmbeddedPage({len(self.page):,} characters)"


def embed_html(
    model: Model, trajectory: Trajectory | None = None, *, height: int = 500, **options: Any
) -> EmbeddedPage:
    """What :func:`export_html` writes, for a notebook, which shows it if it is the last expression of a cell.

    It needs no running program, and is kept with the notebook.

    Args:
        model: World or Skeleton; not changed.
        trajectory: its motion; None for a still page of the present pose.
        height: of the frame, in pixels.
        **options: of `export_html`.

    Example:
        >>> kido.viewer.embed_html(world, kido.viewer.TrajectorySampler(world).run(2.0))
    """
    if trajectory is not None:
        check_fit(model, trajectory)
    given = {name: p.default for name, p in signature(export_html).parameters.items() if p.kind is p.KEYWORD_ONLY}
    for name in options:
        if name not in given:
            raise ViewerError(f"embed_html: there is no option {name!r}; there are height, {', '.join(given)}.")
    return EmbeddedPage(page_of(model, trajectory, **{**given, **options}), height)


def page_of(
    model: Model,
    trajectory: Trajectory | None,
    fps: float | None,
    show: tuple[str, ...],
    camera: CameraPose | None,
    aspect: float,
    title: str | None,
    deformation: Deformation | None,
    progress: Callable[[int, int], None] | None,
) -> str:
    """The page that :func:`export_html` writes."""
    if trajectory is not None and fps is not None:
        trajectory = trajectory.at_rate(fps)
    motion = Trajectory.still(model) if trajectory is None else trajectory
    server = start_server(0)
    try:
        view = motion_view(server, model, motion, show, deformation)
        view.update(*motion.frame(0))
        set_initial_camera(server, camera or view.home(aspect=aspect, frames=key_frames(motion)))
        serializer = server.get_scene_serializer()
        for k in range(1, motion.num_frames):
            serializer.insert_sleep(float(motion.times[k] - motion.times[k - 1]))
            view.update(*motion.frame(k))
            if progress is not None:
                progress(k + 1, motion.num_frames)
        if motion.num_frames > 1:
            # The last frame stays for a moment before the loop begins anew.
            serializer.insert_sleep(min(0.5, 0.2 * motion.duration))
        with quiet():
            page = serializer.as_html()
    finally:
        stop_server(server)
    return with_script(page, title or getattr(model, "name", None) or "model", aspect)


def motion_view(
    server: Any, model: Model, motion: Trajectory, show: tuple[str, ...], deformation: Deformation | None = None
) -> SceneView:
    """A model in a scene, with room for the contacts of its motion, and colours that reach its values."""
    view = SceneView(server, model, show=show, poses=(motion.positions[0], motion.wxyz[0]), deformation=deformation)
    for eta in () if motion.modes is None else motion.modes:
        view.deforming.see(eta)
    view.contacts.reserve(max((len(points) for points, _ in motion.contacts), default=0))
    return view


def key_frames(motion: Trajectory, count: int = 9) -> list[tuple[np.ndarray, np.ndarray]]:
    """A few frames of a motion that its camera should see."""
    index = np.unique(np.linspace(0, motion.num_frames - 1, count).round().astype(int))
    return [(motion.positions[k], motion.wxyz[k]) for k in index]


@named_arguments
def export_film(
    model: Model,
    trajectory: Trajectory,
    path: str | os.PathLike,
    *,
    fps: float = 30.0,
    size: tuple[int, int] = (1280, 720),
    speed: float = 1.0,
    show: tuple[str, ...] = ("model", "ground", "contacts"),
    camera: CameraPose | None = None,
    deformation: Deformation | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write a motion as a film, drawn by `kido.rendering`: no browser is needed.

    Args:
        model: World or Skeleton; not changed.
        trajectory: its motion.
        path: file to write, ending in .mp4, .webp or .gif; written whole or not at all.
        fps: frames per second of the film.
        size: width and height in pixels, of MP4 both even.
        speed: simulated seconds per second of film.
        show: layers, of ``kido.viewer.scene.LAYERS``.
        camera: where it is seen from; None shows the whole motion.
        deformation: how flexible bodies are shown.
        progress: called with the number of frames done and their total.

    Raises:
        MissingExtraError: viser is not installed.
        ViewerError: no ffmpeg for MP4, a trajectory of another model, or a file that cannot be written.
    """
    require_viser()
    size = check_size(size)
    check_fit(model, trajectory)
    with Film(path, size, fps) as film:
        motion = trajectory.at_rate(fps / speed)
        server = start_server(0)
        painter = Painter(server)
        try:
            view = motion_view(server, model, motion, show, deformation)
            pose = camera or view.home(aspect=size[0] / size[1], frames=key_frames(motion))
            due = motion.times[0] + np.arange(int(motion.duration * fps / speed + 1e-9) + 1) * speed / fps
            index = np.clip(np.searchsorted(motion.times, due - 1e-9), 0, motion.num_frames - 1)
            for k, frame in enumerate(index):
                view.update(*motion.frame(frame))
                film.add(painter.picture(pose, size, view.up, view.extent))
                if progress is not None:
                    progress(k + 1, len(index))
        finally:
            stop_server(server)
    return Path(path)
