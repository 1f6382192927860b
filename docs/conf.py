"""Sphinx configuration: `sphinx-build -W docs build/docs` runs every example and checks every reference."""

from __future__ import annotations

import os

import kido

project = "KIDO"
author = "The KIDO authors"
release = version = kido.__version__
copyright = f"2026, {author}"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.intersphinx",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

# Pages are programs: all cells run, and an exception fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
os.environ["KIDO_QUIET"] = "1"
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "inherited-members": True, "show-inheritance": False}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autosummary_generate = True
# Shapes such as "(dofs,): what" are read as types, and `dofs` is an attribute of several classes.
suppress_warnings = ["ref.python"]
napoleon_google_docstring = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = "KIDO"
html_static_path = ["images"]
intersphinx_mapping: dict[str, tuple[str, None]] = {}
