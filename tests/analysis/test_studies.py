"""Studies: designs, workers of every kind, kills, and indices that are known in closed form."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm
from study_models import DiesOnce, area, ishigami, scaled, slow_area, sometimes

import kido
from kido.analysis import Study, StudyResult

ANGLES = dict.fromkeys("abc", (-np.pi, np.pi))
FACTORS = {"r": (0.0, 1.0)}


def test_ishigami() -> None:
    """S1 and ST in closed form (Ishigami and Homma 1990); 4096 samples leave errors of some 1 / sqrt(4096)."""
    found = Study(ANGLES, ishigami, batched=True).sensitivity(4096)
    assert np.abs(found.first[0] - [0.313905, 0.442411, 0.0]).max() < 0.02
    assert np.abs(found.total[0] - [0.557590, 0.442411, 0.243684]).max() < 0.02
    assert "a: S1 0.3" in str(found)
    with pytest.raises(kido.ModelError, match="power of 2, got 1000"):
        Study(ANGLES, ishigami, batched=True).sensitivity(1000)


def test_sweep_is_all_combinations() -> None:
    study = Study({"r": (1.0, 2.0), "n": [3, 5], "s": norm(0.0, 1.0)}, lambda p: {"v": p["r"] * p["n"], "s": p["s"]})
    found = study.sweep({"r": 3, "s": 1})
    assert found.parameters.tolist() == [[r, n, 0.0] for r in (1.0, 1.5, 2.0) for n in (3.0, 5.0)]
    assert found["v"].tolist() == [r * n for r in (1.0, 1.5, 2.0) for n in (3.0, 5.0)]
    assert found.outputs == ("v", "s")


@pytest.mark.parametrize("sampler", ["random", "latin", "sobol"])
def test_monte_carlo_estimates_a_mean(sampler: str) -> None:
    """Mean of pi r^2 over 0 ... 1 is pi / 3; within four standard errors."""
    found = Study({"r": (0.0, 1.0)}, area, seed=3).monte_carlo(2048, sampler)
    mean, error = found.mean("value")
    assert abs(mean - np.pi / 3.0) < 4.0 * error
    assert abs(found.quantiles("value", 0.5) - np.pi / 4.0) < 0.2
    again = Study({"r": (0.0, 1.0)}, area, seed=3).monte_carlo(2048, sampler, workers=3)
    assert np.array_equal(found.values, again.values)


def test_batches_grow_until_what_is_done_once_is_little() -> None:
    """Of 3,000 samples of which each batch takes 10 ms whatever it has: far fewer batches than samples."""
    sizes = []

    def run(p: dict[str, np.ndarray]) -> np.ndarray:
        time.sleep(0.01)
        sizes.append(len(p["r"]))
        return p["r"]

    found = Study({"r": (0.0, 1.0)}, run, batched=True).monte_carlo(3000, workers=1, batch_seconds=0.005)
    assert np.array_equal(found["value"], found["r"]) and sum(sizes) == 3000
    assert len(sizes) < 100


def test_distribution_is_the_one_given() -> None:
    found = Study({"x": norm(2.0, 0.5)}, lambda p: p["x"]).monte_carlo(4000)
    mean, error = found.mean("value")
    assert abs(mean - 2.0) < 4.0 * error
    assert abs(found["x"].std() - 0.5) < 4.0 * 0.5 / np.sqrt(8000.0)


def test_processes_find_the_same_and_share_the_work() -> None:
    study = Study({"r": (0.0, 1.0)}, slow_area)
    found = study.monte_carlo(300, workers=2, mode="processes", batch_seconds=0.05)
    assert np.allclose(found["area"], np.pi * found["r"] ** 2, rtol=1e-14)
    assert os.getpid() not in found["process"] and 1 <= len(set(found["process"])) <= 2
    with_model = Study({"r": (0.0, 1.0)}, scaled, model=np.arange(4.0)).monte_carlo(20, workers=1, mode="processes")
    assert np.allclose(with_model["value"], 14.0 * with_model["r"])


def test_samples_that_fail_are_told_and_others_go_on() -> None:
    found = Study({"r": (0.0, 1.0)}, sometimes).monte_carlo(200)
    failed = found["r"] > 0.8
    assert sorted(found.errors) == np.flatnonzero(failed).tolist()
    assert all(text.startswith("ValueError: r is 0.") for text in found.errors.values())
    assert np.array_equal(np.isnan(found["value"]), failed)

    def batch(p: dict[str, np.ndarray]) -> np.ndarray:
        if (p["r"] > 0.8).any():
            raise kido.ModelError("too large")  # of the user's own run: kept, as any other
        return p["r"]

    together = Study({"r": (0.0, 1.0)}, batch, batched=True).monte_carlo(200)
    assert sorted(together.errors) == sorted(found.errors)
    assert np.array_equal(together["value"], found["value"], equal_nan=True)


def test_file_frame_and_plot(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    calls: list[tuple[int, int]] = []
    found = Study({"r": (0.0, 1.0)}, sometimes).monte_carlo(
        50, file=path, progress=lambda done, total: calls.append((done, total))
    )
    assert [file.name for file in tmp_path.iterdir()] == ["a.h5"]
    assert calls[0] == (0, 50) and calls[-1] == (50, 50) and calls == sorted(calls)
    again = StudyResult.load(path)
    assert np.array_equal(again.values, found.values, equal_nan=True) and again.errors == found.errors
    frame = found.frame()
    assert list(frame.columns) == ["r", "value"] and len(frame) == 50
    found.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5000
    with pytest.raises(kido.ModelError, match=r"of another study: its samples is 50, expected 60"):
        Study({"r": (0.0, 1.0)}, sometimes).monte_carlo(60, file=path)
    with pytest.raises(kido.ModelError, match=r"of another study: its factors"):
        Study({"r": (0.0, 2.0)}, sometimes).monte_carlo(50, file=path)
    (tmp_path / "b.h5").write_text("no")
    with pytest.raises(kido.FileFormatError, match="expected the HDF5 file of a study"):
        StudyResult.load(tmp_path / "b.h5")


def test_files_of_other_studies_are_refused(tmp_path: Path) -> None:
    """Samples in the middle, code, what it encloses, its model: each is part of what a study is."""
    path, rows = tmp_path / "a.h5", [[0.1], [0.2], [0.9]]

    def made(factor: float, power: bool = False) -> Study:
        if power:
            return Study(FACTORS, lambda model, p: model["k"] * factor ** p["r"], model={"k": 1.0, "s": {"a", "b"}})
        return Study(FACTORS, lambda model, p: model["k"] * factor * p["r"], model={"k": 1.0, "s": {"a", "b"}})

    study = made(2.0)
    found = study.evaluate(rows, file=path)
    assert np.array_equal(study.evaluate(rows, file=path).values, found.values)
    assert np.array_equal(made(2.0).evaluate(rows, file=path).values, found.values)
    others = {
        "values of run": made(3.0),
        "code of run": made(2.0, power=True),
        "model": Study(FACTORS, study.run, model={"k": 5.0, "s": {"a", "b"}}),
        "batched": Study(FACTORS, study.run, model=study.model, batched=True),
    }
    for what, other in others.items():
        with pytest.raises(kido.ModelError, match=rf"of another study: its {what} is"):
            other.evaluate(rows, file=path)
    with pytest.raises(kido.ModelError, match="of another study: its parameters is"):
        study.evaluate([[0.1], [0.7], [0.9]], file=path)


def test_models_are_told_apart_alike_in_each_process() -> None:
    """Texts hash otherwise in each process, and worlds hold sets of bodies."""
    program = """
