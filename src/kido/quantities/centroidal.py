"""Centre of mass, momentum and energy of a skeleton or of some of its bodies.

`bodies` chooses whose: bodies, names or indices, such as `body.subtree`; None means all. Momenta are [angular; linear],
in world axes. All that need a centre of mass raise ModelError if there is no mass. Rotors of joints (`Joint.armature`)
have kinetic energy, that of the bodies above which their joints are, and no momentum: they act on coordinates alone.
"""

from __future__ import annotations

import numpy as np

from kido.errors import ModelError
from kido.jit import kernel
from kido.kernels import momentum as kernels
from kido.kernels.composites import gather_composite_rates, gather_composites
from kido.kernels.entries import OK
from kido.kernels.states import ACCELERATIONS as ACCELERATED
from kido.kernels.states import COLUMNS_OF_MOTION, POSES, TWISTS
from kido.kernels.states import VELOCITIES as MOTION
from kido.quantities import soft
from kido.quantities.failures import massless
from kido.quantities.quantity import (
    BODIES,
    VELOCITIES,
    Arguments,
    array,
    derived,
    number,
)
from kido.tree.workspace import SUBSET

WORLD = "world axes"
MASSLESS = 2
_ORIGIN = (0.0, 0.0, 0.0)


@kernel
def com_core(t, d, c, out):
    mass, x, y, z, _, _, _, _, _, _ = kernels.com_state(t, d, c, 0)
    if not mass > 0.0:
        return MASSLESS
    out[0], out[1], out[2] = x / mass, y / mass, z / mass
    return OK


@kernel
def com_velocity_core(t, d, c, out):
    mass, _, _, _, x, y, z, _, _, _ = kernels.com_state(t, d, c, 1)
    if not mass > 0.0:
        return MASSLESS
    out[0], out[1], out[2] = x / mass, y / mass, z / mass
    return OK


@kernel
def com_acceleration_core(t, d, c, out):
    mass, _, _, _, _, _, _, x, y, z = kernels.com_state(t, d, c, 2)
    if not mass > 0.0:
        return MASSLESS
    out[0], out[1], out[2] = x / mass, y / mass, z / mass
    return OK


@kernel
def com_jacobian_core(t, d, c, J):
    return OK if kernels.com_jacobian(t, d, c, J) > 0.0 else MASSLESS


@kernel
def momentum_core(t, d, c, x, y, z, h):
    h[0], h[1], h[2], h[3], h[4], h[5] = kernels.momentum_about(t, d, c, x, y, z)
    return OK


@kernel
def centroidal_momentum_core(t, d, c, h):
    mass, x, y, z, _, _, _, _, _, _ = kernels.com_state(t, d, c, 0)
    if not mass > 0.0:
        return MASSLESS
    x /= mass
    y /= mass
    z /= mass
    h[0], h[1], h[2], h[3], h[4], h[5] = kernels.momentum_about(t, d, c, x, y, z)
    return OK


@kernel
def centroidal_matrix_core(t, d, c, A):
    mass, x, y, z, _, _, _, _, _, _ = kernels.com_state(t, d, c, 0)
    if not mass > 0.0:
        return MASSLESS
    gather_composites(t, d, c)
    kernels.momentum_matrix(t, d, x / mass, y / mass, z / mass, A)
    return OK


@kernel
def centroidal_rate_core(t, d, c, A):
    mass, x, y, z, vx, vy, vz, _, _, _ = kernels.com_state(t, d, c, 1)
    if not mass > 0.0:
        return MASSLESS
    gather_composite_rates(t, d, c)
    s = 1.0 / mass
    kernels.momentum_matrix_rate(t, d, x * s, y * s, z * s, vx * s, vy * s, vz * s, A)
    return OK


@kernel
def centroidal_inertia_core(t, d, c, out):
    mass, x, y, z, _, _, _, _, _, _ = kernels.com_state(t, d, c, 0)
    if not mass > 0.0:
        return MASSLESS
    gather_composites(t, d, c)
    kernels.centroidal_inertia(t, d, x / mass, y / mass, z / mass, out)
    return OK


# Centre of mass ----------------------------------------------------------------------------------------------


def _frame_of_observer(state, frame, what="relative_to"):
    if not hasattr(frame, "spatial_velocity"):
        raise ModelError(f"skeleton {state.name!r}: {what}: expected a frame or None (the world), got {frame!r}")
    return frame


