"""A robot is a puppet that keeps its balance: its soles stand, its hands dance or are dragged, within limits of joints.

A port of DART's example `atlas_puppet`. With the package example-robot-data at hand the robot is Talos, else our
humanoid. The soles come first, then the hands; half spaces keep the centre of mass 2 cm inside of the polygon under
the soles as they stood at first, so that a target that is dragged too far is not reached.
"""

import sysconfig
from pathlib import Path

import numpy as np

import kido
from kido.demos.human_puppet import LEVELS, STANCE, puppet
from kido.ik import HalfSpaces

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
TALOS = ROBOTS / "talos_data" / "robots" / "talos_reduced.urdf"
CORNERS = [(0.1, 0.06, 0), (0.1, -0.06, 0), (-0.1, -0.06, 0), (-0.1, 0.06, 0)]  # of a sole [m]
MARGIN = 0.02  # of the centre of mass inside of the polygon [m]


def talos():
    robot = kido.load_skeleton(TALOS, base="free", package_dirs=(ROBOTS.parent.parent,), collisions=False)
    for name in ("left", "right"):
        for number, angle in {3: -0.41, 4: 0.86, 5: -0.45}.items():
            robot.dof(f"leg_{name}_{number}_joint").position = angle
        robot.dof(f"arm_{name}_4_joint").position = -1.2
    robot.dof("root_joint_z").position = 1.02
    return robot, "left_sole_link", "right_sole_link", "arm_left_7_link", "arm_right_7_link"


def humanoid():
    robot = kido.load_skeleton("humanoid")
    for side in ("left", "right"):
        for joint, angle in STANCE.items():
            robot.dof(f"{side}_{joint}").position = angle
    return robot, *list(LEVELS)[:4]


def make():
    robot, *names = talos() if TALOS.is_file() else humanoid()
    feet, hands = [robot.body(name) for name in names[:2]], [robot.body(name) for name in names[2:]]
    soles = []
    for foot in feet:
        drop = min((shape.world_transform[2, 3] - foot.world_transform[2, 3] for shape in foot.shapes), default=0.0)
        soles.append(foot.create_node(kido.EndEffector, f"{foot.name}_sole", (0.0, 0.0, drop)))
        soles[-1].create(kido.Support, CORNERS, active=True)
    circles = {hand.name: (0.12, turns) for hand, turns in zip(hands, (1.0, -1.0))}
    balance = HalfSpaces.support(robot, margin=MARGIN)
    demo = puppet(robot, [(sole, 0) for sole in soles] + [(hand, 1) for hand in hands], circles, half_spaces=[balance])

    @demo.number("centre of mass inside of the soles by [mm]")
    def inside():
        return 1e3 * distance_inside(robot.support_polygon(), robot.com[:2])

    return demo


def distance_inside(corners, point):
    """Distance [m] of a point from the nearest edge of a polygon, given counterclockwise; negative outside."""
    edges = np.roll(corners, -1, axis=0) - corners
    inwards = np.column_stack([-edges[:, 1], edges[:, 0]]) / np.linalg.norm(edges, axis=1)[:, None]
    return float(np.einsum("ij,ij->i", inwards, point - corners).min())
