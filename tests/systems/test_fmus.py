"""FMUs as models, and systems as FMUs: against closed forms, FMPy's own simulation and the systems themselves."""

from __future__ import annotations

import gc
import importlib
import math
import platform
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kido
from devices.device_bench import give
from fmu_ball import ball_fmu, has_compiler
from fmu_makers import Motor, Plane, drive, nothing, pendulum
from kido.integrators import DormandPrince
from kido.systems import System, export_fmu, load_fmu
from kido.systems.fmu_exchange import Exchange
from system_models import Ball

fmpy = pytest.importorskip("fmpy")
G = 9.81
linux = platform.system() == "Linux" and platform.machine() == "x86_64"
compiled = pytest.mark.skipif(not (linux and has_compiler()), reason="no gcc here")
exported = pytest.mark.skipif(not linux, reason="PythonFMU has no binary for this machine")


@pytest.fixture(scope="module")
def ball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ball_fmu(tmp_path_factory.mktemp("ball"))


def bounced(t: float, h: float = 1.0, e: float = 0.7, g: float = G) -> tuple[float, float, int]:
    """Height, velocity and bounces of a ball let go at a height."""
    v, n = 0.0, 0
    while True:
        lands = (v + math.sqrt(v * v + 2.0 * g * h)) / g
        if lands > t:
            return h + v * t - 0.5 * g * t * t, v - g * t, n
        t, v, h, n = t - lands, e * math.sqrt(v * v + 2.0 * g * h), 0.0, n + 1


# Model exchange ------------------------------------------------------------------------------------------------


@compiled
@pytest.mark.parametrize("integrator", [None, DormandPrince(rtol=1e-10, atol=1e-12, max_step=0.05)])
def test_state_events_are_crossings(ball: Path, integrator: Any) -> None:
    """RK4 and DormandPrince are exact for parabolas: the rest is rounding and where a crossing is located."""
    system = System(step=0.01, integrator=integrator)
    model = system.add(load_fmu(ball, outputs=["bounces"]))
    for _ in range(2):
        system.run(2.0)
        h, v, n = bounced(2.0)
        assert model.ball_h.value == pytest.approx(h, abs=1e-11)
        assert model.v.value == pytest.approx(v, abs=1e-11)
        assert model.bounces.value == n == 4
        system.reset()


@compiled
def test_the_description_becomes_declarations(ball: Path) -> None:
    model = load_fmu(ball, "thrown", g=3.7, start=2.0, v=1.0)
    assert model.path == "thrown" and model.clock is None
    assert {name: d.kind for name, d in model.declared.items() if d.kind != "crossing"} == {
        **dict.fromkeys(("g", "e", "push", "limit", "fail", "start"), "parameter"),
        **dict.fromkeys(("wind", "frozen"), "input"),
        **dict.fromkeys(("ball_h", "v"), "state"),
        "clock_": "output",
    }
    assert (model.g, model.e, model.initial_value("ball_h"), model.initial_value("v")) == (3.7, 0.7, 2.0, 1.0)
    assert model.ball_h.unit is not None and model.ball_h.unit.fits(kido.systems.as_unit("m"))
    assert model.declared["g"].unit.powers == kido.systems.as_unit("m/s^2").powers
    assert model.declared["wind"].default == 0.0 and "ball.h" in model.declared["ball_h"].doc
    system = System()
    system.add(model)
    system.run(0.2)
    assert model.ball_h.value == pytest.approx(2.0 + 0.2 - 0.5 * 3.7 * 0.04, abs=1e-13)


@compiled
def test_time_events_end_steps(ball: Path) -> None:
    """Every quarter of a second the acceleration changes; steps of 0.1 s would miss it by a lot."""
    system = System(step=0.1)
    model = system.add(load_fmu(ball, start=100.0, push=4.0))
    system.run(1.1)
    h, v, t = 100.0, 0.0, 0.0
    for k, span in enumerate((0.25, 0.25, 0.25, 0.25, 0.1)):
        a = -G + (4.0 if k % 2 else 0.0)
        h, v, t = h + v * span + 0.5 * a * span * span, v + a * span, t + span
    assert model.ball_h.value == pytest.approx(h, abs=1e-12)
    assert (model.v.value, model.port("clock_").value) == (pytest.approx(v, abs=1e-13), 4.0)


