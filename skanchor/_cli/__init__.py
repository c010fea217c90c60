"""The command line: ``skanchor rank`` and ``skanchor fetch``.

Nothing here imports what takes time before the arguments are known to be right.
"""

from skanchor._cli.program import main

__all__ = ["main"]
