"""The same states on a GPU: one thread for each sample, by CUDA kernels made from the same sources.

Work space lies with the samples side by side, so that neighbouring threads read neighbouring numbers. The
kernels are compiled to PTX in the tests; no machine of the project has run them yet.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from kido.batch.states import (
    ROLLOUT,
    advanced_of,
    forward_dynamics_derivatives_of,
    forward_dynamics_of,
    hybrid_dynamics_of,
    inverse_dynamics_derivatives_of,
    inverse_dynamics_of,
    inverse_mass_matrix_of,
    jacobian_of,
    mass_matrix_of,
    simulate_of,
    transforms_of,
)
from kido.batch.threads import MAKERS, MIXED, WORK_SPACES, Variant, arrays_of
from kido.errors import MissingExtraError, StateError
from kido.jit import JIT_DISABLED, Struct
from kido.quantities.soft import refuse_flexible
from kido.tree.schema import DATA, TREE
from kido.tree.workspace import COLUMNS, DERIVATIVES

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

BLOCK_SIZE = 64  # threads of a block: a kernel takes about 180 registers of each
# How many arrays at the end of an entry's arguments it writes, the last of them statuses; else one, and none.
OUTPUTS = {
    "inverse_mass_matrix": 2, "forward_dynamics": 2, "hybrid_dynamics": 3, "forward_dynamics_derivatives": 2,
    "simulate": 3,
}  # fmt: skip
LAUNCH = 16384  # samples that work space is made for; more are done one launch after the other


def connected() -> Any:
    """Numba's CUDA, for the GPU at hand.

    Raises:
        StateError: there is none, or kernels are not compiled.
        MissingExtraError: the extra `cuda` is not installed.
    """
    cuda = _cuda_of_numba()
    from numba.cuda.cudadrv import nvvm
    from numba.cuda.cudadrv.driver import driver

    if not driver.is_available:
        raise StateError("device 'cuda': there is no NVIDIA GPU, or no driver for it, on this machine")
    if not nvvm.is_available():
        raise MissingExtraError("computing on a GPU", "cuda")
    return cuda


def _cuda_of_numba() -> Any:
    if JIT_DISABLED:
        raise StateError("device 'cuda': kernels are not compiled (NUMBA_DISABLE_JIT)")
    try:
        return import_module("numba.cuda")
    except ImportError:
        raise MissingExtraError("computing on a GPU", "cuda") from None


def _define() -> dict[str, tuple[Any, str]]:
    """By its name each kernel with its signature."""
    cuda = _cuda_of_numba()
    from kido.jit.compile import thread_samples, thread_view, view

    def forward_kinematics(tree, data, begin, end, q, X):
        slot = cuda.grid(1)
        k = begin + slot
        if k < end:
            transforms_of(view(TREE, tree), thread_view(DATA, data, slot), thread_samples(q, k), thread_samples(X, k))

    def jacobian(tree, data, begin, end, q, member, x, y, z, J):
        slot = cuda.grid(1)
        k = begin + slot
        if k < end:
            t, d = view(TREE, tree), thread_view(DATA, data, slot)
            jacobian_of(t, d, thread_samples(q, k), member, x, y, z, thread_samples(J, k))

    def mass_matrix(tree, data, begin, end, q, M):
        slot = cuda.grid(1)
        k = begin + slot
        if k < end:
            mass_matrix_of(view(TREE, tree), thread_view(DATA, data, slot), thread_samples(q, k), thread_samples(M, k))

    def inverse_mass_matrix(tree, data, columns, begin, end, q, M, status):
        slot = cuda.grid(1)
        k = begin + slot
        if k < end:
            status[k, 0] = inverse_mass_matrix_of(
                view(TREE, tree), thread_view(DATA, data, slot), thread_view(COLUMNS, columns, slot),
                thread_samples(q, k), thread_samples(M, k),
            )  # fmt: skip

    def inverse_dynamics(tree, data, begin, end, q, u, udot, wrenches, tau):
        slot = cuda.grid(1)
        k = begin + slot
        if k < end:
            inverse_dynamics_of(
                view(TREE, tree), thread_view(DATA, data, slot), thread_samples(q, k), thread_samples(u, k),
                thread_samples(udot, k), thread_samples(wrenches, k), thread_samples(tau, k),
            )  # fmt: skip

    def forward_dynamics(tree, data, begin, end, q, u, tau, wrenches, udot, status):
        slot = cuda.grid(1)
        k = begin + slot
        if k < end:
            status[k, 0] = forward_dynamics_of(
                view(TREE, tree), thread_view(DATA, data, slot), thread_samples(q, k), thread_samples(u, k),
                thread_samples(tau, k), thread_samples(wrenches, k), thread_samples(udot, k),
            )  # fmt: skip

    def hybrid_dynamics(tree, data, begin, end, q, u, values, wrenches, udot, tau, status):
        slot = cuda.grid(1)
        k = begin + slot
        if k < end:
            status[k, 0] = hybrid_dynamics_of(
                view(TREE, tree), thread_view(DATA, data, slot), thread_samples(q, k), thread_samples(u, k),
                thread_samples(values, k), thread_samples(wrenches, k), thread_samples(udot, k),
                thread_samples(tau, k),
            )  # fmt: skip

    def inverse_dynamics_derivatives(tree, data, work, begin, end, q, u, udot, wrenches, D):
        slot = cuda.grid(1)
        k = begin + slot
        if k < end:
            inverse_dynamics_derivatives_of(
                view(TREE, tree), thread_view(DATA, data, slot), thread_view(DERIVATIVES, work, slot),
                thread_samples(q, k), thread_samples(u, k), thread_samples(udot, k), thread_samples(wrenches, k),
                thread_samples(D, k),
            )  # fmt: skip

    def forward_dynamics_derivatives(tree, data, work, begin, end, q, u, tau, wrenches, D, status):
        slot = cuda.grid(1)
        k = begin + slot
        if k < end:
            status[k, 0] = forward_dynamics_derivatives_of(
                view(TREE, tree), thread_view(DATA, data, slot), thread_view(DERIVATIVES, work, slot),
                thread_samples(q, k), thread_samples(u, k), thread_samples(tau, k), thread_samples(wrenches, k),
                thread_samples(D, k),
            )  # fmt: skip

    def integrate(tree, data, begin, end, q, u, h, moved):
        slot = cuda.grid(1)
        k = begin + slot
        if k < end:
            t, d = view(TREE, tree), thread_view(DATA, data, slot)
            advanced_of(t, d, thread_samples(q, k), thread_samples(u, k), h, thread_samples(moved, k))

    def simulate(tree, data, rollout, begin, end, q, u, tau, wrenches, h, steps, every, q_out, u_out, status):
        slot = cuda.grid(1)
        k = begin + slot
        if k < end:
            status[k, 0] = simulate_of(
                view(TREE, tree), thread_view(DATA, data, slot), thread_view(ROLLOUT, rollout, slot),
                thread_samples(q, k), thread_samples(u, k), thread_samples(tau, k), thread_samples(wrenches, k), h,
                steps, every, thread_samples(q_out, k), thread_samples(u_out, k),
            )  # fmt: skip

    rows, matrices = "f8[:,::1]", "f8[:,:,::1]"
    span = "i8,i8,i8,i8"
    return {
        "forward_kinematics": (forward_kinematics, f"void({span},{rows},f8[:,:,:,::1])"),
        "jacobian": (jacobian, f"void({span},{rows},i8,f8,f8,f8,{matrices})"),
        "mass_matrix": (mass_matrix, f"void({span},{rows},{matrices})"),
        "inverse_mass_matrix": (inverse_mass_matrix, f"void({span},i8,{rows},{matrices},{rows})"),
        "inverse_dynamics": (inverse_dynamics, f"void({span},{rows},{rows},{rows},{matrices},{rows})"),
        "forward_dynamics": (forward_dynamics, f"void({span},{rows},{rows},{rows},{matrices},{rows},{rows})"),
        "hybrid_dynamics": (hybrid_dynamics, f"void({span},{rows},{rows},{rows},{matrices},{rows},{rows},{rows})"),
        "inverse_dynamics_derivatives": (
            inverse_dynamics_derivatives,
            f"void({span},i8,{rows},{rows},{rows},{matrices},f8[:,:,:,::1])",
        ),
        "forward_dynamics_derivatives": (
            forward_dynamics_derivatives,
            f"void({span},i8,{rows},{rows},{rows},{matrices},f8[:,:,:,::1],{rows})",
        ),
        "integrate": (integrate, f"void({span},{rows},{rows},f8,{rows})"),
        "simulate": (
            simulate,
            f"void({span},i8,{rows},{rows},{matrices},{matrices},f8,i8,i8,{matrices},{matrices},{rows})",
        ),
    }


def compile_ptx(name: str, capability: tuple[int, int] = (9, 0)) -> str:
    """PTX of one of the kernels; needs CUDA's compiler library (NVVM), but no GPU.

    Args:
        name: a method of `Batch`.
        capability: compute capability of the GPU that is meant.

    Raises:
        MissingExtraError: there is no NVVM.
    """
    return device_code(*_define()[name], capability)


def device_code(function: Any, signature: str, capability: tuple[int, int]) -> str:
    """PTX of a function of a grid; arguments as for `compile_ptx`, and the function's signature.

    Raises:
        MissingExtraError: there is no NVVM.
    """
    cuda: Any = import_module("numba.cuda")
    from numba.core import sigutils
    from numba.cuda import dispatcher
    from numba.cuda.cudadrv import nvvm

    if not nvvm.is_available():
        raise MissingExtraError("compiling for a GPU", "cuda")
    args, _ = sigutils.normalize_signature(signature)

    class Device:
        compute_capability = capability

    # Functions that a kernel calls are compiled for the GPU at hand; here there need not be one.
    with mock.patch.object(dispatcher, "get_current_device", Device):
        ptx, _ = cuda.compile_ptx(function, args, cc=capability)
    return ptx


class DeviceStruct:
    """A struct in a GPU's memory, with samples side by side: copies of its arrays, or of others in their place."""

    def __init__(self, cuda: Any, host: Struct, arrays: dict[str, np.ndarray], samples: int):
        arrays = {name: getattr(host, name) for name in type(host).arrays} | arrays
        self.arrays = {name: cuda.to_device(array) for name, array in arrays.items()}
        self._block = cuda.to_device(host.words_of_block())
        places = {name: (address_of(array), array.shape) for name, array in self.arrays.items()}
        self._header = cuda.to_device(host.header_for(address_of(self._block), places, samples))
        self.address = address_of(self._header)


