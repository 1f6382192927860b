"""Three cubes fall on each other, are pushed from the keyboard, and what happened is baked and played back.

The cubes of RTQL8's tutorial, of 5 cm and 1 kg, at 1 kHz: the second starts on the first, the third 3 cm above, 5 cm
aside, so that it meets an edge. Every frame is baked as a snapshot of the world, with its contacts; played back, it is
put back. A push in the past starts a new future. The solver may be the exact one or, as in the tutorial, Lemke's.
"""

import numpy as np

import kido
from kido.demos.demo import FPS, Demo

EDGE = 0.05
PLACES = ((0.0, 0.5 * EDGE), (0.0, 1.5 * EDGE), (0.05, 2.5 * EDGE + 0.03))  # x and z [m]
COLORS = ((0.27, 0.51, 0.71), (0.93, 0.64, 0.24), (0.86, 0.37, 0.27))


def make():
    world = kido.World("boxes", time_step=1e-3)
    world.add_ground(friction=1.0)
    cubes = []
    for (x, z), color in zip(PLACES, COLORS):
        skeleton = kido.Skeleton(f"cube_{len(cubes)}")
        shape = kido.Box((EDGE, EDGE, EDGE))
        cube = skeleton.add_body("cube", kido.FreeJoint("free"), inertia=kido.Inertia.from_shape(shape, mass=1.0))
        cube.add_shape(shape, color=color)
        skeleton.positions = [0, 0, 0, x, 0, z]
        world.add_skeleton(skeleton)
        cubes.append(cube)
    demo = Demo(world, duration=3.0, camera=((0.35, -0.7, 0.35), (0, 0, 0.06)))

    for key, label, force in (("1", "Push the lowest cube left", -40.0), ("2", "Push the lowest cube right", 40.0)):

        @demo.key(key, label)
        def push(force=force):
            playing.clear()
            demo.push(cubes[0], (force, 0, 0), 0.1)

    @demo.key("L", "Lemke's solver, or the exact one")
    def other_solver():
        exact = isinstance(world.solver, kido.solvers.DefaultSolver)
        world.solver = kido.solvers.Lemke() if exact else kido.solvers.DefaultSolver()

    baked, playing = [world.snapshot()], []  # `playing` holds the next frame to show, if any

    @demo.key("B", "Play back what is baked, again and again")
    def play_back():
        demo.pause()
        playing[:] = [] if playing else [0]

    @demo.slider("Play back", 0.0, 1.0, value=1.0)
    def show(share):
        playing.clear()
        if len(baked) > 1:
            demo.pause()
            world.restore(baked[round(share * (len(baked) - 1))])

    @demo.every_frame
    def bake_or_play(time):
        if playing and (demo.paused or demo.viewer is None):
            world.restore(baked[playing[0]])
            playing[0] = (playing[0] + 1) % len(baked)
        elif not demo.paused:
            playing.clear()
            while baked and baked[-1].time >= time - 0.5 / FPS:  # what was pushed anew is baked anew
                baked.pop()
            baked.append(world.snapshot())

    @demo.number("frames baked")
    def frames():
        return float(len(baked))

    @demo.number("largest speed [m/s]")
    def speed():
        return max(float(np.linalg.norm(cube.linear_velocity())) for cube in cubes)

    @demo.number("penetration [mm]")
    def penetration():
        return 1e3 * world.report.max_penetration

    @demo.number("solver")
    def solver():
        return f"{type(world.solver).__name__}, residual {world.report.residual:.1e}"

    return demo
