"""Linkages with known motions, closed by constraints: models for tests and benchmarks.

Sources of the truths: reduced equations of one coordinate, integrated to 1e-10, and closed forms; stated at each.
"""

from __future__ import annotations

import numpy as np

import kido

Z = (0.0, 0.0, 1.0)


def at(*point: float) -> np.ndarray:
    X = np.eye(4)
    X[:3, 3] = point
    return X


def rod(axis: int, length: float = 1.0, mass: float = 1.0, width: float = 0.0) -> kido.Inertia:
    """A bar from the body's origin along a coordinate axis (negative lengths: against it)."""
    moments = np.full(3, mass * (length**2 + width**2) / 12.0)
    moments[axis] = max(mass * width**2 / 6.0, 1e-9)
    com = np.zeros(3)
    com[axis] = 0.5 * length
    return kido.Inertia.from_diagonal(mass, moments, com)


def n_four_bar(windows: int, time_step: float) -> tuple[kido.World, kido.Skeleton]:
    """Cranks of 1 m and 1 kg on the line y = 0, joined at their tops by couplers alike; gravity along -y.

    [(N+1)/3 + N] th'' = -[(N+1)/2 + N] g cos th, from th = pi/2, th' = -1.
    """
    world = kido.World(gravity=(0.0, -9.81, 0.0), time_step=time_step)
    skeleton = kido.Skeleton("four_bar")
    cranks = [
        skeleton.add_body(f"crank{k}", kido.RevoluteJoint(axis=Z, transform_from_parent=at(k, 0, 0)), inertia=rod(1))
        for k in range(windows + 1)
    ]
    couplers = [
        skeleton.add_body(
            f"coupler{k}", kido.RevoluteJoint(axis=Z, transform_from_parent=at(0, 1, 0)), cranks[k], inertia=rod(0)
        )
        for k in range(windows)
    ]
    world.add_skeleton(skeleton)
    for k in range(windows):
        world.add_constraint(
            kido.RevoluteJointConstraint(couplers[k], cranks[k + 1], at=(k + 1, 1, 0), axis=Z, name=f"loop{k}")
        )
    skeleton.velocities = [-1.0] * (windows + 1) + [1.0] * windows
    return world, skeleton


def crank_top(skeleton: kido.Skeleton) -> np.ndarray:
    return (skeleton.body("crank0").world_transform @ [0.0, 1.0, 0.0, 1.0])[:2]


BRICARD_POINTS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
BRICARD_P3 = {
    0.5: (0.96828368, -1.22462516, 0.75014661),
    1.0: (0.51050146, -1.64916760, 0.14012311),
    2.0: (-0.96934034, -1.22124689, 0.75427801),
    8.0: (-0.96494857, -1.23485955, 0.73756095),
    10.0: (0.99999996, -1.00026901, 0.99973095),
}


def bricard(time_step: float) -> tuple[kido.World, kido.Skeleton]:
    """Bricard's six-hinge linkage: five bars of 1 m, 1 kg, 0.1 m thick, hinged about Y, Z, X, Y, Z, X to the ground."""
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]
    world = kido.World(gravity=(0.0, -9.81, 0.0), time_step=time_step)
    skeleton, parent = kido.Skeleton("bricard"), None
    for k in range(5):
        bar = BRICARD_POINTS[k + 1] - BRICARD_POINTS[k]
        axis = int(np.argmax(np.abs(bar)))
        origin = BRICARD_POINTS[k] - (0.0 if k == 0 else BRICARD_POINTS[k - 1])
        joint = kido.RevoluteJoint(axis=axes[k], transform_from_parent=at(*origin))
        parent = skeleton.add_body(f"bar{k}", joint, parent, inertia=rod(axis, bar[axis], width=0.1))
    world.add_skeleton(skeleton)
    world.add_constraint(kido.RevoluteJointConstraint(parent, None, at=BRICARD_POINTS[5], axis=axes[5], name="last"))
    return world, skeleton


