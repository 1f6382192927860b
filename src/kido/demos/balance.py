"""A person is pushed and keeps balance: by ankles and upper body, or by a program for the whole body.

The balance application of RTQL8's tutorial. Joints are held by stable PD that knows the forces of contacts; ankles lean
on the feet as the centre of mass is off their middle; the upper body takes up angular momentum (`AnkleStrategy`). Key B
changes to `WholeBody` (goals for centre of mass, chest, momentum and posture; a quadratic program at 250 Hz), K back.
Keys 1 to 4 push for 0.33 s as the tutorial's do, in proportion to mass. Its `fullbody1.skel` may stand for our person.
"""

from dataclasses import dataclass

import numpy as np

import kido
from kido.control import AnkleStrategy, BodyGoal, ComGoal, Contact, MomentumGoal, PostureGoal, WholeBody
from kido.demos.demo import Demo, ending

POSE = {"hip_pitch": -0.25, "knee": 0.6, "ankle_pitch": -0.35, "elbow": -0.3}
TUTORIALS_POSE = {"thigh_euler_z": 0.2, "knee_euler_z": -0.5, "ankle_euler_z": 0.3, "abdomen_euler_z": -0.1}
MASS, SECONDS = 47.9, 0.33  # of the tutorial's person [kg], and of its pushes
FORCES = (("forwards", 20, 0), ("backwards", -10, 0), ("to the left", 0, 50), ("to the right", 0, -50))  # [N]
PUSHES = {str(k): (where, np.array([x, y, 0.0])) for k, (where, x, y) in enumerate(FORCES, 1)}


@dataclass
class Person:
    """A body that stands on z = 0, its parts, and gains: `size` times those of the tutorial."""

    skeleton: kido.Skeleton
    chest: kido.BodyNode
    feet: dict  # by body: the point that the centre of mass is to be over
    soles: list  # bodies with a box that touches
    ankles: dict  # by name: share of the gain
    legs: list  # with the lower back, held firmly
    upper: list  # takes up angular momentum
    size: float

    def corners(self, sole):
        """The lowest four of a sole's box, in its body's axes (4, 3)."""
        node = sole.shape(0)
        eight = np.array(node.shape.size) * (np.stack(np.unravel_index(range(8), (2, 2, 2)), axis=1) - 0.5)
        points = eight @ node.relative_transform[:3, :3].T + node.relative_transform[:3, 3]
        return points[np.argsort(points @ sole.world_transform[2, :3])[:4]]

    def places(self):
        """Middles of the soles' lower faces in the world (soles, 3)."""
        return np.array([(s.world_transform @ [*self.corners(s).mean(axis=0), 1.0])[:3] for s in self.soles])

    def middle(self):
        """Where the centre of mass is to be over."""
        return np.mean([(foot.world_transform @ [*p, 1.0])[:3] for foot, p in self.feet.items()], axis=0)

    def ankle_strategy(self):
        """The tutorial's law, towards the present pose."""
        s, k, firm = self.skeleton, self.size, np.isin([dof.name for dof in self.skeleton.dofs], self.legs)
        kp, kd = (k * np.where(firm, *pair) for pair in ((200, 20), (100, 10)))
        return AnkleStrategy(
            s, s.positions, kp, kd, s.dofs[6:], feet=self.feet, ankles=list(self.ankles), reach=0.15, upper=self.upper,
            ankle_kp=[20.0 * k * x for x in self.ankles.values()], ankle_kd=0.1 * k, momentum_gain=1000.0 * k,
        )  # fmt: skip

    def whole_body(self):
        """The same by a program."""
        s, posture = self.skeleton, PostureGoal(self.skeleton, self.skeleton.positions, self.skeleton.dofs[6:])
        over = ComGoal([*self.middle()[:2], s.com[2]])
        upright = BodyGoal(self.chest, self.chest.world_transform, rows="angular", weight=0.1)
        contacts = [Contact(sole, self.corners(sole)) for sole in self.soles]
        return WholeBody(s, [over, upright, MomentumGoal(), posture], contacts, s.dofs[6:], rate=250.0)


