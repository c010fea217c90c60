"""Transformers that turn the texts of responses into features for a ranking.

`ResponseFeatures` counts properties of a text's form, `EmbeddingFeatures` describes its
content. Both take a column of texts, or a battles table with pairs of text columns,
which they replace by pairs of feature columns.
"""

from skanchor.features.embedding import EmbeddingFeatures
from skanchor.features.response import ResponseFeatures

__all__ = ["EmbeddingFeatures", "ResponseFeatures"]
