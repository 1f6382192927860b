"""Expressions of operators: sums, products, transposes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.math.transform import as_numbers
from kido.operators.linear import Array, Linear, OperatorError, Step

if TYPE_CHECKING:
    from kido.operators.body_list import BodyList, Space

_NUMBERS = (int, float, np.integer, np.floating)
# Makers of products of a special form, or of None; asked in turn.
RECOGNIZERS: list[Callable[[float, list[Operator]], Product | None]] = []


class Operator(Linear):
    """A linear operator on spatial vectors of bodies or on joint numbers, that runs sweeps when it is applied.

    `+`, `-`, `*`, `@` and numbers compose operators, and apply them to arrays: `*` and `@` are the same. A product is
    not evaluated before it meets an array, and no matrix is formed then: factors run from right to left, each as
    one sweep over the bodies. An array is a vector (n,), or a block of vectors (n, m), one in each column.

    Expressions belong to the state of the `SpatialOperators` that they were made from; operators of two states
    are never mixed.
    """

    __array_ufunc__ = None  # numbers and arrays of NumPy leave `*` to us

    @property
    def T(self) -> Operator:
        """The transpose, which theory writes with a star."""
        return self._transposed()

    def transpose(self) -> Operator:
        """The transpose, as `T`."""
        return self._transposed()

    def inverse(self) -> Operator:
        """The inverse, where theory knows one that runs as sweeps.

        Known are those of phi and psi; of D, M, P and all that is made of diagonal blocks, block by block; of I + H phi
        K and I - H psi K, which are each other's; of the mass matrix H phi M phi* H*, plus J_a where joints have rotor
        inertia, in factors, (I - H psi K)* D^-1 (I - H psi K); and of products of these, and their transposes.

        Raises:
            OperatorError: it is not square, or no inverse is known, or it has none.
        """
        from kido.operators.inverses import inverse_of

        return inverse_of(self)

    # Composition -----------------------------------------------------------------------------------------

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Operator):
            return product(1.0, [self, other])
        if isinstance(other, _NUMBERS):
            return product(_finite(other), [self])
        return self.apply(other)

    def __matmul__(self, other: Any) -> Any:
        return product(1.0, [self, other]) if isinstance(other, Operator) else self.apply(other)

    def __rmul__(self, other: Any) -> Any:
        return product(_finite(other), [self]) if isinstance(other, _NUMBERS) else self.__rmatmul__(other)

    def __rmatmul__(self, other: Any) -> Any:
        try:
            array = as_numbers(other)
        except (TypeError, ValueError):
            raise OperatorError(f"{self}: expected an array of numbers or an operator, got {other!r}") from None
        return self.T.apply(array) if array.ndim < 2 else self.T.apply(array.T).T

    def __truediv__(self, other: Any) -> Operator:
        if not isinstance(other, _NUMBERS) or float(other) == 0.0:
            raise OperatorError(f"{self} is divided by numbers other than 0; got {other!r}: for A^-1 B use A.inverse()")
        return product(1.0 / _finite(other), [self])

    def __add__(self, other: Any) -> Operator:
        return total([(1.0, self), (1.0, _operator(other))])

    def __radd__(self, other: Any) -> Operator:
        return total([(1.0, _operator(other)), (1.0, self)])

    def __sub__(self, other: Any) -> Operator:
        return total([(1.0, self), (-1.0, _operator(other))])

    def __rsub__(self, other: Any) -> Operator:
        return total([(1.0, _operator(other)), (-1.0, self)])

    def __neg__(self) -> Operator:
        return product(-1.0, [self])

    def __pos__(self) -> Operator:
        return self

    # Travelling ------------------------------------------------------------------------------------------

    def __copy__(self) -> Operator:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __reduce__(self) -> Any:
        # A copy would run on the arrays of a state that is another's, or gone.
        raise OperatorError(
            f"{self} belongs to its SpatialOperators and is not copied without them: copy these, and compose it anew"
        )


def _finite(value: Any) -> float:
    number = float(value)
    if not np.isfinite(number):
        raise OperatorError(f"operators are multiplied by finite numbers, got {value!r}")
    return number


def _operator(value: Any) -> Operator:
    if not isinstance(value, Operator):
        raise OperatorError(f"operators are added to operators, got {value!r}; a multiple of the identity is c * I")
    return value


def refuse_mixed(operators: list[Operator]) -> BodyList | None:
    """What the operators are on.

    Raises:
        OperatorError: bodies or states that differ.
    """
    on = None
    for operator in operators:
        if operator.on is not None and on is not None and operator.on is not on:
            raise OperatorError(
                f"{operator!r} belongs to operators of {operator.on.describes}, and {operators[0]!r} to others, of "
                f"{on.describes}: other bodies, or another state; take all operators from one SpatialOperators"
            )
        on = on or operator.on
    return on


class Identity(Operator):
    """I; without a space it takes the size of what it meets."""

    def __init__(self, space: Space | None = None):
        self.rows = self.columns = space
        self.on = None if space is None else space.on

    def _run(self, x: Array, own: bool) -> Array:
        return x if own else x.copy()

    def steps(self) -> Iterator[Step]:
        return iter(())

    def key(self) -> Hashable:
        return "I"

    def text(self, latex: bool) -> str:
        return "I"

    def _transposed(self) -> Operator:
        return self

    def own_inverse(self) -> Operator:
        return self

    @property
    def is_blockwise(self) -> bool:
        return self.on is not None

    def body_blocks(self) -> Array:
        assert self.on is not None
        return self.on.empty_blocks() + np.eye(self.on.width)


class Sum(Operator):
    """A sum of operators with factors."""

    on: Any

    def __init__(self, terms: list[tuple[float, Operator]]):
        self.terms = terms
        first = terms[0][1]
        self.on, self.rows, self.columns = first.on, first.rows, first.columns

    def _run(self, x: Array, own: bool) -> Array:
        factor, term = self.terms[0]
        result = term._run(x, False)
        if factor != 1.0:
            result *= factor
        last = len(self.terms) - 1
        for k in range(1, last + 1):
            factor, term = self.terms[k]
            y = term._run(x, own and k == last)
            if factor == 1.0:
                result += y
            elif factor == -1.0:
                result -= y
            else:
                y *= factor
                result += y
            if y is not x:
                self.on.scratch.give(y)
        return result

    def steps(self) -> Iterator[Step]:
        for k, (_, term) in enumerate(self.terms):
            yield from term.steps()
            if k > 0:
                sign = "-" if self.terms[k][0] < 0.0 else "+"
                yield Step(sign, "of two vectors", self.shape[0])

    def key(self) -> Hashable:
        return "sum", frozenset((term.key(), factor) for factor, term in self.terms)

    def text(self, latex: bool) -> str:
        text = ""
        for k, (factor, term) in enumerate(self.terms):
            sign = "-" if factor < 0.0 else "+"
            text += ("-" if factor < 0.0 else "") if k == 0 else f" {sign} "
            text += _factor_text(abs(factor), latex) + term.text(latex)
        return text

    def _transposed(self) -> Operator:
        return Starred(self)

    def _distributed(self) -> Operator:
        """The sum of the transposes."""
        return total([(factor, term.T) for factor, term in self.terms])

    @property
    def is_blockwise(self) -> bool:
        return all(term.is_blockwise for _, term in self.terms)

    @property
    def is_bracketed(self) -> bool:
        return True

    def body_blocks(self) -> Array:
        return sum((factor * term.body_blocks() for factor, term in self.terms), np.zeros(1))

    def preparations(self) -> frozenset[str]:
        return frozenset().union(*(term.preparations() for _, term in self.terms))


class Starred(Operator):
    """A transposed sum, written as such."""

    def __init__(self, base: Sum):
        self.base, self.sum = base, base._distributed()
        self.on, self.rows, self.columns = base.on, base.columns, base.rows

    def _run(self, x: Array, own: bool) -> Array:
        return self.sum._run(x, own)

    def steps(self) -> Iterator[Step]:
        return self.sum.steps()

    def key(self) -> Hashable:
        return self.sum.key()

    def text(self, latex: bool) -> str:
        inner = self.base.text(latex)
        return rf"\left({inner}\right)^{{*}}" if latex else f"({inner})*"

    def _transposed(self) -> Operator:
        return self.base

    @property
    def is_blockwise(self) -> bool:
        return self.base.is_blockwise

    def body_blocks(self) -> Array:
        return self.sum.body_blocks()

    def preparations(self) -> frozenset[str]:
        return self.base.preparations()


class Product(Operator):
    """A number times a product of operators that are no products."""

    on: Any

    def __init__(self, number: float, factors: list[Operator]):
        self.number, self.factors = number, factors
        self.on, self.rows, self.columns = factors[0].on, factors[0].rows, factors[-1].columns

    def _run(self, x: Array, own: bool) -> Array:
        for factor in reversed(self.factors):
            y = factor._run(x, own)
            if own and y is not x:
                self.on.scratch.give(x)
            x, own = y, True
        if self.number != 1.0:
            x *= self.number
        return x

    def steps(self) -> Iterator[Step]:
        for factor in reversed(self.factors):
            yield from factor.steps()
        if self.number != 1.0:
            yield Step(f"{self.number:g}", "times a vector", self.shape[0])

    def key(self) -> Hashable:
        return "product", self.number, tuple(factor.key() for factor in self.factors)

    def text(self, latex: bool) -> str:
        parts = []
        for factor in self.factors:
            text = factor.text(latex)
            if factor.is_bracketed:
                text = rf"\left({text}\right)" if latex else f"({text})"
            parts.append(text)
        sign = "-" if self.number < 0.0 else ""
        return sign + _factor_text(abs(self.number), latex) + " ".join(parts)

    def _transposed(self) -> Operator:
        return product(self.number, [factor.T for factor in reversed(self.factors)])

    @property
    def is_blockwise(self) -> bool:
        return all(factor.is_blockwise for factor in self.factors)

    def body_blocks(self) -> Array:
        result = self.number * self.factors[0].body_blocks()
        for factor in self.factors[1:]:
            result = result @ factor.body_blocks()
        return result

    def preparations(self) -> frozenset[str]:
        return frozenset().union(*(factor.preparations() for factor in self.factors))


def _factor_text(number: float, latex: bool) -> str:
    if number == 1.0:
        return ""
    return f"{number:g}" + (r"\," if latex else " ")


def product(number: float, operators: list[Operator]) -> Operator:
    """A product in normal form: products of products flattened, identities dropped, numbers in front.

    Raises:
        OperatorError: operators of other bodies or states, or neighbours that do not fit.
    """
    refuse_mixed(operators)
    factors: list[Operator] = []
    for operator in operators:
        if isinstance(operator, Product):
            number *= operator.number
            factors += operator.factors
        elif not isinstance(operator, Identity):
            factors.append(operator)
    for left, right in pairwise(operators):
        if left.columns is not None and right.rows is not None and left.columns is not right.rows:
            raise OperatorError(f"{left!r} does not go with {right!r}: it takes {left.columns}, and gets {right.rows}")
    if not factors:
        spaces = [operator.rows for operator in operators if operator.rows is not None]
        identity = Identity(spaces[0] if spaces else None)
        return identity if number == 1.0 else _Multiple(number, [identity])
    if len(factors) == 1 and number == 1.0:
        return factors[0]
    for recognize in RECOGNIZERS:
        found = recognize(number, factors)
        if found is not None:
            return found
    return Product(number, factors)


class _Multiple(Product):
    """A multiple of the identity, which keeps it as its factor."""


def total(terms: list[tuple[float, Operator]]) -> Operator:
    """A sum in normal form: sums of sums flattened, identities of the size of the others, numbers in front.

    Raises:
        OperatorError: operators of other bodies or states, or of other shapes.
    """
    refuse_mixed([term for _, term in terms])
    flat: list[tuple[float, Operator]] = []
    for factor, term in terms:
        if isinstance(term, Product):
            inner = term.factors[0] if isinstance(term, _Multiple) else product(1.0, term.factors)
            flat.append((factor * term.number, inner))
        elif isinstance(term, Sum):
            flat += [(factor * own, part) for own, part in term.terms]
        else:
            flat.append((factor, term))
    sized = [term for _, term in flat if term.rows is not None]
    if sized:
        model = sized[0]
        for k, (factor, term) in enumerate(flat):
            if term.rows is None:
                if model.rows is not model.columns:
                    raise OperatorError(f"I + {model!r}: it is not square, {model.shape[0]} x {model.shape[1]}")
                flat[k] = factor, Identity(model.rows)
            elif term.rows is not model.rows or term.columns is not model.columns:
                raise OperatorError(
                    f"{model!r} and {term!r} cannot be added: they map {model.columns} to {model.rows}, and "
                    f"{term.columns} to {term.rows}"
                )
    collected: dict[Hashable, tuple[float, Operator]] = {}
    for factor, term in flat:
        key = term.key()
        collected[key] = (collected[key][0] + factor if key in collected else factor, term)
    left = [(factor, term) for factor, term in collected.values() if factor != 0.0]
    if not left:
        return product(0.0, [flat[0][1]])
    if len(left) == 1:
        return product(*_as_product(left[0]))
    return Sum(left)


def _as_product(term: tuple[float, Operator]) -> tuple[float, list[Operator]]:
    return term[0], [term[1]]
