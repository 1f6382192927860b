"""The planners of OMPL, the Open Motion Planning Library, with KIDO's checks of states and edges (extra `ompl`)."""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import NameLookupError, StateError
from kido.libraries import library
from kido.planning.checker import CollisionChecker
from kido.planning.errors import NoPathError
from kido.planning.path import Path
from kido.planning.planner import Problem
from kido.planning.samples import sampling_bounds

Array = NDArray[np.float64]


class OmplPlanner(FixedAttributes):
    """A planner of OMPL by its name. OMPL asks for one state or edge at a time, through Python.

    Args:
        checker: what is free; with `certified`, edges are as a whole.
        planner: name of one of `ompl.geometric`: "RRTConnect", "PRM", "RRTstar", "BITstar", "KPIECE1", ...
        step: longest edge, where the planner has a `range`; None: OMPL's own choice.

    Raises:
        MissingExtraError: OMPL is not installed (`pip install kido[ompl]`).
        NameLookupError: it has no such planner.

    Source: Sucan, Moll and Kavraki, "The Open Motion Planning Library", IEEE Robotics & Automation Magazine 19 (2012).
    """

    def __init__(self, checker: CollisionChecker, planner: str = "RRTConnect", step: float | None = None):
        if not isinstance(checker, CollisionChecker):
            raise StateError(f"checker: expected a kido.planning.CollisionChecker, got {checker!r}")
        rooms = ("base", "geometric", "util")
        self._base, self._geometric, self._util = (
            library(f"ompl.{room}", "planners of OMPL", "ompl") for room in rooms
        )
        names = [
            name
            for name, kind in vars(self._geometric).items()
            if isinstance(kind, type) and issubclass(kind, self._base.Planner)
        ]
        if planner not in names:
            raise NameLookupError("planner of OMPL", planner, sorted(names))
        checker.space.without_rotations("OmplPlanner")
        self.checker, self.planner, self._step = checker, planner, step

    def plan(self, start: ArrayLike, goals: ArrayLike, max_seconds: float = 10.0) -> Path:
        """A path from the start to one of the goals; planners that optimize use all of the time.

        Args:
            start: state (planned dofs,).
            goals: state, or states (n, planned dofs).
            max_seconds: time after which the search is given up.

        Raises:
            StateError, StartError, GoalError, NoPathError: as `RRTConnect.plan`.
        """
        if not (isinstance(max_seconds, int | float | np.number) and 0.0 < max_seconds < math.inf):
            raise StateError(f"max_seconds: expected a number above 0, got {max_seconds!r}")
        began = perf_counter()
        problem, checker, base = Problem(self.checker, start, goals), self.checker, self._base
        n, edge = checker.num_dofs, checker.edge_table
        space, bounds = base.RealVectorStateSpace(n), base.RealVectorBounds(n)
        for k, (low, high) in enumerate(zip(*sampling_bounds(checker), strict=True)):
            bounds.setLow(k, float(low))
            bounds.setHigh(k, float(high))
        space.setBounds(bounds)
        setup, before = self._geometric.SimpleSetup(space), edge.states
        information = setup.getSpaceInformation()

        def numbers(state: Any) -> Array:
            return np.array([state[k] for k in range(n)])

        class Motions(base.MotionValidator):
            def checkMotion(self, first: Any, second: Any, *more: Any) -> bool:
                return checker.edge_is_free(numbers(first), numbers(second))

        motions = Motions(information)
        information.setMotionValidator(motions)
        setup.setStateValidityChecker(lambda state: checker.is_free(numbers(state)))
        first = space.allocState()
        for k in range(n):
            first[k] = float(problem.start[0, k])
        setup.setStartState(first)
        goal = base.GoalStates(information)
        for state in problem.goals:
            one = space.allocState()
            for k in range(n):
                one[k] = float(state[k])
            goal.addState(one)
        setup.setGoal(goal)
        planner = getattr(self._geometric, self.planner)(information)
        if self._step is not None and hasattr(planner, "setRange"):
            planner.setRange(float(self._step))
        setup.setPlanner(planner)
        level = self._util.getLogLevel()
        self._util.setLogLevel(self._util.LogLevel.LOG_ERROR)
        try:
            setup.solve(float(max_seconds))
        finally:
            self._util.setLogLevel(level)
        if not setup.haveExactSolutionPath():
            raise NoPathError(f"{self.planner} of OMPL found no path within {perf_counter() - began:.3g} s")
        states = np.array([numbers(state) for state in setup.getSolutionPath().getStates()])
        return Path(states, checker.dof_names, perf_counter() - began, 0, edge.states - before)
