"""Shows the status again and again, and writes it as a page."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click

from patchkit.analysis.status.picture import Picture
from patchkit.cli.output import say

_EVERY_SECONDS = 1.0
_EVERY_SECONDS_ON_RAY = 5.0


def write_page(
    picture: Picture, html: str | None, *, everything: bool, is_watched: bool = False
) -> None:
    """Write the status as an HTML page, if a file is named.

    A finished draft is renamed to the file, so that no browser loads half a page.

    Args:
        picture: The picture to write.
        html: The file; None for no page.
        everything: Whether to list also patches that come with patchkit and do not apply.
        is_watched: Whether the page reloads itself.

    Raises:
        UsageError: The file cannot be written.
    """
    if not html:
        return
    from patchkit.cli.report.status_html import as_html  # noqa: PLC0415 - only who asks needs it

    file = Path(html).resolve()
    draft = file.with_name(f".{file.name}-{os.getpid()}")
    text = as_html(picture, everything=everything, is_watched=is_watched)
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise click.UsageError(
            f"{html}: cannot be written ({error.strerror})"
        ) from error


def watch_processes(
    picture: Picture,
    draw_now: Callable[[], Picture],
    html: str | None,
    *,
    is_ray: bool,
    everything: bool,
) -> Picture:
    """Show the status again and again, until the main process has ended or the user interrupts.

    Args:
        picture: The first picture to show.
        draw_now: Returns the next picture.
        html: The file of a page to write each time; None for none.
        is_ray: Whether nodes of a Ray cluster are read, which takes longer.
        everything: Whether to list also patches that come with patchkit and do not apply.

    Returns:
        The last picture.
    """
    from patchkit.cli.report.status import live  # noqa: PLC0415 - only who watches needs it

    seconds = _EVERY_SECONDS
    if is_ray:
        seconds = _EVERY_SECONDS_ON_RAY
    has_ended = False
    with live(everything=everything) as show, suppress(KeyboardInterrupt):
        while not has_ended:
            show(picture)
            write_page(picture, html, everything=everything, is_watched=True)
            has_ended = _has_ended(picture)
            if not has_ended:
                time.sleep(seconds)
                picture = draw_now()
    if has_ended:
        say("the main process has ended")
    return picture


def _has_ended(picture: Picture) -> bool:
    """Return whether all processes that were not started by another one have ended."""
    roots = [process for process in picture.processes if process.parent is None]
    return bool(roots) and all(process.alive is False for process in roots)
