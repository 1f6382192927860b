"""The flat tree that kernels work on: arrays over bodies and degrees of freedom."""

from kido.tree.schema import DATA, TREE, data_for

__all__ = ["DATA", "TREE", "data_for"]
