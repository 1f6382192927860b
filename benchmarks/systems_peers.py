"""What `benchmarks.systems` measures of Basilisk and Drake, in a Python that has them; prints seconds as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import perf_counter

ROUNDS, STEPS = 15, 500


def best(runs: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Least time [s] of each run over rounds in which they take turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = perf_counter()
            run()
            times[name].append(perf_counter() - start)
    return {name: min(found) for name, found in times.items()}


def basilisk() -> dict[str, float]:
    """A hub with and without four reaction wheels, 0.1 s RK4 steps; an empty module of Python; a recorder."""
    from Basilisk.architecture import sysModel
    from Basilisk.simulation import reactionWheelStateEffector, spacecraft
    from Basilisk.utilities import SimulationBaseClass, macros, simIncludeRW

    def made(wheels: bool, python: bool = False, recorder: bool = False) -> Callable[[], None]:
        sim = SimulationBaseClass.SimBaseClass()
        sim.CreateNewProcess("process").addTask(sim.CreateNewTask("task", macros.sec2nano(0.1)))
        hub = spacecraft.Spacecraft()
        hub.ModelTag = "hub"
        hub.hub.mHub = 750.0
        hub.hub.r_BcB_B = [[0.0], [0.0], [0.0]]
        hub.hub.IHubPntBc_B = [[900.0, 0.0, 0.0], [0.0, 800.0, 0.0], [0.0, 0.0, 600.0]]
        hub.hub.sigma_BNInit = [[0.1], [0.2], [-0.3]]
        hub.hub.omega_BN_BInit = [[0.001], [-0.01], [0.03]]
        kept = [hub]
        if wheels:
            factory = simIncludeRW.rwFactory()
            for axis in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [0.577, 0.577, 0.577]):
                factory.create("Honeywell_HR16", axis, maxMomentum=50.0, Omega=100.0)
            effector = reactionWheelStateEffector.ReactionWheelStateEffector()
            factory.addToSpacecraft("wheels", effector, hub)
            sim.AddModelToTask("task", effector)
            kept += [factory, effector]
        sim.AddModelToTask("task", hub)
        if python:

            class Empty(sysModel.SysModel):
                def Reset(self, now):
                    pass

                def UpdateState(self, now):
                    pass

            kept.append(Empty())
            sim.AddModelToTask("task", kept[-1])
        if recorder:
            kept.append(hub.scStateOutMsg.recorder())
            sim.AddModelToTask("task", kept[-1])
        sim.InitializeSimulation()
        done = 0

        def run() -> None:
            nonlocal done
            done += STEPS
            sim.ConfigureStopTime(macros.sec2nano(0.1 * done))
            sim.ExecuteSimulation()

        run.kept = kept  # type: ignore[attr-defined]
        run.sim = sim  # type: ignore[attr-defined]
        return run

    runs = {"hub": made(False), "wheels": made(True), "python": made(False, python=True)}
    t = best(runs | {"recorder": made(False, recorder=True)})
    return {
        "Basilisk: hub, a step of RK4": t["hub"] / STEPS,
        "Basilisk: hub with four wheels": t["wheels"] / STEPS,
        "Basilisk: a call of an empty Python module": (t["python"] - t["hub"]) / STEPS,
        "Basilisk: a row of a recorder": (t["recorder"] - t["hub"]) / STEPS,
    }


def drake() -> dict[str, float]:
    """A first-order lag in 1 ms steps with a controller at 1 kHz, of C++ and of Python."""
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder, LeafSystem
    from pydrake.systems.primitives import LinearSystem

    class Law(LeafSystem):
        def __init__(self):
            super().__init__()
            self.DeclareVectorInputPort("q", 1)
            index = self.DeclareDiscreteState(1)
            self.DeclareStateOutputPort("u", index)
            self.DeclarePeriodicDiscreteUpdateEvent(1e-3, 0.0, self.update)

        def update(self, context, state):
            state.set_value([-2.0 * self.get_input_port(0).Eval(context)[0]])

    def made(python: bool) -> Callable[[], None]:
        builder = DiagramBuilder()
        plant = builder.AddSystem(LinearSystem(A=[[-1.0]], B=[[1.0]], C=[[1.0]], D=[[0.0]]))
        law = Law() if python else LinearSystem(A=[[0.0]], B=[[-2.0]], C=[[1.0]], D=[[0.0]], time_period=1e-3)
        builder.AddSystem(law)
        builder.Connect(plant.get_output_port(0), law.get_input_port(0))
        builder.Connect(law.get_output_port(0), plant.get_input_port(0))
        simulator = Simulator(builder.Build())
        simulator.get_mutable_integrator().set_maximum_step_size(1e-3)
        simulator.Initialize()
        seconds = 0.0

        def run() -> None:
            nonlocal seconds
            seconds += 1.0
            simulator.AdvanceTo(seconds)

        run.simulator = simulator  # type: ignore[attr-defined]
        return run

    t = best({"C++": made(False), "Python": made(True)})
    return {f"Drake: 1 ms step with a controller of {name}": time / 1000 for name, time in t.items()}


if __name__ == "__main__":
    found: dict[str, float] = {}
    for peer in (basilisk, drake):
        try:
            found |= peer()
        except ImportError as error:
            found[f"{peer.__name__}: {error}"] = float("nan")
    print(json.dumps(found))
