"""The command line, `kido`."""

from kido.cli.main import main

__all__ = ["main"]
