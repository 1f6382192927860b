"""Flexible bodies: forward and inverse dynamics by the number of bodies and modes, derivatives, batches, rigid trees.

    python -m benchmarks.flexible_calls

Chains of hinged beams in space. Times are of processor, the best of several, per call of compiled code; those of
batches per state, on one thread, in lanes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import kido
from kido.flexible import FlexibleBody, FlexibleTree, Material, Section, beam_modes, entries

ALUMINIUM = Material(7e10, 2700.0)
AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 0))


def chain(bodies: int, bending: int = 2, torsion: int = 1, axial: int = 1) -> kido.Skeleton:
    """Beams of half a metre, hinged to each other's tips; 2 bending + torsion + axial modes each. 0 bending: rigid."""
    skeleton, parent = kido.Skeleton("chain"), None
    for k in range(bodies):
        joint = kido.RevoluteJoint(f"joint{k}", AXES[k % 3])
        if bending:
            modes = beam_modes(
                0.5, Section.tube(0.02, 0.018), ALUMINIUM, bending_y=bending, bending_z=bending, torsion=torsion,
                axial=axial,
            )  # fmt: skip
            parent = FlexibleBody(skeleton.add_body(f"body{k}", joint, parent), modes).node("tip")
        else:
            joint.transform_from_parent = (0.5 * (k > 0), 0.0, 0.0)
            inertia = kido.Inertia(0.3, (0.25, 0.0, 0.0), 0.01 * np.eye(3))
            parent = skeleton.add_body(f"body{k}", joint, parent, inertia)
    return skeleton


def state(skeleton: kido.Skeleton) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions with small deflections, velocities, forces."""
    rng, n = np.random.default_rng(0), skeleton.num_dofs
    size = np.where([dof.joint.has_modes for dof in skeleton.dofs], 1e-4, 0.5)
    return size * rng.normal(size=n), size * rng.normal(size=n), rng.normal(size=n)


def best(call: Callable[[], object], number: int = 200, repeats: int = 25) -> float:
    """Least processor time of a call [us]."""
    found = []
    for _ in range(repeats):
        begin = time.process_time()
        for _ in range(number):
            call()
        found.append((time.process_time() - begin) / number)
    return 1e6 * min(found)


def times_of(skeleton: kido.Skeleton) -> tuple[float, float, float]:
    """Forward and inverse dynamics, and a call that is refused at once [us]."""
    tree = FlexibleTree(skeleton)
    q, u, tau = state(skeleton)
    out = np.empty_like(q)
    tree.forward_dynamics(q, u, tau)
    address = tree._tree.address, tree._data.address, tree._flex.address
    return (
        best(lambda: entries.forward_dynamics.call(*address, q, u, tau, 1, out)),
        best(lambda: entries.inverse_dynamics.call(*address, q, u, tau, 1, out)),
        best(lambda: entries.inverse_dynamics.call(*address, q[:1], u, tau, 1, out)),
    )


def single_calls() -> None:
    """Forward and inverse dynamics, by bodies and modes."""
    print("bodies  modes each    forward us  per body   inverse us     empty call us")
    for bodies, bending, extra in ((7, 2, 1), (14, 2, 1), (28, 2, 1), (56, 2, 1), (7, 1, 0), (7, 3, 1), (7, 4, 2)):
        forward, inverse, empty = times_of(chain(bodies, bending, extra, extra))
        modes = 2 * bending + 2 * extra
        print(f"{bodies:6d}  {modes:10d}  {forward:12.2f}  {forward / bodies:8.3f}  {inverse:11.2f}  {empty:16.2f}")


def operators_of(skeleton: kido.Skeleton) -> list[float]:
    """M x and M^-1 x, another state, the same with articulated inertias, composite inertias [us]."""
    q, u, x = state(skeleton)
    ops = kido.SpatialOperators(skeleton, q, u)
    mass = ops.H * ops.Phi * ops.M * ops.PhiStar * ops.HStar
    inverse = mass.inverse()

    def moved() -> None:
        ops.move_to(q, u)
        ops.D.body_blocks()

    calls: list[Callable[[], object]] = [
        lambda: mass * x, lambda: inverse * x, lambda: ops.move_to(q, u), moved,
        lambda: kido.quantities.composite_inertias(skeleton, q),
    ]  # fmt: skip
    return [best(call, 50, 15) for call in calls]


def operators() -> None:
    """The mass matrix and its inverse as operators on a vector, and what a state takes."""
    print("bodies   M x us  M^-1 x us  move_to us  with P us  composite inertias us")
    for bodies in (7, 14, 28):
        print(f"{bodies:6d}  " + "  ".join(f"{t:9.1f}" for t in operators_of(chain(bodies))))


def batches(samples: int = 512) -> None:
    """The same of many states, and derivatives."""
    skeleton = chain(7)
    batch = kido.batch.Batch(skeleton, threads=1)
    q, u, tau = (np.tile(x, (samples, 1)) for x in state(skeleton))
    out = np.empty_like(q)
    calls = {
        "forward dynamics": lambda: batch.forward_dynamics(q, u, tau, out),
        "inverse dynamics": lambda: batch.inverse_dynamics(q, u, tau, out),
        "a step": lambda: batch.simulate(q, u, tau, time_step=1e-4),
    }
    for name, call in calls.items():
        call()
        print(f"batch, {name}: {best(call, 3, 7) / samples:.2f} us per state")
    skeleton.forward_dynamics_derivatives(q[0], u[0], tau[0])
    forward = best(lambda: skeleton.forward_dynamics_derivatives(q[0], u[0], tau[0]), 3, 5)
    inverse = best(lambda: skeleton.inverse_dynamics_derivatives(q[0], u[0], tau[0]), 3, 5)
    print(f"derivatives of {skeleton.num_dofs} coordinates: forward {forward:.0f} us, inverse {inverse:.0f} us")


def rigid() -> None:
    """Calls of a rigid skeleton: what knows of modes is not on their way."""
    skeleton = chain(7, 0)
    q, u, tau = state(skeleton)
    solver = kido.ik.IkSolver(skeleton.bodies[-1])
    target = kido.quantities.world_transform(skeleton, q, skeleton.bodies[-1])
    print(f"rigid chain of 7: forward dynamics {best(lambda: skeleton.forward_dynamics(q, u, tau)):.2f} us")
    skeleton.positions = q + 0.2
    solver.solve(target)
    print(f"rigid chain of 7: IkSolver.solve {best(lambda: solver.solve(target), 200):.1f} us")


if __name__ == "__main__":
    single_calls()
    operators()
    batches()
    rigid()
