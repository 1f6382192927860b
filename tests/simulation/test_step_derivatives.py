"""Derivatives of a step against central differences of steps, and against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from step_differences import difference, differences, largest

import kido
from scenes import fixed, free, pose, world

G, H = 9.81, 1e-3
EXACT: dict[str, Any] = {
    "tolerance": 1e-13,
    "newton_tolerance": 1e-13,
    "speed_tolerance": 1e-12,
}  # so that differences are
TOLERANCE = (
    1e-7  # of differences of fourth order with steps of 1e-5: rounding of 1e-16 / 1e-5, times 1 / H in velocities
)


FAR = 3e-3  # [m/s] from a change of mode: differences of 1e-6 change velocities by less


def chain(joints, free_base: bool = False, seed: int = 0) -> kido.Skeleton:
    """A chain of bodies with random inertias and axes at a random state."""
    rng = np.random.default_rng(seed)
    skeleton, parent = kido.Skeleton("chain"), None
    kinds = ([kido.FreeJoint("base")] if free_base else []) + list(joints)
    for k, joint in enumerate(kinds):
        root = rng.normal(size=(3, 3))
        moment = 0.02 * root @ root.T + 0.05 * np.eye(3)
        inertia = kido.Inertia(mass=float(rng.uniform(0.5, 2.0)), com=rng.normal(size=3) * 0.1, moment=moment)
        parent = skeleton.add_body(f"link{k}", joint=joint, parent=parent, inertia=inertia)
    n = skeleton.num_dofs
    skeleton.positions, skeleton.velocities = rng.normal(size=n) * 0.5, rng.normal(size=n)
    skeleton.forces = rng.normal(size=n)
    return skeleton


def hinges(number: int, seed: int = 1) -> list[kido.Joint]:
    rng = np.random.default_rng(seed)
    made = []
    for k in range(number):
        axis = rng.normal(size=3)
        frame = pose(rng.normal(size=3) * 0.2, rng.normal(size=3))
        made.append(kido.RevoluteJoint(f"hinge{k}", axis=axis / np.linalg.norm(axis), transform_from_parent=frame))
    return made


def check(made: kido.World, tolerance: float = TOLERANCE, h: float = 1e-5):
    """Derivatives of a world's next step against differences; returns them."""
    found = made.step_derivatives()
    by_state, by_forces = differences(made, h)
    assert largest(found.by_state, by_state) < tolerance
    assert largest(found.by_commands, by_forces) < tolerance
    return found


@pytest.mark.parametrize("free_base", [False, True], ids=["fixed", "floating"])
def test_smooth_motion_of_chains(free_base):
    skeleton = chain(hinges(4), free_base)
    for k, dof in enumerate(skeleton.dofs[-4:]):
        dof.damping, dof.spring_stiffness, dof.armature = 0.3 * k, 5.0 * k, 0.02
    check(world(skeleton, ground=False, time_step=H))


def test_a_single_free_body_with_its_centre_of_mass_elsewhere():
    check(world(chain([], free_base=True), ground=False))


def test_forces_that_are_zero_have_derivatives():
    skeleton = chain([], free_base=True)
    skeleton.forces = np.zeros(6)
    check(world(skeleton, ground=False))


def test_it_leaves_the_world_as_it_was():
    made = world(free(kido.Box((0.2, 0.3, 0.1)), 1.0, (0, 0, 0.05), velocity=(1, 0, 0), friction=0.4))
    twin = made.clone()
    for each in (made, twin):
        each.step(5)
    made.step_derivatives()
    assert (made.skeletons[-1].positions == twin.skeletons[-1].positions).all()
    for each in (made, twin):
        each.step(20)
    assert (made.skeletons[-1].positions == twin.skeletons[-1].positions).all()
    assert (made.skeletons[-1].velocities == twin.skeletons[-1].velocities).all()


