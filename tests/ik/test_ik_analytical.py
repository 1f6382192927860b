"""Closed forms against forward kinematics over the whole workspace, and against minima found by other means."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.spatial.transform import Rotation

import kido
from analytical_arms import (
    HALF,
    IIWA_14,
    IRB_140,
    OFFSET_ELBOW,
    PUMA_560,
    UR5,
    dh_chain,
    poses,
    random_turn,
    random_wrist_chain,
    wrapped,
)
from kido.ik.analytical import (
    HingeChain,
    ParallelAxesSolver,
    PlanarSolver,
    Singularity,
    SphericalWristSolver,
    SwivelSolver,
    Validity,
    chain_solver,
)

OUT_OF_REACH = int(Validity.OUT_OF_REACH)


def leg_chain():
    """Hip z, x, y through one point; knee y; ankle y, x: hanging down."""
    x, y, z = np.eye(3)
    points = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0.01, 0, -0.4], [0, 0, -0.8], [0, 0, -0.8]], float)
    home = np.eye(4)
    home[:3, 3] = (0.03, 0, -0.88)
    inf = np.full(6, np.inf)
    return HingeChain(np.array([z, x, y, y, y, x]), points, home, -inf, inf, "leg")


CHAINS = {
    "puma": (dh_chain(PUMA_560), SphericalWristSolver),
    "irb": (dh_chain(IRB_140), SphericalWristSolver),
    "ur5": (dh_chain(UR5), ParallelAxesSolver),
    "leg": (leg_chain(), SphericalWristSolver),
    "iiwa": (dh_chain(IIWA_14), SwivelSolver),
    "wam": (dh_chain(OFFSET_ELBOW), SwivelSolver),
    "skew": (random_wrist_chain(np.random.default_rng(5)), SphericalWristSolver),
}
# Numbers of branches that generic poses have. A shoulder before axis 1, and axes anywhere, have also fewer.
BRANCHES = {"puma": {8}, "irb": {4, 8}, "ur5": {2, 4, 6, 8}, "leg": {8}, "iiwa": {8}, "wam": {8}}


@pytest.mark.parametrize("name", CHAINS)
def test_all_branches_over_the_workspace(name):
    """10,000 random poses: what is found reaches them, and the positions they come from are among it."""
    chain, kind = CHAINS[name]
    solver = chain_solver(chain)
    assert type(solver) is kind
    n = len(chain)
    q = np.random.default_rng(1).uniform(-np.pi, np.pi, (10_000, n))
    X = poses(chain, q)
    found = solver.solve_many(X, q)
    there = np.arange(8) < found.counts[:, None]
    assert found.counts.min() > 0
    if name in BRANCHES:
        assert set(np.unique(found.counts)) <= BRANCHES[name]
    assert not (found.flags[there] & OUT_OF_REACH).any()
    # Independent forward kinematics, of every solution.
    which = np.nonzero(there)[0]
    reached = poses(chain, found.positions[there])
    assert np.abs(reached - X[which])[:, :3, :].max() < 1e-12 * max(1.0, chain.size)
    # Whence the pose came, among the solutions: the accuracy of angles is lost near singular poses only.
    apart = np.abs(wrapped(found.positions - q[:, None])).max(axis=2)
    apart = np.nanmin(np.where(there, apart, np.nan), axis=1)
    assert np.quantile(apart, 0.99) < 1e-11
    assert apart.max() < 1e-7
    # All different, unless they are called singular.
    for i, k in ((0, 1), (1, 2), (0, 3)):
        both = found.counts > max(i, k)
        gap = np.abs(wrapped(found.positions[both, i] - found.positions[both, k])).max(axis=1)
        assert gap.min(initial=1.0) > 1e-6


def test_random_axes_have_up_to_eight_solutions():
    """Any six axes of which three meet: up to four placements of the wrist, two of its branches."""
    rng = np.random.default_rng(7)
    most = 0
    for _ in range(6):
        chain = random_wrist_chain(rng)
        solver = SphericalWristSolver(chain)
        q = rng.uniform(-np.pi, np.pi, (500, 6))
        X = poses(chain, q)
        found = solver.solve_many(X, q)
        there = np.arange(8) < found.counts[:, None]
        assert np.abs(poses(chain, found.positions[there]) - X[np.nonzero(there)[0]]).max() < 1e-11
        apart = np.abs(wrapped(found.positions - q[:, None])).max(axis=2)
        assert np.nanmin(np.where(there, apart, np.nan), axis=1).max() < 1e-7
        most = max(most, int(found.counts.max()))
    assert most == 8


@pytest.mark.parametrize("name", ["puma", "ur5"])
def test_number_of_branches_by_an_iterative_solver(name):
    """Newton's method from many starts finds the same solutions and no others."""
    chain, _ = CHAINS[name]
    solver = chain_solver(chain)
    rng = np.random.default_rng(3)
    q0 = rng.uniform(-2.0, 2.0, 6)
    X = chain.pose(q0)
    expected = [s.positions for s in solver.solve(X)]
    seen = set()
    for q in rng.uniform(-np.pi, np.pi, (80, 6)):
        for _ in range(25):
            Y = poses(chain, q)[0]
            e = np.concatenate([Rotation.from_matrix(X[:3, :3] @ Y[:3, :3].T).as_rotvec(), X[:3, 3] - Y[:3, 3]])
            if np.abs(e).max() < 1e-10:
                break
            h = 1e-7
            J = np.empty((6, 6))
            for k, Z in enumerate(poses(chain, q + h * np.eye(6))):
                J[:3, k] = Rotation.from_matrix(Z[:3, :3] @ Y[:3, :3].T).as_rotvec() / h
                J[3:, k] = (Z[:3, 3] - Y[:3, 3]) / h
            step = np.linalg.solve(J.T @ J + 1e-6 * np.eye(6), J.T @ e)
            q = q + step * min(1.0, 1.0 / np.abs(step).max())
        else:
            continue
        gaps = [np.abs(wrapped(q - s)).max() for s in expected]
        assert min(gaps) < 1e-5
        seen.add(int(np.argmin(gaps)))
    assert len(seen) >= len(expected) - 1


