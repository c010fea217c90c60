"""A document, or a leaderboard, as LaTeX (with ``booktabs``)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skanchor.reports.document import Block, Code, Document, Points, Table, Text

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "#": r"\#",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    # LaTeX would turn two hyphens into a dash.
    "--": "-{}-",
    "−": "$-$",
    "–": "--",
    "∞": r"$\infty$",
    # Marks that isolate right-to-left text; in LaTeX this is left to babel.
    "\u2068": "",
    "\u2069": "",
}
_ANY = re.compile("|".join(map(re.escape, _SPECIAL)))

_HEAD = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{iftex}
\ifPDFTeX\usepackage[utf8]{inputenc}\fi
\usepackage{textcomp}
\usepackage{booktabs}
\usepackage{longtable}
\usepackage[margin=2cm]{geometry}
\begin{document}
"""


def to_latex(document: Document) -> str:
    """Render a document as LaTeX. Drawings are left out.

    Parameters
    ----------
    document : Document
        The report.

    Returns
    -------
    str
        A complete file. Names in scripts other than Latin need LuaLaTeX or XeLaTeX and
        a font that has these characters.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import report_document, to_latex
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> text = to_latex(report_document(anchor))
    >>> text.splitlines()[0]
    '\\\\documentclass{article}'
    """
    parts = [_HEAD + rf"\section*{{{_escaped(document.title)}}}"]
    parts += map(_escaped, document.lead)
    for section in document.sections:
        parts.append(rf"\subsection*{{{_escaped(section.title)}}}")
        for block in section.blocks:
            parts += _set(block)
    return "\n\n".join([*parts, r"\end{document}"]) + "\n"


def latex_table(table: Table, environment: str = "tabular") -> str:
    """Render one table, without its caption.

    Parameters
    ----------
    table : Table
        The table.
    environment : {"tabular", "longtable"}, default="tabular"
        LaTeX environment; a ``longtable`` may be broken between pages.

    Returns
    -------
    str
        The environment, with the rules of ``booktabs``.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor.reports import latex_table, table_of
    >>> frame = pd.DataFrame({"score": [0.71, -0.2]}, index=["otter", "heron"])
    >>> table = table_of(frame, "Scores", {"score": ("Score", 2)})
    >>> print(latex_table(table))
    \\begin{tabular}{lr}
    \\toprule
     & Score \\\\
    \\midrule
    otter & 0.71 \\\\
    heron & $-$0.20 \\\\
    \\bottomrule
    \\end{tabular}
    """
    columns = "".join("r" if heading.is_number else "l" for heading in table.headings)
    lines = [rf"\begin{{{environment}}}{{{columns}}}", r"\toprule"]
    lines.append(_row([_escaped(heading.text) for heading in table.headings]))
    lines.append(r"\midrule")
    for place, row in enumerate(table.rows):
        first, *others = (_escaped(cell.text) for cell in row)
        lines.append(_row([first + " (new)" * table.is_marked(place), *others]))
    lines += [r"\bottomrule", rf"\end{{{environment}}}"]
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    # The \\ of the row before takes "[...]" or "*" as its argument; {} prevents that.
    guard = "{}" if cells[0].startswith(("[", "*")) else ""
    return guard + " & ".join(cells) + r" \\"


def _set(block: Block) -> Iterator[str]:
    """Render a block as paragraphs of LaTeX; a drawing has none."""
    match block:
        case Text():
            yield _escaped(block.text)
        case Points():
            items = (
                rf"\item {{}}{_escaped(statement)}"
                + (rf" \emph{{{_escaped(advice)}}}" if advice else "")
                for statement, advice in block.items
            )
            yield "\n".join([r"\begin{itemize}", *items, r"\end{itemize}"])
        case Code():
            lines = (_escaped(line) for line in block.text.splitlines())
            yield r"\noindent\texttt{" + r"\\".join(lines) + "}"
        case Table():
            # In the normal font size, ten columns of numbers are wider than a line.
            yield rf"\noindent\textbf{{{_escaped(block.caption)}}}"
            yield (
                "{\\footnotesize\\setlength{\\tabcolsep}{3pt}\n"
                + latex_table(block, "longtable")
                + "\n}"
            )


def _escaped(text: str) -> str:
    # One pass over all special characters, so that no replacement is escaped again.
    text = " ".join(text.split())
    return _ANY.sub(lambda found: _SPECIAL[found[0]], text)
