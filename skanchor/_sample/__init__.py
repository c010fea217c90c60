"""A table as a fit uses it: rows, roles, weights and groups, validated once."""