def address_of(array: Any) -> int:
    """Where an array of the GPU begins."""
    return int(array.__cuda_array_interface__["data"][0] or 0)


class Gpu:
    """Runs a kernel over all samples of a call; the counterpart of `kido.batch.threads.Threads`."""

    threads = 1

    def __init__(self, skeleton: Skeleton):
        self.skeleton = skeleton
        self._connect()

    def _connect(self) -> None:
        self._cuda, kernels = connected(), _define()
        self._kernels = {name: self._cuda.jit(text)(function) for name, (function, text) in kernels.items()}
        self._trees: dict[Variant, tuple[DeviceStruct, dict[str, np.ndarray]]] = {}
        self._spaces: dict[str, DeviceStruct] = {}
        self._of_tree: Struct | None = None
        self._samples = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"skeleton": self.skeleton}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.skeleton = state["skeleton"]
        self._connect()

    def _tree(self, variant: Variant) -> DeviceStruct:
        """The skeleton's tree, or a variant, copied again if it changed."""
        refuse_flexible(self.skeleton, "batches of states")
        self.skeleton.current_state.compiled()
        tree: Struct = self.skeleton.current_state.tree
        arrays = arrays_of(tree, variant)
        known = self._trees.get(variant)
        if known is None or not all(np.array_equal(known[1][name], array) for name, array in arrays.items()):
            copies = {name: array.copy() for name, array in arrays.items()}
            known = DeviceStruct(self._cuda, tree, copies, 1), copies
            self._trees = {key: kept for key, kept in self._trees.items() if key in (None, MIXED)} | {variant: known}
        return known[0]

    def _work_space(self, samples: int, name: str) -> tuple[int, ...]:
        """Addresses of work space of a kernel for a number of samples; it fits the tree of the last call."""
        tree: Struct = self.skeleton.current_state.tree
        if tree is not self._of_tree or samples != self._samples:
            self._of_tree, self._samples, self._spaces = tree, samples, {}
        addresses = []
        for kind in WORK_SPACES.get(name, ("data",)):
            if kind not in self._spaces:
                host = MAKERS[kind](tree, samples)
                self._spaces[kind] = DeviceStruct(self._cuda, host, {}, samples)
            addresses.append(self._spaces[kind].address)
        return tuple(addresses)

    def run(self, name: str, count: int, *arguments: Any, variant: Variant = None) -> int:
        """Launch the kernel of a name for samples 0..count-1; returns whether a sample has a status."""
        if count == 0:
            return 0
        tree = self._tree(variant)
        samples = min(LAUNCH, -(-count // BLOCK_SIZE) * BLOCK_SIZE)
        own = tree.address, *self._work_space(samples, name)
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        there = {id(a): self._cuda.to_device(a) for a in arrays}
        given = [there.get(id(a), a) for a in arguments]
        for begin in range(0, count, samples):
            end = min(count, begin + samples)
            blocks = -(-(end - begin) // BLOCK_SIZE)
            self._kernels[name][blocks, BLOCK_SIZE](*own, begin, end, *given)
        outputs = OUTPUTS.get(name, 1)
        for array in arrays[-outputs:]:
            there[id(array)].copy_to_host(array)
        return int(outputs > 1 and bool((arrays[-1] >= 0.0).any()))
