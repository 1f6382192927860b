"""Contact properties in motion, against closed forms: directions, rolling, spin, belts, softness, creep, impact laws.

Tolerances: constant accelerations are exact in the scheme, so what is left is the solver's tolerance (SOLVER, as in
test_simulation_contact_friction); where an acceleration varies, the scheme's own error, which is named.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import kido
import scenes
from scenes import G

H = 1e-3
SOLVER = 5e-7  # [m or m/s] from the solver's tolerance of 1e-6 on impulses


def on_plane(shape, mass, height, *, body=None, ground=None, **options):
    """A free body on the plane z = 0, with surfaces; friction of the body's is left in force by the ground's."""
    free = scenes.free(shape, mass, (0, 0, height))
    free.bodies[0].shapes[0].surface = body or kido.Surface()
    world = scenes.world(free, friction=1e6, **{"time_step": H, **options})
    if ground is not None:
        world.skeleton("ground").bodies[0].shapes[0].surface = ground
    return world, free


def box(**options):
    return on_plane(kido.Box((0.2, 0.2, 0.2)), 2.0, 0.1, **options)


def ball(radius=0.1, mass=1.5, **options):
    return on_plane(kido.Sphere(radius), mass, radius, **options)


# Directions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [0.0, 35.0])
def test_anisotropic_slide(degrees):
    """Maximal dissipation over the ellipse: a = -g (mu_1^2 v_1, mu_2^2 v_2) / |(mu_1 v_1, mu_2 v_2)|.

    Hence v_2 / v_20 = (v_1 / v_10)^((mu_2 / mu_1)^2). Friction is that of a step's middle: half the step, a quarter of
    the error, and what both are extrapolated to is exact to 1e-9.
    """
    first, second = 0.6, 0.3
    turn = Rotation.from_euler("z", degrees, degrees=True)
    direction = tuple(turn.apply([1.0, 0, 0]))
    start = np.array([1.0, 1.0])

    def motion(h):
        surface = kido.Surface(first, second, first_friction_direction=direction)
        world, body = box(body=surface, ground=kido.Surface(friction=10.0), time_step=h)
        world.step(20)
        body.velocities = [0, 0, 0, *turn.apply([*start, 0.0])]
        origin = scenes.place(body)
        world.step(round(0.15 / h))
        moved = turn.inv().apply(scenes.place(body) - origin)[:2]
        return np.concatenate([moved, turn.inv().apply(scenes.velocity(body))[:2]])

    def rate(_, y):
        scaled = np.array([first, second]) * y[2:]
        return [*y[2:], *(-G * np.array([first, second]) * scaled / np.linalg.norm(scaled))]

    truth = solve_ivp(rate, (0, 0.15), [0, 0, *start], rtol=1e-11, atol=1e-13).y[:, -1]
    assert truth[3] / start[1] == pytest.approx((truth[2] / start[0]) ** (second / first) ** 2, rel=1e-9)
    coarse, fine = motion(H), motion(H / 2)
    assert np.abs(coarse - truth).max() < 2e-6
    assert (coarse - truth) / (fine - truth) == pytest.approx(4.0, abs=0.01)
    assert (4 * fine - coarse) / 3 == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize(("share", "moves"), [(0.999, False), (1.01, True)])
def test_anisotropic_sticking_is_an_ellipse(share, moves):
    first, second = 0.6, 0.2
    world, body = box(body=kido.Surface(first, second))
    angle = np.radians(50.0)
    force = share * 2.0 * G * np.array([first * np.cos(angle), second * np.sin(angle), 0.0])
    body.bodies[0].add_external_force(force)
    world.step(300)
    moved = np.linalg.norm(scenes.place(body)[:2])
    assert (moved > 1e-4) if moves else (moved < SOLVER)


def test_a_skate_slides_along_and_holds_across():
    """No friction along the first direction, sticking across: also where one of the scaled rows vanishes."""
    world, body = box(body=kido.Surface(friction=0.0, secondary_friction=0.8))
    body.bodies[0].add_external_force([3.0, 8.0, 0.0])
    world.step(200)
    assert scenes.place(body)[0] == pytest.approx(0.5 * 1.5 * 0.2**2, abs=SOLVER)
    assert abs(scenes.place(body)[1]) < SOLVER
    assert world.totals.converged


@pytest.mark.parametrize(("frame", "along"), [("shape", (0, 1)), ("body", (1, 0)), ("world", (1, 0))])
def test_direction_is_in_the_frame_that_is_named(frame, along):
    """A shape turned by 90 degrees on its body: its own x axis is the body's y."""
    world = kido.World(time_step=H)
    world.add_ground(friction=10.0)
    skeleton = kido.Skeleton("body")
    body = skeleton.add_body(
        "body", kido.FreeJoint("j"), inertia=kido.Inertia.from_shape(kido.Box((0.2, 0.2, 0.2)), 1.0)
    )
    turned = scenes.pose(rotation=(0, 0, np.pi / 2))
    surface = kido.Surface(0.0, 0.9, first_friction_direction=(1, 0, 0), friction_frame=frame)
    body.add_shape(kido.Box((0.2, 0.2, 0.2)), turned, surface=surface)
    skeleton.positions = [0, 0, 0, 0, 0, 0.1]
    world.add_skeleton(skeleton)
    body.add_external_force([1.0, 1.0, 0.0])
    world.step(200)
    assert (np.abs(scenes.place(skeleton)[:2]) > 0.01).tolist() == [bool(x) for x in along]


