"""Systems against closed forms and digits computed elsewhere: continuous, sampled, at several rates."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.linalg import expm

from kido.integrators import RK4, DormandPrince
from kido.systems import Input, Model, Output, Parameter, System
from system_models import PID, Attitude, Ball, Hub, Mass, Motor, Orbit, PythonPD, SampledPD, Walk

# Rounding of a thousand steps of values of size one.
ROUNDING = 1e-12


def run_to(system: System, time: float) -> None:
    system.run(round(time - system.time, 9))


@pytest.mark.parametrize(
    "integrator, tolerance",
    # RK4's own error at h = 1 ms is h^4 / 120 times (b/J)^5 omega; Dormand and Prince are asked for 1e-12.
    [(RK4(), 1e-12), (DormandPrince(rtol=1e-12, atol=1e-15), 1e-12)],
    ids=["RK4", "DormandPrince"],
)
def test_dc_motor(integrator, tolerance) -> None:
    system = System(step=1e-3, integrator=integrator)
    motor = system.add(Motor())
    for time, speed in (
        (0.1, 0.00685553718061105),
        (0.5, 0.054170099960474),
        (1.0, 0.0830371111708124),
        (2.0, 0.0976234889033721),
    ):
        run_to(system, time)
        assert motor.speed.value == pytest.approx(speed, abs=tolerance)
        if time == 1.0:
            assert motor.current.value == pytest.approx(0.864130154822579, abs=tolerance)
    run_to(system, 60.0)
    assert motor.speed.value == pytest.approx(0.01 / (0.1 + 0.01**2), abs=1e-14)


def test_pid_on_an_inertia() -> None:
    """Poles at -2, -3 and -4, without a zero: q = 1 - 6 exp(-2 t) + 8 exp(-3 t) - 3 exp(-4 t)."""
    system = System(step=1e-3)
    mass, control = system.add(Mass(m=2.0)), system.add(PID(b=0.0))
    system.connect(mass.q, control.q)
    system.connect(mass.v, control.v)
    system.connect(control.force, mass.force)
    for time, q in ((0.5, 0.171758784448947), (1.0, 0.531337930857033), (2.0, 0.908929796197219)):
        run_to(system, time)
        assert mass.q.value == pytest.approx(q, abs=1e-11)  # h^4 4^5 / 120


@pytest.mark.parametrize("kind", [SampledPD, PythonPD])
def test_sampled_pd(kind) -> None:
    system = System(step=1e-2)
    mass, control = system.add(Mass(q=1.0)), system.add(kind("pd", now=1.0))
    system.connect(mass.q, control.q)
    system.connect(control.force, mass.force)
    system.run(1.0)
    assert mass.q.value == pytest.approx(-0.0103403534588479, abs=ROUNDING)
    assert mass.v.value == pytest.approx(-0.0204201793477457, abs=ROUNDING)


def test_modes_of_the_sampled_pd() -> None:
    """Eigenvalues of q_k+3 = c_2 q_k+2 + c_1 q_k+1 + c_0 q_k, from positions at ticks."""
    system = System(step=1e-2)
    mass, control = system.add(Mass(q=1.0)), system.add(SampledPD("pd", now=1.0))
    system.connect(mass.q, control.q)
    system.connect(control.force, mass.force)
    q = []
    for _ in range(60):
        q.append(mass.q.value)
        system.run(1e-2)
    rows = np.array([q[k : k + 3] for k in range(57)])
    c = np.linalg.lstsq(rows, np.array(q[3:]), rcond=None)[0]
    found = np.sort_complex(np.roots([1.0, -c[2], -c[1], -c[0]]))
    expected = [0.0435834, 0.9575833 - 0.02854377j, 0.9575833 + 0.02854377j]
    np.testing.assert_allclose(found, expected, atol=6e-8)  # the digits that are given


class PositionLoop(Model):
    rate = 100
    kx = Parameter(4.0, "1/s")
    q = Input("m")
    speed = Output("m/s")

    def outputs(self):
        return {"speed": self.kx * (1.0 - self.q)}


class VelocityLoop(Model):
    rate = 1000
    kv = Parameter(60.0, "kg/s")
    wanted = Input("m/s")
    v = Input("m/s")
    force = Output("N")

    def outputs(self):
        return {"force": self.kv * (self.wanted - self.v)}


def two_rates(order: str = "pvm") -> tuple[System, Model]:
    system = System(step=1e-3)
    made = {"p": PositionLoop(), "v": VelocityLoop(), "m": Mass()}
    for key in order:
        system.add(made[key])
    for source, target in (
        ("mass.q", "positionloop.q"),
        ("mass.v", "velocityloop.v"),
        ("positionloop.speed", "velocityloop.wanted"),
        ("velocityloop.force", "mass.force"),
    ):
        system.connect(source, target)
    return system, made["m"]


def test_two_rates() -> None:
    system, mass = two_rates()
    system.run(1.0)
    assert mass.q.value == pytest.approx(0.986710613140899, abs=ROUNDING)
    assert mass.v.value == pytest.approx(0.0586309845526141, abs=ROUNDING)


def test_order_of_adding_does_not_change_a_bit() -> None:
    found = []
    for order in ("pvm", "mvp", "vpm"):
        system, mass = two_rates(order)
        system.run(0.777)
        found.append((mass.q.value, mass.v.value))
    assert found[0] == found[1] == found[2]


def test_threads_do_not_change_a_bit() -> None:
    """Four systems at once, each in a thread, as one after the other."""

    def run(_: int) -> tuple[float, ...]:
        system, mass = two_rates()
        system.add(Ball())
        walk = system.add(Walk())
        system.run(0.777)
        return (mass.q.value, mass.v.value, *walk.at.value)

    alone = run(0)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(4))) == [alone] * 4


class Switch(Model):
    rate = 1
    torque = Output("N m")

    def outputs(self):
        return {"torque": np.where(self.time >= 5.0, 0.2, 0.0)}


def test_reaction_wheel() -> None:
    system = System(step=1e-2)
    hub, switch = system.add(Hub(omega=0.35, spin=100.0 * 2.0 * np.pi / 60.0)), system.add(Switch())
    system.connect(switch.torque, hub.torque)
    system.run(5.0)
    assert hub.spin.value == pytest.approx(10.471975511965976, abs=1e-12)
    system.run(5.0)
    # Polynomials of second degree, which the method follows exactly; a thousand sums of size ten round to 1e-12.
    assert hub.omega.value == pytest.approx(0.35 - 0.2 / 2.0 * 5.0, abs=1e-12)
    assert hub.theta.value == pytest.approx(0.35 * 10.0 - 0.5 * 0.1 * 25.0, abs=1e-12)
    assert hub.spin.value == pytest.approx(17.255160819145562, abs=1e-11)


def test_attitude_feedback_comes_to_rest() -> None:
    system = System(step=0.1)
    body = system.add(Attitude())
    system.run(3000.0)
    assert body.sigma.value == pytest.approx(np.array([0.25, -0.25, 0.1]) / 3.5, abs=1e-12)
    assert body.omega.value == pytest.approx(np.zeros(3), abs=1e-12)


class Body(Attitude):
    torque = Input("N m", 3)

    def derivatives(self):
        rates = super().derivatives()
        return {**rates, "omega": rates["omega"] + self.torque / self.inertia}


class Feedback(Model):
    rate = 10
    sigma, omega = Input("", 3), Input("rad/s", 3)
    torque = Output("N m", 3)

    def outputs(self):
        return {"torque": -3.5 * self.sigma - 30.0 * self.omega}


def test_attitude_feedback_that_is_sampled_is_that_of_basilisk() -> None:
    """Its modules read what others wrote at the tick before, every 0.1 s; all digits that it printed at 600 s."""
    system = System(step=0.1)
    body, control = system.add(Body(K=0.0, P=0.0)), system.add(Feedback())
    system.connect(body.sigma, control.sigma)
    system.connect(body.omega, control.omega)
    system.connect(control.torque, body.torque, delay=10)
    system.run(600.0)
    assert body.sigma.value == pytest.approx(np.array([0.0714203, -0.0714283, 0.0285780]), abs=5.1e-8)


def test_two_bodies() -> None:
    system = System(integrator=DormandPrince(rtol=1e-13, atol=1e-9))
    orbit = system.add(Orbit())
    system.run(10.0)
    expected = (-4072255.7737936215, 7456050.4649078, 5258610.029627514)
    assert orbit.r.value == pytest.approx(np.array(expected), abs=1e-6)  # 1e-13 of 1e7 m


@pytest.mark.parametrize("integrator", [RK4(), DormandPrince(max_step=0.05)], ids=["RK4", "DormandPrince"])
def test_a_ball_bounces_when_it_hits(integrator) -> None:
    """Heights are polynomials, so that both methods are exact but for rounding, and bounces are found to the bit."""
    system = System(step=0.05, integrator=integrator)
    ball = system.add(Ball())
    fall = np.sqrt(2.0 / 9.81)
    system.run(1.0)  # bounces at fall, 2 fall and 2.5 fall, the fourth at 2.75 fall
    assert ball.bounces.value == 2
    t, v = 1.0 - 2.0 * fall, 0.25 * np.sqrt(2.0 * 9.81)
    assert ball.height.value == pytest.approx(v * t - 0.5 * 9.81 * t**2, abs=1e-12)
    assert ball.velocity.value == pytest.approx(v - 9.81 * t, abs=1e-12)


def test_a_sampled_system_is_its_transition() -> None:
    """A motor with a voltage that is held for 10 ms is exp(A T), its integral times b, to the method's rounding."""

    class Held(Model):
        rate = 100
        speed = Input("rad/s")
        voltage = Output("V")

        def outputs(self):
            return {"voltage": 1.0 - 20.0 * self.speed}

    system = System(integrator=DormandPrince(rtol=1e-13, atol=1e-16))
    motor, control = system.add(Motor()), system.add(Held())
    system.connect(motor.speed, control.speed)
    system.connect(control.voltage, motor.voltage)
    A, b = np.array([[-10.0, 1.0], [-0.02, -2.0]]), np.array([0.0, 2.0])
    block = expm(np.block([[A, b[:, None]], [np.zeros((1, 3))]]) * 0.01)
    x = np.zeros(2)
    for _ in range(200):
        x = block[:2, :2] @ x + block[:2, 2] * (1.0 - 20.0 * x[0])
    system.run(2.0)
    assert [motor.speed.value, motor.current.value] == pytest.approx(x, abs=1e-13)