import kido
from kido.analysis.identity import object_digest
world = kido.World()
world.add_skeleton(kido.load("arm7"))
world.collision_filter.add(*world.skeleton(0).bodies[3:5])
print(object_digest([world, set("abcdefgh")]), object_digest([world.clone(), {"i"}]))
"""
    told = set()
    for seed in "12":
        run = subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True
        )
        told.add(run.stdout)
    first, second = told.pop().split()
    assert not told and first != second and len(first) == 64


def test_what_failed_before_it_was_killed_is_resumed(tmp_path: Path) -> None:
    """The first batch of the journal has no outputs, as all of its samples failed."""
    path = tmp_path / "a.h5"

    def run(p: dict[str, float]) -> dict[str, float]:
        if p["r"] < 0.5:
            raise ValueError("too small")
        if p["r"] > 0.9 and (tmp_path / "stop").exists():
            raise KeyboardInterrupt
        return {"y": p["r"]}

    study, rows = Study({"r": (0.0, 1.0)}, run), [[0.1], [0.2], [0.3], [0.8], [0.95]]
    (tmp_path / "stop").touch()
    with pytest.raises(KeyboardInterrupt):
        study.evaluate(rows, file=path, workers=1, batch_seconds=1e-9)
    assert '"outputs": []' in (tmp_path / "a.h5.journal").read_text()
    (tmp_path / "stop").unlink()
    found = study.evaluate(rows, file=path, workers=1)
    assert sorted(found.errors) == [0, 1, 2] and found["y"][3:].tolist() == [0.8, 0.95]


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from study_models import slow_area
from kido.analysis import Study
Study({{"r": (0.0, 1.0)}}, slow_area).monte_carlo(5000, file={path!r}, workers=2, mode={mode!r}, batch_seconds=0.05)
"""


