"""Sensors of a compiled model as readings by name, in its order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.actuation import Actuators
from kido.arrays import fixed
from kido.attributes import FixedAttributes
from kido.errors import NameLookupError
from kido.io.mjcf import readings
from kido.io.mjcf.compiler import mujoco
from kido.io.mjcf.readings import Frame, Lens, ReadingOf
from kido.io.mjcf.remarks import LeftOut
from kido.io.mjcf.shapes import ShapeReader
from kido.io.mjcf.trees import NO_GRAVITY, NO_SPRINGS, PLACEMENT, Trees, pose
from kido.io.mjcf.zones import Zone
from kido.simulation import World

__all__ = ["Sensor", "SensorReader", "Sensors"]

Array = NDArray[np.float64]
Reading = Callable[[World], Any]
BODY, XBODY, GEOM, SITE, CAMERA = 1, 2, 5, 6, 7  # mjtObj
POSITIVE = 1  # of mjtDataType
DISTANCE = 1  # bit of mjtRayDataField
FRAMES = {  # where a kind of objects has its pose in its body: position and quaternion, body
    BODY: ("body_ipos", "body_iquat", None),
    XBODY: (None, None, None),
    GEOM: ("geom_pos", "geom_quat", "geom_bodyid"),
    SITE: ("site_pos", "site_quat", "site_bodyid"),
    CAMERA: ("cam_pos", "cam_quat", "cam_bodyid"),
}


@dataclass(frozen=True)
class Sensor:
    """A reading.

    Attributes:
        name: for lookup.
        kind: as in MuJoCo, in small letters: "accelerometer", "jointpos" and so on.
        size: how many numbers.
        read: of a world.
        low, high: within which each number is brought.
    """

    name: str
    kind: str
    size: int
    read: Reading = field(repr=False)
    low: float = -np.inf
    high: float = np.inf


class Sensors(FixedAttributes, Mapping[str, Array]):
    """Readings of a world by name: ``sensors["gyro"]``; `data` has all of them one after the other.

    Of positions and velocities as they are; of accelerations and of forces of contacts as they were in the last step.
    Noise is not added, as in MuJoCo.

    Args:
        world: whose.
        sensors: in order.
    """

    def __init__(self, world: World, sensors: list[Sensor]):
        self._world = world
        self._sensors = {sensor.name: sensor for sensor in sensors}

    def __getitem__(self, name: str) -> Array:
        if name not in self._sensors:
            raise NameLookupError("sensor", name, list(self._sensors))
        sensor = self._sensors[name]
        value = np.asarray(sensor.read(self._world), float).reshape(sensor.size)
        return fixed(np.clip(value, sensor.low, sensor.high))

    def __contains__(self, name: object) -> bool:
        return name in self._sensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._sensors)

    def __len__(self) -> int:
        return len(self._sensors)

    @property
    def kinds(self) -> dict[str, str]:
        """What each is: "accelerometer", "jointpos" and so on, by name."""
        return {name: sensor.kind for name, sensor in self._sensors.items()}

    @property
    def data(self) -> Array:
        """All readings one after the other, as MuJoCo's `sensordata`."""
        return fixed(np.concatenate([self[name] for name in self] or [np.zeros(0)]))

    def __repr__(self) -> str:
        return f"Sensors({len(self)} sensors)"


