"""What a model's equations are written in: expressions that write down what NumPy does to them.

They are those of users' joints (`kido.joints.trace`) with operations that have no derivative besides: limits, signs,
steps, choices. What they write down becomes operations of a system (`kido.systems.operations`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kido.errors import KidoError, ModelError
from kido.joints.graph import Graph
from kido.joints.trace import KNOWN_FUNCTIONS, Expression

ABS, MINIMUM, MAXIMUM, SIGN, FLOOR, POSITIVE, SELECT, PAIR = range(32, 40)
_FOLD: dict[int, Callable[..., Any]] = {
    ABS: abs,
    MINIMUM: min,
    MAXIMUM: max,
    SIGN: lambda x: math.copysign(1.0, x) if x != 0.0 else 0.0,
    FLOOR: math.floor,
    POSITIVE: lambda x: 1.0 if x > 0.0 else 0.0,
}


class Equations(Graph):
    """Formulas of one model, each once; its inputs are `position(k)`."""

    def operation(self, op: int, a: int, b: int = -1) -> int:
        """One of the operations that have no derivative; of numbers it is a number."""
        x, y = self.value(a), self.value(b) if b >= 0 else None
        if x is not None and (b < 0 or y is not None):
            return self.number(float(_FOLD[op](x) if y is None else _FOLD[op](x, y)))
        if op in (MINIMUM, MAXIMUM):
            a, b = min(a, b), max(a, b)
        return self._node(op, a, b)

    def select(self, condition: int, a: int, b: int) -> int:
        """a where the condition is above 0, else b."""
        known = self.value(condition)
        if known is not None:
            return a if known > 0.0 else b
        return a if a == b else self._node(SELECT, condition, self._node(PAIR, a, b))


class Quantity(Expression):
    """A number in a model's equations, while they are written down.

    It takes +, -, *, /, **, abs, //, %, comparisons, and NumPy's functions: those of users' joints, np.abs, np.sign,
    np.floor, np.minimum, np.maximum, np.clip and np.where. A comparison is 1 or 0, and no Python condition.
    """

    __slots__ = ()

    def _with(self, other: Any, combine: Callable[[int, int], int], swapped: bool = False) -> Any:
        g = self._graph
        if isinstance(other, Quantity):
            if other.equations is not g:
                raise ModelError("a quantity of another model, or of an earlier call, is used in its equations")
            b = other.node
        elif isinstance(other, bool | np.bool_ | int | float | np.integer | np.floating):
            b = g.number(float(other))
        else:
            return NotImplemented
        return Quantity(g, combine(b, self._at) if swapped else combine(self._at, b))

    @property
    def equations(self) -> Any:
        """What it is part of."""
        return self._graph

    @property
    def node(self) -> int:
        """Its number there."""
        return self._at

    def _function(self, op: int) -> Quantity:
        return Quantity(self._graph, self._graph.function(op, self._at))

    def _operation(self, op: int) -> Quantity:
        return Quantity(self._graph, self.equations.operation(op, self._at))

    def __neg__(self) -> Quantity:
        return Quantity(self._graph, self._graph.scale(self._at, -1.0))

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, Quantity):
            return (other * self.log()).exp()
        if isinstance(other, int | float | np.integer | np.floating):
            return Quantity(self._graph, self._graph.power(self._at, float(other)))
        return NotImplemented

    # Without a derivative ----------------------------------------------------------------------------------

    def __abs__(self) -> Quantity:
        return self._operation(ABS)

    def __floor__(self) -> Quantity:
        return self._operation(FLOOR)

    def floor(self) -> Quantity:
        """Largest whole number that is not above it."""
        return self._operation(FLOOR)

    def rint(self) -> Quantity:
        """Nearest whole number; halves go up."""
        return (self + 0.5).floor()

    def __floordiv__(self, other: Any) -> Any:
        return (self / other).floor()

    def __mod__(self, other: Any) -> Any:
        return self - other * (self / other).floor()

    def _positive(self) -> Quantity:
        return self._operation(POSITIVE)

    def __gt__(self, other: Any) -> Any:
        return (self - other)._positive()

    def __lt__(self, other: Any) -> Any:
        return (other - self)._positive()

    def __ge__(self, other: Any) -> Any:
        return 1.0 - (other - self)._positive()

    def __le__(self, other: Any) -> Any:
        return 1.0 - (self - other)._positive()

    def _compared(self, other: Any = None) -> NoReturn:
        raise ModelError(
            "a quantity is branched upon: equations are called once, with expressions in place of numbers; choose by "
            "np.where(a > b, ...), np.minimum, np.maximum, np.clip, or derive the model from PythonModel"
        )

    __bool__ = __eq__ = __ne__ = _compared
    __hash__ = object.__hash__

    def _no_number(self) -> NoReturn:
        raise ModelError(
            "a quantity is used as a plain number: equations are called once, with expressions in place of numbers; "
            "use NumPy's functions (np.sin, not math.sin) and +, -, *, /, ** on them"
        )

    __float__ = __int__ = __index__ = _no_number

    # NumPy's functions of several arguments, which call no methods of objects.

    __array_priority__ = 1000.0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options.get("out") is not None:
            return NotImplemented
        if any(isinstance(x, np.ndarray) for x in inputs):  # element by element
            arrays = [x if isinstance(x, np.ndarray) else np.array(x, dtype=object) for x in inputs]
            return _each(lambda *numbers: _applied(ufunc, numbers), *arrays)
        return _applied(ufunc, inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        own = _FUNCTIONS.get(function)
        if own is None:
            raise ModelError(f"np.{function.__name__} of a quantity is not known")
        return own(*args, **options)

    def __repr__(self) -> str:
        return f"Quantity({self.node})"


class Quantities(np.ndarray):
    """Several of them, as an array of objects that knows `np.where`, `np.clip` and the like."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [x.view(np.ndarray) if isinstance(x, Quantities) else x for x in inputs]
        if method == "__call__" and options.get("out") is None and ufunc.__name__ in _UFUNCS:
            arrays = [np.asarray(x, dtype=object) for x in plain]
            return _each(lambda *numbers: _applied(ufunc, numbers), *arrays)
        result = getattr(ufunc, method)(*plain, **options)
        return result.view(Quantities) if isinstance(result, np.ndarray) else result

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        own = _FUNCTIONS.get(function)
        if own is not None:
            return own(*args, **options)
        result = super().__array_function__(function, (np.ndarray,), _plain(args), _plain(options))
        return result.view(Quantities) if type(result) is np.ndarray and result.dtype == object else result


