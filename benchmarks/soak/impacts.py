"""Random impacts: trees of every kind of joint, shapes, friction and restitution, without gravity.

    python -m benchmarks.soak.impacts [--scenes 1000] [--first 0] [--step 0.001]

Two to five skeletons fly at each other, half of them single bodies with their frames anywhere, the others trees of up
to five bodies, that float or hang in the world. Nothing acts on them but contact, so that their energy may only fall;
where no tree hangs in the world their momentum stays, but for the angular momentum of what the position correction
turns. A scene whose energy rises in steps with contacts is done again at a sixteenth of the step: what the rule of a
step errs by, in contacts that roll and slide, falls with the square of it, up or down. Ends with the scenes that miss
something; exit status 1 if there are any.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation
from tqdm import tqdm

import kido
from benchmarks.timing import machine

DURATION = 0.4  # [s]
GAIN = 1e-6  # of the energy, from which on a scene is looked at with finer steps
FINER = 16  # parts of a step then
FALLS = 64.0  # by how much a larger gain is to fall then; of second order it is 256
MOMENTUM = 1e-10  # share of the sum of sizes of all momenta
RESIDUAL = 1e-4  # of the contact problems
ORDERS = ("xyz", "xzy", "yxz", "yzx", "zxy", "zyx", "xyx", "xzx", "yxy", "yzy", "zxz", "zyz")
JOINTS = (
    "weld", "revolute", "prismatic", "screw", "universal", "euler", "ball", "planar", "translational", "compound",
    "user",
)  # fmt: skip


class Knee(kido.UserJoint):
    """Bends about y and rolls on, as a knee does."""

    def transform(self, q):
        return self.rotation_about((0, 1, 0), q[0]), np.array([0.03 * q[0], 0.0, 0.02 * q[0] ** 2])


def pose(rng: np.random.Generator, reach: float) -> np.ndarray:
    """Any rotation, and a translation of up to `reach` along each axis."""
    made = np.eye(4)
    made[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    made[:3, 3] = rng.uniform(-reach, reach, 3)
    return made


def shape(rng: np.random.Generator) -> kido.Shape:
    """A shape of some 0.1 m."""
    a, b, c = rng.uniform(0.06, 0.2, 3)
    match rng.integers(8):
        case 0:
            return kido.Sphere(a)
        case 1:
            return kido.Box((2 * a, 2 * b, 2 * c))
        case 2:
            return kido.Capsule(0.6 * a, 2 * b)
        case 3:
            return kido.Cylinder(a, 2 * b)
        case 4:
            return kido.Cone(a, 2 * b)
        case 5:
            return kido.Ellipsoid((a, b, c))
        case 6:
            return kido.MultiSphereHull([(0, 0, 0), (a, 0, 0), (0, b, c)], [0.06, 0.08, 0.05])
    corners = rng.normal(size=(4, 3))
    corners *= 0.15 / np.linalg.norm(corners, axis=1)[:, None]
    if np.linalg.det(corners[1:] - corners[0]) < 0.0:
        corners = corners[[0, 2, 1, 3]]
    return kido.Mesh(corners, [(0, 2, 1), (0, 3, 2), (0, 1, 3), (1, 2, 3)])


def joint(rng: np.random.Generator, kind: str, name: str) -> kido.Joint:
    """A joint whose axes lie anywhere, a quarter of a metre from its parent's frame."""
    options = {"transform_from_parent": pose(rng, 0.25)}
    axis, other = rng.normal(size=3), rng.normal(size=3)
    match kind:
        case "weld":
            return kido.WeldJoint(name, **options)
        case "revolute":
            return kido.RevoluteJoint(name, axis, **options)
        case "prismatic":
            return kido.PrismaticJoint(name, axis, **options)
        case "screw":
            return kido.ScrewJoint(name, axis, rng.uniform(-1.0, 1.0), **options)
        case "universal":
            return kido.UniversalJoint(name, axis, other, **options)
        case "euler":
            return kido.EulerJoint(name, ORDERS[rng.integers(12)], **options)
        case "ball":
            return kido.BallJoint(name, **options)
        case "planar":
            return kido.PlanarJoint(name, axis, other, **options)
        case "translational":
            return kido.TranslationalJoint(name, **options)
        case "compound":
            hinges = [kido.Hinge.revolute(axis), kido.Hinge.prismatic(other), kido.Hinge.screw(rng.normal(size=3), 0.2)]
            return kido.CompoundJoint(name, hinges[: rng.integers(1, 4)], **options)
    return Knee(name, **options)


