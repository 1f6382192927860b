"""Dual numbers in compiled code: kernels that carry exact derivatives along seven directions.

`dual_callback` makes of a callback another one, of the same source, whose float fields are dual numbers: lane 0 is the
value, lanes 1 to 7 are its derivatives. `dual_struct` makes the structs that it reads.
"""

from kido.jit.duals.functions import constant_is, dual_callback, replaced_by
from kido.jit.duals.structs import DIRECTIONS, DualStructs, Part

__all__ = ["DIRECTIONS", "DualStructs", "Part", "constant_is", "dual_callback", "replaced_by"]
