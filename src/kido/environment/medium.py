"""Forces of a fluid that fills a world on the bodies of a skeleton, as MuJoCo computes them.

Two models. By inertia boxes: each body is the box of uniform density with its mass and moments of inertia, of sides b;
in the axes of the box, with velocity v of its centre relative to the fluid, angular velocity w, and d = mean(b),

    f_i = -3 pi d mu v_i - 1/2 rho b_j b_k |v_i| v_i,
    m_i = -pi d^3 mu w_i - 1/64 rho b_i (b_j^4 + b_k^4) |w_i| w_i

By ellipsoids on bodies: added mass, drag, and the lift of Magnus and of Kutta, each with a coefficient.

Sources: MuJoCo documentation, "Computation: Passive forces: Fluid forces"; A. Andersen, U. Pesavento, Z. Wang, Unsteady
aerodynamics of fluttering and tumbling plates, J. Fluid Mech. 541 (2005).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.jit import Struct, callback, entry, floats, integers, kernel, number, reference, view
from kido.kernels.kinematics import rotation_of, transforms, velocities
from kido.kernels.pulls import add_pull
from kido.math.so3 import cross, rotate, rotate_inverse
from kido.math.transform import as_transform, as_vector, number_or_nan
from kido.quantities.soft import refuse_flexible
from kido.reprs import brief
from kido.simulation.commands import COMMANDS
from kido.simulation.controller import Controller
from kido.skeleton import BodyNode, Skeleton
from kido.tree.schema import DATA, TREE, data_for

Array = NDArray[np.float64]
TINY = 1e-15
BOX, ELLIPSOID = 0, 1
LIGHT = 1e-15  # [kg] bodies without mass have no box


class MEDIUM(Struct):
    tree = reference(TREE, doc="the skeleton's")
    data = reference(DATA, doc="work, with the skeleton's positions and velocities")
    density = number("kg/m^3")
    viscosity = number("Pa s")
    wind = floats(3, unit="m/s", doc="velocity of the fluid, world axes")
    kind = integers("parts", doc="BOX or ELLIPSOID")
    link = integers("parts")
    pose = floats("parts", 12, doc="in the link: rotation, row by row, and point [m]")
    size = floats("parts", 3, unit="m", doc="sides of a BOX, or half of the axes of an ELLIPSOID")
    coefficient = floats("parts", 5, doc="blunt drag, slender drag, angular drag, Kutta lift, Magnus lift")
    added_mass = floats("parts", 3, unit="m^3", doc="for a density of 1")
    added_inertia = floats("parts", 3, unit="m^5", doc="for a density of 1")
    force = floats("dofs", unit="N, N m", doc="out")


@kernel
def box_wrench(s, k, w0, w1, w2, v0, v1, v2):
    """[moment; force] of the fluid on an inertia box, in its axes."""
    b0, b1, b2 = s.size[k, 0], s.size[k, 1], s.size[k, 2]
    d = (b0 + b1 + b2) / 3.0
    turn, push = -math.pi * d * d * d * s.viscosity, -3.0 * math.pi * d * s.viscosity
    half, part = -0.5 * s.density, -s.density / 64.0
    return (
        (turn + part * b0 * (b1**4 + b2**4) * abs(w0)) * w0,
        (turn + part * b1 * (b2**4 + b0**4) * abs(w1)) * w1,
        (turn + part * b2 * (b0**4 + b1**4) * abs(w2)) * w2,
        (push + half * b1 * b2 * abs(v0)) * v0,
        (push + half * b2 * b0 * abs(v1)) * v1,
        (push + half * b0 * b1 * abs(v2)) * v2,
    )


@kernel
def ellipsoid_wrench(s, k, w0, w1, w2, v0, v1, v2):
    """[moment; force] of the fluid on an ellipsoid about its centre, in its axes."""
    rho, c = s.density, s.coefficient
    a0, a1, a2 = s.size[k, 0], s.size[k, 1], s.size[k, 2]
    longest, shortest = max(a0, a1, a2), min(a0, a1, a2)
    middle = a0 + a1 + a2 - longest - shortest
    # Added mass, as in Kirchhoff's equations, without what accelerations add.
    p0, p1, p2 = (rho * s.added_mass[k, 0] * v0, rho * s.added_mass[k, 1] * v1, rho * s.added_mass[k, 2] * v2)
    l0, l1, l2 = (rho * s.added_inertia[k, 0] * w0, rho * s.added_inertia[k, 1] * w1, rho * s.added_inertia[k, 2] * w2)
    f0, f1, f2 = cross(p0, p1, p2, w0, w1, w2)
    m0, m1, m2 = cross(p0, p1, p2, v0, v1, v2)
    n0, n1, n2 = cross(l0, l1, l2, w0, w1, w2)
    m0, m1, m2 = m0 + n0, m1 + n1, m2 + n2
    # Lift of what spins.
    spin = c[k, 4] * rho * 4.0 / 3.0 * math.pi * a0 * a1 * a2
    n0, n1, n2 = cross(w0, w1, w2, v0, v1, v2)
    f0, f1, f2 = f0 + spin * n0, f1 + spin * n1, f2 + spin * n2
    # The area seen along the velocity, and lift by a circulation around the axis across the velocity and its normal.
    s0, s1, s2 = (a1 * a2) ** 2, (a2 * a0) ** 2, (a0 * a1) ** 2
    fourth = s0 * s0 * v0 * v0 + s1 * s1 * v1 * v1 + s2 * s2 * v2 * v2
    second = s0 * v0 * v0 + s1 * v1 * v1 + s2 * v2 * v2
    area = math.pi * math.sqrt(fourth / max(second, TINY))
    speed = math.sqrt(v0 * v0 + v1 * v1 + v2 * v2)
    lift = c[k, 3] * rho * area * second / max(speed * fourth, TINY)
    g0, g1, g2 = cross(s0 * v0, s1 * v1, s2 * v2, v0, v1, v2)
    n0, n1, n2 = cross(g0, g1, g2, v0, v1, v2)
    f0, f1, f2 = f0 + lift * n0, f1 + lift * n1, f2 + lift * n2
    # Drag.
    d = 2.0 / 3.0 * (a0 + a1 + a2)
    largest = math.pi * longest * middle
    drag = 3.0 * math.pi * d * s.viscosity + rho * speed * (c[k, 0] * area + c[k, 1] * (largest - area))
    sphere = 8.0 / 15.0 * math.pi
    most = sphere * middle * longest**4
    i0, i1, i2 = (
        sphere * a0 * max(a1, a2) ** 4, sphere * a1 * max(a2, a0) ** 4, sphere * a2 * max(a0, a1) ** 4,
    )  # fmt: skip
    h0, h1, h2 = (
        w0 * (c[k, 2] * i0 + c[k, 1] * (most - i0)), w1 * (c[k, 2] * i1 + c[k, 1] * (most - i1)),
        w2 * (c[k, 2] * i2 + c[k, 1] * (most - i2)),
    )  # fmt: skip
    turn = math.pi * d * d * d * s.viscosity + rho * math.sqrt(h0 * h0 + h1 * h1 + h2 * h2)
    return m0 - turn * w0, m1 - turn * w1, m2 - turn * w2, f0 - drag * v0, f1 - drag * v1, f2 - drag * v2


@kernel
def fluid_forces(s):
    """Forces on coordinates by the skeleton's state."""
    t, d = s.tree, s.data
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    velocities(t, d, 0, n)
    for k in range(s.force.shape[0]):
        s.force[k] = 0.0
    for k in range(s.link.shape[0]):
        i, X = s.link[k], s.pose
        R = rotation_of(d, i)
        own = (X[k, 0], X[k, 1], X[k, 2], X[k, 3], X[k, 4], X[k, 5], X[k, 6], X[k, 7], X[k, 8])
        x, y, z = rotate(R, X[k, 9], X[k, 10], X[k, 11])
        w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
        v0, v1, v2 = cross(w0, w1, w2, x, y, z)
        v0, v1, v2 = d.V[i, 3] + v0 - s.wind[0], d.V[i, 4] + v1 - s.wind[1], d.V[i, 5] + v2 - s.wind[2]
        w0, w1, w2 = rotate_inverse(R, w0, w1, w2)
        w0, w1, w2 = rotate_inverse(own, w0, w1, w2)
        v0, v1, v2 = rotate_inverse(R, v0, v1, v2)
        v0, v1, v2 = rotate_inverse(own, v0, v1, v2)
        if s.kind[k] == BOX:
            m0, m1, m2, f0, f1, f2 = box_wrench(s, k, w0, w1, w2, v0, v1, v2)
        else:
            m0, m1, m2, f0, f1, f2 = ellipsoid_wrench(s, k, w0, w1, w2, v0, v1, v2)
        m0, m1, m2 = rotate(own, m0, m1, m2)
        m0, m1, m2 = rotate(R, m0, m1, m2)
        f0, f1, f2 = rotate(own, f0, f1, f2)
        f0, f1, f2 = rotate(R, f0, f1, f2)
        add_pull(t, d, i, d.p[i, 0] + x, d.p[i, 1] + y, d.p[i, 2] + z, m0, m1, m2, f0, f1, f2, 1.0, 0, s.force)


