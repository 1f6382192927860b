"""Steps of a world by an integrator for smooth motion, and the watch for contacts that would end it.

The integrator moves the state from one step to the next; contacts, joint limits and other rows are then looked
for at the new state. If one is active the step is not taken: such integrators know nothing of impulses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.constraints.loop_factor import measure_all
from kido.constraints.loop_schema import ONE_SIDED, SPRING
from kido.constraints.row_origins import (
    FROM_CONSTRAINT,
    FROM_CONTACT,
    FROM_FRICTION,
    FROM_LIMIT,
    FROM_MIMIC,
    FROM_SERVO,
    FROM_SPEED_LIMIT,
)
from kido.errors import StateError
from kido.integrators.integrator import CompiledIntegrator, Integrator
from kido.integrators.run import progress
from kido.integrators.schema import DONE, MOTION
from kido.integrators.system import System, with_arrays
from kido.jit import entry, kernel, view
from kido.jit.kept import NOT_NEGATIVE, checked_array
from kido.joints import JointKind
from kido.joints.actuators import ACCELERATION
from kido.kernels.forward_dynamics import articulated_inertias
from kido.kernels.inertia import body_inertia
from kido.kernels.integration import to_parent_axes
from kido.kernels.kinematics import transforms, velocities
from kido.simulation.integrate import clear_report, constraint_forces, return_impulses
from kido.simulation.loop_system import LoopSystem
from kido.simulation.predict import velocity_target
from kido.simulation.step import AT_ASSEMBLE, AT_DETECT, AT_PREDICT, features
from kido.simulation.world_struct import RESPOND, WORLD

if TYPE_CHECKING:
    from kido.simulation.engine import Engine

_WHAT = {
    FROM_LIMIT: "is at its limit",
    FROM_FRICTION: "has Coulomb friction",
    FROM_SPEED_LIMIT: "is at its velocity limit",
    FROM_SERVO: "has a servo",
    FROM_MIMIC: "is geared to another",
}
ROW_ACTIVE = -2  # in place of a stage: a row is active, its block follows
NO_END = 1 << 60


@kernel
def constraint_acts(lp, r):
    """Whether the block of row r of a constraint gives impulses: limits that are passed, motors, dry friction."""
    return lp.phi[r] < 0.0 if lp.mode[r] == ONE_SIDED else lp.mode[r] != SPRING


@kernel
def first_active(t, d, c, pr, src, lp):
    """The first block that a smooth motion must not meet, or -1. Springs of constraints it has by itself."""
    for b in range(pr.num_blocks):
        k = src.index[b]
        if src.origin[b] == FROM_CONTACT:
            active = c.gap[k] <= 0.0
        elif src.origin[b] == FROM_LIMIT and src.side[b] != 0.0:
            active = d.q[k] < t.lower[k] if src.side[b] > 0.0 else d.q[k] > t.upper[k]
        elif src.origin[b] == FROM_SPEED_LIMIT:
            active = d.u[k] < t.velocity_lower[k] or d.u[k] > t.velocity_upper[k]
        elif src.origin[b] == FROM_CONSTRAINT:
            active = constraint_acts(lp, k)
        else:
            active = True
        if active:
            return b
    return -1


@kernel
def place(t, d, pr):
    """Transforms, velocities and articulated inertias of all trees; u_free is the velocity, in the forest's axes."""
    for k in range(d.u.shape[0]):
        pr.u_free[k] = d.u[k]
        pr.u[k] = d.u[k]
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        transforms(t, d, first, last)
        if t.tree_mobile[tree_index] != 0:
            for i in range(first, last):
                body_inertia(t, d, i)
            to_parent_axes(t, d, first, last, pr.u_free)
            for k in range(t.first_dof[first], t.first_dof[last]):
                d.u[k] = pr.u_free[k]
            velocities(t, d, first, last)
            articulated_inertias(t, d, first, last, 0.0)
            for k in range(t.first_dof[first], t.first_dof[last]):
                d.u[k] = pr.u[k]


