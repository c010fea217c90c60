"""Battles tables to try the estimators on: a bundled one, and real ones to fetch."""

from ._demo import load_demo
from .arena import fetch_arena
from .llmfao import fetch_llmfao
from .mt_bench import fetch_mt_bench

__all__ = ["fetch_arena", "fetch_llmfao", "fetch_mt_bench", "load_demo"]