def fill(rng: np.random.Generator, body: kido.BodyNode, at: np.ndarray, surface: dict[str, float]) -> None:
    """A shape somewhere on a body, and the inertia of it."""
    made = shape(rng)
    body.inertia = kido.Inertia.from_shape(made, mass=float(np.exp(rng.uniform(-1.5, 1.5))), transform=at)
    body.add_shape(made, at, **surface)


def skeleton(rng: np.random.Generator, name: str, place: np.ndarray, surface: dict[str, float]) -> kido.Skeleton:
    """A body or a tree around a place that moves to where all meet, and turns."""
    made = kido.Skeleton(name)
    bodies = 1 if rng.random() < 0.5 else int(rng.integers(2, 6))
    floats = bodies == 1 or rng.random() < 0.6
    for k in range(bodies):
        kind = str(rng.choice(JOINTS))
        if k == 0 and not floats:
            kind = str(rng.choice(JOINTS[1:]))
        own = kido.FreeJoint(f"{name}_0") if k == 0 and floats else joint(rng, kind, f"{name}_{k}")
        if k == 0 and not floats:
            stand = pose(rng, 0.05)
            stand[:3, 3] += place
            own.transform_from_parent = stand
        parent = None if k == 0 else made.bodies[int(rng.integers(k))]
        fill(rng, made.add_body(f"{name}_{k}", own, parent), pose(rng, 0.3 if bodies == 1 else 0.1), surface)
    made.positions = rng.uniform(0.3, 0.8, made.num_dofs)  # angles of Euler are singular at zero, some of them
    made.velocities = rng.normal(size=made.num_dofs)
    if floats:
        q, u = np.array(made.positions), np.array(made.velocities)
        turn = Rotation.random(random_state=rng)
        q[:3] = turn.as_rotvec()
        made.positions = q
        q[3:6] = place - (made.com - q[3:6])
        made.positions = q
        wanted = -place / np.linalg.norm(place) * rng.uniform(1.0, 3.0) + 0.3 * rng.normal(size=3)
        u[3:6] += turn.inv().apply(wanted - made.com_velocity())
        made.velocities = u
    return made


def scene(seed: int, h: float) -> tuple[kido.World, bool]:
    """A world of what flies at each other, apart at first, and whether all of it floats."""
    for attempt in range(100):
        world, floats = drawn(np.random.default_rng([seed, attempt]), h)
        probe = world.clone()
        if probe.step().contacts == 0:
            return world, floats
    raise RuntimeError(f"scene {seed}: everything touches at the start")


def drawn(rng: np.random.Generator, h: float) -> tuple[kido.World, bool]:
    """One of them, which may begin in contact."""
    world = kido.World(time_step=h, gravity=(0.0, 0.0, 0.0))
    count = int(rng.integers(2, 6))
    e = float(rng.choice([0.0, 1.0, rng.uniform(0.0, 1.0)]))
    mu = float(rng.choice([0.0, rng.uniform(0.0, 1.5)]))
    start = Rotation.random(random_state=rng)
    floats = True
    for k in range(count):
        angle = 2 * np.pi * k / count
        place = start.apply([0.7 * np.cos(angle), 0.7 * np.sin(angle), rng.uniform(-0.1, 0.1)])
        made = skeleton(rng, f"s{k}", place, {"friction": mu, "restitution": np.sqrt(e)})
        floats = floats and isinstance(made.joints[0], kido.FreeJoint)
        if made.num_dofs:
            world.add_skeleton(made)
    return world, floats


def momenta(world: kido.World) -> np.ndarray:
    """[angular about the world's origin; linear] of each skeleton."""
    return np.array([s.momentum_about((0, 0, 0)) for s in world.skeletons])


@dataclass
class Outcome:
    """What a scene did.

    Attributes:
        bounces: whether something bounced.
        touches: steps with contacts.
        gained: sum of what energy rises by in steps with contacts, over that of the start.
        finer: `gained` with finer steps; NaN where it is too small to ask.
        drift: the same of steps without contacts.
        linear, angular: change of momentum over the sum of sizes; NaN where trees hang in the world, and the
            angular one where what penetrated was moved.
        residual: worst of a step.
        unconverged, fallbacks: steps not solved to their tolerance; islands that went to the fall-back solver.
        worst_step, worst: the one with contacts in which energy rose most, and by how much.
        wrong: what should not be.
    """

    seed: int
    bounces: bool = False
    touches: int = 0
    gained: float = 0.0
    finer: float = np.nan
    drift: float = 0.0
    linear: float = np.nan
    angular: float = np.nan
    residual: float = 0.0
    unconverged: int = 0
    fallbacks: int = 0
    worst_step: int = -1
    worst: float = 0.0
    wrong: list[str] = field(default_factory=list)


