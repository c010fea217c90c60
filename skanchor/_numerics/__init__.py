"""Pure functions on arrays; estimators carry the state."""