# Singular poses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "q", "singular"),
    [
        ("puma", (0.3, 0.5, 0.4, 0.2, 0.0, 0.7), Singularity.WRIST),
        ("ur5", (0.3, -1.0, 1.2, 0.2, 0.0, 0.7), Singularity.WRIST),
        ("ur5", (0.3, -1.0, 0.0, 0.2, 0.9, 0.7), Singularity.ELBOW),
        ("puma", (0.3, 0.5, -np.arctan2(0.4318, 0.0203), 0.2, 0.8, 0.7), Singularity.ELBOW),
        ("iiwa", (0.3, 0.5, 0.4, 0.0, 0.8, 0.7, 0.1), Singularity.ELBOW),
        ("iiwa", (0.3, 0.5, 0.4, 0.9, 0.8, 0.0, 0.1), Singularity.WRIST),
        ("iiwa", (0.3, 0.0, 0.4, 0.9, 0.8, 0.6, 0.1), Singularity.SHOULDER),
        ("leg", (0.3, 0.2, 0.4, 0.9, 0.8, HALF), Singularity.NONE),
        ("leg", (0.3, HALF, 0.4, 0.9, -0.5, 0.2), Singularity.SHOULDER),
    ],
)
def test_singular_poses_are_named(name, q, singular):
    """At them and near: solutions to the last digits, and the reference is kept where angles are free."""
    chain, _ = CHAINS[name]
    solver = chain_solver(chain)
    q = np.array(q, float)
    found = solver.solve(chain.pose(q), q)
    nearest = min(found, key=lambda s: np.abs(s.positions - q).max())
    assert nearest.singularity == singular
    assert np.abs(nearest.positions - q).max() < 1e-7
    rng = np.random.default_rng(0)
    for distance in (1e-3, 1e-5, 1e-7, 1e-9, 1e-12):
        near = q + distance * rng.normal(size=len(q))
        X = chain.pose(near)
        found = solver.solve(X, near)
        assert found
        for solution in found:
            assert solution.is_valid
            assert np.abs(chain.pose(solution.positions) - X).max() < 1e-10
        # Continuous: the solution next to the reference moves as the pose does. Branches closer than
        # 1e-6 count as one; of angles about nearly parallel axes the sine's share of the digits is lost.
        assert min(np.abs(s.positions - near).max() for s in found) < 1e-6 + 1e-15 / distance


