"""Long runs: a million steps of a mixed scene."""
