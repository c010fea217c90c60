"""Fuzz for a while: ``python -m fuzz MINUTES FIRST_SEED [KIND ...]`` in ``tests``.

Prints what it finds, and at the end how many cases of each kind fell into which class.
"""

import sys
import time
from collections import Counter

from fuzz.cases import KINDS

minutes, first = float(sys.argv[1]), int(sys.argv[2])
kinds = sys.argv[3:] or list(KINDS)
counts: Counter = Counter()
end, seed = time.monotonic() + 60 * minutes, first
while time.monotonic() < end:
    for kind in kinds:
        start = time.process_time()
        about, verdict = KINDS[kind](seed)
        counts[kind, verdict.kind] += 1
        if verdict.is_fault:
            print(
                f"{kind} {seed}: {verdict.kind}\n  {about}\n  {verdict.text}",
                flush=True,
            )
        if (spent := time.process_time() - start) > 15:
            print(f"{kind} {seed}: took {spent:.0f} s\n  {about}", flush=True)
    seed += 1
print(f"seeds {first} ... {seed - 1}")
for (kind, name), n in sorted(counts.items()):
    print(f"{kind:8} {n:7} {name}")
