"""Forces of actuators from controls, activations, lengths and velocities; what tendons give by themselves.

    force = gain(length, velocity) * input + bias(length, velocity),    input: the control, or the activation

Curves of muscles: M. Millard and others, Flexing computational muscle, J. Biomech. Eng. 135 (2013); their shape by
parabolas as in MuJoCo's documentation, "Muscle actuators".
"""

from __future__ import annotations

import math

from kido.actuation.schema import (
    AFFINE,
    CHAIN,
    CONSTANT,
    DIRECT,
    EXACT_FILTER,
    INTEGRATOR,
    MUSCLE,
    MUSCLE_ACTIVATION,
    PROGRAM,
)
from kido.actuation.transmissions import measure
from kido.jit import callback, entry, kernel, view
from kido.simulation.commands import COMMANDS

TINY = 1e-15


@kernel
def clamped(x, low, high):
    """x within bounds."""
    return min(max(x, low), high)


@kernel
def representative(x, near, period):
    """Of numbers that differ from x by whole periods the one that is nearest to another number."""
    if period <= 0.0:
        return x
    turns = (x - near) / period
    return x - period * math.copysign(math.floor(abs(turns) + 0.5), turns)


@kernel
def muscle_by_length(x, low, high):
    """Active force by length, both normalized: 1 at 1, zero from `low` down and from `high` up, four parabolas."""
    if x < low or x > high:
        return 0.0
    rise, fall = 0.5 * (low + 1.0), 0.5 * (1.0 + high)
    if x <= rise:
        return 0.5 * ((x - low) / max(rise - low, TINY)) ** 2
    if x <= 1.0:
        return 1.0 - 0.5 * ((1.0 - x) / max(1.0 - rise, TINY)) ** 2
    if x <= fall:
        return 1.0 - 0.5 * ((x - 1.0) / max(fall - 1.0, TINY)) ** 2
    return 0.5 * ((high - x) / max(high - fall, TINY)) ** 2


@kernel
def muscle_by_velocity(x, most):
    """Active force by velocity, both normalized: 0 at -1, 1 at 0, `most` from `most` - 1 on."""
    y = most - 1.0
    if x <= -1.0:
        return 0.0
    if x <= 0.0:
        return (x + 1.0) ** 2
    if x <= y:
        return most - (y - x) ** 2 / max(y, TINY)
    return most


@kernel
def muscle_by_stretch(x, high, most):
    """Passive force by length, both normalized: a parabola from 1 to half way to `high`, then straight on."""
    if x <= 1.0:
        return 0.0
    bend = 0.5 * (1.0 + high)
    if x <= bend:
        return 0.5 * most * ((x - 1.0) / max(bend - 1.0, TINY)) ** 2
    return most * (0.5 + (x - bend) / max(bend - 1.0, TINY))


@kernel
def muscle_scale(s, a, g):
    """Optimal length of a muscle, from its range and the range in units of that."""
    return (s.greatest_length[a] - s.least_length[a]) / max(g[a, 1] - g[a, 0], TINY)


@kernel
def gain_of(s, a, length, velocity):
    """Force by a unit of input."""
    g, kind = s.gain_number, s.gain[a]
    if kind == CONSTANT:
        return g[a, 0]
    if kind == AFFINE:
        return g[a, 0] + g[a, 1] * length + g[a, 2] * velocity
    optimal = muscle_scale(s, a, g)
    x = g[a, 0] + (length - s.least_length[a]) / max(optimal, TINY)
    v = velocity / max(optimal * g[a, 6], TINY)
    return -g[a, 2] * muscle_by_length(x, g[a, 4], g[a, 5]) * muscle_by_velocity(v, g[a, 8])


@kernel
def bias_of(s, a, length, velocity):
    """Force without input."""
    b, kind = s.bias_number, s.bias[a]
    if kind == AFFINE:
        return b[a, 0] + b[a, 1] * length + b[a, 2] * velocity
    if kind == MUSCLE:
        x = b[a, 0] + (length - s.least_length[a]) / max(muscle_scale(s, a, b), TINY)
        return -b[a, 2] * muscle_by_stretch(x, b[a, 5], b[a, 7])
    return 0.0


@kernel
def smooth_step(x):
    """0 up to 0, 1 from 1 on, between with two continuous derivatives."""
    x = clamped(x, 0.0, 1.0)
    return x * x * x * (3.0 * x * (2.0 * x - 5.0) + 10.0)


