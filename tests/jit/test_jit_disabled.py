"""NUMBA_DISABLE_JIT=1: the same sources as plain Python give the same numbers.

Compiled code fuses multiplications with additions and has its own sine and cosine, so results differ by rounding:
1e-12 relative on a small tree.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kido.jit import JIT_DISABLED

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="kernels run as plain Python here already")

SCRIPT = """
import json
import sys

import numpy as np

import kido
import kido.batch
import kido.gradients
import kido.planning
from kido.jit import JIT_DISABLED
from trees import random_skeleton, random_state

found = {"disabled": JIT_DISABLED}
skeleton = random_skeleton(3, 11)
q, u, udot, tau = random_state(skeleton, 3)
skeleton.positions, skeleton.velocities, skeleton.accelerations, skeleton.forces = q, u, udot, tau
for local in (False, True):
    for inside in (False, True):
        skeleton.bodies[-1].add_external_force([1, 2, 3], [0.1, 0.2, 0.3], local, inside)
found["poses"] = [b.world_transform for b in skeleton.bodies]
found["velocities"] = [b.spatial_velocity for b in skeleton.bodies]
found["accelerations"] = [b.spatial_acceleration for b in skeleton.bodies]
found["numbers"] = [*skeleton.com, *skeleton.momentum, skeleton.kinetic_energy, skeleton.potential_energy]
found["mass matrix"] = skeleton.mass_matrix
found["mass matrix at"] = kido.quantities.mass_matrix(skeleton, q)
found["kinematics"] = skeleton.forward_kinematics(q)
found["inverse"] = skeleton.inverse_dynamics(q, u, udot)
found["forward"] = skeleton.forward_dynamics(list(q), u, tau)
skeleton.compute_forward_dynamics()
found["held forward"] = skeleton.accelerations
skeleton.compute_inverse_dynamics()
found["held inverse"] = skeleton.forces
for wrong in ([0.0], [np.nan] * skeleton.num_dofs, np.zeros(99)):
    try:
        skeleton.forward_dynamics(wrong, u, tau)
    except kido.StateError as error:
        found.setdefault("errors", []).append(str(error))
world = kido.World()
world.add_skeleton(random_skeleton(4, 4))
world.skeletons[0].joints[0].damping = 0.1
world.skeletons[0].velocities = np.linspace(-1, 1, world.skeletons[0].num_dofs)
world.step(3)
found["world"] = [world.skeletons[0].positions, world.skeletons[0].velocities]
json.dump({k: v if k in ("errors", "disabled") else np.asarray(v).tolist() for k, v in found.items()}, sys.stdout)
"""


def run(**environment: str) -> dict:
    env = {
        **os.environ,
        **environment,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_plain_python_gives_the_same_results() -> None:
    compiled, plain = run(NUMBA_DISABLE_JIT="0"), run(NUMBA_DISABLE_JIT="1")
    assert not compiled.pop("disabled") and plain.pop("disabled")
    assert compiled.pop("errors") == plain.pop("errors")
    assert list(compiled) == list(plain)
    for name, value in compiled.items():
        value, other = np.array(value), np.array(plain[name])
        assert value.shape == other.shape
        scale = max(1.0, np.abs(value).max())
        if name == "held inverse":  # forces of the accelerations before it, whose rounding they have
            scale = max(scale, np.abs(compiled["held forward"]).max())
        assert np.abs(value - other).max() <= 1e-12 * scale, name
