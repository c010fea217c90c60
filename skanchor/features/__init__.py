"""Features of responses from their texts, by transformers in front of a ranking.

`ResponseFeatures` counts what a text looks like, `EmbeddingFeatures` says what it is
about. Both take a column of texts, or a battles table with pairs of text columns, which
they replace by pairs of feature columns.
"""

from skanchor.features.embedding import EmbeddingFeatures
from skanchor.features.response import ResponseFeatures

__all__ = ["EmbeddingFeatures", "ResponseFeatures"]
