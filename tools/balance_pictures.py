"""Pictures of the demo `balance`, side by side: docs/images/balance.png.

A push to the left that ankles and upper body survive, and below it one forwards, 3.2 times as hard as the tutorial's,
that the program for the whole body does.

python tools/balance_pictures.py
"""

from __future__ import annotations

import tempfile
from itertools import islice
from pathlib import Path

import imageio.v3 as iio
import numpy as np

from kido import demos
from kido.viewer import CameraPose, export_film

TARGET = Path(__file__).parents[1] / "docs" / "images" / "balance.png"
SCENES = (("A", "3", 1.0, (3.4, 0.3, 1.2)), ("W", "1", 3.2, (0.3, -3.4, 1.2)))  # law, push, how hard, seen from
EVERY, FRAMES, SIZE = 0.3, 6, (200, 300)


def main() -> None:
    """Press keys, run, and draw a few frames."""
    rows = []
    for law, key, hard, place in SCENES:
        demo = demos.load("balance")
        demo.press(law)
        demo.slide("Push, times as hard", hard)
        demo.run(0.5)
        demo.press(key)
        motion = demo.run(EVERY * (FRAMES - 1))
        with tempfile.TemporaryDirectory() as folder:
            camera = CameraPose(np.array(place), np.array([0.0, 0.0, 0.85]), fov=0.6)
            film = export_film(demo.model, motion, Path(folder) / "a.webp", fps=1 / EVERY, size=SIZE, camera=camera)
            rows.append(np.concatenate([frame[..., :3] for frame in islice(iio.imiter(film), FRAMES)], axis=1))
    iio.imwrite(TARGET, np.concatenate(rows, axis=0))
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
