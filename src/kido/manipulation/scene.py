"""What a robot may touch: shapes of a world with padding, hiding, levels of detail; reasons not to be tested."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kido.attributes import FixedAttributes
from kido.collision import CollisionOption, CollisionResult, DistanceOption, DistanceResult
from kido.collision.group import Member
from kido.errors import KidoError, ModelError, NameLookupError
from kido.manipulation.planned_scene import checker_of, refuse_open_loops
from kido.manipulation.srdf import RobotDescription
from kido.math.transform import as_flag, number_or_nan
from kido.planning import CollisionChecker
from kido.shapes import Box, Shape, Sphere
from kido.simulation import CollisionFilter, World
from kido.simulation.collision_group import WorldGroup
from kido.skeleton import BodyNode, Group, ShapeNode, Skeleton

DETAILS = ("exact", "box", "sphere")
Place = Skeleton | BodyNode | ShapeNode


class CollisionError(KidoError):
    """Bodies touch that must not; the message names them. Attribute `pairs`: of shapes."""

    def __init__(self, text: str, pairs: Iterable[tuple[Any, Any]] = ()):
        self.pairs = list(pairs)
        super().__init__(text)


class CollisionScene(FixedAttributes):
    """The shapes of a world, as planners and perception ask about them.

    Which pairs of bodies are tested is the world's `collision_filter` alone: a pair is tested if its set of reasons is
    empty. Padding, hiding and levels of detail are the scene's own, and change nothing in the world's steps.

    Args:
        world: with the robots and objects.

    Example:
        >>> scene = CollisionScene(world)
        >>> scene.describe(robot, RobotDescription.read("robot.srdf"))
        >>> scene.set_padding(robot, 0.01)
        >>> scene.require_free("start")
    """

    def __init__(self, world: World):
        if not isinstance(world, World):
            raise ModelError(f"collision scene: expected a world, got {world!r}")
        self._world = world
        self._padding: dict[ShapeNode, float] = {}
        self._hidden: set[ShapeNode] = set()
        self._groups: dict[str, _SceneGroup] = {}
        self._grasps: list[Any] = []  # `Grasps`, whose loops planned motions would tear

    @property
    def world(self) -> World:
        """Whose shapes they are."""
        return self._world

    @property
    def filter(self) -> CollisionFilter:
        """Reasons of pairs: the world's own filter."""
        return self._world.collision_filter

    # Pairs -----------------------------------------------------------------------------------------------------

    def describe(self, robot: Skeleton, description: RobotDescription) -> int:
        """Test a robot against itself, but for the pairs that a description disables, whose reasons are "srdf: ...".

        What was given by a description before is taken off first. Bodies without shapes, and those that are welded
        together, are left out: they are not tested anyway.

        Returns:
            How many pairs have such a reason now.
        """
        self._own(robot)
        self.take_off(robot, "srdf: ")
        robot.self_collision = True
        for grasps in self._grasps:
            grasps.keep_tested(robot)
        solid = {body for body in robot.bodies if any(shape.collision for shape in body.shapes)}
        groups = _rigid_groups(robot)
        count = 0
        for (a, b), reason in description.disabled_reasons(robot).items():
            if a in solid and b in solid and groups[a] is not groups[b]:
                self.filter.add(a, b, f"srdf: {reason}")
                count += 1
        return count

    def take_off(self, robot: Skeleton, start: str) -> None:
        """Take reasons that start with a text off all pairs of a robot's own bodies."""
        for a, b, reasons in self.filter.pairs:
            if a.skeleton is robot and b.skeleton is robot:
                for reason in reasons:
                    if reason.startswith(start):
                        self.filter.remove(a, b, reason)

    def reasons(self, body_a: BodyNode, body_b: BodyNode) -> frozenset[str]:
        """Why two bodies may touch; empty if they are tested."""
        return self.filter.reasons(body_a, body_b)

    def allowed(self, body_a: BodyNode, body_b: BodyNode) -> bool:
        """Whether two bodies may touch: they are not tested, or all shapes of one of them are hidden."""
        return bool(self.reasons(body_a, body_b)) or self._hides(body_a, body_b)

    def _hides(self, body_a: BodyNode, body_b: BodyNode) -> bool:
        return not all(any(s.collision and s not in self._hidden for s in b.shapes) for b in (body_a, body_b))

    def tested_pairs(self) -> list[tuple[BodyNode, BodyNode]]:
        """All pairs of bodies that may not touch."""
        bodies = [
            body
            for skeleton in self._world.skeletons
            for body in skeleton.bodies
            if body.collidable and any(s.collision and s not in self._hidden for s in body.shapes)
        ]
        return [pair for pair in itertools.combinations(bodies, 2) if not self.reasons(*pair)]

    # Shapes ----------------------------------------------------------------------------------------------------

    def padding(self, shape: ShapeNode) -> float:
        """How far the scene puts a shape's surface outside of where the world has it [m]."""
        return self._padding.get(next(self._shapes(shape, "padding")), 0.0)

    def set_padding(self, place: Place, padding: float) -> None:
        """Pad a shape, or all shapes of a body or skeleton [m]; 0: no more.

        Raises:
            ModelError: a number below zero, or none; nothing of this world.
        """
        if not 0.0 <= number_or_nan(padding) < np.inf:
            raise ModelError(f"collision scene: padding: expected a number not below 0, got {padding!r}")
        for shape in list(self._shapes(place, "padding")):
            if padding > 0.0:
                self._padding[shape] = float(padding)
            else:
                self._padding.pop(shape, None)

    def hide(self, place: Place) -> None:
        """Leave a shape, or all shapes of a body or skeleton, out of what is asked."""
        self._hidden |= set(self._shapes(place, "hide"))

    def show(self, place: Place) -> None:
        """Ask about what was hidden again."""
        self._hidden -= set(self._shapes(place, "show"))

    def is_hidden(self, place: Place) -> bool:
        """Whether all shapes of a place are hidden."""
        return set(self._shapes(place, "is_hidden")) <= self._hidden

    def _shapes(self, place: Any, what: str) -> Iterator[ShapeNode]:
        if isinstance(place, ShapeNode):
            bodies, shapes = [place.body], [place]
        elif isinstance(place, BodyNode | Skeleton):
            bodies = [place] if isinstance(place, BodyNode) else list(place.bodies)
            shapes = [shape for body in bodies for shape in body.shapes]
        else:
            raise ModelError(f"collision scene: {what}: expected a skeleton, body or shape, got {place!r}")
        home = place if isinstance(place, Skeleton) else bodies[0].skeleton
        if home is None or home.host is not self._world:
            raise ModelError(f"collision scene: {what}: {place.name!r} is not in world {self._world.name!r}")
        return iter(shapes)

    def _own(self, skeleton: Skeleton) -> None:
        if skeleton not in self._world.skeletons:
            known = [s.name for s in self._world.skeletons]
            raise NameLookupError(f"skeleton in world {self._world.name!r}", getattr(skeleton, "name", skeleton), known)

    # Questions -------------------------------------------------------------------------------------------------

    def group(self, detail: str = "exact") -> WorldGroup:
        """The shapes at a level of detail, to be asked as any `CollisionGroup`, at present positions.

        Args:
            detail: "exact"; "box": the box around each shape, in its axes; "sphere": the sphere around each. Both
                hold all of the shape; planes and height maps stay as they are.

        Raises:
            ModelError: another level.
        """
        if detail not in DETAILS:
            raise ModelError(f"collision scene: detail: expected one of {', '.join(DETAILS)}, got {detail!r}")
        if detail not in self._groups:
            self._groups[detail] = _SceneGroup(self, detail)
        return self._groups[detail]

    def collisions(self, detail: str = "exact", margin: float = 0.0) -> CollisionResult:
        """What touches, or is nearer than a margin [m]."""
        return self.group(detail).collide(option=CollisionOption(margin=margin))

    def is_free(self, detail: str = "exact") -> bool:
        """Whether nothing touches that must not."""
        return not self.group(detail).collide(option=CollisionOption(enable_contact=False))

    def clearance(self, upper_limit: float = np.inf, detail: str = "exact") -> DistanceResult:
        """The nearest pair that is tested."""
        return self.group(detail).distance(option=DistanceOption(upper_limit=upper_limit))

    def require_free(self, what: str = "state") -> None:
        """Do nothing if nothing touches.

        Raises:
            CollisionError: the message names what collides.
        """
        found = self.collisions()
        if found:
            pairs = sorted(found.pairs, key=lambda pair: (_label(pair[0]), _label(pair[1])))
            named = ", ".join(f"{_label(a)} with {_label(b)}" for a, b in pairs[:5])
            more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
            raise CollisionError(f"{what}: in collision: {named}{more}", pairs)

    def checker(
        self,
        part: Group,
        without: Iterable[Place] = (),
        *,
        closes_loops: bool = False,
        spheres: RobotDescription | None = None,
        **options: Any,
    ) -> CollisionChecker:
        """What `kido.planning` plans motions of a part with, as all is now: the robot with what hangs on it.

        Pairs of bodies that have a reason to touch may do so there, the robot's own and those of the robot and others.
        That a robot's `self_collision` is off, so that its steps do not test it against itself, is none, nor that
        neither of two moves: motions are planned free of it all the same (without the option `self_collision=False`).
        Shapes of the world's other skeletons are obstacles. Hidden shapes are left out, on the robot too. Distances to
        be kept are the largest paddings of the robot and of the others, added up, or more.

        Obstacles that only some of the robot's bodies may touch are to the checker as bodies of the robot that stand
        still. So another body that touches one in each of some random states may touch it too, as `CollisionChecker`
        says of bodies.

        Args:
            part: coordinates to plan with, of one robot of the world.
            without: skeletons, bodies or shapes that are no obstacles: such as what an object rests on until lifted.
            closes_loops: what is planned keeps loops of grasps closed, as `ConstrainedRRTConnect` does with tasks for
                them; else a part that moves one side of a loop is refused.
            spheres: a description whose spheres stand for the shapes of the bodies that have any in it, as they are in
                the file; None: shapes as they are.
            options: of `CollisionChecker`.

        Raises:
            ModelError: a part of several robots, or of none here; one that would tear a loop; and as
                `CollisionChecker`.
            NameLookupError: spheres of a body that the robot lacks.
        """
        robots = part.skeletons if isinstance(part, Group) else ()
        if len(robots) != 1 or robots[0] not in self._world.skeletons:
            raise ModelError(
                f"collision scene: checker: expected a part of a robot of {self._world.name!r}, got {part!r}"
            )
        if spheres is not None and not isinstance(spheres, RobotDescription):
            raise ModelError(f"collision scene: checker: spheres: expected a RobotDescription, got {spheres!r}")
        if not as_flag(closes_loops, "collision scene: checker: closes_loops"):
            refuse_open_loops(part, [g for held in self._grasps for g in held.held if g.closes_loop])
        left_out = self._hidden | {shape for place in without for shape in self._shapes(place, "checker")}
        return checker_of(self, robots[0], part, left_out, spheres, options)

    # For grasps and groups -------------------------------------------------------------------------------------

    def know(self, grasps: Any) -> None:
        """Have in mind what these `Grasps` hold: their loops, and whom they have tested against itself."""
        self._grasps.append(grasps)

    def shown(self, member: Member) -> Member | None:
        """A shape of the world as the scene has it; None: hidden."""
        node = member.thing
        if node in self._hidden:
            return None
        more = self._padding.get(node, 0.0)
        return member._replace(padding=member.padding + more) if more else member

    def __repr__(self) -> str:
        return f"CollisionScene({self._world.name!r}, {len(self._padding)} padded, {len(self._hidden)} hidden)"


