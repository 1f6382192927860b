"""What is done with Python objects in every call, as machine code: setting attributes, copying arrays.

`FixedAttributes.__setattr__` is replaced by code that does the same and leaves refusals to `kido.attributes.refuse`:
setting an attribute costs what it would without a check. `read_only_copy` makes the arrays that attributes give. The
code is made when the process starts, in milliseconds. Where objects do not look as expected (another implementation of
Python, no global lock), or functions are missing, Python functions do the same.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from llvmlite import binding, ir

from kido.arrays import fixed
from kido.attributes import FixedAttributes, refuse
from kido.jit.compile import JIT_DISABLED
from kido.jit.direct import DATA, DTYPE, FLAGS, LAYOUT_KNOWN, NDIM, NEW_ARRAY, READABLE, SHAPE, TYPE, WRITEABLE

A = TypeVar("A", bound=np.ndarray)

_FASTCALL, _DESCRIPTOR_SET, _SETTABLE = 0x80, 55, sys.intern("_settable")  # of Python's stable binary interface
_FLOAT64 = np.dtype(np.float64)
_I32, _I64, _OBJECT = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
_FUNCTIONS = {  # of the interpreter: result and arguments
    "_PyType_Lookup": (_OBJECT, [_OBJECT] * 2),
    "PyType_GetSlot": (_OBJECT, [_OBJECT, _I32]),
    "PyUnicode_ReadChar": (_I32, [_OBJECT, _I64]),
    "PySet_Contains": (_I32, [_OBJECT] * 2),
    "PyObject_GenericSetAttr": (_I32, [_OBJECT] * 3),
    "PyObject_Vectorcall": (_OBJECT, [_OBJECT, _OBJECT.as_pointer(), _I64, _OBJECT]),
    "PyErr_ExceptionMatches": (_I32, [_OBJECT]),
    "PyErr_Fetch": (ir.VoidType(), [_OBJECT.as_pointer()] * 3),
    "PyErr_Restore": (ir.VoidType(), [_OBJECT] * 3),
    "Py_DecRef": (ir.VoidType(), [_OBJECT]),
    "Py_IncRef": (ir.VoidType(), [_OBJECT]),
}


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


def _is_known() -> bool:
    """Whether objects and types look as the code expects."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if not all(hasattr(ctypes.pythonapi, name) for name in _FUNCTIONS):
        return False
    slot = ctypes.pythonapi.PyType_GetSlot
    slot.restype, slot.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    probe = object()
    return (
        ctypes.c_void_p.from_address(id(probe) + TYPE).value == id(object)
        and bool(slot(property, _DESCRIPTOR_SET))
        and not slot(type(refuse), _DESCRIPTOR_SET)
    )


_NEW_ARRAY_TYPE = ir.FunctionType(
    _OBJECT, [_OBJECT, _I32, _I64.as_pointer(), _I32, _OBJECT, _OBJECT, _I32, _I32, _OBJECT]
)
_DOUBLE = 12  # NumPy's number of float64


def _copy_in_python(kind: type[A], array: Any) -> A:
    """`read_only_copy` in Python."""
    made: Any = np.array(array)
    return fixed(made if kind is np.ndarray else made.view(kind))


