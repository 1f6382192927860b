"""States and edges against distances by formulas and dense sampling, for a flying ball and arms."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido.planning import CollisionChecker, Environment
from kido.shapes import Box, Capsule, Cylinder, Heightmap, Mesh, Plane, PointCloud, Sphere, VoxelGrid

INERTIA = kido.Inertia.from_diagonal(1.0, [1, 1, 1])
RADIUS = 0.13
NEAR = 1e-9  # distances that are nearer to zero than this are not compared: they are rounding


def flying_ball(radius: float = RADIUS) -> kido.Skeleton:
    """A ball whose three coordinates are the position of its centre."""
    skeleton, body = kido.Skeleton("ball"), None
    for k, axis in enumerate(np.eye(3)):
        joint = kido.PrismaticJoint(axis=axis, name="xyz"[k], position_lower_limit=-3.0, position_upper_limit=3.0)
        body = skeleton.add_body(f"body{k}", joint, body, INERTIA)
    assert body is not None
    body.add_shape(Sphere(radius))
    return skeleton


def arm(links: int = 4, shape=None) -> kido.Skeleton:
    """Links of 0.4 m, turning about z and y in turn; the first shape is that of a fixed base."""
    skeleton = kido.Skeleton("arm")
    body = skeleton.add_body("base", kido.WeldJoint(), None, INERTIA)
    body.add_shape(Box((0.2, 0.2, 0.1)))
    for k in range(links):
        pose = np.eye(4)
        pose[2, 3] = 0.1 if k == 0 else 0.4
        axis = (0.0, 0.0, 1.0) if k == 0 else (0.0, 1.0, 0.0)
        limits = {"position_lower_limit": -2.9, "position_upper_limit": 2.9}
        joint = kido.RevoluteJoint(axis=axis, name=f"q{k}", transform_from_parent=pose, **limits)
        body = skeleton.add_body(f"link{k}", joint, body, INERTIA)
        middle = np.eye(4)
        middle[2, 3] = 0.2
        body.add_shape(Capsule(0.05, 0.25) if shape is None else shape, middle)
    return skeleton


def turned(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = Rotation.random(rng=rng).as_matrix(), rng.uniform(-0.3, 0.3, 3)
    return X


def local(x, X):
    return (x - X[:3, 3]) @ X[:3, :3]


def box_distance(x, half):
    return np.linalg.norm(np.maximum(np.abs(x) - half, 0.0), axis=1)


def capsule_distance(x, radius, height):
    z = np.clip(x[:, 2], -0.5 * height, 0.5 * height)
    return np.linalg.norm(x - np.outer(z, [0, 0, 1]), axis=1) - radius


def cylinder_distance(x, radius, height):
    r, z = np.hypot(x[:, 0], x[:, 1]) - radius, np.abs(x[:, 2]) - 0.5 * height
    return np.hypot(np.maximum(r, 0), np.maximum(z, 0))


def distances_to(shape, X, x):
    x = local(x, X)
    if isinstance(shape, Box):
        return box_distance(x, np.array(shape.size) / 2)
    if isinstance(shape, Sphere):
        return np.linalg.norm(x, axis=1) - shape.radius
    if isinstance(shape, Capsule):
        return capsule_distance(x, shape.radius, shape.height)
    if isinstance(shape, Cylinder):
        return cylinder_distance(x, shape.radius, shape.height)
    if isinstance(shape, Plane):
        return x @ np.array(shape.normal) - shape.offset
    if isinstance(shape, PointCloud):
        return np.linalg.norm(x[:, None] - shape.points, axis=2).min(axis=1) - shape.radius
    assert isinstance(shape, VoxelGrid)
    half = np.full(3, shape.spacing / 2)
    return np.min([box_distance(x - c, half) for c in shape.centers], axis=0)


SOLIDS = [
    Box((0.6, 0.4, 0.2)),
    Sphere(0.3),
    Capsule(0.1, 0.7),
    Cylinder(0.25, 0.4),
    Plane((0.3, 0.2, 1.0), 0.1),
    PointCloud(np.random.default_rng(5).uniform(-0.5, 0.5, (40, 3)), 0.05),
    VoxelGrid(np.random.default_rng(6).uniform(size=(3, 4, 2)) > 0.5, 0.2),
]


@pytest.mark.parametrize("shape", SOLIDS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_surroundings_are_exact(shape, margin):
    """A ball against each solid, straight and turned, by the solids' own distance formulas."""
    for X in (np.eye(4), turned(1)):
        checker = CollisionChecker(flying_ball(), Environment().add("it", shape, X), margin=margin)
        q = np.random.default_rng(2).uniform(-1.0, 1.0, (3000, 3))
        gap = distances_to(shape, X, q) - RADIUS - margin
        clear = np.abs(gap) > NEAR
        free = checker.states_are_free(q)
        assert 0.05 < free.mean() < 0.99
        assert (free == (gap > 0.0))[clear].all()