def test_shoulder_singularity_of_the_puma():
    """The wrist on axis 1: the first angle is a free choice and stays at the reference."""
    chain, _ = CHAINS["puma"]
    rows = [*PUMA_560]
    rows[2] = (0.0203, -HALF, 0.0)  # without its offset the wrist comes to axis 1
    chain = dh_chain(rows)
    solver = SphericalWristSolver(chain)
    q3 = 0.3
    # The wrist's distance from axis 1 as a function of q2.
    start = minimize_scalar(
        lambda q2: np.hypot(*chain.pose(np.array([0, q2, q3, 0, 0, 0]))[:2, 3]), bounds=(0, 3), method="bounded"
    ).x
    q2 = start
    for _ in range(20):
        x, h = chain.pose(np.array([0, q2, q3, 0, 0, 0]))[0, 3], 1e-6
        q2 -= x / ((chain.pose(np.array([0, q2 + h, q3, 0, 0, 0]))[0, 3] - x) / h)
    q = np.array([0.7, q2, q3, 0.4, 0.9, -0.3])
    found = solver.solve(chain.pose(q), q)
    assert all(s.singularity & Singularity.SHOULDER for s in found)
    assert min(np.abs(s.positions - q).max() for s in found) < 1e-7
    assert all(abs(wrapped(s.positions[0] - 0.7)) < 1e-9 for s in found)


@pytest.mark.parametrize("name", CHAINS)
def test_a_straight_path_is_followed_without_jumps(name):
    """The solution nearest to the last one changes by as little as the path does."""
    chain, _ = CHAINS[name]
    solver = chain_solver(chain)
    rng = np.random.default_rng(2)
    a = rng.uniform(-1.0, 1.0, len(chain))
    b = a + rng.uniform(-1.0, 1.0, len(chain))
    last = a
    for s in np.linspace(0.0, 1.0, 200):
        q = a + s * (b - a)
        parameter = solver.swivel_angle(q) if isinstance(solver, SwivelSolver) else None
        found = solver.solve(chain.pose(q), last, parameter=parameter)
        last = min((f.positions for f in found), key=lambda x: np.abs(x - last).max())
        assert np.abs(last - q).max() < 1e-6


# Out of reach -----------------------------------------------------------------------------------------------


def least_distance(chain, X, starts=4):
    """Least distance of the tip with the orientation of X, by sequential quadratic programming from random starts."""
    rng = np.random.default_rng(0)

    def turn(q):
        E = chain.pose(q)[:3, :3].T @ X[:3, :3]
        return np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])

    best = np.inf
    for _ in range(starts):
        found = minimize(
            lambda q: np.sum((chain.pose(q)[:3, 3] - X[:3, 3]) ** 2),
            rng.uniform(-3, 3, len(chain)),
            constraints=[{"type": "eq", "fun": turn}],
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-14},
        )
        R = chain.pose(found.x)[:3, :3]
        if np.abs(R - X[:3, :3]).max() < 1e-6:
            best = min(best, float(np.sqrt(found.fun)))
    return best


