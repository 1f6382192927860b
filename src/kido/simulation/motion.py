"""How the steps of a world are run: by stages, or by an integrator for smooth motion."""

from __future__ import annotations

from typing import Any

from kido.integrators import ExplicitEuler, MoreauMidpoint, SemiImplicitEuler
from kido.simulation.closed_motion import ClosedMotion
from kido.simulation.euler import explicit_integrate, explicit_predict, semi_implicit_integrate, semi_implicit_predict
from kido.simulation.feature import Feature
from kido.simulation.loop_system import LoopSystem
from kido.simulation.running import StagedMotion
from kido.simulation.smooth_motion import SmoothMotion


class Motion(Feature):
    """The integrator of a world.

    Attributes:
        runner: what does the steps.
    """

    key = "integrator"
    runner: StagedMotion | SmoothMotion

    _chosen_by: Any = (None, "")

    @property
    def is_staged(self) -> bool:
        """Whether steps are done by stages, so that things may touch and sleep."""
        return isinstance(self.runner, StagedMotion)

    is_compiled = is_staged

    def stages(self) -> dict[str | int, Any]:
        if isinstance(self.engine.options.integrator, SemiImplicitEuler):
            return {"predict": semi_implicit_predict, "integrate": semi_implicit_integrate}
        if isinstance(self.engine.options.integrator, ExplicitEuler):
            return {"predict": explicit_predict, "integrate": explicit_integrate}
        return {}

    def options_changed(self) -> None:
        options = self.engine.options
        if (
            self._chosen_by is None
            or self._chosen_by[0] is not options.integrator
            or self._chosen_by[1] != options.loop_solver
        ):
            self.constraints_changed()

    def constraints_changed(self) -> None:
        options, loops = self.engine.options, self.engine.feature(LoopSystem)
        self._chosen_by = options.integrator, options.loop_solver
        if isinstance(options.integrator, MoreauMidpoint | SemiImplicitEuler | ExplicitEuler):
            self.runner = StagedMotion(self.engine)
        elif loops.any:
            self.runner = ClosedMotion(self.engine, loops, options.integrator, options.loop_solver)
        else:
            self.runner = SmoothMotion(self.engine, options.integrator)

    def state(self) -> Any:
        return self.runner.memory()

    def set_state(self, state: Any) -> None:
        if state is not None:
            self.runner.set_memory(state)


def run(engine: Any, number: int, time: float) -> None:
    """Do a number of steps of an engine from a time on [s], enlarging arrays as contacts need.

    Raises:
        ModelError: a coordinate has no inertia.
        StateError: a pose became NaN or infinite, or contact ended a smooth motion.
    """
    if engine.undriven.size:
        engine.data.tau[engine.undriven] = 0.0
    engine.feature(Motion).runner.run(number, time)
