"""Mechanisms with closed loops whose motions are known: for learning, tests and comparisons.

Each is a skeleton and the constraints that close it, in a closed state from which its known motion starts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kido.constraints import (
    BallJointConstraint,
    Constraint,
    DistanceConstraint,
    RevoluteJointConstraint,
    UniversalJointConstraint,
)
from kido.dynamics import ConstrainedDynamics
from kido.errors import ModelError, NameLookupError
from kido.math.transform import number_or_nan
from kido.models.scenes import whole
from kido.reprs import brief
from kido.simulation import World
from kido.skeleton import (
    BallJoint,
    BodyNode,
    Inertia,
    PrismaticJoint,
    RevoluteJoint,
    Skeleton,
    TranslationalJoint,
    UniversalJoint,
)

Array = NDArray[np.float64]
Z = (0.0, 0.0, 1.0)
DOWN_Y = (0.0, -9.81, 0.0)  # [m/s^2]


@dataclass(eq=False)
class Mechanism:
    """A skeleton with what closes it.

    Attributes:
        name: what it is called.
        skeleton: in its starting state, with the joint forces that drive it.
        constraints: that close it, and springs between its bodies.
        points: places to watch, by name: a body and a point on it [m].
    """

    name: str
    skeleton: Skeleton
    constraints: list[Constraint]
    points: dict[str, tuple[BodyNode, Array]] = field(default_factory=dict)

    __repr__ = brief

    def dynamics(self, solver: str = "auto") -> ConstrainedDynamics:
        """Its dynamics, by a solver of `kido.ConstrainedDynamics`."""
        return ConstrainedDynamics(self.skeleton, self.constraints, solver)

    def world(self, time_step: float = 1e-3) -> World:
        """A world that holds it, where contacts may act too."""
        world = World(gravity=self.skeleton.gravity, time_step=time_step, name=self.name)
        world.add_skeleton(self.skeleton)
        for constraint in self.constraints:
            world.add_constraint(constraint)
        return world

    def place(self, point: str) -> Array:
        """Where one of the points is at present (3,) [m].

        Raises:
            NameLookupError: there is none of that name.
        """
        if point not in self.points:
            raise NameLookupError(f"point of mechanism {self.name!r}", point, list(self.points))
        body, offset = self.points[point]
        return (body.world_transform @ [*offset, 1.0])[:3]

    def _watch(self, name: str, body: BodyNode, point: tuple[float, ...]) -> None:
        self.points[name] = body, np.array(point, float)


def at(*point: float) -> Array:
    """A transform that shifts."""
    X = np.eye(4)
    X[:3, 3] = point
    return X


def rod(axis: int, length: float = 1.0, mass: float = 1.0, width: float = 0.0) -> Inertia:
    """A bar from the body's origin along a coordinate axis (negative lengths: against it)."""
    moments = np.full(3, mass * (length**2 + width**2) / 12.0)
    moments[axis] = max(mass * width**2 / 6.0, 1e-9)
    com = np.zeros(3)
    com[axis] = 0.5 * length
    return Inertia.from_diagonal(mass, moments, com)


def loop_pendulum() -> Mechanism:
    """A mass of 1 kg on the plane x, y, held 1 m from the origin by one constraint; gravity along -y.

    It falls from (-1, 0), at rest, with a period of 2.367841947576237 s.
    """
    skeleton = Skeleton("pendulum")
    skeleton.gravity = DOWN_Y
    mass = skeleton.add_body("mass", TranslationalJoint("place"), inertia=Inertia(1.0))
    skeleton.positions = [-1.0, 0.0, 0.0]
    made = Mechanism("pendulum", skeleton, [DistanceConstraint(None, mass, distance=1.0, name="rod")])
    made._watch("mass", mass, (0.0, 0.0, 0.0))
    return made


def n_four_bar(windows: int = 2) -> Mechanism:
    """A row of four-bars: cranks of 1 m and 1 kg on the line y = 0, joined at their tops by couplers alike.

    It falls along -y from th = pi/2 (upright) with th' = -1 by
    [(N+1)/3 + N] th'' = -[(N+1)/2 + N] g cos th, and passes positions where all bars are in one line.

    Args:
        windows: N, the number of four-bars: N + 1 cranks and N couplers.

    Raises:
        ModelError: `windows` is not a whole number of at least 1.
    """
    windows = whole(windows, "n_four_bar", "windows")
    skeleton = Skeleton("n_four_bar")
    skeleton.gravity = DOWN_Y
    cranks = [
        skeleton.add_body(f"crank{k}", RevoluteJoint(axis=Z, transform_from_parent=at(k, 0, 0)), inertia=rod(1))
        for k in range(windows + 1)
    ]
    hinge = {"axis": Z, "transform_from_parent": at(0, 1, 0)}
    couplers = [
        skeleton.add_body(f"coupler{k}", RevoluteJoint(**hinge), cranks[k], inertia=rod(0)) for k in range(windows)
    ]
    closures: list[Constraint] = [
        RevoluteJointConstraint(couplers[k], cranks[k + 1], at=(k + 1, 1, 0), axis=Z, name=f"loop{k}")
        for k in range(windows)
    ]
    skeleton.velocities = [-1.0] * (windows + 1) + [1.0] * windows
    made = Mechanism("n_four_bar", skeleton, closures)
    made._watch("top", cranks[0], (0.0, 1.0, 0.0))
    return made