@kernel
def rest(world, u, h):
    """What a step leaves behind besides the state: no impulses, accelerations and forces of prescribed coordinates.

    The latter are those at the end of the step for the step's mean acceleration.
    """
    w = view(WORLD, world)
    t = w.tree
    d = w.data
    c = w.collision
    pr = w.problem
    src = w.row_origins
    for k in range(d.q.shape[0]):
        w.command[k], w.target[k] = d.tau[k], d.command[k]
        pr.u[k] = pr.u_free[k]
        src.limit_impulse[k], src.friction_impulse[k], src.actuator_impulse[k] = 0.0, 0.0, 0.0
    pr.num_blocks = 0
    features(w, RESPOND)
    return_impulses(c, pr, src)
    constraint_forces(t, d, pr, src, w, h)
    for k in range(d.q.shape[0]):
        d.udot[k] = (d.u[k] - u[0, k]) / h
    clear_report(w.last)
    w.last.num_contacts = c.num_contacts
    w.worst.num_contacts = max(w.worst.num_contacts, w.last.num_contacts)
    w.steps += 1


@kernel
def watch(world):
    """Look for active rows at the state of the world.

    Returns:
        -1; or the stage that could not go on, or ROW_ACTIVE; and its status.
    """
    w = view(WORLD, world)
    t = w.tree
    d = w.data
    c = w.collision
    pr = w.problem
    src = w.row_origins
    place(t, d, pr)
    if w.loops.address != 0:
        measure_all(d, w.loops)
    status = w.detect(w)
    if status != 0:
        return AT_DETECT, status
    status = w.assemble(w)
    if status != 0:
        return AT_ASSEMBLE, status
    block = first_active(t, d, c, pr, src, w.loops)
    if block >= 0:
        return ROW_ACTIVE, block
    return -1, 0


@kernel
def take(world, q, u, row, h):
    """Set the state of the world and `watch`; puts the old state back if the step cannot be taken."""
    w = view(WORLD, world)
    t = w.tree
    d = w.data
    for k in range(d.q.shape[0]):
        w.start_u[k] = d.u[k]
    to_parent_axes(t, d, 0, t.parent.shape[0], w.start_u)
    for k in range(d.q.shape[0]):
        old_q, old_u = d.q[k], d.u[k]
        d.q[k], d.u[k] = q[row, k], u[row, k]
        q[0, k], u[0, k] = old_q, old_u
        if t.prescribed[k] != 0 and t.actuator[k] != ACCELERATION:
            d.u[k] = velocity_target(t, d, k)  # without the rounding of the way there
    stage, status = watch(world)
    if stage != -1:
        for k in range(d.q.shape[0]):
            d.q[k], d.u[k] = q[0, k], u[0, k]
        return stage, status
    rest(world, u, h)
    return -1, 0


@kernel
def given_accelerations(t, d, given, h):
    """Accelerations of prescribed coordinates over a step; velocities asked for are reached at its end."""
    for k in range(d.u.shape[0]):
        given[k] = 0.0
        if t.prescribed[k] != 0:
            if t.actuator[k] == ACCELERATION:
                given[k] = d.command[k]
            else:
                given[k] = (velocity_target(t, d, k) - d.u[k]) / h


@entry("i8(i8,f8[::1])")
def read_given(world, given):
    """`given_accelerations` of the step to come."""
    w = view(WORLD, world)
    given_accelerations(w.tree, w.data, given, w.time_step)
    return 0


@entry("UniTuple(i8,2)(i8,i8)")
def take_state(world, motion):
    """`take` the state in row 1 of the motion's results."""
    m = view(MOTION, motion)
    return take(world, m.Q, m.U, 1, view(WORLD, world).time_step)


@kernel
def progress_anew(motion):
    """Run a motion from the state in its data to its second time, once more. Returns what `progress` does."""
    m = view(MOTION, motion)
    m.output, m.part, m.reuses = 1, 0, 0
    m.at_stage, m.retries = 0, 0  # after one that failed
    m.steps, m.rejected = 0, 0
    m.start = 0.0
    return progress(motion, NO_END)


@entry("i8(i8,f8[::1],f8[::1])")
def run_motion(motion, q, u):
    """`progress_anew` from a state (q, u), which becomes that of its end."""
    m = view(MOTION, motion)
    e = m.data
    for k in range(e.q.shape[0]):
        e.q[k], e.u[k] = q[k], u[k]
    status = progress_anew(motion)
    if status == DONE:
        for k in range(e.q.shape[0]):
            q[k], u[k] = m.Q[1, k], m.U[1, k]
    return status


@entry("UniTuple(i8,3)(i8,i8,i8)")
def run_smooth_steps(world, motion, number):
    """Do a number of steps by the motion's compiled integrator.

    Returns:
        Steps done; AT_PREDICT (with the integrator's status), AT_DETECT, AT_ASSEMBLE, ROW_ACTIVE or NOWHERE; status.
    """
    w = view(WORLD, world)
    d = w.data
    t = w.tree
    m = view(MOTION, motion)
    e = m.data
    for done in range(number):
        for k in range(d.q.shape[0]):
            e.q[k], e.u[k] = d.q[k], d.u[k]
        given_accelerations(t, d, m.given, w.time_step)
        status = progress_anew(motion)
        if status != DONE:
            return done, AT_PREDICT, status
        stage, status = take(world, m.Q, m.U, 1, w.time_step)
        if stage != -1:
            return done, stage, status
    return number, -1, 0


