"""Between motors and joints: gears, friction, servos."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.devices.motors import DCMotor, Winding
from kido.devices.sensors import Encoder
from kido.errors import ModelError
from kido.math.transform import as_positive
from kido.systems import Assembly, Input, JointPort, Model, Output, Parameter, State


class Gear(Model):
    """A stiff gear: the rotor turns `ratio` times as fast as the joint, losses are a share of the power.

        torque on the joint = ratio * motor torque * (eta where the motor drives, 1 / eta where the joint does)

    eta^tanh(speed / `transition`) leads from one to the other, so that at rest the torque is that without losses. The
    rotor's inertia is the joint's, as `armature` says.

    Example:
        >>> joint.armature = gear.armature(motor)
    """

    ratio = Parameter(100.0)
    efficiency = Parameter(1.0, low=0.01, high=1.0)
    transition = Parameter(1e-3, "rad/s", low=1e-12, doc="speed of the joint within which the direction of power turns")
    motor_torque = Input("N m")
    joint_speed = Input("rad/s")
    joint_torque = Output("N m")
    motor_speed = Output("rad/s")

    def armature(self, motor: Winding) -> float:
        """Inertia of a motor's rotor as the joint has it, ratio^2 J_r [kg m^2]."""
        return float(self.ratio) ** 2 * float(motor.rotor_inertia)

    def outputs(self):
        drives = np.tanh(np.sign(self.ratio * self.motor_torque) * self.joint_speed / self.transition)  # or -1
        share = np.exp(np.log(self.efficiency) * drives)
        return {
            "joint_torque": share * self.ratio * self.motor_torque,
            "motor_speed": self.ratio * self.joint_speed,
        }


class JointFriction(Model):
    """Friction of a joint that falls from breakaway to Coulomb's with speed, and a viscous part.

        torque = -(F_c + (F_s - F_c) exp(-(w / w_s)^2)) tanh(w / w_0) - b w

    A smooth law, which creeps at rest within w_0; exact sticking is `DegreeOfFreedom.coulomb_friction`.

    Source: Armstrong-Helouvry, Dupont, Canudas de Wit, A survey of models ... of machines with friction (1994).
    """

    coulomb = Parameter(1.0, "N m", low=0.0, doc="F_c")
    breakaway = Parameter(1.5, "N m", low=0.0, doc="F_s")
    stribeck_speed = Parameter(0.1, "rad/s", low=1e-9, doc="w_s")
    smooth_speed = Parameter(1e-3, "rad/s", low=1e-9, doc="w_0")
    viscous = Parameter(0.1, "N m s/rad", low=0.0, doc="b")
    speed = Input("rad/s")
    torque = Output("N m")

    def outputs(self):
        w = self.speed
        level = self.coulomb + (self.breakaway - self.coulomb) * np.exp(-((w / self.stribeck_speed) ** 2))
        return {"torque": -level * np.tanh(w / self.smooth_speed) - self.viscous * w}


class PID(Model):
    """A sampled controller of one quantity, within limits, whose integral stops where they are met.

        u = f + k_p (wanted - y) + I - k_d v
        I+ = I + k_i T (wanted - y), unless u is at a limit that it pushes against

    with v the rate of y and f what is known beforehand, given or, where nothing is connected, 0.
    """

    rate = 1000
    kp, ki, kd = Parameter(1.0, low=0.0), Parameter(0.0, low=0.0), Parameter(0.0, low=0.0)
    least, largest = Parameter(-1e300, doc="of the output"), Parameter(1e300, doc="of the output")
    wanted, measured, measured_rate = Input(), Input(), Input(default=0.0)
    feedforward = Input(default=0.0, doc="f")
    command = Output()
    integral = State()

    def _asked(self):
        error = self.kp * (self.wanted - self.measured)
        return self.feedforward + error + self.integral - self.kd * self.measured_rate

    def outputs(self):
        return {"command": np.clip(self._asked(), self.least, self.largest)}

    def update(self):
        asked, error = self._asked(), self.wanted - self.measured
        pushes = (asked > self.largest) * (error > 0.0) + (asked < self.least) * (error < 0.0)
        return {"integral": self.integral + (1.0 - pushes) * self.ki * self.period * error}


