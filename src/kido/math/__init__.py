"""Rotations, rigid transforms and small vector algebra, for kernels and for Python."""