def _plain(value: Any) -> Any:
    if isinstance(value, Quantities):
        return value.view(np.ndarray)
    if isinstance(value, tuple | list):
        return type(value)(_plain(x) for x in value)
    return {key: _plain(x) for key, x in value.items()} if isinstance(value, dict) else value


def _each(function: Callable[..., Any], *arrays: Any) -> Any:
    """A function of numbers, element by element."""
    arrays = np.broadcast_arrays(*[np.asarray(a, dtype=object) for a in arrays])
    result = np.empty(arrays[0].shape, dtype=object)
    for at in np.ndindex(result.shape):
        result[at] = function(*(a[at] for a in arrays))
    return result.view(Quantities) if result.shape else result[()]


def _two(op: int) -> Callable[[Any, Any], Any]:
    def combine(a: Any, b: Any) -> Any:
        one = a if isinstance(a, Quantity) else b
        if not isinstance(one, Quantity):
            return _FOLD[op](a, b)
        g = one.equations
        return one._with(b if one is a else a, lambda x, y: g.operation(op, x, y))

    return combine


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    given = [x for x in (condition, a, b) if isinstance(x, Quantity)]
    if not isinstance(condition, Quantity):
        return a if condition else b
    g = given[0].equations
    nodes = [x.node if isinstance(x, Quantity) else g.number(float(x)) for x in (condition, a, b)]
    return Quantity(g, g.select(*nodes))


_minimum, _maximum = _two(MINIMUM), _two(MAXIMUM)