def tetrahedron():
    return np.array([[0, 0, 0], [0.8, 0, 0], [0, 0.7, 0], [0, 0, 0.6]]), [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


@pytest.mark.parametrize("collide_as", ["hull", "triangles"])
def test_meshes_by_points_of_their_faces(collide_as):
    """The distance from faces is between that from many points of them and that less the points' spacing."""
    vertices, faces = tetrahedron()
    mesh = Mesh(vertices, faces, collide_as=collide_as)
    X = turned(3)
    checker = CollisionChecker(flying_ball(), Environment().add("it", mesh, X))
    n = 60
    grid = np.array([[i, j, n - i - j] for i in range(n + 1) for j in range(n + 1 - i)]) / n
    points = np.concatenate([grid @ vertices[f] for f in faces]) @ X[:3, :3].T + X[:3, 3]
    q = np.random.default_rng(4).uniform(-0.8, 1.0, (2000, 3))
    gap = np.linalg.norm(q[:, None] - points, axis=2).min(axis=1) - RADIUS
    free, spacing = checker.states_are_free(q), 1.2 / n
    x = local(q, X)
    inside = (x > 0.0).all(axis=1) & (x @ np.array([1 / 0.8, 1 / 0.7, 1 / 0.6]) < 1.0)
    assert not free[gap < 0.0].any()
    if collide_as == "hull":
        assert not free[inside].any()
    assert free[(gap > spacing) & ~inside].all()
    assert 0.1 < free.mean() < 0.99


def test_height_maps_are_their_surface():
    heights = np.array([[0.0, 0.1, 0.0], [0.2, 0.4, 0.1], [0.0, 0.1, 0.3]])
    checker = CollisionChecker(flying_ball(), Environment().add("ground", Heightmap(heights, 0.5)))
    assert not checker.is_free([0.0, 0.0, 0.4 + RADIUS - 1e-6])
    assert checker.is_free([0.0, 0.0, 0.4 + 2 * RADIUS])


def sphere_truth(checker, skeleton, names, q, pairs, solids=()):
    """Least gap among the checker's own finest spheres, placed by the skeleton's bodies."""
    gaps = []
    for state in q:
        skeleton.positions = state
        world = {}
        for name in names:
            centres, radii = checker.spheres(name)
            body = next(b for b in skeleton.bodies if b.name == name)
            X = body.transform()
            world[name] = centres @ X[:3, :3].T + X[:3, 3], radii
        least = np.inf
        for a, b in pairs:
            (x, r), (y, s) = world[a], world[b]
            least = min(least, (np.linalg.norm(x[:, None] - y, axis=2) - r[:, None] - s).min())
        for name in names:
            if name != "base":
                x, r = world[name]
                for shape, X in solids:
                    least = min(least, (distances_to(shape, X, x) - r).min())
        gaps.append(least)
    return np.array(gaps)


def test_arms_against_themselves_and_obstacles():
    """Eight at a time, by trees, as one by one, by all spheres: the same, in batches of any length."""
    skeleton = arm()
    X = np.eye(4)
    X[:3, 3] = 0.5, 0.2, 0.6
    box = Box((0.2, 0.3, 0.4))
    checker = CollisionChecker(skeleton, Environment().add("box", box, X), exact=False)
    names = [b.name for b in skeleton.bodies]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 2 :]]
    q = np.random.default_rng(0).uniform(-2.9, 2.9, (403, 4))
    gap = sphere_truth(checker, skeleton, names, q, pairs, [(box, X)])
    free = checker.states_are_free(q)
    assert 0.2 < free.mean() < 0.8
    assert (free == (gap > 0.0))[np.abs(gap) > NEAR].all()
    assert [checker.is_free(state) for state in q[:50]] == free[:50].tolist()


