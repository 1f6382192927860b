"""What all tests share: where models of other projects lie, and the tests' settings."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # `benchmarks` is run from the repository and is not installed
    sys.path.insert(0, str(ROOT))

# The first example may compile kernels, so time per example says nothing; the same examples every time.
settings.register_profile("kido", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kido")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compile all kernels at once, in parallel, before a run of most tests: no test then waits for dozens."""
    if len(session.items) > 1000 and not session.config.option.collectonly:
        from kido.jit import warmup

        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        warmup(report=None if reporter is None else reporter.write_line)


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
    """All kernels in the cache, for tests whose programs have a time limit."""
    from kido.jit import warmup

    warmup()
