"""Writers of robot and world files, one format each; `kido.io.files` writes any."""
