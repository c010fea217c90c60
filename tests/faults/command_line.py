"""Files, flags, outputs and interrupts of the command line."""

from faults.entries import Listing

FAULTS = Listing()
see = FAULTS.see


for title, where in {
    "A file that is absent, damaged, empty or of another format":
        "cli.test_rank::test_bad_file",
    "A table that was written to JSON by columns": "cli.test_rank::test_bad_file",
    "Flags that contradict each other or name what is not there":
        "cli.test_rank::test_bad_flags",
    "An output file of a format that is not known": "cli.test_rank::test_bad_flags",
    "A terminal too narrow for the leaderboard":
        "reports.test_leaderboard::test_layout_keeps_names_whole",
    "A disk that is full when the result is written":
        "cli.test_rank::test_unwritable_output_leaves_nothing",
    "Ctrl-C": "cli.test_program::test_interrupt",
    "A pipe that is closed":
        "cli.test_program::test_console_script_into_a_closed_pipe",
}.items():  # fmt: skip
    see(title, where)
