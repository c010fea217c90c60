"""Signs that an interval should not be trusted, read off a fit."""
