"""KIDO: kinematics, dynamics and optimization of articulated bodies.

Names are imported on first use, so that ``import kido`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "kido.errors": (
        "FileFormatError", "KidoError", "MeshNotFoundError", "MissingExtraError", "ModelError",
        "NameLookupError", "ShapeError", "StateError",
    ),
    "kido.shapes": (
        "Arrow", "Box", "Capsule", "Cone", "Cylinder", "Ellipsoid", "Heightmap", "LineSegment", "Mesh",
        "MultiSphereHull", "Plane", "PointCloud", "Pyramid", "Shape", "SoftMesh", "Sphere", "VoxelGrid",
    ),
    "kido.skeleton.attributes": ("UnknownAttributeError",),
    "kido.skeleton": (
        "ActivePassiveSplit", "ActuatorType", "Aspect", "Attachment", "BallJoint", "BodyNode", "Branch", "Carrier",
        "Chain", "CompoundJoint",
        "Configuration", "DegreeOfFreedom", "EndEffector", "ErpCfm", "EulerJoint", "Expansion", "FixedFrame",
        "Frame", "FrameNode", "FreeJoint", "Group", "Hinge", "Inertia", "Joint", "Linkage", "LinkageCriteria",
        "LoopJoint", "Marker", "MarkerConstraint", "Mimic", "Node", "PlanarJoint", "PrismaticJoint",
        "RevoluteJoint", "SavedProperties", "SavedState", "ScrewJoint", "ShapeNode", "SimpleFrame", "Skeleton",
        "Skin", "SkinState", "SoftBodyNode", "SpringDamper", "State", "Subgraph", "Support", "Surface", "Target",
        "Terminal",
        "TimeConstant", "TranslationalJoint",
        "UniversalJoint", "UserJoint", "WORLD_FRAME", "WeldJoint", "WorldFrame",
    ),
    "kido.constraints": (
        "AngleConstraint", "AxisForces", "BallJointConstraint", "BodyConstraint", "Constraint", "CouplerConstraint",
        "CylindricalJointConstraint", "DifferentialConstraint", "DistanceConstraint", "GearConstraint",
        "PlanarJointConstraint", "PointOnPlaneConstraint", "PrismaticJointConstraint", "RevoluteJointConstraint",
        "ScrewJointConstraint", "TravelConstraint", "UniversalJointConstraint", "UserConstraint", "WeldJointConstraint",
    ),
    "kido.dynamics": ("ConstrainedDynamics", "ConstrainedSystem", "DynamicsReport", "DynamicsSolver"),
    "kido.simulation": (
        "ConstraintReport", "ContactEvent", "ContactEventKind", "ContactSet", "ContactSurface", "ContactSurfaceHandler",
        "Sleeping", "StepReport", "World", "WorldSnapshot",
    ),
    "kido.ik": (
        *("CompositeIK", "DifferentialIK", "HierarchicalIK", "IkSolver", "InverseKinematics", "TaskSpaceRegion"),
        "WholeBodyIK",
    ),
    "kido.operators": ("OperatorError", "SpatialOperators"),
    "kido.recording": ("Recorder", "Recording"),
    "kido.io": ("load", "save"),
}  # fmt: skip
_PACKAGES = (
    "batch", "collision", "dynamics", "ik", "integrators", "io", "layouts", "models", "operators", "optimization",
    "quantities", "recording", "simulation", "solvers", "viewer",
)  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

if TYPE_CHECKING:
    from kido.constraints import *
    from kido.dynamics import ConstrainedDynamics, ConstrainedSystem, DynamicsReport, DynamicsSolver
    from kido.errors import *
    from kido.ik import (
        CompositeIK,
        DifferentialIK,
        HierarchicalIK,
        IkSolver,
        InverseKinematics,
        TaskSpaceRegion,
        WholeBodyIK,
    )
    from kido.io import load, save
    from kido.operators import OperatorError, SpatialOperators
    from kido.recording import Recorder, Recording
    from kido.shapes import (
        Arrow,
        Box,
        Capsule,
        Cone,
        Cylinder,
        Ellipsoid,
        Heightmap,
        LineSegment,
        Mesh,
        MultiSphereHull,
        Plane,
        PointCloud,
        Pyramid,
        Shape,
        SoftMesh,
        Sphere,
        VoxelGrid,
    )
    from kido.simulation import (
        ConstraintReport,
        ContactEvent,
        ContactEventKind,
        ContactSet,
        ContactSurface,
        ContactSurfaceHandler,
        Sleeping,
        StepReport,
        World,
        WorldSnapshot,
    )
    from kido.skeleton import *

__all__ = ["__version__", *_HOME_OF]  # pyright: ignore[reportUnsupportedDunderAll] -- the table is long


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value
    if name in _PACKAGES:
        return import_module(f"kido.{name}")
    raise AttributeError(f"module 'kido' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF, *_PACKAGES])