def run(seed: int, h: float) -> Outcome:
    """Do a scene step by step."""
    found = Outcome(seed)
    world, floats = scene(seed, h)
    before, energy = momenta(world), world.kinetic_energy
    last = energy
    moved = False
    for k in range(round(DURATION / h)):
        report = world.step()
        now = world.kinetic_energy
        if not np.isfinite(now):
            found.wrong.append(f"step {k}: energy {now}")
            break
        touches = report.contacts > 0
        found.touches += touches
        found.bounces |= report.bounces > 0
        found.fallbacks += report.fallbacks
        found.residual = max(found.residual, report.residual)
        moved |= bool(world.engine.problem.u_position.any())
        rise = max(now - last, 0.0) / energy
        last = now
        if touches:
            found.gained += rise
            if rise > found.worst:
                found.worst, found.worst_step = rise, k
        else:
            found.drift += rise
    found.unconverged = world.unconverged_steps
    if floats and not found.wrong:
        change, size = np.abs(momenta(world).sum(axis=0) - before.sum(axis=0)), np.abs(before).sum()
        found.linear = change[3:].max() / size
        found.angular = np.nan if moved else change[:3].max() / size
    return found


def judged(seed: int, h: float) -> Outcome:
    """`run`, and what is wrong with it."""
    found = run(seed, h)
    if found.gained > GAIN:
        found.finer = run(seed, h / FINER).gained
        if found.finer > max(found.gained / FALLS, GAIN):
            found.wrong.append(
                f"energy rises by {found.gained:.1e}, with finer steps by {found.finer:.1e} "
                f"(most in step {found.worst_step}: {found.worst:.1e}; without contacts {found.drift:.1e})"
            )
    for name in ("linear", "angular"):
        if getattr(found, name) > MOMENTUM:
            found.wrong.append(f"{name} momentum changes by {getattr(found, name):.1e}")
    if found.residual > RESIDUAL:
        found.wrong.append(f"residual {found.residual:.1e}")
    if found.unconverged:
        found.wrong.append(f"{found.unconverged} steps unconverged")
    return found


def report(all_found: list[Outcome], h: float) -> str:
    """All in a few lines."""
    count = len(all_found)

    def worst(name: str) -> str:
        values = np.array([getattr(o, name) for o in all_found], float)
        return f"{np.nanmax(values):.1e}" if np.isfinite(values).any() else "-"

    wrong = [o for o in all_found if o.wrong]
    rises, finer = (sum(getattr(o, name) > GAIN for o in all_found) for name in ("gained", "finer"))
    linear, angular = (sum(np.isfinite(getattr(o, name)) for o in all_found) for name in ("linear", "angular"))
    return "\n".join(
        [
            f"### Random impacts: {count} scenes, steps of {1e3 * h:g} ms",
            "",
            machine(),
            "",
            f"{sum(o.touches > 0 for o in all_found)} touch, in {sum(o.touches for o in all_found):,} steps; "
            f"{sum(o.bounces for o in all_found)} bounce. Energy rises by more than {GAIN:g} with contacts in {rises}, "
            f"by {worst('gained')}, and with steps of a sixteenth in {finer} of them, by {worst('finer')}.",
            f"Momentum changes by {worst('linear')} (linear, of {linear}) and {worst('angular')} (angular, of "
            f"{angular}).",
            f"Residual at most {worst('residual')}; {sum(o.unconverged for o in all_found)} steps unconverged, "
            f"{sum(o.fallbacks for o in all_found)} fall-backs.",
            "",
            *(f"scene {o.seed}: {'; '.join(o.wrong)}" for o in wrong),
            *([] if wrong else ["Nothing was found."]),
        ]
    )


def main() -> int:
    """Run them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--step", type=float, default=1e-3, help="[s]")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.scenes)
    bar = tqdm(seeds, unit="scene", mininterval=0.5 if sys.stderr.isatty() else 30.0)
    found = [judged(seed, options.step) for seed in bar]
    print(report(found, options.step))
    return 1 if any(o.wrong for o in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
