"""Noise that is a function of a key and a number: no order and no thread changes it.

Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3 (2011), Philox with 4 words of 32 bits
and 10 rounds; normal numbers by Box and Muller.
"""

from __future__ import annotations

import hashlib
import math

from kido.jit import kernel
from kido.math.elementary import log
from kido.math.trig import sincos

_MASK = 0xFFFFFFFF
_M0, _M1 = 0xD2511F53, 0xCD9E8D57
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_TAU = 2.0 * math.pi


@kernel
def philox(k0, k1, c0, c1):
    """Four words of 32 bits for the key (k0, k1) and the counter (c0, c1, 0, 0)."""
    x0, x1, x2, x3 = c0, c1, 0, 0
    for _ in range(10):
        p, q = _M0 * x0, _M1 * x2
        # The product fills 64 bits: its upper half is found whatever its sign.
        x0, x1, x2, x3 = ((q >> 32) & _MASK) ^ x1 ^ k0, q & _MASK, ((p >> 32) & _MASK) ^ x3 ^ k1, p & _MASK
        k0, k1 = (k0 + _W0) & _MASK, (k1 + _W1) & _MASK
    return x0, x1, x2, x3


@kernel
def normal(key, number):
    """Standard normal number of a key, a whole number of 62 bits, and a number that counts."""
    k, n = int(key), int(number)  # Python's own, where nothing is compiled
    a, b, c, d = philox(k & _MASK, (k >> 32) & _MASK, n & _MASK, (n >> 32) & _MASK)
    # 53 bits, above 0 and below 1.
    u = ((a >> 5) * 67108864.0 + (b >> 6) + 0.5) * (1.0 / 9007199254740992.0)
    v = ((c >> 5) * 67108864.0 + (d >> 6) + 0.5) * (1.0 / 9007199254740992.0)
    _, cosine = sincos(_TAU * v)
    return math.sqrt(-2.0 * log(u)) * cosine


def key_of(seed: int, path: str) -> int:
    """Key of a source of noise: 62 bits of a hash of the seed and its path."""
    digest = hashlib.blake2b(f"{seed}\n{path}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 2
