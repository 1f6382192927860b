"""Kernels are typed and lowered once, and become machine code only as a part of what calls them.

Numba compiles every function by itself: optimises it, makes its machine code and wrappers for calls from Python, and
then optimises it again within each caller. Only roots (entries and callbacks) are called from outside of compiled code.
So a kernel is kept as its raw LLVM code, in memory and in the cache; a root links the raw code of all that it calls
and is optimised once, as a whole.
"""

from __future__ import annotations

import hashlib
import operator
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numba
from llvmlite import binding
from numba import types
from numba.core import dispatcher as numba_dispatcher
from numba.core import event
from numba.core.cgutils import normalize_ir_text
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, compile_extra, compile_result
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering
from numba.core.types.functions import BaseFunction

from kido.jit.cache import KernelCache, checked, write_checked
from kido.jit.lanes import call_intrinsic, lanes_type
from kido.jit.place import cache_directory
from kido.jit.progress import progress


class RawLibrary(JITCodeLibrary):
    """LLVM code as it was lowered, with references to the libraries that it calls, until a root is made of it."""

    identity = ""  # hash of all that it links, once it is in the cache
    root = ""  # the function that is called from outside
    packed = False  # whether straight code becomes vector instructions
    watchers: Any = ()  # called with its name and the optimised code

    def add_linking_library(self, library):
        """Note what is called; only libraries that Numba makes by itself are finished first."""
        if not isinstance(library, RawLibrary):
            library._ensure_finalized()
        self._linking_libraries.append(library)

    def add_ir_module(self, ir_module):
        """Add code without optimising it."""
        self._raise_if_finalized()
        module = binding.parse_assembly(normalize_ir_text(str(ir_module)))
        module.name = ir_module.name
        self.add_llvm_module(module)

    def add_llvm_module(self, ll_module):
        """Add code without optimising it."""
        ll_module.data_layout = self._codegen._data_layout
        self._final_module.link_in(ll_module)

    def called(self) -> list[Any]:
        """All libraries that this one calls, directly or not, each once, callers before what they call.

        In that order, as what nothing calls yet is not linked: processes name functions alike, and of two by one name
        the first is taken, which calls other libraries than the second.
        """
        seen: set[Any] = set()
        found: list[Any] = []

        def visit(library):
            for callee in reversed(library._linking_libraries):
                if callee not in seen:
                    seen.add(callee)
                    if isinstance(callee, RawLibrary) and not callee._finalized:
                        visit(callee)
                    found.append(callee)

        visit(self)
        return found[::-1]

    def _get_module_for_linking(self):
        """The raw code, unless this is a root already; in others it may stand many times, and vanish when inlined."""
        if self._finalized:
            return super()._get_module_for_linking()
        if self._shared_module is None:
            for function in self._final_module.functions:
                if not function.is_declaration and function.linkage == binding.Linkage.external:
                    function.linkage = binding.Linkage.linkonce_odr
            self._shared_module = self._final_module
        return self._shared_module

    def finalize(self):
        """Link, optimise and make machine code: what a root is for."""
        self._raise_if_finalized()
        for library in self.called():
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        module = self._final_module
        for value in (*module.functions, *module.global_variables) if self.root else ():
            if not value.is_declaration and value.name != self.root:
                # Without a symbol: loaders would take even a local one for what other libraries call by that name,
                # and optimisation may have changed what arguments it takes.
                value.linkage = binding.Linkage.private
        self._optimize_final_module()
        self._final_module.verify()
        for watch in self.watchers:
            watch(self.root, self._final_module)
        self._finalize_final_module()

    def _optimize_final_module(self):
        passes, builder = self._codegen._module_pass_manager(slp_vectorize=self.packed)
        passes.run(self._final_module, builder)


