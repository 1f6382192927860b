"""Images of one world by KIDO and by MuJoCo: how many a second, how far depths are apart, and both side by side.

    python -m benchmarks.images [--image docs/images/images_peers.webp]

The bundled quadruped on the ground, written by KIDO and read by MuJoCo, seen by one camera. MuJoCo draws by EGL,
without shadows and reflections, as KIDO does where nothing else is said. Rounds take turns; the best counts.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kido
from benchmarks.timing import machine, table
from kido.rendering import Camera, Pinhole, Renderer, look_at

STATES = 200
ROUNDS = 5


def meadow() -> tuple[kido.World, Any]:
    """The world, and where its camera looks."""
    robot = kido.load_skeleton(kido.models.path("quadruped"))
    world = kido.World("meadow")
    world.add_skeleton(robot)
    world.add_ground(min(body.world_transform[2, 3] for body in robot.bodies) - 0.03)
    return world, look_at((1.1, -0.9, 0.6), robot.com)


def in_mujoco(world: kido.World, camera: Camera) -> tuple[Any, Any]:
    """Model and data of the same world, with the camera "eye"."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    import mujoco

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "meadow.xml")
        kido.save(world, path)
        text = path.read_text()
    X = camera.opengl_transform
    place, axes = (" ".join(map(repr, x.tolist())) for x in (X[:3, 3], np.r_[X[:3, 0], X[:3, 1]]))
    eye = f'<camera name="eye" pos="{place}" xyaxes="{axes}" fovy="{float(np.rad2deg(camera.lens.fov))!r}"/>'
    model = mujoco.MjModel.from_xml_string(text.replace("<worldbody>", f"<worldbody>{eye}", 1))
    data = mujoco.MjData(model)
    model.vis.headlight.ambient, model.vis.headlight.diffuse = (
        [0.4] * 3,
        [0.8] * 3,
    )  # its files have lights of their own
    mujoco.mj_forward(model, data)
    return model, data


class Theirs:
    """MuJoCo's renderer, with states set in turn."""

    def __init__(self, model: Any, data: Any, lens: Pinhole):
        import mujoco

        self._mujoco, self._model, self._data = mujoco, model, data
        self._renderer = mujoco.Renderer(model, lens.height, lens.width)
        for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            self._renderer.scene.flags[flag] = 0

    def draw(self, kinds: tuple[str, ...] = ("color", "depth")) -> list[np.ndarray]:
        renderer = self._renderer
        renderer.update_scene(self._data, "eye")
        found = []
        for kind in kinds:
            if kind == "depth":
                renderer.enable_depth_rendering()
            elif kind == "segmentation":
                renderer.enable_segmentation_rendering()
            found.append(renderer.render().copy())
            renderer.disable_depth_rendering()
            renderer.disable_segmentation_rendering()
        return found

    def many(self, joints: np.ndarray) -> None:
        for q in joints:
            self._data.qpos[7:] = q
            self._mujoco.mj_kinematics(self._model, self._data)
            self.draw()


def measured(calls: dict[str, Callable[[], object]], images: int) -> list[list[str]]:
    """Images a second by the clock and of one core's time, of rounds that take turns."""
    best = {name: [np.inf, np.inf] for name in calls}
    for call in calls.values():
        call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            spent = time.perf_counter() - wall, time.process_time() - cpu
            best[name] = [min(a, b) for a, b in zip(best[name], spent, strict=True)]
    return [[name, *(f"{images / t:,.0f}" for t in times)] for name, times in best.items()]


def compared(world: kido.World, pose: Any) -> str:
    """Depths of both, where both see something at the same shape."""
    camera = Camera(Pinhole(640, 480, near=0.01, far=50.0), pose)
    own = Renderer(world).render(camera, kinds=("depth",)).depth
    (other,) = Theirs(*in_mujoco(world, camera), camera.lens).draw(("depth",))
    both = np.isfinite(own) & (own < 4.0) & (other < 4.0)
    off = np.abs(own - other)[both]
    return (
        f"Depths at 640 x 480, {both.sum():,} pixels within 4 m: {np.median(off):.1e} m apart in the median, "
        f"{(off > 0.02).sum()} by more than 2 cm."
    )


def side_by_side(world: kido.World, pose: Any, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    large = Camera(Pinhole(320, 240), pose)
    small = Camera(Pinhole(64, 64), pose)
    figure, axes = plt.subplots(2, 4, figsize=(10, 4.1), dpi=90, width_ratios=(4, 4, 4, 3))
    kinds = ("color", "depth", "segmentation")
    images = Renderer(world).render(large)
    rows = {
        "KIDO": [getattr(images, kind) for kind in kinds] + [Renderer(world).render(small, kinds=("color",)).color],
        "MuJoCo": Theirs(*in_mujoco(world, large), large.lens).draw(kinds)
        + Theirs(*in_mujoco(world, small), small.lens).draw(("color",)),
    }
    for row, (name, (color, depth, shapes, tiny)) in zip(axes, rows.items(), strict=True):
        shapes = shapes[..., 0] if shapes.ndim == 3 else shapes
        row[0].imshow(color)
        row[1].imshow(np.where(depth < 4.0, depth, np.nan), cmap="viridis_r", vmin=0.8, vmax=4.0)
        row[2].imshow(np.where(shapes < 0, np.nan, shapes * 7 % 23), cmap="nipy_spectral")
        row[3].imshow(tiny)
        row[0].set_ylabel(name)
        for axis in row:
            axis.set(xticks=[], yticks=[])
    for axis, title in zip(axes[0], ("colour", "depth to 4 m", "shapes", "64 x 64"), strict=True):
        axis.set_title(title, fontsize=10)
    figure.tight_layout()
    figure.savefig(path, pil_kwargs={"quality": 85} if path.suffix == ".webp" else {})
    print(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--image", type=Path, help="file for both side by side")
    options = parser.parse_args()
    world, pose = meadow()
    camera = Camera(Pinhole(64, 64), pose)
    q = np.tile(np.concatenate([s.positions for s in world.skeletons]), (STATES, 1))
    dofs = world.skeletons[0].num_dofs
    joints = np.random.default_rng(0).normal(0.0, 0.3, (STATES, dofs - 6))
    q[:, 6:dofs] += joints
    theirs = Theirs(*in_mujoco(world, camera), camera.lens)
    renderer = Renderer(world)

    def one_by_one() -> None:
        for state in q:
            renderer.render(camera, positions=state[None], kinds=("color", "depth"))

    calls: dict[str, Callable[[], object]] = {
        "KIDO, all states by one call": lambda: renderer.render(camera, positions=q, kinds=("color", "depth")),
        "KIDO, state by state": one_by_one,
        "KIDO, depth alone": lambda: renderer.render(camera, positions=q, kinds=("depth",)),
        "MuJoCo, EGL": lambda: theirs.many(joints),
    }
    try:
        card = Renderer(world, device="gpu")
        card.render(camera, positions=q[:2])
        calls["KIDO, OpenGL"] = lambda: card.render(camera, positions=q, kinds=("color", "depth"))
    except kido.KidoError as error:
        print(error)
    print(machine(), "\n")
    print(
        table(
            ["64 x 64, colour and depth, images a second", "by the clock", "of processor time"], measured(calls, STATES)
        )
    )
    print("\n" + compared(world, pose))
    if options.image is not None:
        side_by_side(world, pose, options.image)


if __name__ == "__main__":
    main()
