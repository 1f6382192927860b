"""`kido demo`: lists, refuses, runs, writes pages."""

from __future__ import annotations

import pytest

from kido import demos
from kido.cli import main


def test_without_a_name_it_lists_them(capfd):
    assert main(["demo"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line][: len(demos.names())] == demos.names()
    for name in demos.names():
        assert any(line.startswith(name) and demos.description(name).partition("\n")[0] in line for line in lines)
    assert str(demos.path("chain").parent) in lines[-1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["boxs"], 1, "kido: error: no demo 'boxs'"),
        (["boxes", "--duration", "-1"], 2, "kido: error: --duration -1: expected seconds, not below 0"),
        (["boxes", "--duration", "nan"], 2, "kido: error: --duration nan"),
        (["boxes", "--html", "page.txt"], 2, "--html page.txt: expected a name that ends in .html"),
        (["boxes", "--film", "film.txt"], 2, "--film film.txt: expected a name that ends in .mp4"),
        (["boxes", "--port", "70000"], 2, "--port 70000: expected 0 to 65535"),
        (["boxes", "--view", "--html", "page.html"], 2, "--view: opens the viewer"),
        (["boxes", "--duration", "1", "--press", "?"], 1, "kido: error: no key of the demo boxes '?'"),
        (["--duration", "1"], 2, "--duration: name a demo: atlas_puppet, "),
        (["--skeleton", "a.skel"], 2, "--skeleton: name a demo: atlas_puppet, "),
        (["hand", "--motion", "gone.dof"], 1, "kido: error: gone.dof: no such file"),
        (["boxes", "--motion", "gone.dof"], 1, "kido: error: demo 'boxes': shows no such models of yours"),
    ],
)
def test_wrong_use_is_refused_with_the_valid_choices(arguments, code, message, capfd):
    assert main(["demo", *arguments]) == code
    assert message in capfd.readouterr().err


def test_a_wrong_name_or_key_lists_the_right_ones(capfd):
    main(["demo", "boxs"])
    error = capfd.readouterr().err
    assert all(name in error for name in demos.names())
    main(["demo", "boxes", "--duration", "1", "--press", "7"])
    error = capfd.readouterr().err
    assert all(key in error for key in "12LB")


def test_it_runs_for_some_seconds_and_tells_what_it_measures(capfd):
    assert main(["demo", "boxes", "--seconds", "0.5", "--press", "1"]) == 0
    out = capfd.readouterr().out
    lines = dict(line.split("  ", 1) for line in out.splitlines())
    assert float(lines["frames baked"]) == 30
    assert lines["speed"].endswith(" times real time")
    assert lines["program"].strip() == str(demos.path("boxes"))
    assert main(["demo", "boxes", "--duration", "0.1", "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["boxes", "ik"])  # a world, and a skeleton
def test_it_writes_a_page(name, tmp_path, capfd):
    pytest.importorskip("viser", reason="the extra 'viewer' is not installed")
    page = tmp_path / f"{name}.html"
    assert main(["demo", name, "--duration", "0.2", "--export", str(page)]) == 0
    assert page.stat().st_size > 100_000
    assert f"page         {page}" in capfd.readouterr().out


def test_help_tells_of_it(capfd):
    assert main(["--help"]) == 0
    assert "• demo" in capfd.readouterr().out
