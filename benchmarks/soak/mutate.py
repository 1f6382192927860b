"""Mutations of files: bytes, and the structure of XML and of JSON in archives."""

# ruff: noqa: E501  (lines of files)
from __future__ import annotations

import copy
import io
import json
import re
import zipfile
from random import Random

import numpy as np
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

NUMBERS = (
    "nan", "-nan", "inf", "-inf", "0", "-0.0", "-1", "1e308", "-1e308", "1e-320", "1e999", "4294967296", "0x10", "1_0",
    "", "1 2", "1,5", "١", "9" * 400, "true", "None",
)  # fmt: skip
PATHS = (
    "../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "package://../../../etc/passwd", "model://../etc",
    "http://example.invalid/a.stl", "https://example.invalid/a.sdf", "ftp://example.invalid/a", "\\\\host\\share\\a.stl",
    "/dev/zero", "/dev/random", "/proc/self/mem", ".", "..", "%00", "a" * 5000, "~/.bashrc", "file://localhost/etc/hosts",
    "package://a/../../../../../../etc/passwd.stl", "$HOME/.profile", "/etc/passwd.stl", "con", "file:", "://", "mesh.png",
)  # fmt: skip
BOMB = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10 if k else "x" * 100}">' for k in range(9))
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")


def mutate_bytes(data: bytes, random: Random) -> bytes:
    """Flip, cut, repeat, drop or swap some bytes."""
    result = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 16, 64))):
        if not result:
            break
        at, size = random.randrange(len(result)), random.choice((1, 2, 4, 8, 64, 1024))
        match random.randrange(7):
            case 0:
                result[at] = random.randrange(256)
            case 1:
                result[at] ^= 1 << random.randrange(8)
            case 2 if random.random() < 0.3:
                del result[at:]
            case 3:
                del result[at : at + size]
            case 4:
                result[at:at] = result[at : at + size] * random.choice((1, 2, 50))
            case 5:
                result[at : at + 4] = random.choice(
                    (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\0\0\0\x80")
                )
            case _:
                other = random.randrange(len(result))
                result[at : at + size], result[other : other + size] = (
                    result[other : other + size],
                    result[at : at + size],
                )
    return bytes(result)


def _elements(root: etree._Element) -> list[etree._Element]:
    return [e for e in root.iter() if isinstance(e.tag, str)]


def _swap_number(text: str, random: Random) -> str:
    found = list(NUMBER.finditer(text))
    if not found:
        return random.choice((text + " x", random.choice(PATHS), ""))
    match = random.choice(found)
    return text[: match.start()] + random.choice(NUMBERS) + text[match.end() :]


def mutate_xml(data: bytes, random: Random) -> bytes:
    """Change elements, attributes, numbers, names and paths of an XML file that is well-formed."""
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, remove_comments=True))
    except (etree.XMLSyntaxError, ValueError):
        return mutate_bytes(data, random)
    names = [e.get("name") for e in _elements(root) if e.get("name")] or ["a"]
    prefix = b""
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        elements = _elements(root)
        element = random.choice(elements)
        parent = element.getparent()
        match random.randrange(14):
            case 0 if parent is not None:
                parent.remove(element)
            case 1 if parent is not None:
                parent.insert(random.randrange(len(parent) + 1), copy.deepcopy(element))
            case 2:
                children = list(element)
                random.shuffle(children)
                element[:] = children
            case 3 if element.attrib:
                key = random.choice(list(element.attrib))
                element.set(key, _swap_number(element.get(key), random))
            case 4:
                element.text = _swap_number(element.text or "", random)
            case 5 if element.attrib:
                del element.attrib[random.choice(list(element.attrib))]
            case 6 if element.attrib:
                element.set(
                    random.choice(list(element.attrib)), random.choice((*names, "world", "__model__", "a::b", ""))
                )
            case 7:
                element.text = random.choice((*names, "world", "__model__", "a::b::c", ""))
            case 8:
                element.text = random.choice(PATHS)
                for key in ("filename", "url"):
                    if key in element.attrib:
                        element.set(key, random.choice(PATHS))
            case 9:
                inner = element
                for _ in range(random.choice((10, 300, 2000))):
                    inner = etree.SubElement(inner, element.tag, dict(element.attrib))
            case 10:
                element.tag = random.choice(elements).tag
            case 11:
                target = random.choice(elements)
                if element not in target.iter() and target not in element.iter() and parent is not None:
                    target.append(element)
            case 12:
                include = etree.SubElement(element, "include")
                etree.SubElement(include, "uri").text = random.choice(
                    (*PATHS, "model.sdf", "./model.sdf", "../case/model.sdf")
                )
            case _:
                kind = random.choice(("bomb", "external", "parameter"))
                doctype = {
                    "bomb": f"<!DOCTYPE r [{BOMB}]>",
                    "external": '<!DOCTYPE r SYSTEM "file:///etc/passwd" [<!ENTITY e0 SYSTEM "file:///etc/passwd">]>',
                    "parameter": '<!DOCTYPE r [<!ENTITY % p SYSTEM "http://example.invalid/x.dtd"> %p;]>',
                }[kind]
                prefix = doctype.encode()
                element.text = "ENTITY"
    for element in _elements(root):  # surrogates and the like cannot be written
        if element.text and "\0" in element.text:
            element.text = ""
    try:
        written = etree.tostring(root)
    except (ValueError, RecursionError):
        return mutate_bytes(data, random)
    return prefix + written.replace(b"ENTITY", b"&e8;" if b"e8" in prefix else b"&e0;" if prefix else b"")


