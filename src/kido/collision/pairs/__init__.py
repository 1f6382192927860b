"""Pair functions: one callback per pair of shape types that has a closed form, and one for all others."""
