"""A two-armed robot changes a wheel: loosens nuts, lifts the wheel with both arms, finds its mass, mounts the spare.

The robot knows the world by a model of its own, `kido.manipulation.RobotModel`, which perception, planning, estimation
and control share: poses seen with errors of 0.3 mm, wheels whose mass it guesses. Motions are planned without
collisions; joint torques, within limits, are computed by the model, and the wheel's weight is shared between the arms.
How heavy it is the robot finds by the force of its lift, and holds it better from then on.
"""

import numpy as np

import kido
from kido.demos import garage
from kido.demos.demo import Demo
from kido.demos.garage import FACING, GUESS, HUB, MASSES, NOISE, RACKS, known_and_real, prepared, release_all, weigh
from kido.manipulation import handle_path, straight_path
from kido.models.mechanisms import at


def change(operator, log):
    """Change the wheel: yields seconds to wait for; `log` gets the phase, and the masses found."""
    model, real, control, noise = operator.model, operator.real, operator.control, np.random.default_rng(3)
    base, left, right = (model.part(name, "two_arms") for name in ("base", "left_arm", "right_arm"))
    hub, nuts = model.world.skeleton("scene").body("hub"), [model.world.skeleton(f"nut_{k}") for k in range(3)]
    racks = {name: model.world.skeleton("scene").body(f"rack_{name}") for name in RACKS}
    trunk = [control.skeleton.dof(name) for name in ("base_x", "base_y", "base_yaw", "torso_lift")]

    def turn_nuts(turns):
        yield operator.move(base, [HUB[0] - 0.6, 0.0, 0.0])
        for thing in nuts:
            path = handle_path(thing.node("handle"), turns)
            towards = np.sign(turns[-1] - turns[0])  # the wrist has room for the whole turn
            yield operator.reach({right: path[0] @ FACING @ at(0, 0, -0.13)}, last=towards * 0.75 * np.pi)
            yield operator.advance([right], 0.06)
            operator.begin()
            name = operator.hold(thing.body(0), right.tip)
            yield operator.along({right: path @ np.linalg.inv(path[0]) @ right.forward_kinematics()}, speed=0.95)
            operator.release(name)
            yield operator.advance([right], -0.06)
        yield operator.move(right, garage.MIRROR * garage.HOME)

    def take(name):
        body = model.body(name)
        for _ in range(8):
            seen = real.body(name).world_transform @ kido.math.exp_pose(noise.normal(0.0, NOISE, 6))
            model.see(name, seen, NOISE**2 * np.eye(6))
        beside = {side: at(0, side * (garage.RADIUS + 0.175), 0) @ garage.SIDEWAYS[side] for side in (1, -1)}
        yield operator.reach({left: body.world_transform @ beside[1], right: body.world_transform @ beside[-1]})
        yield operator.advance([left, right], 0.1)
        for arm in (left, right):
            operator.hold(body, arm.tip, name=arm.name)

    def find_mass(name):
        """By the force of the lift and of the base: they do not feel how the hands push each other."""
        body = model.body(name)
        control.record()
        yield from bring(name, (0, 0, 0.08))
        found = control.estimate(body, trunk)
        control.record(False)
        log[name] = GUESS + found.mass, found.mass_deviation
        weigh(model, name, log[name][0])

    def bring(name, way, turn=0.0, rest=()):
        operator.begin()
        path = straight_path(model.body(name).world_transform, way, turn)
        yield operator.carry(model.body(name), path, touching=rest)

    def leave():
        operator.release(left.name, right.name)
        yield operator.advance([left, right], -0.1)

    def drive(y):
        yield operator.move(base, [HUB[0] - 0.5, y, 0.0])

    log["phase"] = "loosens the nuts"
    yield from turn_nuts(np.linspace(0.0, 1.5 * np.pi, 40))
    log["phase"] = "takes the wheel off"
    yield from drive(0.0)
    yield from take("flat")
    operator.release("hub")
    yield from bring("flat", (0, 0, 0), 0.35)
    yield from bring("flat", (-0.12, 0, 0))
    log["phase"] = "puts it on the rack"
    yield from find_mass("flat")
    yield from drive(RACKS["flat"])
    yield from bring("flat", (0.12, 0, 0))
    yield from bring("flat", (0, 0, -0.08), rest=[racks["flat"]])
    yield from leave()
    log["phase"] = "fetches the spare wheel"
    yield from drive(RACKS["spare"])
    yield from take("spare")
    yield from bring("spare", (0, 0, 0.02), rest=[racks["spare"]])
    yield from find_mass("spare")
    yield from bring("spare", (-0.12, 0, 0))
    log["phase"] = "mounts it"
    yield from drive(0.0)
    yield from bring("spare", (0, 0, 0), 0.35)
    yield from bring("spare", HUB - model.body("spare").com)
    yield from bring("spare", (0, 0, 0), -0.35)
    operator.hold(model.body("spare"), hub, name="hub")
    yield from leave()
    log["phase"] = "tightens the nuts"
    yield from turn_nuts(np.linspace(1.5 * np.pi, 0.0, 40))
    log["phase"] = "is done"


def make():
    known, real = known_and_real()
    world, log = real.world, {}
    demo = Demo(world, duration=60.0, camera=((-0.8, -3.2, 2.1), (1.05, 0.0, 0.65)))

    @demo.task
    def work():
        release_all(real)
        log.clear()
        yield from change(prepared(known.fork(), real), log)

    demo.number("phase")(lambda: log.get("phase", "stands"))
    for name in MASSES:

        @demo.number(f"mass of the {name} wheel [kg]")
        def mass(name=name):
            return "{:.3f} +- {:.3f}".format(*log[name]) if name in log else f"{GUESS:g}, a guess"

    @demo.number("largest share of a torque limit")
    def share():
        limits = world.skeleton("two_arms").force_upper_limits
        return max((float(np.abs(control.forces / limits).max()) for control in world.controllers), default=0.0)

    return demo
