"""Snapshots that are not what they were: refused by place, and the world as it was; mutations by the hundred."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import damage
import kido
from kido.integrators import DormandPrince
from kido.simulation import world_snapshot
from kido.simulation.world_state import checked_state, state_of
from kido.skeleton.state.plain import plain
from user_classes import Temperature

MUTATIONS = int(os.environ.get("KIDO_MUTATIONS", "100"))  # of each scene; many by `python tests/damage.py`


def at(state: Any, path: str) -> tuple[Any, Any]:
    """What holds the last part of a path, and its key."""
    keys = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in keys[:-1]:
        state = state[key]
    return state, keys[-1]


@pytest.mark.parametrize("scene", damage.SCENES)
def test_a_state_passes_its_checks_unchanged(scene: str) -> None:
    """Everything that a world says of itself is known to the checks, and comes through with its bits."""
    fresh = damage.SCENES[scene]()
    stepped = fresh.clone()
    stepped.step()
    for w in (fresh, stepped, damage.snapshot_base(scene)[0]):
        state = state_of(w)
        found = checked_state(w, state, "state")
        assert [plain(item) for item in found.pop("carried")] == [plain(item) for item in state.pop("carried")]
        assert state.pop("skeletons") == [s.name for s in w.skeletons]  # compared alone
        np.testing.assert_equal(found, state)


@pytest.mark.parametrize(
    ("scene", "path", "place", "value", "message"),
    [
        ("contacts", "warm.detector.pair_b", -1, 99, r"warm\.detector\.pair_b\[\d+\] is 99; expected 0 to 6"),
        ("contacts", "warm.detector.pair_a", 0, -1, r"warm\.detector\.pair_a\[0\] is -1; expected 0 to 6"),
        ("contacts", "warm.detector.pair_a", 0, 6, r"warm\.detector: pair 0 is of shapes that do not ascend"),
        ("contacts", "warm.detector.pair_count", -1, 6, r"warm\.detector: pair \d ends behind the \d contacts"),
        ("contacts", "warm.detector.pair_first", 0, 2**62, r"warm\.detector\.pair_first\[0\] is 46116860184273"),
        ("contacts", "warm.detector.shape_a", 0, 7, r"warm\.detector\.shape_a\[0\] is 7; expected 0 to 6"),
        ("contacts", "warm.detector.body_b", 0, 50, r"warm\.detector\.body_b\[0\] is 50; expected 0 to"),
        ("contacts", "warm.detector.matched", 0, 2, r"matched\[0\] is 2; expected 0 to 1"),
        ("contacts", "warm.detector.impulse", (0, 2), np.nan, r"impulse\[0, 2\] is nan; expected a finite number"),
        ("contacts", "warm.detector.friction", 0, -1.0, r"friction\[0\] is -1.0; expected a finite number not below 0"),
        ("contacts", "warm.touch.open", (0, 1), 1000, r"warm\.touch\.open\[0, 1\] is 1000; expected 0 to 6"),
        ("contacts", "warm.limit_impulse", 0, np.inf, r"warm\.limit_impulse\[0\] is inf"),
        ("contacts", "warm.last", 2, np.nan, r"warm\.last: iterations is nan; expected a finite number"),
        ("contacts", "q", 3, np.nan, r"restore\.q\[3\] is nan; expected a finite number"),
        ("loops", "warm.loops.compound_kept", 0, 40, r"warm\.loops\.compound\.kept\[0\] is 40; expected 0 to"),
        ("loops", "warm.loops.compound_solved", 0, 1, r"compound\.solved: of aggregate 0 it is no order of 3 numbers"),
        ("loops", "warm.loops.compound_rank", 0, 9, r"compound\.rank\[0\] is 9; expected 0 to \d"),
        ("loops", "warm.loops.enabled", 0, 2, r"warm\.loops\.enabled\[0\] is 2; expected 0 to 1"),
        ("sleep", "warm.sleepers.island", 1, 5, r"warm\.sleepers\.island\[1\] is 5; expected 0 to 4"),
        ("sleep", "warm.sleepers.store.pair_b", 0, 31, r"warm\.sleepers\.store\.pair_b\[0\] is 31; expected 0 to 4"),
        ("sleep", "warm.sleepers.kept", (0, 0), np.nan, r"warm\.sleepers\.kept\[0, 0\] is nan"),
        ("soft", "warm.soft.frozen", 0, 5, r"warm\.soft\.frozen\[0\] is 5; expected 0 to 1"),
        ("soft", "warm.soft.q", (0, 0), np.inf, r"warm\.soft\.q\[0, 0\] is inf"),
        ("smooth", "warm.integrator", 0, -1.0, r"warm\.integrator\[0\] is -1.0; expected a finite number not below 0"),
        ("contacts", "pushes.0", "body", 9, r"pushes\[0\]: body is 9; expected 0 to 0"),
        ("contacts", "pushes.0", "skeleton", -1, r"pushes\[0\]: skeleton is -1; expected 0 to 4"),
        ("contacts", "pushes.0", "left", 0, r"pushes\[0\]: left is 0; expected"),
        ("contacts", "pushes.0", "row", np.zeros(3), r"pushes\[0\]: row: expected the shape \(24,\), got \(3,\)"),
        ("contacts", "applied.4", 3, np.zeros(24), r"applied to skeleton 'body2': body is 3; expected 0 to 0"),
        ("contacts", "", "steps", 1.5, "steps is 1.5; expected"),
        ("contacts", "", "time_before", np.inf, "time_before is inf; expected a finite number"),
        ("contacts", "", "time_step", 0.0, "time_step is 0; expected"),
        ("contacts", "", "warm", None, "warm: expected arrays by name, got None"),
        ("contacts", "warm.detector", "gap", np.zeros((2, 2)), r"detector\.gap: expected the shape \(6,\), got"),
        ("contacts", "warm.detector", "key", np.zeros(6), r"detector\.key: expected an array of whole numbers"),
        ("contacts", "", "pushes", {"a": 1}, "pushes: expected a list of pushes"),
    ],
)
def test_what_cannot_be_is_refused_by_its_place(
    scene: str, path: str, place: Any, value: Any, message: str, tmp_path: Path
) -> None:
    """As plain data, from a pickle, and from a file; nothing has changed then."""
    w, good, _, now, _ = damage.snapshot_base(scene)
    w.restore(good)
    state = state_of(w)
    if isinstance(place, str) or not path or path.startswith("applied"):
        holder = at(state, f"{path}.x" if path else "x")[0]
        holder[place] = value
    else:
        holder, key = at(state, path)
        holder[key][place] = value
    damaged = kido.WorldSnapshot(good._structure, state)
    damaged.save(tmp_path / "snapshot")
    acts: tuple[Callable[[], Any], ...] = (
        lambda: w.set_state(state),
        lambda: w.restore(pickle.loads(pickle.dumps(damaged))),
        lambda: w.restore(kido.WorldSnapshot.load(tmp_path / "snapshot")),
    )
    for act in acts:
        with pytest.raises(kido.StateError, match=rf"{message}|snapshot: no snapshot of a world"):
            act()
    np.testing.assert_array_equal(damage.look(w)[: len(now) - 4], now[: len(now) - 4])


def test_states_of_users_classes_are_checked(tmp_path: Path) -> None:
    w = damage.users()
    w.snapshot().save(tmp_path / "s")
    aspect = w.skeleton("body0").get(Temperature)
    state = state_of(w)
    (label,) = (label for label in state["carried"][2] if "Temperature" in label)
    state["carried"][2][label] = 5
    with pytest.raises(
        kido.StateError, match=r"skeleton 'body0': skeleton: aspect .*: expected a state of class State, got 5"
    ):
        w.set_state(state)

    class Picky(kido.Aspect):
        @property
        def state(self) -> int:
            return 3

        @state.setter
        def state(self, value: int) -> None:
            if value != 3:
                raise RuntimeError("no")

    w.skeleton("body0").create(Picky)
    state = state_of(w)
    before = damage.look(w)
    (label,) = (label for label in state["carried"][2] if "Picky" in label)
    state["carried"][2][label] = 4
    state["q"][:] += 0.1
    with pytest.raises(kido.StateError, match=r"refused by a node or aspect, or .*: RuntimeError\('no'\)"):
        w.set_state(state)
    np.testing.assert_array_equal(damage.look(w), before)
    assert aspect.state.kelvin == 250.0


def test_a_snapshot_never_changes_and_is_checked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    w, good, data, _, _ = damage.snapshot_base("contacts")
    for holder, key in ((good._data, "q"), (good._data["warm"]["detector"], "pair_a")):
        with pytest.raises(ValueError, match="read-only"):
            holder[key][0] = 3
    with pytest.raises(kido.ReadOnlyError, match="read-only"):
        good.positions[:] = 5.0
    calls = []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return checked_state(*arguments)

    monkeypatch.setattr(world_snapshot, "checked_state", counted)
    w.restore(good)
    assert calls == []  # it is of this very world
    (tmp_path / "s").write_bytes(data)
    clone, loaded = w.clone(), kido.WorldSnapshot.load(tmp_path / "s")
    for snapshot, other in ((loaded, w), (good, clone), (loaded, clone), (pickle.loads(pickle.dumps(good)), w)):
        calls.clear()
        other.restore(snapshot)
        other.restore(snapshot)
        assert len(calls) == 1
    # What states are laid out for has changed: it is looked at again.
    clone.collects_contact_events = False
    calls.clear()
    clone.restore(good)
    assert len(calls) == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_world_with_a_skin_at_infinity_goes_back() -> None:
    """Loads ask for inertias, which such a skin has none of: it goes back first."""
    w, good, _, now, after = damage.snapshot_base("soft")
    w.restore(good)
    state = state_of(w)
    state["warm"]["soft"]["q"][0] = 1e300  # finite; its square is not
    with pytest.raises(kido.KidoError):
        w.set_state(state)
        w.step()
    w.restore(good)
    np.testing.assert_array_equal(damage.look(w)[: len(now) - 4], now[: len(now) - 4])
    w.step(10)
    np.testing.assert_array_equal(damage.look(w), after)


def test_bombs_and_other_files_are_refused(tmp_path: Path) -> None:
    good = damage.snapshot_base("contacts")[2]
    path = tmp_path / "bomb.npz"

    def rewrite(compression: int, **arrays: Any) -> None:
        with np.load(io.BytesIO(good)) as file:
            whole = {**{name: file[name] for name in file.files}, **arrays}
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, array in whole.items():
                out = io.BytesIO()
                np.save(out, array)
                archive.writestr(f"{name}.npy", out.getvalue())

    rewrite(zipfile.ZIP_DEFLATED, array_0=np.zeros(40_000_000))
    assert path.stat().st_size < 1e6
    with pytest.raises(kido.StateError, match=r"bomb\.npz: no snapshot of a world: 305 MiB when unpacked; refused"):
        kido.WorldSnapshot.load(path)
    rewrite(zipfile.ZIP_LZMA)
    with pytest.raises(kido.StateError, match="compressed by method 14"):
        kido.WorldSnapshot.load(path)
    rewrite(zipfile.ZIP_DEFLATED, array_0=np.array(["text"]))
    with pytest.raises(kido.StateError, match=r"array_0\.npy holds <U4; expected numbers"):
        kido.WorldSnapshot.load(path)
    # A header that says more than there is.
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, out.getvalue() if entry.filename == "array_0.npy" else old.read(entry))
    with pytest.raises(kido.StateError, match="cannot reshape"):
        kido.WorldSnapshot.load(path)
    text = json.dumps({"format": "kido world snapshot 7"})
    rewrite(zipfile.ZIP_DEFLATED, text=np.frombuffer(text.encode(), np.uint8))
    with pytest.raises(kido.StateError, match="a snapshot of another format: 'kido world snapshot 7'"):
        kido.WorldSnapshot.load(path)


def test_what_went_wrong_before_is_forgotten() -> None:
    """A step that an adaptive integrator gave up leaves nothing behind in a world that is put back."""
    w = kido.World(integrator=DormandPrince())
    arm = w.add_skeleton(kido.load(kido.models.path("arm7")))
    arm.velocities = np.linspace(-1.0, 1.0, 7)
    w.step(5)
    before = w.snapshot()
    w.step(10)
    after = damage.look(w)
    arm.velocities = np.full(7, 1e200)
    with pytest.raises(kido.StateError):
        w.step()
    w.restore(before)
    w.step(10)
    np.testing.assert_array_equal(damage.look(w), after)


@pytest.mark.slow
@pytest.mark.parametrize("scene", damage.SCENES)
def test_mutations_are_refused_or_harmless(scene: str) -> None:
    """In a process of their own: none crashes it, hangs, raises what is no KidoError, or leaves anything behind."""
    outcomes = damage.campaign("snapshot", scene, 0, MUTATIONS)
    assert len(outcomes) == MUTATIONS
    assert {seed: outcome for seed, outcome in outcomes.items() if damage.is_bad(outcome)} == {}
    assert set(outcomes.values()) == {"refused", "accepted"}
