"""A bench for devices: given signals, wired to their inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.systems import Model, Output, Parameter, Port, System


def give(system: System, port: Port, signal: Any) -> Model:
    """Connect an input to a signal: a function of time that takes expressions, or a value, its model's `value`."""

    class Source(Model):
        value = Parameter(0.0 if callable(signal) else signal)
        y = Output(shape=np.shape(signal(0.0) if callable(signal) else signal))

        def outputs(self):
            return {"y": signal(self.time) if callable(signal) else self.value}

    made = system.add(Source("_".join(("source", *port.path.split(".")))))
    system.connect(made.y, port)
    return made


def on_bench(device: Model, step: float = 1e-3, seed: int = 0, **signals: Any) -> System:
    """A system of a device whose inputs are given, by name."""
    system = System(step=step, seed=seed)
    system.add(device)
    for name, signal in signals.items():
        give(system, device.port(name), signal)
    return system
