"""Worlds and dynamics as functions of PyTorch's tensors."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import kido
from differentiable_worlds import sliding_box
from kido.batch import Batch
from kido.errors import KidoError, MissingExtraError, ModelError, NameLookupError, StateError

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install 'kido[torch]')")
import kido.torch  # noqa: E402

CHECK: dict[str, Any] = {"eps": 1e-6, "atol": 1e-6, "rtol": 1e-5}  # central differences of numbers up to 10


def tensor(values: Any, grad: bool = False) -> Any:
    values = values.numpy() if isinstance(values, torch.Tensor) else np.array(values, dtype=float)
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


@pytest.fixture(scope="module")
def made() -> tuple[Any, Any, Any]:
    """A simulation of the sliding box, and its state."""
    world, box = sliding_box()
    parameters = {"mass": [box], "friction": list(box.shapes), "gravity": None}
    skeleton = world.skeletons[1]
    return kido.torch.Simulation(world, parameters), tensor(skeleton.positions), tensor(skeleton.velocities)


def test_gradcheck_of_a_step_by_everything(made):
    simulation, q, u = made
    given = [q, u, torch.zeros(6), [1.3], [0.4], [0.0, 0.1, -9.81]]
    tensors = [tensor(x, grad=True) for x in given]
    assert torch.autograd.gradcheck(
        lambda q, u, c, m, f, g: simulation.step(q, u, c, mass=m, friction=f, gravity=g, steps=2), tensors, **CHECK
    )


def test_gradcheck_of_a_rollout_of_two_with_what_they_share(made):
    """One mass and one start for two rows of commands: gradients of what is broadcast are sums."""
    simulation, q, u = made
    commands = 0.3 * np.random.default_rng(0).normal(size=(2, 2, 6))
    tensors = [tensor(x, grad=True) for x in (q, u, commands, [1.3])]
    assert torch.autograd.gradcheck(lambda q, u, c, m: simulation.rollout(q, u, c, mass=m, hold=2), tensors, **CHECK)


def test_transforms_of_functions(made):
    simulation, q, u = made
    J = torch.func.jacrev(lambda x: simulation.step(q, x)[1])(u)
    whole = torch.autograd.functional.jacobian(lambda x: simulation.step(q, x)[1], u)
    assert torch.equal(J, whole)
    masses = tensor([[1.0], [2.0]])
    each = torch.func.vmap(lambda m: simulation.step(q, u, mass=m)[1])(masses)
    assert torch.equal(each, simulation.step(q, u, mass=masses)[1])


def test_smooth_functions_of_a_floating_robot():
    """Positions are numbers: a rotation vector and a place of the base, of which derivatives are chart by chart."""
    robot = Batch(kido.load_skeleton(kido.models.path("quadruped")), threads=1)
    rng = np.random.default_rng(0)
    q, u, x = (tensor(0.2 * rng.normal(size=(2, 18)), grad=True) for _ in range(3))
    for function in (kido.torch.forward_dynamics, kido.torch.inverse_dynamics):
        assert torch.autograd.gradcheck(lambda q, u, x, f=function: f(robot, q, u, x), (q, u, x), eps=1e-6, rtol=1e-6)
    offset = (0.1, -0.2, 0.3)
    assert torch.autograd.gradcheck(
        lambda q: kido.torch.forward_kinematics(robot, q, "front_left_foot", offset), (q,), eps=1e-6, atol=1e-8
    )
    one = robot.skeleton
    one.positions = q[0].detach().numpy()
    pose = kido.torch.forward_kinematics(one, q[0], "front_left_foot", offset).detach().numpy()
    own = np.asarray(one.body("front_left_foot").world_transform)
    assert np.allclose(pose[:3, 3], own[:3, :3] @ offset + own[:3, 3], atol=1e-14)


def test_memory_is_shared_both_ways(made):
    from kido.torch.tensors import as_rows, as_tensor

    x = tensor(np.ones((2, 3, 6)))
    rows = as_rows(x, 1)
    assert rows.shape == (6, 6) and rows.ctypes.data == x.data_ptr()
    assert as_tensor(rows, (2, 3)).data_ptr() == x.data_ptr()


def test_python_runs_while_worlds_are_stepped(made):
    """Compiled code does not hold Python's lock: a second thread counts on while the first is in one rollout."""
    simulation, q, u = made
    simulation.rollout(q, u, steps=2)
    counts, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counts[0] += 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(0.2)  # longer than what is Python around the compiled code
    thread = threading.Thread(target=count)
    try:
        seen = []
        rollout = simulation.function.pool.worlds.run_job

        def counted(*args: Any) -> None:
            if not thread.is_alive():
                thread.start()
            seen.append(counts[0])
            rollout(*args)
            seen.append(counts[0])

        object.__setattr__(simulation.function.pool.worlds, "run_job", counted)
        simulation.rollout(q, u, steps=2000, every=2000)
    finally:
        done.set()
        sys.setswitchinterval(before)
        object.__delattr__(simulation.function.pool.worlds, "run_job")
        thread.join()
    assert seen[1] - seen[0] > 1000


@pytest.mark.parametrize(
    "change, error, words",
    [
        (lambda q: {"positions": q.float()}, StateError, "positions: expected torch.float64, got torch.float32"),
        (lambda q: {"positions": q.to("meta")}, StateError, "positions: expected a dense tensor on the processor"),
        (lambda q: {"velocities": q.to_sparse()}, StateError, "velocities: expected a dense tensor"),
        (lambda q: {"velocities": q[:5]}, StateError, r"velocities: expected the shape \(..., 6\), got \(5,\)"),
        (lambda q: {"commands": q * float("nan")}, StateError, "commands: expected finite numbers, got nan"),
        (
            lambda q: {"commands": torch.tensor(1.0, dtype=torch.float64)},
            StateError,
            r"commands: expected the shape \(..., rows, 6\)",
        ),
        (lambda q: {"positions": q.tolist()}, StateError, "positions: expected a torch.Tensor, got list"),
        (lambda q: {"steps": 0}, StateError, "steps: expected a whole number above 0"),
        (lambda q: {"mass": tensor([1.0, 2.0])}, StateError, r"mass: expected the shape \(..., 1\), got \(2,\)"),
        (lambda q: {"friction": tensor([-1.0])}, StateError, "friction"),
        (lambda q: {"damping": tensor([1.0])}, NameLookupError, "damping"),
        (lambda q: {"positions": q.expand(0, 6)}, StateError, "at least one sample"),
        (lambda q: {"positions": q.expand(2, 6), "velocities": q.expand(3, 6)}, StateError, "samples that go together"),
    ],
)
def test_what_is_refused(made, change, error, words):
    simulation, q, u = made
    with pytest.raises(error, match=words):
        simulation.step(**({"positions": q, "velocities": u, "commands": torch.zeros_like(q)} | change(q)))


def test_what_has_no_derivative_is_refused_where_one_is_asked_for(made):
    simulation, q, u = made
    with pytest.raises(StateError, match="second derivatives"):
        torch.autograd.functional.hessian(lambda x: simulation.step(x, u)[0].sum(), q)
    world, _ = sliding_box()
    world.add_controller(kido.control.GravityCompensation(world.skeletons[1]))
    driven = kido.torch.Simulation(world)
    driven.step(q, u)  # without gradients it goes
    with pytest.raises(ModelError, match="not with controllers"):
        driven.step(q.requires_grad_(), u)
    q.requires_grad_(False)


def test_without_pytorch_the_command_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "torch" or name.startswith("kido.torch")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"kido\[torch\]") as refused:
        __import__("kido.torch")
    assert isinstance(refused.value, KidoError)
