"""Models, ports and connections: what depends on what, what is refused, and what changes while a system runs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import kido
from kido.jit import callback, view
from kido.systems import (
    MODEL,
    Assembly,
    Constant,
    Input,
    Model,
    Noise,
    Output,
    Parameter,
    PythonModel,
    State,
    System,
    as_rate,
    as_unit,
    feedthrough,
)
from kido.systems.noise import philox
from system_models import Ball, Difference, Gain, Mass, Motor, PythonPD, SampledPD, Walk

# Units and rates -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "one, two",
    [("N m/A", "V s/rad"), ("kg m^2", "N m s^2"), ("J/(kg K)", "m^2/(s^2 K)"), ("1/s", "Hz"), ("um", "um"),
     ("W", "V A"), ("kN", "N km/m"), ("T", "Wb/m^2"), ("", "rad"), ("kPa m^2", "kN")],
)  # fmt: skip
def test_units_that_fit(one: str, two: str) -> None:
    assert as_unit(one).fits(as_unit(two))


@pytest.mark.parametrize("one, two", [("N", "N m"), ("rpm", "rad/s"), ("mm", "m"), ("V", "A"), ("deg", "rad")])
def test_units_that_do_not(one: str, two: str) -> None:
    assert not as_unit(one).fits(as_unit(two))


@pytest.mark.parametrize("text", ["foo", "N//m", "N/", "/s", "N m)", "(N", "N^", "krpm", "N,m"])
def test_units_that_are_none(text: str) -> None:
    with pytest.raises(kido.ModelError, match="not understood"):
        as_unit(text)


def test_rates_tick_at_the_nanosecond_before() -> None:
    rate = as_rate(Fraction(30), "")
    assert [rate.tick(k) for k in (0, 1, 2, 3, 90)] == [0, 33333333, 66666666, 100000000, 3 * 10**9]
    with pytest.raises(kido.ModelError, match=r"33333333\.333333 ns.*Fraction\(30, 1\)"):
        as_rate(30, "model 'a'")
    for bad in (0, -1.0, math.nan, "10", True, 2e9):
        with pytest.raises(kido.ModelError, match="rate"):
            as_rate(bad, "model 'a'")


def test_a_rate_of_a_third_ticks_as_often_as_it_says() -> None:
    class Count(Model):
        rate = Fraction(1000, 3)
        n = State("1")

        def update(self):
            return {"n": self.n + 1}

    system = System()
    count = system.add(Count())
    system.run(2.9)
    assert count.n.value == 967  # ticks at 0, 3, ..., 2898 ms
    system.run(0.1)
    assert count.n.value == 1001


# What depends on what --------------------------------------------------------------------------------------


class Crossed(Model):
    """y1 of u2 alone, y2 of u1 alone: connected in a ring there is no loop."""

    u1 = Input(default=2.0)
    u2 = Input()
    y1 = Output()
    y2 = Output()
    z = Output()

    def outputs(self):
        return {"y1": 2.0 * self.u2, "y2": self.u1 + 1.0, "z": self.u1 * self.u2 - self.u2 * self.u1}


def test_feedthrough_is_exact() -> None:
    assert feedthrough(Crossed()) == {"y1": ("u2",), "y2": ("u1",), "z": ()}
    system = System()
    model = system.add(Crossed())
    system.connect(model.y2, model.u2)
    system.run(0.0)
    assert (model.y2.value, model.y1.value, model.u2.value) == (3.0, 6.0, 3.0)


def ring(k: float, **options) -> tuple[System, Gain, Difference]:
    system = System()
    gain, difference = system.add(Gain(k=k)), system.add(Difference())
    system.connect(difference.y, gain.u)
    system.connect(gain.y, difference.b, **options)
    return system, gain, difference


def test_an_algebraic_loop_names_its_ports() -> None:
    system, _, _ = ring(3.0)
    with pytest.raises(
        kido.ModelError, match=r"loop: gain\.y -> difference\.b; difference\.y -> gain\.u; .*solve=True"
    ):
        system.run(1.0)


def test_an_algebraic_loop_is_solved() -> None:
    system, gain, difference = ring(3.0, solve=True)
    system.run(0.0)
    assert gain.y.value == pytest.approx(0.75, abs=1e-15)  # y = 3 (1 - y)
    gain.k = 1.0
    assert gain.y.value == pytest.approx(0.5, abs=1e-15)
    assert difference.b.value == pytest.approx(0.5, abs=1e-15)


def test_a_loop_in_the_derivatives_is_solved_at_every_stage() -> None:
    """dx/dt = -y with y = x - y/2 - y^3: its inverse x = 1.5 y + y^3 gives t = integral of (1.5 + 3 y^2)/y dy."""

    class Cubic(Model):
        x = State("1", 2.0)
        y = Input()
        f = Output()

        def outputs(self):
            return {"f": self.x - 0.5 * self.y - self.y**3}

        def derivatives(self):
            return {"x": -self.y}

    system = System(step=1e-3)
    model = system.add(Cubic())
    system.connect(model.f, model.y, solve=True)
    time = lambda y0, y: 1.5 * np.log(y0 / y) + 1.5 * (y0**2 - y**2)  # noqa: E731
    system.run(0.0)
    y0 = model.y.value
    assert 1.5 * y0 + y0**3 == pytest.approx(2.0, abs=1e-14)
    system.run(1.0)
    assert time(y0, model.y.value) == pytest.approx(1.0, abs=1e-11)


def test_what_cannot_be_solved_is_said() -> None:
    _, gain, _ = ring(-1.0, solve=True)  # y = -(1 - y)
    with pytest.raises(kido.StateError, match=r"difference\.b"):
        _ = gain.y.value


def test_a_delay_breaks_a_loop() -> None:
    """y = (1 - b) / 2 with b what y was before the last tick."""
    system, gain, difference = ring(0.5, delay=10.0)
    before = 0.5  # without a value before, b is 0
    for _ in range(5):
        system.run(0.1 if system.time or before != 0.5 else 0.0)
        assert difference.b.value == before
        before = gain.y.value
        assert before == 0.5 * (1.0 - difference.b.value)


# Three ways to write a model -------------------------------------------------------------------------------


@callback
def spring_outputs(own, what, unused_1, unused_2):
    m = view(MODEL, own)
    m.output[0] = -m.parameter[0] * m.input[0] - m.parameter[1] * m.input[1]
    m.output[1] = 0.5 * m.parameter[0] * m.input[0] * m.input[0]
    return 0


@callback
def filter_derivatives(own, what, unused_1, unused_2):
    m = view(MODEL, own)
    m.result[0] = (m.input[0] - m.state[0]) / m.parameter[0]
    return 0


@callback
def counter_update(own, what, unused_1, unused_2):
    m = view(MODEL, own)
    m.result[0] = m.state[0] + m.input[0] * m.period
    return 0


class CompiledSpring(Model):
    k = Parameter(4.0, "N/m")
    c = Parameter(0.3, "N s/m")
    q = Input("m")
    v = Input("m/s")
    force = Output("N")
    energy = Output("J")
    outputs = spring_outputs


class TracedSpring(CompiledSpring):
    def outputs(self):
        return {"force": -self.k * self.q - self.c * self.v, "energy": 0.5 * self.k * self.q**2}


def spring(kind: type[Model]) -> tuple[System, Mass, Model]:
    system = System(step=1e-2)
    mass, held = system.add(Mass(q=1.0)), system.add(kind("spring"))
    system.connect(mass.q, held.q)
    system.connect(mass.v, held.v)
    system.connect(held.force, mass.force)
    system.run(1.0)
    return system, mass, held


def test_compiled_and_traced_models_are_alike() -> None:
    _, one, of_one = spring(TracedSpring)
    _, two, of_two = spring(CompiledSpring)
    assert one.q.value == pytest.approx(two.q.value, abs=1e-14)
    w = math.sqrt(4.0 - 0.15**2)
    assert one.q.value == pytest.approx(
        math.exp(-0.15) * (math.cos(w) + 0.15 / w * math.sin(w)), abs=5e-9
    )  # h^4 w^5 / 120
    assert of_one.energy.value == pytest.approx(of_two.energy.value, abs=1e-14)


def test_states_of_compiled_models() -> None:
    class Filter(Model):
        tau = Parameter(0.2, "s")
        u = Input(default=1.0)
        x = State()
        derivatives = filter_derivatives

    class Counter(Model):
        rate = 100
        u = Input()
        x = State()
        update = counter_update

    system = System()
    low, counter = system.add(Filter()), system.add(Counter())
    system.connect(low.x, counter.u)
    system.run(1.0)
    assert low.x.value == pytest.approx(1.0 - math.exp(-5.0), abs=1e-12)
    sampled = sum(1.0 - math.exp(-k / 20.0) for k in range(101)) * 0.01
    assert counter.x.value == pytest.approx(sampled, abs=1e-11)


def test_python_models_branch_and_see_numbers() -> None:
    class Thermostat(PythonModel):
        rate = 10
        low, high = Parameter(19.0, "K"), Parameter(21.0, "K")
        temperature = Input("K")
        on = State("1")
        power = Output("W")

        def update(self):
            if self.temperature < self.low:
                return {"on": 1.0}
            return {"on": 0.0} if self.temperature > self.high else {}

        def outputs(self):
            assert isinstance(self.temperature, float) and isinstance(self.time, float)
            return {"power": 100.0 * self.on}

    class Room(Model):
        power = Input("W")
        temperature = State("K", 18.0)

        def derivatives(self):
            return {"temperature": self.power / 50.0 - 0.05 * self.temperature}

    system = System()
    room, control = system.add(Room()), system.add(Thermostat())
    system.connect(room.temperature, control.temperature)
    system.connect(control.power, room.power)
    seen = []
    for _ in range(600):
        system.run(0.1)
        seen.append(room.temperature.value)
    assert 18.8 < min(seen[50:]) < 19.0 and 21.0 < max(seen[50:]) < 21.3


def test_numpy_in_equations_gives_what_numpy_gives() -> None:
    """Each function at a few numbers, traced and evaluated, against NumPy's."""
    functions = {
        "clip": lambda x: np.clip(x, -0.5, 0.5), "abs": abs, "sign": np.sign, "floor": lambda x: np.floor(3.0 * x),
        "minimum": lambda x: np.minimum(x, 0.1), "maximum": lambda x: np.maximum(0.1, x), "mod": lambda x: x % 0.3,
        "where": lambda x: np.where(x > 0.2, 2.0 * x, -x), "sin": np.sin, "cos": np.cos, "tan": np.tan,
        "exp": np.exp, "tanh": np.tanh, "arctan2": lambda x: np.arctan2(x, 2.0), "hypot": lambda x: np.hypot(x, 1.5),
        "log": lambda x: np.log(2.0 + x), "sqrt": lambda x: np.sqrt(2.0 + x), "power": lambda x: (2.0 + x) ** 1.7,
        "rint": lambda x: np.rint(3.0 * x), "less": lambda x: np.where(x <= 0.4, 1.0, x), "reverse": lambda x: 3.0 - x,
        "fused": lambda x: x * x - 3.0 * x + 2.0, "inverse": lambda x: np.float64(2.0) / (3.0 + x),
    }  # fmt: skip

    def outputs(self):
        return {name: f(self.u) for name, f in functions.items()}

    kind = type("Functions", (Model,), {"u": Input(), "outputs": outputs} | {n: Output() for n in functions})
    source = type("Source", (Model,), {"y": State()})
    system = System()
    model, given = system.add(kind("f")), system.add(source("given"))
    system.connect(given.y, model.u)
    for x in (-1.3, -0.4, 0.0, 0.05, 0.4, 0.7, 1.9):
        given.y.value = x
        for name, f in functions.items():
            assert model.port(name).value == pytest.approx(float(f(np.float64(x))), abs=1e-14, rel=1e-14), (name, x)


