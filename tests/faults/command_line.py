"""Files, flags, outputs and interrupts of the command line."""

from faults.entries import Listing

FAULTS = Listing()
see = FAULTS.see
FILES = "cli.test_history_files::test_"


for title, where in {
    "A file that is absent, damaged, empty or of another format":
        "cli.test_rank::test_bad_file",
    "A table nested deeply": "io.test_reading::test_deep_nesting_is_refused",
    "A number of thousands of digits":
        "io.test_reading::test_numbers_of_thousands_of_digits_are_refused",
    "A cell of megabytes": "io.test_reading::test_a_cell_of_megabytes_is_read",
    "A name of megabytes":
        "io.test_reading::test_a_name_of_megabytes_is_cut_in_messages",
    "A link to a device": "io.test_reading::test_devices_are_refused",
    "A machine so busy that a file is closed while it is still being read ahead":
        "io.test_reading::test_a_file_that_is_closed_is_read_ahead_no_more",
    "A named pipe": "io.test_reading::test_pipes_are_read_once",
    "A table that was written to JSON by columns": "cli.test_rank::test_bad_file",
    "A list of battles in an object of JSON":
        "io.test_wrapped_json::test_the_table_in_an_object_is_found",
    "Two lists of objects in an object of JSON":
        "io.test_wrapped_json::test_two_lists_are_refused_with_both_named",
    "Flags that contradict each other or name what is not there":
        "cli.test_rank::test_bad_flags",
    "A price of votes alone, or a label of people as a price or as the name of all "
    "judges": "cli.test_readouts::test_bad_flags_cost_one_line",
    "A flag that a command has no use for": "cli.test_rank::test_bad_flags",
    "A file of no tool that is known, without columns that can be recognised":
        "io.test_tools::test_unknown_file_says_what_it_comes_near",
    "A file that could be of two tools":
        "io.test_tools::test_file_that_looks_like_those_of_two_tools",
    "A file that is given twice": "io.test_order::test_no_file_counts_twice",
    "Two files of the same content": "io.test_order::test_no_file_counts_twice",
    "Files of which only some say which side was shown first":
        "io.test_order::"
        "test_files_that_do_not_say_what_was_shown_first_mean_what_they_mean_alone",
    "Prompts that are 17 in one file and 17.0 in another, as beside empty cells":
        "io.test_order::test_prompts_of_files_with_and_without_gaps_are_the_same",
    "Values that a tool does not write":
        "io.test_tools::test_values_that_a_tool_does_not_write",
    "Preferences whose orientation nothing tells":
        "io.test_tools::test_unnamed_numbers_are_never_taken_for_a_tools",
    "Verdicts that failed": "io.test_tools::test_failed_verdicts_are_counted",
    "One bad line among many":
        "io.test_generic::test_bad_line_among_many_is_found_and_counted",
    "Bad lines, with drop_invalid": "io.test_generic::test_bad_lines_may_be_dropped",
    "Text in another encoding": "io.test_odd_tables::test_likely_encodings_are_offered",
    "UTF-16 without a byte order mark":
        "io.test_odd_tables::test_utf_16_needs_no_mark",
    "A workbook, a web page or a PDF document":
        "io.test_odd_tables::test_other_kinds_of_files_are_to_be_saved_as_csv",
    "An encoding that is not known, or gives no text":
        "io.test_generic::test_encoding_that_is_none",
    "A damaged archive": "io.test_generic::test_damaged_archive",
    "An archive under a password": "io.test_generic::test_archive_under_a_password",
    "An output file of a format that is not known": "cli.test_rank::test_bad_flags",
    "An output file that is read": "cli.test_rank::test_output_is_never_an_input",
    "An output file that exists":
        "cli.test_rank::test_output_that_exists_asks_for_force",
    "An output file that cannot be written":
        "cli.test_rank::test_output_that_cannot_be_written_is_found_before_the_fit",
    "Two programs that write the same file": "io.test_atomic::test_two_writers_at_once",
    "A terminal too narrow for the leaderboard":
        "reports.test_page::test_a_narrow_terminal_keeps_names_and_numbers_whole",
    "A disk that is full when the result is written":
        "cli.test_rank::test_unwritable_output_leaves_nothing",
    "Names that hold markup, in a report":
        "reports.test_page::test_names_never_become_markup",
    "A method that is not known": "cli.test_rank::test_bad_flags",
    "A history that is to be written to a full disk, or stopped by a signal":
        "cli.test_history::test_a_full_disk_or_a_signal_leaves_the_old_history",
    "A history that would be written over a file that is read, its battles or "
    "fingerprints": FILES + "build_does_not_write_over_what_it_reads",
    "A fit of a folder that a signal or a full disk stops":
        FILES + "a_folder_whose_fit_is_stopped_leaves_the_old_history",
    "An update of a history that another update has changed, under another spelling "
    "of its name": FILES + "only_the_history_that_is_replaced_must_stay_as_it_was",
    "Ties, counts and position effects of the flags, in a comparison of methods":
        "cli.test_readouts::test_methods_share_ties_counts_and_position_effects",
    "Flags of the ranking that none of the methods of a comparison reads":
        "cli.test_readouts::test_bad_flags_cost_one_line",
    "Ctrl-C": "cli.test_program::test_interrupt",
    "A signal that arrives inside a finaliser, which drops what is raised":
        "cli.test_program::"
        "test_a_signal_inside_a_finaliser_ends_the_program_unwritten",
    "SIGTERM or SIGHUP, workers running":
        "cli.test_program::test_signals_end_workers_and_all",
    "A worker that is killed": "cli.test_program::test_killed_worker",
    "A standard stream that is closed or full":
        "cli.test_program::test_closed_streams",
    "A pipe that is closed":
        "cli.test_program::test_console_script_into_a_closed_pipe",
}.items():  # fmt: skip
    see(title, where)
