"""Values as plain data (what JSON can hold), and back; every number keeps its bits."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from kido.errors import StateError

_ARRAY, _TUPLE, _DATA, _ENUM, _CODE = "array", "tuple", "dataclass", "enum", "function"
_TAG = "kido"  # key by which plain data says what it was


def plain(value: Any, what: str = "value") -> Any:
    """A value as nested dictionaries, lists, numbers, texts, booleans and None.

    Arrays of numbers, tuples, dataclasses and enumerations are marked as what they are. Functions are only named.

    Raises:
        StateError: something in it is none of these; the message names it.
    """
    if value is None or isinstance(value, bool | str) or type(value) in (int, float):
        return value
    if isinstance(value, Enum):
        return {_TAG: _ENUM, "class": class_name(type(value)), "value": plain(value.value, what)}
    if isinstance(value, np.generic):
        return plain(value.item(), what)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {_TAG: _ARRAY, "dtype": value.dtype.str, "shape": list(value.shape), "items": value.ravel().tolist()}
    if isinstance(value, tuple):
        return {_TAG: _TUPLE, "items": [plain(item, what) for item in value]}
    if isinstance(value, list):
        return [plain(item, what) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(item, f"{what}[{key!r}]") for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        own = {f.name: plain(getattr(value, f.name), f"{what}.{f.name}") for f in dataclasses.fields(value)}
        return {_TAG: _DATA, "class": class_name(type(value)), "fields": own}
    if isinstance(value, Callable) and hasattr(value, "__qualname__"):
        return {_TAG: _CODE, "name": class_name(value)}
    raise StateError(
        f"{what}: {type(value).__name__} cannot be written as plain data; expected numbers, texts, arrays, lists, "
        "tuples, dictionaries with texts as keys, dataclasses or enumerations"
    )


def class_name(kind: Any) -> str:
    """Module and name of a class or function."""
    return f"{kind.__module__}:{kind.__qualname__}"


def restored(data: Any, template: Any, what: str = "value") -> Any:
    """The value that `plain` was given.

    Args:
        data: what `plain` returned; a value that is not plain data is returned as it is.
        template: a value of the kind that is expected, for classes that cannot be found by name.

    Raises:
        StateError: a class or function that is not known here, or data that do not make one.
    """
    tag = data.get(_TAG) if isinstance(data, dict) else None
    if tag == _ARRAY:
        return np.array(data["items"], dtype=data["dtype"]).reshape(data["shape"])
    if tag == _TUPLE:
        parts = template if isinstance(template, tuple) else ()
        return tuple(restored(item, _at(parts, k), what) for k, item in enumerate(data["items"]))
    if tag == _ENUM:
        return _class(data["class"], template, what)(restored(data["value"], None, what))
    if tag == _DATA:
        return _dataclass(data, template, what)
    if tag == _CODE:
        if callable(template) and class_name(template) == data["name"]:
            return template
        raise StateError(f"{what}: function {data['name']} is not that of the object, {template!r}")
    if isinstance(data, dict):
        parts = template if isinstance(template, dict) else {}
        return {key: restored(item, parts.get(key), f"{what}[{key!r}]") for key, item in data.items()}
    if isinstance(data, list):
        parts = template if isinstance(template, list) else []
        return [restored(item, _at(parts, k), what) for k, item in enumerate(data)]
    return data


def _at(parts: Any, k: int) -> Any:
    return parts[k] if k < len(parts) else None


def _dataclass(data: dict[str, Any], template: Any, what: str) -> Any:
    kind = _class(data["class"], template, what)
    if type(template) is kind and same(template, data):
        return template
    names = {f.name: f.init for f in dataclasses.fields(kind)}
    if names.keys() != data["fields"].keys():
        raise StateError(f"{what}: {kind.__name__} has {', '.join(names)}; the data have {', '.join(data['fields'])}")
    values = {
        name: restored(item, getattr(template, name, None), f"{what}.{name}") for name, item in data["fields"].items()
    }
    try:
        made = kind(**{name: value for name, value in values.items() if names[name]})
    except (TypeError, ValueError) as error:
        raise StateError(f"{what}: no {kind.__name__} can be made of the data: {error}") from None
    for name, value in values.items():  # the exact numbers, where a constructor rounds
        object.__setattr__(made, name, value)
    return made


def _class(name: str, template: Any, what: str) -> type:
    if template is not None and class_name(type(template)) == name:
        return type(template)
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)  # nothing is imported because a file says so
    for part in path.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type) and (dataclasses.is_dataclass(found) or issubclass(found, Enum)):
        return found
    raise StateError(f"{what}: class {name} is not known here; import its module first")


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal, number by number; either may be plain data already."""
    if a is b:
        return True
    try:
        return bool(_ordered(plain(a)) == _ordered(plain(b)))
    except StateError:
        try:
            return bool(a == b)
        except (TypeError, ValueError):
            return False


def _ordered(data: Any) -> Any:
    """Plain data in which NaN equals NaN."""
    if isinstance(data, dict):
        return {key: _ordered(item) for key, item in data.items()}
    if isinstance(data, list):
        return [_ordered(item) for item in data]
    return "nan" if isinstance(data, float) and data != data else data