def test_arrays_in_equations() -> None:
    class Turn(Model):
        A = Parameter(np.arange(9.0).reshape(3, 3))
        u = Input(shape=3)
        y = Output(shape=3)
        s = Output()
        c = Output(shape=(2, 2))

        def outputs(self):
            c = np.clip(np.outer(self.u[:2], self.u[:2]), 0.0, 4.5)
            return {"y": np.cross(self.A @ self.u, self.u), "s": np.sum(np.sin(self.u)), "c": c}

    system = System()
    given, turn = system.add(type("Given", (Model,), {"y": State("", (1.0, -2.0, 0.5))})()), system.add(Turn())
    system.connect(given.y, turn.u)
    u = np.array([1.0, -2.0, 0.5])
    assert turn.y.value == pytest.approx(np.cross(turn.A @ u, u), abs=1e-14)
    assert turn.s.value == pytest.approx(np.sin(u).sum(), abs=1e-14)
    assert turn.c.value == pytest.approx(np.clip(np.outer(u[:2], u[:2]), 0.0, 4.5))


# Noise -----------------------------------------------------------------------------------------------------


def test_philox_is_that_of_its_authors() -> None:
    """Known answers of Random123 for Philox 4x32 with 10 rounds."""
    run = getattr(philox, "py_func", philox)
    assert [f"{x:08x}" for x in run(0, 0, 0, 0)] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