@callback
def fluid_in_world(world, own, commands, c):
    """At the start of a step of a world. Returns 0."""
    s, target = view(MEDIUM, own), view(COMMANDS, commands)
    fluid_forces(s)
    for k in range(s.force.shape[0]):
        target.force[target.first[c] + k] = s.force[k]
    return 0


@entry("i8(i8)")
def fluid_now(medium):
    """`fluid_forces` from Python. Returns 0."""
    fluid_forces(view(MEDIUM, medium))
    return 0


@dataclass(frozen=True)
class FluidBox:
    """A box on a body by which a fluid acts on it.

    Attributes:
        body: that carries it.
        pose: (4, 4) in the body: centre [m] and axes.
        size: (3,) lengths of its sides [m].
    """

    body: BodyNode
    pose: ArrayLike
    size: ArrayLike

    __repr__ = brief

    @classmethod
    def of_inertia(cls, body: BodyNode) -> FluidBox:
        """The box of uniform density that has the mass and the moments of inertia of a body with mass.

        Where moments are equal axes are not determined, and the drag of a box depends on them: then give a box.

        Raises:
            ModelError: the body has no mass.
        """
        if not body.mass > LIGHT:
            raise ModelError(f"FluidBox.of_inertia: body {body.name!r} has no mass; give a box")
        moments, R = np.linalg.eigh(body.inertia.moment)
        X = np.eye(4)
        X[:3, :3] = R if np.linalg.det(R) > 0.0 else R * [1.0, 1.0, -1.0]
        X[:3, 3] = body.inertia.com
        return cls(body, X, box_size(body.mass, moments))


