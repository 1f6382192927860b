"""A hand plays a motion by PD or stable PD forces in its joints, and its index finger is pushed with 50 N.

The application of RTQL8's tutorial, at 1 kHz, with its gains: PD forces are scaled by the mass matrix, tau = M (800
(q* - q) - 15 u), so that one pair of gains serves joints of all kinds; light ones are soft, and all sag. Stable PD, of
15 N m/rad and 2 N m s/rad, looks at the end of the step by the model's own motion and needs no such scale. Gains 134
times as large are too much for the first, and none are for the second. Green dots are where fingertips are to be; R
plays the motion again. `--skeleton FILE --motion FILE` brings others, such as the tutorial's `fixedHand.skel` and
`fixedHand.dof`.
"""

import numpy as np

import kido
from kido.control import Controller, StablePD
from kido.demos.demo import Demo, ending

PD_GAINS, STABLE_GAINS = (800.0, 15.0), (15.0, 2.0)  # kp, kd: [1/s^2, 1/s] and [N m/rad, N m s/rad]
PUSHES = {"1": ("forwards", (50, 0, 0)), "2": ("backwards", (-50, 0, 0)), "3": ("to one side", (0, 50, 0)),
          "4": ("to the other", (0, -50, 0))}  # fmt: skip


class ScaledPD(Controller):
    """tau = M (kp (q* - q) - kd u), with q* what a function returns."""

    def __init__(self, skeleton, target, kp, kd, dofs=None):
        super().__init__(skeleton, dofs)
        self.target, self.kp, self.kd = target, kp, kd

    def compute(self):
        s = self.skeleton
        error, accelerations = s.position_differences(self.target(), s.positions), np.zeros(s.num_dofs)
        accelerations[self.dofs] = (self.kp * error - self.kd * s.velocities)[self.dofs]
        return s.mass_matrix @ accelerations


def make(skeleton=None, *, motion=None):
    hand = kido.load("hand") if skeleton is None else skeleton
    tip = ending(hand.bodies, "index_distal" if skeleton is None else "indexDIP")
    motion = kido.load_motion(kido.models.path("hand").with_suffix(".dof")) if motion is None else motion
    motion = motion.on(hand).resampled(1000.0, smooth=True)
    for joint in hand.joints:
        joint.enforce_command_limits = False  # forces are those of the formulas
        joint.enforce_position_limits = skeleton is None  # motions of others are beyond them
    hand.positions = motion.positions[0]
    world = kido.World("hand", time_step=1e-3)
    world.add_skeleton(hand)
    demo = Demo(world, duration=motion.duration)

    def target():
        return motion.positions[min(round(1000.0 * world.time), motion.num_frames - 1)]

    stable, scaled = StablePD(hand, motion, *STABLE_GAINS), ScaledPD(hand, target, *PD_GAINS)
    world.add_controller(stable)
    times = 1.0

    def is_stable():
        return scaled not in world.controllers

    def set_gains():
        share = times if is_stable() else 0.0
        stable.kp, stable.kd = (share * gain for gain in STABLE_GAINS)
        scaled.kp, scaled.kd = (times * gain for gain in PD_GAINS)

    @demo.key("C", "Stable PD, or PD")
    def other_law():
        (world.add_controller if is_stable() else world.remove_controller)(scaled)
        set_gains()

    @demo.slider("Gains, times the tutorial's", 0.5, 100.0, value=1.0)
    def gains(value):
        nonlocal times
        times = value
        set_gains()

    for key, (where, force) in PUSHES.items():

        @demo.key(key, f"Push the index finger {where}")
        def push(force=force):
            demo.push(tip, force, 0.1)

    @demo.on_page
    def draw(viewer):
        ghost, ends = hand.clone("motion"), [b.index for b in hand.bodies if not b.children]

        def tips():
            ghost.positions = target()
            return [(ghost.bodies[k].world_transform @ (*2 * ghost.bodies[k].inertia.com, 1))[:3] for k in ends]

        marks = viewer.add_points(tips(), color=(0.1, 0.6, 0.2), size=0.008)
        viewer.add_frame_callback(lambda _: marks.update(tips()))

    @demo.number("forces")
    def law():
        return "stable PD" if is_stable() else "PD"

    def errors():
        return np.rad2deg(hand.position_differences(target(), hand.positions))

    @demo.number("joints are off by, rms [deg]")
    def off():
        return float(np.sqrt(np.mean(errors() ** 2)))

    @demo.number("the worst joint by [deg]")
    def worst():
        return float(np.abs(errors()).max())

    return demo
