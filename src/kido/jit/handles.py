"""Handles in compiled code: a struct's header address, whose fields are arrays, numbers, other structs and stages.

An element access is one load or store at a constant or computed offset from the field's address. It is told
apart from accesses to all other fields, so that the optimiser keeps in registers what a store to another
field cannot change. Indices are not negative: there is no wrap-around. A number is a word of the struct's block, a
reference the address of another header, a stage that of a function.

A handle has a target: "scalar", one state; "lanes", whose float fields read and write lanes; "threads", whose
float fields are those of one of many states side by side, as neighbouring GPU threads want them.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
)
from numba.core.imputils import lower_constant, lower_setattr_generic
from numba.core.target_extension import current_target
from numba.core.typing.templates import AttributeTemplate, signature

from kido.jit.device import bound
from kido.jit.lanes import lanes_type
from kido.jit.struct import ALIGNMENT, BLOCK, DEBUG, LANES, SAMPLES, StructKind

_I64 = ir.IntType(64)
_ELEMENT = {"i": types.int64, "f": types.float64}


class StructType(types.Type):
    """Numba's type of a struct class as a constant."""

    def __init__(self, struct: StructKind):
        self.struct = struct
        super().__init__(f"Struct:{struct.__name__}{struct.field_keys}")


class HandleType(types.Type):
    """Numba's type of a handle: the fields of one struct behind one pointer."""

    def __init__(self, struct: StructKind, target: str = "scalar"):
        self.struct, self.target = struct, target
        super().__init__(f"Handle[{target}]:{struct.__name__}:{struct.layout_hash:x}")

    def field_type(self, name: str) -> types.Type | None:
        """Type of an attribute; None: there is none of this name."""
        field = self.struct.fields.get(name)
        if field is None:
            return types.int64 if name == "address" else None
        if field.is_array:
            _, kind, dims = field.key
            return FieldType(f"{self.struct.__name__}.{name}", kind, dims, self.target)
        if field.kind == "r":
            return HandleType(field.struct, "lanes" if field.lanes else "scalar")
        if field.kind == "s":
            return StageType(bound(f"{self.struct.__name__}.{name}") if current_target() == "cuda" else None)
        return _ELEMENT[field.kind.lower()]


class StageType(types.Callable):
    """Numba's type of a stage: the address of a callback, called with up to four handles or integers.

    On a GPU it is the number of one of the callbacks that it may be (`kido.jit.device`).
    """

    def __init__(self, callbacks: tuple[tuple[int, Any], ...] | None = None):
        self.callbacks = callbacks
        names = "" if callbacks is None else [(number, c.symbol) for number, c in callbacks]
        super().__init__(f"Stage[{names}]")

    def get_call_type(self, context, args, kws):
        if kws or not 1 <= len(args) <= 4 or not all(isinstance(a, HandleType | types.Integer) for a in args):
            return None
        return signature(types.int64, *args, recvr=self)

    def get_call_signatures(self):
        return (), False

    def get_impl_key(self, sig):
        return StageType


class FieldType(types.Array):
    """Numba's type of one field of a handle.

    Its elements overlap with those of no other field, which the optimiser is told; sizes that the struct
    gives as numbers are constants; indices are not negative.
    """

    def __init__(self, field: str, kind: str, dims: tuple[int, ...], target: str = "scalar"):
        self.field, self.kind, self.dims = field, kind, dims
        self.target = target if kind == "f" else "scalar"
        element = lanes_type if self.target == "lanes" else _ELEMENT[kind]
        super().__init__(element, len(dims), "C", name=f"{field}{kind}{dims}{self.target}")

    @property
    def alignment(self) -> int:
        """Alignment of an element [bytes]."""
        return min(ALIGNMENT, 8 * LANES) if self.target == "lanes" else 8

    @property
    def key(self):
        return self.name

    def unify(self, typingctx, other):
        return None

    def can_convert_to(self, typingctx, other):
        return None


register_model(FieldType)(models.ArrayModel)


class _StageModel(models.PrimitiveModel):
    def __init__(self, manager, type_):
        super().__init__(manager, type_, _I64)


def _member(context, builder, type_, value, name):
    """One member of a value that is a struct, without Numba's detour over memory, which takes long to compile."""
    return builder.extract_value(value, context.data_model_manager[type_].get_field_position(name))


def _composed(context, builder, type_, **members):
    """A value that is a struct, of its members; those that are not given are zero."""
    model = context.data_model_manager[type_]
    value = ir.Constant(model.get_value_type(), None)
    for name, member in members.items():
        value = builder.insert_value(value, member, model.get_field_position(name))
    return value


def _tag(module, field):
    """The access tag by which two fields never overlap."""
    root = module.add_metadata(["kido"])
    node = module.add_metadata([field, root, ir.Constant(_I64, 0)])
    return module.add_metadata([node, node, ir.Constant(_I64, 0)])


