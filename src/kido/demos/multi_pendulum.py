"""Five bars hang on a ball joint and hinges; springs, dampers, torques, pushes, and a pin at the tip come and go.

A port of DART's tutorial `multi_pendulum`. Keys give a torque to a coordinate, or a force to a bar, for 0.2 s; sliders
set stiffness, rest position and damping of all joints; a ball constraint holds the tip where it is, so that the chain
becomes a loop, and lets it go again.
"""

import numpy as np

import kido
from kido.demos.demo import Demo

BARS, HEIGHT, WIDTH = 5, 1.0, 0.2  # [m]
TORQUE, FORCE, SECONDS = 15.0, 15.0, 0.2  # [N m], [N], [s]
BLUE, RED = (0.27, 0.51, 0.71), (0.86, 0.37, 0.27)


def pendulum():
    skeleton, parent = kido.Skeleton("pendulum"), None
    box, middle = kido.Box((WIDTH, WIDTH, HEIGHT)), np.eye(4)
    middle[2, 3] = HEIGHT / 2
    across = np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1.0]])
    for k in range(BARS):
        joint = (
            kido.RevoluteJoint(f"hinge_{k}", axis=(0, 1, 0), transform_from_parent=(0, 0, HEIGHT))
            if k
            else kido.BallJoint("ball", transform_from_parent=(0, 0, 1.05 * BARS * HEIGHT))
        )
        parent = skeleton.add_body(f"bar_{k}", joint, parent, kido.Inertia.from_shape(box, 1.0, transform=middle))
        parent.add_shape(box, middle, color=BLUE, collision=False)
        knob = kido.Cylinder(WIDTH / 2, 1.3 * WIDTH) if k else kido.Sphere(0.8 * WIDTH)
        parent.add_shape(knob, across if k else None, color=(0.3, 0.3, 0.3), collision=False)
    skeleton.positions = [0, np.radians(120), 0, *[0] * (BARS - 1)]
    return skeleton


def make():
    world = kido.World("multi_pendulum", time_step=1e-3)
    chain = world.add_skeleton(pendulum())
    tip = chain.body(BARS - 1)
    demo = Demo(world, duration=6.0, camera=((5, -11, 5), (0, 0, 3)))
    sign, on_bodies, pins = 1.0, False, []
    until = np.zeros(chain.num_dofs)  # when the torque of each coordinate ends [s]

    @demo.key("-", "Turn torques and forces round")
    def turn_round():
        nonlocal sign
        sign = -sign

    @demo.key("F", "Torques on joints, or forces on bars")
    def change():
        nonlocal on_bodies
        on_bodies = not on_bodies

    for k in range(chain.num_dofs):

        @demo.key(str(k + 1), f"Torque on {chain.dof(k).name}" + (f", force on bar {k}" if k < BARS else ""))
        def act(k=k):
            if not on_bodies:
                until[k] = world.time + SECONDS
            elif k < BARS:
                bar = chain.body(k)
                demo.push(bar, sign * FORCE * bar.world_transform[:3, 0], SECONDS)

    def torques(_):
        acts = until > world.time
        chain.forces = sign * TORQUE * acts

    world.add_step_callback(torques, before=True)

    @demo.every_frame
    def redden(_):
        for k, bar in enumerate(chain.bodies):
            acts = (until[2:] if k else until[:3])[k - 1 if k else slice(None)] > world.time
            color = RED if np.any(acts) else BLUE
            if bar.shape(0).color != color:
                bar.shape(0).color = color

    @demo.slider("Stiffness [N m/rad]", 0.0, 200.0, value=0.0)
    def stiffness(value):
        for joint in chain.joints:
            joint.spring_stiffness = value

    @demo.slider("Rest position [rad]", -1.5, 1.5, value=0.0)
    def rest(value):
        for joint in chain.joints[1:]:
            joint.rest_position = value
        chain.joints[0].rest_position = (0, value, 0)  # curls about one axis

    @demo.slider("Damping [N m s/rad]", 0.0, 20.0, value=5.0)
    def damping(value):
        for joint in chain.joints:
            joint.damping = value

    @demo.key("C", "Hold the tip where it is, or let it go")
    def hold_or_let_go():
        if pins:
            world.remove_constraint(pins.pop())
        else:
            end = tip.world_transform @ (0, 0, HEIGHT, 1)
            pins.append(world.add_constraint(kido.BallJointConstraint(tip, at=end[:3], name="pin")))

    @demo.number("energy [J]")
    def energy():
        return world.total_energy

    @demo.number("force of the pin [N]")
    def force():
        return float(np.linalg.norm(pins[0].wrench()[3:])) if pins else "none"

    return demo
