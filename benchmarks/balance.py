"""The largest pushes that a standing person survives, in eight directions, and standing for a minute.

    python -m benchmarks.balance [--skeleton fullbody1.skel] [--laws ankle_strategy whole_body] [--figure FILE]

Persons and laws are those of `kido demo balance`. A push acts on the chest's centre of mass for 0.33 s; it is survived
if the centre of mass stays above 80 % of its height for the next 4 s, and moves by less than 0.1 m/s in the end. The
largest is found by bisection to 4 %. Beside it is the limit of the ankle strategy: m omega0 d for impulses at once,
with d the way from the centre of mass to the edge of the feet, and m omega0 d (omega0 T) / (1 - exp(-omega0 T)) for a
force over T, which is what the linear inverted pendulum survives with its centre of pressure on that edge all the time.
Slip is the integral of the velocity of the feet where they touch, averaged by the forces there.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull

import kido
from kido.demos.balance import MASS, PUSHES, SECONDS, Person, standing_world

DIRECTIONS = np.arange(8) * np.pi / 4  # from forwards to the left
SETTLED, AFTER = 2.0, 4.0  # [s]
LABELS = {"ankle_strategy": "ankles and upper body", "whole_body": "whole body"}
G = 9.81


def made(skeleton: str | None, law: str) -> tuple[kido.World, Person]:
    """A world in which a person has stood for a while."""
    world, person = standing_world(None if skeleton is None else kido.load_skeleton(skeleton))
    world.add_controller(getattr(person, law)())
    world.step(round(SETTLED / world.time_step))
    return world, person


def survives(world: kido.World, person: Person, impulse: np.ndarray) -> bool:
    """Whether a push is survived from where the world is; it is put back."""
    start, s = world.snapshot(), person.skeleton
    height = s.com[2] - person.places()[:, 2].min()
    world.push(person.chest, impulse / SECONDS, SECONDS, offset=person.chest.inertia.com)
    stands = True
    try:
        for _ in range(round((SECONDS + AFTER) / 0.1)):
            world.step(round(0.1 / world.time_step))
            stands = s.com[2] - person.places()[:, 2].min() > 0.8 * height
            if not stands:
                break
        stands = stands and bool(np.linalg.norm(s.com_velocity()) < 0.1)
    except kido.KidoError:  # what lies and is regulated on may diverge
        stands = False
    world.restore(start)
    return stands


def largest(world: kido.World, person: Person, angle: float, guess: float) -> float:
    """The largest impulse that is survived in a direction [N s]; NaN: it falls without one."""
    way = np.array([np.cos(angle), np.sin(angle), 0.0])
    if not survives(world, person, 0.0 * way):
        return np.nan
    low, high = 0.0, guess
    while survives(world, person, high * way) and high < 8.0 * guess:
        low, high = high, 1.4 * high
    while high - low > 0.04 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if survives(world, person, middle * way) else (low, middle)
    return low


def limits(person: Person) -> tuple[np.ndarray, float]:
    """m omega0 d in each direction [N s], and the factor for pushes over a time."""
    corners = [(s.world_transform @ [*p, 1.0])[:2] for s in person.soles for p in person.corners(s)]
    edges = ConvexHull(np.array(corners)).equations  # a x + b <= 0
    com, m = np.array(person.skeleton.com), person.skeleton.mass
    omega = np.sqrt(G / (com[2] - person.places()[:, 2].min()))
    ways = np.column_stack([np.cos(DIRECTIONS), np.sin(DIRECTIONS)])
    slopes = ways @ edges[:, :2].T
    room = -(edges[:, :2] @ com[:2] + edges[:, 2])
    d = np.min(np.where(slopes > 1e-9, room / np.maximum(slopes, 1e-9), np.inf), axis=1)
    return m * omega * d, omega * SECONDS / (1.0 - np.exp(-omega * SECONDS))


def stands(skeleton: str | None, law: str, seconds: float = 60.0) -> tuple[float, float, float]:
    """Farthest slip of a foot in a minute and farthest way of a sole's middle [mm], and times real time."""
    world, person = made(skeleton, law)
    start, wall, moved, far = person.places(), 0.0, 0.0, 0.0
    slips = np.zeros((len(person.soles), 2))
    for _ in range(round(seconds / 0.02)):
        began = time.perf_counter()
        world.step(round(0.02 / world.time_step))
        wall += time.perf_counter() - began
        slips += 0.02 * np.array([slipping(world, sole) for sole in person.soles])
        far = max(far, float(np.linalg.norm(slips, axis=1).max()))
        moved = max(moved, float(np.linalg.norm((person.places() - start)[:, :2], axis=1).max()))
    return 1e3 * far, 1e3 * moved, seconds / wall


