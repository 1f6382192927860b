"""Mesh files: STL (text and binary), OBJ and COLLADA (DAE), read into `kido.shapes.Mesh`."""

from kido.io.meshes.load import MESH_SUFFIXES, check_mesh_path, load_mesh, read_mesh_data
from kido.io.meshes.triangles import MeshData

__all__ = ["MESH_SUFFIXES", "MeshData", "check_mesh_path", "load_mesh", "read_mesh_data"]
