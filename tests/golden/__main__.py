"""Keep new records: ``python -m golden [CASE ...]`` in ``tests``; all without names.

``--compare`` writes nothing and prints how far each case is from its record, in units
of the largest number of an array, and in units of the gates of another engine.
"""

import sys

from golden.cases import CASES
from golden.records import TOLERANCE, distances, file_of, gates, known, taken, write

names = [name for name in sys.argv[1:] if name != "--compare"] or list(CASES)
for name in names:
    if "--compare" not in sys.argv:
        kept = known(name)["tolerance"] if file_of(name).exists() else TOLERANCE
        write(name, kept)
        continue
    old, new = known(name), taken(name)
    same = all(new[key] == old[key] for key in ("error", "warnings"))
    far = [max(f(new, old).values(), default=0.0) for f in (distances, gates)]
    print(f"{far[0]:8.1e} {far[1]:8.1e} {'' if same else 'FACTS'} {name}")
