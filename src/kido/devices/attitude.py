"""Attitude of spacecraft: what it is to be and is believed to be, what turns it, and how wheels are slowed down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.devices.navigation import turned
from kido.environment.directions import Direction
from kido.errors import ModelError
from kido.math.transform import as_unit_vector, numbers_or_nan
from kido.systems import Assembly, Input, JointPort, Model, Output, Parameter, State

ZERO = (0.0, 0.0, 0.0)


def rodrigues_parameters(rotation: Any) -> Any:
    """Modified Rodrigues parameters (3,) e tan(angle / 4) of a rotation matrix, of a turn by at most half a circle.

    By the greatest of a quaternion's components, so that no digits are lost at any angle; arrays, or expressions.

    Source: S. Shepperd, Quaternion from rotation matrix (1978); H. Schaub, J. Junkins (2018), section 3.6.
    """
    R = rotation
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    squares = [trace, R[0, 0], R[1, 1], R[2, 2]]
    products = {
        (0, 1): R[2, 1] - R[1, 2], (0, 2): R[0, 2] - R[2, 0], (0, 3): R[1, 0] - R[0, 1],
        (1, 2): R[0, 1] + R[1, 0], (1, 3): R[2, 0] + R[0, 2], (2, 3): R[1, 2] + R[2, 1],
    }  # fmt: skip
    best, found = None, None
    for k in range(4):
        size = 1.0 + trace if k == 0 else 1.0 - trace + 2.0 * squares[k]  # four times the component's square
        half = np.sqrt(np.maximum(size, 1e-12))
        q = np.array([half if j == k else products[min(j, k), max(j, k)] / half for j in range(4)]) * 0.5
        if found is None:
            best, found = size, q
        else:
            found, best = np.where(size > best, q, found), np.maximum(size, best)
    assert found is not None
    sign = np.where(found[0] < 0.0, -1.0, 1.0)
    return found[1:] * (sign / (1.0 + sign * found[0]))


def turn_about(axis: Any, angle: Any) -> Any:
    """Rotation matrix (3, 3) by an angle about a unit vector."""
    x, y, z = axis
    cross = np.array([[0.0 * x, -z, y], [z, 0.0 * y, -x], [-y, x, 0.0 * z]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)


class EigenaxisSlew(Model):
    """A turn about one axis, from rest to rest: the attitude that is wanted, its rate and acceleration in its own axes.

        R = start exp(axis th),    th = angle (10 s^3 - 15 s^4 + 6 s^5),    s = (t - begin) / duration in 0 to 1

    Source: B. Wie, Space Vehicle Dynamics and Control (2008), section 7.3, eigenaxis rotations.
    """

    start = Parameter(np.eye(3))
    axis, angle = Direction((0.0, 0.0, 1.0)), Parameter(0.0, "rad")
    begin, duration = Parameter(0.0, "s"), Parameter(60.0, "s", low=1e-9)
    rotation, rate_wanted = Output("1", (3, 3)), Output("rad/s", 3)
    acceleration = Output("rad/s^2", 3)

    def outputs(self):
        s, T = np.clip((self.time - self.begin) / self.duration, 0.0, 1.0), self.duration
        angle = self.angle * s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
        speed = self.angle / T * 30.0 * s**2 * (1.0 - s) ** 2
        change = self.angle / (T * T) * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
        return {
            "rotation": self.start @ turn_about(self.axis, angle),
            "rate_wanted": speed * self.axis,
            "acceleration": change * self.axis,
        }


class AttitudeFeedback(Model):
    """Torque that keeps a body at an attitude that may turn, by modified Rodrigues parameters of what it is off.

        u = -K sigma - P dw + w x (J w + h) + J (a - w x w_r) - L

    with w_r and a the wanted rate and acceleration in body axes, dw = w - w_r, h the momentum of wheels, L a torque
    that is known; one that is not ends in sigma = L / K.

    Source: H. Schaub, J. Junkins, Analytical Mechanics of Space Systems (2018), section 8.4.1.
    """

    rate = 10
    K, P = Parameter(3.5, "N m", low=0.0), Parameter(30.0, "N m s/rad", low=0.0)
    inertia = Parameter(np.eye(3), "kg m^2", doc="of the whole about its centre of mass, body axes, J")
    rotation, angular_rate = Input("1", (3, 3)), Input("rad/s", 3, doc="body axes, as gyroscopes read it")
    wanted = Input("1", (3, 3), default=np.eye(3))
    rate_wanted = Input("rad/s", 3, default=ZERO, doc="in the wanted axes")
    acceleration = Input("rad/s^2", 3, default=ZERO, doc="in the wanted axes")
    momentum = Input("N m s", 3, default=ZERO, doc="of wheels, body axes, h")
    known = Input("N m", 3, default=ZERO, doc="torque by others, world axes, L")
    torque = Output("N m", 3, doc="body axes")
    off = Output("1", 3, doc="sigma")

    def outputs(self):
        to_body = self.rotation.T @ self.wanted
        sigma, w = rodrigues_parameters(to_body.T), self.angular_rate
        wr, a = to_body @ self.rate_wanted, to_body @ self.acceleration
        turning = np.cross(w, self.inertia @ w + self.momentum) + self.inertia @ (a - np.cross(w, wr))
        return {"torque": -self.K * sigma - self.P * (w - wr) + turning - self.rotation.T @ self.known, "off": sigma}


class AttitudeEstimator(Model):
    """Attitude and gyroscopes' bias by gyroscopes between readings of a star tracker, with constant gains.

        R+ = R exp(T (w - b) + k_1 e),    b+ = b - k_2 e / T,    e = 1/2 vee(R^T S - S^T R)

    with S what the star tracker read, at the same rate. Poles of small errors are those of z^2 - (2 - k_1) z +
    (1 - k_1 + k_2): both within the circle for 0 < k_2 < k_1 < 1.

    Source: R. Mahony, T. Hamel, J.-M. Pflimlin, Nonlinear complementary filters on SO(3) (2008), with a bias.
    """

    rate = 10
    k1, k2 = Parameter(0.1, low=0.0, high=1.0), Parameter(0.0025, low=0.0, high=1.0)
    measured, angular_rate = Input("1", (3, 3), doc="of the star tracker"), Input("rad/s", 3, doc="of gyroscopes")
    true_rate = Output("rad/s", 3, doc="without the bias, body axes")
    rotation, bias = State("1", np.eye(3), doc="from body to world axes"), State("rad/s", ZERO)
    samples = State("1", doc="number of ticks, at most 1")

    def outputs(self):
        return {"true_rate": self.angular_rate - self.bias}

    def update(self):
        E = self.rotation.T @ self.measured
        e = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
        return {
            "rotation": turned(
                self.rotation, self.samples * self.period * (self.angular_rate - self.bias) + self.k1 * e
            ),
            "bias": self.bias - self.k2 / self.period * e,
            "samples": 1.0,
        }


class WheelMotor(Model):
    """Motor of a reaction wheel that is a body: its part of a torque on the hub, within limits.

        torque = -share . asked,    momentum = what comes in + J speed axis

    No torque drives it beyond `largest_speed`. Momenta of several wheels are added up from one to the next.
    """

    inertia = Parameter(0.1, "kg m^2", low=0.0, doc="of the wheel about its axis, J")
    axis, share = Direction((1.0, 0.0, 0.0)), Parameter((1.0, 0.0, 0.0), doc="row of the inverse")
    largest_torque, largest_speed = Parameter(1e300, "N m", low=0.0), Parameter(1e300, "rad/s", low=0.0)
    asked, speed = Input("N m", 3, doc="on the hub, body axes"), Input("rad/s")
    others = Input("N m s", 3, default=ZERO, doc="momentum of wheels before it")
    torque, momentum = Output("N m", doc="on the wheel"), Output("N m s", 3, doc="body axes, relative to the hub")

    def outputs(self):
        t = np.clip(-(self.share @ self.asked), -self.largest_torque, self.largest_torque)
        beyond = (self.speed >= self.largest_speed) * (t > 0.0) + (self.speed <= -self.largest_speed) * (t < 0.0)
        return {
            "torque": (1.0 - beyond) * t,
            "momentum": self.others + self.inertia * self.speed * self.axis,
        }


class WheelSet(Assembly):
    """Reaction wheels that are bodies on joints: they share a torque on the hub as their axes allow, A^+ u.

    Ports: connect `wheel_<k>.asked` of each, or `asked()`; `momentum` is that of all of them.

    Args:
        name: in its assembly.
        joints: of the wheels.
        axes: directions along them (n, 3), body axes of the hub, that span all directions.
        inertia: of each about its axis [kg m^2].
        **values: parameters of each `WheelMotor`.

    Raises:
        ModelError: not as many axes as joints, or ones that leave a direction out.
    """

    def __init__(self, name: str, joints: Sequence[Any], axes: ArrayLike, inertia: float, **values: Any):
        super().__init__(name)
        A = numbers_or_nan(axes)
        if not isinstance(joints, list | tuple):
            raise ModelError(f"assembly {name!r}: joints: expected a sequence of joints, got {joints!r:.100}")
        if A.shape != (len(joints), 3) or not np.isfinite(A).all() or np.linalg.matrix_rank(A) < 3:
            raise ModelError(
                f"assembly {name!r}: axes: expected {len(joints)} vectors that span space, got {axes!r:.100}"
            )
        A = np.array([as_unit_vector(a, f"assembly {name!r}: axes[{k}]") for k, a in enumerate(A)])
        shares = np.linalg.pinv(A.T)
        before = None
        for k, joint in enumerate(joints):
            port = self.add(JointPort(joint, f"joint_{k}"))
            motor = self.add(WheelMotor(f"wheel_{k}", inertia=inertia, axis=A[k], share=shares[k], **values))
            self.connect(port.velocity, motor.speed)
            self.connect(motor.torque, port.force)
            if before is not None:
                self.connect(before.momentum, motor.others)
            before = motor
        assert before is not None
        self.expose("momentum", before.port("momentum"))

    @property
    def motors(self) -> tuple[WheelMotor, ...]:
        """Of the wheels, in order: each is to be connected to the torque that is asked."""
        return tuple(part for part in self.parts if isinstance(part, WheelMotor))


class MomentumDumping(Model):
    """Torque for thrusters that takes momentum out of wheels: it begins above one size, and ends below another.

        torque = -strength h / |h|

    Wheels give way by it if the attitude is kept meanwhile; its size stays, so that pulses of thrusters do not become
    too short for their valves.

    Source: M. Sidi, Spacecraft Dynamics and Control (1997), section 7.5.
    """

    rate = 10
    begin, end = Parameter(10.0, "N m s", low=0.0), Parameter(0.5, "N m s", low=0.0)
    strength = Parameter(1.0, "N m", low=0.0)
    momentum = Input("N m s", 3, doc="of wheels, body axes, h")
    torque = Output("N m", 3, doc="body axes")
    dumping = State("1")

    def outputs(self):
        h = self.momentum
        return {"torque": -self.dumping * self.strength / np.sqrt(h @ h + 1e-24) * h}

    def update(self):
        size = np.sqrt(self.momentum @ self.momentum)
        return {"dumping": np.where(size > self.begin, 1.0, np.where(size < self.end, 0.0, self.dumping))}
