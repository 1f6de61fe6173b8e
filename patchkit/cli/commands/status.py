"""`patchkit status`: show what is applied in every process, and whether ranks agree."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from patchkit.analysis.status.journals import newest_run
from patchkit.analysis.status.node import look
from patchkit.analysis.status.picture import Picture, draw
from patchkit.cli.options import format_option
from patchkit.cli.output import say
from patchkit.cli.report.status_json import status_json
from patchkit.core.rows.processes import ProcessTable
from patchkit.registry import installed_processes
from patchkit.settings import Settings

NodeReader = Callable[[], Sequence[dict[str, Any]]]
"""Reads the processes and their journals, of each node a dict."""

_EVERY_SECONDS = 1.0
_EVERY_SECONDS_ON_RAY = 5.0


@click.command("status")
@click.argument("directory", metavar="[DIR]", required=False)
@click.option("--ray", metavar="ADDRESS", help="Ask every node of this Ray cluster.")
@click.option(
    "--patch",
    "name",
    metavar="NAME",
    help="Show one patch: processes, targets, copies.",
)
@click.option(
    "--unused", is_flag=True, help="List what is applied and was never called."
)
@click.option(
    "--verify", "verified", is_flag=True, help="Say what each patch's verify answered."
)
@click.option(
    "--html", metavar="FILE", type=click.Path(dir_okay=False), help="Also write a page."
)
@click.option(
    "--watch", is_flag=True, help="Show it again and again until the main process ends."
)
@format_option
def command(
    directory: str | None,
    ray: str | None,
    name: str | None,
    unused: bool,
    verified: bool,
    html: str | None,
    watch: bool,
    form: str,
) -> int:
    """Say what is applied in every process, and what was not reached.

    DIR is where the processes write their journals; by default PATCHKIT_JOURNAL, or else the newest
    `patchkit run` of this user. ADDRESS is host:port of the head, ray://host:port, or auto. Exit
    code 1 means that there is something to look at: a patch that failed, a process that was not
    reached, ranks that do not agree.

    \b
    Examples:
      patchkit status                                    of the newest run
      patchkit status /tmp/journal
      patchkit status --watch --html status.html   also a page, which follows it
      patchkit status /tmp/journal --patch core-loop   its targets, copies, layers
      patchkit status --unused   what is applied and was never called
      patchkit status --ray 10.0.0.1:6379
      patchkit status --format json | jq '.agreement'
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    _check_options(name, form, unused=unused, verified=verified, watch=watch)
    journal = directory or Settings.read().journal
    with _open_nodes(journal, ray, must_exist=not watch) as read_nodes:
        picture = _draw(read_nodes)
        if watch:
            picture = _watch(picture, read_nodes, bool(ray), html)
    _write_html(picture, html)
    if form == "json":
        click.echo(status_json(picture))
    elif not watch:
        _print(picture, name, unused=unused, verified=verified)
    return int(bool(picture.findings))


def _check_options(
    name: str | None, form: str, *, unused: bool, verified: bool, watch: bool
) -> None:
    """Raise UsageError where options exclude each other."""
    is_set = {
        "--unused": unused,
        "--verify": verified,
        "--patch": name is not None,
        "--watch": watch,
    }
    names = [option for option, value in is_set.items() if value]
    is_for_person = unused or verified or watch
    if len(names) > 1 or (form == "json" and is_for_person):
        options = f"--format {form} with {' and '.join(names)}"
        raise click.UsageError(f"found {options}: expected one of them, for a person")


def _print(picture: Picture, name: str | None, *, unused: bool, verified: bool) -> None:
    from patchkit.cli.report import status as page  # noqa: PLC0415 - JSON needs no rich

    names: set[str] = set()
    for process in picture.processes:
        names.update(process.patches)
    if name is not None and name not in names:
        expected = ", ".join(sorted(names)) or "none"
        raise click.UsageError(
            f"--patch: found {name!r}, expected a patch's name: {expected}"
        )
    if unused:
        page.print_unused(picture)
        for finding in picture.findings:
            if finding.kind == "misplaced":
                click.echo(f"misplaced: {finding.message}")
    elif verified:
        page.print_verified(picture)
    else:
        page.print_status(picture, name)


@contextmanager
def _open_nodes(
    directory: str | None, ray: str | None, *, must_exist: bool
) -> Iterator[NodeReader]:
    """Yield what reads every node of a Ray cluster, or this node where `ray` is None."""
    if ray is not None:
        from patchkit.analysis.status.ray_nodes import RayNodes  # noqa: PLC0415 - most have no cluster

        with RayNodes(ray) as nodes:
            yield partial(nodes.look, directory)
        return
    folder = directory or newest_run()
    if folder is None:
        reason = (
            "no 'patchkit run' has left a journal here, and PATCHKIT_JOURNAL is not set"
        )
        raise click.UsageError(f"{reason}: expected DIR, the directory of the journals")
    if must_exist and not Path(folder).is_dir():
        raise click.UsageError(
            f"{folder}: found no such directory, expected one with journals"
        )
    yield lambda: [look(str(folder))]


def _draw(read_nodes: NodeReader) -> Picture:
    return draw(read_nodes(), ProcessTable(installed_processes()))


def _write_html(
    picture: Picture, html: str | None, *, is_watched: bool = False
) -> None:
    """Write the page, if there is a file for it, by a rename: no browser loads half of it."""
    if not html:
        return
    from patchkit.cli.report.status_html import as_html  # noqa: PLC0415 - only who asks needs it

    file = Path(html).resolve()
    draft = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        draft.write_text(as_html(picture, is_watched=is_watched), encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise click.UsageError(
            f"{html}: cannot be written ({error.strerror})"
        ) from error


def _watch(
    picture: Picture, read_nodes: NodeReader, is_ray: bool, html: str | None
) -> Picture:
    """Show a picture, and newer ones until the main process has ended or the user interrupts."""
    from patchkit.cli.report.status import live  # noqa: PLC0415 - only who watches needs it

    seconds = _EVERY_SECONDS
    if is_ray:
        seconds = _EVERY_SECONDS_ON_RAY
    has_ended = False
    with live() as show, suppress(KeyboardInterrupt):
        while not has_ended:
            show(picture)
            _write_html(picture, html, is_watched=True)
            has_ended = _has_ended(picture)
            if not has_ended:
                time.sleep(seconds)
                picture = _draw(read_nodes)
    if has_ended:
        say("the main process has ended")
    return picture


def _has_ended(picture: Picture) -> bool:
    """Whether there is a process that no other of them has started, and every such has ended."""
    roots = [process for process in picture.processes if process.parent is None]
    return bool(roots) and all(process.alive is False for process in roots)
