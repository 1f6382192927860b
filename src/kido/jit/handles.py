"""Handles in compiled code: a container's header address, whose fields index as arrays.

An element access is one load or store at a constant or computed offset from the field's address. It is told
apart from accesses to all other fields, so that the optimiser keeps in registers what a store to another
field cannot change. Indices are not negative: there is no wrap-around.

A handle has a target: "scalar", one state; "lanes", whose float fields read and write lanes; "threads", whose
float fields are those of one of many states side by side, as neighbouring GPU threads want them.
"""

from __future__ import annotations

import operator
import zlib

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
)
from numba.core.imputils import lower_constant
from numba.core.typing.templates import AttributeTemplate
from numba.np.arrayobj import make_array, populate_array

from kido.jit.lanes import LANES, lanes_type
from kido.jit.schema import ALIGNMENT, DEBUG, FIRST_FIELD, SAMPLES, WORDS_PER_FIELD, Schema

_I64 = ir.IntType(64)
_ELEMENT = {"i": types.int64, "f": types.float64}


class SchemaType(types.Type):
    """Numba's type of a `Schema` constant."""

    def __init__(self, schema: Schema):
        self.schema = schema
        super().__init__(f"Schema:{schema.name}{schema.key}")


class HandleType(types.Type):
    """Numba's type of a handle: the fields of one schema behind one pointer."""

    def __init__(self, name: str, key: tuple[tuple[str, str, tuple[int, ...]], ...], target: str = "scalar"):
        self.schema, self.target = name, target
        self.fields = {f: (kind, dims) for f, kind, dims in key}
        self.position = {f: i for i, (f, _, _) in enumerate(key)}
        super().__init__(f"Handle[{target}]:{name}:{zlib.crc32(repr(key).encode()):x}")

    def array_type(self, field: str) -> types.Array:
        kind, dims = self.fields[field]
        return FieldType(f"{self.schema}.{field}", kind, dims, self.target)


