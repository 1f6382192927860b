"""What the next step of a world needs besides the states of its skeletons: kept, restored, handed to copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kido.simulation.engine import Engine


def warm_state(engine: Engine) -> dict[str, Any]:
    """What the next step needs besides the skeletons' states: persistent contacts and impulses."""
    return {
        "detector": engine.detector.state(),
        "limit_impulse": engine.row_origins.limit_impulse.copy(),
        "friction_impulse": engine.row_origins.friction_impulse.copy(),
        "actuator_impulse": engine.row_origins.actuator_impulse.copy(),
        "actuator_force": engine.world.actuator_force.copy(),
        "constraint_force": engine.world.constraint_force.copy(),
        "last": engine.world.last.copy(),
        "worst": engine.world.worst.copy(),
        "unconverged": engine.world.unconverged.copy(),
        "loops": None if engine.loops is None else engine.loops.state(),
        "integrator": None if engine.smooth_motion is None else engine.smooth_motion.memory(),
        "sleepers": None if engine.sleepers is None else engine.sleepers.state(),
        "touch": None if engine.event_log is None else engine.event_log.state(),
        "soft": None if engine.soft is None else engine.soft.state(),
    }


def set_warm_state(engine: Engine, state: dict[str, Any]) -> None:
    """Restore what `warm_state` returned."""
    engine.detector.set_state(state["detector"])
    engine.row_origins.limit_impulse[:] = state["limit_impulse"]
    engine.row_origins.friction_impulse[:] = state["friction_impulse"]
    engine.world.constraint_force[:] = state["constraint_force"]
    engine.row_origins.actuator_impulse[:] = state.get("actuator_impulse", 0.0)  # not in older recordings
    engine.world.actuator_force[:] = state.get("actuator_force", 0.0)
    for field in ("last", "worst"):  # older recordings have fewer numbers
        getattr(engine.world, field)[: len(state[field])] = state[field]
    engine.world.unconverged[:] = state["unconverged"]
    if engine.loops is not None and state.get("loops") is not None:
        engine.loops.set_state(state["loops"])
    if engine.smooth_motion is not None and state.get("integrator") is not None:
        engine.smooth_motion.set_memory(state["integrator"])
    if engine.sleepers is not None:
        engine.sleepers.set_state(state.get("sleepers"))
    if engine.event_log is not None:
        engine.event_log.set_state(state.get("touch"))
    if engine.soft is not None and state.get("soft") is not None:
        engine.soft.set_state(state["soft"])
    engine.link()
