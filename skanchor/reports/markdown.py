"""A document, or a leaderboard, as Markdown (GitHub's, for the tables)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skanchor.reports.document import Block, Code, Document, Points, Table, Text

# Characters that are markup inside a line, or at its beginning. They are escaped, so
# that names are shown unchanged.
_MARKUP = re.compile(r"([\\`*_\[\]|~$&<>]|^[#+-])")
# A backslash does not escape these everywhere (a bar in a table, elements of HTML).
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}


def to_markdown(document: Document) -> str:
    """Render a document as Markdown. Drawings are left out.

    Parameters
    ----------
    document : Document
        The report.

    Returns
    -------
    str
        The whole text.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import report_document, to_markdown
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> text = to_markdown(report_document(anchor))
    >>> text.splitlines()[0]
    '# Where people would rank the models'
    """
    parts = [
        f"# {_escaped_markdown(document.title)}",
        *map(_escaped_markdown, document.lead),
    ]
    for section in document.sections:
        parts.append(f"## {_escaped_markdown(section.title)}")
        for block in section.blocks:
            parts += _markdown_block(block)
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Table) -> str:
    """Render one table, without its caption.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    str
        The lines of the table, numbers aligned on the right.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor.reports import markdown_table, table_of
    >>> frame = pd.DataFrame({"score": [0.71, -0.2]}, index=["otter", "heron"])
    >>> table = table_of(frame, "Scores", {"score": ("Score", 2)})
    >>> print(markdown_table(table))
    |  | Score |
    | :--- | ---: |
    | otter | 0.71 |
    | heron | −0.20 |
    """
    head = [_escaped_markdown(heading.text) for heading in table.headings]
    rule = ["---:" if heading.is_number else ":---" for heading in table.headings]
    lines = [head, rule]
    for place, row in enumerate(table.rows):
        first, *others = (_escaped_markdown(cell.text) for cell in row)
        lines.append([first + " (new)" * table.is_marked(place), *others])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _markdown_block(block: Block) -> Iterator[str]:
    """Render a block as paragraphs of Markdown; a drawing has none."""
    match block:
        case Text():
            yield _escaped_markdown(block.text)
        case Points():
            yield "\n".join(
                f"- {_escaped_markdown(statement)}"
                + (f" *{_escaped_markdown(advice)}*" if advice else "")
                for statement, advice in block.items
            )
        case Code():
            # The fence must be longer than any run of backticks in the text.
            longest = max(map(len, re.findall("`+", block.text)), default=0)
            fence = "`" * max(3, longest + 1)
            yield f"{fence}text\n{block.text}\n{fence}"
        case Table():
            yield f"**{_escaped_markdown(block.caption)}**"
            yield markdown_table(block)


def _escaped_markdown(text: str) -> str:
    text = " ".join(text.split())
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[1], f"\\{found[1]}"), text)