class FieldType(types.Array):
    """Numba's type of one field of a handle.

    Its elements overlap with those of no other field, which the optimiser is told; sizes that the schema
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


def _element(context, builder, array_type, value, indices):
    """Pointer to an element, and the access tag by which two fields never overlap."""
    array = make_array(array_type)(context, builder, value)
    shape = cgutils.unpack_tuple(builder, array.shape)
    position = indices[0]
    for size, index in zip(shape[1:], indices[1:], strict=True):
        position = builder.add(builder.mul(position, size, flags=("nsw",)), index, flags=("nsw",))
    if array_type.target == "threads":
        samples = builder.sdiv(array.itemsize, _I64(8))
        position = builder.mul(position, samples, flags=("nsw",))
    module = builder.module
    root = module.add_metadata(["kido"])
    node = module.add_metadata([array_type.field, root, ir.Constant(_I64, 0)])
    tag = module.add_metadata([node, node, ir.Constant(_I64, 0)])
    return builder.gep(array.data, [position], inbounds=True), tag


def _indices(context, builder, type_, value):
    if isinstance(type_, types.BaseTuple):
        parts, kinds = cgutils.unpack_tuple(builder, value), list(type_)  # type: ignore[arg-type]
    else:
        parts, kinds = [value], [type_]
    return [context.cast(builder, v, k, types.intp) for v, k in zip(parts, kinds, strict=True)]


@lower_builtin(operator.getitem, FieldType, types.Integer)
@lower_builtin(operator.getitem, FieldType, types.BaseTuple)
def _get_element(context, builder, signature, args):
    at = _indices(context, builder, signature.args[1], args[1])
    pointer, tag = _element(context, builder, signature.args[0], args[0], at)
    loaded = builder.load(pointer, align=signature.args[0].alignment)
    loaded.set_metadata("tbaa", tag)
    return loaded


@lower_builtin(operator.setitem, FieldType, types.Integer, types.Any)
@lower_builtin(operator.setitem, FieldType, types.BaseTuple, types.Any)
def _set_element(context, builder, signature, args):
    array_type, index_type, value_type = signature.args
    at = _indices(context, builder, index_type, args[1])
    pointer, tag = _element(context, builder, array_type, args[0], at)
    value = context.cast(builder, args[2], value_type, array_type.dtype)
    stored = builder.store(value, pointer, align=array_type.alignment)
    stored.set_metadata("tbaa", tag)
    return context.get_dummy_value()


@typeof_impl.register(Schema)
def _typeof_schema(value, context):
    return SchemaType(value)


register_model(SchemaType)(models.OpaqueModel)


@lower_constant(SchemaType)
def _schema_constant(context, builder, type_, value):
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
        if attr in value.fields:
            return value.array_type(attr)
        return None


@lower_getattr_generic(HandleType)
def _handle_field(context, builder, type_, value, name):
    array_type = type_.array_type(name)
    first = FIRST_FIELD + WORDS_PER_FIELD * type_.position[name]
    handle = cgutils.create_struct_proxy(type_)(context, builder, value)
    header = handle.header

    def word(index):
        # The header is written once, so the optimiser may keep what it loaded.
        loaded = builder.load(builder.gep(header, [ir.Constant(_I64, index)]))
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    shape = [ir.Constant(_I64, n) if n else word(first + 1 + k) for k, n in enumerate(array_type.dims)]
    address, itemsize = word(first), _I64(8)
    if array_type.target == "lanes":
        itemsize = _I64(8 * LANES)
    elif array_type.target == "threads":
        itemsize = builder.mul(word(SAMPLES), _I64(8))
        address = builder.add(address, builder.mul(handle.sample, _I64(8)))
    strides = [itemsize]
    for size in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], size))
    array = make_array(array_type)(context, builder)
    populate_array(
        array,
        data=builder.inttoptr(address, array.data.type),
        shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, strides),
        itemsize=itemsize,
        meminfo=None,
    )
    return array._getvalue()


def _make_handle(context, builder, type_, schema, address, sample=None):
    handle = cgutils.create_struct_proxy(type_)(context, builder)
    handle.header = builder.inttoptr(address, _I64.as_pointer())
    if sample is not None:
        handle.sample = sample
    elif DEBUG:
        mark = ir.Constant(_I64, schema.mark)
        with builder.if_then(builder.icmp_signed("!=", builder.load(handle.header), mark), likely=False):
            message = f"the address is not that of a living {schema.name} container"
            context.call_conv.return_user_exc(builder, RuntimeError, (message,))
    return handle._getvalue()


@intrinsic
def view(typing_context, schema, address):
    """The container at `address` as a handle whose fields read and write as arrays."""
    if not isinstance(schema, SchemaType):
        return None
    handle = HandleType(schema.schema.name, schema.schema.key)

    def generate(context, builder, signature, args):
        return _make_handle(context, builder, handle, schema.schema, args[1])

    return handle(schema, types.int64), generate


@intrinsic
def lanes_view(typing_context, schema, address):
    """The container of `LANES` samples at `address` as a handle whose float fields read and write as lanes."""
    if not isinstance(schema, SchemaType):
        return None
    handle = HandleType(schema.schema.name, schema.schema.key, "lanes")

    def generate(context, builder, signature, args):
        return _make_handle(context, builder, handle, schema.schema, args[1])

    return handle(schema, types.int64), generate


@intrinsic
def thread_view(typing_context, schema, address, sample):
    """One sample of the container at `address`: a handle whose float fields read and write as its own arrays."""
    if not isinstance(schema, SchemaType):
        return None
    handle = HandleType(schema.schema.name, schema.schema.key, "threads")

    def generate(context, builder, signature, args):
        return _make_handle(context, builder, handle, schema.schema, args[1], args[2])

    return handle(schema, types.int64, types.int64), generate
