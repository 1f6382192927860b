"""Scenes with exact answers, in KIDO, MuJoCo, dartpy and pybullet."""
