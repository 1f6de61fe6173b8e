"""`patchkit status`: what is applied in every process, and whether ranks agree."""

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

Look = Callable[[], Sequence[dict[str, Any]]]
_EVERY_SECONDS = 1.0
_EVERY_SECONDS_ON_RAY = 5.0


@click.command("status")
@click.argument("directory", metavar="[DIR]", required=False)
@click.option("--ray", metavar="ADDRESS", help="Ask every node of this Ray cluster.")
@click.option("--patch", "name", metavar="NAME", help="Show one patch: processes, targets, copies.")
@click.option("--unused", is_flag=True, help="List what is applied and was never called.")
@click.option("--verify", "verified", is_flag=True, help="Say what each patch's verify answered.")
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Also write a page.")
@click.option("--watch", is_flag=True, help="Show it again and again until the main process ends.")
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
    lists = [option for option, given in (("--unused", unused), ("--verify", verified)) if given]
    _check_words(lists, name, form, watch=watch)
    with _eyes(directory or Settings.read().journal, ray, must_be=not watch) as see:
        picture = _watch(see, bool(ray), html) if watch else _draw(see)
    _write(picture, html)
    if form == "json":
        click.echo(status_json(picture))
    elif not watch:
        _print(picture, name, lists)
    return 1 if picture.findings else 0


def _check_words(lists: Sequence[str], name: str | None, form: str, *, watch: bool) -> None:
    given = [*lists, *(["--patch"] if name is not None else ()), *(["--watch"] if watch else ())]
    if len(given) > 1 or (form == "json" and (lists or watch)):
        found = f"found --format {form} with {' and '.join(given)}"
        raise click.UsageError(f"{found}: expected one of them, for a person")


def _print(picture: Picture, name: str | None, lists: Sequence[str]) -> None:
    from patchkit.cli.report import status as page  # noqa: PLC0415 - JSON needs no rich

    known = sorted({patch for process in picture.processes for patch in process.patches})
    if name is not None and name not in known:
        there = ", ".join(known) or "none"
        raise click.UsageError(f"--patch: found {name!r}, expected a patch's name: {there}")
    if "--unused" in lists:
        page.print_unused(picture)
    elif "--verify" in lists:
        page.print_verified(picture)
    else:
        page.print_status(picture, name)


@contextmanager
def _eyes(directory: str | None, ray: str | None, *, must_be: bool) -> Iterator[Look]:
    if ray is not None:
        from patchkit.analysis.status.ray_nodes import RayNodes  # noqa: PLC0415 - most have no cluster

        with RayNodes(ray) as nodes:
            yield partial(nodes.look, directory)
        return
    folder = directory or newest_run()
    if folder is None:
        here = "no 'patchkit run' has left a journal here, and PATCHKIT_JOURNAL is not set"
        raise click.UsageError(f"{here}: expected DIR, the directory of the journals")
    if must_be and not Path(folder).is_dir():
        raise click.UsageError(f"{folder}: found no such directory, expected one with journals")
    yield lambda: [look(str(folder))]


def _draw(see: Look) -> Picture:
    return draw(see(), ProcessTable(installed_processes()))


def _write(picture: Picture, html: str | None, *, is_watched: bool = False) -> None:
    """Write the page at once, so that no browser loads half of it."""
    if html:
        from patchkit.cli.report.status_html import as_html  # noqa: PLC0415 - only who asks needs it

        place = Path(html).resolve()
        draft = place.with_name(f".{place.name}-{os.getpid()}")
        try:
            draft.write_text(as_html(picture, is_watched=is_watched), encoding="utf-8")
            draft.replace(place)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise click.UsageError(f"{html}: cannot be written ({error.strerror})") from error


def _watch(see: Look, is_ray: bool, html: str | None) -> Picture:
    """Show what is seen until the main process has ended, or the user has seen enough."""
    from patchkit.cli.report.status import live  # noqa: PLC0415 - only who watches needs it

    picture, is_running = _draw(see), True
    with live() as show, suppress(KeyboardInterrupt):
        while is_running:
            show(picture)
            _write(picture, html, is_watched=True)
            roots = {one.alive for one in picture.processes if one.parent is None}
            if is_running := roots != {False}:
                time.sleep(_EVERY_SECONDS_ON_RAY if is_ray else _EVERY_SECONDS)
                picture = _draw(see)
    if not is_running:
        say("the main process has ended")
    return picture
