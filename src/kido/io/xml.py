"""XML files: read safely, with errors that name the file, the line and the reason; written with all digits.

`parse` turns a file or a text into a tree of `Node`: thin wrappers over lxml elements whose
accessors check what they return. Nothing is ever fetched, no entity is expanded (a file that declares
entities is refused), and every failure is a `FileFormatError`. `document` and `add` make elements, `number` and
`vector` their texts, which are read back exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import lxml.etree as etree
import numpy as np

from kido.errors import FileFormatError, KidoError, shortened
from kido.io.text import MAX_BYTES, read_bytes

__all__ = ["Element", "Node", "Remarks", "add", "document", "is_text", "number", "parse", "to_text", "vector"]

Element: TypeAlias = Any  # an lxml element; lxml comes without types

TEXT_NAME = "<text>"

FORGIVEN_SYNTAX = {  # and how it is taken
    etree.ErrorTypes.ERR_UNKNOWN_VERSION: "read as version 1.0",
    etree.ErrorTypes.ERR_DOCUMENT_END: "what follows the root element is left out",
}

_T = TypeVar("_T")


class Remarks(list[str]):
    """What a reader leaves out or takes otherwise than written, in words; each text once.

    Args:
        strict: refuse what could be taken otherwise than written.
    """

    def __init__(self, *, strict: bool = False) -> None:
        super().__init__()
        self.strict = strict

    def once(self, text: str) -> None:
        """Add a text."""
        text = shortened(text)
        if text not in self:
            self.append(text)


class Node:
    """An XML element that knows the file it comes from, and the remarks on that file.

    Attributes and children that a caller does not ask for are tolerated. Names of attributes and children are
    given without namespace; elements in a namespace other than the root's are invisible to `child` and
    `children`.
    """

    __slots__ = ("element", "path", "remarks")

    def __init__(self, element: Element, path: str, remarks: Remarks) -> None:
        self.element = element
        self.path = path
        self.remarks = remarks

    def __repr__(self) -> str:
        return f"<Node {self.tag!r} at {self.path}:{self.line}>"

    # -- what it is ----------------------------------------------------------------------------------------

    @property
    def tag(self) -> str:
        """Name of the element, without namespace."""
        return _local_name(self.element)

    @property
    def line(self) -> int:
        """Line of the element's start tag, counted from 1."""
        return int(self.element.sourceline or 0)

    @property
    def text(self) -> str:
        """Text directly inside of the element (comments left out), stripped of surrounding space."""
        parts = [self.element.text or ""]
        parts.extend(child.tail or "" for child in self.element if not isinstance(child.tag, str))
        return " ".join(" ".join(parts).split())

    def describe(self) -> str:
        """The element as messages name it: ``<tag name="...">``."""
        name = self.element.get("name")
        return f'<{self.tag} name="{name}">' if name is not None else f"<{self.tag}>"

    def error(self, reason: str) -> FileFormatError:
        """An exception (to be raised by the caller) about this element."""
        return FileFormatError(self.path, self.line, reason)

    def remark(self, text: str) -> None:
        """Remark on this element: path, line, text."""
        self.remarks.once(f"{self.path}:{self.line}: {text}")

    def forgive(self, reason: str, instead: str) -> None:
        """Remark on what is wrong in this element, and how it is taken; raises FileFormatError in strict reading."""
        if self.remarks.strict:
            raise self.error(reason)
        self.remark(f"{reason}; {instead}")

    # -- children ------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Node]:
        namespace = _namespace(self.element)
        for child in self.element:
            if isinstance(child.tag, str) and _namespace(child) in (None, namespace):
                yield Node(child, self.path, self.remarks)

    def children(self, *tags: str) -> list[Node]:
        """Children of these names in document order (all children without names)."""
        return [child for child in self if not tags or child.tag in tags]

    def child(self, tag: str) -> Node | None:
        """The only child of this name, or None. Others that are not equal to it are an error."""
        found = self.children(tag)
        if len(found) > 1:
            reason = (
                f"{self.describe()} has {len(found)} <{tag}> children, the first in line {found[0].line}; "
                f"expected at most one"
            )
            if len({_content(node.element) for node in found}) > 1:
                raise found[1].error(reason)
            found[1].forgive(reason, "they are equal")
        return found[0] if found else None

    def first(self, tag: str) -> Node | None:
        """The first child of this name, or None; others are forgiven."""
        found = self.children(tag)
        if len(found) > 1:
            found[1].forgive(f"{self.describe()} has {len(found)} <{tag}> children; expected one", "the first is taken")
        return found[0] if found else None

    def require(self, tag: str) -> Node:
        """The only child of this name; an error if there is none."""
        found = self.child(tag)
        if found is None:
            present = sorted({child.tag for child in self})
            inside = f"it holds {', '.join(f'<{name}>' for name in present)}" if present else "it has no children"
            raise self.error(f"{self.describe()} lacks the required child <{tag}> ({inside})")
        return found

    # -- attributes ----------------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """True if the attribute is written, even if empty."""
        return self.element.get(name) is not None

    def attribute(self, name: str, default: _T = None) -> str | _T:
        """Value of an attribute, stripped, or `default` if it is not written."""
        value = self.element.get(name)
        return default if value is None else value.strip()

    def required_attribute(self, name: str) -> str:
        """Value of an attribute that has to be written and must not be empty."""
        value = self.element.get(name)
        if value is None:
            raise self.error(f"{self.describe()} lacks the required attribute '{name}'")
        if not value.strip():
            raise self.error(f"the attribute '{name}' of {self.describe()} is empty")
        return value.strip()

    def number(self, name: str, default: float | None = None, *, allow_infinite: bool = False) -> float:
        """A number from an attribute; `default` (None: an error) if it is not written.

        NaN is always refused.
        """
        value = self.element.get(name)
        if value is None:
            if default is None:
                raise self.error(f"{self.describe()} lacks the required attribute '{name}'")
            return default
        return self._number(value, f"the attribute '{name}' of {self.describe()}", allow_infinite)

    def vector(
        self, name: str, size: int | Sequence[int], default: Iterable[float] | None = None, *, surplus: bool = False
    ) -> np.ndarray:
        """Numbers separated by space from an attribute.

        `size` is the expected count, or the accepted counts; with `surplus`, more than that are forgiven. `default`
        (None: an error) is returned as an array if the attribute is not written.
        """
        value = self.element.get(name)
        if value is None:
            if default is None:
                raise self.error(f"{self.describe()} lacks the required attribute '{name}'")
            return np.array(list(default), dtype=float)
        return self._vector(value, size, f"the attribute '{name}' of {self.describe()}", surplus)

    def choice(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        """An attribute that has to be one of `choices`; `default` (None: an error) if it is not written."""
        if default is not None and not self.has(name):
            return default
        value = self.required_attribute(name)
        if value not in choices:
            listed = ", ".join(choices)
            raise self.error(f"the attribute '{name}' of {self.describe()} is '{value}'; expected one of {listed}")
        return value

    # -- text content --------------------------------------------------------------------------------------

    def text_number(self, *, allow_infinite: bool = False) -> float:
        """The text of the element as a number."""
        return self._number(self.text, f"the text of {self.describe()}", allow_infinite)

    def text_boolean(self) -> bool:
        """The text of the element as a truth value: true, false, 1 or 0."""
        value = self.text.lower()
        if value in ("true", "1"):
            return True
        if value in ("false", "0"):
            return False
        raise self.error(f"the text of {self.describe()} is '{_short(self.text)}'; expected true, false, 1 or 0")

    def text_vector(self, size: int | Sequence[int] | None, *, surplus: bool = False) -> np.ndarray:
        """The text of the element as numbers; `size` and `surplus` as in `vector`, None for any count."""
        return self._vector(self.text, size, f"the text of {self.describe()}", surplus)

    # -- children that hold one value ----------------------------------------------------------------------

    def child_text(self, tag: str, default: _T = None) -> str | _T:
        """Text of the child of this name, or `default` if there is none."""
        node = self.child(tag)
        return default if node is None else node.text

    def child_number(self, tag: str, default: float | None = None, *, allow_infinite: bool = False) -> float:
        """Number in the child of this name; `default` (None: an error) if there is none."""
        if default is None:
            return self.require(tag).text_number(allow_infinite=allow_infinite)
        node = self.child(tag)
        return default if node is None else node.text_number(allow_infinite=allow_infinite)

    def child_length(self, tag: str) -> float:
        """Number above zero in the child of this name."""
        value = self.child_number(tag)
        if value <= 0.0:
            raise self.require(tag).error(f"<{tag}> of <{self.tag}> is {value:g}; expected a length greater than 0")
        return value

    def child_boolean(self, tag: str, default: bool) -> bool:
        """Truth value in the child of this name; `default` if there is none."""
        node = self.child(tag)
        return default if node is None else node.text_boolean()

    def child_vector(
        self, tag: str, size: int | Sequence[int] | None, default: Iterable[float] | None = None
    ) -> np.ndarray:
        """Numbers in the child of this name; `default` (None: an error) if there is none."""
        if default is None:
            return self.require(tag).text_vector(size)
        node = self.child(tag)
        return np.array(list(default), dtype=float) if node is None else node.text_vector(size)

    # -- checks --------------------------------------------------------------------------------------------

    def _number(self, text: str, what: str, allow_infinite: bool) -> float:
        try:
            if "_" in text:
                raise ValueError
            value = float(text)
        except ValueError:
            raise self.error(f"{what} is '{_short(text)}'; expected a number") from None
        if math.isnan(value) or (math.isinf(value) and not allow_infinite):
            raise self.error(f"{what} is '{_short(text)}'; expected a finite number")
        return value

    def _vector(self, text: str, size: int | Sequence[int] | None, what: str, surplus: bool) -> np.ndarray:
        words = text.split()
        if any(word.endswith(",") for word in words[:-1]):
            self.forgive(f"{what} is '{_short(text)}'; expected numbers separated by space", "the commas are left out")
            words = [word.removesuffix(",") for word in words]
        sizes = () if size is None else (size,) if isinstance(size, int) else tuple(size)
        if sizes and len(words) not in sizes:
            expected = " or ".join(str(n) for n in sizes)
            reason = f"{what} is '{_short(text)}': {len(words)} values; expected {expected}"
            if not surplus or len(words) < max(sizes):
                raise self.error(reason)
            self.forgive(reason, f"the first {max(sizes)} are taken")
            words = words[: max(sizes)]
        return np.array([self._number(word, what, False) for word in words], dtype=float)


def parse(
    source: str | Path, name: str | None = None, *, max_bytes: int = MAX_BYTES, remarks: Remarks | None = None
) -> Node:
    """Parse an XML file, or a text that starts with ``<``; returns the root element.

    `name` replaces the path in messages (for a text it defaults to ``<text>``). Files above `max_bytes` are
    refused. `remarks` are those of the file that includes this one, or say that the reading is strict; else text after
    the root element and versions of XML that do not exist are forgiven.

    Raises FileFormatError if the file cannot be read, is not well-formed or declares entities.
    """
    remarks = Remarks() if remarks is None else remarks
    if is_text(source):
        try:
            data = str(source).encode("utf-8")
        except UnicodeEncodeError as error:
            reason = f"the text cannot be encoded: {error.reason} (character {error.start})"
            raise FileFormatError(name or TEXT_NAME, None, reason) from None
        return _parse_bytes(data, name or TEXT_NAME, remarks, encoding="utf-8")
    path = Path(source)
    label = name or str(path)
    data = read_bytes(path, max_bytes, label)
    return _parse_bytes(data, label, remarks, huge=max_bytes > MAX_BYTES)


def is_text(source: str | Path) -> bool:
    """True if `source` is XML text rather than the path of a file."""
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")


def _parse_bytes(data: bytes, name: str, remarks: Remarks, encoding: str | None = None, huge: bool = False) -> Node:
    data, skipped = _skip_leading_lines(data)
    if not data.strip():
        raise FileFormatError(name, 1, "the file is empty; expected an XML document")
    options = {
        "encoding": encoding,
        "resolve_entities": False,
        "no_network": True,
        "load_dtd": False,
        "dtd_validation": False,
        "attribute_defaults": False,
        "huge_tree": huge,
        "remove_comments": True,
        "remove_pis": True,
    }
    forgiven: list[Any] = []
    try:
        try:
            root = etree.fromstring(data, etree.XMLParser(**options))
        except etree.XMLSyntaxError:
            if remarks.strict:
                raise
            parser = etree.XMLParser(recover=True, **options)
            root = etree.fromstring(data, parser)
            forgiven = list(parser.error_log)
            if root is None or any(entry.type not in FORGIVEN_SYNTAX for entry in forgiven):
                raise
    except etree.XMLSyntaxError as error:
        line = (error.lineno or 1) + skipped
        raise FileFormatError(name, line, f"not well-formed XML: {_syntax_reason(error)}") from None
    except (ValueError, LookupError) as error:
        raise FileFormatError(name, 1, f"not well-formed XML: {error}") from None
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None:
        entity = next(iter(dtd.iterentities()), None)
        if entity is not None:
            raise FileFormatError(
                name, 1, f"the document type declares the entity '{entity.name}'; entities are refused"
            )
    if skipped:
        for element in root.iter():
            element.sourceline = (element.sourceline or 0) + skipped
    for entry in forgiven:
        remarks.once(f"{name}:{entry.line + skipped}: {entry.message.strip()}; {FORGIVEN_SYNTAX[entry.type]}")
    return Node(root, name, remarks)


def _skip_leading_lines(data: bytes) -> tuple[bytes, int]:
    """Drop space before the XML declaration, as many tools do; returns the rest and the lines dropped."""
    rest = data.lstrip(b" \t\r\n")
    dropped = data[: len(data) - len(rest)]
    return rest, dropped.count(b"\n")


def _syntax_reason(error: etree.XMLSyntaxError) -> str:
    reason = str(error.msg or "syntax error")
    return reason.split(", line ")[0].strip()


def _local_name(element: Element) -> str:
    tag = str(element.tag)
    return tag.rsplit("}", 1)[-1]


def _content(element: Element) -> bytes:
    """The element and all it holds in canonical form."""
    return etree.tostring(element, method="c14n", with_tail=False)


def _namespace(element: Element) -> str | None:
    tag = str(element.tag)
    return tag[1:].split("}", 1)[0] if tag.startswith("{") else None


def _short(text: str, limit: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


# -- writing ---------------------------------------------------------------------------------------------


def number(value: float) -> str:
    """A number with all its digits."""
    return repr(float(value) + 0.0)


def vector(values: Iterable[Any]) -> str:
    """Numbers separated by space."""
    return " ".join(number(value) for value in values)


def add(parent: Element, tag: str, text: str | None = None, **attributes: str) -> Element:
    """A new child element."""
    try:
        child = etree.SubElement(parent, tag, attributes)
        child.text = text
    except ValueError as error:
        raise KidoError(f"<{tag}> {attributes or text}: {error}") from None
    return child


def document(tag: str, **attributes: str) -> Element:
    """A new root element."""
    try:
        return etree.Element(tag, attributes)
    except ValueError as error:
        raise KidoError(f"<{tag}> {attributes}: {error}") from None


def to_text(root: Element) -> str:
    """The document as indented XML."""
    return etree.tostring(root, pretty_print=True, xml_declaration=True, encoding="utf-8").decode("utf-8")