class SmoothMotion:
    """Runs an engine's steps by an integrator for smooth motion."""

    motion: Any

    def __init__(self, engine: Engine, integrator: Integrator):
        self.engine, self.integrator = engine, integrator
        tree = engine.tree
        natural = with_arrays(tree, kind=np.where(tree.kind == JointKind.FREE_MIXED, int(JointKind.FREE), tree.kind))
        zero = np.zeros(len(engine.data.q))
        self.system = System("world", natural, tree, engine.data, zero, zero, None, engine.raise_failed)
        self._set_size()

    def _set_size(self) -> None:
        h = self.engine.world.time_step
        d = self.engine.data
        times = np.array([0.0, h])
        if isinstance(self.integrator, CompiledIntegrator):
            self.motion = self.system.motion(self.integrator, times, h, d.q, d.u)
        else:
            self.motion = self.system.results(times)

    def run(self, number: int, time: float) -> None:
        """Do a number of steps.

        Args:
            number: of steps.
            time: at which they start [s].

        Raises:
            StateError: something touches, a limit is passed, or the integrator failed; the last step is not taken.
        """
        engine = self.engine
        d, h = engine.data, engine.world.time_step
        if self.motion.times[1] != h:
            kept = self.memory()
            self._set_size()
            self.set_memory(kept)
        given = np.zeros(len(d.q))
        self.system.set_constant(d.tau, given, self.motion)
        done = 0
        while done < number:
            if isinstance(self.integrator, CompiledIntegrator):
                more, stage, status = run_smooth_steps(engine.world.address, self.motion.address, number - done)
            else:
                read_given(engine.world.address, given)
                self.system.set_constant(d.tau, given)
                state = d.q.copy(), d.u.copy()
                q, u = self.system.step(self.integrator, time + done * h, *state, h)
                self.motion.Q[1], self.motion.U[1] = q, u
                stage, status = take_state(engine.world.address, self.motion.address)
                more = int(stage == -1)
            done += more
            if stage == AT_PREDICT:
                self.system.check(status, time + done * h)
            self._handle_status(stage, status, time + (done + 1) * h)

    def _handle_status(self, stage: int, status: int, time: float) -> None:
        """Do what a step that was not taken asks for.

        Raises:
            StateError: something is active that smooth motion must not meet.
        """
        if stage == AT_DETECT:
            self.engine.grow_contacts(status)
        elif stage == AT_ASSEMBLE:
            self.engine.continue_assembly(status)
        elif stage == ROW_ACTIVE:
            self._raise_active(status, time)

    def _raise_active(self, block: int, time: float) -> None:
        engine = self.engine
        src, k = engine.row_origins, int(engine.row_origins.index[block])
        origin = int(src.origin[block])
        if origin == FROM_CONTACT:
            c = engine.detector.container
            a, b = (engine.nodes[int(shape[k])].body for shape in (c.shape_a, c.shape_b))
            what = f"bodies {a.skeleton.name}/{a.name} and {b.skeleton.name}/{b.name} touch"
        elif origin == FROM_CONSTRAINT:
            loops = engine.feature(LoopSystem)
            name = loops.joined[int(loops.container.of[k])].name
            what = f"constraint {name!r} is at a limit or has a bounded force"
        else:
            dof = engine.dof_name(k)
            what = f"dof {dof!r} {_WHAT[origin]}"
        raise StateError(
            f"integrator {self.integrator.name} is for smooth motion, but at t = {time:g} s {what}; the step was not "
            "taken. MoreauMidpoint, SemiImplicitEuler and ExplicitEuler can"
        )

    def memory(self) -> Any:
        """What the integrator remembers from step to step: planned step size, last error."""
        return np.array([self.motion.next_size, self.motion.last_error])

    def checked_memory(self, numbers: Any, where: str) -> Any:
        """What `memory` returned, from outside.

        Raises:
            StateError: it is something else.
        """
        return checked_array(numbers, "f", (2,), NOT_NEGATIVE, where)

    def set_memory(self, numbers: Any) -> None:
        """Restore what `memory` returned."""
        self.motion.next_size, self.motion.last_error = numbers
