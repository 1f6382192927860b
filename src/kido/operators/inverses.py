"""Inverses that theory knows (section a4), found by the form of an expression."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from kido.operators.expression import Identity, Operator, Product, Starred, Sum, product
from kido.operators.leaves import inverted
from kido.operators.linear import OperatorError

_KNOWN = (
    "known are the inverses of phi and psi, of all that is made of diagonal blocks (D, M, P, ...), of I + H phi K, "
    "I - H psi K and the mass matrix, H phi M phi* H* (+ J_a where joints have rotor inertia), with the operators of "
    "one skeleton, and of products of these"
)


def known_inverses(ops: Any) -> dict[Hashable, Operator]:
    """Inverses by the form of what they are the inverse of; `ops` are `kido.operators.SpatialOperators`."""
    one, H, K, D = Identity(ops.on.joint_space), ops.H, ops.K, ops.D
    body = Identity(ops.on.body_space)
    lower, factor = one - H * ops.Psi * K, one + H * ops.Phi * K
    pairs = [
        (body - ops.E_phi, ops.Phi),
        (body - ops.E_psi, ops.Psi),
        (factor, lower),
    ]
    table: dict[Hashable, Operator] = {}
    for a, b in pairs:
        for x, y in ((a, b), (a.T, b.T)):
            table[x.key()] = y
            table[y.key()] = x
    links = H * ops.Phi * ops.M * ops.PhiStar * ops.HStar
    mass = links + ops.J_a
    inverse = lower.T * D.inverse() * lower
    table[mass.key()] = inverse
    table[inverse.key()] = mass
    if not ops.on.container.armature.any():
        table[links.key()] = inverse
        table[inverse.key()] = links
    return table


def inverse_of(operator: Operator) -> Operator:
    """The inverse of an operator.

    Raises:
        OperatorError: it is not square, none is known, or it has none.
    """
    if operator.rows is not operator.columns:
        raise OperatorError(f"{operator!r} has no inverse: it is not square, {operator.shape[0]} x {operator.shape[1]}")
    _reciprocal(operator)
    found = _known(operator)
    if found is None:
        raise OperatorError(
            f"no sweeps are known for the inverse of {operator!r}: {_KNOWN}; for small ones there is "
            "numpy.linalg.inv(A.dense())"
        )
    return found


def _known(operator: Operator) -> Operator | None:
    """The inverse, or None."""
    if isinstance(operator, Identity):
        return operator
    if operator.on is None:  # a multiple of I
        assert isinstance(operator, Product)
        return product(_reciprocal(operator), [Identity()])
    own = operator.own_inverse()
    if own is not None:
        return own
    table = operator.on.inverses()
    bare = product(1.0, operator.factors) if isinstance(operator, Product) and operator.number != 1.0 else operator
    found = table.get(bare.key())
    if found is not None:
        return product(_reciprocal(operator), [found]) if bare is not operator else found
    if operator.is_blockwise:
        return inverted(operator)
    if isinstance(operator, Product):
        inverses = []
        for factor in reversed(operator.factors):
            inverse = _known(factor) if factor.rows is factor.columns else None
            if inverse is None:
                return None
            inverses.append(inverse)
        return product(_reciprocal(operator), inverses)
    if isinstance(operator, Starred):
        inverse = _known(operator.base)
        return None if inverse is None else inverse.T
    if isinstance(operator, Sum):  # -(...) and such: the same form with another number in front
        number = next((factor for factor, term in operator.terms if isinstance(term, Identity)), operator.terms[0][0])
        scaled = Sum([(factor / number, term) for factor, term in operator.terms])
        found = table.get(scaled.key())
        return None if found is None else product(1.0 / number, [found])
    return None


def _reciprocal(operator: Operator) -> float:
    number = operator.number if isinstance(operator, Product) else 1.0
    if number == 0.0 or not np.isfinite(1.0 / number):
        raise OperatorError(f"{operator!r} has no inverse: it is zero")
    return 1.0 / number