def resting(shape, height: float, **options: Any) -> kido.World:
    """A body in the ground by 0.1 mm, so that differences of 1e-5 m stay on one side of touching."""
    options = {"friction": 0.5} | options
    return world(free(shape, 1.3, (0.0, 0.0, height - 1e-4), **options), **EXACT)


def test_a_ball_sticks_slides_and_opens():
    made = resting(kido.Sphere(0.1), 0.1)
    assert check(made).modes == ("sticking",)
    made = resting(kido.Sphere(0.1), 0.1, velocity=(1.0, 0.3, 0.0))
    assert check(made).modes == ("sliding",)
    made = resting(kido.Sphere(0.1), 0.1, velocity=(1.0, 0.3, 0.4), angular_velocity=(1.0, 2.0, 3.0))
    assert check(made).modes == ("open",)


@pytest.mark.parametrize("velocity", [(0.0, 0.0, 0.0), (1.0, 0.4, 0.0)], ids=["sticking", "sliding"])
@pytest.mark.parametrize(
    "shape, height",
    [(kido.Box((0.2, 0.3, 0.1)), 0.05), (kido.Capsule(0.1, 0.3), 0.25)],
    ids=["box on an edge", "capsule"],
)
def test_shapes_on_the_ground(shape, height, velocity):
    tilt = (0.3, 0.0, 0.0) if isinstance(shape, kido.Box) else (0.0, 0.0, 0.0)
    if isinstance(shape, kido.Box):
        height = 0.15 * np.sin(0.3) + 0.05 * np.cos(0.3)
    made = resting(shape, height, velocity=velocity, rotation=tilt, friction=2.0)
    found = check(made)
    assert set(found.modes) == {"sticking" if not any(velocity) else "sliding"}


def test_a_ball_rolls_over_a_ball():
    """Normals and points move: with frozen ones the motion along the top would not fall away."""
    ball = free(kido.Sphere(0.1), 1.0, (0.1, 0.0, np.sqrt(0.6**2 - 0.1**2) - 1e-4), velocity=(0.5, 0.2, -0.08))
    made = world(ball, fixed(kido.Sphere(0.5), friction=1.0), ground=False, **EXACT)
    made.step(3)
    check(made)


