"""Checks a copy of a pack that has the files which a rebase would write."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import copyfile, copytree
from tempfile import TemporaryDirectory
from typing import Any

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.authoring.rebase.rebasing import Rebase
from patchkit.core.rows.project import Project
from patchkit.core.rows.target import Target
from patchkit.errors import ScaffoldError

_OWN_NAMES = frozenset({"PK101", "PK601", "PK602"})
"""Findings of a missing name, which do not count if a row of the pack adds it.

That row may be for earlier releases only, as it was not carried yet.
"""
_RELATIVE = ("PIP_CONFIG_FILE", "PATCHKIT_LOCK")
"""Variables with a path, which may be relative to the working directory."""


def faults_of(
    rebase: Rebase, beside: Sequence[CheckedRelease], *, offline: bool
) -> dict[str, list[str]]:
    """Check the carried row, and return the reasons why it must not be written.

    Args:
        rebase: The row, with the files that are planned.
        beside: Further releases that its range has.
        offline: Whether the check may read only the cache.

    Returns:
        The reasons, by the name of a release of `beside`; '' for all that are no fault of one.

    Raises:
        ScaffoldError: The check itself failed.
    """
    report = _check_copy(rebase, beside, offline=offline)
    names = {release.name for release in beside}
    faults: dict[str, list[str]] = {}
    new = rebase.new.name
    if report["grid"].get(rebase.row.name, {}).get(new) == "out-of-range":
        faults[""] = [f"{new} stays out of its range, or of that of its changes"]
    for finding in _faults_in(rebase, report, {new, *names}):
        reason = f"{finding['code']} {finding['release']}: {finding['message']}"
        key = ""
        if finding["release"] in names:
            key = finding["release"]
        faults.setdefault(key, []).append(reason)
    return faults


def _faults_in(
    rebase: Rebase, report: dict[str, Any], names: set[str]
) -> Iterator[dict[str, Any]]:
    """Yield the findings of a report that keep a row from being written.

    Args:
        rebase: The row.
        report: What `check` reports of the row.
        names: The names of the releases that the row is to hold for from now on.
    """
    project = Project.read()
    accepted = {*project.ignore, *project.accept}
    for finding in report["findings"]:
        code = finding["code"]
        keys = {code, f"{code} {finding['target']}", f"{code} {finding['patch']}"}
        # A body that uses a name which is missing: `check` warns, but a rebase must not write it.
        is_use_gone = code == "PK602" and finding["release"] in names
        is_fault = finding["severity"] == "error" or is_use_gone
        if not is_fault or not keys.isdisjoint(accepted):
            continue
        if code in _OWN_NAMES and rebase.pack_adds(Target.parse(finding["target"])):
            continue
        yield finding


def _check_copy(
    rebase: Rebase, beside: Sequence[CheckedRelease], *, offline: bool
) -> dict[str, Any]:
    """Run `patchkit check` on a copy of the pack with the planned files; return its JSON report.

    It runs in a process of its own, as this process has imported the pack in its former state. Its
    working directory is that of the copy, as Python finds a module of the working directory first.

    Raises:
        ScaffoldError: The check failed, and has no report.
    """
    command = [
        sys.executable,
        "-m",
        "patchkit",
        *_check_arguments(rebase, beside, offline=offline),
    ]
    with TemporaryDirectory() as folder:
        _copy_pack(rebase, folder)
        process = subprocess.run(  # noqa: S603
            command,
            cwd=folder,
            env=_environ(folder),
            capture_output=True,
            text=True,
            check=False,
        )
    try:
        report: dict[str, Any] = json.loads(process.stdout)
    except ValueError:
        raise ScaffoldError(
            f"the rebased row cannot be checked: {process.stderr.strip()}"
        ) from None
    return report


def _environ(folder: str) -> dict[str, str]:
    """Return the environment of the check: modules, indexes and files are those of this process.

    Args:
        folder: The folder of the copy, which is the working directory there.
    """
    # An entry '' means the working directory, which is another one for the check.
    path = [folder, *map(os.path.abspath, sys.path)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    for variable in _RELATIVE:
        if environ.get(variable):
            environ[variable] = os.path.abspath(environ[variable])  # noqa: PTH100
    environ.update(PipSettings.read().variables())
    return environ


def _check_arguments(
    rebase: Rebase, beside: Sequence[CheckedRelease], *, offline: bool
) -> list[str]:
    """Return the arguments of `patchkit check` for the carried patch and its new releases.

    With `--keep`, the patch must hold for the old release, too.
    """
    arguments = [
        "check",
        rebase.row.name,
        "--patches",
        rebase.row.pack,
        "--format",
        "json",
    ]
    if offline:
        arguments.append("--offline")
    releases = [rebase.new, *beside]
    if rebase.keep:
        releases = [rebase.old, *releases]
    for release in releases:
        arguments += ["--releases", f"{release.project}=={release.version}"]
    return arguments


def _copy_pack(rebase: Rebase, folder: str) -> None:
    """Copy the package of a pack into a folder, with the planned files in place of the old ones.

    The copies are writable, even if the files are not.
    """
    top = rebase.pack.root / rebase.row.pack.partition(".")[0]
    if top.is_dir():
        copytree(
            top,
            f"{folder}/{top.name}",
            ignore=lambda *_: ["__pycache__"],
            copy_function=copyfile,
            ignore_dangling_symlinks=True,
        )
    for file in rebase.files:
        Path(folder, file.path.relative_to(rebase.pack.root)).write_bytes(file.new)
