"""Identification: ranks that are known, linearity, limits of motions, and estimates within the Cramer-Rao bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import kido
from kido.identification import (
    DynamicParameters,
    FourierMotion,
    base_parameters,
    exciting_motion,
    fit_contact,
    fit_rollouts,
    from_log_cholesky,
    identify,
    log_cholesky,
    pseudo_inertia,
)
from kido.identification.consistent import bending

UR5 = "ur_description/urdf/ur5_robot.urdf"


def robot(folder: Path, file: str, base: str = "fixed") -> kido.Skeleton:
    found = kido.load(folder / file, visuals=False, collisions=False, base=base)
    assert isinstance(found, kido.Skeleton)
    return found


# Ranks of stacked regressors, by Pinocchio's regressor and an SVD. Panda's 43 are those of Gaz, Cognetti, Oliva,
# Robuffo Giordano, De Luca (2019), "Dynamic identification of the Franka Emika Panda robot"; its fingers are welded.
RANKS = [
    (UR5, "fixed", 36, 34, 60),
    ("panda_description/urdf/panda.urdf", "fixed", 43, 39, 70),
    ("solo_description/robots/solo12.urdf", "free", 94, 94, 130),
    ("talos_data/robots/talos_left_arm.urdf", "fixed", 45, 41, 70),
]


@pytest.mark.parametrize("file, base, rank, floating, size", RANKS, ids=["ur5", "panda", "solo12", "talos_arm"])
def test_ranks(example_robots: Path, file: str, base: str, rank: int, floating: int, size: int) -> None:
    s = robot(example_robots, file, base)
    for finger in ("panda_rightfinger", "panda_leftfinger") if "panda" in file else ():
        s.body(finger).move_to(s.body("panda_hand"), kido.WeldJoint, keep_pose=True)
    for gravity, expected in (((0.0, 0.0, -9.81), rank), ((0.0, 0.0, 0.0), floating)):
        s.gravity = gravity
        parameters = DynamicParameters(s)
        found = base_parameters(parameters)
        assert (found.rank, len(parameters)) == (expected, size)
        # The rank is clear: true singular values are above 1e-3 of the largest, others rounding.
        assert found.gap[0] > 1e-3 and found.gap[1] < 1e-13
        q, u, udot = np.random.default_rng(3).normal(size=(3, 20, s.num_dofs))
        Y, forces = parameters.regressor(q, u, udot), np.array([s.inverse_dynamics(*r) for r in zip(q, u, udot)])
        for predicted in (Y @ parameters.values(), Y[:, :, found.independent] @ found.of()):
            assert np.abs(predicted - forces).max() < 1e-11 * np.abs(forces).max()
        assert np.allclose(found.matrix @ parameters.values(), found.of(), rtol=0.0, atol=1e-12)


def test_friction_and_rotor_are_columns_of_their_own() -> None:
    arm = kido.load("arm7")
    parameters = DynamicParameters(arm, friction=True, armature=True)
    q, u, udot = np.random.default_rng(0).normal(size=(3, 10, 7))
    pi = parameters.values()
    pi[70:] = np.arange(1.0, 22.0)
    coulomb, viscous = pi[70:84].reshape(7, 2).T
    expected = np.array([arm.inverse_dynamics(*r) for r in zip(q, u, udot)])
    expected += coulomb * np.sign(u) + viscous * u + pi[84:] * udot
    assert np.allclose(parameters.regressor(q, u, udot) @ pi, expected, rtol=0.0, atol=1e-12)
    assert parameters.names[70:72] == (f"{arm.dofs[0].name}.coulomb", f"{arm.dofs[0].name}.viscous")
    for k, dof in enumerate(arm.dofs):  # the skeleton's own rotors are among its forces and its parameters
        dof.armature = 0.1 * (k + 1)
    own = parameters.values()
    assert np.allclose(own[84:], 0.1 * np.arange(1, 8))
    own[70:84] = 0.0  # friction is none of inverse dynamics
    forces = [arm.inverse_dynamics(*r) for r in zip(q, u, udot)]
    assert np.allclose(parameters.regressor(q, u, udot) @ own, forces, rtol=0.0, atol=1e-12)
    # Coulomb's and viscous friction of each joint are base parameters; a rotor is told apart from its link's moment
    # unless it turns about the first axis.
    plain, full = base_parameters(DynamicParameters(arm)), base_parameters(parameters)
    assert plain.rank + 14 < full.rank <= plain.rank + 21


def test_values_are_applied() -> None:
    arm = kido.load("arm7")
    parameters = DynamicParameters(arm, friction=True)
    pi = parameters.values()
    pi[:70] *= 1.1
    pi[70:] = 0.25
    parameters.apply(pi)
    assert np.allclose(parameters.values(), pi, rtol=1e-12)
    assert arm.dofs[3].coulomb_friction == arm.dofs[3].damping == 0.25
    rotors = DynamicParameters(arm, armature=True)
    rotors.apply(np.concatenate([pi[:70], np.full(7, 0.125)]))
    assert arm.dofs[3].armature == rotors.values()[73] == 0.125
    bad = pi.copy()
    bad[10] = -1.0
    with pytest.raises(kido.ModelError, match="expected a mass above 0, got -1 kg"):
        parameters.apply(bad)
    bad = pi.copy()
    bad[72] = -0.1
    with pytest.raises(kido.ModelError, match="coulomb_friction: expected a number not below 0"):
        parameters.apply(bad)
    assert np.allclose(parameters.values(), pi, rtol=1e-12)


def test_series_and_their_derivatives() -> None:
    rng = np.random.default_rng(1)
    motion = FourierMotion(rng.normal(size=3), rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), 7.0)
    t, h = np.linspace(0.0, 7.0, 30), 1e-4
    (q, u, udot), ahead, behind = motion.at(t), motion.at(t + h), motion.at(t - h)
    assert np.allclose((ahead[0] - behind[0]) / (2 * h), u, atol=1e-6)  # h^2 times the third derivative
    assert np.allclose((ahead[1] - behind[1]) / (2 * h), udot, atol=1e-5)
    assert np.allclose(q[0], q[-1], atol=1e-12)


def test_exciting_motion_is_within_limits_and_well_conditioned() -> None:
    arm = kido.load("arm7")
    found = exciting_motion(
        DynamicParameters(arm),
        8.0,
        4,
        position_limits=(-1.0, 1.5),
        velocity_limit=1.2,
        acceleration_limit=3.0,
        trials=80,
    )
    q, u, udot = found.motion.at(np.linspace(0.0, 8.0, 20_001))  # between the samples that the search looks at too
    assert q.min() > -1.0 and q.max() < 1.5
    assert np.abs(u).max() <= 1.2 and np.abs(udot).max() <= 3.0
    assert max(np.abs(u).max() / 1.2, np.abs(udot).max() / 3.0) > 0.9  # and they are used
    assert found.condition < 1.1 * found.first


def simulated(s: kido.Skeleton, parameters: DynamicParameters, samples: int) -> tuple[np.ndarray, ...]:
    """What a robot does under feedback along an exciting motion: positions, velocities, accelerations, forces."""
    motion = exciting_motion(parameters, 10.0, 5, trials=120).motion
    h = 10.0 / samples
    want = motion.at(h * np.arange(samples))
    s.positions, s.velocities = want[0][0], want[1][0]
    rows = []
    for qd, ud, ad in zip(*want):
        q, u = s.positions.copy(), s.velocities.copy()
        tau = s.inverse_dynamics(q, u, ad + 100.0 * (qd - q) + 20.0 * (ud - u))
        udot = s.forward_dynamics(q, u, tau)
        rows.append((q, u, udot, tau))
        s.positions, s.velocities = q + h * u + 0.5 * h * h * udot, u + h * udot
    return tuple(np.array(part) for part in zip(*rows))


def test_ur5_from_noisy_simulation_within_the_cramer_rao_bound(example_robots: Path) -> None:
    s = robot(example_robots, UR5)
    parameters = DynamicParameters(s, friction=True, armature=True)
    q, u, udot, tau = simulated(s, parameters, 1000)
    truth = parameters.values()
    truth[60:] = np.concatenate([np.tile([1.5, 0.4], 6), np.full(6, 0.05)])
    tau = tau + 1.5 * np.sign(u) + 0.4 * u + 0.05 * udot
    base = base_parameters(parameters)
    sigma = np.array([2.0, 2.0, 1.0, 0.4, 0.4, 0.3])
    rng = np.random.default_rng(7)
    # The bound, independent of `identify`: the inverse of Fisher's information.
    Y = parameters.regressor(q, u, udot)[:, :, base.independent] / sigma[:, None]
    bound = np.linalg.inv(np.einsum("sni,snj->ij", Y, Y))
    beta, distances = base.of(truth), []
    for _ in range(20):
        found = identify(parameters, q, u, udot, tau + sigma * rng.normal(size=tau.shape), noise=sigma, base=base)
        assert np.allclose(found.covariance, bound, rtol=1e-6, atol=1e-6 * np.diag(bound).min())
        distances.append(found.distance(beta))
        if len(distances) == 1:
            assert np.abs((found.values - beta) / np.sqrt(np.diag(bound))).max() < 3.0
    # All together: chi-square with 20 x rank degrees of freedom, two sided at one in a thousand.
    low, high = chi2.ppf([0.0005, 0.9995], 20 * base.rank)
    assert low < sum(distances) < high
    # Unknown noise is found within four standard deviations of its estimate, sigma / sqrt(2 samples).
    free = identify(parameters, q, u, udot, tau + sigma * rng.normal(size=tau.shape), base=base)
    assert np.abs(free.noise / sigma - 1.0).max() < 4.0 / np.sqrt(2000.0) + 0.02
    assert np.abs((free.values - beta) / free.standard_deviations).max() < 3.5
    assert "shoulder_pan_joint.coulomb" in str(free)


def test_physical_parameters_keep_to_the_measurement(example_robots: Path) -> None:
    s = robot(example_robots, UR5)
    parameters = DynamicParameters(s)
    truth = parameters.values()
    q, u, udot, tau = simulated(s, parameters, 300)
    rng = np.random.default_rng(2)
    found = identify(parameters, q, u, udot, tau + 2.0 * rng.normal(size=tau.shape), noise=2.0)
    with pytest.raises(kido.ModelError, match=r"`Identification.physical` finds"):
        parameters.apply(found.prediction)  # zero for what is not independent
    prior = truth * np.repeat(rng.uniform(0.8, 1.25, 6), 10)
    physical = found.physical(prior)
    assert physical.solution.converged
    for k in range(6):
        assert np.linalg.eigvalsh(pseudo_inertia(physical.values[10 * k : 10 * k + 10])).min() > 0.0
    # The measurement counts more than the prior: base parameters are as near to the identified ones as noise brings
    # the truth, and nearer to the truth than the prior.
    assert physical.distance < chi2.ppf(0.999, found.base.rank)
    spread = found.base.matrix @ physical.covariance @ found.base.matrix.T
    error = found.base.of(physical.values) - found.base.of(truth)
    assert np.abs(error / np.sqrt(np.diag(spread))).max() < 4.0
    assert np.abs(error).max() < 0.2 * np.abs(found.base.of(prior) - found.base.of(truth)).max()
    parameters.apply(physical.values)
    assert np.allclose(parameters.values(), physical.values, rtol=1e-9, atol=1e-12)


def test_log_cholesky_and_its_derivative() -> None:
    inertia = kido.Inertia.from_shape(kido.Box((0.3, 0.2, 0.1)), 2.5, transform=(0.1, -0.2, 0.3))
    one = kido.Skeleton("one")
    one.add_body("box", kido.FreeJoint("free"), inertia=inertia)
    pi = one.inertial_parameters()
    theta = log_cholesky(pi)
    again, _ = from_log_cholesky(theta)
    assert np.allclose(again, pi, rtol=1e-14)
    rng = np.random.default_rng(0)
    for _ in range(20):  # any ten numbers are a body: principal moments about its centre keep the triangle inequality
        numbers, slopes = from_log_cholesky(rng.normal(size=10))
        J = pseudo_inertia(numbers)
        assert np.linalg.eigvalsh(J).min() > 0.0
        theta = rng.normal(size=10)
        h = 1e-6
        own = from_log_cholesky(theta)[1]
        by_differences = [
            (from_log_cholesky(theta + h * e)[0] - from_log_cholesky(theta - h * e)[0]) / (2 * h) for e in np.eye(10)
        ]
        assert np.allclose(own, np.array(by_differences).T, atol=1e-7 * max(1.0, np.abs(own).max()))
        assert slopes.shape == (10, 10)
    # Many at once, and second derivatives of a linear function of the numbers, against differences of the first.
    theta, slope = rng.normal(size=(2, 3, 10))
    numbers, slopes = from_log_cholesky(theta)
    assert all(np.allclose(numbers[k], from_log_cholesky(theta[k])[0], rtol=1e-14) for k in range(3))
    ahead, behind = (from_log_cholesky(theta[:, None] + s * h * np.eye(10))[1] for s in (1.0, -1.0))
    by_differences = np.einsum("kjpi,kp->kij", ahead - behind, slope) / (2 * h)
    assert np.abs(bending(theta, slope) - by_differences).max() < 1e-8 * np.abs(by_differences).max()


def block_on_floor(friction: float, restitution: float, height: float, speed: float) -> kido.World:
    world = kido.World()
    block, ground = kido.Skeleton("block"), kido.Skeleton("ground")
    shape = kido.Box((0.2, 0.2, 0.1)) if speed else kido.Sphere(0.05)
    body = block.add_body("block", kido.FreeJoint("free"), inertia=kido.Inertia.from_shape(shape, 1.0))
    body.add_shape(shape)
    floor = ground.add_body("floor", kido.WeldJoint("weld"))
    floor.add_shape(kido.Box((20.0, 20.0, 0.2)), transform=(0.0, 0.0, -0.1))
    body.friction, floor.friction, body.restitution, floor.restitution = friction, 1.0, restitution, 1.0
    block.positions = [0.0, 0.0, 0.0, 0.0, 0.0, height]
    block.velocities = [0.0, 0.0, 0.0, speed, 0.0, 0.0]
    world.add_skeleton(block)
    world.add_skeleton(ground)
    return world


def test_friction_and_restitution_from_rollouts() -> None:
    """A block that slides to rest, and a ball that bounces: the true numbers within four standard deviations."""
    rng = np.random.default_rng(5)
    for kind, truth, args in (("friction", 0.35, (0.05, 1.5)), ("restitution", 0.6, (0.5, 0.0))):
        numbers = {"friction": 0.9, "restitution": 0.0} | {kind: truth}
        world = block_on_floor(**numbers, height=args[0], speed=args[1])
        twin, rows = world.clone(), []
        for _ in range(40):
            twin.step(10)
            rows.append(twin.skeletons[0].positions.copy())
        measured = np.array(rows) + 1e-4 * rng.normal(size=(40, 6))
        setattr(world.skeletons[0].body("block"), kind, 0.1)
        found = fit_contact(world, {"block/block": [kind]}, measured, 10, noise=1e-4, grid=5)
        assert abs(found.values[0] - truth) < 4.0 * found.standard_deviations[0]
        assert found.standard_deviations[0] < 0.01
        assert getattr(world.skeletons[0].body("block"), kind) == 0.1  # the world is left as it is


def test_parameters_that_cannot_be_told_apart_are_not_known() -> None:
    """Of a + b and c, c is known as well as alone, sigma^2 / |x|^2, and neither a nor b is; a pair scaled apart too."""
    x, rng = np.linspace(0.0, 1.0, 20), np.random.default_rng(0)
    for scale in (1.0, 1e-3):

        def simulate(p: np.ndarray, scale: float = scale) -> np.ndarray:
            return np.array([(p[0] + scale * p[1]) * x, p[2] * x])

        measured = simulate(np.array([0.4, 0.5, 0.3])) + 1e-3 * rng.normal(size=(2, 20))
        found = fit_rollouts(simulate, measured, ["a", "b", "c"], [(0, 1), (0, 1), (0, 1)], noise=1e-3, grid=3)
        deviations = found.standard_deviations
        assert np.isinf(deviations[:2]).all() and np.isinf(found.condition)
        assert deviations[2] == pytest.approx(1e-3 / np.linalg.norm(x), rel=1e-6)
        assert found.covariance[2, 0] == 0.0
        c = found.values[2]
        assert found.distance([0.9, 0.1, c + deviations[2]]) == pytest.approx(1.0, rel=1e-6)
        assert "+- inf" in str(found)
    silent = fit_rollouts(lambda p: p[0] * x, 0.5 * x, ["a", "b"], [(0, 1), (0, 1)], noise=1e-3)
    assert np.isinf(silent.standard_deviations).tolist() == [False, True]


@pytest.mark.parametrize(
    "options, reason",
    [
        ({"grid": 0}, "grid: expected a whole number above 0, got 0"),
        ({"ranges": [0, 1]}, r"ranges: expected \(lower, upper\).* got \[0, 1\]"),
        ({"ranges": 5}, "ranges: expected"),
        ({"names": "ab"}, "names: expected one for each parameter, got 'ab'"),
        ({"names": []}, "names: expected one for each parameter"),
        ({"noise": -1.0}, "noise: expected a positive number, got -1"),
        ({"noise": "loud"}, "noise: expected a positive number, got 'loud'"),
        ({"measured": "a"}, "measured: expected more than 1 finite numbers"),
        ({"simulate": None}, "simulate: expected a function"),
    ],
)
def test_bad_rollouts(options: dict[str, Any], reason: str) -> None:
    x = np.linspace(0.0, 1.0, 5)
    good: dict[str, Any] = {
        "simulate": lambda p: p[0] * x, "measured": x, "names": ["a"], "ranges": [(0.0, 2.0)]
    }  # fmt: skip
    with pytest.raises(kido.ModelError, match=reason):
        fit_rollouts(**{**good, **options})


def test_bad_input() -> None:
    arm = kido.load("arm7")
    with pytest.raises(kido.ModelError, match=r"expected a kido.Skeleton"):
        DynamicParameters("arm7")  # type: ignore[arg-type]
    still = kido.Skeleton("still")
    still.add_body("rock", kido.WeldJoint("weld"))
    with pytest.raises(kido.ModelError, match="no body is moved"):
        DynamicParameters(still)
    parameters = DynamicParameters(arm)
    with pytest.raises(kido.NameLookupError, match="no parameter 'mass'"):
        parameters.index("mass")
    with pytest.raises(kido.ModelError, match="samples"):
        base_parameters(parameters, samples=5)
    zero = np.zeros((200, 7))
    with pytest.raises(kido.ModelError, match=r"does not tell apart .*exciting motion"):
        identify(parameters, zero, zero, zero, zero)
    with pytest.raises(kido.StateError, match=r"expected finite numbers of shape \(200, 7\)"):
        identify(parameters, zero, zero, zero, np.full((200, 7), np.nan))
    with pytest.raises(kido.StateError, match="too few"):
        identify(parameters, zero[:3], zero[:3], zero[:3], zero[:3])
    with pytest.raises(kido.ModelError, match="expected lower < upper"):
        exciting_motion(parameters, position_limits=(1.0, -1.0))
    with pytest.raises(kido.ModelError, match="velocity_limit: expected numbers above 0"):
        exciting_motion(parameters, velocity_limit=0.0)
    three = (np.zeros(3), np.ones(3))
    with pytest.raises(kido.ModelError, match="position_limits: expected lower and upper, 7 numbers or one each"):
        exciting_motion(parameters, position_limits=three)
    with pytest.raises(kido.ModelError, match="position_limits: expected lower and upper"):
        exciting_motion(parameters, position_limits=5)  # type: ignore[arg-type]
    for wrong in ([1.0, 2.0], "fast"):
        with pytest.raises(kido.ModelError, match="velocity_limit: expected numbers above 0, 7 or one, got"):
            exciting_motion(parameters, velocity_limit=wrong)
    with pytest.raises(kido.ModelError, match="seed: expected a whole number from 0 on, got -1"):
        exciting_motion(parameters, seed=-1)
    some = np.random.default_rng(0).normal(size=(3, 50, 7))
    for wrong in ([1.0, 2.0, 3.0], "loud", -1.0):
        with pytest.raises(kido.ModelError, match="noise: expected numbers above 0, 7 or one, got"):
            identify(parameters, *some, np.zeros((50, 7)), noise=wrong)
    with pytest.raises(kido.ModelError, match="base: expected base parameters of the parameters given, got 'all'"):
        identify(parameters, *some, np.zeros((50, 7)), base="all")  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="one coordinate each"):
        exciting_motion(DynamicParameters(kido.load("quadruped")))
    world = block_on_floor(0.5, 0.0, 0.05, 1.0)
    with pytest.raises(kido.NameLookupError, match="no body 'brick'"):
        fit_contact(world, {"brick": ["friction"]}, np.zeros((4, 6)))
    with pytest.raises(kido.NameLookupError, match="no property of contact 'colour'"):
        fit_contact(world, {"block": ["colour"]}, np.zeros((4, 6)))
    with pytest.raises(kido.ModelError, match=r"positions \(records, 6\)"):
        fit_contact(world, {"block": ["friction"]}, np.zeros((4, 5)))
    with pytest.raises(kido.ModelError, match="every: expected a whole number above 0, got 0"):
        fit_contact(world, {"block": ["friction"]}, np.zeros((4, 6)), every=0)
    for nothing in ({}, 5):
        with pytest.raises(kido.ModelError, match="bodies: expected names of properties by body"):
            fit_contact(world, nothing, np.zeros((4, 6)))
    with pytest.raises(kido.StateError, match="expected numbers of shape"):
        fit_rollouts(lambda p: [1.0], [1.0, 2.0], ["p"], [(0.0, 1.0)])
