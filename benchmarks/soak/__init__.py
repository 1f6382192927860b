"""Long runs: a million steps of a mixed scene, and a fuzz of all readers."""
