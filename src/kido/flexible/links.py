"""Links of robots made flexible: elements fill a link's shape, and its children hang on what deforms."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import named_arguments
from kido.errors import ModelError, NameLookupError
from kido.flexible.beams import Material
from kido.flexible.body import FlexibleBody, flexible_bodies
from kido.flexible.files import read_modes
from kido.flexible.modes import Modes
from kido.flexible.plates import plate
from kido.flexible.reduction import reduced_modes
from kido.flexible.solids import solid
from kido.flexible.structure import Structure
from kido.math.transform import number_or_nan
from kido.skeleton import BodyNode, Skeleton
from kido.skeleton.nodes.shape_node import ShapeNode

Array = NDArray[np.float64]
KINDS = ("solid", "plate")
REACH = 0.08  # share of the link's size, from the nearest node, within which nodes are held at a joint by default


@named_arguments
def make_flexible(
    body: BodyNode,
    material: Material,
    modes: int = 6,
    method: str = "clamped",
    shapes: Iterable[str | ShapeNode] | None = None,
    elements: str = "solid",
    size: float | None = None,
    reach: float | None = None,
    keep_mass: bool = True,
    stiffening: bool = True,
    thermal: bool = False,
    damping_ratio: ArrayLike = 0.0,
    rayleigh: ArrayLike = (0.0, 0.0),
) -> FlexibleBody:
    """Make a body of a robot flexible, as it is: by its shapes and a material.

    Elements fill its shapes. Where its joint is, nodes are held as one rigid piece, the inboard node; where joints of
    its children are, others are, on which the children then hang. Joints, their names, properties and positions stay;
    the coordinates of the modes come between them. Shapes stay on the body's frame: they are touched where the link is
    without deformation. What is seen is the surface of the elements.

    Args:
        body: of a skeleton, of any file format or none.
        material: that it is filled with.
        modes: normal modes, besides those of nodes that `method` may add; see `reduced_modes`.
        method: "clamped", "craig-bampton" or "free"; see `reduced_modes`.
        shapes: names of its shapes to be filled; by default those that collide, or if none does, those that are seen.
        elements: "solid", or "plate" for one box or cylinder that is thin.
        size: length of elements [m]; see `solid` and `plate`.
        reach: distance from a joint within which nodes are held by it [m]; by default that of the nearest node and 8 %
            of the link's size more.
        keep_mass: the density is such that the link's mass stays; otherwise it is the material's. Its centre of mass
            and moments become those of the elements in either case.
        stiffening, thermal, damping_ratio, rayleigh: as of `reduced_modes`.

    Returns:
        The flexible body. Its nodes have the names of the children.

    Raises:
        ModelError: a body that is flexible already, without shapes, whose joints are too near to each other to be held
            apart, and what `solid`, `plate` and `reduced_modes` refuse. Nothing is changed then.
        MissingExtraError: the extra `fem` is not installed.
    """
    _check_rigid(body)
    what = f"body {body.name!r}"
    if elements not in KINDS:
        raise ModelError(f"elements: expected one of {', '.join(KINDS)}, got {elements!r}")
    if reach is not None and not 0.0 < number_or_nan(reach) < np.inf:
        raise ModelError(f"{what}: reach: expected a positive distance [m], got {reach!r}")
    chosen = _shapes(body, shapes)
    mass = body.mass if keep_mass and body.mass > 0.0 else None
    name = f"{body.skeleton.name}.{body.name}"
    if elements == "plate":
        if len(chosen) != 1:
            raise ModelError(f"{what}: a plate is of one shape, got {len(chosen)}")
        node = chosen[0]
        structure = plate(node.shape, material, size, node.relative_transform, mass, name)
    else:
        structure = solid([(n.shape, n.relative_transform) for n in chosen], material, size, None, mass, name)
    places = _places(body, structure)
    held, outboard = _tied(body, structure, places, reach)
    made = reduced_modes(
        held, "inboard", outboard, modes, method, stiffening, thermal, damping_ratio=damping_ratio, rayleigh=rayleigh
    )
    _hang(body.skeleton.clone().body(body.name), made, places)  # refused on a copy, if at all
    return _hang(body, made, places)


@named_arguments
def make_flexible_by_modes(body: BodyNode, modes: Modes) -> FlexibleBody:
    """Make a body of a robot flexible by modes, of a file or of another program, whose frame is the body's.

    The body's inertia becomes that of the modes. Each child hangs on the node with its name, or else on the one that is
    at its joint, or on the body's frame if its joint is there; joints stay where they are.

    Raises:
        ModelError: a body that is flexible already, a child without a node; and as `FlexibleBody`. Nothing is
            changed then.
    """
    _check_rigid(body)
    if not isinstance(modes, Modes):
        raise ModelError(f"body {body.name!r}: modes: expected kido.flexible.Modes, got {modes!r}")
    size = max([float(np.linalg.norm(node.position)) for node in modes.nodes], default=1.0) or 1.0
    places: dict[str, tuple[Array, list[BodyNode]]] = {"inboard": (_joint_place(body), [])}
    poses: dict[str, Array] = {}
    for child in body.children:
        place = child.parent_joint.transform_from_parent[:3, 3]
        near = [node for node in modes.nodes if node.name == child.name]
        near = near or [node for node in modes.nodes if np.linalg.norm(node.position - place) < 1e-6 * size]
        if near:
            places.setdefault(near[0].name, (near[0].position, []))[1].append(child)
            poses[near[0].name] = near[0].pose(np.zeros(modes.number))
        elif np.linalg.norm(place - places["inboard"][0]) < 1e-6 * size:
            places["inboard"][1].append(child)
        else:
            known = ", ".join(f"{node.name} at {np.round(node.position, 6).tolist()}" for node in modes.nodes)
            raise ModelError(
                f"body {body.name!r}: its child {child.name!r} hangs at {np.round(place, 6).tolist()}, where the modes "
                f"have no node, nor one of its name; they have {known or 'none'}"
            )
    _hang(body.skeleton.clone().body(body.name), modes, places, poses)  # refused on a copy, if at all
    return _hang(body, modes, places, poses)


def _check_rigid(body: Any) -> None:
    if not isinstance(body, BodyNode) or type(body) is not BodyNode:
        raise ModelError(f"body: expected a rigid body of a skeleton, got {body!r}")
    if any(flexible.body is body for flexible in flexible_bodies(body.skeleton)):
        raise ModelError(f"body {body.name!r} is flexible already")


def make_links_flexible(skeletons: Sequence[Skeleton], given: Mapping[str, Any]) -> list[FlexibleBody]:
    """Make links flexible, each as it is described.

    Args:
        skeletons: whose links.
        given: by the link's name, or SKELETON/LINK where several skeletons have one: a `Material`, a dictionary of
            arguments of `make_flexible`, `Modes`, or the path of a file of `write_modes`.

    Raises:
        ModelError: a description of another kind, names that several links have; and as `make_flexible`,
            `make_flexible_by_modes`, and links before it are flexible then.
        NameLookupError: there is no such link; lists those that there are.
        FileFormatError: as `read_modes`.
    """
    if not isinstance(given, Mapping):
        raise ModelError(f"flexible: expected a dictionary from names of links to descriptions, got {given!r}")
    links = [_link(skeletons, name) for name in given]
    described = [read_modes(how) if isinstance(how, str | os.PathLike) else how for how in given.values()]
    for body, how in zip(links, described, strict=True):
        by_name = isinstance(how, Mapping) and "material" in how and all(isinstance(key, str) for key in how)
        if not by_name and not isinstance(how, Modes | Material):
            raise ModelError(
                f"flexible: link {body.name!r}: expected a Material, a dictionary of make_flexible's arguments with "
                f"'material', Modes, or the path of a file of modes, got {how!r}"
            )
    made = []
    for body, how in zip(links, described, strict=True):
        if isinstance(how, Modes):
            made.append(make_flexible_by_modes(body, how))
        else:
            made.append(make_flexible(body, **(how if isinstance(how, Mapping) else {"material": how})))
    return made


def _link(skeletons: Sequence[Skeleton], name: Any) -> BodyNode:
    found = {f"{s.name}/{b.name}": b for s in skeletons for b in s.bodies}
    if name in found:
        return found[name]
    own = [key for key, body in found.items() if body.name == name]
    if len(own) > 1:
        raise ModelError(f"flexible: several links are named {name!r}: expected one of {', '.join(own)}")
    if not own:
        raise NameLookupError("link", name, [body.name for body in found.values()])
    return found[own[0]]


def _shapes(body: BodyNode, names: Iterable[str | ShapeNode] | None) -> list[ShapeNode]:
    if names is not None:
        given = [names] if isinstance(names, str | ShapeNode) else list(names)
        chosen = [n if isinstance(n, ShapeNode) else body.shape(n) for n in given]
        for node in chosen:
            if node not in body.shapes:
                raise ModelError(f"body {body.name!r}: shape {node.name!r} is not one of its own")
    else:
        chosen = [n for n in body.shapes if n.collision] or [n for n in body.shapes if n.visual]
    if not chosen:
        raise ModelError(f"body {body.name!r} has no shape that elements could fill; give it one, or modes of your own")
    return chosen


def _places(body: BodyNode, structure: Structure) -> dict[str, tuple[Array, list[BodyNode]]]:
    """Where children hang, and which: those of one place share a node, by the first one's name."""
    small = 1e-3 * float(np.linalg.norm(np.ptp(structure.positions, axis=0)))
    found: dict[str, tuple[Array, list[BodyNode]]] = {"inboard": (_joint_place(body), [])}
    for child in body.children:
        place = child.parent_joint.transform_from_parent[:3, 3]
        near = [key for key, (x, _) in found.items() if np.linalg.norm(x - place) < small]
        if near:
            found[near[0]][1].append(child)
        elif child.name == "inboard":
            raise ModelError(
                f"body {body.name!r}: its child is named 'inboard', as is the node at its joint; rename it"
            )
        else:
            found[child.name] = place, [child]
    return found


