"""Worlds and dynamics as functions of JAX's arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import kido
from differentiable_worlds import sliding_box
from kido.batch import Batch
from kido.errors import MissingExtraError, NameLookupError, StateError

jax = pytest.importorskip("jax", reason="JAX is not installed (pip install 'kido[jax]')")
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import kido.jax  # noqa: E402
from kido.gradients import WorldFunction  # noqa: E402


@pytest.fixture(autouse=True)
def wide_numbers() -> Iterator[None]:
    """Numbers of 64 bits, in these tests."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def simulation() -> Any:
    world, box = sliding_box()
    return kido.jax.Simulation(world, {"mass": [box], "friction": list(box.shapes)})


def state() -> tuple[Any, Any]:
    skeleton = sliding_box()[0].skeletons[1]
    return jnp.asarray(np.array(skeleton.positions)), jnp.asarray(np.array(skeleton.velocities))


def cost(simulation: Any) -> Any:
    """A number of everything."""

    def value(q: Any, u: Any, commands: Any, friction: Any) -> Any:
        positions, velocities = simulation.rollout(q, u, commands, friction=friction, hold=2)
        return (positions**2).sum() + (velocities * jnp.arange(6.0)).sum()

    return value


def arguments() -> tuple[Any, ...]:
    return *state(), 0.3 * jnp.asarray(np.random.default_rng(0).normal(size=(2, 6))), jnp.array([0.4])


def test_gradients_against_differences(simulation):
    check_grads(cost(simulation), arguments(), order=1, modes=["rev"], eps=1e-6, atol=1e-5, rtol=1e-5)


def test_jit_and_vmap_are_the_same_to_the_bit(simulation):
    given = arguments()
    gradient = jax.grad(cost(simulation), (0, 1, 2, 3))
    plain, compiled = gradient(*given), jax.jit(gradient)(*given)
    frictions = jnp.array([[0.4], [0.3]])
    many = jax.vmap(gradient, in_axes=(None, None, None, 0))(*given[:3], frictions)
    other = gradient(*given[:3], frictions[1])
    for a, b, c, d in zip(plain, compiled, many, other, strict=True):
        assert (a == b).all() and (a == c[0]).all() and (d == c[1]).all()
    values, _ = jax.jit(simulation.step)(*given[:2])
    world, _ = sliding_box()
    own = WorldFunction(world).rollout(*(np.array(x)[None] for x in given[:2]), steps=1)
    assert (np.asarray(values) == own.positions[0, 0]).all()


def test_smooth_functions_of_a_floating_robot():
    robot = Batch(kido.load_skeleton(kido.models.path("quadruped")), threads=1)
    rng = np.random.default_rng(0)
    q, u, x = (jnp.asarray(0.4 * rng.normal(size=(2, 18))) for _ in range(3))
    options: dict[str, Any] = {"order": 1, "modes": ["rev"], "eps": 1e-5, "rtol": 1e-6, "atol": 1e-6}
    check_grads(lambda *x: kido.jax.forward_dynamics(robot, *x), (q, u, x), **options)
    check_grads(lambda *x: kido.jax.inverse_dynamics(robot, *x), (q, u, x), **options)
    check_grads(lambda q: kido.jax.forward_kinematics(robot, q, "front_left_foot"), (q,), **options)


@pytest.mark.parametrize(
    "change, error, words",
    [
        (lambda q: {"positions": q.astype(jnp.float32)}, StateError, "positions: expected float64, got float32"),
        (lambda q: {"velocities": q[:5]}, StateError, r"velocities: expected the shape \(..., 6\), got \(5,\)"),
        (lambda q: {"positions": q * jnp.nan}, StateError, "positions: expected finite numbers, got nan"),
        (lambda q: {"positions": [0.0] * 6}, StateError, "positions: expected an array of JAX, got list"),
        (lambda q: {"steps": -1}, StateError, "steps: expected a whole number above 0"),
        (lambda q: {"damping": q}, NameLookupError, "damping"),
    ],
)
def test_what_is_refused(simulation, change, error, words):
    q, u = state()
    with pytest.raises(error, match=words):
        simulation.step(**({"positions": q, "velocities": u} | change(q)))


def test_what_is_refused_in_a_compiled_program_keeps_its_words(simulation):
    q, u = state()
    with pytest.raises(jax.errors.JaxRuntimeError, match="positions: expected finite numbers, got nan"):
        jax.block_until_ready(jax.jit(simulation.step)(q * jnp.nan, u))


def test_numbers_of_32_bits_and_second_derivatives_are_refused(simulation):
    q, u = state()
    with pytest.raises(StateError, match="second derivatives"):
        jax.grad(lambda x: jax.grad(lambda y: simulation.step(y, u)[0].sum())(x).sum())(q)
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(StateError, match="jax_enable_x64"):
        simulation.step(q, u)


def test_without_jax_the_command_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "jax" or name.startswith("kido.jax")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtraError, match=r"kido\[jax\]"):
        __import__("kido.jax")
