"""Three chains of ten links, alike but for the rule that steps them: explicit Euler, semi-implicit Euler, RK4.

The chain of RTQL8's tutorial: links on ball joints start at random angles within 0.5 rad and swing at 2 kHz. Explicit
Euler feeds energy into the chain, which explodes after 1.25 s and stands still from then on; semi-implicit Euler's
energy wavers; the fourth-order Runge-Kutta rule keeps it. Damping, an internal force -c u at the joints (a tenth of
it about the links' own axes), calms all three. With `--skeleton FILE` a chain of your own hangs there three times, such
as RTQL8's `Chain.skel`.
"""

import numpy as np

import kido
from kido.demos.demo import Demo

RULES = ("explicit Euler", "semi-implicit Euler", "RK4")
LINKS, LENGTH, RADIUS, MASS = 10, 0.05, 0.012, 0.1
FASTEST = 300.0  # [rad/s]: beyond it a chain has exploded


class SideBySide(kido.integrators.Integrator):
    """Each chain by its own rule: chains do not touch, so that every rule may step them all and keep its own."""

    def __init__(self, dofs):
        self.dofs, self.exploded = dofs, {}  # of each chain; when which exploded

    def step(self, system, time, positions, velocities, time_step):
        h, q, u = time_step, positions, velocities
        a = system.accelerations(time, q, u)
        ends = (
            (system.advance(q, u, h), u + h * a),  # explicit Euler moves by the old velocities,
            (system.advance(q, u + h * a, h), u + h * a),  # semi-implicit Euler by the new ones
            kido.integrators.RK4().step(system, time, q, u, h),
        )
        self.exploded = {name: t for name, t in self.exploded.items() if t < time}  # none, after a reset
        next_q, next_u = q.copy(), np.zeros_like(u)
        for k, (name, (rule_q, rule_u)) in enumerate(zip(RULES, ends)):
            own = slice(self.dofs * k, self.dofs * (k + 1))
            if name not in self.exploded:
                if np.abs(rule_u[own]).max() < FASTEST:
                    next_q[own], next_u[own] = rule_q[own], rule_u[own]
                else:
                    self.exploded[name] = time
        return next_q, next_u


def chain():
    """Ten links on ball joints."""
    skeleton, parent = kido.Skeleton("chain"), None
    link = kido.Capsule(RADIUS, LENGTH - 2 * RADIUS)
    for k in range(LINKS):
        hinge = (0, 0, 0 if k == 0 else -LENGTH)  # from the link above, whose origin is its upper end
        joint = kido.BallJoint(f"ball_{k}", transform_from_parent=hinge)
        middle = np.eye(4)
        middle[2, 3] = -LENGTH / 2
        parent = skeleton.add_body(f"link_{k}", joint, parent, kido.Inertia.from_shape(link, MASS, transform=middle))
        parent.add_shape(link, middle)
    return skeleton


def put(skeleton, place, color):
    """Hang or set a skeleton somewhere, in a color."""
    root, X = skeleton.root_bodies[0].parent_joint, np.eye(4)
    X[:3, 3] = place
    root.transform_from_parent = X @ root.transform_from_parent
    for node in skeleton.nodes(kido.ShapeNode):
        node.color = color


def energy(skeleton):
    return skeleton.kinetic_energy + skeleton.potential_energy


def make(skeleton=None):
    model = chain() if skeleton is None else skeleton
    twist = 2 if skeleton is None else 1  # of three coordinates, the one about a link's own axis
    integrator = SideBySide(model.num_dofs)
    world = kido.World("chain", time_step=1 / 2000, integrator=integrator)
    start = np.random.default_rng(8).uniform(-0.5, 0.5, model.num_dofs)
    chains = {}
    for k, (name, color) in enumerate(zip(RULES, ((0.86, 0.37, 0.27), (0.93, 0.64, 0.24), (0.27, 0.51, 0.71)))):
        chains[name] = world.add_skeleton(model.clone(name))
        put(chains[name], (0, 0.6 * (1 - k), 0.7), color)
        chains[name].positions = start
    first = {name: energy(skeleton) for name, skeleton in chains.items()}
    demo = Demo(world, duration=5.0, camera=((1.5, 1.0, 0.7), (0, 0, 0.4)))

    coefficients = np.where(np.arange(model.num_dofs) % 3 == twist, 0.1, 1.0)
    damping = 0.0

    @demo.slider("Damping [N m s/rad]", 0.0, 0.02, value=0.0)
    def set_damping(value):
        nonlocal damping
        damping = value

    def damp(_):
        for skeleton in chains.values():
            skeleton.forces = -damping * coefficients * skeleton.velocities

    world.add_step_callback(damp, before=True)

    for name, skeleton in chains.items():

        @demo.number(f"energy gained, {name} [J]")
        def gained(name=name, skeleton=skeleton):
            if name in integrator.exploded:
                return f"exploded at {integrator.exploded[name]:.2f} s"
            return energy(skeleton) - first[name]

    return demo
