"""Pictures of applications: tiles of docs/images/demos.webp, and the drive on sand, docs/images/rover_on_soil.webp.

python tools/demo_pictures.py balance lander    puts tiles into demos.webp, in place of their own or at the end
python tools/demo_pictures.py moments tire      moments of one, into NAME.webp
python tools/demo_pictures.py sheet             drives 100 m on sand: six moments, and what slip and energy were
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import ArrayLike

from kido import demos
from kido.rendering import Camera, Deformation, Pinhole, Renderer, look_at

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH, HEIGHT, COLUMNS = 320, 210, 4  # of a tile [px]
# In the order of demos.webp: names of tiles that are there, then those that may be made, with the time and the camera.
NAMES = [
    *("chain", "boxes", "hand", "hybrid", "ik", "motion_analysis", "multi_pendulum", "collisions", "dominoes"),
    *("biped_stand", "joint_constraints", "box_stacking", "human_puppet", "atlas_puppet", "balance", "rover"),
    *("rover_on_soil", "lander", "spacecraft", "tire", "door", "learn", "satellite"),
]
VIEWS = {  # time [s], camera and what it looks at [m], from the origin of a body if one is named
    "balance": (1.5, (2.2, -2.2, 1.5), (0.0, 0.0, 0.85), None),
    "rover": (8.0, (0.9, -2.6, 1.5), (2.4, 0.4, 0.35), None),
    "rover_on_soil": (30.0, (-1.2, -2.6, 1.3), (0.3, 0.0, -0.1), "chassis"),
    "lander": (39.0, (5.2, -5.8, 2.0), (0.0, 0.0, -0.2), "hub"),
    "spacecraft": (45.0, (9.0, 11.0, 8.0), (-4.0, 0.0, -1.0), "hub"),
    "tire": (24.6, (-0.1, -2.2, 1.7), (1.1, 0.1, 0.7), None),
    "door": (5.0, (-1.5, -2.0, 2.2), (0.7, 0.0, 0.8), None),
    "learn": (0.55, (0.6, -3.2, 0.9), (0.0, 0.0, 0.35), None),
    "satellite": (3.0, (5.0, -11.0, 5.0), (0.0, 0.0, -0.4), None),
}
# Times, and where from and at what one looks.
MOMENTS = {
    "tire": ((6.0, 16.5, 24.6, 27.4, 34.0, 38.5, 43.0, 59.0), (-0.8, -3.2, 2.1), (1.05, 0.0, 0.65)),
    "door": ((1.5, 3.7, 5.0, 6.4), (-1.5, -2.0, 2.2), (0.7, 0.0, 0.8)),
    "satellite": ((1.0, 3.0, 5.0, 7.5), (6.5, -14.3, 6.4), (0.0, 0.0, -0.2)),
}
PRESSED = {"spacecraft": ("V", "3"), "satellite": ("1",)}  # at the start
LOOKS = {"satellite": Deformation(5.0, "strain", 8e-4)}  # of flexible bodies


def picture(
    world: object, place: ArrayLike, target: ArrayLike, size: tuple[int, int], look: Deformation | None = None
) -> np.ndarray:
    """(height, width, 3) of a world as it is."""
    camera = Camera(Pinhole(*size, fov=0.75), look_at(place, target))
    color = Renderer(world, oversampling=3, shadows=True, deformation=look).render(camera, kinds=("color",)).color
    assert color is not None
    return color


def tile(name: str) -> np.ndarray:
    """Of an application at a moment."""
    seconds, place, target, body = VIEWS[name]
    demo = demos.load(name)
    for key in PRESSED.get(name, ()):
        demo.press(key)
    demo.run(seconds)
    bodies = [b for skeleton in demo.skeletons for b in skeleton.bodies if b.name == body]
    at = bodies[0].world_transform[:3, 3] if bodies else np.zeros(3)
    return named(picture(demo.model, at + place, at + target, (WIDTH, HEIGHT), LOOKS.get(name)), name)


def named(image: np.ndarray, text: str) -> np.ndarray:
    """With a text in the corner."""
    from PIL import Image, ImageDraw, ImageFont

    made = Image.fromarray(image)
    font = ImageFont.truetype(str(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")), 14)
    ImageDraw.Draw(made).text((8, 6), text, fill=(20, 20, 20), font=font)
    return np.asarray(made)


def put_tiles(names: list[str]) -> None:
    """Into demos.webp."""
    import imageio.v3 as iio

    path = IMAGES / "demos.webp"
    whole = np.array(iio.imread(path)[..., :3])
    for name in names:
        row, column = divmod(NAMES.index(name), COLUMNS)
        missing = (row + 1) * HEIGHT - len(whole)
        if missing > 0:
            whole = np.vstack([whole, np.full((missing, whole.shape[1], 3), 255, np.uint8)])
        whole[row * HEIGHT : (row + 1) * HEIGHT, column * WIDTH : (column + 1) * WIDTH] = tile(name)
    iio.imwrite(path, whole, quality=80)


def moments(name: str) -> None:
    """Of an application, into a picture of its own."""
    import imageio.v3 as iio

    times, place, target = MOMENTS[name]
    demo, made, last = demos.load(name), [], 0.0
    for key in PRESSED.get(name, ()):
        demo.press(key)
    for seconds in times:
        demo.run(seconds - last)
        last = seconds
        text = f"{seconds:g} s {demo.read().get('phase', '')}"
        made.append(named(picture(demo.model, place, target, (WIDTH, HEIGHT), LOOKS.get(name)), text))
    rows = [np.hstack(made[k : k + COLUMNS]) for k in range(0, len(made), COLUMNS)]
    iio.imwrite(IMAGES / f"{name}.webp", np.vstack(rows), quality=75)


def sheet(length: float = 100.0) -> None:
    """Of the drive on sand."""
    import imageio.v3 as iio

    from kido.demos.rover_on_soil import vehicle

    system, _, drives, wheels = vehicle()
    world = system.world
    assert world is not None
    chassis = world.skeleton("rover").body("chassis")
    place, way, rows, pictures = chassis.world_transform[:3, 3].copy(), 0.0, [], []
    while way < length:
        world.step(100)
        now = chassis.world_transform[:3, 3].copy()
        way, place = way + float(np.linalg.norm(now - place)), now
        slip = np.mean([wheel["contact.slip"].value for wheel in wheels])
        rows.append((way, slip, sum(drive["meter.energy"].value for drive in drives), now[2]))
        if way >= (len(pictures) + 0.5) * length / 6.0:
            image = picture(world, now + np.array([-1.2, -2.6, 1.3]), now + np.array([0.3, 0.0, -0.1]), (WIDTH, HEIGHT))
            pictures.append(named(image, f"{way:.0f} m, {world.time:.0f} s, slip {slip:.2f}"))
    way, slip, energy, height = np.array(rows).T
    print(f"{way[-1]:.1f} m in {world.time:.0f} s, mean slip {slip.mean():.3f}, {energy[-1]:.0f} J")
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 2.1), dpi=100, layout="constrained")
    for axis, values, label in zip(
        axes, (height, slip, energy / 1e3), ("height [m]", "slip", "energy [kJ]"), strict=True
    ):
        axis.plot(way, values, linewidth=0.9)
        axis.set(xlabel="way [m]", ylabel=label)
    figure.canvas.draw()
    plots = np.asarray(figure.canvas.buffer_rgba())[..., :3]  # type: ignore[attr-defined]
    whole = np.vstack([np.hstack(pictures[:3]), np.hstack(pictures[3:]), plots])
    iio.imwrite(IMAGES / "rover_on_soil.webp", whole, quality=70)


if __name__ == "__main__":
    matplotlib.use("agg")
    if sys.argv[1:] == ["sheet"]:
        sheet()
    elif sys.argv[1:2] == ["moments"]:
        moments(sys.argv[2])
    else:
        put_tiles(sys.argv[1:])
