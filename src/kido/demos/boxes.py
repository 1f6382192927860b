"""Three cubes fall on each other, are pushed from the keyboard, and what happened is baked and played back.

The cubes of RTQL8's tutorial, of 5 cm and 1 kg, at 1 kHz: the second starts on the first, the third 3 cm above, 5 cm
aside, so that it meets an edge. Every frame is baked as a snapshot of the world, with its contacts; played back, it is
put back. A push in the past starts a new future. The solver may be the exact one or, as in the tutorial, Lemke's.
With `--skeleton FILE`, once for each, bodies of your own fall.
"""

import numpy as np

import kido
from kido.demos.chain import put
from kido.demos.demo import FPS, Demo

EDGE = 0.05
COLORS = ((0.27, 0.51, 0.71), (0.93, 0.64, 0.24), (0.86, 0.37, 0.27))


def cube():
    skeleton, shape = kido.Skeleton("cube"), kido.Box((EDGE, EDGE, EDGE))
    body = skeleton.add_body("cube", kido.FreeJoint("free"), inertia=kido.Inertia.from_shape(shape, mass=1.0))
    body.add_shape(shape)
    return skeleton


def make(*skeletons):
    world = kido.World("boxes", time_step=1e-3)
    world.add_ground(friction=1.0)
    cubes, top = [], 0.0
    for k, model in enumerate(skeletons or [cube()] * 3):
        skeleton = world.add_skeleton(model.clone(f"cube_{k}"))
        cubes.append(skeleton.bodies[-1])
        half = cubes[k].shape(0).shape.aabb[1, 2]
        aside, above = (0.0, 0.0) if k < 2 else (0.05, 0.03)
        put(skeleton, (aside, 0, top + half + above), COLORS[k % 3])
        top += 2 * half
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
