"""XML helpers: values come out checked, and errors name file, line and reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kido.errors import FileFormatError
from kido.io.xml import Node, parse

TEXT = """<a name="top" x="1.5" v="1 2 3" n="nan" i="inf" e="" w="1_0">
<b>2</b>
<c>1 <!-- a comment --> 2 3</c>
<yes>TRUE</yes><no>0</no>
<d/><d/>
</a>"""


@pytest.fixture
def root() -> Node:
    return parse(TEXT)


def test_values(root: Node) -> None:
    assert (root.tag, root.line, root.child_text("b")) == ("a", 1, "2")
    assert root.number("x") == 1.5
    assert root.number("missing", 7.0) == 7.0
    assert root.number("i", allow_infinite=True) == np.inf
    np.testing.assert_array_equal(root.vector("v", 3), [1, 2, 3])
    np.testing.assert_array_equal(root.vector("missing", 3, (4, 5, 6)), [4, 5, 6])
    np.testing.assert_array_equal(root.child_vector("c", (2, 3)), [1, 2, 3])
    np.testing.assert_array_equal(root.child_vector("c", None), [1, 2, 3])
    assert root.child_number("b") == 2.0
    assert root.child_boolean("yes", False) is True
    assert root.child_boolean("no", True) is False
    assert root.child_boolean("missing", True) is True
    assert root.child("missing") is None
    assert [child.line for child in root.children("d")] == [5, 5]


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda n: n.number("n"), "1: the attribute 'n' of <a name=\"top\"> is 'nan'; expected a finite"),
        (lambda n: n.number("i"), "expected a finite number"),
        (lambda n: n.number("e"), "is ''; expected a number"),
        (lambda n: n.number("w"), "is '1_0'; expected a number"),
        (lambda n: n.number("q"), "lacks the required attribute 'q'"),
        (lambda n: n.required_attribute("e"), "the attribute 'e' of <a name=\"top\"> is empty"),
        (lambda n: n.vector("v", (1, 2)), "is '1 2 3': 3 values; expected 1 or 2"),
        (lambda n: n.choice("x", ("a", "b")), "is '1.5'; expected one of a, b"),
        (lambda n: n.require("q"), "lacks the required child <q> (it holds <b>, <c>, <d>, <no>, <yes>)"),
        (lambda n: n.require("b").require("q"), "<text>:2: <b> lacks the required child <q> (it has no c"),
        (lambda n: n.child("d"), "<text>:5: <a name=\"top\"> has 2 <d> children, the first in line 5"),
        (lambda n: n.child_number("c"), "<text>:3: the text of <c> is '1 2 3'; expected a number"),
        (lambda n: n.child_boolean("b", True), "expected true, false, 1 or 0"),
    ],
)  # fmt: skip
def test_errors(root: Node, read, message: str) -> None:
    root.remarks.strict = True
    with pytest.raises(FileFormatError) as caught:
        read(root)
    assert message in str(caught.value)


def test_encodings_and_leading_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes('\n\n<?xml version="1.0" encoding="iso-8859-1"?>\n<a name="é"/>'.encode("iso-8859-1"))
    root = parse(path)
    assert (root.attribute("name"), root.line) == ("é", 4)
    path.write_bytes('<?xml version="1.0" encoding="utf-16"?><a name="é"/>'.encode("utf-16"))
    assert parse(path).attribute("name") == "é"
    assert parse('<?xml version="1.0" encoding="iso-8859-1"?><a name="é"/>').attribute("name") == "é"


def test_other_namespaces_are_invisible() -> None:
    root = parse('<a xmlns:g="urn:g"><g:b/><c/><?pi x?></a>')
    assert [child.tag for child in root] == ["c"]
    root = parse('<a xmlns="urn:a"><c/></a>')
    assert (root.tag, [child.tag for child in root]) == ("a", ["c"])


def test_nothing_is_fetched_or_expanded(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    for entity in (f'SYSTEM "file://{secret}"', '"text"', 'SYSTEM "http://127.0.0.1:9/x"'):
        with pytest.raises(FileFormatError, match="declares the entity 'x'; entities are refused"):
            parse(f"<!DOCTYPE a [<!ENTITY x {entity}>]>\n<a>&x;</a>")
    with pytest.raises(FileFormatError, match="larger than 0 MiB; refused"):
        parse(secret, max_bytes=3)
