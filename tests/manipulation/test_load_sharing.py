"""Several arms on one object: sums of wrenches, limits, cones, and what worlds make of the forces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from manipulation_robots import ROBOTS, block, planar_arm

import kido
from kido.manipulation import (
    CollisionScene,
    FrictionGrip,
    Grasps,
    LoadShare,
    LoadSharing,
    find_parts,
    required_wrench,
)


@pytest.fixture(scope="module")
def baxter(example_robots: Path) -> LoadSharing:
    """Both arms before the chest, at different poses."""
    robot = kido.load_skeleton(example_robots / ROBOTS["baxter"])
    robot.gravity = (0, 0, -9.81)
    parts = find_parts(robot)
    left, right = parts["left_arm"], parts["right_arm"]
    left.positions = [-0.3, -0.4, -1.2, 1.2, 0.6, 1.1, 0.3]
    right.positions = [0.5, 0.1, 1.0, 1.6, -0.4, 0.8, 0.1]
    return LoadSharing([left, right])


ORIGIN, LOAD = (0.7, 0.05, 0.3), np.array([0.3, -0.5, 0.2, 4.0, -3.0, 20.0])


def test_moving_and_squeezing_wrenches(baxter: LoadSharing) -> None:
    """Sums to 1e-12 of wrenches of order 100."""
    A, N = baxter.grasp_map(ORIGIN), baxter.squeeze_basis(ORIGIN)
    assert N.shape == (12, 6)
    np.testing.assert_allclose(A @ N, 0.0, atol=1e-14)
    moving = baxter.move(LOAD, ORIGIN)
    np.testing.assert_allclose(A @ moving.ravel(), LOAD, atol=1e-12)
    np.testing.assert_allclose(N.T @ moving.ravel(), 0.0, atol=1e-12)  # nothing of it squeezes
    heavy = baxter.move(LOAD, ORIGIN, [1.0, 1e9])
    np.testing.assert_allclose(heavy[1], 0.0, atol=1e-6)
    np.testing.assert_allclose(A @ baxter.equal(LOAD, ORIGIN).ravel(), LOAD, atol=1e-12)
    single = A[:, :6] @ baxter.equal(LOAD, ORIGIN)[0]
    np.testing.assert_allclose(single, LOAD / 2, atol=1e-12)


def test_shares_are_below_an_equal_splits(baxter: LoadSharing) -> None:
    """The largest share by one objective, the sum of squares by the other; wrenches sum up to 1e-10."""
    equal = baxter.report(baxter.equal(LOAD, ORIGIN), LOAD, ORIGIN)
    largest, squares = (baxter.share(LOAD, ORIGIN, objective=name) for name in ("largest", "squares"))

    def norm(share: LoadShare) -> float:
        return sum(np.sum((t / arm.force_limit) ** 2) for t, arm in zip(share.forces, baxter.arms, strict=True))

    assert max(share.residual for share in (equal, largest, squares)) < 1e-10
    assert largest.largest_share < 0.85 * equal.largest_share < 1.0
    assert largest.largest_share < squares.largest_share - 1e-3
    assert norm(squares) < norm(largest) - 1e-3
    assert norm(squares) < norm(equal) - 1e-3


def test_least_squares_of_shares_are_the_pseudoinverse(baxter: LoadSharing) -> None:
    """Without active limits c = -(W J^T N)^+ W (T0 + J^T f_m): 1e-6, for what regularizes the program."""
    share = baxter.share(LOAD, ORIGIN, objective="squares")
    N, moving = baxter.squeeze_basis(ORIGIN), baxter.move(LOAD, ORIGIN)
    G = np.zeros((14, 12))
    for k, arm in enumerate(baxter.arms):
        G[7 * k : 7 * k + 7, 6 * k : 6 * k + 6] = (arm.tip_jacobian() / arm.force_limit).T
    own = np.concatenate([t / a.force_limit for t, a in zip(baxter.own_forces(), baxter.arms, strict=True)])
    c = -np.linalg.pinv(G @ N) @ (own + G @ moving.ravel())
    np.testing.assert_allclose(share.wrenches, moving + (N @ c).reshape(2, 6), atol=1e-4)


def test_wrenches_stay_in_cones(baxter: LoadSharing) -> None:
    """Palms face each other: normal forces from 5 N on, tangential ones within mu, moments as soft fingers give."""
    left, right = baxter.arms
    normals = []
    for arm, other in ((left, right), (right, left)):
        X = arm.tip.world_transform
        normals.append(X[:3, :3].T @ (other.tip.world_transform[:3, 3] - X[:3, 3]))
    grips = [FrictionGrip(n, friction=0.8, torsion=0.02, least=5.0) for n in normals]
    sharing = LoadSharing(baxter.arms, grips)
    middle = 0.5 * (left.tip.world_transform[:3, 3] + right.tip.world_transform[:3, 3])
    load = np.array([0, 0, 0, 0, 0, 15.0])
    share = sharing.share(load, middle)
    assert share.residual < 1e-10
    for wrench, arm, grip in zip(share.wrenches, sharing.arms, grips, strict=True):
        R, n = arm.tip.world_transform[:3, :3], np.array(grip.normal)
        moment, force = R.T @ wrench[:3], R.T @ wrench[3:]
        pressed = n @ force
        assert pressed >= 5.0 - 1e-8
        assert np.linalg.norm(force - pressed * n) <= 0.8 * pressed + 1e-8
        assert abs(n @ moment) <= 0.02 * pressed + 1e-8
        np.testing.assert_allclose(moment - (n @ moment) * n, 0.0, atol=1e-7)
    weak = [FrictionGrip(n, friction=0.05, least=5.0, most=10.0) for n in normals]
    with pytest.raises(kido.StateError, match=r"left_arm, right_arm do not allow this wrench \(infeasible\)"):
        LoadSharing(baxter.arms, weak).share(load, middle)
    with pytest.raises(kido.StateError, match="do not allow"):
        baxter.share(100 * LOAD, ORIGIN)


def test_wrenches_of_a_spinning_body() -> None:
    """At constant spin about a slanted axis: M = w x I w; held against gravity: m g."""
    item = block(size=(0.1, 0.2, 0.3), mass=2.0)
    item.gravity = (0, 0, -10.0)
    item.velocities = [1.0, 2.0, 3.0, 0, 0, 0]
    moment = 2.0 / 12 * np.diag([0.13, 0.10, 0.05])
    expected = np.cross([1, 2, 3], moment @ [1, 2, 3])
    np.testing.assert_allclose(required_wrench(item.body(0)), [*expected, 0, 0, 20.0], atol=1e-14)
    np.testing.assert_allclose(required_wrench(item.body(0), acceleration=(1, 0, 0), gravity=(0, 0, 0))[3:], [2, 0, 0])


def test_shared_forces_hold_an_object_still_in_a_world() -> None:
    """Two planar arms, a block welded to both: at rest it stays, squeezed or not. 1e-9 m/s in 20 steps."""
    for squeeze in (0.0, 5.0):
        world = kido.World(gravity=(0, -9.81, 0))
        arms = [planar_arm(0.5, 0.4, 0.3, name=f"arm{k}", base=(1.2 * k, 0, 0)) for k in range(2)]
        item = block(mass=3.0)
        for arm, q in zip(arms, ([1.9, -1.5, -0.4], [1.2, 1.5, 0.4]), strict=True):
            world.add_skeleton(arm)
            arm.positions = q
        world.add_skeleton(item)
        tips = [arm.body("tip") for arm in arms]
        item.positions = [0, 0, 0, *(0.5 * (tips[0].world_transform[:3, 3] + tips[1].world_transform[:3, 3]))]
        parts = [find_parts(arm)["arm"] for arm in arms]
        for part in parts:
            part.force_limit = 60.0
        own = [np.array(part.coriolis_and_gravity_forces) for part in parts]
        sharing, body = LoadSharing(parts), item.body(0)
        share = sharing.share(required_wrench(body), body.world_transform[:3, 3], own)
        wrenches = np.array(share.wrenches)
        line = tips[1].world_transform[:3, 3] - tips[0].world_transform[:3, 3]
        wrenches[0, 3:] += squeeze * line / np.linalg.norm(line)
        wrenches[1, 3:] -= squeeze * line / np.linalg.norm(line)
        grasps = Grasps(CollisionScene(world))
        for tip in tips:
            grasps.attach(body, tip, as_loop=True)
        for _ in range(20):
            for part, tau, wrench in zip(parts, own, wrenches, strict=True):
                part.forces = tau + part.tip_jacobian().T @ wrench
            world.step()
        assert max(np.abs(s.velocities).max() for s in world.skeletons) < 1e-9


def test_mistakes_are_named(baxter: LoadSharing) -> None:
    left, right = baxter.arms
    with pytest.raises(kido.ModelError, match="at least two parts with tips"):
        LoadSharing([left])
    with pytest.raises(kido.ModelError, match="expected each arm once"):
        LoadSharing([left, left])
    with pytest.raises(kido.ModelError, match="grips: expected one for each of 2 arms"):
        LoadSharing([left, right], [None])
    with pytest.raises(kido.ModelError, match="objective"):
        baxter.share(LOAD, ORIGIN, objective="most")
    with pytest.raises(kido.ModelError, match="own_forces of 'left_arm'"):
        baxter.share(LOAD, ORIGIN, own_forces=[np.zeros(3), np.zeros(7)])
    with pytest.raises(kido.ModelError, match="wrench"):
        baxter.share([1, 2, 3], ORIGIN)
    with pytest.raises(kido.ModelError, match="weights"):
        baxter.move(LOAD, ORIGIN, [1.0, 0.0])
    for forces in ([np.zeros(7)], "ab", 5):
        with pytest.raises(kido.ModelError, match="own_forces: expected those of each of 2 arms, left_arm, right_arm"):
            baxter.share(LOAD, ORIGIN, own_forces=forces)  # type: ignore[arg-type]
    for weights in ([1.0, 2.0, 3.0], "ab"):
        with pytest.raises(kido.ModelError, match="weights: expected 2 positive numbers, got"):
            baxter.move(LOAD, ORIGIN, weights)
    with pytest.raises(kido.ModelError, match="wrenches: expected 12 numbers, got 2"):
        baxter.report([1.0, 2.0], LOAD, ORIGIN)
    with pytest.raises(kido.ModelError, match="friction"):
        FrictionGrip(friction=-1.0)
    with pytest.raises(kido.ModelError, match="least <= most"):
        FrictionGrip(least=2.0, most=1.0)
    free = find_parts(planar_arm(0.5, 0.4))["arm"]
    with pytest.raises(kido.ModelError, match="arm 'arm' has no limits of forces"):
        LoadSharing([free, find_parts(planar_arm(0.3, 0.2))["arm"]]).share(LOAD, ORIGIN)