def killed_and_resumed(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "killed.h5"
    journal = tmp_path / "killed.h5.journal"
    text = PROGRAM.format(folder=str(Path(__file__).parent), path=str(path), mode=mode)
    with subprocess.Popen([sys.executable, "-c", text]) as process:
        for _ in range(3000):  # a loaded machine starts processes slowly
            if journal.exists() and journal.read_bytes().count(b"\n") > 5:
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    assert not path.exists()
    found_before = journal.read_bytes()
    journal.write_bytes(found_before + b'{"first": 4000, "val')  # a line that was being written
    first_process = os.getpid()
    found = Study({"r": (0.0, 1.0)}, slow_area).monte_carlo(5000, file=path, workers=2, batch_seconds=0.05)
    assert np.allclose(found["area"], np.pi * found["r"] ** 2, rtol=1e-14)
    old = int(np.sum(found["process"] != first_process))
    assert 0 < old < 5000  # what was found before is not computed again
    assert not journal.exists() and path.exists()


@pytest.mark.parametrize("mode", ["threads", "processes"])
def test_killed_and_resumed(tmp_path: Path, mode: str) -> None:
    killed_and_resumed(tmp_path, mode)


def test_lost_process_is_told_and_its_samples_computed_again(tmp_path: Path) -> None:
    study = Study({"r": (0.0, 1.0)}, DiesOnce(tmp_path / "mark"))
    with pytest.warns(kido.KidoWarning, match=r"a worker process was lost while .* computed again"):
        found = study.monte_carlo(40, workers=1, mode="processes")
    assert np.array_equal(found["value"], found["r"])


@pytest.mark.slow
def test_local_ray_cluster(tmp_path: Path) -> None:
    """Bound to 127.0.0.1, two processes, one of which dies and is named; what it had is computed again."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    found = Study({"r": (0.0, 1.0)}, slow_area, model=None).monte_carlo(
        400, workers=2, mode="ray", batch_seconds=0.1, file=tmp_path / "ray.h5"
    )
    assert np.allclose(found["area"], np.pi * found["r"] ** 2, rtol=1e-14)
    assert os.getpid() not in found["process"] and len(set(found["process"])) == 2
    import ray  # after what makes it listen at the loopback alone

    assert not ray.is_initialized()  # it was stopped
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    try:  # a cluster that is there is joined, and left running
        assert all(node["NodeManagerAddress"] == "127.0.0.1" for node in ray.nodes())
        with pytest.warns(kido.KidoWarning, match=r"worker process \d+ on .* was lost while .* by another"):
            lost = Study({"r": (0.0, 1.0)}, DiesOnce(tmp_path / "mark")).monte_carlo(20, workers=1, mode="ray")
        assert np.array_equal(lost["value"], lost["r"])
        lock = __import__("threading").Lock()

        def run(p: dict[str, float]) -> float:
            with lock:
                return p["r"]

        with pytest.raises(kido.ModelError, match=r"run '.*run' cannot be sent to Ray's workers: its 'lock', lock"):
            Study({"r": (0.0, 1.0)}, run).monte_carlo(3, workers=1, mode="ray")
        assert ray.is_initialized()
    finally:
        ray.shutdown()


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from kido.cli import main

    file = tmp_path / "disks_of_a_study.py"
    file.write_text(
        "from kido.analysis import Study\n\n\ndef run(p):\n    return {'area': p['r'] ** 2}\n\n\n"
        "study = Study({'r': (0.0, 1.0)}, run)\n"
    )
    try:
        command = ["study", str(file), "--samples", "500", "--workers", "2", "--out", str(tmp_path / "a.h5")]
        assert main(command) == 0
        text = capsys.readouterr().out
        assert "500 samples, 0 failed" in text and "area" in text
        assert len(StudyResult.load(tmp_path / "a.h5")) == 500
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("disks_of_a_study", None)
    assert main(["study", str(tmp_path / "none.py")]) == 1
    assert "expected a Python file that defines a kido.analysis.Study" in capsys.readouterr().err


def test_bad_input() -> None:
    with pytest.raises(kido.ModelError, match="factors: expected ranges"):
        Study({}, area)
    with pytest.raises(kido.ModelError, match="factor 'r': expected lower < upper"):
        Study({"r": (1.0, 0.0)}, area)
    with pytest.raises(kido.ModelError, match="factor 'r': expected"):
        Study({"r": "wide"}, area)
    with pytest.raises(kido.ModelError, match="run: expected a function"):
        Study({"r": (0.0, 1.0)}, 3)  # type: ignore[arg-type]
    study = Study({"r": (0.0, 1.0)}, area)
    with pytest.raises(kido.ModelError, match="samples: expected a whole number above 0, got 0"):
        study.monte_carlo(0)
    with pytest.raises(kido.ModelError, match="mode: expected one of threads, processes, ray, got 'cloud'"):
        study.monte_carlo(3, mode="cloud")
    with pytest.raises(kido.ModelError, match="sampler: expected one of random, latin, sobol"):
        study.monte_carlo(3, "dice")
    with pytest.raises(kido.ModelError, match=r"parameters: expected finite numbers \(samples, 1\)"):
        study.evaluate([[np.nan]])
    for bad in ([["x"]], [[1.0], [1.0, 2.0]]):
        with pytest.raises(kido.ModelError, match=r"parameters: expected finite numbers \(samples, 1\)"):
            study.evaluate(bad)
    found = study.monte_carlo(3)
    for write, name in ((found.save, "a.h5"), (found.plot, "a.png")):
        with pytest.raises(kido.ModelError, match=rf"there is no folder .*nowhere for '{name}'"):
            write(f"nowhere/{name}")
    with pytest.raises(kido.ModelError, match=r"quantiles of 'value': expected shares from 0 to 1, got \[2\]"):
        found.quantiles("value", [2])
    with pytest.raises(kido.ModelError, match="cannot be sent to processes"):
        Study({"r": (0.0, 1.0)}, lambda p: p["r"]).monte_carlo(3, mode="processes")
    for wrong in ("large", None, 1j):
        with pytest.raises(kido.ModelError, match="run: expected numbers, such as"):
            Study({"r": (0.0, 1.0)}, lambda p, wrong=wrong: wrong).monte_carlo(3)
    with pytest.raises(kido.ModelError, match=r"run: expected numbers of \d samples"):  # one number for all of them
        Study({"r": (0.0, 1.0)}, lambda p: p["r"][:1], batched=True).evaluate(np.zeros((9, 1)), workers=1)
    with pytest.raises(kido.ModelError, match="batch_seconds"):
        study.monte_carlo(3, batch_seconds=np.nan)
    with pytest.raises(kido.ModelError, match="file: there is no folder"):
        study.monte_carlo(3, file="no_such_folder/found.h5")
    with pytest.raises(kido.ModelError, match="file: expected a path"):
        study.monte_carlo(3, file=3)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match=r"run: sample .* gives|from sample .* it gives"):
        Study({"r": (0.0, 1.0)}, lambda p: {f"v{p['r'] > 0.5}": 1.0}).monte_carlo(50)
    with pytest.raises(kido.NameLookupError, match="no output or factor 'width'"):
        study.monte_carlo(3)["width"]
