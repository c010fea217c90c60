"""Battles tables to try the estimators on."""

from ._demo import load_demo

__all__ = ["load_demo"]
