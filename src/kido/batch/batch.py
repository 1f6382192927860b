"""`Batch`: kinematics and dynamics of many states of one skeleton."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import FixedAttributes, named_arguments
from kido.batch.arguments import Array, apart, common_count, finite_number, result, rows_of, whole_number, wrenches_of
from kido.batch.quantities import BatchQuantities
from kido.batch.threads import MIXED, Threads
from kido.errors import KidoError, ModelError, NameLookupError, StateError
from kido.math.transform import as_vector
from kido.quantities import derivatives
from kido.quantities.derivatives import (
    ForwardDynamicsDerivatives,
    HybridDynamicsDerivatives,
    InverseDynamicsDerivatives,
    hybrid_derivatives,
)
from kido.quantities.soft import refuse_free
from kido.skeleton import Skeleton
from kido.skeleton.compiler import check_masses
from kido.skeleton.state.loads import row_of_wrench
from kido.turns import Turn

if TYPE_CHECKING:
    from kido.skeleton import Skeleton
    from kido.skeleton.nodes.node import JacobianNode
    from kido.skeleton.state.state import State
    from kido.skeleton.state.subsets import Dofs

_NO_WRENCHES = np.zeros((1, 0, 6))


class Batch(BatchQuantities, FixedAttributes):
    """Many states of one skeleton at once.

    Arguments and results are float64 arrays with the samples first: positions (samples, dofs), say. A single
    state, of shape (dofs,) or (1, dofs), stands for all samples. The state that the skeleton holds is neither
    used nor changed; changes of its structure and properties are picked up. Results equal those of the
    skeleton's own methods bit for bit, and depend neither on the number of threads nor on the other samples.

    Kinematics, dynamics and motion below go through kernels in lanes and threads, or on a GPU. All other quantities of
    `kido.quantities` are computed sample by sample, by the processor.

    Threads that call one batch wait for each other.

    As in those methods, joint springs, damping and friction act in `simulate` alone. Prescribed coordinates
    are not accelerated. Points of soft skins are held where they are; forward dynamics and motion are refused
    unless they are frozen.

    Args:
        skeleton: the model.
        threads: how many threads compute; the number of available cores by default. They run without
            Python's lock.
        device: "cpu", or "cuda" for a GPU.

    Raises:
        StateError: no such device, or there is no GPU.
        MissingExtraError: the extra `cuda` is not installed.
    """

    def __init__(self, skeleton: Skeleton, threads: int | None = None, device: str = "cpu"):
        if not isinstance(skeleton, Skeleton):
            raise StateError(f"batch: expected a kido.Skeleton, got {skeleton!r}")
        self.skeleton, self.turn = skeleton, Turn()
        if not isinstance(device, str) or device not in ("cpu", "cuda"):
            raise StateError(f"device: expected 'cpu' or 'cuda', got {device!r}")
        if device == "cpu":
            self._device: Any = Threads(skeleton, threads)
        else:
            from kido.batch.cuda import Gpu

            self._device = Gpu(skeleton)
        self.device = device

    @cached_property
    def state(self) -> State:
        """A state of the skeleton for samples that are computed one by one."""
        return self.skeleton.empty_state()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "state"}

    @property
    def threads(self) -> int:
        """Most threads that a call uses."""
        return self._device.threads

    def __repr__(self) -> str:
        return f"Batch({self.skeleton.name!r}, threads={self.threads}, device={self.device!r})"

    # Kinematics -----------------------------------------------------------------------------------------------

    def forward_kinematics(self, positions: ArrayLike, out: Array | None = None) -> Array:
        """World transforms of all bodies (samples, bodies, 4, 4)."""
        return self._run("forward_kinematics", (self.skeleton.num_bodies, 4, 4), out, {"positions": positions})

    def body_velocities(self, positions: ArrayLike, velocities: ArrayLike, out: Array | None = None) -> Array:
        """[angular; linear] velocities of all bodies, of their origins, world axes (samples, bodies, 6); not on a GPU.

        Raises:
            StateError: arguments of other shapes or not finite, or a batch for a GPU.
        """
        if self.device != "cpu":
            raise StateError(
                f"body_velocities: there is no kernel for the device {self.device!r}; use a Batch for the CPU"
            )
        given = {"positions": positions, "velocities": velocities}
        return self._run("body_velocities", (self.skeleton.num_bodies, 6), out, given)

    def jacobian(
        self,
        positions: ArrayLike,
        node: JacobianNode | str | int,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        out: Array | None = None,
    ) -> Array:
        """Jacobians (samples, 6, dofs) of a point of a node: J u is its [angular; linear] velocity, world axes.

        Args:
            positions: (samples, dofs).
            node: a body of the skeleton, its name or its index, or a node on one.
            offset: the point in the node's axes [m].
            out: array to write to.
        """
        index, point = self._place(node, as_vector(offset, f"skeleton {self.skeleton.name!r}: offset"))
        given, shape = {"positions": positions}, (6, self.skeleton.num_dofs)
        return self._run("jacobian", shape, out, given, index, *map(float, point))

    def _place(self, node: JacobianNode | str | int, offset: Array) -> tuple[int, Array]:
        """Index of the body that carries a node, and a point of the node in that body's axes."""
        s = self.skeleton
        try:
            body, pose = s.current_state.carried_by(node)
        except NameLookupError:
            raise
        except ModelError:
            raise ModelError(
                f"node: expected a body of skeleton {s.name!r}, its name or its index, or a node on one, got {node!r}"
            ) from None
        return body.index, offset if pose is None else pose[:3, :3] @ offset + pose[:3, 3]

    # Dynamics -------------------------------------------------------------------------------------------------

    def mass_matrix(self, positions: ArrayLike, out: Array | None = None) -> Array:
        """Mass matrices (samples, dofs, dofs)."""
        n = self.skeleton.num_dofs
        return self._run("mass_matrix", (n, n), out, {"positions": positions})

    def inverse_mass_matrix(
        self, positions: ArrayLike, out: Array | None = None, status: np.ndarray | None = None
    ) -> Array:
        """M^-1 (samples, dofs, dofs), of articulated bodies; `status` and errors as in `forward_dynamics`."""
        n = self.skeleton.num_dofs
        return self._run("inverse_mass_matrix", (n, n), out, {"positions": positions}, fails=True, status=status)

    def inverse_dynamics(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        accelerations: ArrayLike,
        out: Array | None = None,
        *,
        wrenches: ArrayLike | None = None,
    ) -> Array:
        """Joint forces T = M udot + C(q, u) - J^T f (samples, dofs).

        Args:
            positions, velocities, accelerations: (samples, dofs) each.
            out: array to write to.
            wrenches: external [torque; force] f on the bodies (samples, bodies, 6), or (bodies, 6) for all samples,
                about the bodies' origins, world axes [N m, N].
        """
        given = {"positions": positions, "velocities": velocities, "accelerations": accelerations}
        return self._run("inverse_dynamics", (self.skeleton.num_dofs,), out, given, wrenches=wrenches, loaded=True)

    def forward_dynamics(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        forces: ArrayLike,
        out: Array | None = None,
        status: np.ndarray | None = None,
        *,
        wrenches: ArrayLike | None = None,
    ) -> Array:
        """Accelerations M^-1 (T - C(q, u) + J^T f) (samples, dofs), by the articulated-body algorithm.

        Args:
            positions, velocities, forces: (samples, dofs) each.
            out: array to write to.
            status: an int64 array (samples,) to fill with -1, or with the index of a coordinate that sees no
                positive inertia; nothing is raised for that then, and the sample's accelerations mean nothing.
            wrenches: external forces f, as in `inverse_dynamics`.

        Raises:
            ModelError: the inertia seen by a coordinate is not positive; names the first such sample.
        """
        given = {"positions": positions, "velocities": velocities, "forces": forces}
        return self._run(
            "forward_dynamics", (self.skeleton.num_dofs,), out, given,
            fails=True, status=status, wrenches=wrenches, loaded=True,
        )  # fmt: skip

    def hybrid_dynamics(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        values: ArrayLike,
        prescribed: Dofs,
        status: np.ndarray | None = None,
        *,
        wrenches: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Dynamics with the accelerations of some coordinates given: M udot + C(q, u) = T + J^T f.

        Args:
            positions, velocities: (samples, dofs) each.
            values: (samples, dofs), accelerations of the prescribed coordinates, joint forces of the others.
            prescribed: the coordinates whose acceleration is given, of all samples: indices, names, a slice, ...
            status: as in `forward_dynamics`.
            wrenches: external forces f, as in `inverse_dynamics`.

        Returns:
            (accelerations, forces), all of them, (samples, dofs) each.

        Raises:
            ModelError: the inertia seen by a coordinate that is not prescribed is not positive; names a sample.
            NameLookupError: there is no such coordinate.
        """
        variant = tuple(sorted(map(int, self.skeleton.current_state.dof_indices(prescribed))))
        given = {"positions": positions, "velocities": velocities, "values": values}
        self._refuse_free("hybrid_dynamics")
        (q, u, x, f), count = self._arguments(given, wrenches)
        udot, tau = np.empty((2, count, self.skeleton.num_dofs))
        found = self._statuses(count, status)
        with self.turn:
            failed = self._device.run("hybrid_dynamics", count, q, u, x, f, udot, tau, found, variant=variant)
        self._report(failed, found, status)
        return udot, tau

    def hybrid_dynamics_derivatives(
        self, positions: ArrayLike, velocities: ArrayLike, values: ArrayLike, prescribed: Dofs
    ) -> HybridDynamicsDerivatives:
        """Derivatives of what `hybrid_dynamics` finds by positions, velocities and values, (samples, dofs, dofs) each.

        Arguments, results and errors as of `kido.Skeleton.hybrid_dynamics_derivatives`, samples first.
        """
        udot, _ = self.hybrid_dynamics(positions, velocities, values, prescribed)
        forces = self.inverse_dynamics_derivatives(positions, velocities, udot)
        return hybrid_derivatives(forces, self.skeleton.current_state.dof_indices(prescribed))

    def inverse_dynamics_derivatives(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        accelerations: ArrayLike,
        out: Array | None = None,
        *,
        wrenches: ArrayLike | None = None,
    ) -> InverseDynamicsDerivatives:
        """Derivatives dT/dq (along velocities), dT/du and dT/dudot = M of joint forces, (samples, dofs, dofs) each.

        Args:
            positions, velocities, accelerations: (samples, dofs) each.
            out: array (samples, 3, dofs, dofs) to write to; the results are parts of it.
            wrenches: external forces, as in `inverse_dynamics`; they keep their direction in the world.
        """
        given = {"positions": positions, "velocities": velocities, "accelerations": accelerations}
        n = self.skeleton.num_dofs
        if self._deforms:
            D = self._one_by_one("inverse_dynamics_derivatives", given, out, wrenches)
        else:
            D = self._run("inverse_dynamics_derivatives", (3, n, n), out, given, wrenches=wrenches, loaded=True)
        return InverseDynamicsDerivatives(D[:, 0], D[:, 1], D[:, 2])

    def forward_dynamics_derivatives(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        forces: ArrayLike,
        out: Array | None = None,
        status: np.ndarray | None = None,
        *,
        wrenches: ArrayLike | None = None,
    ) -> ForwardDynamicsDerivatives:
        """Derivatives dudot/dq (along velocities), dudot/du and dudot/dT = M^-1, (samples, dofs, dofs) each.

        Args:
            positions, velocities, forces: (samples, dofs) each.
            out: array (samples, 3, dofs, dofs) to write to; the results are parts of it.
            status: as in `forward_dynamics`.
            wrenches: external forces, as in `inverse_dynamics`; they keep their direction in the world.

        Raises:
            ModelError: the inertia seen by a coordinate is not positive; names the first such sample.
        """
        n, given = self.skeleton.num_dofs, {"positions": positions, "velocities": velocities, "forces": forces}
        if self._deforms:
            D = self._one_by_one("forward_dynamics_derivatives", given, out, wrenches, status)
        else:
            D = self._run(
                "forward_dynamics_derivatives", (3, n, n), out, given,
                fails=True, status=status, wrenches=wrenches, loaded=True,
            )  # fmt: skip
        return ForwardDynamicsDerivatives(D[:, 0], D[:, 1], D[:, 2])

    def _run(
        self,
        name: str,
        shape: tuple[int, ...],
        out: Array | None,
        given: dict[str, ArrayLike],
        *numbers: float,
        fails: bool = False,
        status: np.ndarray | None = None,
        wrenches: ArrayLike | None = None,
        loaded: bool = False,
    ) -> Array:
        """Results (samples, *shape) of a kernel; `numbers` are the same for all samples, and one that `fails` tells.

        One that is `loaded` takes wrenches.
        """
        if fails:
            self._refuse_free(name)
        arrays, count = self._arguments(given, *[wrenches][:loaded])
        whole = result(out, (count, *shape))
        found = [self._statuses(count, status)] if fails else []
        arguments = *(apart(array, whole) for array in arrays), *numbers, whole, *found
        with self.turn:
            failed = self._device.run(name, count, *arguments)
        if fails:
            self._report(failed, found[0], status)
        return whole

    @property
    def _deforms(self) -> bool:
        """Whether there are flexible bodies, whose derivatives are made sample by sample."""
        return any(joint.has_modes for joint in self.skeleton.joints)

    def _one_by_one(
        self,
        name: str,
        given: dict[str, ArrayLike],
        out: Array | None,
        wrenches: ArrayLike | None,
        status: np.ndarray | None = None,
    ) -> Array:
        """Derivatives (samples, 3, dofs, dofs) of samples one after the other."""
        arrays, count = self._arguments(given, wrenches)
        n, s = self.skeleton.num_dofs, self.skeleton
        state, function = s.new_state(), getattr(derivatives, name)
        whole = result(out, (count, 3, n, n))
        if status is not None:
            self._statuses(count, status)
            q, u, forces = given.values()
            self.forward_dynamics(q, u, forces, status=status, wrenches=wrenches)
        with self.turn:
            for k in range(count):
                if status is not None and status[k] >= 0:
                    whole[k] = np.nan
                    continue
                *numbers, acting = (array[k if len(array) > 1 else 0] for array in arrays)
                for what, value in zip(given, numbers, strict=True):
                    setattr(state, what, value)
                state.set_external({i: row_of_wrench(w) for i, w in enumerate(acting) if w.any()})
                try:
                    whole[k] = function(state)
                except KidoError as error:
                    error.add_note(f"in sample {k}")
                    raise
        return whole

    def _refuse_free(self, name: str) -> None:
        if self.skeleton.soft_bodies:
            refuse_free(self.skeleton.current_state, f"Batch.{name}")

    def _arguments(self, given: dict[str, ArrayLike], *wrenches: ArrayLike | None) -> tuple[list[Array], int]:
        """Arrays of samples as kernels want them, with external wrenches where these are asked for, and their count."""
        arrays = {what: rows_of(self.skeleton, what, value) for what, value in given.items()}
        for value in wrenches:
            arrays["wrenches"] = _NO_WRENCHES if value is None else wrenches_of(self.skeleton, value)
        return list(arrays.values()), common_count(self.skeleton, **arrays)

    def _statuses(self, count: int, status: np.ndarray | None) -> Array:
        """Room for what samples report, as kernels want it; `status` is checked."""
        good = isinstance(status, np.ndarray) and status.dtype == np.int64 and status.shape == (count,)
        if status is not None and not good:
            got = f"{status.dtype} {status.shape}" if isinstance(status, np.ndarray) else repr(status)
            raise StateError(f"status: expected an int64 array of shape {(count,)}, got {got}")
        return np.empty((count, 1))

    def _report(self, failed: int, found: Array, status: np.ndarray | None) -> None:
        if status is not None:
            status[:] = found[:, 0]
        elif failed:
            sample = int(np.flatnonzero(found[:, 0] >= 0.0)[0])
            self._raise_singular(sample, int(found[sample, 0]))

    def _raise_singular(self, sample: int, dof: int) -> NoReturn:
        s = self.skeleton
        check_masses(s)
        raise ModelError(
            f"skeleton {s.name!r}: in sample {sample}, the inertia seen by dof {dof} ({s.dofs[dof].name!r}) is not "
            "positive; a body it moves needs mass or rotational inertia, or axes of its joint coincide there"
        )

    # Motion ---------------------------------------------------------------------------------------------------

    def integrate(self, positions: ArrayLike, velocities: ArrayLike, time: float, out: Array | None = None) -> Array:
        """Positions (samples, dofs) moved along constant velocities for a time [s], on the joints' manifolds."""
        h = finite_number("time", time)
        given = {"positions": positions, "velocities": velocities}
        return self._run("integrate", (self.skeleton.num_dofs,), out, given, h)

    @named_arguments
    def simulate(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        forces: ArrayLike = 0.0,
        *,
        wrenches: ArrayLike | None = None,
        time_step: float = 0.001,
        steps: int = 1,
        every: int | None = None,
        status: np.ndarray | None = None,
    ) -> tuple[Array, Array]:
        """Positions and velocities after steps of smooth motion.

        A step is that of a `World` in which nothing touches and no limit, joint friction, mimic joint, SERVO or
        POSITION actuator acts: Moreau's midpoint rule, of second order, with joint damping and springs taken
        implicitly.

        Args:
            positions, velocities: (samples, dofs) each.
            forces: (samples, dofs) held during all steps, (samples, steps, dofs), or one number for all.
            wrenches: external forces, as in `inverse_dynamics`; they keep their direction in the world.
            time_step: [s].
            steps: how many.
            every: keep every so many states; the last only by default.
            status: as in `forward_dynamics`, of any step.

        Returns:
            Positions and velocities, each (samples, dofs), or (samples, steps // every, dofs) with `every`.

        Raises:
            ModelError: the inertia seen by a coordinate was not positive; names the first such sample.
            StateError: the motion of a sample became NaN or infinite.
        """
        s = self.skeleton
        self._refuse_free("simulate")
        h = finite_number("time_step", time_step, positive=True)
        steps = whole_number("steps", steps)
        stride = steps if every is None else whole_number("every", every)
        if stride > steps:
            raise StateError(f"every: expected at most steps = {steps}, got {every}")
        (q, u, f), _ = self._arguments({"positions": positions, "velocities": velocities}, wrenches)
        if not isinstance(forces, list | tuple) and np.ndim(forces) == 0:
            forces = np.full(s.num_dofs, finite_number("forces", forces))
        tau = rows_of(s, "forces", forces, ndim=3)
        if tau.shape[1] not in (1, steps):
            raise StateError(f"skeleton {s.name!r}: forces: expected {steps} steps of each sample, got {tau.shape[1]}")
        count = common_count(s, positions=q, velocities=u, forces=tau, wrenches=f)
        shape = count, steps // stride, s.num_dofs
        moved, speeds, found = np.empty(shape), np.empty(shape), self._statuses(count, status)
        with self.turn:
            failed = self._device.run(
                "simulate", count, q, u, tau, f, h, steps, stride, moved, speeds, found, variant=MIXED
            )
        if status is None:
            self._check_motion(moved, speeds)
        self._report(failed, found, status)
        return (moved[:, 0], speeds[:, 0]) if every is None else (moved, speeds)

    def _check_motion(self, *results: Array) -> None:
        for array in results:
            wrong = ~np.isfinite(array).all(axis=(1, 2))
            if wrong.any():
                raise StateError(
                    f"skeleton {self.skeleton.name!r}: the motion of sample {int(np.flatnonzero(wrong)[0])} became NaN "
                    "or infinite; a smaller time step or smaller forces may help"
                )
