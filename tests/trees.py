"""Random skeletons, and their motion and dynamics from the definitions, in plain NumPy.

Nothing here looks at the kernels or at a compiled tree. Positions are products of 4x4 matrices. Velocities
and accelerations come from the same products of truncated Taylor series in time, so that no formula for a
motion column or a velocity product is shared with the code under test. The dynamics are the principle of
virtual power summed over bodies: M = sum J^T M_i J, C = sum J^T (M_i (a - g) + b_i).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import kido

BUILT_IN = (
    "weld", "revolute", "prismatic", "screw", "universal", "euler", "ball", "planar", "translational", "free",
)  # fmt: skip
KINDS = (*BUILT_IN, "compound", "user")
EULER_ORDERS = ("xyz", "xzy", "yxz", "yzx", "zxy", "zyx", "xyx", "xzx", "yxy", "yzy", "zxz", "zyz")
GRAVITY = np.array([0.0, 0.0, -9.81])


# Joints that a user defines ------------------------------------------------------------------------------


class RollingKnee(kido.UserJoint):
    """Bends about y and shifts along polynomials of the angle, as the knee of Lee and Terzopoulos (2008) does."""

    def __init__(self, name=None, rolling=(0.03, -0.01), sliding=(0.0, 0.02, 0.004), **options):
        self.rolling, self.sliding = tuple(rolling), tuple(sliding)
        super().__init__(name, **options)

    def transform(self, q):
        x = sum(c * q[0] ** (k + 1) for k, c in enumerate(self.rolling))
        z = sum(c * q[0] ** (k + 1) for k, c in enumerate(self.sliding))
        return self.rotation_about((0, 1, 0), q[0]), np.array([x, 0.0, z])


class EllipsoidJoint(kido.UserJoint):
    """Three rotations x, y, z; the origin glides on an ellipsoid, as a shoulder blade on ribs (Seth et al. 2010)."""

    dof_suffixes = ("_1", "_2", "_3")

    def __init__(self, name=None, radii=(0.1, 0.2, 0.15), **options):
        self.radii = np.array(radii, float)
        super().__init__(name, **options)

    def transform(self, q):
        turn = self.rotation_about
        R = turn((1, 0, 0), q[0]) @ turn((0, 1, 0), q[1]) @ turn((0, 0, 1), q[2])
        return R, self.radii * R[:, 2]


# Random skeletons ----------------------------------------------------------------------------------------


def random_transform(rng: np.random.Generator, reach: float = 0.5) -> np.ndarray:
    """A pose with any rotation and a translation of up to `reach` along each axis."""
    X = np.eye(4)
    X[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    X[:3, 3] = rng.uniform(-reach, reach, 3)
    return X


def random_inertia(rng: np.random.Generator, mass: float) -> kido.Inertia:
    """A mass off the origin with a moment that real mass distributions have."""
    spread = rng.uniform(0.05, 0.3, 3) ** 2
    R = Rotation.random(random_state=rng).as_matrix()
    moment = mass * R @ np.diag(spread.sum() - spread) @ R.T
    return kido.Inertia(mass, rng.uniform(-0.2, 0.2, 3), 0.5 * (moment + moment.T))


def random_joint(rng: np.random.Generator, kind: str, name: str, **options) -> kido.Joint:
    """A joint with axes in any direction; half of the joints sit away from the body frame."""
    options.setdefault("transform_from_parent", random_transform(rng))
    if rng.random() < 0.5:
        options.setdefault("transform_from_child", random_transform(rng))
    axis, other = rng.normal(size=3), rng.normal(size=3)
    match kind:
        case "weld":
            return kido.WeldJoint(name, **options)
        case "revolute":
            return kido.RevoluteJoint(name, axis, **options)
        case "prismatic":
            return kido.PrismaticJoint(name, axis, **options)
        case "screw":
            return kido.ScrewJoint(name, axis, rng.uniform(-1.0, 1.0), **options)
        case "universal":
            return kido.UniversalJoint(name, axis, other, **options)
        case "euler":
            return kido.EulerJoint(name, EULER_ORDERS[rng.integers(12)], **options)
        case "ball":
            return kido.BallJoint(name, **options)
        case "planar":
            return kido.PlanarJoint(name, axis, other, **options)
        case "translational":
            return kido.TranslationalJoint(name, **options)
        case "free":
            return kido.FreeJoint(name, **options)
        case "compound":
            return kido.CompoundJoint(name, random_hinges(rng), **options)
        case "user":
            if rng.random() < 0.5:
                return RollingKnee(name, rng.uniform(-0.1, 0.1, 2), rng.uniform(-0.1, 0.1, 3), **options)
            return EllipsoidJoint(name, rng.uniform(0.05, 0.3, 3), **options)
    raise ValueError(kind)


def random_hinges(rng: np.random.Generator) -> list[kido.Hinge]:
    """One to six hinges about or along any axes, at most three of them prismatic; half sit on a fixed transform."""
    hinges = []
    for slides in rng.permutation([True, False] * 3)[: rng.integers(1, 7)]:
        axis, offset = rng.normal(size=3), random_transform(rng) if rng.random() < 0.5 else None
        if slides:
            hinges.append(kido.Hinge.prismatic(axis, offset=offset))
        elif rng.random() < 0.5:
            hinges.append(kido.Hinge.revolute(axis, offset=offset))
        else:
            hinges.append(kido.Hinge.screw(axis, rng.uniform(-1.0, 1.0), offset=offset))
    return hinges


def build(kinds: list[str], parents: list[int], seed: int, masses: tuple[float, float] = (0.1, 10.0)) -> kido.Skeleton:
    """A skeleton with a joint kind and a parent (-1: the world) for each body; all else is random.

    Masses are spread evenly on a logarithmic scale. A third of the welded bodies have none.
    """
    rng = np.random.default_rng(seed)
    skeleton = kido.Skeleton("random")
    for k, (kind, parent) in enumerate(zip(kinds, parents, strict=True)):
        mass = float(np.exp(rng.uniform(*np.log(masses))))
        massless = kind == "weld" and rng.random() < 1 / 3
        skeleton.add_body(
            f"b{k}",
            random_joint(rng, kind, f"j{k}"),
            None if parent < 0 else skeleton.bodies[parent],
            None if massless else random_inertia(rng, mass),
        )
    return skeleton


def chain_parents(n: int) -> list[int]:
    """Each body on the one before."""
    return list(range(-1, n - 1))


def random_skeleton(seed: int, bodies: int, kinds: tuple[str, ...] = KINDS, **options) -> kido.Skeleton:
    """A random tree: a new root now and then, else any earlier body as parent, recent ones more often."""
    rng = np.random.default_rng(seed)
    parents = [-1]
    for k in range(1, bodies):
        draw = rng.random()
        parents.append(-1 if draw < 0.05 else k - 1 if draw < 0.5 else int(rng.integers(k)))
    if bodies >= len(kinds):  # every kind at least once
        chosen = [*rng.permutation(kinds), *rng.choice(kinds, bodies - len(kinds))]
    else:
        chosen = list(rng.choice(kinds, bodies))
    return build([str(c) for c in chosen], parents, seed, **options)


@st.composite
def skeletons(draw, most: int = 12, kinds: tuple[str, ...] = KINDS) -> kido.Skeleton:
    """Skeletons of 1 to `most` bodies that shrink to few bodies, welds and chains."""
    n = draw(st.integers(1, most))
    chosen = [draw(st.sampled_from(kinds)) for _ in range(n)]
    parents = [draw(st.integers(-1, k - 1)) for k in range(n)]
    return build(chosen, parents, draw(st.integers(0, 2**20)))


SEEDS = st.integers(0, 2**20)


def random_state(skeleton: kido.Skeleton, seed: int, speed: float = 1.0) -> tuple[np.ndarray, ...]:
    """Positions (angles up to pi, rotation vectors up to about 2 pi), velocities, accelerations, forces."""
    rng = np.random.default_rng(seed)
    n = skeleton.num_dofs
    q = rng.uniform(-np.pi, np.pi, n)
    return q, speed * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)


def set_state(skeleton: kido.Skeleton, q, u, udot=None, tau=None) -> None:
    """Have a skeleton hold a state."""
    skeleton.positions, skeleton.velocities = q, u
    if udot is not None:
        skeleton.accelerations = udot
    if tau is not None:
        skeleton.forces = tau


# Taylor series of transforms in time, to second order -----------------------------------------------------


def skew(v) -> np.ndarray:
    """[v] with [v] x = v cross x."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def twist_matrix(V) -> np.ndarray:
    """4x4 generator of a twist [angular; linear]."""
    W = np.zeros((4, 4))
    W[:3, :3], W[:3, 3] = skew(V[:3]), V[3:]
    return W


