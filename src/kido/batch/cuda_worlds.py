"""CUDA as the device of `kido.batch.gpu_worlds`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from kido.batch.cuda import BLOCK_SIZE, address_of, connected, device_code
from kido.batch.gpu_worlds import SIGNATURE, run_copy, why_not
from kido.errors import ModelError
from kido.jit.device import Binding
from kido.jit.relocated import Relocatable
from kido.simulation import World

SHARE_OF_MEMORY = 0.8  # of what is free on the GPU, for copies of worlds
_WORLDS = SIGNATURE.replace("i8(i8,", "void(i8,i8,i8,i8,", 1).replace("i8[::1],i8,i8,", "i8[::1],i8,", 1)


def _kernels() -> tuple[Any, Any]:
    """Functions of a grid: steps of worlds, and copies of a row of words."""
    cuda: Any = import_module("numba.cuda")

    import kido.jit.device_numbers  # noqa: F401  (what kernels call)

    def step_worlds(
        copies, size, root, count, rows, values, driven, controls, dofs, q, u, sensor_of_shape, link, offset, wrenches,
        status, done, end, total, hold, every,
    ):  # fmt: skip
        k = cuda.grid(1)
        if k < count:
            run_copy(
                copies + k * size + root, rows, values, driven, controls, dofs, q, u, sensor_of_shape, link, offset,
                wrenches, status, k, done, end, total, hold, every,
            )  # fmt: skip

    def place_words(words, is_address, base, copies):
        at = cuda.grid(1)
        size = words.shape[0]
        if at < size * copies.shape[0]:
            k, i = at // size, at % size
            copies[k, i] = words[i] + is_address[i] * (base + 8 * size * k)

    return step_worlds, place_words


def worlds_ptx(template: Relocatable, capability: tuple[int, int] = (9, 0)) -> str:
    """PTX of the step of a world; needs CUDA's compiler library (NVVM), but no GPU.

    Args:
        template: the world's `kido.batch.gpu_worlds.ON_GPU`.
        capability: compute capability of the GPU that is meant.

    Raises:
        MissingExtraError: there is no NVVM.
    """
    with Binding(template.callbacks).compiling():
        return device_code(_kernels()[0], _WORLDS, capability)


def device_of(world: World) -> CudaDevice:
    """The GPU at hand, for steps of a world.

    Raises:
        ModelError: such worlds are not stepped on a GPU; says why.
        StateError, MissingExtraError: as for `CudaDevice`.
    """
    device = CudaDevice()
    if reason := why_not(world):
        raise ModelError(f"world {world.name!r} is not for device 'cuda': {reason}")
    return device


class CudaDevice:
    """The GPU at hand.

    Raises:
        StateError: there is none.
        MissingExtraError: the extra `cuda` is not installed.
    """

    def __init__(self):
        self._cuda = connected()
        step, place = _kernels()
        self._step_function = step
        self._place = self._cuda.jit("void(i8[::1],i8[::1],i8,i8[:,::1])")(place)
        self._step: Any = None
        self._binding: Binding | None = None
        self._size = self._root = 0

    def room_for(self, nbytes: int) -> int:
        """How many copies of so many bytes there is room for."""
        free, _ = self._cuda.current_context().get_memory_info()
        return int(SHARE_OF_MEMORY * free) // nbytes

    def array(self, host: np.ndarray) -> Any:
        """A copy of an array there."""
        return self._cuda.to_device(host)

    def back(self, there: Any, host: np.ndarray) -> None:
        """Copy an array from there."""
        if host.size:
            there.copy_to_host(host)

    def place(self, template: Relocatable, number: int) -> Any:
        """Copies of a row of words, each with its own addresses; the step is compiled for its callbacks."""
        if self._binding is None or self._binding.fields != template.fields:
            self._binding = Binding(template.callbacks)
            with self._binding.compiling():
                self._step = self._cuda.jit(_WORLDS)(self._step_function)
        words = template.numbered(self._binding.number)
        self._size, self._root = words.nbytes, template.root
        copies = self._cuda.device_array((number, len(words)), np.int64)
        blocks = -(-copies.size // BLOCK_SIZE)
        is_address = self.array(template.is_address.astype(np.int64))
        self._place[blocks, BLOCK_SIZE](self.array(words), is_address, address_of(copies), copies)
        return copies

    def run(self, copies: Any, count: int, *arguments: Any) -> None:
        """`run_copy` for samples 0..count-1."""
        blocks = -(-count // BLOCK_SIZE)
        self._step[blocks, BLOCK_SIZE](address_of(copies), self._size, self._root, count, *arguments)