def bricard_point(skeleton: kido.Skeleton) -> np.ndarray:
    """P3, the end of the third bar."""
    return (skeleton.body("bar2").world_transform @ [*(BRICARD_POINTS[3] - BRICARD_POINTS[2]), 1.0])[:3]


CRANK, ROD = 0.3, 0.8  # [m] of the slider-crank
MASSES = (1.0, 0.7, 1.5)  # [kg] crank, rod, slider


def slider_crank(time_step: float, speed: float = 4.0) -> tuple[kido.World, kido.Skeleton]:
    """Crank about the origin, rod, and a slider on the x axis; no gravity. Closed between rod and slider by a revolute.

    th' = sqrt(2 E / I(th)) exactly; `slider_crank_rate` has I.
    """
    world = kido.World(gravity=(0.0, 0.0, 0.0), time_step=time_step)
    skeleton = kido.Skeleton("slider_crank")
    crank = skeleton.add_body("crank", kido.RevoluteJoint("crank", axis=Z), inertia=rod(0, CRANK, MASSES[0]))
    arm = skeleton.add_body(
        "rod", kido.RevoluteJoint("rod", axis=Z, transform_from_parent=at(CRANK, 0, 0)), crank, rod(0, ROD, MASSES[1])
    )
    slider = skeleton.add_body(
        "slider",
        kido.PrismaticJoint("slider", axis=(1.0, 0.0, 0.0), transform_from_parent=at(CRANK + ROD, 0, 0)),
        inertia=kido.Inertia.from_diagonal(MASSES[2], (0.01, 0.01, 0.01)),
    )
    world.add_skeleton(skeleton)
    world.add_constraint(kido.RevoluteJointConstraint(arm, slider, at=(CRANK + ROD, 0, 0), axis=Z, name="pin"))
    skeleton.velocities = [speed, -speed * (1.0 + CRANK / ROD), 0.0]
    return world, skeleton


def slider_crank_inertia(angle: float) -> float:
    """I(th) with E = I th'^2 / 2."""
    s, c = np.sin(angle), np.cos(angle)
    sine = CRANK * s / ROD
    cosine = np.sqrt(1.0 - sine**2)
    turn = CRANK * c / (ROD * cosine)
    centre = np.array([-CRANK * s - 0.5 * ROD * sine * turn, CRANK * c - 0.5 * ROD * cosine * turn])
    slide = -CRANK * s - ROD * sine * turn
    m1, m2, m3 = MASSES
    return m1 * CRANK**2 / 3 + m2 * centre @ centre + m2 * ROD**2 / 12 * turn**2 + m3 * slide**2


def dh(angle: float, twist: float, length: float) -> np.ndarray:
    """Pose of a link by Denavit and Hartenberg: turn about z, shift along x, twist about x."""
    c, s, ct, st = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    return np.array(
        [[c, -s * ct, s * st, length * c], [s, c * ct, -c * st, length * s], [0, st, ct, 0], [0, 0, 0, 1.0]]
    )


BENNETT_TWISTS = np.radians([40.0, 70.0])
BENNETT_LENGTHS = (1.0, float(np.sin(BENNETT_TWISTS[1]) / np.sin(BENNETT_TWISTS[0])))
BENNETT_RATIO = 3.1649604609449  # tan(th1/2) tan(th2/2)


