"""The recursions on the tree: kinematics, inverse and forward dynamics, mass matrix, impulses, integration."""
