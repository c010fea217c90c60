"""Run the command line as ``python -m skanchor``."""

import sys

from skanchor._cli import main

if __name__ == "__main__":
    sys.exit(main())
