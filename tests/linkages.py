"""Linkages with known motions, closed by constraints: models for tests and benchmarks.

Sources of the truths: reduced equations of one coordinate, integrated to 1e-10, and closed forms; stated at each.
"""

from __future__ import annotations

import numpy as np

import kido
from trees import at

Z = (0.0, 0.0, 1.0)


def rod(axis: int, length: float = 1.0, mass: float = 1.0, width: float = 0.0) -> kido.Inertia:
    """A bar from the body's origin along a coordinate axis (negative lengths: against it)."""
    moments = np.full(3, mass * (length**2 + width**2) / 12.0)
    moments[axis] = max(mass * width**2 / 6.0, 1e-9)
    com = np.zeros(3)
    com[axis] = 0.5 * length
    return kido.Inertia.from_diagonal(mass, moments, com)


def n_four_bar(windows: int, time_step: float) -> tuple[kido.World, kido.Skeleton]:
    """`kido.models.n_four_bar` in a world."""
    bars = kido.models.n_four_bar(windows)
    return bars.world(time_step), bars.skeleton


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
    """`kido.models.bricard` in a world."""
    linkage = kido.models.bricard()
    return linkage.world(time_step), linkage.skeleton


def bricard_point(skeleton: kido.Skeleton) -> np.ndarray:
    """P3, the end of the third bar."""
    return (skeleton.body("bar2").world_transform @ [*(BRICARD_POINTS[3] - BRICARD_POINTS[2]), 1.0])[:3]


CRANK, ROD = 0.3, 0.8  # [m] of the slider-crank
MASSES = (1.0, 0.7, 1.5)  # [kg] crank, rod, slider


def slider_crank(time_step: float, speed: float = 4.0) -> tuple[kido.World, kido.Skeleton]:
    """`kido.models.slider_crank` in a world: th' = sqrt(2 E / I(th)) exactly, with I of `slider_crank_inertia`."""
    mechanism = kido.models.slider_crank(speed)
    return mechanism.world(time_step), mechanism.skeleton


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


BENNETT_RATIO = 3.1649604609449  # tan(th1/2) tan(th2/2)


def bennett(time_step: float, angle: float = 1.0) -> tuple[kido.World, kido.Skeleton]:
    """`kido.models.bennett` in a world."""
    linkage = kido.models.bennett(angle)
    return linkage.world(time_step), linkage.skeleton


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
# beta, theta, gamma, phi, delta, Omega, epsilon at 0.03 s, and the first rate; beta and theta at 0.05 s
SQUEEZER_AT_30 = (15.810771196, -15.756371059, 0.04082224013, -0.53473011632, 0.52440996588, 0.53473011632,
                  1.04808074104)  # fmt: skip
SQUEEZER_RATE_AT_30 = 1139.920302
SQUEEZER_AT_50 = (33.82586777, -33.58343152)


def squeezer(time_step: float) -> tuple[kido.World, kido.Skeleton]:
    """`kido.models.andrews_squeezer` in a world; its angles are `squeezer_angles`."""
    mechanism = kido.models.andrews_squeezer()
    return mechanism.world(time_step), mechanism.skeleton


def squeezer_angles(skeleton: kido.Skeleton) -> np.ndarray:
    """beta, theta, gamma, phi, delta, Omega, epsilon."""
    q = skeleton.positions
    return np.array([q[0], q[1] - np.pi, q[2], q[4] + 0.5 * np.pi, q[3], q[6], q[5]])


def spatial_slider_crank(time_step: float, cut: str = "pin") -> tuple[kido.World, kido.Skeleton]:
    """`kido.models.spatial_slider_crank` in a world."""
    mechanism = kido.models.spatial_slider_crank(cut)
    return mechanism.world(time_step), mechanism.skeleton


# A four-bar as URDF, closed by Gazebo's extension

LINK = """<link name="{}"><inertial><origin xyz="{} 0 0"/><mass value="1"/>
<inertia ixx="0.001" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/><origin xyz="{}"/>
<axis xyz="0 0 1"/></joint>"""


def parallelogram(loop: str) -> str:
    """Cranks of 0.3 m along y at x = 0 and x = 1, a coupler of 1 m from the first one's end."""
    return "".join([
        '<robot name="bar"><link name="base"/>',
        *(LINK.format(name, x) for name, x in (("one", 0.1), ("coupler", 0.5), ("two", 0.1))),
        JOINT.format("j1", "base", "one", "0 0 0"),
        JOINT.format("j2", "one", "coupler", "0 0.3 0"),
        JOINT.format("j3", "base", "two", "1 0 0"),
        f"<gazebo>{loop}</gazebo></robot>",
    ])  # fmt: skip


CLOSING = """<joint name="pin" type="revolute"><parent>coupler</parent><child>two</child><pose>0 0.3 0 0 0 0</pose>
<axis><xyz>0 0 1</xyz><limit><lower>-1.5</lower></limit><dynamics><damping>0.2</damping></dynamics></axis></joint>"""
