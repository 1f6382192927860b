"""Soft bodies: bodies with a skin of point masses."""
