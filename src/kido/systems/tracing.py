"""Equations of a model: its methods called once with expressions, and what they wrote down as operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kido.errors import ModelError
from kido.joints import tape
from kido.systems import expressions as own
from kido.systems import schema as kinds
from kido.systems.declarations import Crossing, Declared, Input, Noise, Output, Parameter, State
from kido.systems.expressions import Equations, Quantity, in_words, nodes_of, quantities
from kido.systems.model import CALLBACKS, METHODS, Model
from kido.systems.operations import Operation

# Operations of joints' tapes that are operations here too.
_SAME = {
    tape.ADD: kinds.ADD, tape.SUBTRACT: kinds.SUBTRACT, tape.MULTIPLY: kinds.MULTIPLY, tape.DIVIDE: kinds.DIVIDE,
    tape.SQRT: kinds.SQRT, tape.EXP: kinds.EXP, tape.LOG: kinds.LOG, tape.ARCTAN2: kinds.ARCTAN2,
    own.ABS: kinds.ABS, own.MINIMUM: kinds.MINIMUM, own.MAXIMUM: kinds.MAXIMUM, own.SIGN: kinds.SIGN,
    own.FLOOR: kinds.FLOOR, own.POSITIVE: kinds.POSITIVE,
}  # fmt: skip
_GIVEN = (Parameter, Input, State, Noise)  # what equations are written in


class Traced:
    """What the methods of a model wrote down.

    Attributes:
        first: number of each given thing's first input of the equations; "time": 0.
        results: nodes by method and name.
        callbacks: those that the class has in place of methods.
    """

    def __init__(self, model: Model):
        self.model, self.equations = model, Equations()
        self.first: dict[str, int] = {"time": 0}
        inside: dict[str, Any] = {"time": Quantity(self.equations, self.equations.position(0))}
        count = 1
        for name, d in model.declared.items():
            if isinstance(d, _GIVEN):
                self.first[name] = count
                inside[name] = quantities(self.equations, count, d.shape)
                count += d.size
        self.results: dict[str, dict[str, list[int]]] = {}
        self.callbacks: dict[str, Any] = {}
        crossings = model.of_kind(Crossing)
        for name in (*CALLBACKS, *(f"at_{key}" for key in crossings)):
            method = model.method(name)
            if method is None:
                continue
            if hasattr(method, "address"):
                if name not in CALLBACKS:
                    raise ModelError(f"model {model.path!r}: {name}: expected a method, got a callback")
                self.callbacks[name] = method
            elif not model.is_python and name not in CALLBACKS[len(METHODS) :]:
                self.results[name] = self._traced(name, method, inside, _expected(model, name))
        missing = [key for key in crossings if key not in self.results.get("crossings", {})]
        if missing and "crossings" not in self.callbacks:
            raise ModelError(f"model {model.path!r}: crossings: {missing[0]!r} is declared and not returned")
        outputs = model.of_kind(Output)
        if "outputs" in self.results:
            missing = [key for key in outputs if key not in self.results["outputs"]]
            if missing:
                raise ModelError(f"model {model.path!r}: outputs: {missing[0]!r} is declared and not returned")

    def _traced(self, name: str, method: Any, inside: dict[str, Any], expected: dict[str, Declared]) -> Any:
        model, what = self.model, f"model {self.model.path!r}: {name}"
        before = model.inside
        model.inside = inside
        try:
            found = method()
        except Exception as error:
            raise in_words(error, what) from error
        finally:
            model.inside = before
        checked = model.checked_results(found, expected, name)
        return {
            key: nodes_of(value, self.equations, expected[key].shape, f"{what}: {key!r}")
            for key, value in checked.items()
        }

    def inputs_of(self, nodes: Iterable[int]) -> set[str]:
        """Names of the inputs that nodes are made of."""
        leaves = set()
        for a in self._needed(nodes):
            if self.equations.nodes[a][0] == tape.POSITION:
                leaves.add(self.equations.nodes[a][1])
        return {
            name
            for name, d in self.model.of_kind(Input).items()
            if leaves & set(range(self.first[name], self.first[name] + d.size))
        }

    def _needed(self, nodes: Iterable[int]) -> list[int]:
        return self.equations.needed_for(nodes)

    def lower(
        self, nodes: list[int], leaf: list[int], new: Any, constant: Any
    ) -> tuple[dict[int, int], list[Operation]]:
        """Nodes as operations on the values of a system.

        A sum of a product that nothing else needs is one operation.

        Args:
            nodes: those that are wanted.
            leaf: values of the equations' inputs.
            new: a function of a number that gives the first of so many new values.
            constant: a function of a number that gives the value that it is.

        Returns:
            The value of each node, and the operations.
        """
        nodes_of, path = self.equations.nodes, self.model.path
        order = self._needed(nodes)
        uses: dict[int, int] = dict.fromkeys(nodes, 2)
        for a in order:
            for b in self.equations.operands(a):
                uses[b] = uses.get(b, 0) + 1
        products = {a for a in order if nodes_of[a][0] in (tape.MULTIPLY, tape.SCALE) and uses.get(a) == 1}
        fused = _fused(nodes_of, order, products)
        taken = set(fused.values())
        slot: dict[int, int] = {}
        made: list[Operation] = []
        angles: dict[int, tuple[int, int]] = {}

        def factors(a: int) -> tuple[int, int]:
            op, x, y, number = nodes_of[a]
            return slot[x], constant(number) if op == tape.SCALE else slot[y]

        for a in order:
            op, x, y, number = nodes_of[a]
            if op == tape.NUMBER:
                slot[a] = constant(number)
            elif op == tape.POSITION:
                slot[a] = leaf[x]
            elif op == own.PAIR or a in taken:
                continue  # part of what uses it
            elif op in (tape.SIN, tape.COS):
                if x not in angles:
                    first = new(2)
                    angles[x] = first, first + 1
                    made.append(Operation(kinds.SINCOS, angles[x], (slot[x],), path))
                slot[a] = angles[x][op == tape.COS]
            else:
                slot[a] = new(1)
                if a in fused:
                    product = fused[a]
                    other = (y if product == x else x) if op != tape.ADD_NUMBER else -1
                    rest = constant(number) if other < 0 else slot[other]
                    kind = kinds.SUBTRACT_PRODUCT if op == tape.SUBTRACT else kinds.MULTIPLY_ADD
                    made.append(Operation(kind, (slot[a],), (*factors(product), rest), path))
                elif op == own.SELECT:
                    _, one, two, _ = nodes_of[y]
                    made.append(Operation(kinds.SELECT, (slot[a],), (slot[x], slot[one], slot[two]), path))
                elif op == tape.SCALE:
                    made.append(Operation(kinds.MULTIPLY, (slot[a],), factors(a), path))
                elif op == tape.ADD_NUMBER:
                    made.append(Operation(kinds.ADD, (slot[a],), (slot[x], constant(number)), path))
                else:
                    reads = (slot[x],) if y < 0 else (slot[x], slot[y])
                    made.append(Operation(_SAME[op], (slot[a],), reads, path))
        return slot, made


def _fused(nodes: Any, order: list[int], products: set[int]) -> dict[int, int]:
    """Sums and differences that take one of the products in: its node by theirs."""
    found = {}
    for a in order:
        op, x, y, _ = nodes[a]
        if op in (tape.ADD, tape.ADD_NUMBER) and x in products:
            found[a] = x
        elif op in (tape.ADD, tape.SUBTRACT) and y in products:
            found[a] = y
    return found


def _expected(model: Model, method: str) -> dict[str, Declared]:
    """What a method may return values of."""
    if method == "outputs":
        return model.of_kind(Output)
    if method == "crossings":
        return model.of_kind(Crossing)
    return model.of_kind(State)


def feedthrough(model: Model) -> dict[str, tuple[str, ...]]:
    """Inputs that each output of a model depends on at once, in the order of declaration.

    Of traced models they are read off the equations, of others they are what `Output.depends_on` says.
    """
    inputs = list(model.of_kind(Input))
    if model.is_python or hasattr(model.method("outputs"), "address"):
        depends = {key: d.depends_on for key, d in model.of_kind(Output).items()}
        return {key: tuple(inputs if on is None else [n for n in inputs if n in on]) for key, on in depends.items()}
    traced = Traced(model)
    found = traced.results.get("outputs", {})
    return {key: tuple(n for n in inputs if n in traced.inputs_of(nodes)) for key, nodes in found.items()}
