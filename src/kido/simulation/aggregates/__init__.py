"""Skeletons of a world whose loops are aggregates of their trees: constraint embedding in its steps."""
