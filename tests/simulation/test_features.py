"""A feature of worlds from one file: its struct, its stage, its state, and what it does when something changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido import models
from kido.jit import Struct, callback, integer, number, view
from kido.simulation import features, world_structure
from kido.simulation.feature import Feature
from kido.simulation.world_struct import END, WORLD


class CONTACT_WORK(Struct):
    steps = integer(doc="steps seen")
    deepest = number("m", doc="greatest penetration so far")


@callback
def watch_stage(world, own, unused_2, unused_3):
    """Note the penetration of a step. Returns 0: Python has nothing to do."""
    w, s = view(WORLD, world), view(CONTACT_WORK, own)
    s.steps += 1
    s.deepest = max(s.deepest, w.last.penetration)
    return 0


class ContactWatch(Feature):
    """Watches how deep contacts ever were."""

    key = "contact_watch"

    def __init__(self, engine: Any):
        super().__init__(engine)
        self.struct = CONTACT_WORK()
        self.changes = 0

    def stages(self) -> dict[str | int, Any]:
        return {END: watch_stage}

    @property
    def own_struct(self) -> Struct | None:
        return self.struct

    def surfaces_changed(self) -> None:
        self.changes += 1

    def state(self) -> Any:
        return {"steps": self.struct.steps, "deepest": self.struct.deepest}

    def set_state(self, state: Any) -> None:
        if state is not None:
            self.struct.steps, self.struct.deepest = state["steps"], state["deepest"]


def test_a_feature_is_a_file_and_its_place_in_a_list(monkeypatch, tmp_path) -> None:
    plain = models.stack(2)
    plain.step(4)
    monkeypatch.setattr(world_structure, "FEATURES", (*features.FEATURES, ContactWatch))
    watched = models.stack(2)
    watched.step(4)
    for a, b in zip(plain.skeletons, watched.skeletons, strict=True):
        assert np.array_equal(a.positions, b.positions)
    seen = watched.engine.feature(ContactWatch)
    assert seen.struct.steps == 4 and seen.struct.deepest == watched.totals.max_penetration
    snapshot = watched.snapshot()
    snapshot.save(tmp_path / "watched.npz")
    watched.step(2)
    assert seen.struct.steps == 6
    watched.restore(type(snapshot).load(tmp_path / "watched.npz"))
    assert seen.struct.steps == 4
    assert watched.clone().engine.feature(ContactWatch).struct.steps == 4
    watched.skeletons[1].bodies[0].shapes[0].friction = 0.2
    watched.step()
    assert seen.changes == 1 and seen.struct.steps == 5
    watched.restore(plain.snapshot())  # of a world without the feature


def test_features_without_anything_to_do_have_no_stages() -> None:
    made = models.stack(2).engine
    assert [type(f).__name__ for f in made.features if f.is_active] == []
    assert not made.world.feature_stage.any() and made.is_compiled
