"""What follows from a skeleton's state: its kinematics and dynamics."""
