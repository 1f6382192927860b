"""`python -m kido`: the command line."""

import sys

from kido.cli import main

if __name__ == "__main__":
    sys.exit(main())