def test_shapes_that_touch_are_never_free():
    """Points of the arm's boxes, which are no spheres, in an obstacle: refused, whatever the tolerance."""
    skeleton = arm(3, Box((0.1, 0.06, 0.36)))
    X = np.eye(4)
    X[:3, 3] = 0.4, 0.0, 0.6
    environment = Environment().add("ball", Sphere(0.25), X)
    rng = np.random.default_rng(1)
    q = rng.uniform(-2.9, 2.9, (300, 3))
    x = np.concatenate([rng.uniform(-0.5, 0.5, (600, 3)) * np.array([0.1, 0.06, 0.36]) + [0, 0, 0.2], np.zeros((1, 3))])
    touch = []
    for state in q:
        skeleton.positions = state
        worlds = [x @ b.transform()[:3, :3].T + b.transform()[:3, 3] for b in skeleton.bodies[1:]]
        touch.append(min(np.linalg.norm(w - X[:3, 3], axis=1).min() for w in worlds) < 0.25)
    for tolerance in (0.1, 0.01):
        checker = CollisionChecker(skeleton, environment, self_collision=False, tolerance=tolerance)
        assert not checker.states_are_free(q)[touch].any()
    assert 0.1 < np.mean(touch) < 0.9


def test_other_coordinates_are_held():
    skeleton = arm(3)
    held = np.array([0.3, -0.4, 0.5])
    checker = CollisionChecker(skeleton, dofs=["q1"], positions=held)
    whole = CollisionChecker(skeleton)
    angles = np.linspace(-2.9, 2.9, 200)
    q = np.tile(held, (200, 1))
    q[:, 1] = angles
    free = checker.states_are_free(angles[:, None])
    # Pairs that the one coordinate does not move against each other are not looked at.
    assert (free | ~whole.states_are_free(q)).all() and 0.0 < free.mean() < 1.0
    assert checker.dof_names == ["q1"] and checker.num_dofs == 1


def test_neighbours_and_named_pairs_may_touch():
    skeleton = arm(3)
    folded = [0.0, 2.9, -2.9]
    contact = CollisionChecker(skeleton).contact(folded)
    assert contact is not None
    assert CollisionChecker(skeleton, ignored_pairs=[contact]).contact(folded) != contact
    assert CollisionChecker(skeleton, self_collision=False).is_free(folded)


def test_contacts_are_named():
    X = np.eye(4)
    X[2, 3] = 1.0
    checker = CollisionChecker(
        arm(3), Environment().add("table", Box((1, 1, 0.1)), X).add("ball", Sphere(0.1), [0, 0, -1])
    )
    contact = checker.contact([0.0, 0.0, 0.0])
    assert contact == ("link2", "table") and str(contact) == "'link2' touches 'table'"
    assert checker.contact([0.0, np.pi / 2, 0.0]) is None


@pytest.mark.parametrize("links", [2, 4])
def test_certified_edges_are_free_all_along(links):
    """Of edges that are accepted whole, none of 2,000 states along them touches; few others are refused."""
    X = np.eye(4)
    X[:3, 3] = 0.35, 0.1, 0.55
    checker = CollisionChecker(arm(links), Environment().add("box", Box((0.1, 0.1, 0.1)), X), certified=True)
    rng = np.random.default_rng(3)
    q = rng.uniform(-2.5, 2.5, (300, 2, links))
    q = q[checker.states_are_free(q[:, 0])]
    q[:, 1] = q[:, 0] + 0.3 * (q[:, 1] - q[:, 0])
    free = checker.edges_are_free(q[:, 0], q[:, 1])
    assert 0.3 < free.mean() < 0.99
    s = np.linspace(0.0, 1.0, 2000)[:, None]
    along = np.array([checker.states_are_free(a + s * (b - a)).all() for a, b in q])
    assert along[free].all()
    assert free[along].mean() > 0.97  # the rest pass by within what a state of the finest piece may move


def test_sampled_edges_are_refused_only_for_states_that_touch():
    X = np.eye(4)
    X[:3, 3] = 0.35, 0.1, 0.55
    checker = CollisionChecker(arm(4), Environment().add("box", Box((0.1, 0.1, 0.1)), X))
    q = np.random.default_rng(3).uniform(-2.5, 2.5, (300, 2, 4))
    q = q[checker.states_are_free(q[:, 0])]
    free = checker.edges_are_free(q[:, 0], q[:, 1])
    s = np.linspace(0.0, 1.0, 4001)[:, None]
    share = np.array([checker.states_are_free(a + s * (b - a)).mean() for a, b in q])
    length = np.linalg.norm(q[:, 1] - q[:, 0], axis=1)
    assert (share[~free] < 1.0).all()  # a sampled state of it touched, or one within 1/4001 of it
    assert ((1.0 - share[free]) * length[free] < 1 / 32 + 2 * length[free] / 4001).all()
    checker.certified = True
    assert not (checker.edges_are_free(q[:, 0], q[:, 1]) & ~free).any()


