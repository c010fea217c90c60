"""Results made without a fit, for tests of what is said of them."""

import numpy as np
from tables import ranking

NASTY = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>'",
    "</td></table><h1>owned",
    "{{ 7 * 7 }}{% raw %}",
    "$x$ \\input{/etc/passwd} %&#_^~",
    "| a | *b* `c` [d](javascript:1)",
    "دب قطبي (v2)",
    "\u202egnp.exe",
    "line\nbreak\ttab",
    "&lt;already&gt; &amp; escaped",
    "",
    " ",
    "007",
    "é" * 300,
    "]]></svg><script>alert(2)</script>",
]


def made_result(n=12, n_new=2, names=None, error=0.1, **changes):
    """Models an even distance apart, the last of them new."""
    labels = [f"model-{k:02d}" for k in range(n)] if names is None else list(names)
    n = len(labels)
    scores = np.linspace(1.5, -1.5, n)
    scores -= scores[: n - n_new].mean()
    counts = {"n_human": np.repeat([100, 0], [n - n_new, n_new])}
    counts["n_judge"] = np.full(n, 300)
    return ranking(scores, error**2 * np.eye(n), n_new, labels, **(counts | changes))
