"""Units as products of powers of the SI's base units, and what they measure: enough to refuse what does not fit.

A text is a product of factors, parted by spaces, * or ·, each with an optional power; a slash divides by the one
factor, or the one pair of brackets, that follows: "N m/A", "kg m^2", "J/(kg K)", "1/s". Radians and steradians are 1.
Source: BIPM, The International System of Units, 9th edition (2019).
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from kido.attributes import dataclass
from kido.errors import ModelError

_BASE = ("m", "kg", "s", "A", "K", "mol", "cd")
_Powers = tuple[int, ...]


def _of(**powers: int) -> _Powers:
    return tuple(powers.get(name, 0) for name in _BASE)


_NOTHING = _of()
# What units are made of: factor to the SI's own, powers of base units.
_UNITS: dict[str, tuple[float, _Powers]] = {
    "1": (1.0, _NOTHING),
    "rad": (1.0, _NOTHING),
    "sr": (1.0, _NOTHING),
    "%": (0.01, _NOTHING),
    "deg": (math.pi / 180.0, _NOTHING),
    "rev": (2.0 * math.pi, _NOTHING),
    "m": (1.0, _of(m=1)),
    "g": (1e-3, _of(kg=1)),
    "s": (1.0, _of(s=1)),
    "min": (60.0, _of(s=1)),
    "h": (3600.0, _of(s=1)),
    "A": (1.0, _of(A=1)),
    "K": (1.0, _of(K=1)),
    "mol": (1.0, _of(mol=1)),
    "cd": (1.0, _of(cd=1)),
    "Hz": (1.0, _of(s=-1)),
    "rpm": (2.0 * math.pi / 60.0, _of(s=-1)),
    "N": (1.0, _of(m=1, kg=1, s=-2)),
    "Pa": (1.0, _of(m=-1, kg=1, s=-2)),
    "bar": (1e5, _of(m=-1, kg=1, s=-2)),
    "J": (1.0, _of(m=2, kg=1, s=-2)),
    "W": (1.0, _of(m=2, kg=1, s=-3)),
    "C": (1.0, _of(s=1, A=1)),
    "V": (1.0, _of(m=2, kg=1, s=-3, A=-1)),
    "F": (1.0, _of(m=-2, kg=-1, s=4, A=2)),
    "ohm": (1.0, _of(m=2, kg=1, s=-3, A=-2)),
    "S": (1.0, _of(m=-2, kg=-1, s=3, A=2)),
    "Wb": (1.0, _of(m=2, kg=1, s=-2, A=-1)),
    "T": (1.0, _of(kg=1, s=-2, A=-1)),
    "H": (1.0, _of(m=2, kg=1, s=-2, A=-2)),
}
_PREFIXES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "c": 1e-2, "k": 1e3, "M": 1e6, "G": 1e9}
_FACTOR = re.compile(r"[\s*·]*(?:([A-Za-z%]+|1)(?:\^(-?\d{1,3}))?|([/()]))")
_SAME = 1e-12  # relative difference of two factors of one unit, written in two ways


@dataclass(frozen=True)
class Unit:
    """A unit.

    Attributes:
        text: as it was written.
        factor: how much of the SI's own unit it is.
        powers: of m, kg, s, A, K, mol and cd.
        offset: what is added, in the SI's own unit, as of degrees Celsius.
    """

    text: str
    factor: float
    powers: tuple[int, ...]
    offset: float = 0.0

    def fits(self, other: Unit) -> bool:
        """Whether numbers of one are numbers of the other."""
        same = self.powers == other.powers and self.offset == other.offset
        return same and abs(self.factor - other.factor) <= _SAME * self.factor

    def difference(self, other: Unit) -> str:
        """In words, why it does not fit another."""
        if self.offset != other.offset:
            return f"0 {self.text} is not 0 {other.text}"
        if self.powers == other.powers:
            return f"1 {self.text} is {self.factor / other.factor:.6g} {other.text or '1'}"
        return f"{_in_base(self)} is not {_in_base(other)}"

    def __str__(self) -> str:
        return self.text or "1"


def _in_base(unit: Unit) -> str:
    words = [name if p == 1 else f"{name}^{p}" for name, p in zip(_BASE, unit.powers) if p]
    return " ".join(words) or "1"


def as_unit(text: str | Unit | None) -> Unit | None:
    """A unit from its text; None: any unit fits.

    Raises:
        ModelError: it is none that is known.
    """
    if text is None or isinstance(text, Unit):
        return text
    if not isinstance(text, str):
        raise ModelError(f"unit: expected a text such as 'N m/A', got {text!r}")
    return _parsed(text)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Unit:
    if not text.strip():
        return Unit("", 1.0, _NOTHING)
    factor, powers, at = _product(text, 0, 0)
    if at != len(text):
        raise _unknown(text, at)
    return Unit(text, factor, powers)


def _product(text: str, at: int, depth: int) -> tuple[float, _Powers, int]:
    factor, powers, sign, found = 1.0, _NOTHING, 1, False
    while at < len(text.rstrip()):
        match = _FACTOR.match(text, at)
        if match is None:
            raise _unknown(text, at)
        symbol, exponent, mark = match.groups()
        if mark == ")":
            if not depth or sign < 0 or not found:
                raise _unknown(text, at)
            return factor, powers, match.end()
        at = match.end()
        if mark == "/":
            if sign < 0 or not found:
                raise _unknown(text, at)
            sign = -1
            continue
        if mark == "(":
            f, p, at = _product(text, at, depth + 1)
            power = sign
        else:
            f, p = _known(symbol, text, at)
            power = sign * int(exponent or 1)
        try:
            factor *= f**power
        except OverflowError:
            factor = math.inf
        if not 0.0 < factor < math.inf:
            raise _unknown(text, at)
        powers = tuple(a + power * b for a, b in zip(powers, p))
        sign, found = 1, True
    if depth or sign < 0:
        raise _unknown(text, at)
    return factor, powers, len(text)


def _known(symbol: str, text: str, at: int) -> tuple[float, _Powers]:
    if symbol in _UNITS:
        return _UNITS[symbol]
    prefix, rest = symbol[0], symbol[1:]
    if prefix in _PREFIXES and rest in _UNITS and rest not in ("1", "%", "min", "h", "rpm", "deg", "rev"):
        factor, powers = _UNITS[rest]
        return _PREFIXES[prefix] * factor, powers
    raise _unknown(text, at)


def _unknown(text: str, at: int) -> ModelError:
    return ModelError(
        f"unit {text!r}: not understood near {text[max(0, at - 4) : at + 4]!r}; expected a product such as 'N m/A' or "
        f"'J/(kg K)' of {', '.join(_UNITS)}, with prefixes {', '.join(_PREFIXES)}"
    )
