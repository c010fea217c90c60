"""Features of content: principal components of embeddings of the responses."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.features.transformer import TextTransformer

_TOPICS = 100
"""Largest number of dimensions of the built-in encoder."""


class EmbeddingFeatures(TextTransformer):
    """Features of the content of responses: principal components of an embedding.

    Texts are embedded, the embeddings are projected on their first principal
    components, and each component is scaled to [-1, 1]. All of this is learned from the
    texts of both sides of all rows, without the outcomes.

    Parameters
    ----------
    encoder : "tfidf", object with ``encode`` or transformer, default="tfidf"
        The embedding. ``"tfidf"`` is built in: TF-IDF of character n-grams inside
        words, which suits every language, and a truncated SVD. Anything with
        ``encode(list of str)``, such as a model of sentence-transformers, is used as it
        is; a scikit-learn transformer of texts is fitted.
    n_components : int, default=12
        Number of principal components; fewer if the embedding has fewer dimensions.
    scale : bool, default=True
        Whether to scale each component to [-1, 1] by its range in ``fit``. Later values
        outside the range are clipped.
    columns : str, pair or list of these, default="response"
        Pairs of columns of texts in a table: ``"response"`` stands for ``response_a``
        and ``response_b``, ``("left", "right")`` for a pair of other names.
    keep_text : bool, default=False
        Whether the text columns stay in the table.
    random_state : int, RandomState or None, default=0
        Seed of the built-in encoder's SVD.

    Attributes
    ----------
    encoder_ : object
        The fitted encoder.
    pca_ : PCA
        The principal components.
    scaler_ : MinMaxScaler or None
        The ranges of the components.
    sources_ : tuple or None
        The pairs of columns of texts; None after a fit on a column alone.

    See Also
    --------
    ResponseFeatures : Features of the form of responses.

    Examples
    --------
    >>> from skanchor.features import EmbeddingFeatures
    >>> texts = ["a cat sat", "the cat sits", "stocks fell", "the stock fell"]
    >>> EmbeddingFeatures(n_components=2).fit_transform(texts).shape
    (4, 2)
    """

    _parameter_constraints: ClassVar = {
        **TextTransformer._parameter_constraints,
        "encoder": [
            StrOptions({"tfidf"}),
            HasMethods(["encode"]),
            HasMethods(["fit", "transform"]),
        ],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "scale": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        encoder: Any = "tfidf",
        *,
        n_components: int = 12,
        scale: bool = True,
        columns: Any = "response",
        keep_text: bool = False,
        random_state: Any = 0,
    ):
        self.encoder = encoder
        self.n_components = n_components
        self.scale = scale
        self.columns = columns
        self.keep_text = keep_text
        self.random_state = random_state

    def _names(self) -> list[str]:
        return [f"embedding_{i + 1}" for i in range(self.pca_.n_components_)]

    def _learn(self, texts: list[str]) -> None:
        from sklearn.decomposition import PCA

        if len(texts) < 2:
            raise BattlesError(
                f"Components need at least two different texts, got {len(texts)}."
            )
        if isinstance(self.encoder, str):
            self.encoder_ = _fit_tfidf(texts, self.random_state)
        elif hasattr(self.encoder, "encode"):
            self.encoder_ = self.encoder
        else:
            self.encoder_ = clone(self.encoder).fit(texts)
        embedded = self._embed(texts)
        # At most as many components as there are texts and dimensions.
        n_components = min(self.n_components, *embedded.shape)
        self.pca_ = PCA(n_components, svd_solver="full").fit(embedded)
        # With clip=True, later values outside the range become -1 or 1.
        scaler = MinMaxScaler((-1, 1), clip=True).fit(self.pca_.transform(embedded))
        self.scaler_ = scaler if self.scale else None

    def _values(self, texts: list[str]) -> Array:
        values: Array = self.pca_.transform(self._embed(texts))
        return values if self.scaler_ is None else self.scaler_.transform(values)

    def _embed(self, texts: list[str]) -> Array:
        """Embeddings of texts, of shape (n_texts, n_dimensions), checked as finite."""
        encodes = hasattr(self.encoder_, "encode")
        embed = self.encoder_.encode if encodes else self.encoder_.transform
        embedded = embed(texts)
        dense: Any = embedded.toarray() if hasattr(embedded, "toarray") else embedded
        values = np.asarray(dense, dtype=np.float64)
        if values.ndim != 2 or len(values) != len(texts):
            raise BattlesError(
                f"The encoder must give one row of numbers for each text: of "
                f"{len(texts)} texts it made an array of shape {values.shape}."
            )
        finite = np.isfinite(values).all(axis=1)
        if not finite.all():
            raise BattlesError(
                f"The encoder gives numbers that are not finite for the text "
                f"{texts[int(np.argmin(finite))][:40]!r}."
            )
        return values


def _fit_tfidf(texts: list[str], random_state: Any) -> Any:
    """TF-IDF of character n-grams and truncated SVD, fitted to texts."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), sublinear_tf=True)
    try:
        weights = grams.fit_transform(texts)
    except ValueError as error:
        raise BattlesError(f"The texts cannot be embedded: {error}.") from error
    # The solver needs fewer dimensions than there are texts and n-grams.
    n_topics = max(1, min(_TOPICS, *(size - 1 for size in weights.shape)))
    topics = TruncatedSVD(n_topics, random_state=random_state)
    return make_pipeline(grams, topics.fit(weights))
