"""The cross-fit: Riesz weights, influence of held-out rows, and the sum of folds."""
