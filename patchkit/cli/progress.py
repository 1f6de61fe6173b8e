"""How far long work has come, on stderr, for a person who waits."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.upstream.reading.parallel import Progress


@contextlib.contextmanager
def progress(what: str) -> Iterator[Progress | None]:
    """Show a bar while the work goes on; nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal gets a bar
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[at]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, at="")

        def told(done: int, total: int, label: str) -> None:
            bar.update(task, completed=done, total=total, at=label)

        yield told