@pytest.mark.parametrize("name", ["puma", "irb", "ur5", "leg"])
def test_out_of_reach_gives_the_closest_pose(name):
    """With the orientation asked, as near as SciPy's SLSQP comes from many starts."""
    chain, _ = CHAINS[name]
    solver = chain_solver(chain)
    rng = np.random.default_rng(4)
    for factor in (1.5, 2.5):
        X = chain.pose(rng.uniform(-1.5, 1.5, 6))
        X[:3, 3] *= factor
        found = solver.solve(X)
        if found[0].is_valid:
            continue
        assert all(s.validity == Validity.OUT_OF_REACH for s in found)
        best = least_distance(chain, X)
        for s in found:
            Y = chain.pose(s.positions)
            assert np.abs(Y[:3, :3] - X[:3, :3]).max() < 1e-12
            assert np.linalg.norm(Y[:3, 3] - X[:3, 3]) == pytest.approx(s.position_error, abs=1e-12)
            # SLSQP may stop in a valley that is not the deepest; it must never find a deeper one.
            assert s.position_error <= best + 1e-6 * chain.size


@pytest.mark.parametrize("name", ["puma", "irb", "ur5", "iiwa", "leg"])
def test_the_border_of_the_workspace_is_crossed_steadily(name):
    """A tip that is pulled outwards: solutions end where the closest pose begins, and the tip stays on the line."""
    chain, _ = CHAINS[name]
    solver = chain_solver(chain)
    q = np.array([0.3, -0.8, 0.9, 0.4, 0.7, 0.2, 0.1])[: len(chain)]
    X = chain.pose(q)
    inside, outside = 0.0, 3.0 * chain.size
    way = X[:3, 3] / np.linalg.norm(X[:3, 3])

    def at(s):
        Y = X.copy()
        Y[:3, 3] += s * way
        return solver.solve(Y, q)

    for _ in range(60):
        s = 0.5 * (inside + outside)
        if at(s)[0].is_valid:
            inside = s
        else:
            outside = s
    assert outside - inside < 1e-12
    left = [f.position_error for f in (at(outside + 1e-6)[0], at(outside + 1e-4)[0], at(outside + 1e-2)[0])]
    assert all(f.angle_error < 1e-10 for f in at(outside + 1e-4))
    assert left[0] < 2e-6
    assert left[0] < left[1] < left[2] <= 1e-2 + 1e-6


def test_orientations_that_a_skew_wrist_cannot_have():
    """The closest orientation, by the angle between, with the wrist in place."""
    rng = np.random.default_rng(8)
    chain = dh_chain([*PUMA_560[:3], (0, 0.6, 0.4318), (0, -0.4, 0), (0, 0, 0)])
    solver = SphericalWristSolver(chain)
    seen = 0
    for q in rng.uniform(-np.pi, np.pi, (20, 6)):
        X = chain.pose(q)
        X[:3, :3] = random_turn(rng)
        found = solver.solve(X)
        if found[0].is_valid or found[0].position_error > 1e-6:
            continue
        seen += 1
        start = found[0].positions

        def angle(x, q=start, X=X):
            R = chain.pose(np.concatenate([q[:3], x]))[:3, :3]
            return np.arccos(np.clip(0.5 * (np.trace(R.T @ X[:3, :3]) - 1.0), -1.0, 1.0))

        best = min(minimize(angle, rng.uniform(-3, 3, 3), method="Nelder-Mead").fun for _ in range(6))
        assert found[0].angle_error <= best + 1e-6
    assert seen > 2


