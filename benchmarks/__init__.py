"""Comparisons of KIDO with Pinocchio, dartpy and MuJoCo: same models, same process, interleaved timing."""