def our_person():
    """Our humanoid with bent knees."""
    s = kido.load("humanoid")
    feet = [s.body("left_foot"), s.body("right_foot")]
    for dof in s.dofs:
        dof.position = next((angle for end, angle in POSE.items() if dof.name.endswith(end)), 0.0)
    names = [dof.name for dof in s.dofs[6:]]
    legs = [n for n in names if any(part in n for part in ("hip", "knee", "ankle", "waist"))]
    return Person(
        s, s.body("chest"), dict.fromkeys(feet, (0.05, 0.0, -0.07)), feet,
        {name: 1.0 for name in names if "ankle" in name}, legs,
        [name for name in names if name not in legs or "waist" in name], 2.0,
    )  # fmt: skip


def tutorials_person(s):
    """`fullbody1.skel` of RTQL8's tutorial in its pose, with bounded motors and damped joints; its toes lean, too."""
    heels, toes = ([ending(s.bodies, f"h_{part}_{x}") for x in ("left", "right")] for part in ("heel", "toe"))
    for dof in s.dofs:
        dof.position = next((angle for end, angle in TUTORIALS_POSE.items() if dof.name.endswith(end)), 0.0)
    for joint in s.joints[1:]:  # or gains for momentum, and forces that are held for 4 ms, shake it apart as it tips
        joint.force_limit, joint.damping = 200.0, 0.5
    names = [dof.name for dof in s.dofs]
    leaning = {n: x for n in names for end, x in (("ankle_euler_z", 1.0), ("toe_euler_z", 0.5)) if n.endswith(end)}
    return Person(
        s, ending(s.bodies, "h_spine"), dict.fromkeys(heels, (0.05, 0.0, 0.0)), [*heels, *toes],
        leaning, names[6:22], names[20:], 1.0,
    )  # fmt: skip


def standing_world(skeleton=None):
    """The person on the ground of a world."""
    person = our_person() if skeleton is None else tutorials_person(skeleton)
    next(dof for dof in person.skeleton.dofs if dof.name.endswith(("root_z", "trans_y"))).position -= person.places()[
        :, 2
    ].min()
    world = kido.World("balance", time_step=1e-3)
    world.add_skeleton(person.skeleton)
    world.add_ground(friction=1.0)
    return world, person


def make(skeleton=None):
    world, person = standing_world(skeleton)
    by_ankles, by_program = person.ankle_strategy(), person.whole_body()
    feet, law, times = person.places(), world.add_controller(by_ankles), 1.0
    demo = Demo(world, duration=6.0, camera=((3.2, -2.0, 1.3), (0, 0, 0.85)))
    for key, (where, force) in PUSHES.items():
        f = force * person.skeleton.mass / MASS

        @demo.key(key, f"Push {where}, {SECONDS * np.abs(f).max():.3g} N s")
        def push(f=f):
            demo.push(person.chest, times * f, SECONDS)

    for key, chosen, words in (("K", by_ankles, "ankles and upper body"), ("B", by_program, "the whole body")):

        @demo.key(key, f"Balance by {words}")
        def change(chosen=chosen):
            nonlocal law
            world.remove_controller(law)
            law = world.add_controller(chosen)

    @demo.slider("Push, times as hard", 0.0, 6.0, value=1.0)
    def harder(value):
        nonlocal times
        times = value

    @demo.slider("Gain of ankles [N m/m]", 0.0, 400.0, value=20.0 * person.size)
    def ankles(k):
        by_ankles.ankle_kp = k * np.array(list(person.ankles.values()))

    @demo.slider("Gain of momentum [N m s/rad]", 0.0, 4000.0, value=1000.0 * person.size)
    def momentum(k):
        by_ankles.momentum_gain = k

    ways = {"centre of mass off [mm]": lambda: person.skeleton.com - person.middle(),
            "feet have moved by [mm]": lambda: person.places() - feet}  # fmt: skip
    for label, way in ways.items():
        demo.number(label)(lambda way=way: 1e3 * float(np.linalg.norm(way()[..., :2], axis=-1).max()))
    demo.number("balance by")(lambda: type(law).__name__)
    return demo
