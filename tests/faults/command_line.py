"""Files, flags, outputs and interrupts of the command line."""

from faults.entries import Listing

FAULTS = Listing()
see = FAULTS.see
FILES = "cli.test_history_files::test_"


for title, where in {
    "A file that is absent, damaged, empty or of another format":
        "cli.test_rank::test_bad_file",
    "A table nested deeply":
        "io.test_files::test_bad_files_are_refused",
    "A number of thousands of digits":
        "io.test_files::test_bad_files_are_refused",
    "A cell of megabytes":
        "io.test_files::test_a_cell_without_end_is_refused",
    "A link to a device":
        "io.test_files::test_standard_input_and_pipes",
    "A named pipe":
        "io.test_files::test_standard_input_and_pipes",
    "A table that was written to JSON by columns": "cli.test_rank::test_bad_file",
    "A list of battles in an object of JSON":
        "io.test_files::test_every_format_holds_the_same",
    "Two lists of objects in an object of JSON":
        "io.test_mapping::test_what_holds_no_comparisons_is_refused",
    "Flags that contradict each other or name what is not there":
        "cli.test_rank::test_bad_flags",
    "A price of votes alone, or a label of people as a price or as the name of all "
    "judges": "cli.test_readouts::test_bad_flags_cost_one_line",
    "A flag that a command has no use for": "cli.test_rank::test_bad_flags",
    "A file of no tool that is known, without columns that can be recognised":
        "io.test_mapping::test_what_holds_no_comparisons_is_refused",
    "A file that could be of two tools":
        "io.test_tools::test_a_file_of_two_tools_or_of_another_one",
    "A file that is given twice":
        "io.test_mapping::test_files_name_their_judges_and_are_asked_where_they_do_not",
    "Two files of the same content":
        "io.test_files::test_files_of_equal_content_are_told",
    "Files of which only some say which side was shown first":
        "io.test_tools::test_files_of_several_tools_become_one_table",
    "Values that a tool does not write":
        "io.test_tools::test_values_that_a_tool_does_not_write",
    "Preferences whose orientation nothing tells":
        "io.test_mapping::test_it_is_asked_and_read_after_one_edited_mapping",
    "Verdicts that failed": "io.test_tools::test_failed_verdicts_are_counted",
    "One bad line among many":
        "io.test_files::test_bad_files_are_refused",
    "Bad lines, with drop_invalid":
        "io.test_files::test_lines_that_cannot_be_read_are_left_out_where_asked",
    "Text in another encoding":
        "io.test_files::test_bad_files_are_refused",
    "UTF-16 without a byte order mark":
        "io.test_files::test_every_format_holds_the_same",
    "A workbook, a web page or a PDF document":
        "cli.test_rank::test_bad_file",
    "An encoding that is not known, or gives no text":
        "io.test_files::test_encodings_are_given_by_name",
    "A damaged archive":
        "io.test_files::test_bad_files_are_refused",
    "Prose in the column of outcomes":
        "io.test_mapping::test_what_holds_no_comparisons_is_refused",
    "A mapping for another table, or with roles and meanings that do not exist":
        "io.test_mapping::test_what_does_not_fit_is_named",
    "Half a character (a lone surrogate) in a name":
        "io.test_files::test_bad_files_are_refused",
    "An archive whose file leaves its folder":
        "io.test_files::test_bad_files_are_refused",
    "An archive that unpacks to more than a limit, or holds another one":
        "io.test_files::test_bad_files_are_refused",
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