class _Function:
    """A function of the interpreter's METH_FASTCALL kind in the making: (object, arguments, their number)."""

    def __init__(self, module: ir.Module, name: str):
        made = ir.Function(module, ir.FunctionType(_OBJECT, [_OBJECT, _OBJECT.as_pointer(), _I64]), name)
        self.of, self.args, self.number = made.args
        self.builder = ir.IRBuilder(made.append_basic_block())

    def constant(self, item: Any) -> Any:
        """An object, which must live as long as the process."""
        return _I64(id(item)).inttoptr(_OBJECT)

    def call(self, name: str, *values: Any) -> Any:
        """Call a function of the interpreter."""
        result, taken = _FUNCTIONS[name]
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        return self.call_at(_I64(address), ir.FunctionType(result, taken), values)

    def call_at(self, address: Any, kind: ir.FunctionType, values: Any) -> Any:
        """Call a function at an address."""
        return self.builder.call(self.builder.inttoptr(address, kind.as_pointer()), values)

    def argument(self, k: int) -> Any:
        """An argument."""
        return self.builder.load(self.builder.gep(self.args, [_I64(k)]))

    def field(self, item: Any, offset: int, kind: Any) -> Any:
        """Pointer to a field of an object."""
        return self.builder.bitcast(self.builder.gep(item, [_I64(offset)]), kind.as_pointer())

    def word(self, item: Any, offset: int, kind: Any = _OBJECT) -> Any:
        """A field of an object."""
        return self.builder.load(self.field(item, offset, kind))

    def when(self, a: Any, relation: str, b: Any, likely: bool = True) -> Any:
        """A context: what follows is done if a == b, say."""
        compare = self.builder.icmp_unsigned if isinstance(a.type, ir.PointerType) else self.builder.icmp_signed
        return self.builder.if_then(compare(relation, a, b), likely=likely)


def _write_setattr(module: ir.Module) -> None:
    """`FixedAttributes.__setattr__`."""
    f = _Function(module, "set_attribute")
    builder, of, nothing = f.builder, f.of, ir.Constant(_OBJECT, None)
    room = builder.alloca(_OBJECT, 3)
    errors = [builder.alloca(_OBJECT) for _ in range(3)]

    def refused(arguments: int = 3) -> Any:
        """What `refuse` returns: None, or nothing where it raises."""
        return f.call("PyObject_Vectorcall", f.constant(refuse), room, _I64(arguments), nothing)

    def end(error: Any) -> None:
        with f.when(error, "!=", _I32(0), likely=False):
            builder.ret(nothing)
        f.call("Py_IncRef", f.constant(None))
        builder.ret(f.constant(None))

    builder.store(of, room)
    with f.when(f.number, "!=", _I64(2), likely=False):
        builder.ret(refused(1))
    name, value = f.argument(0), f.argument(1)
    builder.store(name, builder.gep(room, [_I64(1)]))
    builder.store(value, builder.gep(room, [_I64(2)]))
    first = f.call("PyUnicode_ReadChar", name, _I64(0))
    with f.when(first, "==", _I32(-1), likely=False):  # no text, or an empty one
        f.call("PyErr_Restore", nothing, nothing, nothing)
        builder.ret(refused())
    kind = f.word(of, TYPE)
    found = f.call("_PyType_Lookup", kind, name)
    with f.when(found, "!=", nothing):
        write = f.call("PyType_GetSlot", f.word(found, TYPE), _I32(_DESCRIPTOR_SET))
        with f.when(write, "!=", nothing):
            f.call("Py_IncRef", found)  # a property may replace itself
            setter = ir.FunctionType(_I32, [_OBJECT] * 3).as_pointer()
            error = builder.call(builder.bitcast(write, setter), [found, of, value])
            f.call("Py_DecRef", found)
            with f.when(error, "!=", _I32(0), likely=False):
                unset = f.call("PyErr_ExceptionMatches", f.constant(AttributeError))
                with f.when(unset, "!=", _I32(0)):
                    f.call("PyErr_Fetch", *errors)
                    done, raised = refused(), [builder.load(e) for e in errors]
                    with f.when(done, "!=", nothing):
                        f.call("Py_DecRef", done)
                        f.call("PyErr_Restore", *raised)
                        builder.ret(nothing)
                    for e in raised:
                        f.call("Py_DecRef", e)
            end(error)
    with f.when(first, "!=", _I32(ord("_"))):
        has = f.call("PySet_Contains", f.call("_PyType_Lookup", kind, f.constant(_SETTABLE)), name)
        with f.when(has, "!=", _I32(1), likely=False):
            builder.ret(refused())
    end(f.call("PyObject_GenericSetAttr", of, name, value))