def test_noise_is_normal_and_belongs_to_its_path() -> None:
    def walk(seed: int, *others: str) -> np.ndarray:
        system = System(seed=seed)
        for name in others:
            system.add(Walk(name))
        walker = system.add(Walk("walker"))
        found = []
        for _ in range(2000):
            system.run(0.001)
            found.append(walker.at.value)
        return np.array(found)

    alone, beside = walk(1), walk(1, "a", "z")
    assert np.array_equal(alone, beside)
    assert not np.array_equal(alone[:5], walk(2)[:5])
    steps = np.diff(alone, axis=0).ravel()
    n = len(steps)
    assert abs(steps.mean()) < 4.0 / np.sqrt(n) and abs(steps.std() - 1.0) < 4.0 / np.sqrt(2 * n)
    assert abs((steps**4).mean() - 3.0) < 4.0 * np.sqrt(96.0 / n)
    assert abs(np.corrcoef(steps[:-1], steps[1:])[0, 1]) < 4.0 / np.sqrt(n)


# What is refused -------------------------------------------------------------------------------------------


def test_unconnected_inputs_are_named() -> None:
    system = System()
    system.add(Mass())
    with pytest.raises(kido.ModelError, match=r"unconnected inputs: mass\.force"):
        system.run(1.0)
    assert system.time == 0.0


