"""Batch-first arrays in compiled code: the rows of the samples that lanes, or a GPU thread, stand for.

`lanes_samples(array, first)` of an array (B, ...) reads and writes samples first, first + 1, ... as one array
(...) of lanes. Samples beyond the last are the last: what they compute is equal, so writing it again changes
nothing, and an array of one sample stands for all.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import infer_getattr, intrinsic, lower_builtin, lower_getattr, models, register_model
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, signature
from numba.np.arrayobj import make_array

from kido.jit.handles import FieldType, indices
from kido.jit.lanes import VECTOR, LanesType, infer_global, lanes_type
from kido.jit.struct import LANES

_I32, _I64 = ir.IntType(32), ir.IntType(64)


class SamplesType(types.Type):
    """Numba's type of one or `LANES` samples of a batch-first float64 array; `ndim` is that of a sample."""

    def __init__(self, ndim: int, lanes: bool):
        self.ndim, self.lanes = ndim, lanes
        self.dtype = lanes_type if lanes else types.float64
        super().__init__(f"Samples[{ndim},{self.dtype}]")


@register_model(SamplesType)
class _SamplesModel(models.StructModel):
    def __init__(self, manager, type_):
        members = [
            ("data", types.CPointer(types.float64)),
            ("offsets", types.UniTuple(types.int64, LANES if type_.lanes else 1)),  # of the samples, in elements
            ("shape", types.UniTuple(types.int64, type_.ndim)),
        ]
        super().__init__(manager, type_, members)


def _window(array, lanes):
    if not isinstance(array, types.Array) or array.ndim < 2:
        return None
    window = SamplesType(array.ndim - 1, lanes)

    def generate(context, builder, sig, args):
        given = make_array(sig.args[0])(context, builder, args[0])
        count, *shape = cgutils.unpack_tuple(builder, given.shape)
        size = _I64(1)
        for n in shape:
            size = builder.mul(size, n)
        last = builder.sub(count, _I64(1))
        made = cgutils.create_struct_proxy(window)(context, builder)
        made.data = given.data
        offsets = []
        for j in range(LANES if lanes else 1):
            row = builder.add(args[1], _I64(j))
            row = builder.select(builder.icmp_signed("<", row, last), row, last)
            offsets.append(builder.mul(row, size))
        made.offsets = cgutils.pack_array(builder, offsets)
        made.shape = cgutils.pack_array(builder, shape)
        return made._getvalue()

    return window(array, types.int64), generate


@intrinsic
def lanes_samples(typing_context, array, first):
    """Samples first, first + 1, ... of a batch-first array, as an array of lanes."""
    return _window(array, True)


@intrinsic
def thread_samples(typing_context, array, sample):
    """One sample of a batch-first array."""
    return _window(array, False)


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args, kws):
        array, index = args
        if isinstance(array, SamplesType) and _is_index(index, array.ndim):
            return signature(array.dtype, array, index)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args, kws):
        array, index, value = args
        known = isinstance(value, LanesType | types.Float | types.Integer)
        if isinstance(array, SamplesType) and _is_index(index, array.ndim) and known:
            return signature(types.none, array, index, array.dtype)
        return None


def _is_index(index, ndim):
    if isinstance(index, types.Integer):
        return ndim == 1
    return (
        isinstance(index, types.Tuple | types.UniTuple)
        and len(index) == ndim
        and all(isinstance(k, types.Integer) for k in index.types)
    )


def _pointers(context, builder, array_type, value, index_type, index):
    """Pointers to the element in each sample, and the tag that keeps them apart from fields."""
    samples = cgutils.create_struct_proxy(array_type)(context, builder, value)
    at = indices(context, builder, index_type, index)
    shape = cgutils.unpack_tuple(builder, samples.shape)
    position = at[0]
    for size, k in zip(shape[1:], at[1:], strict=True):
        position = builder.add(builder.mul(position, size, flags=("nsw",)), k, flags=("nsw",))
    start = builder.gep(samples.data, [position], inbounds=True)
    module = builder.module
    root = module.add_metadata(["kido"])
    node = module.add_metadata(["samples", root, _I64(0)])
    tag = module.add_metadata([node, node, _I64(0)])
    offsets = cgutils.unpack_tuple(builder, samples.offsets)
    return [builder.gep(start, [offset], inbounds=True) for offset in offsets], tag


@lower_builtin(operator.getitem, SamplesType, types.Integer)
@lower_builtin(operator.getitem, SamplesType, types.BaseTuple)
def _gather(context, builder, sig, args):
    pointers, tag = _pointers(context, builder, sig.args[0], args[0], sig.args[1], args[1])
    values = [builder.load(pointer) for pointer in pointers]
    for value in values:
        value.set_metadata("tbaa", tag)
    if not sig.args[0].lanes:
        return values[0]
    vector = ir.Constant(VECTOR, ir.Undefined)
    for j, value in enumerate(values):
        vector = builder.insert_element(vector, value, _I32(j))
    return vector


@lower_builtin(operator.setitem, SamplesType, types.Integer, types.Any)
@lower_builtin(operator.setitem, SamplesType, types.BaseTuple, types.Any)
def _scatter(context, builder, sig, args):
    array_type = sig.args[0]
    pointers, tag = _pointers(context, builder, array_type, args[0], sig.args[1], args[1])
    value = context.cast(builder, args[2], sig.args[2], array_type.dtype)
    for j, pointer in enumerate(pointers):
        one = builder.extract_element(value, _I32(j)) if array_type.lanes else value
        builder.store(one, pointer).set_metadata("tbaa", tag)
    return context.get_dummy_value()


@infer_getattr
class _SamplesAttribute(AttributeTemplate):
    key = SamplesType

    def resolve_shape(self, value):
        """Shape of one sample."""
        return types.UniTuple(types.int64, value.ndim)


@lower_getattr(SamplesType, "shape")
def _shape(context, builder, type_, value):
    return cgutils.create_struct_proxy(type_)(context, builder, value).shape


@intrinsic
def clear(typing_context, array):
    """Set all elements of samples of a batch, of a field or of an entry's argument to zero."""
    if not isinstance(array, FieldType | SamplesType):
        return None

    def generate(context, builder, sig, args):
        if isinstance(array, SamplesType):
            given = cgutils.create_struct_proxy(array)(context, builder, args[0])
            starts = [builder.gep(given.data, [k]) for k in cgutils.unpack_tuple(builder, given.offsets)]
            itemsize = _I64(8)
        else:
            given = make_array(array)(context, builder, args[0])
            starts, itemsize = [given.data], given.itemsize
        count = _I64(1)
        for n in cgutils.unpack_tuple(builder, given.shape):
            count = builder.mul(count, n)
        if isinstance(array, FieldType) and array.target == "threads":  # its elements are apart
            apart = builder.sdiv(itemsize, _I64(8))
            with cgutils.for_range(builder, count) as loop:
                pointer = builder.gep(starts[0], [builder.mul(loop.index, apart)])
                builder.store(ir.Constant(ir.DoubleType(), 0.0), pointer)
        else:
            for start in starts:
                cgutils.memset(builder, start, builder.mul(count, itemsize), 0)
        return context.get_dummy_value()

    return types.none(array), generate