def _element(context, builder, array_type, value, indices):
    """Pointer to an element, and the access tag by which two fields never overlap."""
    position = indices[0]
    if len(indices) > 1:
        shape = _member(context, builder, array_type, value, "shape")
        for axis, index in enumerate(indices[1:], start=1):
            size = builder.extract_value(shape, axis)
            position = builder.add(builder.mul(position, size, flags=("nsw",)), index, flags=("nsw",))
    if array_type.target == "threads":
        samples = builder.sdiv(_member(context, builder, array_type, value, "itemsize"), _I64(8))
        position = builder.mul(position, samples, flags=("nsw",))
    data = _member(context, builder, array_type, value, "data")
    return builder.gep(data, [position], inbounds=True), _tag(builder.module, array_type.field)


def indices(context, builder, type_, value):
    """The integers of an index, which is one or a tuple of them."""
    if isinstance(type_, types.Tuple | types.UniTuple):
        parts, kinds = cgutils.unpack_tuple(builder, value), list(type_.types)
    else:
        parts, kinds = [value], [type_]
    return [context.cast(builder, v, k, types.intp) for v, k in zip(parts, kinds, strict=True)]


@lower_builtin(operator.getitem, FieldType, types.Integer)
@lower_builtin(operator.getitem, FieldType, types.BaseTuple)
def _get_element(context, builder, signature, args):
    at = indices(context, builder, signature.args[1], args[1])
    pointer, tag = _element(context, builder, signature.args[0], args[0], at)
    loaded = builder.load(pointer, align=signature.args[0].alignment)
    loaded.set_metadata("tbaa", tag)
    return loaded


@lower_builtin(operator.setitem, FieldType, types.Integer, types.Any)
@lower_builtin(operator.setitem, FieldType, types.BaseTuple, types.Any)
def _set_element(context, builder, signature, args):
    array_type, index_type, value_type = signature.args
    at = indices(context, builder, index_type, args[1])
    pointer, tag = _element(context, builder, array_type, args[0], at)
    value = context.cast(builder, args[2], value_type, array_type.dtype)
    stored = builder.store(value, pointer, align=array_type.alignment)
    stored.set_metadata("tbaa", tag)
    return context.get_dummy_value()


@typeof_impl.register(StructKind)
def _typeof_struct(value, context):
    return StructType(value)


register_model(StructType)(models.OpaqueModel)
register_model(StageType)(_StageModel)


@lower_constant(StructType)
def _struct_constant(context, builder, type_, value):
    return context.get_dummy_value()


@register_model(HandleType)
class _HandleModel(models.StructModel):
    def __init__(self, manager, type_):
        members = [("header", types.CPointer(types.int64))]
        if type_.target == "threads":
            members.append(("sample", types.int64))
        super().__init__(manager, type_, members)


@infer_getattr
class _HandleAttribute(AttributeTemplate):
    key = HandleType

    def generic_resolve(self, value, attr):
        return value.field_type(attr)


@infer_getattr
class _StageAttribute(AttributeTemplate):
    key = StageType

    def resolve_address(self, value):
        return types.int64


@lower_getattr(StageType, "address")
def _stage_address(context, builder, type_, value):
    return value


def _word(builder, header, index):
    return builder.gep(header, [ir.Constant(_I64, index)])


def _fixed_word(builder, header, index):
    """A word that is written once, so that the optimiser may keep what it loaded."""
    loaded = builder.load(_word(builder, header, index))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _scalar_pointer(builder, type_, header, field):
    """Pointer to the word of a field in the block, and its access tag."""
    block = builder.inttoptr(_fixed_word(builder, header, BLOCK), _I64.as_pointer())
    pointer = _word(builder, block, field.word)
    if field.kind == "F":
        pointer = builder.bitcast(pointer, ir.DoubleType().as_pointer())
    return pointer, _tag(builder.module, f"{type_.struct.__name__}.{field.name}")


@lower_getattr_generic(HandleType)
def _handle_field(context, builder, type_, value, name):
    header = _member(context, builder, type_, value, "header")
    field = type_.struct.fields.get(name)
    if field is None:
        return builder.ptrtoint(header, _I64)
    if not field.is_array:
        pointer, tag = _scalar_pointer(builder, type_, header, field)
        loaded = builder.load(pointer)
        loaded.set_metadata("tbaa", tag)
        if field.kind == "r":
            return _make_handle(context, builder, type_.field_type(name), loaded)
        return loaded
    array_type = type_.field_type(name)
    shape = [
        ir.Constant(_I64, n) if n else _fixed_word(builder, header, field.word + 1 + k)
        for k, n in enumerate(array_type.dims)
    ]
    address, itemsize = _fixed_word(builder, header, field.word), _I64(8)
    if array_type.target == "lanes":
        itemsize = _I64(8 * LANES)
    elif array_type.target == "threads":
        itemsize = builder.mul(_fixed_word(builder, header, SAMPLES), _I64(8))
        address = builder.add(address, builder.mul(_member(context, builder, type_, value, "sample"), _I64(8)))
    strides, items = [itemsize], shape[0]
    for size in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], size))
        items = builder.mul(items, size)
    return _composed(
        context,
        builder,
        array_type,
        nitems=items,
        itemsize=itemsize,
        data=builder.inttoptr(address, context.get_value_type(types.CPointer(array_type.dtype))),
        shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, strides),
    )


