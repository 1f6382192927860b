"""Joints and their coordinates: types, properties, actuators."""