def _joint_place(body: BodyNode) -> Array:
    return body.parent_joint.transform_from_child[:3, 3]


def _tied(
    body: BodyNode, structure: Structure, places: dict[str, tuple[Array, list[BodyNode]]], reach: float | None
) -> tuple[Structure, list[str]]:
    """The structure with its nodes at joints tied, each to the nearest joint."""
    distance = np.array([np.linalg.norm(structure.positions - x, axis=1) for x, _ in places.values()])
    size = float(np.linalg.norm(np.ptp(structure.positions, axis=0)))
    nearest = distance.argmin(axis=0)
    for k, (key, (place, _)) in enumerate(places.items()):
        limit = distance[k].min() + REACH * size if reach is None else reach
        own = np.flatnonzero((nearest == k) & (distance[k] <= limit))
        if len(own) < 3:
            joint = body.parent_joint.name if key == "inboard" else body.skeleton.body(key).parent_joint.name
            raise ModelError(
                f"body {body.name!r}: {len(own)} nodes are within {limit:.3g} m of joint {joint!r} at "
                f"{np.round(place, 4).tolist()} and nearer to no other joint; expected three at least: smaller "
                "elements (size) or another reach may help"
            )
        at = np.zeros(3) if key == "inboard" else place
        structure = structure.tied(key, at, own)
    return structure, [key for key in places if key != "inboard"]


def _hang(
    body: BodyNode,
    modes: Modes,
    places: dict[str, tuple[Array, list[BodyNode]]],
    poses: Mapping[str, Array] | None = None,
) -> FlexibleBody:
    """Make a body flexible, and hang its children on their nodes, whose poses (4, 4) may be given."""
    skeleton = body.skeleton
    carried = [(key, x, [skeleton.body(child.name) for child in children]) for key, (x, children) in places.items()]
    for _, _, children in carried:
        for child in children:
            child.move_to(skeleton)
    body.inertia = type(body.inertia)()
    before = body.shapes
    flexible = FlexibleBody(body, modes)
    for shape in before if len(body.shapes) > len(before) else ():
        shape.visual = False  # what is seen is the surface of the elements
    for key, place, children in carried:
        for child in children:
            X: Any = child.parent_joint.transform_from_parent.copy()
            if poses and key in poses:
                X = np.linalg.solve(poses[key], X)
            elif key != "inboard":
                X[:3, 3] -= place
            on_frame = key == "inboard" and not (poses and key in poses)
            child.move_to(body if on_frame else flexible.node(key), transform_from_parent=X)
    return flexible
