"""Properties by name in worlds of every kind: each world is what `export` makes of it with its objects' own setters."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from benchmarks.soak.scenes import chain, free
from flexible_trees import random_tree
from kido.batch import Worlds
from kido.errors import StateError
from kido.models import n_four_bar


def chains(**options) -> kido.World:
    world = kido.World(**options)
    world.add_ground()
    made = world.add_skeleton(chain("chain", 4, (0.0, 0.0, 0.15)))
    for dof in made.dofs[6:]:
        dof.spring_stiffness = 0.3
    made.velocities = np.linspace(-2.0, 2.0, made.num_dofs)
    world.add_skeleton(free("box", kido.Box((0.2, 0.2, 0.2)), (1.0, 0.0, 0.2)))
    return world


def sprung() -> kido.World:
    return chains(spring_law="future")


def euler() -> kido.World:
    return chains(spring_law="future", integrator=kido.integrators.SemiImplicitEuler())


def sleeping() -> kido.World:
    return chains(sleeping=True)


def loops() -> kido.World:
    world = kido.World()
    world.add_skeleton(n_four_bar(3).skeleton)
    return world


def properties(world: kido.World, name: str, number: int) -> np.ndarray:
    rng = np.random.default_rng(4)
    bodies = [body for s in world.skeletons for body in s.bodies]
    dofs = [dof for s in world.skeletons for dof in s.dofs]
    loose = np.array([isinstance(dof.joint, kido.FreeJoint) for dof in dofs])
    match name:
        case "gravity":
            return [0.0, 0.0, -9.81] + rng.normal(0.0, 0.5, (number, 3))
        case "mass":
            return np.array([b.mass for b in bodies]) * rng.uniform(0.7, 1.3, (number, len(bodies)))
        case "friction":
            return rng.uniform(0.1, 1.0, (number, len(bodies)))
    own = np.array([getattr(dof, name) for dof in dofs])
    return np.where(loose, own, own + rng.uniform(0.0, 0.2, (number, len(dofs))))


@pytest.mark.parametrize("name", ["gravity", "mass", "friction", "damping", "armature", "spring_stiffness"])
@pytest.mark.parametrize("build", [sprung, euler, sleeping, loops])
def test_each_world_is_the_one_that_it_is_exported_as(build, name):
    world = build()
    world.step(10)
    worlds = Worlds(world, 3, properties={name: properties(world, name, 3)}, threads=1, lanes=False)
    singles = [worlds.export(k) for k in range(3)]
    worlds.step(n=100)
    assert np.abs(worlds.positions[0] - worlds.positions[1]).max() > 1e-9 or name == "friction"
    for k, single in enumerate(singles):
        single.step(100, reset_command=False)
        assert np.array_equal(worlds.positions[k], np.concatenate([s.positions for s in single.skeletons]))


def test_bodies_that_deform_keep_their_inertia():
    """Their springs and modes have masses of their own, which a number for the body says nothing of."""
    soft = kido.World()
    ball = kido.Skeleton("ball")
    ball.add_soft_body(
        "ball", kido.SoftMesh.box((0.3, 0.3, 0.3)), kido.FreeJoint("root"), total_mass=0.5, kv=500.0, ke=20.0, kd=2.0,
        inertia=kido.Inertia.from_diagonal(1.0, (0.01, 0.012, 0.015)),
    )  # fmt: skip
    soft.add_skeleton(ball)
    bent = kido.World()
    bent.add_skeleton(random_tree(3, 4).skeleton)
    for world in (soft, bent):
        bodies = [body for s in world.skeletons for body in s.bodies]
        masses = np.array([[body.mass for body in bodies]])
        same = Worlds(world, properties={"mass": masses}, threads=1)
        assert same.export(0).skeletons[0].mass == pytest.approx(world.skeletons[0].mass)
        with pytest.raises(StateError, match=rf"mass of '{bodies[0].name}' in world 0: expected that of the model"):
            Worlds(world, properties={"mass": 1.1 * masses})
