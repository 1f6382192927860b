"""A small world to make mistakes in, and what can be seen of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

import kido

BOX = kido.Box((0.1, 0.1, 0.2))
INERTIA = kido.Inertia.from_shape(BOX, mass=1.0)


def arm(name: str) -> kido.Skeleton:
    """Three links in a chain: a shoulder and an elbow that turn, a hand that slides."""
    made = kido.Skeleton(name)
    parent = None
    for link, joint in (
        ("upper", kido.RevoluteJoint("shoulder", axis=(0, 1, 0), position_lower_limit=-2.0, position_upper_limit=2.0)),
        ("lower", kido.RevoluteJoint("elbow", axis=(0, 1, 0), transform_from_parent=(0, 0, 0.3), damping=0.1)),
        ("hand", kido.PrismaticJoint("slide", axis=(0, 0, 1), transform_from_parent=(0, 0, 0.3))),
    ):
        parent = made.add_body(link, joint, parent, INERTIA)
        parent.add_shape(BOX, name=f"{link} box")
    made.positions = [0.1, 0.2, 0.05]
    return made


def lab(folder: Path) -> dict[str, Any]:
    """The names that rows use."""
    world = kido.World("lab")
    robot = world.add_skeleton(arm("arm"))
    lower = robot.body("lower")
    tip = robot.body("hand").create_node(kido.EndEffector, "tip")
    lower.create(kido.Aspect)
    mark = lower.create_node(kido.Marker, "mark", (0.0, 0.0, 0.1))
    ball = kido.Skeleton("ball")
    ball.add_body("ball", kido.FreeJoint("free"), inertia=INERTIA).add_shape(kido.Sphere(0.1), name="sphere")
    ball.positions = [0, 0, 0, 1.0, 0, 0.0995]
    world.add_skeleton(ball)
    world.add_ground()
    spare, gone = arm("spare"), arm("gone")
    lost = gone.body("hand")
    lost.remove()
    world.add_skeleton(gone)
    world.remove_skeleton(gone)
    tie = world.add_constraint(kido.DistanceConstraint(ball.bodies[0], None, name="tie"))
    ik = kido.InverseKinematics(robot.body("hand"))
    world.step(3)
    (folder / "broken.urdf").write_text("<robot name='r'><link name='a'></robot>")
    (folder / "notes.txt").write_text("no model")
    return {
        "kido": kido, "np": np, "nan": math.nan, "inf": math.inf, "folder": folder, "world": world, "robot": robot,
        "ball": ball, "ground": world.skeleton("ground"), "spare": spare, "gone": gone, "lost": lost, "body": lower,
        "hand": robot.body("hand"), "joint": robot.joint("elbow"), "dof": robot.dof("elbow"), "shape": lower.shapes[0],
        "tip": tip, "mark": mark, "frame": kido.SimpleFrame(lower, "frame", (0.1, 0.0, 0.0)),
        "fixed": kido.FixedFrame(lower, None, "fixed"), "tie": tie, "ik": ik,
        "group": kido.Group(robot.bodies, name="group"), "part": kido.Subgraph(robot.bodies[1:], name="part"),
        "box": BOX, "inertia": INERTIA, "Q": kido.quantities, "O": kido.optimization,
        "ops": kido.SpatialOperators(robot), "batch": kido.batch.Batch(robot), "Task": kido.ik.Task,
        "solver": kido.ik.IkSolver(robot.body("hand")), "motion": kido.ConstrainedDynamics(spare),
        "moving": kido.DifferentialIK(spare), "whole": kido.WholeBodyIK(robot),
        "problem": kido.optimization.Problem(2, objective=lambda x: float(x @ x)), "q": np.zeros(3), "X": np.eye(4),
    }  # fmt: skip


def _seen(thing: Any) -> Any:
    """What the public attributes of an object hold, as text."""
    skipped = ("contact_events", "evaluations", "states")
    names = [n for n in dir(type(thing)) if n[:1] != "_" and isinstance(getattr(type(thing), n), property)]
    found = {}
    for name in (n for n in names if n not in skipped):
        try:
            value = getattr(thing, name)
        except (kido.KidoError, AttributeError) as error:
            value = str(error)
        found[name] = value.tolist() if isinstance(value, np.ndarray) else str(value)
    return found, sorted(n for n in vars(thing) if n[:1] != "_")


def picture(lab: dict[str, Any]) -> list[Any]:
    """All that can be seen of the things in a lab: equal if nothing changed."""
    names = ("world", "robot", "ball", "ground", "spare", "gone", "shape", "tip", "mark", "frame", "tie", "ik", "group")
    things = [lab[name] for name in names]
    for skeleton in (lab["robot"], lab["ball"], lab["spare"]):
        things += [*skeleton.bodies, *skeleton.joints, *skeleton.dofs]
    return [lab["world"].num_steps, [_seen(thing) for thing in things]]
