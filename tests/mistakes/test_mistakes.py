"""What users get wrong, as tables: each mistake is refused by an error that names the thing, and changes nothing.

A row is what a person writes, the class of the error, and a part of its message. Errors are `KidoError`s; but for what
Python itself refuses (`append` to a tuple) and for keywords of calls that take microseconds (a `TypeError` of Python's,
which names them).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import mistakes_in_models
import mistakes_in_motion
import mistakes_in_tools
import numpy as np
import pytest
from mistake_lab import lab, picture

import kido
from kido.attributes import FixedAttributes
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


def _things(names: dict) -> list:
    """Objects of KIDO in a lab, and what hangs on its robot and world."""
    robot, world = names["robot"], names["world"]
    more = [*robot.dofs, robot.state, world.contacts, kido.Configuration.of(robot), world.snapshot()]
    found = [x for x in (*names.values(), *more) if isinstance(x, FixedAttributes)]
    assert len({type(thing) for thing in found}) > 20
    return found


def test_no_object_takes_an_attribute_that_it_lacks_nor_another_method(made: tuple) -> None:
    names, before = made
    for thing in _things(names):
        own = [n for n in dir(type(thing)) if n[:1] != "_" and callable(getattr(type(thing), n))]
        for name in ("misspelt_attribute", *own):
            with pytest.raises(kido.KidoError, match=name):
                setattr(thing, name, 5)
    assert picture(names) == before


def test_arrays_that_attributes_give_refuse_writes_and_lists_are_tuples(made: tuple) -> None:
    arrays = 0
    for thing in _things(made[0]):
        for name in (n for n in dir(type(thing)) if n[:1] != "_" and isinstance(getattr(type(thing), n), property)):
            try:
                value = getattr(thing, name)
            except (kido.KidoError, AttributeError):  # there is none
                continue
            assert not isinstance(value, list), (thing, name)
            if isinstance(value, np.ndarray):
                arrays += 1
                with pytest.raises(kido.ReadOnlyError, match="this array is"):
                    value[...] = 0
    assert arrays > 300


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
