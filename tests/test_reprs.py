"""What results look like at a prompt: a line or two with the numbers that matter."""

from __future__ import annotations

import dataclasses
import inspect
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import kido
from kido.ik.analytical import AnalyticalChain
from kido.reprs import brief, counted, in_few_words

SCREEN = 300  # characters: four lines of 80 at most
PACKAGES = ["kido", *(f"kido.{name}" for name in dir(kido) if inspect.ismodule(getattr(kido, name)))]


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize(
    "value, text",
    [
        (0.123456, "0.1235"),
        (np.float64(-2e-9), "-2e-09"),
        (3, "3"),
        (True, "True"),
        (None, "None"),
        (Colour.RED, "Colour.RED"),
        ("short", "'short'"),
        (np.arange(3.0) / 3.0, "[0, 0.3333, 0.6667]"),
        (np.zeros((40, 3)), "<40 x 3>"),
        (np.zeros(0), "[]"),
        (np.zeros(8), "<8>"),
        ([1, 2], "[1, 2]"),
        ([1.5] * 40, "<40 float>"),
        ([1, "a"] * 5, "<10 items>"),
        ({k: k for k in range(9)}, "<9 int>"),
        (object(), "<object>"),
    ],
)
def test_values_in_few_words(value: Any, text: str) -> None:
    assert in_few_words(value) == text


@pytest.mark.parametrize("value", ["a" * 1000, ["a" * 1000], {"a": "b" * 1000}, [["a"] * 100]])
def test_no_value_is_long(value: Any) -> None:
    assert len(in_few_words(value)) <= 60


def test_fields_that_have_their_default_value_are_left_out() -> None:
    @dataclasses.dataclass(repr=False)
    class Numbers:
        first: float = 0.0
        rows: Any = dataclasses.field(default_factory=lambda: np.zeros(2))
        missing: float = float("nan")
        hidden: int = dataclasses.field(default=0, repr=False)

        __repr__ = brief

    class Row(NamedTuple):
        first: int
        second: float = 1.0

        __repr__ = brief

    assert repr(Numbers()) == "Numbers(first=0)"
    assert repr(Numbers(1.0, np.ones(2), 2.0, 3)) == "Numbers(first=1, rows=[1, 1], missing=2)"
    assert (repr(Row(1)), repr(Row(1, 2.0))) == ("Row(first=1)", "Row(first=1, second=2)")
    assert (counted(1, "pair"), counted(2, "pair")) == ("1 pair", "2 pairs")


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_class_prints_whole_arrays(package: str) -> None:
    """None has the representation that dataclasses and named tuples make, if it holds arrays or lists."""
    for name in import_module(package).__all__:
        found = getattr(import_module(package), name)
        kinds = " ".join(map(str, getattr(found, "__annotations__", {}).values())) if inspect.isclass(found) else ""
        if ("Array" in kinds or "ndarray" in kinds or "list[" in kinds) and (
            dataclasses.is_dataclass(found) or hasattr(found, "_fields")
        ):
            made_in = Path(inspect.unwrap(found.__repr__).__code__.co_filename)
            assert made_in.is_relative_to(Path(kido.__file__).parent), f"{package}.{name}"


def results() -> dict[str, Any]:
    """Results of many kinds, none of them small."""
    world = kido.load("stack")
    world.step(5)
    group = world.collision_group
    arm = kido.load("arm7")
    arm.positions = np.full(7, 0.2)
    hand = arm.body("hand")
    ik: Any = kido.InverseKinematics(hand, gradient_method=AnalyticalChain())
    problem = kido.optimization.Problem(30, objective=lambda x: x @ x)
    return {
        "contacts": world.contacts,
        "contact": world.contacts[0],
        "report": world.report,
        "constraints": world.constraint_report,
        "collide": group.collide(),
        "distance": group.distance(),
        "distances": group.distances(),
        "raycast": group.raycast((0, 0, 5), (0, 0, -1)),
        "derivatives": arm.forward_dynamics_derivatives(arm.positions, arm.velocities, np.zeros(7)),
        "split": arm.active_passive_split(),
        "motion": kido.integrators.simulate(arm, kido.integrators.RK4(), 0.1),
        "rollout": kido.batch.rollout(world, np.zeros((3, 60)), steps=4),
        "branches": ik.gradient_method.solutions(hand.world_transform)[0],
        "many": ik.gradient_method.solver.solve_many(np.repeat(hand.world_transform[None], 50, 0), arm.positions),
        "task": kido.IkSolver(hand).tasks[0],
        "method": ik.gradient_method,
        "error": ik.error_method,
        "problem": problem,
        "minimum": kido.optimization.GradientDescentSolver().solve(problem),
        "surface": world.skeleton(0).body(0).shape(0).surface,
        "inertia": arm.body("hand").inertia,
        "scene": kido.models.stack_scene(),
    }


@pytest.mark.usefixtures("warm_kernels")
def test_results_fit_a_screen() -> None:
    shown = {name: repr(value) for name, value in results().items()}
    assert {name: text for name, text in shown.items() if len(text) > SCREEN or "\n" in text or " at 0x" in text} == {}
    assert shown["contacts"].startswith("ContactSet(40 contacts of 10 pairs of shapes, penetration at most ")
    assert shown["report"].startswith("StepReport(contacts=40, max_penetration=")
    assert shown["derivatives"] == "ForwardDynamicsDerivatives(dq=<7 x 7>, du=<7 x 7>, dtau=<7 x 7>)"
    assert shown["problem"] == "Problem(30 variables, 0 equality and 0 inequality functions)"


def test_contacts_are_summed_up() -> None:
    world = kido.World()
    world.add_ground()
    assert repr(world.contacts) == "ContactSet(no contacts)"
    ball = world.add_skeleton(kido.Skeleton("ball")).add_body(
        "ball", kido.FreeJoint("j"), inertia=kido.Inertia(2.0, moment=np.eye(3))
    )
    ball.add_shape(kido.Sphere(0.1))
    ball.skeleton.positions = [0, 0, 0, 0, 0, 0.1]
    world.step()
    words = repr(world.contacts)
    assert words.startswith("ContactSet(1 contact of 1 pair of shapes, penetration at most ")
    assert "penetration at most -0" not in words
    assert float(words.split("force at most ")[1].split()[0]) == pytest.approx(2.0 * 9.81, rel=5e-3)  # three digits
