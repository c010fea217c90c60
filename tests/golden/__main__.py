"""Keep new records: ``python -m golden [CASE ...]`` in ``tests``; all without names.

``--compare`` writes nothing and prints how far each case is from its record.
"""

import sys

from golden.cases import CASES
from golden.records import TOLERANCE, distance, file_of, known, taken, write

names = [name for name in sys.argv[1:] if name != "--compare"] or list(CASES)
for name in names:
    if "--compare" not in sys.argv:
        kept = known(name)["tolerance"] if file_of(name).exists() else TOLERANCE
        write(name, kept)
        continue
    old, new = known(name), taken(name)
    told = all(new[key] == old[key] for key in ("error", "warnings"))
    gaps = {
        key: distance(new["numbers"].get(key, []), value)
        for key, value in old["numbers"].items()
    }
    print(f"{max(gaps.values(), default=0.0):8.1e} {'' if told else 'TEXT'} {name}")