def slipping(world: kido.World, sole: kido.BodyNode) -> np.ndarray:
    """Horizontal velocity of a sole where it touches, averaged by forces (2,) [m/s]."""
    touching = world.contacts.of(sole)
    weights = np.linalg.norm(touching.forces, axis=1)
    if not weights.sum() > 0.0:
        return np.zeros(2)
    point = weights @ touching.points / weights.sum() - sole.world_transform[:3, 3]
    return (sole.linear_velocity() + np.cross(sole.angular_velocity(), point))[:2]


def figure(found: dict[str, tuple[dict[str, np.ndarray], np.ndarray, float]], path: Path) -> None:
    """Polar plots, one for each person: by label, the largest impulses by law, and limits."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(
        1, len(found), figsize=(5.2 * len(found), 5.0), subplot_kw={"projection": "polar"}, squeeze=False
    )
    around = np.append(DIRECTIONS, DIRECTIONS[0] + 2 * np.pi)
    for axis, (label, (impulses, limit, factor)) in zip(axes[0], found.items(), strict=True):
        for values, style, name in [(limit, "k--", r"$m \omega_0 d$"), (factor * limit, "k:", "the same over 0.33 s")]:
            axis.plot(around, np.append(values, values[0]), style, lw=1.2, label=name)
        for law, values in impulses.items():
            axis.plot(around, np.append(values, values[0]), "o-", label=LABELS[law])
        axis.set(title=f"{label}\nlargest impulse [N s]", theta_zero_location="N", ylim=(0, None))
        axis.set_xticks(DIRECTIONS, ["forwards", "", "left", "", "backwards", "", "right", ""])
        axis.legend(loc="upper left", bbox_to_anchor=(0.72, 0.12), fontsize=8)
    fig.tight_layout()
    fig.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skeleton", help="fullbody1.skel of RTQL8's tutorial, besides our own person")
    parser.add_argument("--laws", nargs="+", default=list(LABELS), choices=list(LABELS))
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    found: dict[str, tuple[dict[str, np.ndarray], np.ndarray, float]] = {}
    for label, skeleton in {"our humanoid": None, "the tutorial's fullbody1": options.skeleton}.items():
        if label != "our humanoid" and skeleton is None:
            continue
        impulses: dict[str, np.ndarray] = {}
        shown: list[tuple[np.ndarray, float]] = []
        for law in options.laws:
            world, person = made(skeleton, law)
            limit, factor = limits(person)
            shown.append((limit, factor))
            scale = person.skeleton.mass / MASS
            kept = [survives(world, person, SECONDS * scale * f) for _, f in PUSHES.values()]
            print(f"{label}, {LABELS[law]}: tutorial's pushes times {scale:.3g} survived: {kept}", flush=True)
            impulses[law] = np.array([largest(world, person, a, 0.7 * x) for a, x in zip(DIRECTIONS, limit)])
            print("  largest [N s]        ", impulses[law].round(1), flush=True)
            print("  m omega0 d [N s]     ", limit.round(1), f"; over {SECONDS} s times {factor:.2f}", flush=True)
            slip, moved, speed = stands(skeleton, law)
            print(f"  stands 60 s: slip {slip:.3f} mm, soles moved by {moved:.3f} mm; {speed:.1f} times real time")
        found[label] = impulses, *shown[0]
    if options.figure is not None:
        figure(found, options.figure)


if __name__ == "__main__":
    main()
