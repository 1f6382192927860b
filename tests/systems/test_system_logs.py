"""Logs and checkpoints: rows against values that are read one by one, and futures that agree to the bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kido
from kido.integrators import RK4, DormandPrince
from kido.systems import Checkpoint, Input, JointPort, Model, Output, Parameter, PythonModel, State, System, read_log
from programs import PATIENCE
from system_models import Ball, Mass, Motor, PythonPD, SampledPD, Walk


def servo(kind: type[Model] = SampledPD) -> tuple[System, Mass, Model]:
    system = System(seed=3)
    mass, control = system.add(Mass(q=1.0)), system.add(kind("pd"))
    system.connect(mass.q, control.q)
    system.connect(control.force, mass.force)
    return system, mass, control


def test_a_log_has_what_was_there(tmp_path: Path) -> None:
    """At 50 Hz, kept and in a file, against reading after each run; across a change of structure."""
    system, mass, control = servo()
    walk = system.add(Walk())
    kept = system.log(["mass.q", control.force, walk], 50)
    with system.log([mass], 1000, tmp_path / "log.h5") as written:
        expected = []
        for k in range(20):
            system.run(0.02 if k else 0.0)
            expected.append((system.time, mass.q.value, control.force.value, *walk.at.value))
            if k == 10:
                system.add(Ball())
        with pytest.raises(kido.StateError, match="read_log"):
            _ = written.times
    expected = np.array(expected)
    assert kept.names == ("mass.q", "pd.force", "walk.at")
    assert np.array_equal(kept.times, expected[:, 0])
    assert np.array_equal(kept["mass.q"], expected[:, 1])
    assert np.array_equal(kept[control.force], expected[:, 2])
    assert np.array_equal(kept["walk.at"], expected[:, 3:])
    found = read_log(tmp_path / "log.h5")
    assert found.rate == 1000.0 and len(found.times) == 381
    assert np.array_equal(found["mass.q"][::20], expected[:, 1])
    assert found.units == {"mass.force": "N", "mass.q": "m", "mass.v": "m/s"}
    assert np.array_equal(found.nanoseconds, np.arange(381) * 10**6)
    with pytest.raises(kido.NameLookupError, match=r"pd\.force"):
        _ = kept["pd.nothing"]


def test_a_log_does_not_change_what_it_looks_at() -> None:
    found = []
    for logged in (False, True):
        system, mass, _ = servo()
        if logged:
            system.log("mass", 100)
        system.run(0.5)
        found.append((mass.q.value, mass.v.value))
    assert found[0] == found[1]


def test_long_logs_are_taken_in_parts(tmp_path: Path) -> None:
    system = System(step=1.0)
    motor = system.add(Motor())
    system.log(motor.speed, 100_000, tmp_path / "log.h5")
    system.run(0.1)  # twice what is written down at once
    found = read_log(tmp_path / "log.h5")
    assert np.array_equal(found.nanoseconds, np.arange(10_001) * 10**4)
    assert found["motor.speed"][-1] == motor.speed.value
    assert (np.diff(found["motor.speed"]) > 0.0).all()


def test_logs_of_parts_that_are_gone_are_nan() -> None:
    system, mass, control = servo()
    log = system.log([mass.q, control.force], 100)
    system.run(0.05)
    system.remove(control)
    system.connect(system.add(PythonPD("other")).force, mass.force)
    system.connect(mass.q, "other.q")
    system.run(0.05)
    assert len(log.times) == 11 and np.isnan(log["pd.force"]).tolist() == [False] * 6 + [True] * 5
    assert np.isfinite(log["mass.q"]).all()


def test_what_cannot_be_logged(tmp_path: Path) -> None:
    system, mass, _ = servo()
    for ports, rate in (("mass.x", 10), ([], 10), ([mass.q, "mass.q"], 10), (3, 10), (mass.q, 30), (Motor().speed, 10)):
        with pytest.raises(kido.KidoError):
            system.log(ports, rate, tmp_path / "log.h5")
    assert not (tmp_path / "log.h5").exists()
    (tmp_path / "text").write_text("text")
    for name in ("text", "nothing"):
        with pytest.raises(kido.FileFormatError, match="no log"):
            read_log(tmp_path / name)


# Checkpoints -----------------------------------------------------------------------------------------------


class Counter(PythonModel):
    rate = 40
    gain = Parameter(1.0)
    q = Input("m")
    n = State("1")
    y = Output()

    def update(self):
        return {"n": self.n + 1.0 if self.q > 0.0 else self.n}

    def outputs(self):
        return {"y": self.gain * self.n}


def everything(integrator) -> System:
    system, mass, _ = servo()
    system.integrator = integrator
    for part in (Ball(), Walk(), Motor(), Counter()):
        system.add(part)
    system.connect(mass.q, "counter.q")
    return system


def values(system: System) -> list[float]:
    return [x for m in system.models for port in m.ports for x in np.ravel(port.value).tolist()]


@pytest.mark.parametrize("integrator", [RK4(), DormandPrince(max_step=0.05)], ids=["RK4", "DormandPrince"])
def test_a_checkpoint_continues_to_the_bit(integrator, tmp_path: Path) -> None:
    system = everything(integrator)
    system["motor"].set_parameters(R=1.7)
    system.run(0.4567)
    before = system.checkpoint()
    before.save(tmp_path / "checkpoint")
    system.run(0.3333)
    expected = values(system)
    system["motor"].set_parameters(R=3.0)
    system.restore(before)
    system.run(0.3333)
    assert values(system) == expected
    other = everything(integrator)
    other.restore(Checkpoint.load(tmp_path / "checkpoint"))
    assert other.time == 0.4567 and other["motor"].R == 1.7
    other.run(0.3333)
    assert values(other) == expected


PROGRAM = """
import sys
import numpy as np
from test_system_logs import in_a_world, values
from kido.systems import Checkpoint
system = in_a_world()
system.restore(Checkpoint.load(sys.argv[1]))
system.run(0.1)
print([x.hex() for x in values(system)])
"""


def in_a_world() -> System:
    skeleton = kido.Skeleton("pendulum")
    skeleton.add_body("rod", kido.RevoluteJoint("hinge", (0, 1, 0)), None, kido.Inertia(2.0, (0.0, 0.0, -0.4)))
    world = kido.World()
    world.add_skeleton(skeleton)

    class PD(Model):
        rate = 100
        q, u = Input("rad"), Input("rad/s")
        torque = Output("N m")

        def outputs(self):
            return {"torque": 30.0 * (0.3 - self.q) - 4.0 * self.u}

    system = System(world=world, seed=5)
    joint, law = system.add(JointPort(skeleton.dofs[0], "joint")), system.add(PD())
    for part in (Walk(), Ball()):
        system.add(part)
    system.connect(joint.position, law.q)
    system.connect(joint.velocity, law.u)
    system.connect(law.torque, joint.force)
    return system


def test_a_checkpoint_continues_in_another_process(tmp_path: Path) -> None:
    """With a world, whose snapshot is part of it."""
    system = in_a_world()
    system.run(0.123)
    system.checkpoint().save(tmp_path / "checkpoint")
    system.run(0.1)
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(here)!r}, {str(here.parent)!r}]\n{PROGRAM}",
         str(tmp_path / "checkpoint")],
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[-2] == str([x.hex() for x in values(system)])


def test_checkpoints_of_others_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    system = everything(RK4())
    system.run(0.1)
    checkpoint = system.checkpoint()
    before = values(system)
    other, _, _ = servo()
    with pytest.raises(kido.StateError, match="other models"):
        other.restore(checkpoint)
    system.seed = 4
    with pytest.raises(kido.StateError, match="seed"):
        system.restore(checkpoint)
    system.seed = 3
    path = tmp_path / "checkpoint"
    checkpoint.save(path)
    content = path.read_bytes()
    for damaged in (content[:100], content[: len(content) // 2], b"", b"text"):
        path.write_bytes(damaged)
        with pytest.raises(kido.StateError, match="no checkpoint"):
            Checkpoint.load(path)
    data = {name: array.copy() for name, array in checkpoint.arrays().items()}
    data["next"][0] = -5
    with pytest.raises(kido.StateError, match="damaged"):
        system.restore(Checkpoint(checkpoint.topology, data, None))
    with pytest.raises(kido.StateError, match="expected a Checkpoint"):
        system.restore(None)  # type: ignore[arg-type]
    assert values(system) == before
