"""Subgraphs: connected bodies cut out of a skeleton, with given motion at their base and wrenches at their rim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kido import quantities
from kido.errors import ModelError
from kido.math.transform import as_vector
from kido.quantities import TABLE, Quantity
from kido.quantities.impulses import changes
from kido.quantities.operational_space import free_accelerations
from kido.skeleton.body_node import BodyNode
from kido.skeleton.groups.cutting import Cut
from kido.skeleton.groups.group import Array, Group, given_of, vector_of, with_parts
from kido.skeleton.groups.quantities import SubgraphQuantities, form
from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton

Wrenches = Mapping[BodyNode, ArrayLike] | None  # on bodies of a subgraph, about their origins, world axes
Coordinates = Iterable[DegreeOfFreedom | str | int] | None  # of a subgraph


class Subgraph(SubgraphQuantities, Group):
    """Connected bodies of a skeleton as a system of their own.

    Its boundary is what its *base*, the topmost body, hangs on (`inboard`, None for the world), whose motion is given:
    that of the skeleton's state, or as an argument; and the `outboard` bodies, which hang on bodies of it. These are
    "frozen": parts of the bodies that carry them, as if the hinges outside were locked as they are; or "cut": not
    there, but for wrenches that are given (`outboard_wrenches` has those of the skeleton's state).

    A flexible body has its modes and its nodes with it: they need not be listed.

    Its coordinates are those of the joints above its bodies, the base's included, in the skeleton's order. Sums (mass,
    momentum, energies, centre of mass) are over its bodies alone. All work is done on a small skeleton, the `model`,
    which is brought up to the state when something is asked: whatever a `Skeleton` computes, it computes for the
    subgraph. If the inboard body moves, its first 6 coordinates are that body's, by a free joint whose accelerations
    are prescribed (`boundary_dofs` tells how many).

    Args:
        bodies: a connected set: each but one hangs on another of them.
        outboard: "frozen" or "cut".
        name: for messages.

    Raises:
        ModelError: no bodies, several skeletons, a set that is not connected or begins at a node of a flexible body,
            another `outboard`.

    Example:
        >>> arm = Subgraph(robot.body("left_shoulder").subtree)
        >>> tau = arm.inverse_dynamics(boundary_acceleration=[0, 0, 0, 0, 0, 2.0])
        >>> leg = Subgraph(kido.Chain(hip, foot).bodies, outboard="cut")
    """

    def __init__(self, bodies: Iterable[BodyNode], outboard: str = "frozen", name: str = "subgraph"):
        if outboard not in ("frozen", "cut"):
            raise ModelError(f"subgraph {name!r}: outboard: expected 'frozen' or 'cut', got {outboard!r}")
        super().__init__(bodies, name=name)
        skeletons = {id(body.skeleton) for body in self.bodies}
        if len(skeletons) != 1:
            raise ModelError(f"subgraph {name!r}: expected bodies of one skeleton, got {len(skeletons)}")
        super().__init__(sorted(with_parts(self.bodies), key=lambda body: body.index), name=name)
        self.outboard = outboard
        self._cut: Cut | None = None
        self._check_connected()

    def _check_connected(self) -> None:
        inside = set(self.bodies)
        bases = [body for body in self.bodies if body.parent not in inside]
        if len(bases) != 1:
            names = ", ".join(repr(body.name) for body in bases)
            raise ModelError(f"subgraph {self.name!r}: its bodies are not connected: {names} hang on bodies outside")
        base, above = bases[0], bases[0].parent
        if base.parent_joint.is_part and above is not None:
            raise ModelError(
                f"subgraph {self.name!r}: {base.name!r} is part of the flexible body {above.name!r}, which moves it by "
                f"its modes: begin at {above.name!r}, or at a body that hangs on {base.name!r}"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_cut": None}

    # Boundary --------------------------------------------------------------------------------------------

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton that it is part of."""
        return self.bodies[0].skeleton

    @property
    def base(self) -> BodyNode:
        """Its topmost body."""
        inside = set(self.bodies)
        return next(body for body in self.bodies if body.parent not in inside)

    @property
    def inboard(self) -> BodyNode | None:
        """The body that its base hangs on; None for the world."""
        return self.base.parent

    @property
    def outboard_bodies(self) -> tuple[BodyNode, ...]:
        """Bodies outside that hang on bodies of it."""
        inside = set(self.bodies)
        return tuple(child for body in self.bodies for child in body.children if child not in inside)

    @property
    def boundary_dofs(self) -> int:
        """Coordinates of `model` before its own: 6, or 0 where it hangs on the world."""
        return 0 if self.inboard is None else 6

    def outboard_wrenches(self) -> dict[BodyNode, Array]:
        """[torque; force] that outboard bodies exert on bodies of it, about these bodies' origins, world axes.

        By the skeleton's current accelerations and external forces: minus the reactions of the outboard joints.
        """
        found: dict[BodyNode, Array] = {}
        reactions = self.skeleton.reaction_wrenches
        carriers = {child: body for body in self.bodies for child in body.children}
        for child in self.outboard_bodies:
            carrier, f = carriers[child], -reactions[child.index]
            arm = child.world_transform[:3, 3] - carrier.world_transform[:3, 3]
            f[:3] += np.cross(arm, f[3:])
            found[carrier] = found.get(carrier, np.zeros(6)) + f
        return found

    @property
    def model(self) -> Skeleton:
        """The skeleton that stands for it, at the present state; it is written anew whenever it is asked for.

        Raises:
            ModelError: edits have torn its bodies apart.
        """
        return self._renewed().model

    def _renewed(self) -> Cut:
        """The model with its state, and whom its bodies stand for."""
        self._check_connected()
        if self._cut is None or not self._cut.fits(self):
            self._cut = Cut(self)
        self._cut.update(self)
        return self._cut

    def cut_out(self, name: str | None = None) -> Skeleton:
        """An independent copy of `model`, in no world."""
        return self.model.clone(self.name if name is None else name)

    # States and arguments --------------------------------------------------------------------------------

    def _states(self, positions: ArrayLike | None, velocities: ArrayLike | None) -> tuple[Skeleton, Array, Array, int]:
        """Model, its positions and velocities, and how many coordinates are the boundary's."""
        q = None if positions is None else vector_of(self, positions, "positions")
        u = None if velocities is None else vector_of(self, velocities, "velocities")
        model, m = self.model, self.boundary_dofs
        whole_q, whole_u = np.array(model.positions), np.array(model.velocities)
        if q is not None:
            whole_q[m:] = q
        if u is not None:
            whole_u[m:] = u
        return model, whole_q, whole_u, m

    def _boundary(self, model: Skeleton, acceleration: ArrayLike | None) -> Array:
        """Accelerations of the boundary's coordinates."""
        if acceleration is None:
            return model.accelerations[: self.boundary_dofs]
        A = as_vector(acceleration, f"subgraph {self.name!r}: boundary_acceleration", 6)
        if self.inboard is None:
            raise ModelError(f"subgraph {self.name!r}: boundary_acceleration: its base hangs on the world")
        X, V = self.inboard.world_transform, self.inboard.spatial_velocity
        R = X[:3, :3]
        return np.concatenate([R.T @ A[:3], R.T @ (A[3:] - np.cross(V[:3], V[3:]))])

    def _twin(self, body: Any) -> BodyNode:
        twin = (self._cut or self._renewed()).twins.get(body) if isinstance(body, BodyNode) else None
        if twin is None:
            raise ModelError(f"subgraph {self.name!r}: {body!r} is no body of it")
        return twin

    def _forces_of(self, model: Skeleton, q: Array, wrenches: Wrenches) -> Array:
        """J^T f of wrenches on its bodies, at positions of the model."""
        given = self._given_wrenches(wrenches, "wrenches")
        if not given:
            return np.zeros(len(q))
        model.positions = q
        return model.joint_forces_of_wrenches([*given], np.array([*given.values()]))

    def _given_wrenches(self, wrenches: Wrenches, what: str) -> dict[BodyNode, Array]:
        """Wrenches by bodies of the model."""
        if wrenches is None:
            return {}
        if not isinstance(wrenches, Mapping):
            raise ModelError(f"subgraph {self.name!r}: {what}: expected a dictionary by body, got {wrenches!r}")
        label = f"subgraph {self.name!r}: {what}"
        return {self._twin(body): as_vector(wrench, label, 6) for body, wrench in wrenches.items()}

    def _place(self, item: Any) -> int:
        if isinstance(item, DegreeOfFreedom):
            item = item.name if item in self._dofs else item
        dof = self.dof(item)
        return next(k for k, own in enumerate(self._dofs) if own is dof)

    def inverse_dynamics(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        boundary_acceleration: ArrayLike | None = None,
        wrenches: Wrenches = None,
    ) -> Array:
        """Joint forces (dofs,) that give it accelerations, while its boundary moves as given.

        Args:
            positions, velocities, accelerations: of its coordinates; None for those held.
            boundary_acceleration: (6,) [wdot; acceleration] of the inboard body's origin, world axes; None: as held.
            wrenches: on its bodies, (6,) [torque; force] about their origins, world axes. External forces that the
                skeleton holds are no part of it.

        Raises:
            StateError: the wrong size, or not finite.
            ModelError: a body that is not of it; a boundary acceleration where it hangs on the world.
        """
        model, q, u, m = self._states(positions, velocities)
        udot = np.concatenate(
            [self._boundary(model, boundary_acceleration), given_of(self, "accelerations", accelerations)]
        )
        return (model.inverse_dynamics(q, u, udot) - self._forces_of(model, q, wrenches))[m:]

    def forward_dynamics(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        forces: ArrayLike | None = None,
        boundary_acceleration: ArrayLike | None = None,
        wrenches: Wrenches = None,
    ) -> Array:
        """Accelerations (dofs,) under joint forces; arguments and errors as for `inverse_dynamics`.

        Raises:
            ModelError: a coordinate moves no mass.
        """
        values = given_of(self, "forces", forces)
        return self.hybrid_dynamics(positions, velocities, values, (), boundary_acceleration, wrenches)[0]

    def hybrid_dynamics(
        self,
        positions: ArrayLike | None,
        velocities: ArrayLike | None,
        values: ArrayLike,
        prescribed: Coordinates,
        boundary_acceleration: ArrayLike | None = None,
        wrenches: Wrenches = None,
    ) -> tuple[Array, Array]:
        """Accelerations and forces (dofs,) with the accelerations of some coordinates given.

        Args:
            positions, velocities, boundary_acceleration, wrenches: as for `inverse_dynamics`.
            values: (dofs,) accelerations of the prescribed coordinates, joint forces of the others.
            prescribed: coordinates of it, by name, place or themselves.
        """
        given, held = vector_of(self, values, "values"), self._held(prescribed)
        model, q, u, m = self._states(positions, velocities)
        whole = np.concatenate([self._boundary(model, boundary_acceleration), given])
        pushed = self._forces_of(model, q, wrenches)
        free = np.setdiff1d(np.arange(len(q)), held)
        whole[free] += pushed[free]
        udot, tau = model.hybrid_dynamics(q, u, whole, held)
        return udot[m:], (tau - pushed)[m:]

    def base_wrench(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        boundary_acceleration: ArrayLike | None = None,
        wrenches: Wrenches = None,
    ) -> Array:
        """[torque; force] (6,) that the base's joint carries to it, about its origin, world axes.

        Arguments and errors as for `inverse_dynamics`.
        """
        model, q, u, _ = self._states(positions, velocities)
        udot = np.concatenate(
            [self._boundary(model, boundary_acceleration), given_of(self, "accelerations", accelerations)]
        )
        base = self._twin(self.base)
        total = quantities.reaction_wrenches(model, q, u, udot)[base.index]
        model.positions = q
        p = base.world_transform[:3, 3]
        for twin, f in self._given_wrenches(wrenches, "wrenches").items():
            total[:3] -= f[:3] + np.cross(twin.world_transform[:3, 3] - p, f[3:])
            total[3:] -= f[3:]
        return total

    def velocity_changes(self, joint_impulses: ArrayLike | None = None, body_impulses: Wrenches = None) -> Array:
        """M^-1 (joint impulses + sum J^T p) (dofs,) while the boundary does not give way.

        Args:
            joint_impulses: (dofs,) [N s, N m s]; None: none.
            body_impulses: on its bodies, (6,) [angular; linear] about their origins, world axes.
        """
        model, m = self.model, self.boundary_dofs
        given = np.zeros(model.num_dofs)
        if joint_impulses is not None:
            given[m:] = vector_of(self, joint_impulses, "joint_impulses")
        on_bodies = {b.index: p for b, p in self._given_wrenches(body_impulses, "body_impulses").items()}
        state = model.current_state
        return changes(state, on_bodies, given, state.prescribed_by_actuators())[m:]

    # What quantities of its model are asked with -----------------------------------------------------------

    def _rows(self) -> list[int]:
        """Indices of its bodies in the model."""
        return [self._twin(body).index for body in self.bodies]

    def _points(self, nodes: Any, offsets: ArrayLike | None) -> tuple[list[BodyNode], Array]:
        """Bodies of the model and points on them."""
        host = self.skeleton.current_state
        listed = host.listed(nodes)
        points = np.zeros((len(listed), 3)) if offsets is None else host.offsets(offsets, len(listed))
        twins = []
        for row, item in enumerate(listed):
            body, pose = host.carried_by(item)
            twins.append(self._twin(body))
            if pose is not None:
                points[row] = pose[:3, :3] @ points[row] + pose[:3, 3]
        return twins, points

    def _held(self, prescribed: Coordinates) -> list[int]:
        """Coordinates of the model that do not give way: the boundary's, and some of its own."""
        m = self.boundary_dofs
        if isinstance(prescribed, DegreeOfFreedom | str | int | np.integer):
            prescribed = [prescribed]
        if not isinstance(prescribed, Iterable | None):
            raise ModelError(f"subgraph {self.name!r}: prescribed: expected coordinates of it, got {prescribed!r}")
        own = [] if prescribed is None else [self._place(item) for item in prescribed]
        return [*range(m), *(m + k for k in own)]

    def operational_space_bias(
        self,
        nodes: Any,
        offsets: ArrayLike | None = None,
        rows: str = "all",
        damping: float = 0.0,
        prescribed: Coordinates = None,
        boundary_acceleration: ArrayLike | None = None,
    ) -> Array:
        """mu of F = Lambda xdd + mu of nodes on its bodies, as `Skeleton.operational_space_bias`.

        Args:
            nodes, offsets, rows, damping, prescribed: as for `operational_space_inertia`.
            boundary_acceleration: as for `inverse_dynamics`.
        """
        model, held = self.model, self._held(prescribed)
        points = self._points(nodes, offsets)
        inertia = model.operational_space_inertia(*points, rows, damping, held)
        udot = np.zeros(model.num_dofs)
        udot[: self.boundary_dofs] = self._boundary(model, boundary_acceleration)
        return -inertia @ free_accelerations(model.current_state, *points, rows, held, udot)


def of_model(subgraph: Subgraph, row: Quantity, **given: Any) -> Any:
    """The part of its coordinates and bodies in what its model has, whose boundary does not give way."""
    model, m = subgraph.model, subgraph.boundary_dofs
    if "prescribed" in row.names:
        given["prescribed"] = subgraph._held(given.get("prescribed"))
    if "nodes" in row.names:
        given["nodes"], given["offsets"] = subgraph._points(given["nodes"], given["offsets"])
    value = row.current(model, **given)
    parts: dict[Any, Any] = {"dofs": slice(m, None), "bodies": subgraph._rows()}
    return value[tuple(parts.get(size, slice(None)) for size in row.shape)] if row.shape else value


_OF_MODEL = "Of its bodies, and frozen ones that they carry; the boundary does not give way."
for _row in TABLE.values():
    if _row.subgraph:
        setattr(SubgraphQuantities, _row.name, form(_row, _row.arguments, of_model, _OF_MODEL))