def from_origin_of(state, frame, p):
    """A point of the world, from the origin of a frame in its axes."""
    X = _frame_of_observer(state, frame, "with_respect_to").world_transform
    return X[:3, :3].T @ (p - X[:3, 3])


com = array(
    "com", com_core, POSES, (3,), "Centre of mass in the world, soft skins as they are.",
    of=BODIES.taking("bodies=None, with_respect_to=None"), fail=massless, unit="m", frame=WORLD,
    group="mean",
    finish="if with_respect_to is not None:\n    out = from_origin_of(of.current_state, with_respect_to, out)",
    scope={"from_origin_of": from_origin_of},
)  # fmt: skip


def seen_velocity(state, v, bodies, relative_to, axes, positions):
    """A velocity v of the centre of mass of bodies as an observer in a frame has it, in the axes of another."""
    if relative_to is not None:
        frame = _frame_of_observer(state, relative_to)
        V, r = frame.spatial_velocity, com(state, positions, bodies) - frame.world_transform[:3, 3]
        v = v - V[3:] - np.cross(V[:3], r)
    return v if axes is None else state.axes_of(axes, positions).T @ v


def seen_acceleration(state, a, bodies, relative_to, axes, positions, velocities):
    """The same of an acceleration a."""
    if relative_to is not None:
        frame = _frame_of_observer(state, relative_to)
        V, r = frame.spatial_velocity, com(state, positions, bodies) - frame.world_transform[:3, 3]
        w, wdot = V[:3], frame.angular_acceleration()
        turning = np.cross(w, r)
        v = com_velocity(state, positions, velocities, bodies) - V[3:] - turning
        a = a - frame.linear_acceleration() - np.cross(wdot, r) - np.cross(w, turning) - 2.0 * np.cross(w, v)
    return a if axes is None else state.axes_of(axes, positions).T @ a


com_velocity = array(
    "com_velocity", com_velocity_core, MOTION, (3,),
    """Velocity of the centre of mass.

    Args:
        bodies: whose.
        relative_to: frame of the observer, who moves and turns with it; None for the world.
        in_coordinates_of: frame in whose axes the result is; None for the world's.
    """,
    of=BODIES.taking("bodies=None, relative_to=None, in_coordinates_of=None"), soft=soft.com_velocity, fail=massless,
    unit="m/s", is_property=False, group="mean",
    finish="if relative_to is not None or in_coordinates_of is not None:\n"
    "    out = seen(of.current_state, out, bodies, relative_to, in_coordinates_of, positions)",
    scope={"seen": seen_velocity},
)  # fmt: skip


com_acceleration = array(
    "com_acceleration", com_acceleration_core, ACCELERATED, (3,),
    "Acceleration of the centre of mass by the current accelerations; arguments as for `com_velocity`.",
    of=BODIES.taking("bodies=None, relative_to=None, in_coordinates_of=None"), soft=soft.refuse_acceleration,
    fail=massless, unit="m/s^2", is_property=False, group="mean",
    finish="if relative_to is not None or in_coordinates_of is not None:\n"
    "    out = seen(of.current_state, out, bodies, relative_to, in_coordinates_of, positions, velocities)",
    scope={"seen": seen_acceleration},
)  # fmt: skip
com_jacobian = array(
    "com_jacobian", com_jacobian_core, COLUMNS_OF_MOTION, (3, "dofs"),
    """J with velocity of the centre of mass = J u.

    Args:
        bodies: whose centre of mass: bodies, names or indices, such as `body.subtree`; None for all.
        in_coordinates_of: frame in whose axes the rows are; None for the world's.

    Raises:
        ModelError: the bodies have no mass.
    """,
    of=BODIES.taking("bodies=None, in_coordinates_of=None"), fail=massless, is_property=False, group="mean",
    finish="if in_coordinates_of is not None:\n    out = state.turned(out, in_coordinates_of, positions)",
)  # fmt: skip


@derived(VELOCITIES, (3, "dofs"), group="mean", skins="held")
def com_jacobian_derivative(state, bodies=None, in_coordinates_of=None):
    """dJ with acceleration of the centre of mass = J udot + dJ u; arguments as for `com_jacobian`."""
    dJ = centroidal_momentum_matrix_derivative(state, bodies=bodies)[3:] / state.mass_of(bodies)
    return dJ if in_coordinates_of is None else state.turned(dJ, in_coordinates_of)


