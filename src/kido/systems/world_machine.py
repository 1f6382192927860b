"""A system in the steps of a world: what it reads of skeletons, runs, and gives them, without Python.

At the start of a step of h seconds it reads joints and bodies, does what is due, gives forces and masses, which hold
for the step, and integrates its own states over h with what it read.
"""

from __future__ import annotations

from kido.flexible.schema import FLEX
from kido.jit import Struct, callback, entry, floats, integer, integers, kernel, reference, stage, view
from kido.kernels.kinematics import transforms, velocities
from kido.math.so3 import cross, rotate
from kido.simulation.commands import COMMANDS
from kido.systems.machine import begin_tick, go_on_tick, integrate, look
from kido.systems.programs import run_program
from kido.systems.schema import BAD_COMMAND, DONE, HELD, NO_MASS, SYSTEM, UNKNOWN_TICK
from kido.systems.schema import COMMANDS as COMMAND_PROGRAM
from kido.tree.schema import DATA, TREE


class LINK(Struct):
    """Between a system and a skeleton."""

    system = reference(SYSTEM)
    step = integer("ns", doc="time step of the world")
    everyone = integers("links", doc="addresses of all LINKs of the system, in the one that runs it; others: none")
    tree = reference(TREE, doc="the skeleton's")
    data = reference(DATA, doc="work, with the skeleton's positions and velocities")
    flex = reference(FLEX, doc="modes of the skeleton")
    place_others = stage(doc="moves bodies in place of rigid sweeps, if it returns 1: (this)")
    push_others = stage(doc="adds to `force` what wrenches do to modes: (this)")
    dof = integers("joints", doc="coordinate of each joint port")
    position_slot = integers("joints")
    velocity_slot = integers("joints")
    force_slot = integers("joints")
    body = integers("bodies", doc="link that carries the point of each body port")
    place = floats("bodies", 12, doc="pose of the port in that link: rotation, row by row, and point [m]")
    pose_slot = integers("bodies", doc="first of the point's position (3) and the rotation (9)")
    twist_slot = integers("bodies", doc="first of the velocities of the point (3) and of rotation (3)")
    wrench_slot = integers("bodies", 6, doc="values of force and torque")
    massive = integers("masses", doc="link that carries the body of each mass port")
    mass_slot = integers("masses")
    others = floats(
        "masses", 10, doc="mass, its moment and inertia about the link's origin, of all without a port in it"
    )
    each = floats("masses", 10, doc="the same of the port's body, by its mass")
    sum = floats(10, doc="the same of a link")
    force = floats("dofs", unit="N, N m", doc="out")


@kernel
def arm_of(n, k):
    """From the origin of a port's link to its point, world axes."""
    t, i = n.place, n.body[k]
    R = n.data.R
    F = (R[i, 0], R[i, 1], R[i, 2], R[i, 3], R[i, 4], R[i, 5], R[i, 6], R[i, 7], R[i, 8])
    return rotate(F, t[k, 9], t[k, 10], t[k, 11])


@kernel
def read(s, n):
    """Values of ports from the state of a skeleton."""
    d, v = n.data, s.value
    for k in range(n.dof.shape[0]):
        v[n.position_slot[k]] = d.q[n.dof[k]]
        v[n.velocity_slot[k]] = d.u[n.dof[k]]
    if n.body.shape[0] > 0 and n.place_others(n) == 0:
        bodies = n.tree.parent.shape[0]
        transforms(n.tree, d, 0, bodies)
        velocities(n.tree, d, 0, bodies)
    for k in range(n.body.shape[0]):
        i, first, twist = n.body[k], n.pose_slot[k], n.twist_slot[k]
        r0, r1, r2 = arm_of(n, k)
        v[first], v[first + 1], v[first + 2] = d.p[i, 0] + r0, d.p[i, 1] + r1, d.p[i, 2] + r2
        for a in range(3):
            for b in range(3):
                total = 0.0
                for c in range(3):
                    total += d.R[i, 3 * a + c] * n.place[k, 3 * c + b]
                v[first + 3 + 3 * a + b] = total
        w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
        x, y, z = cross(w0, w1, w2, r0, r1, r2)
        v[twist], v[twist + 1], v[twist + 2] = d.V[i, 3] + x, d.V[i, 4] + y, d.V[i, 5] + z
        v[twist + 3], v[twist + 4], v[twist + 5] = w0, w1, w2