def bennett(time_step: float, angle: float = 1.0) -> tuple[kido.World, kido.Skeleton]:
    """Bennett's four-hinge linkage: three moving links, the fourth is the ground; no gravity."""
    A, B = BENNETT_TWISTS
    a, b = BENNETT_LENGTHS
    other = 2.0 * np.arctan(BENNETT_RATIO / np.tan(0.5 * angle))
    links = [(angle, A, a), (other, B, b), (-angle, A, a), (-other, B, b)]
    world = kido.World(gravity=(0.0, 0.0, 0.0), time_step=time_step)
    skeleton, parent, X = kido.Skeleton("bennett"), None, np.eye(4)
    for k, (turn, twist, length) in enumerate(links[:3]):
        pose = np.eye(4) if k == 0 else dh(0.0, links[k - 1][1], links[k - 1][2])
        inertia = kido.Inertia.from_diagonal(1.0, (0.1, 0.2, 0.15), (0.5 * length, 0.0, 0.0))
        joint = kido.RevoluteJoint(axis=Z, transform_from_parent=pose)
        parent = skeleton.add_body(f"link{k}", joint, parent, inertia=inertia)
        X = X @ dh(turn, twist, length)
    world.add_skeleton(skeleton)
    skeleton.positions = [angle, other, -angle]
    world.add_constraint(kido.RevoluteJointConstraint(parent, None, at=X[:3, 3], axis=X[:3, 2], name="fourth"))
    rate = -np.sin(other) / np.sin(angle)  # from tan(th1/2) tan(th2/2) = const
    skeleton.velocities = [1.0, rate, -1.0]
    return world, skeleton


FREUDENSTEIN = (0.2, 0.5, 0.4, 0.5)  # [m] crank, coupler, rocker, ground


def driven_four_bar(time_step: float) -> tuple[kido.World, kido.Skeleton]:
    """Bars of 1000 kg/m^3 and half thickness 0.02 m; the crank has the torque 100 (2 pi - w), no gravity."""
    a, b, c, d = FREUDENSTEIN
    world = kido.World(gravity=(0.0, 0.0, 0.0), time_step=time_step)
    skeleton = kido.Skeleton("driven")
    angle = np.pi / 2
    top = np.array([a * np.cos(angle), a * np.sin(angle)])
    # The rocker's pin: distance b from the crank's, c from the ground's far pivot.
    reach = np.linalg.norm(np.array([d, 0.0]) - top)
    lean = np.arctan2(-top[1], d - top[0])
    inner = np.arccos((reach**2 + b**2 - c**2) / (2 * reach * b))
    pin = top + b * np.array([np.cos(lean + inner), np.sin(lean + inner)])
    coupler = lean + inner
    rocker = np.arctan2(pin[1], pin[0] - d)

    def bar(length: float) -> kido.Inertia:
        size = (length, 0.04, 0.04)
        return kido.Inertia.from_shape(kido.Box(size), density=1000.0, transform=at(0.5 * length, 0, 0))

    # Torque 100 (2 pi - w): a constant command, and a damper.
    crank = skeleton.add_body("crank", kido.RevoluteJoint("crank", axis=Z, damping=100.0), inertia=bar(a))
    middle = skeleton.add_body(
        "coupler", kido.RevoluteJoint("coupler", axis=Z, transform_from_parent=at(a, 0, 0)), crank, bar(b)
    )
    last = skeleton.add_body(
        "rocker", kido.RevoluteJoint("rocker", axis=Z, transform_from_parent=at(d, 0, 0)), inertia=bar(c)
    )
    skeleton.positions = [angle, coupler - angle, rocker]
    world.add_skeleton(skeleton)
    world.add_constraint(kido.RevoluteJointConstraint(middle, last, at=(*pin, 0.0), axis=Z, name="pin"))
    skeleton.forces = [200.0 * np.pi, 0.0, 0.0]
    return world, skeleton


def freudenstein(crank: float, rocker: float) -> float:
    """K1 cos t4 - K2 cos t2 + K3 - cos(t2 - t4): zero where the four-bar is closed."""
    a, b, c, d = FREUDENSTEIN
    return (
        d / a * np.cos(rocker)
        - d / c * np.cos(crank)
        + (a**2 - b**2 + c**2 + d**2) / (2 * a * c)
        - np.cos(crank - rocker)
    )


