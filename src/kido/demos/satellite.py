"""A satellite with panels that bend: how it slews decides whether they ring.

Two panels and a boom are flexible: their modes are coordinates like those of joints, and share momentum with the hub.
A torque on the hub turns it, first one way and then the other. Either all of it at once, and the panels ring; or in
two halves that are half a period of the slowest vibration apart, so that the second undoes what the first has excited.
Feedback of angle and rate holds the attitude, and is slow. On the page deflections are five times as large as they are,
and colours say how panels are strained.
"""

import numpy as np

import kido
from kido.demos.demo import Demo
from kido.flexible import FlexibleBody, Material, Section, beam_modes, vibrations
from kido.rendering import Deformation

PANEL, BOOM = 6.0, 3.0  # [m]
SANDWICH, TUBE = Material(4e8, 100.0), Material(7e10, 2700.0)  # thin skins, and little between
RAMP = 4.0  # [s] that the torque goes one way, and then the other
BANDWIDTH = 0.04  # [rad/s] of the feedback
AMPLIFIED = 5.0


def satellite():
    skeleton = kido.Skeleton("satellite")
    hub = skeleton.add_body("hub", kido.FreeJoint(), None, kido.Inertia(120.0, moment=np.diag([40.0, 30.0, 40.0])))
    hub.add_shape(kido.Box((1.0, 1.0, 1.2)), color=(0.78, 0.66, 0.36))
    dish = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.85], [0, 0, 0, 1]])
    hub.add_shape(kido.Cylinder(0.35, 0.1), dish, color=(0.9, 0.9, 0.88))
    panel = beam_modes(
        PANEL, Section.rectangle(1.2, 0.03), SANDWICH, bending_z=3, bending_y=1, torsion=1, damping_ratio=0.002
    )
    parts = {}
    for name, side in (("left", 1.0), ("right", -1.0)):
        X = np.diag([side, side, 1.0, 1.0])
        X[0, 3] = 0.5 * side
        body = skeleton.add_body(name, kido.WeldJoint(transform_from_parent=X), hub)
        parts[name] = FlexibleBody(body, panel)
        parts[name].surface.color = (0.2, 0.3, 0.55)
    X = np.array([[0, 0, 1.0, 0], [0, 1, 0, 0], [-1, 0, 0, -0.6], [0, 0, 0, 1]])  # x along -z
    boom = beam_modes(BOOM, Section.tube(0.03, 0.028), TUBE, bending_y=2, bending_z=2, damping_ratio=0.002)
    parts["boom"] = FlexibleBody(skeleton.add_body("boom", kido.WeldJoint(transform_from_parent=X), hub), boom)
    tip = skeleton.add_body("sensor", kido.WeldJoint(), parts["boom"].node("tip"), kido.Inertia(4.0))
    tip.add_shape(kido.Box((0.2, 0.15, 0.15)), color=(0.3, 0.3, 0.32))
    return skeleton, hub, parts


def make():
    craft, hub, parts = satellite()
    world = kido.World("satellite", gravity=(0, 0, 0), time_step=5e-3)
    world.add_skeleton(craft)
    demo = Demo(world, duration=40.0, camera=((7.0, -13.0, 6.0), (0.0, 0.0, -0.4)))
    pitch = craft.dof("hub_joint_ry").index
    inertia = float(craft.mass_matrix[pitch, pitch])
    stiffness = {name: part.modes.stiffness.copy() for name, part in parts.items()}
    size = np.radians(40.0)
    pieces = []  # of the slews: when each begins, and by what angle it turns

    def reference(t):
        """Angle, rate and acceleration that the slews ask for."""
        angle, rate, acceleration = 0.0, 0.0, 0.0
        for begin, turn in pieces:
            s, a = np.clip(t - begin, 0.0, 2.0 * RAMP), turn / RAMP**2
            late = max(s - RAMP, 0.0)
            angle += 0.5 * a * s * s - a * late * late
            if 0.0 < s < 2.0 * RAMP:
                rate += a * (s - 2.0 * late)
                acceleration += a if s < RAMP else -a
        return np.array([angle, rate, acceleration])

    def pitched():
        R = hub.world_transform[:3, :3]
        return float(np.arctan2(R[0, 2], R[0, 0]))

    def off():
        """By how much the hub is off the reference [rad], within half a turn."""
        return float((reference(world.time)[0] - pitched() + np.pi) % (2.0 * np.pi) - np.pi)

    def control(_):
        _, rate, acceleration = reference(world.time)
        slow = BANDWIDTH**2 * off() + 1.4 * BANDWIDTH * (rate - craft.velocities[pitch])
        forces = np.zeros(craft.num_dofs)
        forces[pitch] = inertia * (acceleration + slow)
        craft.forces = forces

    world.add_step_callback(control, before=True)

    def period():
        """Of the slowest vibration in which the hub turns [s]: both panels may also flap alike."""
        found = vibrations(craft)
        turns = np.abs(found.shapes[pitch]) > 1e-3
        return 2.0 * np.pi / found.frequencies[turns & (found.frequencies > 1e-3)][0]

    @demo.key("1", "Slew at once")
    def at_once():
        pieces.append((world.time, size))

    @demo.key("2", "Slew in two halves, half a period apart")
    def in_halves():
        pieces.extend([(world.time, 0.5 * size), (world.time + 0.5 * period(), 0.5 * size)])

    @demo.key("3", "Knock on the boom")
    def knock():
        demo.push(craft.body("sensor"), (40.0, 0.0, 0.0), 0.05)

    @demo.slider("Slew by [degrees]", -90.0, 90.0, value=40.0)
    def by(degrees):
        nonlocal size
        size = np.radians(degrees)

    @demo.slider("Stiffness of the panels", 0.3, 3.0, value=1.0)
    def stiffen(factor):
        for name in ("left", "right"):
            parts[name].coordinates.parent_joint.spring_stiffness = factor * stiffness[name]

    @demo.on_page
    def look(viewer):
        viewer.view.set_visible("ground", False)
        viewer.view.deformation = Deformation(AMPLIFIED, "strain")

    @demo.number("turned by [degrees]")
    def turned():
        return np.degrees(pitched())

    @demo.number("off by [degrees]")
    def error():
        return np.degrees(off())

    @demo.number("panel bends by [mm]")
    def bends():
        part = parts["left"]
        return 1e3 * float((part.modes.node("tip").translation @ craft.positions[part.dofs])[2])

    @demo.number("vibrates at [Hz]")
    def slowest():
        return 1.0 / period()

    @demo.number("energy of deformation [J]")
    def deformed():
        return 0.5 * sum(
            float(part.coordinates.parent_joint.spring_stiffness @ craft.positions[part.dofs] ** 2)
            for part in parts.values()
        )

    return demo
