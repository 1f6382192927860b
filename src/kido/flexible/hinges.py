"""Flexible hinges: gear trains and series-elastic actuators in joints, and beams between bodies.

They are made of bodies and joints that there are, so that all that is known of these holds: springs are implicit in
steps, stops of a play are limits of a coordinate.

Source: Spong (1987), Modeling and control of elastic joint robots.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from kido.attributes import FixedAttributes, named_arguments
from kido.errors import ModelError
from kido.flexible.body import FlexibleBody
from kido.flexible.modes import Modes
from kido.math.transform import number_or_nan
from kido.skeleton import BodyNode, DegreeOfFreedom, Inertia, Joint, PrismaticJoint, RevoluteJoint, WeldJoint


class ElasticHinge(FixedAttributes):
    """A joint whose motor drives the link through a gear train and a spring; `elastic_hinge` makes it.

    With the ratio N, the motor's angle is N times the coordinate `motor`, the link's is the sum of `motor`, `play` if
    there is any, and `deflection`. Forces on `motor` are N times the motor's torque. Of a prismatic joint read lengths
    and forces.

    Attributes:
        motor: coordinate of the motor side, as the output of the gears has it; the joint's name is that which it had.
        deflection: coordinate of the spring.
        play: coordinate within the backlash, or None.
        ratio: turns of the motor for one of the link.
    """

    def __init__(self, motor: DegreeOfFreedom, deflection: DegreeOfFreedom, play: DegreeOfFreedom | None, ratio: float):
        self.motor, self.deflection, self.play, self.ratio = motor, deflection, play, ratio

    @property
    def motor_position(self) -> float:
        """Angle of the motor's shaft [rad], or its place [m]."""
        return self.ratio * self.motor.position

    @property
    def link_position(self) -> float:
        """Angle of the link [rad], or its place [m]: what the joint's coordinate was without the spring."""
        return self.motor.position + self.deflection.position + (self.play.position if self.play else 0.0)

    @property
    def link_velocity(self) -> float:
        """[rad/s or m/s]"""
        return self.motor.velocity + self.deflection.velocity + (self.play.velocity if self.play else 0.0)

    @property
    def torque(self) -> float:
        """What spring and damper exert on the link [N m or N]: what the sensor of a series-elastic actuator reads."""
        k = self.deflection
        return -k.spring_stiffness * (k.position - k.rest_position) - k.damping * k.velocity

    def drive(self, torque: float) -> None:
        """Have the motor exert a torque on its shaft [N m], or a force [N], until another is set.

        Raises:
            StateError: a torque that is not finite.
        """
        self.motor.force = self.ratio * torque

    def __repr__(self) -> str:
        return f"ElasticHinge({self.motor.joint.name!r}, ratio {self.ratio:g})"