# Andrews' squeezer: seven bodies in a plane; theory (g) 3, after Schiehlen (1990). Lengths [m], masses [kg].
SQUEEZER_POINTS = {"A": (-0.06934, -0.00227), "B": (-0.03635, 0.03273), "C": (0.014, 0.072)}
SQUEEZER_START = (-0.0617138900142764, 0.0, 0.455279819163070, 0.222668390165886, 0.487364979543843,
                  -0.222668390165886, 1.23054744454982)  # fmt: skip
# beta, theta, gamma, phi, delta, Omega, epsilon at 0.03 s, and the first rate; beta and theta at 0.05 s
SQUEEZER_AT_30 = (15.810771196, -15.756371059, 0.04082224013, -0.53473011632, 0.52440996588, 0.53473011632,
                  1.04808074104)  # fmt: skip
SQUEEZER_RATE_AT_30 = 1139.920302
SQUEEZER_AT_50 = (33.82586777, -33.58343152)
SQUEEZER_TORQUE = 0.033  # [N m]


def planar(mass: float, moment: float, x: float, y: float) -> kido.Inertia:
    """A body of a plane mechanism: its moment of inertia about z at its centre of mass."""
    return kido.Inertia.from_diagonal(mass, (0.5 * moment, 0.5 * moment, moment), (x, y, 0.0))


def squeezer(time_step: float) -> tuple[kido.World, kido.Skeleton]:
    """Chains O-F-E, B-E, A-G-E and A-H-E that meet in E; a torque on the crank at O, a spring from D to C, no gravity.

    Joint angles are beta, theta, gamma, delta, phi, epsilon, Omega, up to constants (`squeezer_angles`).
    """
    world = kido.World(gravity=(0.0, 0.0, 0.0), time_step=time_step)
    skeleton = kido.Skeleton("squeezer")
    beta, theta, gamma, phi, delta, omega, epsilon = SQUEEZER_START

    def add(name: str, point: tuple, inertia: kido.Inertia, parent: kido.BodyNode | None = None) -> kido.BodyNode:
        joint = kido.RevoluteJoint(name, axis=Z, transform_from_parent=at(*point, 0.0))
        return skeleton.add_body(name, joint, parent, inertia=inertia)

    A, B, C = (SQUEEZER_POINTS[k] for k in "ABC")
    crank = add("OF", (0.0, 0.0), planar(0.04325, 2.194e-6, 0.00092, 0.0))
    rod_e = add("FE", (0.007, 0.0), planar(0.00365, 4.410e-7, 0.0115, 0.0), crank)
    plate = add("BDE", B, planar(0.02373, 5.255e-6, 0.01043, -0.01874))
    arm_g = add("AG", A, planar(0.07050, 1.169e-5, 0.02308, 0.00916))
    link_g = add("GE", (0.04, 0.0), planar(0.00706, 5.667e-7, 0.00579, 0.0), arm_g)
    arm_h = add("AH", A, planar(0.05498, 1.912e-5, -0.00449, -0.01228))
    link_h = add("HE", (0.0, -0.04), planar(0.00706, 5.667e-7, 0.00579, 0.0), arm_h)
    # x of FE points along -(cos, sin)(beta + theta), of GE along (sin, -cos)(phi + delta), of HE along (cos, sin).
    skeleton.positions = [beta, theta + np.pi, gamma, delta, phi - 0.5 * np.pi, epsilon, omega]
    world.add_skeleton(skeleton)
    for name, link, end in (("F-E", rod_e, 0.028), ("G-E", link_g, 0.02), ("H-E", link_h, 0.02)):
        world.add_constraint(
            kido.RevoluteJointConstraint(link, plate, frame_a=at(end, 0, 0), frame_b=at(0, -0.035, 0), name=name)
        )
    world.add_constraint(
        kido.DistanceConstraint(
            None,
            plate,
            frame_a=at(*C, 0),
            frame_b=at(0.02, -0.018, 0),
            distance=0.07785,
            stiffness=4530.0,
            name="spring",
        )
    )
    skeleton.forces = [SQUEEZER_TORQUE, *[0.0] * 6]
    return world, skeleton


