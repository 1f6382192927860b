"""A six-wheeled rover drives itself from way point to way point over rough ground, by dead reckoning.

Rockers, bogies and a differential keep its wheels on the ground. Each wheel is driven by a motor, gear, encoder and
controller of its own and steered by a servo, as Ackermann's geometry says; all run as models of `kido.systems`. It
knows its place only by its inertial unit and by the encoders of the middle wheels, which turn farther than they roll:
on the page its true path is blue, what it believes is red. Key F tells it where it is.
"""

import numpy as np

import kido
from kido.demos.demo import Demo
from kido.environment import add_crater, rough_heights
from kido.models.mechanisms import at
from kido.models.vehicles import RADIUS, WHEELS
from kido.systems import System

GOALS = ((4.0, 0.5), (7.5, 3.5), (6.0, 7.5), (1.0, 7.0), (-3.0, 3.0), (0.0, 0.0))  # [m]
SHARPEST = 0.8  # [1/m] that it is steered by hand


def ground():
    """32 m of rough ground with craters, level where the rover starts, and flags at the way points."""
    heights = rough_heights(161, 161, deviation=0.4, exponent=2.8, seed=5)
    for place, radius in (((5.5, 1.5), 0.9), ((8.0, 6.0), 1.2), ((-1.5, 5.5), 1.4)):
        heights = add_crater(heights, 0.2, place, radius)
    x = 0.2 * (np.arange(161) - 80)
    heights = (heights - heights[80, 80]) * (1.0 - np.exp(-((x[None] ** 2 + x[:, None] ** 2) ** 2)))
    body = kido.Skeleton("ground").add_body("ground", kido.WeldJoint("ground"))
    body.add_shape(kido.Heightmap(heights, 0.2), friction=0.8, color=(0.72, 0.5, 0.36))
    for x, y in GOALS:
        foot = heights[round(80 + y / 0.2), round(80 + x / 0.2)]
        body.add_shape(kido.Cylinder(0.015, 0.8), at(x, y, foot + 0.4), collision=False, color=(0.9, 0.9, 0.9))
        body.add_shape(kido.Box((0.2, 0.01, 0.12)), at(x + 0.1, y, foot + 0.74), collision=False, color=(0.8, 0.1, 0.1))
    return body


def make():
    made = kido.models.rover()
    rover, world = made.skeleton, made.world(time_step=2e-3)
    floor, chassis = ground(), rover.body("chassis")
    world.add_skeleton(floor.skeleton)
    system = System(world=world)
    parts = system.add(kido.models.assembly("rover", rover, goals=GOALS))
    helm, pursuit, reckoning = (parts[name] for name in ("way", "pursuit", "reckoning"))
    drives = [parts[name] for name in WHEELS]
    system.run(0.0)  # from now on steps of the world run it
    demo = Demo(world, duration=40.0, camera=((-3.0, -4.5, 2.6), (1.2, 0.6, 0.2)))
    paths, speed, last = ([], []), 0.3, 0.0

    def steer(by_hand, ahead, curve=None):
        helm.set_parameters(by_hand=by_hand, cruise=ahead * speed)
        helm.curve = 0.0 if curve is None else float(np.clip(helm.curve + curve, -SHARPEST, SHARPEST))

    demo.key("G", "Guide yourself")(lambda: steer(0.0, 1.0))
    demo.key("I", "Straight ahead")(lambda: steer(1.0, 1.0))
    demo.key("K", "Straight back")(lambda: steer(1.0, -1.0))
    demo.key("J", "More to the left")(lambda: steer(1.0, 1.0, 0.2))
    demo.key("L", "More to the right")(lambda: steer(1.0, 1.0, -0.2))

    @demo.key("F", "Tell it where it is")
    def fix():
        X = chassis.world_transform
        reckoning.position.value, reckoning.rotation.value = X[:3, 3], X[:3, :3]

    @demo.slider("Speed [m/s]", 0.0, 0.5, value=speed)
    def set_speed(value):
        nonlocal speed
        speed = value
        helm.cruise = np.copysign(value, helm.cruise)

    @demo.slider("Friction", 0.2, 1.0, value=0.8)
    def friction(mu):
        for wheel in WHEELS:
            rover.body(f"wheel_{wheel}").shapes[0].friction = mu

    @demo.every_frame
    def remember(time):
        nonlocal last
        if time < last:  # the world was reset
            system.reset()
            for path in paths:
                path.clear()
        last = time
        for path, place in zip(paths, (chassis.world_transform[:3, 3], reckoning.position.value)):
            if not path or np.linalg.norm(path[-1] - place) > 0.05:
                path.append(place.copy())

    @demo.on_page
    def draw(viewer):
        viewer.follow(chassis)
        for path, color in zip(paths, ((0.1, 0.3, 0.9), (0.9, 0.1, 0.1))):
            line = viewer.add_line(np.zeros((2, 3)), color=color, thickness=4.0)
            viewer.add_frame_callback(lambda _, path=path, line=line: len(path) > 1 and line.update(path))

    demo.number("way points reached")(lambda: helm.number.value)
    demo.number("to the next, as it believes [m]")(lambda: pursuit.distance.value)

    @demo.number("what it believes is off by [m]")
    def off():
        return float(np.linalg.norm(chassis.world_transform[:3, 3] - reckoning.position.value))

    @demo.number("slip of the wheels")
    def slip():
        rolled = RADIUS * sum(abs(rover.dof(f"drive_{name}").velocity) for name in WHEELS)
        moved = sum(np.linalg.norm(rover.body(f"wheel_{name}").linear_velocity()) for name in WHEELS)
        return float((rolled - moved) / max(rolled, moved, 1e-3))

    @demo.number("wheels on the ground")
    def standing():
        contacts = world.contacts
        return sum(name in {b.name[6:] for b in (*contacts.body_a, *contacts.body_b)} for name in WHEELS)

    demo.number("energy of the drives [J]")(lambda: sum(drive["meter.energy"].value for drive in drives))
    return demo
