"""Write what `patchkit status` shows as a page for a browser."""

import time
from collections.abc import Iterator
from itertools import pairwise

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from patchkit.analysis.status.picture import Picture
from patchkit.cli.report.html_page import escaped, html_page
from patchkit.cli.report.status import heading, sections
from patchkit.cli.report.words import one_line

_PAUSE = '<label><input type="checkbox" id="pause"> pause</label>'


def as_html(picture: Picture, *, is_watched: bool = False) -> str:
    """Write the page.

    Args:
        picture: The processes.
        is_watched: Whether the page is written again and again; its script then loads it anew.

    Returns:
        The page as HTML.
    """
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(picture.now))
    control = ""
    if is_watched:
        control = _PAUSE
    parts: list[str] = []
    for title, content in sections(picture):
        parts += _section(title, content)
    parts += [f'<p class="quiet">{escaped(note)}</p>' for note in picture.notes]
    return html_page(
        "status_html.html",
        "check_html.css status_html.css",
        "status_html.js",
        title=escaped(heading(picture)),
        journals=escaped(one_line(", ".join(picture.journals))),
        moment=moment,
        control=control,
        body="\n".join(parts),
    )


def _section(title: str, content: RenderableType) -> Iterator[str]:
    yield f"<section><h2>{title}</h2>"
    if isinstance(content, Table):
        yield f'<div class="box" role="region" tabindex="0" aria-label="{title}">'
        yield f'<table class="status">{"".join(_table(content))}</table></div>'
    else:
        yield f"<p>{_text(content)}</p>"
    yield "</section>"


def _table(table: Table) -> Iterator[str]:
    if table.show_header:
        yield "<thead><tr>"
        for column in table.columns:
            yield f'<th scope="col">{_text(column.header)}</th>'
        yield "</tr></thead>"
    first_style = table.columns[0].style
    rows = zip(*(column.cells for column in table.columns), strict=True)
    yield "<tbody>"
    for first, *cells in rows:
        yield f'<tr><th scope="row" class="{first_style}">{_text(first)}</th>'
        for cell in cells:
            yield f"<td>{_text(cell)}</td>"
        yield "</tr>"
    yield "</tbody>"


def _text(text: RenderableType) -> str:
    """Write a text as HTML, each stretch of one style in an element with the style as class."""
    if not isinstance(text, Text):
        return escaped(str(text))
    edges = {0, len(text)}
    for span in text.spans:
        edges.add(span.start)
        edges.add(span.end)
    return "".join(_stretch(text, start, end) for start, end in pairwise(sorted(edges)))


def _stretch(text: Text, start: int, end: int) -> str:
    spans = [span for span in text.spans if span.start <= start and end <= span.end]
    styles = [str(text.style), *(str(span.style) for span in spans)]
    classes = " ".join(filter(None, styles))
    content = escaped(text.plain[start:end])
    if not classes:
        return content
    return f'<span class="{classes}">{content}</span>'
