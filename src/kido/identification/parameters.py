"""`DynamicParameters`: the numbers that joint forces depend on linearly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.batch import Batch
from kido.errors import ModelError, NameLookupError, StateError
from kido.math.transform import as_flag, as_vector
from kido.skeleton import BodyNode, DegreeOfFreedom, Inertia, Skeleton

Array = NDArray[np.float64]

OF_A_LINK = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


class DynamicParameters(FixedAttributes):
    """Parameters pi of a skeleton, of which its joint forces are linear functions: T = Y(q, u, udot) pi.

    Ten for each link, in the axes of its first body: mass m [kg], m c (3) [kg m], moment of inertia about its origin
    (xx, xy, xz, yy, yz, zz) [kg m^2]. A link is a body that coordinates move, with all that is welded to it. Then,
    where wanted, for each joint with one coordinate: Coulomb's friction f_c sign(u), viscous friction f_v u, and the
    inertia of its rotor as the joint sees it, I_a udot.

    Of skeletons with flexible bodies these are the parameters of the rigid ones; what flexible bodies take to move as
    they do is known of their modes, `known_forces`: T = Y pi + known forces. Modes are rows of Y like joints, and
    bodies with inertia that are welded to a node or to the frame of a flexible body are links of their own.

    Args:
        skeleton: the model; it is read when values are asked for, and written by `apply` alone.
        friction: Coulomb's and viscous friction too.
        armature: rotor inertia too; without it, forces are taken to be those of a skeleton that has none.

    Attributes:
        links: the first body of each link.
        joints: coordinates that have friction and a rotor.
        deforms: whether there are flexible bodies.
        names: of all parameters, such as "forearm.mx", "elbow.coulomb", "elbow.viscous", "elbow.armature".

    Raises:
        ModelError: no skeleton, or one that nothing moves.

    Source: Atkeson, An, Hollerbach (1986), "Estimation of inertial parameters of manipulator loads and links".
    """

    def __init__(self, skeleton: Skeleton, friction: bool = False, armature: bool = False):
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"dynamic parameters: expected a kido.Skeleton, got {skeleton!r:.80}")
        self.skeleton = skeleton
        self.friction, self.armature = as_flag(friction, "friction"), as_flag(armature, "armature")
        self.deforms = any(joint.has_modes for joint in skeleton.joints)
        self.links: tuple[BodyNode, ...] = tuple(b for b in skeleton.bodies if self._begins_link(b))
        if not self.links:
            raise ModelError(f"skeleton {skeleton.name!r}: no body is moved by a coordinate: it has no parameters")
        single = [j for j in skeleton.joints if j.num_dofs == 1 and not j.has_modes]
        self.joints: tuple[DegreeOfFreedom, ...] = tuple(j.dofs[0] for j in single)
        names = [f"{b.name}.{what}" for b in self.links for what in OF_A_LINK]
        for wanted, kinds in ((self.friction, ("coulomb", "viscous")), (self.armature, ("armature",))):
            if wanted:
                names += [f"{dof.name}.{kind}" for dof in self.joints for kind in kinds]
        self.names: tuple[str, ...] = tuple(names)
        self._batch = Batch(skeleton)

    def _begins_link(self, body: BodyNode) -> bool:
        if body.parent_joint.has_modes or _deforms(body):
            return False
        if body.parent_joint.num_dofs or body.parent is None or not _deforms(body.parent):
            return body.parent_joint.num_dofs > 0
        inertia = self.link_inertia(body)
        return inertia.mass > 0.0 or bool(inertia.moment.any())

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"DynamicParameters({self.skeleton.name!r}, {len(self.links)} links, {len(self)} parameters)"

    def index(self, name: str) -> int:
        """Place of a parameter by its name.

        Raises:
            NameLookupError: there is none.
        """
        if name not in self.names:
            raise NameLookupError("parameter", name, self.names)
        return self.names.index(name)

    def regressor(self, positions: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike) -> Array:
        """Y (samples, dofs, parameters): joint forces are Y pi.

        Args:
            positions, velocities, accelerations: (samples, dofs) each; (dofs,) stands for all samples.

        Raises:
            StateError: other shapes, or numbers that are not finite.
        """
        own = self._batch.inverse_dynamics_regressor(
            positions, velocities, accelerations, [b.index for b in self.links]
        )
        samples, n = own.shape[0], self.skeleton.num_dofs
        u, udot = (np.broadcast_to(np.asarray(v, dtype=float), (samples, n)) for v in (velocities, accelerations))
        columns = [own]
        place = [dof.index for dof in self.joints]
        of_joint = np.zeros((n, len(place)))
        of_joint[place, np.arange(len(place))] = 1.0
        if self.friction:
            both = np.stack([np.sign(u), u], axis=-1)  # (samples, dofs, 2)
            columns.append((of_joint[None, :, :, None] * both[:, :, None, :]).reshape(samples, n, 2 * len(place)))
        if self.armature:
            columns.append(of_joint[None] * udot[:, :, None])
        return np.concatenate(columns, axis=2)

    def known_forces(self, positions: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike) -> Array:
        """Joint forces (samples, dofs) that are none of the parameters': those that flexible bodies take, or zero.

        Springs and dampers are no part of them, those of modes neither: they are forces as those of motors are.

        Args:
            positions, velocities, accelerations: as for `regressor`.

        Raises:
            StateError: as `regressor`.
        """
        state = positions, velocities, accelerations
        forces = self._batch.inverse_dynamics(*state)
        if not self.deforms:
            return np.zeros_like(forces)
        own = self._batch.inverse_dynamics_regressor(*state, [b.index for b in self.links])
        own_rotors = [0.0 if dof.joint.has_modes else dof.armature for dof in self.skeleton.dofs]
        rotors = np.array(own_rotors) * np.asarray(accelerations, dtype=float)
        return forces - own @ self.values()[: own.shape[2]] - rotors

    # Values ---------------------------------------------------------------------------------------------------

    def values(self) -> Array:
        """pi (parameters,) as the skeleton has it now."""
        found = [np.concatenate([np.zeros(0), *(numbers_of(self.link_inertia(b)) for b in self.links)])]
        if self.friction:
            found.append(np.array([[d.coulomb_friction, d.damping] for d in self.joints]).reshape(-1))
        if self.armature:
            found.append(np.array([d.armature for d in self.joints], dtype=float))
        return np.concatenate(found)

    def link_inertia(self, link: BodyNode) -> Inertia:
        """Inertia of a link, of all its bodies, in the axes of its first."""
        total, base = Inertia(), np.linalg.inv(link.world_transform)
        for body in _welded(link):
            total = total + body.present_inertia.transformed(_rigid(base @ body.world_transform))
        return total

    def apply(self, values: ArrayLike) -> None:
        """Give the skeleton these values: each link's inertia to its first body, and none to those welded to it.

        Raises:
            ModelError: values that no body or joint can have; the message names it. Nothing is changed.
        """
        pi = as_vector(values, "dynamic parameters", len(self))
        inertias = [inertia_of(pi[10 * k : 10 * k + 10], f"link {b.name!r}") for k, b in enumerate(self.links)]
        rest, changes = pi[10 * len(self.links) :], []
        kinds = ("coulomb_friction", "damping")
        if self.friction:
            for dof, pair in zip(self.joints, rest[: 2 * len(self.joints)].reshape(-1, 2)):
                changes += [(dof, kind, value) for kind, value in zip(kinds, pair)]
        if self.armature:
            changes += [(dof, "armature", value) for dof, value in zip(self.joints, rest[-len(self.joints) :])]
        for dof, kind, value in changes:
            if value < 0.0:
                raise ModelError(f"{dof.name}.{kind}: expected a number not below 0, got {value:g}")
        for link, inertia in zip(self.links, inertias):
            for body in _welded(link):
                body.inertia = Inertia()
            link.inertia = inertia
        for dof, kind, value in changes:
            setattr(dof, kind, float(value))

    def checked_forces(self, forces: ArrayLike, samples: int) -> Array:
        """Measured joint forces (samples, dofs).

        Raises:
            StateError: another shape, or numbers that are not finite.
        """
        tau = np.asarray(forces, dtype=float)
        if tau.shape != (samples, self.skeleton.num_dofs) or not np.isfinite(tau).all():
            raise StateError(
                f"forces: expected finite numbers of shape {(samples, self.skeleton.num_dofs)}, got an array of shape "
                f"{tau.shape}"
            )
        return tau


def _deforms(body: BodyNode) -> bool:
    """Whether it is a flexible body."""
    return any(child.parent_joint.has_modes for child in body.children)


def _welded(link: BodyNode) -> Iterator[BodyNode]:
    """The bodies of a link, its first one first."""
    pending = [link]
    while pending:
        body = pending.pop()
        yield body
        pending += [child for child in body.children if not (child.parent_joint.num_dofs or _deforms(child))]


def numbers_of(inertia: Inertia) -> Array:
    """The ten parameters of an inertia."""
    J = inertia.moment_about_origin
    return np.array([inertia.mass, *(inertia.mass * inertia.com), *J[np.triu_indices(3)]])


def inertia_of(pi: Array, what: str) -> Inertia:
    """The inertia of ten parameters.

    Raises:
        ModelError: no body can have them.
    """
    if not pi[0] > 0.0:
        if pi[0] == 0.0 and not pi.any():
            return Inertia()
        raise ModelError(f"{what}: expected a mass above 0, got {pi[0]:g} kg; `Identification.physical` finds such")
    J, c = symmetric(pi[4:]), pi[1:4] / pi[0]
    try:
        return Inertia(pi[0], c, J - pi[0] * (c @ c * np.eye(3) - np.outer(c, c)))
    except ModelError as error:
        raise ModelError(f"{what}: {error}; `Identification.physical` finds inertias that bodies can have") from None


def symmetric(six: Any) -> Array:
    """A symmetric matrix of its upper triangle, by rows."""
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _rigid(X: Array) -> Array:
    """A transform that was rounded, as `Inertia.transformed` takes it."""
    X[3] = 0.0, 0.0, 0.0, 1.0
    return X
