"""Pictures of a target that is dragged in a headless Chromium, side by side: docs/images/ik_drag.png.

python tools/drag_pictures.py
"""

from __future__ import annotations

import io
import time
from pathlib import Path

import imageio.v3 as iio
import numpy as np

from kido.cli.ik import hierarchy
from kido.cli.loading import load_model
from kido.rendering.rotations import matrix_from_wxyz
from kido.skeleton import Skeleton
from kido.viewer import Viewer
from kido.viewer.browser import Page

TARGET = Path(__file__).parents[1] / "docs" / "images" / "ik_drag.png"
EFFECTOR, PIXELS, PICTURES = "right_hand", 200, 3


def main() -> None:
    """Drag a hand of the humanoid upwards, and take pictures on the way."""
    model = load_model("humanoid")
    assert isinstance(model, Skeleton)
    whole = hierarchy(model)
    with Viewer(model, 0) as viewer:
        viewer.add_targets(whole)
        viewer.spin()
        target = next(t for t in viewer.targets if t.ik.node.name == EFFECTOR)
        X = target.ik.target.world_transform
        tip = X[:3, 3] + 0.88 * target.gizmo.handle.scale * X[:3, 2]
        viewer.start()
        with Page(viewer.url, (1280, 800)) as page:
            time.sleep(10.0)
            camera = viewer.camera
            width = page.evaluate("document.querySelector('canvas').getBoundingClientRect().width")
            p = matrix_from_wxyz(camera.wxyz).T @ (tip - camera.position)
            f = 400.0 / np.tan(0.5 * camera.fov)
            x, y = width / 2 + f * p[0] / p[2], 400.0 + f * p[1] / p[2]
            pictures = [page.png()]
            page.mouse("pressed", x, y)
            for k in range(1, PICTURES):
                for part in np.linspace(k - 1, k, 11)[1:] / (PICTURES - 1):
                    page.mouse("moved", x, y - PIXELS * part)
                    time.sleep(0.2)
                time.sleep(3.0)
                pictures.append(page.png())
            page.mouse("released", x, y - PIXELS)
    middle = int(width) // 2
    strips = [iio.imread(io.BytesIO(data))[:, middle - 280 : middle + 280, :3] for data in pictures]
    whole_strip = np.concatenate(strips, axis=1)
    small = whole_strip.reshape(400, 2, -1, 2, 3).mean(axis=(1, 3)).astype(np.uint8)
    iio.imwrite(TARGET, small)
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