class _SceneGroup(WorldGroup):
    """The shapes of a world as a scene has them."""

    def __init__(self, scene: CollisionScene, detail: str):
        super().__init__(scene.world)
        self._of, self._detail = scene, detail
        self._stand_ins: dict[int, tuple[Any, ...]] = {}

    def _members(self) -> list[Member]:
        found = (self._of.shown(member) for member in super()._members())
        return [self._at_detail(member) for member in found if member is not None]

    def _at_detail(self, member: Member) -> Member:
        if self._detail == "exact":
            return member
        held = self._stand_ins.get(id(member.thing))
        if held is None or held[0] is not member.shape or held[1] != member.transform.tobytes():
            shape, shift = stand_in(member.shape, self._detail)
            X = np.array(member.transform)
            X[:3, 3] += X[:3, :3] @ shift
            held = self._stand_ins[id(member.thing)] = (member.shape, member.transform.tobytes(), shape, X)
        return member._replace(shape=held[2], transform=held[3])

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_stand_ins": {}}


def stand_in(shape: Shape, detail: str) -> tuple[Shape, np.ndarray]:
    """A box or a sphere that holds all of a shape, and where its middle is; shapes without end as they are."""
    low, high = shape.aabb
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    if not (np.isfinite(half).all() and (half > 0.0).all()):
        return shape, np.zeros(3)
    if detail == "box":
        return Box(tuple((2.0 * half).tolist())), middle
    if shape.bounding_radius <= float(np.linalg.norm(half)):
        return Sphere(shape.bounding_radius), np.zeros(3)
    return Sphere(float(np.linalg.norm(half))), middle


def rigid_group(body: BodyNode) -> set[BodyNode]:
    """A body and all that is welded to it, up and down."""
    found, waiting = {body}, [body]
    while waiting:
        here = waiting.pop()
        near = [c for c in here.children if c.parent_joint.num_dofs == 0]
        if here.parent is not None and here.parent_joint.num_dofs == 0:
            near.append(here.parent)
        waiting += [b for b in near if b not in found]
        found |= set(near)
    return found


def _rigid_groups(skeleton: Skeleton) -> dict[BodyNode, set[BodyNode]]:
    found: dict[BodyNode, set[BodyNode]] = {}
    for body in skeleton.bodies:
        if body not in found:
            group = rigid_group(body)
            found |= dict.fromkeys(group, group)
    return found


def _label(shape: Any) -> str:
    body = shape.body
    return f"{body.skeleton.name}/{body.name}"