# Rolling and spinning ---------------------------------------------------------------------------------------


def test_rolling_resistance_of_a_sphere():
    """a = (5/7) mu_r g / r: m a = f and I a / r = mu_r N - f r. It stops, and stays."""
    r, rolling = 0.1, 0.002
    world, body = ball(r, body=kido.Surface(friction=0.8, rolling_friction=rolling))
    world.step(10)
    v0, a = 1.0, 5 / 7 * rolling * G / r
    body.velocities = [0, v0 / r, 0, v0, 0, 0]
    x0 = scenes.place(body)[0]
    world.step(2000)
    assert scenes.velocity(body)[0] == pytest.approx(v0 - 2 * a, abs=2 * SOLVER)
    assert scenes.spin(body)[1] * r == pytest.approx(v0 - 2 * a, abs=2 * SOLVER)
    assert scenes.place(body)[0] - x0 == pytest.approx(2 * v0 - 2 * a, abs=1e-5)
    torque = np.asarray(world.contacts.torques).sum(axis=0)
    assert np.linalg.norm(torque) == pytest.approx(rolling * 1.5 * G, rel=1e-4)
    world.step(int((v0 / a - 2) / H) + 100)
    assert scenes.place(body)[0] - x0 == pytest.approx(v0**2 / (2 * a), abs=1e-4)
    assert scenes.speed([body]) < 1e-6


def test_too_little_grip_slides_while_it_rolls():
    """With mu < (5/7) mu_r / r the ball slides: v' = -mu g, w' = (mu r - mu_r) m g / I."""
    r, mu, rolling = 0.1, 0.05, 0.03
    world, body = ball(r, body=kido.Surface(friction=mu, rolling_friction=rolling))
    world.step(10)
    body.velocities = [0, 20.0, 0, 2.0, 0, 0]
    world.step(200)
    assert scenes.velocity(body)[0] == pytest.approx(2.0 - mu * G * 0.2, abs=1e-5)
    assert scenes.spin(body)[1] == pytest.approx(20.0 + (mu * r - rolling) * G / (0.4 * r * r) * 0.2, abs=1e-4)


@pytest.mark.parametrize(("share", "rolls"), [(0.98, False), (1.05, True)])
def test_a_ball_rests_on_an_incline_up_to_rolling_friction(share, rolls):
    """tan(theta) = mu_r / r."""
    r, angle = 0.1, np.radians(5.0)
    rolling = r * np.tan(angle) / share
    plane = scenes.fixed(kido.Plane(normal=(-np.sin(angle), 0, np.cos(angle))), friction=1.0)
    body = scenes.free(kido.Sphere(r), 1.0, (-r * np.sin(angle), 0, r * np.cos(angle)))
    body.bodies[0].shapes[0].set_surface(rolling_friction=rolling)
    world = scenes.world(body, plane, ground=False, time_step=H)
    start = scenes.place(body)
    world.step(500)
    moved = np.linalg.norm(scenes.place(body) - start)
    assert (moved > 1e-3) if rolls else (moved < SOLVER)