def squeezer_angles(skeleton: kido.Skeleton) -> np.ndarray:
    """beta, theta, gamma, phi, delta, Omega, epsilon."""
    q = skeleton.positions
    return np.array([q[0], q[1] - np.pi, q[2], q[4] + 0.5 * np.pi, q[3], q[6], q[5]])


def spatial_slider_crank(time_step: float, cut: str = "pin") -> tuple[kido.World, kido.Skeleton]:
    """IFToMM's 3-D slider-crank, theory (g) 7b: a crank about x, a rod on a ball at its pin, a universal at the slider.

    Cut at the pin, the rod hangs on the slider by the universal joint, and a ball constraint closes the loop; cut at
    the slider it is the other way round.
    """
    world = kido.World(time_step=time_step)
    skeleton = kido.Skeleton("slider_crank")
    pin, hinge = np.array([0.0, 0.1, 0.2]), np.array([0.2, 0.0, 0.0])
    crank = skeleton.add_body(
        "crank", kido.RevoluteJoint("crank", axis=(1.0, 0.0, 0.0), transform_from_parent=at(0.0, 0.1, 0.12)),
        inertia=kido.Inertia.from_diagonal(0.12, (1e-4, 1e-4, 1e-5), (0.0, 0.0, 0.04)),
    )  # fmt: skip
    slider = skeleton.add_body(
        "slider", kido.PrismaticJoint("slider", axis=(1.0, 0.0, 0.0), transform_from_parent=at(*hinge)),
        inertia=kido.Inertia.from_diagonal(2.0, (1e-4, 1e-4, 1e-4)),
    )  # fmt: skip
    frame = np.eye(4)  # of the rod at the slider: x along it; the universal's axes are its y and z at the start
    along = (pin - hinge) / 0.3
    side = np.cross([1.0, 0.0, 0.0], along)
    frame[:3, 0], frame[:3, 1] = along, side / np.linalg.norm(side)
    frame[:3, 2] = np.cross(frame[:3, 0], frame[:3, 1])
    bar = kido.Inertia.from_diagonal(0.5, (4e-4, 4e-3, 4e-3), (0.15, 0.0, 0.0))
    # Rates of the slider and of the two angles that move the rod's end with the pin, at 6 rad/s of the crank.
    J = np.stack([[1.0, 0.0, 0.0], *(np.cross(frame[:3, k], 0.3 * along) for k in (1, 2))], axis=1)
    rates = np.linalg.solve(J, np.cross([6.0, 0.0, 0.0], [0.0, 0.0, 0.08]))
    if cut == "pin":
        arm = skeleton.add_body(
            "rod", kido.UniversalJoint("rod", axis1=(0.0, 1.0, 0.0), axis2=Z, transform_from_parent=frame), slider, bar
        )
        world.add_skeleton(skeleton)
        world.add_constraint(kido.BallJointConstraint(crank, arm, at=pin, name="pin"))
        skeleton.velocities = [6.0, *rates]
    else:
        place = frame.copy()
        place[:3, 3] = (0.0, 0.0, 0.08)
        arm = skeleton.add_body(
            "rod", kido.BallJoint("rod", transform_from_parent=place, transform_from_child=at(0.3, 0, 0)), crank, bar
        )
        world.add_skeleton(skeleton)
        axes = {"axis1": frame[:3, 1], "axis2": frame[:3, 2]}
        world.add_constraint(kido.UniversalJointConstraint(slider, arm, at=hinge, name="hinge", **axes))
        turn = frame[:3, 1] * rates[1] + frame[:3, 2] * rates[2] - [6.0, 0.0, 0.0]
        skeleton.velocities = [6.0, rates[0], *(frame[:3, :3].T @ turn)]
    return world, skeleton