# Andrews' squeezer: points and the start [m, rad]; Schiehlen (1990), Multibody Systems Handbook.
_A, _B, _C = (-0.06934, -0.00227, 0.0), (-0.03635, 0.03273, 0.0), (0.014, 0.072, 0.0)
_BETA, _THETA, _GAMMA = -0.0617138900142764, 0.0, 0.455279819163070
_PHI, _DELTA, _OMEGA, _EPSILON = 0.222668390165886, 0.487364979543843, -0.222668390165886, 1.23054744454982


def _planar(mass: float, moment: float, x: float, y: float) -> Inertia:
    return Inertia.from_diagonal(mass, (0.5 * moment, 0.5 * moment, moment), (x, y, 0.0))


def andrews_squeezer() -> Mechanism:
    """Andrews' squeezing mechanism: seven bodies in a plane, driven by a torque of 0.033 N m at O, against a spring.

    Chains O-F-E, B-E, A-G-E and A-H-E meet in E; a spring of 4530 N/m stretches from D to C; there is no gravity.
    The crank turns five times in 0.05 s. Coordinates are beta, theta + pi, gamma, delta, phi - pi/2, epsilon, Omega.

    Source: Schiehlen (1990), Multibody Systems Handbook; Hairer, Wanner (1996), Solving ODEs II, VII.7.
    """
    skeleton = Skeleton("andrews_squeezer")
    skeleton.gravity = (0.0, 0.0, 0.0)

    def add(name: str, point: tuple[float, ...], inertia: Inertia, parent: BodyNode | None = None) -> BodyNode:
        joint = RevoluteJoint(name, axis=Z, transform_from_parent=at(*point))
        return skeleton.add_body(name, joint, parent, inertia=inertia)

    crank = add("OF", (0.0, 0.0, 0.0), _planar(0.04325, 2.194e-6, 0.00092, 0.0))
    rod_e = add("FE", (0.007, 0.0, 0.0), _planar(0.00365, 4.410e-7, 0.0115, 0.0), crank)
    plate = add("BDE", _B, _planar(0.02373, 5.255e-6, 0.01043, -0.01874))
    arm_g = add("AG", _A, _planar(0.07050, 1.169e-5, 0.02308, 0.00916))
    link_g = add("GE", (0.04, 0.0, 0.0), _planar(0.00706, 5.667e-7, 0.00579, 0.0), arm_g)
    arm_h = add("AH", _A, _planar(0.05498, 1.912e-5, -0.00449, -0.01228))
    link_h = add("HE", (0.0, -0.04, 0.0), _planar(0.00706, 5.667e-7, 0.00579, 0.0), arm_h)
    # x of FE points along -(cos, sin)(beta + theta), of GE along (sin, -cos)(phi + delta), of HE along (cos, sin).
    skeleton.positions = [_BETA, _THETA + np.pi, _GAMMA, _DELTA, _PHI - 0.5 * np.pi, _EPSILON, _OMEGA]
    closures: list[Constraint] = [
        RevoluteJointConstraint(link, plate, frame_a=at(end, 0, 0), frame_b=at(0, -0.035, 0), name=name)
        for name, link, end in (("F-E", rod_e, 0.028), ("G-E", link_g, 0.02), ("H-E", link_h, 0.02))
    ]
    spring = {"distance": 0.07785, "stiffness": 4530.0, "name": "spring"}
    closures.append(DistanceConstraint(None, plate, frame_a=at(*_C), frame_b=at(0.02, -0.018, 0), **spring))
    skeleton.forces = [0.033, *[0.0] * 6]
    made = Mechanism("andrews_squeezer", skeleton, closures)
    made._watch("F", crank, (0.007, 0.0, 0.0))
    made._watch("E", plate, (0.0, -0.035, 0.0))
    return made


_BRICARD = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)


