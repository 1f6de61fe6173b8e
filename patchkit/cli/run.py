"""`patchkit run`: a command with patchkit in it and in all it starts; nothing is installed."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from patchkit.cli.app import say
from patchkit.cli.facts.child import child_environment
from patchkit.cli.facts.module_source import find_module
from patchkit.cli.options import patches_option
from patchkit.environment import Settings
from patchkit.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_NOT_FOUND = 127
_NOT_EXECUTABLE = 126


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
    fresh = None if settings.journal else tempfile.mkdtemp(prefix="patchkit-")
    journal = settings.journal or str(fresh)
    say(f"journal in {journal}")
    code = execute(words, _environment((*settings.packs, *packs), journal))
    if fresh is not None:
        Path(fresh).rmdir()
    return code


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
    return [str(one) for one in dict.fromkeys((Path.cwd(), *project.folders)) if one in found]


def execute(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Become the command; returns, with the shell's exit code, only where that fails."""
    _restore_signals()
    sys.stdout.flush()
    try:
        os.execvpe(words[0], list(words), environ)  # noqa: S606 - the user's own command
    except (FileNotFoundError, NotADirectoryError):
        say(f"{words[0]}: found no such command, expected one on PATH or a file that can be run")
        return _NOT_FOUND
    except OSError as error:
        say(f"{words[0]}: cannot be run: {error.strerror}")
        return _NOT_EXECUTABLE


def _restore_signals() -> None:
    """Undo what Python ignores in itself; a program that is executed would inherit it."""
    for name in ("SIGPIPE", "SIGXFSZ"):
        with suppress(AttributeError, ValueError):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
