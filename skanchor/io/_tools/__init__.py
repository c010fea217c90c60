"""Readers of the files of evaluation tools, one in each module, and their recognition.

A reader turns the raw table of a file into battles: the outcome is `winner`, the judge
of people's votes is ``"human"`` and the person is `rater`, two games of a pair are two
rows, and rows that depend on each other have one `prompt_id`. It translates what a tool
is known to write, and never guesses in which direction a number goes.
"""