def bricard() -> Mechanism:
    """Bricard's linkage: five bars of 1 m, 1 kg, 0.1 m thick; hinges about Y, Z, X, Y, Z, X, two of them on the ground.

    Six hinges in a loop leave a body no freedom in general; this one moves, because one of its five closing equations
    follows from the others. It falls along -y from rest.

    Source: Gonzalez et al. (2006), A benchmarking system for MBS simulation software, problem A05.
    """
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]
    skeleton, parent = Skeleton("bricard"), None
    skeleton.gravity = DOWN_Y
    made = Mechanism("bricard", skeleton, [])
    for k in range(5):
        bar = _BRICARD[k + 1] - _BRICARD[k]
        axis = int(np.argmax(np.abs(bar)))
        origin = _BRICARD[k] - (0.0 if k == 0 else _BRICARD[k - 1])
        joint = RevoluteJoint(axis=axes[k], transform_from_parent=at(*origin))
        parent = skeleton.add_body(f"bar{k}", joint, parent, inertia=rod(axis, bar[axis], width=0.1))
        made._watch(f"P{k + 1}", parent, tuple(bar))
    made.constraints.append(RevoluteJointConstraint(parent, None, at=_BRICARD[5], axis=axes[5], name="last"))
    return made


def slider_crank(speed: float = 4.0) -> Mechanism:
    """A crank of 0.3 m and 1 kg about z, a rod of 0.8 m and 0.7 kg, and a slider of 1.5 kg on the x axis; no gravity.

    Its energy is that of one coordinate, I(th) th'^2 / 2, so that th' = sqrt(2 E / I(th)).

    Args:
        speed: of the crank at the start [rad/s].

    Raises:
        ModelError: the speed is no finite number.
    """
    rate = number_or_nan(speed)
    if not np.isfinite(rate):
        raise ModelError(f"slider_crank: speed: expected a finite number, got {speed!r}")
    crank_length, rod_length = 0.3, 0.8
    skeleton = Skeleton("slider_crank")
    skeleton.gravity = (0.0, 0.0, 0.0)
    crank = skeleton.add_body("crank", RevoluteJoint("crank", axis=Z), inertia=rod(0, crank_length, 1.0))
    pin = at(crank_length, 0, 0)
    arm = skeleton.add_body(
        "rod", RevoluteJoint("rod", axis=Z, transform_from_parent=pin), crank, rod(0, rod_length, 0.7)
    )
    slide = PrismaticJoint("slider", axis=(1.0, 0.0, 0.0), transform_from_parent=at(crank_length + rod_length, 0, 0))
    slider = skeleton.add_body("slider", slide, inertia=Inertia.from_diagonal(1.5, (0.01, 0.01, 0.01)))
    point = (crank_length + rod_length, 0, 0)
    closure = RevoluteJointConstraint(arm, slider, at=point, axis=Z, name="pin")
    skeleton.velocities = [rate, -rate * (1.0 + crank_length / rod_length), 0.0]
    made = Mechanism("slider_crank", skeleton, [closure])
    made._watch("slider", slider, (0.0, 0.0, 0.0))
    made._watch("middle of the rod", arm, (0.5 * rod_length, 0.0, 0.0))
    return made


def _link(angle: float, twist: float, length: float) -> Array:
    """Pose of a link by Denavit and Hartenberg: turn about z, shift along x, twist about x."""
    c, s, ct, st = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    return np.array(
        [[c, -s * ct, s * st, length * c], [s, c * ct, -c * st, length * s], [0, st, ct, 0], [0, 0, 0, 1.0]]
    )


def bennett(angle: float = 1.0) -> Mechanism:
    """Bennett's linkage: four hinges, no two of them parallel, of which three of five closing equations are redundant.

    Opposite links are alike, with twists A, B of 40 and 70 degrees and lengths in the proportion of their sines. It
    moves by th3 = -th1, th4 = -th2, tan(th1/2) tan(th2/2) = sin((B+A)/2) / sin((B-A)/2). No gravity, th1' = 1.

    Args:
        angle: th1 at the start [rad], other than 0.

    Raises:
        ModelError: an angle at which the linkage is stretched.
    """
    first = number_or_nan(angle)
    if not abs(np.sin(first)) > 1e-3:
        raise ModelError(f"bennett: angle: expected one that is not near a multiple of pi, got {angle!r}")
    A, B = np.radians([40.0, 70.0])
    a, b = 1.0, float(np.sin(B) / np.sin(A))
    ratio = np.sin(0.5 * (B + A)) / np.sin(0.5 * (B - A))
    other = 2.0 * np.arctan(ratio / np.tan(0.5 * first))
    links = [(first, A, a), (other, B, b), (-first, A, a)]
    skeleton, parent, X = Skeleton("bennett"), None, np.eye(4)
    skeleton.gravity = (0.0, 0.0, 0.0)
    for k, (turn, twist, length) in enumerate(links):
        pose = np.eye(4) if k == 0 else _link(0.0, links[k - 1][1], links[k - 1][2])
        inertia = Inertia.from_diagonal(1.0, (0.1, 0.2, 0.15), (0.5 * length, 0.0, 0.0))
        joint = RevoluteJoint(axis=Z, transform_from_parent=pose)
        parent = skeleton.add_body(f"link{k}", joint, parent, inertia=inertia)
        X = X @ _link(turn, twist, length)
    skeleton.positions = [first, other, -first]
    closure = RevoluteJointConstraint(parent, None, at=X[:3, 3], axis=X[:3, 2], name="fourth")
    rate = -np.sin(other) / np.sin(first)  # from tan(th1/2) tan(th2/2) = const
    skeleton.velocities = [1.0, rate, -1.0]
    made = Mechanism("bennett", skeleton, [closure])
    for k, length in enumerate((a, b)):
        made._watch(f"end of link {k}", skeleton.body(f"link{k}"), (length, 0.0, 0.0))
    return made


