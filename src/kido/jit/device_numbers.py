"""`min` and `max` of numbers in code for a GPU.

Numba has them as functions of any number of arguments, which its compiler for CUDA does not take.
"""

from __future__ import annotations

import operator
from typing import Any

from numba import types
from numba.core.typing.templates import AbstractTemplate, signature
from numba.cpython.builtins import do_minmax
from numba.cuda import cudadecl, cudaimpl

declared: Any = cudadecl.registry
lower: Any = cudaimpl.lower


def _define(function: Any, better: Any) -> None:
    class Best(AbstractTemplate):
        metadata = {"target": "cuda"}  # noqa: RUF012  (as Numba's own have it)

        def generic(self, args, kws):
            if kws or len(args) < 2 or not all(isinstance(a, types.Number) for a in args):
                return None
            unified = self.context.unify_types(*args)
            return None if unified is None else signature(types.unliteral(unified), *map(types.unliteral, args))

    declared.register_global(function)(Best)

    @lower(function, types.VarArg(types.Any))
    def best(context, builder, sig, args):
        return do_minmax(context, builder, sig.args, args, better)


_define(max, operator.gt)
_define(min, operator.lt)
