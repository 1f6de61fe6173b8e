"""Checks for `doctor` which ways in are active: how patchkit gets into processes."""

import os
import site
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import patchkit
from patchkit.cli.report.here import HealthLine
from patchkit.core.engines.engine import Engine
from patchkit.core.engines.entry_points import entry_points_of, own_engines
from patchkit.core.versions.installed import Versions
from patchkit.core.versions.requirements import satisfies
from patchkit.errors import VersionError
from patchkit.runtime.bootstrap.install import ABSENT, FOREIGN, INSTALLED, look

SITECUSTOMIZE_FOLDER = str(
    Path(patchkit.__file__).absolute().parent / "runtime" / "bootstrap" / "run"
)
"""The folder whose `sitecustomize` arms a Python process."""


_FORMER_FOLDER = str(Path(patchkit.__file__).absolute().parent / "bootstrap" / "run")
"""Where that folder was in patchkit 0.2.0; it arms a process, too."""


class NotCarried(NamedTuple):
    """Packs that are not installed, so that the plugin and the bootstrap do not read them.

    `patchkit run` passes them to its processes by an environment variable.

    Args:
        expected: The packs of the project's settings, or in its folder.
        named: The packs that were named for this command alone.
    """

    expected: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """The mark of a way in that is active, but does not read these packs."""
        if self.expected:
            return "warn"
        if self.named:
            return "note"
        return "ok"

    def __str__(self) -> str:
        """Return the end of a message about a way in; '' if it reads every pack."""
        names = ", ".join([*self.expected, *self.named])
        if not names:
            return ""
        return f", but without {names}: not installed"


_ALL_CARRIED = NotCarried()


def ways_in(
    environ: Mapping[str, str],
    folders: Iterable[str] | None = None,
    not_carried: NotCarried = _ALL_CARRIED,
    engines: Iterable[Engine] | None = None,
) -> Iterator[HealthLine]:
    """Check which ways in are active: by which of them patchkit gets into processes.

    Args:
        environ: The variables of the process to check.
        folders: The folders whose `.pth` files Python reads, or None for those of this Python.
        not_carried: The packs that the plugin and the bootstrap do not read.
        engines: The engines that may load a plugin; None for those that patchkit knows by itself.

    Yields:
        A line for each way in, and a warning where PATCHKIT is set and has no effect.
    """
    if folders is None:
        folders = _site_folders()
    bootstrap = _find_bootstrap(folders)
    path = environ.get("PYTHONPATH", "").split(os.pathsep)
    is_under_run = SITECUSTOMIZE_FOLDER in path or _FORMER_FOLDER in path
    switch = environ.get("PATCHKIT", "").strip()
    if switch == "0":
        yield _way_in(
            "warn", "PATCHKIT=0", "patchkit does nothing, by whichever way it comes"
        )
    elif switch == "1" and bootstrap is None and not is_under_run:
        yield _way_in(
            "warn", "PATCHKIT=1", "arms nothing by itself: there is no bootstrap here"
        )
    if engines is None:
        engines = own_engines()
    for engine in engines:
        if engine.plugin_groups:
            allowed = environ.get(engine.plugin_variable)
            yield _plugin(engine, allowed, not_carried)
    if is_under_run:
        origin = "from 'patchkit run' or as this environment sets it"
        yield _way_in(
            "ok", "patchkit run", f"active: PYTHONPATH has its folder, {origin}"
        )
    else:
        yield _way_in(
            "note", "patchkit run", "not active: PYTHONPATH does not have its folder"
        )
    yield _bootstrap(bootstrap, switch, not_carried)


def _way_in(severity: str, subject: str, message: str) -> HealthLine:
    """Return a line of the topic `ways in`."""
    return HealthLine("ways in", severity, subject, message)


def _find_bootstrap(folders: Iterable[str]) -> tuple[str, str] | None:
    """Return the first folder with a bootstrap of patchkit, and its state; None for no folder."""
    for folder in folders:
        state = look(Path(folder)).state
        if state not in {ABSENT, FOREIGN}:
            return folder, state
    return None


def _bootstrap(
    folder_and_state: tuple[str, str] | None, switch: str, not_carried: NotCarried
) -> HealthLine:
    """Return the line on the bootstrap.

    Args:
        folder_and_state: Its folder and its state; None where there is none.
        switch: The value of `PATCHKIT`.
        not_carried: The packs that it does not read.
    """
    if folder_and_state is None:
        return _way_in("note", "bootstrap", "not installed")
    folder, state = folder_and_state
    if state != INSTALLED:
        message = f"{state}: 'patchkit bootstrap install' puts it right, in {folder}"
        return _way_in("warn", "bootstrap", message)
    if switch == "1":
        message = f"active, in {folder}{not_carried}"
        return _way_in(not_carried.mark, "bootstrap", message)
    return _way_in("note", "bootstrap", f"installed, waits for PATCHKIT=1, in {folder}")


def _plugin(engine: Engine, allowed: str | None, not_carried: NotCarried) -> HealthLine:
    """Return the line on patchkit's plugin for an engine.

    Args:
        engine: The engine.
        allowed: The value of the variable that names the plugins to load; None for all.
        not_carried: The packs that the plugin does not read.
    """
    subject = f"{engine.name} plugin"
    names = _plugin_names(engine)
    if not names:
        return _way_in("note", subject, "not installed here")
    older = _release_without_plugins(engine)
    if older:
        message = (
            f"not active: found {engine.name} {older}, which loads no plugins, expected "
            f"{engine.plugins_since} or later; use 'patchkit run' or the bootstrap"
        )
        return _way_in("note", subject, message)
    if allowed is not None:
        excluded = [name for name in names if name not in allowed.split(",")]
        if excluded:
            left_out = ", ".join(excluded)
            message = (
                f"{engine.plugin_variable}={allowed} leaves out {left_out}: {engine.name} will "
                "not load it"
            )
            return _way_in("warn", subject, message)
    message = f"installed: active in every {engine.name} process{not_carried}"
    return _way_in(not_carried.mark, subject, message)


def _plugin_names(engine: Engine) -> list[str]:
    """Return the names under which patchkit is installed as a plugin of an engine."""
    names: set[str] = set()
    for group in engine.plugin_groups:
        for entry in entry_points_of(group):
            if entry.value.startswith("patchkit."):
                names.add(entry.name)
    return sorted(names)


def _release_without_plugins(engine: Engine) -> str:
    """Return the installed version of an engine if it loads no plugins; '' if it does, or may."""
    installed = Versions().find(engine.package)
    if installed is None or not engine.plugins_since:
        return ""
    with suppress(VersionError):
        if not satisfies(installed.version, f">={engine.plugins_since}"):
            return installed.version
    return ""


def _site_folders() -> list[str]:
    """Return the folders whose `.pth` files this Python reads."""
    folders = site.getsitepackages()
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return [folder for folder in folders if folder in sys.path]
