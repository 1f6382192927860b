"""Kinds of tasks: one file each, with its residual, its Jacobian, its constructor and what drivers ask about it."""
