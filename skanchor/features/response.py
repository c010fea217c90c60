"""Features of the form of responses: counts, as a transformer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.features.counts import (
    STYLE,
    SURFACE,
    arena_counts,
    density_halves,
    ratio_halves,
    surface_counts,
)
from skanchor.features.transformer import TextTransformer

_COUNTS = {"surface": (surface_counts, SURFACE), "arena": (arena_counts, STYLE)}
_CONTRASTS = {"ratio": ratio_halves, "density": density_halves}


class ResponseFeatures(TextTransformer):
    """Features of the form of responses, such as length and markdown, in any language.

    Parameters
    ----------
    style : {"surface", "arena"}, default="surface"
        The set of counts. ``"surface"``: characters, words, sentences, lines,
        paragraphs, headings, list items, bold spans, code blocks, inline code, tables,
        quotes, links (markdown is parsed, and markup inside code is not counted),
        digits, question and exclamation marks, emoji, and whether the text begins like
        a refusal (0 or 1).
        ``"arena"``: length in words, headers, list items and bold spans by the regular
        expressions with which arenas control for style, code removed.
    scale : {"log1p", "none", "ratio", "density"}, default="log1p"
        How counts become features. ``"log1p"`` is log(1 + count), ``"none"`` the count
        itself. ``"ratio"`` and ``"density"`` are the contrasts of arenas (see the
        notes); they need ``style="arena"`` and pairs of texts.
    features : list of str, optional
        Names of the counts to use; None means all.
    columns : str, pair or list of these, default="response"
        Pairs of columns of texts in a table: ``"response"`` stands for ``response_a``
        and ``response_b``, ``("left", "right")`` for a pair of other names.
    keep_text : bool, default=False
        Whether the text columns stay in the table.
    n_jobs : int, optional
        Workers, as in joblib.
    verbose : int, default=0
        Shows a progress bar when positive.

    Attributes
    ----------
    sources_ : tuple or None
        The pairs of columns of texts; None after a fit on a column alone.

    See Also
    --------
    EmbeddingFeatures : Features of the content of responses.

    Notes
    -----
    Arenas regress votes on contrasts such as (a - b) / (a + b + 1) of the counts a and
    b of the two responses. No function f of a single response satisfies f(a) - f(b) =
    (a - b) / (a + b + 1). So this contrast is not a bias psi(x_a) - psi(x_b) of a
    judge: how much a response is favoured would depend on its opponent. Use it to
    compare with published figures. ``scale="ratio"`` (``"density"`` for length and
    markdown per length) gives each side half of the contrast, with opposite signs.
    Their difference is the contrast, up to the standardisation of arenas. For all other
    purposes use ``"log1p"``, the most similar feature of a single response: log(1 + a)
    - log(1 + b) = 2 artanh((a - b) / (a + b + 2)).

    ``fit`` only learns which columns hold texts.

    Examples
    --------
    >>> from skanchor.features import ResponseFeatures
    >>> counts = ResponseFeatures(scale="none", features=["words", "bold"])
    >>> counts.fit_transform(["A **bold** word", "none"])
    array([[3., 1.],
           [1., 0.]])
    """

    _parameter_constraints: ClassVar = {
        **TextTransformer._parameter_constraints,
        "style": [StrOptions(set(_COUNTS))],
        "scale": [StrOptions({"log1p", "none", *_CONTRASTS})],
        "features": [list, tuple, None],
    }

    def __init__(
        self,
        style: str = "surface",
        *,
        scale: str = "log1p",
        features: Sequence[str] | None = None,
        columns: Any = "response",
        keep_text: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.style = style
        self.scale = scale
        self.features = features
        self.columns = columns
        self.keep_text = keep_text
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _names(self) -> list[str]:
        available = _COUNTS[self.style][1]
        names = list(available if self.features is None else self.features)
        unknown = [name for name in names if name not in available]
        if unknown:
            raise ValueError(
                f"There are no features {unknown} with style={self.style!r}; there are "
                f"{list(available)}."
            )
        return names

    def _learn(self, texts: list[str]) -> None:
        self._names()  # raises for unknown features
        if self.scale in _CONTRASTS and self.style != "arena":
            raise ValueError(f"scale={self.scale!r} goes with style='arena'.")
        if self.scale in _CONTRASTS and self.sources_ is None:
            raise BattlesError(
                f"scale={self.scale!r} contrasts two responses; it needs a table "
                "with pairs of text columns."
            )

    def _values(self, texts: list[str]) -> Array:
        # Densities need the length even if it is not among the chosen features.
        contrasted = self.scale in _CONTRASTS
        counts = self._count(texts, list(STYLE) if contrasted else self._names())
        if contrasted or self.scale == "none":
            return counts
        return np.log1p(counts)

    def _sides(self, blocks: list[Array]) -> list[Array]:
        if self.scale not in _CONTRASTS:
            return blocks
        # Half of the contrast on each side, so that a - b is the contrast.
        halves = _CONTRASTS[self.scale](*blocks)
        chosen = halves[:, [STYLE.index(name) for name in self._names()]]
        return [chosen, -chosen]

    def _count(self, texts: list[str], names: list[str]) -> Array:
        """Counts of texts, of shape (n_texts, n_counts)."""
        task = partial(_count_chunk, _COUNTS[self.style][0], names)
        return self._in_chunks(task, texts, self.n_jobs)


def _count_chunk(
    count: Callable[[str], dict[str, int]], names: list[str], texts: list[str]
) -> Array:
    """Counts of some texts."""
    counts = [count(text) for text in texts]
    return np.array([[one[n] for n in names] for one in counts], dtype=np.float64)
