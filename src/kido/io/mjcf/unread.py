"""What of a compiled model has an effect in MuJoCo and none here: said, so that nothing is left out in silence."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.io.mjcf.remarks import LeftOut
from kido.io.mjcf.shapes import DEFAULT_SOLIMP, DEFAULT_SOLREF
from kido.io.mjcf.trees import BALL, HINGE, SLIDE

__all__ = ["say_what_is_not_read"]

OVERRIDE = 1  # of mjtEnableBit
INTEGRATORS = {1: "RK4", 2: "implicit", 3: "implicitfast", 4: "discrete"}
RIGID = "solref and solimp of {} are left out: they hold rigidly"


def say_what_is_not_read(model: Any, left_out: LeftOut) -> None:
    """Remarks on numbers that no reader asks for and that are not as by default."""
    m = model
    is_limited = m.jnt_limited.astype(bool) & np.isin(m.jnt_type, (BALL, SLIDE, HINGE))
    dry = m.dof_frictionloss > 0.0
    drawn = m.tendon_limited.astype(bool)
    for prefix, key, where, what in (
        ("jnt", "sol{}", is_limited, RIGID.format("limits")),
        ("dof", "sol{}", dry, RIGID.format("dry friction")),
        ("tendon", "sol{}_lim", drawn, RIGID.format("limits")),
        ("tendon", "sol{}_fri", m.tendon_frictionloss > 0.0, RIGID.format("dry friction")),
    ):
        ref, imp = (np.asarray(getattr(m, f"{prefix}_{key.format(part)}")) for part in ("ref", "imp"))
        soft = ~(np.isclose(ref, DEFAULT_SOLREF).all(axis=1) & np.isclose(imp, DEFAULT_SOLIMP).all(axis=1))
        _say(m, left_out, prefix, soft & where, what)
    _say(m, left_out, "jnt", m.jnt_springyield != 0.0, "springs that yield are elastic")
    felt = m.jnt_actgravcomp.astype(bool) & m.jnt_actfrclimited.astype(bool) & bool(np.any(m.body_gravcomp))
    _say(m, left_out, "jnt", felt, "gravity is compensated beside the actuators, whose limits it does not count to")
    _say(m, left_out, "body", np.any(m.body_plugin >= 0, axis=-1), "plugins of bodies are left out")
    _say(m, left_out, "geom", np.asarray(m.geom_plugin) >= 0, "plugins of geoms are left out")
    _say(m, left_out, "cam", m.cam_projection != 0, "orthographic cameras are pinholes")
    lens = np.any(m.cam_sensorsize != 0.0, axis=1)
    _say(m, left_out, "cam", lens, "focal lengths and centres of cameras' sensors are left out: images have fovy")
    for k in range(int(m.npair)):
        if np.any(m.pair_solreffriction[k]) or m.pair_adhesion[k]:
            left_out.add("solreffriction and adhesion of pairs are left out", f"pair {k}")
    for k in range(int(m.nkey)):
        if m.key_time[k]:
            left_out.add("times of keyframes are left out: a world's time is that of its steps", m.key(k).name)
    for k in range(int(m.nskin)):
        left_out.add("skins are left out", f"skin {k}")
    option = m.opt
    if int(option.enableflags) & OVERRIDE:
        left_out.add("options that override friction, solref and solimp of contacts are left out", "option")
    if float(option.impratio) != 1.0:
        left_out.note("impratio has no meaning for exact friction", "option")
    if int(option.noslip_iterations):
        left_out.note("friction that holds does not slip, without iterations for it", "option")
    if int(option.integrator):
        left_out.note(f"{INTEGRATORS[int(option.integrator)]}: worlds have an integrator of their own", "option")


def _say(m: Any, left_out: LeftOut, prefix: str, where: Any, what: str) -> None:
    """A remark on each element of a kind that a mask says."""
    for k in np.flatnonzero(where).tolist():
        if prefix == "dof":
            left_out.add(what, m.joint(int(m.dof_jntid[k])).name)
        else:
            named = {"jnt": m.joint, "cam": m.camera}.get(prefix) or getattr(m, prefix)
            left_out.add(what, named(k).name)
