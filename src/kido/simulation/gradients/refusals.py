"""Worlds of which no derivative is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kido.collision.external import ExternalDetector
from kido.errors import ModelError
from kido.integrators import MoreauMidpoint
from kido.simulation.loop_system import LoopSystem
from kido.simulation.sleeping import Sleepers
from kido.simulation.soft_bodies import SoftBodies
from kido.solvers import CustomSolver

if TYPE_CHECKING:
    from kido.simulation.world import World


def _refused(world: World, engine: Any) -> str:
    """What of a world derivatives do not go with; "": nothing."""
    options = engine.options
    if not isinstance(options.integrator, MoreauMidpoint):
        return f"the integrator {type(options.integrator).__name__}; expected MoreauMidpoint"
    if engine.feature(SoftBodies).any:
        return "soft bodies"
    if engine.feature(LoopSystem).any:
        return "closed loops and constraints"
    if engine.feature(Sleepers).is_active:
        return "sleeping"
    if isinstance(options.solver, CustomSolver):
        return "a solver of the user's own"
    if isinstance(engine.detector, ExternalDetector):
        return "collision detection by another library"
    if engine.surfaces.per_contact:
        return "a contact surface handler of the user's own"
    if world.controllers:
        return "controllers"
    if world.pushes.all:
        return "a push that goes on"
    spins = any(node.surface.rolling_friction + node.surface.torsional_friction > 0.0 for node in engine.nodes)
    if spins or engine.surfaces.container.any_spin:
        return "rolling and torsional friction"
    if engine.detector.container.shape_continuous.any():
        return "bodies swept along their motion"
    return ""


def check_supported(world: World) -> None:
    """Refuse worlds with what derivatives do not go with.

    Raises:
        ModelError: names it.
    """
    engine = world.engine
    asked = world.controllers or world.pushes.all or engine.surfaces.container.any_spin
    if engine.differentiable_at == engine.times_linked and not asked:
        return
    found = _refused(world, engine)
    if found:
        raise ModelError(f"world {world.name!r}: step_derivatives: not with {found}")
    engine.differentiable_at = engine.times_linked