def _write_copy(module: ir.Module) -> None:
    """`read_only_copy`: (nothing, [type, array], 2)."""
    f = _Function(module, "read_only_copy")
    builder, nothing = f.builder, ir.Constant(_OBJECT, None)
    with f.when(f.number, "==", _I64(2)):
        kind, array = f.argument(0), f.argument(1)
        with f.when(f.word(array, TYPE), "==", f.constant(np.ndarray)):
            flags = builder.and_(f.word(array, FLAGS, _I32), _I32(READABLE))
            with f.when(f.word(array, DTYPE), "==", f.constant(_FLOAT64)), f.when(flags, "==", _I32(READABLE)):
                rank, shape = f.word(array, NDIM, _I32), f.word(array, SHAPE, _I64.as_pointer())
                given = [kind, rank, shape, _I32(_DOUBLE), nothing, nothing, _I32(0), _I32(0), nothing]
                made = f.call_at(_I64(NEW_ARRAY), _NEW_ARRAY_TYPE, given)
                with f.when(made, "==", nothing, likely=False):
                    builder.ret(nothing)
                size, k = builder.alloca(_I64), builder.alloca(_I64)
                builder.store(_I64(8), size)
                builder.store(builder.zext(rank, _I64), k)
                loop, after = (builder.function.append_basic_block() for _ in range(2))
                builder.cbranch(builder.icmp_signed(">", builder.load(k), _I64(0)), loop, after)
                builder.position_at_end(loop)
                builder.store(builder.sub(builder.load(k), _I64(1)), k)
                length = builder.load(builder.gep(shape, [builder.load(k)]))
                builder.store(builder.mul(builder.load(size), length), size)
                builder.cbranch(builder.icmp_signed(">", builder.load(k), _I64(0)), loop, after)
                builder.position_at_end(after)
                copy = module.declare_intrinsic("llvm.memcpy", [_OBJECT, _OBJECT, _I64])
                builder.call(copy, [f.word(made, DATA), f.word(array, DATA), builder.load(size), ir.IntType(1)(0)])
                place = f.field(made, FLAGS, _I32)
                builder.store(builder.and_(builder.load(place), _I32(~WRITEABLE)), place)
                builder.ret(made)
    builder.ret(f.call("PyObject_Vectorcall", f.constant(_copy_in_python), f.args, f.number, nothing))


_KEPT: list[Any] = []  # what compiled code and the interpreter know by address


def _functions() -> tuple[Any, Any]:
    """`__setattr__` and `read_only_copy` as machine code."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module = ir.Module("kido_objects")
    _write_setattr(module)
    _write_copy(module)
    target = binding.Target.from_default_triple().create_target_machine(opt=1, jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(str(module)), target)
    engine.finalize_object()
    methods = [
        _Method(name, engine.get_function_address(code), _FASTCALL, doc)
        for name, code, doc in (
            (b"__setattr__", "set_attribute", None),
            (b"read_only_copy", "read_only_copy", b"A copy of a float64 array that others do not write to."),
        )
    ]
    _KEPT.extend([engine, *methods])
    of_class, alone = ctypes.pythonapi.PyDescr_NewMethod, ctypes.pythonapi.PyCFunction_NewEx
    of_class.restype, of_class.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
    alone.restype, alone.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    return of_class(FixedAttributes, ctypes.addressof(methods[0])), alone(ctypes.addressof(methods[1]), None, None)


if TYPE_CHECKING:

    def read_only_copy(kind: type[A], array: np.ndarray) -> A:
        """A copy of a float64 array as an array of a type, which others do not write to."""
        ...

elif not JIT_DISABLED and LAYOUT_KNOWN and NEW_ARRAY and _is_known():
    _setattr, read_only_copy = _functions()
    type.__setattr__(FixedAttributes, "__setattr__", _setattr)
else:
    read_only_copy = _copy_in_python
