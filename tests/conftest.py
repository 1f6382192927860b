"""What all tests share: where models of other projects lie, and the tests' settings."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # `benchmarks` is run from the repository and is not installed
    sys.path.insert(0, str(ROOT))

MAX_PROCESSES = 8  # each imports all tests, which takes ten seconds and a gigabyte

# The first example may compile kernels, so time per example says nothing; the same examples every time.
settings.register_profile("kido", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kido")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A process for each core where all tests run; none beside this one where some are chosen, or watched."""
    option = config.option
    everything = (ROOT, ROOT / "tests")
    named = any(Path(argument.split("::")[0]).resolve() not in everything for argument in config.args)
    if named or option.keyword or option.markexpr or option.collectonly or option.capture == "no":
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_PROCESSES) if cores > 1 else 0


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile all kernels before tests are shared out among processes."""
    if session.config.getoption("numprocesses", None) and not session.config.option.collectonly:
        compile_all(session.config)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compile all kernels before a run of most tests, or of tests that ask for it."""
    asked = any("warm_kernels" in getattr(item, "fixturenames", ()) for item in session.items)
    distributed = hasattr(session.config, "workerinput")
    if (asked or len(session.items) > 1000) and not distributed and not session.config.option.collectonly:
        compile_all(session.config)


def compile_all(config: pytest.Config) -> None:
    """Compile in parallel what the cache does not hold, outside of any test's time: no test then waits for dozens.

    By a process of its own, which knows the kernels of the package and not those of tests.
    """
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    command = [sys.executable, "-m", "kido", "warmup"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if reporter is not None:
                reporter.write_line(line.rstrip())
    assert process.returncode == 0


@pytest.fixture(scope="session")
def dart_data() -> Path:
    """Folder with DART's own models: ``KIDO_DART_DATA``, or ``../shared/data/dart`` beside the repository."""
    given = os.environ.get("KIDO_DART_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data" / "dart"
    if not folder.is_dir():
        pytest.skip(f"DART's models are not on this machine (no folder {folder}; set KIDO_DART_DATA)")
    return folder


@pytest.fixture(scope="session")
def example_robots() -> Path:
    """Folder ``robots`` of the package example-robot-data (it has no Python module, only files)."""
    folder = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
    if not folder.is_dir():
        pytest.skip(f"the package example-robot-data is not installed (no folder {folder})")
    return folder


@pytest.fixture(scope="session")
def warm_kernels() -> None:
    """For tests whose programs have a time limit: `pytest_collection_finish` has compiled all kernels."""
