"""A lander comes down on Mars: under its parachute, braking by engines along a polynomial, sinking onto its legs.

It has entered the air at 5.8 km/s before, 700 km away; the page begins a few seconds before the parachute is left
behind. Guidance, engines, what they burn, wind and sensors are models of `kido.systems`; ground is laid where the
engines lead to. Key N flies another landing, with entry, air, wind, engines and sensors as chance has them.
"""

from typing import Any

import numpy as np

import kido
from kido.demos.demo import Demo
from kido.environment import add_crater, rough_heights
from kido.models import Landing
from kido.models.mechanisms import at
from kido.models.space import ENGINES, rod

BEGIN = 1450.0  # [m] height at which the page begins
CANOPY, RISER = 5.9, 16.0  # [m] radius of the parachute, and how far it is above the lander
SHELL, DRIFT = 180.0, (6.0, 5.0)  # [kg] what hangs on it once it is left, and how the wind takes it away [m/s]
NEAR, VIEW = 2.0, (-8.0, -11.0, 1.5)  # [m] height down to which the view goes along, and from where it sees
PHASES = ("on the parachute", "braking", "sinking", "landed")


def ground():
    """128 m of rough ground with craters."""
    heights = rough_heights(129, 129, deviation=0.35, exponent=2.8, seed=4)
    for place, radius in (((18.0, 9.0), 6.0), ((-22.0, -14.0), 9.0), ((-9.0, 24.0), 4.0), ((40.0, -30.0), 12.0)):
        heights = add_crater(heights, 1.0, place, radius)
    return heights - heights[60:69, 60:69].mean()


def parachute():
    """Canopy, lines and the capsule's upper part, which go with the lander and then their own way."""
    skeleton = kido.Skeleton("parachute")
    body = skeleton.add_body(
        "parachute", kido.FreeJoint("parachute"), inertia=kido.Inertia.from_diagonal(SHELL, (1, 1, 1))
    )
    body.add_shape(kido.Cone(CANOPY, 2.5), at(0, 0, RISER + 1.2), color=(0.95, 0.55, 0.25))
    body.add_shape(kido.Cone(1.35, 0.9), at(0, 0, 1.1), color=(0.85, 0.82, 0.75))
    for turn in np.arange(8) * np.pi / 4.0:
        end = np.array([CANOPY * np.cos(turn), CANOPY * np.sin(turn), RISER])
        body.add_shape(*rod((0.0, 0.0, 1.6), end, 0.02), color=(0.9, 0.9, 0.9))
    body.collidable = False
    skeleton.kinematic = True
    return skeleton


def make():
    landing = Landing(ground())
    world, hub, guidance = landing.world, landing.hub, landing.guidance
    chute = parachute()
    world.add_skeleton(chute)
    demo = Demo(world, duration=52.0, camera=((-22.0, -62.0, 5.0), (-1.5, -36.5, 5.0)))
    sinking: Any = np.zeros(3)
    start: Any = None
    run, last = None, 0.0
    joint: Any = chute.joints[0]

    def begin(number=None):
        nonlocal run, start, sinking, last
        run = number
        landing.begin(number)
        landing.enter()
        while landing.site.height.value > BEGIN:
            landing.run(1.0)
        last = world.time
        start, sinking = landing.descent.checkpoint(), hub.linear_velocity()

    def phase():
        return round(guidance.phase.value)

    @demo.every_frame
    def look(_):
        nonlocal sinking, last
        if world.time < last:  # it was reset
            landing.descent.restore(start)
        last = world.time
        landing.lay_ground()
        frame = 1.0 / 60.0
        if phase() == 0:
            sinking = hub.linear_velocity()
            X = hub.world_transform.copy()
            joint.set_transform(X)
            joint.set_spatial_velocity([*hub.angular_velocity(), *sinking])
        else:  # it falls as fast as it may with what it carries
            last = 62.0 * np.sqrt(SHELL / 600.0)
            sinking = sinking + frame * (3.7 * (sinking[2] / last) ** 2 - 3.7) * np.array([0.0, 0.0, 1.0])
            sinking[:2] += frame * 0.5 * (np.array(DRIFT) - sinking[:2])
            joint.set_spatial_velocity([0, 0, 0, *sinking])

    @demo.key("N", "Another landing")
    def another():
        begin(0 if run is None else run + 1)

    @demo.key("O", "As it was planned")
    def planned():
        begin()

    @demo.slider("Wind [m/s]", -20.0, 20.0, value=0.0)
    def wind(speed):
        landing.descent["wind"].mean = (speed, 0.0, 0.0)

    @demo.slider("Thrust of an engine [N]", 300.0, 1500.0, value=1000.0)
    def thrust(newtons):
        landing.engines.thrust = newtons

    @demo.on_page
    def draw(viewer):
        from kido.viewer import CameraPose

        viewer.view.set_visible("ground", False)  # the viewer's own plane: craters lie below it
        flames = [viewer.add_line(np.zeros((2, 3)), color=(1.0, 0.7, 0.2), thickness=8.0) for _ in ENGINES]

        def burn(_):
            size = np.linalg.norm(landing.engines.given_force.value) / 4000.0 if 0 < phase() < 3 else 0.0
            X = hub.world_transform
            if landing.site.height.value > NEAR:  # the view goes along, and is people's own near the ground
                place = X[:3, 3] + (0, 0, 8.0 if phase() == 0 else 0.0)
                viewer.camera = CameraPose(place + (VIEW if phase() else 3.0 * np.array(VIEW)), place)
            for flame, place in zip(flames, ENGINES):
                ends = [place - (0, 0, 0.15), place - (0, 0, 0.15 + 3.0 * size)]
                flame.update([X[:3, :3] @ end + X[:3, 3] for end in ends])

        viewer.add_frame_callback(burn)

    demo.number("it is")(lambda: PHASES[phase()])
    demo.number("height [m]")(lambda: landing.site.height.value)
    demo.number("speed [m/s]")(lambda: float(np.linalg.norm(hub.linear_velocity())))
    demo.number("propellant left [kg]")(lambda: landing.tank.left.value)
    demo.number("leans by [deg]")(lambda: float(np.degrees(landing.result()["lean"])))
    demo.number("legs have given way by [cm]")(lambda: 100.0 * float(np.max(landing.lander.positions[6:])))

    @demo.number("from where it was planned [km]")
    def away():
        found = landing.result()
        return float(np.hypot(found["x"], found["y"]) / 1e3)

    begin()
    return demo
