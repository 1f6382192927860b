"""A landing on Mars: entry, parachute, powered descent and touch-down of `lander`, as systems; dispersed landings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from kido.attributes import FixedAttributes
from kido.devices import Altimeter, BallisticEntry, Parachute, PoweredDescent, Propellant, ThrusterCluster
from kido.devices.attitude import turn_about
from kido.environment import MARS, Drag, Site, Wind, rough_heights
from kido.errors import ModelError, StateError
from kido.integrators import DormandPrince
from kido.models.scenes import whole
from kido.models.space import ENGINES, FOOT, PAD, engine_directions, lander
from kido.shapes import Heightmap
from kido.simulation import World, WorldSnapshot
from kido.skeleton import FreeJoint, Skeleton
from kido.systems import BodyPort, Checkpoint, Dispersion, Input, JointPort, MassPort, Model, Output, Parameter, System
from kido.systems.writing import writing

RANGE = 0.206346  # [rad] from the entry to the place of landing, seen from the planet's centre
TILE, SPACING = 49, 1.0  # points of the ground, and how far apart they are [m]
STEP = 0.01  # [s]
CHUNK, TOO_LONG = 1.0, 400.0  # [s]
AWAY = (0.0, 0.0, -1e4)  # [m] where the ground is until it is laid
FEET = -FOOT + PAD  # [m] height of the hub over level ground that it just touches


class Approach(Model):
    """How a flight begins: of the entry, and of the body that hangs on the parachute; nothing is computed of them."""

    speed, angle = Parameter(5800.0, "m/s", low=1.0), Parameter(np.radians(-12.5), "rad", doc="below the horizontal")
    heading, height = Parameter(0.0, "rad", doc="to the left of x"), Parameter(125e3, "m")
    range = Parameter(RANGE, "rad")
    lean, turning = Parameter((0.0, 0.0), "rad", doc="about y, x"), Parameter((0.0, 0.0, 0.0), "rad/s")


class Legs(Model):
    """The most by which a leg has given way."""

    stroke_0, stroke_1, stroke_2, stroke_3 = Input("m"), Input("m"), Input("m"), Input("m")
    most = Output("m")

    def outputs(self):
        return {"most": np.maximum(np.maximum(self.stroke_0, self.stroke_1), np.maximum(self.stroke_2, self.stroke_3))}


class Wish(Model):
    """That the parachute opens, once the descent has begun."""

    delay, open = Parameter(0.0, "s", low=0.0), Output("1")

    def outputs(self):
        return {"open": self.time >= self.delay}


def spread(seed: int = 0) -> Dispersion:
    """What differs from landing to landing; standard deviations are of the size that missions have told.

    Source: P. Desai, P. Knocke, Mars Exploration Rovers entry, descent, and landing trajectory analysis (2004).
    """
    return Dispersion(
        {
            "approach.angle": lambda g: np.radians(g.normal(-12.5, 0.07)),
            "approach.speed": lambda g: g.normal(5800.0, 2.0),
            "approach.heading": lambda g: g.normal(0.0, 6e-4),
            "approach.lean": lambda g: g.normal(0.0, 0.05, 2),
            "approach.turning": lambda g: g.normal(0.0, 0.05, 3),
            "entry.drag_coefficient": lambda g: g.normal(1.6, 0.03),
            "entry.surface_density": lambda g: 0.0158 * g.normal(1.0, 0.05),
            "entry.scale_height": lambda g: g.normal(9354.5, 60.0),
            "chute.drag_coefficient": lambda g: g.normal(0.62, 0.03),
            "wind.mean": lambda g: [*g.normal(0.0, 8.0, 2), 0.0],
            "engines.thrust": lambda g: g.normal(1000.0, 10.0),
            "engines.specific_impulse": lambda g: g.normal(220.0, 2.0),
            "guidance.velocity_error": lambda g: g.normal(0.0, 0.1, 3),
            "altimeter.noise": lambda g: abs(g.normal(0.3, 0.1)),
        },
        seed,
    )


class Landing(FixedAttributes):
    """One flight, which can be flown again and again: entry as a point, then a body in a world.

    Axes are those of a place on the ground, x along the way, z up. `entry` is a system of its own, whose end, a
    crossing, is the beginning of `descent`, in whose world parachute, engines and legs act at a time step of 10 ms.
    Where the engines begin, ground is laid where they lead to: 48 m of it, level in the mean, tangent to the planet.

    Args:
        ground: heights of the ground (rows, columns) [m]; None: rough ones.
        spacing: of their points [m].

    Attributes:
        descent, entry: systems; `world` is that of the first.
        guidance, engines, tank, chute, site: models of the descent.
    """

    def __init__(self, ground: Any = None, spacing: float = SPACING):
        self.entry = System("entry", step=1.0, integrator=DormandPrince(rtol=1e-10, atol=1e-6, max_step=1.0))
        self.approach, self.capsule = self.entry.add(Approach()), self.entry.add(BallisticEntry("entry"))
        made = lander()
        self.lander, self.hub = made.skeleton, made.skeleton.body("hub")
        self.world = World(gravity=(0.0, 0.0, -MARS.mu / MARS.radius**2), time_step=STEP, name="landing")
        self.world.add_skeleton(self.lander)
        heights = rough_heights(TILE, TILE, deviation=0.15, exponent=2.6, seed=3) if ground is None else ground
        self.ground = Skeleton("ground")
        body = self.ground.add_body("ground", FreeJoint("ground"))
        body.add_shape(Heightmap(heights, spacing), friction=0.7, color=(0.72, 0.5, 0.36))
        self.ground.mobile = False
        self.world.add_skeleton(self.ground)
        self.descent = System("descent", world=self.world)
        self._assemble()
        self._begin: WorldSnapshot | None = None  # of the first flight: others may add to the world before it
        self._nominal: dict[str, Any] = {}  # parameters as they were before a dispersed run
        self._set_ground(AWAY)

    def _assemble(self) -> None:
        system, hub = self.descent, self.hub
        body = system.add(BodyPort(hub, name="hub"))
        riser = system.add(BodyPort(hub, (0.0, 0.0, 2.0), "riser"))
        engine, air = system.add(BodyPort(hub, name="engine_bay")), system.add(BodyPort(hub, (0.0, 0.0, 0.3), "middle"))
        scales = system.add(MassPort(hub, "hub_mass"))
        self.site, self.chute = system.add(Site()), system.add(Parachute("chute", area=109.0, drag_coefficient=0.62))
        resist, wish = system.add(Drag(area=5.5, coefficient=1.6)), system.add(Wish("wish"))
        wind = system.add(Wind(rate=10, gusts=2.0))
        self.engines = system.add(
            ThrusterCluster("engines", ENGINES, engine_directions(), (2, 3, 4, 5), thrust=1000.0, least_pulse=1e-3)
        )
        self.tank, legs = system.add(Propellant("tank", dry=360.0, part=180.0, apart=20.0)), system.add(Legs())
        self.guidance = system.add(PoweredDescent("guidance"))
        altimeter = system.add(Altimeter(rate=50, range=3e3))
        above = system.add(Above("above", rate=50))
        g = self.guidance
        for k in range(4):
            strut = system.add(JointPort(self.lander.joint(f"strut_{k}"), f"strut_{k}"))
            system.connect(strut.position, legs.port(f"stroke_{k}"))
        for source, target in (
            (body.position, self.site.position), (self.tank.mass, self.site.mass), (self.tank.body, scales.mass),
            (self.site.force, body.force), (wish.open, self.chute.open), (g.released, self.chute.cut),
            (riser.velocity, self.chute.velocity), (wind.wind, self.chute.wind),
            (self.site.density, self.chute.density),
            (self.chute.force, riser.force), (air.velocity, resist.velocity), (wind.wind, resist.wind),
            (self.site.density, resist.density), (resist.force, air.force), (self.site.height, above.height),
            (above.place, altimeter.position), (altimeter.height, g.height), (body.position, g.position),
            (body.velocity, g.velocity), (body.rotation, g.rotation), (body.angular_velocity, g.angular_velocity),
            (self.site.up, g.up), (self.site.gravity, g.gravity), (self.tank.mass, g.mass), (legs.most, g.stroke),
            (g.force, self.engines.force), (g.torque, self.engines.torque), (body.rotation, self.engines.rotation),
            (self.tank.left, self.engines.propellant), (self.engines.given_force, engine.force),
            (self.engines.given_torque, engine.torque), (self.engines.flow, self.tank.flow),
            (g.released, self.tank.dropped),
        ):  # fmt: skip
            system.connect(source, target)

    # Flying ------------------------------------------------------------------------------------------------

    def begin(self, run: int | None = None, seed: int = 0) -> None:
        """Put the flight at its start.

        Args:
            run: number of a dispersed landing of `spread(seed)`; None: one with parameters as they are set.
            seed: of the dispersion.

        Raises:
            ModelError: a run or a seed that is no whole number of at least 0.
        """
        values = {} if run is None else spread(seed).values(run)
        self._begin = self.world.snapshot() if self._begin is None else self._begin
        self.world.restore(self._begin)
        self._set_ground(AWAY)
        self._give(self._nominal)
        self._nominal = {path: self._parameter(path) for path in values}
        self.descent.seed = 0 if run is None else (seed << 32) + run + 1
        self.entry.reset()
        self.descent.reset()
        self._give(values)
        for name in ("surface_density", "scale_height"):  # one air for both
            self.site.set_parameters(**{name: self.capsule.parameter(name)})
        a = self.approach
        up = np.array([-np.sin(a.range), 0.0, np.cos(a.range)])
        ahead, left = np.array([np.cos(a.range), 0.0, np.sin(a.range)]), np.array([0.0, 1.0, 0.0])
        level = np.cos(a.heading) * ahead + np.sin(a.heading) * left
        self.capsule.port("position").value = (MARS.radius + a.height) * up - (0.0, 0.0, MARS.radius)
        self.capsule.port("velocity").value = a.speed * (np.cos(a.angle) * level + np.sin(a.angle) * up)

    def _give(self, values: Mapping[str, Any]) -> None:
        """Set parameters, each of the system that has its path."""
        for path, value in values.items():
            self._model(path).set_parameters(**{path.rpartition(".")[2]: value})

    def _parameter(self, path: str) -> Any:
        return self._model(path).parameter(path.rpartition(".")[2])

    def _model(self, path: str) -> Any:
        name = path.rpartition(".")[0]
        return (self.entry if name in ("approach", "entry") else self.descent)[name]

    def enter(self) -> None:
        """Fly until the capsule is slow enough for the parachute, and hang the lander on it.

        Raises:
            StateError: it never is.
        """
        end = self.capsule.port("ended")
        while not end.value:
            if self.entry.time > 1000.0:
                raise StateError(
                    "landing: the capsule has not become slow within 1000 s; its path is too flat or too fast"
                )
            self.entry.run(10.0)
        r, v = self.capsule.port("position").value, self.capsule.port("velocity").value
        z = -v / np.linalg.norm(v)  # heat shield ahead
        x = np.cross((0.0, 1.0, 0.0), z)
        x /= np.linalg.norm(x)
        X, lean = np.eye(4), self.approach.lean
        X[:3, :3] = (
            np.column_stack([x, np.cross(z, x), z])
            @ turn_about((0.0, 1.0, 0.0), lean[0])
            @ turn_about((1.0, 0.0, 0.0), lean[1])
        )
        X[:3, 3] = r
        root: Any = self.hub.parent_joint
        root.set_transform(X)
        root.set_linear_velocity(v)
        root.set_angular_velocity(X[:3, :3] @ self.approach.turning)

    def run(self, duration: float) -> None:
        """Go on with the descent, and lay the ground once it is known where it will be needed."""
        self.descent.run(duration)
        self.lay_ground()

    def lay_ground(self) -> None:
        """Put the ground where the engines lead to, if they have begun and it is away; steps of the world do not."""
        if self.ground.positions[5] == AWAY[2] and self.guidance.port("phase").value > 0.5:
            r = self.guidance.port("target").value + (0.0, 0.0, MARS.radius)
            self._set_ground(MARS.radius * r / np.linalg.norm(r) - (0.0, 0.0, MARS.radius))

    def fly(self) -> dict[str, float]:
        """From where it is to two seconds after the landing; see `result`."""
        if not self.has_entered:
            self.enter()
        while not self.is_over:
            self.run(CHUNK)
        return self.result()

    @property
    def has_entered(self) -> bool:
        """Whether it hangs on its parachute, or is farther."""
        return bool(self.capsule.port("ended").value)

    @property
    def is_over(self) -> bool:
        """Whether it has landed two seconds ago, or will not any more."""
        landed = self.guidance.port("phase").value > 2.5
        slow = np.abs(self.lander.velocities).max() < 0.02
        return bool((landed and slow) or self.descent.time > TOO_LONG)

    def result(self) -> dict[str, float]:
        """Of a flight: where it stands, how it came there.

        `x`, `y` are distances over the ground along and across the way [m]; `lean` is the angle to the vertical [rad];
        `left` propellant [kg]; `phase` of the guidance, 3 if it landed; `time` of the descent [s]; `speed` now [m/s].
        """
        X = self.hub.world_transform
        r = X[:3, 3] + (0.0, 0.0, MARS.radius)
        return {
            "x": float(MARS.radius * np.arctan2(r[0], r[2])),
            "y": float(MARS.radius * np.arctan2(r[1], np.hypot(r[0], r[2]))),
            "height": float(np.linalg.norm(r) - MARS.radius),
            "lean": float(np.arccos(np.clip(X[:3, 2] @ r / np.linalg.norm(r), -1.0, 1.0))),
            "left": float(self.tank.port("left").value),
            "phase": float(self.guidance.port("phase").value),
            "time": self.descent.time,
            "speed": float(np.linalg.norm(self.hub.linear_velocity())),
        }

    # Stopping and going on ---------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write all that the flight's future depends on to a folder, and the parameters that `begin` flies with."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.entry.checkpoint().save(folder / "entry")
        self.descent.checkpoint().save(folder / "descent")
        values = {path: self._parameter(path) for path in spread().values(0)} | self._nominal
        nominal = {path: np.asarray(value).tolist() for path, value in values.items()}
        (folder / "nominal.json").write_text(json.dumps(nominal), encoding="utf-8")

    def load(self, folder: str | Path) -> None:
        """Go on where `save` was called, to the bit, in another process too; `begin` is as it was there.

        Raises:
            StateError: there is no such thing, or it is damaged; nothing is changed.
        """
        entry, descent = Checkpoint.load(Path(folder) / "entry"), Checkpoint.load(Path(folder) / "descent")
        nominal = self._loaded(Path(folder) / "nominal.json")
        seed, before = self.descent.seed, self.entry.checkpoint()
        self.descent.seed = int(descent.arrays()["seed"][0])
        try:
            self.entry.restore(entry)
            self.descent.restore(descent)
        except BaseException:
            self.entry.restore(before)
            self.descent.seed = seed
            raise
        self._nominal = nominal

    def _loaded(self, path: Path) -> dict[str, Any]:
        """Parameters from a file."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            given = {}
            for key in spread().values(0):
                model, name = self._model(key), key.rpartition(".")[2]
                given[key] = model.declared[name].checked(found[key], key)
            return given
        except (OSError, ValueError, KeyError, TypeError, ModelError) as error:
            raise StateError(f"{path}: no parameters of a landing: {error!s:.200}") from error

    def _set_ground(self, place: Any) -> None:
        """Lay the ground's middle somewhere, level there."""
        place = np.asarray(place, float)
        up = place + (0.0, 0.0, MARS.radius)
        up = up / np.linalg.norm(up)
        X = np.eye(4)
        x = np.cross((0.0, 1.0, 0.0), up)
        x /= np.linalg.norm(x)
        X[:3, :3], X[:3, 3] = np.column_stack([x, np.cross(up, x), up]), place
        joint: Any = self.ground.joint("ground")
        joint.set_transform(X)


