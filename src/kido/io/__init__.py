"""Readers of robot and world files."""
