"""Motions as MP4."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kido.viewer.browser import check_size, find_browser
from kido.viewer.camera import CameraPose
from kido.viewer.export import check_fit, key_frames
from kido.viewer.film import Film
from kido.viewer.model import Model
from kido.viewer.renderer import Renderer
from kido.viewer.scene import SceneView
from kido.viewer.server import require_viser, start_server, stop_server
from kido.viewer.trajectory import Trajectory


def export_mp4(
    model: Model,
    trajectory: Trajectory,
    path: str | os.PathLike,
    *,
    fps: float = 30.0,
    size: tuple[int, int] = (1280, 720),
    speed: float = 1.0,
    show: tuple[str, ...] = ("model", "ground", "contacts"),
    camera: CameraPose | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write a motion as a film, drawn by a headless Chromium.

    A frame takes 1 to 3 s at 1280 x 720 where the browser draws in software, far less with a graphics card.

    Args:
        model: World or Skeleton; not changed.
        trajectory: its motion.
        path: file to write, ending in .mp4; written whole or not at all.
        fps: frames per second of the film.
        size: width and height in pixels, both even.
        speed: simulated seconds per second of film.
        show: layers, of ``kido.viewer.scene.LAYERS``.
        camera: where it is seen from; None shows the whole motion.
        progress: called with the number of frames done and their total.

    Raises:
        MissingExtraError: viser is not installed.
        ViewerError: no browser, no ffmpeg, a trajectory of another model, or a file that cannot be written.
    """
    require_viser()
    find_browser()
    size = check_size(size)
    check_fit(model, trajectory)
    with Film(path, size, fps) as film:
        motion = trajectory.at_rate(fps / speed)
        server = start_server(0)
        renderer = Renderer(server)
        try:
            view = SceneView(server, model, show=show, poses=(motion.positions[0], motion.wxyz[0]))
            view.contacts.reserve(max((len(points) for points, _ in motion.contacts), default=0))
            pose = camera or view.home(aspect=size[0] / size[1], frames=key_frames(motion))
            due = motion.times[0] + np.arange(int(motion.duration * fps / speed + 1e-9) + 1) * speed / fps
            index = np.clip(np.searchsorted(motion.times, due - 1e-9), 0, motion.num_frames - 1)
            for k, frame in enumerate(index):
                view.update(
                    motion.positions[frame],
                    motion.wxyz[frame],
                    motion.contacts[frame] if motion.contacts else None,
                    motion.skin(frame),
                )
                film.add(renderer.picture(pose, size))
                if progress is not None:
                    progress(k + 1, len(index))
        finally:
            renderer.close()
            stop_server(server)
    return Path(path)
