"""MJCF files through MuJoCo's own compiler: models whose every part has a name, and errors with path and line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from kido.errors import FileFormatError
from kido.libraries import library

__all__ = ["compile_model", "flex_names", "mujoco"]

TEXT_NAME = "<text>"
USD = (".usd", ".usda", ".usdc", ".usdz")
_LINE = re.compile(r"\bline (?:number=)?(\d+)", re.IGNORECASE)
NAMED = ("bodies", "joints", "geoms", "sites", "cameras", "lights", "actuators", "tendons", "equalities", "sensors")
NAMED += ("keys", "pairs")
SINGULAR = {"bodies": "body", "equalities": "equality"}


def mujoco() -> Any:
    """The library MuJoCo.

    Raises:
        MissingExtraError: it is not installed.
    """
    return library("mujoco", "MJCF files (MuJoCo's compiler reads them)", "mjcf")


def compile_model(source: str | Path) -> Any:
    """The `mujoco.MjModel` of a file, or of a text that starts with ``<``.

    Bodies, joints, geoms, sites, cameras, lights, actuators, tendons, equalities, sensors, keyframes and pairs without
    a name get one, such as ``geom_3``: by these names skeletons have them, and `kido.layouts.MujocoLayout` matches
    them.

    Raises:
        FileFormatError: the compiler refuses it, in its words: path, line.
        MissingExtraError: MuJoCo, or its reader of USD, is not installed.
    """
    m = mujoco()
    text = str(source)
    if text.lower().endswith(USD):
        library("mujoco._usd", "USD files (MuJoCo's compiler reads them)", "usd")
    is_file = isinstance(source, Path) or not text.lstrip("\ufeff \t\r\n").startswith("<")
    try:
        spec = m.MjSpec.from_file(text) if is_file else m.MjSpec.from_string(text)
        _give_names(spec)
        return spec.compile()
    except (ValueError, OSError, RuntimeError) as error:
        words = str(error).strip()
        found = _LINE.search(words)
        reason = "MuJoCo's compiler: " + "; ".join(part.strip() for part in words.splitlines() if part.strip())
        line = int(found.group(1)) if found else None
        raise FileFormatError(text if is_file else TEXT_NAME, line, reason) from None


def _give_names(spec: Any) -> None:
    for kind in NAMED:
        elements = list(getattr(spec, kind))
        taken = {element.name for element in elements}
        one = SINGULAR.get(kind, kind.removesuffix("s"))
        for number, element in enumerate(elements):
            if not element.name:
                name = f"{one}_{number}"
                while name in taken:
                    name += "_"
                taken.add(name)
                element.name = name


def flex_names(model: Any) -> list[str]:
    """Names of a model's flexes."""
    m = mujoco()
    return [m.mj_id2name(model, m.mjtObj.mjOBJ_FLEX, k) or f"flex {k}" for k in range(int(model.nflex))]
