"""`patchkit run`: a command with patchkit in it and in all it starts; nothing is installed."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from patchkit.cli.app import say
from patchkit.cli.child import child_environment
from patchkit.cli.foreground import CANNOT_RUN, end_as, execute, run_and_wait
from patchkit.cli.last_words import last_words
from patchkit.cli.module_source import find_module
from patchkit.cli.options import patches_option
from patchkit.errors import PatchkitError
from patchkit.registry import Registry
from patchkit.rows.project import Project
from patchkit.settings import Settings
from patchkit.status.node import look
from patchkit.status.picture import draw
from patchkit.status.runs import new_run
from patchkit.versions.installed import Versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@click.command(
    "run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@patches_option
def command(words: tuple[str, ...], packs: tuple[str, ...]) -> int:
    """
    Run a command patched, and all that it starts.

    Works by the environment alone (PYTHONPATH); nothing is installed. Python processes that ignore
    their environment (python -I, -E, -S) are out of reach. The exit code is the command's.

    \b
    Examples:
      patchkit run -- vllm serve MODEL --tensor-parallel-size 2
      patchkit run -- python script.py
      patchkit run --patches mine.patches -- ./start.sh
      PATCHKIT_LOG=info patchkit run -- python -m my.benchmark
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    settings = Settings.read()
    if not settings.enabled:
        say("PATCHKIT=0: the command runs without patches")
        return execute(words, os.environ)
    _check(settings, packs)
    journal = settings.journal or str(new_run())
    say(f"journal in {journal}")
    started = time.time()
    code = run_and_wait(words, _environment((*settings.packs, *packs), journal))
    if code not in CANNOT_RUN:
        _tell_the_end(journal, started, of_user=settings.journal is not None)
    if settings.journal is None:
        with suppress(OSError):  # there is a journal in it
            Path(journal).rmdir()
    return end_as(code)


def _check(settings: Settings, packs: tuple[str, ...]) -> None:
    """Refuse what every process of the command would stop at."""
    Versions.of(settings).check()
    if settings.only or settings.disabled:
        settings.check_names([row.name for row in Registry.collect(settings, packs)])


def _tell_the_end(journal: str, started: float, *, of_user: bool) -> None:
    """Say what became of the patches; the exit code is the command's, whatever comes of that."""
    try:
        how = f"'patchkit status {journal}'" if of_user else "'patchkit status'"
        for line in last_words(draw([look(journal)]), started, how):
            say(line)
    except (OSError, PatchkitError, ValueError, KeyError) as error:
        say(f"journals in {journal} cannot be read: {error}")


def _environment(packs: Sequence[str], journal: str) -> dict[str, str]:
    """Make the command's environment; it finds the packs and the lock of this project."""
    project, environ = Project.read(), dict(os.environ)
    folders = _folders_of(packs, project)
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [environ.get("PYTHONPATH"), *folders]))
    if project.lock:
        environ.setdefault("PATCHKIT_LOCK", str(Path(project.lock).absolute()))
    return child_environment(environ, packs, journal)


def _folders_of(packs: Iterable[str], project: Project) -> list[str]:
    """List the folders of a project that packs are found in."""
    tops = [find_module(name.partition(".")[0]) for name in packs]
    places = {place for top in tops if top for place in top.submodule_search_locations or ()}
    found = {Path(place).parent for place in places}
    folders = dict.fromkeys((Path().absolute(), *project.folders)) if found else ()
    return [str(folder) for folder in folders if folder in found]
