"""What every collision detector has."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from kido.collision.container import TYPE_NAMES
from kido.collision.detector import NativeDetector
from kido.collision.external import ExternalDetector, NarrowPhase
from kido.collision.geometry import Geometry
from kido.collision.group import CollisionGroup
from kido.errors import MissingExtraError, ShapeError


class CollisionDetector(ABC):
    """Finds contacts, distances and ray hits; one object per library, with its parameters.

    A world finds its contacts by the one set as `world.collision_detector`; groups of shapes made by `create_group`
    are asked without a world. KIDO's own is compiled and is the default. Others are for comparison, and for those
    who rely on a library's behaviour: each step goes through Python, pair by pair.

    A detector of one's own is a class with a `name` and a `_narrow` that returns a class of
    `kido.collision.NarrowPhase`: poses in, contacts of pairs and distances out.
    """

    name: ClassVar[str]

    def create_group(self, *items: Any) -> CollisionGroup:
        """A group of skeletons, bodies, shape nodes, shapes or `Placed` shapes, to be asked."""
        return CollisionGroup(self, items)

    @abstractmethod
    def _narrow(self) -> type[NarrowPhase] | None:
        """The class of the library's narrow phase; None: KIDO's own kernels."""

    def _in_world(self, shapes: Iterable[Any], *args: Any, **settings: Any) -> NativeDetector:
        """The detector of a world's shapes."""
        narrow = self._narrow()
        if narrow is None:
            return NativeDetector(shapes, *args, **settings)
        return ExternalDetector(narrow, shapes, *args, **settings)


def library(module: str, feature: str, extra: str) -> Any:
    """An optional library.

    Raises:
        MissingExtraError: it is not installed; the message names the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error


def unknown(name: str, known: Geometry) -> ShapeError:
    """The error for a shape that a library does not take."""
    return ShapeError(
        f"{name} takes no shape that KIDO's detector sees as {TYPE_NAMES[known.kind]!r}; the collision detector "
        "'kido' does, and meshes with collide_as='hull' are hulls"
    )
