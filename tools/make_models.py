"""Writes the bundled model files of src/kido/models; run it as ``python tools/make_models.py``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from kido.io.motions import dof
from kido.models.scenes import container_scene, dominoes_scene, stack_scene
from robots import arm7, hand, hand_motion, humanoid, quadruped, two_arms
from worlds import ball_chain_text, scene_text

FOLDER = Path(__file__).resolve().parents[1] / "src" / "kido" / "models"


def texts() -> dict[str, str]:
    """All files' names and texts."""
    return {
        "humanoid.urdf": humanoid().text(),
        "quadruped.urdf": quadruped().text(),
        "arm7.urdf": arm7().text(),
        "two_arms.urdf": two_arms().text(),
        "hand.urdf": hand().text(),
        "hand.dof": dof.write(hand_motion(), None, None),
        "ball_chain.skel": ball_chain_text(),
        "stack.skel": scene_text(stack_scene(), "A tower of ten cubes."),
        "container.skel": scene_text(container_scene(), "Cubes falling into an open bin."),
        "dominoes.skel": scene_text(dominoes_scene(), "A row of dominoes, the first tipping over."),
    }


if __name__ == "__main__":
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(FOLDER / name)
