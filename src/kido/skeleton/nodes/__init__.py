"""Nodes: what bodies carry."""