@compiled
def test_inputs_and_parameters_change_in_events_where_they_must(ball: Path) -> None:
    """The FMU refuses Booleans and parameters between events; a smooth input comes at each evaluation."""
    system = System(step=0.01)
    model = system.add(load_fmu(ball, start=50.0))
    give(system, model.wind, lambda t: 6.0 * t)
    frozen = give(system, model.frozen, 0.0)
    system.run(0.5)
    assert model.v.value == pytest.approx(-G * 0.5 + 3.0 * 0.25, abs=1e-12)
    model.push = 2.0  # works while the clock is odd, from 0.75 s
    system.run(0.5)
    assert model.v.value == pytest.approx(-G + 3.0 + 2.0 * 0.25, abs=1e-12)
    frozen.value = 1.0
    system.run(0.3)
    assert (model.v.value, model.ball_h.value) == (0.0, pytest.approx(50.0 - G / 2 + 1.0 + 2.0 / 32, abs=1e-12))


@compiled
def test_an_integrator_step_may_bring_an_event_about(ball: Path) -> None:
    """At the first step whose end is above the limit the ball freezes."""
    system = System(step=0.01)
    model = system.add(load_fmu(ball, v=4.0, limit=1.3))
    system.run(0.5)
    at = next(k * 0.01 for k in range(100) if 1.0 + 4.0 * k * 0.01 - 0.5 * G * (k * 0.01) ** 2 > 1.3)
    assert model.ball_h.value == pytest.approx(1.0 + 4.0 * at - 0.5 * G * at * at, abs=1e-12)
    assert model.v.value == 0.0


@compiled
def test_it_couples_to_other_models(ball: Path) -> None:
    """With a spring of an own model as wind: h is harmonic about where it holds the weight."""
    system = System(step=1e-3)
    model = system.add(load_fmu(ball, start=3.0))

    class Spring(kido.systems.Model):
        h, wind = kido.systems.Input("m"), kido.systems.Output("m/s^2")

        def outputs(self):
            return {"wind": 20.0 * (3.0 - self.h)}

    spring = system.add(Spring())
    system.connect(model.ball_h, spring.h)
    system.connect(spring.wind, model.wind)
    system.run(1.7)
    rest = 3.0 - G / 20.0
    assert model.ball_h.value == pytest.approx(rest + G / 20.0 * math.cos(math.sqrt(20.0) * 1.7), abs=1e-10)  # RK4
    with pytest.raises(kido.ModelError, match="units"):
        system.disconnect(model.wind)
        system.connect(model.v, model.wind)


@compiled
def test_what_goes_wrong_in_it_is_told_in_its_words(ball: Path) -> None:
    system = System(step=0.01)
    model = system.add(load_fmu(ball, fail=2.0))
    with pytest.raises(kido.StateError, match=r"derivative of Ball\.ball_h is nan.*fmi2GetDeriv.*the ball is lost"):
        system.run(0.1)
    system.remove(model)
    other = system.add(load_fmu(ball, "second", fail=1.0))
    with pytest.raises(kido.StateError, match=r"the derivative of second\.v is nan"):
        system.run(0.1)
    system.remove(other)
    third = system.add(load_fmu(ball, "third", e=0.999, start=0.01))
    with pytest.raises(kido.StateError, match=r"third.*wants the simulation to end"):
        system.run(5.0)
    with pytest.raises(kido.ModelError, match="'g': the FMU calls it fixed"):
        third.set_parameters(e=0.5, g=1.0)
    assert third.e == 0.999
    with pytest.raises(kido.ModelError, match="from 0 to 1"):
        third.e = 1.5
    with pytest.raises(kido.StateError, match="checkpoint: model 'third'"):
        system.checkpoint()


