"""Our robots. X points forward, Y left, Z up; the origin is on the ground."""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import PchipInterpolator

from kido.motions import Motion
from urdf_text import ZERO, Robot, Vector, box, capsule, sphere

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
ALONG_Y = (math.pi / 2, 0.0, 0.0)


def humanoid() -> Robot:
    """A person of 1.70 m and 75 kg with 35 degrees of freedom, standing with hanging arms at zero.

    Lengths and masses of the segments follow the usual proportions of an adult's body (Winter, Biomechanics
    and Motor Control of Human Movement: fractions of height and of mass).
    """
    robot = Robot("humanoid", "A person of 1.70 m and 75 kg, standing upright at zero.")
    robot.materials = {
        "skin": (0.91, 0.72, 0.58),
        "shirt": (0.24, 0.47, 0.68),
        "trousers": (0.25, 0.27, 0.33),
        "shoes": (0.75, 0.30, 0.22),
    }
    robot.link("world")
    robot.fixed("root", "world", "pelvis", (0, 0, 0.96), kind="floating")
    robot.link("pelvis", 10.65, (capsule(0.10, 0.13, rpy=ALONG_Y),), "trousers")

    robot.hinge("waist_pitch", "pelvis", "waist", (0, 0, 0.08), Y, (-30, 75), 200, damping=4)
    robot.link("waist", 2.0)
    robot.hinge("waist_roll", "waist", "abdomen", (0, 0, 0), X, (-35, 35), 200, damping=4)
    robot.link("abdomen", 8.4, (capsule(0.10, 0.08, (0, 0, 0.07), ALONG_Y),), "shirt")
    robot.hinge("waist_yaw", "abdomen", "chest", (0, 0, 0.14), Z, (-45, 45), 150, damping=4)
    robot.link(
        "chest",
        16.2,
        (capsule(0.125, 0.12, (0, 0, 0.13), ALONG_Y), capsule(0.045, 0.16, (0, 0, 0.23), ALONG_Y)),
        "shirt",
    )
    robot.hinge("neck_yaw", "chest", "neck", (0, 0, 0.28), Z, (-75, 75), 20, damping=0.5)
    robot.link("neck", 1.2, (capsule(0.05, 0.04, (0, 0, 0.03)),), "skin")
    robot.hinge("neck_pitch", "neck", "head", (0, 0, 0.07), Y, (-50, 60), 20, damping=0.5)
    robot.link("head", 4.9, (sphere(0.105, (0.01, 0, 0.065)),), "skin")

    for side, sign in (("left", 1.0), ("right", -1.0)):
        _leg(robot, side, sign)
        _arm(robot, side, sign)
    return robot


def _leg(robot: Robot, side: str, sign: float) -> None:
    """Hip at 0.91 m, knee at 0.49 m, ankle at 0.07 m above the sole."""

    def outward(lower: float, upper: float) -> tuple[float, float]:
        return (lower, upper) if sign > 0 else (-upper, -lower)

    robot.hinge(
        f"{side}_hip_yaw",
        "pelvis",
        f"{side}_hip",
        (0, sign * 0.09, -0.05),
        Z,
        outward(-35, 45),
        100,
        damping=2,
    )
    robot.link(f"{side}_hip", 0.8)
    robot.hinge(f"{side}_hip_roll", f"{side}_hip", f"{side}_hip_side", (0, 0, 0), X, outward(-20, 45), 150, damping=2)
    robot.link(f"{side}_hip_side", 0.8)
    robot.hinge(f"{side}_hip_pitch", f"{side}_hip_side", f"{side}_thigh", (0, 0, 0), Y, (-120, 25), 250, damping=3)
    robot.link(f"{side}_thigh", 5.9, (capsule(0.07, 0.29, (0, 0, -0.20)),), "trousers")
    robot.hinge(f"{side}_knee", f"{side}_thigh", f"{side}_shank", (0, 0, -0.42), Y, (0, 145), 250, damping=2)
    robot.link(f"{side}_shank", 3.1875, (capsule(0.05, 0.30, (0, 0, -0.20)),), "trousers")
    robot.hinge(f"{side}_ankle_pitch", f"{side}_shank", f"{side}_ankle", (0, 0, -0.42), Y, (-30, 50), 150, damping=1)
    robot.link(f"{side}_ankle", 0.3)
    robot.hinge(f"{side}_ankle_roll", f"{side}_ankle", f"{side}_foot", (0, 0, 0), X, outward(-25, 20), 80, damping=1)
    robot.link(f"{side}_foot", 1.0875, (box(0.26, 0.09, 0.07, (0.05, 0, -0.035)),), "shoes")


