"""NumPy's array object as machine code sees it: where its parts lie, and the objects that code knows by address.

Where an array object looks otherwise than expected (another Python implementation, say), `LAYOUT_KNOWN` is false.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from kido.arrays import COPY
from kido.jit.image import know

# Offsets in NumPy's array object, part of its stable binary interface.
TYPE, DATA, NDIM, SHAPE, BASE, DTYPE, FLAGS = 8, 16, 24, 32, 48, 56, 64
BYTE_ORDER, TYPE_NUMBER = 26, 28  # in its dtype
READABLE, WRITEABLE = 0x0001 | 0x0100, 0x0400  # C-contiguous and aligned
DOUBLE = 12  # NumPy's number of float64
_PLACE_OF_NEW = 93  # PyArray_New in NumPy's table of functions, part of its stable binary interface
_FLOAT64 = np.dtype(np.float64)


def _layout_is_known() -> bool:
    probe = np.zeros((3, 3))[:2]

    def word(offset: int, kind: Any = ctypes.c_int64) -> int:
        return kind.from_address(id(probe) + offset).value

    flags = word(FLAGS, ctypes.c_int32) if probe.__sizeof__() > FLAGS else 0
    return (
        flags & (READABLE | WRITEABLE) == READABLE | WRITEABLE
        and word(TYPE) == id(np.ndarray)
        and word(DATA) == probe.ctypes.data
        and word(NDIM, ctypes.c_int32) == 2
        and word(BASE) == id(probe.base)
        and word(DTYPE) == id(_FLOAT64)
        and tuple((ctypes.c_int64 * 2).from_address(word(SHAPE))) == (2, 3)
        and ctypes.c_int32.from_address(id(_FLOAT64) + TYPE_NUMBER).value == _FLOAT64.num
        and ctypes.c_char.from_address(id(_FLOAT64) + BYTE_ORDER).value == _FLOAT64.byteorder.encode()
    )


LAYOUT_KNOWN = _layout_is_known()


def _array_maker() -> int:
    """Address of NumPy's function that makes an array; 0: it is none that makes one."""
    try:
        from numpy._core._multiarray_umath import _ARRAY_API as capsule
    except ImportError:
        return 0
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer_of(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    return table[_PLACE_OF_NEW] or 0


_NEW = _array_maker() if LAYOUT_KNOWN else 0
ARRAYS_CAN_BE_MADE = _NEW != 0

know("copy", id(COPY))
know("ndarray", id(np.ndarray))
know("new_array", _NEW)
know("TypeError", id(TypeError))
