"""Derivatives of a step by formulas, for robots whose step is one of few parts; others go by dual numbers."""
