"""The rover on sand: 100 m over dunes, its wheels sink in and slip as wheel-soil mechanics says.

Rover, drives and guidance are those of the demo `rover`; wheels touch nothing, their forces are those of
`kido.devices.WheelOnSoil` by Bekker and Wong, in sand (LETE: n 0.79, k_c 102 kN/m^(n+1), k_phi 5301 kN/m^(n+2), c
1.3 kPa, phi 31.1 degrees). Plots on the page show slip and power.

Source of the sand: J. Y. Wong, Theory of Ground Vehicles (2008), table 2.3.
"""

import numpy as np

import kido
from kido.demos.demo import Demo
from kido.devices import WheelOnSoil
from kido.models.mechanisms import at
from kido.models.vehicles import RADIUS, WHEELS, WIDTH
from kido.systems import System

SAND = {
    "cohesive_modulus": 102e3, "frictional_modulus": 5301e3, "exponent": 0.79, "cohesion": 1300.0,
    "friction_angle": float(np.radians(31.1)), "shear_modulus": 0.0115,
}  # fmt: skip
GOALS = ((18.0, 3.0), (36.0, -4.0), (54.0, 6.0), (72.0, 0.0), (90.0, 7.0), (112.0, 2.0))
STEP = 2e-3  # [s]
SLIP = 0.15  # with which a wheel under its load rolls on level sand and pulls nothing


def dunes(slope=0.06, seed=3):
    """Waves of the ground, from 2.5 to 20 m long, each as steep; the root of the mean square of slopes is given."""
    rng = np.random.default_rng(seed)
    k, way = 2.0 * np.pi / np.geomspace(2.5, 20.0, 16), rng.uniform(0.0, 2.0 * np.pi, 16)
    a = slope * np.sqrt(2.0 / 16.0) / k
    return np.column_stack([a, k * np.cos(way), k * np.sin(way), rng.uniform(0.0, 2.0 * np.pi, 16)])


def height(waves, x, y):
    """Of the ground [m]."""
    a, kx, ky, phase = waves.T
    return np.sin(np.multiply.outer(x, kx) + np.multiply.outer(y, ky) + phase) @ a


def ground(waves):
    """What is seen of it, and flags at the way points; wheels feel the waves themselves."""
    x, y = np.arange(-6.0, 118.0, 0.25), np.arange(-14.0, 16.0, 0.25)
    body = kido.Skeleton("ground").add_body("ground", kido.WeldJoint("ground"))
    middle = at(0.5 * (x[0] + x[-1]), 0.5 * (y[0] + y[-1]), 0.0)
    field = kido.Heightmap(height(waves, *np.meshgrid(x, y)), 0.25)
    body.add_shape(field, middle, collision=False, color=(0.78, 0.62, 0.42))
    for gx, gy in GOALS:
        foot = float(height(waves, gx, gy))
        body.add_shape(kido.Cylinder(0.015, 0.8), at(gx, gy, foot + 0.4), collision=False, color=(0.9, 0.9, 0.9))
        flag = at(gx + 0.1, gy, foot + 0.74)
        body.add_shape(kido.Box((0.2, 0.01, 0.12)), flag, collision=False, color=(0.8, 0.1, 0.1))
    return body


def vehicle():
    """The system in its world, what leads it, its drives and its wheels on soil."""
    made, waves = kido.models.rover(), dunes()
    rover, world = made.skeleton, made.world(time_step=STEP)
    world.add_skeleton(ground(waves).skeleton)
    for body in rover.bodies:
        for shape in body.shapes:
            shape.collision = False
    rover.dof(5).position += max(float(height(waves, *rover.body(f"wheel_{n}").world_transform[:2, 3])) for n in WHEELS)
    system = System(world=world)
    begin = {"start": rover.body("chassis").world_transform[:3, 3], "rolling": (1.0 - SLIP) * RADIUS}
    parts = system.add(kido.models.assembly("rover", rover, goals=GOALS, **begin))
    wheels = [
        system.add(WheelOnSoil(f"soil_{n}", rover.body(f"wheel_{n}"), waves, width=WIDTH, radius=RADIUS, **SAND))
        for n in WHEELS
    ]
    system.run(0.0)  # from now on steps of the world run it
    return system, parts["pursuit"], [parts[name] for name in WHEELS], wheels


def make():
    system, pursuit, drives, wheels = vehicle()
    world = system.world
    assert world is not None
    chassis = world.skeleton("rover").body("chassis")
    demo = Demo(world, duration=60.0, camera=((-3.0, -4.5, 2.6), (1.2, 0.6, 0.2)))
    driven, before = 0.0, chassis.world_transform[:3, 3].copy()

    @demo.every_frame
    def measure(time):
        nonlocal driven, before
        if time == 0.0:
            driven = 0.0
        place = chassis.world_transform[:3, 3].copy()
        driven, before = driven + float(np.linalg.norm(place - before)), place

    @demo.on_page
    def plots(viewer):
        viewer.follow(chassis)
        viewer.add_plot(system, [wheel["contact.slip"] for wheel in wheels], title="Slip of the wheels")
        viewer.add_plot(system, [drive["motor.power"] for drive in drives], title="Power of the drives")

    demo.number("driven [m]")(lambda: driven)
    demo.number("to the next way point, as it believes [m]")(lambda: pursuit.distance.value)
    demo.number("slip of the wheels")(lambda: float(np.mean([wheel["contact.slip"].value for wheel in wheels])))
    demo.number("sinkage [mm]")(lambda: 1e3 * float(np.mean([wheel["contact.sinkage"].value for wheel in wheels])))
    demo.number("energy of the drives [J]")(lambda: sum(drive["meter.energy"].value for drive in drives))
    return demo
