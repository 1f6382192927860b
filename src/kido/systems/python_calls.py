"""Calls of models in plain Python, at ticks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kido.errors import StateError
from kido.systems.declarations import Parameter
from kido.systems.model import PythonModel


def _places(slots: list[int]) -> Any:
    """What indexes an array by slots: a slice, where they lie side by side."""
    first, count = slots[0], len(slots)
    return slice(first, first + count) if slots == list(range(first, first + count)) else np.array(slots)


class PythonCall:
    """One method of one model.

    Args:
        model: whose.
        method: "outputs" or "update".
        given: slots of what the method may read, by name.
        to: slots of what it returns, by name.
    """

    def __init__(
        self, model: Any, method: str, given: dict[str, list[int]], to: dict[str, list[int]], _linked: Any = None
    ):
        assert isinstance(model, PythonModel)
        self.model, self.method, self._given, self._to = model, method, given, to

    def settle(self, at: Callable[[int], int]) -> None:
        """Ports have got their values."""
        declared = self.model.declared
        self._numbers = [(name, at(s[0])) for name, s in self._given.items() if not declared[name].shape]
        self._arrays = [
            (name, _places([at(slot) for slot in s]), declared[name].shape)
            for name, s in self._given.items()
            if declared[name].shape
        ]
        self._expected = {
            name: d for name, d in declared.items() if d.kind == ("output" if self.method == "outputs" else "state")
        }
        to = self._to
        self._shaped = {name: _places(slots) for name, slots in to.items() if declared[name].shape}
        self._quick = [] if any(declared[name].shape for name in to) else [(name, to[name][0]) for name in to]
        self._inside: dict[str, Any] = {}
        self._call = getattr(self.model, self.method)
        self.parameters_changed()

    def parameters_changed(self) -> None:
        """The model has other parameters."""
        for name, d in self.model.declared.items():
            if isinstance(d, Parameter):
                self._inside[name] = self.model.parameter(name)

    def run(self, value: Any) -> None:
        """Call it, with the values of a system.

        Raises:
            StateError: it returned what is not finite, or of another shape.
            ModelError: it returned something under another name.
        """
        inside, item, model = self._inside, value.item, self.model
        inside["time"] = item(0)
        for name, slot in self._numbers:
            inside[name] = item(slot)
        for name, slots, shape in self._arrays:
            inside[name] = np.array(value[slots]).reshape(shape)
        own = model.__dict__
        own["inside"] = inside
        try:
            found = self._call()
        except Exception as error:
            error.add_note(f"in {self.method} of model {model.path!r} at t = {inside['time']:g} s")
            raise
        finally:
            own["inside"] = None
        quick = self._quick
        if quick and type(found) is dict and len(found) == len(quick):  # a call takes two microseconds in all
            for name, slot in quick:
                result = found.get(name)
                if type(result) is not float or result - result != 0.0:
                    break
                value[slot] = result
            else:
                return
        self._write(found, value)

    def _write(self, found: Any, value: Any) -> None:
        """What the method returned, checked."""
        to, where, model = self._to, self.method, self.model
        if type(found) is not dict or not found.keys() <= self._expected.keys():
            found = model.checked_results(found, self._expected, where)
        written = 0
        for name, result in found.items():
            slots = to.get(name)
            if slots is None:  # an output of another group
                continue
            written += 1
            if type(result) is float and result - result == 0.0 and not self._expected[name].shape:
                value[slots[0]] = result
            else:
                value[self._shaped.get(name, slots)] = model.numbers(name, result, where).ravel()
        if written < len(to):
            missing = [name for name in to if name not in found]
            if where == "outputs":
                raise StateError(f"{model.path}: outputs: {missing[0]!r} is declared and not returned")
            for name in missing:  # a state that is not returned stays
                for a, b in zip(to[name], self._given[name], strict=True):
                    value[a] = value[b]
