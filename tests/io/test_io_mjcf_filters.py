"""Who touches whom in random trees: welds, empty bodies, masks, excluded bodies and pairs, as MuJoCo has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kido.io import mjcf

mujoco: Any = pytest.importorskip("mujoco")
INERTIA = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def random_tree(seed: int) -> str:
    """Bodies about one place, some of them welded, some without geoms."""
    rng = np.random.default_rng(seed)
    bodies, geoms = [], ["w"]

    def body(depth: int) -> str:
        k = len(bodies)
        bodies.append(f"B{k}")
        joint = rng.choice(["", "<joint/>", '<joint type="ball"/>' if depth else "<freejoint/>"])
        own = ""
        for i in range(rng.integers(0, 3)):
            x, y, kind, affinity = (*rng.uniform(-0.04, 0.04, 2), *rng.integers(0, 4, 2))
            geoms.append(f"g{k}_{i}")
            own += f'<geom name="{geoms[-1]}" size="0.1" pos="{x} {y} 0" contype="{kind}" conaffinity="{affinity}"/>'
        inside = "".join(body(depth + 1) for _ in range(rng.integers(0, 3) if depth < 2 else 0))
        return f'<body name="B{k}">{INERTIA}{joint}{own}{inside}</body>'

    tree = '<geom name="w" size="0.1"/>' + "".join(body(0) for _ in range(3))
    rest = ""
    for kind, names in (("pair geom1={} geom2={}", geoms), ("exclude body1={} body2={}", bodies)):
        chosen = {frozenset(rng.choice(names, 2, replace=False)) for _ in range(rng.integers(0, 3) if names[1:] else 0)}
        rest += "".join(f"<{kind.format(*(repr(str(name)) for name in two))}/>" for two in sorted(map(sorted, chosen)))
    switch = rng.choice(["enable", "disable"])
    option = f'<option gravity="0 0 0"><flag filterparent="{switch}"/></option>'
    return f"<mujoco>{option}<worldbody>{tree}</worldbody><contact>{rest}</contact></mujoco>"


@pytest.mark.parametrize("seed", range(40))
def test_who_touches_in_a_random_tree(seed: int) -> None:
    text = random_tree(seed)
    model = mjcf.compile_model(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    weld = model.body_weldid[model.geom_bodyid]
    theirs = {
        frozenset((model.geom(c.geom1).name, model.geom(c.geom2).name))
        for c in data.contact
        if c.dist < 0.0 and weld[c.geom1] != weld[c.geom2]
    }
    world = mjcf.read(text)
    world.step()
    assert {frozenset((c.shape_a.name, c.shape_b.name)) for c in world.contacts} == theirs
