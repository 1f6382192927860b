"""A spacecraft near a station in orbit: it turns by wheels, empties them by thrusters, and flies to the port.

The world falls round the Earth with the station at its origin. Gyroscopes and a star tracker, an estimator, feedback,
wheels that are bodies, twelve small thrusters and guidance are models of `kido.systems`; plots on the page show the
momentum of the wheels and the force of the thrusters. A torque from outside fills the wheels until they are emptied.
"""

import numpy as np

import kido
from kido.demos.demo import Demo
from kido.environment import EARTH, Orbit, hill_axes
from kido.models.mechanisms import at
from kido.models.space import jet_places
from kido.systems import Model, Output, Parameter, System

STATION, FAR, NEAR = 3.2, -26.0, -5.2  # [m] length of the station; where the craft waits, and where it comes to
TURN, FLIGHT = 60.0, 90.0  # [s] that a turn and an approach take
EMPTIED = 22.0  # [N m s] momentum of wheels at which thrusters begin to empty them
SCALE = 1e-3  # of the Earth that is seen: as large as it looks, and nearer


class Outside(Model):
    """A torque that others exert, as light and thin air do, only more of it."""

    size = Parameter(0.0, "N m")
    torque = Output("N m", 3, doc="world axes")

    def outputs(self):
        return {"torque": self.size * np.array([0.5, 0.3, 0.8])}


def station(axes):
    """A cylinder with two wings, a port at its end, and the Earth below it; nothing moves them."""
    skeleton = kido.Skeleton("station")
    body = skeleton.add_body("station", kido.WeldJoint("station", transform_from_parent=at(0, 0, 0) @ axes))
    along = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])  # z to -y, to the craft
    white, grey, blue = (0.88, 0.88, 0.86), (0.45, 0.47, 0.5), (0.16, 0.25, 0.5)
    body.add_shape(kido.Cylinder(1.1, STATION), along, color=white)
    body.add_shape(kido.Cylinder(0.5, 0.5), at(0, -0.5 * STATION - 0.2, 0) @ along, color=grey)
    body.add_shape(kido.Cylinder(0.06, 12.0), color=grey)
    for side in (1.0, -1.0):
        body.add_shape(kido.Box((0.03, 2.2, 4.0)), at(0, 0, side * 4.0), color=blue)
    return skeleton


def make():
    orbit = Orbit(7000e3, 0.0, 0.5 * np.pi, 0.0, 0.0, 0.5 * np.pi)  # over the pole: what is up on the page is up there
    r, v = orbit.state(EARTH.mu)
    H = hill_axes(r, v)
    axes = np.eye(4)
    axes[:3, :3] = H
    craft = kido.models.spacecraft().skeleton
    hub = craft.body("hub")
    base = hub.parent_joint
    assert isinstance(base, kido.FreeJoint)
    # Its nose, z, is towards the station, and its wings across.
    pose = axes @ at(0, FAR, 0) @ np.array([[0, 1.0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]])
    base.set_transform(pose)
    base.set_linear_velocity(H @ np.cross((0, 0, orbit.mean_motion(EARTH.mu)), (0, FAR, 0)))
    world = kido.World(gravity=(0, 0, 0), time_step=0.01)
    world.add_skeleton(craft)
    world.add_skeleton(station(axes))
    earth = kido.Skeleton("Earth")
    globe = earth.add_body("Earth", kido.WeldJoint("Earth", transform_from_parent=at(*(-SCALE * r))))
    globe.add_shape(kido.Sphere(SCALE * EARTH.radius), collision=False, color=(0.25, 0.42, 0.68))
    world.add_skeleton(earth)

    system = System(world=world)
    place = {"start": (0, FAR, 0), "goal": (0, FAR, 0), "duration": FLIGHT}
    parts = system.add(kido.models.assembly("spacecraft", craft, position=r, velocity=v, mass=craft.mass, **place))
    control, guide, outside = parts["control"], parts["guide"], system.add(Outside())
    system.connect(outside.torque, parts["disturbance"])
    control["dumping"].begin = EMPTIED
    slew, jets = control["slew"], control["jets"]
    system.run(0.0)  # from now on steps of the world run it
    demo = Demo(world, duration=100.0, camera=(H @ (15.0, -36.0, 12.0), H @ (0.0, -16.0, 0.0)))

    def turn(axis, degrees):
        slew.set_parameters(
            start=slew.rotation.value, axis=axis, angle=np.radians(degrees), begin=world.time, duration=TURN
        )

    def fly(place):
        guide.set_parameters(start=guide.place.value, goal=place, begin=world.time)

    demo.key("1", "Turn by 90 degrees about its wings")(lambda: turn((0.0, 1.0, 0.0), 90.0))
    demo.key("2", "and back")(lambda: turn((0.0, 1.0, 0.0), -90.0))
    demo.key("3", "Turn by 180 degrees about its nose")(lambda: turn((0.0, 0.0, 1.0), 180.0))
    demo.key("V", "Fly to the port")(lambda: fly((0.0, NEAR, 0.0)))
    demo.key("B", "Fly back")(lambda: fly((0.0, FAR, 0.0)))

    @demo.slider("Torque from outside [N m]", 0.0, 0.5, value=0.0)
    def disturb(size):
        outside.size = size

    @demo.on_page
    def draw(viewer):
        viewer.view.set_visible("ground", False)
        viewer.add_plot(system, control["wheels.momentum"], seconds=60.0, title="Momentum of the wheels")
        viewer.add_plot(system, jets.given_force, seconds=60.0, title="Force of the thrusters")
        places, directions = jet_places()
        plumes = [viewer.add_line(np.zeros((2, 3)), color=(1.0, 0.75, 0.3), thickness=5.0) for _ in places]

        def burn(_):
            X = hub.world_transform
            given = np.concatenate([X[:3, :3].T @ p.value for p in (jets.given_force, jets.given_torque)])
            for line, place, way, share in zip(plumes, places, directions, jets.inverse @ given / jets.thrust):
                ends = [place, place - 2.0 * np.clip(share, 0.0, 1.0) * way]
                line.update([X[:3, :3] @ end + X[:3, 3] for end in ends])

        viewer.add_frame_callback(burn)

    demo.number("from the station [m]")(lambda: float(np.linalg.norm(guide.place.value)))
    demo.number("approaches with [m/s]")(lambda: float(guide.approach.value[1]))
    demo.number("attitude is off by [mrad]")(lambda: 4e3 * float(np.linalg.norm(control["feedback.off"].value)))
    demo.number("momentum of the wheels [N m s]")(lambda: float(np.linalg.norm(control["wheels.momentum"].value)))
    demo.number("thrusters empty the wheels")(lambda: "yes" if control["dumping.dumping"].value > 0.5 else "no")
    demo.number("propellant used [kg]")(lambda: jets.used.value)
    return demo