# Momentum ----------------------------------------------------------------------------------------------------


def _about_true_com(state, h, bodies):
    """Momentum about the true centre of mass, which points of soft skins have moved."""
    if not soft.moving_among(state, bodies):
        return h
    return momentum_about(state, about=com(state, bodies=bodies), bodies=bodies)


momentum_about = array(
    "momentum_about", momentum_core, TWISTS, (6,),
    "[angular; linear] momentum about a point of the world.",
    of=Arguments(
        "about, bodies=None",
        "x, y, z = state.point_of_world(about)\nchosen = w.all_bodies if bodies is None else state.subset(bodies)",
        "chosen, x, y, z", "chosen, x, y, z", SUBSET, True,
    ),
    finish="if positions is None and state.has_soft:\n    out = out + share(state, bodies, (x, y, z))",
    scope={"share": soft.momentum}, unit="kg m^2/s, kg m/s", frame=WORLD,
)  # fmt: skip
centroidal_momentum = array(
    "centroidal_momentum", centroidal_momentum_core, TWISTS, (6,),
    "[angular; linear] momentum about the centre of mass.",
    of=BODIES, fail=massless, unit="kg m^2/s, kg m/s", frame=WORLD,
    finish="if positions is None and state.has_soft:\n    out = about_true_com(state, out, bodies)",
    scope={"about_true_com": _about_true_com},
)  # fmt: skip


@derived(VELOCITIES, (6,), is_property=True, unit="kg m^2/s, kg m/s", frame=WORLD, group="sum")
def momentum(state, bodies=None):
    """[angular momentum about the world origin; linear momentum]."""
    return momentum_about(state, about=_ORIGIN, bodies=bodies)


@derived(VELOCITIES, (3,), unit="kg m^2/s", frame=WORLD)
def angular_momentum(state, about=None, bodies=None):
    """Angular momentum about a point of the world; None for the centre of mass of the bodies."""
    if about is None:
        return centroidal_momentum(state, bodies=bodies)[:3]
    return momentum_about(state, about=about, bodies=bodies)[:3]


@derived(VELOCITIES, (3,), unit="kg m/s", frame=WORLD, group="sum")
def linear_momentum(state, bodies=None):
    """Linear momentum."""
    return momentum_about(state, about=_ORIGIN, bodies=bodies)[3:]


centroidal_momentum_matrix = array(
    "centroidal_momentum_matrix", centroidal_matrix_core, COLUMNS_OF_MOTION, (6, "dofs"),
    "A; rows [angular; linear].", of=BODIES, fail=massless, equation="centroidal_momentum = A u", frame=WORLD,
    source="Orin, Goswami, Lee (2013)",
)  # fmt: skip
centroidal_momentum_matrix_derivative = array(
    "centroidal_momentum_matrix_derivative", centroidal_rate_core, MOTION, (6, "dofs"),
    "dA/dt: the rate of `centroidal_momentum` is A udot + (dA/dt) u.", of=BODIES, fail=massless, frame=WORLD,
    skins="held",
)  # fmt: skip
centroidal_inertia = array(
    "centroidal_inertia", centroidal_inertia_core, COLUMNS_OF_MOTION, (6, 6),
    "All bodies as one rigid body about the centre of mass: [[J, 0], [0, m I]].", of=BODIES, fail=massless, frame=WORLD,
)  # fmt: skip

# Energy ------------------------------------------------------------------------------------------------------

kinetic_energy = number(
    "kinetic_energy", kernels.kinetic_energy_of, TWISTS,
    "Kinetic energy, rotors of joints and points of soft skins included.",
    soft=soft.kinetic_energy, unit="J", has_gravity=False, group="sum",
)  # fmt: skip
potential_energy = number(
    "potential_energy", kernels.potential_energy_of, POSES,
    "Gravity's, zero at the world origin, that of the springs of the bodies' joints, and that of soft skins.",
    soft=soft.elastic_energy, moves=False, unit="J", group="sum",
)  # fmt: skip


@derived(VELOCITIES, (), is_property=True, result="float", unit="J")
def lagrangian(state):
    """Kinetic less potential energy."""
    return state.kinetic_energy - state.potential_energy