def test_spin_down_of_a_sphere():
    """I w' = -mu_t m g: stands still after I w0 / (mu_t m g)."""
    r, torsion, w0 = 0.1, 0.005, 6.0
    world, body = ball(r, body=kido.Surface(friction=0.5, torsional_friction=torsion))
    world.step(10)
    body.velocities = [0, 0, w0, 0, 0, 0]
    time = 0.4 * r * r * w0 / (torsion * G)
    world.step(round(0.5 * time / H))
    assert scenes.spin(body)[2] == pytest.approx(w0 - torsion * G / (0.4 * r * r) * round(0.5 * time / H) * H, abs=1e-5)
    world.step(round(0.5 * time / H) + 3)
    assert abs(scenes.spin(body)[2]) < 1e-6
    assert np.linalg.norm(scenes.place(body)[:2]) < SOLVER


# Belts and turntables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("body_moves", [False, True])
def test_conveyor(body_moves):
    """The box reaches the belt's speed after v / (mu g) and rides on; a box with tracks moves itself the other way."""
    mu, v = 0.4, 0.8
    belt = kido.Surface(friction=mu, surface_velocity=(v, 0, 0))
    world, body = box(**({"body": belt} if body_moves else {"ground": belt}))
    sign = -1.0 if body_moves else 1.0
    time = v / (mu * G)
    world.step(100)
    assert scenes.velocity(body)[0] == pytest.approx(sign * mu * G * 0.1, abs=SOLVER)
    world.step(900)
    assert scenes.velocity(body)[0] == pytest.approx(sign * v, abs=SOLVER)
    assert scenes.place(body)[0] == pytest.approx(sign * (v - v * time / 2), abs=mu * G * H**2 + SOLVER)


def test_turntable():
    """A box laid on a turntable goes round with it, but for w h / 2 a second outwards: it moves as at mid-step."""
    spin, radius = 1.0, 0.5
    world, body = box(ground=kido.Surface(friction=1.0, surface_spin=(0, 0, spin)))
    body.positions = [0, 0, 0, radius, 0, 0.1]
    body.velocities = [0, 0, spin, 0, spin * radius, 0]
    world.step(1000)
    assert scenes.place(body)[:2] == pytest.approx(
        [radius * np.cos(1.0), radius * np.sin(1.0)], abs=1.0 * radius * H / 2 * 1.1
    )
    assert scenes.spin(body)[2] == pytest.approx(spin, abs=1e-4)


# Slip compliance --------------------------------------------------------------------------------------------


def test_creep_is_compliance_times_force():
    """Four contacts share the push: v = (c f / 4) (1 - exp(-4 t / (c m))); backward Euler is 1st order on the way."""
    c, f = 0.02, 5.0
    world, body = box(body=kido.Surface(friction=0.9, slip=c))
    body.bodies[0].add_external_force([f, 0, 0])
    world.step(20)
    assert scenes.velocity(body)[0] == pytest.approx(c * f / 4 * (1 - np.exp(-4 * 0.02 / (c * 2.0))), rel=0.04)
    body.bodies[0].add_external_force([f, 0, 0])
    world.step(500)
    assert scenes.velocity(body)[0] == pytest.approx(c * f / 4, rel=1e-5)


def test_creep_across_is_another():
    world, body = box(body=kido.Surface(friction=0.9, slip=0.01, secondary_slip=0.03))
    body.bodies[0].add_external_force([4.0, 4.0, 0])
    world.step(1000)
    assert scenes.velocity(body)[:2] == pytest.approx([0.01, 0.03], rel=1e-4)


# Softness ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "softness",
    [kido.SpringDamper(2e4, 300.0), kido.TimeConstant(0.02), kido.SpringDamper(2e4, 300.0).erp_cfm(H)],
)
def test_static_deflection(softness):
    """m g / k, whichever way k is said: k = m / (T zeta)^2 for a time constant."""
    world, body = ball(body=kido.Surface(softness=softness))
    world.step(1500)
    stiffness = 1.5 / 0.02**2 if isinstance(softness, kido.TimeConstant) else 2e4
    assert 0.1 - scenes.place(body)[2] == pytest.approx(1.5 * G / stiffness, rel=1e-5)