class _Lowering(Lower):
    """Numba's lowering, with products that are added or subtracted in the same expression fused: rounded once.

    An optimiser that may contract chooses by what it sees around: the same kernel would round otherwise in another
    root, in lanes, on another processor. Here the expression alone decides.
    """

    def lower_block(self, block):
        self._factors: dict[str, tuple[Any, Any, Any]] = {}  # of products of this block without a name, and their type
        return super().lower_block(block)

    def lower_assign(self, ty, inst):
        self._target = inst.target.name
        return super().lower_assign(ty, inst)

    def lower_binop(self, resty, expr, op):
        kind = self.fndesc.calltypes[expr].return_type
        if kind in (types.float64, lanes_type) and resty == kind:
            if op is operator.mul:
                if self._target.startswith("$"):
                    self._factors[self._target] = kind, self._operand(expr, 0), self._operand(expr, 1)
            elif op is operator.add or op is operator.sub:
                for place, var in enumerate((expr.lhs, expr.rhs)):
                    if var.name in self._factors:
                        return self._fused(kind, expr, op, place, *self._factors[var.name])
        return super().lower_binop(resty, expr, op)

    def _operand(self, expr, place):
        name = (expr.lhs, expr.rhs)[place].name
        taken = self.fndesc.calltypes[expr].args[place]
        return self.context.cast(self.builder, self.loadvar(name), self.typeof(name), taken)

    def _fused(self, kind, expr, op, place, factor_kind, *factors):
        a, b = (self.context.cast(self.builder, f, factor_kind, kind) for f in factors)
        other = self._operand(expr, 1 - place)
        if op is operator.sub:
            if place == 0:
                other = self.builder.fneg(other)
            else:
                a = self.builder.fneg(a)
        return call_intrinsic(self.context, self.builder, "fma", kind, (a, b, other))


@register_pass(mutates_CFG=False, analysis_only=False)
class _RawLowering(NativeLowering):
    """Numba's lowering into a library of this module."""

    _name = "kido_raw_lowering"

    @property
    def lowering_class(self):
        return _Lowering

    def run_pass(self, state):
        state.library = RawLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


class KernelCompiler(CompilerBase):
    """Numba's pipeline for compiled functions, with the lowering above."""

    def define_pipelines(self):
        """One pipeline; there is no object mode."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        places = [k for k, (made, _) in enumerate(pipeline.passes) if made is NativeLowering]
        pipeline.passes[places[0]] = (_RawLowering, "lowering without machine code")
        pipeline._finalized = False
        pipeline.finalize()
        return [pipeline]


class _Uncalled:
    """Stands where a function called from Python would be, and is the key under which Numba finds a kernel."""


_chosen = operator.attrgetter("_values")  # of Numba's options, those that are set


class _Flags(Flags):
    """Numba's options of a compilation, which it compares a thousand times for each function."""

    def __eq__(self, other):
        return self is other or (isinstance(other, Flags) and _chosen(self) == _chosen(other))

    def __hash__(self):
        return hash(frozenset(_chosen(self)))


@contextmanager
def _signatures_kept() -> Iterator[None]:
    """Meanwhile Numba looks for the implementation of an operator on given types once, not at each use of it."""
    find = BaseFunction.get_call_type
    if find.__module__ == __name__:
        yield
        return

    def get_call_type(self, context, args, kws):
        if kws:
            return find(self, context, args, kws)
        known = self.__dict__.setdefault("_kido_signatures", {})
        if args in known:
            found, implementation = known[args]
            self._impl_keys[found.args] = implementation  # another target may have put its own here meanwhile
            return found
        found = find(self, context, args, kws)
        if found is not None:
            known[args] = found, self._impl_keys[found.args]
        return found

    BaseFunction.get_call_type = get_call_type
    try:
        yield
    finally:
        BaseFunction.get_call_type = find


class FunctionCompiler(getattr(numba_dispatcher, "_FunctionCompiler")):  # noqa: B009  (unknown to type checkers)
    """Numba's compiler of one function, with the shortcuts above."""

    def _compile_core(self, args, return_type):
        flags = _Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        with _signatures_kept():
            return compile_extra(
                self.targetdescr.typing_context,
                self.targetdescr.target_context,
                self.py_func,
                args=args,
                return_type=return_type,
                flags=self._customize_flags(flags),
                locals=self.locals,
                pipeline_class=self.pipeline_class,
            )


class RawFunctionCompiler(FunctionCompiler):
    """Compiles kernels: no machine code, no wrappers."""

    def _customize_flags(self, flags):
        flags.no_compile = True
        flags.no_cpython_wrapper = True
        flags.no_cfunc_wrapper = True
        return flags

    def _compile_core(self, args, return_type):
        result = super()._compile_core(args, return_type)._replace(entry_point=_Uncalled())
        # Numba does this for what has machine code, and for what it loads from a cache.
        self.targetdescr.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


