"""Soft bodies: stability over time steps and stiffness, exactness of frequency and sag, speed of DART's files.

    python -m benchmarks.soft [--plot docs/images/soft_stability.png] [--data folder of DART's data]

The grid drops a soft box (26 points, core 1 kg, skin 0.5 kg) from 7 cm on the ground, tilted, without damping. Its
number is the largest energy over the fall and what follows, relative to that at the start: at most 1 where nothing is
gained. A dash is NaN.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import kido

STEPS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
STIFFNESS = (1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)


def box(h: float, kv: float, ke: float, joint: kido.Joint | None = None) -> tuple[kido.World, kido.SoftBodyNode]:
    """A world with one soft box."""
    skeleton = kido.Skeleton("box")
    inertia = kido.Inertia.from_diagonal(1.0, [0.01, 0.012, 0.015])
    shape = kido.SoftMesh.box((0.2, 0.2, 0.2))
    body = skeleton.add_soft_body("box", shape, joint, inertia=inertia, total_mass=0.5, kv=kv, ke=ke, kd=0.0)
    world = kido.World(time_step=h)
    world.add_skeleton(skeleton)
    return world, body


def energy(body: kido.SoftBodyNode) -> float:
    """Kinetic, elastic and potential energy [J]."""
    core, R, V = body.core_inertia, body.world_transform[:3, :3], body.spatial_velocity
    kinetic = 0.5 * core.mass * V[3:] @ V[3:] + 0.5 * V[:3] @ R @ core.moment @ R.T @ V[:3]
    kinetic += 0.5 * body.point_masses @ (body.point_velocities**2).sum(axis=1)
    return float(kinetic + body.elastic_energy + 9.81 * body.mass * body.com[2])


def stability(duration: float = 0.3) -> np.ndarray:
    """Largest energy relative to the first, by stiffness and time step; the worse of Ke = 0 and Ke = Kv."""
    grid = np.zeros((len(STIFFNESS), len(STEPS)))
    for i, k in enumerate(STIFFNESS):
        for j, h in enumerate(STEPS):
            for ke in (0.0, k):
                world, body = box(h, k, ke)
                world.add_ground()
                body.skeleton.positions = [0.3, 0.2, 0.1, 0, 0, 0.2]
                start = energy(body)
                for _ in range(30):
                    world.step(max(1, round(duration / 30 / h)))
                    now = energy(body)
                    grid[i, j] = max(grid[i, j], now / start if np.isfinite(now) else np.inf)
    return grid


def files(folder: Path) -> None:
    """Real-time factors of DART's soft SKEL files."""
    for path in sorted(folder.glob("skel/**/*.skel")):
        if "<soft_shape>" not in path.read_text():
            continue
        world = kido.load(path)
        bodies = [b for s in world.skeletons for b in s.soft_bodies]
        world.step(1)
        began = time.perf_counter()
        world.step(int(1.0 / world.time_step))
        took = time.perf_counter() - began
        moved = max(np.abs(b.displacements).max() for b in bodies)
        points = sum(b.num_points for b in bodies)
        print(f"{path.name:32s} {points:4d} points  {1.0 / took:6.1f} x real time  deformed by {1e3 * moved:.2f} mm")


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    world, body = box(1e-3, 500.0, 20.0, kido.WeldJoint())
    body.kd = 5.0
    world.step(5000)
    sag = body.point_masses[0] * 9.81 / 500.0
    print(f"sag: error {np.abs(body.displacements[:, 2] + sag).max() / sag:.1e} of it")
    grid = stability()
    print("largest energy by the first, Kv [N/m] down, time step [s] across", *STEPS, sep="  ")
    for k, row in zip(STIFFNESS, grid, strict=True):
        print(f"{k:8.0e}", *(f"{x:8.5f}" if np.isfinite(x) else "       -" for x in row))
    if options.plot:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
        image = axes.imshow(grid, origin="lower", aspect="auto", vmin=0.0, vmax=2.0, cmap="RdYlGn_r")
        axes.set_xticks(range(len(STEPS)), [f"{1e3 * h:g} ms" for h in STEPS])
        axes.set_yticks(range(len(STIFFNESS)), [f"{k:.0e} N/m" for k in STIFFNESS])
        axes.set_xlabel("time step")
        axes.set_ylabel("stiffness of points and edges")
        for i, row in enumerate(grid):
            for j, x in enumerate(row):
                axes.text(j, i, f"{x:.4f}", ha="center", va="center", fontsize=7)
        figure.colorbar(image, label="largest energy / energy at the start")
        figure.savefig(options.plot, dpi=110)
    if options.data:
        files(options.data)


if __name__ == "__main__":
    main()
