"""Files of motions: each module reads one format, and those but `asf` write it."""

from kido.io.motions import amc, asf, bvh, c3d, csv, dof

__all__ = ["amc", "asf", "bvh", "c3d", "csv", "dof"]
