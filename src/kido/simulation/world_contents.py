"""Which skeletons a world has."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import ModelError, NameLookupError
from kido.shapes import Plane
from kido.skeleton import BodyNode, Skeleton, WeldJoint
from kido.skeleton.joints.actuator import followed_dofs

if TYPE_CHECKING:
    from kido.simulation.collision_filter import CollisionFilter
    from kido.simulation.pushes import Push


class WorldContents:
    """The skeletons of a world."""

    if TYPE_CHECKING:
        name: str
        gravity: Any
        up: Any
        _skeletons: list[Skeleton]
        _collision_filter: CollisionFilter
        _pushes: list[Push]
        _structure_changed: Any
        _drop_constraints: Any

    @property
    def skeletons(self) -> list[Skeleton]:
        """Its skeletons, in the order they were added."""
        return list(self._skeletons)

    def skeleton(self, key: str | int) -> Skeleton:
        """A skeleton by name or index.

        Raises:
            NameLookupError: there is none.
        """
        if isinstance(key, str):
            for s in self._skeletons:
                if key == s.name:
                    return s
        elif isinstance(key, int | np.integer) and not isinstance(key, bool):
            if -len(self._skeletons) <= key < len(self._skeletons):
                return self._skeletons[key]
        raise NameLookupError(f"skeleton in world {self.name!r}", key, [s.name for s in self._skeletons])

    def add_skeleton(self, skeleton: Skeleton, name: str | None = None) -> Skeleton:
        """Add a skeleton; it keeps its state and from now on has the world's gravity.

        Args:
            skeleton: one that is in no world.
            name: renames it. If its name is taken, a number is appended.

        Raises:
            ModelError: it is in a world already, or a joint of it mimics what it cannot.
            NameLookupError: a joint of it mimics one that is not there.
        """
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"world {self.name!r}: expected a skeleton to add, got {type(skeleton).__name__}")
        if skeleton._world is not None:
            raise ModelError(
                f"skeleton {skeleton.name!r} is in world {skeleton._world.name!r} already; add a clone() instead"
            )
        followed_dofs(skeleton)
        wanted = name or skeleton.name
        taken = set(map(attrgetter("name"), self._skeletons))  # of thousands: half the time of a comprehension
        unique, number = wanted, 1
        while unique in taken:
            number += 1
            unique = f"{wanted}_{number}"
        self._structure_changed()
        skeleton.drop_arrays()
        skeleton.name = unique
        skeleton._world = self  # type: ignore[assignment]  # a whole World
        self._skeletons.append(skeleton)
        return skeleton

    def remove_skeleton(self, skeleton: Skeleton | str | int) -> Skeleton:
        """Take a skeleton out; it keeps its state."""
        if not isinstance(skeleton, Skeleton):
            skeleton = self.skeleton(skeleton)
        if skeleton not in self._skeletons:
            raise NameLookupError(f"skeleton in world {self.name!r}", skeleton.name, [s.name for s in self._skeletons])
        self._structure_changed()
        gravity = self.gravity
        self._skeletons.remove(skeleton)
        skeleton._world = None
        skeleton.gravity = gravity
        self._collision_filter._invalidate(skeleton.bodies)
        self._pushes = [p for p in self._pushes if p.body.skeleton is not skeleton]
        self._drop_constraints(skeleton.bodies, [skeleton])
        return skeleton

    def add_ground(self, height: float = 0.0, friction: float = 1.0, restitution: float = 0.0) -> Skeleton:
        """Add an immobile skeleton "ground" with a plane across the world's up direction.

        Args:
            height: of the plane along `up` [m].
        """
        ground = Skeleton("ground")
        body = ground.add_body("ground", WeldJoint("ground_weld"))
        body.add_shape(
            Plane(normal=tuple(self.up), offset=height), name="plane", friction=friction, restitution=restitution
        )
        ground.mobile = False
        return self.add_skeleton(ground)

    def _invalidate_bodies(self, bodies: Iterable[BodyNode]) -> None:
        """Drop the collision filters and constraints of bodies that left."""
        gone = set(bodies)
        self._drop_constraints(gone)
        self._collision_filter._invalidate(gone)
        self._pushes = [p for p in self._pushes if p.body not in gone]
