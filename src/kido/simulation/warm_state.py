"""What the next step of a world needs besides the states of its skeletons: kept, restored, handed to copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.simulation.schema import REPORT

if TYPE_CHECKING:
    from kido.simulation.engine import Engine

_NUMBERS = 16  # of a report as recordings have it, the last ones zero
_IMPULSES = ("limit_impulse", "friction_impulse", "actuator_impulse")
_FORCES = ("actuator_force", "constraint_force")


def report_numbers(report: REPORT) -> np.ndarray:
    """The fields of a report in order."""
    numbers = np.zeros(_NUMBERS)
    numbers[: len(REPORT.fields)] = [getattr(report, name) for name in REPORT.fields]
    return numbers


def set_report(report: REPORT, numbers: np.ndarray) -> None:
    """Restore what `report_numbers` returned; older recordings have fewer."""
    for name, value in zip(REPORT.fields, numbers, strict=False):
        setattr(report, name, value)


def warm_state(engine: Engine) -> dict[str, Any]:
    """What the next step needs besides the skeletons' states: persistent contacts, impulses, what features keep."""
    return {
        "detector": engine.detector.state(),
        **{name: getattr(engine.row_origins, name).copy() for name in _IMPULSES},
        **{name: getattr(engine.world, name).copy() for name in _FORCES},
        "last": report_numbers(engine.world.last),
        "worst": report_numbers(engine.world.worst),
        "unconverged": np.array([engine.world.unconverged]),
        **{feature.key: feature.state() for feature in engine.features if feature.key},
    }


def set_warm_state(engine: Engine, state: dict[str, Any]) -> None:
    """Restore what `warm_state` returned."""
    engine.detector.set_state(state["detector"])
    for struct, names in ((engine.row_origins, _IMPULSES), (engine.world, _FORCES)):
        for name in names:  # those of actuators are not in older recordings
            getattr(struct, name)[:] = state.get(name, 0.0) if name.startswith("actuator") else state[name]
    set_report(engine.world.last, state["last"])
    set_report(engine.world.worst, state["worst"])
    engine.world.unconverged = int(state["unconverged"][0])
    for feature in engine.features:
        if feature.key:
            feature.set_state(state.get(feature.key))
    engine.link()