@named_arguments
def elastic_hinge(
    joint: Joint,
    stiffness: float,
    rotor_inertia: float = 0.0,
    ratio: float = 1.0,
    damping: float = 0.0,
    motor_damping: float | None = None,
    backlash: float = 0.0,
    gear_inertia: float = 0.0,
) -> ElasticHinge:
    """Give a joint of a robot a motor with a gear train and a spring: harmonic drives, series-elastic actuators.

    Between the body and its parent comes a body without mass that the motor turns, by the joint as it was, its name,
    limits and actuator. The body hangs on it by a spring. With motor angle N q_m, link angle q, the rotor's inertia J,

        N^2 J q_m'' = N tau - k (q_m - q) - d (q_m' - q'),      M q'' + ... = k (q_m - q) + d (q_m' - q').

    The spin of the rotor is that about its parent, without its gyroscopic torque: right for large N. With backlash
    there is a gear between two stops, within which its output is loose: it needs an inertia, of which each stroke at a
    stop takes the kinetic energy. Stops are limits of joints: worlds keep them, `FlexibleTree.simulate` does not.

    Args:
        joint: revolute or prismatic, of a skeleton.
        stiffness: of the spring, at the link's side [N m/rad or N/m]; one at the motor's side counts N^2 times.
        rotor_inertia: of rotor and gears at the motor's side [kg m^2 or kg].
        ratio: turns of the motor for one of the link.
        damping: of the spring [N m s/rad or N s/m].
        motor_damping: of the motor, at the link's side; by default that of the joint.
        backlash: play between the two stops, at the link's side [rad or m].
        gear_inertia: of what is loose within it [kg m^2 or kg].

    Returns:
        The hinge. Its joints are JOINT, JOINT_elastic and JOINT_play.

    Raises:
        ModelError: another joint, one that others mimic, numbers out of range, a play without inertia. Nothing is
            changed then.
    """
    if not isinstance(joint, RevoluteJoint | PrismaticJoint) or joint.skeleton is None:
        raise ModelError(f"joint: expected a revolute or prismatic joint of a skeleton, got {joint!r}")
    what = f"joint {joint.name!r}"
    k = _number(f"{what}: stiffness", stiffness, positive=True)
    N = number_or_nan(ratio)
    if not np.isfinite(N) or N == 0.0:
        raise ModelError(f"{what}: ratio: expected a finite number that is not zero, got {ratio!r}")
    rotor = _number(f"{what}: rotor_inertia", rotor_inertia)
    d = _number(f"{what}: damping", damping)
    loose = _number(f"{what}: backlash", backlash)
    gear = _number(f"{what}: gear_inertia", gear_inertia, positive=loose > 0.0)
    own = joint.damping[0] if motor_damping is None else _number(f"{what}: motor_damping", motor_damping)
    if rotor + joint.armature[0] == 0.0:
        raise ModelError(f"{what}: rotor_inertia: expected some, or the motor moves no mass")
    skeleton, body = joint.skeleton, joint.child
    followers = [
        other.name for other in skeleton.joints for m in other.mimics if m is not None and m.joint == joint.name
    ]
    if followers or joint.mimics[0] is not None:
        named = f"{followers[0]!r} follows it" if followers else "it follows another"
        raise ModelError(f"{what} cannot be elastic: {named}")
    names = [f"{joint.name}_elastic", *([f"{joint.name}_play"] if loose else [])]
    bodies = [f"{body.name}_motor", *([f"{body.name}_gear"] if loose else [])]
    used = {b.name for b in skeleton.bodies} | {j.name for j in skeleton.joints} | {x.name for x in skeleton.dofs}
    taken = [name for name in (*names, *bodies) if name in used]
    if taken:
        raise ModelError(f"{what} cannot be elastic: skeleton {skeleton.name!r} has {taken[0]!r} already; rename it")
    kind: Any = type(joint)
    name, dof_name, position, velocity = joint.name, joint.dofs[0].name, joint.positions, joint.velocities
    motor = copy.copy(joint)
    motor.transform_from_child = None
    motor.armature, motor.damping = joint.armature + N * N * rotor, own
    spring = kind(
        names[0], joint.axis, transform_from_child=joint.transform_from_child, spring_stiffness=k, damping=d,
        dof_names=[names[0]],
    )  # fmt: skip
    motor.dofs[0].name = f"{bodies[0]}_joint"
    turned = skeleton.add_body(bodies[0], _renamed(motor, f"{bodies[0]}_joint"), joint.parent)
    play = None
    if loose:
        own_inertia = gear * np.eye(3) if kind is RevoluteJoint else None
        inertia = Inertia(1e-9 * gear if own_inertia is not None else gear, moment=own_inertia)
        half = 0.5 * loose
        turned = skeleton.add_body(
            bodies[1],
            kind(names[1], joint.axis, position_lower_limit=-half, position_upper_limit=half, dof_names=[names[1]]),
            turned, inertia,
        )  # fmt: skip
        play = turned.parent_joint.dofs[0]
    body.move_to(turned, spring)
    motor.name = name
    motor.dofs[0].name = dof_name
    motor.positions, motor.velocities = position, velocity
    return ElasticHinge(motor.dofs[0], spring.dofs[0], play, N)


@named_arguments
def beam_hinge(body: BodyNode, modes: Modes, node: str = "tip", name: str | None = None) -> FlexibleBody:
    """Hang a body on its parent by a flexible one, such as a beam: flexures, hinges that are springy in all directions.

    The flexible body is welded to the parent where the body's joint was, and the body, by its joint as it was, to the
    node. Modes by forces at the tip (`beam_modes(..., boundary="craig-bampton")`) deflect exactly by them.

    Args:
        body: of a skeleton, below another or below the world.
        modes: of the flexible one.
        node: of it that the body hangs on.
        name: of the new body; by default BODY_hinge.

    Returns:
        The flexible body.

    Raises:
        ModelError: no body of a skeleton, a name that is taken, no such node. Nothing is changed then.
    """
    if not isinstance(body, BodyNode) or not isinstance(modes, Modes):
        raise ModelError(f"expected a body of a skeleton and kido.flexible.Modes, got {body!r} and {modes!r}")
    modes.node(node)
    label = f"{body.name}_hinge" if name is None else name
    copied = body.skeleton.clone()
    _inserted(copied.body(body.name), modes, node, label)  # refused on a copy, if at all
    return _inserted(body, modes, node, label)


def _inserted(body: BodyNode, modes: Modes, node: str, name: str) -> FlexibleBody:
    X = body.parent_joint.transform_from_parent
    made = FlexibleBody(body.skeleton.add_body(name, WeldJoint(transform_from_parent=X), body.parent), modes)
    body.move_to(made.node(node), transform_from_parent=np.eye(4))
    return made


def _renamed(joint: Joint, name: str) -> Joint:
    joint.name = name
    return joint


def _number(what: str, value: Any, positive: bool = False) -> float:
    number = number_or_nan(value)
    if not (np.isfinite(number) and (number > 0.0 if positive else number >= 0.0)):
        wanted = "a positive number" if positive else "a number that is not negative"
        raise ModelError(f"{what}: expected {wanted}, got {value!r}")
    return number