# Redundant arms ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [IIWA_14, OFFSET_ELBOW])
def test_swivel_angle_turns_the_elbow(rows):
    """All solutions have the angle that was asked, and with it the elbow at one place."""
    chain = dh_chain(rows)
    solver = SwivelSolver(chain)
    rng = np.random.default_rng(6)
    for _ in range(20):
        q = rng.uniform(-2.0, 2.0, 7)
        X = chain.pose(q)
        same = solver.solve(X, q)
        assert min(np.abs(wrapped(s.positions - q)).max() for s in same) < 1e-8
        angle = rng.uniform(-np.pi, np.pi)
        found = solver.solve(X, q, parameter=angle)
        assert len(found) == 8
        elbows = []
        for s in found:
            assert s.position_error < 1e-12
            assert abs(wrapped(solver.swivel_angle(s.positions) - angle)) < 1e-9
            part = HingeChain(chain.axes[:4], chain.points[:4], np.eye(4), chain.lower[:4], chain.upper[:4])
            Y = part.pose(s.positions[:4])
            elbows.append(Y[:3, :3] @ solver._arm.o[3] + Y[:3, 3])
        assert np.ptp(elbows, axis=0).max() < 1e-9
    # A turn of the angle turns the elbow about the line from the shoulder to the wrist, by the right hand.
    shoulder, wrist = solver._arm.center[1], solver._arm.center[0]
    last = HingeChain(chain.axes[:4], chain.points[:4], np.eye(4), chain.lower[:4], chain.upper[:4])
    one, two = (solver.solve(X, q, parameter=a)[0].positions[:4] for a in (0.5, 0.8))
    Y1, Y2 = last.pose(one), last.pose(two)
    E1, E2 = (Y[:3, :3] @ solver._arm.o[3] + Y[:3, 3] - shoulder for Y in (Y1, Y2))
    n = Y1[:3, :3] @ wrist + Y1[:3, 3] - shoulder
    assert np.allclose(Rotation.from_rotvec(0.3 * n / np.linalg.norm(n)).apply(E1), E2, atol=1e-9)


def test_wrist_above_the_shoulder():
    """Where the wrist lies on axis 1 the swivel angle counts from another plane; solutions are exact all the same."""
    chain = dh_chain(IIWA_14)
    solver = SwivelSolver(chain)
    r = 2 * 0.41 * np.cos(0.5)
    X = np.eye(4)
    X[:3, 3] = (0, 0, 0.36 + r + 0.126)
    for angle in (-2.0, 0.0, 1.0):
        for s in solver.solve(X, parameter=angle):
            assert s.is_valid
            assert np.abs(chain.pose(s.positions) - X).max() < 1e-12
            assert abs(wrapped(solver.swivel_angle(s.positions) - angle)) < 1e-6


# Planar legs ------------------------------------------------------------------------------------------------


def planar_leg():
    y = np.array([0.0, 1.0, 0.0])
    points = np.array([[0, 0.1, 0], [0.02, 0.1, -0.4], [0, 0.1, -0.79]], float)
    home = np.eye(4)
    home[:3, 3] = (0.05, 0.12, -0.88)
    return HingeChain(np.array([y, -y, y]), points, home, np.full(3, -np.inf), np.full(3, np.inf), "leg")


def test_planar_leg():
    """Two ways to bend the knee, by forward kinematics; what is beyond the plane is projected, and said."""
    chain = planar_leg()
    solver = chain_solver(chain)
    assert type(solver) is PlanarSolver
    rng = np.random.default_rng(0)
    q = rng.uniform(-np.pi, np.pi, (10_000, 3))
    X = poses(chain, q)
    found = solver.solve_many(X, q)
    assert (found.counts == 2).all()
    for k in range(2):
        assert np.abs(poses(chain, found.positions[:, k]) - X).max() < 1e-13
    X = chain.pose(q[0])
    X[1, 3] += 0.07
    X[:3, :3] = Rotation.from_rotvec([0.2, 0, 0]).as_matrix() @ X[:3, :3]
    for s in solver.solve(X):
        assert s.validity == Validity.OUT_OF_REACH
        assert s.angle_error == pytest.approx(0.2, abs=1e-9)
    # Too far: stretched towards the ankle, with the foot as asked.
    X = np.eye(4)
    X[:3, 3] = (0.3, 0.12, -2.0)
    (s,) = solver.solve(X)
    assert s.validity == Validity.OUT_OF_REACH
    assert s.singularity == Singularity.ELBOW
    ankle = X[:3, 3] + (-0.05, 0, 0.09) - chain.points[0]
    reach = np.hypot(0.02, 0.4) + np.hypot(0.02, 0.39)
    assert s.position_error == pytest.approx(np.hypot(ankle[0], ankle[2]) - reach, abs=1e-12)


# Limits, whole turns, tolerances ----------------------------------------------------------------------------