def _arm(robot: Robot, side: str, sign: float) -> None:
    """Shoulder at 1.40 m; an upper arm of 0.30 m, a forearm of 0.25 m."""

    def outward(lower: float, upper: float) -> tuple[float, float]:
        return (lower, upper) if sign > 0 else (-upper, -lower)

    shoulder = (0, sign * 0.206, 0.22)
    robot.hinge(f"{side}_shoulder_pitch", "chest", f"{side}_shoulder", shoulder, Y, (-180, 60), 80, damping=1)
    robot.link(f"{side}_shoulder", 0.3)
    robot.hinge(
        f"{side}_shoulder_roll",
        f"{side}_shoulder",
        f"{side}_shoulder_side",
        (0, 0, 0),
        X,
        outward(-10, 170),
        80,
        damping=1,
    )
    robot.link(f"{side}_shoulder_side", 0.3)
    robot.hinge(
        f"{side}_shoulder_yaw",
        f"{side}_shoulder_side",
        f"{side}_upper_arm",
        (0, 0, 0),
        Z,
        outward(-90, 60),
        60,
        damping=1,
    )
    robot.link(f"{side}_upper_arm", 1.5, (capsule(0.045, 0.23, (0, 0, -0.145)),), "shirt")
    robot.hinge(f"{side}_elbow", f"{side}_upper_arm", f"{side}_forearm", (0, 0, -0.30), Y, (-145, 0), 60, damping=1)
    robot.link(f"{side}_forearm", 0.7, (capsule(0.038, 0.10, (0, 0, -0.06)),), "skin")
    robot.hinge(
        f"{side}_forearm_roll",
        f"{side}_forearm",
        f"{side}_wrist",
        (0, 0, -0.13),
        Z,
        (-90, 90),
        20,
        damping=0.3,
    )
    robot.link(f"{side}_wrist", 0.5, (capsule(0.032, 0.09, (0, 0, -0.055)),), "skin")
    robot.hinge(f"{side}_wrist_roll", f"{side}_wrist", f"{side}_hand", (0, 0, -0.12), X, (-70, 70), 10, damping=0.2)
    robot.link(f"{side}_hand", 0.45, (box(0.08, 0.03, 0.17, (0, 0, -0.085)),), "skin")


