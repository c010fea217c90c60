"""Results as a page for people to read, and as data for programs."""

from skanchor.reports.document import to_dict
from skanchor.reports.page import write_report

__all__ = ["to_dict", "write_report"]