_BOX = kido.Box((0.8, 0.8, 0.2))
_CORNERS = np.array([[x, 1.2 * y, 0.8 * z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
_SIDES = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]])
_SIDES = np.concatenate([_SIDES, [[2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]])
_HEIGHTS = kido.Heightmap(0.1 * np.sin(np.arange(25.0).reshape(5, 5)), 0.25)
PAIRS = {
    "cylinder on plane": (kido.Cylinder(0.1, 0.2), None),
    "hull on plane": (kido.Mesh(_CORNERS, _SIDES), None),
    "ellipsoid on plane": (kido.Ellipsoid((0.1, 0.15, 0.2)), None),
    "triangles on plane": (kido.Mesh(_CORNERS, _SIDES, collide_as="triangles"), None),
    "ball on triangles": (kido.Sphere(0.1), kido.Mesh(_CORNERS * [4.0, 4.0, 1.5], _SIDES, collide_as="triangles")),
    "ball on height map": (kido.Sphere(0.1), _HEIGHTS),
    "ball on box": (kido.Sphere(0.1), _BOX),
    "box on box": (kido.Box((0.2, 0.2, 0.2)), _BOX),
    "capsule on capsule": (kido.Capsule(0.1, 0.3), kido.Capsule(0.2, 1.0)),
    "cylinder on box": (kido.Cylinder(0.1, 0.2), _BOX),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_shapes_that_fell_on_each_other(name):
    """Points, normals and gaps follow each shape; the skin is wide, so that differences stay within it."""
    top, bottom = PAIRS[name]
    body = free(top, 1.0, (0.01, 0.02, 0.6), rotation=(0.3, 0.2, 0.1), friction=0.4)
    if bottom is None:
        made = world(body, skin=1e-3, **EXACT)
    else:
        under = fixed(bottom, rotation=(0.05, 0.03, 0.2), friction=0.4)
        made = world(body, under, ground=False, skin=1e-3, **EXACT)
    for _ in range(1000):
        made.step()
        if len(made.contacts) and made.contacts.gaps.min() < 2e-6:
            break
    found = made.step_derivatives()
    for _ in range(60):
        if found.modes and found.margin > FAR and "open" not in found.modes:
            break
        made.step()
        found = made.step_derivatives()
    by_state, _ = differences(made, 1e-6)
    _, by_forces = differences(made, 1e-5)  # forces do not move it out of the skin, and rounding is less
    assert found.modes
    assert largest(found.by_state, by_state) < TOLERANCE
    assert largest(found.by_commands, by_forces) < TOLERANCE


def test_an_impact_within_a_step():
    ball = free(kido.Sphere(0.1), 1.0, (0.0, 0.0, 0.1003), velocity=(0.3, 0.1, -1.0), restitution=0.7, friction=0.0)
    check(world(ball, **EXACT))


def test_limits():
    skeleton = chain(hinges(3))
    skeleton.velocities = np.zeros(3)
    dof = skeleton.dofs[1]
    dof.position_lower_limit = float(skeleton.positions[1]) + 1e-4
    found = check(world(skeleton, ground=False, **EXACT))
    assert abs(found.by_state[4, 4]) < 1.0


def test_joint_friction_sticks_and_slides():
    skeleton = chain(hinges(3))
    for dof in skeleton.dofs:
        dof.coulomb_friction = 0.4
    check(world(skeleton, ground=False, **EXACT))
    skeleton.dofs[0].coulomb_friction = 1e4
    check(world(skeleton.clone(), ground=False, **EXACT))


@pytest.mark.parametrize("name", ["mass", "damping", "friction", "gravity"])
def test_parameters(name):
    made = resting(kido.Sphere(0.1), 0.1, velocity=(1.0, 0.3, 0.0))
    arm = chain(hinges(2))
    for dof in arm.dofs:
        dof.damping = 0.2
    arm.name = "arm"
    made.add_skeleton(arm)
    ball = made.skeletons[1]
    body, shape = ball.bodies[0], ball.bodies[0].shapes[0]

    def add_mass(x: float) -> None:
        inertia = body.inertia
        body.inertia = kido.Inertia(mass=1.3 + x, com=inertia.com, moment=inertia.moment)

    def set_damping(x: float) -> None:
        arm.dofs[1].damping = 0.2 + x

    def set_friction(x: float) -> None:
        shape.friction = 0.5 + x

    def set_gravity(x: float) -> None:
        made.gravity = (0.0, 0.0, -9.81 + x)

    wanted = {"mass": [body], "damping": [arm.dofs[1]], "friction": [shape]}.get(name)
    prepare = {"mass": add_mass, "damping": set_damping, "friction": set_friction, "gravity": set_gravity}[name]
    found = made.step_derivatives({name: wanted}).by_parameters[name][:, -1]
    assert np.abs(found).max() > 1e-5
    assert np.allclose(found, difference(made, prepare, 1e-4), atol=1e-8)


def test_refusals():
    made = world(free(kido.Sphere(0.1), 1.0, (0, 0, 0.1)))
    with pytest.raises(kido.NameLookupError, match=r"parameter of a step.*'colour'"):
        made.step_derivatives(["colour"])
    with pytest.raises(kido.ModelError, match="mass: expected a list of BodyNode, got 3"):
        made.step_derivatives({"mass": 3})
    with pytest.raises(kido.ModelError, match="mass: expected a BodyNode"):
        made.step_derivatives({"mass": [3]})
    made.sleeping = True
    with pytest.raises(kido.ModelError, match="not with sleeping"):
        made.step_derivatives()
    made.sleeping = False
    made.integrator = kido.integrators.RK4()
    with pytest.raises(kido.ModelError, match="the integrator RK4"):
        made.step_derivatives()
    made.integrator = kido.integrators.MoreauMidpoint()
    with pytest.raises(kido.StateError, match="expected 12 finite numbers"):
        made.step_derivatives().pull_back(np.zeros(3))


@pytest.mark.parametrize("steps", [0, -1, 1.5, True])
def test_a_number_of_steps_is_a_whole_one_above_zero(steps):
    with pytest.raises(kido.ModelError, match="steps: expected a number of steps above 0"):
        world().step_derivatives(steps=steps)


def test_constraints_and_swept_bodies_are_refused_by_name():
    ball = free(kido.Sphere(0.1), 1.0, (0, 0, 1.0))
    made = world(ball)
    made.continuous_detection = True
    with pytest.raises(kido.ModelError, match="not with bodies swept along their motion"):
        made.step_derivatives()
    made.continuous_detection = False
    made.add_constraint(kido.BallJointConstraint(None, ball.bodies[0]))
    with pytest.raises(kido.ModelError, match="not with closed loops and constraints"):
        made.step_derivatives()


def test_rolling_friction_is_refused_before_anything_touches():
    ball = free(kido.Sphere(0.1), 1.0, (0, 0, 1.0))
    ball.bodies[0].set_surface(torsional_friction=0.01)
    with pytest.raises(kido.ModelError, match="not with rolling and torsional friction"):
        world(ball).step_derivatives()


def test_a_world_without_coordinates_has_empty_ones():
    found = world().step_derivatives()
    assert found.by_state.shape == (0, 0)
    assert found.modes == ()
    assert found.margin == np.inf


def test_pull_back_is_the_transpose():
    made = resting(kido.Sphere(0.1), 0.1, velocity=(1.0, 0.3, 0.0))
    found = made.step_derivatives(["gravity"])
    g = np.arange(12.0)
    state, commands, parameters = found.pull_back(g)
    assert np.allclose(state, found.by_state.T @ g)
    assert np.allclose(commands, found.by_commands.T @ g)
    assert np.allclose(parameters["gravity"], found.by_parameters["gravity"].T @ g)


def after(made: kido.World, steps: int, parameters=()):
    """Derivatives of many steps."""
    return made.step_derivatives(parameters, steps)


X, Z = 3, 5  # coordinates of a free body that does not turn; velocities come 6 later
EXACT_SCENE = 1e-9


def ball(z: float, v, e: float = 1.0, mu: float = 0.0, r: float = 0.1, **options) -> kido.Skeleton:
    return free(kido.Sphere(r), 1.0, (0.0, 0.0, z + r), velocity=v, restitution=e, friction=mu, **options)


def test_scene_1_a_ball_bounces_without_gravity():
    """z = e (|v0| T - z0): the contact's time moves with z0 and v0."""
    e = 0.7
    made = world(ball(0.5003, (0, 0, -1.0), e), time_step=H, restitution_speed=1e-6)
    made.gravity = (0, 0, 0)
    found = after(made, 800, {"restitution": [made.skeletons[1].bodies[0].shapes[0]]})
    assert np.isclose(found.by_state[Z, Z], -e, atol=EXACT_SCENE)
    assert np.isclose(found.by_state[Z, 6 + Z], -e * 0.8, atol=EXACT_SCENE)
    assert np.isclose(found.by_parameters["restitution"][Z, 0], 0.8 - 0.5003, atol=EXACT_SCENE)


@pytest.mark.parametrize("e, by_z, by_v", [(1.0, 0.1006128, -0.2030473), (0.8, 0.1905516, -0.1127426)])
def test_scene_2_a_ball_is_dropped(e, by_z, by_v):
    """One bounce within 0.7 s, event by event; the numbers have seven digits."""
    made = world(ball(1.0, (0, 0, 0), e), time_step=H)
    found = after(made, 700)
    assert np.isclose(found.by_state[Z, Z], by_z, atol=6e-8)
    assert np.isclose(found.by_state[Z, 6 + Z], by_v, atol=6e-8)


def test_scene_3_equal_elastic_balls():
    """x2 = x1 + T v1 after they changed their velocities."""
    pair = [ball(0.0, (2.0, 0, 0), r=0.1, name="one"), ball(0.0, (0, 0, 0), r=0.1, name="two")]
    pair[1].positions = [0, 0, 0, 0.5503, 0, 0.1]
    made = world(*pair, ground=False, time_step=H)
    made.gravity = (0, 0, 0)
    found = after(made, 400).by_state
    row = 6 + X  # x of the second
    columns = [X, 6 + X, 12 + X, 18 + X]
    assert np.allclose(found[row, columns], [1.0, 0.0, 0.4, 0.0], atol=EXACT_SCENE)


def slider(velocity, mu: float = 0.4, mass: float = 1.0, height: float = 0.0) -> kido.World:
    """A box that cannot turn, on the ground."""
    skeleton = kido.Skeleton("box")
    shape = kido.Box((0.2, 0.2, 0.2))
    body = skeleton.add_body("box", kido.TranslationalJoint("slide"), inertia=kido.Inertia.from_shape(shape, mass=mass))
    body.add_shape(shape, friction=mu)
    skeleton.positions, skeleton.velocities = (0.0, 0.0, 0.1 + height), velocity
    return world(skeleton, time_step=H)


def test_scene_4_sliding_to_a_stop():
    """x = sum of h (v_k + v_{k+1}) / 2, v_{k+1} = v_k - mu g h until it would turn round: in closed form."""
    mu, v0 = 0.4, 2.0
    made = slider((v0, 0.0, 0.0), mu)
    n = int(np.ceil(v0 / (mu * G * H)))
    found = after(made, n + 20, {"friction": [made.skeletons[1].bodies[0].shapes[0]]})
    assert np.isclose(found.by_state[0, 3], H * (n - 0.5), rtol=EXACT_SCENE)
    assert np.isclose(found.by_parameters["friction"][0, 0], -G * H**2 * n * (n - 1) / 2, rtol=EXACT_SCENE)


def test_scene_7_a_push_against_friction():
    """x = (F / m - mu g) T^2 / 2 with F = 6 and the mean of velocities; nothing where F sticks."""
    made = slider((0.5, 0.0, 0.0), 0.4)
    box = made.skeletons[1]
    box.forces = (6.0, 0.0, 0.0)
    found = after(made, 500, {"mass": [box.bodies[0]], "friction": [box.bodies[0].shapes[0]], "gravity": None})
    assert np.isclose(found.by_commands[0, 0], 0.125, atol=EXACT_SCENE)
    assert np.isclose(found.by_parameters["mass"][0, 0], -6.0 * 0.125, atol=EXACT_SCENE)
    assert np.isclose(found.by_parameters["friction"][0, 0], -G * 0.125, atol=EXACT_SCENE)
    made = slider((0.0, 0.0, 0.0), 0.4)
    made.skeletons[1].forces = (3.0, 0.0, 0.0)
    made.step(3, reset_command=False)
    found = after(made, 20)
    assert np.allclose(found.by_commands[:, 0], 0.0, atol=1e-12)


def test_scene_5_a_flat_box_is_dropped_while_it_moves():
    """The impact's friction takes mu times its impulse: x depends on z0 by mu, on v0 by the time it slides."""
    made = slider((2.0, 0.0, 0.0), 0.3, height=0.1)
    box = made.skeletons[1]
    found = after(made, 900, {"friction": [box.bodies[0].shapes[0]]})
    assert np.isclose(found.by_state[0, 2], 0.3, atol=1e-3)
    assert np.isclose(found.by_state[0, 3], 0.6795786, atol=1e-3)
    assert np.isclose(found.by_parameters["friction"][0, 0], -2.1652622, atol=1e-2)
    for k in range(2):

        def start(x: float, k: int = k) -> None:
            box.positions = (0.0, 0.0, 0.2 + x * (k == 0))
            box.velocities = (2.0 + x * (k == 1), 0.0, 0.0)

        wanted = difference(made, start, 1e-6, 900)
        assert np.abs(found.by_state[:3, 2 + k] - wanted[:3]).max() < TOLERANCE


def turned_by(made: kido.World, steps: int) -> np.ndarray:
    """Rotation of the first mobile body after steps: positions are differentiated along its axes then."""
    twin = made.clone()
    twin.step(steps)
    (skeleton, *_) = (s for s in twin.skeletons if s.num_dofs)
    return Rotation.from_rotvec(skeleton.positions[:3]).as_matrix()


def test_scene_6_a_ball_slides_then_rolls():
    """x = 5 v0 T / 7 + 2 v0^2 / (49 mu g), to the first order in the time step."""
    made = world(ball(0.0, (2.0, 0, 0), mu=0.3), time_step=H)
    found = after(made, 600, {"friction": [made.skeletons[1].bodies[0].shapes[0]]})
    R = turned_by(made, 600)
    assert np.isclose((R @ found.by_state[X:6, 6 + X])[0], 5 * 0.6 / 7 + 8.0 / (49 * 0.3 * G), atol=2e-3)
    assert np.isclose((R @ found.by_parameters["friction"][X:6, 0])[0], -8.0 / (49 * 0.09 * G), atol=2e-3)
    assert found.modes == ("sticking",)


def test_scene_8_a_small_force_across():
    """dy / df = v0^2 / (4 m mu^2 g^2) where the box stops."""
    made = slider((2.0, 0.0, 0.0), 0.4)
    found = after(made, 530).by_commands
    assert np.isclose(found[1, 1], 0.0649444, atol=2e-4)
    wanted = difference(made, lambda x: setattr(made.skeletons[1], "forces", (0.0, x, 0.0)), 1e-4, 530)
    assert np.isclose(found[1, 1], wanted[1], atol=TOLERANCE)


def test_scene_9_a_growing_force_on_an_incline():
    """F = k t breaks a box loose that friction holds; each step that it slides adds h (F - mu g cos a - g sin a)."""
    alpha, k, mu, h = 0.2, 20.0, 0.3, 0.01
    made = slider((0.0, 0.0, 0.0), mu)
    made.time_step = h
    made.gravity = (-G * np.sin(alpha), 0.0, -G * np.cos(alpha))
    steps = 100
    time = h * (np.arange(steps) + 0.5)
    commands = np.zeros((steps, 3))
    commands[:, 0] = k * time
    of_way = np.eye(6)[0]
    found = made.rollout_gradient(
        commands, lambda n, _: of_way if n == steps else None, {"friction": [made.skeletons[1].bodies[0].shapes[0]]}
    )
    loose = k * time > G * (mu * np.cos(alpha) + np.sin(alpha))
    left = 1.0 - time  # each step's change of velocity acts from its middle on
    way = h * (k * time - G * (mu * np.cos(alpha) + np.sin(alpha)))[loose] @ left[loose]
    assert np.isclose(found.positions[-1, 0], way, rtol=1e-8)
    assert np.isclose(found.by_commands[:, 0] @ time, h * time[loose] @ left[loose], rtol=EXACT_SCENE)
    assert np.isclose(found.by_parameters["friction"][0], -G * np.cos(alpha) * h * left[loose].sum(), rtol=EXACT_SCENE)
    assert np.isclose(found.by_commands[:, 0] @ time, 0.1421704, atol=2e-3)
    assert np.isclose(found.by_parameters["friction"][0], -2.7645078, atol=0.02)


def test_scene_10_a_pendulum_into_a_wall():
    """Let go at 0.5 rad, it meets a wall at 0: peak and its derivative are those of the exact impact."""
    rod = kido.Skeleton("pendulum")
    bob = rod.add_body(
        "bob",
        joint=kido.RevoluteJoint("hinge", axis=(0.0, 1.0, 0.0)),
        inertia=kido.Inertia(mass=1.0, com=(0.0, 0.0, -1.0), moment=1e-6 * np.eye(3)),
    )
    bob.add_shape(kido.Sphere(0.1), restitution=0.8, friction=0.0).relative_transform = pose((0.0, 0.0, -1.0))
    wall = fixed(kido.Box((0.2, 2.0, 2.0)), (0.2, 0.0, -1.0), friction=0.0, restitution=1.0, name="wall")
    rod.positions = [0.5]
    made = world(rod, wall, ground=False, time_step=H)
    steps = 700
    found = after(made, steps, {"restitution": [bob.shapes[0]]})
    wanted = difference(made, lambda x: setattr(rod, "positions", [0.5 + x]), 1e-5, steps)
    assert np.allclose(found.by_state[:, 0], wanted, atol=1e-7)

    def bounce(x: float) -> None:
        bob.shapes[0].restitution = 0.8 + x

    before = bob.shapes[0].restitution
    by_restitution = difference(made, bounce, 1e-5, steps)
    bob.shapes[0].restitution = before
    assert np.allclose(found.by_parameters["restitution"][:, 0], by_restitution, atol=1e-7)
    assert np.abs(wanted).max() > 0.1


def test_scene_11_a_ball_rolls_off_the_top_of_another():
    """dphi / dphi0 = cosh(3.4173925 T) = 1.5732104: frozen normals say 1."""
    angle, R, r = 1e-3, 0.5, 0.1
    small = free(kido.Sphere(r), 1.0, ((R + r) * np.sin(angle), 0.0, (R + r) * np.cos(angle)), friction=1.0)
    made = world(small, fixed(kido.Sphere(R), friction=1.0), ground=False, time_step=H)
    found = after(made, 300).by_state
    # phi0 moves the ball along the top and turns nothing; of phi what counts is x.
    by_phi = found[:, X] * np.cos(angle) - found[:, Z] * np.sin(angle)
    turned = turned_by(made, 300) @ by_phi[X:6]
    assert np.isclose(turned[0], 1.5732104, atol=2e-4)


ROBOTS = {
    "solo12": ("solo_description/robots/solo12.urdf", "FOOT"),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", "FOOT"),
    "talos": ("talos_data/robots/talos_reduced.urdf", "_sole_link"),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ROBOTS)
def test_robots_in_contact_at_random_states(example_robots, name, seed):
    """Feet are balls, boxes and capsules; the skin is wide, so that differences stay on one side of its edges."""
    rng = np.random.default_rng(seed)
    file, feet = ROBOTS[name]
    robot = kido.load_skeleton(example_robots / file, visuals=False, collisions=False, base="free")
    n = robot.num_dofs
    for dof in robot.dofs:
        dof.coulomb_friction = 0.0
    soles = [b for b in robot.bodies if b.name.endswith(feet)]
    for k, sole in enumerate(soles):
        shape = (kido.Sphere(0.03), kido.Box((0.1, 0.06, 0.02)), kido.Capsule(0.02, 0.1))[(k + seed) % 3]
        sole.add_shape(shape, friction=0.7)
    low, high = (
        np.array([getattr(dof, name) for dof in robot.dofs])
        for name in ("position_lower_limit", "position_upper_limit")
    )
    q = np.clip(0.2 * rng.normal(size=n), low + 0.05, high - 0.05)
    q[3:6] = 0.0
    robot.positions = q
    q[5] = 0.02 - min(sole.world_transform[2, 3] for sole in soles)
    robot.positions, robot.velocities = q, np.zeros(n)
    made = world(robot, time_step=H, skin=1e-3, **EXACT)
    for _ in range(300):
        made.step(5)
        if len(made.contacts) > 1:
            break
    robot.velocities = robot.velocities + 0.05 * rng.normal(size=n)
    made.step(20)
    robot.forces = 0.5 * rng.normal(size=n)
    found = made.step_derivatives()
    while found.margin < FAR:
        made.step(7, reset_command=False)
        found = made.step_derivatives()
    by_state, by_forces = differences(made, 1e-6)
    assert found.modes
    assert largest(found.by_state, by_state) < TOLERANCE
    assert largest(found.by_commands, by_forces) < TOLERANCE