@lower_setattr_generic(HandleType)
def _set_handle_field(context, builder, sig, args, name):
    type_, value_type = sig.args
    field = type_.struct.fields[name]
    if field.kind not in ("F", "I"):
        raise TypeError(f"{type_.struct.__name__}.{name} is no number: compiled code does not set it")
    header = _member(context, builder, type_, args[0], "header")
    pointer, tag = _scalar_pointer(builder, type_, header, field)
    value = context.cast(builder, args[1], value_type, type_.field_type(name))
    builder.store(value, pointer).set_metadata("tbaa", tag)


_CALLBACK = ir.FunctionType(_I64, [_I64] * 4)


def call_numbered(context, builder, callbacks, number, arguments):
    """Call the callback of a number with four integers; 0 if there is none of this number."""
    result = cgutils.alloca_once_value(builder, _I64(0))
    for known, callback in callbacks:
        with builder.if_then(builder.icmp_signed("==", number, _I64(known))):
            function = context.typing_context.resolve_value_type(callback.kernel)
            inner = context.typing_context.resolve_function_type(function, [types.int64] * 4, {})
            called = context.get_function(function, inner)
            builder.store(context.cast(builder, called(builder, arguments), inner.return_type, types.int64), result)
    return builder.load(result)


@lower_builtin(StageType, StageType, types.VarArg(types.Any))
def _call_stage(context, builder, sig, args):
    """An indirect call, unless no stage is set; on a GPU, a direct one of the callback whose number it is."""
    (stage_type, *kinds), (address, *values) = sig.args, args
    numbers = []
    for kind, value in zip(kinds, values, strict=True):
        if isinstance(kind, HandleType):
            numbers.append(builder.ptrtoint(_member(context, builder, kind, value, "header"), _I64))
        else:
            numbers.append(context.cast(builder, value, kind, types.int64))
    numbers += [_I64(0)] * (4 - len(numbers))
    if stage_type.callbacks is not None:
        return call_numbered(context, builder, stage_type.callbacks, address, numbers)
    result = cgutils.alloca_once_value(builder, _I64(0))
    with builder.if_then(builder.icmp_signed("!=", address, _I64(0)), likely=True):
        builder.store(builder.call(builder.inttoptr(address, _CALLBACK.as_pointer()), numbers), result)
    return builder.load(result)


def _make_handle(context, builder, type_, address, sample=None):
    members = {"header": builder.inttoptr(address, _I64.as_pointer())}
    if sample is not None:
        members["sample"] = sample
    return _composed(context, builder, type_, **members)


def _checked_handle(context, builder, type_, address):
    """A handle of an address that came from elsewhere."""
    made = _make_handle(context, builder, type_, address)
    if DEBUG:
        header = builder.inttoptr(address, _I64.as_pointer())
        mark = ir.Constant(_I64, type_.struct.first_word)
        with builder.if_then(builder.icmp_signed("!=", builder.load(header), mark), likely=False):
            message = f"the address is not that of a living {type_.struct.__name__}"
            context.call_conv.return_user_exc(builder, RuntimeError, (message,))
    return made


@intrinsic
def view(typing_context, struct, address):
    """The struct at `address` as a handle whose fields read and write by name."""
    if not isinstance(struct, StructType):
        return None
    handle = HandleType(struct.struct)

    def generate(context, builder, signature, args):
        return _checked_handle(context, builder, handle, args[1])

    return handle(struct, types.int64), generate


@intrinsic
def lanes_view(typing_context, struct, address):
    """The struct of `LANES` samples at `address` as a handle whose float arrays read and write as lanes."""
    if not isinstance(struct, StructType):
        return None
    handle = HandleType(struct.struct, "lanes")

    def generate(context, builder, signature, args):
        return _checked_handle(context, builder, handle, args[1])

    return handle(struct, types.int64), generate


@intrinsic
def thread_view(typing_context, struct, address, sample):
    """One sample of the struct at `address`: a handle whose float arrays read and write as its own."""
    if not isinstance(struct, StructType):
        return None
    handle = HandleType(struct.struct, "threads")

    def generate(context, builder, signature, args):
        return _make_handle(context, builder, handle, args[1], args[2])

    return handle(struct, types.int64, types.int64), generate