@pytest.mark.parametrize(
    "source, target, words",
    [
        ("motor.speed", "mass.force", r"units 'rad/s' and 'N' do not fit"),
        ("motor.voltage", "mass.force", "expected an output or a state"),
        ("motor.torque", "motor.speed", "expected an input"),
        ("walk.at", "gain.u", r"shapes \(3,\) and \(\) do not fit"),
        ("motor.nothing", "gain.u", "nothing"),
        ("nothing.speed", "gain.u", "nothing"),
        ("motor", "gain.u", "expected a port"),
        (3, "gain.u", "expected a port"),
    ],
)
def test_connections_that_are_refused_change_nothing(source, target, words: str) -> None:
    system = System()
    for model in (Motor(), Mass(), Gain(), Walk()):
        system.add(model)
    with pytest.raises(kido.KidoError, match=words):
        system.connect(source, target)
    assert system.connections == ()


def test_an_input_is_connected_once() -> None:
    system = System()
    a, b, c = (system.add(Gain(name)) for name in "abc")
    system.connect(a.y, c.u)
    with pytest.raises(kido.ModelError, match=r"connected to a\.y already"):
        system.connect(b.y, c.u)
    system.disconnect(c.u)
    system.connect(b.y, c.u)
    assert [x.source.path for x in system.connections] == ["b.y"]
    with pytest.raises(kido.ModelError, match=r"nothing is connected to a\.u"):
        system.disconnect(a.u)


