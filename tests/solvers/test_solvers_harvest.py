"""The benchmark of harvested contact problems: what it harvests is what worlds solve, and how it scores."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import contact_problems
from benchmarks.contact_problems import SOLVERS, exact_residual, harvest, measure, rows_of_table, scene_rows
from benchmarks.contact_scenes import tower
from kido.models import build_world
from kido.models.scenes import container_scene
from kido.solvers import CONTACT, Dantzig, DefaultSolver, solve_with


@pytest.fixture(scope="module")
def problems():
    found = harvest("tower", tower([1.0, 100.0, 1.0]), 0.05, 8)
    return found + harvest("bin", build_world(container_scene(8, aside=0.0)), 0.6, 12)


def test_islands_are_problems_of_their_own(problems):
    """Each is one island, with its masses; solved anew, `certify` measures what the solver itself reports."""
    assert len(problems) == 20
    for harvested in problems:
        problem = harvested.problem()
        solve_with(problem, DefaultSolver())
        assert problem.num_islands == 1
        assert (problem.kind[: problem.num_blocks] == CONTACT).all()
        assert (problem.inertia_at[: problem.num_dofs : 6] > 0).all()
        assert exact_residual(problem) == pytest.approx(problem.island_residual[0], rel=1e-3, abs=1e-10)
        assert problem.island_residual[0] < 1e-5


def test_table_and_plot(problems, monkeypatch, tmp_path):
    """Shares lie between 0 and 100 %, failures count as not solved, and the plot is drawn."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(
        contact_problems,
        "SOLVERS",
        {name: SOLVERS[name] for name in ("default", "PGS")} | {"none": Dantzig(max_rows=1)},
    )
    results = measure(problems)
    rows = rows_of_table(results)
    assert [row[0] for row in rows] == ["default", "PGS", "none"]
    assert float(rows[0][3]) == 100.0
    assert rows[2][-1] == "20" and np.isinf(results["none"][:, 0]).all()
    assert [row[0] for row in scene_rows(problems, results)] == ["tower", "bin"]
    contact_problems.draw(results, tmp_path)
    assert (tmp_path / "contact_problems.png").stat().st_size > 10_000


def test_the_harvest_is_kept_in_a_file(monkeypatch, tmp_path):
    monkeypatch.setattr(contact_problems, "scenes", lambda: {"tower": (lambda: tower([1.0, 1.0]), 0.01)})
    first = contact_problems.harvest_all(3, tmp_path)
    monkeypatch.setattr(contact_problems, "scenes", dict)
    again = contact_problems.harvest_all(3, tmp_path)
    assert len(first) == len(again) == 3
    np.testing.assert_array_equal(first[2].arrays["J"], again[2].arrays["J"])
