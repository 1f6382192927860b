"""Random changes of inputs: of bytes and texts, of the elements of XML."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from typing import Any

import lxml.etree as etree
import numpy as np

Mutation = Callable[[bytes, np.random.Generator], bytes]

NUMBER = re.compile(rb"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
WORD = re.compile(rb"[A-Za-z_][\w.:/-]*")
LINE = re.compile(rb"[^\n]*\n")
NUMBERS = (
    *(b"0", b"-0", b"-1", b"1", b"2", b"3", b"1e-320", b"1e-30", b"1e30", b"1e160", b"1e300", b"1.7e308", b"-1e308"),
    *(b"1e400", b"nan", b"inf", b"-inf", b"1e", b"0x10", b"1_0", b"1,5", b"1.5.", b"", b"007", b"4294967296", b"1 2"),
    *(b"9223372036854775807", b"9223372036854775808", b"99999999999999999999", b"9" * 5000, b"1" + b"0" * 400),
    *("\u0661".encode(), b"true", b"None"),
)
PATHS = (
    *(b"/etc/passwd", b"../../etc/passwd", b"file:///etc/passwd", b"package://../../../etc/passwd", b"model://../etc"),
    *(b"http://example.invalid/a.stl", b"https://example.invalid/a.sdf", b"ftp://example.invalid/a", b"/dev/zero"),
    *(
        b"\\\\host\\share\\a.stl",
        b"/dev/random",
        b"/proc/self/mem",
        b".",
        b"..",
        b"%00",
        b"~/.bashrc",
        b"file:",
        b"://",
    ),
    *(b"file://localhost/etc/hosts", b"package://a/../../../../etc/passwd.stl", b"$HOME/.profile", b"con", b"a" * 5000),
    *(b"m.sdf", b"./m.sdf", b"w.sdf", b"p/model.sdf", b"m.png", b"h.png", b"m.stl", b"m.urdf"),
)
TEXTS = (
    *(b"", b" ", b"\0", b"\xff", b"\xef\xbb\xbf", b"<", b">", b"</", b"/>", b"&", b"&lt;", b"&#0;", b'"', b"'", b"#"),
    *(b"]]>", b"<!--", b"<![CDATA[", b"<?x?>", b"\r\n", b"\t", b"\\", b"../", b"..", b"/", b"~", b"{", b"::", b"%s"),
    *(b"world", b"true", b"\xe2\x98\x83", b"\xed\xa0\x80", b"A" * 3000, b"0 0 0", b"1 2 3 4 5 6 7"),
)
NAMES = (b"world", b"__model__", b"a::b", b"a::b::c", b"")
WORDS_32 = (0, 1, 2, 3, 0x7F800000, 0x7FC00000, 0x7F7FFFFF, 0xFFFFFFFF, 0x80000000, 0x00000001)
DOCTYPES = (
    "<!DOCTYPE r [" + "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10 if k else "x" * 100}">' for k in range(9)) + "]>",
    '<!DOCTYPE r SYSTEM "file:///etc/passwd" [<!ENTITY e8 SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE r [<!ENTITY % p SYSTEM "http://example.invalid/x.dtd"> %p;]>',
)


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """The input after one to four random changes."""
    kinds = XML if data.lstrip()[:1] == b"<" else ANY
    for _ in range(int(rng.choice([1, 1, 1, 2, 2, 3, 4]))):
        data = one(kinds, rng)(data, rng)
    return data


def one(items: Sequence[Any], rng: np.random.Generator) -> Any:
    """One of them."""
    return items[int(rng.integers(len(items)))]


# -- bytes -------------------------------------------------------------------------------------------------


def _span(data: bytes, rng: np.random.Generator, most: int = 200) -> tuple[int, int]:
    start = int(rng.integers(len(data) + 1))
    return start, min(len(data), start + int(rng.integers(1, most)))


def flip_bit(data: bytes, rng: np.random.Generator) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    changed[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def set_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _span(data, rng, 9)
    return data[:start] + rng.integers(0, 256, stop - start, dtype=np.uint8).tobytes() + data[stop:]


def set_word(data: bytes, rng: np.random.Generator) -> bytes:
    """Four bytes that mean something as a count or as a float, in either order."""
    start = int(rng.integers(max(1, len(data) - 3)))
    return data[:start] + int(one(WORDS_32, rng)).to_bytes(4, one(("little", "big"), rng)) + data[start + 4 :]


def cut_end(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def drop_span(data: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + data[stop:]


def repeat_span(data: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _span(data, rng)
    return data[:stop] + data[start:stop] * int(one((1, 1, 2, 50), rng)) + data[stop:]


def move_span(data: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _span(data, rng)
    rest, at = data[:start] + data[stop:], int(rng.integers(len(data) - (stop - start) + 1))
    return rest[:at] + data[start:stop] + rest[at:]


def insert_text(data: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(len(data) + 1))
    return data[:at] + one(TEXTS, rng) + data[at:]


# -- texts -------------------------------------------------------------------------------------------------


def _replace(data: bytes, rng: np.random.Generator, what: re.Pattern[bytes], by: Callable[[list[Any]], bytes]) -> bytes:
    found = list(what.finditer(data))
    if not found:
        return data
    match = one(found, rng)
    return data[: match.start()] + by(found) + data[match.end() :]


def set_number(data: bytes, rng: np.random.Generator) -> bytes:
    return _replace(data, rng, NUMBER, lambda _: one(NUMBERS, rng))


def swap_word(data: bytes, rng: np.random.Generator) -> bytes:
    """A word by another one of the same input."""
    return _replace(data, rng, WORD, lambda found: one(found, rng).group())


def set_text(data: bytes, rng: np.random.Generator) -> bytes:
    return _replace(data, rng, WORD, lambda _: one(one((TEXTS, PATHS, NAMES), rng), rng))


def swap_line(data: bytes, rng: np.random.Generator) -> bytes:
    return _replace(data, rng, LINE, lambda found: one((b"", one(found, rng).group()), rng))


# -- XML --------------------------------------------------------------------------------------


def change_elements(data: bytes, rng: np.random.Generator) -> bytes:
    """Drop, repeat, move, nest or shuffle elements of well-formed XML, change their names, attributes and texts."""
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, remove_comments=True))
    except (etree.XMLSyntaxError, ValueError):
        return flip_bit(data, rng)
    elements = [e for e in root.iter() if isinstance(e.tag, str)]
    element, other = one(elements, rng), one(elements, rng)
    parent, names = element.getparent(), [e.get("name").encode() for e in elements if e.get("name")] or [b"a"]
    doctype = b""
    match int(rng.integers(12)):
        case 0 if parent is not None:
            parent.remove(element)
        case 1 if parent is not None:
            parent.insert(int(rng.integers(len(parent) + 1)), copy.deepcopy(element))
        case 2 if parent is not None and element not in other.iterancestors() and element is not other:
            other.append(element)
        case 3:
            other.append(copy.deepcopy(element))
        case 4:
            children = list(element)
            element[:] = [children[k] for k in rng.permutation(len(children))]
        case 5:
            for _ in range(int(one((10, 300, 2000), rng))):
                element = etree.SubElement(element, element.tag, dict(element.attrib))
        case 6:
            element.tag = other.tag
        case 7 if element.attrib:
            del element.attrib[one(list(element.attrib), rng)]
        case 8:
            doctype, element.text = one(DOCTYPES, rng).encode(), "ENTITY"
        case 9:
            etree.SubElement(etree.SubElement(element, "include"), "uri").text = one(PATHS, rng).decode()
        case _:
            text = one(one((names, NAMES, PATHS, NUMBERS), rng), rng).decode()
            if element.attrib and rng.integers(2):
                element.set(one(list(element.attrib), rng), text)
            else:
                element.text = text
    return doctype + etree.tostring(root).replace(b"ENTITY", b"&e8;" if doctype else b"")


BYTES: tuple[Mutation, ...] = (
    *(flip_bit, set_bytes, set_word, cut_end, drop_span, repeat_span, move_span, insert_text),
)
ANY: tuple[Mutation, ...] = (*BYTES, *(set_number,) * 4, swap_word, swap_word, set_text, swap_line, swap_line)
XML: tuple[Mutation, ...] = (*ANY, *(change_elements,) * 8)
