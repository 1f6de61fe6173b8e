"""`patchkit status`: show what is applied in every process, and whether ranks agree."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from patchkit.analysis.status.node import look, read
from patchkit.analysis.status.patches import idle_patches, tally
from patchkit.analysis.status.picture import Picture, draw
from patchkit.analysis.status.runs import Run, all_runs, find_run, run_in
from patchkit.cli.options import format_option
from patchkit.cli.output import say
from patchkit.cli.report.status_json import status_json
from patchkit.core.rows.processes import ProcessTable
from patchkit.errors import some_of
from patchkit.registry import installed_processes
from patchkit.settings import Settings

NodeReader = Callable[[], Sequence[dict[str, Any]]]
"""Reads the processes and their journals, of each node a dict."""

_EVERY_SECONDS = 1.0
_EVERY_SECONDS_ON_RAY = 5.0


class View(NamedTuple):
    """What of a picture is shown.

    Args:
        patch: The name of the one patch that is shown; None for all.
        unused: Whether only what was never called is listed.
        verified: Whether only the answers of `verify` are listed.
        everything: Whether idle patches that come with patchkit are listed, too.
    """

    patch: str | None
    unused: bool
    verified: bool
    everything: bool


@click.command("status")
@click.argument("source", metavar="[RUN|DIR]", required=False)
@click.option("--runs", is_flag=True, help="List the runs that can be shown.")
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
    "--verify", "verified", is_flag=True, help="Show what each patch's verify answered."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also list patches that come with patchkit and do not apply.",
)
@click.option(
    "--html", metavar="FILE", type=click.Path(dir_okay=False), help="Also write a page."
)
@click.option("--watch", is_flag=True, help="Refresh until the main process ends.")
@format_option
def command(
    source: str | None,
    runs: bool,
    ray: str | None,
    name: str | None,
    unused: bool,
    verified: bool,
    everything: bool,
    html: str | None,
    watch: bool,
    form: str,
) -> int:
    """Show what is applied in every process, and which processes were not reached.

    RUN is the number or the name of a `patchkit run` of this user, as --runs lists them; DIR is
    where processes write their journals. The default is PATCHKIT_JOURNAL, or else the newest run.
    ADDRESS is host:port of the head, ray://host:port, or auto. Exit code 1 means findings: a
    patch that failed, a process that was not reached, or ranks that do not agree.

    \b
    Examples:
      patchkit status              of the newest run
      patchkit status --runs       list the runs
      patchkit status 2            of the run before the newest
      patchkit status /tmp/journal
      patchkit status --watch --html status.html   also as a page that reloads
      patchkit status /tmp/journal --patch core-loop   its targets, copies, layers
      patchkit status --unused   what is applied and was never called
      patchkit status --ray 10.0.0.1:6379
      patchkit status --format json | jq '.agreement'
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    view = View(name, unused, verified, everything)
    _check_options(view, form, watch=watch, runs=runs)
    if runs:
        _list_runs(form)
        return 0
    run = None
    if source == "":
        raise click.UsageError(
            "found an empty DIR, expected a directory, or a run's number"
        )
    journal = source or Settings.read().journal
    if ray is None:
        journal, run = _find_journal(journal, must_exist=not watch)
    with _open_nodes(journal, ray) as read_nodes:
        draw_now = partial(_draw, read_nodes, run)
        picture = draw_now()
        if watch:
            picture = _watch(picture, draw_now, bool(ray), html, everything=everything)
    _write_html(picture, html, everything=everything)
    if form == "json":
        click.echo(status_json(picture))
    elif not watch:
        _print(picture, view)
    return int(bool(picture.findings))


def _check_options(view: View, form: str, *, watch: bool, runs: bool) -> None:
    """Raise UsageError where options exclude each other."""
    is_set = {
        "--unused": view.unused,
        "--verify": view.verified,
        "--patch": view.patch is not None,
        "--watch": watch,
        "--runs": runs,
    }
    names = [option for option, value in is_set.items() if value]
    is_for_person = view.unused or view.verified or watch
    if len(names) > 1 or (form == "json" and is_for_person):
        options = f"--format {form} with {' and '.join(names)}"
        raise click.UsageError(f"found {options}: expected one of them, for a person")