def spatial_slider_crank(cut: str = "pin") -> Mechanism:
    """A slider-crank in space: a crank about x, a rod on a ball at its pin and on a universal joint at the slider.

    The crank turns at 6 rad/s from upright, the slider of 2 kg is on the x axis; gravity along -z. Cut at the pin, the
    rod hangs on the slider by the universal joint, and a ball constraint closes the loop; cut at the slider it is the
    other way round.

    Args:
        cut: "pin" or "slider".

    Source: IFToMM's library of computational benchmark problems, rigid slider-crank in space.

    Raises:
        ModelError: another cut.
    """
    if cut not in ("pin", "slider"):
        raise ModelError(f"spatial_slider_crank: cut: expected 'pin' or 'slider', got {cut!r}")
    skeleton = Skeleton("spatial_slider_crank")
    pin, hinge, axis = np.array([0.0, 0.1, 0.2]), np.array([0.2, 0.0, 0.0]), (1.0, 0.0, 0.0)
    crank = skeleton.add_body(
        "crank", RevoluteJoint("crank", axis=axis, transform_from_parent=at(0.0, 0.1, 0.12)),
        inertia=Inertia.from_diagonal(0.12, (1e-4, 1e-4, 1e-5), (0.0, 0.0, 0.04)),
    )  # fmt: skip
    slider = skeleton.add_body(
        "slider", PrismaticJoint("slider", axis=axis, transform_from_parent=at(*hinge)),
        inertia=Inertia.from_diagonal(2.0, (1e-4, 1e-4, 1e-4)),
    )  # fmt: skip
    frame = np.eye(4)  # of the rod at the slider: x along it; the universal's axes are its y and z at the start
    along = (pin - hinge) / 0.3
    side = np.cross(axis, along)
    frame[:3, 0], frame[:3, 1] = along, side / np.linalg.norm(side)
    frame[:3, 2] = np.cross(frame[:3, 0], frame[:3, 1])
    bar = Inertia.from_diagonal(0.5, (4e-4, 4e-3, 4e-3), (0.15, 0.0, 0.0))
    # Rates of the slider and of the two angles that move the rod's end with the pin.
    J = np.stack([axis, *(np.cross(frame[:3, k], 0.3 * along) for k in (1, 2))], axis=1)
    rates = np.linalg.solve(J, np.cross([6.0, 0.0, 0.0], [0.0, 0.0, 0.08]))
    if cut == "pin":
        joint = UniversalJoint("rod", axis1=(0.0, 1.0, 0.0), axis2=Z, transform_from_parent=frame)
        arm = skeleton.add_body("rod", joint, slider, bar)
        closure: Constraint = BallJointConstraint(crank, arm, at=pin, name="pin")
        skeleton.velocities = [6.0, *rates]
    else:
        place = frame.copy()
        place[:3, 3] = (0.0, 0.0, 0.08)
        ball = BallJoint("rod", transform_from_parent=place, transform_from_child=at(0.3, 0, 0))
        arm = skeleton.add_body("rod", ball, crank, bar)
        axis1, axis2 = frame[:3, 1], frame[:3, 2]
        closure = UniversalJointConstraint(slider, arm, at=hinge, name="hinge", axis1=axis1, axis2=axis2)
        turn = frame[:3, 1] * rates[1] + frame[:3, 2] * rates[2] - [6.0, 0.0, 0.0]
        skeleton.velocities = [6.0, rates[0], *(frame[:3, :3].T @ turn)]
    made = Mechanism("spatial_slider_crank", skeleton, [closure])
    made._watch("slider", slider, (0.0, 0.0, 0.0))
    made._watch("pin", crank, (0.0, 0.0, 0.08))
    return made
