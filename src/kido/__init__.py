"""KIDO: kinematics, dynamics and optimization of articulated bodies.

Names are imported on first use, so that ``import kido`` is quick; type checkers and editors read them in
`__init__.pyi`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "kido.errors": (
        "ArgumentError", "ConcurrencyError", "FileFormatError", "KidoError", "KidoWarning", "MeshNotFoundError",
        "MissingExtraError", "ModelError", "NameLookupError", "ReadOnlyError", "ShapeError", "StateError",
        "UnknownAttributeError",
    ),
    "kido.skeleton": (
        "ActivePassiveSplit", "ActuatorType", "Aspect", "Attachment", "BodyNode", "Branch", "Carrier", "Chain",
        "Configuration", "DegreeOfFreedom", "EndEffector", "ErpCfm", "Expansion", "FixedFrame", "Frame", "FrameNode",
        "Group", "Hinge", "Inertia", "Joint", "Linkage", "LinkageCriteria", "LoopJoint", "Marker",
        "Mimic", "Node", "SavedProperties", "SavedState", "ShapeNode", "SimpleFrame", "Skeleton", "Skin", "SkinState",
        "SoftBodyNode", "SpringDamper", "State", "Subgraph", "Support", "Surface", "Target", "Terminal", "TimeConstant",
        "UserJoint", "WORLD_FRAME", "WorldFrame",
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
    "kido.io": ("load", "load_motion", "load_skeleton", "load_world", "save"),
    "kido.motions": ("MarkerMotion", "Motion"),
}  # fmt: skip
# Of these all names are public, and they alone declare them.
_OPEN_HOMES = ("kido.shapes", "kido.skeleton.joints.types", "kido.constraints")
_NOT_PUBLIC = {"Hull", "JOINT_TYPES", "PRIMITIVES", "Primitive", "convex_hull"}
_PACKAGES = (
    "actuation", "analysis", "batch", "collision", "control", "demos", "devices", "dynamics", "environment",
    "flexible", "gradients", "gym", "identification", "ik", "integrators", "io", "jax", "layouts", "manipulation",
    "math", "models", "motions", "operators", "optimal_control", "optimization", "planning", "quantities",
    "recording", "rendering", "simulation", "solvers", "systems", "torch", "viewer",
)  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def _open_names(home: str) -> list[str]:
    return [name for name in import_module(home).__all__ if name not in _NOT_PUBLIC]


def _all_names() -> list[str]:
    return ["__version__", *_HOME_OF, *(name for home in _OPEN_HOMES for name in _open_names(home))]


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _all_names()
    if name in _PACKAGES:
        return import_module(f"kido.{name}")
    home = _HOME_OF.get(name)
    if home is None and not name.startswith("_"):
        home = next((home for home in _OPEN_HOMES if name in _open_names(home)), None)
    if home is None:
        from kido.attributes import names_like
        from kido.errors import UnknownAttributeError

        raise UnknownAttributeError("module", "kido", name, names_like(name, [*_all_names(), *_PACKAGES]), "")
    globals()[name] = value = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    """What is public, imported yet or not, and none of the machinery here."""
    return sorted({*_all_names(), *_PACKAGES, *(name for name in globals() if name.startswith("__"))})