class SensorReader:
    """Makes the sensors of a model.

    Args:
        trees: bodies and coordinates.
        shapes: of geoms.
        actuators: of the world, if it has any.
    """

    def __init__(self, trees: Trees, shapes: ShapeReader, actuators: Actuators | None, left_out: LeftOut):
        self.model, self.trees, self.shapes, self.left_out = trees.model, trees, shapes, left_out
        self.names = [] if actuators is None else actuators.names
        self.tendons = [] if actuators is None else actuators.tendon_names

    def sensors(self) -> list[Sensor]:
        """Those that can be made, in order."""
        made = []
        m = self.model
        for k in range(int(m.nsensor)):
            name, kind = m.sensor(k).name, _kind_of(int(m.sensor_type[k]))
            for key in ("delay", "interval"):
                if np.any(getattr(m, f"sensor_{key}")[k]):
                    self.left_out.add(f"{key} of sensors is left out", name)
            read = self._reading(k, kind)
            if read is None:
                self.left_out.add(f"sensors of kind {kind} are left out", name)
                continue
            cutoff = float(m.sensor_cutoff[k]) or np.inf
            low = -np.inf if int(m.sensor_datatype[k]) == POSITIVE else -cutoff
            if int(m.sensor_datatype[k]) > POSITIVE:  # axes and quaternions
                low, cutoff = -np.inf, np.inf
            made.append(Sensor(name, kind, int(m.sensor_dim[k]), read, low, cutoff))
        return made

    def _reading(self, k: int, kind: str) -> Reading | None:
        m, number = self.model, int(self.model.sensor_objid[k])
        if kind == "camprojection":
            camera = int(m.sensor_refid[k])
            return ReadingOf(
                readings.camera_projection, self._frame(SITE, number), self._frame(CAMERA, camera), self._lens(camera)
            )
        if kind == "insidesite":
            site, frame = int(m.sensor_refid[k]), self._frame(int(m.sensor_objtype[k]), number)
            return ReadingOf(readings.inside_site, frame, self._frame(SITE, site), Zone.of_site(m, site))
        if kind in ("tendonlimitpos", "tendonlimitvel"):
            return self._tendon_limit(number, kind == "tendonlimitvel")
        if kind in readings.OF_GEOMS:
            return self._nearest(k, kind)
        if kind == "e_potential":
            return self._potential()
        if kind in ("jointlimitpos", "jointlimitvel") and int(m.jnt_type[number]) not in PLACEMENT:
            return None
        if kind in readings.OF_DOFS:
            return ReadingOf(readings.OF_DOFS[kind], self.trees.dofs[int(m.jnt_dofadr[number])])
        if kind in readings.OF_BALLS:
            return ReadingOf(readings.OF_BALLS[kind], self.trees.dofs[int(m.jnt_dofadr[number])].joint)
        if kind in readings.OF_ACTUATORS:
            names = self.tendons if kind.startswith("tendon") else self.names
            own = m.tendon(number).name if kind.startswith("tendon") else m.actuator(number).name
            return (
                ReadingOf(readings.of_actuators, readings.OF_ACTUATORS[kind], names.index(own))
                if own in names
                else None
            )
        if kind in readings.OF_FRAMES:
            reference = int(m.sensor_refid[k])
            base = None if reference < 0 else self._frame(int(m.sensor_reftype[k]), reference)
            return ReadingOf(readings.OF_FRAMES[kind], self._frame(int(m.sensor_objtype[k]), number), base)
        if kind == "rangefinder" and (int(m.sensor_objtype[k]) != SITE or int(m.sensor_intprm[k, 0]) != DISTANCE):
            return None  # of cameras, or other numbers than the distance
        if kind in readings.OF_SITES:
            return ReadingOf(readings.OF_SITES[kind], self._frame(SITE, number))
        if kind == "touch":
            return ReadingOf(readings.touch, self._frame(SITE, number), Zone.of_site(m, number))
        if kind.startswith("subtree"):
            return ReadingOf(readings.SUBTREES[kind], self._subtree(number)) if kind in readings.SUBTREES else None
        if kind == "magnetometer":
            return ReadingOf(readings.magnetometer, self._frame(SITE, number), np.array(m.opt.magnetic))
        return readings.OF_WORLDS.get(kind)

    def _lens(self, c: int) -> Lens:
        m = self.model
        size, pixels = np.asarray(m.cam_sensorsize[c], float), np.asarray(m.cam_resolution[c], float)
        if size.all():
            focal = np.asarray(m.cam_intrinsic[c][:2], float) / (size + readings.SMALL) * pixels
        else:
            focal = np.full(2, 0.5 / np.tan(0.5 * np.radians(float(m.cam_fovy[c]))) * pixels[1])
        return Lens(focal, 0.5 * pixels)

    def _tendon_limit(self, t: int, rate: bool) -> Reading | None:
        m, name = self.model, self.model.tendon(t).name
        if name not in self.tendons:
            return None
        lower, upper = np.asarray(m.tendon_range[t], float) + float(m.tendon_margin[t]) * np.array([1.0, -1.0])
        if not m.tendon_limited[t]:
            lower, upper = -np.inf, np.inf
        return ReadingOf(readings.tendon_limit, self.tendons.index(name), float(lower), float(upper), rate)

    def _nearest(self, k: int, kind: str) -> Reading | None:
        """Between geoms, or all those of bodies; None if some are no shapes."""
        m, ends = self.model, []
        for what, number in (
            (int(m.sensor_objtype[k]), int(m.sensor_objid[k])), (int(m.sensor_reftype[k]), int(m.sensor_refid[k])),
        ):  # fmt: skip
            own = [number] if what == GEOM else np.flatnonzero(m.geom_bodyid == number).tolist()
            if not own or not all(g in self.shapes.nodes for g in own):
                return None
            ends.append([self.shapes.nodes[g] for g in own])
        return ReadingOf(readings.nearest, *ends, float(m.sensor_cutoff[k]), kind)

    def _potential(self) -> Reading | None:
        """None where balls and free joints have springs, whose energy depends on how they turn."""
        m = self.model
        stiff = np.flatnonzero(m.jnt_stiffness).tolist() if self.trees.switched(NO_SPRINGS) else []
        if any(int(m.jnt_type[j]) not in PLACEMENT or np.any(m.jnt_stiffnesspoly[j]) for j in stiff):
            return None
        springs = [
            (self.trees.dofs[int(m.jnt_dofadr[j])], float(m.jnt_stiffness[j]), float(m.qpos_spring[m.jnt_qposadr[j]]))
            for j in stiff
        ]
        strings = [
            (self.tendons.index(m.tendon(t).name), float(m.tendon_stiffness[t]), *m.tendon_lengthspring[t].tolist())
            for t in (np.flatnonzero(m.tendon_stiffness).tolist() if self.trees.switched(NO_SPRINGS) else [])
        ]
        gravity = np.array(m.opt.gravity) * self.trees.switched(NO_GRAVITY)
        return ReadingOf(readings.potential_energy, self._subtree(0), gravity, springs, strings)

    def _frame(self, kind: int, number: int) -> Frame:
        m = self.model
        position, quaternion, body = FRAMES[kind]
        b = number if body is None else int(getattr(m, body)[number])
        inside = np.eye(4)
        if position is not None and quaternion is not None:
            inside = pose(getattr(m, position)[number], getattr(m, quaternion)[number])
        return Frame(self.trees.bodies[b], inside)

    def _subtree(self, b: int) -> list[tuple[Frame, float, Array]]:
        """Inertial frames, masses and principal moments of a body and of all that hang on it."""
        m, inside = self.model, {b}
        for k in range(b + 1, int(m.nbody)):
            if int(m.body_parentid[k]) in inside:
                inside.add(k)
        return [
            (self._frame(BODY, k), float(m.body_mass[k]), np.array(m.body_inertia[k]))
            for k in sorted(inside)
            if m.body_mass[k] > 0.0
        ]


def _kind_of(number: int) -> str:
    return mujoco().mjtSensor(number).name.removeprefix("mjSENS_").lower()
