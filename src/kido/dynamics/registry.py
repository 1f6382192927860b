"""Solvers by name."""

from __future__ import annotations

import numpy as np

from kido.dynamics.augmented import TreeAugmentedSolver, TreeSolver
from kido.dynamics.embedding import CombinedSolver, EmbeddingSolver
from kido.dynamics.embedding.container import aggregate, tie_of
from kido.dynamics.flexible import KINDS as FLEXIBLE
from kido.dynamics.fully_augmented import FullyAugmentedSolver
from kido.dynamics.solver import DynamicsSolver
from kido.dynamics.system import ConstrainedSystem
from kido.errors import ModelError, NameLookupError

_KINDS: tuple[type[DynamicsSolver], ...] = (
    TreeAugmentedSolver,
    FullyAugmentedSolver,
    EmbeddingSolver,
    CombinedSolver,
    TreeSolver,
)
SOLVERS = {solver.name: solver for solver in _KINDS}
AUTO = "auto"
MANY_COORDINATES = 120  # rows beyond which TA's dense matrix costs more than all of FA
MAX_INDEPENDENT = 40  # independent coordinates of one aggregate beyond which CE's matrices cost more than TA's


def solver_class(name: str, system: ConstrainedSystem, stabilized: bool = False) -> type[DynamicsSolver]:
    """The class of a solver by its name; "auto" leaves the choice to the system.

    That is the tree's where there are no rows; CE where loops leave few coordinates each, none of them prescribed;
    else TA, or FA where there are many rows.

    Args:
        name: of the solver.
        system: what it is for.
        stabilized: whether something else keeps rows met in motion, which CE does by itself.

    Raises:
        NameLookupError: there is none.
        ModelError: none of this name for flexible bodies.
    """
    if system.flex is not None:
        return _flexible_class(name, system)
    if isinstance(name, str) and name == AUTO:
        if system.num_rows == 0:
            return TreeSolver
        if not stabilized and has_small_loops(system):
            return EmbeddingSolver
        return TreeAugmentedSolver if system.num_rows <= MANY_COORDINATES else FullyAugmentedSolver
    if not isinstance(name, str) or name not in SOLVERS:
        raise NameLookupError("solver of constrained dynamics", name, [AUTO, *SOLVERS])
    return SOLVERS[name]


def _flexible_class(name: str, system: ConstrainedSystem) -> type[DynamicsSolver]:
    """The same of a system with flexible bodies: TA, or the tree's where there are no rows, unless it is named."""
    if isinstance(name, str) and name == AUTO:
        name = "tree" if system.num_rows == 0 else "TA"
    if not isinstance(name, str) or name not in FLEXIBLE:
        if isinstance(name, str) and name in SOLVERS:
            raise ModelError(
                f"skeleton {system.skeleton.name!r} has flexible bodies, for which there is no solver {name!r}; there "
                f"are {', '.join(map(repr, FLEXIBLE))}"
            )
        raise NameLookupError("solver of constrained dynamics", name, [AUTO, *SOLVERS])
    return FLEXIBLE[name]


def has_small_loops(system: ConstrainedSystem) -> bool:
    """Whether each aggregate of loops has few coordinates more than it has rows, and none that is prescribed."""
    tree = system.tree
    held = np.bincount([system.loops.of[row] for row in system.slots], minlength=len(system.constraints))
    ties = [tie_of(system, k) for k in range(len(system.constraints))]
    for members, own in aggregate(tree.parent.tolist(), ties):
        dofs = np.isin(tree.body_of_dof, members)
        if (tree.prescribed[dofs] != 0).any() or np.count_nonzero(dofs) - int(held[own].sum()) > MAX_INDEPENDENT:
            return False
    return True