def _spots(value: object, found: list[tuple[object, object]]) -> None:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        found.append((value, key))
        _spots(item, found)


def mutate_json(text: bytes, random: Random) -> bytes:
    """Change, drop or exchange parts of a JSON text."""
    try:
        whole = json.loads(text)
    except ValueError:
        return mutate_bytes(text, random)
    for _ in range(random.choice((1, 1, 2, 4))):
        spots: list[tuple[object, object]] = []
        _spots(whole, spots)
        if not spots:
            break
        holder, key = random.choice(spots)
        other, its = random.choice(spots)
        values = (None, -1, 10**30, 1e308, "x", [], {}, True, 2**63, {"$array": 0}, {"$array": 10**9}, {"$map": 3})
        match random.randrange(3):
            case 0:
                del holder[key]  # pyright: ignore
            case 1:
                holder[key] = random.choice(values)  # pyright: ignore
            case _:
                holder[key] = copy.deepcopy(other[its])  # pyright: ignore
    return json.dumps(whole).encode()


def mutate_archive(data: bytes, random: Random) -> bytes:
    """Change the text or an array of a NumPy archive."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, OSError, zipfile.BadZipFile):
        return mutate_bytes(data, random)
    name = random.choice(list(arrays))
    array = arrays[name]
    choice = random.randrange(5)
    if "text" in arrays and choice < 3:
        arrays["text"] = np.frombuffer(mutate_json(arrays["text"].tobytes(), random), np.uint8)
    elif choice == 3:
        options = (array[:-1] if array.ndim else array, array.astype("f4"), np.zeros((2, 3)), np.array("x"))
        arrays[name] = random.choice(options)
    elif array.dtype.kind == "f" and array.size:
        flat = array.copy().reshape(-1)
        flat[random.randrange(flat.size)] = random.choice((np.nan, np.inf, 1e308, -1.0))
        arrays[name] = flat.reshape(array.shape)
    else:
        del arrays[name]
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # pyright: ignore
    return stream.getvalue()


def mutate(data: bytes, suffix: str, random: Random) -> bytes:
    """A mutation of a file of a format."""
    if suffix in (".urdf", ".sdf", ".world", ".skel", ".dae", ".xml", ".config") and random.random() < 0.75:
        return mutate_xml(data, random)
    if suffix == ".npz" and random.random() < 0.75:
        return mutate_archive(data, random)
    if suffix == ".obj" and random.random() < 0.5:
        return _swap_number(data.decode("utf-8", "replace"), random).encode("utf-8", "replace")
    return mutate_bytes(data, random)