def _list_runs(form: str) -> None:
    """Print the runs of this user, each with what its journals say."""
    from patchkit.cli.report import runs as report  # noqa: PLC0415 - few ask for them

    results = []
    for run in all_runs():
        journals, _ = read(str(run.folder))
        node = {"host": "", "directory": str(run.folder), "journals": journals}
        picture = draw([node])
        processes = picture.processes
        statuses = tally(processes, idle_patches(processes))
        results.append(report.RunResult(run, len(processes), statuses))
    if form == "json":
        click.echo(report.runs_json(results))
    else:
        report.print_runs(results)


def _find_journal(source: str | None, *, must_exist: bool) -> tuple[str, Run | None]:
    """Return the folder of the journals to show, and the run that they are of, if that is known.

    Args:
        source: A directory, or the number or name of a run; None for the newest run.
        must_exist: Whether a directory must be there already.
    """
    if source is None:
        newest = next(iter(all_runs()), None)
        if newest is None:
            reason = "no 'patchkit run' has left a journal here, and PATCHKIT_JOURNAL is not set"
            raise click.UsageError(
                f"{reason}: expected DIR, the directory of the journals"
            )
        return str(newest.folder), newest
    if Path(source).is_dir():
        return source, run_in(Path(source))
    run = find_run(source)
    if run is not None:
        return str(run.folder), run
    if must_exist or source.isdecimal():
        expected = (
            "expected one with journals, or a run that 'patchkit status --runs' lists"
        )
        raise click.UsageError(f"{source}: found no such directory, {expected}")
    return source, None


def _print(picture: Picture, view: View) -> None:
    from patchkit.cli.report import status as page  # noqa: PLC0415 - JSON needs no rich
    from patchkit.cli.report import status_calls  # noqa: PLC0415

    if view.unused:
        status_calls.print_unused(picture, everything=view.everything)
        for finding in picture.findings:
            if finding.kind == "misplaced":
                click.echo(f"misplaced: {finding.message}")
    elif view.verified:
        status_calls.print_verified(picture)
    elif view.patch is None:
        page.print_status(picture, everything=view.everything)
    else:
        _check_patch(picture, view.patch)
        page.print_patch(picture, view.patch)


def _check_patch(picture: Picture, name: str) -> None:
    """Raise UsageError where no process knows a patch."""
    names: dict[str, bool] = {}
    for process in picture.processes:
        for patch in process.patches.values():
            names[patch.name] = patch.comes_with_patchkit
    if name not in names:
        expected = some_of(sorted(names, key=lambda known: names[known]), name)
        raise click.UsageError(
            f"--patch: found {name!r}, expected a patch's name: {expected}"
        )


@contextmanager
def _open_nodes(directory: str | None, ray: str | None) -> Iterator[NodeReader]:
    """Yield what reads every node of a Ray cluster, or this node where `ray` is None."""
    if ray is None:
        yield lambda: [look(directory)]
        return
    from patchkit.analysis.status.ray_nodes import RayNodes  # noqa: PLC0415 - most have no cluster

    with RayNodes(ray) as nodes:
        yield partial(nodes.look, directory)


def _draw(read_nodes: NodeReader, run: Run | None) -> Picture:
    picture = draw(read_nodes(), ProcessTable(installed_processes()))
    picture.run = run
    return picture


def _write_html(
    picture: Picture, html: str | None, *, everything: bool, is_watched: bool = False
) -> None:
    """Write the page, if there is a file for it, by a rename: no browser loads half of it."""
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


def _watch(
    picture: Picture,
    draw_now: Callable[[], Picture],
    is_ray: bool,
    html: str | None,
    *,
    everything: bool,
) -> Picture:
    """Show a picture, and newer ones until the main process has ended or the user interrupts."""
    from patchkit.cli.report.status import live  # noqa: PLC0415 - only who watches needs it

    seconds = _EVERY_SECONDS
    if is_ray:
        seconds = _EVERY_SECONDS_ON_RAY
    has_ended = False
    with live(everything=everything) as show, suppress(KeyboardInterrupt):
        while not has_ended:
            show(picture)
            _write_html(picture, html, everything=everything, is_watched=True)
            has_ended = _has_ended(picture)
            if not has_ended:
                time.sleep(seconds)
                picture = draw_now()
    if has_ended:
        say("the main process has ended")
    return picture


def _has_ended(picture: Picture) -> bool:
    """Whether there is a process that no other of them has started, and every such has ended."""
    roots = [process for process in picture.processes if process.parent is None]
    return bool(roots) and all(process.alive is False for process in roots)
