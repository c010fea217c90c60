"""Battles tables to try the estimators on: a bundled one, and real ones to fetch."""

from skanchor.datasets._demo import load_demo
from skanchor.datasets.fetch import fetch_arena, fetch_llmfao, fetch_mt_bench

__all__ = ["fetch_arena", "fetch_llmfao", "fetch_mt_bench", "load_demo"]
