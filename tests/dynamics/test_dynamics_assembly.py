"""Loops closed from any start: mechanisms taken apart, frozen coordinates, limits, what cannot be closed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
import linkages
from kido.errors import ModelError, NameLookupError, StateError
from kido.integrators import RK4, DormandPrince, simulate

MECHANISMS = [
    *(kido.models.loop_pendulum, kido.models.n_four_bar, kido.models.andrews_squeezer, kido.models.bricard),
    *(kido.models.slider_crank, kido.models.bennett, kido.models.spatial_slider_crank),
]
each = pytest.mark.parametrize("make", MECHANISMS, ids=lambda make: make.__name__)


def errors(dynamics) -> tuple[float, float]:
    phi, _, rate, wanted, _ = dynamics.system.evaluate()
    return float(np.abs(phi).max()), float(np.abs(rate - wanted).max())


@each
@pytest.mark.parametrize("amount", [0.05, 0.6])
def test_mechanisms_taken_apart(make, amount) -> None:
    mechanism = make()
    skeleton, dynamics = mechanism.skeleton, mechanism.dynamics()
    rng = np.random.default_rng(5)
    scale = amount * (0.02 if make is kido.models.andrews_squeezer else 1.0)
    q = skeleton.integrate_positions(skeleton.positions, scale * rng.normal(size=skeleton.num_dofs))
    skeleton.positions, skeleton.velocities = q, rng.normal(size=skeleton.num_dofs)
    found = dynamics.assemble()
    assert found.error < 1e-10
    assert (skeleton.positions == found.positions).all()
    assert (skeleton.velocities == found.velocities).all()
    phi, rate = errors(dynamics)
    assert phi < 1e-10
    assert rate < 1e-9
    simulate(dynamics, RK4(), 1e-3)  # takes it


@each
def test_what_is_closed_stays(make) -> None:
    mechanism = make()
    q, u = mechanism.skeleton.positions, mechanism.skeleton.velocities
    found = mechanism.dynamics().assemble()
    assert found.positions == pytest.approx(q, abs=1e-12)
    assert found.velocities == pytest.approx(u, abs=1e-11)
    assert (found.iterations, found.restarts) == (0, 0)


def test_small_changes_are_least_in_kinetic_energy() -> None:
    """Against the minimum by Lagrange's multipliers, from a start 1e-5 away: second-order terms are 1e-10."""
    mechanism = kido.models.n_four_bar(3)
    skeleton, dynamics = mechanism.skeleton, mechanism.dynamics()
    skeleton.positions = skeleton.positions + 1e-5 * np.random.default_rng(1).normal(size=skeleton.num_dofs)
    skeleton.velocities = np.random.default_rng(2).normal(size=skeleton.num_dofs)
    q, u = skeleton.positions, skeleton.velocities
    phi, G, rate, *_ = dynamics.system.evaluate()
    N = np.linalg.solve(skeleton.mass_matrix, G.T)
    found = dynamics.assemble()
    assert found.positions - q == pytest.approx(-N @ np.linalg.pinv(G @ N) @ phi, abs=1e-9)
    assert found.velocities - u == pytest.approx(-N @ np.linalg.pinv(G @ N) @ rate, abs=1e-4)
    assert found.velocities == pytest.approx(dynamics.project_velocities(u=u), abs=1e-10)


@pytest.mark.parametrize("how", ["name", "joint", "dof"])
def test_frozen_coordinates_stay(how) -> None:
    """The crank of a slider-crank is set; the rest follows by geometry, velocities too."""
    mechanism = kido.models.slider_crank()
    skeleton, dynamics = mechanism.skeleton, mechanism.dynamics()
    freeze = {"name": "crank", "joint": skeleton.joint("crank"), "dof": [skeleton.dofs[0]]}[how]
    for angle in np.linspace(0.3, 6.0, 7):
        skeleton.positions = [angle, *skeleton.positions[1:]]
        skeleton.velocities = [2.0, 0.0, 0.0]
        found = dynamics.assemble(freeze=freeze)
        assert found.positions[0] == angle
        assert found.velocities[0] == 2.0
        r, l_ = linkages.CRANK, linkages.ROD
        root = np.sqrt(l_**2 - (r * np.sin(angle)) ** 2)
        assert found.positions[2] + r + l_ == pytest.approx(r * np.cos(angle) + root, abs=1e-11)
        exact = 2.0 * (-r * np.sin(angle) - r**2 * np.sin(angle) * np.cos(angle) / root)
        assert found.velocities[2] == pytest.approx(exact, abs=1e-10)