@kernel
def give(s, n):
    """Joint forces from values of ports: tau += J^T [torque; force] for those of bodies.

    Returns:
        DONE; BAD_COMMAND: one is not finite.
    """
    v, t, d = s.value, n.tree, n.data
    for k in range(n.force.shape[0]):
        n.force[k] = 0.0
    for k in range(n.dof.shape[0]):
        n.force[n.dof[k]] += v[n.force_slot[k]]
    for k in range(n.body.shape[0]):
        w = n.wrench_slot
        f0, f1, f2 = v[w[k, 0]], v[w[k, 1]], v[w[k, 2]]
        m0, m1, m2 = v[w[k, 3]], v[w[k, 4]], v[w[k, 5]]
        i = n.body[k]
        r0, r1, r2 = arm_of(n, k)
        p0, p1, p2 = d.p[i, 0] + r0, d.p[i, 1] + r1, d.p[i, 2] + r2
        while i >= 0:
            x, y, z = cross(p0 - d.p[i, 0], p1 - d.p[i, 1], p2 - d.p[i, 2], f0, f1, f2)
            for j in range(t.first_dof[i], t.first_dof[i + 1]):
                H = d.H
                n.force[j] += (
                    H[j, 0] * (m0 + x) + H[j, 1] * (m1 + y) + H[j, 2] * (m2 + z)
                    + H[j, 3] * f0 + H[j, 4] * f1 + H[j, 5] * f2
                )  # fmt: skip
            i = t.parent[i]
    n.push_others(n)
    total = 0.0
    for k in range(n.dof.shape[0]):
        total += 0.0 * v[n.force_slot[k]]
    for k in range(n.body.shape[0]):
        for a in range(6):
            total += 0.0 * v[n.wrench_slot[k, a]]
    return DONE if total == 0.0 else BAD_COMMAND


@kernel
def give_masses(s, n):
    """Inertias of links from values of mass ports. Returns DONE, NO_MASS or BAD_COMMAND.

    Ports of one link are in a row: what they carry is added up.
    """
    t, w = n.tree, n.sum
    for k in range(n.massive.shape[0]):
        m = s.value[n.mass_slot[k]]
        if not m > 0.0:
            return NO_MASS
        if 0.0 * m != 0.0:
            return BAD_COMMAND
    for k in range(n.massive.shape[0]):
        i, m = n.massive[k], s.value[n.mass_slot[k]]
        if k == 0 or n.massive[k - 1] != i:
            for a in range(10):
                w[a] = n.others[k, a]
        for a in range(10):
            w[a] += m * n.each[k, a]
        t.mass[i] = w[0]
        for a in range(3):
            t.com[i, a] = w[1 + a] / w[0]
        for a in range(6):
            t.inertia[i, a] = w[4 + a]
    return DONE


@kernel
def read_all(s, n):
    """Values of all ports."""
    for k in range(n.everyone.shape[0]):
        read(s, view(LINK, n.everyone[k]))


@kernel
def begin(s, n):
    """Read, do what is due, and find forces. Returns DONE, or why it could not."""
    read_all(s, n)
    if s.pending == 0 and s.ticked == 0:
        status = begin_tick(s)
        if status == UNKNOWN_TICK:
            return status
        s.ticked = 1
        if status == DONE:
            run_program(s, HELD)
    else:
        run_program(s, HELD)
    if s.pending != 0:
        status = go_on_tick(s)
        if status != DONE:
            return status
    status = look(s)
    if status != DONE:
        return status
    return run_program(s, COMMAND_PROGRAM)


@kernel
def act(s, n):
    """A step of the system. Returns DONE, or why it could not."""
    status = begin(s, n)
    for k in range(n.everyone.shape[0]):
        other = view(LINK, n.everyone[k])
        if status == DONE:
            status = give(s, other)
        if status == DONE and other.massive.shape[0] > 0:  # the call alone takes 15 ns
            status = give_masses(s, other)
    if status == DONE:
        s.budget = 1 << 60
        status = integrate(s, s.now + n.step)
    if status == DONE:
        s.ticked = 0
    return status


@callback
def act_in_world(world, own, commands, c):
    """The system, at the start of a step of a world. Returns DONE, or why the step cannot be made."""
    n = view(LINK, own)
    s = n.system
    if n.everyone.shape[0] > 0:
        s.failure = act(s, n)
        if s.failure != DONE:
            return s.failure
    held = view(COMMANDS, commands)
    for k in range(n.force.shape[0]):
        held.force[held.first[c] + k] = n.force[k]
    return 0


@entry("i8(i8)")
def read_now(own):
    """Values of all ports as skeletons are now. Returns 0."""
    n = view(LINK, own)
    read_all(n.system, n)
    run_program(n.system, HELD)
    return 0