def quadruped() -> Robot:
    """A walking machine of 24 kg with three joints per leg, standing on bent knees at zero."""
    robot = Robot("quadruped", "A four-legged machine of 24 kg, standing on bent knees at zero.")
    robot.materials = {"shell": (0.87, 0.60, 0.22), "dark": (0.22, 0.24, 0.27), "foot": (0.10, 0.10, 0.10)}
    thigh = shank = 0.22
    bend, radius = math.radians(40), 0.022
    robot.link("world")
    robot.fixed("root", "world", "trunk", (0, 0, (thigh + shank) * math.cos(bend) + radius), kind="floating")
    robot.link("trunk", 13.6, (box(0.56, 0.20, 0.13), box(0.10, 0.12, 0.09, (0.33, 0, 0.03))), "shell")
    for end, along in (("front", 1.0), ("hind", -1.0)):
        for side, sign in (("left", 1.0), ("right", -1.0)):
            leg = f"{end}_{side}"
            robot.hinge(
                f"{leg}_hip_roll",
                "trunk",
                f"{leg}_hip",
                (along * 0.21, sign * 0.07, 0),
                X,
                (-45, 45),
                45,
                20,
                0.1,
            )
            robot.link(f"{leg}_hip", 1.0, (capsule(0.045, 0.03, (0, sign * 0.03, 0), ALONG_Y),), "dark", touch=False)
            robot.hinge(
                f"{leg}_hip_pitch",
                f"{leg}_hip",
                f"{leg}_thigh",
                (0, sign * 0.085, 0),
                Y,
                (-100, 60),
                45,
                20,
                0.1,
                rpy=(0, bend, 0),
            )
            robot.link(f"{leg}_thigh", 1.3, (capsule(0.032, thigh - 0.03, (0, 0, -thigh / 2)),), "shell")
            robot.hinge(
                f"{leg}_knee",
                f"{leg}_thigh",
                f"{leg}_shank",
                (0, 0, -thigh),
                Y,
                (-70, 75),
                45,
                20,
                0.1,
                rpy=(0, -2 * bend, 0),
            )
            robot.link(f"{leg}_shank", 0.25, (capsule(0.016, shank - 0.05, (0, 0, -shank / 2)),), "dark")
            robot.fixed(f"{leg}_ankle", f"{leg}_shank", f"{leg}_foot", (0, 0, -shank))
            robot.link(f"{leg}_foot", 0.05, (sphere(radius),), "foot")
    return robot


def arm7() -> Robot:
    """An arm of seven joints on a pedestal, 1.1 m tall when stretched out, straight up at zero."""
    robot = Robot("arm7", "An arm of seven joints, fixed to the ground, straight up at zero.")
    robot.materials = {"light": (0.88, 0.88, 0.86), "accent": (0.80, 0.36, 0.20), "dark": (0.25, 0.26, 0.30)}
    robot.link("world")
    robot.fixed("mount", "world", "base", (0, 0, 0))
    robot.link("base", 6.0, (box(0.22, 0.22, 0.10, (0, 0, 0.05)),), "dark")
    _seven_joints(robot)
    return robot


def _seven_joints(robot: Robot, side: str = "") -> None:
    """From the link "base" up; names begin with the side."""
    # name, height above the joint before, axis, limits, torque, mass, parts, colour
    joints = (
        ("shoulder_yaw", "shoulder", 0.10, Z, 170, 180, 4.0, capsule(0.07, 0.10, (0, 0, 0.09)), "light"),
        ("shoulder_pitch", "upper_arm", 0.18, Y, 115, 180, 4.0, capsule(0.06, 0.14, (0, 0, 0.10)), "accent"),
        ("arm_roll", "elbow_link", 0.20, Z, 170, 110, 3.0, capsule(0.058, 0.10, (0, 0, 0.08)), "light"),
        ("elbow", "forearm", 0.16, Y, 120, 110, 2.6, capsule(0.052, 0.12, (0, 0, 0.09)), "accent"),
        ("forearm_roll", "wrist_link", 0.18, Z, 170, 70, 1.8, capsule(0.048, 0.08, (0, 0, 0.07)), "light"),
        ("wrist_pitch", "wrist", 0.14, Y, 115, 40, 1.4, sphere(0.05, (0, 0, 0.02)), "accent"),
        ("wrist_roll", "hand", 0.07, Z, 175, 40, 0.7, box(0.08, 0.10, 0.07, (0, 0, 0.035)), "dark"),
    )
    parent = f"{side}base"
    for name, child, height, axis, limit, effort, mass, part, color in joints:
        robot.hinge(side + name, parent, side + child, (0, 0, height), axis, (-limit, limit), effort, 2.5, 0.5)
        robot.link(side + child, mass, (part,), color)
        parent = side + child


