"""`patchkit status` as a page for a browser: what the terminal shows, as tables."""

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


def as_html(picture: Picture, *, is_watched: bool = False) -> str:
    """Write the page; one that is watched has a script that loads it again."""
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(picture.now))
    control = '<label><input type="checkbox" id="pause"> pause</label>' if is_watched else ""
    parts = (part for title, found in sections(picture) for part in _section(title, found))
    notes = (f'<p class="quiet">{escaped(note)}</p>' for note in picture.notes)
    return html_page(
        "status_html.html",
        "check_html.css status_html.css",
        "status_html.js",
        title=escaped(heading(picture)),
        journals=escaped(one_line(", ".join(picture.journals))),
        moment=moment,
        control=control,
        body="\n".join((*parts, *notes)),
    )


def _section(title: str, found: RenderableType) -> Iterator[str]:
    yield f"<section><h2>{title}</h2>"
    if isinstance(found, Table):
        yield f'<div class="box" role="region" tabindex="0" aria-label="{title}">'
        yield f'<table class="status">{"".join(_table(found))}</table></div>'
    else:
        yield f"<p>{_text(found)}</p>"
    yield "</section>"


def _table(table: Table) -> Iterator[str]:
    if table.show_header:
        heads = (f'<th scope="col">{_text(column.header)}</th>' for column in table.columns)
        yield f"<thead><tr>{''.join(heads)}</tr></thead>"
    yield "<tbody>"
    for row in zip(*(column.cells for column in table.columns), strict=True):
        first, *cells = map(_text, row)
        yield f'<tr><th scope="row" class="{table.columns[0].style}">{first}</th>'
        yield f"{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    yield "</tbody>"


def _text(text: RenderableType) -> str:
    if not isinstance(text, Text):
        return escaped(str(text))
    edges = {0, len(text), *(edge for span in text.spans for edge in (span.start, span.end))}
    return "".join(_piece(text, *both) for both in pairwise(sorted(edges)))


def _piece(text: Text, start: int, end: int) -> str:
    around = (span.style for span in text.spans if span.start <= start and end <= span.end)
    styles = " ".join(filter(None, map(str, (text.style, *around))))
    plain = escaped(text.plain[start:end])
    return f'<span class="{styles}">{plain}</span>' if styles else plain
