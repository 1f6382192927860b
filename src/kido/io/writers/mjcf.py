"""MJCF writer: bodies with their joints in sequence, inertias, geoms, sites, loops and couplings.

Any chain of hinges and slides is joints of one body in MJCF, as in a `CompoundJoint`, and those of links between
joints, bodies without mass, become joints of the body behind. Axes and anchors are in the frame of the body with all
coordinates at zero; where a world begins elsewhere, that is the keyframe ``initial``, and a world that was read from
MJCF has its own keyframes. Names are unique in a file: those that come again get their skeleton's name in front.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kido.actuation import ActuatorLink, Actuators, Linear, TendonLimits
from kido.constraints import BallJointConstraint, BallLimit, CouplerConstraint, CouplerForces, WeldJointConstraint
from kido.environment import FluidBox, Medium
from kido.environment.medium import LIGHT
from kido.io.fields import free_name
from kido.io.writers.mjcf_actuators import ActuatorWriter
from kido.io.writers.mjcf_contacts import add_contacts
from kido.io.writers.mjcf_geoms import GeomWriter
from kido.io.writers.mjcf_states import StateWriter, note_what_is_left_out
from kido.io.writers.shapes import MeshStore
from kido.io.writers.unsupported import UnsupportedFeatures
from kido.io.xml import Element, add, document, number, to_text, vector
from kido.joints import ActuatorType, JointKind
from kido.math.transform import as_transform, inverse_transform
from kido.quantities.soft import refuse_flexible
from kido.rendering import CameraNode
from kido.rendering.camera import FLIP
from kido.simulation import World
from kido.skeleton import BodyNode, DegreeOfFreedom, EndEffector, FreeJoint, Joint, Skeleton

__all__ = ["write"]

TYPES = {JointKind.REVOLUTE: "hinge", JointKind.PRISMATIC: "slide"}
WORLD = "world"
NOT_SEEN = "5"  # group
MOST = 1e10  # for a bound that there is not


def write(model: Skeleton | World, store: MeshStore, unsupported: UnsupportedFeatures) -> str:
    """The text of an MJCF file. Raises KidoError if the format cannot hold the model."""
    for skeleton in (model,) if isinstance(model, Skeleton) else model.skeletons:
        refuse_flexible(skeleton, "written files")
    return _Writer(model, store, unsupported).text()


@dataclass(frozen=True)
class _Motion:
    """A coordinate, or three of a ball joint: which, the frame in the body of the axis."""

    joint: Joint
    number: int
    kind: str
    axis: np.ndarray
    frame: np.ndarray

    def seen_from(self, X: np.ndarray) -> _Motion:
        """The same in a body whose pose in this one is X."""
        return replace(self, frame=inverse_transform(X) @ self.frame)


class _Writer:
    """One file in the making."""

    def __init__(self, model: Skeleton | World, store: MeshStore, unsupported: UnsupportedFeatures):
        self.model, self.unsupported = model, unsupported
        self.skeletons = [model] if isinstance(model, Skeleton) else list(model.skeletons)
        self.root = document("mujoco", model=model.name)
        add(self.root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
        self.option = add(self.root, "option", gravity=vector(model.gravity))
        if isinstance(model, World):
            self.option.set("timestep", number(model.time_step))
        self.assets = add(self.root, "asset")
        self.holder = add(self.root, "worldbody")
        self.sections = {key: document(key) for key in ("contact", "tendon", "actuator", "equality", "keyframe")}
        self.taken: dict[str, set[str]] = {}
        self.names: dict[Any, str] = {}
        self.geoms = GeomWriter(self.assets, store, unsupported, self.name, self.skeletons)
        self.elements: dict[BodyNode, Element] = {}
        self.links: set[BodyNode] = set()  # that are joints of others in the file
        self.balls: dict[Joint, Element] = {}
        self.actuators = ActuatorWriter(
            self.sections["tendon"], self.sections["actuator"], self.names, self.name, self.site, self.geom, unsupported
        )
        self.pending: dict[BodyNode, tuple[np.ndarray, list[_Motion]]] = {}
        self.states = StateWriter()

    def _add_media(self, world: World) -> None:
        """The fluid, if there is one for all that moves, which acts by inertia boxes."""
        media = [c for c in world.controllers if isinstance(c, Medium)]
        fluids = {(c.density, c.viscosity, *c.wind) for c in media}
        moving = {s for s in self.skeletons if s.num_dofs and not s.kinematic}
        boxes = len(media) == len(moving) and all(map(_acts_by_inertia, media))
        if len(fluids) == 1 and boxes and {c.skeleton for c in media} == moving:
            density, viscosity, *wind = fluids.pop()
            for key, value in (("density", number(density)), ("viscosity", number(viscosity)), ("wind", vector(wind))):
                self.option.set(key, value)
        elif media:
            self.unsupported.remark(
                "a fluid that is not the same for all, or acts by other shapes than inertia boxes, is left out"
            )

    def text(self) -> str:
        """The whole file."""
        for skeleton in self.skeletons:
            for body in skeleton.bodies:
                self._add_body(body)
            note_what_is_left_out(skeleton, self.unsupported)
        self.unsupported.check()
        bodies = {body: self.names.get(body, WORLD) for body in self.elements if body not in self.links}
        add_contacts(
            self.sections["contact"],
            self.option,
            self.model,
            self.skeletons,
            bodies,
            self.geoms.names,
            self.unsupported,
        )
        if isinstance(self.model, World):
            if any(isinstance(c, ActuatorLink) for c in self.model.controllers):
                self.actuators.add(Actuators.of(self.model))
            self._add_media(self.model)
            for constraint in self.model.constraint_set.added:
                self._add_constraint(constraint)
        for skeleton in self.skeletons:
            for dof in skeleton.dofs:
                if dof.actuator_type == ActuatorType.MIMIC and dof.mimic is not None:
                    self._add_mimic(dof)
        self.states.add_to(self.sections["keyframe"], self.model, self.actuators.order, self.unsupported)
        for section in self.sections.values():
            if len(section):
                self.root.append(section)
        if not len(self.assets):
            self.root.remove(self.assets)
        return to_text(self.root)

    def name(self, kind: str, wanted: str, prefix: str) -> str:
        """A name that no other element of its kind has."""
        taken = self.taken.setdefault(kind, {WORLD} if kind == "body" else set())
        name = wanted if wanted not in taken else free_name(f"{prefix}_{wanted}", taken)
        if name != wanted and kind != "geom":
            self.unsupported.remark(f"{kind} '{wanted}' of '{prefix}' is called '{name}'")
        taken.add(name)
        return name

    # -- bodies and joints ---------------------------------------------------------------------------------------

    def _add_body(self, body: BodyNode) -> None:
        skeleton, joint = body.skeleton, body.parent_joint
        fixed = not skeleton.mobile
        if _is_world(body):
            self.elements[body] = self.holder  # what stands in the world itself
            self.geoms.add(self.holder, body)
            self._add_sites(self.holder, body)
            return
        X, motions = self._zero(body, joint, fixed)
        before, moved = self.pending.pop(body.parent, (np.eye(4), [])) if body.parent else (np.eye(4), [])
        motions = [m.seen_from(X) for m in moved] + motions
        X = before @ X
        if not fixed and _is_between(body) and joint.kind != JointKind.FREE:
            self.pending[body] = X, motions  # its joints become its child's
            self.links.add(body)
            self.elements[body] = self._above(body)
            return
        name = self.names[body] = self.name("body", body.name, skeleton.name)
        element = self.elements[body] = add(self._above(body), "body", name=name, **_placed(X))
        if body.gravity != 1.0:
            element.set("gravcomp", number(1.0 - body.gravity))
        if skeleton.kinematic and self._is_top(body) and joint.kind == JointKind.FREE and not body.children:
            element.set("mocap", "true")
        elif not fixed:
            self._add_joints(element, joint, motions)
        inertia = body.inertia
        if inertia.mass > 0.0 or inertia.moment.any():
            values = [inertia.moment[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
            add(element, "inertial", pos=vector(inertia.com), mass=number(inertia.mass), fullinertia=vector(values))
        self.geoms.add(element, body)
        self._add_sites(element, body)

    def _zero(self, body: BodyNode, joint: Joint, fixed: bool) -> tuple[np.ndarray, list[_Motion]]:
        """Pose in the parent with coordinates at zero, and how it moves from there."""
        X_P, X_C = np.asarray(joint.transform_from_parent), np.asarray(joint.transform_from_child)
        if fixed or joint.kind == JointKind.FREE:
            if not fixed and not self._is_top(body):
                self.unsupported.approximated(f"joint '{joint.name}' (free, on another body)", "a weld where it is")
            own = joint.get_property("initial_position") if joint.kind == JointKind.FREE else None
            if own is not None:
                return X_P @ FreeJoint.to_transform(own) @ inverse_transform(X_C), []
            base = np.eye(4) if body.parent is None else np.asarray(body.parent.world_transform)
            return inverse_transform(base) @ np.asarray(body.world_transform), []
        if joint.kind == JointKind.WELD:
            return X_P @ inverse_transform(X_C), []
        if joint.kind == JointKind.BALL:
            return X_P @ inverse_transform(X_C), [_Motion(joint, 0, "ball", np.zeros(3), X_C)]
        hinges = joint.elementary_motions()
        if hinges is None or any(hinge.kind not in TYPES for hinge in hinges):
            self.unsupported.approximated(f"joint '{joint.name}' ({type(joint).__name__})", "a weld where it is")
            return X_P @ inverse_transform(X_C), []
        frames, T = [], np.eye(4)
        for hinge in hinges:
            T = T @ np.asarray(hinge.offset)
            frames.append(T)
        to_body = X_C @ inverse_transform(T)
        motions = [
            _Motion(joint, k, TYPES[hinge.kind], np.asarray(hinge.axis), to_body @ frame)
            for k, (hinge, frame) in enumerate(zip(hinges, frames, strict=True))
        ]
        return X_P @ inverse_transform(to_body), motions

    def _add_joints(self, element: Element, joint: Joint, motions: list[_Motion]) -> None:
        if joint.kind == JointKind.FREE and self._is_top(joint.child):
            name = self.names[joint] = self.name("joint", joint.name, joint.child.skeleton.name)
            self._add_shared(add(element, "joint", name=name, type="free"), joint)
            self.states.add_free(joint)
        for m in motions:
            dof, frame = m.joint.dofs[m.number], m.frame
            single = m.joint.num_dofs == 1 or m.kind == "ball"
            name = self.name("joint", m.joint.name if single else dof.name, dof.joint.child.skeleton.name)
            made = add(element, "joint", name=name, type=m.kind, pos=vector(frame[:3, 3]))
            if m.kind == "ball":
                self.names[m.joint], self.balls[m.joint] = name, made
                self._add_shared(made, m.joint)
                if not np.allclose(frame[:3, :3], np.eye(3), atol=1e-12):
                    self.unsupported.remark(f"joint '{name}': its coordinates are along the axes of its body")
                self.states.add_ball(m.joint, frame[:3, :3])
            else:
                self.names[dof] = name
                made.set("axis", vector(frame[:3, :3] @ m.axis))
                self._add_own(made, dof)
                self.states.add_single(m.joint, m.number)

    def _add_own(self, made: Element, dof: DegreeOfFreedom) -> None:
        """Properties of a hinge or slide."""
        for key, value in (
            ("damping", dof.damping),
            ("armature", dof.armature),
            ("frictionloss", dof.coulomb_friction),
            ("stiffness", dof.spring_stiffness),
            ("springref", dof.rest_position if dof.spring_stiffness else 0.0),
        ):
            if value:
                made.set(key, number(value))
        for key, low, high in (
            ("range", dof.position_lower_limit, dof.position_upper_limit),
            ("actuatorfrcrange", dof.force_lower_limit, dof.force_upper_limit),
        ):
            if np.isfinite([low, high]).any():
                if not np.isfinite([low, high]).all():
                    self.unsupported.remark(f"dof '{dof.name}': its {key} has one side, the other is 1e10")
                made.set(key, vector(np.clip([low, high], -MOST, MOST)))

    def _add_shared(self, made: Element, joint: Joint) -> None:
        """Properties of a ball or free joint, which all its coordinates have alike."""
        for key, name in (("damping", "damping"), ("armature", "armature"), ("coulomb_friction", "frictionloss")):
            values = np.asarray(joint.get_property(key))
            if values.any():
                made.set(name, number(float(values.mean())))
                if np.ptp(values):
                    self.unsupported.remark(f"joint '{joint.name}': its {key.replace('_', ' ')} is the mean")
        if np.asarray(joint.get_property("spring_stiffness")).any():
            self.unsupported.remark(f"joint '{joint.name}': its spring is left out")

    def _above(self, body: BodyNode) -> Element:
        """The element of what a body hangs on."""
        return self.holder if body.parent is None else self.elements[body.parent]

    def _is_top(self, body: BodyNode) -> bool:
        """Whether a body hangs on the world."""
        return body.parent is None or self.elements[body.parent] is self.holder

    def _add_sites(self, element: Element, body: BodyNode) -> None:
        for node in body.nodes(EndEffector):
            name = self.name("site", node.name, body.skeleton.name)
            add(element, "site", name=name, **_placed(np.asarray(node.relative_transform)))
        for camera in body.nodes(CameraNode):
            name, lens = self.name("camera", camera.name, body.skeleton.name), camera.lens
            size = f"{lens.width} {lens.height}"
            place = _placed(np.asarray(camera.relative_transform) @ FLIP)
            add(element, "camera", name=name, fovy=number(np.degrees(lens.fov)), resolution=size, **place)

    # -- constraints ---------------------------------------------------------------------------------------------

    def _add_constraint(self, constraint: Any) -> None:
        if isinstance(constraint, CouplerForces | TendonLimits):
            known = isinstance(constraint, TendonLimits)
            made = self.actuators.written[constraint.name][0] if known else self._tendon(constraint)
            limits = [constraint.lower_limit, constraint.upper_limit]
            if np.isfinite(limits).any():
                made.set("range", vector(np.clip(limits, -MOST, MOST)))
            if isinstance(constraint, CouplerForces) and constraint.coulomb_friction:
                made.set("frictionloss", number(constraint.coulomb_friction))
        elif isinstance(constraint, BallLimit) and constraint.joint in self.balls:
            self.balls[constraint.joint].set("range", vector([0.0, constraint.limit]))
        elif isinstance(constraint, CouplerConstraint):
            self._add_coupler(constraint)
        elif isinstance(constraint, BallJointConstraint | WeldJointConstraint):
            name = self.name("equality", constraint.name, "loop")
            one = self.site(f"{name}_a", constraint.body_a, constraint.frame_a)
            two = self.site(f"{name}_b", constraint.body_b, constraint.frame_b)
            tag = "connect" if isinstance(constraint, BallJointConstraint) else "weld"
            add(self.sections["equality"], tag, name=name, site1=one, site2=two)
        else:
            self.unsupported.remark(f"{type(constraint).__name__} '{constraint.name}' is left out")

    def _add_coupler(self, constraint: CouplerConstraint) -> None:
        """One coordinate, or two, as an equality of joints; more as one of a tendon."""
        name, equalities = self.name("equality", constraint.name, "loop"), self.sections["equality"]
        (dof, factor), *others = constraint.terms
        if len(others) > 1:
            poly = vector([constraint.offset, 0, 0, 0, 0])
            add(equalities, "tendon", name=name, tendon1=str(self._tendon(constraint).get("name")), polycoef=poly)
            return
        slope = -others[0][1] / factor if others else 0.0
        poly = vector([constraint.offset / factor, slope, 0, 0, 0])
        made = add(equalities, "joint", name=name, joint1=self.names[dof], polycoef=poly)
        if others:
            made.set("joint2", self.names[others[0][0]])

    def site(self, name: str, body: BodyNode | None, frame: Any) -> str:
        """Write a site that is not seen. Returns its name."""
        element = self.holder if body is None else self.elements[body]
        name = self.name("site", name, "own")
        add(element, "site", name=name, group=NOT_SEEN, **_placed(np.asarray(frame)))
        return name

    def geom(self, name: str, body: BodyNode | None, frame: Any, attributes: dict[str, str]) -> str:
        """Write a geom that nothing touches. Returns its name."""
        element = self.holder if body is None else self.elements[body]
        name = self.name("geom", name, "own")
        add(element, "geom", name=name, contype="0", conaffinity="0", **_placed(np.asarray(frame)), **attributes)
        return name

    def _tendon(self, constraint: CouplerConstraint) -> Element:
        """The tendon whose length a constraint is about."""
        made, transmission = self.actuators.written.get(constraint.name, (None, None))
        if made is not None and isinstance(transmission, Linear) and dict(transmission.terms) == dict(constraint.terms):
            return made
        made = add(self.sections["tendon"], "fixed", name=self.name("tendon", constraint.name, "loop"))
        for dof, factor in constraint.terms:
            add(made, "joint", joint=self.names[dof], coef=number(factor))
        return made

    def _add_mimic(self, dof: DegreeOfFreedom) -> None:
        """A coordinate that follows another."""
        mimic: Any = dof.mimic
        joint = dof.joint.child.skeleton.joint(mimic.joint)
        leader = joint.dofs[mimic.dof if isinstance(mimic.dof, int) else 0]
        if dof not in self.names or leader not in self.names:
            self.unsupported.remark(f"dof '{dof.name}': that it follows '{leader.name}' is left out")
            return
        poly = vector([mimic.offset, mimic.multiplier, 0, 0, 0])
        add(self.sections["equality"], "joint", joint1=self.names[dof], joint2=self.names[leader], polycoef=poly)


def _is_world(body: BodyNode) -> bool:
    """Whether a body is the world itself, as files of some formats have it."""
    still = body.parent_joint.kind == JointKind.WELD and body.parent is None and body.name == WORLD
    return still and body.mass == 0.0 and np.array_equal(body.world_transform, np.eye(4))


def _is_between(body: BodyNode) -> bool:
    """Whether a body is nothing but a link between two joints."""
    bare = body.mass == 0.0 and not body.shapes and not body.nodes(EndEffector)
    return bare and len(body.children) == 1 and body.children[0].parent_joint.kind != JointKind.FREE


def _placed(X: np.ndarray) -> dict[str, str]:
    """Position and quaternion of a pose."""
    found = {"pos": vector(X[:3, 3])}
    if not np.array_equal(X[:3, :3], np.eye(3)):
        found["quat"] = vector(Rotation.from_matrix(X[:3, :3]).as_quat(scalar_first=True))
    return found


def _acts_by_inertia(medium: Medium) -> bool:
    """Whether a fluid acts by the inertia boxes of all bodies with mass, once each."""
    bodies = [shape.body for shape in medium.shapes]
    if len(bodies) != len(set(bodies)) or set(bodies) != {b for b in medium.skeleton.bodies if b.mass > LIGHT}:
        return False
    for shape in medium.shapes:
        if not isinstance(shape, FluidBox):
            return False
        X, squares = as_transform(shape.pose, "pose"), np.square(np.asarray(shape.size, float))
        own, R = shape.body.inertia, X[:3, :3]
        moment = R @ np.diag(own.mass / 12.0 * (squares.sum() - squares)) @ R.T
        near = np.allclose(moment, own.moment, rtol=1e-9, atol=1e-9 * np.trace(own.moment))
        if not near or not np.allclose(X[:3, 3], own.com, rtol=0.0, atol=1e-9):
            return False
    return True
