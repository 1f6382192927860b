"""Solvers with friction as a pyramid or a polygon, linear complementarity problems: kept to compare with."""

from kido.solvers.lcp.solvers import PGS, Dantzig, Lemke

__all__ = ["PGS", "Dantzig", "Lemke"]