# Raw libraries of this process by the hash of their content, those that were read and those that were written.
_known: WeakValueDictionary[str, RawLibrary] = WeakValueDictionary()


def _store(name: str) -> Path:
    return cache_directory() / "raw" / name[:2] / name


def _identity(library: Any) -> str:
    """Write a library and all that it calls into the cache; returns the name it has there."""
    raw = isinstance(library, RawLibrary)
    if raw and library.identity:
        return library.identity
    called = [_identity(callee) for callee in library._linking_libraries] if raw else []
    content = pickle.dumps((library.name, called, library._get_module_for_linking().as_bitcode()))
    name = hashlib.sha256(content).hexdigest()
    if checked(_store(name)) is None:
        write_checked(_store(name), content)
    if raw:
        library.identity = name
        _known[name] = library
    return name


def _library(codegen: Any, name: str) -> RawLibrary:
    """The library of that name, read from the cache where this process does not have it.

    Raises:
        OSError: it is not there, or damaged.
    """
    known = _known.get(name)
    if known is not None:
        return known
    content = checked(_store(name))
    if content is None:
        raise OSError(f"{name}: no such code in the cache")
    label, called, bitcode = pickle.loads(content)
    library = RawLibrary(codegen, label)
    library._final_module = library._shared_module = binding.parse_bitcode(bitcode)
    library._linking_libraries = [_library(codegen, callee) for callee in called]
    library.identity = name
    _known[name] = library
    return library


class _RawCacheImpl(KernelCache._impl_class):
    """A kernel in the cache: the name of its code and what callers need to know of it."""

    def reduce(self, cres):
        cres.fndesc.typemap = cres.fndesc.calltypes = None
        return _identity(cres.library), cres.fndesc, cres.signature, cres.reload_init

    def rebuild(self, target_context, payload):
        identity, fndesc, signature, reload_init = payload
        for function in reload_init:
            function()
        return compile_result(
            target_context=target_context,
            entry_point=_Uncalled(),
            typing_context=target_context.typing_context,
            library=_library(target_context.codegen(), identity),
            fndesc=fndesc,
            signature=signature,
            objectmode=False,
            lifted=(),
            reload_init=reload_init,
        )

    def check_cachable(self, cres):
        return True


class RawCache(KernelCache):
    """The cache of kernels that have no machine code."""

    _impl_class = _RawCacheImpl
    part = "-raw"


def raw_dispatcher(function: Any, options: dict[str, Any]) -> Any:
    """Numba's dispatcher of a kernel that other kernels call; a call from Python makes a root of it."""
    dispatcher: Any = numba.njit(pipeline_class=KernelCompiler, **options)(function)
    dispatcher._cache = RawCache(function)
    dispatcher._compiler = RawFunctionCompiler(
        function, dispatcher.targetdescr, dispatcher.targetoptions, {}, KernelCompiler
    )

    def add_overload(result):
        dispatcher.overloads[tuple(result.signature.args)] = result

    root = None

    def compile_for_python(*args, **_):
        nonlocal root
        root = root or root_dispatcher(function, options)
        taken = tuple(dispatcher.typeof_pyval(a) for a in args)
        entry_point = root.compile(taken)
        dispatcher._insert([a._code for a in taken], entry_point, False)  # from now on it is found without this
        return entry_point

    template = dispatcher.get_call_template

    def one_per_type(args, kws):
        # Without this a literal argument compiles the kernel once more for each value.
        return template(tuple(types.unliteral(a) for a in args), kws)

    dispatcher.get_call_template = one_per_type
    dispatcher.add_overload = add_overload
    dispatcher._compile_for_args = compile_for_python
    return dispatcher


def root_dispatcher(function: Any, options: dict[str, Any]) -> Any:
    """Numba's dispatcher of a kernel that is called from Python, with whatever it takes."""
    dispatcher: Any = numba.njit(pipeline_class=KernelCompiler, **options)(function)
    dispatcher._cache = KernelCache(function)
    dispatcher._compiler = FunctionCompiler(
        function, dispatcher.targetdescr, dispatcher.targetoptions, {}, KernelCompiler
    )
    return dispatcher


class _CompileListener(event.Listener):
    def on_start(self, event):
        progress.start(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        progress.stop()


event.register("numba:compile", _CompileListener())