Series = tuple[np.ndarray, np.ndarray, np.ndarray]


def times(A: Series, B: Series) -> Series:
    """Product of two series, to second order."""
    return A[0] @ B[0], A[0] @ B[1] + A[1] @ B[0], A[0] @ B[2] + A[1] @ B[1] + A[2] @ B[0]


def constant(X: np.ndarray) -> Series:
    return X, np.zeros((4, 4)), np.zeros((4, 4))


def along(X0: np.ndarray, V, Vdot) -> Series:
    """X0 exp(t V + t^2/2 Vdot): starts at X0 with body twist V and its rate Vdot."""
    W, Wdot = twist_matrix(V), twist_matrix(Vdot)
    return X0, X0 @ W, X0 @ (0.5 * (Wdot + W @ W))


def pose(rotation_vector=(0.0, 0.0, 0.0), translation=(0.0, 0.0, 0.0)) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3] = Rotation.from_rotvec(np.array(rotation_vector, float)).as_matrix()
    X[:3, 3] = translation
    return X


def about(axis, q, u, udot) -> Series:
    """Rotation about a unit axis."""
    a = np.concatenate([axis, np.zeros(3)])
    return along(pose(np.asarray(axis) * q), a * u, a * udot)


def shift(axis, q, u, udot) -> Series:
    """Translation along an axis."""
    a = np.concatenate([np.zeros(3), axis])
    return along(pose(translation=np.asarray(axis) * q), a * u, a * udot)