def test_whole_turns_within_limits():
    """Angles come with the turn that is within limits and closest to the reference."""
    chain = dh_chain(UR5)
    solver = ParallelAxesSolver(chain)
    solver.set_limits(np.full(6, -2 * np.pi), np.full(6, 2 * np.pi))
    q = np.array([-3.0, -1.0, 1.2, 0.2, 0.9, 0.7])
    X = chain.pose(q)
    for reference in (q + 2 * np.pi * np.array([1, 0, 0, -1, -1, 0]), q):
        best = min(solver.solve(X, reference), key=lambda s: np.abs(s.positions - reference).max())
        assert np.abs(best.positions - reference).max() < 1e-9
    # A reference beyond the limits: the nearest turn inside.
    best = min(solver.solve(X, q - [6 * np.pi, 0, 0, 0, 0, 0]), key=lambda s: np.abs(s.positions - q).max())
    assert best.is_valid
    assert best.positions[0] == pytest.approx(-3.0)
    # Limits that no turn meets, and limits that one turn meets.
    lower, upper = np.full(6, -np.pi), np.full(6, np.pi)
    lower[0], upper[0] = 3.0, 4.0
    solver.set_limits(lower, upper)
    found = solver.solve(X, q)
    inside = [s for s in found if not s.validity & Validity.LIMIT_VIOLATED]
    assert inside
    assert any(s.positions[0] == pytest.approx(2 * np.pi - 3.0) for s in inside)
    lower[0], upper[0] = 0.0, 0.01
    solver.set_limits(lower, upper)
    assert all(s.validity == Validity.LIMIT_VIOLATED for s in solver.solve(X, q))


def test_limits_are_met_exactly_at_their_values():
    """A pose at a limit is within it, although angles are rounded."""
    chain = dh_chain(PUMA_560, limit=1.0)
    solver = SphericalWristSolver(chain)
    q = np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    valid = [s for s in solver.solve(chain.pose(q), q) if s.is_valid]
    assert len(valid) == 1
    assert np.abs(valid[0].positions - q).max() < 1e-12
    assert np.abs(valid[0].positions).max() <= 1.0


def test_axes_that_miss_each_other_a_little():
    """A calibrated arm, its axes off by up to 0.1 mm and 0.1 mrad: solutions of the chain as it is."""
    rng = np.random.default_rng(2)
    for rows, kind in ((PUMA_560, SphericalWristSolver), (UR5, ParallelAxesSolver), (IIWA_14, SwivelSolver)):
        exact = dh_chain(rows)
        axes = exact.axes + 1e-4 * rng.uniform(-1, 1, exact.axes.shape)
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        points = exact.points + 1e-4 * rng.uniform(-1, 1, exact.points.shape)
        chain = HingeChain(axes, points, exact.home, exact.lower, exact.upper, "calibrated arm")
        with pytest.raises(kido.ModelError, match=r"calibrated arm does not fit .* (m from one|not parallel)"):
            kind(chain)
        solver = kind(chain, tolerance=1e-3)
        q = rng.uniform(-2, 2, (200, len(chain)))
        X = poses(chain, q)
        found = solver.solve_many(X, q)
        good = 0
        for i in range(len(q)):
            for k in range(found.counts[i]):
                if not found.flags[i, k] & OUT_OF_REACH:
                    assert np.abs(chain.pose(found.positions[i, k]) - X[i]).max() < 1e-9
                    good += 1
        assert good > 0.95 * found.counts.sum()


def test_many_is_one_by_one():
    """`solve_many` gives the numbers of `solve`."""
    chain, _ = CHAINS["irb"]
    solver = chain_solver(chain)
    rng = np.random.default_rng(0)
    q = rng.uniform(-2, 2, (20, 6))
    X = poses(chain, q)
    X[3, :3, 3] += 5.0
    base = np.eye(4)
    base[:3, :3], base[:3, 3] = random_turn(rng), rng.normal(size=3)
    found = solver.solve_many(base @ X, q, base=base)
    for i in range(20):
        single = solver.solve(base @ X[i], q[i], base=base)
        assert len(single) == found.counts[i]
        for k, s in enumerate(single):
            assert np.array_equal(s.positions, found.positions[i, k])
            assert int(s.validity) | int(s.singularity) == found.flags[i, k]
    assert np.isnan(found.positions[3, found.counts[3] :]).all()


