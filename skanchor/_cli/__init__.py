"""The command line, ``skanchor``: one module for each command, and what they share.

Slow imports happen inside functions, after the arguments have been checked.
"""

from skanchor._cli.program import main

__all__ = ["main"]