def test_names_twice_and_foreign_parts_are_refused() -> None:
    system, other = System(), System()
    gain = system.add(Gain())
    with pytest.raises(kido.ModelError, match="'gain' is taken"):
        system.add(Gain())
    with pytest.raises(kido.ModelError, match="already"):
        other.add(gain)
    with pytest.raises(kido.ModelError, match="no model in it"):
        other.connect(gain.y, other.add(Gain()).u)
    with pytest.raises(kido.ModelError, match="expected a model"):
        system.add(3)  # type: ignore[type-var]
    assert system.parts == (gain,)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Motor(R=-1.0), r"parameter 'R': expected numbers from 0 to inf"),
        (lambda: Motor(R=math.nan), "finite"),
        (lambda: Motor(R=(1.0, 2.0)), "shape"),
        (lambda: Motor(resistance=1.0), "unexpected argument 'resistance'"),
        (lambda: Motor("a.b"), "path"),
        (lambda: Motor(rate=100.0), "derivatives are of continuous models"),
        (lambda: SampledPD(rate=30), "Fraction"),
        (lambda: type("P", (PythonModel,), {})(), "needs a rate"),
        (lambda: type("N", (Model,), {"n": Noise()})(), "noise is drawn at ticks"),
        (lambda: type("O", (Model,), {"y": Output()})(), "no method outputs"),
        (lambda: type("R", (Model,), {"k": Parameter()})(), "no default"),
        (lambda: Parameter(2.0, low=3.0), "from 3"),
        (lambda: Input("furlong"), "not understood"),
        (lambda: State(shape=0), "size above 0"),
        (lambda: System(step=0.0), "step"),
        (lambda: System(seed=-1), "seed"),
        (lambda: System(integrator=kido.integrators.Variational()), "integrator"),
    ],
)
def test_models_that_cannot_be(make, words: str) -> None:
    with pytest.raises(kido.KidoError, match=words):
        make()


@pytest.mark.parametrize(
    "outputs, words",
    [
        (lambda self: {"y": 1.0 if self.u > 0 else 2.0}, "np.where"),
        (lambda self: {"y": math.sin(self.u)}, "np.sin"),
        (lambda self: {"y": np.i0(self.u)}, "outputs"),
        (lambda self: {"z": self.u}, "returned 'z'; expected 'y'"),
        (lambda self: {}, "'y' is declared and not returned"),
        (lambda self: self.u, "values by name"),
        (lambda self: {"y": np.ones(2)}, "shape"),
        (lambda self: {"y": math.inf}, "finite"),
        (lambda self: {"y": "a"}, "expected numbers"),
        (lambda self: {"y": self.period}, "no period"),
        (lambda self: {"y": self.missing}, "missing"),
    ],
)
def test_equations_that_cannot_be_traced_name_the_model(outputs, words: str) -> None:
    system = System()
    kind = type("Bad", (Model,), {"u": Input(default=1.0), "y": Output(), "outputs": outputs})
    system.add(kind())
    with pytest.raises(kido.ModelError, match=f"(?s)model 'bad'.*{words}"):
        system.run(0.0)


def test_nan_is_named_by_its_port() -> None:
    class Root(Model):
        x = State("1", 1.0)
        y = Output()

        def outputs(self):
            return {"y": np.sqrt(self.x)}

        def derivatives(self):
            return {"x": -1.0 + 1e-30 * self.y_of()}

        def y_of(self):
            return np.sqrt(self.x)

    system = System(step=0.1)
    system.add(Root())
    with pytest.raises(kido.StateError, match=r"root\.(x|y)"):
        system.run(2.0)

    class Odd(PythonModel):
        rate = 10
        y = Output()

        def outputs(self):
            return {"y": math.nan if self.time > 0.25 else 1.0}

    system = System()
    system.add(Odd())
    system.run(0.2)
    with pytest.raises(kido.StateError, match=r"odd\.y: outputs returned nan"):
        system.run(1.0)

    class Log(Model):
        rate = 10
        y = Output()

        def outputs(self):
            return {"y": np.log(0.5 - self.time)}

    system = System()
    system.add(Log())
    with pytest.raises(kido.StateError, match=r"t = 0\.6 s log\.y is nan|t = 0\.5 s log\.y is"):
        system.run(1.0)


@pytest.mark.parametrize("where", ["outputs", "update"])
def test_a_tick_that_fails_is_undone_and_done_later(where: str) -> None:
    """What raises once, in the middle of a tick of several models, does not change what follows."""

    def run(fails: bool) -> tuple[float, ...]:
        class Odd(PythonModel):
            rate = 100
            q = Input("m")
            n = State("1")
            y = Output()

            def update(self):
                self.once("update")
                return {"n": self.n + self.q}

            def outputs(self):
                self.once("outputs")
                return {"y": self.n}

            def once(self, method: str) -> None:
                nonlocal fails
                if fails and method == where and self.time >= 0.2:
                    fails = False
                    raise ZeroDivisionError("once")

        system = System()
        mass, law, odd, walk = (
            system.add(Mass(q=1.0)),
            system.add(SampledPD("pd")),
            system.add(Odd()),
            system.add(Walk()),
        )
        for source, target in (("mass.q", "pd.q"), ("pd.force", "mass.force"), ("mass.q", "odd.q")):
            system.connect(source, target)
        log = system.log([odd.y, law.force], 100)
        if fails:
            with pytest.raises(ZeroDivisionError):
                system.run(0.3)
            assert system.time == 0.2
        system.run(0.5 - system.time)
        return (mass.q.value, mass.v.value, odd.n.value, *walk.at.value, *log["odd.y"], *log.times)

    assert run(True) == run(False)