def box_size(mass: float, moments: ArrayLike) -> Array:
    """(3,) sides of the box of uniform density with a mass and principal moments of inertia (3,) [m]."""
    own = np.asarray(moments, float)
    return np.sqrt(6.0 / mass * np.maximum(own.sum() - 2.0 * own, TINY))


@dataclass(frozen=True)
class FluidEllipsoid:
    """An ellipsoid on a body by which a fluid acts on it.

    Attributes:
        body: that carries it.
        pose: (4, 4) in the body: centre [m] and axes.
        size: (3,) half of the lengths of its axes [m].
        blunt_drag, slender_drag, angular_drag, kutta_lift, magnus_lift: coefficients.
        added_mass: (3,) mass of fluid that moves with it along its axes, for a density of 1 [m^3].
        added_inertia: (3,) the same of rotation [m^5].
    """

    body: BodyNode
    pose: ArrayLike
    size: ArrayLike
    blunt_drag: float = 0.5
    slender_drag: float = 0.25
    angular_drag: float = 1.5
    kutta_lift: float = 1.0
    magnus_lift: float = 1.0
    added_mass: ArrayLike = (0.0, 0.0, 0.0)
    added_inertia: ArrayLike = (0.0, 0.0, 0.0)

    __repr__ = brief


class Medium(Controller):
    """Forces of a fluid that fills the world on a skeleton; `World.add_controller` takes it, and steps run it compiled.

    Forces hold for a step, by the state at its start: where they could stop a body within a step, it has to be shorter.
    Limits of joint forces are those of actuators, and do not hold for them.

    Args:
        skeleton: whose bodies are in the fluid.
        density: of the fluid [kg/m^3].
        viscosity: [Pa s].
        wind: (3,) velocity of the fluid, world axes [m/s].
        shapes: on bodies of the skeleton, by which it acts; the inertia boxes of all that have mass by default.

    Raises:
        ModelError: negative or not finite numbers; a shape on a body of another skeleton, or without extent; a flexible
            skeleton, or one with a coordinate whose actuator is neither FORCE nor MIMIC.

    Example:
        >>> world.add_controller(kido.environment.Medium(fish, density=1000.0, viscosity=1e-3))
    """

    def __init__(
        self,
        skeleton: Skeleton,
        density: float = 0.0,
        viscosity: float = 0.0,
        wind: ArrayLike = (0.0, 0.0, 0.0),
        shapes: Sequence[FluidBox | FluidEllipsoid] | None = None,
    ):
        super().__init__(skeleton, slice(None), name="medium")
        refuse_flexible(skeleton, "Medium")
        what = f"medium of {skeleton.name!r}"
        self._density, self._viscosity = (
            _from_zero(value, f"{what}: {name}") for name, value in (("density", density), ("viscosity", viscosity))
        )
        self._wind = as_vector(wind, f"{what}: wind")
        if shapes is None:
            shapes = [FluidBox.of_inertia(body) for body in skeleton.bodies if body.mass > LIGHT]
        if not isinstance(shapes, Sequence):
            raise ModelError(f"{what}: shapes: expected FluidBox and FluidEllipsoid in a list, got {shapes!r:.80}")
        for shape in shapes:
            _check_shape(shape, skeleton, what)
        self._shapes = tuple(shapes)

    @property
    def density(self) -> float:
        """Of the fluid [kg/m^3]."""
        return self._density

    @property
    def viscosity(self) -> float:
        """Of the fluid [Pa s]."""
        return self._viscosity

    @property
    def wind(self) -> Array:
        """(3,) velocity of the fluid (a copy) [m/s]."""
        return self._wind.copy()

    @property
    def shapes(self) -> tuple[FluidBox | FluidEllipsoid, ...]:
        """By which the fluid acts."""
        return self._shapes

    def compute(self) -> Array:
        """Forces (dofs,) at the present state [N, N m]."""
        _, made = self.compile(0.0)
        fluid_now(made.address)
        return np.array(made.force)

    @property
    def calls_python(self) -> bool:
        return False

    @property
    def gives_commands(self) -> bool:
        return False

    def compile(self, time: float) -> tuple[Any, MEDIUM]:
        state = self.skeleton.current_state
        plant, tree = state.compiled(), state.tree
        shapes = [shape for shape in self._shapes if shape.body.skeleton is self.skeleton]  # bodies of others have left
        s = MEDIUM(
            parts=len(shapes), dofs=self.skeleton.num_dofs, tree=tree,
            data=data_for(tree, q=plant.q, u=plant.u), density=self._density, viscosity=self._viscosity,
        )  # fmt: skip
        s.wind[:] = self._wind
        for k, shape in enumerate(shapes):
            index = shape.body.index
            member = np.vstack([np.asarray(tree.member_pose[index]).reshape(3, 4), [0.0, 0.0, 0.0, 1.0]])
            X = member @ as_transform(shape.pose, "pose")
            s.link[k], s.size[k], s.pose[k] = tree.member_link[index], shape.size, [*X[:3, :3].ravel(), *X[:3, 3]]
            if isinstance(shape, FluidEllipsoid):
                s.kind[k], s.added_mass[k], s.added_inertia[k] = ELLIPSOID, shape.added_mass, shape.added_inertia
                s.coefficient[k] = (
                    shape.blunt_drag, shape.slender_drag, shape.angular_drag, shape.kutta_lift, shape.magnus_lift,
                )  # fmt: skip
        return fluid_in_world, s