def _clipped(x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else _each(_maximum, x, low)
    return x if high is None else _each(_minimum, x, high)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: lambda condition, a, b: _each(_chosen, condition, a, b),
    np.clip: _clipped,
}
_UFUNCS: dict[str, Callable[..., Any]] = {
    "absolute": abs,
    "fabs": abs,
    "sign": lambda x: x._operation(SIGN),
    "minimum": _minimum,
    "maximum": _maximum,
    "fmin": _minimum,
    "fmax": _maximum,
    "greater": lambda a, b: a > b,
    "less": lambda a, b: a < b,
    "greater_equal": lambda a, b: a >= b,
    "less_equal": lambda a, b: a <= b,
    "heaviside": lambda a, b: _chosen(a, 1.0, _chosen(-a, 0.0, b)),
}
_OPERATORS = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b, "power": lambda a, b: a**b, "negative": lambda a: -a, "positive": lambda a: a,
    "floor_divide": lambda a, b: a // b, "remainder": lambda a, b: a % b,
}  # fmt: skip


def _applied(ufunc: Any, numbers: tuple[Any, ...]) -> Any:
    """A function of NumPy's of single numbers, of which some are quantities."""
    if not any(isinstance(x, Quantity) for x in numbers):
        return ufunc(*[float(x) for x in numbers])
    numbers = tuple(x if isinstance(x, Quantity) else float(x) for x in numbers)
    known = _UFUNCS.get(ufunc.__name__) or _OPERATORS.get(ufunc.__name__)
    if known is not None:
        return known(*numbers)
    if len(numbers) == 2:
        a, b = numbers
        if ufunc.__name__ == "arctan2" and not isinstance(a, Quantity):
            a = Quantity(b.equations, b.equations.number(float(a)))
        method = getattr(a, ufunc.__name__, None)
        if method is not None and ufunc.__name__ in KNOWN_FUNCTIONS:
            return method(b)
    elif ufunc.__name__ in (*KNOWN_FUNCTIONS, "floor", "rint"):
        return getattr(numbers[0], ufunc.__name__)()
    known_names = sorted({*KNOWN_FUNCTIONS, *_UFUNCS, "floor", "rint", "clip", "where"})
    raise ModelError(f"np.{ufunc.__name__} of a quantity is not known; known are {', '.join(known_names)}")


def quantities(equations: Equations, first: int, shape: tuple[int, ...]) -> Any:
    """Inputs of a model's equations from number `first` on: one, or an array of them."""
    if not shape:
        return Quantity(equations, equations.position(first))
    array = np.empty(shape, dtype=object)
    for k, at in enumerate(np.ndindex(shape)):
        array[at] = Quantity(equations, equations.position(first + k))
    return array.view(Quantities)


def nodes_of(value: Any, equations: Equations, shape: tuple[int, ...], what: str) -> list[int]:
    """Nodes of what a model's method returned for a port, element by element.

    Raises:
        ModelError: its shape is another, or it is no number.
    """
    try:
        array: NDArray[Any] = np.array(value, dtype=object) if shape else np.array([value], dtype=object)
    except ValueError:
        raise ModelError(f"{what}: expected shape {shape}, got {value!r:.100}") from None
    if array.shape != (shape or (1,)):
        raise ModelError(f"{what}: expected shape {shape}, got {array.shape if shape else np.shape(value)}")
    found = []
    for x in array.ravel():
        if isinstance(x, Quantity):
            if x.equations is not equations:
                raise ModelError(f"{what}: a quantity was kept from an earlier call")
            found.append(x.node)
            continue
        try:
            number = float(x)
        except (TypeError, ValueError):
            raise ModelError(f"{what}: expected numbers or expressions, got {x!r:.100}") from None
        if not math.isfinite(number):
            raise ModelError(f"{what}: expected finite numbers, got {number}")
        found.append(equations.number(number))
    return found


def in_words(error: Exception, what: str) -> ModelError:
    """What to raise where a model's equations fail on expressions."""
    if isinstance(error, KidoError):
        return ModelError(f"{what}: {error}")
    unknown = re.search(r"no callable (\w+) method", str(error))
    if unknown is not None:
        return ModelError(f"{what}: the function {unknown.group(1)!r} of a quantity is not known")
    return ModelError(f"{what}: failed on expressions: {type(error).__name__}: {error}")