class Servo(Model):
    """A position servo: stiffness and damping, within the torque that its motor has at its speed.

        torque = clip(k_p (wanted - q) - k_d w, -stall (1 + w / w_0), stall (1 - w / w_0))

    both bounds no further than `stall`; w_0 is the speed at which it has no torque left.
    """

    kp = Parameter(50.0, "N m/rad", low=0.0)
    kd = Parameter(1.0, "N m s/rad", low=0.0)
    stall = Parameter(10.0, "N m", low=0.0)
    no_load_speed = Parameter(6.0, "rad/s", low=1e-9, doc="w_0")
    wanted, position, velocity = Input("rad"), Input("rad"), Input("rad/s")
    torque = Output("N m")

    def outputs(self):
        run = self.velocity / self.no_load_speed
        most, least = np.clip(1.0 - run, 0.0, 1.0), -np.clip(1.0 + run, 0.0, 1.0)
        asked = self.kp * (self.wanted - self.position) - self.kd * self.velocity
        return {"torque": np.clip(asked, self.stall * least, self.stall * most)}


class CascadedDrive(Assembly):
    """A joint's motor, gear and encoder under loops within loops: of position, velocity and current, each faster.

        velocity = wanted' + k_x (wanted - q),    k_x = bandwidth / 4
        current = PI of the velocity: k = bandwidth inertia / (ratio K),    k_i = k bandwidth / 4
        voltage = PI of the current, which cancels the winding's pole: k = L / lag,    k_i = R / lag

    Without `wanted_rate` a steady motion is followed with the error wanted' / k_x. Connect `wanted`, and `wanted_rate`.
    The motor: 0.5 ohm, 2 mH, 0.05 N m/A; the lag of its current 1 ms. A world's time step has to divide the periods.

    Args:
        name: in its assembly.
        joint: joint or coordinate that it drives.
        ratio: of the gear.
        inertia: that the joint moves, about [kg m^2].
        bandwidth: of the velocity loop [rad/s].
        largest_current, supply: limits [A], [V].
        rates: of the loops for position, velocity and current [Hz].

    Raises:
        ModelError: a ratio, inertia, bandwidth or limit that is not positive; no three rates as of models.

    Source: B. Siciliano, L. Sciavicco, L. Villani, G. Oriolo, Robotics (2009), section 8.3; W. Leonhard, Control of
    Electrical Drives (2001), section 7.1.
    """

    def __init__(
        self,
        name: str,
        joint: Any,
        ratio: float = 100.0,
        inertia: float = 1.0,
        bandwidth: float = 60.0,
        largest_current: float = 20.0,
        supply: float = 48.0,
        rates: tuple[Any, Any, Any] = (200, 1000, 5000),
    ):
        super().__init__(name)
        what = f"assembly {name!r}"
        N, J = as_positive(ratio, f"{what}: ratio"), as_positive(inertia, f"{what}: inertia", "kg m^2")
        w = as_positive(bandwidth, f"{what}: bandwidth", "rad/s")
        largest_current = as_positive(largest_current, f"{what}: largest_current", "A")
        supply = as_positive(supply, f"{what}: supply", "V")
        if not isinstance(rates, list | tuple) or len(rates) != 3:
            raise ModelError(f"{what}: rates: expected those of position, velocity and current, got {rates!r:.100}")
        R, L, K, lag = 0.5, 2e-3, 0.05, 1e-3
        k = w * J / (N * K)
        self.add(JointPort(joint, "joint"))
        self.add(DCMotor("motor", resistance=R, inductance=L, constant=K))
        self.add(Gear("gear", ratio=N))
        self.add(Encoder("encoder", counts=4096 * N, rate=rates[1]))
        self.add(PID("position_loop", kp=0.25 * w, rate=rates[0]))
        self.add(
            PID("velocity_loop", kp=k, ki=0.25 * w * k, least=-largest_current, largest=largest_current, rate=rates[1])
        )
        self.add(PID("current_loop", kp=L / lag, ki=R / lag, least=-supply, largest=supply, rate=rates[2]))
        for source, target in (
            ("encoder.position", "position_loop.measured"), ("position_loop.command", "velocity_loop.wanted"),
            ("encoder.velocity", "velocity_loop.measured"), ("velocity_loop.command", "current_loop.wanted"),
            ("motor.current", "current_loop.measured"), ("current_loop.command", "motor.voltage"),
            ("motor.torque", "gear.motor_torque"), ("gear.joint_torque", "joint.force"),
            ("joint.velocity", "gear.joint_speed"), ("gear.motor_speed", "motor.speed"),
            ("joint.position", "encoder.angle"),
        ):  # fmt: skip
            self.connect(source, target)
        self.expose("wanted", "position_loop.wanted")
        self.expose("wanted_rate", "position_loop.feedforward")