def two_arms() -> Robot:
    """Two arms of seven joints on a carriage that is lifted along a mast, on a base that drives in any direction.

    At zero the arms are stretched out to the sides, 1 m above the ground.
    """
    robot = Robot("two_arms", "A mobile robot of 18 joints: a base, a lift, and two arms, stretched out at zero.")
    robot.materials = {"light": (0.88, 0.88, 0.86), "accent": (0.16, 0.42, 0.62), "dark": (0.25, 0.26, 0.30)}
    robot.link("world")
    robot.slide("base_x", "world", "base_carrier_x", ZERO, X, None, 600, 1.0, 10.0)
    robot.link("base_carrier_x", 1.0)
    robot.slide("base_y", "base_carrier_x", "base_carrier_y", ZERO, Y, None, 600, 1.0, 10.0)
    robot.link("base_carrier_y", 1.0)
    robot.hinge("base_yaw", "base_carrier_y", "base", ZERO, Z, (-360, 360), 300, 1.5, 2.0)
    robot.link("base", 70.0, (box(0.54, 0.54, 0.24, (0, 0, 0.20)), box(0.12, 0.16, 0.95, (-0.17, 0, 0.795))), "dark")
    robot.link("base_wheels", 4.0, tuple(sphere(0.08, (x, y, 0.08)) for x in (-0.2, 0.2) for y in (-0.2, 0.2)), "light",
               touch=False)  # fmt: skip
    robot.fixed("base_wheels_mount", "base", "base_wheels")
    robot.slide("torso_lift", "base", "torso", (-0.02, 0, 0.9), Z, (-0.2, 0.3), 1800, 0.5, 20.0)
    robot.link("torso", 12.0, (box(0.16, 0.20, 0.24), box(0.08, 0.22, 0.06, (0.02, 0, 0.36))), "light")
    for side, sign in (("left_", 1.0), ("right_", -1.0)):
        robot.fixed(f"{side}mount", "torso", f"{side}base", (0, 0.1 * sign, 0), rpy=(-0.5 * sign * math.pi, 0, 0))
        robot.link(f"{side}base", 3.0, (box(0.16, 0.16, 0.10, (0, 0, 0.05)),), "dark")
        _seven_joints(robot, side)
    return robot


SIDE, BEND, TURN = ("side", X), ("bend", Y), ("turn", Z)
FINGER = {"proximal": (SIDE, BEND), "middle": (BEND,), "distal": (BEND,)}
THUMB = {"metacarpal": (SIDE, BEND, TURN), "proximal": (SIDE, BEND), "distal": (BEND,)}
FINGERS = {  # links and their joints' axes; place [m] and turn about x in the palm; lengths [m]
    "thumb": (THUMB, (0.008, 0.036, 0.025), -0.75, (0.046, 0.034, 0.028)),
    "index": (FINGER, (0.0, 0.033, 0.1), 0.0, (0.043, 0.026, 0.021)),
    "middle": (FINGER, (0.0, 0.011, 0.1), 0.0, (0.047, 0.029, 0.022)),
    "ring": (FINGER, (0.0, -0.011, 0.1), 0.0, (0.043, 0.027, 0.022)),
    "pinky": (FINGER, (0.0, -0.033, 0.1), 0.0, (0.034, 0.021, 0.02)),
}
LIMITS = {"side": (-30, 30), "bend": (-25, 100), "turn": (-60, 60)}  # [degrees]


