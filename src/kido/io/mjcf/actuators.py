"""Actuators and tendons of a compiled model as those of `kido.actuation`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.actuation import (
    Actuator,
    Actuators,
    Around,
    Ball,
    Linear,
    Path,
    Place,
    Pulley,
    Tendon,
    Wrench,
)
from kido.io.mjcf.remarks import LeftOut
from kido.io.mjcf.trees import BALL, FREE, NO_DAMPERS, NO_SPRINGS, Trees, pose
from kido.simulation import World

__all__ = ["ActuatorReader"]

Array = NDArray[np.float64]
JOINT, JOINT_IN_PARENT, _, TENDON, SITE = range(5)  # mjtTrn
OF_JOINT, PULLEY, THROUGH, SPHERE, CYLINDER = range(1, 6)  # mjtWrap
DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle")  # mjtDyn
GAINS = ("fixed", "affine", "muscle")  # mjtGain
BIASES = ("none", "affine", "muscle")  # mjtBias
NO_CLAMP, NO_ACTUATION = 1 << 8, 1 << 11  # of mjtDisableBit
LEAST = 1e-15  # MuJoCo's smallest divisor
NAMES_OF_TRANSMISSIONS = {2: "slider-crank", 5: "bodies (adhesion)", 6: "rotations"}


class ActuatorReader:
    """Puts actuators and tendons into a world.

    Args:
        trees: bodies and coordinates.

    Attributes:
        tendons: that could be made, by number.
        actuators: the same.
    """

    def __init__(self, trees: Trees, left_out: LeftOut):
        self.model, self.trees, self.left_out = trees.model, trees, left_out
        self._sites: dict[int, Place] = {}
        self.tendons = {k: self._tendon(k) for k in range(int(self.model.ntendon))}
        made = {k: self._actuator(k) for k in range(int(self.model.nactuator))}
        self.actuators = {k: a for k, a in made.items() if a is not None}

    def add_to(self, world: World) -> Actuators | None:
        """Have a world run them; None if there are none."""
        if not self.actuators and not self.tendons:
            return None
        ranges: dict[Any, Array] = {}
        m = self.model
        for j in np.flatnonzero(m.jnt_actfrclimited).tolist():
            dof = self.trees.dofs[int(m.jnt_dofadr[j])]
            skeleton = dof.joint.child.skeleton
            if int(m.jnt_type[j]) not in (FREE, BALL):
                bounds = ranges.setdefault(skeleton, np.tile([-np.inf, np.inf], (skeleton.num_dofs, 1)))
                bounds[dof.index] = m.jnt_actfrcrange[j]
        return Actuators(world, list(self.actuators.values()), list(self.tendons.values()), ranges)

    def place(self, s: int) -> Place:
        """A site."""
        if s not in self._sites:
            m = self.model
            body = self.trees.bodies[int(m.site_bodyid[s])]
            self._sites[s] = Place(body, pose(m.site_pos[s], m.site_quat[s]))
        return self._sites[s]

    # -- tendons -------------------------------------------------------------------------------------------------

    def _tendon(self, t: int) -> Tendon:
        m, name = self.model, self.model.tendon(t).name
        items = range(int(m.tendon_adr[t]), int(m.tendon_adr[t] + m.tendon_num[t]))
        if int(m.wrap_type[items[0]]) == OF_JOINT:
            transmission: Linear | Path = self._linear(
                [(int(m.wrap_objid[k]), float(m.wrap_prm[k])) for k in items if m.wrap_prm[k]]
            )
        else:
            transmission = Path([self._item(k) for k in items])
        for key in ("springyield", "dampingpoly", "stiffnesspoly"):
            if np.any(getattr(m, f"tendon_{key}")[t]):
                self.left_out.add(f"{key} of tendons is left out", name)
        own = [a for a in range(int(m.nactuator)) if m.actuator_trntype[a] == TENDON and m.actuator_trnid[a, 0] == t]
        squares = [(a, float(m.actuator_gear[a, 0]) ** 2) for a in own]
        self._add_armature(
            transmission, float(m.tendon_armature[t]) + sum(g * float(m.actuator_armature[a]) for a, g in squares), name
        )
        damping = float(m.tendon_damping[t]) + sum(g * float(m.actuator_damping[a]) for a, g in squares)
        limited = bool(m.tendon_actfrclimited[t])
        return Tendon(
            name,
            transmission,
            stiffness=float(m.tendon_stiffness[t]) * self.trees.switched(NO_SPRINGS),
            damping=damping * self.trees.switched(NO_DAMPERS),
            rest=(float(m.tendon_lengthspring[t, 0]), float(m.tendon_lengthspring[t, 1])),
            force_range=_range(m.tendon_actfrcrange[t], limited),
        )

    def _add_armature(self, transmission: Any, armature: float, name: str) -> None:
        """The inertia of a rotor that turns with a length is that of the one joint which the length is of."""
        if not armature:
            return
        if not isinstance(transmission, Linear) or len(transmission.terms) != 1:
            self.left_out.add("armature along several joints is left out", name)
            return
        ((dof, factor),) = transmission.terms
        dof.armature += armature * factor**2

    def _linear(self, terms: list[tuple[int, float]]) -> Linear:
        """Of joints and factors."""
        factors: dict[Any, float] = {}
        for joint, factor in terms:
            dof = self.trees.dofs[int(self.model.jnt_dofadr[joint])]
            factors[dof] = factors.get(dof, 0.0) + factor
        return Linear(list(factors.items()))

    def _item(self, k: int) -> Place | Around | Pulley:
        m = self.model
        kind, number, value = int(m.wrap_type[k]), int(m.wrap_objid[k]), float(m.wrap_prm[k])
        if kind == THROUGH:
            return self.place(number)
        if kind == PULLEY:
            return Pulley(value)
        body = self.trees.bodies[int(m.geom_bodyid[number])]
        side = self.place(round(value)) if value >= 0.0 else None
        centre = Place(body, pose(m.geom_pos[number], m.geom_quat[number]))
        return Around(centre, float(m.geom_size[number, 0]), "sphere" if kind == SPHERE else "cylinder", side)

    # -- actuators -----------------------------------------------------------------------------------------------

    def _actuator(self, a: int) -> Actuator | None:
        m, name = self.model, self.model.actuator(a).name
        kind = int(m.actuator_trntype[a])
        if kind not in (JOINT, JOINT_IN_PARENT, TENDON, SITE):
            what = NAMES_OF_TRANSMISSIONS.get(kind, str(kind))
            self.left_out.add(f"actuators along {what} are left out", name)
            return None
        kinds = [int(getattr(m, f"actuator_{key}type")[a]) for key in ("dyn", "gain", "bias")]
        if kinds[0] >= len(DYNAMICS) or kinds[1] >= len(GAINS) or kinds[2] >= len(BIASES):
            self.left_out.add("actuators of other kinds than gain and bias (motors, PID, plugins) are left out", name)
            return None
        for key in ("dampingpoly", "delay"):
            if np.any(getattr(m, f"actuator_{key}")[a]):
                self.left_out.add(f"{key} of actuators is left out", name)
        gear = np.asarray(m.actuator_gear[a], float)
        if kind == TENDON:
            transmission: Any = self.tendons[int(m.actuator_trnid[a, 0])]
        else:
            transmission = self._on_site(a, gear) if kind == SITE else self._on_joint(a, kind, gear)
            self._add_rotor(a, transmission, name)
        numbers = {key: np.asarray(getattr(m, f"actuator_{key}prm")[a], float) for key in ("dyn", "gain", "bias")}
        for key, which in (("gain", 1), ("bias", 2)):
            if kinds[which] == 2 and numbers[key][2] < 0.0:  # a muscle's force by the acceleration that it gives
                numbers[key] = numbers[key].copy()
                numbers[key][2] = numbers[key][3] / max(LEAST, float(m.actuator_acc0[a]))
        disabled = int(m.opt.disableactuator) >> int(m.actuator_group[a]) & 1 if 0 <= m.actuator_group[a] < 31 else 0
        return Actuator(
            name,
            transmission,
            gear=float(gear[0]) if kind == TENDON else 1.0,
            dynamics=DYNAMICS[kinds[0]],
            dynamics_parameters=tuple(numbers["dyn"][:3].tolist()),
            gain=GAINS[kinds[1]],
            gain_parameters=tuple(numbers["gain"][:9].tolist()),
            bias=BIASES[kinds[2]],
            bias_parameters=tuple(numbers["bias"][:9].tolist()),
            control_range=_range(m.actuator_ctrlrange[a], m.actuator_ctrllimited[a] and self.trees.switched(NO_CLAMP)),
            activation_range=_range(m.actuator_actrange[a], m.actuator_actlimited[a]),
            force_range=_range(m.actuator_forcerange[a], m.actuator_forcelimited[a]),
            length_range=(float(m.actuator_lengthrange[a, 0]), float(m.actuator_lengthrange[a, 1])),
            period=self._period(a, kind, kinds, gear),
            early=bool(m.actuator_actearly[a]),
            active=self.trees.switched(NO_ACTUATION) and not disabled,
        )

    def _add_rotor(self, a: int, transmission: Any, name: str) -> None:
        """Inertia and damping of an actuator's own rotor, on its joint."""
        armature, damping = (float(getattr(self.model, f"actuator_{key}")[a]) for key in ("armature", "damping"))
        self._add_armature(transmission, armature, name)
        if damping and isinstance(transmission, Linear):
            ((dof, gear),) = transmission.terms
            dof.damping += damping * gear**2 * self.trees.switched(NO_DAMPERS)
        elif damping:
            self.left_out.add("damping of actuators that are not along a hinge, a slide or a tendon is left out", name)

    def _on_joint(self, a: int, kind: int, gear: Array) -> Any:
        m, j = self.model, int(self.model.actuator_trnid[a, 0])
        dof = self.trees.dofs[int(m.jnt_dofadr[j])]
        if int(m.jnt_type[j]) == FREE:
            turns = "world" if kind == JOINT_IN_PARENT else "place"
            return Wrench(Place(dof.joint.child, np.eye(4)), gear, force_axes="world", torque_axes=turns)
        if int(m.jnt_type[j]) == BALL:
            return Ball(dof.joint, gear[:3], kind == JOINT_IN_PARENT)
        return Linear([(dof, float(gear[0]))])

    def _on_site(self, a: int, gear: Array) -> Wrench:
        site, reference = (int(k) for k in self.model.actuator_trnid[a])
        if reference < 0:
            return Wrench(self.place(site), gear)
        return Wrench(self.place(site), gear, self.place(reference), "reference", "reference")

    def _period(self, a: int, kind: int, kinds: list[int], gear: Array) -> float:
        """Of what controls of servos of rotations mean."""
        m = self.model
        servo = kinds[1] == 0 and kinds[2] == 1 and kinds[0] in (0, 1)
        if not servo or m.actuator_gainprm[a, 0] != -m.actuator_biasprm[a, 1]:
            return 0.0
        if kind == SITE and m.actuator_trnid[a, 1] >= 0 and not np.any(gear[:3]):
            return float(2.0 * np.pi * np.linalg.norm(gear[3:]))
        if kind in (JOINT, JOINT_IN_PARENT) and int(m.jnt_type[int(m.actuator_trnid[a, 0])]) == BALL:
            return float(2.0 * np.pi * np.linalg.norm(gear[:3]))
        return 0.0


def _range(bounds: Any, limited: Any) -> tuple[float, float]:
    return (float(bounds[0]), float(bounds[1])) if limited else (-np.inf, np.inf)
