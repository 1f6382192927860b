"""Derivatives of steps: `World.step_derivatives`."""
