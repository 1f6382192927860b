"""The kernels of batches compile for a GPU, without one. What they compute there is not tested here."""

from __future__ import annotations

import pytest

from kido.batch import Batch
from kido.batch.cuda import compile_ptx, device_code
from kido.errors import MissingExtraError, StateError
from kido.jit import JIT_DISABLED, Struct, callback, floats, number, reference, stage, view
from kido.jit.compile import thread_view
from kido.jit.device import Binding
from trees import build

needs_jit = pytest.mark.skipif(JIT_DISABLED, reason="kernels run as plain Python (NUMBA_DISABLE_JIT)")


class PART(Struct):
    gain = number()


@callback
def twice(address, times, unused_1, unused_2):
    return times * int(view(THINGS, address).x[0])


@callback
def never(address, times, unused_1, unused_2):
    return 7654321


class THINGS(Struct):
    x = floats("things")


class PROBE(Struct):
    weight = number()
    part = reference(PART)
    x = floats("things")
    things = reference(THINGS)
    grow = stage()
    lost = stage()


def ptx_of(name: str, capability: tuple[int, int] = (9, 0)) -> str:
    try:
        return compile_ptx(name, capability)
    except MissingExtraError as missing:
        pytest.skip(str(missing))


@needs_jit
@pytest.mark.parametrize(
    "name",
    [
        "forward_dynamics",
        "integrate",
        pytest.param("forward_kinematics", marks=pytest.mark.slow),
        pytest.param("jacobian", marks=pytest.mark.slow),
        pytest.param("forward_dynamics_derivatives", marks=pytest.mark.slow),
        pytest.param("mass_matrix", marks=pytest.mark.slow),
        pytest.param("hybrid_dynamics", marks=pytest.mark.slow),
        pytest.param("inverse_mass_matrix", marks=pytest.mark.slow),
        pytest.param("simulate", marks=pytest.mark.slow),
    ],
)
def test_kernels_compile_to_ptx(name: str) -> None:
    """Double precision, fused multiply-add, and no memory but that of the containers and arguments."""
    ptx = ptx_of(name)
    assert ".target sm_90" in ptx and ".entry" in ptx
    assert "fma.rn.f64" in ptx
    assert "malloc" not in ptx


@needs_jit
def test_other_gpus_can_be_asked_for() -> None:
    assert ".target sm_80" in ptx_of("integrate", (8, 0))


def test_without_a_gpu_the_reason_is_told() -> None:
    skeleton = build(["revolute"], [-1], seed=1)
    try:
        batch = Batch(skeleton, device="cuda")
    except (StateError, MissingExtraError) as refused:
        assert "device 'cuda'" in str(refused) or "kido[cuda]" in str(refused)
    else:  # there is a GPU
        assert batch.device == "cuda"


@needs_jit
def test_numbers_references_and_stages_on_a_gpu() -> None:
    """A stage's callback ends up in the kernel: there is no call. One that is bound to no callback is nothing."""
    from numba import cuda  # the compiler's own target

    def run(address, out):
        k = cuda.grid(1)
        s = thread_view(PROBE, address, k)
        out[k] = s.weight * (s.grow(s.things, 2) + s.lost(s.things, 2)) + s.part.gain

    with Binding({"PROBE.grow": [twice], "OTHER.lost": [never]}).compiling():
        ptx = device_code(run, "void(i8,f8[::1])", (9, 0))
    assert "7654321" not in ptx
    assert "fma.rn.f64" in ptx and "call" not in ptx.replace("callseq", "")
    assert "cvt.rzi.s64.f64" in ptx  # int(x[0]) of the callback
