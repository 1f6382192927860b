"""Quantities of real robots agree with each other: identities and finite differences at a random state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import consistency
import kido

# Identities of up to 150 coordinates, relative to the largest number and, where M is inverted, to its condition.
TOLERANCE = 1e-12
DIFFERENCES = 1e-7  # central differences with steps of 1e-6
# A joint moves nothing with mass: an error names it.
MASSLESS = {"romeo.urdf", "romeo_laas_small.urdf", "joint_properties.urdf"}


def check(skeleton: kido.Skeleton, file: Path) -> None:
    if file.name in MASSLESS:
        with pytest.raises(kido.ModelError, match="neither that body nor any below it has mass"):
            consistency.errors(skeleton)
        return
    for body in skeleton.soft_bodies:  # free points move in worlds alone
        body.freeze()
    for what, error in consistency.errors(skeleton).items():
        bound = DIFFERENCES if what in consistency.BY_DIFFERENCES else TOLERANCE
        assert error < bound, f"{file.name}: {skeleton.name}: {what}: {error}"
    q, u, _, tau = consistency.random_state(skeleton, 2)
    assert np.isfinite(skeleton.forward_dynamics(q, u, tau)).all()


def loaded(file: Path) -> list[kido.Skeleton]:
    options = {"visuals": False, "missing_meshes": "skip"} if file.suffix == ".urdf" else {}
    try:
        found = kido.load(file, **options)
    except kido.KidoError:
        return []  # tests of the readers say why
    return found.skeletons if isinstance(found, kido.World) else [found]


def test_robots_of_example_robot_data(example_robots: Path) -> None:
    checked = 0
    for file in sorted(example_robots.rglob("*.urdf")):
        for skeleton in loaded(file):
            check(skeleton, file)
            checked += 1
    assert checked >= 60


def test_models_of_dart(dart_data: Path) -> None:
    checked = 0
    for file in sorted([*dart_data.rglob("*.urdf"), *dart_data.rglob("*.skel")]):
        for skeleton in loaded(file):
            check(skeleton, file)
            checked += 1
    assert checked >= 100
