"""MuJoCo's calls: the fewest functions that give the result. It has no ABA; the mass matrix is factored."""

from __future__ import annotations

import numpy as np

from benchmarks.calls import Call
from benchmarks.programs import Mujoco


def set_compute_get(program: Mujoco) -> dict[str, Call]:
    """Write the state, compute, read."""
    mj, model, data, result = program.mujoco, program.model, program.data, program.result

    def forward_kinematics(q):
        data.qpos[:] = q
        mj.mj_kinematics(model, data)
        return data.xpos

    def inverse_dynamics(q, u, a):
        data.qpos[:] = q
        data.qvel[:] = u
        data.qacc[:] = a
        mj.mj_kinematics(model, data)
        mj.mj_comPos(model, data)
        mj.mj_comVel(model, data)
        mj.mj_rne(model, data, 1, result)
        return result

    def mass_matrix(q):
        data.qpos[:] = q
        mj.mj_kinematics(model, data)
        mj.mj_comPos(model, data)
        mj.mj_makeM(model, data)
        mj.mj_fullM(model, data, program.matrix)
        return program.matrix

    def forward_dynamics(q, u, tau):
        data.qpos[:] = q
        data.qvel[:] = u
        mj.mj_kinematics(model, data)
        mj.mj_comPos(model, data)
        mj.mj_makeM(model, data)
        mj.mj_factorM(model, data)
        mj.mj_comVel(model, data)
        mj.mj_rne(model, data, 0, result)
        np.subtract(tau, result, out=result)
        mj.mj_solveM(model, data, program.solution, result.reshape(1, -1))
        return program.solution[0]

    return {
        "FK": Call(forward_kinematics, [(q,) for q in program.q], None),
        "RNEA": Call(inverse_dynamics, list(zip(program.q, program.u, program.a, strict=True))),
        "CRBA": Call(mass_matrix, [(q,) for q in program.q]),
        "ABA": Call(forward_dynamics, list(zip(program.q, program.u, program.tau, strict=True))),
    }
