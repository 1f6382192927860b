"""Files of motions: `dof`, `csv`, `bvh`, `asf` (with AMC) and `c3d` read one format each, and write it."""