def hand() -> Robot:
    """A right hand on a forearm that stands, its palm forwards: 24 joints, 1 kg of hand."""
    robot = Robot("hand", "A right hand of 24 joints on a forearm that stands, its palm forwards.")
    robot.materials = {"sleeve": (0.24, 0.47, 0.68), "skin": (0.91, 0.72, 0.58), "tips": (0.86, 0.60, 0.48)}
    robot.link("world")
    robot.fixed("mount", "world", "forearm")
    robot.link("forearm", 1.2, (capsule(0.028, 0.14, (0, 0, 0.11)),), "sleeve")
    _joints(robot, "forearm", "palm", (SIDE, BEND), (0, 0, 0.22))
    robot.link("palm", 0.5, (box(0.026, 0.088, 0.1, (0, 0, 0.05)),), "skin")
    for finger, (links, at, turn, lengths) in FINGERS.items():
        parent = "palm"
        for k, ((name, axes), length) in enumerate(zip(links.items(), lengths, strict=True)):
            _joints(robot, parent, f"{finger}_{name}", axes, at, turn)
            part = capsule(0.0095 - 0.0008 * k, 0.85 * length, (0, 0, 0.5 * length))
            parent, at, turn = f"{finger}_{name}", (0.0, 0.0, length), 0.0
            robot.link(parent, length, (part,), "tips" if k == 2 else "skin")  # 1 kg/m
    return robot


def _joints(
    robot: Robot, parent: str, child: str, axes: tuple[tuple[str, Vector], ...], at: Vector, turn: float = 0.0
) -> None:
    """Hinges at one place, with links without mass between them."""
    for name, direction in axes:
        link = child if name == axes[-1][0] else f"{child}_{name}"
        robot.hinge(f"{child}_{name}", parent, link, at, direction, LIMITS[name], 20, 20, 0.002, (turn, 0, 0))
        if link != child:
            robot.link(link)
        parent, at, turn = link, ZERO, 0.0


POSES = (  # time [s]; bent from the thumb to the pinky, 0 to 1; spread, 0 to 1; wrist [rad]
    (0.0, (0, 0, 0, 0, 0), 0.2, 0.0),
    (1.0, (1, 1, 1, 1, 1), 0.0, 0.3),  # a fist
    (1.5, (1, 1, 1, 1, 1), 0.0, 0.3),
    (2.2, (1, 0, 1, 1, 1), 0.0, 0.0),  # counts
    (3.0, (1, 0, 0, 1, 1), 0.8, 0.0),
    (3.8, (1, 0, 0, 0, 1), 0.6, 0.0),
    (4.6, (1, 0, 0, 0, 0), 0.8, 0.0),
    (5.4, (0, 0, 0, 0, 0), 1.0, -0.3),
    (6.0, (0.2, 0.8, 0.5, 0.2, 0.0), 0.1, 0.2),  # waves
    (6.6, (0.2, 0.0, 0.2, 0.5, 0.8), 0.1, -0.2),
    (7.2, (0.2, 0.8, 0.5, 0.2, 0.0), 0.1, 0.2),
    (8.0, (0, 0, 0, 0, 0), 0.2, 0.0),
)


def hand_motion() -> Motion:
    """A hand makes a fist, counts to five and waves."""
    times = np.arange(161) / 20.0
    keys = np.array([[*bent, spread, wrist] for _, bent, spread, wrist in POSES])
    *bent, spread, wrist = PchipInterpolator([pose[0] for pose in POSES], keys)(times).T
    rows = {"palm_side": 0.1 * np.sin(np.pi * times / 4.0), "palm_bend": wrist}
    for k, (finger, turned) in enumerate(zip(FINGERS, bent, strict=True)):
        if finger == "thumb":
            share = {"metacarpal_side": 0.4, "metacarpal_bend": 0.7, "metacarpal_turn": 0.5, "proximal_side": 0.0}
            share |= {"proximal_bend": 0.5, "distal_bend": 0.8}
        else:
            rows[f"{finger}_proximal_side"] = (0.25 * k - 0.625) * spread
            share = {"proximal_bend": 1.35, "middle_bend": 1.6, "distal_bend": 0.9}
        rows |= {f"{finger}_{name}": angle * turned for name, angle in share.items()}
    return Motion(list(rows), np.round(np.transpose(list(rows.values())), 3), 20.0)
