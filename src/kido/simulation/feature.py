"""What a world may have besides contacts: features, each with its stages of a step, its structs and its state.

A feature is a class derived from `Feature`, in a file or room of its own, and named in `kido.simulation.features`.
Nothing else of the house knows of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.jit import Struct
from kido.simulation.world_struct import ASK, CHECK, END

if TYPE_CHECKING:
    from kido.skeleton import ShapeNode


class Feature:
    """One feature of an engine; while it has nothing to do it has no stages. All methods do nothing unless overridden.

    Attributes:
        key: under which snapshots and recordings keep its state; "": it has none.
        engine: the Engine. Features before it in the list are there when it is made, the contact problem is not.
    """

    key = ""

    def __init__(self, engine: Any):
        self.engine = engine

    @property
    def is_active(self) -> bool:
        """Whether it has something to do in steps."""
        return bool(self.stages())

    @property
    def is_compiled(self) -> bool:
        """Whether compiled steps need nothing of Python for it."""
        return {ASK, CHECK, END}.isdisjoint(self.stages())

    # In a step ---------------------------------------------------------------------------------------------

    def stages(self) -> dict[str | int, Any]:
        """Its callbacks: by a field of WORLD, in place of what was there, or by a place (BEGIN ... END).

        Those at a place follow those of features before it, at RESPOND those of features after it: who extended the
        contact problem last takes its part of the solution first. They are called with the world and `own_struct`.
        """
        return {}

    def structs(self) -> dict[str, Struct | None]:
        """Its structs by references of WORLD."""
        return {}

    @property
    def own_struct(self) -> Struct | None:
        """What its stages at places get as their second argument."""
        return None

    def begin_run(self) -> None:
        """Some steps are about to be done."""

    def before_steps(self) -> None:
        """Python is about to start or to resume compiled steps, perhaps within one."""

    def answer(self, stage: int) -> None:
        """A step stopped (`kido.simulation.step`) at AT_ASK, or at AT_END."""

    @property
    def is_undone(self) -> bool:
        """Whether its `state` is put back where a user's function fails within a step."""
        return False

    def undo_step(self) -> None:
        """A step stopped at its CHECK: back to before it."""

    # What it is to contacts ----------------------------------------------------------------------

    @property
    def extra_dofs(self) -> int:
        """The most velocities that it has in the contact problem, behind those of the forest."""
        return 0

    @property
    def couples_bodies(self) -> bool:
        """Whether bodies answer impulses otherwise than along their trees alone."""
        return False

    @property
    def bound_trees(self) -> list[int]:
        """Trees (numbers of skeletons) that answer impulses otherwise than by their mass alone."""
        return []

    def shapes_of(self, nodes: list[ShapeNode], geometries: list[Any]) -> tuple[list[ShapeNode], list[Any]]:
        """Shapes of the detector in place of those of nodes: the node and the geometry of each."""
        return nodes, geometries

    def add_contacts(self, found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Fields of the contacts of the last step, with those that the detector does not have."""
        return found

    # When something changes --------------------------------------------------------------------------------

    def options_changed(self) -> None:
        """The world has other options, or is new: decide anew what to do.

        Raises:
            ModelError: it cannot be with these options; nothing has changed.
        """

    def constraints_changed(self) -> None:
        """The constraints of the world came, went or changed."""

    def properties_changed(self) -> None:
        """The forest has new properties."""

    def surfaces_changed(self) -> None:
        """Shapes have other surfaces."""

    def disturb(self, trees: Iterable[int]) -> None:
        """Something from outside acts on trees (numbers of skeletons)."""

    def release(self) -> None:
        """The engine gives way to one of another structure."""

    # State -------------------------------------------------------------------------------------------------

    def state(self) -> Any:
        """Copies of what the next step depends on, as plain data; None: of nothing."""
        return None

    def checked_state(self, state: Any, where: str) -> Any:
        """A state that came from outside, as `state` gives them; None where it has no use for it.

        As it is unless overridden: `set_state` of a feature whose compiled code believes its state must not see others.

        Raises:
            StateError: it cannot have been in it; says what is wrong.
        """
        return state

    def set_state(self, state: Any) -> None:
        """Restore what `state` returned, perhaps of a world without the feature (None). Not checked again."""


def overriding(features: list[Feature], hook: str) -> list[Feature]:
    """Those of some features that do something when a hook is called."""
    return [f for f in features if getattr(type(f), hook) is not getattr(Feature, hook)]
