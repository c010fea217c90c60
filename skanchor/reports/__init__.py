"""Results as a page for people to read, and as data for programs."""

from skanchor.reports.page import write_report
from skanchor.reports.readout import to_dict

__all__ = ["to_dict", "write_report"]
