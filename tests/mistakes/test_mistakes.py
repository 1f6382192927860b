"""What users get wrong, as tables: each mistake is refused by an error that names the thing, and changes nothing.

A row is what a person writes, the class of the error, and a part of its message. Errors are `KidoError`s; but for what
Python itself refuses (`append` to a tuple), for keywords of calls that take microseconds (a `TypeError` of Python's,
which names them), and for writes into results that cannot be set (NumPy's `ValueError`: "read-only").
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import mistakes_in_models
import mistakes_in_motion
import mistakes_in_tools
import pytest
from mistake_lab import lab, picture

import kido
from kido.cli import main

TABLES = (mistakes_in_models, mistakes_in_motion, mistakes_in_tools)
ROWS = [row for table in TABLES for row in table.ROWS]
_kept: list = []  # a lab and its picture, as long as nothing changed


@pytest.fixture
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple:
    if not _kept:
        names = lab(tmp_path_factory.mktemp("lab"))
        _kept.append((names, picture(names)))
    return _kept[0]


def test_the_tables_are_large_and_say_each_thing_once() -> None:
    codes = [code for code, _, _ in ROWS]
    assert len(codes) == len(set(codes)) > 500


@pytest.mark.parametrize(("code", "kind", "part"), ROWS, ids=[code for code, _, _ in ROWS])
def test_a_mistake_is_refused_by_name_and_changes_nothing(code: str, kind: type, part: str, made: tuple) -> None:
    names, before = made
    _kept.clear()
    with pytest.raises(kind) as caught:
        exec(code, dict(names))
    assert re.search(part, str(caught.value))
    assert isinstance(caught.value, kido.KidoError) or kind in (AttributeError, TypeError, ValueError)
    assert len(str(caught.value)) < 2000
    assert picture(names) == before
    _kept.append(made)


def test_rows_that_python_or_numpy_answer_are_few() -> None:
    others = [code for code, kind, _ in ROWS if not issubclass(kind, kido.KidoError)]
    assert len(others) < 30


@pytest.mark.parametrize(
    ("line", "part"), mistakes_in_tools.COMMANDS, ids=[row[0] for row in mistakes_in_tools.COMMANDS]
)
def test_a_mistake_in_a_command_ends_it_with_a_message(
    line: str, part: str, tmp_path: Path, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KIDO_QUIET", "1")
    assert main(line.split()) != 0
    told = capfd.readouterr()
    assert part in told.err and "Traceback" not in told.err
    assert os.listdir(tmp_path) == []
