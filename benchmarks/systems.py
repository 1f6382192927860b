"""Prices of systems: a hub with wheels, models of each kind, logs, starts; beside Basilisk and Drake.

    python -m benchmarks.systems
    KIDO_PEERS_PYTHON=/path/to/a/venv/bin/python python -m benchmarks.systems

The peers (`pip install bsk drake`) may be in a Python of their own. Every number is the best of interleaved rounds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.timing import interleaved, machine, table
from kido.systems import Input, Model, Output, Parameter, PythonModel, State, System

ROUNDS = 15


class Hub(Model):
    """A rigid hub with four reaction wheels about the Earth: position, attitude (modified Rodrigues), wheels."""

    I = Parameter(np.diag([900.0, 800.0, 600.0]), "kg m^2")  # noqa: E741  # of hub and wheels
    G = Parameter([[1.0, 0.0, 0.0, 0.577], [0.0, 1.0, 0.0, 0.577], [0.0, 0.0, 1.0, 0.577]])
    wheel = Parameter(0.159, "kg m^2")
    mu = Parameter(3.986004415e14, "m^3/s^2")
    torque = Input("N m", 4, default=(0.1, 0.2, -0.1, 0.05))
    r, v = State("m", (7e6, 0.0, 0.0)), State("m/s", (0.0, 7.5e3, 0.0))
    sigma, omega = State("", (0.1, 0.2, -0.3)), State("rad/s", (0.001, -0.01, 0.03))
    spin = State("rad/s", np.full(4, 10.0))

    def derivatives(self):
        s, w, G = self.sigma, self.omega, self.G
        momentum = self.I @ w + G @ (self.wheel * self.spin)  # spin is relative to the hub
        inner = inverse(self.I - self.wheel * (G @ G.T))
        rate = inner @ (-np.cross(w, momentum) - G @ self.torque)
        return {
            "r": self.v,
            "v": -self.mu * self.r / (self.r @ self.r) ** 1.5,
            "sigma": 0.25 * ((1.0 - s @ s) * w + 2.0 * np.cross(s, w) + 2.0 * s * (s @ w)),
            "omega": rate,
            "spin": self.torque / self.wheel - G.T @ rate,
        }


def inverse(a):
    """Of a 3x3 matrix, by cofactors."""
    rows = np.cross(a[[1, 2, 0]], a[[2, 0, 1]])
    return rows.T / (a[0] @ rows[0])


def momentum(hub: Hub) -> float:
    """Size of the angular momentum [N m s]."""
    return float(np.linalg.norm(hub.I @ hub.omega.value + hub.G @ (hub.wheel * hub.spin.value)))


class Lag(Model):
    tau = Parameter(1.0, "s")
    u = Input(default=1.0)
    x = State()
    y = Output()

    def outputs(self):
        return {"y": 2.0 * self.x + self.u}

    def derivatives(self):
        return {"x": (self.u - self.x) / self.tau}


class Law(PythonModel):
    rate = 1000
    q = Input()
    u = Output()

    def outputs(self):
        return {"u": -2.0 * self.q}


class TracedLaw(Law):
    is_python = False


def chain(number: int) -> System:
    """Lags in a row, each fed by the one before."""
    system = System(step=1e-3)
    models = [system.add(Lag(f"lag_{k}")) for k in range(number)]
    for one, two in pairwise(models):
        system.connect(one.y, two.u)
    return system


def closed(kind: type[Model]) -> System:
    system = System(step=1e-3)
    lag, law = system.add(Lag()), system.add(kind("law"))
    system.connect(lag.x, law.q)
    system.connect(law.u, lag.u)
    return system


def start(number: int) -> float:
    """Time [s] from nothing to the first step of so many models of a class that has not been seen."""
    kind = type("New", (Lag,), {})
    begin = perf_counter()
    system = System()
    for k in range(number):
        system.add(kind(f"lag_{k}"))
    system.run(1e-3)
    return perf_counter() - begin


def main() -> None:
    hub = System(step=0.1)
    body = hub.add(Hub())
    before = momentum(body)
    hub.run(100.0)
    assert abs(momentum(body) - before) < 1e-9 * before  # wheels and hub push each other alone
    chains = {n: chain(n) for n in (1, 10, 100, 1000)}
    laws = {"Python": closed(Law), "traced": closed(TracedLaw), "none": chain(1)}
    plain, logged = chain(100), chain(100)
    logged.log([f"lag_{k}.y" for k in range(100)], 1000)
    calls = {
        "hub": lambda: hub.run(100.0),
        **{f"chain {n}": lambda s=s, n=n: s.run(10.0 / n) for n, s in chains.items()},
        **{f"law {name}": lambda s=s: s.run(1.0) for name, s in laws.items()},
        "plain": lambda: plain.run(0.2),
        "logged": lambda: logged.run(0.2),
    }
    t = interleaved(calls, ROUNDS)
    starts = {n: min(start(n) for _ in range(3)) for n in (1, 10, 100, 1000)}
    us, ns, ms = (lambda x: f"{x * 1e6:.2f} us"), (lambda x: f"{x * 1e9:.1f} ns"), (lambda x: f"{x * 1e3:.1f} ms")
    rows = [["hub with four wheels, a step of RK4", us(t["hub"] / 1000), "2 us"]]
    rows += [
        [f"traced model in a chain of {n}, an evaluation", ns(t[f"chain {n}"] / (4 * 1e4)), "50 ns"] for n in chains
    ]
    rows += [
        ["1 ms step with a controller of Python", us(t["law Python"] / 1000), ""],
        ["a call of that controller", us((t["law Python"] - t["law traced"]) / 1000), "3 us"],
        ["1 ms step with a traced controller", us(t["law traced"] / 1000), ""],
        ["a logged value", ns((t["logged"] - t["plain"]) / 200 / 100), "20 ns"],
    ]
    rows += [[f"start of {n} models of a new class", ms(starts[n]), "50 ms" if n == 1 else ""] for n in starts]
    peers = os.environ.get("KIDO_PEERS_PYTHON", sys.executable)
    done = subprocess.run([peers, Path(__file__).with_name("systems_peers.py")], capture_output=True, text=True)
    if done.returncode == 0:
        rows += [[name, us(time), ""] for name, time in json.loads(done.stdout.strip().split("\n")[-1]).items()]
    else:
        print(done.stderr, file=sys.stderr)
    print(machine(), "\n")
    print(table(["", "time", "wanted"], rows))


if __name__ == "__main__":
    main()
