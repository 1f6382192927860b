"""The state of a skeleton: read, set, named, commanded, saved."""
