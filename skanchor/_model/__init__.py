"""The model of all rows: one parameter vector, one local layout, one chain rule."""