def test_positions_and_velocities_are_frozen_apart() -> None:
    mechanism = kido.models.slider_crank()
    skeleton, dynamics = mechanism.skeleton, mechanism.dynamics()
    skeleton.positions, skeleton.velocities = [1.0, -0.8, 0.0], [3.0, 0.0, 0.5]
    found = dynamics.assemble(freeze_positions="crank", freeze_velocities=skeleton.joint("slider"))
    assert found.positions[0] == 1.0
    assert found.velocities[2] == 0.5
    assert found.velocities[0] != pytest.approx(3.0)
    u = dynamics.assemble_velocities(freeze="crank")
    assert u[0] == skeleton.velocities[0] == found.velocities[0]
    assert errors(dynamics)[1] < 1e-12


def test_limits_choose_the_branch() -> None:
    """A four-bar has two ways of standing: limits of the rocker leave one."""
    ends = []
    for side in (1.0, -1.0):
        skeleton = kido.Skeleton("bars")
        low, high = sorted((0.05 * side, 3.0 * side))
        rod = linkages.rod(0)
        crank = skeleton.add_body("crank", kido.RevoluteJoint("crank", axis=(0, 0, 1)), inertia=rod)
        coupler = skeleton.add_body(
            "coupler",
            kido.RevoluteJoint("coupler", axis=(0, 0, 1), transform_from_parent=linkages.at(1, 0, 0)),
            crank,
            inertia=rod,
        )
        rocker = skeleton.add_body(
            "rocker",
            kido.RevoluteJoint(
                "rocker", axis=(0, 0, 1), transform_from_parent=linkages.at(1.5, 0, 0),
                position_lower_limit=low, position_upper_limit=high,
            ),
            inertia=rod,
        )  # fmt: skip
        pin = kido.RevoluteJointConstraint(
            coupler, rocker, frame_a=linkages.at(1, 0, 0), frame_b=linkages.at(1, 0, 0), name="pin"
        )
        skeleton.positions = [0.2, 0.3, 0.5 * (low + high)]
        found = kido.ConstrainedDynamics(skeleton, [pin]).assemble()
        assert low <= found.positions[2] <= high
        ends.append(skeleton.body("rocker").world_transform[:2, :2] @ [1.0, 0.0])
    assert ends[0][1] > 0.0 > ends[1][1]


def test_loops_of_files_that_are_open(example_robots: Path) -> None:
    """Cassie's four ball loops, from zero positions moved at random; the pelvis stays."""
    (path,) = example_robots.rglob("cassie_v2.sdf")
    cassie = kido.load(path)
    cassie = cassie if isinstance(cassie, kido.Skeleton) else cassie.skeletons[0]
    # "CE" would leave the start by 0.4 rad for a row that is one by the file's last digits only
    dynamics = kido.ConstrainedDynamics(cassie, solver="TA")
    rng = np.random.default_rng(0)
    cassie.positions = cassie.integrate_positions(cassie.positions, 0.1 * rng.normal(size=cassie.num_dofs))
    cassie.velocities = rng.normal(size=cassie.num_dofs)
    base = cassie.root_bodies[0].parent_joint
    q, u = base.positions, base.velocities
    found = dynamics.assemble(freeze=base)
    assert found.error < 1e-8  # a row along a hinge's axis follows from others to the digits of the file
    assert (base.positions == q).all()
    assert (base.velocities == u).all()
    assert errors(dynamics)[1] < 1e-6
    before = cassie.kinetic_energy + cassie.potential_energy
    simulate(dynamics, DormandPrince(rtol=1e-9, atol=1e-9), times=[0.0, 0.2])
    assert errors(dynamics)[0] < 1e-8
    assert cassie.kinetic_energy + cassie.potential_energy < before + 1e-6


def test_what_is_closed_beyond_limits_stays_as_it_is(example_robots: Path) -> None:
    """Cassie's loops are closed at zero, where four joints are outside of their limits."""
    (path,) = example_robots.rglob("cassie_v2.sdf")
    cassie = kido.load(path)
    cassie = cassie if isinstance(cassie, kido.Skeleton) else cassie.skeletons[0]
    assert sum(d.position_upper_limit < 0.0 for d in cassie.dofs) == 4
    q = cassie.positions
    found = kido.ConstrainedDynamics(cassie).assemble()
    assert (found.positions == q).all() and (found.iterations, found.restarts) == (0, 0)