def test_copies_are_independent():
    """Pickles and copies solve as the original does, and have limits of their own."""
    solver = chain_solver(dh_chain(UR5))
    X = solver.chain.pose(np.array([0.1, -1.0, 1.0, 0.3, 0.7, 0.2]))
    expected = [s.positions for s in solver.solve(X)]
    for twin in (copy.deepcopy(solver), pickle.loads(pickle.dumps(solver))):
        twin.set_limits(np.full(6, 0.0), np.full(6, 0.1))
        assert any(s.is_valid for s in solver.solve(X))
        assert np.array_equal([s.positions for s in solver.solve(X)], expected)


# What does not fit --------------------------------------------------------------------------------------------


def test_reasons_why_a_chain_does_not_fit():
    """Messages name the axes and how far they are from where they should be."""
    with pytest.raises(kido.ModelError, match=r"axes 4, 5 and 6 do not meet in a point: the nearest is 0\.0\d+ m"):
        SphericalWristSolver(dh_chain(UR5))
    with pytest.raises(kido.ModelError, match=r"axes 3 and 4 are not parallel|axes 2 and 4 are not parallel"):
        ParallelAxesSolver(dh_chain(PUMA_560))
    with pytest.raises(kido.ModelError, match=r"axes 5, 6 and 7 do not meet"):
        rows = list(IIWA_14)
        rows[5] = (0.088, HALF, 0)
        SwivelSolver(dh_chain(rows))
    with pytest.raises(kido.ModelError, match="it has 6 joints, expected 7"):
        SwivelSolver(dh_chain(UR5))
    with pytest.raises(kido.ModelError, match=r"no closed form for chain of 6 joints"):
        rows = list(UR5)
        rows[1] = (-0.425, 0.3, 0.1)
        chain_solver(dh_chain(rows))
    with pytest.raises(kido.ModelError, match="do not place the point"):
        rng = np.random.default_rng(0)
        chain = random_wrist_chain(rng)
        points = chain.points.copy()
        points[:3] = points[0]
        points[3:] = points[3:] - points[3] + points[0]  # everything turns about one point
        chain = HingeChain(chain.axes, points, chain.home, chain.lower, chain.upper)
        SphericalWristSolver(chain)


def test_bad_input():
    """Refused at the door, in words."""
    solver = chain_solver(dh_chain(UR5))
    X = np.eye(4)
    with pytest.raises(kido.StateError, match="reference: expected 6 numbers"):
        solver.solve(X, np.zeros(5))
    with pytest.raises(kido.StateError, match="finite"):
        solver.solve(X, np.full(6, np.inf))
    with pytest.raises(kido.ModelError, match="target"):
        solver.solve(np.full((4, 4), np.nan))
    with pytest.raises(kido.ModelError, match="not a rotation"):
        solver.solve(np.diag([1.0, 1.0, -1.0, 1.0]))
    with pytest.raises(kido.ModelError, match="has no parameter"):
        solver.solve(X, parameter=1.0)
    with pytest.raises(kido.StateError, match="targets"):
        solver.solve_many(np.zeros((2, 3, 4)))
    with pytest.raises(kido.StateError, match="references"):
        solver.solve_many(np.eye(4), np.zeros((2, 6)))
    with pytest.raises(kido.ModelError, match="lower limit"):
        solver.set_limits(np.ones(6), np.zeros(6))
    with pytest.raises(kido.ModelError, match="tolerance"):
        ParallelAxesSolver(dh_chain(UR5), tolerance=0.0)
    with pytest.raises(kido.ModelError, match="locked"):
        ParallelAxesSolver(dh_chain(UR5), locked=0)