def test_thin_walls_are_met_between_samples():
    """A wall of a millimetre between two states: sampled edges may pass it, certified ones do not."""
    X = np.eye(4)
    wall = Environment().add("wall", Box((0.001, 4, 4)), X)
    checker = CollisionChecker(flying_ball(0.001), wall, resolution=1.0)
    starts, ends = np.tile([-0.4, 0.0, 0.0], (50, 1)), np.column_stack([np.linspace(0.1, 1, 50), np.zeros((50, 2))])
    assert checker.edges_are_free(starts, ends).any()
    checker.certified = True
    assert not checker.edges_are_free(starts, ends).any()


def test_carried_objects_touch_and_go():
    """While it is carried it is checked with the arm, and is no obstacle; then all is as it was."""
    skeleton = arm(3)
    X = np.eye(4)
    X[0, 3], X[2, 3] = 0.45, 0.9
    environment = Environment().add("wall", Box((0.1, 1, 1)), X)
    part = np.eye(4)
    part[2, 3] = 1.6
    environment.add("part", Sphere(0.05), part)
    checker = CollisionChecker(skeleton, environment)
    q = np.random.default_rng(1).uniform(-2.9, 2.9, (500, 3))
    before = checker.states_are_free(q)
    held = np.eye(4)
    held[2, 3] = 0.6
    checker.attach("part", Capsule(0.04, 0.3), "link2", held)
    during = checker.states_are_free(q)
    assert "part" not in checker.environment.names
    assert not (during & ~before).any() and during.sum() < before.sum()
    names = {name for state in q if (contact := checker.contact(state)) for name in contact}
    assert {"part", "wall"} <= names
    checker.detach("part")
    environment.add("part", Sphere(0.05), part)
    checker.environment = environment
    assert (checker.states_are_free(q) == before).all()


def test_worlds_are_environments():
    world = kido.World()
    skeleton = arm(3)
    box = kido.Skeleton("table")
    X = np.eye(4)
    X[2, 3] = 1.0
    box.add_body("top", kido.WeldJoint(), None, INERTIA).add_shape(Box((1, 1, 0.1)), X)
    world.add_skeleton(skeleton)
    world.add_skeleton(box)
    environment = Environment.of_world(world, skeleton)
    assert len(environment) == 1 and environment.names[0].startswith("table/top/")
    contact = CollisionChecker(skeleton, environment).contact([0.0, 0.0, 0.0])
    assert contact is not None and contact[1] == environment.names[0]


def test_mistakes_are_named():
    skeleton = arm(3)
    checker = CollisionChecker(skeleton)
    with pytest.raises(kido.StateError, match="finite"):
        checker.is_free([0.0, np.nan, 0.0])
    with pytest.raises(kido.StateError, match=r"expected shape \(n, 3\)"):
        checker.states_are_free([[0.0, 0.0]])
    with pytest.raises(kido.StateError, match="as many starts"):
        checker.edges_are_free(np.zeros((2, 3)), np.zeros((1, 3)))
    with pytest.raises(kido.NameLookupError, match="elbow"):
        CollisionChecker(skeleton, dofs=["elbow"])
    with pytest.raises(kido.ModelError, match="each once"):
        CollisionChecker(skeleton, dofs=["q0", "q0"])
    with pytest.raises(kido.NameLookupError, match="hand"):
        CollisionChecker(skeleton, ignored_pairs=[("hand", "link1")])
    with pytest.raises(kido.StateError, match="margin"):
        CollisionChecker(skeleton, margin=-1.0)
    with pytest.raises(kido.StateError, match="tolerance"):
        CollisionChecker(skeleton, tolerance=0.0)
    with pytest.raises(kido.StateError, match="taken"):
        Environment().add("a", Sphere(1)).add("a", Sphere(1))
    with pytest.raises(kido.NameLookupError, match="'b'"):
        Environment().add("a", Sphere(1)).remove("b")
    with pytest.raises(kido.NameLookupError, match="carried"):
        checker.detach("cup")
    with pytest.raises(kido.StateError, match="no body has"):
        checker.attach("link1", Sphere(0.1), "link2")
    free = kido.Skeleton("screwed")
    free.add_body("body", kido.ScrewJoint(), None, INERTIA).add_shape(Sphere(0.1))
    with pytest.raises(kido.ModelError, match="screw joint"):
        CollisionChecker(free)
    flat = arm(2)
    flat.bodies[1].add_shape(Plane())
    with pytest.raises(kido.ShapeError, match=r"link0.*Plane"):
        CollisionChecker(flat)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("obstacles", [1, 4, 60])
