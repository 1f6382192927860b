"""A body with a soft surface."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.quantities import soft
from kido.shapes import SoftMesh
from kido.skeleton.body_node import BodyNode
from kido.skeleton.host import edits
from kido.skeleton.inertia import Inertia
from kido.skeleton.joints.types import WeldJoint
from kido.skeleton.nodes.shape_node import ShapeNode
from kido.skeleton.soft.skin import Skin, checked_masses, checked_radius, checked_vectors, chosen_points, total_of

if TYPE_CHECKING:
    from kido.skeleton.frames.frame import Frame
    from kido.skeleton.joints.joint import Joint
    from kido.skeleton.skeleton import Skeleton

Array = NDArray[np.float64]


class SoftBodyNode(BodyNode):
    """A rigid body, possibly without mass of its own, with a skin of point masses.

    Made by `Skeleton.add_soft_body`. In a world the points move, in two-way coupling with the skeleton, and touch
    other shapes; energies, momentum and centre of mass are those of the points. What a skeleton computes on its own
    (mass matrix, gravity forces, inverse dynamics, ...) has the points where they are, held there; what needs to know
    how they move is refused. A body can be soft in parts: points can be frozen, and freed, at any time.

    Points are numbered as the vertices of the skin's shape. Vectors of points are (n,3) arrays.

    Source: DART report, section 3.2; Jain and Liu, "Controlling Physics-Based Characters Using Soft Contacts" (2011).
    """

    def __init__(self, skeleton: Skeleton, name: str, joint: Joint, parent: BodyNode | None, inertia: Inertia):
        super().__init__(skeleton, name, joint, parent, inertia)
        self.own_link = True  # the skin's link has the body's frame
        self._skin: Skin | None = None

    @property
    def skin(self) -> Skin:
        """The points, as a shape of the body."""
        if self._skin is None:
            raise ModelError(f"soft body {self.name!r} has no skin: it was removed")
        return self._skin

    def _remove_node(self, node: Any) -> None:
        if node is self._skin:
            raise ModelError(f"soft body {self.name!r}: its skin cannot be removed; freeze its points")
        super()._remove_node(node)

    # Inertia ---------------------------------------------------------------------------------------------

    @property
    def inertia(self) -> Inertia:
        """Of the body with its skin at rest; set `core_inertia` and the skin's masses."""
        return self._inertia if self._skin is None else self._with_points(self._skin.rest)

    @property
    def present_inertia(self) -> Inertia:
        """Of the body with its skin as it is now: what the skeleton's own dynamics takes."""
        return self._inertia if self._skin is None else self._with_points(self._skin.rest + self._skin.q)

    def _with_points(self, places: Array) -> Inertia:
        core, skin = self._inertia, self.skin.inertia_of(places)
        total = core.mass + skin.mass
        com = (core.mass * core.com + skin.mass * skin.com) / total
        moment = np.zeros((3, 3))
        for part in (core, skin):
            r = part.com - com
            moment += part.moment + part.mass * (r @ r * np.eye(3) - np.outer(r, r))
        return Inertia(total, com, moment)

    @property
    def core_inertia(self) -> Inertia:
        """Inertia of the body without its skin."""
        return self._inertia

    @core_inertia.setter
    def core_inertia(self, value: Inertia) -> None:
        set_own: Any = BodyNode.inertia.fset
        set_own(self, value)

    @property
    def mass(self) -> float:
        """Mass with the skin's [kg]."""
        return self._inertia.mass + self.total_mass

    @property
    def total_mass(self) -> float:
        """Mass of all points together [kg]."""
        return total_of(self.skin.masses)

    @property
    def local_com(self) -> Array:
        """Centre of mass of the deformed body from its origin, in its own axes [m]."""
        own, skin = self._inertia, self.skin
        return (own.mass * own.com + skin.masses @ (skin.rest + skin.q)) / self.mass

    def com_velocity(self, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None) -> Array:
        """Velocity (3,) of the centre of mass, points as they move [m/s]; arguments as for bodies."""
        return self.skeleton.com_velocity([self], relative_to, in_coordinates_of)

    def com_spatial_velocity(self, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None) -> Array:
        """[angular velocity of the body; velocity of the centre of mass] (6,), points as they move [rad/s, m/s]."""
        w = self.angular_velocity(relative_to, in_coordinates_of)
        return np.concatenate([w, self.com_velocity(relative_to, in_coordinates_of)])

    def com_acceleration(self, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None) -> Array:
        """Acceleration (3,) of the centre of mass [m/s^2].

        Raises:
            ModelError: points move, so that theirs are not known.
        """
        soft.refuse_acceleration(self.skeleton.current_state, [self])
        return super().com_acceleration(relative_to, in_coordinates_of)

    def com_spatial_acceleration(
        self, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None
    ) -> Array:
        """Spatial acceleration (6,) at the centre of mass; raises as `com_acceleration` does."""
        soft.refuse_acceleration(self.skeleton.current_state, [self])
        return super().com_spatial_acceleration(relative_to, in_coordinates_of)

    # Material --------------------------------------------------------------------------------------------

    @property
    def kv(self) -> float:
        """Kv: stiffness of each point towards its place at rest in the body [N/m]."""
        return self.skin.kv

    @kv.setter
    def kv(self, value: float) -> None:
        self.skin.set_coefficient("kv", value)

    @property
    def ke(self) -> float:
        """Ke: stiffness of each edge, against differences of its ends' displacements [N/m]."""
        return self.skin.ke

    @ke.setter
    def ke(self, value: float) -> None:
        self.skin.set_coefficient("ke", value)

    @property
    def kd(self) -> float:
        """Kd: damping of each point's motion in the body [N s/m]."""
        return self.skin.kd

    @kd.setter
    def kd(self, value: float) -> None:
        self.skin.set_coefficient("kd", value)

    # Points ----------------------------------------------------------------------------------------------

    @property
    def num_points(self) -> int:
        """Number of point masses."""
        return self.skin.num_points

    @property
    def point_masses(self) -> Array:
        """Mass of each point (n,) [kg]; set to all masses, or to one for all together, shared equally."""
        return self.skin.masses.copy()

    @point_masses.setter
    @edits
    def point_masses(self, value: Any) -> None:
        self.skin.masses = checked_masses(f"soft body {self.name!r}", value, self.num_points)
        self.skeleton.properties_changed()

    @property
    def rest_positions(self) -> Array:
        """Places at rest in the body's frame [m]."""
        return self.skin.rest

    @property
    @edits
    def displacements(self) -> Array:
        """Displacements of the points from their places at rest, body axes [m]; set for all, or one for all."""
        return np.array(self.skin.q)

    @displacements.setter
    @edits
    def displacements(self, value: Any) -> None:
        self.skin.q[:] = checked_vectors(self.skin, "displacements", value)

    @property
    @edits
    def displacement_rates(self) -> Array:
        """Velocities of the points in the body's frame [m/s]; those of frozen points stay zero when set."""
        return np.array(self.skin.qd)

    @displacement_rates.setter
    @edits
    def displacement_rates(self, value: Any) -> None:
        given = np.broadcast_to(checked_vectors(self.skin, "displacement_rates", value), self.skin.qd.shape)
        self.skin.qd[:] = np.where(self.skin.frozen[:, None] != 0, 0.0, given)

    @property
    def point_positions(self) -> Array:
        """Places of the points in the world [m]."""
        X = self.world_transform
        return (self.skin.rest + self.skin.q) @ X[:3, :3].T + X[:3, 3]

    @property
    def point_velocities(self) -> Array:
        """Velocities of the points in the world [m/s]."""
        X, V = self.world_transform, self.spatial_velocity
        arms = (self.skin.rest + self.skin.q) @ X[:3, :3].T
        return V[3:] + np.cross(V[:3], arms) + self.skin.qd @ X[:3, :3].T

    @property
    @edits
    def point_forces(self) -> Array:
        """External forces on the points during steps, world axes [N]; they hold until they are set anew."""
        return np.array(self.skin.forces)

    @point_forces.setter
    @edits
    def point_forces(self, value: Any) -> None:
        self.skin.forces[:] = checked_vectors(self.skin, "point_forces", value)

    @edits
    def add_point_force(self, point: int, force: Any) -> None:
        """Add to the external force on a point, world axes [N]."""
        (k,) = chosen_points(self.skin, [point])
        self.skin.forces[k] += checked_vectors(self.skin, "force", force).reshape(-1)[:3]

    @property
    def contact_impulses(self) -> Array:
        """Impulses that contacts gave the points in a world's last step, world axes [N s]."""
        return np.array(self.skin.impulses)

    def neighbors(self, point: int) -> NDArray[np.int64]:
        """Points that edges join to a point, ascending."""
        (k,) = chosen_points(self.skin, [point])
        edges = self.skin.mesh.edges
        return np.sort(np.concatenate([edges[edges[:, 0] == k, 1], edges[edges[:, 1] == k, 0]]))

    @property
    def elastic_energy(self) -> float:
        """Energy of the springs, 1/2 Kv sum |q|^2 + 1/2 Ke sum over edges |q_i - q_j|^2 [J]."""
        q, edges = self.skin.q, self.skin.mesh.edges
        return float(0.5 * self.kv * (q**2).sum() + 0.5 * self.ke * ((q[edges[:, 0]] - q[edges[:, 1]]) ** 2).sum())

    def deformed_mesh(self, in_world: bool = True) -> tuple[Array, NDArray[np.int64]]:
        """The surface as it is: vertices (n,3) [m] in the world or in the body's frame, and triangles (m,3)."""
        vertices = self.point_positions if in_world else self.skin.rest + self.skin.q
        return vertices, self.skin.mesh.faces.copy()

    # Freezing --------------------------------------------------------------------------------------------

    @property
    def frozen(self) -> NDArray[np.bool_]:
        """Which points are fixed to the body where they are (n,)."""
        return self.skin.frozen != 0

    def freeze(self, points: Any = None) -> None:
        """Fix points to the body where they are now; None: all. Momentum is kept, as in a plastic impact."""
        self.skin.freeze(points)

    def free(self, points: Any = None) -> None:
        """Let points move again, from where they are; None: all."""
        self.skin.free(points)

    @property
    def automatic(self) -> float | None:
        """Radius of the automatic mode [m]; None: it is off.

        Points at rest within this distance of one in contact are free; all others are frozen as soon as they are back
        in their places. So a body that touches nothing costs next to nothing and moves as a rigid one.
        """
        return self.skin.automatic

    @automatic.setter
    @edits
    def automatic(self, value: float | None) -> None:
        self.skin.automatic = checked_radius(self.name, value)
        self.skeleton.properties_changed()

    def __repr__(self) -> str:
        return f"SoftBodyNode({self._name!r})"


def add_soft_body(
    skeleton: Skeleton,
    name: str,
    shape: SoftMesh,
    joint: Joint | None,
    parent: BodyNode | str | None,
    inertia: Inertia | None,
    transform: Any,
    options: dict[str, Any],
) -> SoftBodyNode:
    """See `Skeleton.add_soft_body`."""
    valid = [*inspect.signature(Skin.__init__).parameters, *inspect.signature(ShapeNode.__init__).parameters]
    for key in options:
        if key not in valid or key in ("self", "body", "name", "shape", "options"):
            raise ModelError(f"soft body {name!r}: its skin has no option {key!r}")
    probe = BodyNode(skeleton, "probe", WeldJoint(), None, Inertia())
    Skin(probe, f"{name}_skin", shape, transform, **options)  # fails where it must before anything is changed
    body: Any = skeleton.add_body(name, joint, parent, inertia, _kind=SoftBodyNode)
    skin = Skin(body, f"{name}_skin", shape, transform, **options)
    body._skin = skin
    body._add_node(skin)
    return body
