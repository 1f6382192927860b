"""Whether an installed wheel brings its machine code: worlds, batches and inverse kinematics run without a compiler.

    python tools/check_wheel.py

Run it with the Python that has the wheel and an empty KIDO_CACHE_DIR. Ends with an error that names what is compiled.
"""

from __future__ import annotations

import sys

import numpy as np

import kido
from kido.jit.functions import ROOTS


def main() -> None:
    world = kido.World()
    world.add_ground(friction=0.8)
    world.add_skeleton(kido.load(kido.models.path("humanoid")))
    world.step(500)
    arm = kido.load(kido.models.path("arm7"))
    q = np.zeros((20, arm.num_dofs))
    np.testing.assert_array_equal(kido.batch.Batch(arm).mass_matrix(q)[3], kido.quantities.mass_matrix(arm, q[0]))
    hand = arm.body("hand")
    ik = kido.ik.InverseKinematics(hand)
    ik.target.world_transform = hand.world_transform
    assert ik.solve_and_apply().success
    compiled = sorted(root.function.__qualname__ for root in ROOTS if root.origin not in ("", "image"))
    used = sum(root.origin == "image" for root in ROOTS)
    print(f"{used} functions from the wheel, {len(compiled)} compiled")
    if compiled or "numba" in sys.modules:
        raise SystemExit(f"not from the wheel: {compiled}; Numba imported: {'numba' in sys.modules}")


if __name__ == "__main__":
    main()
