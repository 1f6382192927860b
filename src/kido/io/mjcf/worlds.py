"""Worlds of MJCF files: with the file's actuators, sensors and keyframes by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.actuation import Actuators
from kido.errors import ModelError, NameLookupError
from kido.io.mjcf.sensors import Sensor, Sensors
from kido.io.mjcf.trees import Trees, pose
from kido.layouts import MujocoLayout
from kido.reprs import brief
from kido.simulation import World
from kido.skeleton import FreeJoint

__all__ = ["Keyframe", "MjcfWorld", "keyframes_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A state with a name.

    Attributes:
        name: for lookup.
        dofs: names of the coordinates by name of the skeleton: those that the file has.
        positions, velocities: (dofs,) by name of the skeleton; mocap bodies have positions alone.
        activations, controls: (actuators,)
    """

    name: str
    dofs: Mapping[str, tuple[str, ...]]
    positions: Mapping[str, Array]
    velocities: Mapping[str, Array]
    activations: Array
    controls: Array

    __repr__ = brief


class MjcfWorld(World):
    """A world that was read from MJCF."""

    _sensors: tuple[Sensor, ...] = ()
    _keyframes: tuple[Keyframe, ...] = ()

    def have(self, sensors: list[Sensor], keyframes: list[Keyframe]) -> None:
        """Take over what a file has."""
        self._sensors, self._keyframes = tuple(sensors), tuple(keyframes)

    @property
    def actuators(self) -> Actuators:
        """Controls, forces, lengths by name.

        Raises:
            ModelError: the file has neither actuators nor tendons.
        """
        return Actuators.of(self)

    @property
    def sensors(self) -> Sensors:
        """Readings by name, in the file's order."""
        return Sensors(self, list(self._sensors))

    @property
    def keyframes(self) -> dict[str, Keyframe]:
        """States by name."""
        return {key.name: key for key in self._keyframes}

    def set_keyframe(self, name: str) -> None:
        """Put skeletons, activations and controls into a state of the file; contacts are found anew.

        Coordinates that skeletons have got since, modes of links made flexible, become zero.

        Raises:
            NameLookupError: no such keyframe; a skeleton that has lost a coordinate of it.
        """
        if name not in self.keyframes:
            raise NameLookupError("keyframe", name, list(self.keyframes))
        key = self.keyframes[name]
        for skeleton, positions in key.positions.items():
            self.skeleton(skeleton).positions = self._placed(skeleton, key.dofs[skeleton], positions)
        for skeleton, velocities in key.velocities.items():
            self.skeleton(skeleton).velocities = self._placed(skeleton, key.dofs[skeleton], velocities)
        try:
            actuators = self.actuators
        except ModelError:
            return
        actuators.activations, actuators.controls = key.activations, key.controls

    def _placed(self, name: str, dofs: Sequence[str], values: Array) -> Array:
        """Values of coordinates by name as those of all of a skeleton; zero for others."""
        skeleton = self.skeleton(name)
        found = np.zeros(skeleton.num_dofs)
        found[[skeleton.dof(dof).index for dof in dofs]] = values
        return found


def keyframes_of(trees: Trees, world: World, actuators: Actuators | None) -> list[Keyframe]:
    """Those of a model."""
    m: Any = trees.model
    layouts = {s: MujocoLayout(s, m) for s in world.skeletons if s.num_dofs and not s.kinematic}
    numbers = {m.actuator(a).name: a for a in range(int(m.nactuator))}
    own = [] if actuators is None else [numbers[name] for name in actuators.names]
    dofs = {s.name: tuple(dof.name for dof in s.dofs) for s in world.skeletons}
    found = []
    for k in range(int(m.nkey)):
        positions, velocities = {}, {}
        for s, layout in layouts.items():
            q = layout.our_positions(np.asarray(m.key_qpos[k], float))
            positions[s.name] = q
            velocities[s.name] = layout.our_velocities(q, np.asarray(m.key_qvel[k], float))
        for b in np.flatnonzero(m.body_mocapid >= 0).tolist():
            mocap = int(m.body_mocapid[b])
            X = pose(m.key_mpos[k].reshape(-1, 3)[mocap], m.key_mquat[k].reshape(-1, 4)[mocap])
            positions[trees.bodies[b].skeleton.name] = FreeJoint.from_transform(X)
        slots = [int(m.actuator_actadr[a]) for a in own]
        activations = np.array([float(m.key_act[k, j]) if j >= 0 else 0.0 for j in slots])
        controls = np.array([float(m.key_ctrl[k, int(m.actuator_ctrladr[a])]) for a in own])
        found.append(Keyframe(m.key(k).name, dofs, positions, velocities, activations, controls))
    return found
