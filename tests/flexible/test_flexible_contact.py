"""Surfaces of flexible bodies that touch others as they are deformed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kido
from kido.collision import CollisionDetector, NarrowPhase
from kido.collision.external import Points
from kido.flexible import FlexibleBody, Material, ModeNode, Modes, Section, beam_modes, reduced_modes, solid
from kido.shapes.hull import convex_hull

ALUMINIUM = Material(7e10, 2700.0)
THICK, THIN = Section.rectangle(0.05, 0.02), Section.rectangle(0.05, 0.004)


def bends(number: int, section: Section = THICK, **options: Any) -> Modes:
    """A beam of 1 m that bends up and down, Craig-Bampton's modes."""
    given: dict[str, Any] = {"boundary": "craig-bampton", "damping_ratio": 0.7, "theory": "euler-bernoulli"}
    return beam_modes(1.0, section, ALUMINIUM, bending_z=number, **{**given, **options})


def stiffness(section: Section) -> tuple[float, float]:
    """E I [N m^2], and weight per length [N/m]."""
    return 7e10 * section.about_y, 9.81 * 2700.0 * section.area


def still(*shapes: tuple[kido.Shape, Any], friction: float = 0.0) -> kido.Skeleton:
    """Shapes that do not move, each at a place."""
    skeleton = kido.Skeleton("still")
    skeleton.mobile = False
    for k, (shape, place) in enumerate(shapes):
        body = skeleton.add_body(f"support{k}", kido.WeldJoint(transform_from_parent=place))
        body.add_shape(shape, friction=friction)
    return skeleton


def beam_on(joint: kido.Joint, modes: Modes, name: str = "beam") -> FlexibleBody:
    return FlexibleBody(kido.Skeleton(name).add_body(name, joint), modes, collision=True)


def world_of(*parts: FlexibleBody | kido.Skeleton, time_step: float = 1e-3, **options: Any) -> kido.World:
    world = kido.World(time_step=time_step, **options)
    for part in parts:
        world.add_skeleton(part.body.skeleton if isinstance(part, FlexibleBody) else part)
    return world


def upwards(world: kido.World) -> np.ndarray:
    """Vertical forces of contacts."""
    return np.abs(world.contacts.forces[:, 2])


# Where it is -------------------------------------------------------------------------------------------------


def test_vertices_are_where_they_are_seen_to_third_order() -> None:
    """What touches is a polynomial of second order, what is seen turns sections by exp: 1/8 of it at half the angle."""
    surface = beam_modes(1.0, THICK, ALUMINIUM, bending_y=2, bending_z=2, axial=1, torsion=1).surface
    assert surface is not None
    first, second = surface.vertex_modes()
    apart = []
    for size in (1.0, 0.5):
        eta = size * np.array([0.05, -0.02, 0.03, 0.01, 1e-3, 0.2])
        moved = first @ eta + 0.5 * np.einsum("vamn,m,n->va", second, eta, eta)
        apart.append(np.abs(moved - surface.displacements(eta)).max())
    assert apart[0] < 1e-4 and 7.0 < apart[0] / apart[1] < 9.0


def in_touch() -> tuple[kido.World, FlexibleBody]:
    """A bent and twisted beam on a hinge, a ball that just reaches into it between stations and away from its edge."""
    flexible = beam_on(kido.RevoluteJoint("hinge", axis=(0, 0, 1)), beam_modes(
        1.0, THICK, ALUMINIUM, bending_y=1, bending_z=2, axial=1, torsion=1))  # fmt: skip
    skeleton = flexible.body.skeleton
    skeleton.positions = [0.4, 0.01, 0.03, -0.01, 1e-3, 0.05]
    surface = flexible.modes.surface
    assert surface is not None
    first, second = surface.vertex_modes()
    eta = skeleton.positions[1:]
    points = surface.vertices + first @ eta + 0.5 * np.einsum("vamn,m,n->va", second, eta, eta)
    a, b, c = points[surface.faces[np.argmin(np.abs(points[surface.faces][:, :, 0].mean(axis=1) - 0.62)
                                             - points[surface.faces][:, :, 2].mean(axis=1))]]  # fmt: skip
    normal = np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a))
    R = flexible.body.world_transform[:3, :3]
    ball = kido.Skeleton("ball")
    ball.add_body("ball", kido.FreeJoint(), None, kido.Inertia(1.0, moment=np.eye(3))).add_shape(kido.Sphere(0.03))
    ball.positions = np.r_[np.zeros(3), R @ (0.5 * a + 0.2 * b + 0.3 * c + (0.03 - 1e-7) * normal)]
    world = world_of(flexible, ball, gravity=(0, 0, 0), time_step=1e-6)
    return world, flexible