def test_damped_oscillation():
    """m x'' + d x' + k x = 0 about the rest; 1 % of the amplitude: second order in h, 60 steps a period."""
    m, k, d = 1.5, 1.5e4, 30.0
    world, body = ball(mass=m, body=kido.Surface(softness=kido.SpringDamper(k, d)))
    omega, decay = np.sqrt(k / m), d / (2 * m)
    damped, sag = np.sqrt(omega**2 - decay**2), m * G / k
    amplitude = 0.9 * sag
    body.positions = [0, 0, 0, 0, 0, 0.1 - sag + amplitude]
    for step in range(1, 200):
        world.step()
        t = step * H
        swing = np.exp(-decay * t) * (np.cos(damped * t) + decay / damped * np.sin(damped * t))
        assert scenes.place(body)[2] - (0.1 - sag) == pytest.approx(amplitude * swing, abs=0.01 * amplitude)


def test_undamped_spring_keeps_its_energy():
    """A ball on an undamped spring comes back to its height: 1 % from the steps of touching and of leaving."""
    world, body = ball(body=kido.Surface(softness=kido.SpringDamper(1e4)))
    body.positions = [0, 0, 0, 0, 0, 0.3]
    heights = []
    for _ in range(1000):
        world.step()
        heights.append(scenes.place(body)[2])
    assert max(heights[450:]) == pytest.approx(0.3, abs=0.002)


def test_springs_too_stiff_for_the_step_are_damped():
    """k h^2 / m = 6,700: the box settles within some steps and lies m g / (4 k) deep."""
    world, body = box(body=kido.Surface(softness=kido.SpringDamper(1e10, 1.0)))
    body.positions = [0, 0, 0, 0, 0, 0.1005]
    world.step(200)
    assert scenes.speed([body]) < 1e-6
    assert scenes.place(body)[2] == pytest.approx(0.1, abs=1e-6)


def test_equivalence_of_the_three():
    spring = kido.SpringDamper(2e4, 150.0)
    soft = spring.erp_cfm(H)
    assert (soft.erp, soft.cfm) == pytest.approx((20.0 / 170.0, 1 / 170.0))
    back = soft.spring_damper(H)
    assert (back.stiffness, back.damping) == pytest.approx((2e4, 150.0))


# Restitution ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["poisson", "newton"])
@pytest.mark.parametrize("e", [0.5, 0.8])
def test_laws_agree_on_a_ball(law, e):
    """Height e^2 h0, by either law."""
    body = scenes.free(kido.Sphere(0.05), 1.0, (0, 0, 1.05), restitution=e)
    world = scenes.world(body, time_step=H, restitution_law=law)
    world.step(480)
    heights = []
    while scenes.velocity(body)[2] > 0 or not heights:
        world.step()
        heights.append(scenes.place(body)[2] - 0.05)
    assert max(heights) == pytest.approx(e * e, rel=2e-3)


@pytest.mark.parametrize("law", ["poisson", "newton"])
def test_laws_differ_on_a_tilted_box_that_grips(law):
    """With b the edge's velocity before and W its compliance, gripping: Newton v_n = -e b_n, Poisson
    v_n = -e (b_n - b_t W_nt / W_tt)."""
    e, angle, half = 0.6, 0.5, 0.1
    body = scenes.free(kido.Box((2 * half,) * 3), 1.0, (0, 0, 0), rotation=(0, angle, 0), friction=50.0, restitution=e)
    corner = Rotation.from_rotvec([0, angle, 0]).apply([half, 0, -half])
    body.positions = [0, angle, 0, 0, 0, -corner[2] + 1e-5]
    world = scenes.world(body, friction=50.0, time_step=1e-4, gravity=(0, 0, 0), restitution_law=law)
    turned = Rotation.from_rotvec([0, angle, 0]).inv()
    before = np.array([0.3, 0.0, -1.0])
    body.velocities = [0, 0, 0, *turned.apply(before)]
    world.step(3)
    after = scenes.velocity(body) + np.cross(scenes.spin(body), corner)
    inertia = 1.0 * (2 * half) ** 2 / 6
    x, z = corner[0], corner[2]
    w_nt, w_tt = -x * z / inertia, 1.0 + z * z / inertia
    expected = -e * before[2] if law == "newton" else -e * (before[2] - before[0] * w_nt / w_tt)
    assert after[2] == pytest.approx(expected, rel=1e-3)
    assert abs(after[0]) < 1e-3
    assert abs(expected - (-e * before[2])) > 0.02 or law == "newton"


