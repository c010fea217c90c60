"""Bradley-Terry-Luce scores from other packages, one adapter per package.

An adapter offers ``NAME``; ``prepare(table)``, which turns the table into what the
package takes and is not timed; ``fit(prepared)``, which is; and ``scores(result)``,
scores in logits by model.
"""