def test_answers_do_not_depend_on_neighbours(exact, obstacles):
    """States one at a time and in batches, in two orders, near obstacles and the arm itself: the same answers."""
    room, edge = Environment(), 0.3 / obstacles ** (1.0 / 3.0)
    for k, place in enumerate(np.random.default_rng(6).uniform(-0.4, 0.4, (obstacles, 3))):
        kind = (Box((edge, 0.7 * edge, 0.8 * edge)), Capsule(0.3 * edge, edge), Cylinder(0.4 * edge, edge))[k % 3]
        room.add(f"it{k}", kind, place * (obstacles > 1) + [0.35 if obstacles == 1 else 0.7, 0.1, 0.6])
    checker = CollisionChecker(arm(4, Cylinder(0.2, 0.2)), room, tolerance=0.02, exact=exact)
    q = np.random.default_rng(3).uniform(-2.9, 2.9, (1000, 4))
    together, order = checker.states_are_free(q), np.random.default_rng(4).permutation(len(q))
    assert 0.1 < together.mean() < 0.9
    assert (together == [checker.is_free(state) for state in q]).all()
    assert (together[order] == checker.states_are_free(q[order])).all()


def test_what_has_no_shapes_touches_nothing():
    bare = kido.Skeleton("bare")
    bare.add_body("link", kido.RevoluteJoint("hinge"), None, INERTIA)
    checker = CollisionChecker(bare, Environment().add("wall", Box((1, 1, 1))))
    assert checker.states_are_free([[0.1], [2.0]]).all() and checker.contact([0.3]) is None
    checker.certified = True
    assert checker.edge_is_free([0.0], [1.0])


def test_many_obstacles_are_found_one_by_one():
    """A box among as many balls as a sphere gathers, and more: by distances of centres from it."""
    rng = np.random.default_rng(8)
    for count in (15, 16, 17, 300):
        room, places = Environment(), rng.uniform(-0.8, 0.8, (count, 3))
        for k, place in enumerate(places):
            room.add(f"ball{k}", Sphere(0.1), place)
        skeleton, half = flying_ball(0.01), np.array([0.2, 0.1, 0.15])
        skeleton.bodies[-1].add_shape(Box(tuple(2.0 * half)))
        q = rng.uniform(-1.2, 1.2, (400, 3))
        away = np.maximum(np.abs(q[:, None] - places) - half, 0.0)
        free = np.linalg.norm(away, axis=2).min(axis=1) > 0.1
        assert 0.1 < free.mean() < 0.95
        assert (CollisionChecker(skeleton, room).states_are_free(q) == free).all()


def test_threads_take_turns():
    """Four threads ask one checker, and each gets the answers that one alone gets."""
    room = Environment().add("it", Box((0.3, 0.2, 0.25)), (0.35, 0.1, 0.6))
    checker = CollisionChecker(arm(4, Box((0.1, 0.06, 0.36))), room)
    sets = np.random.default_rng(5).uniform(-2.9, 2.9, (4, 4000, 4))
    alone = [checker.states_are_free(q) for q in sets]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            together = list(pool.map(checker.states_are_free, sets))
            assert all((a == b).all() for a, b in zip(alone, together, strict=True))


def test_arguments_of_other_kinds_are_named():
    with pytest.raises(kido.StateError, match="ignored_pairs: expected two names"):
        CollisionChecker(arm(), ignored_pairs=[5])  # type: ignore[list-item]
    with pytest.raises(kido.StateError, match="max_spheres"):
        CollisionChecker(arm(), max_spheres=0.5)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="dofs: expected a list of coordinates, got 5"):
        CollisionChecker(arm(), dofs=5)  # type: ignore[arg-type]
    checker = CollisionChecker(arm())
    with pytest.raises(kido.NameLookupError, match="None"):
        checker.attach("held", Box((0.1, 0.1, 0.1)), None)  # type: ignore[arg-type]