# Correction of penetration ----------------------------------------------------------------------------------


def test_split_impulses_report_the_energy_they_bring():
    """A ball 2 mm deep is lifted without velocity: m g dz, all of it reported; 1e-3 of it to the skin's velocities."""
    world, body = ball(mass=2.0)
    body.positions = [0, 0, 0, 0, 0, 0.098]
    world.step(200)
    lifted = 2.0 * G * (scenes.place(body)[2] - 0.098)
    assert lifted > 0.9 * 2.0 * G * 0.002
    assert world.totals.correction_energy == pytest.approx(lifted, rel=1e-3)
    assert scenes.speed([body]) < 1e-4  # the skin still closes


def test_split_impulses_work_against_springs_too():
    """A hinged bar with a spring, pressed into a ball that is fixed: E after minus E before."""
    skeleton = kido.Skeleton("bar")
    joint = kido.RevoluteJoint("hinge", axis=(0, 1, 0), spring_stiffness=30.0)
    body = skeleton.add_body("bar", joint, inertia=kido.Inertia(1.0, (0.5, 0, 0), np.diag([0.01, 0.1, 0.1])))
    body.add_shape(kido.Box((1.0, 0.1, 0.1)), scenes.pose((0.5, 0, 0)))
    obstacle = scenes.fixed(kido.Sphere(0.1), (0.8, 0, -0.147))
    world = scenes.world(skeleton, obstacle, ground=False, time_step=1e-4, erp=0.01)
    before = world.total_energy
    world.step(1)
    world.step(100)
    gained = world.total_energy - before
    assert world.totals.correction_energy == pytest.approx(gained, rel=0.02)
    assert gained > 1e-3


def test_baumgarte_gives_velocity():
    """The first step asks for erp depth / h upwards, and the ball flies on; the energy is reported."""
    world, body = ball(mass=2.0, position_correction="baumgarte")
    body.positions = [0, 0, 0, 0, 0, 0.099]
    world.step()
    assert scenes.velocity(body)[2] == pytest.approx(0.2 * 0.001 / H, rel=1e-6)
    kinetic = 0.5 * 2.0 * scenes.velocity(body)[2] ** 2
    assert world.report.correction_energy >= kinetic
    world.step(20)
    assert scenes.place(body)[2] > 0.1005
    assert world.position_correction == "baumgarte"


def test_slop_and_correction_speed_of_a_surface():
    world, body = ball(body=kido.Surface(slop=5e-4, max_correction_speed=0.01))
    body.positions = [0, 0, 0, 0, 0, 0.098]
    world.step(1)
    assert scenes.place(body)[2] - 0.098 == pytest.approx(0.01 * H, rel=1e-3)
    world.step(1000)
    assert scenes.place(body)[2] == pytest.approx(0.0995, abs=2e-5)


# Statics ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("floor", "wall"), [(0.5, 0.3), (0.3, 0.0)])
@pytest.mark.parametrize(("share", "stands"), [(1.03, True), (0.97, False)])
def test_ladder(floor, wall, share, stands):
    """A ladder at angle theta stands iff tan(theta) >= (1 - mu_floor mu_wall) / (2 mu_floor)."""
    length, radius = 2.0, 0.01
    angle = np.arctan((1 - floor * wall) / (2 * floor) * share)
    ladder = scenes.free(kido.Box((length, 0.4, 2 * radius)), 5.0, (0, 0, 0), rotation=(0, angle, 0), friction=10.0)
    corners = np.array([[x, 0, z] for x in (-length / 2, length / 2) for z in (-radius, radius)])
    corners = Rotation.from_rotvec([0, angle, 0]).apply(corners)
    ladder.positions = [0, angle, 0, -corners[:, 0].min(), 0, -corners[:, 2].min()]
    ground = scenes.fixed(kido.Plane(), friction=floor, name="floor")
    side = scenes.fixed(kido.Plane(normal=(1, 0, 0)), friction=wall, name="wall")
    world = scenes.world(ladder, ground, side, ground=False, time_step=H)
    start = scenes.place(ladder)
    world.step(400)
    moved = np.linalg.norm(scenes.place(ladder) - start)
    assert (moved < 1e-5) if stands else (moved > 1e-3)
