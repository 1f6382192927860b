"""A motion frame by frame: torques, powers, momenta, and what the ground must do.

The application of RTQL8's tutorial, which writes torques and momenta of a hand to a file. Here a person squats and
hops; the arrow is the force that the motion takes from the ground, at its zero-moment point. The slider smooths the
motion, key F writes everything to a file. With `--skeleton fixedHand.skel --motion fixedHand.dof` it is the hand.
"""

import tempfile
from pathlib import Path

import numpy as np
from scipy.interpolate import BPoly

import kido
from kido.demos.demo import Demo

RATE, SPEED, SQUAT, TUCK = 120, 1.5, 0.07, 0.03  # frames/s; of the hips at take-off [m/s]; how deep [m]
LEG, BENT = 0.42, 0.3  # length of thigh and shank [m]; angle of both when the person stands
PER_NEWTON = 1e-3  # of the arrow's length [m]
FILE = Path(tempfile.gettempdir()) / "motion_analysis.csv"


def hop(human):
    """Hips over the feet, higher or lower; in flight the centre of mass falls freely."""
    root = [human.dof(name).index for name in ("root_x", "root_z")]

    def posture(rise):
        q, angle = np.zeros(human.num_dofs), np.arccos(np.cos(BENT) + rise / (2 * LEG))
        # Arms swing so that at take-off the centre of mass goes straight up.
        joints = {"hip_pitch": -angle, "knee": 2 * angle, "ankle_pitch": -angle, "shoulder_pitch": -8 * rise}
        for side in ("left", "right"):
            for name, value in joints.items():
                q[human.dof(f"{side}_{name}").index] = value
        q[root[1]] = 2 * LEG * (np.cos(BENT) - 1) + rise
        return q

    def com(rise):
        return kido.quantities.com(human, posture(rise))[[0, 2]]

    g, up = 9.81, SPEED * (com(1e-4) - com(-1e-4))[1] / 2e-4  # speed of the centre of mass at take-off
    half, start = up / g, 1.2
    end, low, still = start + 2 * half, (-SQUAT, 0, 0), (0, 0, 0)
    times = [0, 0.4, start - 0.15, start, start + half, end, end + 0.15, end + 0.7, end + 1.0]
    hips = [still, still, low, (0, SPEED, -g), (-TUCK, 0, 0), (0, -SPEED, -g), low, still, still]
    t = np.arange(0, times[-1], 1 / RATE)
    rise = BPoly.from_derivatives(times, hips)(t)
    q = np.array([posture(r) for r in rise])
    for k in np.flatnonzero((t > start) & (t < end)):
        s = t[k] - start
        q[k, root] += com(0) + [0, up * s - 0.5 * g * s**2] - com(rise[k])
    return kido.Motion(None, q, RATE, skeleton=human)


def make(skeleton=None, *, motion=None):
    model = kido.load("humanoid") if motion is None or motion.skeleton is None else motion.skeleton
    model = model if skeleton is None else skeleton
    motion = hop(model) if motion is None else motion.on(model)
    for node in model.nodes(kido.ShapeNode):
        node.color = (0.55, 0.65, 0.8, 0.4)  # to be looked through
    demo = Demo(model, duration=motion.duration)
    found, frame, slow, written = kido.motions.analyze(motion), 0, 1.0, "no: press F"

    @demo.slider("Cutoff [Hz]", 2.0, motion.frame_rate / 2, value=motion.frame_rate / 4)
    def smooth(cutoff):
        nonlocal found
        found = kido.motions.analyze(motion, cutoff=cutoff)

    @demo.key("F", "Write all series to a file")
    def write():
        nonlocal written
        found.save(FILE, overwrite=True)
        written = str(FILE)

    @demo.key("L", "Slow motion, or not")
    def slow_or_not():
        nonlocal slow
        slow = 0.2 if slow == 1.0 else 1.0

    @demo.every_frame
    def play(time):
        nonlocal frame
        frame = int(slow * time * motion.frame_rate) % motion.num_frames
        model.positions = found.positions[frame]

    @demo.on_page
    def draw(viewer):
        size = max(np.ptp([body.world_transform[:3, 3] for body in model.bodies], axis=0))
        arrow = viewer.add_arrow((0, 0, 0), (0, 0, 1), color=(0.1, 0.6, 0.2), radius=size / 80)
        com = viewer.add_points([(0, 0, 0)], color=(0.9, 0.2, 0.2), size=size / 40)

        def follow(_):
            force, at = found.ground_reaction[frame, 3:], found.zmp[frame]
            arrow.visible = bool(np.isfinite(at).all() and found.touching[frame].any())
            if arrow.visible:
                arrow.update(at, at + PER_NEWTON * force)
            com.update([found.com[frame]])

        viewer.add_frame_callback(follow)

    @demo.number("time [s]")
    def time():
        return float(found.times[frame])

    @demo.number("largest torque")
    def torque():
        own = [dof.index for dof in model.dofs if dof.name not in found.floating]
        k = max(own, key=lambda k: abs(found.forces[frame, k]))
        return f"{model.dofs[k].name} {found.forces[frame, k]:.1f} N m, {found.powers[frame, k]:.0f} W"

    @demo.number("ground carries [N]")
    def carried():
        return float(found.ground_reaction[frame, 3:] @ found.normal)

    @demo.number("angular momentum [kg m^2/s]")
    def momentum():
        return ", ".join(f"{x:.2f}" for x in found.momentum[frame, :3])

    @demo.number("on the ground")
    def contact():
        return ", ".join(name for name, on in zip(found.bodies, found.touching[frame]) if on) or "nothing"

    @demo.number("written")
    def file():
        return written

    return demo
