"""A thousand landings on Mars, dispersed, in parallel: where they come down, how, and how long it takes.

    python -m benchmarks.landings [NUMBER [FILE]]

Landings are those of `kido.models.Landing`; results go to the file as they come, and a call that was stopped goes on
where it was. Draws docs/images/landings.webp, the landing ellipse, and docs/images/lander.webp, six moments of the demo
`lander`, and prints the table of docs/guides/demos.md.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from PIL import Image

from benchmarks.timing import machine, table
from kido import demos
from kido.models.landing import dispersed
from kido.rendering import Camera, Pinhole, Renderer, look_at

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PROCESSES = 2
IMAGES = Path(__file__).parent.parent / "docs" / "images"
SHARES = (0.5, 0.99)  # of landings within the ellipses that are drawn
MOMENTS = (2.0, 4.6, 30.0, 39.0, 44.3, 51.0)  # of the demo [s]
SEEN = ((30, -38, 12), (24, -26, 10), (9, -10, 2), (8, -9, 2.5), (7, -8, 2.0), (6, -7, 2.0))  # camera from the hub [m]


def ellipse(x: Any, y: Any, share: float) -> tuple[Any, Any, Any]:
    """Of a normal distribution with the same means and covariance: semi-axes (2,) and points of it (2, 200)."""
    values, axes = np.linalg.eigh(np.cov(x, y))
    radii = np.sqrt(-2.0 * np.log(1.0 - share) * values)
    turn = np.linspace(0.0, 2.0 * np.pi, 200)
    points = axes @ (radii[:, None] * np.array([np.cos(turn), np.sin(turn)]))
    return radii[::-1], *(points + np.array([[np.mean(x)], [np.mean(y)]]))


def draw_ellipse(landings: list[dict[str, float]], path: Path) -> None:
    x, y = (np.array([line[k] for line in landings]) / 1e3 for k in ("x", "y"))
    figure, axis = plt.subplots(figsize=(8, 3.2), dpi=100)
    axis.scatter(x, y, s=5, c=[line["left"] for line in landings], cmap="viridis", zorder=2)
    figure.colorbar(axis.collections[0], label="propellant left [kg]")
    for share in SHARES:
        radii, *points = ellipse(x, y, share)
        axis.plot(*points, color="tab:red", linewidth=1.0)
        label = f"{100 * share:.0f} %: {2 * radii[0]:.0f} km x {2 * radii[1]:.1f} km"
        axis.annotate(
            label,
            (np.mean(x), np.max(points[1])),
            ha="center",
            va="center",
            fontsize=8,
            color="tab:red",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
        )
    axis.plot(0, 0, "k+", markersize=10)
    axis.set(
        xlabel="along the way [km]", ylabel="across [km]", title=f"{len(landings)} landings (axes differ in scale)"
    )
    figure.tight_layout()
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    memory = io.BytesIO()
    figure.savefig(memory, format="png")
    Image.open(memory).convert("RGB").save(path, quality=75, method=6)
    plt.close(figure)


def draw_moments(path: Path) -> None:
    """Pictures of the demo, the camera beside the lander, with height and speed as its page has them."""
    demo, last = demos.load("lander"), 0.0
    hub = demo.model.skeleton("lander").body("hub")
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 4.6), dpi=80)
    for axis, moment, away in zip(axes.ravel(), MOMENTS, SEEN, strict=True):
        demo.run(moment - last)
        last = moment
        at = hub.world_transform[:3, 3] + ((0, 0, 6.0) if moment < 10.0 else (0, 0, 0.2))
        camera = Camera(Pinhole(384, 264, fov=0.9), look_at(at + away, at))
        axis.imshow(Renderer(demo.model, oversampling=3, shadows=True).render(camera, kinds=("color",)).color)
        read = demo.read()
        axis.set_title(
            f"{read['it is']}, {float(read['height [m]']):.4g} m, {float(read['speed [m/s]']):.1f} m/s", size=8
        )
        axis.set(xticks=[], yticks=[])
    figure.tight_layout()
    save(figure, path)


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(folder, "landings.jsonl")
        known = len(path.read_text().splitlines()) if path.exists() else 0
        start = time.perf_counter()
        landings = dispersed(number, path, processes=PROCESSES)
        wall = time.perf_counter() - start
    print(machine())
    if known < number:
        print(
            f"{number - known} landings in {wall:.0f} s by {PROCESSES} processes, {wall / (number - known):.2f} s each"
        )
    x, y = (np.array([line[k] for line in landings]) / 1e3 for k in ("x", "y"))
    radii = ellipse(x, y, 0.99)[0]
    rows = [
        [
            "landed on their legs, at rest",
            f"{sum(k['phase'] == 3 and k['speed'] < 0.05 for k in landings)} of {number}",
        ],
        ["ellipse of 99 %", f"{2 * radii[0]:.1f} km x {2 * radii[1]:.2f} km"],
    ]
    for label, key, scale in (
        ("lean [deg]", "lean", 180.0 / np.pi),
        ("propellant left of 60 [kg]", "left", 1.0),
        ("parachute to rest [s]", "time", 1.0),
    ):
        values = scale * np.array([line[key] for line in landings])
        rows.append(
            [f"{label}, least, mean, most", " ".join(f"{v:.1f}" for v in (values.min(), values.mean(), values.max()))]
        )
    print(table(["", ""], rows))
    draw_ellipse(landings, IMAGES / "landings.webp")
    draw_moments(IMAGES / "lander.webp")


if __name__ == "__main__":
    main()
