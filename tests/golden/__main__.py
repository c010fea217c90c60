"""Keep new records of the cases that are named, or of all cases.

With ``--compare`` it writes nothing and prints how far each case is from its record, in
units of the largest number of an array, and in units of the gates of another engine.
"""

import argparse

from golden.cases import CASES
from golden.records import TOLERANCE, distances, file_of, gates, recorded, taken, write

parser = argparse.ArgumentParser(prog="python -m golden", description=__doc__)
parser.add_argument("names", nargs="*", metavar="CASE")
parser.add_argument("--compare", action="store_true", help="write nothing")
options = parser.parse_args()
unknown = [name for name in options.names if name not in CASES]
if unknown:
    parser.error(f"there is no case {unknown[0]!r}")
for name in options.names or CASES:
    if not options.compare:
        tolerance = recorded(name)["tolerance"] if file_of(name).exists() else TOLERANCE
        write(name, tolerance)
        continue
    old, new = recorded(name), taken(name)
    same = all(new[key] == old[key] for key in ("error", "warnings"))
    far = [max(f(new, old).values(), default=0.0) for f in (distances, gates)]
    print(f"{far[0]:8.1e} {far[1]:8.1e} {'' if same else 'FACTS'} {name}")
