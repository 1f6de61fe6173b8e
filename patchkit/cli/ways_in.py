"""Which ways into processes are active here, for `patchkit doctor`."""

from __future__ import annotations

import os
import site
import sys
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.bootstrap.install import ABSENT, FOREIGN, INSTALLED, look
from patchkit.cli.child import WAY_IN
from patchkit.report.here import HealthLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from patchkit.bootstrap.install import Bootstrap

_line = partial(HealthLine, "ways in")
_GROUPS = ("vllm.platform_plugins", "vllm.general_plugins")


def ways_in(environ: Mapping[str, str], folders: Iterable[str] | None = None) -> list[HealthLine]:
    """Say which ways in are active; `.pth` files count in `folders`, else in this Python's."""
    bootstrap = find_bootstrap(_site_folders() if folders is None else folders)
    return [
        *_switch(environ, bootstrap),
        *_plugin(environ, sorted(_plugin_names())),
        _run(environ),
        _bootstrap(environ, bootstrap),
    ]


def find_bootstrap(folders: Iterable[str]) -> tuple[str, Bootstrap] | None:
    """Find the first folder in which there is anything of the bootstrap, and how it stands."""
    for folder in folders:
        here = look(Path(folder))
        if here.state not in {ABSENT, FOREIGN}:
            return folder, here
    return None


def _switch(
    environ: Mapping[str, str], bootstrap: tuple[str, Bootstrap] | None
) -> Iterator[HealthLine]:
    switch = environ.get("PATCHKIT", "").strip()
    if switch == "0":
        yield _line("warn", "PATCHKIT=0", "patchkit does nothing, by whichever way it comes")
    elif switch == "1" and bootstrap is None and not _is_under_run(environ):
        yield _line("warn", "PATCHKIT=1", "arms nothing by itself: there is no bootstrap here")


def _plugin(environ: Mapping[str, str], names: list[str]) -> Iterator[HealthLine]:
    if not names:
        yield _line("note", "vLLM plugin", "not installed here")
        return
    allowed = environ.get("VLLM_PLUGINS")
    left_out = [name for name in names if allowed is not None and name not in allowed.split(",")]
    if left_out:
        message = f"VLLM_PLUGINS={allowed} leaves out {', '.join(left_out)}: vLLM will not load it"
        yield _line("warn", "vLLM plugin", message)
    else:
        yield _line("ok", "vLLM plugin", "installed: active in every vLLM process")


def _run(environ: Mapping[str, str]) -> HealthLine:
    if _is_under_run(environ):
        return _line("ok", "patchkit run", "active: this process was started by it")
    return _line("note", "patchkit run", "not active: this process was not started by it")


def _bootstrap(environ: Mapping[str, str], found: tuple[str, Bootstrap] | None) -> HealthLine:
    if found is None:
        return _line("note", "bootstrap", "not installed")
    folder, here = found
    if here.state != INSTALLED:
        message = f"{here.state}: 'patchkit bootstrap install' puts it right, in {folder}"
        return _line("warn", "bootstrap", message)
    if environ.get("PATCHKIT", "").strip() == "1":
        return _line("ok", "bootstrap", f"active, in {folder}")
    return _line("note", "bootstrap", f"installed, waits for PATCHKIT=1, in {folder}")


def _is_under_run(environ: Mapping[str, str]) -> bool:
    return WAY_IN in environ.get("PYTHONPATH", "").split(os.pathsep)


def _plugin_names() -> set[str]:
    found = (entry for group in _GROUPS for entry in entry_points(group=group))
    return {entry.name for entry in found if entry.value.startswith("patchkit.")}


def _site_folders() -> list[str]:
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [folder for folder in (*site.getsitepackages(), *user) if folder in sys.path]