@pytest.mark.parametrize("duration", [-1.0, math.nan, math.inf, "1", 1.5e-9 + 1e-10, True])
def test_durations_that_cannot_be(duration) -> None:
    system = System()
    with pytest.raises(kido.ModelError, match="run"):
        system.run(duration)


def test_values_that_cannot_be_set() -> None:
    system = System()
    motor = system.add(Motor())
    for bad in (math.nan, (1.0, 2.0), "a"):
        with pytest.raises(kido.StateError, match=r"motor\.speed"):
            motor.speed.value = bad
    with pytest.raises(kido.StateError, match="cannot be set"):
        motor.torque.value = 1.0
    with pytest.raises(kido.ModelError, match="cannot be assigned"):
        motor.speed = 1.0
    with pytest.raises(kido.ModelError, match="from 0"):
        motor.R = -1.0
    assert motor.R == 1.0 and motor.speed.value == 0.0
    with pytest.raises(kido.StateError, match="in no system"):
        _ = Motor().speed.value


# Changes while a system runs -------------------------------------------------------------------------------


def test_parameters_and_states_may_be_set_while_it_runs() -> None:
    system = System()
    motor = system.add(Motor())
    system.run(1.0)
    motor.set_parameters(R=2.0, L=0.25)
    motor.current.value, motor.speed.value = 0.0, 0.0
    assert motor.torque.value == 0.0
    system.run(30.0)
    assert motor.speed.value == pytest.approx(0.01 / (0.1 * 2.0 + 0.01**2), abs=1e-12)


def test_equations_are_written_down_anew_after_a_change() -> None:
    class Power(Model):
        def __init__(self, exponent: int):
            super().__init__("power")
            self.exponent = exponent

        u = Input(default=3.0)
        y = Output()

        def outputs(self):
            return {"y": self.u**self.exponent}

    system = System()
    power = system.add(Power(2))
    assert power.y.value == 9.0
    power.exponent = 3
    power.changed()
    assert power.y.value == 27.0


def test_parts_come_and_go_and_states_stay() -> None:
    system = System(step=1e-2)
    ball = system.add(Ball())
    system.run(0.3)
    kept = ball.height.value, ball.velocity.value
    motor = system.add(Motor())
    assert (ball.height.value, ball.velocity.value, system.time) == (*kept, 0.3)
    system.run(0.5)
    system.remove(motor)
    assert motor.parent is None and system.models == (ball,)
    alone = System(step=1e-2)
    other = alone.add(Ball())
    alone.run(0.3)
    alone.run(0.5)
    assert other.height.value == ball.height.value


def test_a_tick_is_done_once_whatever_the_runs() -> None:
    def walk(*durations: float) -> tuple:
        system = System()
        mass, control = system.add(Mass(q=1.0)), system.add(SampledPD("pd"))
        system.connect(mass.q, control.q)
        system.connect(control.force, mass.force)
        for duration in durations:
            system.run(duration)
            system.add(extra := Gain("extra", k=2.0))
            system.connect(mass.q, extra.u)
            assert extra.y.value == 2.0 * mass.q.value
            system.remove(extra)
        return mass.q.value, mass.v.value, control.force.value

    assert walk(0.05) == walk(0.01, 0.02, 0.0, 0.02) == walk(*[0.01] * 5)


def test_a_model_is_replaced_by_another_way_to_write_it() -> None:
    system = System()
    mass, control = system.add(Mass(q=1.0)), system.add(SampledPD("pd", now=1.0))
    system.connect(mass.q, control.q)
    system.connect(control.force, mass.force)
    system.run(0.5)
    system.replace(control, PythonPD("pd"))
    system.run(0.5)
    assert mass.q.value == pytest.approx(-0.0103403534588479, abs=1e-12)
    with pytest.raises(kido.KidoError, match="'q'"):
        system.replace("pd", Gain("pd"))
    assert isinstance(system["pd"], PythonPD)