def test_rows_of_a_contact_are_derivatives_of_its_material_point() -> None:
    """By central differences of where the triangle's point is, over joint and modes; along normal and tangents."""
    world, flexible = in_touch()
    q0 = flexible.body.skeleton.positions.copy()
    world.step()
    engine: Any = world.engine
    problem, src, contacts = engine.problem, engine.row_origins, engine.detector.container
    assert problem.num_blocks == 1 and contacts.num_contacts == 1
    point, n = contacts.point[0].copy(), len(q0)
    other = bool(problem.len_a[0] != n)
    at, sign = (problem.at_b[0], 1.0) if other else (problem.at_a[0], -1.0)
    rows = sign * problem.J[at : at + 3 * n].reshape(3, n)
    axes = np.array([contacts.normal[0], src.tangent[0, :3], src.tangent[0, 3:]])
    surface = flexible.modes.surface
    assert surface is not None
    first, second = surface.vertex_modes()

    def corners(q: np.ndarray) -> np.ndarray:
        X = flexible.body.skeleton
        X.positions = q
        moved = surface.vertices + first @ q[1:] + 0.5 * np.einsum("vamn,m,n->va", second, q[1:], q[1:])
        T = flexible.body.world_transform
        return moved @ T[:3, :3].T + T[:3, 3]

    triangles = corners(q0)[surface.faces]
    edges = np.stack([triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]], axis=2)
    weights = np.array([np.linalg.lstsq(E, point - o, rcond=None)[0] for E, o in zip(edges, triangles[:, 0])])
    feet = triangles[:, 0] + np.einsum("fab,fb->fa", edges, weights)
    inside = (weights > 0.0).all(axis=1) & (weights.sum(axis=1) < 1.0)
    f = np.where(inside, np.linalg.norm(feet - point, axis=1), np.inf).argmin()
    share = np.array([1.0 - weights[f].sum(), *weights[f]])
    assert share.min() > 0.1
    h, J = 1e-6, np.zeros((3, n))
    for k in range(n):
        step = h * np.eye(n)[k]
        J[:, k] = share @ (corners(q0 + step) - corners(q0 - step))[surface.faces[f]] / (2.0 * h)
    # The contact is half its depth, 5e-8 m, from the surface; differences are good to 1e-9.
    assert np.abs(axes @ J).max(axis=0).min() > 1e-3  # all coordinates move it
    assert np.allclose(rows, axes @ J, rtol=0.0, atol=2e-7)


# At rest -----------------------------------------------------------------------------------------------------


def prop_force(section: Section, place: float) -> float:
    """Of a prop under a clamped beam of 1 m: w a^2 (6 - 4 a + a^2) / 24 E I = R a^3 / 3 E I."""
    return stiffness(section)[1] * (6.0 - 4.0 * place + place**2) / (8.0 * place)


