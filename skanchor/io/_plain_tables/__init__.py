"""Tables that no tool wrote: which column is what, and what its values mean.

A table is read where exactly one reading fits it. What is assumed is said; a table that
can be read in several ways is refused with the arguments that decide.
"""