# Assemblies ------------------------------------------------------------------------------------------------


class Drive(Assembly):
    def __init__(self, name: str, gain: float = 2.0):
        super().__init__(name)
        motor, control = self.add(Motor()), self.add(Difference("control", k=gain))
        self.connect(motor.speed, control.b)
        self.connect(control.y, motor.voltage)
        self.expose("speed", motor.speed)
        self.expose("wanted", control.a)


def test_assemblies_nest_and_are_made_many_times() -> None:
    system = System()
    rover = system.add(Assembly("rover"))
    for name in ("wheel_fl", "wheel_fr"):
        rover.add(Drive(name))
    assert [m.path for m in system.models] == [
        "rover.wheel_fl.control", "rover.wheel_fl.motor", "rover.wheel_fr.control", "rover.wheel_fr.motor",
    ]  # fmt: skip
    system.connect("rover.wheel_fl.speed", "rover.wheel_fr.wanted")
    system.run(30.0)
    system["rover.wheel_fl.motor"].voltage.value  # noqa: B018
    k = 0.01 / (0.1 + 0.01**2)  # speed at rest over voltage
    speed = 2.0 * k / (1.0 + 2.0 * k)
    assert system["rover.wheel_fl.motor.speed"].value == pytest.approx(speed, abs=1e-12)
    assert system["rover.wheel_fr.speed"].value == pytest.approx(speed * speed, abs=1e-12)
    assert system["rover.wheel_fl.motor.current"].path == "rover.wheel_fl.motor.current"
    rover.remove("wheel_fl")
    assert system.connections and all("wheel_fl" not in c.source.path for c in system.connections)
    with pytest.raises(kido.NameLookupError, match="wheel_fl"):
        system["rover.wheel_fl"]
    with pytest.raises(kido.ModelError, match="taken"):
        rover.add(Drive("wheel_fr"))


def test_first_updates_read_outputs_of_initial_states() -> None:
    """A chain of three, each of which adds what the one before it gives: by hand, in any order of adding."""

    class Sum(Model):
        rate = 10
        start = Parameter(1.0)
        given = Input(default=0.0)
        value, given_on = State(), Output()

        def outputs(self):
            return {"given_on": self.start + self.value + 0.5 * self.given}

        def update(self):
            return {"value": self.value + self.given}

    found = []
    for order in ("abc", "cab", "bca"):
        system = System()
        for name in order:
            system.add(Sum(name))
        system.connect("a.given_on", "b.given")
        system.connect("b.given_on", "c.given")
        system.run(0.0)
        found.append([system[f"{name}.value"].value for name in "abc"])
    # Before the tick: a gives 1, b 1 + 0.5; then b holds 1 and c 1.5.
    assert found == [[0.0, 1.0, 1.5]] * 3
    system.run(0.1)  # reads what was given after the first tick: a 1, b 1 + 1 + 0.5
    assert [system[f"{name}.value"].value for name in "abc"] == [0.0, 2.0, 4.0]
    system.reset()
    system.run(0.0)
    assert [system[f"{name}.value"].value for name in "abc"] == [0.0, 1.0, 1.5]


def test_a_constant_is_what_it_is_set_to() -> None:
    system = System()
    one, many = system.add(Constant("one", 0.8, "rad")), system.add(Constant("many", [[1, 2], [3, 4]]))
    assert one.value.unit == as_unit("rad") and one.value.value == 0.8
    assert many.value.value.tolist() == [[1.0, 2.0], [3.0, 4.0]] and many.value.unit is None
    system.run(0.1)
    one.setting, many.setting = 0.4, [[4, 3], [2, 1]]
    system.run(0.1)
    assert one.value.value == 0.4 and many.value.value.tolist() == [[4.0, 3.0], [2.0, 1.0]]
    for wrong in (np.nan, "x", [1.0, np.inf]):
        with pytest.raises(kido.ModelError, match=r"model 'one': value: expected finite numbers"):
            Constant("one", wrong)
    with pytest.raises(kido.ModelError, match="unit"):
        Constant("one", 1.0, "furlong")
    with pytest.raises(kido.ModelError, match="expected shape"):
        many.setting = [1.0, 2.0]