def _from_zero(value: Any, what: str) -> float:
    """A finite number from 0 on.

    Raises:
        ModelError: it is none.
    """
    found = number_or_nan(value)
    if not 0.0 <= found < math.inf:
        raise ModelError(f"{what}: expected a finite number from 0 on, got {value!r:.80}")
    return found


def _check_shape(shape: Any, skeleton: Skeleton, what: str) -> None:
    """See `Medium`.

    Raises:
        ModelError: a fluid cannot act by it on the skeleton.
    """
    if not isinstance(shape, FluidBox | FluidEllipsoid):
        raise ModelError(f"{what}: shapes: expected FluidBox or FluidEllipsoid, got {shape!r:.80}")
    if not isinstance(shape.body, BodyNode) or shape.body.skeleton is not skeleton:
        own = getattr(getattr(shape.body, "skeleton", None), "name", None)
        raise ModelError(f"{what}: body {getattr(shape.body, 'name', shape.body)!r} of a shape belongs to {own!r}")
    where = f"{what}: shape on {shape.body.name!r}"
    if not (as_vector(shape.size, f"{where}: size") > 0.0).all():
        raise ModelError(f"{where}: size: expected lengths above 0, got {shape.size!r:.80}")
    as_transform(shape.pose, f"{where}: pose")
    if isinstance(shape, FluidEllipsoid):
        for name in ("blunt_drag", "slender_drag", "angular_drag", "kutta_lift", "magnus_lift"):
            if not math.isfinite(number_or_nan(getattr(shape, name))):
                raise ModelError(f"{where}: {name}: expected a finite number, got {getattr(shape, name)!r:.80}")
        for name in ("added_mass", "added_inertia"):
            as_vector(getattr(shape, name), f"{where}: {name}")