def dispersed(
    number: int, path: str | Path | None = None, *, seed: int = 0, processes: int = 1
) -> list[dict[str, float]]:
    """Results of landings 0, 1, ..., each with its number as `run`; see `Landing.result`.

    Each is written to a file as soon as it is there: what was stopped goes on where it was, and comes to the same bits,
    whatever the number of processes.

    Args:
        number: of landings.
        path: a file of one line of JSON for each; None: they are not kept.
        seed: of the dispersion.
        processes: that fly them.

    Raises:
        ModelError: no whole numbers of at least 1, or a seed below 0.
        FileFormatError: the file cannot be written.
        StateError: the file is of another seed, or has a line that is no result; half a line at its end is dropped.
    """
    number, processes = whole(number, "dispersed", "landings"), whole(processes, "dispersed", "processes")
    found = {} if path is None else _known(Path(path), seed)
    missing = [run for run in range(number) if run not in found]
    with ExitStack() as stack:
        file = None
        if path is not None:
            with writing(path) as target:
                file = stack.enter_context(target.open("a", encoding="utf-8"))
        if processes > 1:
            pool = stack.enter_context(ProcessPoolExecutor(processes, mp_context=get_context("spawn")))
            landed: Iterable[dict[str, float]] = (
                f.result() for f in as_completed(pool.submit(_land, k, seed) for k in missing)
            )
        else:
            landed = (_land(run, seed) for run in missing)
        for result in landed:
            found[int(result["run"])] = result
            if file is not None:
                file.write(json.dumps(result) + "\n")
                file.flush()
    return [found[run] for run in range(number)]


def _known(path: Path, seed: int) -> dict[int, dict[str, float]]:
    """Results in a file, from which a line that was not finished is taken."""
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    whole, _, rest = text.rpartition("\n")
    if rest:
        path.write_text(whole + "\n" if whole else "", encoding="utf-8")
    try:
        lines = [json.loads(line) for line in whole.splitlines()]
        if any(line["seed"] != seed for line in lines):
            raise StateError(f"{path}: landings of seed {lines[0]['seed']}, and not of {seed}")
        return {int(line["run"]): line for line in lines}
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(f"{path}: no results of landings: {error!r:.200}") from error


@cache
def _own_landing() -> Landing:
    """Of this process."""
    return Landing()


def _land(run: int, seed: int) -> dict[str, float]:
    landing = _own_landing()
    landing.begin(run, seed)
    return {"run": run, "seed": seed, **landing.fly()}


class Above(Model):
    """The place that an altimeter sees: the feet's height over the round planet."""

    height, place = Input("m"), Output("m", 3)

    def outputs(self):
        return {"place": (0.0, 0.0, self.height - FEET)}
