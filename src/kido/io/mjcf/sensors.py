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
from kido.io.mjcf.readings import Frame, ReadingOf
from kido.io.mjcf.remarks import LeftOut
from kido.io.mjcf.trees import Trees, pose
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
        actuators: of the world, if it has any.
    """

    def __init__(self, trees: Trees, actuators: Actuators | None, left_out: LeftOut):
        self.model, self.trees, self.left_out = trees.model, trees, left_out
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