@kernel
def activation_rate(s, a, control):
    """Rate of the activation [1/s]."""
    n, kind, now = s.dynamics_number, s.dynamics[a], s.activation[a]
    if kind == INTEGRATOR:
        return control
    if kind != MUSCLE_ACTIVATION:
        return (control - now) / max(n[a, 0], TINY)
    excess = clamped(control, 0.0, 1.0) - now
    level = 0.5 + 1.5 * clamped(now, 0.0, 1.0)
    rising, falling = n[a, 0] * level, n[a, 1] / level
    if n[a, 2] < TINY:
        time = rising if excess > 0.0 else falling
    else:
        time = falling + (rising - falling) * smooth_step(excess / n[a, 2] + 0.5)
    return excess / max(time, TINY)


@kernel
def next_activation(s, a, control, length):
    """The activation at the end of the step."""
    rate, time = activation_rate(s, a, control), s.time
    if s.dynamics[a] == EXACT_FILTER:
        constant = max(s.dynamics_number[a, 0], TINY)
        time = constant * (1.0 - math.exp(-time / constant))
    after = clamped(s.activation[a] + rate * time, s.least_activation[a], s.greatest_activation[a])
    if s.dynamics[a] == INTEGRATOR:
        after = representative(after, length, s.period[a])
    return after


@kernel
def actuate(s, advance):
    """Forces of actuators; with `advance` activations go on to the end of the step."""
    for j in range(s.total.shape[0]):
        s.total[j] = 0.0
    for a in range(s.row.shape[0]):
        length, velocity = s.ratio[a] * s.length[s.row[a]], s.ratio[a] * s.velocity[s.row[a]]
        control = clamped(s.control[a], s.least_control[a], s.greatest_control[a])
        value = control
        if s.dynamics[a] != DIRECT:
            after = next_activation(s, a, control, length)
            value = after if s.early[a] != 0 else s.activation[a]
            if advance:
                s.activation[a] = after
        value = representative(value, length, s.period[a])
        force = 0.0
        if s.enabled != 0 and s.active[a] != 0:
            force = gain_of(s, a, length, velocity) * value + bias_of(s, a, length, velocity)
        s.force[a] = force
        if s.on_tendon[a] >= 0:
            s.total[s.on_tendon[a]] += force
    for a in range(s.row.shape[0]):
        j = s.on_tendon[a]
        if j >= 0:
            if s.total[j] < s.least_total[j]:
                s.force[a] *= s.least_total[j] / s.total[j]
            elif s.total[j] > s.greatest_total[j]:
                s.force[a] *= s.greatest_total[j] / s.total[j]
        s.force[a] = clamped(s.force[a], s.least_own[a], s.greatest_own[a])


@kernel
def act(s, advance):
    """Forces on coordinates."""
    measure(s)
    actuate(s, advance)
    for k in range(s.actuated.shape[0]):
        s.actuated[k], s.passive[k] = 0.0, 0.0
    for a in range(s.row.shape[0]):
        r = s.row[a]
        for c in range(s.first_column[r], s.first_column[r + 1]):
            s.actuated[s.column[c]] += s.ratio[a] * s.force[a] * s.moment[c]
    for j in range(s.tendon_row.shape[0]):
        r = s.tendon_row[j]
        stretch = s.length[r] - clamped(s.length[r], s.least_rest[j], s.greatest_rest[j])
        force = -s.stiffness[j] * stretch - s.damping[j] * s.velocity[r]
        if force != 0.0:
            for c in range(s.first_column[r], s.first_column[r + 1]):
                s.passive[s.column[c]] += force * s.moment[c]
    for k in range(s.actuated.shape[0]):
        s.actuated[k] = clamped(s.actuated[k], s.least_force[k], s.greatest_force[k])


@callback
def act_in_world(world, own, commands, c):
    """At the start of a step of a world: the first chain runs the program, each hands its forces over. Returns 0."""
    n = view(CHAIN, own)
    if n.leads != 0:
        act(n.program, True)
    s, target = n.program, view(COMMANDS, commands)
    first = target.first[c]
    for k in range(n.data.q.shape[0]):
        target.force[first + k] = s.actuated[n.first + k] + s.passive[n.first + k]
    return 0


@entry("i8(i8)")
def act_now(program):
    """Forces at the present state; activations stay. Returns 0."""
    act(view(PROGRAM, program), False)
    return 0