@compiled
def test_files_that_cannot_be_run_are_refused(ball: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(kido.NameLookupError, match=r"mass.*wind"):
        load_fmu(ball, mass=1.0)
    with pytest.raises(kido.ModelError, match="finite numbers, got nan"):
        load_fmu(ball, e=float("nan"))
    with pytest.raises(kido.ModelError, match="clock_ is output, and has no value at the start"):
        load_fmu(ball, clock=3)
    with pytest.raises(kido.ModelError, match="model exchange alone"):
        load_fmu(ball, rate=100)
    with pytest.raises(kido.FileFormatError, match="no FMU"):
        load_fmu(tmp_path / "missing.fmu")
    (tmp_path / "text.fmu").write_text("text")
    with pytest.raises(kido.FileFormatError, match="no FMU"):
        load_fmu(tmp_path / "text.fmu")
    with pytest.raises(kido.FileFormatError, match="no binary for this machine, x86_64-linux: it has win64"):
        load_fmu(ball_fmu(tmp_path, "win64"))
    found = importlib.import_module

    def without(name: str, *rest: Any) -> Any:
        if name.startswith(("fmpy", "pythonfmu")):
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr("kido.libraries.importlib.import_module", without)
    with pytest.raises(kido.MissingExtraError, match=r"kido\[fmi\]"):
        load_fmu(ball)
    with pytest.raises(kido.MissingExtraError, match=r"kido\[fmi\]"):
        export_fmu(Motor, tmp_path / "motor.fmu")


# Export and co-simulation --------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[2, 3])
def motor(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = [Path(__file__).parents[1] / "system_models.py"]
    return export_fmu(Motor, tmp_path_factory.mktemp("motor") / "motor.fmu", version=request.param, files=files)


def simulated(path: Path, stop: float, step: float, **starts: Any) -> Any:
    """By FMPy, which validates the description too."""
    found: Any = fmpy
    return found.simulate_fmu(str(path), stop_time=stop, step_size=step, output_interval=step, start_values=starts)


@exported
def test_an_exported_model_is_the_model(motor: Path) -> None:
    """FMPy runs the same system in the same steps: to the last digit; its description has all digits too."""
    rows = simulated(motor, 2.0, 0.01, R=1.2, voltage=1.5, speed=0.1)
    system = System()
    own = system.add(Motor(R=1.2, speed=0.1))
    give(system, own.voltage, 1.5)
    for k in range(1, 201):
        system.run(0.01)
        for name in ("speed", "current", "torque"):
            assert rows[name][k] == pytest.approx(own.port(name).value, rel=1e-12, abs=1e-15)
    found: Any = fmpy
    variables = {v.name: v for v in found.read_model_description(str(motor)).modelVariables}
    assert {n: v.unit for n, v in variables.items() if n in ("R", "speed", "voltage")} == {
        "R": "ohm", "speed": "rad/s", "voltage": "V",
    }  # fmt: skip
    assert (variables["R"].start, variables["R"].min, variables["voltage"].start) == ("1.0", "0.0", "1.0")


@exported
def test_an_exported_model_comes_back_as_a_model(motor: Path) -> None:
    system = System()
    model = system.add(load_fmu(motor, rate=50))
    other = system.add(load_fmu(motor, "other", rate=Plane.rate or 100, R=2.0))
    give(system, model.voltage, 1.0)
    assert model.voltage.unit == other.voltage.unit
    assert model.declared["R"].unit.fits(kido.systems.as_unit("ohm"))
    system.run(2.0)
    # The truths of a motor at its second: the step of an FMU is RK4 of a millisecond.
    assert model.speed.value == pytest.approx(0.0976234889033721, abs=1e-12)
    assert model.stepped.value == 2.0
    assert other.current.value == pytest.approx(1.0 / (2.0 + 0.01**2 / 0.1), rel=1e-3)  # at rest
    model.R = 2.0
    system.reset()
    system.run(2.0)
    assert model.current.value == pytest.approx(other.current.value, abs=1e-13)
    with pytest.raises(kido.ModelError, match="from 0"):
        model.R = -1.0
    with pytest.raises(kido.StateError, match="cannot be copied"):
        model.__getstate__()


@exported
def test_a_step_takes_the_inputs_of_the_tick_before(motor: Path) -> None:
    """As co-simulation does: a voltage that rises each tick is a staircase of the values at the starts of steps."""
    system = System()
    model = system.add(load_fmu(motor, rate=10))
    give(system, model.voltage, lambda t: 3.0 * t)
    system.run(1.0)
    own = System()
    plain = own.add(Motor())
    source = give(own, plain.voltage, 0.0)
    for k in range(10):
        source.value = 3.0 * k / 10
        own.run(0.1)
    assert model.current.value == pytest.approx(plain.current.value, rel=1e-12)


@exported
@pytest.mark.parametrize("version", [2, 3])
def test_assemblies_arrays_and_worlds_are_exported(version: int, tmp_path: Path) -> None:
    models = [Path(__file__).parents[1] / "system_models.py"]
    path = export_fmu(drive, tmp_path / "drive.fmu", version=version, files=models)
    rows = simulated(path, 1.0, 0.05, wanted=2.0, **{"motor.K": 0.02})
    system = System()
    whole = system.add(drive())
    whole["motor"].K = 0.02
    give(system, whole["control"].wanted, 2.0)
    for _ in range(20):
        system.run(0.05)
    assert rows.dtype.names == ("time", "speed")
    assert rows["speed"][-1] == pytest.approx(system["drive.motor.speed"].value, rel=1e-12)

    path = export_fmu(Plane, tmp_path / "plane.fmu", version=version, files=models)
    rows = simulated(path, 1.0, 0.1, **{"A[2,3]": 7.0, "u[1]": -1.0})
    A, u = np.arange(6.0).reshape(2, 3), np.array([-1.0, 2.0, 3.0])
    A[1, 2] = 7.0
    np.testing.assert_allclose([rows["y[1]"][-1], rows["y[2]"][-1]], A @ u, rtol=1e-15)
    np.testing.assert_allclose([rows["total[1]"][-1], rows["total[2]"][-1]], A @ u + (0.5, -0.5), rtol=1e-12)

    path = export_fmu(pendulum, tmp_path / "pendulum.fmu", version=version, files=models)
    rows = simulated(path, 0.5, 0.01)
    own = pendulum()
    own.run(0.5)
    assert rows["joint.position"][-1] == pytest.approx(own["joint.position"].value, rel=1e-12)
    assert abs(rows["joint.position"][-1] - 0.5) > 0.1


@exported
def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(kido.ModelError, match="expected 2 or 3, got 1"):
        export_fmu(Motor, tmp_path / "a.fmu", version=1)
    with pytest.raises(kido.ModelError, match="a class or a function of a module"):
        export_fmu(lambda: Motor(), tmp_path / "a.fmu")
    with pytest.raises(kido.ModelError, match="FMU: expected a model, an assembly or a system, got 3"):
        export_fmu(nothing, tmp_path / "a.fmu")
    for step in (0.0, math.nan, "fast"):
        with pytest.raises(kido.ModelError, match="step: expected a positive number"):
            export_fmu(Motor, tmp_path / "a.fmu", step=step)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="'nowhere' is no file"):
        export_fmu(Motor, tmp_path / "a.fmu", files=["nowhere"])
    assert not list(tmp_path.glob("*"))


@exported
def test_what_a_system_refuses_reaches_the_program_that_runs_it(tmp_path: Path) -> None:
    """Its world makes steps of a millisecond, and here it is asked for thirds of a second."""
    files = [Path(__file__).parents[1] / "system_models.py"]
    system = System()
    model = system.add(load_fmu(export_fmu(pendulum, tmp_path / "pendulum.fmu", files=files), rate=Fraction(3)))
    with pytest.raises(kido.StateError, match=r"model 'pendulum': the FMU at t = 0\.333333 s: fmi2DoStep failed"):
        system.run(1.0)
    system.remove(model)  # an FMU that failed for good may not be called again, and is not when it goes
    del model
    gc.collect()


# Export and model exchange -------------------------------------------------------------------------------------


def exchanged(path: Path, stop: float, step: float, **starts: Any) -> Any:
    """By FMPy, which integrates with CVODE."""
    found: Any = fmpy
    return found.simulate_fmu(
        str(path), fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-10, stop_time=stop,
        output_interval=step, start_values=starts,
    )  # fmt: skip


@exported
def test_an_exported_model_is_integrated_by_another_program(tmp_path: Path) -> None:
    """Truths of a motor; a ball's flight between impacts that the other program finds."""
    files = [Path(__file__).parents[1] / "system_models.py"]
    path = export_fmu(Motor, tmp_path / "motor.fmu", version=3, files=files)
    rows = exchanged(path, 2.0, 0.1, voltage=1.0)
    assert rows["speed"][-1] == pytest.approx(0.0976234889033721, rel=1e-7)
    assert rows["current"][10] == pytest.approx(0.864130154822579, rel=1e-7)

    path = export_fmu(Ball, tmp_path / "ball.fmu", version=3, files=files)
    rows = exchanged(path, 1.0, 0.01, restitution=0.7)
    assert rows["bounces"][-1] == 1.0
    for t, height, velocity in zip(rows["time"], rows["height"], rows["velocity"], strict=True):
        h, v, _ = bounced(t)
        if abs(t - math.sqrt(2.0 / G)) > 1e-6:  # CVODE finds the impact to its tolerance
            assert height == pytest.approx(h, abs=1e-6) and velocity == pytest.approx(v, abs=1e-5)


class Landed(Ball):
    """A ball that each bounce puts on the floor, where its crossing is zero."""

    def at_bounce(self):
        return {"height": 0.0, "velocity": -self.restitution * self.velocity, "bounces": self.bounces + 1}


def test_crossings_that_begin_at_zero_are_found_again() -> None:
    """By another program, here Euler's rule, that looks for changes of sign."""
    system = System()
    ball = system.add(Landed("ball", restitution=0.8))
    exchange = Exchange(system)
    values = exchange.engine.value
    before = exchange.indicators()
    for k in range(1, 301):
        values[exchange.states] += 0.01 * np.array(exchange.derivatives())
        exchange.set_time(0.01 * k)
        if exchange.indicators()[0] * before[0] < 0.0:
            exchange.event()
        before = exchange.indicators()
        assert ball.height.value > -0.1
    assert ball.bounces.value > 3


@exported
def test_ticks_of_an_exported_assembly_are_events_in_time(tmp_path: Path) -> None:
    """A motor that another program integrates, and a controller that ticks at 100 Hz, read back and by FMPy."""
    files = [Path(__file__).parents[1] / "system_models.py"]
    path = export_fmu(drive, tmp_path / "drive.fmu", version=3, files=files)
    own = System()
    whole = own.add(drive())
    give(own, whole["control"].wanted, 2.0)
    own.run(0.2)
    truth = own["drive.motor.speed"].value
    assert exchanged(path, 0.2, 0.1, wanted=2.0)["speed"][-1] == pytest.approx(truth, rel=1e-7)
    system = System(step=1e-3)
    model = system.add(load_fmu(path))
    give(system, model.wanted, 2.0)
    system.run(0.2)
    assert model.speed.value == pytest.approx(truth, rel=1e-10)


@exported
def test_a_system_with_a_world_is_co_simulated_only(tmp_path: Path) -> None:
    path = export_fmu(pendulum, tmp_path / "pendulum.fmu", version=3)
    found: Any = fmpy
    description = found.read_model_description(str(path))
    assert description.modelExchange is None and description.coSimulation is not None
    assert load_fmu(path).clock is not None