def screw_series(axis, pitch, q, u, udot) -> Series:
    """Rotation about an axis, and translation along it by `pitch` for each turn."""
    s = pitch / (2.0 * np.pi)
    return times(shift(axis, s * q, s * u, s * udot), about(axis, q, u, udot))


def hinge_series(hinge: kido.Hinge, q, u, udot) -> Series:
    """A hinge of a compound joint, from the definition of its kind."""
    match hinge.kind.name:
        case "REVOLUTE":
            moved = about(hinge.axis, q, u, udot)
        case "PRISMATIC":
            moved = shift(hinge.axis, q, u, udot)
        case "SCREW":
            moved = screw_series(hinge.axis, hinge.pitch, q, u, udot)
        case _:
            raise ValueError(hinge)
    return times(constant(hinge.offset), moved)


def polynomial_series(coefficients, q, u, udot) -> np.ndarray:
    """c_0 x + c_1 x^2 + ... of x = q + t u + t^2/2 udot, to second order in t."""
    f = np.polynomial.Polynomial([0.0, *coefficients])
    slope, bend = f.deriv(1)(q), f.deriv(2)(q)
    return np.array([f(q), slope * u, 0.5 * (slope * udot + bend * u * u)])


def joint_series(joint: kido.Joint, q, u, udot) -> Series:
    """X_J of a joint, from the definition of its type."""
    x, y, z = np.eye(3)
    match joint:
        case kido.WeldJoint():
            return constant(np.eye(4))
        case kido.RevoluteJoint():
            return about(joint.axis, q[0], u[0], udot[0])
        case kido.PrismaticJoint():
            return shift(joint.axis, q[0], u[0], udot[0])
        case kido.ScrewJoint():
            return screw_series(joint.axis, joint.pitch, q[0], u[0], udot[0])
        case kido.UniversalJoint():
            return times(about(joint.axis1, q[0], u[0], udot[0]), about(joint.axis2, q[1], u[1], udot[1]))
        case kido.EulerJoint():
            axes = [{"x": x, "y": y, "z": z}[letter] for letter in joint.order]
            series = constant(np.eye(4))
            for k in range(3):
                series = times(series, about(axes[k], q[k], u[k], udot[k]))
            return series
        case kido.BallJoint():
            zero = np.zeros(3)
            return along(pose(q), np.concatenate([u, zero]), np.concatenate([udot, zero]))
        case kido.PlanarJoint():
            slide = times(shift(joint.axis1, q[0], u[0], udot[0]), shift(joint.axis2, q[1], u[1], udot[1]))
            return times(slide, about(np.cross(joint.axis1, joint.axis2), q[2], u[2], udot[2]))
        case kido.TranslationalJoint():
            slide = times(shift(x, q[0], u[0], udot[0]), shift(y, q[1], u[1], udot[1]))
            return times(slide, shift(z, q[2], u[2], udot[2]))
        case kido.FreeJoint():
            return along(pose(q[:3], q[3:]), u, udot)
        case kido.CompoundJoint():
            series = constant(np.eye(4))
            for k, hinge in enumerate(joint.hinges):
                series = times(series, hinge_series(hinge, q[k], u[k], udot[k]))
            return series
        case RollingKnee():
            series = about(y, q[0], u[0], udot[0])
            for axis, coefficients in ((0, joint.rolling), (2, joint.sliding)):
                for X, value in zip(series, polynomial_series(coefficients, q[0], u[0], udot[0]), strict=True):
                    X[axis, 3] = value
            return series
        case EllipsoidJoint():
            series = constant(np.eye(4))
            for k, axis in enumerate((x, y, z)):
                series = times(series, about(axis, q[k], u[k], udot[k]))
            for X in series:
                X[:3, 3] = joint.radii * X[:3, 2]
            return series
    raise ValueError(joint)


