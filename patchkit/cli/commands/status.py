"""`patchkit status`: show what is applied in every process, and whether ranks agree."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from patchkit.analysis.status.findings import awaited
from patchkit.analysis.status.node import look, read
from patchkit.analysis.status.patches import idle_patches, tally
from patchkit.analysis.status.picture import Picture, draw
from patchkit.analysis.status.runs import Run, all_runs, find_run, run_in
from patchkit.cli.options import make_format_option
from patchkit.cli.output import say
from patchkit.cli.report.status_json import status_json
from patchkit.cli.watching import watch_processes, write_page
from patchkit.core.engines.entry_points import installed_engines, installed_processes
from patchkit.core.rows.declaration import Role
from patchkit.core.rows.processes import ProcessTable
from patchkit.errors import some_of
from patchkit.settings import Settings, is_switched_off

NodeReader = Callable[[], Sequence[dict[str, Any]]]
"""Reads the processes and the journals of each node, as a dict."""


class View(NamedTuple):
    """The part of the status that the options ask for.

    Args:
        patch: The name of the only patch to show; None for all.
        unused: Whether to list only what was never called.
        verified: Whether to list only the answers of `verify`.
        everything: Whether to list also the patches that come with patchkit and do not apply.
    """

    patch: str | None
    unused: bool
    verified: bool
    everything: bool


class _Wanted(NamedTuple):
    """The processes that the options ask about.

    Args:
        running_only: Whether only those count that run here now.
        roles: The roles of which one has to be there.
    """

    running_only: bool
    roles: tuple[str, ...]


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
@click.option(
    "--running",
    is_flag=True,
    help="Only what runs here now, as a probe asks; nothing if PATCHKIT is 0.",
)
@click.option(
    "--expect",
    "expected",
    metavar="ROLE",
    type=click.Choice([str(role) for role in Role]),
    multiple=True,
    help="Exit with 1 until a process of this role is there; repeatable.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Serve metrics to Prometheus at this port.",
)
@make_format_option(
    "json", "prometheus", help_text="Output for people, programs, or a scrape."
)
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
    running: bool,
    expected: tuple[str, ...],
    port: int | None,
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
      patchkit status /journal --running --expect worker   as a probe
      patchkit status /tmp/journal --port 9464   for Prometheus
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    view = View(name, unused, verified, everything)
    _check_options(view, form, watch=watch, runs=runs, serves=port is not None)
    if runs:
        _list_runs(form)
        return 0
    if running and port is None and _is_off():
        return 0
    journal, run = _named_source(source), None
    if ray is None:
        journal, run = _find_journal(journal, must_exist=not watch)
    with _open_nodes(journal, ray) as read_nodes:
        draw_now = partial(_draw, read_nodes, run, _Wanted(running, expected))
        if port is not None:
            _serve(port, draw_now)
            return 0
        picture = draw_now()
        if watch:
            picture = watch_processes(
                picture, draw_now, html, is_ray=bool(ray), everything=everything
            )
    write_page(picture, html, everything=everything)
    if not watch or form != "table":
        _show(picture, view, form)
    return _exit_code(picture, running_only=running)


def _is_off() -> bool:
    """Whether patchkit is switched off, so that a probe passes; say so if it is."""
    if not is_switched_off(os.environ):
        return False
    say("PATCHKIT is 0 here, so that there is nothing to ask of processes")
    return True


def _exit_code(picture: Picture, *, running_only: bool) -> int:
    """Return 1 for findings; a probe stands the failure of a patch that is not required."""
    counted = picture.findings
    if running_only:
        counted = [finding for finding in counted if not finding.is_tolerated]
    return int(bool(counted))


def _check_options(
    view: View, form: str, *, watch: bool, runs: bool, serves: bool
) -> None:
    """Refuse options that exclude each other.

    Raises:
        UsageError: Several ways to show the status are asked for, or one that has no JSON.
    """
    is_set = {
        "--unused": view.unused,
        "--verify": view.verified,
        "--patch": view.patch is not None,
        "--watch": watch,
        "--runs": runs,
        "--port": serves,
    }
    names = [option for option, value in is_set.items() if value]
    is_for_person = view.unused or view.verified or watch
    has_no_metrics = is_for_person or runs or serves or view.patch is not None
    if (form == "json" and (is_for_person or serves)) or (
        form == "prometheus" and has_no_metrics
    ):
        names.insert(0, f"--format {form}")
    if len(names) > 1:
        options = " and ".join(names)
        raise click.UsageError(f"found {options}, expected one of them")


def _serve(port: int, draw_now: Callable[[], Picture]) -> None:
    """Serve metrics at a port until the user interrupts."""
    from patchkit.cli.metrics import serve  # noqa: PLC0415 - few serve metrics

    serve(port, draw_now)


def _list_runs(form: str) -> None:
    """Print the runs of this user, each with its processes and the statuses of its patches."""
    from patchkit.cli.report import runs as report  # noqa: PLC0415 - few ask for them

    results = []
    for run in all_runs():
        journals, _unreadable = read(str(run.folder))
        # Only the numbers of the picture are used, so the name of the node does not matter.
        node = {"host": "", "directory": str(run.folder), "journals": journals}
        picture = draw([node])
        processes = picture.processes
        statuses = tally(processes, idle_patches(processes))
        results.append(report.RunResult(run, len(processes), statuses))
    if form == "json":
        click.echo(report.runs_json(results))
    else:
        report.print_runs(results)


def _named_source(source: str | None) -> str | None:
    """Return the directory or run that is named, by an argument or PATCHKIT_JOURNAL.

    Raises:
        UsageError: The argument is empty.
    """
    if source == "":  # as from an unset shell variable: not the newest run
        raise click.UsageError(
            "found an empty DIR, expected a directory, or a run's number"
        )
    return source or Settings.read().journal


def _find_journal(source: str | None, *, must_exist: bool) -> tuple[str, Run | None]:
    """Return the folder of the journals to show, and their run; None for a run that is unknown.

    Args:
        source: A directory, or the number or name of a run; None for the newest run.
        must_exist: Whether a directory has to exist already; `--watch` waits for it.

    Raises:
        UsageError: There is no such directory or run.
    """
    if source is None:
        newest = next(iter(all_runs()), None)
        if newest is None:
            reason = "no 'patchkit run' has left a journal here, and PATCHKIT_JOURNAL is not set"
            raise click.UsageError(
                f"{reason}: expected DIR, the directory of the journals"
            )
        return str(newest.folder), newest
    if _is_folder(source):
        return source, run_in(Path(source))
    run = find_run(source)
    if run is not None:
        return str(run.folder), run
    if must_exist or source.isdecimal():  # a number is no directory to wait for
        expected = (
            "expected one with journals, or a run that 'patchkit status --runs' lists"
        )
        raise click.UsageError(f"{source}: found no such directory, {expected}")
    return source, None


def _is_folder(source: str) -> bool:
    """Whether there is a folder; UsageError if nobody may look."""
    try:
        return Path(source).is_dir()
    except OSError as error:
        raise click.UsageError(
            f"{source}: cannot be read ({error.strerror})"
        ) from error


def _show(picture: Picture, view: View, form: str) -> None:
    """Print the status for people, for a program or a scrape."""
    if form == "table":
        _print(picture, view)
    elif form == "json":
        for lines in status_json(picture):
            click.echo(lines)
    else:
        from patchkit.cli.report.status_metrics import metrics_of  # noqa: PLC0415 - an extra

        click.echo(metrics_of(picture), nl=False)


def _print(picture: Picture, view: View) -> None:
    """Print the part of the status that the options ask for."""
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
    """Raise UsageError if no process has a patch of a name; suggest the user's patches first."""
    is_own_by_name: dict[str, bool] = {}
    for process in picture.processes:
        for patch in process.patches.values():
            is_own_by_name[patch.name] = patch.comes_with_patchkit
    if name not in is_own_by_name:
        # False is sorted before True.
        users_first = sorted(is_own_by_name, key=is_own_by_name.__getitem__)
        expected = some_of(users_first, name)
        raise click.UsageError(
            f"--patch: found {name!r}, expected a patch's name: {expected}"
        )


@contextmanager
def _open_nodes(directory: str | None, ray: str | None) -> Iterator[NodeReader]:
    """Yield a function that reads the processes and journals of all nodes.

    Args:
        directory: The folder of the journals; None for the default on each node.
        ray: The address of a Ray cluster; None for this node alone.
    """
    engines = [engine.signs for engine in installed_engines()]
    if ray is None:
        yield lambda: [look(directory, engines)]
        return
    from patchkit.analysis.status.ray_nodes import RayNodes  # noqa: PLC0415 - most have no cluster

    with RayNodes(ray) as nodes:
        yield partial(nodes.look, directory, engines)


def _draw(read_nodes: NodeReader, run: Run | None, wanted: _Wanted) -> Picture:
    """Read all nodes, and return the picture of their processes."""
    table = ProcessTable(installed_processes())
    picture = draw(read_nodes(), table, running_only=wanted.running_only)
    picture.findings += awaited(picture.processes, wanted.roles)
    picture.run = run
    return picture
