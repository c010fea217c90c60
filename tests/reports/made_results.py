"""Results made without a fit, for tests of what is said of them."""

import numpy as np

from skanchor.results import RankingResult

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
    fields = {
        "models": np.array(labels, dtype=object),
        "is_new": np.arange(n) >= n - n_new,
        "estimates": (scores - scores[: n - n_new].mean())[None],
        "covariances": error**2 * np.eye(n)[None],
        "unbounded": np.zeros(n, bool),
        "n_human": np.where(np.arange(n) >= n - n_new, 0, 100),
        "n_judge": np.full(n, 300),
    }
    return RankingResult(**(fields | changes))