def test_limits_that_keep_loops_open_are_named() -> None:
    mechanism = kido.models.slider_crank()
    skeleton, dynamics = mechanism.skeleton, mechanism.dynamics()
    skeleton.positions = [0.5, 0.0, 0.0]
    slider = skeleton.joint("slider").dofs[0]
    slider.position_lower_limit, slider.position_upper_limit = -1e-3, 1e-3
    with pytest.raises(StateError, match="with limits=False they can, beyond those of slider"):
        dynamics.assemble(freeze="crank", restarts=2)
    assert dynamics.assemble(freeze="crank", limits=False).error < 1e-12


def test_rows_that_cannot_be_met_are_named() -> None:
    mechanism = kido.models.slider_crank()
    skeleton = mechanism.skeleton
    far = kido.DistanceConstraint(None, skeleton.body("slider"), distance=5.0, name="leash")
    dynamics = kido.ConstrainedDynamics(skeleton, [*mechanism.constraints, far])
    q, u = skeleton.positions, skeleton.velocities
    with pytest.raises(StateError, match=r"loops cannot be closed from 4 starts.*leash: distance") as caught:
        dynamics.assemble(restarts=3)
    # Stretched, the slider is 1.1 m from the origin: least squares leave the row between the two.
    assert "m or rad" in str(caught.value)
    assert (skeleton.positions == q).all()
    assert (skeleton.velocities == u).all()


def test_frozen_too_much() -> None:
    mechanism = kido.models.slider_crank()
    skeleton, dynamics = mechanism.skeleton, mechanism.dynamics()
    skeleton.positions = [0.5, 0.0, 0.0]
    with pytest.raises(StateError, match="with crank, rod frozen"):
        dynamics.assemble(freeze=["crank", "rod"], restarts=2)
    with pytest.raises(StateError, match="with crank, rod, slider frozen from 1 start; "):
        dynamics.assemble(freeze=skeleton.dofs)
    dynamics.assemble(freeze="crank")
    with pytest.raises(StateError, match="velocities cannot meet all rows with those of crank, slider frozen"):
        skeleton.velocities = [1.0, 0.0, 5.0]
        dynamics.assemble_velocities(freeze=["crank", "slider"])
    assert skeleton.velocities == pytest.approx([1.0, 0.0, 5.0])


def test_the_seed_decides() -> None:
    """A start at which the first descent ends in a local minimum."""
    ends = []
    for seed in (1, 1, 2):
        mechanism = kido.models.bricard()
        mechanism.skeleton.positions = [2.5, -2.0, 1.0, 2.9, -1.4]
        ends.append(mechanism.dynamics().assemble(seed=seed, restarts=60))
    assert (ends[0].positions == ends[1].positions).all()
    assert all(end.error < 1e-10 for end in ends)


def test_driven_rows_are_met_at_their_time() -> None:
    pendulum = kido.models.loop_pendulum()
    rod = pendulum.constraints[0]
    dynamics = kido.ConstrainedDynamics(pendulum.skeleton, [rod], rates={rod: (-0.1, 0.0)})
    found = dynamics.assemble(time=2.0)
    assert np.linalg.norm(found.positions) == pytest.approx(0.8, abs=1e-11)
    assert found.positions @ found.velocities / 0.8 == pytest.approx(-0.1, abs=1e-11)


def test_mistakes() -> None:
    mechanism = kido.models.slider_crank()
    dynamics = mechanism.dynamics()
    with pytest.raises(NameLookupError, match=r"no joint .*'wheel'"):
        dynamics.assemble(freeze="wheel")
    with pytest.raises(ModelError, match="coordinates, joints or their names"):
        dynamics.assemble(freeze=[3.5])
    with pytest.raises(ModelError, match="is not of skeleton"):
        dynamics.assemble(freeze=kido.models.slider_crank().skeleton.dofs)
    ball = kido.models.spatial_slider_crank("slider")
    with pytest.raises(ModelError, match="all of its coordinates"):
        ball.dynamics().assemble(freeze_positions=ball.skeleton.joint("rod").dofs[1])
    with pytest.raises(ModelError, match="tolerance"):
        dynamics.assemble(tolerance=0.0)
    with pytest.raises(ModelError, match="restarts"):
        dynamics.assemble(restarts=-1)
    with pytest.raises(ModelError, match="limits"):
        dynamics.assemble(limits="yes")
    with pytest.raises(ModelError, match="seed"):
        dynamics.assemble(seed="dice")
