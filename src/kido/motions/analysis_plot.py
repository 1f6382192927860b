"""Analyses of motions as a figure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import StateError
from kido.libraries import library

if TYPE_CHECKING:
    from kido.motions.analysis import Analysis

__all__ = ["draw"]

MOST = 6  # coordinates and joints in a panel: those with the largest values
LIGHT = 0.2  # share of the weight below which points of pressure are not shown: they fly away
SIZE, DPI = (10.0, 11.0), 110


def draw(analysis: Analysis, path: str | os.PathLike[str] | None) -> Any:
    """Eight panels: centre of mass, angular momentum, ground reaction, and where it acts; forces and powers of the
    joints that do most, energies, contact phases.

    Raises:
        MissingExtraError: matplotlib is not installed.
        StateError: the file cannot be written.
    """
    figure = library("matplotlib.figure", "plots of an analysis", "plot").Figure(SIZE, layout="constrained")
    axes = figure.subplots(4, 2).ravel()
    t, a = analysis.times, analysis
    chosen = [k for k, dof in enumerate(a.skeleton.dofs) if dof.name not in a.floating]
    names = [dof.name for dof in a.skeleton.dofs]
    loose = {a.skeleton.dof(name).joint.name for name in a.floating}
    joints = [k for k, name in enumerate(a.joints) if name not in loose]

    _lines(axes[0], t, a.com, "xyz", "centre of mass [m]")
    _lines(axes[1], t, a.momentum[:, :3], "xyz", "angular momentum about it [kg m$^2$/s]")
    _lines(axes[2], t, a.ground_reaction[:, 3:], "xyz", "ground reaction [N]")
    _plan(axes[3], a)
    for ax, values, which, labels, title in (
        (axes[4], a.forces, chosen, names, "joint forces [N, N m]"),
        (axes[5], a.joint_powers, joints, a.joints, "joint powers [W]"),
    ):
        first = sorted(which, key=lambda k, values=values: -float(np.abs(values[:, k]).max()))[:MOST]
        _lines(ax, t, values[:, first], [labels[k] for k in first], title)
    energies = np.column_stack([a.kinetic_energy, a.potential_energy, a.total_energy])
    _lines(axes[6], t, energies, ["kinetic", "potential", "total"], "energy [J]")
    ax, touching = axes[7], list(dict.fromkeys(phase.body for phase in a.phases))
    for phase in a.phases:
        ax.broken_barh([(phase.start, max(phase.end - phase.start, 1e-9))], (touching.index(phase.body) - 0.4, 0.8))
    ax.set(title="on the ground", xlabel="t [s]", xlim=(t[0], t[-1]), yticks=range(len(touching)), yticklabels=touching)
    if path is not None:
        try:
            figure.savefig(path, dpi=DPI)
        except (OSError, ValueError) as error:
            raise StateError(f"{path}: the plot cannot be written: {error}") from None
    return figure


def _lines(ax: Any, t: Any, values: Any, labels: Any, title: str) -> None:
    for column, label in zip(values.T, labels, strict=True):
        ax.plot(t, column, lw=1, label=label)
    ax.set(title=title, xlabel="t [s]")
    if len(labels):
        ax.legend(fontsize=7, loc="upper right")


def _plan(ax: Any, analysis: Analysis) -> None:
    """Seen from above."""
    side = np.eye(3)[int(np.argmin(np.abs(analysis.normal)))]
    along = np.cross(np.cross(analysis.normal, side), analysis.normal)
    plane = np.column_stack([along, np.cross(analysis.normal, along)]) / np.linalg.norm(along)
    weight = analysis.skeleton.mass * np.linalg.norm(analysis.skeleton.gravity)
    light = analysis.ground_reaction[:, 3:] @ analysis.normal < LIGHT * weight
    for values, label, style in ((analysis.com, "centre of mass", "-"), (analysis.zmp, "zero-moment point", "-"),
                                 (analysis.cop, "centre of pressure", ":")):  # fmt: skip
        if values is not None:
            shown = np.where(light[:, None], np.nan, values @ plane)
            ax.plot(*shown.T, style, lw=1, label=label)
    ax.set(title="on the ground, from above [m]", aspect="equal", adjustable="datalim")
    ax.legend(fontsize=7, loc="upper right")