def body_series(body: kido.BodyNode, q, u, udot) -> Series:
    """X of a body in its parent: X_PJ X_J(q) X_CJ^-1."""
    joint = body.parent_joint
    series = times(constant(joint.transform_from_parent), joint_series(joint, q, u, udot))
    return times(series, constant(np.linalg.inv(joint.transform_from_child)))


def vee(W: np.ndarray) -> np.ndarray:
    """Vector of the antisymmetric part."""
    return 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])


def motion(X: Series) -> tuple[np.ndarray, np.ndarray]:
    """[w; v] and [wdot; acceleration] of a frame's origin, in the axes the series is seen from."""
    R = X[0][:3, :3]
    V = np.concatenate([vee(X[1][:3, :3] @ R.T), X[1][:3, 3]])
    A = np.concatenate([vee(2.0 * X[2][:3, :3] @ R.T), 2.0 * X[2][:3, 3]])
    return V, A


# The whole tree -------------------------------------------------------------------------------------------


class Reference:
    """Kinematics and dynamics of a skeleton at a state.

    Attributes:
        X: (bodies, 4, 4) poses.
        V, A: (bodies, 6) [w; v] and [wdot; acceleration] of body origins, world axes.
        J: (bodies, 6, dofs) with V = J u. I: (bodies, 6, 6) inertias about body origins, world axes.
    """

    def __init__(self, skeleton: kido.Skeleton, q, u=None, udot=None, gravity=GRAVITY):
        self.skeleton, self.gravity = skeleton, np.asarray(gravity, float)
        n, m = skeleton.num_bodies, skeleton.num_dofs
        self.q = np.asarray(q, float)
        self.u = np.zeros(m) if u is None else np.asarray(u, float)
        self.udot = np.zeros(m) if udot is None else np.asarray(udot, float)
        self.X, self.V, self.A = self._series(self.u, self.udot)
        self.parent = [-1 if b.parent is None else b.parent.index for b in skeleton.bodies]
        self.part = [slice(d[0].index, d[0].index + len(d)) if (d := b.parent_joint.dofs) else slice(0, 0)
                     for b in skeleton.bodies]  # fmt: skip
        self.H = [self._columns(b) for b in skeleton.bodies]
        self.J = np.zeros((n, 6, m))
        for i in range(n):
            if self.parent[i] >= 0:
                self.J[i] = self.phi(self.parent[i], i).T @ self.J[self.parent[i]]
            self.J[i][:, self.part[i]] += self.H[i]
        self.I = np.array([self._inertia(b) for b in skeleton.bodies])

    def _series(self, u, udot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        whole: list[Series] = []
        for body in self.skeleton.bodies:
            d = body.parent_joint.dofs
            part = slice(d[0].index, d[0].index + len(d)) if d else slice(0, 0)
            own = body_series(body, self.q[part], u[part], udot[part])
            whole.append(own if body.parent is None else times(whole[body.parent.index], own))
        moved = [motion(s) for s in whole]
        X = np.array([s[0] for s in whole])
        return X, np.array([v for v, _ in moved]), np.array([a for _, a in moved])

    def phi(self, i: int, j: int) -> np.ndarray:
        """phi(i, j): forces at j's origin seen at i's."""
        shifted = np.eye(6)
        shifted[:3, 3:] = skew(self.X[j, :3, 3] - self.X[i, :3, 3])
        return shifted

    def _columns(self, body: kido.BodyNode) -> np.ndarray:
        part = self.part[body.index]
        size = part.stop - part.start
        zero = np.zeros(size)
        to_world = np.eye(3) if body.parent is None else self.X[body.parent.index, :3, :3]
        columns = np.zeros((6, size))
        for k in range(size):
            V, _ = motion(body_series(body, self.q[part], np.eye(size)[k], zero))
            columns[:3, k], columns[3:, k] = to_world @ V[:3], to_world @ V[3:]
        return columns

    def _inertia(self, body: kido.BodyNode) -> np.ndarray:
        R = self.X[body.index, :3, :3]
        m, c = body.inertia.mass, R @ body.inertia.com
        about_com = R @ body.inertia.moment @ R.T
        top = np.hstack([about_com - m * skew(c) @ skew(c), m * skew(c)])
        return np.vstack([top, np.hstack([-m * skew(c), m * np.eye(3)])])

    @cached_property
    def mass_matrix(self) -> np.ndarray:
        return np.einsum("iak,iab,ibl->kl", self.J, self.I, self.J)

    def body_force(self, A: np.ndarray) -> np.ndarray:
        """(bodies, 6) I (A - g) + b: what moves each body with the accelerations A against gravity."""
        result = np.empty((len(self.I), 6))
        for i, body in enumerate(self.skeleton.bodies):
            w = self.V[i, :3]
            J, c = self.I[i, :3, :3], self.X[i, :3, :3] @ body.inertia.com
            b = np.concatenate([np.cross(w, J @ w), body.inertia.mass * np.cross(w, np.cross(w, c))])
            g = np.concatenate([np.zeros(3), self.gravity * body.gravity])
            result[i] = self.I[i] @ (A[i] - g) + b
        return result

    @cached_property
    def bias(self) -> np.ndarray:
        """C: joint forces at udot = 0, without external forces."""
        _, _, A = self._series(self.u, np.zeros_like(self.u))
        return np.einsum("iak,ia->k", self.J, self.body_force(A))

    @cached_property
    def joint_forces(self) -> np.ndarray:
        """T of the given udot, without external forces."""
        return np.einsum("iak,ia->k", self.J, self.body_force(self.A))

    @property
    def kinetic_energy(self) -> float:
        return 0.5 * float(np.einsum("ia,iab,ib", self.V, self.I, self.V))

    @property
    def potential_energy(self) -> float:
        """Gravity's alone."""
        return -sum(
            b.inertia.mass * b.gravity * float(self.gravity @ (X[:3, :3] @ b.inertia.com + X[:3, 3]))
            for b, X in zip(self.skeleton.bodies, self.X, strict=True)
        )

    @property
    def momentum(self) -> np.ndarray:
        """[angular about the world origin; linear]."""
        total = np.zeros(6)
        for X, body_inertia, V in zip(self.X, self.I, self.V, strict=True):
            h = body_inertia @ V
            total += np.concatenate([h[:3] + np.cross(X[:3, 3], h[3:]), h[3:]])
        return total


def spring_forces(skeleton: kido.Skeleton, q: np.ndarray) -> np.ndarray:
    """Forces of the joint springs: -k (q - q0); of rotations R minus the gradient of 2 v . K v, with (w, v) the
    quaternion of R0^T R.
    """
    result = np.zeros(len(q))
    for joint in skeleton.joints:
        if not joint.dofs:
            continue
        part = slice(joint.dofs[0].index, joint.dofs[0].index + joint.num_dofs)
        K, rest, own = joint.spring_stiffness, joint.rest_position.copy(), q[part].copy()
        forces = -K * (own - rest)
        if isinstance(joint, kido.BallJoint | kido.FreeJoint):
            R = Rotation.from_rotvec(own[:3])
            *v, w = (Rotation.from_rotvec(rest[:3]).inv() * R).as_quat()
            forces[:3] = -2.0 * (w * K[:3] * v + np.cross(K[:3] * v, v))
            forces[3:] = R.inv().apply(forces[3:]) if len(own) == 6 else []
        result[part] = forces
    return result


def relative_error(value, expected, floor: float = 1.0) -> float:
    """Largest difference over the largest expected number (or `floor`)."""
    value, expected = np.asarray(value), np.asarray(expected)
    assert value.shape == expected.shape, (value.shape, expected.shape)
    if value.size == 0:
        return 0.0
    return float(np.abs(value - expected).max() / max(floor, np.abs(expected).max()))


def at(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    """A translation as a transform."""
    return pose(translation=(x, y, z))


def point_shift(r) -> np.ndarray:
    """Velocities of an origin to those of a point r from it."""
    X = np.eye(6)
    X[3:, :3] = -skew(r)
    return X
