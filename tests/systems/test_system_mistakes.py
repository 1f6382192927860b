"""What must not be done to a system, or goes wrong in it: named, and nothing is half done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import kido
from kido.systems import Assembly, Input, Model, Output, Parameter, PythonModel, State, System, as_unit


class Lag(Model):
    tau = Parameter(1.0, "s")
    u = Input(default=1.0)
    x = State()
    y = Output()

    def outputs(self):
        return {"y": self.x}

    def derivatives(self):
        return {"x": (self.u - self.x) / self.tau}


class Asking(PythonModel):
    """Does something to its system in the middle of a tick."""

    rate = 100
    y = Output()

    def __init__(self, name: str, ask: Callable[[], object]):
        super().__init__(name)
        self.__dict__["ask"] = ask

    def outputs(self):
        if self.time > 0.045:
            self.__dict__["ask"]()
        return {"y": 1.0}


# While models are called -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.add(Lag("new")),
        lambda s: s.remove("lag"),
        lambda s: s.replace("lag", Lag("lag")),
        lambda s: s.connect("asking.y", "lag.u"),
        lambda s: s.disconnect("second.u"),
        lambda s: s["part"].add(Lag("new")),
        lambda s: s.log("lag.x", 10),
        lambda s: s.run(0.1),
        lambda s: s.reset(),
        lambda s: s.checkpoint(),
        lambda s: s.restore(None),
        lambda s: setattr(s, "seed", 3),
        lambda s: setattr(s, "step", 0.1),
        lambda s: setattr(s, "integrator", kido.integrators.RK4()),
    ],
)
def test_a_model_cannot_change_the_system_that_calls_it(ask: Callable[[System], object]) -> None:
    system = System()
    lag, second = system.add(Lag()), system.add(Lag("second"))
    system.add(Assembly("part"))
    system.connect(lag.y, second.u)
    asking = system.add(Asking("asking", lambda: ask(system)))
    parts, connections = system.parts, system.connections
    with pytest.raises(kido.StateError, match="runs, and one of its models asks for it") as caught:
        system.run(0.2)
    assert "in outputs of model 'asking' at t = 0.05 s" in caught.value.__notes__
    assert system.parts == parts and system.connections == connections and system.seed == 0
    asking.__dict__["ask"] = lambda: None
    system.run(0.15)  # the tick that was undone first
    assert system.time == 0.2
    assert lag.x.value == pytest.approx(1.0 - np.exp(-0.2), abs=1e-12)


def test_a_model_may_set_parameters_and_states() -> None:
    system = System()
    lag = system.add(Lag())
    system.add(Asking("asking", lambda: lag.set_parameters(tau=1e9)))
    system.run(0.2)
    assert lag.x.value == pytest.approx(1.0 - np.exp(-0.05), abs=1e-6)


def test_another_thread_changes_nothing_while_it_runs() -> None:
    """Not even by half: the part is not in the system, the system has no other equations."""
    system, refused = System(), []
    system.add(Lag())

    def other() -> None:
        for change in (lambda: system.add(Lag("new")), lambda: system.remove("lag"), lambda: system.run(1.0)):
            try:
                change()
            except kido.ConcurrencyError as error:
                refused.append(error)

    def ask() -> None:
        if not refused:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

    system.add(Asking("asking", ask))
    system.run(0.2)
    assert len(refused) == 3
    assert [part.name for part in system.parts] == ["lag", "asking"]
    assert system["lag.x"].value == pytest.approx(1.0 - np.exp(-0.2), abs=1e-12)


def test_models_of_a_world_s_own_steps_cannot_either() -> None:
    world = kido.World(time_step=1e-3)
    skeleton = kido.Skeleton("plate")
    skeleton.add_body("plate", kido.WeldJoint())
    world.add_skeleton(skeleton)
    system = System(world=world)
    system.add(Lag())
    system.add(Asking("asking", lambda: system.remove("lag")))
    with pytest.raises(kido.StateError, match="one of its models asks for it"):
        world.step(100)
    assert [part.name for part in system.parts] == ["lag", "asking"]


def test_an_assembly_is_not_in_itself() -> None:
    outer, inner = Assembly("outer"), Assembly("inner")
    outer.add(inner)
    for above, part in ((outer, outer), (inner, outer), (inner, inner)):
        with pytest.raises(kido.ModelError, match=r"itself|already"):
            above.add(part)
    assert inner.parts == () and outer.parts == (inner,) and outer.parent is None


def test_an_input_is_connected_once_wherever_its_model_goes() -> None:
    """By assemblies that are put together, taken apart and replaced."""
    system, box = System(), Assembly("box")
    one, two = box.add(Lag("one")), box.add(Lag("two"))
    box.connect(one.y, two.u)

    def refused(where: Assembly) -> None:
        with pytest.raises(kido.ModelError, match=r"connected to .*one\.y already"):
            where.connect(one.y, two.u)

    refused(box)
    system.add(box)
    refused(system)
    system.disconnect(two.u)
    system.connect(one.y, two.u)
    refused(box)
    system.remove(box)  # with the connection goes what was connected from outside of it
    box.connect(one.y, two.u)
    refused(box)
    system.add(box)
    third = system.add(Lag("third"))
    system.connect(two.y, third.u)
    box.replace("two", other := Lag("two"))
    with pytest.raises(kido.ModelError, match=r"connected to box\.one\.y already"):
        system.connect(third.y, other.u)
    with pytest.raises(kido.ModelError, match=r"connected to box\.two\.y already"):
        system.connect(one.y, third.u)
    box.remove("one")
    system.connect(third.y, other.u, delay=10)
    system.run(0.1)


# Numbers that are none ---------------------------------------------------------------------------------------


class Root(Model):
    """Real up to half a second."""

    y = Output("V")

    def outputs(self):
        return {"y": 2.0 * np.sqrt(0.5 - self.time) + 1.0}


class Area(Model):
    u = Input("V")
    x = State("V s")

    def derivatives(self):
        return {"x": self.u}


def rooted() -> System:
    system = System(step=1e-2)
    system.add(Assembly("rover")).add(Root())
    return system


def test_an_output_that_nothing_needs_is_named_at_the_end_of_a_run() -> None:
    system = rooted()
    system.run(0.5)
    with pytest.raises(kido.StateError, match=r"^at t = 0\.8 s rover\.root\.y is nan$"):
        system.run(0.3)


def test_a_state_is_not_blamed_for_what_it_is_given() -> None:
    system = rooted()
    system.connect("rover.root.y", system.add(Area()).u)
    with pytest.raises(kido.StateError, match=r"^at t = 0\.5 s rover\.root\.y is nan$"):
        system.run(0.8)


def test_a_logged_value_is_named_when_it_is_written_down() -> None:
    system = rooted()
    log = system.log("rover.root.y", 100)
    with pytest.raises(kido.StateError, match=r"^at t = 0\.51 s rover\.root\.y is nan$"):
        system.run(0.8)
    assert len(log.times) == 51 and np.isfinite(log["rover.root.y"]).all()


def test_models_that_raise_are_named() -> None:
    def divide() -> None:
        raise ZeroDivisionError("division by zero")

    system = System()
    system.add(Assembly("rover")).add(Asking("asking", divide))
    with pytest.raises(ZeroDivisionError) as caught:
        system.run(1.0)
    assert caught.value.__notes__ == ["in outputs of model 'rover.asking' at t = 0.05 s"]


@pytest.mark.parametrize("value", ["fast", "3", np.nan, [1.0, np.nan], None, object()])
def test_what_is_no_number_is_said_to_be_none(value: object) -> None:
    lag = Lag()
    with pytest.raises(kido.ModelError, match=r"model 'lag': parameter 'tau': expected (finite numbers|shape)"):
        lag.set_parameters(tau=value)
    assert lag.tau == 1.0


# Sizes and files ---------------------------------------------------------------------------------------------


def test_a_thousand_models_come_and_go() -> None:
    system = System(step=1e-2)
    models = [system.add(Lag(f"m{k}", tau=0.5)) for k in range(1000)]
    for one, two in pairwise(models):
        system.connect(one.y, two.u)
    system.run(0.1)
    first, second = models[0].x.value, models[1].x.value
    x = 0.1 / 0.5  # of equal lags one after the other
    assert first == pytest.approx(1.0 - np.exp(-x), abs=1e-9)
    assert second == pytest.approx(1.0 - np.exp(-x) * (1.0 + x), abs=1e-9)
    assert system.graph().count('" -> "') == 999
    for k in range(2, 1000, 2):
        system.remove(f"m{k}")
    assert (models[0].x.value, models[1].x.value, len(system.models)) == (first, second, 501)
    system.run(0.1)
    assert models[0].x.value == pytest.approx(1.0 - np.exp(-2 * x), abs=1e-9)


@pytest.mark.parametrize("world", [None, "plate"])
def test_nothing_moves_in_a_system_of_nothing(world: str | None) -> None:
    """No models; and a world whose one body has no degrees of freedom."""
    own = None
    if world:
        own, skeleton = kido.World(time_step=1e-3), kido.Skeleton(world)
        skeleton.add_body("plate", kido.WeldJoint())
        own.add_skeleton(skeleton)
    system = System(world=own)
    before = system.checkpoint()
    system.run(0.1)
    assert system.time == 0.1 and system.entries() == () and system.costs() == ()
    system.restore(before)
    assert system.time == 0.0
    system.add(Lag())
    system.run(0.1)
    assert system["lag.x"].value == pytest.approx(1.0 - np.exp(-0.1), abs=1e-9)


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    system = System()
    system.add(Lag())
    with pytest.raises(kido.FileFormatError, match="cannot be written"):
        system.log("lag.x", 10, tmp_path / "nowhere" / "log.h5")
    system.run(0.1)


@pytest.mark.parametrize("text, same", [("kg*m^2", "kg m^2"), ("N·m", "N m"), ("m / s", "m/s"), ("N * m / A", "N m/A")])
def test_products_of_units_may_be_written_with_signs(text: str, same: str) -> None:
    assert as_unit(text).fits(as_unit(same))
