"""Writes the result of `patchkit status` as an HTML page."""

import time
from collections.abc import Iterator
from itertools import pairwise

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from patchkit.analysis.status.picture import Picture
from patchkit.cli.report.html_page import escaped, html_page
from patchkit.cli.report.runs import run_line
from patchkit.cli.report.status import Section, heading, sections
from patchkit.cli.report.words import one_line

_PAUSE = '<label><input type="checkbox" id="pause"> pause</label>'
_ORDER = ("patches", "findings", "agreement", "processes")
"""The order of the sections: a phone shows only the first one without scrolling."""


def as_html(
    picture: Picture, *, everything: bool = False, is_watched: bool = False
) -> str:
    """Return the page as HTML.

    Args:
        picture: The processes.
        everything: Whether to list also patches that come with patchkit and do not apply.
        is_watched: Whether the page is written again and again; its script then reloads it.
    """
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(picture.now))
    control = ""
    if is_watched:
        control = _PAUSE
    origins = [one_line(", ".join(picture.journals))]
    if picture.run is not None:
        origins.insert(0, run_line(picture.run, picture.now))
    parts: list[str] = []
    by_title = {
        section.title: section for section in sections(picture, everything=everything)
    }
    for title in _ORDER:
        if title in by_title:
            parts += _section(by_title[title])
    parts += [f'<p class="quiet">{escaped(note)}</p>' for note in picture.notes]
    return html_page(
        "status_html.html",
        "check_html.css status_html.css",
        "status_html.js",
        title=escaped(heading(picture)),
        origins="<br>".join(map(escaped, origins)),
        moment=moment,
        control=control,
        body="\n".join(parts),
    )


def _section(section: Section) -> Iterator[str]:
    """Yield a section: its title, its table or text, and its remark."""
    title = section.title
    content = section.content
    yield f"<section><h2>{title}</h2>"
    if isinstance(content, Table):
        yield f'<div class="box" role="region" tabindex="0" aria-label="{title}">'
        yield f'<table class="status" role="table">{"".join(_table(content))}</table></div>'
    else:
        yield f"<p>{_text(content)}</p>"
    if section.remark:
        yield f'<p class="quiet">{escaped(section.remark)}</p>'
    yield "</section>"


def _table(table: Table) -> Iterator[str]:
    """Yield a table of rich as HTML.

    On a narrow screen, the style sheet shows the cells of a row one below the other, each with the
    head of its column, which is in `data-head`.
    """
    heads = [_text(column.header) for column in table.columns]
    if table.show_header:
        yield '<thead role="rowgroup"><tr role="row">'
        for head in heads:
            yield f'<th scope="col" role="columnheader">{head}</th>'
        yield "</tr></thead>"
    first_style = table.columns[0].style
    rows = zip(*(column.cells for column in table.columns), strict=True)
    yield '<tbody role="rowgroup">'
    for first, *cells in rows:
        yield '<tr role="row">'
        yield f'<th scope="row" role="rowheader" class="{first_style}">{_text(first)}</th>'
        for head, cell in zip(heads[1:], cells, strict=True):
            text = _text(cell)
            if text:  # one element for the style sheet, even if the text has several
                text = f"<div>{text}</div>"
            yield f'<td role="cell" data-head="{head}">{text}</td>'
        yield "</tr>"
    yield "</tbody>"


def _text(text: RenderableType) -> str:
    """Return a text of rich as HTML, with an element for each part that has one style."""
    if not isinstance(text, Text):
        return escaped(str(text))
    # Spans may overlap: between two edges, the style does not change.
    edges = {0, len(text)}
    for span in text.spans:
        edges.add(span.start)
        edges.add(span.end)
    return "".join(_part(text, start, end) for start, end in pairwise(sorted(edges)))


def _part(text: Text, start: int, end: int) -> str:
    """Return a part of a text in which the style does not change; styles become CSS classes."""
    spans = [span for span in text.spans if span.start <= start and end <= span.end]
    styles = [str(text.style), *(str(span.style) for span in spans)]
    classes = " ".join(filter(None, styles))
    content = escaped(text.plain[start:end])
    if not classes:
        return content
    return f'<span class="{classes}">{content}</span>'