@pytest.mark.parametrize(
    "shape", [kido.Sphere(0.05), kido.Capsule(0.05, 0.4), kido.Box((0.1, 0.4, 0.1))], ids=["ball", "edge", "box"]
)
def test_a_prop_under_a_beam(shape: kido.Shape) -> None:
    """Under the tip it carries 3/8 of the weight; the box has its edge at 0.9 m, from where on the beam rises."""
    X, place = np.eye(4), 0.9 if isinstance(shape, kido.Box) else 1.0
    X[:3, 3] = 1.0 if place == 1.0 else 0.95, 0.0, -0.01 - 0.05
    if isinstance(shape, kido.Capsule):  # across
        X[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    world = world_of(beam_on(kido.WeldJoint(), bends(6)), still((shape, X)))
    world.step(1500)
    assert np.isclose(prop_force(THICK, 1.0), 0.375 * stiffness(THICK)[1])
    assert np.isclose(upwards(world).sum(), prop_force(THICK, place), rtol=2e-3)


def test_a_prop_at_mid_span_by_the_number_of_modes() -> None:
    """Converges to the beam's: a kink of the shear force under the prop, which cantilever modes have in the limit."""
    off = []
    for number in (3, 6, 12):
        world = world_of(beam_on(kido.WeldJoint(), bends(number)), still((kido.Sphere(0.05), (0.5, 0, -0.06))))
        world.step(1500)
        off.append(abs(upwards(world).sum() / prop_force(THICK, 0.5) - 1.0))
    assert off[0] > off[1] > off[2] and off[2] < 3e-3


def test_a_beam_on_three_supports() -> None:
    """On a hinge, an edge in the middle and one at the tip: 3/16, 5/8 and 3/16 of the weight."""
    across = np.array([[1.0, 0, 0, 0.5], [0, 0, -1, 0], [0, 1, 0, -0.06], [0, 0, 0, 1]])
    at_tip = across + np.array([[0.0, 0, 0, 0.5], *np.zeros((3, 4))])
    flexible = beam_on(kido.RevoluteJoint("hinge", axis=(0, 1, 0)), bends(12))
    edge = kido.Capsule(0.05, 0.4)
    world = world_of(flexible, still((edge, across), (edge, at_tip)))
    world.step(2500)
    weight = stiffness(THICK)[1]
    middle = world.contacts.points[:, 0] < 0.75
    assert np.isclose(upwards(world)[middle].sum(), 0.625 * weight, rtol=3e-3)
    assert np.isclose(upwards(world)[~middle].sum(), 3.0 / 16.0 * weight, rtol=5e-3)
    # A span with one end clamped by symmetry sags by w l^4 / 185 E I at 0.4215 l from the other.
    surface: Any = flexible.modes.surface
    line = surface.positions + surface.translation @ flexible.body.skeleton.positions[1:]
    line = line @ flexible.body.world_transform[:3, :3].T
    sag = -np.interp(0.4215 * 0.5, line[:, 0], line[:, 2])
    assert np.isclose(sag, weight * 0.5**4 / 185.0 / stiffness(THICK)[0], rtol=0.03)  # to where stations are


@pytest.mark.parametrize("table", [False, True], ids=["plane", "box"])
def test_a_beam_that_lies_down_on_the_ground(table: bool) -> None:
    """Clamped at a height H: it leaves the ground at l = (72 E I H / w)^(1/4), and all but 2/3 w l of it is carried."""
    height = 5e-4
    E, w = stiffness(THIN)
    free = (72.0 * E * height / w) ** 0.25
    flexible = beam_on(kido.WeldJoint(transform_from_parent=(0, 0, height + 0.002)), bends(10, THIN))
    ground = still((kido.Box((3.0, 1.0, 0.2)), (0, 0, -0.1)) if table else (kido.Plane(), (0, 0, 0)))
    world = world_of(flexible, ground)
    world.step(3000)
    assert np.abs(flexible.body.skeleton.velocities).max() < 1e-4
    carried, x = upwards(world), world.contacts.points[:, 0]
    assert np.isclose(carried.sum(), w * (1.0 - 2.0 / 3.0 * free), rtol=0.03)
    assert x[carried > 1e-3].min() > free - 1.5 / 32.0  # to the stations of the surface
    assert world.totals.max_penetration < 1e-4


def test_the_triangles_of_a_mesh_carry_as_a_box_does() -> None:
    corners = np.array([[x, y, z] for x in (-0.05, 0.05) for y in (-0.2, 0.2) for z in (-0.05, 0.05)])
    hull, found = convex_hull(corners, "box"), []
    for shape in (kido.Box((0.1, 0.4, 0.1)), kido.Mesh(hull.vertices, hull.faces, collide_as="triangles")):
        world = world_of(beam_on(kido.WeldJoint(), bends(4)), still((shape, (0.7, 0.0, -0.06))))
        world.step(1500)
        found.append(upwards(world).sum())
    assert np.isclose(found[0], found[1], rtol=1e-3)


def test_two_flexible_beams_share_a_load() -> None:
    """One lies with its tip across that of a stiffer one: R (1 / E I1 + 1 / E I2) / 3 = w (1 / E I1 - ...) / 8."""
    other = Section.rectangle(0.02, 0.06)
    across = np.array([[0.0, -1, 0, 0.99], [1, 0, 0, -0.99], [0, 0, 1, -0.04], [0, 0, 0, 1]])
    upper = beam_on(kido.WeldJoint(), bends(4), "upper")
    lower = beam_on(kido.WeldJoint(transform_from_parent=across), bends(4, other), "lower")
    for flexible in (upper, lower):
        assert flexible.surface is not None
        flexible.surface.friction = 0.0
    world = world_of(upper, lower)
    world.step(2500)
    (E1, w1), (E2, w2) = stiffness(THICK), stiffness(other)
    a = 0.99  # at which either is touched
    load = (w1 / E1 - w2 / E2) * a**2 * (6.0 - 4.0 * a + a**2) / 24.0
    assert np.isclose(upwards(world).sum(), load / (a**3 / 3.0 * (1.0 / E1 + 1.0 / E2)), rtol=0.02)  # within a width


@pytest.mark.parametrize("clamped", [True, False])
def test_a_solid_of_tetrahedra_lies_on_balls(clamped: bool) -> None:
    """Its weight, and clamped the part that a prop takes of the beam that it nearly is."""
    pytest.importorskip("skfem")
    block = solid(kido.Box((1.0, 0.05, 0.05)), ALUMINIUM, size=0.06, transform=(0.5, 0.0, 0.0))
    x = block.positions[:, 0]
    block = block.tied("root", (0, 0, 0), np.flatnonzero(x < 1e-9))
    block = block.tied("tip", (1, 0, 0), np.flatnonzero(x > 1 - 1e-9))
    modes = reduced_modes(block, "root", ["tip"], number=4, method="craig-bampton", damping_ratio=0.7)
    joint = kido.WeldJoint() if clamped else kido.FreeJoint()
    flexible = beam_on(joint, modes)
    balls = [(kido.Sphere(0.05), (0.95, y, -0.075)) for y in (-0.01, 0.01)]
    if not clamped:
        balls += [(kido.Sphere(0.05), (0.1, y, -0.075)) for y in (-0.01, 0.01)]
    world = world_of(flexible, still(*balls, friction=0.5))
    assert flexible.surface is not None
    flexible.surface.friction = 0.0 if clamped else 0.5
    world.step(1500)
    weight = 9.81 * modes.mass
    wanted = prop_force(THICK, 0.95) / stiffness(THICK)[1] * weight if clamped else weight
    assert np.isclose(upwards(world).sum(), wanted, rtol=0.05 if clamped else 1e-3)


# In motion ---------------------------------------------------------------------------------------------------


def struck(restitution: float, time_step: float, place: float = 0.5) -> tuple[kido.World, list[kido.Skeleton]]:
    """A floating beam at rest, and a ball that comes down on it; without weight, damping and friction."""
    flexible = beam_on(kido.FreeJoint(), bends(4, boundary="free", theory="timoshenko", damping_ratio=0.0))
    assert flexible.surface is not None
    flexible.surface.set_surface(friction=0.0, restitution=restitution)
    ball = kido.Skeleton("ball")
    body = ball.add_body("ball", kido.FreeJoint(), None, kido.Inertia(0.5, moment=2e-4 * np.eye(3)))
    body.add_shape(kido.Sphere(0.03), friction=0.0, restitution=1.0)
    ball.positions = [0.0, 0.0, 0.0, place, 0.005, 0.0405]
    ball.velocities = [0.0, 0.0, 0.0, 0.1, 0.0, -1.0]
    world = world_of(flexible, ball, gravity=(0, 0, 0), time_step=time_step)
    return world, [flexible.body.skeleton, ball]


def momentum(skeletons: list[kido.Skeleton]) -> np.ndarray:
    """Of all about the world's origin."""
    return np.sum([s.momentum for s in skeletons], axis=0)


@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_a_strike_keeps_momentum(restitution: float) -> None:
    """Impulses are equal and opposite about any point, to rounding; motion keeps momentum to second order in h."""
    worst = []
    for time_step in (1e-4, 5e-5):
        world, both = struck(restitution, time_step)
        before, most, first = momentum(both), 0.0, True
        for _ in range(round(0.006 / time_step)):
            places = both[0].positions[3:6], both[1].positions[3:6] + 0.5 * time_step * both[1].velocities[3:6]
            world.step()
            one, two = (time_step * s.constraint_forces[:6] for s in both)
            if np.abs(two).max() > 0.0 and first:  # the beam had not moved, so that axes are the world's
                first = False
                R = both[0].body("beam").world_transform[:3, :3]
                forces = R @ one[3:], two[3:]
                assert np.abs(two[3:]).max() > 0.1 and np.allclose(forces[0], -forces[1], rtol=0.0, atol=1e-14)
                about = [g[:3] + np.cross(x, f) for g, x, f in zip((one, two), places, forces, strict=True)]
                assert np.allclose(about[0], -about[1], rtol=0.0, atol=1e-14)
            most = max(most, float(np.abs(momentum(both) - before).max()))
        assert not first
        worst.append(most)
    assert worst[0] < 4e-3 * 0.5 and worst[1] < 0.3 * worst[0]  # of 0.5 N s that the ball brings; second order


def test_an_elastic_strike_keeps_energy() -> None:
    """What a ball loses has the beam, modes and all; to an error that goes with the step."""
    off = []
    for time_step in (1e-4, 5e-5):
        world, both = struck(1.0, time_step, place=0.35)
        before = world.total_energy
        world.step(round(0.01 / time_step))
        off.append(abs(world.total_energy / before - 1.0))
        beam = both[0]
        assert beam.kinetic_energy + beam.potential_energy > 0.1 * before
    assert off[0] < 2e-4 and off[1] < 0.3 * off[0]  # 3.6e-5, 2.2e-6


def seesaw(time_step: float, seconds: float) -> dict[str, float]:
    """A plank on an edge, a ball that falls on one end of it: where the energy goes."""
    plank = beam_on(
        kido.PlanarJoint(axis1=(0, 0, 1), axis2=(1, 0, 0)),
        bends(4, Section.rectangle(0.1, 0.012), damping_ratio=0.02),
        "plank",
    )
    skeleton = plank.body.skeleton
    assert plank.surface is not None
    plank.surface.friction = 0.6
    edge = np.array([[1.0, 0, 0, 0.5], [0, 0, -1, 0], [0, 1, 0, 0.1], [0, 0, 0, 1]])
    ground = still((kido.Capsule(0.03, 0.3), edge), (kido.Plane(), (0, 0, 0)), friction=0.6)
    load = kido.Skeleton("load")
    load.add_body("load", kido.TranslationalJoint(), None, kido.Inertia(0.4)).add_shape(kido.Sphere(0.04), friction=0.6)
    load.positions = [0.9, 0.0, 0.30]
    world = world_of(plank, load, ground, time_step=time_step)
    skeleton.set_positions([0.1361], [0])
    both = [skeleton, load]
    D = [np.array([dof.damping for dof in s.dofs]) for s in both]
    energies, dampers, contacts = [world.total_energy], 0.0, 0.0
    for _ in range(round(seconds / time_step)):
        before = [s.velocities for s in both]
        world.step()
        for s, u, d in zip(both, before, D, strict=True):
            mean = 0.5 * (u + s.velocities)
            dampers += time_step * float(mean @ (d * mean))
            contacts -= time_step * float(mean @ s.constraint_forces)
        energies.append(world.total_energy)
    every = round(0.1 / time_step)
    rise = float(np.diff(energies[::every]).max())
    return {
        "first": energies[0], "lost": energies[0] - energies[-1], "dampers": dampers, "contacts": contacts,
        "left": energies[0] - energies[-1] - dampers - contacts, "rise": rise,
        "deepest": float(world.totals.max_penetration),
    }  # fmt: skip


def test_energy_of_a_plank_on_a_fulcrum_is_accounted_for() -> None:
    """A ball falls on one end of a plank, which swings, bends and hits the ground: dampers and contacts take all."""
    found = seesaw(5e-4, 2.0)
    assert found["lost"] > 0.5 and min(found["dampers"], found["contacts"]) > 0.02 * found["lost"]
    assert abs(found["left"]) < 1e-2 * found["lost"]
    assert found["rise"] < 1e-3 * found["lost"]
    assert found["deepest"] < 1e-3


# Beside others -----------------------------------------------------------------------------------------------


def test_a_surface_that_touches_nothing_changes_no_bit() -> None:
    states = []
    for collision in (False, True):
        skeleton = kido.Skeleton("arm")
        body = skeleton.add_body("beam", kido.RevoluteJoint(axis=(0, 1, 0)))
        flexible = FlexibleBody(body, bends(3), collision=collision)
        tip = skeleton.add_body(
            "load", kido.WeldJoint(), flexible.node("tip"), kido.Inertia(0.2, moment=1e-4 * np.eye(3))
        )
        tip.add_shape(kido.Box((0.06, 0.06, 0.06)))  # into the beam's own surface: joined, they do not touch
        skeleton.velocities = [1.0, 0.1, 0.0, 0.0]
        world = world_of(skeleton, still((kido.Plane(), (0, 0, -3.0))))
        world.step(300)
        assert len(world.contacts) == 0
        states.append(np.r_[skeleton.positions, skeleton.velocities])
    assert np.array_equal(states[0], states[1])


def test_groups_know_the_surface_as_it_is() -> None:
    flexible = beam_on(kido.WeldJoint(), bends(2, boundary="clamped"))
    ball = still((kido.Sphere(0.05), (1.0, 0.0, 0.2)))
    world = world_of(flexible, ball)
    flexible.body.skeleton.positions = [0.05, 0.0]
    assert np.isclose(world.collision_group.distance().distance, 0.2 - 0.05 - 0.05 - 0.01, atol=1e-3)
    flexible.body.skeleton.positions = [0.16, 0.0]
    assert world.collision_group.collide().is_collision


def test_recordings_and_snapshots_have_what_touches(tmp_path: Path) -> None:
    """A world goes on from a snapshot, and from a recording of it, by the bits that it had."""
    world, both = struck(0.0, 1e-3)
    path = tmp_path / "strike.h5"
    with kido.Recorder(world, path):
        world.step(5)
        snapshot = world.snapshot()
        world.step(30)
    end = [s.positions.copy() for s in both]
    world.restore(snapshot)
    world.step(30)
    assert all(np.array_equal(s.positions, q) for s, q in zip(both, end, strict=True))
    again = kido.Recording.open(path).resume(0)
    assert again.skeletons[0].body("beam").shape("surface").collision
    again.step(35)
    assert np.array_equal(again.skeletons[0].positions, end[0])


# What cannot be ----------------------------------------------------------------------------------------------


def test_surfaces_that_cannot_touch_are_named() -> None:
    shapes = np.zeros((2, 3, 1))
    shapes[1, 2, 0] = 1.0
    bare = Modes([1.0, 1.0], [[0, 0, 0], [1, 0, 0]], shapes, [10.0], nodes=[ModeNode("tip", (1, 0, 0), shapes[1])])
    skeleton = kido.Skeleton("s")
    body = skeleton.add_body("bare", kido.WeldJoint())
    with pytest.raises(kido.ModelError, match="body 'bare': its modes have no surface that could touch others"):
        FlexibleBody(body, bare, collision=True)
    with pytest.raises(kido.ModelError, match="body 'bare': collision: expected True or False, got 'yes'"):
        FlexibleBody(body, bends(2), collision="yes")  # type: ignore[arg-type]
    assert skeleton.num_dofs == 0 and not body.shapes
    flexible = FlexibleBody(body, bends(2), collision=True)
    assert flexible.surface is not None
    flexible.surface.relative_transform = (0.1, 0.0, 0.0)
    with pytest.raises(kido.ModelError, match="flexible body 'bare': its surface touches others and was moved"):
        world_of(skeleton).step()


def test_detectors_of_other_libraries_are_refused() -> None:
    class Nothing(NarrowPhase):
        def __init__(self, geometries: Any):
            pass

        def place(self, rotation: Any, position: Any) -> None: ...

        def contacts(self, pairs: Any, margin: float) -> Points:
            return Points(np.zeros(0, np.int64), np.zeros((0, 7)))

        def distance(self, a: int, b: int) -> Any: ...

    class Blind(CollisionDetector):
        name = "blind"

        def narrow_phase(self) -> type[NarrowPhase]:
            return Nothing

    world = world_of(beam_on(kido.WeldJoint(), bends(2)), still((kido.Plane(), (0, 0, -1.0))))
    world.collision_detector = Blind()
    with pytest.raises(kido.ModelError, match=r"its surface touches others as it is deformed.*is 'blind'"):
        world.step()
